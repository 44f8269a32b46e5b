"""Box against box: fifteen axes, and the patch where two rectangles overlap.

Two boxes are disjoint exactly when one of fifteen axes separates them: the three face normals of each and the nine
products of an edge of one and an edge of the other (Gottschalk, Lin & Manocha 1996, §5). Along the axis of the largest gap
(the least depth, where all overlap) they are pushed apart by the shortest way.

In order: `box_box`, the entry; the fifteen axes; the points of contact, once the axis is known.
"""

import math
from typing import Any, NamedTuple

from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, matvec, matvec_t, scale, sub
from ..core.simd import load, store
from .broad_phase import nine
from .gjk import relative_pose
from .manifold import (
    LABEL_B,
    STRIDE,
    WORK,
    Plane,
    Polygon,
    add_point,
    clip_faces,
    cut,
    name_corners,
    nearest_points,
    put_corner,
    start,
    store_points,
)
from .tables import EDGE_EDGE, FACE_A, FACE_B, NO_WITNESS

BIAS = 1e-6  # of the smallest half side: a later axis must have a gap larger by this to be taken before an earlier one
STAY = 1e-5  # of the same: and by this, to be taken before the face that touched last time
INSIDE, DEEP = 1e-3, 100.0  # of the smallest half side, and depths: see `polyhedron.is_still_nearest`
PARALLEL = 1e-12  # squared sine of the angle of two edges below which the faces beside them tell as much


class BoxAt(NamedTuple):
    """A box in the world."""

    place: Any  # its row of `places`
    half: Any  # half of its sides (3), m


@inlined
def axis_of(place, k):
    """Axis k of a frame, in world axes."""
    return (load(place.rotation, k), load(place.rotation, 3 + k), load(place.rotation, 6 + k))


@inlined
def half_size(size, k):
    """Component k of a tuple of three, for a k that is not a constant."""
    return size[0] if k == 0 else (size[1] if k == 1 else size[2])


class Tolerances(NamedTuple):
    """Lengths (m) that decide about the points of a contact."""

    margin: Any  # points that are further apart are left out
    slack: Any  # corners nearer than this to a line are on it
    graze: Any  # boxes that are so near, and overlap by so little, do not touch; −1: they do


@njit
def box_box(pair, margin, collision):
    """Fill the manifold of two boxes; returns its number of points.

    The normal is the axis of the largest gap, faces of a taken before those of b, and these before pairs of edges, where
    they are equal within `BIAS`; and the face that touched last time before all, within `STAY`. That gap is the distance of
    the boxes where a face is involved, or two edges; where a corner passes a corner or an edge it is less: such contacts come
    early, never late. Boxes that touch along their edges only, within `STAY`, and move no further than that, as every
    second brick of a wall does, do not meet: neither of two normals is better than the other.
    """
    collision.manifold[0].points = 0
    scratch, place_a, place_b = collision.scratch, collision.places[pair.a], collision.places[pair.b]
    ha, hb = load3(collision.colliders[pair.a]["size"]), load3(collision.colliders[pair.b]["size"])
    if pair.points == 0 and pair.witness != NO_WITNESS and witness_gap(pair, place_a, ha, place_b, hb) > margin:
        return 0
    slack = BIAS * min(min(ha[0], ha[1], ha[2]), min(hb[0], hb[1], hb[2]))
    r, t = relative_pose(place_a, place_b)
    store_pose(r, t, ha, hb, scratch)
    axis, last, ahead = -1, -math.inf, 0.0
    if pair.points > 0 and (pair.witness == FACE_A or pair.witness == FACE_B):
        axis = pair.feature_a if pair.witness == FACE_A else 3 + pair.feature_b
        last, ahead = witness_gap(pair, place_a, ha, place_b, hb), STAY / BIAS * slack
    before, gap = axis, last + ahead
    if axis < 0 or not is_inside(FACES_OF_A if axis < 3 else FACES_OF_B, axis, last, scratch):
        axis, gap = best_face(axis, gap, FACES_OF_A, slack, scratch)
        if gap <= margin:
            axis, gap = best_face(axis, gap, FACES_OF_B, slack, scratch)
        if gap <= margin:
            axis, gap = best_edges(axis, gap, slack, scratch)
    if axis == before:
        gap = last
    pair.feature_a, pair.feature_b = 0, 0
    if axis < 3:
        pair.witness, pair.feature_a = FACE_A, axis
    elif axis < 6:
        pair.witness, pair.feature_b = FACE_B, axis - 3
    else:
        pair.witness, pair.feature_a, pair.feature_b = EDGE_EDGE, (axis - 6) // 3, (axis - 6) % 3
    if not -math.inf < gap <= margin:  # −∞ where a pose is not a number
        return 0
    if axis >= 6:
        return edge_contact(pair, BoxAt(place_a, ha), BoxAt(place_b, hb), r, t, gap, margin, collision)
    if axis >= 3:
        axis, turn = axis - 3, -1.0
        place_a, ha, place_b, hb = place_b, hb, place_a, ha
    else:
        turn = 1.0
    graze = STAY / BIAS * slack
    if place_a.moves + place_b.moves > graze:
        graze = -1.0
    tolerances = Tolerances(margin, slack, graze)
    return face_contact(BoxAt(place_a, ha), axis, BoxAt(place_b, hb), turn, gap, tolerances, collision)


