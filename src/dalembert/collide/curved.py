"""Contacts of any two bounded convex shapes: the nearest points, and more of them where flat parts lie on each other."""

import math

from ..elementary.circular import sin_cos
from ..jit import njit
from ..pointer import call_pointer
from ..unchecked import peek, poke
from ..vec import add, dot, load3, matvec, matvec_t, scale, store3
from .bounds import nine
from .distance import NORMAL, POINT_A, POINT_B, SEPARATION
from .face_clip import clip_faces
from .gjk import FAR
from .manifold import add_point, start
from .support import load_point
from .tables import BOX, CAPSULE, CONE, CYLINDER, DIRECTION, HULL, MESH, POINTS

# A flat part within this angle (rad, about) of the tangent plane takes part in the contact.
TILT = 0.05
RIM = 8  # corners that stand for a flat round end
MOST_CORNERS = 64
AT_A, AT_B = 0, 3 * MOST_CORNERS
WITNESS_FEATURE = 1 << 40  # of the nearest points themselves
SAME = 1e-9  # of the separation's scale: a manifold that is as deep as the nearest points needs no other


@njit
def put(p, x, axes, scratch, at):
    """Write a point of a collider's frame in world axes; returns where the next goes."""
    q = add(x, matvec(axes, p))
    for k in range(3):
        poke(scratch, at + k, q[k])
    return at + 3


@njit
def supporting_face(collider, place, direction, vertices, faces, loops, scratch, at):
    """Corners of the flat face or straight edge whose outward side is within `TILT` of a unit direction (world).

    Written from scratch[at] as xyz (world, m), in order around; returns their number: 0 if nothing flat faces the direction,
    2 for an edge (of a box or hull, the side of a cylinder or cone, the axis of a capsule moved out to its surface), or a
    polygon of up to `MOST_CORNERS`. A round end is the octagon of points on its rim that is fixed in the collider.
    """
    x = load3(place.x)
    axes = nine(place.rotation)
    u = matvec_t(axes, direction)
    if collider.kind == BOX:
        return box_face(load3(collider["size"]), u, x, axes, scratch, at)
    if collider.kind == HULL or collider.kind == MESH:
        return hull_face(collider, u, x, axes, vertices, faces, loops, scratch, at)
    radius, half = collider["size"][0], collider["size"][1]
    if collider.kind == CAPSULE:
        if abs(u[2]) > TILT:
            return 0
        p = scale(radius, u)
        at = put((p[0], p[1], p[2] - half), x, axes, scratch, at)
        put((p[0], p[1], p[2] + half), x, axes, scratch, at)
        return 2
    if collider.kind == CYLINDER or collider.kind == CONE:
        return round_face(collider.kind, radius, half, u, x, axes, scratch, at)
    return 0


@njit
def round_face(kind, radius, half, u, x, axes, scratch, at):
    """Of a cylinder or cone: a flat end, the line of the side, or nothing."""
    rho = math.sqrt(u[0] * u[0] + u[1] * u[1])
    if rho <= TILT and (kind == CYLINDER or u[2] < 0.0):
        z = half if u[2] > 0.0 else -half
        for i in range(RIM):
            angle = 2.0 * math.pi * i / RIM
            sine, cosine = sin_cos(angle)
            at = put((radius * cosine, radius * sine, z), x, axes, scratch, at)
        return RIM
    if rho == 0.0:
        return 0
    lower = (radius * u[0] / rho, radius * u[1] / rho, -half)
    upper = (0.0, 0.0, half) if kind == CONE else (lower[0], lower[1], half)
    e = (upper[0] - lower[0], upper[1] - lower[1], upper[2] - lower[2])
    if abs(dot(e, u)) > TILT * math.sqrt(dot(e, e)):
        return 0
    at = put(lower, x, axes, scratch, at)
    put(upper, x, axes, scratch, at)
    return 2


@njit
def box_face(half, u, x, axes, scratch, at):
    """The corners where the components of u that are not small have its signs."""
    sx, sy, sz = math.copysign(half[0], u[0]), math.copysign(half[1], u[1]), math.copysign(half[2], u[2])
    free_x, free_y, free_z = abs(u[0]) <= TILT, abs(u[1]) <= TILT, abs(u[2]) <= TILT
    # Two free axes make a face, one an edge; a turn about the first and then the second visits the corners in order.
    count = 1
    e, f = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if free_x:
        e = (-2.0 * sx, 0.0, 0.0)
        count = 2
    if free_y:
        step = (0.0, -2.0 * sy, 0.0)
        if count == 2:
            f = step
            count = 4
        else:
            e = step
            count = 2
    if free_z:
        step = (0.0, 0.0, -2.0 * sz)
        if count == 2:
            f = step
            count = 4
        else:
            e = step
            count = 2
    if count == 1:
        return 0
    p = (sx, sy, sz)
    at = put(p, x, axes, scratch, at)
    at = put(add(p, e), x, axes, scratch, at)
    if count == 4:
        at = put(add(add(p, e), f), x, axes, scratch, at)
        put(add(p, f), x, axes, scratch, at)
    return count


