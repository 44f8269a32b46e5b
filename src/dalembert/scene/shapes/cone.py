"""The cone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core.jit import inlined, njit
from ...core.math3 import add_scaled, dot, norm, scale
from ..polyhedron import Moments, Surface, cone_surface
from .base import CONE, Dimensions, Kernels, UsdPrim, centered, register
from .geometry import NOTHING, WHOLE_LINE, below, cut, from_axis, rim_curvature, rim_point, roots, round_face

ROUNDING = 1e-15  # of k²: where a quadratic has a smaller leading term, rounding made it, and it is linear


@inlined
def support(size, u):
    """The apex, or a point of the rim."""
    base = rim_point(size[0], -size[1], u)
    apex = (0.0, 0.0, size[1])
    return apex if dot(u, apex) >= dot(u, base) else base


@inlined
def extent(size, u):
    """To the apex or to the rim, whichever is further."""
    disc = size[0] * math.sqrt(max(0.0, 1.0 - u[2] * u[2]))
    apex = size[1] * u[2]
    return max(apex, disc - apex), max(-apex, disc + apex)


@inlined
def ray(size, o, d):
    """What the nappe and a half-space have in common."""
    part = nappe(WHOLE_LINE, o, d, size[0], size[1])
    return below(part, o, d, (0.0, 0.0, -1.0), size[1])


@njit
def nappe(part, o, d, radius, half):
    """x² + y² ≤ (k w)² with w = half − z ≥ 0, the height below the apex, and k = radius / (2 half)."""
    kk = 0.25 * radius * radius / (half * half)
    w = half - o[2]
    a = d[0] * d[0] + d[1] * d[1] - kk * d[2] * d[2]
    b = o[0] * d[0] + o[1] * d[1] + kk * w * d[2]
    c = o[0] * o[0] + o[1] * o[1] - kk * w * w
    if abs(a) <= ROUNDING * kk:  # along the side line: one root
        t = -0.5 * c / b if b != 0.0 else math.inf
        first, last = (t, math.inf) if d[2] < 0.0 else (-math.inf, t)
        if b == 0.0 and c > 0.0:
            return NOTHING
    else:
        first, last = roots(a, b, c)
        if a < 0.0:
            # Inside beyond the roots, on the two nappes; downwards the lower one comes last.
            if not first <= last:
                first, last = -b / a, -b / a
            first, last = (last, math.inf) if d[2] < 0.0 else (-math.inf, first)
        elif not first <= last or w - 0.5 * (first + last) * d[2] < 0.0:
            return NOTHING
    p = add_scaled(o, first, d) if first > -math.inf else o
    n = (p[0], p[1], kk * (half - p[2]))
    length = norm(n)
    return cut(part, first, last, scale(1.0 / length, n) if length > 0.0 else (0.0, 0.0, 1.0))


@njit
def distance(size, p):
    """In the plane through the axis and p the cone is a triangle: the base z = −half, and the side from the rim
    (radius, −half) to the apex (0, half), with outward normal (2 half, radius)/L, L its length. `along` runs up the side
    from the rim, times L."""
    radius, half = size[0], size[1]
    rho, ux, uy = from_axis(p)
    length = math.sqrt(4.0 * half * half + radius * radius)
    out, up = 2.0 * half / length, radius / length
    side = out * rho + up * (p[2] - half)
    base = -half - p[2]
    along = out * (p[2] + half) - up * (rho - radius)
    if side <= 0.0 and base <= 0.0:
        return (base, (0.0, 0.0, -1.0)) if base >= side else (side, (out * ux, out * uy, up))
    if along >= length:
        r, z = rho, p[2] - half  # the apex is nearest
    elif along >= 0.0 and side > 0.0:
        return side, (out * ux, out * uy, up)
    elif rho > radius:
        r, z = rho - radius, -base  # the rim
    else:
        return base, (0.0, 0.0, -1.0)
    away = math.sqrt(r * r + z * z)
    if not away > 0.0:
        return 0.0, (out * ux, out * uy, up)
    r, z = r / away, z / away
    return away, (r * ux, r * uy, z)


@inlined
def flat_normal(size, u):
    """The base, where u points down."""
    return (0.0, 0.0, math.copysign(1.0, u[2])) if u[2] < 0.0 else (0.0, 0.0, 0.0)


@inlined
def face(size, u, x, axes, scratch, at):
    """The base, or a line of the side."""
    return round_face(True, size[0], size[1], u, x, axes, scratch, at)


@register
@dataclass(frozen=True)
class Cone(Dimensions):
    """A solid cone about the z axis, with a base of the given radius at z = −height/2 and its apex at z = +height/2; m.

    Its centre of mass lies at z = −height/4.
    """

    radius: float
    height: float

    kind, curved = CONE, True
    kernels = Kernels(support, extent, ray, distance, rim_curvature, flat_normal, face)

    def moments(self) -> Moments:
        """The centre of mass is a quarter of the height above the base; mean squares about it are 3r²/20 and 3h²/80."""
        r, height = self.radius, self.height
        volume, _, gyration = centered(
            math.pi / 3.0 * r * r * height, (3.0 / 20.0 * r * r, 3.0 / 20.0 * r * r, 3.0 / 80.0 * height * height)
        )
        return Moments(volume, np.array([0.0, 0.0, -0.25 * height]), gyration)

    def bounding_radius(self) -> float:
        """See `Shape.bounding_radius`."""
        return float(np.hypot(self.radius, 0.5 * self.height))

    def size(self) -> tuple[float, float, float]:
        """The radius of the base, and half the height."""
        return (self.radius, 0.5 * self.height, 0.0)

    def triangles(self, segments: int = 24) -> Surface:
        """An inscribed surface with ``segments`` facets around z, for display."""
        return cone_surface(self.radius, self.height, segments)

    def usd_prim(self) -> UsdPrim:
        """See `Shape.usd_prim`."""
        return UsdPrim("Cone", {"Radius": self.radius, "Height": self.height})
