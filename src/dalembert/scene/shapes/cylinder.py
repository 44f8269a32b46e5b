"""The cylinder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.jit import inlined, njit
from ..polyhedron import Moments, Surface, cylinder_surface
from .base import CYLINDER, Dimensions, Kernels, UsdPrim, centered, register
from .geometry import WHOLE_LINE, below, from_axis, rim_curvature, rim_point, round_face, tube


@inlined
def support(size, u):
    """On the rim of the end that u faces."""
    return rim_point(size[0], size[1] if u[2] >= 0.0 else -size[1], u)


@inlined
def extent(size, u):
    """r ρ + h |u_z|, with ρ the length of u across the axis."""
    reach = size[0] * math.sqrt(max(0.0, 1.0 - u[2] * u[2])) + size[1] * abs(u[2])
    return reach, reach


@inlined
def ray(size, o, d):
    """What a tube and two half-spaces have in common."""
    part = tube(WHOLE_LINE, o, d, size[0])
    part = below(part, o, d, (0.0, 0.0, 1.0), size[1])
    return below(part, o, d, (0.0, 0.0, -1.0), size[1])


@njit
def distance(size, p):
    """A rectangle in the plane through the axis and p."""
    rho, ux, uy = from_axis(p)
    across, along, up = rho - size[0], abs(p[2]) - size[1], math.copysign(1.0, p[2])
    if across <= 0.0 and along <= 0.0:
        return (across, (ux, uy, 0.0)) if across > along else (along, (0.0, 0.0, up))
    across, along = max(across, 0.0), max(along, 0.0)
    length = math.sqrt(across * across + along * along)
    across, along = across / length, along / length
    return length, (across * ux, across * uy, along * up)


@inlined
def flat_normal(size, u):
    """The end that u faces."""
    return (0.0, 0.0, math.copysign(1.0, u[2]))


@inlined
def face(size, u, x, axes, scratch, at):
    """An end, or a line of the side."""
    return round_face(False, size[0], size[1], u, x, axes, scratch, at)


@register
@dataclass(frozen=True)
class Cylinder(Dimensions):
    """A solid cylinder about the z axis, centred at the origin; radius and length in m."""

    radius: float
    length: float

    kind, curved = CYLINDER, True
    kernels = Kernels(support, extent, ray, distance, rim_curvature, flat_normal, face)
    mjcf_type, urdf_tag = "cylinder", "cylinder"

    def moments(self) -> Moments:
        """See `Shape.moments`."""
        r, length = self.radius, self.length
        return centered(math.pi * r * r * length, (r * r / 4.0, r * r / 4.0, length * length / 12.0))

    def bounding_radius(self) -> float:
        """See `Shape.bounding_radius`."""
        return float(np.hypot(self.radius, 0.5 * self.length))

    def size(self) -> tuple[float, float, float]:
        """The radius, and half the length."""
        return (self.radius, 0.5 * self.length, 0.0)

    def triangles(self, segments: int = 24) -> Surface:
        """An inscribed surface with ``segments`` facets around z, for display."""
        return cylinder_surface(self.radius, self.length, segments)

    def mjcf_geom(self) -> list[float]:
        """See `Shape.mjcf_geom`."""
        return [self.radius, 0.5 * self.length]

    @classmethod
    def from_mjcf(cls, size: Any) -> Cylinder:
        """See `Shape.from_mjcf`."""
        return cls(size[0], 2.0 * size[1])

    @classmethod
    def from_urdf(cls, attributes: Any) -> Cylinder:
        """See `Shape.from_urdf`."""
        return cls(attributes.number("radius"), attributes.number("length"))

    def usd_prim(self) -> UsdPrim:
        """See `Shape.usd_prim`."""
        return UsdPrim("Cylinder", {"Radius": self.radius, "Height": self.length})
