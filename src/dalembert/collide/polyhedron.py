"""Convex polyhedra: the plane of maximum separation of two hulls, with the features that define it.

Two convex polyhedra are disjoint exactly when a face of one, or the plane along an edge of each, separates them (Baraff
& Witkin, Physically based modeling, Rigid body simulation II, §6.1). The gap along a direction n is min n·b − max n·a
over the corners; its maximum over all directions is at one of these candidates.

In order: corners; pairs of edges; points of contact; the witness of the step before; `hull_hull`, the entry; and the
facet of a mesh, a hull of one face.
"""

import math
from typing import Any, NamedTuple

from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, matvec, matvec_t, norm, scale, sub
from ..core.simd import dot4, larger4, largest4, load, load4, select4, spread, store, times4
from ..scene.shapes.geometry import TILT
from .broad_phase import nine
from .gjk import hull_support, hull_vertex, load_point, relative_pose
from .manifold import ROOM, WORK, Polygon, add_point, clip_faces, nearest_points
from .tables import EDGE_EDGE, FACE_A, FACE_B, NO_WITNESS

# Corners --------------------------------------------------------------------------------------------------------------
# Moved into the frame of the other hull, and their heights along a direction.


class Hulls(NamedTuple):
    """Two hulls, and the pose of b in the frame of a."""

    a: Any
    b: Any
    r: Any  # rotation
    t: Any  # translation


@njit
def move_corners(hull, r, t, vertices, at, scratch):
    """Write the corners to scratch, rotated by r and moved by t."""
    for i in range(hull.vertices):
        p = add(matvec(r, hull_vertex(hull, i, vertices)), t)
        for c in range(3):
            store(scratch, at + 3 * i + c, p[c])


@njit
def move_corners_back(hulls, vertices, scratch):
    """Write the corners of a in the frame of b to scratch, behind those of b there; returns where they begin."""
    r, at = hulls.r, 3 * hulls.b.vertices
    back = (r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8])
    move_corners(hulls.a, back, scale(-1.0, matvec(back, hulls.t)), vertices, at, scratch)
    return at


@inlined
def height(array, k, n):
    """n · x of the point x = array[k : k + 3]."""
    return n[0] * load(array, k) + n[1] * load(array, k + 1) + n[2] * load(array, k + 2)


@njit
def lowest(array, at, count, n):
    """The least of n · x over corners."""
    least = math.inf
    for i in range(count):
        least = min(least, height(array, at + 3 * i, n))
    return least


# Pairs of edges that define a separating plane ------------------------------------------------------------------------
# A hull lies behind the planes through one of its edges whose normals are on the arc between the normals of the two faces
# there. A plane along two edges has one hull behind it and the other before it only if the arc of one crosses the negated arc
# of the other on the sphere of directions (Gregorius, The separating axis test, GDC 2013). An edge e with face l on its left
# and r on its right has l × r along e. For an edge e of one hull, between l and r, and f of the other, between s and t, the
# arcs l r and −s −t cross exactly when these have opposite signs: e·s and e·t, f·l and f·r, and e·s and f·r.

PARALLEL = 1e-12  # squared sine of the angle of two edges below which the faces beside them tell as much


@inlined
def edge_vector(hull, i, vertices, edges):
    """From tail to head of edge i, in the frame of the hull."""
    row = edges[hull.first_edge + i]
    at = 3 * hull.first_vertex
    return sub(load_point(vertices, at + 3 * row.head), load_point(vertices, at + 3 * row.tail))


@inlined
def normals_beside(hull, edge, faces):
    """The normals of the faces on the left and on the right of an edge, in the frame of the hull."""
    return load3(faces[hull.first_face + edge.left].normal), load3(faces[hull.first_face + edge.right].normal)


@inlined
def is_bounded(left, right, d, floor):
    """Whether no normal on the arc from left to right has a gap above `floor`, given the vector d from the edge to a corner
    of the other hull: the gap is at most n · d, and that, where both ends are negative, at most the larger of them."""
    return max(dot(left, d), dot(right, d)) <= min(floor, 0.0)


