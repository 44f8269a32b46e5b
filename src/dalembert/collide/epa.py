"""Penetration depth of two overlapping cores: the expanding polytope algorithm (van den Bergen 2001).

A polytope of points w = b − a of the difference of the cores grows from within: the face nearest to the origin is replaced
by those that its furthest point along the normal makes, until nothing lies beyond that face by more than the tolerance.
The depth is then the distance of the plane through that furthest point, which separates the cores when one of them is
moved by it. Distances of faces are signed, so that an origin on or just outside the first polytope does no harm. That
is a tetrahedron of points furthest along fixed directions, whatever the search before has left: the result depends on
the poses only.

Corners of curved shapes never end; after `CORNERS` points the best found is returned. The depth is then right to about
1e-6 of the size of the pair (all directions nearly as good), and 1e-8 where one direction is best; `refine` does the rest.
"""

import math

from ..jit import njit
from ..vec import cross, dot, norm, perpendicular, scale, sub
from .gjk import CORNER, NEW, pair_size
from .polytope import (
    CORNERS,
    DISTANCE,
    FACE_SIZE,
    FIRST_CORNER,
    FIRST_FACE,
    NORMAL,
    copy_face,
    corner,
    expand,
    link,
    nearest_face,
    set_face,
    under_origin,
)
from .support import difference, load_point

FOUND, FLAT = range(2)

FLATNESS = 1e-10  # a difference thinner than this, as a fraction of the size, has no depth
ABOVE = 1e-15  # as a fraction of the size: nearer to the plane of a face is not seen by it


@njit
def epa(collider_a, collider_b, rotation, translation, vertices, tolerance, scratch):
    """Depth of the overlap of the cores of a and b; the pose of b is in the frame of a, as are all results.

    tolerance : how far the depth may be from the least (m).
    scratch : FIRST_FACE + FACE_SIZE · FACES numbers. The first SIMPLEX_SIZE receive the corners of the nearest face and the
        weights of its point nearest to the origin.

    Returns (status, number of corners, normal, depth): the unit normal from a to b, along which b must move by the depth
    (m). FLAT: the difference has no volume, and the depth is zero.
    """
    size = pair_size(collider_a, collider_b, translation)
    dimension, normal = first_tetrahedron(collider_a, collider_b, rotation, translation, vertices, size, scratch)
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
        difference(collider_a, collider_b, rotation, translation, vertices, inward, scratch, new)
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
def first_tetrahedron(collider_a, collider_b, rotation, translation, vertices, size, scratch):
    """Four corners of the difference, each furthest from those before, and their faces.

    Returns (dimension, direction): 3, or the dimension of a difference without volume and a unit vector at right angles
    to it.
    """
    normal = (0.0, 0.0, 1.0)
    u = (1.0, 0.0, 0.0)
    for number in range(4):
        # Along u and against it, the furthest from the corners so far; along z and y too, where they are one point still.
        furthest = -1.0
        for attempt in range(6 if number == 1 else 2):
            if attempt > 1:
                u = (0.0, 1.0, 0.0) if attempt < 4 else (0.0, 0.0, 1.0)
            s = scale(1.0 if attempt % 2 == 0 else -1.0, u)
            difference(collider_a, collider_b, rotation, translation, vertices, s, scratch, NEW)
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
