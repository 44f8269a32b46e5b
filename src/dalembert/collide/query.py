"""Questions about colliders where they are: nearest points, overlap, and what a ray hits first.

All take a `Collision` whose `places` have been filled (`bounds.place_colliders`).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..kernel import array, kernel, out
from ..vec import add_scaled, dot, load3, matvec, sub
from .bounds import nine
from .distance import NORMAL, POINT_A, POINT_B, SEPARATION, measure
from .query_mesh import nearest_facet
from .ray import ray_hit
from .ray_mesh import meets_box, ray_on_mesh
from .support import core_radius, support
from .tables import COLLIDER, HALF_SPACE, MESH, PLACE, Collision


class ClosestPoints(NamedTuple):
    """The nearest points of two colliders, world axes, m."""

    distance: float  # negative where they overlap: the least translation that separates them
    normal: np.ndarray  # (3,) unit, from a to b
    point_a: np.ndarray  # (3,) on the surface of a
    point_b: np.ndarray  # (3,) on the surface of b


class RayHit(NamedTuple):
    """Where a ray first meets a collider, world axes, m."""

    collider: int
    distance: float
    point: np.ndarray  # (3,)
    normal: np.ndarray  # (3,) unit, outward; against the ray if it starts within


def closest_points(collision: Collision, a: int, b: int) -> ClosestPoints:
    """The nearest points of colliders a and b, or the deepest where they overlap.

    Distances are right to about 1e-15 of the size of the colliders, and so are depths of boxes and hulls; of curved shapes,
    unless the overlap is deep, where it may be 1e-7. See `distance.signed_distance`.

    Of a mesh it is the nearest facet, seen from either side, or the one overlapped most deeply: the other is to be moved at
    least that far, and perhaps further.

    Raises ValueError for two that are half-spaces or meshes, and for a pose that is not finite.
    """
    _check(collision, a, b)
    found = _measure(collision, a, b, math.inf)
    return ClosestPoints(float(found[0]), found[1:4], found[4:7], found[7:])


def overlap(collision: Collision, a: int, b: int) -> bool:
    """Whether colliders a and b have a point in common. Raises ValueError as `closest_points` does."""
    _check(collision, a, b)
    return bool(_measure(collision, a, b, 0.0)[0] <= 0.0)


def ray_cast(collision: Collision, origin: ArrayLike, direction: ArrayLike, reach: float = math.inf) -> RayHit | None:
    """The first collider that a ray meets within `reach` (m), or None.

    origin, direction : (3,) world axes; the direction need not be a unit vector.

    A mesh is met from outside only; what starts behind one of its facets does not meet that facet.

    Raises ValueError for a ray that is not finite or has no direction.
    """
    start, along = np.array(origin, float), np.array(direction, float)
    if start.shape != (3,) or along.shape != (3,) or not np.isfinite([start, along]).all() or not along.any():
        raise ValueError(f"ray_cast: origin {origin!r} and direction {direction!r} must be three finite numbers each, "
                         "and the direction not zero")  # fmt: skip
    along /= np.abs(along).max()
    along /= np.linalg.norm(along)
    hit = np.empty(4)
    found = _cast(collision, start, along, reach, hit)
    if found < 0:
        return None
    return RayHit(int(found), float(hit[0]), start + hit[0] * along, hit[1:])


def _check(collision: Collision, a: int, b: int) -> None:
    for i in (a, b):
        place = collision.places[i]
        if not (np.isfinite(place["x"]).all() and np.isfinite(place["rotation"]).all()):
            raise ValueError(f"collider {i} is at {place['x']}: place the colliders at a finite pose first")
    if all(collision.colliders[i]["kind"] in (HALF_SPACE, MESH) for i in (a, b)):
        raise ValueError(f"colliders {a} and {b} are half-spaces or meshes, both: one of them must be a solid")


def _measure(collision: Collision, a: int, b: int, bound: float) -> np.ndarray:
    """Separation, normal, point on a, point on b; see `distance`."""
    if collision.colliders[b]["kind"] == MESH:
        return nearest_facet(collision, a, b, b, bound)
    if collision.colliders[a]["kind"] == MESH:
        return nearest_facet(collision, a, b, a, bound)
    planes = [collision.colliders[i]["kind"] == HALF_SPACE for i in (a, b)]
    if not any(planes):
        return measure(collision, a, b, bound).copy()
    found = np.empty(10)
    if planes[0]:
        _from_plane(collision.colliders, collision.places, collision.vertices, a, b, 1.0, found, POINT_A, POINT_B)
    else:
        _from_plane(collision.colliders, collision.places, collision.vertices, b, a, -1.0, found, POINT_B, POINT_A)
    return found


@kernel
def _from_plane(
    colliders: array(1, COLLIDER), places: array(1, PLACE), vertices: array(), half_space: int, other: int, sign: float,
    found: out(), at_plane: int, at_collider: int,
) -> None:  # fmt: skip
    """The same for a half-space, with the normal sign · (out of it)."""
    plane, collider, place = places[half_space], colliders[other], places[other]
    rotation = nine(plane.rotation)
    n = matvec(rotation, (0.0, 0.0, 1.0))
    q = support(collider, place, vertices, (-n[0], -n[1], -n[2]))
    q = add_scaled(q, -core_radius(collider), n)
    s = dot(n, sub(q, load3(plane.x)))
    p = add_scaled(q, -s, n)
    found[SEPARATION] = s
    for k in range(3):
        found[NORMAL + k] = sign * n[k]
        found[at_plane + k] = p[k]
        found[at_collider + k] = q[k]


@kernel
def _cast(collision: Collision, start: array(), along: array(), reach: float, hit: out()) -> int:
    colliders, places = collision.colliders, collision.places
    best = -1
    origin, direction = load3(start), load3(along)
    hit[0] = reach
    for i in range(colliders.shape[0]):
        place = places[i]
        if not meets_box(place, origin, direction, hit[0]):
            continue
        if colliders[i].kind == MESH:
            distance, normal = ray_on_mesh(i, origin, direction, hit[0], collision)
        else:
            distance, normal = ray_hit(colliders[i], place, collision.faces, origin, direction)
        if distance < hit[0] or (best < 0 and distance == hit[0] and distance < math.inf):
            best = i
            hit[0] = distance
            for k in range(3):
                hit[1 + k] = normal[k]
    return best
