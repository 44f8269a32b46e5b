"""The contact points of a step with the names of what touches, and the forces that they sum to."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..collide.tables import AWAKE, CONTACTS, FIRST_PAIR, PAIRS
from ..scene.contact import Touching
from ..scene.scene import Scene

UNKNOWN = -1  # `pair` of a contact that was restored from a checkpoint
SAME_IMPULSE = 1e-9  # relative: two numbers that are one impulse, computed twice

# A contact point as it is recorded. a, b : which body (its number) or obstacle (the number of bodies and its number among the
# obstacles). manifold : points of one frame with the same number belong to the same two colliders. position : m, world.
# normal : unit, from a to b. separation : m, negative where they overlap. force : N, on b, the mean over the step.
POINT = np.dtype(
    [("a", "i4"), ("b", "i4"), ("manifold", "i4"), ("position", "f8", 3), ("normal", "f4", 3), ("separation", "f4"),
     ("force", "f8", 3)]
)  # fmt: skip
NO_POINTS = np.zeros(0, POINT).view(np.recarray)


class Owners:
    """Whose each collider is: bodies by their numbers, then the obstacles of a scene.

    names : of bodies and obstacles, in that order. of_collider : (colliders,) int64, indices into `names`.
    """

    def __init__(self, scene: Scene) -> None:
        self.names = [*scene.bodies, *scene.obstacles]
        self.bodies = len(scene.bodies)
        place = {name: i for i, name in enumerate(self.names)}
        self.of_collider = np.array(
            [place[item.name] for item in scene.touching() for _ in range(_pieces(item))], np.int64
        )

    def name(self, body: int, a: int, b: int) -> str:
        """The name of a body by its number; of the world, that of the obstacle whose collider is a or b."""
        return self.names[body if body < self.bodies else int(max(self.of_collider[a], self.of_collider[b]))]

    def number(self, name: str) -> int:
        """The index of a name. Raises KeyError for what is neither body nor obstacle."""
        return self.names.index(name)


def _pieces(item: Touching) -> int:
    """How many colliders a body or obstacle becomes: see `collide.build`."""
    return len(getattr(item.shape, "parts", (None,)))


def rows_of(collision: Any) -> Any:
    """The contacts of the last step, (n,) records of `collide.tables.CONTACT`."""
    return collision.contacts[: int(collision.counts[CONTACTS])]


def impulses_of(rows: Any) -> np.ndarray:
    """(n, 3) N s on the second body, world axes."""
    return np.einsum("ij,ijk->ik", rows.impulse, rows.frame.reshape(-1, 3, 3))


def owners_of(rows: Any, collision: Any, owners: Owners) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(a, b, pair) of contacts: indices into `Owners.names`, and the number of the pair of colliders, (n,) each."""
    pair = np.array(rows.pair, np.int64)
    lost = pair == UNKNOWN
    if lost.any():
        pair[lost] = [_pair_of(row, impulse, collision) for row, impulse in zip(rows[lost], impulses_of(rows[lost]))]  # noqa: B905
    found = collision.pairs[pair]
    return owners.of_collider[found.a], owners.of_collider[found.b], pair


def _pair_of(row: Any, impulse: np.ndarray, collision: Any) -> int:
    """The pair of a contact that was restored from a checkpoint: of those of its bodies, the one that remembers its impulse."""
    first = int(collision.counts[FIRST_PAIR])
    pairs = collision.pairs[first : first + int(collision.counts[PAIRS])]
    body = collision.colliders.body
    same = np.flatnonzero((body[pairs.a] == row.a) & (body[pairs.b] == row.b))
    known = pairs.impulse[same].reshape(len(same), -1, 3)
    missed = np.abs(known - impulse).max(axis=2).min(axis=1) > SAME_IMPULSE * np.abs(impulse).max()
    return first + int(same[np.argmin(missed)])


def points_of(collision: Any, owners: Owners, dt: float) -> Any:
    """The points (n,) `POINT` of all pairs that bear force or overlap in the last step, which took dt (s)."""
    rows = rows_of(collision)
    if not len(rows):
        return NO_POINTS
    a, b, pair = owners_of(rows, collision, owners)
    touches = np.zeros(len(collision.pairs), bool)
    touches[pair[(rows.separation <= 0.0) | (rows.impulse != 0.0).any(axis=1)]] = True
    kept = touches[pair]
    rows, pair = rows[kept], pair[kept]
    found = np.zeros(len(rows), POINT).view(np.recarray)
    number = np.cumsum(touches) - 1
    found.a, found.b, found.manifold = a[kept], b[kept], number[pair]
    found.position, found.normal, found.separation = rows.position, rows.frame[:, :3], rows.separation
    found.force = impulses_of(rows) / dt
    return found


def of_sleepers(before: Any, asleep: np.ndarray, owners: Owners) -> Any:
    """Of the points of the frame before, those between bodies that sleep, or of one of them on an obstacle: a step does not
    look at them, and they bear what they bore. asleep : `Collision.asleep`."""
    if not (asleep > AWAKE).any():
        return NO_POINTS
    still = np.ones(len(owners.names), bool)
    still[: owners.bodies] = asleep[: owners.bodies] != AWAKE
    return before[still[before.a] & still[before.b]]


def listed_points(contacts: Any, owners: Owners) -> Any:
    """The same of a list of `Contact`, each a manifold of its own."""
    found = np.zeros(len(contacts), POINT).view(np.recarray)
    for k, (row, contact) in enumerate(zip(found, contacts, strict=True)):
        row.a, row.b, row.manifold = owners.number(contact.a), owners.number(contact.b), k
        row.position, row.normal, row.separation = contact.position, contact.normal, contact.separation
        row.force = contact.force
    return found


def forces_on(points: Any, count: int) -> np.ndarray:
    """(count, 3) N: the sum of the forces of points on each of so many bodies and obstacles."""
    forces = np.zeros((count, 3))
    np.add.at(forces, points.b, points.force)
    np.add.at(forces, points.a, -points.force)
    return forces
