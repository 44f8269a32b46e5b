"""The points of contact of two boxes, once the axis of contact is known."""

import math

from ..jit import inlined, njit
from ..unchecked import peek, poke
from ..vec import add, add_scaled, cross, dot, load3, matvec, scale, sub
from .bounds import nine
from .clip import STRIDE, WORK, cut, name_corners, put_corner
from .face_clip import clip_faces
from .manifold import add_point, start, store_points
from .segments import nearest_points

POLYGON_A = WORK - 24  # two rectangles
POLYGON_B = WORK - 12
BY_FEATURE = 1 << 16  # names of corners are below


@inlined
def axis_of(place, k):
    """Axis k of a frame, in world axes."""
    return (peek(place.rotation, k), peek(place.rotation, 3 + k), peek(place.rotation, 6 + k))


@inlined
def facing_side(place, n):
    """(axis, sign) of the face whose outward normal is nearest to the direction n."""
    c0, c1, c2 = dot(axis_of(place, 0), n), dot(axis_of(place, 1), n), dot(axis_of(place, 2), n)
    k, c = 0, c0
    if abs(c1) > abs(c):
        k, c = 1, c1
    if abs(c2) > abs(c):
        k, c = 2, c2
    return k, math.copysign(1.0, c)


@njit
def face_contact(place, size, k, other_place, other, turn, gap, margin, slack, graze, scratch, manifold):
    """Contact on a face of axis k of the box at `place`; turn = 1 if that is box a, −1 if it is b. None where the gap is
    within `graze` (m) of zero and the faces overlap by no more than that.

    In the frame of the face, u and v along its sides, the nearest face of the other box is a parallelogram, which the four
    sides clip; w, the height of a corner over the face, is its separation.
    """
    d = sub(load3(other_place.x), load3(place.x))
    m = axis_of(place, k)
    sign = 1.0 if dot(m, d) >= 0.0 else -1.0
    n = scale(sign, m)
    start(scale(turn, n), manifold)
    ku, kv = (k + 1) % 3, (k + 2) % 3
    u, v = axis_of(place, ku), axis_of(place, kv)
    hu, hv, hk = peek_size(size, ku), peek_size(size, kv), peek_size(size, k)
    j, outward = facing_side(other_place, scale(-1.0, n))
    j1, j2 = (j + 1) % 3, (j + 2) % 3
    middle = add_scaled(d, outward * peek_size(other, j), axis_of(other_place, j))
    cu, cv, cw = dot(middle, u), dot(middle, v), dot(middle, n) - hk
    e = scale(peek_size(other, j1), axis_of(other_place, j1))
    f = scale(peek_size(other, j2), axis_of(other_place, j2))
    eu, ev, ew, fu, fv, fw = dot(e, u), dot(e, v), dot(e, n), dot(f, u), dot(f, v), dot(f, n)
    frame = (add_scaled(load3(place.x), hk, n), u, v, n)
    base = BY_FEATURE * (((turn > 0.0) * 6 + 2 * k + (sign > 0.0)) * 6 + 2 * j + (outward > 0.0))
    count, at, grow = 0, WORK, 0.0
    while count == 0 and grow <= margin:
        put_corner(WORK, cu + eu + fu, cv + ev + fv, cw + ew + fw, 0, scratch)
        put_corner(WORK + STRIDE, cu - eu + fu, cv - ev + fv, cw - ew + fw, 1, scratch)
        put_corner(WORK + 2 * STRIDE, cu - eu - fu, cv - ev - fv, cw - ew - fw, 2, scratch)
        put_corner(WORK + 3 * STRIDE, cu + eu - fu, cv + ev - fv, cw + ew - fw, 3, scratch)
        count, at = 4, WORK
        for side in range(4):
            s = 1.0 if side % 2 == 0 else -1.0
            nu, nv, h = (s, 0.0, hu) if side < 2 else (0.0, s, hv)
            count, at = cut(count, at, nu, nv, h + grow, 4 + side, slack, scratch)
        if abs(gap) <= graze and is_narrow(count, at, graze, scratch):
            return 0
        # Where corners or edges pass each other the rectangles do not overlap, and are made to; see `clip_faces`.
        grow = grow + margin if grow < margin else math.inf
    if count > 0:
        name_corners(count, at, scratch)
        count = store_points(count, at, frame, (0.0, 0.0, 0.0), 0.5, margin, slack, base, scratch, manifold)
    if count == 0:
        # The corner nearest to the face.
        lowest = add_scaled(middle, -math.copysign(1.0, ew), e)
        lowest = add_scaled(lowest, -math.copysign(1.0, fw), f)
        add_point(add_scaled(add(load3(place.x), lowest), -0.5 * gap, n), gap, base, manifold)
    return manifold.points


