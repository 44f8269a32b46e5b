"""Box against box: fifteen axes, and the patch where two rectangles overlap.

Two boxes are disjoint exactly when one of fifteen axes separates them: the three face normals of each and the nine
products of an edge of one and an edge of the other (Gottschalk, Lin & Manocha 1996, §5). Along the axis of the largest gap
(the least depth, where all overlap) they are pushed apart by the shortest way.
"""

import math

from ..jit import njit
from ..unchecked import peek, poke
from ..vec import cross, dot, load3, matvec_t, sub
from .bounds import nine
from .box_manifold import axis_of, edge_contact, face_contact
from .support import relative_pose
from .tables import EDGE_EDGE, FACE_A, FACE_B, NO_WITNESS

BIAS = 1e-6  # of the smallest half side: a later axis must have a gap larger by this to be taken before an earlier one
STAY = 1e-5  # of the same: and by this, to be taken before the face that touched last time
PARALLEL = 1e-12  # squared sine of the angle of two edges below which the faces beside them tell as much


@njit
def box_box(pair, collider_a, place_a, collider_b, place_b, scratch, margin, manifold):
    """Fill the manifold of two boxes; returns its number of points.

    The normal is the axis of the largest gap, faces of a taken before those of b, and these before pairs of edges, where
    they are equal within `BIAS`; and the face that touched last time before all, within `STAY`. That gap is the distance of
    the boxes where a face is involved, or two edges; where a corner passes a corner or an edge it is less: such contacts come
    early, never late. Boxes that touch along their edges only, within `STAY`, and move no further than that, as in a wall
    each and the next but one, do not meet: neither of two normals is better than the other.
    """
    manifold.points = 0
    ha, hb = load3(collider_a["size"]), load3(collider_b["size"])
    if pair.points == 0 and pair.witness != NO_WITNESS and witness_gap(pair, place_a, ha, place_b, hb) > margin:
        return 0
    slack = BIAS * min(min(ha[0], ha[1], ha[2]), min(hb[0], hb[1], hb[2]))
    r, t = relative_pose(place_a, place_b)
    lay_out(r, t, ha, hb, scratch)
    axis, last, ahead = -1, -math.inf, 0.0
    if pair.points > 0 and (pair.witness == FACE_A or pair.witness == FACE_B):
        axis = pair.feature_a if pair.witness == FACE_A else 3 + pair.feature_b
        last, ahead = witness_gap(pair, place_a, ha, place_b, hb), STAY / BIAS * slack
    before, gap = axis, last + ahead
    axis, gap = best_face(axis, gap, 0, 3, 1, SHIFT, SIZE_A, SIZE_B, slack, scratch)
    if gap <= margin:
        axis, gap = best_face(axis, gap, 3, 1, 3, BACK, SIZE_B, SIZE_A, slack, scratch)
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
        i, j = pair.feature_a, pair.feature_b
        return edge_contact(place_a, ha, i, place_b, hb, j, r, t, gap, margin, scratch, manifold)
    if axis >= 3:
        axis, turn = axis - 3, -1.0
        place_a, ha, place_b, hb = place_b, hb, place_a, ha
    else:
        turn = 1.0
    graze = STAY / BIAS * slack
    if place_a.moves + place_b.moves > graze:
        graze = -1.0
    return face_contact(place_a, ha, axis, place_b, hb, turn, gap, margin, slack, graze, scratch, manifold)


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


@njit
def lay_out(r, t, ha, hb, scratch):
    s = matvec_t(r, t)
    for k in range(9):
        poke(scratch, POSE + k, r[k])
    for k in range(3):
        poke(scratch, SHIFT + k, t[k])
        poke(scratch, BACK + k, s[k])
        poke(scratch, SIZE_A + k, ha[k])
        poke(scratch, SIZE_B + k, hb[k])


@njit
def best_face(axis, gap, first, step, across, shift, own, other, slack, scratch):
    """(axis, gap) once the three face normals of one box are looked at too, numbered from `first`.

    In the frame of that box the other has the components R[step k + across j] on axis k.
    """
    for k in range(3):
        reach = peek(scratch, own + k)
        for j in range(3):
            reach += abs(peek(scratch, POSE + step * k + across * j)) * peek(scratch, other + j)
        candidate = abs(peek(scratch, shift + k)) - reach
        if candidate > gap + slack:
            axis, gap = first + k, candidate
    return axis, gap


@njit
def best_edges(axis, gap, slack, scratch):
    """(axis, gap) once the pairs of edges are looked at too, numbered 6 + 3 i + j.

    The axis of edge i of a and edge j of b is e_i × r_j in the frame of a, with r_j column j of R. With i, k, q in cyclic
    order its length squared is R_kj² + R_qj², t has the component t_q R_kj − t_k R_qj on it, and a the reach h_k |R_qj| +
    h_q |R_kj|; b has h_m |R_in| + h_n |R_im| with j, m, n in cyclic order; all times the length.
    """
    for i in range(3):
        k, q = (i + 1) % 3, (i + 2) % 3
        tk, tq = peek(scratch, SHIFT + k), peek(scratch, SHIFT + q)
        hk, hq = peek(scratch, SIZE_A + k), peek(scratch, SIZE_A + q)
        for j in range(3):
            m, n = (j + 1) % 3, (j + 2) % 3
            rk, rq = peek(scratch, POSE + 3 * k + j), peek(scratch, POSE + 3 * q + j)
            reach = hk * abs(rq) + hq * abs(rk)
            reach += peek(scratch, SIZE_B + m) * abs(peek(scratch, POSE + 3 * i + n))
            reach += peek(scratch, SIZE_B + n) * abs(peek(scratch, POSE + 3 * i + m))
            candidate = abs(tq * rk - tk * rq) - reach
            square = rk * rk + rq * rq
            # Dividing by the length, which is at most 1, makes a negative gap only more so.
            if square > PARALLEL and (candidate > gap + slack or candidate > 0.0):
                candidate /= math.sqrt(square)
                if candidate > gap + slack:
                    axis, gap = 6 + 3 * i + j, candidate
    return axis, gap
