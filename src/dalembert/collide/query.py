"""Queries of colliders: nearest points, overlap, the first hit of a ray, and distances of points.

All take a `Collision` whose `places` have been filled (`broad_phase.place_colliders`). Compiled helpers come first, the
functions for Python last.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.jit import njit
from ..core.kernel import array, kernel, out
from ..core.math3 import add_scaled, dot, load3, matvec, matvec_t, sub
from ..core.tables import handed
from ..scene.shapes.base import HALF_SPACE, HULL, MESH
from ..scene.shapes.dispatch import shape_ray
from ..scene.shapes.geometry import WHOLE_LINE, below
from .broad_phase import nine
from .curved import NORMAL, POINT_A, POINT_B, SEPARATION, measure
from .point import point_distance
from .polyhedron import is_over, show
from .round import above_plane
from .tables import Collision

# The nearest facet of a mesh ------------------------------------------------------------------------------------------


def nearest_facet(collision: Collision, a: int, b: int, mesh: int, bound: float) -> np.ndarray:
    """What `distance` finds of colliders a and b, one of them the mesh, at the facet where the separation is least.

    Facets are taken in the order of the least distance that their boxes allow, until no other can be nearer.
    """
    leaves = _leaves(collision, mesh)
    at_least = _apart(collision, b if mesh == a else a, mesh, leaves)
    tables = handed(collision)
    best = np.full(10, math.inf)
    for k in np.argsort(at_least, kind="stable"):
        if at_least[k] > max(best[SEPARATION], 0.0):
            break
        _show(mesh, int(leaves["facet"][k]), tables)
        found = measure(collision, a, b, bound)
        if found[SEPARATION] < best[SEPARATION]:
            best = found.copy()
    return best


@kernel
def _show(mesh: int, facet: int, collision: Collision) -> None:
    """`polyhedron.show`, for Python."""
    show(collision.colliders[mesh], facet, collision)


def _leaves(collision: Collision, mesh: int) -> np.ndarray:
    tree = next(row for row in collision.trees if row.collider == mesh)
    nodes = collision.nodes[tree.first_node : tree.end_node]
    return nodes[nodes.facet >= 0]


def _apart(collision: Collision, other: int, mesh: int, leaves: np.ndarray) -> np.ndarray:
    """(n,) the distance (m) of each box from the ball about the other collider: a bound from below."""
    place, frame = collision.places[other], collision.places[mesh]
    turn = frame["rotation"].reshape(3, 3)
    middle, half = 0.5 * (leaves["lower"] + leaves["upper"]), 0.5 * (leaves["upper"] - leaves["lower"])
    center = (place["x"] - frame["x"]) @ turn
    away = np.maximum(np.abs(middle - center) - half, 0.0)
    return np.linalg.norm(away, axis=1) - collision.colliders[other]["radius"]


# A ray and a convex collider ------------------------------------------------------------------------------------------
# Where a ray enters it, in closed form; each shape has its own function.


@njit
def ray_hit(collider, place, faces, origin, direction):
    """(distance, outward unit normal) where a ray from `origin` along the unit vector `direction` (world) meets a collider.

    The distance (m) is inf for a miss. From within it is zero, and the normal is −direction.
    """
    axes = nine(place.rotation)
    o = matvec_t(axes, sub(origin, load3(place.x)))
    d = matvec_t(axes, direction)
    # From the point of the ray nearest to the centre, so that a distant origin costs the roots no digits.
    start = 0.0 if collider.kind == HALF_SPACE else -dot(o, d)
    enter, leave, normal = inside(collider, faces, add_scaled(o, start, d), d)
    if not enter <= leave or leave + start < 0.0:
        return math.inf, (0.0, 0.0, 0.0)
    if enter + start <= 0.0:
        return 0.0, (-direction[0], -direction[1], -direction[2])
    return enter + start, matvec(axes, normal)


@njit
def inside(collider, faces, o, d):
    """The part of the ray inside a collider, in its frame: (enter, leave, outward normal where it enters)."""
    if collider.kind == HULL:
        part = WHOLE_LINE
        for f in range(collider.first_face, collider.first_face + collider.faces):
            part = below(part, o, d, load3(faces[f].normal), faces[f].offset)
        return part
    return shape_ray(collider.kind, load3(collider["size"]), o, d)


# A ray and a mesh -----------------------------------------------------------------------------------------------------
# From outside: through its tree of boxes, facet by facet.


@njit
def ray_on_mesh(collider, origin, direction, reach, collision):
    """(distance, outward unit normal) where a ray meets a mesh from outside within `reach` (m); inf for a miss. World axes;
    `direction` is a unit vector."""
    place = collision.places[collider]
    nodes, trees = collision.nodes, collision.trees
    axes = nine(place.rotation)
    o = matvec_t(axes, sub(origin, load3(place.x)))
    d = matvec_t(axes, direction)
    best, normal = math.inf, (0.0, 0.0, 0.0)
    for m in range(trees.shape[0]):
        k = trees[m].first_node if trees[m].collider == collider else trees[m].end_node
        while k < trees[m].end_node:
            node = nodes[k]
            if not meets_box(node, o, d, min(best, reach)):
                k = node.skip
                continue
            if node.facet >= 0:
                t = ray_on_facet(collision.facets[node.facet], o, d, collision)
                if t < best:
                    best, normal = (
                        t,
                        matvec(axes, load3(collision.faces[collision.facets[node.facet].face].normal)),
                    )
            k += 1
    return best, normal


@njit
def ray_on_facet(facet, o, d, collision):
    """How far along the ray o + t d (frame of the mesh) the facet is met, or inf."""
    face = collision.faces[facet.face]
    rate = dot(load3(face.normal), d)
    room = face.offset - dot(load3(face.normal), o)
    if rate < 0.0 and room <= 0.0 and is_over(add_scaled(o, room / rate, d), facet, collision):
        return room / rate
    return math.inf


@njit
def meets_box(place, origin, direction, reach):
    """Whether the ray meets the collider's box within `reach`: the slab method (Kay and Kajiya 1986)."""
    enter, leave = 0.0, reach
    for k in range(3):
        if direction[k] == 0.0:
            if origin[k] < place.lower[k] or origin[k] > place.upper[k]:
                return False
        else:
            s = (place.lower[k] - origin[k]) / direction[k]
            t = (place.upper[k] - origin[k]) / direction[k]
            enter = max(enter, min(s, t))
            leave = min(leave, max(s, t))
    return enter <= leave


