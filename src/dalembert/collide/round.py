"""Contacts in closed form: spheres, capsules and boxes with each other, and every shape with a half-space.

Each function (pair, margin, collision) writes the manifold of a pair and returns its number of points. Points with a
separation above `margin` (m) are omitted. The normal points from collider a to b.
"""

import math

from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, matvec, matvec_t, norm, scale, sub
from ..core.simd import load, store
from ..scene.shapes.dispatch import other_face
from ..scene.shapes.geometry import TILT
from .broad_phase import nine
from .curved import MOST_CORNERS, keep_nearest, same_depth
from .gjk import core_radius, hull_vertex, load_point, relative_pose, support
from .manifold import (
    NEARLY_PARALLEL,
    STRIDE,
    Plane,
    add_near,
    clamp,
    ends_beside,
    move_corner,
    nearest_parameters,
    put_corner,
    start,
    store_points,
)
from .tables import POINTS

# Spheres and capsules -------------------------------------------------------------------------------------------------
# A point or a segment grown by a radius, so that contact is between the nearest points of these. Where the nearest points
# coincide the normal is a fixed one: +z for spheres, across the axes for capsules.

PARALLEL = 1e-6  # squared sine of the angle between two capsules up to which they touch in two points
COMMON = 1e-9  # of the length of a capsule: parallel capsules that have less in common touch in one point


@inlined
def segment(collider, place):
    """Middle of the axis of a capsule, and the half of it on the side of +z (world)."""
    rotation = nine(place.rotation)
    return load3(place.x), scale(collider["size"][1], (rotation[2], rotation[5], rotation[8]))


@inlined
def across(place):
    """A direction across the axis of a capsule: x of its frame."""
    rotation = nine(place.rotation)
    return (rotation[0], rotation[3], rotation[6])


@inlined
def between(p, radius_p, q, radius_q, n, feature, margin, manifold):
    """The point of contact of two balls, whose normal is n or nearly so, where they are near enough."""
    d = sub(q, p)
    gap = math.copysign(norm(d), dot(n, d)) - radius_p - radius_q
    add_near(add_scaled(p, radius_p + 0.5 * gap, n), gap, feature, margin, manifold)


@inlined
def is_beside(d, n):
    """Whether a normal is across an axis, within `TILT`."""
    along = dot(d, n)
    return along * along <= TILT * TILT * dot(d, d)


@inlined
def direction(p, q, otherwise):
    """The unit vector from p to q; `otherwise` where they coincide."""
    d = sub(q, p)
    length = norm(d)
    return scale(1.0 / length, d) if length > 0.0 else otherwise


@njit
def balls(p, radius_p, q, radius_q, otherwise, margin, manifold):
    """Fill the manifold of two balls about p and q; the normal is `otherwise` where these coincide. Returns its points."""
    n = direction(p, q, otherwise)
    start(n, manifold)
    between(p, radius_p, q, radius_q, n, 0, margin, manifold)
    return manifold.points


@njit
def sphere_sphere(pair, margin, collision):
    """One point, along the line of the centres."""
    sphere_a, sphere_b = collision.colliders[pair.a], collision.colliders[pair.b]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    p, q = load3(place_a.x), load3(place_b.x)
    return balls(p, sphere_a["size"][0], q, sphere_b["size"][0], (0.0, 0.0, 1.0), margin, collision.manifold[0])


@njit
def sphere_capsule(pair, margin, collision):
    """One point, at the point of the axis nearest to the centre of the sphere."""
    sphere, capsule = collision.colliders[pair.a], collision.colliders[pair.b]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    p = load3(place_a.x)
    middle, half = segment(capsule, place_b)
    square = dot(half, half)
    s = dot(half, sub(p, middle)) / square if square > 0.0 else 0.0
    q = add_scaled(middle, min(max(s, -1.0), 1.0), half)
    return balls(p, sphere["size"][0], q, capsule["size"][0], across(place_b), margin, collision.manifold[0])


