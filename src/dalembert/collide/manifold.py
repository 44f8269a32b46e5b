"""Contact manifolds: at most four points that carry what the whole patch of contact carries."""

import math

from ..jit import inlined, njit
from ..unchecked import peek
from ..vec import add_scaled, store3
from .clip import STRIDE
from .tables import POINTS

TIE = 1e-6  # of two points nearly as far out, the first is kept, so that rounding does not make points flicker


@inlined
def start(normal, manifold):
    store3(manifold.normal, normal)
    manifold.points = 0


@njit
def add_point(position, separation, feature, manifold):
    """One more point (world), midway between the surfaces; there is room for four."""
    n = manifold.points
    for k in range(3):
        manifold.position[3 * n + k] = position[k]
    manifold.separation[n] = separation
    manifold.feature[n] = feature
    manifold.points = n + 1


@inlined
def add_near(position, separation, feature, margin, manifold):
    """`add_point` where it is near enough and there is room."""
    if separation <= margin and manifold.points < POINTS:
        add_point(position, separation, feature, manifold)


@njit
def store_points(count, at, frame, slope, half, margin, slack, base, scratch, manifold):
    """Write the corners of a patch (see `clip`) nearer than `margin` to the manifold, the best four of them; returns their
    number.

    frame : origin and the axes u, v, n (world). The reference plane has the height c + gu u + gv v along n, with slope =
        (c, gu, gv), and the point lies `half` times the separation above it.
    base : added to the names of the corners.
    """
    near = 0
    for i in range(count):
        k = at + STRIDE * i
        if peek(scratch, k + 2) <= margin:
            if near < i:
                move_corner(at + STRIDE * near, k, scratch)
            near += 1
    if near <= POINTS:
        chosen = (0, 1, 2, 3)
        left = near
    else:
        left, chosen = keep_four(near, at, slack, scratch)
    origin, axis_u, axis_v, axis_n = frame
    for i in range(left):
        k = at + STRIDE * chosen[i]
        u, v, separation = peek(scratch, k), peek(scratch, k + 1), peek(scratch, k + 2)
        height = slope[0] + slope[1] * u + slope[2] * v + half * separation
        position = add_scaled(add_scaled(add_scaled(origin, u, axis_u), v, axis_v), height, axis_n)
        add_point(position, separation, base + int(peek(scratch, k + 4)), manifold)
    return left


@inlined
def move_corner(to, source, scratch):
    for c in range(STRIDE):
        scratch[to + c] = scratch[source + c]


@inlined
def area(i, j, k, at, scratch):
    """Twice the area of three corners, positive anticlockwise."""
    a, b, c = at + STRIDE * i, at + STRIDE * j, at + STRIDE * k
    u, v = peek(scratch, a), peek(scratch, a + 1)
    return (peek(scratch, b) - u) * (peek(scratch, c + 1) - v) - (peek(scratch, b + 1) - v) * (peek(scratch, c) - u)


@njit
def keep_four(count, at, slack, scratch):
    """(number, indices) of the corners to keep of more than four: the deepest; the one farthest from it; the one that makes
    the largest triangle with both; the one that lies farthest outside of that triangle, by area."""
    deepest = 0
    for i in range(1, count):
        if peek(scratch, at + STRIDE * i + 2) < peek(scratch, at + STRIDE * deepest + 2) - slack:
            deepest = i
    u, v = peek(scratch, at + STRIDE * deepest), peek(scratch, at + STRIDE * deepest + 1)
    second, reach = deepest, 0.0
    for i in range(count):
        du, dv = peek(scratch, at + STRIDE * i) - u, peek(scratch, at + STRIDE * i + 1) - v
        square = du * du + dv * dv
        if square > (1.0 + TIE) * reach:
            second, reach = i, square
    third, largest = second, 0.0
    for i in range(count):
        size = area(deepest, second, i, at, scratch)
        if abs(size) > (1.0 + TIE) * abs(largest):
            third, largest = i, size
    if not abs(largest) > TIE * reach:
        return (2 if reach > 0.0 else 1), (deepest, second, second, second)
    side = math.copysign(1.0, largest)
    fourth, most = third, TIE * abs(largest)
    for i in range(count):
        out = -min(
            side * area(deepest, second, i, at, scratch),
            side * area(second, third, i, at, scratch),
            side * area(third, deepest, i, at, scratch),
        )
        if out > (1.0 + TIE) * most:
            fourth, most = i, out
    return (3 if fourth == third else 4), (deepest, second, third, fourth)
