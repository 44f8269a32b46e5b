"""The corners of hulls: moved into the frame of the other, and how low they lie along a direction."""

import math

from ..jit import inlined, njit
from ..unchecked import peek, poke
from ..vec import add, matvec, scale


@njit
def move_corners(hull, r, t, vertices, at, scratch):
    """Write the corners to scratch, rotated by r and moved by t."""
    for i in range(hull.vertices):
        k = 3 * (hull.first_vertex + i)
        p = add(matvec(r, (peek(vertices, k), peek(vertices, k + 1), peek(vertices, k + 2))), t)
        for c in range(3):
            poke(scratch, at + 3 * i + c, p[c])


@njit
def move_corners_back(hull_a, hull_b, r, t, vertices, scratch):
    """Write the corners of a in the frame of b, whose pose in that of a is (r, t), to scratch, behind those of b there;
    returns where they begin."""
    at = 3 * hull_b.vertices
    back = (r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8])
    move_corners(hull_a, back, scale(-1.0, matvec(back, t)), vertices, at, scratch)
    return at


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