@njit
def capsule_capsule(pair, margin, collision):
    """One point, where the axes are nearest; where they are nearly parallel, also those beside it (`ends_beside`); two, at
    the ends of what they have in common, where they are parallel."""
    capsule_a, capsule_b = collision.colliders[pair.a], collision.colliders[pair.b]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    manifold = collision.manifold[0]
    radius_a, radius_b = capsule_a["size"][0], capsule_b["size"][0]
    p, d = segment(capsule_a, place_a)
    q, e = segment(capsule_b, place_b)
    p, q = sub(p, d), sub(q, e)
    d, e = scale(2.0, d), scale(2.0, e)
    dd, ee = dot(d, d), dot(e, e)
    turn = cross(d, e)
    s, t = nearest_parameters(p, d, q, e)
    near_p, near_q = add_scaled(p, s, d), add_scaled(q, t, e)
    square = dot(turn, turn)
    n = direction(near_p, near_q, across(place_a))
    crossed, beside = square > PARALLEL * dd * ee, is_beside(d, n) and is_beside(e, n)
    if dd * ee > 0.0 and square <= (NEARLY_PARALLEL if beside else PARALLEL) * dd * ee:
        # What b covers of a, as parameters on a.
        first, last = dot(d, sub(q, p)) / dd, dot(d, sub(add(q, e), p)) / dd
        low, high = clamp(min(first, last)), clamp(max(first, last))
        if crossed:
            low, high = ends_beside(s, low, high, (radius_a + radius_b) * math.sqrt(ee / square))
        if high - low > COMMON:
            start(n, manifold)
            for end in range(2):
                at = add_scaled(p, low if end == 0 else high, d)
                other = add_scaled(q, clamp(dot(e, sub(at, q)) / ee), e)
                between(at, radius_a, other, radius_b, n, end, margin, manifold)
            if crossed and low < s < high:
                between(near_p, radius_a, near_q, radius_b, n, 2, margin, manifold)
            return manifold.points
    otherwise = scale(1.0 / math.sqrt(square), turn) if square > 0.0 else across(place_a)
    return balls(near_p, radius_a, near_q, radius_b, otherwise, margin, manifold)


@njit
def sphere_box(pair, margin, collision):
    """One point, at the point of the box nearest to the centre; a centre inside the box leaves by the nearest face."""
    sphere, box = collision.colliders[pair.a], collision.colliders[pair.b]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    manifold = collision.manifold[0]
    radius = sphere["size"][0]
    half = load3(box["size"])
    rotation = nine(place_b.rotation)
    c = matvec_t(rotation, sub(load3(place_a.x), load3(place_b.x)))
    nearest = (min(max(c[0], -half[0]), half[0]), min(max(c[1], -half[1]), half[1]), min(max(c[2], -half[2]), half[2]))
    out = sub(c, nearest)
    distance = norm(out)
    if distance > 0.0:
        inward = scale(-1.0 / distance, out)
        gap = distance - radius
    else:
        depth = (half[0] - abs(c[0]), half[1] - abs(c[1]), half[2] - abs(c[2]))
        k = 0 if depth[0] <= depth[1] and depth[0] <= depth[2] else (1 if depth[1] <= depth[2] else 2)
        inward = (
            -math.copysign(1.0, c[0]) if k == 0 else 0.0,
            -math.copysign(1.0, c[1]) if k == 1 else 0.0,
            -math.copysign(1.0, c[2]) if k == 2 else 0.0,
        )
        gap = -min(depth[0], depth[1], depth[2]) - radius
    n = matvec(rotation, inward)
    start(n, manifold)
    add_near(add_scaled(load3(place_a.x), radius + 0.5 * gap, n), gap, 0, margin, manifold)
    return manifold.points


# Shapes on a half-space -----------------------------------------------------------------------------------------------
# What is lowest, as seen from the plane. The shape is a and the half-space, solid below z = 0 of its frame, is b. The normal,
# from a to b, is the plane's negated.

BIAS = 1e-6  # of a shape's radius, see `reduce_to_four`
FLAT_PART = STRIDE * MOST_CORNERS  # where the flat part of a shape is in scratch, behind the corners that `cut` takes
# The slope at which a corner that rises from a lower one is above it: the shape would have to turn by as much to touch there
RISE = 0.5


@inlined
def upward(place):
    """The outward normal of the half-space (world)."""
    return (load(place.rotation, 2), load(place.rotation, 5), load(place.rotation, 8))


@inlined
def above_plane(collider, place, plane, vertices):
    """(separation, n, p) of a collider from a half-space, both at their places: the outward normal of that, and the point of
    the collider that is the lowest along it, all in world axes."""
    n = upward(plane)
    p = add_scaled(support(collider, place, vertices, scale(-1.0, n)), -core_radius(collider), n)
    return dot(n, sub(p, load3(plane.x))), n, p


