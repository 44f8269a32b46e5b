"""The ellipsoid.

Its distance from a point: with semi-axes e the point x of the surface nearest to y satisfies x_i = e_i² y_i / (t + e_i²),
with the largest t for which it lies on the surface (Eberly, "Distance from a point to an ellipse, an ellipsoid, or a
hyperellipsoid", 2013, §4). In units of the least semi-axis that is |c(σ)| = 1, where c_i = e_i |y_i| / (σ + e_i² − 1) and
σ = 1 + t ≥ 0.

1/|c| is a power mean, of exponent −2, of the lines (σ + e_i² − 1) / (e_i |y_i|), and hence concave: Newton's method for
1/|c| = 1 goes up to the root from any σ below it, and takes few steps as the function is nearly linear. A σ below the root
is the one that makes the largest c_i one.

y − x has the components t x_i / e_i², which gives the distance without cancellation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...core.jit import inlined, njit
from ...core.math3 import add_scaled, dot, norm, scale
from ..polyhedron import Moments, Surface, sphere_surface
from .base import ELLIPSOID, Dimensions, Kernels, centered, register
from .geometry import NOTHING

STEPS = 64  # of Newton's method, far more than it takes: it stops where σ does not change any more


@njit
def part(z, line):
    """z/line; zero where z is zero."""
    return z / line if z > 0.0 else 0.0


@njit
def distance(size, p):
    """With the σ of `surface_parameter`, see above."""
    least = min(size[0], size[1], size[2])
    e = scale(1.0 / least, size)
    z = (e[0] * abs(p[0]) / least, e[1] * abs(p[1]) / least, e[2] * abs(p[2]) / least)
    more = ((e[0] - 1.0) * (e[0] + 1.0), (e[1] - 1.0) * (e[1] + 1.0), (e[2] - 1.0) * (e[2] + 1.0))
    sigma = surface_parameter(z, more)
    c = (part(z[0], sigma + more[0]), part(z[1], sigma + more[1]), part(z[2], sigma + more[2]))
    # On the middle plane of the shortest axis, deep within: two points are nearest, on either side of it.
    rest = math.sqrt(max(0.0, 1.0 - c[0] * c[0] - c[1] * c[1] - c[2] * c[2]))
    if sigma == 0.0:
        if more[2] == 0.0 and z[2] == 0.0:
            c = (c[0], c[1], rest)
        elif more[1] == 0.0 and z[1] == 0.0:
            c = (c[0], rest, c[2])
        else:
            c = (rest, c[1], c[2])
    # x_i = e_i c_i in units of m, and the gradient there is c_i / e_i.
    n = (math.copysign(c[0] / e[0], p[0]), math.copysign(c[1] / e[1], p[1]), math.copysign(c[2] / e[2], p[2]))
    length = norm(n)
    return (sigma - 1.0) * length * least, scale(1.0 / length, n)


@njit
def surface_parameter(z, more):
    """σ with |c| = 1; zero where |c| is less for every σ > 0."""
    sigma = max(z[0] - more[0], z[1] - more[1], z[2] - more[2], 0.0)
    for _ in range(STEPS):
        square, slope = 0.0, 0.0
        for k in range(3):
            line = sigma + more[k]
            c = part(z[k], line)
            square += c * c
            if c > 0.0:
                slope += c * c / line
        if not square > 1.0:
            break
        # 1/|c| = s^(−1/2) with s the square, whose derivative is −2 · slope.
        step = square * (math.sqrt(square) - 1.0) / slope
        before = sigma
        sigma += step
        if sigma == before:
            break
    return sigma


@njit
def support(size, u):
    """h(u) = |D u| with D = diag(semi-axes), and the point is its gradient D² u / h. The largest component is divided out
    first, so that no square under- or overflows."""
    largest = max(abs(u[0]), abs(u[1]), abs(u[2]))
    if not largest > 0.0:
        return (0.0, 0.0, size[2])
    g = scale(1.0 / largest, u)
    g = (size[0] * g[0], size[1] * g[1], size[2] * g[2])
    s = 1.0 / math.sqrt(dot(g, g))
    return (s * size[0] * g[0], s * size[1] * g[1], s * size[2] * g[2])


@inlined
def extent(size, u):
    """|D u| with D = diag(semi-axes)."""
    reach = norm((size[0] * u[0], size[1] * u[1], size[2] * u[2]))
    return reach, reach


@njit
def ray(size, o, d):
    """The ball of radius one in coordinates divided by the semi-axes; t stays what it is."""
    p = (o[0] / size[0], o[1] / size[1], o[2] / size[2])
    e = (d[0] / size[0], d[1] / size[1], d[2] / size[2])
    ee = dot(e, e)
    t = -dot(p, e) / ee
    nearest = add_scaled(p, t, e)
    square = (1.0 - dot(nearest, nearest)) / ee
    if not square >= 0.0:
        return NOTHING
    half = math.sqrt(square)
    q = add_scaled(nearest, -half, e)
    n = (q[0] / size[0], q[1] / size[1], q[2] / size[2])
    return t - half, t + half, scale(1.0 / norm(n), n)


@inlined
def curvature(size, p, u):
    """h = |D u|, p = D² u / h, dp/du = (D² − p pᵀ)/h."""
    h = dot(p, u)
    return (
        (size[0] * size[0] - p[0] * p[0]) / h, (size[1] * size[1] - p[1] * p[1]) / h,
        (size[2] * size[2] - p[2] * p[2]) / h, -p[0] * p[1] / h, -p[0] * p[2] / h, -p[1] * p[2] / h,
    )  # fmt: skip


@register
@dataclass(frozen=True)
class Ellipsoid(Dimensions):
    """The solid ellipsoid (x/a)² + (y/b)² + (z/c)² ≤ 1; a, b, c are its semi-axes, m."""

    a: float
    b: float
    c: float

    kind, curved = ELLIPSOID, True
    kernels = Kernels(support, extent, ray, distance, curvature)
    mjcf_type = "ellipsoid"

    def moments(self) -> Moments:
        """See `Shape.moments`."""
        a, b, c = self.size()
        return centered(4.0 / 3.0 * math.pi * a * b * c, (a * a / 5.0, b * b / 5.0, c * c / 5.0))

    def bounding_radius(self) -> float:
        """See `Shape.bounding_radius`."""
        return max(self.size())

    def size(self) -> tuple[float, float, float]:
        """The semi-axes."""
        return (self.a, self.b, self.c)

    def triangles(self, segments: int = 24) -> Surface:
        """An inscribed surface with ``segments`` facets around z, for display."""
        vertices, faces = sphere_surface(segments)
        return vertices * [self.a, self.b, self.c], faces

    def mjcf_geom(self) -> list[float]:
        """See `Shape.mjcf_geom`."""
        return list(self.size())

    @classmethod
    def from_mjcf(cls, size: Any) -> Ellipsoid:
        """See `Shape.from_mjcf`."""
        return cls(*size)
