"""Contact manifolds: at most four points that represent a whole contact patch.

In order: clipping a polygon in the plane; writing its corners to the manifold, the best four of them; the nearest
points of two segments; `clip_faces`, the patch that two convex polygons share; and, in Python, the joining of coplanar
triangles.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, perpendicular, scale, store3, sub
from ..core.simd import load, store
from .tables import POINTS, SCRATCH

# Clipping ---------------------------------------------------------------------------------------------------------------
# Clipping a convex polygon in the plane, with names for its corners.
#
# A corner is five numbers of `scratch`: u, v, the separation there (m), the label of the edge that leaves it, and the
# distance from the line that cuts, later the name of the corner. A polygon of two corners is an edge there and back, one of
# one corner a point. Two buffers of `ROOM` corners at the end of `scratch` take turns.

STRIDE = 5
ROOM = 128  # corners; a polygon gains one at most each time it is cut
WORK = SCRATCH - 2 * STRIDE * ROOM
OTHER = WORK + STRIDE * ROOM


@inlined
def put_corner(at, u, v, separation, label, scratch):
    """Write a corner to scratch[at : at + 4]; its name or distance, the fifth number, is written later."""
    store(scratch, at, u)
    store(scratch, at + 1, v)
    store(scratch, at + 2, separation)
    store(scratch, at + 3, label)


@inlined
def put_crossing(to, k, j, label, scratch):
    """The point of the edge from corner k to j that is on the line."""
    d = load(scratch, k + 4)
    s = d / (d - load(scratch, j + 4))
    u, v, w = load(scratch, k), load(scratch, k + 1), load(scratch, k + 2)
    put_corner(
        to, u + s * (load(scratch, j) - u), v + s * (load(scratch, j + 1) - v), w + s * (load(scratch, j + 2) - w),
        label, scratch,
    )  # fmt: skip


@njit
def cut(count, at, nu, nv, offset, label, slack, scratch):
    """Keep the part of a polygon where nu u + nv v ≤ offset; returns its number of corners and where they are.

    Sutherland & Hodgman (1974). A corner within `slack` of the line is on it and stays as it is, so that edges which nearly
    coincide keep their corners, and their names, whatever the rounding.
    """
    outside = 0
    for i in range(count):
        k = at + STRIDE * i
        d = offset - nu * load(scratch, k) - nv * load(scratch, k + 1)
        store(scratch, k + 4, d)
        if not d >= -slack:
            outside += 1
    if outside == 0:
        return count, at
    if outside == count:
        return 0, at
    first = WORK + OTHER - at
    to = first
    for i in range(count):
        k = at + STRIDE * i
        j = k + STRIDE if i + 1 < count else at
        d, e = load(scratch, k + 4), load(scratch, j + 4)
        own = load(scratch, k + 3)
        leaves = e < -slack
        if d >= -slack:
            along = label if leaves and d <= slack else own
            put_corner(to, load(scratch, k), load(scratch, k + 1), load(scratch, k + 2), along, scratch)
            to += STRIDE
            if leaves and d > slack:
                put_crossing(to, k, j, label, scratch)
                to += STRIDE
        elif e > slack:
            put_crossing(to, k, j, own, scratch)
            to += STRIDE
    left = (to - first) // STRIDE
    if count == 2:  # an edge meets the line twice, there and back, in one point
        left = min(left, 2)
    return left, first


@njit
def name_corners(count, at, scratch):
    """The name of a corner tells the edges that meet in it. Those of a polygon come in the order of their labels, as it goes
    round the other way where the other polygon is the reference."""
    before = load(scratch, at + STRIDE * (count - 1) + 3)
    for i in range(count):
        k = at + STRIDE * i
        label = load(scratch, k + 3)
        turned = count > 2 and label > before
        store(scratch, k + 4, 256.0 * label + before if turned else 256.0 * before + label)
        before = label


# Points of a manifold ---------------------------------------------------------------------------------------------------

# Of the slack, which is 1e-6 of a size: see `reduce_to_four`. It is well below the overlap that is tolerated, 1e-5 of the
# smallest size: a corner that is left out would sink in by more, and then be raised.
HELD = 3.0
BESIDE = 0.25  # of the distance of the farthest corner
TIE = 1e-6  # relative: of two points nearly as far out, the first stays, so that rounding does not make points flicker


class Plane(NamedTuple):
    """How a corner (u, v, separation) of a patch becomes a point in the world.

    The reference plane has the height c + gu u + gv v along n, and the point lies `half` times the separation above it.
    """

    frame: Any  # origin and the axes u, v, n (world)
    slope: Any  # (c, gu, gv)
    half: Any  # ½, or −½ where the reference is polygon b


@inlined
def start(normal, manifold):
    """Begin a manifold without points; `normal` is a unit vector from a to b (world)."""
    store3(manifold.normal, normal)
    manifold.points = 0


@njit
def add_point(position, separation, feature, manifold):
    """One more point (world), midway between the surfaces; there is room for four."""
    n = manifold.points
    for k in range(3):
        manifold.position[3 * n + k] = position[k]
    manifold.separation[n] = separation
    manifold.feature[n] = feature
    manifold.points = n + 1


@inlined
def add_near(position, separation, feature, margin, manifold):
    """`add_point` where it is near enough and there is room."""
    if separation <= margin and manifold.points < POINTS:
        add_point(position, separation, feature, manifold)


@njit
def store_points(count, at, plane, margin, slack, base, scratch, manifold):
    """Write the corners of a patch nearer than `margin` to the manifold, the best four of them; returns their number.

    count, at : number and place of the corners in `scratch`, where they may be moved. slack : see `reduce_to_four`.
    base : added to the names of the corners. Reads the features of the manifold; see `recall_loaded`.
    """
    near = 0
    for i in range(count):
        k = at + STRIDE * i
        if load(scratch, k + 2) <= margin:
            if near < i:
                move_corner(at + STRIDE * near, k, scratch)
            near += 1
    if near <= POINTS:
        chosen = (0, 1, 2, 3)
        left = near
    else:
        left, chosen = reduce_to_four(near, at, slack, find_loaded(near, at, base, scratch, manifold), scratch)
    origin, axis_u, axis_v, axis_n = plane.frame
    slope, half = plane.slope, plane.half
    for i in range(left):
        k = at + STRIDE * chosen[i]
        u, v, separation = load(scratch, k), load(scratch, k + 1), load(scratch, k + 2)
        height = slope[0] + slope[1] * u + slope[2] * v + half * separation
        position = add_scaled(add_scaled(add_scaled(origin, u, axis_u), v, axis_v), height, axis_n)
        add_point(position, separation, base + int(load(scratch, k + 4)), manifold)
    return left


@inlined
def move_corner(to, source, scratch):
    """Copy the five numbers of a corner within scratch."""
    for c in range(STRIDE):
        scratch[to + c] = scratch[source + c]


@inlined
def area(i, j, k, at, scratch):
    """Twice the area of three corners, positive anticlockwise."""
    a, b, c = at + STRIDE * i, at + STRIDE * j, at + STRIDE * k
    u, v = load(scratch, a), load(scratch, a + 1)
    return (load(scratch, b) - u) * (load(scratch, c + 1) - v) - (load(scratch, b + 1) - v) * (load(scratch, c) - u)


@njit
def find_loaded(count, at, base, scratch, manifold):
    """Bits of the corners that bore force in the last step, by the features that `recall_loaded` wrote."""
    loaded = 0
    for i in range(count):
        name = base + int(load(scratch, at + STRIDE * i + 4))
        for k in range(POINTS):
            if manifold.feature[k] == name:
                loaded |= 1 << i
    return loaded


@njit
def reduce_to_four(count, at, slack, loaded, scratch):
    """(number, indices) of the corners to keep of more than four: the deepest; the one farthest from it; the one that makes
    the largest triangle with both; the one that lies farthest outside of that triangle, by area.

    Corners that bore force in the last step, whose bits are in `loaded`, come before the others. Two corners near each other
    may otherwise take each other's place in every step: a body that rests on the one falls onto the other, and back.

    slack : m, by which a later corner must be deeper than an earlier one to count as the deepest; and a corner that bore no
    force `HELD` times as much deeper than one beside it that did.
    """
    everything = (1 << count) - 1
    deepest = stand_in(lowest_corner(slack, count, at, scratch), loaded, HELD * slack, count, at, scratch)
    second, reach = farthest(deepest, loaded, count, at, scratch)
    if second == deepest:
        second, reach = farthest(deepest, everything, count, at, scratch)
    third, largest = widest(deepest, second, loaded, count, at, scratch)
    if not abs(largest) > TIE * reach:
        third, largest = widest(deepest, second, everything, count, at, scratch)
    if not abs(largest) > TIE * reach:
        return (2 if reach > 0.0 else 1), (deepest, second, second, second)
    corners = (deepest, second, third) if largest > 0.0 else (deepest, third, second)
    fourth = outermost(corners, abs(largest), loaded, count, at, scratch)
    if fourth < 0:
        fourth = outermost(corners, abs(largest), everything, count, at, scratch)
    return (3 if fourth < 0 else 4), (deepest, second, third, max(fourth, 0))


@njit
def lowest_corner(slack, count, at, scratch):
    """The first corner that is the deepest within `slack` (m)."""
    found = 0
    for i in range(1, count):
        if load(scratch, at + STRIDE * i + 2) < load(scratch, at + STRIDE * found + 2) - slack:
            found = i
    return found


@njit
def stand_in(deepest, loaded, slack, count, at, scratch):
    """The corner beside the deepest one that bore force, where it is at most so much (m) less deep; else the deepest one,
    as what is far from it bears the body elsewhere."""
    _, reach = farthest(deepest, (1 << count) - 1, count, at, scratch)
    u, v = load(scratch, at + STRIDE * deepest), load(scratch, at + STRIDE * deepest + 1)
    found, least = deepest, BESIDE * BESIDE * reach
    for i in range(count):
        du, dv = load(scratch, at + STRIDE * i) - u, load(scratch, at + STRIDE * i + 1) - v
        square = du * du + dv * dv
        deep = load(scratch, at + STRIDE * i + 2) <= load(scratch, at + STRIDE * deepest + 2) + slack
        if (loaded >> i) & 1 == 1 and deep and square < least:
            found, least = i, square
    return found


@njit
def farthest(start, allowed, count, at, scratch):
    """(the corner farthest from corner `start` of those whose bits are in `allowed`, the square of its distance)."""
    u, v = load(scratch, at + STRIDE * start), load(scratch, at + STRIDE * start + 1)
    found, reach = start, 0.0
    for i in range(count):
        du, dv = load(scratch, at + STRIDE * i) - u, load(scratch, at + STRIDE * i + 1) - v
        square = du * du + dv * dv
        if (allowed >> i) & 1 == 1 and square > (1.0 + TIE) * reach:
            found, reach = i, square
    return found, reach


@njit
def widest(one, two, allowed, count, at, scratch):
    """(the corner of those allowed that makes the largest triangle with two others, its area, doubled and signed)."""
    found, largest = two, 0.0
    for i in range(count):
        size = area(one, two, i, at, scratch)
        if (allowed >> i) & 1 == 1 and abs(size) > (1.0 + TIE) * abs(largest):
            found, largest = i, size
    return found, largest


@njit
def outermost(corners, size, allowed, count, at, scratch):
    """The corner of those allowed that lies farthest outside of a triangle, which is anticlockwise and has this doubled area;
    −1 if none does."""
    one, two, three = corners
    found, most = -1, TIE * size
    for i in range(count):
        out = -min(area(one, two, i, at, scratch), area(two, three, i, at, scratch), area(three, one, i, at, scratch))
        if (allowed >> i) & 1 == 1 and out > (1.0 + TIE) * most:
            found, most = i, out
    return found


# Nearest points of two segments -----------------------------------------------------------------------------------------

SEGMENTS_PARALLEL = 1e-14  # squared sine of the angle of two segments from which the determinant is rounding


@njit
def clamp(x):
    """x, or the nearer end of [0, 1]."""
    return min(max(x, 0.0), 1.0)


@njit
def nearest_parameters(p, d, q, e):
    """(s, t), each in [0, 1], for which p + s d and q + t e are nearest.

    The distance is convex in (s, t): the minimum over s, then t, each clamped to its segment, then s once more for that t, is
    the minimum over the square (Ericson, Real-Time Collision Detection, §5.1.9). Either segment may be a point; of parallel
    segments the pair nearest to p is returned.
    """
    r = sub(p, q)
    dd, ee, de = dot(d, d), dot(e, e), dot(d, e)
    dr, er = dot(d, r), dot(e, r)
    if dd == 0.0:
        return 0.0, (clamp(er / ee) if ee > 0.0 else 0.0)
    if ee == 0.0:
        return clamp(-dr / dd), 0.0
    determinant = dd * ee - de * de
    s = clamp((de * er - dr * ee) / determinant) if determinant > SEGMENTS_PARALLEL * dd * ee else 0.0
    t = clamp((de * s + er) / ee)
    return clamp((de * t - dr) / dd), t


@njit
def nearest_points(p, d, q, e):
    """The nearest points of the segments from p to p + d and from q to q + e."""
    s, t = nearest_parameters(p, d, q, e)
    return add_scaled(p, s, d), add_scaled(q, t, e)


# Round sides ------------------------------------------------------------------------------------------------------------
# Two round sides that are nearly parallel touch in one point, which a small turn moves from one end to the other. In a step
# the rest of what they have in common would close unseen, farther in each step. So the points beside it, where the gap is
# w²/2R higher, have contacts as well: R is the sum of the radii of curvature, and w how far the lines are apart across the
# normal. There the normal is another one, by the angle w/R.

NEARLY_PARALLEL = 0.1  # squared sine of the angle of two sides up to which they have these points
ASIDE = 0.1  # w/R at most
SHORT = 0.02  # of a side: ends that are nearer are the point itself


@inlined
def ends_beside(s, low, high, width):
    """What two sides have in common from `low` to `high`, parameters on one, as far as the lines are no farther apart than is
    allowed; `width` is the sum of the radii of curvature by how much farther they get per parameter. s : where they touch."""
    low, high = max(low, s - ASIDE * width), min(high, s + ASIDE * width)
    return s if s - low < SHORT else low, s if high - s < SHORT else high


# The patch of two convex polygons ---------------------------------------------------------------------------------------

SLACK = 1e-6  # of the smaller polygon: what counts as on an edge
FACE_PARALLEL = 1e-6  # squared sine of the angle between two edges up to which they meet in two points
STEEP = 1e-4  # squared cosine between the normal and a polygon's own from which the polygon can be the reference
LABEL_B = 128  # labels of edges: those of polygon a count from 0, of b from here


class Polygon(NamedTuple):
    """Corners of a polygon in scratch[at :], as xyz, in order around, either way. 1 is a point, 2 an edge."""

    count: Any
    at: Any


@inlined
def corner(at, i, scratch):
    """Corner i of the polygon at scratch[at :]."""
    k = at + 3 * i
    return (load(scratch, k), load(scratch, k + 1), load(scratch, k + 2))


@njit
def into_frame(count, at, origin, axis_u, axis_v, axis_n, scratch):
    """Replace the corners of a polygon by their coordinates in the frame of the contact; returns its extent across n."""
    extent = 0.0
    for i in range(count):
        p = sub(corner(at, i, scratch), origin)
        k = at + 3 * i
        store(scratch, k, dot(axis_u, p))
        store(scratch, k + 1, dot(axis_v, p))
        store(scratch, k + 2, dot(axis_n, p))
        extent = max(
            extent, abs(load(scratch, k) - load(scratch, at)), abs(load(scratch, k + 1) - load(scratch, at + 1))
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
def clip_faces(a, b, normal, margin, widen, radius, base, scratch, manifold):
    """Fill the manifold of two convex polygons that touch along `normal` (unit, from a to b); returns its points.

    a, b : `Polygon` of 64 corners at most (world, m), before scratch[WORK]. The corners are overwritten.
    radius : m, the sum of the radii of curvature across edges, if these are round sides; else 0.
    base : added to the names of the points; see `store_points`.

    Seen along the normal, the polygons overlap in a convex patch. Its corners are kept where the gap between the planes of
    the polygons, along the normal, is at most `margin`; midway between them; at most four. The polygon that faces the normal
    best is the reference, whose sides clip the other. Where the patch is empty, as it is when the nearest features are
    corners that pass each other, the sides are moved out by `widen` (m): such points keep the polygon clear of the plane it
    would hit. Beyond its polygon a plane may reach into the other body, although nothing does; so their gap is no less than
    that of the polygons along the normal. 0 when that is empty too.
    """
    start(normal, manifold)
    count_a, at_a = a
    count_b, at_b = b
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
        return join_edges(a, b, frame, (margin, widen, radius), slack, base, scratch, manifold)
    by_a = facing_a >= (1.0 - SLACK) * facing_b
    m = normal_a if by_a else normal_b
    at = at_a if by_a else at_b
    gu, gv = -m[0] / m[2], -m[1] / m[2]
    first = corner(at, 0, scratch)
    slope = (first[2] - gu * first[0] - gv * first[1], gu, gv)
    side = 1.0 if m[2] > 0.0 else -1.0
    if by_a:
        incident, count, at_incident, label, reference = 1.0, count_b, at_b, LABEL_B, a
    else:
        incident, count, at_incident, label, reference = -1.0, count_a, at_a, 0, b
    n, to, grow = 0, WORK, 0.0
    while n == 0 and grow <= widen:
        n, to = lay_out(count, at_incident, slope, incident, label, scratch)
        n, to = cut_by_sides(n, to, reference, side, grow, LABEL_B - label, slack, scratch)
        if grow > 0.0:
            raise_to(gap_along(count_a, at_a, count_b, at_b, scratch), n, to, scratch)
        grow = widen if grow < widen else math.inf
    if n == 0:
        return 0
    name_corners(n, to, scratch)
    return store_points(n, to, Plane(frame, slope, 0.5 * incident), margin, slack, base, scratch, manifold)


@njit
def gap_along(count_a, at_a, count_b, at_b, scratch):
    """The gap between two polygons along the normal, in whose frame they are."""
    top, bottom = -math.inf, math.inf
    for i in range(count_a):
        top = max(top, load(scratch, at_a + 3 * i + 2))
    for i in range(count_b):
        bottom = min(bottom, load(scratch, at_b + 3 * i + 2))
    return bottom - top


@njit
def raise_to(least, n, to, scratch):
    """Make the separation of n corners at scratch[to :] no less than `least` (m)."""
    for i in range(n):
        k = to + STRIDE * i + 2
        store(scratch, k, max(load(scratch, k), least))


@njit
def lay_out(count, at, slope, sign, label, scratch):
    """The corners of the incident polygon with their separation from the reference plane; returns count and place."""
    for i in range(min(count, ROOM // 2)):
        p = corner(at, i, scratch)
        separation = sign * (p[2] - slope[0] - slope[1] * p[0] - slope[2] * p[1])
        put_corner(WORK + STRIDE * i, p[0], p[1], separation, label + i, scratch)
    return min(count, ROOM // 2), WORK


@njit
def cut_by_sides(n, to, reference, side, grow, label, slack, scratch):
    """Clip n corners at scratch[to :] by every side of the reference polygon, moved out by `grow` (m); side = 1 if it runs
    anticlockwise. Returns count and place of what is left."""
    count, at = reference
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
def is_aside(n, to, p, unit, most, scratch):
    """Whether all of n corners at scratch[to :] are farther than `most` (m) on one side of the line through p."""
    low, high = math.inf, -math.inf
    for i in range(n):
        k = to + STRIDE * i
        out = unit[0] * (load(scratch, k + 1) - p[1]) - unit[1] * (load(scratch, k) - p[0])
        low, high = min(low, out), max(high, out)
    return low > most or high < -most


@njit
def join_edges(a, b, frame, lengths, slack, base, scratch, manifold):
    """Fill the manifold of points and edges: parallel edges touch along what they have in common, others where they cross,
    and round sides beside that. Those that pass each other, seen along the normal, by more than `widen` do not touch.
    lengths : (margin, widen, radius) of `clip_faces`. Returns its points."""
    margin, widen, radius = lengths
    passing = max(widen, slack)
    count_a, at_a = a
    count_b, at_b = b
    p, q = corner(at_a, 0, scratch), corner(at_b, 0, scratch)
    d, e = sub(corner(at_a, count_a - 1, scratch), p), sub(corner(at_b, count_b - 1, scratch), q)
    dd, ee = d[0] * d[0] + d[1] * d[1], e[0] * e[0] + e[1] * e[1]
    turn = d[0] * e[1] - d[1] * e[0]
    if count_a == 2 and count_b == 2 and min(dd, ee) > 0.0 and turn * turn <= FACE_PARALLEL * dd * ee:
        g = d[2] / dd
        slope = (p[2] - g * (d[0] * p[0] + d[1] * p[1]), g * d[0], g * d[1])
        n, to = lay_out(2, at_b, slope, 1.0, LABEL_B, scratch)
        length = math.sqrt(dd)
        unit = scale(1.0 / length, d)
        near = unit[0] * p[0] + unit[1] * p[1]
        n, to = cut(n, to, -unit[0], -unit[1], -near, 0, slack, scratch)
        n, to = cut(n, to, unit[0], unit[1], near + length, 1, slack, scratch)
        if n > 0 and not is_aside(n, to, p, unit, passing, scratch):
            name_corners(n, to, scratch)
            return store_points(n, to, Plane(frame, slope, 0.5), margin, slack, base, scratch, manifold)
    s, t = nearest_parameters((p[0], p[1], 0.0), (d[0], d[1], 0.0), (q[0], q[1], 0.0), (e[0], e[1], 0.0))
    near_a, near_b = add_scaled(p, s, d), add_scaled(q, t, e)
    apart = (near_b[0] - near_a[0]) ** 2 + (near_b[1] - near_a[1]) ** 2
    if apart > passing * passing:
        return 0
    name = base + 256 * LABEL_B
    low, high = s, s
    if radius > 0.0 and min(dd, ee) > 0.0 and 0.0 < turn * turn <= NEARLY_PARALLEL * dd * ee:
        first = (d[0] * (q[0] - p[0]) + d[1] * (q[1] - p[1])) / dd
        last = first + (d[0] * e[0] + d[1] * e[1]) / dd
        low, high = clamp(min(first, last)), clamp(max(first, last))
        low, high = ends_beside(s, low, high, radius * math.sqrt(ee) / abs(turn))
    for end in range(2):
        beside = low if end == 0 else high
        if beside != s:
            join_beside(beside, p, d, q, e, radius, frame, name + 1 + end, margin, manifold)
    if not low < s < high and low < high:
        name += 1 if low == s else 2
    add_between(near_a, near_b, near_b[2] - near_a[2], frame, name, margin, manifold)
    return manifold.points


@inlined
def join_beside(s, p, d, q, e, radius, frame, name, margin, manifold):
    """Add the point of two round sides at p + s d, beside the one in which they touch."""
    at = add_scaled(p, s, d)
    ee = e[0] * e[0] + e[1] * e[1]
    other = add_scaled(q, clamp((e[0] * (at[0] - q[0]) + e[1] * (at[1] - q[1])) / ee), e)
    square = (other[0] - at[0]) ** 2 + (other[1] - at[1]) ** 2
    rise = square / (radius + math.sqrt(radius * radius + square))
    add_between(at, other, other[2] - at[2] + rise, frame, name, margin, manifold)


@njit
def add_between(a, b, gap, frame, name, margin, manifold):
    """Add the point midway between two points in the frame of a patch, if the gap is small enough."""
    middle = scale(0.5, add(a, b))
    position = add_scaled(frame[0], middle[0], frame[1])
    position = add_scaled(add_scaled(position, middle[1], frame[2]), middle[2], frame[3])
    add_near(position, gap, name, margin, manifold)


# Convex polygons from coplanar triangles --------------------------------------------------------------------------------
# Triangles in one plane are joined to convex polygons, so that a flat floor makes few contacts, however finely it is divided.
#
# Hertel and Mehlhorn (1983): an edge between two polygons is removed where what is left is convex at both of its ends. Two
# polygons may also share a chain of edges, which is removed as a whole.

MOST_CORNERS = 48  # of a polygon
MOST_EDGES = 50_000  # between triangles in one plane; where there are more, all triangles stay as they are
CONVEX = 1e-9  # sine of the angle by which a polygon may turn back at a corner, for rounding


def convex_polygons(
    points: np.ndarray, triangles: np.ndarray, normal: np.ndarray, twin: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Join triangles to convex polygons.

    points : (n, 3). triangles : (m, 3). normal : (m, 3). Side 3 t + k of triangle t begins at its corner k.
    twin : (3 m,) the side beyond, where the triangle beyond lies in the same plane; else −1.

    Returns the sides of one polygon after the other, in order, and how many each has.
    """
    every = np.arange(3 * len(triangles))
    sides = np.flatnonzero(twin > every)
    if not 0 < len(sides) <= MOST_EDGES:
        return every, np.full(len(triangles), 3)
    along = points[np.roll(triangles, -1, axis=1).ravel()] - points[triangles.ravel()]
    longest = np.argsort(-np.round(np.linalg.norm(along[sides], axis=1), 9), kind="stable")
    merger = _Merger(along, np.repeat(normal, 3, axis=0), twin)
    remaining, before = sides[longest].tolist(), -1
    while len(remaining) != before:
        before = len(remaining)
        remaining = [side for side in remaining if not merger.removed(side)]
    polygons = list(merger.polygons.values())
    return np.concatenate([np.array(polygon) for polygon in polygons]), np.array([len(polygon) for polygon in polygons])