@njit
def best_edges(hulls, corner_a, corner_b, floor, collision):
    """(edge of a, edge of b, gap) of the largest gap above `floor`, or −1 for the edges. corner_a, corner_b : the deepest.

    scratch holds the corners of b in the frame of a; behind them come its face normals there, the numbers of the edges of b
    whose gap may be above the floor, and these edges four by four (`pack_edges`).
    """
    hull_a, hull_b, r, _ = hulls
    vertices, faces, edges, scratch = collision.vertices, collision.faces, collision.edges, collision.scratch
    normals = 3 * hull_b.vertices
    listed = normals + 3 * hull_b.faces
    for f in range(hull_b.faces):
        n = matvec(r, load3(faces[hull_b.first_face + f].normal))
        for c in range(3):
            store(scratch, normals + 3 * f + c, n[c])
    at_a = 3 * hull_a.first_vertex
    deep_a, deep_b = load_point(vertices, at_a + 3 * corner_a), load_point(scratch, 3 * corner_b)
    count = 0
    for j in range(hull_b.edges):
        row = edges[hull_b.first_edge + j]
        d = sub(deep_a, load_point(scratch, 3 * row.tail))
        if not is_bounded(
            load_point(scratch, normals + 3 * row.left), load_point(scratch, normals + 3 * row.right), d, floor
        ):
            store(scratch, listed + count, j)
            count += 1
    packed = pack_edges(hull_b, count, edges, scratch)
    best, partner, gap = -1, -1, floor
    for i in range(hull_a.edges):
        row = edges[hull_a.first_edge + i]
        left, right = normals_beside(hull_a, row, faces)
        tail = load_point(vertices, at_a + 3 * row.tail)
        if is_bounded(left, right, sub(deep_b, tail), gap):
            continue
        e = sub(load_point(vertices, at_a + 3 * row.head), tail)
        j, candidate = best_partner((e, tail, left, right), hull_b, count, packed, gap, edges, scratch)
        if j >= 0:
            best, partner, gap = i, j, candidate
    return best, partner, gap


@inlined
def edge_gap(e, tail, left, right, f, start, s, t):
    """From the plane along edge e of a, through its tail, to that along edge f of b, through its start, given the normals
    beside each; −∞ where their arcs do not cross, or they are parallel."""
    es = dot(e, s)
    if not es * dot(e, t) < 0.0:
        return -math.inf
    fr = dot(f, right)
    if not (es * fr < 0.0 and fr * dot(f, left) < 0.0):
        return -math.inf
    n = cross(e, f)
    square = dot(n, n)
    if not square > PARALLEL * dot(e, e) * dot(f, f):
        return -math.inf
    return math.copysign(1.0, dot(n, add(left, right))) * dot(n, sub(start, tail)) / math.sqrt(square)


BLOCK = 36  # numbers of four edges in scratch: their vectors, and the normals on their left and right