@njit
def witness_gap(pair, place_a, ha, place_b, hb):
    """The gap along the axis that separated the boxes last time."""
    if pair.witness == FACE_A:
        axis = axis_of(place_a, pair.feature_a)
    elif pair.witness == FACE_B:
        axis = axis_of(place_b, pair.feature_b)
    else:
        axis = cross(axis_of(place_a, pair.feature_a), axis_of(place_b, pair.feature_b))
    square = dot(axis, axis)
    if not square > PARALLEL:
        return -math.inf
    along_a = matvec_t(nine(place_a.rotation), axis)
    along_b = matvec_t(nine(place_b.rotation), axis)
    gap = abs(dot(axis, sub(load3(place_b.x), load3(place_a.x))))
    gap -= ha[0] * abs(along_a[0]) + ha[1] * abs(along_a[1]) + ha[2] * abs(along_a[2])
    gap -= hb[0] * abs(along_b[0]) + hb[1] * abs(along_b[1]) + hb[2] * abs(along_b[2])
    return gap / math.sqrt(square) if pair.witness == EDGE_EDGE else gap


# The pose of b in the frame of a and the half sides lie in scratch, so that the axes are loops: R, t, Rᵀt, and both sizes.
POSE, SHIFT, BACK, SIZE_A, SIZE_B = 0, 9, 12, 15, 18


class Faces(NamedTuple):
    """The face normals of one box, numbered from `first`; R[step k + across j] is the component of the other box's axis j on
    its axis k. `shift`, `own`, `other`: where the translation, its size and that of the other box are in scratch."""

    first: int
    step: int
    across: int
    shift: int
    own: int
    other: int


FACES_OF_A, FACES_OF_B = Faces(0, 3, 1, SHIFT, SIZE_A, SIZE_B), Faces(3, 1, 3, BACK, SIZE_B, SIZE_A)


@njit
def store_pose(r, t, ha, hb, scratch):
    """Write R, t, Rᵀt and both sizes to scratch[0 : 21]."""
    s = matvec_t(r, t)
    for k in range(9):
        store(scratch, POSE + k, r[k])
    for k in range(3):
        store(scratch, SHIFT + k, t[k])
        store(scratch, BACK + k, s[k])
        store(scratch, SIZE_A + k, ha[k])
        store(scratch, SIZE_B + k, hb[k])


@njit
def best_face(axis, gap, faces, slack, scratch):
    """(axis, gap) once the three face normals of one box (`Faces`) are compared too."""
    for k in range(3):
        reach = load(scratch, faces.own + k)
        for j in range(3):
            reach += abs(load(scratch, POSE + faces.step * k + faces.across * j)) * load(scratch, faces.other + j)
        candidate = abs(load(scratch, faces.shift + k)) - reach
        if candidate > gap + slack:
            axis, gap = faces.first + k, candidate
    return axis, gap


@njit
def is_inside(faces, axis, gap, scratch):
    """Whether the corner of the other box nearest to a face, `gap` (m) from it, lies so far inside its sides that no other
    axis has a larger gap: see `polyhedron.is_still_nearest`."""
    k = axis - faces.first
    side = math.copysign(1.0, load(scratch, faces.shift + k))
    inside, least = math.inf, math.inf
    for c in range(3):
        x = load(scratch, faces.shift + c)
        for j in range(3):
            along = load(scratch, POSE + faces.step * k + faces.across * j)
            reach = load(scratch, faces.other + j)
            x -= math.copysign(reach, side * along) * load(scratch, POSE + faces.step * c + faces.across * j)
        if c != k:
            inside = min(inside, load(scratch, faces.own + c) - abs(x))
        least = min(least, min(load(scratch, faces.own + c), load(scratch, faces.other + c)))
    return inside > max(INSIDE * least, -DEEP * gap)