class _Merger:
    """Polygons by number, and to which of them each side belongs."""

    def __init__(self, along: np.ndarray, normal: np.ndarray, twin: np.ndarray) -> None:
        self.polygons: dict[int, list[int]] = dict(enumerate(np.arange(len(twin)).reshape(-1, 3).tolist()))
        self._along, self._normal, self._twin = along.tolist(), normal.tolist(), twin.tolist()
        self._owner = [side // 3 for side in range(len(self._twin))]

    def removed(self, side: int) -> bool:
        """Whether a side is inside of a polygon, once the polygons on both sides of it are joined if they can be."""
        one, other = self._owner[side], self._owner[self._twin[side]]
        if one == other:
            return True
        first, second = self.polygons[one], self.polygons[other]
        shared = [self._twin[s] >= 0 and self._owner[self._twin[s]] == other for s in first]
        chain = sum(shared)
        if len(first) + len(second) - 2 * chain > MOST_CORNERS:
            return False
        begin = next(k for k in range(len(first)) if shared[k] and not shared[k - 1])
        turned = first[begin:] + first[:begin]
        last = self._twin[turned[chain - 1]]
        at = second.index(last)
        back = second[at:] + second[:at]
        if not all(self._twin[s] == b for s, b in zip(turned[:chain], reversed(back[:chain]), strict=True)):
            return False
        left, right = turned[chain:], back[chain:]
        if not left or not right or not (self._convex(left[-1], right[0]) and self._convex(right[-1], left[0])):
            return False
        for s in second:
            self._owner[s] = one
        self.polygons[one] = left + right
        del self.polygons[other]
        return True

    def _convex(self, enter: int, leave: int) -> bool:
        """Whether a polygon turns left, or goes straight on, at the corner it enters by one side and leaves by another."""
        (a, b, c), (d, e, f), (x, y, z) = self._along[enter], self._along[leave], self._normal[enter]
        turn = x * (b * f - c * e) + y * (c * d - a * f) + z * (a * e - b * d)
        lengths = ((a * a + b * b + c * c) * (d * d + e * e + f * f)) ** 0.5
        return turn >= -CONVEX * lengths and (turn > CONVEX * lengths or a * d + b * e + c * f > 0.0)
