"""Recorded frames as plain arrays that grow during a run, poses between frames, and checks of scene descriptions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contact.contact_point import as_seen

if TYPE_CHECKING:
    from ..simulation.trajectory import Trajectory

ENERGIES = ("kinetic", "potential", "balance")
OF_BODIES = ("momentum", "angular_momentum", "angular_velocity", "contact_force")
FURTHER = (*OF_BODIES, "reaction_force", "work", "joint_error", "penetration", "contact_residual", "gravity")


class Frames:
    """Times (n,) s, positions (n, b, 3) m, orientations (n, b, 4) and `ENERGIES` (n, 3) J of n frames of b bodies, and
    positions (n, p, 3) m of p particles, in single precision.

    What is known beside that of every frame (`FURTHER`, of those that the first frames had) is in `further`, in single
    precision, and the contacts of each, (k, 10): place, force on the second body (on the first where the second
    is an obstacle), normal into that body, and manifold, in `contacts`.

    Bodies that a run does not record stand where `position` and `orientation` say. Of the run's particles those with the
    indices `particles` (p,) are kept.
    """

    def __init__(self, position: np.ndarray, orientation: np.ndarray, particles: np.ndarray) -> None:
        self._still = {"position": position, "orientation": orientation}
        self._kept = particles
        bodies = len(position)
        self._parts: dict[str, np.ndarray] = {
            "time": np.empty(64),
            "position": np.empty((64, bodies, 3)),
            "orientation": np.empty((64, bodies, 4)),
            "energies": np.zeros((64, len(ENERGIES))),
            "particle_position": np.empty((64, len(particles), 3), np.float32),
        }
        self._further: dict[str, np.ndarray] = {}
        self.contacts: list[np.ndarray] = []
        self._count = 0

    def add(self, frames: Mapping[str, Any], rows: np.ndarray) -> None:
        """Append k frames: ``time`` (k,), ``position`` and ``orientation`` (k, len(rows), …) of the bodies `rows`, and
        any of `ENERGIES` (k,); and ``particle_position`` (k, all of the run's, 3) where particles are kept.

        Raises:
            ValueError: their times do not go on from the last, or they lack particles.
        """
        time = np.asarray(frames["time"], float)
        if np.any(np.diff(time, prepend=self.times[-1] if len(self) else -np.inf) < 0):
            raise ValueError(f"frames must follow one another in time; the last was at {self.times[-1]:g} s")
        particles = np.asarray(frames.get("particle_position", np.zeros((len(time), 0, 3))))
        if len(self._kept) and self._kept[-1] >= particles.shape[1]:
            raise ValueError(f"the frames have {particles.shape[1]} particles, the scene at least {self._kept[-1] + 1}")
        first, last = self._count, self._count + len(time)
        while last > len(self._parts["time"]):
            self._parts = {name: np.concatenate([part, np.zeros_like(part)]) for name, part in self._parts.items()}
        self._parts["time"][first:last] = time
        for name, still in self._still.items():
            self._parts[name][first:last] = still
            self._parts[name][first:last, rows] = frames[name]
        for k, name in enumerate(ENERGIES):
            self._parts["energies"][first:last, k] = frames.get(name, 0.0)
        self._parts["particle_position"][first:last] = particles[:, self._kept]
        self._add_further(frames, rows, first, last)
        self._count = last

    def _add_further(self, frames: Mapping[str, Any], rows: np.ndarray, first: int, last: int) -> None:
        bodies, room = len(self._still["position"]), len(self._parts["time"])
        for name in FURTHER:
            values = frames.get(name)
            if values is None or (first and name not in self._further):
                continue
            values = np.asarray(values)
            if name in OF_BODIES:
                whole = np.zeros((len(values), bodies, 3), np.float32)
                whole[:, rows] = values
                values = whole
            part = self._further.setdefault(name, np.zeros((0, *values.shape[1:]), np.float32))
            if len(part) < room:
                self._further[name] = np.concatenate([part, np.zeros((room - len(part), *part.shape[1:]), np.float32)])
            self._further[name][first:last] = values
        self.contacts += list(frames.get("contact_points", ()))

    def drop_after(self, time: float) -> None:
        """Forget the frames later than `time` s."""
        self._count = int(np.searchsorted(self.times, time, side="right"))
        del self.contacts[self._count :]

    @property
    def further(self) -> dict[str, np.ndarray]:
        """Name → values of all frames."""
        return {name: part[: self._count] for name, part in self._further.items()}

    def found(self, index: int) -> dict[str, np.ndarray]:
        """What is known of one frame, and its contacts."""
        values = {name: part[index] for name, part in self._further.items()}
        return values | ({"contacts": self.contacts[index]} if index < len(self.contacts) else {})

    def add_trajectory(self, trajectory: Trajectory, rows: np.ndarray) -> None:
        """Append all frames of a recorded run of the bodies `rows`."""
        names = ("time", "position", "orientation", "particle_position", *ENERGIES, *FURTHER)
        found: dict[str, Any] = {name: trajectory[name].values for name in names if name in trajectory}
        if "contact_point_count" in trajectory:
            points = trajectory.recorded_points
            whole = as_seen(points.rows, len(trajectory.bodies))
            found["contact_points"] = np.split(whole, points.starts[1:-1])
        self.add(found, rows)

    def __len__(self) -> int:
        return self._count

    @property
    def times(self) -> np.ndarray:
        """(n,), s."""
        return self._parts["time"][: self._count]

    @property
    def positions(self) -> np.ndarray:
        """(n, b, 3), m."""
        return self._parts["position"][: self._count]

    @property
    def orientations(self) -> np.ndarray:
        """(n, b, 4), unit quaternions."""
        return self._parts["orientation"][: self._count]

    @property
    def particles(self) -> np.ndarray:
        """(n, p, 3), m."""
        return self._parts["particle_position"][: self._count]

    @property
    def energies(self) -> np.ndarray:
        """(n, 3), J, in the order of `ENERGIES`."""
        return self._parts["energies"][: self._count]

    def index(self, time: float) -> int:
        """The last frame that is not later than `time` s."""
        return int(np.clip(np.searchsorted(self.times, time, side="right") - 1, 0, self._count - 1))

    def at(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Positions (b, 3) and orientations (b, 4) at `time` s: between two frames, linear and made unit again."""
        i, j, s = self._between(time)
        a, b = self.orientations[i], self.orientations[j]
        nearer = np.where(np.sum(a * b, axis=1, keepdims=True) < 0.0, -b, b)  # q and −q are the same rotation
        mixed = (1.0 - s) * a + s * nearer
        length = np.linalg.norm(mixed, axis=1, keepdims=True)
        positions = (1.0 - s) * self.positions[i] + s * self.positions[j]
        return positions, mixed / np.where(length > 0.0, length, 1.0)

    def particles_at(self, time: float) -> np.ndarray:
        """Positions (p, 3) at `time` s, linear between two frames."""
        i, j, s = self._between(time)
        return np.float32(1.0 - s) * self.particles[i] + np.float32(s) * self.particles[j]

    def _between(self, time: float) -> tuple[int, int, float]:
        """The frames before and after `time` s, and how far it is from the one to the other, 0 to 1."""
        i = self.index(time)
        j = min(i + 1, self._count - 1)
        gap = self.times[j] - self.times[i]
        return i, j, float(np.clip((time - self.times[i]) / gap, 0.0, 1.0)) if gap > 0.0 else 0.0


# Checks of a scene description, which may come from an untrusted file -------------------------------------------------

COLORS = ("#4e79a7", "#e1812c", "#59a14f", "#b07aa1", "#d35d60", "#76b7b2", "#c9a227", "#9c755f")


def checked_items(description: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The list of objects under `key`, empty where there is none."""
    items = description.get(key) or []
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise ValueError(f"the scene description's {key!r} must be a list of objects")
    return items


def checked_array(values: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Finite numbers of a shape."""
    try:
        array = np.asarray(values, float).reshape(shape)
    except (ValueError, TypeError):
        raise ValueError(f"{what} must be numbers of shape {shape}") from None
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{what} must be finite")
    return array


def checked_indices(values: Any, width: int, below: int, what: str) -> np.ndarray:
    """Rows of `width` different whole numbers, 0 to `below` − 1: (n, width)."""
    given = checked_array(values or [], (-1, width), what)
    with np.errstate(invalid="ignore"):
        array = given.astype(np.int64)
    if np.any(array != given):
        raise ValueError(f"{what} must be whole numbers")
    if array.size and (array.min() < 0 or array.max() >= below):
        raise ValueError(f"{what} contain an index out of range (there are {below})")
    if np.any(np.diff(np.sort(array, axis=1), axis=1) == 0):
        raise ValueError(f"{what} contain an index twice")
    return array


def checked_color(value: Any, what: str) -> str:
    """A colour #rrggbb."""
    color = str(value)
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", color):
        raise ValueError(f"{what}: colour {color[:40]!r} is not of the form #rrggbb")
    return color
