"""Every shape against a half-space: what is lowest, as seen from the plane.

Each function takes the shape as a and the half-space, solid below z = 0 of its frame, as b; it fills the manifold and returns
its number of points. The normal, from a to b, is the plane's turned about.
"""

from ..jit import inlined, njit
from ..scene.shapes.dispatch import other_face
from ..unchecked import peek, poke
from ..vec import add, add_scaled, dot, load3, matvec, matvec_t, scale, sub
from .bounds import nine
from .clip import STRIDE, put_corner
from .curved import MOST_CORNERS, SAME, keep_nearest
from .manifold import add_near, start, store_points
from .support import core_radius, core_support, relative_pose

BIAS = 1e-6  # of a shape's radius, see `keep_four`
FLAT_PART = STRIDE * MOST_CORNERS  # where the flat part of a shape is in scratch, behind its corners as `clip` has them


@inlined
def upward(place):
    """The outward normal of the half-space (world)."""
    return (peek(place.rotation, 2), peek(place.rotation, 5), peek(place.rotation, 8))


@inlined
def touch(p, n, origin, feature, margin, manifold):
    """A point p (world) of the shape, where it is near enough."""
    separation = dot(n, sub(p, origin))
    add_near(add_scaled(p, -0.5 * separation, n), separation, feature, margin, manifold)


@njit
def sphere_plane(pair, sphere, place_a, plane, place_b, margin, manifold):
    n = upward(place_b)
    start(scale(-1.0, n), manifold)
    touch(add_scaled(load3(place_a.x), -sphere["size"][0], n), n, load3(place_b.x), 0, margin, manifold)
    return manifold.points


@njit
def capsule_plane(pair, capsule, place_a, plane, place_b, margin, manifold):
    """Both ends."""
    n = upward(place_b)
    start(scale(-1.0, n), manifold)
    rotation = nine(place_a.rotation)
    low = add_scaled(load3(place_a.x), -capsule["size"][0], n)
    for end in range(2):
        half = capsule["size"][1] if end == 1 else -capsule["size"][1]
        p = add_scaled(low, half, (rotation[2], rotation[5], rotation[8]))
        touch(p, n, load3(place_b.x), end, margin, manifold)
    return manifold.points


@inlined
def put_if_near(local, turn, shift, number, count, margin, scratch):
    """Write one corner in the frame of the plane behind `count` others, if it is near enough; returns how many there are."""
    p = matvec(turn, local)
    height = p[2] + shift[2]
    if not height <= margin:
        return count
    put_corner(STRIDE * count, p[0] + shift[0], p[1] + shift[1], height, 0, scratch)
    poke(scratch, STRIDE * count + 4, number)
    return count + 1


@njit
def store_corners(count, radius, place, margin, scratch, manifold):
    r = nine(place.rotation)
    frame = (load3(place.x), (r[0], r[3], r[6]), (r[1], r[4], r[7]), (r[2], r[5], r[8]))
    return store_points(count, 0, frame, (0.0, 0.0, 0.0), 0.5, margin, BIAS * radius, 0, scratch, manifold)


@njit
def box_plane(pair, box, place_a, plane, place_b, scratch, margin, manifold):
    """The corners that are near, the best four of them."""
    start(scale(-1.0, upward(place_b)), manifold)
    turn, shift = relative_pose(place_b, place_a)
    half = load3(box["size"])
    count = 0
    for i in range(8):
        corner = (
            half[0] if i & 1 else -half[0],
            half[1] if i & 2 else -half[1],
            half[2] if i & 4 else -half[2],
        )
        count = put_if_near(corner, turn, shift, i, count, margin, scratch)
    return store_corners(count, box.radius, place_b, margin, scratch, manifold)


@njit
def hull_plane(pair, hull, place_a, plane, place_b, vertices, scratch, margin, manifold):
    """The corners that are near, the best four of them; of more corners than `scratch` has room for, the first."""
    start(scale(-1.0, upward(place_b)), manifold)
    turn, shift = relative_pose(place_b, place_a)
    count = 0
    for i in range(hull.vertices):
        if STRIDE * (count + 1) > scratch.shape[0]:
            break
        k = 3 * (hull.first_vertex + i)
        corner = (peek(vertices, k), peek(vertices, k + 1), peek(vertices, k + 2))
        count = put_if_near(corner, turn, shift, i, count, margin, scratch)
    return store_corners(count, hull.radius, place_b, margin, scratch, manifold)


@njit
def convex_plane(pair, shape, place_a, plane, place_b, vertices, scratch, margin, manifold):
    """Any convex shape: its lowest point, and the corners of a flat part that faces the plane, the best four of them."""
    n = upward(place_b)
    back = scale(-1.0, n)
    start(back, manifold)
    axes, x, origin = nine(place_a.rotation), load3(place_a.x), load3(place_b.x)
    u = matvec_t(axes, back)
    p = add(x, matvec(axes, core_support(shape, vertices, u)))
    p = add_scaled(p, -core_radius(shape), n)
    count = other_face(shape.kind, load3(shape["size"]), u, x, axes, scratch, FLAT_PART)
    if count == 0:
        touch(p, n, origin, 0, margin, manifold)
        return manifold.points
    turn = nine(place_b.rotation)
    for i in range(count):
        k = FLAT_PART + 3 * i
        q = matvec_t(turn, sub((peek(scratch, k), peek(scratch, k + 1), peek(scratch, k + 2)), origin))
        put_corner(STRIDE * i, q[0], q[1], q[2], 0, scratch)
        poke(scratch, STRIDE * i + 4, i)
    store_corners(count, shape.radius, place_b, margin, scratch, manifold)
    separation = dot(n, sub(p, origin))
    if separation <= margin:
        keep_nearest(add_scaled(p, -0.5 * separation, n), separation, SAME * shape.radius, manifold)
    return manifold.points
