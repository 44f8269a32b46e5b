"""The patch of contact of two convex polygons, seen along the normal."""

import math

from ..jit import inlined, njit
from ..unchecked import peek, poke
from ..vec import add, add_scaled, cross, dot, perpendicular, scale, sub
from .clip import ROOM, STRIDE, WORK, cut, name_corners, put_corner
from .manifold import add_near, start, store_points
from .segments import nearest_points

SLACK = 1e-6  # of the smaller polygon: what counts as on an edge
PARALLEL = 1e-6  # squared sine of the angle between two edges up to which they meet in two points
STEEP = 1e-4  # squared cosine between the normal and a polygon's own from which the polygon can be the reference
LABEL_B = 128  # labels of edges: those of polygon a count from 0, of b from here


@inlined
def corner(at, i, scratch):
    k = at + 3 * i
    return (peek(scratch, k), peek(scratch, k + 1), peek(scratch, k + 2))


@njit
def into_frame(count, at, origin, axis_u, axis_v, axis_n, scratch):
    """Replace the corners of a polygon by their coordinates in the frame of the contact; returns its extent across n."""
    extent = 0.0
    for i in range(count):
        p = sub(corner(at, i, scratch), origin)
        k = at + 3 * i
        poke(scratch, k, dot(axis_u, p))
        poke(scratch, k + 1, dot(axis_v, p))
        poke(scratch, k + 2, dot(axis_n, p))
        extent = max(
            extent, abs(peek(scratch, k) - peek(scratch, at)), abs(peek(scratch, k + 1) - peek(scratch, at + 1))
        )
    return extent


@njit
def polygon_normal(count, at, scratch):
    """Twice the vector area: the sum of the triangles from the first corner."""
    first = corner(at, 0, scratch)
    total = (0.0, 0.0, 0.0)
    for i in range(1, count - 1):
        c = cross(sub(corner(at, i, scratch), first), sub(corner(at, i + 1, scratch), first))
        total = (total[0] + c[0], total[1] + c[1], total[2] + c[2])
    return total


@inlined
def facing(count, m):
    """Squared cosine between the normal of the contact and a polygon's; −1 where it has none."""
    square = dot(m, m)
    return m[2] * m[2] / square if count > 2 and square > 0.0 else -1.0


@njit
def clip_faces(count_a, at_a, count_b, at_b, normal, margin, widen, scratch, manifold):
    """Fill the manifold of two convex polygons that touch along `normal` (unit, from a to b); returns its points.

    count, at : corners of a polygon, and where in `scratch` their xyz (world, m) begin, before `clip.WORK`; in order around,
        either way. 1 is a point, 2 an edge; 64 at most. They are overwritten.

    Seen along the normal, the polygons overlap in a convex patch. Its corners are kept where the gap between the planes of
    the polygons, along the normal, is at most `margin`; midway between them; at most four. The polygon that faces the normal
    best is the reference, whose sides clip the other. Where the patch is empty, as it is when the nearest features are
    corners that pass each other, the sides are moved out by `widen` (m): such points keep the polygon clear of the plane it
    would hit. 0 when that is empty too.
    """
    start(normal, manifold)
    origin = corner(at_a, 0, scratch)
    axis_u = perpendicular(normal)
    axis_v = cross(normal, axis_u)
    extent_a = into_frame(count_a, at_a, origin, axis_u, axis_v, normal, scratch)
    extent_b = into_frame(count_b, at_b, origin, axis_u, axis_v, normal, scratch)
    frame = (origin, axis_u, axis_v, normal)
    slack = SLACK * min(extent_a, extent_b)
    normal_a = polygon_normal(count_a, at_a, scratch)
    normal_b = polygon_normal(count_b, at_b, scratch)
    facing_a, facing_b = facing(count_a, normal_a), facing(count_b, normal_b)
    if max(facing_a, facing_b) < STEEP:
        return join_edges(count_a, at_a, count_b, at_b, frame, margin, slack, scratch, manifold)
    by_a = facing_a >= (1.0 - SLACK) * facing_b
    m = normal_a if by_a else normal_b
    at = at_a if by_a else at_b
    gu, gv = -m[0] / m[2], -m[1] / m[2]
    first = corner(at, 0, scratch)
    slope = (first[2] - gu * first[0] - gv * first[1], gu, gv)
    side = 1.0 if m[2] > 0.0 else -1.0
    if by_a:
        incident, count, at_incident, label, sides = 1.0, count_b, at_b, LABEL_B, count_a
    else:
        incident, count, at_incident, label, sides = -1.0, count_a, at_a, 0, count_b
    n, to, grow = 0, WORK, 0.0
    while n == 0 and grow <= widen:
        n, to = lay_out(count, at_incident, slope, incident, label, scratch)
        n, to = cut_by_sides(n, to, sides, at, side, grow, LABEL_B - label, slack, scratch)
        grow = widen if grow < widen else math.inf
    if n == 0:
        return 0
    name_corners(n, to, scratch)
    return store_points(n, to, frame, slope, 0.5 * incident, margin, slack, 0, scratch, manifold)


