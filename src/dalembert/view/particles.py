"""Groups of particles to draw: dots, threads and surfaces, checked; and which of many dots are drawn.

A group with faces is a surface (cloth, the skin of a soft body) whose vertices are its particles; one with segments is a
thread or a net of them; the particles of one with neither are free, and drawn as dots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.trajectory_format import particle_span
from dalembert.view.checks import COLORS, checked_array, checked_color, checked_indices, checked_items

__all__ = [
    "BACK", "POINT_RADIUS", "ParticleDrawing", "chosen_particles", "parse_particles", "regrouped", "rgb_of", "thinning_note",
]  # fmt: skip

BACK = 0.75  # brightness of a surface's back, its front being 1; in report_particles.js too
POINT_RADIUS = 0.003  # of the picture's size: a particle without a radius of its own


@dataclass(frozen=True)
class ParticleDrawing:
    """One group: `number` particles from the index `first` on; segments (n, 2) and faces (m, 3) are indices within it.

    `radius` (m) is 0 for points. `colors` (number, 3), 0 to 255, are None where all have the group's `color`.
    """

    name: str
    first: int
    number: int
    color: str
    radius: float
    segments: np.ndarray
    faces: np.ndarray
    colors: np.ndarray | None = None

    @property
    def rgb(self) -> np.ndarray:
        """The colour of every particle as red, green and blue, 0 to 255: (number, 3) uint8."""
        return np.tile(np.array(rgb_of(self.color), np.uint8), (self.number, 1)) if self.colors is None else self.colors

    @property
    def span(self) -> slice:
        """Where the group lies among all particles."""
        return slice(self.first, self.first + self.number)

    @property
    def free(self) -> bool:
        """Whether nothing is drawn between its particles."""
        return not len(self.segments) and not len(self.faces)

    @property
    def dots(self) -> np.ndarray:
        """Which of its particles are drawn as dots, indices within it: none of a surface; of a thread without a radius
        those on no segment."""
        if len(self.faces):
            return np.zeros(0, np.int64)
        every = np.arange(self.number)
        return np.setdiff1d(every, self.segments) if self.radius == 0.0 else every

    def dot_radius(self, size: float) -> float:
        """Radius of its dots in a picture of this size, m."""
        return self.radius or POINT_RADIUS * size


def parse_particles(description: Mapping[str, Any], recorded: int | None = None) -> list[ParticleDrawing]:
    """The groups of a scene description, checked; `recorded` is how many particles a run has, None where not known.

    Particles that a run has and no description speaks of are one group.

    Raises:
        ValueError: a group that cannot be drawn; the message names it.
    """
    items = checked_items(description, "particles")
    if not items and recorded:
        items = [{"name": "particles", "first": 0, "number": recorded}]
    return [_group(item, i, recorded) for i, item in enumerate(items)]


def _group(item: Mapping[str, Any], index: int, recorded: int | None) -> ParticleDrawing:
    span = particle_span(item, recorded) if recorded is not None else particle_span(item)
    name, number = str(item.get("name", "particles")), span.stop - span.start
    what = f"particles {name[:80]!r}"
    radius = float(checked_array(item.get("radius") or 0.0, (), f"{what}: radius"))
    if radius < 0.0:
        raise ValueError(f"{what}: radius must not be negative")
    colors = item.get("colors")
    if colors is not None:
        if not isinstance(colors, list) or len(colors) != number:
            raise ValueError(f"{what}: colors must be a list of {number}, one a particle")
        colors = np.array([rgb_of(checked_color(color, what)) for color in colors], np.uint8).reshape(-1, 3)
    return ParticleDrawing(
        name,
        span.start,
        number,
        checked_color(item.get("color") or COLORS[index % len(COLORS)], what),
        radius,
        checked_indices(item.get("segments"), 2, number, f"{what}: segments"),
        checked_indices(item.get("faces"), 3, number, f"{what}: faces"),
        colors,
    )


def rgb_of(color: str) -> tuple[int, int, int]:
    """#rrggbb as red, green and blue, 0 to 255."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def chosen_particles(groups: Sequence[ParticleDrawing], most: int, also: Sequence[int] = ()) -> np.ndarray:
    """Which particles to draw so that at most about `most` free ones are: indices over all particles, ascending.

    Where there are more, each group of free particles keeps the same share of its own, picked at random, the same at all
    times and in every view. Threads, surfaces, and the particles `also` (ends of springs and joints) are all kept.
    """
    free = sum(group.number for group in groups if group.free)
    chosen = [np.array(also, np.int64)]
    for group in groups:
        some = np.arange(group.number)
        if group.free and free > most:
            count = min(group.number, max(1, group.number * most // free))
            some = np.random.default_rng(0).choice(group.number, count, replace=False)
        chosen.append(group.first + some)
    return np.unique(np.concatenate(chosen))


def regrouped(groups: Sequence[ParticleDrawing], rows: np.ndarray) -> list[ParticleDrawing]:
    """The groups over the particles `rows` (ascending) alone, which must hold all of every thread and surface."""
    found = []
    for group in groups:
        first, last = np.searchsorted(rows, (group.first, group.first + group.number))
        kept = rows[first:last] - group.first
        colors = None if group.colors is None else group.colors[kept]
        found.append(replace(group, first=int(first), number=int(last - first), colors=colors))
    return found


def thinning_note(groups: Sequence[ParticleDrawing], drawn: Sequence[ParticleDrawing]) -> str:
    """What to say where not all free particles are drawn; empty where all are."""
    all_free, shown = (sum(group.number for group in some if group.free) for some in (groups, drawn))
    return f"{shown:,} of {all_free:,} free particles are drawn".replace(",", "\u202f") if shown < all_free else ""