@njit
def best_edges(axis, gap, slack, scratch):
    """(axis, gap) once the pairs of edges are compared too, numbered 6 + 3 i + j.

    The axis of edge i of a and edge j of b is e_i × r_j in the frame of a, with r_j column j of R. With i, k, q in cyclic
    order its length squared is R_kj² + R_qj², t has the component t_q R_kj − t_k R_qj on it, and a the reach h_k |R_qj| +
    h_q |R_kj|; b has h_m |R_in| + h_n |R_im| with j, m, n in cyclic order; all times the length.
    """
    for i in range(3):
        k, q = (i + 1) % 3, (i + 2) % 3
        tk, tq = load(scratch, SHIFT + k), load(scratch, SHIFT + q)
        hk, hq = load(scratch, SIZE_A + k), load(scratch, SIZE_A + q)
        for j in range(3):
            m, n = (j + 1) % 3, (j + 2) % 3
            rk, rq = load(scratch, POSE + 3 * k + j), load(scratch, POSE + 3 * q + j)
            reach = hk * abs(rq) + hq * abs(rk)
            reach += load(scratch, SIZE_B + m) * abs(load(scratch, POSE + 3 * i + n))
            reach += load(scratch, SIZE_B + n) * abs(load(scratch, POSE + 3 * i + m))
            candidate = abs(tq * rk - tk * rq) - reach
            square = rk * rk + rq * rq
            # Dividing by the length, which is at most 1, makes a negative gap only more so.
            if square > PARALLEL and (candidate > gap + slack or candidate > 0.0):
                candidate /= math.sqrt(square)
                if candidate > gap + slack:
                    axis, gap = 6 + 3 * i + j, candidate
    return axis, gap


# Points of contact ------------------------------------------------------------------------------------------------------

POLYGON_A = WORK - 24  # two rectangles
POLYGON_B = WORK - 12
BY_FEATURE = 1 << 16  # names of corners are below


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
def face_contact(box, k, other_box, turn, gap, tolerances, collision):
    """Contact on a face of axis k of `box`; turn = 1 if that is box a, −1 if it is b. None where the gap is within
    `tolerances.graze` of zero and the faces overlap by no more than that. Fills the manifold; returns its points.

    In the frame of the face, u and v along its sides, the nearest face of the other box is a parallelogram, which the four
    sides clip; w, the height of a corner over the face, is its separation.
    """
    scratch, manifold = collision.scratch, collision.manifold[0]
    place, size = box
    other_place, other = other_box
    margin, slack, graze = tolerances
    d = sub(load3(other_place.x), load3(place.x))
    m = axis_of(place, k)
    sign = 1.0 if dot(m, d) >= 0.0 else -1.0
    n = scale(sign, m)
    start(scale(turn, n), manifold)
    ku, kv = (k + 1) % 3, (k + 2) % 3
    u, v = axis_of(place, ku), axis_of(place, kv)
    hu, hv, hk = half_size(size, ku), half_size(size, kv), half_size(size, k)
    j, outward = facing_side(other_place, scale(-1.0, n))
    j1, j2 = (j + 1) % 3, (j + 2) % 3
    middle = add_scaled(d, outward * half_size(other, j), axis_of(other_place, j))
    cu, cv, cw = dot(middle, u), dot(middle, v), dot(middle, n) - hk
    e = scale(half_size(other, j1), axis_of(other_place, j1))
    f = scale(half_size(other, j2), axis_of(other_place, j2))
    eu, ev, ew, fu, fv, fw = dot(e, u), dot(e, v), dot(e, n), dot(f, u), dot(f, v), dot(f, n)
    frame = (add_scaled(load3(place.x), hk, n), u, v, n)
    if turn > 0.0:
        base, own, label = name_of_faces(k, sign, j, outward), 0, LABEL_B
    else:
        base, own, label = name_of_faces(j, outward, k, sign), LABEL_B, 0
    count, at, grow = 0, WORK, 0.0
    while count == 0 and grow <= margin:
        put_corner(WORK, cu + eu + fu, cv + ev + fv, cw + ew + fw, label, scratch)
        put_corner(WORK + STRIDE, cu - eu + fu, cv - ev + fv, cw - ew + fw, label + 1, scratch)
        put_corner(WORK + 2 * STRIDE, cu - eu - fu, cv - ev - fv, cw - ew - fw, label + 2, scratch)
        put_corner(WORK + 3 * STRIDE, cu + eu - fu, cv + ev - fv, cw + ew - fw, label + 3, scratch)
        count, at = 4, WORK
        for side in range(4):
            s = 1.0 if side % 2 == 0 else -1.0
            nu, nv, h = (s, 0.0, hu) if side < 2 else (0.0, s, hv)
            count, at = cut(
                count, at, nu, nv, h + grow, own + (3 - 2 * side if side < 2 else 2 * side - 4), slack, scratch
            )
        if abs(gap) <= graze and is_narrow(count, at, graze, scratch):
            return 0
        # Where corners or edges pass each other the rectangles do not overlap, and are made to; see `clip_faces`.
        grow = grow + margin if grow < margin else math.inf
    if count > 0:
        name_corners(count, at, scratch)
        plane = Plane(frame, (0.0, 0.0, 0.0), 0.5)
        count = store_points(count, at, plane, margin, slack, base, scratch, manifold)
    if count == 0:
        # The corner nearest to the face.
        lowest = add_scaled(middle, -math.copysign(1.0, ew), e)
        lowest = add_scaled(lowest, -math.copysign(1.0, fw), f)
        add_point(add_scaled(add(load3(place.x), lowest), -0.5 * gap, n), gap, base, manifold)
    return manifold.points


