"""The narrow phase, family by family: each a C function (collision tables, number of the pair, margin) → points.

It fills `manifold` and the witness of the pair. Only the families of a scene are compiled.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.c_function import C_SIGNATURE, C_TYPE
from ..core.jit import DISABLED, CFunction, inlined, njit
from ..core.tables import table_at
from ..scene.shapes.base import BOX, CAPSULE, CONE, CYLINDER, HALF_SPACE, HULL, MESH, SPHERE
from .box import box_box
from .curved import DISTANCE_ENTRY as COMPILED_DISTANCE
from .curved import convex_pair, distance
from .mesh import mesh_contact
from .polyhedron import hull_hull
from .round import (
    box_plane,
    capsule_capsule,
    capsule_plane,
    cone_plane,
    convex_plane,
    cylinder_plane,
    hull_plane,
    sphere_box,
    sphere_capsule,
    sphere_plane,
    sphere_sphere,
)
from .tables import BOX_PAIR, CONVEX_PAIR, DISTANCE, FUNCTIONS, HULL_PAIR, MESH_PAIR, PLANE_PAIR, ROUND_PAIR, Collision


@inlined
def family_of(kind_a, kind_b):
    """The family of a pair of kinds, kind_a ≤ kind_b."""
    if kind_b == HALF_SPACE:
        return PLANE_PAIR
    if kind_b == MESH:
        return MESH_PAIR
    if kind_b <= CAPSULE or (kind_a == SPHERE and kind_b == BOX):
        return ROUND_PAIR
    if kind_a == BOX and kind_b == BOX:
        return BOX_PAIR
    if kind_b == HULL and kind_a >= BOX:
        return HULL_PAIR
    return CONVEX_PAIR


@njit
def round_pair(number, margin, collision):
    pair = collision.pairs[number]
    a, b = collision.colliders[pair.a], collision.colliders[pair.b]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    manifold = collision.manifold[0]
    if b.kind == BOX:
        return sphere_box(pair, a, place_a, b, place_b, margin, manifold)
    if a.kind == CAPSULE:
        return capsule_capsule(pair, a, place_a, b, place_b, margin, manifold)
    if b.kind == CAPSULE:
        return sphere_capsule(pair, a, place_a, b, place_b, margin, manifold)
    return sphere_sphere(pair, a, place_a, b, place_b, margin, manifold)


@njit
def box_pair(number, margin, collision):
    pair = collision.pairs[number]
    a, b = collision.colliders[pair.a], collision.colliders[pair.b]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    return box_box(pair, a, place_a, b, place_b, collision.scratch, margin, collision.manifold[0])


@njit
def hull_pair(number, margin, collision):
    pair = collision.pairs[number]
    a, b = collision.colliders[pair.a], collision.colliders[pair.b]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    return hull_hull(
        pair, a, place_a, b, place_b, collision.vertices, collision.faces, collision.edges,
        collision.loops, collision.scratch, margin, collision.manifold[0],
    )  # fmt: skip


@njit
def plane_pair(number, margin, collision):
    pair = collision.pairs[number]
    a, b = collision.colliders[pair.a], collision.colliders[pair.b]
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    manifold, scratch = collision.manifold[0], collision.scratch
    kind = a.kind
    if kind == SPHERE:
        return sphere_plane(pair, a, place_a, b, place_b, margin, manifold)
    if kind == CAPSULE:
        return capsule_plane(pair, a, place_a, b, place_b, margin, manifold)
    if kind == BOX:
        return box_plane(pair, a, place_a, b, place_b, scratch, margin, manifold)
    if kind == HULL:
        return hull_plane(pair, a, place_a, b, place_b, collision.vertices, scratch, margin, manifold)
    if kind == CYLINDER:
        return cylinder_plane(pair, a, place_a, b, place_b, margin, manifold)
    if kind == CONE:
        return cone_plane(pair, a, place_a, b, place_b, margin, manifold)
    return convex_plane(pair, a, place_a, b, place_b, collision.vertices, scratch, margin, manifold)


@njit
def general_pair(data, number, margin, collision):
    """Any other pair; facets of meshes too, as they take the same functions."""
    pair = collision.pairs[number]
    a, b = collision.colliders[pair.a], collision.colliders[pair.b]
    if b.kind == MESH:
        return mesh_contact(pair, margin, collision, collision.functions[DISTANCE], data)
    place_a, place_b = collision.places[pair.a], collision.places[pair.b]
    return convex_pair(
        pair, a, place_a, b, place_b, collision.vertices, collision.faces, collision.loops,
        collision.scratch, margin, collision.manifold[0], collision.functions[DISTANCE], data,
        pair.a * collision.colliders.shape[0] + pair.b,
    )  # fmt: skip


def evaluate_round(data, number, margin, y, n, more, m):
    return round_pair(number, margin, table_at(Collision, data))


def evaluate_box(data, number, margin, y, n, more, m):
    return box_pair(number, margin, table_at(Collision, data))


def evaluate_hull(data, number, margin, y, n, more, m):
    return hull_pair(number, margin, table_at(Collision, data))


def evaluate_plane(data, number, margin, y, n, more, m):
    return plane_pair(number, margin, table_at(Collision, data))


def evaluate_general(data, number, margin, y, n, more, m):
    return general_pair(data, number, margin, table_at(Collision, data))


# Each plain (without the address of the tables) and compiled.
GENERAL = functools.partial(general_pair, 0), CFunction(evaluate_general, C_SIGNATURE)
BY_FAMILY: dict[int, tuple[Any, CFunction]] = {
    ROUND_PAIR: (round_pair, CFunction(evaluate_round, C_SIGNATURE)),
    BOX_PAIR: (box_pair, CFunction(evaluate_box, C_SIGNATURE)),
    HULL_PAIR: (hull_pair, CFunction(evaluate_hull, C_SIGNATURE)),
    PLANE_PAIR: (plane_pair, CFunction(evaluate_plane, C_SIGNATURE)),
    CONVEX_PAIR: GENERAL,
    MESH_PAIR: GENERAL,
    DISTANCE: (distance, COMPILED_DISTANCE),
}


def families(kinds: np.ndarray) -> list[int]:
    """The families of all pairs of colliders of these kinds, and what they call."""
    present = sorted(set(kinds.tolist()))
    plain = getattr(family_of, "py_func", family_of)
    found = {int(plain(a, b)) for a in present for b in present if a <= b and a < HALF_SPACE}
    return sorted(found | {DISTANCE} if found & {CONVEX_PAIR, MESH_PAIR} else found)


class Narrow:
    """The functions of the families that some kinds of colliders need: `addresses`, zero for the others.

    tables : returns the collision tables, for runs without compilation.
    """

    def __init__(self, kinds: np.ndarray, tables: Callable[[], Collision]) -> None:
        self.addresses = np.zeros(FUNCTIONS, np.int64)
        self._callbacks = []
        for family in families(kinds):
            plain, compiled = BY_FAMILY[family]
            if DISABLED:
                callback = C_TYPE(self._caller(plain, tables))
                self._callbacks.append(callback)
                self.addresses[family] = int(ctypes.cast(callback, ctypes.c_void_p).value or 0)
            else:
                self.addresses[family] = compiled.address

    @staticmethod
    def _caller(plain: Callable[..., int], tables: Callable[[], Collision]) -> Callable[..., int]:
        def call(data: int, number: int, margin: float, y: int, n: int, more: int, m: int) -> int:
            return int(plain(number, margin, tables()))

        return call
