"""The distance of two convex cores, and the depth where they overlap: GJK and EPA; and the tables of a convex hull.

In order: the point of a simplex nearest to the origin; support functions; `gjk`; the polytope of `epa`; `epa`;
`hull_tables`.

GJK is the algorithm of Gilbert, Johnson and Keerthi (1988). The distance of A and B is that of the origin to the set of
differences w = b − a. GJK has a simplex of points of that set, and v, its point nearest to the origin; it adds the
furthest point w along −v while this decreases |v|. The distance can shrink by at most |v| − v·w/|v| (the duality gap),
which is reduced to rounding (van den Bergen, *Collision Detection in Interactive 3D Environments*, 2004, §4.3). The
search ends when v stops getting shorter, because of rounding.

All coordinates are in the frame of a, so that a position far from the origin of the world costs no digits.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.jit import inlined, njit
from ..core.math3 import add, cross, dot, load3, matvec, matvec_t, norm, perpendicular, scale, sub
from ..core.simd import load
from ..scene.shapes.base import HULL, MESH
from ..scene.shapes.dispatch import CURVED, GROWN, shape_support
from .broad_phase import nine
from .tables import EDGE, FACE

# The point of a simplex nearest to the origin -------------------------------------------------------------------------
# The weights of the corners of a segment, triangle or tetrahedron in its point nearest to the origin.
#
# The signed-volume method (Montanari, Petrinic and Barbieri, "Improving the GJK algorithm for faster and more reliable
# distance queries between convex objects", ACM Transactions on Graphics 36, 2017, §3): the origin is projected on the span,
# and the weights are ratios of signed lengths, areas or volumes. Where a sign differs from that of the whole, the nearest
# point lies on the side opposite to that corner. Areas are taken on the coordinate plane where the triangle looks largest.
# A degenerate simplex is searched side by side.


@njit
def nearest_on_segment(a, b):
    """Weights (2) of the corners."""
    t = sub(b, a)
    u = dot(b, t)
    v = -dot(a, t)
    whole = dot(t, t)
    if not whole > 0.0 or v <= 0.0:
        return (1.0, 0.0)
    if u <= 0.0:
        return (0.0, 1.0)
    return (u / (u + v), v / (u + v))


@njit
def combination(u, a, v, b, w, c):
    """u a + v b + w c."""
    return (
        u * a[0] + v * b[0] + w * c[0],
        u * a[1] + v * b[1] + w * c[1],
        u * a[2] + v * b[2] + w * c[2],
    )


@njit
def signed_areas(a, b, c):
    """(whole, three parts) of a triangle and of those that the projection of the origin makes with its sides, opposite to
    each corner, all on the coordinate plane where the triangle is largest; zeros if it has no area."""
    n = cross(sub(b, a), sub(c, a))
    nn = dot(n, n)
    if not nn > 0.0:
        return (0.0, 0.0, 0.0, 0.0)
    s = dot(a, n) / nn
    p = (s * n[0], s * n[1], s * n[2])
    x, y, z = abs(n[0]), abs(n[1]), abs(n[2])
    i, j, whole = 0, 1, n[2]
    if x >= y and x >= z:
        i, j, whole = 1, 2, n[0]
    elif y >= z:
        i, j, whole = 2, 0, n[1]
    ai, aj = a[i] - p[i], a[j] - p[j]
    bi, bj = b[i] - p[i], b[j] - p[j]
    ci, cj = c[i] - p[i], c[j] - p[j]
    return (whole, bi * cj - bj * ci, ci * aj - cj * ai, ai * bj - aj * bi)


@njit
def nearest_on_triangle(a, b, c):
    """Weights (3) of the corners."""
    whole, u, v, w = signed_areas(a, b, c)
    if whole < 0.0:
        whole, u, v, w = -whole, -u, -v, -w
    if whole > 0.0 and u > 0.0 and v > 0.0 and w > 0.0:
        s = 1.0 / (u + v + w)
        return (s * u, s * v, s * w)
    best = (1.0, 0.0, 0.0)
    least = dot(a, a)
    if whole == 0.0 or u <= 0.0:
        e = nearest_on_segment(b, c)
        p = combination(0.0, a, e[0], b, e[1], c)
        if dot(p, p) < least:
            least = dot(p, p)
            best = (0.0, e[0], e[1])
    if whole == 0.0 or v <= 0.0:
        e = nearest_on_segment(c, a)
        p = combination(e[1], a, 0.0, b, e[0], c)
        if dot(p, p) < least:
            least = dot(p, p)
            best = (e[1], 0.0, e[0])
    if whole == 0.0 or w <= 0.0:
        e = nearest_on_segment(a, b)
        p = combination(e[0], a, e[1], b, 0.0, c)
        if dot(p, p) < least:
            best = (e[0], e[1], 0.0)
    return best


@njit
def nearest_on_tetrahedron(a, b, c, d):
    """Weights (4) of the corners; all positive where the origin is inside."""
    ab, ac, ad = sub(b, a), sub(c, a), sub(d, a)
    whole = dot(ab, cross(ac, ad))
    bc = cross(b, c)
    # Volumes of the tetrahedra in which the origin takes the place of each corner.
    u = dot(d, bc)
    v = dot(a, cross(d, c))
    w = dot(b, cross(d, a))
    x = -dot(a, bc)
    if whole < 0.0:
        whole, u, v, w, x = -whole, -u, -v, -w, -x
    if whole > 0.0 and u > 0.0 and v > 0.0 and w > 0.0 and x > 0.0:
        s = 1.0 / (u + v + w + x)
        return (s * u, s * v, s * w, s * x)
    best = (1.0, 0.0, 0.0, 0.0)
    least = dot(a, a)
    if not whole > 0.0 or u <= 0.0:
        t = nearest_on_triangle(b, c, d)
        p = combination(t[0], b, t[1], c, t[2], d)
        if dot(p, p) < least:
            least = dot(p, p)
            best = (0.0, t[0], t[1], t[2])
    if not whole > 0.0 or v <= 0.0:
        t = nearest_on_triangle(a, c, d)
        p = combination(t[0], a, t[1], c, t[2], d)
        if dot(p, p) < least:
            least = dot(p, p)
            best = (t[0], 0.0, t[1], t[2])
    if not whole > 0.0 or w <= 0.0:
        t = nearest_on_triangle(a, b, d)
        p = combination(t[0], a, t[1], b, t[2], d)
        if dot(p, p) < least:
            least = dot(p, p)
            best = (t[0], t[1], 0.0, t[2])
    if not whole > 0.0 or x <= 0.0:
        t = nearest_on_triangle(a, b, c)
        p = combination(t[0], a, t[1], b, t[2], c)
        if dot(p, p) < least:
            best = (t[0], t[1], t[2], 0.0)
    return best


# Support functions ----------------------------------------------------------------------------------------------------
# The furthest point of a shape along a direction.
#
# A shape is a convex *core* grown by a radius: a sphere is a point, a capsule a segment, and the others are their own cores.
# Distances are found between cores, which keeps the round shapes exact.


@njit
def core_radius(collider):
    """What the core is grown by (m)."""
    if (GROWN >> collider.kind) & 1:
        return collider["size"][0]
    return 0.0


@njit
def is_curved(collider):
    """Whether the core has infinitely many corners."""
    return (CURVED >> collider.kind) & 1 == 1


@njit
def load_point(array, at):
    """array[at : at + 3] as a tuple."""
    return (load(array, at), load(array, at + 1), load(array, at + 2))


@inlined
def hull_vertex(collider, i, vertices):
    """Corner i of a hull, in its frame."""
    return load_point(vertices, 3 * (collider.first_vertex + i))


@njit
def hull_support(collider, vertices, u):
    """The corner furthest along u, in the frame of the hull.

    By linear search: the hulls of moving bodies have tens of corners, which are contiguous in memory.
    """
    at = 3 * collider.first_vertex
    end = at + 3 * collider.vertices
    best = at
    furthest = -math.inf
    while at < end:
        along = u[0] * vertices[at] + u[1] * vertices[at + 1] + u[2] * vertices[at + 2]
        if along > furthest:
            furthest = along
            best = at
        at += 3
    return (vertices[best], vertices[best + 1], vertices[best + 2])


@njit
def core_support(collider, vertices, u):
    """The point of the core furthest along u, both in the collider's frame; u need not be a unit vector.

    An extreme point of the core, except the centre of a flat end met head on. Among equals the choice is fixed.
    """
    if collider.kind in (HULL, MESH):
        return hull_support(collider, vertices, u)
    return shape_support(collider.kind, load3(collider["size"]), u)


@njit
def support(collider, place, vertices, direction):
    """The point of the core furthest along a direction, both in world axes; the direction need not be a unit vector."""
    rotation = nine(place.rotation)
    point = core_support(collider, vertices, matvec_t(rotation, direction))
    return add(load3(place.x), matvec(rotation, point))


@njit
def relative_pose(place_a, place_b):
    """(rotation, translation) from the frame of b to the frame of a: R_aᵀ R_b and R_aᵀ (x_b − x_a)."""
    p = nine(place_a.rotation)
    q = nine(place_b.rotation)
    x = matvec_t(p, (q[0], q[3], q[6]))
    y = matvec_t(p, (q[1], q[4], q[7]))
    z = matvec_t(p, (q[2], q[5], q[8]))
    d = (
        place_b.x[0] - place_a.x[0],
        place_b.x[1] - place_a.x[1],
        place_b.x[2] - place_a.x[2],
    )
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]), matvec_t(p, d)


class Cores(NamedTuple):
    """Two colliders and the pose of b in the frame of a: what GJK, EPA and `curved.refine` search."""

    a: Any
    b: Any
    rotation: Any
    translation: Any
    collision: Any  # the table, for the corners of hulls


@njit
def difference(cores, u, at):
    """The point w = b − a of the difference of the cores, b − a ∈ B ⊖ A, furthest along −u, written with its two parts.

    In the frame of a, where b has this rotation and translation. scratch[at : at + 9] receives w, then a in its frame,
    then b in *its* frame: a corner met again has the very same numbers.
    """
    vertices, scratch = cores.collision.vertices, cores.collision.scratch
    a = core_support(cores.a, vertices, u)
    turned = matvec_t(cores.rotation, u)
    b = core_support(cores.b, vertices, (-turned[0], -turned[1], -turned[2]))
    c = add(cores.translation, matvec(cores.rotation, b))
    for k in range(3):
        scratch[at + k] = c[k] - a[k]
        scratch[at + 3 + k] = a[k]
        scratch[at + 6 + k] = b[k]


# The search of GJK ----------------------------------------------------------------------------------------------------

# What the search found: distance > 0; common points (or a touch within rounding); further apart than was asked for.
SEPARATED, OVERLAPPING, FAR = range(3)

# The simplex in scratch: up to four corners of nine numbers (see `difference`), one to come, and the weights.
CORNER = 9
NEW = 4 * CORNER
WEIGHTS = 5 * CORNER
SIMPLEX_SIZE = WEIGHTS + 4

ITERATIONS = 128
ROUNDING = 4e-16  # error of a difference, as a fraction of the size of the pair
TOUCHING = 1e-14  # nearer than this fraction of their size is a touch


@njit
def pair_size(collider_a, collider_b, translation):
    """The length that rounding errors are fractions of (m): no difference of points is longer."""
    return collider_a.radius + collider_b.radius + norm(translation)


@njit
def gjk(cores, direction, bound):
    """Distance of the cores of a and b; results are in the frame of a.

    direction : from a towards b, tried first (zero: none); need not be a unit vector.
    bound : stop as soon as the distance is proven to be larger (m).

    The first SIMPLEX_SIZE numbers of the table's scratch receive the last simplex and its weights.

    Returns (status, number of corners, v): v reaches from the point of a to the point of b, `witness` gives both.
    """
    scratch = cores.collision.scratch
    size = pair_size(cores.a, cores.b, cores.translation)
    if not dot(direction, direction) > 0.0:
        direction = cores.translation
    difference(cores, direction, 0)
    scratch[WEIGHTS] = 1.0
    count = 1
    v = load_point(scratch, 0)
    vv = dot(v, v)
    for _ in range(ITERATIONS):
        if not vv > TOUCHING * TOUCHING * size * size:
            return OVERLAPPING, count, v
        length = math.sqrt(vv)
        # A direction of length about one: squares of a short v would lose digits.
        u = scale(1.0 / length, v)
        difference(cores, u, NEW)
        along = dot(u, load_point(scratch, NEW))
        if along > bound:
            return FAR, count, v
        if length - along <= ROUNDING * size or known(scratch, count):
            return SEPARATED, count, v
        weights = nearest(scratch, count)
        nearer = weighted(scratch, weights)
        if count == 3 and min(min(weights[0], weights[1]), min(weights[2], weights[3])) > 0.0:
            keep_positive(scratch, weights)
            return OVERLAPPING, 4, nearer
        less = dot(nearer, nearer)
        if not less < vv:
            return SEPARATED, count, v
        v = nearer
        vv = less
        count = keep_positive(scratch, weights)
    return SEPARATED, count, v


@njit
def known(scratch, count):
    """Whether the new corner is one of the simplex."""
    for i in range(count):
        at = CORNER * i
        if scratch[at] == scratch[NEW] and scratch[at + 1] == scratch[NEW + 1] and scratch[at + 2] == scratch[NEW + 2]:
            return True
    return False


@njit
def nearest(scratch, count):
    """Weights of the corners (three at most), and last of the new one, in the point nearest to the origin."""
    new = load_point(scratch, NEW)
    a = load_point(scratch, 0)
    if count == 1:
        s = nearest_on_segment(a, new)
        return (s[0], 0.0, 0.0, s[1])
    b = load_point(scratch, CORNER)
    if count == 2:
        t = nearest_on_triangle(a, b, new)
        return (t[0], t[1], 0.0, t[2])
    return nearest_on_tetrahedron(a, b, load_point(scratch, 2 * CORNER), new)


@njit
def weighted(scratch, weights):
    """The point of these weights of three corners and the new one. Corners of no weight may hold anything."""
    x, y, z = 0.0, 0.0, 0.0
    for i in range(4):
        if weights[i] > 0.0:
            at = NEW if i == 3 else CORNER * i
            x += weights[i] * scratch[at]
            y += weights[i] * scratch[at + 1]
            z += weights[i] * scratch[at + 2]
    return (x, y, z)


@njit
def keep_positive(scratch, weights):
    """Keep the corners that have a weight, in order, the new one last; returns their number."""
    count = 0
    for i in range(4):
        if weights[i] > 0.0:
            source = NEW if i == 3 else CORNER * i
            target = CORNER * count
            for k in range(CORNER):
                scratch[target + k] = scratch[source + k]
            scratch[WEIGHTS + count] = weights[i]
            count += 1
    return count


@njit
def witness(scratch, count, part):
    """The point that the weights make of corners: of w (part 0), of a in its frame (3) or of b in its frame (6)."""
    p = (0.0, 0.0, 0.0)
    for i in range(count):
        p = combination(1.0, p, scratch[WEIGHTS + i], load_point(scratch, CORNER * i + part), 0.0, p)
    return p


# The polytope of EPA --------------------------------------------------------------------------------------------------
# It is in scratch: corners, and triangles with the numbers of their neighbours.

CORNERS = 96
FACES = 280
# A face in scratch: three corners, the faces across the sides that begin at each, outward unit normal, signed distance
# of the origin, state.
NEIGHBOURS, NORMAL, DISTANCE, STATE, FACE_SIZE = 3, 6, 9, 10, 11
FREE, OUTER, VISIBLE = 0.0, 1.0, 2.0
FIRST_CORNER = 64
FIRST_FACE = FIRST_CORNER + CORNER * CORNERS
assert SIMPLEX_SIZE <= FIRST_CORNER

SAME_PLANE = 0.99  # cosine between the normals of faces of which either may hold the nearest point


@njit
def corner(scratch, number):
    """The point w of a corner of the polytope."""
    return load_point(scratch, FIRST_CORNER + CORNER * int(number))


@njit
def set_face(scratch, f, i, j, k):
    """Fill face f with three corners; one without area is infinitely far."""
    at = FIRST_FACE + FACE_SIZE * f
    p = corner(scratch, i)
    n = cross(sub(corner(scratch, j), p), sub(corner(scratch, k), p))
    length = norm(n)
    scratch[at], scratch[at + 1], scratch[at + 2] = float(i), float(j), float(k)
    scratch[at + STATE] = OUTER
    scratch[at + DISTANCE] = math.inf
    if length > 0.0:
        n = scale(1.0 / length, n)
        scratch[at + DISTANCE] = dot(n, p)
    for m in range(3):
        scratch[at + NORMAL + m] = n[m]


@njit
def sees(scratch, f, number, tolerance):
    """Whether a corner lies beyond the plane of face f; a face without area is in the way of everything."""
    at = FIRST_FACE + FACE_SIZE * f
    p = sub(corner(scratch, number), corner(scratch, scratch[at]))
    return scratch[at + DISTANCE] == math.inf or dot(load_point(scratch, at + NORMAL), p) > tolerance


@njit
def nearest_face(scratch, slots):
    """The face whose plane is nearest to the origin, or −1."""
    best = -1
    least = math.inf
    for f in range(slots):
        at = FIRST_FACE + FACE_SIZE * f
        if scratch[at + STATE] == OUTER and scratch[at + DISTANCE] < least:
            least = scratch[at + DISTANCE]
            best = f
    return best


@njit
def under_origin(scratch, slots, best, tolerance):
    """The face whose own nearest point is nearest to the origin, among those in the plane of the best face."""
    at = FIRST_FACE + FACE_SIZE * best
    outward = load_point(scratch, at + NORMAL)
    limit = scratch[at + DISTANCE] + tolerance
    least = math.inf
    for f in range(slots):
        at = FIRST_FACE + FACE_SIZE * f
        if scratch[at + STATE] != OUTER or scratch[at + DISTANCE] > limit:
            continue
        if dot(outward, load_point(scratch, at + NORMAL)) > SAME_PLANE:
            a, b, c = corner(scratch, scratch[at]), corner(scratch, scratch[at + 1]), corner(scratch, scratch[at + 2])
            t = nearest_on_triangle(a, b, c)
            p = combination(t[0], a, t[1], b, t[2], c)
            if dot(p, p) < least:
                least = dot(p, p)
                best = f
    return best


@njit
def expand(scratch, slots, best, number, tolerance):
    """Put a new corner in place of the faces that it sees, a patch grown from `best`; returns the slots now in use, or −1
    where the patch has no single border or there is no room."""
    scratch[FIRST_FACE + FACE_SIZE * best + STATE] = VISIBLE
    grown = True
    while grown:
        grown = False
        for f in range(slots):
            at = FIRST_FACE + FACE_SIZE * f
            if scratch[at + STATE] != OUTER:
                continue
            beside = False
            for k in range(3):
                beside |= scratch[FIRST_FACE + FACE_SIZE * int(scratch[at + NEIGHBOURS + k]) + STATE] == VISIBLE
            if beside and sees(scratch, f, number, tolerance):
                scratch[at + STATE] = VISIBLE
                grown = True
    return close_hole(scratch, slots, number)


@njit
def close_hole(scratch, slots, number):
    """New faces from the border of the visible patch to the new corner, then free the patch."""
    end = slots
    free = 0
    made = 0
    for f in range(slots):
        at = FIRST_FACE + FACE_SIZE * f
        if scratch[at + STATE] != VISIBLE:
            continue
        for k in range(3):
            outside = int(scratch[at + NEIGHBOURS + k])
            if scratch[FIRST_FACE + FACE_SIZE * outside + STATE] == VISIBLE:
                continue
            while free < slots and scratch[FIRST_FACE + FACE_SIZE * free + STATE] != FREE:
                free += 1
            target = free
            if free == slots:
                target = end
                end += 1
            if end > FACES:
                return -1
            i, j = int(scratch[at + k]), int(scratch[at + (k + 1) % 3])
            set_face(scratch, target, i, j, number)
            link(scratch, target, 0, outside)
            link(scratch, outside, side_from(scratch, outside, j), target)
            made += 1
    for f in range(slots):
        at = FIRST_FACE + FACE_SIZE * f
        if scratch[at + STATE] == VISIBLE:
            scratch[at + STATE] = FREE
    return end if join_fan(scratch, end, number) == made else -1


@njit
def link(scratch, f, side, other):
    """Note which face lies across one side of face f."""
    scratch[FIRST_FACE + FACE_SIZE * f + NEIGHBOURS + side] = float(other)


@njit
def side_from(scratch, f, number):
    """The side of face f that begins at a corner."""
    at = FIRST_FACE + FACE_SIZE * f
    for k in range(2):
        if scratch[at + k] == number:
            return k
    return 2


@njit
def join_fan(scratch, slots, number):
    """Link the faces about the new corner, each to the one that begins where it ends; returns the number of links."""
    links = 0
    for f in range(slots):
        at = FIRST_FACE + FACE_SIZE * f
        if scratch[at + STATE] != OUTER or scratch[at + 2] != number:
            continue
        for g in range(slots):
            other = FIRST_FACE + FACE_SIZE * g
            if scratch[other + STATE] == OUTER and scratch[other + 2] == number and scratch[other] == scratch[at + 1]:
                link(scratch, f, 1, g)
                link(scratch, g, 2, f)
                links += 1
    return links


@njit
def copy_face(scratch, f):
    """Leave the corners of a face, and their weights in its point nearest to the origin, where `gjk` leaves its simplex."""
    at = FIRST_FACE + FACE_SIZE * f
    numbers = (int(scratch[at]), int(scratch[at + 1]), int(scratch[at + 2]))
    weights = nearest_on_triangle(corner(scratch, numbers[0]), corner(scratch, numbers[1]), corner(scratch, numbers[2]))
    count = 0
    for i in range(3):
        if weights[i] > 0.0:
            for k in range(CORNER):
                scratch[CORNER * count + k] = scratch[FIRST_CORNER + CORNER * numbers[i] + k]
            scratch[WEIGHTS + count] = weights[i]
            count += 1
    return count


# Penetration depth: EPA -----------------------------------------------------------------------------------------------
# The expanding polytope algorithm (van den Bergen 2001).
#
# A polytope of points w = b − a of the difference of the cores grows from within: the face nearest to the origin is replaced
# by those that its furthest point along the normal makes, until nothing lies beyond that face by more than the tolerance.
# The depth is then the distance of the plane through that furthest point, which separates the cores when one of them is
# moved by it. Distances of faces are signed, so that an origin on or just outside the first polytope does no harm. The first
# polytope is a tetrahedron of points furthest along fixed directions, independent of what GJK left: the result depends on
# the poses only.
#
# A curved shape has infinitely many corners; after `CORNERS` points the best depth is returned. It is then right to about
# 1e-6 of the size of the pair (all directions nearly as good), and 1e-8 where one direction is best; `refine` does the rest.

FOUND, FLAT = range(2)

FLATNESS = 1e-10  # a difference thinner than this, as a fraction of the size, has no depth
ABOVE = 1e-15  # as a fraction of the size: nearer to the plane of a face is not seen by it


@njit
def epa(cores, tolerance):
    """Depth of the overlap of the cores of a and b; results are in the frame of a.

    tolerance : how far the depth may be from the least (m).
    Writes the first FIRST_FACE + FACE_SIZE · FACES numbers of the table's scratch; the first SIMPLEX_SIZE receive the corners
    of the nearest face and the weights of its point nearest to the origin.

    Returns (status, number of corners, normal, depth): the unit normal from a to b, along which b must move by the depth
    (m). FLAT: the difference has no volume, and the depth is zero.
    """
    scratch = cores.collision.scratch
    size = pair_size(cores.a, cores.b, cores.translation)
    dimension, normal = first_tetrahedron(cores, size)
    if dimension < 3:
        return FLAT, 0, normal, 0.0
    corners = 4
    slots = 4
    least = math.inf
    best = nearest_face(scratch, slots)
    while True:
        at = FIRST_FACE + FACE_SIZE * best
        outward = load_point(scratch, at + NORMAL)
        new = FIRST_CORNER + CORNER * corners
        inward = (-outward[0], -outward[1], -outward[2])
        difference(cores, inward, new)
        reach = dot(outward, load_point(scratch, new))
        if reach < least:
            least = reach
            normal = inward
        if reach - scratch[at + DISTANCE] <= tolerance or corners == CORNERS - 1:
            break
        grown = expand(scratch, slots, best, corners, ABOVE * size)
        corners += 1
        if grown < 0:
            return FOUND, copy_face(scratch, best), normal, least
        slots = grown
        following = nearest_face(scratch, slots)
        if following < 0:
            break
        best = following
    return FOUND, copy_face(scratch, under_origin(scratch, slots, best, tolerance)), normal, least


@njit
def first_tetrahedron(cores, size):
    """Four corners of the difference, each furthest from those before, and their faces.

    Returns (dimension, direction): 3, or the dimension of a difference without volume and a unit vector at right angles
    to it.
    """
    scratch = cores.collision.scratch
    normal = (0.0, 0.0, 1.0)
    u = (1.0, 0.0, 0.0)
    for number in range(4):
        # Along u and against it, the furthest from the corners so far; along z and y too, where they are one point still.
        furthest = -1.0
        for attempt in range(6 if number == 1 else 2):
            if attempt > 1:
                u = (0.0, 1.0, 0.0) if attempt < 4 else (0.0, 0.0, 1.0)
            s = scale(1.0 if attempt % 2 == 0 else -1.0, u)
            difference(cores, s, NEW)
            beyond = excess(scratch, number)
            if beyond > furthest:
                furthest = beyond
                for k in range(CORNER):
                    scratch[FIRST_CORNER + CORNER * number + k] = scratch[NEW + k]
        if number > 0 and not furthest > FLATNESS * size:
            return number - 1, normal
        p = corner(scratch, 0)
        if number == 1:
            t = sub(corner(scratch, 1), p)
            u = perpendicular(scale(1.0 / norm(t), t))
            normal = u
        elif number == 2:
            t = cross(sub(corner(scratch, 1), p), sub(corner(scratch, 2), p))
            u = scale(1.0 / norm(t), t)
            normal = u
    orient_first(scratch)
    return 3, normal


@njit
def excess(scratch, number):
    """How far the corner at NEW is from the span of the first corners (m)."""
    new = load_point(scratch, NEW)
    if number == 0:
        return 0.0
    p = corner(scratch, 0)
    r = sub(new, p)
    if number == 1:
        return norm(r)
    t = sub(corner(scratch, 1), p)
    if number == 2:
        return norm(cross(r, t)) / norm(t)
    n = cross(t, sub(corner(scratch, 2), p))
    return abs(dot(r, n)) / norm(n)


@njit
def orient_first(scratch):
    """The faces of the first tetrahedron, anticlockwise seen from outside."""
    p = corner(scratch, 0)
    n = cross(sub(corner(scratch, 1), p), sub(corner(scratch, 2), p))
    i, j = (1, 2) if dot(n, sub(corner(scratch, 3), p)) < 0.0 else (2, 1)
    set_face(scratch, 0, 0, i, j)
    set_face(scratch, 1, 0, j, 3)
    set_face(scratch, 2, 0, 3, i)
    set_face(scratch, 3, i, 3, j)
    for f, across in enumerate(((2, 3, 1), (0, 3, 2), (1, 3, 0), (2, 1, 0))):
        for side in range(3):
            link(scratch, f, side, across[side])


# The tables of a convex hull ------------------------------------------------------------------------------------------
# Its polygons, with coplanar triangles merged, and its edges with the face on either side.

COPLANAR = 1e-9  # of the hull's size: triangles whose corners lie nearer to one plane make one polygon


class HullTables(NamedTuple):
    """One hull; numbers of vertices, faces and loops count from zero."""

    vertices: np.ndarray  # (n, 3), m
    faces: np.ndarray  # FACE
    edges: np.ndarray  # EDGE
    loops: np.ndarray  # (k,) int64


def hull_tables(vertices: np.ndarray, triangles: np.ndarray) -> HullTables:
    """Tables of a closed convex surface: vertices (n, 3) in m, outward triangles (m, 3).

    Triangles are merged with their neighbours as long as all corners stay within `COPLANAR` of one plane.
    """
    corners = vertices[triangles]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(cross, axis=1)
    tolerance = COPLANAR * float(np.ptp(vertices, axis=0).max())
    owner = _polygons(vertices, triangles, cross, areas, tolerance)
    beside = _directed_edges(triangles)
    polygons: list[tuple[np.ndarray, float, int, int]] = []
    loops: list[int] = []
    number: dict[int, int] = {}
    for group in dict.fromkeys(owner):
        members = np.flatnonzero(owner == group)
        loop = _boundary(triangles[members])
        normal = cross[members].sum(axis=0)
        normal /= np.linalg.norm(normal)
        number[int(group)] = len(polygons)
        polygons.append((normal, float((vertices[loop] @ normal).max()), len(loops), len(loop)))
        loops.extend(loop)
    edges = [
        (i, j, number[int(owner[left])], number[int(owner[beside[j, i]])])
        for (i, j), left in beside.items()
        if i < j and owner[left] != owner[beside[j, i]]
    ]
    return HullTables(vertices, np.array(polygons, FACE), np.array(edges, EDGE), np.array(loops, np.int64))


def _directed_edges(triangles: np.ndarray) -> dict[tuple[int, int], int]:
    """(tail, head) → the triangle on its left."""
    return {(int(t[k]), int(t[(k + 1) % 3])): n for n, t in enumerate(triangles) for k in range(3)}


def _polygons(
    vertices: np.ndarray, triangles: np.ndarray, cross: np.ndarray, areas: np.ndarray, tolerance: float
) -> np.ndarray:
    """(m,) for each triangle the number of the polygon that it is a part of, grown from the largest triangles."""
    beside = _directed_edges(triangles)
    owner = np.full(len(triangles), -1)
    for seed in np.argsort(-areas, kind="stable"):
        if owner[seed] >= 0:
            continue
        normal = cross[seed] / areas[seed] if areas[seed] > 0.0 else np.zeros(3)
        height = float(vertices[triangles[seed, 0]] @ normal)
        owner[seed] = seed
        stack = [int(seed)] if areas[seed] > 0.0 else []
        while stack:
            triangle = triangles[stack.pop()]
            for k in range(3):
                other = beside[int(triangle[(k + 1) % 3]), int(triangle[k])]
                flat = np.abs(vertices[triangles[other]] @ normal - height).max() <= tolerance
                if owner[other] < 0 and flat and cross[other] @ normal >= 0.0:
                    owner[other] = seed
                    stack.append(other)
    return owner


def _boundary(triangles: np.ndarray) -> list[int]:
    """The corners of a patch of triangles in anticlockwise order, from the one of the smallest number."""
    edges = {(int(t[k]), int(t[(k + 1) % 3])) for t in triangles for k in range(3)}
    following = {i: j for i, j in edges if (j, i) not in edges}
    start = min(following)
    loop = [start]
    while following[loop[-1]] != start:
        loop.append(following[loop[-1]])
    return loop
