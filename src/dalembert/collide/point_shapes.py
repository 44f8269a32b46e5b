"""The signed distance of a point from the surface of a shape that is round or a box, in the frame of the shape.

Each function returns (distance, outward unit normal) at the nearest point of the surface. The distance (m) is negative
within: the least translation that brings the point out, along that normal. Where several points of the surface are
nearest the choice is fixed.
"""

import math

from ..jit import inlined, njit
from ..vec import norm, scale


@inlined
def from_axis(p):
    """(distance from the z axis, and the unit vector away from it; x on the axis)."""
    rho = math.sqrt(p[0] * p[0] + p[1] * p[1])
    return (rho, p[0] / rho, p[1] / rho) if rho > 0.0 else (0.0, 1.0, 0.0)


@njit
def from_ball(p, radius, otherwise):
    """`otherwise`: the normal at the centre."""
    distance = norm(p)
    return distance - radius, scale(1.0 / distance, p) if distance > 0.0 else otherwise


@njit
def from_capsule(p, radius, half):
    """The ball about the nearest point of the segment."""
    nearest = min(max(p[2], -half), half)
    return from_ball((p[0], p[1], p[2] - nearest), radius, (1.0, 0.0, 0.0))


@njit
def from_box(p, half):
    """Outside, the part of p that is beyond the faces; inside, the nearest face."""
    x, y, z = abs(p[0]) - half[0], abs(p[1]) - half[1], abs(p[2]) - half[2]
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
    distance = norm(out)
    return distance, scale(1.0 / distance, out)


@njit
def from_cylinder(p, radius, half):
    """A rectangle in the plane through the axis and p."""
    rho, ux, uy = from_axis(p)
    across, along, up = rho - radius, abs(p[2]) - half, math.copysign(1.0, p[2])
    if across <= 0.0 and along <= 0.0:
        return (across, (ux, uy, 0.0)) if across > along else (along, (0.0, 0.0, up))
    across, along = max(across, 0.0), max(along, 0.0)
    distance = math.sqrt(across * across + along * along)
    across, along = across / distance, along / distance
    return distance, (across * ux, across * uy, along * up)


# In the plane through the axis and p the cone is a triangle: the base z = −half, the side from the rim (radius, −half)
# to the apex (0, half), with outward normal (2 half, radius)/L, L its length. `along` runs up the side from the rim, times L.
@njit
def from_cone(p, radius, half):
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
    distance = math.sqrt(r * r + z * z)
    if not distance > 0.0:
        return 0.0, (out * ux, out * uy, up)
    r, z = r / distance, z / distance
    return distance, (r * ux, r * uy, z)
