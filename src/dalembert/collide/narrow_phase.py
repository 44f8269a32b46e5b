"""The narrow phase: one C function for each family of shape pairs, (collision tables, index of the pair, margin) →
points.

It writes `manifold` and the witness of the pair. Only the families that a scene needs are compiled.
"""

from __future__ import annotations

import ctypes
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
    """Spheres and capsules with each other, or a sphere with a box. Fills the manifold of pair `number`; returns its points,
    as all functions of families do."""
    pair = collision.pairs[number]
    kind_a, kind_b = collision.colliders[pair.a].kind, collision.colliders[pair.b].kind
    if kind_b == BOX:
        return sphere_box(pair, margin, collision)
    if kind_a == CAPSULE:
        return capsule_capsule(pair, margin, collision)
    if kind_b == CAPSULE:
        return sphere_capsule(pair, margin, collision)
    return sphere_sphere(pair, margin, collision)


@njit
def box_pair(number, margin, collision):
    """Two boxes."""
    return box_box(collision.pairs[number], margin, collision)


@njit
def hull_pair(number, margin, collision):
    """Two hulls, or a box with a hull."""
    return hull_hull(collision.pairs[number], margin, collision)


@njit
def plane_pair(number, margin, collision):
    """Any convex shape with a half-space."""
    pair = collision.pairs[number]
    kind = collision.colliders[pair.a].kind
    if kind == SPHERE:
        return sphere_plane(pair, margin, collision)
    if kind == CAPSULE:
        return capsule_plane(pair, margin, collision)
    if kind == BOX:
        return box_plane(pair, margin, collision)
    if kind == HULL:
        return hull_plane(pair, margin, collision)
    if kind == CYLINDER:
        return cylinder_plane(pair, margin, collision)
    if kind == CONE:
        return cone_plane(pair, margin, collision)
    return convex_plane(pair, margin, collision)


@njit
def general_pair(number, margin, collision):
    """Any other pair; facets of meshes too, as they take the same functions."""
    pair = collision.pairs[number]
    if collision.colliders[pair.b].kind == MESH:
        return mesh_contact(pair, margin, collision)
    return convex_pair(pair, margin, collision)


def round_entry(data, number, margin, y, n, more, m):
    return round_pair(number, margin, table_at(Collision, data))


def box_entry(data, number, margin, y, n, more, m):
    return box_pair(number, margin, table_at(Collision, data))


def hull_entry(data, number, margin, y, n, more, m):
    return hull_pair(number, margin, table_at(Collision, data))


def plane_entry(data, number, margin, y, n, more, m):
    return plane_pair(number, margin, table_at(Collision, data))


def general_entry(data, number, margin, y, n, more, m):
    return general_pair(number, margin, table_at(Collision, data))


# Each in plain Python and compiled.
GENERAL = general_pair, CFunction(general_entry, C_SIGNATURE)
BY_FAMILY: dict[int, tuple[Any, CFunction]] = {
    ROUND_PAIR: (round_pair, CFunction(round_entry, C_SIGNATURE)),
    BOX_PAIR: (box_pair, CFunction(box_entry, C_SIGNATURE)),
    HULL_PAIR: (hull_pair, CFunction(hull_entry, C_SIGNATURE)),
    PLANE_PAIR: (plane_pair, CFunction(plane_entry, C_SIGNATURE)),
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
