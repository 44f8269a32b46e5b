"""The contact points of a step with the names of the bodies, and the sums of their forces."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..collide.tables import AWAKE, CONTACTS, PAIRS, Collision
from ..core.kernel import array, kernel, out
from ..core.math3 import load3, matvec_t
from ..dynamics.kinematics import load9
from ..scene.contact import Touching
from ..scene.scene import Scene
from .contact_point import NO_POINTS, POINT

UNKNOWN = -1  # `pair` of a contact that was restored from a checkpoint
NOT_SEEN = -1  # the manifold of a pair that neither bears force nor overlaps
SAME_IMPULSE = 1e-9  # relative: two numbers that are one impulse, computed twice


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
    return np.einsum("ij,ijk->ik", rows["impulse"], rows["frame"].reshape(-1, 3, 3))


def owners_of(rows: Any, collision: Any, owners: Owners) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(a, b, pair) of contacts: indices into `Owners.names`, and the number of the pair of colliders, (n,) each."""
    pair = _pairs_of(rows, collision)
    pairs = collision.pairs.view(np.ndarray)
    return owners.of_collider[pairs["a"][pair]], owners.of_collider[pairs["b"][pair]], pair


def _pairs_of(rows: Any, collision: Any) -> np.ndarray:
    """(n,) the numbers of the pairs of colliders of contacts."""
    pair = np.array(rows["pair"], np.int64)
    if len(pair) and pair.min() == UNKNOWN:
        lost = np.flatnonzero(pair == UNKNOWN)
        for i, impulse in zip(lost, impulses_of(rows[lost]), strict=True):
            pair[i] = _pair_of(rows[i], impulse, collision)
    return pair


def _pair_of(row: Any, impulse: np.ndarray, collision: Any) -> int:
    """The pair of a contact that was restored from a checkpoint: of those of its bodies, the one that has its impulse."""
    pairs = collision.pairs[: int(collision.counts[PAIRS])]
    body = collision.colliders.body
    same = np.flatnonzero((body[pairs.a] == row.a) & (body[pairs.b] == row.b))
    known = pairs.impulse[same].reshape(len(same), -1, 3)
    missed = np.abs(known - impulse).max(axis=2).min(axis=1) > SAME_IMPULSE * np.abs(impulse).max()
    return int(same[np.argmin(missed)])


def frame_of(collision: Any, owners: Owners, dt: float, struck: Any) -> dict[str, Any]:
    """What a frame records of the contacts of the last step, which took dt (s): the forces on bodies and on obstacles, N, how
    many contacts there were, and the points (n,) `POINT` of all pairs that bear force or overlap. struck : the impacts in its
    free motion (`tables.STRUCK`), which are contacts too."""
    rows = collision.contacts.view(np.ndarray)[: int(collision.counts[CONTACTS])]  # records are slow to read
    if len(struck):
        return _with_struck(_of_rows(collision, owners, rows, dt), struck.view(np.ndarray), owners, dt)
    return _of_rows(collision, owners, rows, dt)


def _with_struck(frame: dict[str, Any], struck: Any, owners: Owners, dt: float) -> dict[str, Any]:
    """Add impacts in free motion to what a frame records."""
    points, found = frame["contact_points"], np.zeros(len(struck), POINT)
    found["a"], found["b"] = owners.of_collider[struck["a"]], owners.of_collider[struck["b"]]
    found["manifold"] = points["manifold"].max(initial=-1) + 1 + np.arange(len(found))
    found["position"], found["normal"] = struck["position"], struck["frame"][:, :3]
    found["force"] = impulses_of(struck) / dt
    more = forces_on(found, len(owners.names))
    frame["contact_force"] = frame["contact_force"] + more[: owners.bodies]
    if "obstacle_contact_force" in frame:
        frame["obstacle_contact_force"] = frame["obstacle_contact_force"] + more[owners.bodies :]
    return frame | {"contacts": frame["contacts"] + len(found), "contact_points": np.concatenate([points, found])}


def _of_rows(collision: Any, owners: Owners, rows: Any, dt: float) -> dict[str, Any]:
    """What a frame records of the contacts at the middle of a step."""
    forces = np.zeros((len(owners.names), 3))
    if not len(rows):
        return _frame(forces, owners, 0, NO_POINTS)
    pair, manifolds = _pairs_of(rows, collision), np.empty(len(collision.pairs), np.int64)
    count = _sum_contacts(collision, pair, owners.of_collider, forces, manifolds)
    forces /= dt
    found: Any = np.empty(count, POINT).view(np.recarray)
    _write_points(collision, pair, owners.of_collider, dt, manifolds, found)
    return _frame(forces, owners, len(rows), found.view(np.ndarray))


