"""Builds the tables of collision detection from the shapes of a scene."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.tables import allocate, grow
from ..scene.checks import rotation_matrix
from ..scene.contact import Material
from ..scene.shapes import Box, Compound, ConvexHull, Shape
from ..scene.shapes.base import HALF_SPACE, MESH
from ..scene.shapes.convex_hull import contact_hull
from .gjk import HullTables, hull_tables
from .mesh import MeshTables, join_meshes, mesh_tables
from .tables import (
    AWAKE,
    COLLIDER,
    COUNTS,
    EDGE,
    ENTRY,
    FACE,
    FAR_AWAY,
    FAT_BOX,
    MOVED,
    ORDERED,
    PAIRS,
    STRIP_AXIS,
    SWEEP_AXIS,
    UNMOVED,
    Collision,
)

NO_HULL = (0, 0, 0, 0, 0, 0)


class Solid(NamedTuple):
    """A shape fixed to a body: its pose is that of the shape's frame in the frame of the body (m)."""

    shape: Any
    body: int
    position: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0)
    orientation: Sequence[float] | np.ndarray = (1.0, 0.0, 0.0, 0.0)
    material: Material = Material()


def make_collision(
    solids: Iterable[Solid],
    excluded: Iterable[tuple[int, int]] = (),
    rules: Iterable[tuple[Any, ...]] = (),
    bodies: int | None = None,
    kinematic: int = 0,
) -> Collision:
    """The tables of solids; a compound becomes one collider a part.

    excluded : pairs of numbers of solids that pass through each other.
    rules : (solid, solid, friction, restitution) of pairs whose coefficients are not what their materials make.
    bodies : how many there are, the number of the world; all that the solids name if not given.
    kinematic : how many of them, the last, move by command.
    """
    pieces = [(solid, _pieces(solid)) for solid in solids]
    if bodies is None:
        bodies = max((solid.body for solid, _ in pieces), default=-1) + 1
    parts = _collect(pieces)
    count = len(parts.rows)
    keys = sorted({_key(i, j, count) for a, b in excluded for i in parts.numbers[a] for j in parts.numbers[b]})
    special = sorted(
        {_key(i, j, count): (f, e) for a, b, f, e in rules for i in parts.numbers[a] for j in parts.numbers[b]}.items()
    )
    kinds = [row[0] for row in parts.rows]
    counts = np.zeros(COUNTS, np.int64)
    counts[SWEEP_AXIS], counts[STRIP_AXIS] = -1, -1
    counts[MOVED] = bodies - kinematic
    geometry = _geometry(parts)
    fat = np.zeros(count, FAT_BOX).view(np.recarray)
    fat.lower = fat.lower_before = FAR_AWAY
    fat.upper = fat.upper_before = -FAR_AWAY
    planes = [i for i, kind in enumerate(kinds) if kind == HALF_SPACE]
    bounded = np.array([i for i, kind in enumerate(kinds) if kind < HALF_SPACE], np.int64)
    asked = np.tile([FAR_AWAY] * 3 + [-FAR_AWAY] * 3, 2 * len(geometry["trees"]) * count)
    return with_room(
        allocate(
            Collision,
            {"bodies": bodies, "colliders": count, "pairs": 0, "contacts": 0, "entries": 0},
            colliders=np.array(parts.rows, COLLIDER).view(np.recarray),
            body_of=np.array([row[1] for row in parts.rows], np.int32),
            **geometry,
            leaves=_leaves(geometry["nodes"], len(geometry["facets"])),
            asked=asked,
            near_planes=np.zeros(len(planes) * count, np.int64),
            saved_asked=asked.copy(),
            saved_near_planes=np.zeros(len(planes) * count, np.int64),
            fat_boxes=fat,
            excluded=np.array(keys, np.int64),
            rule_keys=np.array([key for key, _ in special], np.int64),
            rule_values=np.ravel([values for _, values in special]).astype(np.float64),
            order=bounded,
            saved_order=bounded.copy(),
            unbounded=np.array(planes, np.int64),
            counts=counts,
            asleep=np.append(np.full(bodies, AWAKE), UNMOVED),
        ),
        pairs=16 + 4 * count, contacts=64 + 8 * count, entries=16 + 4 * count,
    )  # fmt: skip


def _leaves(nodes: np.ndarray, facets: int) -> np.ndarray:
    """The node of each facet."""
    found, at = np.zeros(facets, np.int64), np.flatnonzero(nodes["facet"] >= 0)
    found[nodes["facet"][at]] = at
    return found


class _Parts(NamedTuple):
    """The colliders of all solids."""

    rows: list[tuple[Any, ...]]  # of COLLIDER
    hulls: list[HullTables]
    meshes: dict[int, MeshTables]  # by collider
    numbers: list[list[int]]  # the colliders of each solid