@njit
def hull_face(collider, u, x, axes, vertices, faces, loops, scratch, at):
    """The polygon that faces u best, or the highest edge at right angles to u."""
    best, facing = -1, -2.0
    for f in range(collider.first_face, collider.first_face + collider.faces):
        along = dot(u, load3(faces[f].normal))
        if along > facing:
            best, facing = f, along
    if facing >= math.sqrt(1.0 - TILT * TILT):
        face = faces[best]
        count = min(face.count, MOST_CORNERS)
        for i in range(count):
            # Of more corners, so many spread over the loop.
            p = hull_vertex(collider, loops[face.first + i * face.count // count], vertices)
            at = put(p, x, axes, scratch, at)
        return count
    height = -math.inf
    tail, head = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for f in range(collider.first_face, collider.first_face + collider.faces):
        face = faces[f]
        p = hull_vertex(collider, loops[face.first + face.count - 1], vertices)
        for i in range(face.first, face.first + face.count):
            q = hull_vertex(collider, loops[i], vertices)
            e = (q[0] - p[0], q[1] - p[1], q[2] - p[2])
            middle = 0.5 * (dot(u, p) + dot(u, q))
            if abs(dot(e, u)) <= TILT * math.sqrt(dot(e, e)) and middle > height:
                height, tail, head = middle, p, q
            p = q
    top = -math.inf
    for i in range(collider.vertices):
        top = max(top, dot(u, hull_vertex(collider, i, vertices)))
    e = (head[0] - tail[0], head[1] - tail[1], head[2] - tail[2])
    if not top - height <= TILT * math.sqrt(dot(e, e)):
        return 0
    at = put(tail, x, axes, scratch, at)
    put(head, x, axes, scratch, at)
    return 2


@njit
def hull_vertex(collider, i, vertices):
    k = 3 * (collider.first_vertex + i)
    return (peek(vertices, k), peek(vertices, k + 1), peek(vertices, k + 2))


@njit
def convex_pair(
    pair, collider_a, place_a, collider_b, place_b, vertices, faces, loops, scratch, margin, manifold, measure, data, number
):  # fmt: skip
    """Fill the manifold of any two bounded convex colliders; returns the number of its points, 0 beyond `margin` (m).

    The search starts from `pair.axis`, where it leaves the direction found. Where both have something flat there, it is the
    patch that the two flat parts share; the nearest points are always among them, so that the least separation is exact.
    measure, data, number : what `distance` of the pair is called with.
    """
    start((0.0, 0.0, 0.0), manifold)
    for k in range(3):
        poke(scratch, k, pair.axis[k])
    status = call_pointer(measure, data, number, margin, scratch, scratch)
    n, separation = load_point(scratch, NORMAL), peek(scratch, SEPARATION)
    middle = scale(0.5, add(load_point(scratch, POINT_A), load_point(scratch, POINT_B)))
    store3(pair.axis, n)
    pair.witness = DIRECTION
    if status == FAR or not separation <= margin:
        return 0
    flat_patch(
        collider_a, place_a, collider_b, place_b, n, vertices, faces, loops, margin, margin, scratch, manifold
    )  # fmt: skip
    keep_nearest(middle, separation, SAME * min(collider_a.radius, collider_b.radius), manifold)
    return manifold.points


@njit
def flat_patch(
    collider_a, place_a, collider_b, place_b, n, vertices, faces, loops, margin, widen, scratch, manifold
):  # fmt: skip
    """Begin a manifold of normal n with the patch that flat parts of both share along it, if they have any; see
    `clip_faces`."""
    start(n, manifold)
    count_a = supporting_face(collider_a, place_a, n, vertices, faces, loops, scratch, AT_A)
    if count_a > 0:
        back = (-n[0], -n[1], -n[2])
        count_b = supporting_face(collider_b, place_b, back, vertices, faces, loops, scratch, AT_B)
        if count_b > 0:
            clip_faces(count_a, AT_A, count_b, AT_B, n, margin, widen, scratch, manifold)


@njit
def keep_nearest(position, separation, tolerance, manifold):
    """Make sure that the nearest points are in the manifold: in place of the point beside them, where there are four."""
    nearest, least, square = 0, math.inf, math.inf
    for i in range(manifold.points):
        least = min(least, manifold.separation[i])
        k = 3 * i
        d = (
            manifold.position[k] - position[0], manifold.position[k + 1] - position[1],
            manifold.position[k + 2] - position[2],
        )  # fmt: skip
        if dot(d, d) < square:
            nearest, square = i, dot(d, d)
    if least <= separation + tolerance:
        return
    if manifold.points < POINTS:
        add_point(position, separation, WITNESS_FEATURE, manifold)
        return
    for k in range(3):
        manifold.position[3 * nearest + k] = position[k]
    manifold.separation[nearest] = separation
    manifold.feature[nearest] = WITNESS_FEATURE