@njit
def pack_edges(hull_b, count, edges, scratch):
    """Write the listed edges of b to scratch, four by four; returns where they begin, or −1 where there is no room."""
    normals = 3 * hull_b.vertices
    listed = normals + 3 * hull_b.faces
    packed = listed + count
    if packed + BLOCK * ((count + 3) // 4) > POLYGON_A:
        return -1
    for k in range(4 * ((count + 3) // 4)):
        at = packed + BLOCK * (k // 4) + k % 4
        if k >= count:
            for c in range(0, BLOCK, 4):
                store(scratch, at + c, 0.0)
            continue
        row = edges[hull_b.first_edge + int(load(scratch, listed + k))]
        for c in range(3):
            store(scratch, at + 4 * c, load(scratch, 3 * row.head + c) - load(scratch, 3 * row.tail + c))
            store(scratch, at + 12 + 4 * c, load(scratch, normals + 3 * row.left + c))
            store(scratch, at + 24 + 4 * c, load(scratch, normals + 3 * row.right + c))
    return packed


@inlined
def point4(scratch, at):
    """A vector of each of four edges."""
    return (load4(scratch, at), load4(scratch, at + 4), load4(scratch, at + 8))


@inlined
def some_arcs_cross(e, left, right, scratch, at):
    """Whether the arc of an edge of a crosses that of one of the four edges of b at scratch[at :]; see `edge_gap`."""
    f, s, t = point4(scratch, at), point4(scratch, at + 12), point4(scratch, at + 24)
    es, fr = dot4(e, s), dot4(f, right)
    zero = spread(0.0)
    cross_a, cross_b = larger4(times4(es, dot4(e, t)), times4(es, fr)), times4(fr, dot4(f, left))
    return largest4(select4(zero, larger4(cross_a, cross_b), spread(1.0), zero)) > 0.0


@inlined
def spread_vector(a):
    """A vector, four times."""
    return (spread(a[0]), spread(a[1]), spread(a[2]))


@njit
def best_partner(edge, hull_b, count, packed, gap, edges, scratch):
    """(edge of b, gap) of the largest gap above `gap` with one edge of a, or −1.

    edge : its vector, tail, and the normals on its left and right. count : of the edges of b listed in scratch; packed :
    where `pack_edges` has written them.
    """
    e, tail, left, right = edge
    all_e, all_left, all_right = spread_vector(e), spread_vector(left), spread_vector(right)
    normals = 3 * hull_b.vertices
    listed = normals + 3 * hull_b.faces
    best = -1
    for first in range(0, count, 4):
        if packed >= 0 and not some_arcs_cross(all_e, all_left, all_right, scratch, packed + BLOCK * (first // 4)):
            continue
        for k in range(first, min(first + 4, count)):
            j = int(load(scratch, listed + k))
            row = edges[hull_b.first_edge + j]
            start = load_point(scratch, 3 * row.tail)
            f = sub(load_point(scratch, 3 * row.head), start)
            s, t = load_point(scratch, normals + 3 * row.left), load_point(scratch, normals + 3 * row.right)
            candidate = edge_gap(e, tail, left, right, f, start, s, t)
            if candidate > gap:
                best, gap = j, candidate
    return best, gap


# Points of contact ----------------------------------------------------------------------------------------------------
# Once the features that define the plane of contact are known.

POLYGON_B = WORK - 3 * ROOM // 2
POLYGON_A = POLYGON_B - 3 * ROOM // 2
FACES = 1 << 12  # more than a hull has
BY_FEATURE = 1 << 16  # names of corners are below
ON_FACE = 1e-8  # of a hull's radius: how near to a face a corner of it lies


@njit
def hull_contact(pair, gap, margin, collision):
    """Fill the manifold with the patch of the two faces at the plane of contact, which for a pair of edges are the neighbours
    that face it best; returns its points. The witness of the pair defines the plane.

    For edges these add to the crossing only where the hulls lie almost flat on each other; there they keep them from rocking.
    """
    kind, one, other = pair.witness, pair.feature_a, pair.feature_b
    hull_a, hull_b = collision.colliders[pair.a], collision.colliders[pair.b]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    vertices, faces, edges = collision.vertices, collision.faces, collision.edges
    scratch, manifold = collision.scratch, collision.manifold[0]
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
    count_a = store_face(hull_a, place_a, face_a, POLYGON_A, collision)
    count_b = store_face(hull_b, place_b, face_b, POLYGON_B, collision)
    polygons = Polygon(count_a, POLYGON_A), Polygon(count_b, POLYGON_B)
    base = BY_FEATURE * (FACES * face_a + face_b)
    if clip_faces(polygons[0], polygons[1], n, margin, margin, 0.0, base, scratch, manifold) == 0:
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
        add_point(middle, gap, base, manifold)
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
    """Corner i of a hull, in the world."""
    return add(load3(place.x), matvec(nine(place.rotation), hull_vertex(hull, i, vertices)))


@njit
def store_face(hull, place, face, at, collision):
    """Write the corners (world) of a face to scratch[at :]; returns their number. Of more than 64 it takes every second, or
    third."""
    vertices, loops, scratch = collision.vertices, collision.loops, collision.scratch
    row = collision.faces[hull.first_face + face]
    step = (row["count"] + ROOM // 2 - 1) // (ROOM // 2)
    count = (row["count"] + step - 1) // step
    for i in range(count):
        p = world_point(hull, place, loops[row.first + step * i], vertices)
        for c in range(3):
            store(scratch, at + 3 * i + c, p[c])
    return count


# The witness of the step before ---------------------------------------------------------------------------------------
# The features that defined the plane between the hulls in the step before (the witness).
#
# Where the hulls were apart, the gap along that plane's normal shows whether they still are. Where they touched, the plane is
# still the best one, without a search, if the point of contact lies well inside the features that define it. In terms of the
# Minkowski difference C of the hulls: each candidate for the plane is a facet of C, its gap the distance of the origin from
# the facet's plane, below zero inside C. With the foot of the perpendicular in the facet, at a distance w from its sides,
#
# - outside C (gap ≥ 0) the foot is the point of C nearest to the origin, so that no plane has a larger gap;
# - inside, at depth δ, a plane at an angle θ that is nearer to the origin than δ must leave the disc of radius w about the
#   foot behind it, δ cos θ + w sin θ < δ, or w < δ tan θ/2. With w > 100 δ that leaves planes within 1.2° of the opposite
#   one, and two hulls that are both fifty times as wide as they are thick.

INSIDE = 1e-3  # of the smaller radius: w at least, so that planes almost as good are at an angle
DEEP = 100.0  # depths that w must be


@njit
def is_still_nearest(pair, hulls, collision):
    """(whether the witness still defines the plane, its gap). The corners of b are in `scratch`, in the frame of a; those of
    a in that of b come behind them where they are needed."""
    hull_a, hull_b = hulls.a, hulls.b
    if pair.points == 0 or pair.witness == NO_WITNESS:
        return False, 0.0
    if pair.witness == EDGE_EDGE:
        gap, w = over_edges(pair, hulls, collision)
    elif pair.witness == FACE_A:
        gap, w = over_face(hull_a, pair.feature_a, hull_b.vertices, 0, collision)
    else:
        at = move_corners_back(hulls, collision.vertices, collision.scratch)
        gap, w = over_face(hull_b, pair.feature_b, hull_a.vertices, at, collision)
    return w > max(INSIDE * min(hull_a.radius, hull_b.radius), -DEEP * gap), gap


@njit
def over_face(hull, face, count, at, collision):
    """(height of the lowest of `count` corners at scratch[at :] over a face, how far from its sides that corner lies, below
    zero outside)."""
    vertices, faces, loops, scratch = collision.vertices, collision.faces, collision.loops, collision.scratch
    row = faces[hull.first_face + face]
    n = load3(row.normal)
    least, corner = math.inf, 0
    for i in range(count):
        along = height(scratch, at + 3 * i, n)
        if along < least:
            least, corner = along, i
    x = load_point(scratch, at + 3 * corner)
    inside = math.inf
    size = row["count"]
    p = load_point(vertices, 3 * (hull.first_vertex + loops[row.first + size - 1]))
    for i in range(size):
        q = load_point(vertices, 3 * (hull.first_vertex + loops[row.first + i]))
        inward = cross(n, sub(q, p))
        inside = min(inside, dot(inward, sub(x, p)) / norm(inward))
        p = q
    return least - row.offset, inside


@njit
def over_edges(pair, hulls, collision):
    """(the gap of the plane along two edges, how far from their ends they cross), or −1 for the latter where the plane does
    not have the hulls on its two sides any more."""
    hull_a, hull_b, r, _ = hulls
    vertices, faces, edges, scratch = collision.vertices, collision.faces, collision.edges, collision.scratch
    row_a, row_b = edges[hull_a.first_edge + pair.feature_a], edges[hull_b.first_edge + pair.feature_b]
    at = 3 * hull_a.first_vertex
    tail, start = load_point(vertices, at + 3 * row_a.tail), load_point(scratch, 3 * row_b.tail)
    e, f = sub(load_point(vertices, at + 3 * row_a.head), tail), sub(load_point(scratch, 3 * row_b.head), start)
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
def witness_gap(pair, hulls, collision):
    """The gap along the direction of the features that separated the hulls last time."""
    hull_a, hull_b, r, t = hulls
    vertices, faces, edges = collision.vertices, collision.faces, collision.edges
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


# Two hulls ------------------------------------------------------------------------------------------------------------

BIAS = 1e-6  # of the smaller radius: a later kind of plane must have a gap larger by this to be taken before an earlier one


@njit
def hull_hull(pair, margin, collision):
    """Fill the manifold of two colliders with corners, faces and edges; returns its number of points.

    The normal is that of the largest gap: the direction of least depth where the hulls overlap. Faces of a are taken before
    those of b, and these before pairs of edges, where they are equal within `BIAS`. Where a corner passes a corner or an
    edge, the gap is less than the distance: such contacts come early, never late. Hulls must satisfy `fits`.
    """
    collision.manifold[0].points = 0
    hull_a, hull_b = collision.colliders[pair.a], collision.colliders[pair.b]
    r, t = relative_pose(collision.places[pair.a], collision.places[pair.b])
    hulls = Hulls(hull_a, hull_b, r, t)
    if pair.points == 0 and pair.witness != NO_WITNESS:
        if witness_gap(pair, hulls, collision) > margin:
            return 0
    if not fits(hull_a, hull_b):
        return 0
    move_corners(hull_b, r, t, collision.vertices, 0, collision.scratch)
    known, gap = is_still_nearest(pair, hulls, collision)
    if not (known and gap <= margin):
        gap = search_separating_axis(pair, hulls, margin, collision)
    if not -math.inf < gap <= margin:  # −∞ where a pose is not a number
        return 0
    return hull_contact(pair, gap, margin, collision)


@njit
def search_separating_axis(pair, hulls, margin, collision):
    """The best plane over all candidates: it becomes the witness, its gap is returned. The corners of b are in `scratch`."""
    hull_a, hull_b = hulls.a, hulls.b
    faces, scratch = collision.faces, collision.scratch
    slack = BIAS * min(hull_a.radius, hull_b.radius)
    kind, other = FACE_A, 0
    likely = pair.feature_a if pair.witness == FACE_A else 0
    one, corner_b, gap = best_face(hull_a, likely, faces, hull_b.vertices, 0, scratch, margin)
    if gap <= margin:
        corners_a = move_corners_back(hulls, collision.vertices, scratch)
        likely = pair.feature_b if pair.witness == FACE_B else 0
        found, corner_a, candidate = best_face(hull_b, likely, faces, hull_a.vertices, corners_a, scratch, margin)
        if candidate > gap + slack:
            kind, one, other, gap = FACE_B, 0, found, candidate
    if gap <= margin:
        i, j, candidate = best_edges(hulls, corner_a, corner_b, gap + slack, collision)
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


# One facet of a mesh --------------------------------------------------------------------------------------------------
# What lies over it, and which directions can push at its sides and corners.
#
# A mesh is a surface whose neighbours matter: at an edge between two level facets the surface is flat, and nothing may be
# pushed sideways there, though the nearest point of one facet alone may be on that edge. A unit vector u, out of the mesh, is
# free at a point of it where the surface about that point lies behind the plane through it with normal u:
#
# - within a facet: its normal only;
# - on a side: what leans no further than the normal of the facet beyond; none where that is level or rises. At the rim of an
#   open surface: half a turn;
# - at a corner: where every edge that leaves it lies behind.

BEHIND = 1e-6  # rad: what reaches out of a plane by less is behind it
OVER = 1e-9  # of the distance from a corner: what is beyond a side by less is over the facet


@njit
def show(mesh, number, collision):
    """Let the row of a mesh be one facet: what handles hulls takes it for a hull of one face."""
    facet = collision.facets[number]
    mesh.first_vertex, mesh.vertices = facet.first_vertex, facet.vertices
    mesh.first_face, mesh.faces = facet.face, 1


@njit
def is_over(p, facet, collision):
    """Whether a point lies over or under a facet, its sides included; all in the frame of the mesh."""
    vertices = collision.vertices
    n = load3(collision.faces[facet.face].normal)
    tail = load_point(vertices, 3 * (facet.first_vertex + facet.vertices - 1))
    for i in range(facet.vertices):
        head = load_point(vertices, 3 * (facet.first_vertex + i))
        out = cross(sub(head, tail), n)
        d = sub(p, tail)
        if dot(out, d) > OVER * norm(out) * norm(d):
            return False
        tail = head
    return True


@njit
def is_free(u, facet, collision):
    """Whether the unit vector u (frame of the mesh) is free at the side or corner of the facet that is furthest along it.

    It is a side that is furthest where u leans at right angles to it, within `TILT`.
    """
    vertices = collision.vertices
    sides = collision.sides
    tilt = TILT * lean(u, load3(collision.faces[facet.face].normal))
    top, height = 0, -1e300
    for i in range(facet.vertices):
        h = dot(u, load_point(vertices, 3 * (facet.first_vertex + i)))
        if h > height:
            top, height = i, h
    p = load_point(vertices, 3 * (facet.first_vertex + top))
    for end in range(2):
        before = top if end == 0 else (top + facet.vertices - 1) % facet.vertices
        other = (before + 1) % facet.vertices if end == 0 else before
        e = sub(load_point(vertices, 3 * (facet.first_vertex + other)), p)
        if abs(dot(u, e)) <= tilt * norm(e) and dot(u, load3(sides[facet.first_side + before].beside)) <= BEHIND:
            return True
    side = sides[facet.first_side + top]
    for k in range(side.first_ring, side.first_ring + side.ring):
        if dot(u, load_point(collision.rings, 3 * k)) > BEHIND:
            return False
    return True


@njit
def lean(u, n):
    """The sine of the angle between two unit vectors, to rounding."""
    return norm(add_scaled(u, -dot(u, n), n))
