"""What collision detection remembers from one step to the next: the order of its sweep, and its pairs with their impulses."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..checkpoint_fields import LARGE, CheckpointError, Field, columns
from .build import with_room
from .tables import (
    BOX,
    CONTACT,
    CONTACTS,
    DIRECTION,
    EDGE_EDGE,
    FACE_A,
    FACE_B,
    FIRST_PAIR,
    HALF_SPACE,
    MESH,
    PAIR,
    PAIRS,
    POINTS,
    STRIP_AXIS,
    SWEEP_AXIS,
    Collision,
)

AXES = 3  # of a box, each a face and an edge


def with_pairs(collision: Collision, pairs: int, contacts: int) -> Collision:
    """The same with so many pairs and contacts, whose rows are written next."""
    collision.counts[FIRST_PAIR] = collision.counts[PAIRS] = collision.counts[CONTACTS] = 0
    collision = with_room(collision, pairs, contacts, 0)
    collision.counts[PAIRS], collision.counts[CONTACTS] = pairs, contacts
    return collision


def fields_of(collision: Collision) -> list[Field]:
    """Views on all of it, of as many pairs and contacts as there are."""
    counts, colliders = collision.counts, len(collision.colliders)
    first, number = int(counts[FIRST_PAIR]), int(counts[PAIRS])
    pairs = collision.pairs.view(np.ndarray)[first : first + number]
    contacts = collision.contacts.view(np.ndarray)[: int(counts[CONTACTS])]
    bodies = len(collision.linked) - 1
    return [
        Field("axes", counts[SWEEP_AXIS : STRIP_AXIS + 1], -1, 2),
        Field("order", collision.order, 0, colliders - 1),
        Field("pairs", pairs, columns=_of_pairs(colliders, len(collision.facets))),
        Field("contacts", contacts, columns=_of_contacts(bodies)),
    ]


@functools.cache
def _of_pairs(colliders: int, facets: int) -> dict[str, tuple[float, float]]:
    bounds = {
        "a": (0, colliders - 1), "b": (0, colliders - 1), "facet": (0, max(0, facets - 1)), "witness": (0, DIRECTION),
        "points": (0, POINTS), "feature": (-LARGE, LARGE),
    }  # fmt: skip
    return columns(PAIR, bounds)


@functools.cache
def _of_contacts(bodies: int) -> dict[str, tuple[float, float]]:
    found = columns(CONTACT, {"a": (0, bodies), "b": (0, bodies)})
    return {name: bounds for name, bounds in found.items() if name not in ("pair", "point")}


def check(collision: Collision) -> None:
    """Raises CheckpointError for what was written to `fields_of` and cannot be: indices that kernels follow."""
    counts = collision.counts
    first, number = int(counts[FIRST_PAIR]), int(counts[PAIRS])
    pairs, colliders = collision.pairs[first : first + number], collision.colliders
    collision.contacts.pair[: int(counts[CONTACTS])] = collision.contacts.point[: int(counts[CONTACTS])] = 0
    if counts[SWEEP_AXIS] == counts[STRIP_AXIS] >= 0:
        raise CheckpointError("both axes of the sweep are the same")
    unswept = np.isin(colliders.kind[collision.order], (HALF_SPACE, MESH))
    if unswept.any() or len(np.unique(collision.order)) != len(collision.order):
        raise CheckpointError("the order of the sweep is not that of the colliders")
    for side, face in (("a", FACE_A), ("b", FACE_B)):
        own: Any = colliders[pairs[side]]
        axes = np.where(own.kind == BOX, AXES, 0)
        feature, witness = pairs[f"feature_{side}"], pairs.witness
        most = np.where(witness == face, np.maximum(own.faces, axes), np.maximum(own.edges, axes))
        if ((feature >= most) & ((witness == face) | (witness == EDGE_EDGE))).any():
            raise CheckpointError("a pair of colliders remembers a face or an edge that there is not")
