"""What there is to draw in a run: checked meshes, colours, links and curves.

The scene description comes from a file that may be anybody's, so everything is checked here, once, for the report, the
live viewer and the pictures. A body's vertices are in the frame of its shape: x_world = position + R(q) (v − center).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.view.checks import COLORS, checked_array, checked_color, checked_items
from dalembert.view.geometry import rotate
from dalembert.view.particles import ParticleDrawing, chosen_particles, parse_particles, regrouped, rgb_of

__all__ = ["BodyDrawing", "CurveDrawing", "End", "LinkDrawing", "SceneDrawing", "parse_scene", "thinned_scene"]

STRAIGHT_KINDS = ("distance", "rod", "rope", "tether", "cable")


@dataclass(frozen=True)
class BodyDrawing:
    """One body: its mesh in the shape's frame, vertices (n, 3) m and faces (m, 3), and its centre of mass there, m.

    `position` (3,) m and `orientation` (w, x, y, z) are where a body that was not recorded stands. `radius` (m) is the
    size of the ball drawn for a body without a mesh.
    """

    name: str
    mass: float | None
    color: str
    shape: str
    vertices: np.ndarray
    faces: np.ndarray
    center: np.ndarray
    radius: float | None
    position: np.ndarray
    orientation: np.ndarray

    @property
    def rgb(self) -> tuple[int, int, int]:
        """The colour as red, green and blue, 0 to 255."""
        return rgb_of(self.color)

    @property
    def bound(self) -> float:
        """Radius of a ball around the centre of mass that holds the mesh, m."""
        if len(self.vertices):
            return float(np.linalg.norm(self.vertices - self.center, axis=1).max())
        return self.radius or 0.0

    @property
    def box(self) -> np.ndarray:
        """The lowest and the highest corner, (2, 3) m, of the mesh in axes of the body, from its centre of mass."""
        if len(self.vertices):
            return np.stack([self.vertices.min(axis=0), self.vertices.max(axis=0)]) - self.center
        return (self.radius or 0.0) * np.array([[-1.0] * 3, [1.0] * 3])


class End(NamedTuple):
    """Where a link ends: on a body (its index, −1 for none) at an anchor (3,) in its frame, on a particle (its index over
    all, −1 for none), or, on neither, at the anchor in the world; m."""

    body: int
    particle: int
    anchor: np.ndarray

    @property
    def fixed(self) -> bool:
        """Whether it stands still in the world."""
        return self.body < 0 and self.particle < 0

    def at(self, position: np.ndarray, orientation: np.ndarray, particles: np.ndarray) -> np.ndarray:
        """Where it is, (3,) m, with the bodies at position (b, 3) and orientation (b, 4), the particles at (p, 3)."""
        if self.particle >= 0:
            return particles[self.particle]
        return self.anchor if self.body < 0 else position[self.body] + rotate(orientation[self.body], self.anchor)


@dataclass(frozen=True)
class LinkDrawing:
    """A joint or spring between two ends.

    `axis` (3,) is the unit vector of a hinge or slider in the first body's frame, None for joints without one.
    """

    name: str
    kind: str
    a: End
    b: End
    coils: int = 0
    until: float = np.inf  # when it was let go, s
    axis: np.ndarray | None = None

    @property
    def within_particles(self) -> bool:
        """Whether both ends are particles, which show where it ends."""
        return self.a.particle >= 0 and self.b.particle >= 0


@dataclass(frozen=True)
class CurveDrawing:
    """A fixed polyline: points (n, 3) in m, world axes."""

    name: str
    points: np.ndarray


@dataclass(frozen=True)
class SceneDrawing:
    """Everything to draw; the recorded bodies come first, in the trajectory's order."""

    bodies: list[BodyDrawing]
    joints: list[LinkDrawing]
    springs: list[LinkDrawing]
    curves: list[CurveDrawing]
    particles: list[ParticleDrawing]

    @property
    def links(self) -> list[LinkDrawing]:
        """All joints and springs."""
        return self.joints + self.springs

    @property
    def lines(self) -> list[LinkDrawing]:
        """The links drawn as lines: springs, and joints that keep a distance."""
        return self.springs + [joint for joint in self.joints if joint.kind in STRAIGHT_KINDS]


