"""The signed distance of a point from a collider; and where a ball that moves in a straight line comes near one.

The tangent plane at the point nearest to a convex collider has all of it behind: a ball may go as far as that plane, and
is looked at anew there (conservative advancement; van den Bergen, "Ray casting against general convex objects with
application to continuous collision detection", 2004). A ball that does not approach the plane never meets the collider.
"""

import math

from ..jit import njit
from ..scene.shapes.dispatch import shape_distance
from ..vec import add_scaled, dot, load3, matvec, matvec_t, norm, sub
from .bounds import nine
from .point_hull import from_hull
from .point_mesh import nearest_on_mesh
from .tables import HULL, MESH

NOTHING = (math.inf, math.inf, (0.0, 0.0, 0.0))
STEPS = 40  # from plane to plane; each brings a ball nearer by more than half as a rule
TOUCH = 1e-6  # of the way: what is so near is a touch


@njit
def from_solid(p, collider, bound, collision):
    """(signed distance (m), outward unit normal) of p from a collider that is no mesh, in its frame.

    bound : m, beyond which the distance may be that of a plane that separates p from the collider.
    """
    if collider.kind == HULL:
        return from_hull(p, collider, bound, collision)
    return shape_distance(collider.kind, load3(collider["size"]), p)


@njit
def point_distance(p, number, bound, collision):
    """(signed distance (m), outward unit normal) of a point from a collider, world axes.

    Negative within: the least translation that brings the point out. Of a mesh it is the nearest facet, by the rules of
    bodies (see `point_mesh`); inf and no normal if none is within the bound, or if the nearest is seen from behind.

    bound : m, beyond which the distance need not be exact; it is more than the bound all the same.
    """
    collider, place = collision.colliders[number], collision.places[number]
    axes = nine(place.rotation)
    local = matvec_t(axes, sub(p, load3(place.x)))
    if collider.kind == MESH:
        distance, normal = nearest_on_mesh(local, number, bound, collision)
    else:
        distance, normal = from_solid(local, collider, bound, collision)
    return distance, matvec(axes, normal)


@njit
def approach(p, path, near, grown, last, collider, collision):
    """Where a ball comes near a collider that is no mesh, on its way from p to p + last · path (frame of the collider).

    near : m, the collider is met at once if p is no further from it. grown : m, ≤ near, the radius of the ball on its way.

    Returns (share of the path, distance of p from the plane of contact (m), its outward unit normal): the plane touches the
    collider at p + share · path − (distance + share · normal · path) · normal. The share is inf if they do not meet.
    """
    distance, n = from_solid(p, collider, near, collision)
    if distance <= near:
        return 0.0, distance, n
    share, enough = 0.0, grown + TOUCH * norm(path)
    for _ in range(STEPS):
        rate = dot(n, path)
        if not rate < 0.0:
            return NOTHING
        share -= (distance - grown) / rate
        if not share <= last:
            return NOTHING
        distance, n = from_solid(add_scaled(p, share, path), collider, grown, collision)
        if distance <= enough:
            break
    return share, distance - share * dot(n, path), n
