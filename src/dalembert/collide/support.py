"""Support functions: the furthest point of a shape along a direction.

A shape is a convex *core* grown by a radius: a sphere is a point, a capsule a segment, and the others are their own cores.
Distances are found between cores, which keeps the round shapes exact.
"""

import math

from ..jit import njit
from ..scene.shapes.dispatch import CURVED, GROWN, shape_support
from ..vec import add, load3, matvec, matvec_t
from .bounds import nine
from .tables import HULL, MESH


@njit
def core_radius(collider):
    """What the core is grown by (m)."""
    if (GROWN >> collider.kind) & 1:
        return collider["size"][0]
    return 0.0


@njit
def is_curved(collider):
    """Whether the core has infinitely many corners."""
    return (CURVED >> collider.kind) & 1 == 1


@njit
def hull_support(collider, vertices, u):
    """By linear search: the hulls of moving bodies have tens of corners, which lie next to each other in memory."""
    at = 3 * collider.first_vertex
    end = at + 3 * collider.vertices
    best = at
    furthest = -math.inf
    while at < end:
        along = u[0] * vertices[at] + u[1] * vertices[at + 1] + u[2] * vertices[at + 2]
        if along > furthest:
            furthest = along
            best = at
        at += 3
    return (vertices[best], vertices[best + 1], vertices[best + 2])


@njit
def core_support(collider, vertices, u):
    """The point of the core furthest along u, both in the collider's frame; u need not be a unit vector.

    An extreme point of the core, except the centre of a flat end met head on. Among equals the choice is fixed.
    """
    if collider.kind in (HULL, MESH):
        return hull_support(collider, vertices, u)
    return shape_support(collider.kind, load3(collider["size"]), u)


@njit
def support(collider, place, vertices, direction):
    """The point of the core furthest along a direction, both in world axes; the direction need not be a unit vector."""
    rotation = nine(place.rotation)
    point = core_support(collider, vertices, matvec_t(rotation, direction))
    return add(load3(place.x), matvec(rotation, point))


@njit
def relative_pose(place_a, place_b):
    """(rotation, translation) from the frame of b to the frame of a."""
    p = nine(place_a.rotation)
    q = nine(place_b.rotation)
    x = matvec_t(p, (q[0], q[3], q[6]))
    y = matvec_t(p, (q[1], q[4], q[7]))
    z = matvec_t(p, (q[2], q[5], q[8]))
    d = (
        place_b.x[0] - place_a.x[0],
        place_b.x[1] - place_a.x[1],
        place_b.x[2] - place_a.x[2],
    )
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]), matvec_t(p, d)


@njit
def difference(collider_a, collider_b, rotation, translation, vertices, u, scratch, at):
    """The point w = b − a of the difference of the cores, b − a ∈ B ⊖ A, furthest along −u, written with its two parts.

    In the frame of a, where b has this rotation and translation. scratch[at : at + 9] receives w, then a in its frame,
    then b in *its* frame: a corner met again has the very same numbers.
    """
    a = core_support(collider_a, vertices, u)
    turned = matvec_t(rotation, u)
    b = core_support(collider_b, vertices, (-turned[0], -turned[1], -turned[2]))
    c = add(translation, matvec(rotation, b))
    for k in range(3):
        scratch[at + k] = c[k] - a[k]
        scratch[at + 3 + k] = a[k]
        scratch[at + 6 + k] = b[k]


@njit
def load_point(scratch, at):
    return (scratch[at], scratch[at + 1], scratch[at + 2])
