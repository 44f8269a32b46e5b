"""Cylinders and cones against a half-space: the lowest points of their rims.

As in `plane`, a is the shape and b the half-space, and the normal is the plane's turned about. A rim meets the plane in its
lowest point. Three more on the rim, a quarter turn apart, are added where they are within the margin: they hold up a
shape that stands on its end.
"""

import math

from ..jit import inlined, njit
from ..vec import add, load3, matvec, matvec_t, scale
from .bounds import nine
from .manifold import start
from .plane import touch, upward

LEVEL = 1e-6  # sine of the angle to the plane up to which an end lies flat on it


@inlined
def downhill(up):
    """Unit vector across the axis along which a rim falls; x where it is level. `up` is the plane's normal, as seen from
    the shape."""
    fall = math.sqrt(up[0] * up[0] + up[1] * up[1])
    return (-up[0] / fall, -up[1] / fall, 0.0) if fall > LEVEL else (1.0, 0.0, 0.0)


@njit
def touch_rim(radius, z, down, first, last, place_a, place_b, margin, manifold):
    """The points of the rim at height z of the shape that are so many quarter turns from its lowest, `last` not included."""
    rotation = nine(place_a.rotation)
    n, x, origin = upward(place_b), load3(place_a.x), load3(place_b.x)
    for quarter in range(first, last):
        s = radius if quarter < 2 else -radius
        u, v = (s * down[0], s * down[1]) if quarter % 2 == 0 else (-s * down[1], s * down[0])
        p = add(x, matvec(rotation, (u, v, z)))
        touch(p, n, origin, quarter + (4 if z > 0.0 else 0), margin, manifold)


@njit
def cylinder_plane(pair, cylinder, place_a, plane, place_b, margin, manifold):
    """Four points where it stands, one where it leans, two where it lies."""
    n = upward(place_b)
    start(scale(-1.0, n), manifold)
    up = matvec_t(nine(place_a.rotation), n)
    down = downhill(up)
    radius, half = cylinder["size"][0], cylinder["size"][1]
    low = -half if up[2] >= 0.0 else half
    touch_rim(radius, low, down, 0, 1, place_a, place_b, margin, manifold)
    touch_rim(radius, -low, down, 0, 1, place_a, place_b, margin, manifold)
    touch_rim(radius, low, down, 1, 4, place_a, place_b, margin, manifold)
    return manifold.points


@njit
def cone_plane(pair, cone, place_a, plane, place_b, margin, manifold):
    """Four points where it stands on its base, two where it lies, one where it leans or stands on its apex."""
    n = upward(place_b)
    start(scale(-1.0, n), manifold)
    rotation = nine(place_a.rotation)
    down = downhill(matvec_t(rotation, n))
    radius, half = cone["size"][0], cone["size"][1]
    apex = add(load3(place_a.x), matvec(rotation, (0.0, 0.0, half)))
    touch(apex, n, load3(place_b.x), 4, margin, manifold)
    touch_rim(radius, -half, down, 0, 4, place_a, place_b, margin, manifold)
    return manifold.points