@inlined
def name_of_faces(ka, side_a, kb, side_b):
    """What the names of points begin with between the faces on these sides of axes ka of a and kb of b. It is the same
    whichever feature defines the normal, so that a point keeps its impulse where that changes. A side of a face has the label
    of the corner that it starts from, in the order of `put_rectangle`, and `LABEL_B` more in b; see `clip_faces`."""
    return BY_FEATURE * (6 * (2 * ka + (side_a > 0.0)) + 2 * kb + (side_b > 0.0))


@njit
def is_narrow(count, at, width, scratch):
    """Whether a polygon is empty or lies within a strip so wide along u or v."""
    low_u, high_u, low_v, high_v = math.inf, -math.inf, math.inf, -math.inf
    for i in range(count):
        u, v = load(scratch, at + STRIDE * i), load(scratch, at + STRIDE * i + 1)
        low_u, high_u = min(low_u, u), max(high_u, u)
        low_v, high_v = min(low_v, v), max(high_v, v)
    return not (high_u - low_u > width and high_v - low_v > width)


@njit
def put_rectangle(place, size, k, sign, at, scratch):
    """Write the corners (world) of the face on side `sign` of axis k."""
    middle = add_scaled(load3(place.x), sign * half_size(size, k), axis_of(place, k))
    k1, k2 = (k + 1) % 3, (k + 2) % 3
    e, f = scale(half_size(size, k1), axis_of(place, k1)), scale(half_size(size, k2), axis_of(place, k2))
    for i in range(4):
        p = add_scaled(middle, 1.0 if i == 0 or i == 3 else -1.0, e)
        p = add_scaled(p, 1.0 if i < 2 else -1.0, f)
        for c in range(3):
            store(scratch, at + 3 * i + c, p[c])


@njit
def supporting_edge(place, size, k, n):
    """Start and direction (world) of the edge along axis k that lies furthest along n."""
    k1, k2 = (k + 1) % 3, (k + 2) % 3
    e, f = axis_of(place, k1), axis_of(place, k2)
    p = add_scaled(load3(place.x), math.copysign(half_size(size, k1), dot(e, n)), e)
    p = add_scaled(p, math.copysign(half_size(size, k2), dot(f, n)), f)
    along = scale(half_size(size, k), axis_of(place, k))
    return sub(p, along), scale(2.0, along)


@njit
def edge_contact(pair, box_a, box_b, r, t, gap, margin, collision):
    """Contact of an edge of a along its axis `pair.feature_a` with one of b along `pair.feature_b`; (r, t) is the pose of b
    in the frame of a. Fills the manifold; returns its points.

    The patch of the two faces that look along the normal has the crossing of the edges for a corner. Others are near enough
    only where the boxes lie almost flat on each other, and there they keep them from rocking.
    """
    scratch, manifold = collision.scratch, collision.manifold[0]
    place_a, size_a = box_a
    place_b, size_b = box_b
    i, j = pair.feature_a, pair.feature_b
    e = (1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0)
    axis = cross(e, (r[0], r[3], r[6]) if j == 0 else ((r[1], r[4], r[7]) if j == 1 else (r[2], r[5], r[8])))
    n = matvec(nine(place_a.rotation), scale(math.copysign(1.0, dot(axis, t)) / math.sqrt(dot(axis, axis)), axis))
    ka, side_a = facing_side(place_a, n)
    kb, side_b = facing_side(place_b, scale(-1.0, n))
    put_rectangle(place_a, size_a, ka, side_a, POLYGON_A, scratch)
    put_rectangle(place_b, size_b, kb, side_b, POLYGON_B, scratch)
    base = name_of_faces(ka, side_a, kb, side_b)
    if clip_faces(Polygon(4, POLYGON_A), Polygon(4, POLYGON_B), n, margin, margin, 0.0, base, scratch, manifold) == 0:
        p, d = supporting_edge(place_a, size_a, i, n)
        q, f = supporting_edge(place_b, size_b, j, scale(-1.0, n))
        near_a, near_b = nearest_points(p, d, q, f)
        add_point(
            scale(0.5, (near_a[0] + near_b[0], near_a[1] + near_b[1], near_a[2] + near_b[2])), gap, base, manifold
        )
    return manifold.points
