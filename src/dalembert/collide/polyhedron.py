"""Convex polyhedra: the plane that separates two hulls best, with the features that define it.

Two convex polyhedra are disjoint exactly when a face of one, or the plane along an edge of each, separates them (Baraff &
Witkin, Physically based modeling, Rigid body simulation II, §6.1). The gap along a direction n is min n·b − max n·a over the
corners; its maximum over all directions is at one of these candidates (the pairs of edges: `polyhedron_edges`).
"""

import math

from ..jit import njit
from ..vec import load3
from .polyhedron_corners import height, move_corners, move_corners_back
from .polyhedron_edges import best_edges
from .polyhedron_manifold import POLYGON_A, hull_contact
from .polyhedron_witness import is_still_nearest, witness_gap
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
    move_corners(hull_b, r, t, vertices, 0, scratch)
    known, gap = is_still_nearest(pair, hull_a, hull_b, r, t, vertices, faces, edges, loops, scratch)
    if not (known and gap <= margin):
        gap = search(pair, hull_a, hull_b, r, t, vertices, faces, edges, scratch, margin)
    if not -math.inf < gap <= margin:  # −∞ where a pose is not a number
        return 0
    return hull_contact(
        pair.witness, pair.feature_a, pair.feature_b, gap, hull_a, place_a, hull_b, place_b, vertices, faces, edges, loops,
        scratch, margin, manifold,
    )  # fmt: skip


@njit
def search(pair, hull_a, hull_b, r, t, vertices, faces, edges, scratch, margin):
    """The best plane over all candidates: it becomes the witness, its gap is returned. The corners of b are in `scratch`."""
    slack = BIAS * min(hull_a.radius, hull_b.radius)
    kind, other = FACE_A, 0
    likely = pair.feature_a if pair.witness == FACE_A else 0
    one, corner_b, gap = best_face(hull_a, likely, faces, hull_b.vertices, 0, scratch, margin)
    if gap <= margin:
        corners_a = move_corners_back(hull_a, hull_b, r, t, vertices, scratch)
        likely = pair.feature_b if pair.witness == FACE_B else 0
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
    return gap


@njit
def fits(hull_a, hull_b):
    """Whether there is room in `scratch`: up to 200 corners a hull do."""
    mine, theirs = 3 * (hull_b.vertices + hull_b.faces) + hull_b.edges, 3 * (hull_b.vertices + hull_a.vertices)
    return hull_a.faces > 0 and hull_b.faces > 0 and max(mine, theirs) <= POLYGON_A


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