@njit
def is_narrow(count, at, width, scratch):
    """Whether a polygon is empty or lies within a strip so wide along u or v."""
    low_u, high_u, low_v, high_v = math.inf, -math.inf, math.inf, -math.inf
    for i in range(count):
        u, v = peek(scratch, at + STRIDE * i), peek(scratch, at + STRIDE * i + 1)
        low_u, high_u = min(low_u, u), max(high_u, u)
        low_v, high_v = min(low_v, v), max(high_v, v)
    return not (high_u - low_u > width and high_v - low_v > width)


@inlined
def peek_size(size, k):
    return size[0] if k == 0 else (size[1] if k == 1 else size[2])


@njit
def put_rectangle(place, size, k, sign, at, scratch):
    """Write the corners (world) of the face on side `sign` of axis k."""
    middle = add_scaled(load3(place.x), sign * peek_size(size, k), axis_of(place, k))
    k1, k2 = (k + 1) % 3, (k + 2) % 3
    e, f = scale(peek_size(size, k1), axis_of(place, k1)), scale(peek_size(size, k2), axis_of(place, k2))
    for i in range(4):
        p = add_scaled(middle, 1.0 if i == 0 or i == 3 else -1.0, e)
        p = add_scaled(p, 1.0 if i < 2 else -1.0, f)
        for c in range(3):
            poke(scratch, at + 3 * i + c, p[c])


@njit
def supporting_edge(place, size, k, n):
    """Start and direction (world) of the edge along axis k that lies furthest along n."""
    k1, k2 = (k + 1) % 3, (k + 2) % 3
    e, f = axis_of(place, k1), axis_of(place, k2)
    p = add_scaled(load3(place.x), math.copysign(peek_size(size, k1), dot(e, n)), e)
    p = add_scaled(p, math.copysign(peek_size(size, k2), dot(f, n)), f)
    along = scale(peek_size(size, k), axis_of(place, k))
    return sub(p, along), scale(2.0, along)


@njit
def edge_contact(place_a, size_a, i, place_b, size_b, j, r, t, gap, margin, scratch, manifold):
    """Contact of an edge of a along its axis i with one of b along j.

    The patch of the two faces that look along the normal has the crossing of the edges for a corner. Others are near enough
    only where the boxes lie almost flat on each other, and there they keep them from rocking.
    """
    e = (1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0)
    axis = cross(e, (r[0], r[3], r[6]) if j == 0 else ((r[1], r[4], r[7]) if j == 1 else (r[2], r[5], r[8])))
    n = matvec(nine(place_a.rotation), scale(math.copysign(1.0, dot(axis, t)) / math.sqrt(dot(axis, axis)), axis))
    ka, side_a = facing_side(place_a, n)
    kb, side_b = facing_side(place_b, scale(-1.0, n))
    put_rectangle(place_a, size_a, ka, side_a, POLYGON_A, scratch)
    put_rectangle(place_b, size_b, kb, side_b, POLYGON_B, scratch)
    base = BY_FEATURE * (72 + 6 * (2 * ka + (side_a > 0.0)) + 2 * kb + (side_b > 0.0))
    if clip_faces(4, POLYGON_A, 4, POLYGON_B, n, margin, margin, scratch, manifold) == 0:
        p, d = supporting_edge(place_a, size_a, i, n)
        q, f = supporting_edge(place_b, size_b, j, scale(-1.0, n))
        near_a, near_b = nearest_points(p, d, q, f)
        add_point(scale(0.5, (near_a[0] + near_b[0], near_a[1] + near_b[1], near_a[2] + near_b[2])), gap, 0, manifold)
    for k in range(manifold.points):
        manifold.feature[k] += base
    return manifold.points
