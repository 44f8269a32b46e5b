"""The capsule: all points within a radius of a segment."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...core.jit import inlined, njit
from ...core.math3 import scale
from ..polyhedron import Moments, Surface, capsule_surface
from .base import CAPSULE, Dimensions, Kernels, UsdPrim, centered, register
from .geometry import NOTHING, TILT, WHOLE_LINE, ball, below, from_ball, put, tube


@inlined
def support(size, u):
    """The core is the segment."""
    return (0.0, 0.0, size[1] if u[2] >= 0.0 else -size[1])


@inlined
def extent(size, u):
    """r + h |u_z|, with the radius r and half the length h."""
    reach = size[0] + size[1] * abs(u[2])
    return reach, reach


@njit
def ray(size, o, d):
    """The union of a cylinder without ends and two balls: a ray meets it in the union of their intervals."""
    radius, half = size[0], size[1]
    side = tube(WHOLE_LINE, o, d, radius)
    side = below(side, o, d, (0.0, 0.0, 1.0), half)
    side = below(side, o, d, (0.0, 0.0, -1.0), half)
    best = side if side[0] <= side[1] else NOTHING
    for i in range(2):
        part = ball(WHOLE_LINE, o, d, radius, half if i == 0 else -half)
        if part[0] <= part[1]:
            normal = part[2] if part[0] < best[0] else best[2]
            best = (min(best[0], part[0]), max(best[1], part[1]), normal)
    return best


@njit
def distance(size, p):
    """From the ball about the nearest point of the segment."""
    nearest = min(max(p[2], -size[1]), size[1])
    return from_ball((p[0], p[1], p[2] - nearest), size[0], (1.0, 0.0, 0.0))


@inlined
def face(size, u, x, axes, scratch, at):
    """The segment, moved out to the surface."""
    radius, half = size[0], size[1]
    if abs(u[2]) > TILT:
        return 0
    p = scale(radius, u)
    at = put((p[0], p[1], p[2] - half), x, axes, scratch, at)
    put((p[0], p[1], p[2] + half), x, axes, scratch, at)
    return 2


@register
@dataclass(frozen=True)
class Capsule(Dimensions):
    """All points within ``radius`` of a segment on the z axis, of length ``length`` and centred at the origin; m.

    ``length`` is the length of the cylindrical part; the total length of the capsule is length + 2 radius.
    """

    radius: float
    length: float

    kind, grown, by_events = CAPSULE, True, True
    kernels = Kernels(support, extent, ray, distance, face=face)
    mjcf_type, urdf_tag = "capsule", "capsule"

    def moments(self) -> Moments:
        """A cylinder and two half spheres, whose centres of mass lie 3r/8 above their discs.

        For a half sphere on a disc at height h = length/2, the mean of z² is h² + 2h(3r/8) + r²/5.
        """
        r, length = self.radius, self.length
        equivalent = length + 4.0 / 3.0 * r  # the length of a cylinder of this radius and volume
        in_tube = length / equivalent
        in_ball = 4.0 / 3.0 * r / equivalent
        across = in_tube * r * r / 4.0 + in_ball * r * r / 5.0
        along = in_tube * length * length / 12.0 + in_ball * (
            length * length / 4.0 + 3.0 / 8.0 * length * r + r * r / 5.0
        )
        return centered(math.pi * r * r * equivalent, (across, across, along))

    def bounding_radius(self) -> float:
        """See `Shape.bounding_radius`."""
        return self.radius + 0.5 * self.length

    def size(self) -> tuple[float, float, float]:
        """The radius, and half the length of the segment."""
        return (self.radius, 0.5 * self.length, 0.0)

    def triangles(self, segments: int = 24) -> Surface:
        """An inscribed surface with ``segments`` facets around z, for display."""
        return capsule_surface(self.radius, self.length, segments)

    def mjcf_geom(self) -> list[float]:
        """See `Shape.mjcf_geom`."""
        return [self.radius, 0.5 * self.length]

    @classmethod
    def from_mjcf(cls, size: Any) -> Capsule:
        """See `Shape.from_mjcf`."""
        return cls(size[0], 2.0 * size[1])

    @classmethod
    def from_urdf(cls, attributes: Any) -> Capsule:
        """See `Shape.from_urdf`."""
        return cls(attributes.number("radius"), attributes.number("length"))

    def usd_prim(self) -> UsdPrim:
        """See `Shape.usd_prim`."""
        return UsdPrim("Capsule", {"Radius": self.radius, "Height": self.length})
