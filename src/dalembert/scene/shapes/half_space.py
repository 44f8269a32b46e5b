"""The half-space: the ground."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...jit import inlined
from ..tessellation import Surface
from .base import Kernels, Shape, register
from .geometry import WHOLE_LINE, below
from .kinds import HALF_SPACE

UNBOUNDED = 1e30  # m


@inlined
def extent(size, u):
    return UNBOUNDED, UNBOUNDED


@inlined
def ray(size, o, d):
    return below(WHOLE_LINE, o, d, (0.0, 0.0, 1.0), 0.0)


@inlined
def distance(size, p):
    return p[2], (0.0, 0.0, 1.0)


@register
@dataclass(frozen=True)
class HalfSpace(Shape):
    """All that lies below the plane z = 0 of its frame; for obstacles only, as it has no mass."""

    kind, solid, by_events = HALF_SPACE, False, True
    kernels = Kernels(extent=extent, ray=ray, distance=distance)
    mjcf_type = "plane"

    def triangles(self, segments: int = 24) -> Surface:
        """Nothing: a half-space is drawn as the ground."""
        return np.zeros((0, 3)), np.zeros((0, 3), np.int64)

    def bounding_radius(self) -> float:
        """As good as no end."""
        return UNBOUNDED

    def mjcf_geom(self) -> list[float]:
        """See `Shape.mjcf_geom`."""
        return [0.0, 0.0, 1.0]

    @classmethod
    def from_mjcf(cls, size: object) -> HalfSpace:
        """See `Shape.from_mjcf`."""
        return cls()
