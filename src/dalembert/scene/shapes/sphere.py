"""The ball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...core.jit import inlined
from ..polyhedron import Moments, Surface, sphere_surface
from .base import SPHERE, Dimensions, Kernels, UsdPrim, centered, register
from .geometry import WHOLE_LINE, ball, from_ball


@inlined
def support(size, u):
    """The core is the centre."""
    return (0.0, 0.0, 0.0)


@inlined
def extent(size, u):
    return size[0], size[0]


@inlined
def ray(size, o, d):
    return ball(WHOLE_LINE, o, d, size[0], 0.0)


@inlined
def distance(size, p):
    return from_ball(p, size[0], (0.0, 0.0, 1.0))


@register
@dataclass(frozen=True)
class Sphere(Dimensions):
    """A ball centred at the origin; radius in m."""

    radius: float

    kind, grown, by_events = SPHERE, True, True
    kernels = Kernels(support, extent, ray, distance)
    mjcf_type, urdf_tag = "sphere", "sphere"

    def moments(self) -> Moments:
        """See `Shape.moments`."""
        r = self.radius
        return centered(4.0 / 3.0 * math.pi * r * r * r, (r * r / 5.0,) * 3)

    def bounding_radius(self) -> float:
        """See `Shape.bounding_radius`."""
        return self.radius

    def size(self) -> tuple[float, float, float]:
        """The radius."""
        return (self.radius, 0.0, 0.0)

    def triangles(self, segments: int = 24) -> Surface:
        """An inscribed surface with ``segments`` facets around z, for display."""
        vertices, faces = sphere_surface(segments)
        return self.radius * vertices, faces

    def mjcf_geom(self) -> list[float]:
        """See `Shape.mjcf_geom`."""
        return [self.radius]

    @classmethod
    def from_mjcf(cls, size: Any) -> Sphere:
        """See `Shape.from_mjcf`."""
        return cls(size[0])

    @classmethod
    def from_urdf(cls, attributes: Any) -> Sphere:
        """See `Shape.from_urdf`."""
        return cls(attributes.number("radius"))

    def usd_prim(self) -> UsdPrim:
        """See `Shape.usd_prim`."""
        return UsdPrim("Sphere", {"Radius": self.radius})
