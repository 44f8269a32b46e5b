"""Contacts of any two bounded convex shapes: the nearest points, and more of them where flat parts lie on each other."""

import math

from ..jit import njit
from ..pointer import call_pointer
from ..scene.shapes.dispatch import shape_face
from ..scene.shapes.geometry import TILT, put
from ..unchecked import peek, poke
from ..vec import add, dot, load3, matvec_t, scale, store3
from .bounds import nine
from .distance import NORMAL, POINT_A, POINT_B, SEPARATION
from .face_clip import clip_faces
from .gjk import FAR
from .manifold import add_point, start
from .support import load_point
from .tables import DIRECTION, HULL, MESH, POINTS

MOST_CORNERS = 64
AT_A, AT_B = 0, 3 * MOST_CORNERS
WITNESS_FEATURE = 1 << 40  # of the nearest points themselves
SAME = 1e-9  # of the separation's scale: a manifold that is as deep as the nearest points needs no other


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
    if collider.kind == HULL or collider.kind == MESH:
        return hull_face(collider, u, x, axes, vertices, faces, loops, scratch, at)
    return shape_face(collider.kind, load3(collider["size"]), u, x, axes, scratch, at)


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