# For Python -----------------------------------------------------------------------------------------------------------


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
    unless the overlap is deep, where it may be 1e-7. See `curved.distance`.

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
        raise ValueError(
            f"colliders {a} and {b} are half-spaces or meshes, and neither is a solid; one of them must be"
        )


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
        _from_plane(collision, a, b, 1.0, found, POINT_A, POINT_B)
    else:
        _from_plane(collision, b, a, -1.0, found, POINT_B, POINT_A)
    return found


@kernel
def _from_plane(
    collision: Collision, half_space: int, other: int, sign: float, found: out(), at_plane: int, at_collider: int
) -> None:
    """The same for a half-space, with the normal sign · (out of it)."""
    places, vertices = collision.places, collision.vertices
    s, n, q = above_plane(collision.colliders[other], places[other], places[half_space], vertices)
    p = add_scaled(q, -s, n)
    found[SEPARATION] = s
    for k in range(3):
        found[NORMAL + k] = sign * n[k]
        found[at_plane + k] = p[k]
        found[at_collider + k] = q[k]


@kernel
def _cast(collision: Collision, start: array(), along: array(), reach: float, hit: out()) -> int:
    """The number of the first collider that a ray meets within `reach` (m), or −1; hit receives distance and normal."""
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


class PointDistances(NamedTuple):
    """Of n points from each collider, world axes."""

    distance: np.ndarray  # (n, colliders) m, negative within
    normal: np.ndarray  # (n, colliders, 3) unit, outward, at the nearest point of the surface


def point_distances(collision: Collision, points: ArrayLike, bound: float = math.inf) -> PointDistances:
    """The signed distances of points (n, 3), m, from the surface of every collider, and the normals there.

    Within a solid the distance is minus the least translation that brings the point out, along the normal. They are right to
    about 1e-15 of the size of the collider. A mesh has a front only: inf and a zero normal where the nearest of it is
    seen from behind.

    bound : m, beyond which a distance need only be more than the bound; the search ends sooner.

    Raises ValueError for points that are not finite or not of three coordinates, and for a pose that is not finite.
    """
    at = np.array(points, float)
    if at.ndim != 2 or at.shape[1] != 3 or not np.isfinite(at).all():
        raise ValueError(f"point_distances: points must be (n, 3) finite numbers, not {points!r:.80}")
    for i, place in enumerate(collision.places):
        if not (np.isfinite(place["x"]).all() and np.isfinite(place["rotation"]).all()):
            raise ValueError(f"collider {i} is at {place['x']}: place the colliders at a finite pose first")
    found = np.empty((len(at), len(collision.colliders), 4))
    _measure_points(collision, at.reshape(-1), bound, found.reshape(-1))
    return PointDistances(found[..., 0], found[..., 1:])


@kernel
def _measure_points(collision: Collision, points: array(), bound: float, found: out()) -> None:
    """Write distance and normal (4 numbers) of every point and collider, point by point."""
    colliders = collision.colliders.shape[0]
    at = 0
    for i in range(points.shape[0] // 3):
        p = (points[3 * i], points[3 * i + 1], points[3 * i + 2])
        for number in range(colliders):
            found[at], normal = point_distance(p, number, bound, collision)
            for k in range(3):
                found[at + 1 + k] = normal[k]
            at += 4
