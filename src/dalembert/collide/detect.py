"""Collision detection of one step: poses and boxes → pairs → manifolds → contact points.

The narrow phase of each family of pairs is a C function of its own (`narrow_phase`), called through its address, so that only
those a scene needs are compiled. In order: checkpoints; `detect`, the compiled step; `Detector`, its C pointer; the tables of
a scene.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np

from ..core.c_function import C_SIGNATURE, C_TYPE, call_pointer, view, viewer
from ..core.checkpoint_fields import LARGE, CheckpointError, Field, columns
from ..core.jit import DISABLED, CFunction, inlined, njit
from ..core.math3 import add, cross, dot, load3, perpendicular, store3, sub
from ..core.tables import address_table, table_at
from ..core.thread_pool import COLLIDE_JOBS, COLLISION_SLOT, FUNCTIONS, ThreadPool, run_parallel
from ..model.tables import STATE_SIZE
from ..scene.body import Body
from ..scene.contact import Touching, rule_for, rule_table
from ..scene.scene import Scene
from ..scene.shapes.base import BOX, HALF_SPACE, HULL, MESH
from .broad_phase import boxes_meet, find_pairs, meets_facet, place_colliders, place_paired, set_parts
from .build import Solid, kinds_in, make_collision, with_room
from .islands import order_contacts, wake_touched
from .narrow_phase import Narrow, family_of
from .near import LOOK_NEAR, MEET, WRITE_PAIR, detect_near
from .tables import (
    AWAKE,
    CONTACT,
    CONTACTS,
    DIRECTION,
    EDGE_EDGE,
    ENTRY,
    FACE_A,
    FACE_B,
    FAR_AWAY,
    FAT_BOX,
    LAZY,
    LEFT,
    MANIFOLD,
    MET,
    MOVED,
    NEED_CONTACTS,
    NEED_PAIRS,
    NEED_ROOM,
    NEED_STRIPS,
    ORDERED,
    PAIR,
    PAIRS,
    PLACE,
    POINTS,
    SAVE_DETECTION,
    SAVE_PLACES,
    SKIPPED,
    STRIP_AXIS,
    SWEEP_AXIS,
    TOUCH,
    UNSEEN,
    Collision,
    find_key,
    recall_loaded,
    restore_detection,
    save_detection,
    save_places,
    stored_point,
)

# Checkpoints ----------------------------------------------------------------------------------------------------------
# The state of collision detection from one step to the next: the order of its sweep, and its pairs with their impulses.

AXES = 3  # of a box, each a face and an edge


KINDS_OF_ROOM = "room for pairs", "room for contacts", "room for entries"  # of collision detection


def with_pairs(collision: Collision, pairs: int, contacts: int) -> Collision:
    """The same with so many pairs and contacts, whose rows are written next."""
    collision.counts[PAIRS] = collision.counts[CONTACTS] = 0
    collision = with_room(collision, pairs, contacts, 0)
    collision.counts[PAIRS], collision.counts[CONTACTS] = pairs, contacts
    return collision


def fields_of(collision: Collision) -> list[Field]:
    """Views on all of it, of as many pairs and contacts as there are."""
    counts, colliders = collision.counts, len(collision.colliders)
    number = int(counts[PAIRS])
    pairs, manifolds = (table.view(np.ndarray)[:number] for table in (collision.pairs, collision.manifolds))
    contacts = collision.contacts.view(np.ndarray)[: int(counts[CONTACTS])]
    bodies = len(collision.linked) - 1
    return [
        Field("axes", counts[SWEEP_AXIS : STRIP_AXIS + 1], -1, 2),
        Field("met", counts[MET : MET + 1], 0, 1),
        Field("order", collision.order, 0, colliders - 1),
        Field("places", collision.places.view(np.ndarray), columns=columns(PLACE, {"nap": (-1.0, LARGE)})),
        Field("boxes", collision.fat_boxes.view(np.ndarray), columns=columns(FAT_BOX, {"left": (0.0, 1.0)})),
        Field("asked", collision.asked, -FAR_AWAY, FAR_AWAY),
        Field("near planes", collision.near_planes, 0, 1),
        Field("pairs", pairs, columns=_of_pairs(colliders, len(collision.facets))),
        Field("manifolds", manifolds, columns=_of_manifolds()),
        Field("contacts", contacts, columns=_of_contacts(bodies)),
    ]


@functools.cache
def _of_pairs(colliders: int, facets: int) -> dict[str, tuple[float, float]]:
    bounds: dict[str, tuple[float, float]] = {
        "a": (0, colliders - 1), "b": (0, colliders - 1), "facet": (0, max(0, facets - 1)), "witness": (0, DIRECTION),
        "points": (0, POINTS), "stored": (0, POINTS), "left": (0, 4), "feature": (-LARGE, LARGE),
    }  # fmt: skip
    return columns(PAIR, bounds)


@functools.cache
def _of_manifolds() -> dict[str, tuple[float, float]]:
    """The index of the contacts of a manifold is found anew."""
    found = columns(MANIFOLD, {"points": (SKIPPED, POINTS), "feature": (-LARGE, LARGE)})
    return {name: bounds for name, bounds in found.items() if name != "first"}


@functools.cache
def _of_contacts(bodies: int) -> dict[str, tuple[float, float]]:
    within = (0.0, float(bodies))
    found = columns(CONTACT, {"a": within, "b": within})
    return {name: bounds for name, bounds in found.items() if name not in ("pair", "point")}


def check(collision: Collision) -> None:
    """Find what follows from the `fields_of` that were written. Raises CheckpointError for indices that cannot be, which
    kernels follow."""
    counts = collision.counts
    counts[LEFT] = np.count_nonzero(collision.fat_boxes.left)
    pairs, colliders = collision.pairs[: int(counts[PAIRS])], collision.colliders
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


# One step -------------------------------------------------------------------------------------------------------------

_floats = viewer(np.float64)
_addresses = viewer(np.int64)
NOT_FINITE = 2  # status: a pose is not a number
MEET_WOKEN, WRITE = -2, -3  # kinds of jobs, with MEET and WRITE_PAIR; negative, as no number of bodies is
CHUNK = 16  # pairs that a thread takes at a time


@njit
def detect(y, bodies, margin, collision):
    """Fill `contacts` from the poses in y: every point where two colliders are nearer than `margin` (m), or than they may
    come on their paths (`travel`); in the order of islands and colours (`islands.py`).

    The contacts start with the impulses of the step before, by feature. Returns 0, NEED_ROOM or NOT_FINITE.
    """
    counts, job_queue = collision.counts, collision.job_queue
    if place_colliders(y, bodies, 0.5 * margin, collision) >= 0:
        return NOT_FINITE
    changed = counts[LAZY] != 0 and counts[LEFT] != 0
    if find_pairs(bodies, collision) != 0:
        return NEED_ROOM
    if changed and not place_paired(y, bodies, 0.5 * margin, collision):
        return NOT_FINITE
    pairs = counts[PAIRS]
    if run_parallel(job_queue, COLLIDE_JOBS, MEET, 0, pairs, CHUNK) > 0.0:
        counts[ORDERED] = 0
    counts[MET] = 1
    while wake_touched(counts[MOVED], collision):
        run_parallel(job_queue, COLLIDE_JOBS, MEET_WOKEN, 0, pairs, CHUNK)
        counts[ORDERED] = 0
    if counts[ORDERED] == 0:
        set_parts(collision)  # which a saved run does not hold
        if order_contacts(counts[MOVED], collision) != 0:
            return NEED_ROOM
        counts[ORDERED] = 1
    run_parallel(job_queue, COLLIDE_JOBS, WRITE, 0, counts[TOUCH], CHUNK)
    return 0


@njit
def do_job(kind, begin, end, data, collision):
    """Do one job for pairs begin … end: the narrow phase of all (MEET) or of those that have slept (MEET_WOKEN); or for those
    that touch, their contacts (WRITE; WRITE_PAIR, by the numbers of pairs). data : the address of the collision tables.
    Returns 1 where a manifold has another number of points than before, else 0."""
    manifolds, changed = collision.manifolds, 0.0
    for k in range(begin, end):
        if kind == WRITE:
            number = collision.touching[k].pair
            write_contacts(collision.pairs[number], number, manifolds[number], collision)
        elif kind == WRITE_PAIR:
            write_contacts(collision.pairs[k], k, manifolds[k], collision)
        elif kind == MEET or manifolds[k].points == SKIPPED:
            before = manifolds[k].points
            meet(collision.pairs[k], k, manifolds[k], data, collision)
            if manifolds[k].points != before:
                changed = 1.0
    return changed


# In time steps a manifold is kept while the two colliders have moved by no more than `STILL` of the smaller one since it was
# found: the narrow phase itself decides with that tolerance which features touch. Its separations and positions are updated
# to first order in the motion. The contact of a round shape rolls over it, and does not move with any of its points; a force
# that lags behind would drive it on. So manifolds of round shapes are kept only while nothing moves at all.

STILL = 1e-6  # of the radius of the smaller collider


@njit
def meet(pair, number, found, data, collision):
    """The narrow phase of a pair, unless both bodies sleep or hardly anything has moved. Writes `found`, a row of
    `manifolds`."""
    one, two = collision.colliders[pair.a], collision.colliders[pair.b]
    if collision.asleep[one.body] != AWAKE and collision.asleep[two.body] != AWAKE:
        found.points = SKIPPED
        return
    first, second = collision.places[pair.a], collision.places[pair.b]
    reach, moved = first.reach + second.reach, first.moved + second.moved
    pair.drift += moved
    still = collision.still[0] * min(one.radius, two.radius) if has_faces(one.kind) and has_faces(two.kind) else 0.0
    if reach == pair.reach and pair.drift <= still and found.points != SKIPPED:
        if moved > 0.0 and found.points > 0:
            move_manifold(first, second, found)
        return
    pair.drift, pair.reach = 0.0, reach
    if may_touch(pair, two.kind, first, second, collision):
        recall_loaded(pair, collision.manifold[0])
        find_manifold(family_of(one.kind, two.kind), number, reach, found, data, collision)
    else:
        found.points = 0
    pair.points = max(found.points, 0)
    if found.points <= 0:
        pair.stored = 0


@inlined
def has_faces(kind):
    """Whether a collider of this kind touches by corners, edges and faces alone."""
    return kind in (BOX, HULL) or kind >= HALF_SPACE


@inlined
def may_touch(pair, kind, first, second, collision):
    """Whether the boxes of a pair overlap, whose fat boxes do; kind : of the second collider."""
    if kind == MESH:
        return meets_facet(first, second, pair.facet, collision)
    return kind == HALF_SPACE or boxes_meet(first, second)


@njit
def find_manifold(family, number, reach, found, data, collision):
    """Call the function of a family, and copy its manifold to `found`."""
    functions, manifold = collision.functions, collision.manifold[0]
    found.points = max(0, call_pointer(functions[family], data, number, reach, functions, functions))
    if found.points > 0:
        store3(found.normal, load3(manifold.normal))
    for k in range(found.points):
        found.feature[k], found.separation[k] = manifold.feature[k], manifold.separation[k]
        for c in range(3 * k, 3 * k + 3):
            found.position[c] = manifold.position[c]


@njit
def move_manifold(first, second, found):
    """Add n · (u_b − u_a) to the separations of a manifold, and ½ (u_a + u_b) to its positions, with u = `shift` + `turn` ×
    (p − x) of the two places."""
    normal = load3(found.normal)
    for k in range(found.points):
        p = (found.position[3 * k], found.position[3 * k + 1], found.position[3 * k + 2])
        u_a = add(load3(first.shift), cross(load3(first.turn), sub(p, load3(first.x))))
        u_b = add(load3(second.shift), cross(load3(second.turn), sub(p, load3(second.x))))
        found.separation[k] += dot(normal, sub(u_b, u_a))
        for c in range(3):
            found.position[3 * k + c] += 0.5 * (u_a[c] + u_b[c])


@njit
def write_contacts(pair, number, manifold, collision):
    """One contact a point of the manifold, with the impulse of the same feature in the step before."""
    colliders, places, contacts = collision.colliders, collision.places, collision.contacts
    one, two = colliders[pair.a], colliders[pair.b]
    normal = load3(manifold.normal)
    tangent = perpendicular(normal)
    other = cross(normal, tangent)
    friction, restitution = coefficients(pair, one, two, colliders.shape[0], collision)
    for k in range(manifold.points):
        contact = contacts[manifold.first + k]
        position = (manifold.position[3 * k], manifold.position[3 * k + 1], manifold.position[3 * k + 2])
        contact.a, contact.b = one.body, two.body
        contact.pair, contact.point = number, k
        store3(contact.position, position)
        for c in range(3):
            contact.frame[c], contact.frame[3 + c], contact.frame[6 + c] = normal[c], tangent[c], other[c]
        store3(contact.arm_a, sub(position, load3(places[pair.a].centre)))
        store3(contact.arm_b, sub(position, load3(places[pair.b].centre)))
        contact.separation = manifold.separation[k]
        contact.friction, contact.restitution = friction, restitution
        contact.bias = 0.0
        store3(contact.bend, (0.0, 0.0, 0.0))
        recall(contact, pair, stored_point(pair, manifold.feature[k]), normal, tangent, other)


@inlined
def recall(contact, pair, point, normal, tangent, other):
    """Write the impulse of a stored point of a pair to a contact, and its velocity after it; zeros if there is none."""
    zero = (0.0, 0.0, 0.0)
    if point < 0:
        store3(contact.impulse, zero)
        store3(contact.after, (UNSEEN, 0.0, 0.0))
        store3(contact.curve, zero)
        return
    at, to = 3 * point, 8 * point
    impulse, v = (pair.impulse[at], pair.impulse[at + 1], pair.impulse[at + 2]), pair.after
    store3(contact.impulse, (dot(normal, impulse), dot(tangent, impulse), dot(other, impulse)))
    after, curve = (v[to + 1], v[to + 2], v[to + 3]), (v[to + 5], v[to + 6], v[to + 7])
    store3(contact.after, (v[to], dot(tangent, after), dot(other, after)))
    store3(contact.curve, (v[to + 4], dot(tangent, curve), dot(other, curve)))


def combine(one, two):
    """Friction √(μ_a μ_b) and restitution max(e_a, e_b) of two surfaces that no rule is for. For Python; kernels call
    `combined`."""
    return math.sqrt(one.friction * two.friction), max(one.restitution, two.restitution)


combined = njit(combine)


@njit
def coefficients(pair, one, two, count, collision):
    """Friction and restitution of a pair: what a rule says, or what the materials make."""
    if collision.rule_keys.shape[0] > 0:
        found = find_key(collision.rule_keys, min(pair.a, pair.b) * count + max(pair.a, pair.b))
        if found >= 0:
            return collision.rule_values[2 * found], collision.rule_values[2 * found + 1]
    return combined(one, two)


@njit
def save_or_restore(task, collision):
    """SAVE_PLACES, SAVE_DETECTION or RESTORE_DETECTION. Returns 0."""
    if task == SAVE_PLACES:
        save_places(collision)
    elif task == SAVE_DETECTION:
        save_detection(collision)
    else:
        restore_detection(collision)
    return 0


# Detection, (tables, bodies, margin, y, numbers of it, …), that about some bodies, (tables, LOOK_NEAR, margin, y, …), what it
# carries over, (tables, SAVE_DETECTION, …), or a job of it, (slot, kind, …, begin, …, end); see `thread_pool`.
def detect_entry(data, bodies, margin, y, n, nothing, m):
    if bodies == LOOK_NEAR:
        return detect_near(_floats(y, n), margin, table_at(Collision, data))
    if bodies <= SAVE_PLACES:
        return save_or_restore(bodies, table_at(Collision, data))
    if bodies < 0:
        tables = _addresses(data, 1)[COLLISION_SLOT]
        result = _floats(nothing, 1)
        result[0] = max(result[0], do_job(bodies, n, m, tables, table_at(Collision, tables)))
        return 0
    return detect(_floats(y, n), bodies, margin, table_at(Collision, data))


DETECT_ENTRY = CFunction(detect_entry, C_SIGNATURE)


class Detector:
    """Collision detection as a C function: its `address` and the `data` it takes; keeps the arrays alive.

    The task of the function is the number of bodies, its time the margin.
    """

    def __init__(self, collision: Collision, pool: ThreadPool | None = None) -> None:
        self.pool = pool or ThreadPool()
        self._narrow = Narrow(collision.colliders.kind, lambda: self.collision)
        collision.functions[:] = self._narrow.addresses
        self._share(collision._replace(job_queue=self.pool.job_queue))
        if DISABLED:
            self._callbacks = C_TYPE(self._call), C_TYPE(self._call_job)
            self.address, job = (int(ctypes.cast(one, ctypes.c_void_p).value or 0) for one in self._callbacks)
        else:
            self.address = job = DETECT_ENTRY.address
        self.pool.job_queue[FUNCTIONS + COLLIDE_JOBS] = job
        self._function = C_TYPE(self.address)

    def _share(self, collision: Collision) -> None:
        """Give the tables to all threads; each has its own workspace."""
        self.collision = collision
        own = [collision]
        for _ in range(1, self.pool.threads):
            more = collision._replace(scratch=collision.scratch.copy(), manifold=collision.manifold.copy())
            if len(collision.trees):  # the row of a mesh shows one facet at a time
                more = more._replace(colliders=collision.colliders.copy())
            own.append(more)
        self._tables = own, [address_table(tables) for tables in own]
        for thread, table in enumerate(self._tables[1]):
            self.pool.set_slot(thread, COLLISION_SLOT, int(table.ctypes.data))
        self.data = int(self._tables[1][0].ctypes.data)

    def room(self) -> dict[str, int]:
        """How much room there is, by kind."""
        found = self.collision
        lengths = len(found.pairs), len(found.contacts), len(found.entries) // ENTRY
        return dict(zip(KINDS_OF_ROOM, lengths, strict=True))

    def make_room(self, room: dict[str, int] | None = None) -> None:
        """Make at least this much room; after NEED_ROOM half as much again as was needed."""
        counts = self.collision.counts
        wanted = [int(1.5 * counts[need]) for need in (NEED_PAIRS, NEED_CONTACTS, NEED_STRIPS)]
        self._share(with_room(self.collision, *(wanted if room is None else [room[kind] for kind in KINDS_OF_ROOM])))

    def set_counts(self, pairs: int, contacts: int) -> None:
        """Set the numbers of pairs and contacts, whose rows are written next; see `fields_of`."""
        self._share(with_pairs(self.collision, pairs, contacts))

    def _call(self, data: int, bodies: int, margin: float, y: int, n: int, nothing: int, m: int) -> int:
        if bodies == LOOK_NEAR:
            return int(detect_near(view(y, n), margin, self.collision))
        if bodies <= SAVE_PLACES:
            return int(save_or_restore(bodies, self.collision))
        return int(detect(view(y, n), bodies, margin, self.collision))

    def _call_job(self, slot: int, kind: int, t: float, nothing: int, begin: int, result: int, end: int) -> int:
        best = view(result, 1)
        best[0] = max(best[0], do_job(kind, begin, end, self.data, self.collision))
        return 0

    def __call__(self, y: np.ndarray, margin: float) -> int:
        """Detect once, making room as needed; returns the status."""
        bodies = y.size // STATE_SIZE
        while True:
            status = int(self._function(self.data, bodies, margin, y.ctypes.data, y.size, y.ctypes.data, 0))
            if status != NEED_ROOM:
                return status
            self.make_room()


# The tables of a scene ------------------------------------------------------------------------------------------------


def collision_of(scene: Scene) -> Collision:
    """Colliders of all that has a material; which pairs pass through each other, and whose coefficients are special."""
    number = {name: i for i, name in enumerate(scene.bodies)}
    touching = scene.touching()
    solids = [_solid(item, number) for item in touching]
    joined = joined_pairs(scene)
    excluded, rules, table = [], [], rule_table(scene.contact_rules)
    for i, j in _special_pairs(scene, touching, joined):
        a, b = touching[i], touching[j]
        rule = rule_for(table, a, b)
        if not rule.enabled if rule is not None else {a.name, b.name} in joined:
            excluded.append((i, j))
        elif rule is not None and (rule.friction is not None or rule.restitution is not None):
            friction, restitution = combine(a.material, b.material)
            rules.append(
                (i, j, friction if rule.friction is None else rule.friction,
                 restitution if rule.restitution is None else rule.restitution)
            )  # fmt: skip
    kinematic = [i for i, item in enumerate(touching) if isinstance(item, Body) and item.motion is not None]
    held = [i for i, item in enumerate(touching) if not isinstance(item, Body)]
    excluded += [(i, j) for i in kinematic for j in (*kinematic, *held) if i != j]
    count = sum(body.motion is not None for body in scene.bodies.values())
    return make_collision(solids, excluded, rules, len(number), count)


def joined_pairs(scene: Scene) -> set[frozenset[str]]:
    """Names of what a joint connects, or a chain of joints with nothing but links without mass between."""
    found = {frozenset(body.name for body in joint.bodies) for joint in scene.joints.values()}
    for link in scene.links:
        beside = [name for pair in found if link in pair for name in pair if name != link]
        found |= {frozenset(pair) for pair in combinations(beside, 2)}
    return found


def _special_pairs(scene: Scene, touching: list[Touching], joined: set[frozenset[str]]) -> Iterable[tuple[int, int]]:
    """The pairs that may not be as others are: all, where there are rules; else those that joints connect."""
    if scene.contact_rules:
        return combinations(range(len(touching)), 2)
    place = {item.name: i for i, item in enumerate(touching)}
    found = (sorted(place[name] for name in names if name in place) for names in joined)
    return [(pair[0], pair[1]) for pair in found if len(pair) == 2]


def kinds_of(scene: Scene) -> np.ndarray:
    """The kinds of colliders that `collision_of` makes, once each."""
    return np.array(sorted({kind for item in scene.touching() for kind in kinds_in(item.shape)}), np.int64)


def _solid(item: Touching, number: dict[str, int]) -> Solid:
    """A body's frame is at its centre of mass; an obstacle's body is the world."""
    if isinstance(item, Body):
        return Solid(item.shape, number[item.name], -item.center, material=item.material)
    return Solid(item.shape, len(number), item.position, item.orientation, item.material)
