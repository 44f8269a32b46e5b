"""Questions about where things are: what a ray hits, how near two things are, what overlaps. By name, at a given state."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .collide import query
from .collide.detect import Detector
from .collide.from_scene import collision_of
from .collide.tables import CONTACTS
from .collide.tables import Collision as Tables
from .model.compile import Model
from .model.tables import STATE_SIZE


@dataclass(frozen=True)
class RayHit:
    """Where a ray first meets something. name : of the body or obstacle. distance : m. point : (3,) m. normal : (3,) unit,
    outward."""

    name: str
    distance: float
    point: np.ndarray
    normal: np.ndarray


@dataclass(frozen=True)
class Gap:
    """The nearest points of two things, world axes. distance : m, negative where they overlap: the least translation that
    parts them. normal : (3,) unit, from a to b. point_a, point_b : (3,) m, on their surfaces."""

    distance: float
    normal: np.ndarray
    point_a: np.ndarray
    point_b: np.ndarray


class Queries:
    """Bodies and obstacles with a material, placed by `place`; a compound is as near as its nearest part."""

    def __init__(self, model: Model) -> None:
        self._names = [item.name for item in model.scene.touching()]
        self._bodies = len(model.body_names)
        tables = collision_of(model.scene)
        parts = [len(getattr(item.shape, "parts", (None,))) for item in model.scene.touching()]
        self._name_of = [name for name, count in zip(self._names, parts, strict=True) for _ in range(count)]
        self._colliders = {name: [i for i, owner in enumerate(self._name_of) if owner == name] for name in self._names}
        self._detector = Detector(tables)

    def place(self, y: np.ndarray) -> Queries:
        """Put everything where it is in a state vector. Raises ValueError for a pose that is not finite."""
        if self._detector(np.ascontiguousarray(y[: STATE_SIZE * self._bodies]), 0.0) != 0:
            raise ValueError("a pose is not finite: nothing can be asked of where things are")
        return self

    @property
    def _tables(self) -> Tables:
        return self._detector.collision

    @property
    def size(self) -> float:
        """The radius of the smallest thing, m."""
        tables = self._tables
        return float(tables.colliders.radius[tables.order].min(initial=1.0))

    def ray_cast(self, origin: ArrayLike, direction: ArrayLike, reach: float = math.inf) -> RayHit | None:
        """See `Simulation.ray_cast`."""
        hit = query.ray_cast(self._tables, origin, direction, reach)
        if hit is None:
            return None
        return RayHit(self._name_of[hit.collider], hit.distance, hit.point, hit.normal)

    def gap(self, a: str, b: str) -> Gap:
        """See `Simulation.gap`."""
        for name in (a, b):
            if name not in self._colliders:
                raise ValueError(
                    f"gap: {name!r} is no body or obstacle with a material; there are {', '.join(self._names)}"
                )
        if a == b:
            raise ValueError(f"gap: {a!r} is given twice; name two things")
        found = [query.closest_points(self._tables, i, j) for i in self._colliders[a] for j in self._colliders[b]]
        return Gap(*min(found, key=lambda points: points.distance))

    def overlapping(self) -> list[tuple[str, str]]:
        """See `Simulation.overlapping`."""
        return sorted(self.overlaps())

    def overlaps(self) -> dict[tuple[str, str], float]:
        """The depth of each pair that has a point in common, m: that of the deepest contact point that is found."""
        tables, place = self._tables, {name: i for i, name in enumerate(self._names)}
        rows = tables.contacts[: int(tables.counts[CONTACTS])]
        rows = rows[rows.separation <= 0.0]
        pairs = tables.pairs[rows.pair]
        found: dict[tuple[str, str], float] = {}
        for a, b, separation in zip(pairs.a.tolist(), pairs.b.tolist(), rows.separation.tolist(), strict=True):
            one, two = sorted((self._name_of[a], self._name_of[b]), key=place.__getitem__)
            found[one, two] = max(found.get((one, two), 0.0), -separation)
        return found