@njit
def lay_out(count, at, slope, sign, label, scratch):
    """The corners of the incident polygon with their separation from the reference plane; returns count and place."""
    for i in range(min(count, ROOM // 2)):
        p = corner(at, i, scratch)
        separation = sign * (p[2] - slope[0] - slope[1] * p[0] - slope[2] * p[1])
        put_corner(WORK + STRIDE * i, p[0], p[1], separation, label + i, scratch)
    return min(count, ROOM // 2), WORK


@njit
def cut_by_sides(n, to, count, at, side, grow, label, slack, scratch):
    """Clip by every side of the reference polygon, moved out by `grow`; side = 1 if it runs anticlockwise."""
    p = corner(at, 0, scratch)
    for i in range(min(count, ROOM // 2)):
        q = corner(at, i + 1 if i + 1 < count else 0, scratch)
        nu, nv = side * (q[1] - p[1]), side * (p[0] - q[0])
        length = math.sqrt(nu * nu + nv * nv)
        if length > 0.0 and n > 0:
            nu, nv = nu / length, nv / length
            n, to = cut(n, to, nu, nv, nu * p[0] + nv * p[1] + grow, label + i, slack, scratch)
        p = q
    return n, to


@njit
def join_edges(count_a, at_a, count_b, at_b, frame, margin, slack, scratch, manifold):
    """Points and edges: nearly parallel edges touch along what they have in common, others where they are nearest."""
    p, q = corner(at_a, 0, scratch), corner(at_b, 0, scratch)
    d, e = sub(corner(at_a, count_a - 1, scratch), p), sub(corner(at_b, count_b - 1, scratch), q)
    dd, ee = d[0] * d[0] + d[1] * d[1], e[0] * e[0] + e[1] * e[1]
    turn = d[0] * e[1] - d[1] * e[0]
    if count_a == 2 and count_b == 2 and min(dd, ee) > 0.0 and turn * turn <= PARALLEL * dd * ee:
        g = d[2] / dd
        slope = (p[2] - g * (d[0] * p[0] + d[1] * p[1]), g * d[0], g * d[1])
        n, to = lay_out(2, at_b, slope, 1.0, LABEL_B, scratch)
        length = math.sqrt(dd)
        unit = scale(1.0 / length, d)
        near = unit[0] * p[0] + unit[1] * p[1]
        n, to = cut(n, to, -unit[0], -unit[1], -near, 0, slack, scratch)
        n, to = cut(n, to, unit[0], unit[1], near + length, 1, slack, scratch)
        if n > 0:
            name_corners(n, to, scratch)
            return store_points(n, to, frame, slope, 0.5, margin, slack, 0, scratch, manifold)
    near_a, near_b = nearest_points(p, d, q, e)
    middle = scale(0.5, add(near_a, near_b))
    position = add_scaled(frame[0], middle[0], frame[1])
    position = add_scaled(add_scaled(position, middle[1], frame[2]), middle[2], frame[3])
    add_near(position, near_b[2] - near_a[2], 256 * LABEL_B, margin, manifold)
    return manifold.points
