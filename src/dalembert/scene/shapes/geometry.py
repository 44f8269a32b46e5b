"""Compiled geometry that shapes have in common: rims, rays, nearest points and flat parts. All in the frame of a shape,
m.

Rays: a convex shape is an intersection of half-spaces and quadrics. The part of a ray inside each is an interval; the
intersection of these intervals is the part inside the shape. A function takes an interval (enter, leave, outward normal
where the ray enters) and the ray x(t) = o + t d, and returns a smaller interval, empty if enter > leave.
"""

import math

from ...core.elementary import sin_cos
from ...core.jit import inlined, njit
from ...core.math3 import add, add_scaled, dot, matvec, norm, scale
from ...core.simd import store

NOTHING = (math.inf, -math.inf, (0.0, 0.0, 0.0))
WHOLE_LINE = (-math.inf, math.inf, (0.0, 0.0, 0.0))
TILT = 0.05  # rad, about: a flat part within this angle of the tangent plane takes part in a contact
RIM = 8  # corners that stand for a flat round end


@njit
def rim_point(radius, z, u):
    """The point of the circle of this radius about the z axis at height z that is furthest along u; the centre if u is on
    the axis."""
    rho = math.sqrt(u[0] * u[0] + u[1] * u[1])
    if rho == 0.0:
        return (0.0, 0.0, z)
    s = radius / rho
    return (s * u[0], s * u[1], z)


@inlined
def rim_curvature(size, p, u):
    """dp/du of the point p of a rim about z: with the distance r of p from the axis and ρ the length of the unit vector u
    across it, p turns about the axis with u, so that it is (r/ρ) t tᵀ with t the direction about the axis."""
    rho = math.sqrt(u[0] * u[0] + u[1] * u[1])
    r = math.sqrt(p[0] * p[0] + p[1] * p[1])
    if r > 0.0 and rho > 0.0:
        s = r / (rho * rho * rho)
        return (s * u[1] * u[1], s * u[0] * u[0], 0.0, -s * u[0] * u[1], 0.0, 0.0)
    return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


# Rays -----------------------------------------------------------------------------------------------------------------


@njit
def below(part, o, d, n, offset):
    """The part of a ray within the half-space n · x ≤ offset."""
    enter, leave, normal = part
    rate = dot(n, d)
    room = offset - dot(n, o)
    if rate == 0.0:
        return part if room >= 0.0 else NOTHING
    t = room / rate
    if rate < 0.0:
        return (t, leave, n) if t > enter else part
    return (enter, min(leave, t), normal)


@njit
def roots(a, b, c):
    """The roots of a t² + 2 b t + c, in order (inf, −inf if there are none); a is not zero."""
    square = b * b - a * c
    if not square >= 0.0:
        return math.inf, -math.inf
    q = -(b + math.copysign(math.sqrt(square), b))
    if q == 0.0:
        return 0.0, 0.0
    return min(q / a, c / q), max(q / a, c / q)


@njit
def cut(part, first, last, normal):
    """The part between first and last, where `normal` is at first."""
    enter, leave, before = part
    if first > enter:
        return (first, min(leave, last), normal)
    return (enter, min(leave, last), before)


@njit
def ball(part, o, d, radius, z):
    """The part within the ball |x − (0, 0, z)| ≤ radius."""
    r = (o[0], o[1], o[2] - z)
    t = -dot(r, d)
    nearest = add_scaled(r, t, d)
    square = radius * radius - dot(nearest, nearest)
    if not square >= 0.0:
        return NOTHING
    half = math.sqrt(square)
    return cut(part, t - half, t + half, scale(1.0 / radius, add_scaled(nearest, -half, d)))


@njit
def tube(part, o, d, radius):
    """The part within the cylinder x² + y² ≤ radius²."""
    a = d[0] * d[0] + d[1] * d[1]
    c = o[0] * o[0] + o[1] * o[1] - radius * radius
    if a == 0.0:
        return part if c <= 0.0 else NOTHING
    first, last = roots(a, o[0] * d[0] + o[1] * d[1], c)
    if not first <= last:
        return NOTHING
    p = add_scaled(o, first, d)
    return cut(part, first, last, (p[0] / radius, p[1] / radius, 0.0))


# Signed distances of points -------------------------------------------------------------------------------------------


@inlined
def from_axis(p):
    """(distance from the z axis, and the unit vector away from it; x on the axis)."""
    rho = math.sqrt(p[0] * p[0] + p[1] * p[1])
    return (rho, p[0] / rho, p[1] / rho) if rho > 0.0 else (0.0, 1.0, 0.0)


@njit
def from_ball(p, radius, otherwise):
    """(signed distance, outward unit normal) of p from a ball about the origin. `otherwise`: the normal at the centre."""
    distance = norm(p)
    return distance - radius, scale(1.0 / distance, p) if distance > 0.0 else otherwise


# Flat parts -----------------------------------------------------------------------------------------------------------


@njit
def put(p, x, axes, scratch, at):
    """Write a point p of a collider's frame, whose origin is at x and whose rotation matrix is `axes`, to scratch[at :
    at + 3] in world axes. Returns the index of the next.

    A flat part is written corner by corner, in order around: two for an edge, up to `MOST_CORNERS` of collision detection
    for a polygon.
    """
    q = add(x, matvec(axes, p))
    for k in range(3):
        store(scratch, at + k, q[k])
    return at + 3


@njit
def round_face(pointed, radius, half, u, x, axes, scratch, at):
    """Of a cylinder, or of a cone (`pointed`): a flat end, the line of the side, or nothing. A round end is the octagon of
    points on its rim that is fixed in the shape."""
    rho = math.sqrt(u[0] * u[0] + u[1] * u[1])
    if rho <= TILT and (not pointed or u[2] < 0.0):
        z = half if u[2] > 0.0 else -half
        for i in range(RIM):
            angle = 2.0 * math.pi * i / RIM
            sine, cosine = sin_cos(angle)
            at = put((radius * cosine, radius * sine, z), x, axes, scratch, at)
        return RIM
    if rho == 0.0:
        return 0
    lower = (radius * u[0] / rho, radius * u[1] / rho, -half)
    upper = (0.0, 0.0, half) if pointed else (lower[0], lower[1], half)
    e = (upper[0] - lower[0], upper[1] - lower[1], upper[2] - lower[2])
    if abs(dot(e, u)) > TILT * math.sqrt(dot(e, e)):
        return 0
    at = put(lower, x, axes, scratch, at)
    put(upper, x, axes, scratch, at)
    return 2
