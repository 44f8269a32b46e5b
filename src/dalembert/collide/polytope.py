"""The polytope of `epa`, in scratch: corners, and triangles that know their neighbours."""

import math

from ..jit import njit
from ..vec import cross, dot, norm, scale, sub
from .gjk import CORNER, SIMPLEX_SIZE, WEIGHTS
from .simplex import combination, nearest_on_triangle
from .support import load_point

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