def parse_scene(
    description: Mapping[str, Any], recorded: Sequence[str] | None = None, particles: int | None = None
) -> SceneDrawing:
    """Check a scene description; bodies named in `recorded` come first, in that order.

    particles: how many were recorded, None where that is not known yet.

    Raises:
        ValueError: a mesh, colour, anchor, group or name cannot be drawn; the message names the object.
    """
    described = {str(item.get("name")): item for item in checked_items(description, "bodies")}
    names = list(described) if recorded is None else [*recorded, *(n for n in described if n not in set(recorded))]
    bodies = [_body(name, described.get(name, {}), i) for i, name in enumerate(names)]
    index = {name: i for i, name in enumerate(names)}
    groups = parse_particles(description, particles)
    total = max((group.span.stop for group in groups), default=0) if particles is None else particles
    joints = [_link(item, index, total, "joint") for item in checked_items(description, "joints")]
    springs = [_link(item, index, total, "spring") for item in checked_items(description, "springs")]
    curves = []
    for item in checked_items(description, "curves"):
        name = str(item.get("name", "curve"))
        curves.append(CurveDrawing(name, checked_array(item.get("points", []), (-1, 3), f"curve {name!r}: points")))
    return SceneDrawing(bodies, joints, springs, curves, groups)


def thinned_scene(drawing: SceneDrawing, most: int) -> tuple[SceneDrawing, np.ndarray]:
    """The scene with at most about `most` free particles, and the indices (n,) of those it has; see `chosen_particles`."""
    ends = [end.particle for link in drawing.links for end in (link.a, link.b) if end.particle >= 0]
    rows = chosen_particles(drawing.particles, most, ends)

    def moved(link: LinkDrawing) -> LinkDrawing:
        a, b = (
            end._replace(particle=int(np.searchsorted(rows, end.particle))) if end.particle >= 0 else end
            for end in (link.a, link.b)
        )
        return replace(link, a=a, b=b)

    joints, springs = [moved(joint) for joint in drawing.joints], [moved(spring) for spring in drawing.springs]
    thinned = replace(drawing, joints=joints, springs=springs, particles=regrouped(drawing.particles, rows))
    return thinned, rows


def _body(name: str, item: Mapping[str, Any], index: int) -> BodyDrawing:
    what = f"body {name!r}"
    vertices = checked_array(item.get("vertices") or [], (-1, 3), f"{what}: vertices")
    faces = checked_array(item.get("faces") or [], (-1, 3), f"{what}: faces").astype(np.int64)
    if faces.size and (faces.min() < 0 or faces.max() >= len(vertices)):
        raise ValueError(f"{what}: a face names a vertex that is not there (there are {len(vertices)})")
    color = checked_color(item.get("color") or COLORS[index % len(COLORS)], what)
    center = checked_array(item.get("center") or (0, 0, 0), (3,), f"{what}: center")
    found = item.get("shape")
    shape: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    radius = shape.get("radius")
    mass = item.get("mass")
    return BodyDrawing(
        name,
        float(mass) if isinstance(mass, int | float) and np.isfinite(mass) else None,
        color,
        _shape_text(shape),
        vertices,
        faces,
        center,
        float(radius) if isinstance(radius, int | float) and 0 < radius < np.inf else None,
        checked_array(item.get("position") or center, (3,), f"{what}: position") if "position" in item else center,
        checked_array(item.get("orientation") or (1, 0, 0, 0), (4,), f"{what}: orientation"),
    )


def _shape_text(shape: Mapping[str, Any]) -> str:
    kind = str(shape.get("kind", shape.get("type", "mesh" if shape else "point")))
    sizes = [f"{key.replace('_', ' ')} {_brief(v)}" for key, v in shape.items() if key not in ("kind", "type")]
    return ", ".join([kind, *(text for text in sizes if len(text) < 48)])


def _brief(value: Any) -> str:
    if isinstance(value, list):
        return " × ".join(_brief(v) for v in value)
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _link(item: Mapping[str, Any], index: Mapping[str, int], particles: int, default: str) -> LinkDrawing:
    name = str(item.get("name", default))
    kind = str(item.get("kind", default))
    until, axis = item.get("until"), None
    if item.get("axis_a") is not None:
        axis = checked_array(item["axis_a"], (3,), f"{default} {name!r}: axis_a")
        axis = axis / (np.linalg.norm(axis) or 1.0)
    return LinkDrawing(
        name, kind, _end(item, "a", index, particles, f"{default} {name!r}"),
        _end(item, "b", index, particles, f"{default} {name!r}"), coils=10 if kind == "spring" else 0,
        until=float(until) if isinstance(until, int | float) else np.inf, axis=axis,
    )  # fmt: skip


def _end(item: Mapping[str, Any], which: str, index: Mapping[str, int], particles: int, what: str) -> End:
    particle = item.get(f"particle_{which}")
    if particle is not None:
        if not isinstance(particle, int) or isinstance(particle, bool) or not 0 <= particle < particles:
            raise ValueError(f"{what}: there is no particle {str(particle)[:40]} (there are {particles})")
        return End(-1, particle, np.zeros(3))
    body = item.get(f"body_{which}")
    if body not in (None, "", "world") and body not in index:
        raise ValueError(f"{what}: there is no body {body!r}")
    anchor = checked_array(item.get(f"anchor_{which}") or (0, 0, 0), (3,), f"{what}: anchor_{which}")
    return End(index.get(body, -1) if body else -1, -1, anchor)
