"""The facet of a mesh that is nearest to a collider, or overlapped most deeply."""

import math

import numpy as np

from ..kernel import kernel
from ..tables import handed
from .distance import SEPARATION, measure
from .facets import show
from .tables import Collision


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