@kernel
def _sum_contacts(
    collision: Collision,
    pair: array(1, np.int64),
    of_collider: array(1, np.int64),
    impulses: out(2),
    manifolds: out(1, np.int64),
) -> int:
    """Add the impulses of contacts to `impulses` (bodies and obstacles, 3), N s, and number the manifolds that bear force or
    overlap, in `manifolds` (pairs,). pair : the pair of each contact. Returns how many points these manifolds have."""
    contacts, pairs = collision.contacts, collision.pairs
    manifolds[:] = NOT_SEEN
    for i in range(pair.shape[0]):
        contact, of_pair = contacts[i], pairs[pair[i]]
        p = matvec_t(load9(contact.frame), load3(contact.impulse))
        a, b = of_collider[of_pair.a], of_collider[of_pair.b]
        for k in range(3):
            impulses[a, k] -= p[k]
            impulses[b, k] += p[k]
        if contact.separation <= 0.0 or contact.impulse[0] != 0.0:
            manifolds[pair[i]] = 0
    number, count = 0, 0
    for k in range(manifolds.shape[0]):
        if manifolds[k] != NOT_SEEN:
            manifolds[k] = number
            number += 1
    for i in range(pair.shape[0]):
        if manifolds[pair[i]] != NOT_SEEN:
            count += 1
    return count


@kernel
def _write_points(
    collision: Collision,
    pair: array(1, np.int64),
    of_collider: array(1, np.int64),
    dt: float,
    manifolds: array(1, np.int64),
    found: out(1, POINT),
) -> None:
    """Write the points of numbered manifolds; the step took dt (s)."""
    contacts, pairs, count = collision.contacts, collision.pairs, 0
    for i in range(pair.shape[0]):
        if manifolds[pair[i]] == NOT_SEEN:
            continue
        contact, of_pair, point = contacts[i], pairs[pair[i]], found[count]
        p = matvec_t(load9(contact.frame), load3(contact.impulse))
        point.a, point.b = of_collider[of_pair.a], of_collider[of_pair.b]
        point.manifold, point.separation = manifolds[pair[i]], contact.separation
        for k in range(3):
            point.position[k], point.normal[k], point.force[k] = contact.position[k], contact.frame[k], p[k] / dt
        count += 1


def _frame(forces: np.ndarray, owners: Owners, contacts: int, points: Any) -> dict[str, Any]:
    on_obstacles = {"obstacle_contact_force": forces[owners.bodies :]} if len(forces) > owners.bodies else {}
    return {"contact_force": forces[: owners.bodies], **on_obstacles, "contacts": contacts, "contact_points": points}


def of_sleepers(before: Any, asleep: np.ndarray, owners: Owners) -> Any:
    """Of the points of the frame before, those between bodies that sleep, or of one of them on an obstacle: a step does not
    look at them, and they bear what they bore. asleep : `Collision.asleep`."""
    if not (asleep > AWAKE).any():
        return NO_POINTS
    still = np.ones(len(owners.names), bool)
    still[: owners.bodies] = asleep[: owners.bodies] != AWAKE
    return before[still[before["a"]] & still[before["b"]]]


def listed_points(contacts: Any, owners: Owners) -> Any:
    """The same of a list of `Contact`, each a manifold of its own."""
    found = np.zeros(len(contacts), POINT)
    for k, (row, contact) in enumerate(zip(found, contacts, strict=True)):
        row["a"], row["b"], row["manifold"] = owners.number(contact.a), owners.number(contact.b), k
        row["position"], row["normal"], row["separation"] = contact.position, contact.normal, contact.separation
        row["force"] = contact.force
    return found


def forces_on(points: Any, count: int) -> np.ndarray:
    """(count, 3) N: the sum of the forces of points on each of so many bodies and obstacles."""
    points = points.view(np.ndarray)
    return sum_on(points["a"], points["b"], points["force"], count)


def sum_on(a: np.ndarray, b: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """(count, 3): the sum of the values (n, 3) where b is each number, less that where a is."""
    ends, sides = np.concatenate([b, a]), np.concatenate([values, -values])
    found = np.empty((count, 3))
    for k in range(3):
        found[:, k] = np.bincount(ends, sides[:, k], count)
    return found