@inlined
def touch(p, n, origin, feature, margin, manifold):
    """A point p (world) of the shape, where it is near enough."""
    separation = dot(n, sub(p, origin))
    add_near(add_scaled(p, -0.5 * separation, n), separation, feature, margin, manifold)


@njit
def sphere_plane(pair, margin, collision):
    """One point, the lowest."""
    sphere = collision.colliders[pair.a]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    manifold = collision.manifold[0]
    n = upward(place_b)
    start(scale(-1.0, n), manifold)
    touch(add_scaled(load3(place_a.x), -sphere["size"][0], n), n, load3(place_b.x), 0, margin, manifold)
    return manifold.points


@njit
def capsule_plane(pair, margin, collision):
    """Two points, the lowest of both ends."""
    capsule = collision.colliders[pair.a]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    manifold = collision.manifold[0]
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
def store_if_near(local, turn, shift, number, count, margin, scratch):
    """Write one corner in the frame of the plane behind `count` others, if it is near enough; returns how many there are."""
    p = matvec(turn, local)
    height = p[2] + shift[2]
    if not height <= margin:
        return count
    put_corner(STRIDE * count, p[0] + shift[0], p[1] + shift[1], height, 0, scratch)
    store(scratch, STRIDE * count + 4, number)
    return count + 1


@njit
def drop_upper(count, scratch):
    """Drop each of so many corners in scratch that is above another one. A plate that slides fast has both its sides within
    the margin, and the best four of eight corners by their area may be those that do not touch. Returns how many are left."""
    left = 0
    for i in range(count):
        if not is_upper(i, left, count, scratch):
            if left < i:
                move_corner(STRIDE * left, STRIDE * i, scratch)
            left += 1
    return left


@njit
def is_upper(i, left, count, scratch):
    """Whether corner i is above one of the first `left` corners, or above one after it."""
    u, v, height = load(scratch, STRIDE * i), load(scratch, STRIDE * i + 1), load(scratch, STRIDE * i + 2)
    for j in range(count):
        if left <= j <= i:
            continue
        rise = height - load(scratch, STRIDE * j + 2)
        du, dv = load(scratch, STRIDE * j) - u, load(scratch, STRIDE * j + 1) - v
        if rise > 0.0 and rise * rise > RISE * RISE * (du * du + dv * dv):
            return True
    return False


@njit
def store_corners(count, radius, place, margin, collision):
    """Write so many corners of scratch, in the frame of the plane at `place`, to the manifold, the best four; returns their
    number."""
    if count > POINTS:
        count = drop_upper(count, collision.scratch)
    r = nine(place.rotation)
    frame = (load3(place.x), (r[0], r[3], r[6]), (r[1], r[4], r[7]), (r[2], r[5], r[8]))
    plane = Plane(frame, (0.0, 0.0, 0.0), 0.5)
    return store_points(count, 0, plane, margin, BIAS * radius, 0, collision.scratch, collision.manifold[0])


@njit
def box_plane(pair, margin, collision):
    """The corners that are near, the best four of them."""
    box = collision.colliders[pair.a]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    start(scale(-1.0, upward(place_b)), collision.manifold[0])
    turn, shift = relative_pose(place_b, place_a)
    half = load3(box["size"])
    count = 0
    for i in range(8):
        corner = (
            half[0] if i & 1 else -half[0],
            half[1] if i & 2 else -half[1],
            half[2] if i & 4 else -half[2],
        )
        count = store_if_near(corner, turn, shift, i, count, margin, collision.scratch)
    return store_corners(count, box.radius, place_b, margin, collision)


@njit
def hull_plane(pair, margin, collision):
    """The corners that are near, the best four of them; of more corners than `scratch` has room for, the first."""
    hull = collision.colliders[pair.a]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    vertices, scratch = collision.vertices, collision.scratch
    start(scale(-1.0, upward(place_b)), collision.manifold[0])
    turn, shift = relative_pose(place_b, place_a)
    count = 0
    for i in range(hull.vertices):
        if STRIDE * (count + 1) > scratch.shape[0]:
            break
        count = store_if_near(hull_vertex(hull, i, vertices), turn, shift, i, count, margin, scratch)
    return store_corners(count, hull.radius, place_b, margin, collision)


