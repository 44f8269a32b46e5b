"""Random pairs of shapes, what the library coal says of them, and support functions in NumPy: two oracles of distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert import Box, Capsule, Cone, ConvexHull, Cylinder, Ellipsoid, Sphere
from dalembert.collide import tables
from dalembert.collide.build import Solid, make_collision
from dalembert.scene.shapes import base as kinds

KINDS = {
    "sphere": lambda r: Sphere(r.uniform(0.2, 1)),
    "capsule": lambda r: Capsule(*r.uniform(0.2, 1, 2)),
    "box": lambda r: Box(*r.uniform(0.3, 2, 3)),
    "hull": lambda r: ConvexHull(r.normal(size=(r.integers(6, 20), 3)) * r.uniform(0.2, 1, 3)),
    "cylinder": lambda r: Cylinder(*r.uniform(0.3, 1.5, 2)),
    "cone": lambda r: Cone(*r.uniform(0.3, 1.5, 2)),
    "ellipsoid": lambda r: Ellipsoid(*r.uniform(0.2, 1, 3)),
}


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    """(3, 3), of determinant one."""
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.linalg.det(q)


def placed(*parts: tuple[Any, Any, Any]) -> tables.Collision:
    """Tables of (shape, position, rotation), each on a body of its own."""
    collision = make_collision([Solid(shape, i) for i, (shape, _, _) in enumerate(parts)])
    for place, collider, (_, position, rotation) in zip(collision.places, collision.colliders, parts, strict=True):
        place["x"][:] = position
        place["rotation"][:] = np.asarray(rotation, float).ravel()
        place["lower"][:] = place["x"] - collider["radius"]
        place["upper"][:] = place["x"] + collider["radius"]
    return collision


def random_pair(kind_a: str, kind_b: str, rng: np.random.Generator) -> tables.Collision:
    """Two shapes about 1 m wide, apart by up to 3 m: about as many overlap as do not."""
    offset = rng.normal(size=3) * rng.uniform(0.1, 1.5)
    return placed(
        (KINDS[kind_a](rng), (0, 0, 0), random_rotation(rng)), (KINDS[kind_b](rng), offset, random_rotation(rng))
    )


def support_height(collision: tables.Collision, i: int, n: np.ndarray) -> float:
    """The largest n · x over a collider."""
    collider, place = collision.colliders[i], collision.places[i]
    u = place["rotation"].reshape(3, 3).T @ n
    r, half, _ = size = collider["size"]
    across = np.hypot(u[0], u[1])
    first = collider["first_vertex"]
    corners = collision.vertices.reshape(-1, 3)[first : first + collider["vertices"]]
    height = {
        kinds.SPHERE: lambda: r,
        kinds.CAPSULE: lambda: r + half * abs(u[2]),
        kinds.BOX: lambda: size @ abs(u),
        kinds.HULL: lambda: (corners @ u).max(),
        kinds.CYLINDER: lambda: r * across + half * abs(u[2]),
        kinds.CONE: lambda: max(half * u[2], r * across - half * u[2]),
        kinds.ELLIPSOID: lambda: np.linalg.norm(size * u),
    }[int(collider["kind"])]()
    return float(height + n @ place["x"])


def gap_along(collision: tables.Collision, n: np.ndarray) -> float:
    """How far collider 1 is beyond collider 0 along n: at most their distance, and equal to it for the best n only."""
    return -support_height(collision, 1, -n) - support_height(collision, 0, n)


def coal_distance(coal: Any, collision: tables.Collision) -> tuple[float, np.ndarray]:
    """(signed distance, normal) by coal, as precisely as it can."""
    geometry = [_coal_shape(coal, collision, collider) for collider in collision.colliders]
    pose = [coal.Transform3s(place["rotation"].reshape(3, 3).copy(), place["x"].copy()) for place in collision.places]
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = 1e-10
    request.gjk_max_iterations = request.epa_max_iterations = 500
    distance = coal.distance(geometry[0], pose[0], geometry[1], pose[1], request, result)
    return distance, np.array(result.normal)


def _coal_shape(coal: Any, collision: tables.Collision, collider: Any) -> Any:
    first = collider["first_vertex"]
    r, half, _ = size = collider["size"].copy()
    corners = coal.StdVec_Vec3s()
    for corner in collision.vertices.reshape(-1, 3)[first : first + collider["vertices"]]:
        corners.append(corner)
    return {
        kinds.SPHERE: lambda: coal.Sphere(r),
        kinds.CAPSULE: lambda: coal.Capsule(r, 2 * half),
        kinds.BOX: lambda: coal.Box(*(2 * size)),
        kinds.HULL: lambda: coal.ConvexBase.convexHull(corners, False, ""),
        kinds.CYLINDER: lambda: coal.Cylinder(r, 2 * half),
        kinds.CONE: lambda: coal.Cone(r, 2 * half),
        kinds.ELLIPSOID: lambda: coal.Ellipsoid(*size),
    }[int(collider["kind"])]()
