"""Convex polyhedra: the plane that separates two hulls best, with the features that define it.

Two convex polyhedra are disjoint exactly when a face of one, or the plane along an edge of each, separates them (Baraff &
Witkin, Physically based modeling, Rigid body simulation II, §6.1). The gap along a direction n is min n·b − max n·a over the
corners; its maximum over all directions is at one of these candidates (the pairs of edges: `polyhedron_edges`).
"""

import math

from ..jit import inlined, njit
from ..unchecked import peek, poke
from ..vec import add, cross, dot, load3, matvec, matvec_t, norm, scale
from .polyhedron_edges import best_edges, edge_vector
from .polyhedron_manifold import POLYGON_A, hull_contact
from .support import relative_pose
from .tables import EDGE_EDGE, FACE_A, FACE_B, NO_WITNESS

BIAS = 1e-6  # of the smaller radius: a later kind of plane must have a gap larger by this to be taken before an earlier one


@njit
def hull_hull(pair, hull_a, place_a, hull_b, place_b, vertices, faces, edges, loops, scratch, margin, manifold):
    """Fill the manifold of two colliders with corners, faces and edges; returns its number of points.

    The normal is that of the largest gap: the direction of least depth where the hulls overlap. Faces of a are taken before
    those of b, and these before pairs of edges, where they are equal within `BIAS`. Where a corner passes a corner or an
    edge, the gap is less than the distance: such contacts come early, never late. Hulls must satisfy `fits`.
    """
    manifold.points = 0
    r, t = relative_pose(place_a, place_b)
    if pair.points == 0 and pair.witness != NO_WITNESS:
        if witness_gap(pair, hull_a, hull_b, r, t, vertices, faces, edges) > margin:
            return 0
    if not fits(hull_a, hull_b):
        return 0
    slack = BIAS * min(hull_a.radius, hull_b.radius)
    corners_a = 3 * hull_b.vertices
    move_corners(hull_b, r, t, vertices, 0, scratch)
    kind, other = FACE_A, 0
    likely = pair.feature_a if pair.witness == FACE_A else 0
    one, corner_b, gap = best_face(hull_a, likely, faces, hull_b.vertices, 0, scratch, margin)
    if gap <= margin:
        back = (r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8])
        move_corners(hull_a, back, scale(-1.0, matvec(back, t)), vertices, corners_a, scratch)
        likely = pair.feature_a if pair.witness == FACE_B else 0
        found, corner_a, candidate = best_face(hull_b, likely, faces, hull_a.vertices, corners_a, scratch, margin)
        if candidate > gap + slack:
            kind, one, other, gap = FACE_B, 0, found, candidate
    if gap <= margin:
        i, j, candidate = best_edges(
            hull_a, hull_b, corner_a, corner_b, r, vertices, faces, edges, gap + slack, scratch
        )  # fmt: skip
        if i >= 0:
            kind, one, other, gap = EDGE_EDGE, i, j, candidate
    pair.witness, pair.feature_a, pair.feature_b = kind, one, other
    if not -math.inf < gap <= margin:  # −∞ where a pose is not a number
        return 0
    return hull_contact(
        kind, one, other, gap, hull_a, place_a, hull_b, place_b, vertices, faces, edges, loops, scratch, margin, manifold
    )  # fmt: skip


@njit
def fits(hull_a, hull_b):
    """Whether there is room in `scratch`: up to 200 corners a hull do."""
    mine, theirs = 3 * (hull_b.vertices + hull_b.faces) + hull_b.edges, 3 * (hull_b.vertices + hull_a.vertices)
    return hull_a.faces > 0 and hull_b.faces > 0 and max(mine, theirs) <= POLYGON_A


@njit
def move_corners(hull, r, t, vertices, at, scratch):
    """Write the corners to scratch, rotated by r and moved by t."""
    for i in range(hull.vertices):
        k = 3 * (hull.first_vertex + i)
        p = add(matvec(r, (peek(vertices, k), peek(vertices, k + 1), peek(vertices, k + 2))), t)
        for c in range(3):
            poke(scratch, at + 3 * i + c, p[c])


@inlined
def height(array, k, n):
    return n[0] * peek(array, k) + n[1] * peek(array, k + 1) + n[2] * peek(array, k + 2)


@njit
def lowest(array, at, count, n):
    """The least of n · x over corners."""
    least = math.inf
    for i in range(count):
        least = min(least, height(array, at + 3 * i, n))
    return least


@njit
def best_face(hull, likely, faces, count, at, scratch, margin):
    """(face, corner, gap): the face over which the lowest of the other hull's corners is highest, that corner, and its
    height; the first face where it is more than the margin. The `likely` one is tried first."""
    face, corner, gap = 0, 0, -math.inf
    last = 0
    for k in range(-1, hull.faces):
        f = likely if k < 0 else k
        row = faces[hull.first_face + f]
        n = load3(row.normal)
        bound = gap + row.offset
        # A face is out as soon as one corner is below the best so far: most fall at the lowest corner of the last face.
        least = height(scratch, at + 3 * last, n)
        if least <= bound:
            continue
        for i in range(count):
            along = height(scratch, at + 3 * i, n)
            if along < least:
                least, last = along, i
                if along <= bound:
                    break
        if least > bound:
            face, corner, gap = f, last, least - row.offset
            if gap > margin:
                break
    return face, corner, gap


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
