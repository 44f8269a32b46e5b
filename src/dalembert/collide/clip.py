"""Clipping a convex polygon in the plane, with names for its corners.

A corner is five numbers of `scratch`: u, v, the separation there (m), the label of the edge that leaves it, and a place for
the distance from the line that cuts, later for the name of the corner. A polygon of two corners is an edge there and back,
one of one corner a point. Two buffers of `ROOM` corners at the end of `scratch` take turns.
"""

from ..jit import inlined, njit
from ..unchecked import peek, poke
from .tables import SCRATCH

STRIDE = 5
ROOM = 128  # corners; a polygon gains one at most each time it is cut
WORK = SCRATCH - 2 * STRIDE * ROOM
OTHER = WORK + STRIDE * ROOM


@inlined
def put_corner(at, u, v, separation, label, scratch):
    poke(scratch, at, u)
    poke(scratch, at + 1, v)
    poke(scratch, at + 2, separation)
    poke(scratch, at + 3, label)


@inlined
def put_crossing(to, k, j, label, scratch):
    """The point of the edge from corner k to j that is on the line."""
    d = peek(scratch, k + 4)
    s = d / (d - peek(scratch, j + 4))
    u, v, w = peek(scratch, k), peek(scratch, k + 1), peek(scratch, k + 2)
    put_corner(
        to, u + s * (peek(scratch, j) - u), v + s * (peek(scratch, j + 1) - v), w + s * (peek(scratch, j + 2) - w),
        label, scratch,
    )  # fmt: skip


@njit
def cut(count, at, nu, nv, offset, label, slack, scratch):
    """Keep the part of a polygon where nu u + nv v ≤ offset; returns its number of corners and where they are.

    Sutherland & Hodgman (1974). A corner within `slack` of the line is on it and stays as it is, so that edges which nearly
    coincide keep their corners, and their names, whatever the rounding.
    """
    outside = 0
    for i in range(count):
        k = at + STRIDE * i
        d = offset - nu * peek(scratch, k) - nv * peek(scratch, k + 1)
        poke(scratch, k + 4, d)
        if not d >= -slack:
            outside += 1
    if outside == 0:
        return count, at
    if outside == count:
        return 0, at
    first = WORK + OTHER - at
    to = first
    for i in range(count):
        k = at + STRIDE * i
        j = k + STRIDE if i + 1 < count else at
        d, e = peek(scratch, k + 4), peek(scratch, j + 4)
        own = peek(scratch, k + 3)
        leaves = e < -slack
        if d >= -slack:
            along = label if leaves and d <= slack else own
            put_corner(to, peek(scratch, k), peek(scratch, k + 1), peek(scratch, k + 2), along, scratch)
            to += STRIDE
            if leaves and d > slack:
                put_crossing(to, k, j, label, scratch)
                to += STRIDE
        elif e > slack:
            put_crossing(to, k, j, own, scratch)
            to += STRIDE
    left = (to - first) // STRIDE
    if count == 2:  # an edge meets the line twice, there and back, in one point
        left = min(left, 2)
    return left, first


@njit
def name_corners(count, at, scratch):
    """The name of a corner tells the edges that enter and leave it."""
    before = peek(scratch, at + STRIDE * (count - 1) + 3)
    for i in range(count):
        k = at + STRIDE * i
        label = peek(scratch, k + 3)
        poke(scratch, k + 4, 256.0 * before + label)
        before = label
