"""The box."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.jit import inlined, njit
from ...core.math3 import add, norm, scale
from ..polyhedron import Moments, Surface, box_surface
from .base import BOX, Dimensions, Kernels, UsdPrim, centered, register
from .geometry import TILT, WHOLE_LINE, below, put


@inlined
def support(size, u):
    """The corner whose coordinates have the signs of u."""
    return (
        size[0] if u[0] >= 0.0 else -size[0],
        size[1] if u[1] >= 0.0 else -size[1],
        size[2] if u[2] >= 0.0 else -size[2],
    )


@inlined
def extent(size, u):
    """Σ hᵢ |uᵢ|, with half the sides hᵢ."""
    reach = size[0] * abs(u[0]) + size[1] * abs(u[1]) + size[2] * abs(u[2])
    return reach, reach


@inlined
def ray(size, o, d):
    """What six half-spaces have in common."""
    part = below(WHOLE_LINE, o, d, (1.0, 0.0, 0.0), size[0])
    part = below(part, o, d, (-1.0, 0.0, 0.0), size[0])
    part = below(part, o, d, (0.0, 1.0, 0.0), size[1])
    part = below(part, o, d, (0.0, -1.0, 0.0), size[1])
    part = below(part, o, d, (0.0, 0.0, 1.0), size[2])
    return below(part, o, d, (0.0, 0.0, -1.0), size[2])


@njit
def distance(size, p):
    """Outside, the part of p that is beyond the faces; inside, the nearest face."""
    x, y, z = abs(p[0]) - size[0], abs(p[1]) - size[1], abs(p[2]) - size[2]
    if x <= 0.0 and y <= 0.0 and z <= 0.0:
        if x >= y and x >= z:
            return x, (math.copysign(1.0, p[0]), 0.0, 0.0)
        if y >= z:
            return y, (0.0, math.copysign(1.0, p[1]), 0.0)
        return z, (0.0, 0.0, math.copysign(1.0, p[2]))
    out = (
        math.copysign(max(x, 0.0), p[0]),
        math.copysign(max(y, 0.0), p[1]),
        math.copysign(max(z, 0.0), p[2]),
    )
    length = norm(out)
    return length, scale(1.0 / length, out)


@inlined
def flat_normal(size, u):
    """Along the largest component of u."""
    x, y, z = abs(u[0]), abs(u[1]), abs(u[2])
    if x >= y and x >= z:
        return (math.copysign(1.0, u[0]), 0.0, 0.0)
    return (0.0, math.copysign(1.0, u[1]), 0.0) if y >= z else (0.0, 0.0, math.copysign(1.0, u[2]))


@njit
def face(size, u, x, axes, scratch, at):
    """The corners where the components of u that are not small have its signs. Their order does not depend on those that are,
    which change their signs in a box at rest."""
    free_x, free_y, free_z = abs(u[0]) <= TILT, abs(u[1]) <= TILT, abs(u[2]) <= TILT
    sx = size[0] if free_x else math.copysign(size[0], u[0])
    sy = size[1] if free_y else math.copysign(size[1], u[1])
    sz = size[2] if free_z else math.copysign(size[2], u[2])
    # Two free axes make a face, one an edge; a turn about the first and then the second visits the corners in order.
    count = 1
    e, f = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if free_x:
        e = (-2.0 * sx, 0.0, 0.0)
        count = 2
    if free_y:
        step = (0.0, -2.0 * sy, 0.0)
        if count == 2:
            f = step
            count = 4
        else:
            e = step
            count = 2
    if free_z:
        step = (0.0, 0.0, -2.0 * sz)
        if count == 2:
            f = step
            count = 4
        else:
            e = step
            count = 2
    if count == 1:
        return 0
    p = (sx, sy, sz)
    at = put(p, x, axes, scratch, at)
    at = put(add(p, e), x, axes, scratch, at)
    if count == 4:
        at = put(add(add(p, e), f), x, axes, scratch, at)
        put(add(p, f), x, axes, scratch, at)
    return count


@register
@dataclass(frozen=True)
class Box(Dimensions):
    """A box centred at the origin; x, y, z are its full side lengths, m.

    >>> Box(1, 2, 3).triangles()[1].shape
    (12, 3)
    """

    x: float
    y: float
    z: float

    kind, by_events = BOX, True
    kernels = Kernels(support, extent, ray, distance, flat_normal=flat_normal, face=face)
    mjcf_type, urdf_tag = "box", "box"

    def moments(self) -> Moments:
        """See `Shape.moments`."""
        x, y, z = self.x, self.y, self.z
        return centered(x * y * z, (x * x / 12.0, y * y / 12.0, z * z / 12.0))

    def bounding_radius(self) -> float:
        """See `Shape.bounding_radius`."""
        return 0.5 * float(np.linalg.norm([self.x, self.y, self.z]))

    def size(self) -> tuple[float, float, float]:
        """Half side lengths."""
        return (0.5 * self.x, 0.5 * self.y, 0.5 * self.z)

    def triangles(self, segments: int = 24) -> Surface:
        """The twelve triangles of the box; ``segments`` has no effect."""
        return box_surface(self.x, self.y, self.z)

    def mjcf_geom(self) -> list[float]:
        """See `Shape.mjcf_geom`."""
        return list(self.size())

    @classmethod
    def from_mjcf(cls, size: Any) -> Box:
        """See `Shape.from_mjcf`."""
        return cls(*(2.0 * size))

    @classmethod
    def from_urdf(cls, attributes: Any) -> Box:
        """See `Shape.from_urdf`."""
        return cls(*attributes.vector("size", 3))

    def usd_prim(self) -> UsdPrim:
        """See `Shape.usd_prim`."""
        return UsdPrim("Cube", {"Size": 1.0}, (self.x, self.y, self.z))
