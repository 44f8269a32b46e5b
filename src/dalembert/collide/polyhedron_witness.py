"""What is remembered of two hulls: the features that defined the plane between them in the step before.

Where the hulls were apart a look along that plane's normal tells that they still are. Where they touched, the plane is still
the best one, without a search, if the point of contact lies well inside the features that define it. In terms of the
Minkowski difference C of the hulls: each candidate for the plane is a facet of C, its gap the distance of the origin from
the facet's plane, below zero inside C. With the foot of the perpendicular in the facet, at a distance w from its sides,

- outside C (gap ≥ 0) the foot is the point of C nearest to the origin, so that no plane has a larger gap;
- inside, at depth δ, a plane at an angle θ that is nearer to the origin than δ must leave the disc of radius w about the foot
  behind it, δ cos θ + w sin θ < δ, or w < δ tan θ/2. With w > 100 δ that leaves planes within 1.2° of the opposite one, and
  two hulls that are both fifty times as wide as they are thick.
"""

import math

from ..jit import njit
from ..vec import cross, dot, load3, matvec, matvec_t, norm, scale, sub
from .polyhedron_corners import height, lowest, move_corners_back
from .polyhedron_edges import edge_gap, edge_vector, normals_beside, triple
from .tables import EDGE_EDGE, FACE_A, FACE_B, NO_WITNESS

INSIDE = 1e-3  # of the smaller radius: w at least, so that planes almost as good are at an angle
DEEP = 100.0  # depths that w must be


@njit
def is_still_nearest(pair, hull_a, hull_b, r, t, vertices, faces, edges, loops, scratch):
    """(whether the remembered features still define the plane, its gap). The corners of b are in `scratch`, in the frame of
    a; those of a in that of b come behind them where they are needed."""
    if pair.points == 0 or pair.witness == NO_WITNESS:
        return False, 0.0
    if pair.witness == EDGE_EDGE:
        gap, w = over_edges(pair, hull_a, hull_b, r, vertices, faces, edges, scratch)
    elif pair.witness == FACE_A:
        gap, w = over_face(hull_a, pair.feature_a, hull_b.vertices, 0, vertices, faces, loops, scratch)
    else:
        at = move_corners_back(hull_a, hull_b, r, t, vertices, scratch)
        gap, w = over_face(hull_b, pair.feature_b, hull_a.vertices, at, vertices, faces, loops, scratch)
    return w > max(INSIDE * min(hull_a.radius, hull_b.radius), -DEEP * gap), gap


@njit
def over_face(hull, face, count, at, vertices, faces, loops, scratch):
    """(the height of the lowest corner over a face, how far from its sides that corner lies, below zero outside)."""
    row = faces[hull.first_face + face]
    n = load3(row.normal)
    least, corner = math.inf, 0
    for i in range(count):
        along = height(scratch, at + 3 * i, n)
        if along < least:
            least, corner = along, i
    x = triple(scratch, at + 3 * corner)
    inside = math.inf
    size = row["count"]
    p = triple(vertices, 3 * (hull.first_vertex + loops[row.first + size - 1]))
    for i in range(size):
        q = triple(vertices, 3 * (hull.first_vertex + loops[row.first + i]))
        inward = cross(n, sub(q, p))
        inside = min(inside, dot(inward, sub(x, p)) / norm(inward))
        p = q
    return least - row.offset, inside


@njit
def over_edges(pair, hull_a, hull_b, r, vertices, faces, edges, scratch):
    """(the gap of the plane along two edges, how far from their ends they cross), or −1 for the latter where the plane does
    not have the hulls on its two sides any more."""
    row_a, row_b = edges[hull_a.first_edge + pair.feature_a], edges[hull_b.first_edge + pair.feature_b]
    at = 3 * hull_a.first_vertex
    tail, start = triple(vertices, at + 3 * row_a.tail), triple(scratch, 3 * row_b.tail)
    e, f = sub(triple(vertices, at + 3 * row_a.head), tail), sub(triple(scratch, 3 * row_b.head), start)
    left, right = normals_beside(hull_a, row_a, faces)
    left_b, right_b = normals_beside(hull_b, row_b, faces)
    gap = edge_gap(e, tail, left, right, f, start, matvec(r, left_b), matvec(r, right_b))
    if gap == -math.inf:
        return 0.0, -1.0
    n, between = cross(e, f), sub(start, tail)
    square = dot(n, n)
    s, t = dot(cross(between, f), n) / square, dot(cross(between, e), n) / square
    across = math.sqrt(square)
    return gap, min(min(s, 1.0 - s) * across / norm(f), min(t, 1.0 - t) * across / norm(e))


@njit
def witness_gap(pair, hull_a, hull_b, r, t, vertices, faces, edges):
    """The gap along the direction of the features that separated the hulls last time."""
    if pair.witness == FACE_A:
        n = load3(faces[hull_a.first_face + pair.feature_a].normal)
    elif pair.witness == FACE_B:
        n = scale(-1.0, matvec(r, load3(faces[hull_b.first_face + pair.feature_b].normal)))
    else:
        n = cross(
            edge_vector(hull_a, pair.feature_a, vertices, edges),
            matvec(r, edge_vector(hull_b, pair.feature_b, vertices, edges)),
        )
        length = norm(n)
        if not length > 0.0:
            return -math.inf
        n = scale(math.copysign(1.0 / length, dot(n, t)), n)
    high_a = -lowest(vertices, 3 * hull_a.first_vertex, hull_a.vertices, scale(-1.0, n))
    return lowest(vertices, 3 * hull_b.first_vertex, hull_b.vertices, matvec_t(r, n)) + dot(n, t) - high_a
