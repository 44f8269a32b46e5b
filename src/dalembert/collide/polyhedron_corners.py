"""The corners of hulls: moved into the frame of the other, and how low they lie along a direction."""

import math

from ..jit import inlined, njit
from ..unchecked import peek, poke
from ..vec import add, matvec


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
