"""The points of contact of two hulls, once the features that define the plane of contact are known."""

import math

from ..jit import njit
from ..unchecked import peek, poke
from ..vec import add, add_scaled, cross, dot, load3, matvec, matvec_t, norm, scale
from .bounds import nine
from .clip import ROOM, WORK
from .face_clip import clip_faces
from .manifold import add_point
from .polyhedron_edges import edge_vector
from .segments import nearest_points
from .support import hull_support
from .tables import EDGE_EDGE, FACE_A

POLYGON_B = WORK - 3 * ROOM // 2
POLYGON_A = POLYGON_B - 3 * ROOM // 2
FACES = 1 << 12  # more than a hull has
BY_FEATURE = 1 << 16  # names of corners are below
ON_FACE = 1e-8  # of a hull's radius: how near to a face a corner of it lies


@njit
def hull_contact(
    kind, one, other, gap, hull_a, place_a, hull_b, place_b, vertices, faces, edges, loops, scratch, margin, manifold
):  # fmt: skip
    """The patch of the two faces at the plane of contact, which for a pair of edges are the neighbours that face it best.

    For edges these add to the crossing only where the hulls lie almost flat on each other; there they keep them from rocking.
    """
    rotation_a, rotation_b = nine(place_a.rotation), nine(place_b.rotation)
    if kind == EDGE_EDGE:
        row_a, row_b = edges[hull_a.first_edge + one], edges[hull_b.first_edge + other]
        d = matvec(rotation_a, edge_vector(hull_a, one, vertices, edges))
        e = matvec(rotation_b, edge_vector(hull_b, other, vertices, edges))
        n = cross(d, e)
        left = matvec(rotation_a, load3(faces[hull_a.first_face + row_a.left].normal))
        right = matvec(rotation_a, load3(faces[hull_a.first_face + row_a.right].normal))
        n = scale(math.copysign(1.0 / norm(n), dot(n, add(left, right))), n)
        face_a = row_a.left if dot(left, n) >= dot(right, n) else row_a.right
        left = matvec(rotation_b, load3(faces[hull_b.first_face + row_b.left].normal))
        right = matvec(rotation_b, load3(faces[hull_b.first_face + row_b.right].normal))
        face_b = row_b.left if dot(left, n) <= dot(right, n) else row_b.right
    elif kind == FACE_A:
        n = matvec(rotation_a, load3(faces[hull_a.first_face + one].normal))
        face_a, face_b = one, supporting_face(hull_b, vertices, faces, matvec_t(rotation_b, scale(-1.0, n)))
    else:
        n = matvec(rotation_b, scale(-1.0, load3(faces[hull_b.first_face + other].normal)))
        face_a, face_b = supporting_face(hull_a, vertices, faces, matvec_t(rotation_a, n)), other
    count_a = put_face(hull_a, place_a, face_a, vertices, faces, loops, POLYGON_A, scratch)
    count_b = put_face(hull_b, place_b, face_b, vertices, faces, loops, POLYGON_B, scratch)
    if clip_faces(count_a, POLYGON_A, count_b, POLYGON_B, n, margin, margin, scratch, manifold) == 0:
        if kind == EDGE_EDGE:
            p = world_point(hull_a, place_a, row_a.tail, vertices)
            q = world_point(hull_b, place_b, row_b.tail, vertices)
            near_a, near_b = nearest_points(p, d, q, e)
            middle = scale(0.5, add(near_a, near_b))
        elif kind == FACE_A:
            corner = hull_support(hull_b, vertices, matvec_t(rotation_b, scale(-1.0, n)))
            middle = add_scaled(add(load3(place_b.x), matvec(rotation_b, corner)), -0.5 * gap, n)
        else:
            corner = hull_support(hull_a, vertices, matvec_t(rotation_a, n))
            middle = add_scaled(add(load3(place_a.x), matvec(rotation_a, corner)), 0.5 * gap, n)
        add_point(middle, gap, 0, manifold)
    for k in range(manifold.points):
        manifold.feature[k] += BY_FEATURE * (FACES * face_a + face_b)
    return manifold.points


@njit
def supporting_face(hull, vertices, faces, n):
    """Of the faces at the corner furthest along n, the one whose normal is nearest to n; all in the frame of the hull."""
    corner = hull_support(hull, vertices, n)
    best, most = 0, -math.inf
    for f in range(hull.faces):
        row = faces[hull.first_face + f]
        normal = load3(row.normal)
        along = dot(normal, n)
        if along > most and dot(normal, corner) >= row.offset - ON_FACE * hull.radius:
            best, most = f, along
    return best


@njit
def world_point(hull, place, i, vertices):
    k = 3 * (hull.first_vertex + i)
    p = (peek(vertices, k), peek(vertices, k + 1), peek(vertices, k + 2))
    return add(load3(place.x), matvec(nine(place.rotation), p))


@njit
def put_face(hull, place, face, vertices, faces, loops, at, scratch):
    """Write the corners (world) of a face; returns their number. Of more than 64 it takes every second, or third."""
    row = faces[hull.first_face + face]
    step = (row["count"] + ROOM // 2 - 1) // (ROOM // 2)
    count = (row["count"] + step - 1) // step
    for i in range(count):
        p = world_point(hull, place, loops[row.first + step * i], vertices)
        for c in range(3):
            poke(scratch, at + 3 * i + c, p[c])
    return count