def _collect(pieces: list[tuple[Solid, list[tuple[Any, np.ndarray, np.ndarray]]]]) -> _Parts:
    """One collider a piece. Boxes get the tables of a hull where there is any hull that they may touch."""
    with_hulls = any(isinstance(shape, ConvexHull) for _, own in pieces for shape, _, _ in own)
    parts, firsts = _Parts([], [], {}, []), [0, 0, 0, 0]
    for solid, own in pieces:
        parts.numbers.append(list(range(len(parts.rows), len(parts.rows) + len(own))))
        for shape, position, rotation in own:
            if shape.surface:
                mesh = parts.meshes[len(parts.rows)] = mesh_tables(*shape.triangles())
                parts.rows.append(_mesh_collider(mesh, solid, position, rotation))
                continue
            cornered = isinstance(shape, ConvexHull) or (with_hulls and isinstance(shape, Box))
            hull = _hull(shape, parts.hulls, firsts) if cornered else NO_HULL
            parts.rows.append(_collider(shape, solid, position, rotation, hull))
    return parts


def _geometry(parts: _Parts) -> dict[str, np.ndarray]:
    """The arrays of hulls and meshes, by the names of their columns; those of meshes come last."""

    def joined(arrays: list[np.ndarray], dtype: Any) -> np.ndarray:
        return np.concatenate([np.zeros(0, dtype), *arrays]).astype(dtype)

    corners = joined([hull.vertices.reshape(-1) for hull in parts.hulls], np.float64)
    faces = joined([hull.faces for hull in parts.hulls], FACE)
    loops = joined([hull.loops for hull in parts.hulls], np.int64)
    meshes = join_meshes(parts.meshes, len(corners) // 3, len(faces), len(loops))
    return {
        "vertices": np.concatenate([corners, meshes.vertices.reshape(-1)]),
        "faces": np.concatenate([faces, meshes.faces]).view(np.recarray),
        "edges": joined([hull.edges for hull in parts.hulls], EDGE).view(np.recarray),
        "loops": np.concatenate([loops, meshes.loops]),
        "facets": meshes.facets.view(np.recarray),
        "sides": meshes.sides.view(np.recarray),
        "rings": meshes.rings.reshape(-1),
        "nodes": meshes.nodes.view(np.recarray),
        "trees": meshes.trees.view(np.recarray),
    }


def with_room(collision: Collision, pairs: int, contacts: int, entries: int) -> Collision:
    """The same with room for at least so many; pairs and their manifolds are copied."""
    if pairs > len(collision.pairs):
        used, before = collision.counts[PAIRS], (collision.pairs, collision.manifolds)
        collision = grow(collision, pairs=pairs)
        collision.pairs[:used], collision.manifolds[:used] = before[0][:used], before[1][:used]
    if contacts > len(collision.contacts):
        collision = grow(collision, contacts=contacts)
    if ENTRY * entries > len(collision.entries):
        collision = grow(collision, entries=entries)
    collision.counts[ORDERED] = 0
    return collision


def _key(i: int, j: int, count: int) -> int:
    """One number for a pair of colliders, smaller first."""
    return min(i, j) * count + max(i, j)


def _pieces(solid: Solid) -> list[tuple[Any, np.ndarray, np.ndarray]]:
    """(convex shape or surface, position, rotation) in the frame of the body; hulls of many corners are simplified."""
    position, rotation = np.asarray(solid.position, float), rotation_matrix(solid.orientation)
    if not isinstance(solid.shape, Compound):
        return [(_simplified(solid.shape), position, rotation)]
    return [
        (_simplified(part.shape), position + rotation @ part.position, rotation @ rotation_matrix(part.orientation))
        for part in solid.shape.parts
    ]


def _simplified(shape: Any) -> Any:
    return contact_hull(shape).hull if isinstance(shape, ConvexHull) else shape


def _hull(shape: Any, hulls: list[HullTables], firsts: list[int]) -> tuple[int, ...]:
    """Append the tables of a shape with corners; returns first and number of its vertices, faces and edges. The two ends of
    its box lie before its vertices.

    firsts : where the next vertex, face, edge and loop goes.
    """
    hull = hull_tables(*shape.triangles())
    hull.faces["first"] += firsts[3]
    rows = (firsts[0] + 2, len(hull.vertices), firsts[1], len(hull.faces), firsts[2], len(hull.edges))
    corners = hull.vertices.reshape(-1, 3)
    hull = hull._replace(vertices=np.vstack([corners.min(axis=0), corners.max(axis=0), corners]))
    hulls.append(hull)
    for k, table in enumerate(hull):
        firsts[k] += len(table)
    return rows


def _collider(
    shape: Any, solid: Solid, position: np.ndarray, rotation: np.ndarray, hull: tuple[int, ...]
) -> tuple[Any, ...]:
    return (
        shape.kind, solid.body, *hull, shape.size(), position, rotation.ravel(), shape.bounding_radius(),
        solid.material.friction, solid.material.restitution,
    )  # fmt: skip


def _mesh_collider(mesh: MeshTables, solid: Solid, position: np.ndarray, rotation: np.ndarray) -> tuple[Any, ...]:
    """Its frame is that of the shape, moved to the centre of the mesh's box."""
    return (
        MESH, solid.body, *NO_HULL, mesh.half, position + rotation @ mesh.center, rotation.ravel(),
        float(np.linalg.norm(mesh.half)), solid.material.friction, solid.material.restitution,
    )  # fmt: skip


def kinds_in(shape: Shape) -> set[int]:
    """The kinds of the colliders that a shape becomes."""
    return {part.shape.kind for part in shape.parts} if isinstance(shape, Compound) else {shape.kind}