@njit
def convex_plane(pair, margin, collision):
    """Any convex shape: its lowest point, and the corners of a flat part that faces the plane, the best four of them."""
    shape = collision.colliders[pair.a]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    scratch, manifold = collision.scratch, collision.manifold[0]
    separation, n, p = above_plane(shape, place_a, place_b, collision.vertices)
    back = scale(-1.0, n)
    start(back, manifold)
    same = same_depth(manifold)
    axes, x, origin = nine(place_a.rotation), load3(place_a.x), load3(place_b.x)
    u = matvec_t(axes, back)
    count = other_face(shape.kind, load3(shape["size"]), u, x, axes, scratch, FLAT_PART)
    if count == 0:
        touch(p, n, origin, 0, margin, manifold)
        return manifold.points
    turn = nine(place_b.rotation)
    for i in range(count):
        q = matvec_t(turn, sub(load_point(scratch, FLAT_PART + 3 * i), origin))
        put_corner(STRIDE * i, q[0], q[1], q[2], 0, scratch)
        store(scratch, STRIDE * i + 4, i)
    store_corners(count, shape.radius, place_b, margin, collision)
    if separation <= margin:
        keep_nearest(add_scaled(p, -0.5 * separation, n), separation, same * shape.radius, manifold)
    return manifold.points


# Cylinders and cones on a half-space ----------------------------------------------------------------------------------
# A rim meets the plane in its lowest point. Three more on the rim, a quarter turn apart, are added where they are within the
# margin and the end faces the plane: they support a shape that stands on its end. Of a shape that rolls, which may move by
# more than its radius in a step, they come down in front of it, but never reach the plane.

LEVEL = 1e-6  # sine of the angle to the plane up to which an end lies flat on it
FACES = 0.7  # cosine of the angle to the plane up to which an end faces it


@inlined
def downhill(up):
    """Unit vector across the axis along which a rim falls; x where it is level. `up` is the plane's normal, as seen from
    the shape."""
    fall = math.sqrt(up[0] * up[0] + up[1] * up[1])
    return (-up[0] / fall, -up[1] / fall, 0.0) if fall > LEVEL else (1.0, 0.0, 0.0)


@njit
def touch_rim(radius, z, down, first, last, pair, margin, collision):
    """The points of the rim at height z of the shape that are so many quarter turns from its lowest, `last` not included."""
    place_a, place_b, manifold = collision.places[pair.a], collision.places[pair.b], collision.manifold[0]
    rotation = nine(place_a.rotation)
    n, x, origin = upward(place_b), load3(place_a.x), load3(place_b.x)
    for quarter in range(first, last):
        s = radius if quarter < 2 else -radius
        u, v = (s * down[0], s * down[1]) if quarter % 2 == 0 else (-s * down[1], s * down[0])
        p = add(x, matvec(rotation, (u, v, z)))
        touch(p, n, origin, quarter + (4 if z > 0.0 else 0), margin, manifold)


@njit
def cylinder_plane(pair, margin, collision):
    """Four points where it stands, one where it leans, two where it lies."""
    cylinder = collision.colliders[pair.a]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    n = upward(place_b)
    start(scale(-1.0, n), collision.manifold[0])
    up = matvec_t(nine(place_a.rotation), n)
    down = downhill(up)
    radius, half = cylinder["size"][0], cylinder["size"][1]
    low = -half if up[2] >= 0.0 else half
    touch_rim(radius, low, down, 0, 4 if abs(up[2]) > FACES else 1, pair, margin, collision)
    touch_rim(radius, -low, down, 0, 1, pair, margin, collision)
    return collision.manifold[0].points


@njit
def cone_plane(pair, margin, collision):
    """Four points where it stands on its base, two where it lies, one where it leans or stands on its apex."""
    cone = collision.colliders[pair.a]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    manifold = collision.manifold[0]
    n = upward(place_b)
    start(scale(-1.0, n), manifold)
    rotation = nine(place_a.rotation)
    up = matvec_t(rotation, n)
    down = downhill(up)
    radius, half = cone["size"][0], cone["size"][1]
    apex = add(load3(place_a.x), matvec(rotation, (0.0, 0.0, half)))
    if up[2] > FACES:
        touch_rim(radius, -half, down, 0, 4, pair, margin, collision)
        return manifold.points
    touch(apex, n, load3(place_b.x), 4, margin, manifold)
    touch_rim(radius, -half, down, 0, 1, pair, margin, collision)
    return manifold.points
