"""Where a ray enters a collider, in closed form.

A convex shape is what half-spaces and quadrics have in common, and the part of the ray inside each is an interval; what is
left in the end is the part inside the shape. A capsule is the union of a cylinder without ends and two balls. Every
function takes the ray x(t) = o + t d and an interval (enter, leave, normal), with the outward normal where the ray
enters, and returns a smaller one, empty if enter > leave.
"""

import math

from ..jit import njit
from ..vec import add_scaled, dot, load3, matvec, matvec_t, norm, scale, sub
from .bounds import nine
from .tables import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, HALF_SPACE, HULL, SPHERE

NOTHING = (math.inf, -math.inf, (0.0, 0.0, 0.0))
WHOLE_LINE = (-math.inf, math.inf, (0.0, 0.0, 0.0))


@njit
def ray_hit(collider, place, faces, origin, direction):
    """(distance, outward unit normal) where a ray from `origin` along the unit vector `direction` (world) meets a collider.

    The distance (m) is inf for a miss. From within it is zero, and the normal is −direction.
    """
    axes = nine(place.rotation)
    o = matvec_t(axes, sub(origin, load3(place.x)))
    d = matvec_t(axes, direction)
    # From the point of the ray nearest to the centre, so that a distant origin costs the roots no digits.
    start = 0.0 if collider.kind == HALF_SPACE else -dot(o, d)
    enter, leave, normal = inside(collider, faces, add_scaled(o, start, d), d)
    if not enter <= leave or leave + start < 0.0:
        return math.inf, (0.0, 0.0, 0.0)
    if enter + start <= 0.0:
        return 0.0, (-direction[0], -direction[1], -direction[2])
    return enter + start, matvec(axes, normal)


@njit
def inside(collider, faces, o, d):
    """The part of the ray inside a collider, in its frame."""
    kind = collider.kind
    size = load3(collider["size"])
    part = WHOLE_LINE
    if kind == SPHERE:
        return ball(part, o, d, size[0], 0.0)
    if kind == CAPSULE:
        return in_capsule(o, d, size[0], size[1])
    if kind == HALF_SPACE:
        return below(part, o, d, (0.0, 0.0, 1.0), 0.0)
    if kind == HULL:
        for f in range(collider.first_face, collider.first_face + collider.faces):
            part = below(part, o, d, load3(faces[f].normal), faces[f].offset)
        return part
    if kind == ELLIPSOID:
        return in_ellipsoid(o, d, size)
    if kind == BOX:
        part = below(part, o, d, (1.0, 0.0, 0.0), size[0])
        part = below(part, o, d, (-1.0, 0.0, 0.0), size[0])
        part = below(part, o, d, (0.0, 1.0, 0.0), size[1])
        part = below(part, o, d, (0.0, -1.0, 0.0), size[1])
        part = below(part, o, d, (0.0, 0.0, 1.0), size[2])
        return below(part, o, d, (0.0, 0.0, -1.0), size[2])
    if kind == CYLINDER:
        part = tube(part, o, d, size[0])
        part = below(part, o, d, (0.0, 0.0, 1.0), size[1])
        return below(part, o, d, (0.0, 0.0, -1.0), size[1])
    if kind == CONE:
        part = nappe(part, o, d, size[0], size[1])
        return below(part, o, d, (0.0, 0.0, -1.0), size[1])
    return NOTHING


@njit
def below(part, o, d, n, offset):
    """n · x ≤ offset."""
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
    """|x − (0, 0, z)| ≤ radius."""
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
    """x² + y² ≤ radius²."""
    a = d[0] * d[0] + d[1] * d[1]
    c = o[0] * o[0] + o[1] * o[1] - radius * radius
    if a == 0.0:
        return part if c <= 0.0 else NOTHING
    first, last = roots(a, o[0] * d[0] + o[1] * d[1], c)
    if not first <= last:
        return NOTHING
    p = add_scaled(o, first, d)
    return cut(part, first, last, (p[0] / radius, p[1] / radius, 0.0))


@njit
def nappe(part, o, d, radius, half):
    """x² + y² ≤ (k w)² with w = half − z ≥ 0, the height below the apex, and k = radius / (2 half)."""
    kk = 0.25 * radius * radius / (half * half)
    w = half - o[2]
    a = d[0] * d[0] + d[1] * d[1] - kk * d[2] * d[2]
    b = o[0] * d[0] + o[1] * d[1] + kk * w * d[2]
    c = o[0] * o[0] + o[1] * o[1] - kk * w * w
    if abs(a) <= 1e-15 * kk:  # along the side line: one root
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
def in_ellipsoid(o, d, size):
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


@njit
def in_capsule(o, d, radius, half):
    """A ray meets the union of convex parts in the union of their intervals."""
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
