"""Collision detection of one step: poses and boxes → pairs → manifolds → contact points.

The narrow phase of each family of pairs is a C function of its own (`narrow`), reached by its address, so that only those
a scene needs are compiled.
"""

import ctypes
import math

import numpy as np

from ..board import COLLIDE_JOBS, COLLISION_DESK, FUNCTIONS, share
from ..jit import DISABLED, CFunction, njit
from ..model.tables import STATE_SIZE
from ..pointer import C_SIGNATURE, C_TYPE, call_pointer, view, viewer
from ..tables import address_table, table_at
from ..team import Team
from ..vec import cross, dot, load3, perpendicular, store3, sub
from .bounds import place_colliders
from .broad import find_pairs
from .build import with_room
from .detector_fields import with_pairs
from .islands import order_contacts
from .kept import impulse_before, keep_impulse
from .narrow import Narrow, family_of
from .pair_table import search
from .sleep import wake_touched
from .tables import (
    AWAKE,
    FIRST_PAIR,
    NEED_CONTACTS,
    NEED_PAIRS,
    NEED_ROOM,
    NEED_STRIPS,
    PAIRS,
    SKIPPED,
    Collision,
)

_floats = viewer(np.float64)
_addresses = viewer(np.int64)
NOT_FINITE = 2  # status: a pose is not a number
MEET, MEET_WOKEN, WRITE = -1, -2, -3  # kinds of jobs; no number of bodies
A_CHUNK = 16  # pairs


@njit
def detect(y, bodies, margin, collision):
    """Fill `contacts` from the poses in y: every point where two colliders are nearer than `margin` (m), or than they may
    come on their ways (`travel`); in the order that `islands` tells.

    Impulses of the step before stand in the contacts, by feature. Returns 0, NEED_ROOM or NOT_FINITE.
    """
    if place_colliders(y, bodies, 0.5 * margin, collision) >= 0:
        return NOT_FINITE
    if find_pairs(bodies, collision) != 0:
        return NEED_ROOM
    board, pairs = collision.board, collision.counts[PAIRS]
    share(board, COLLIDE_JOBS, MEET, 0, pairs, A_CHUNK)
    while wake_touched(bodies, collision):
        share(board, COLLIDE_JOBS, MEET_WOKEN, 0, pairs, A_CHUNK)
    if order_contacts(bodies, collision) != 0:
        return NEED_ROOM
    share(board, COLLIDE_JOBS, WRITE, 0, pairs, A_CHUNK)
    return 0


@njit
def do_job(kind, begin, end, data, collision):
    """Pairs begin … end of this step: their narrow phase, that of those that have slept, or their contacts."""
    first, manifolds = collision.counts[FIRST_PAIR], collision.manifolds
    for k in range(begin, end):
        pair = collision.pairs[first + k]
        if kind == WRITE:
            if manifolds[k].points > 0:
                write_contacts(pair, first + k, manifolds[k], collision)
        elif kind == MEET or manifolds[k].points == SKIPPED:
            meet(pair, first + k, manifolds[k], data, collision)


@njit
def meet(pair, number, found, data, collision):
    """The narrow phase of a pair, unless nothing in it moves: what it found becomes `found`."""
    functions = collision.functions
    manifold = collision.manifold[0]
    one, two = collision.colliders[pair.a], collision.colliders[pair.b]
    if collision.asleep[one.body] != AWAKE and collision.asleep[two.body] != AWAKE:
        found.points = SKIPPED
        return
    reach = collision.places[pair.a].reach + collision.places[pair.b].reach
    family = family_of(one.kind, two.kind)
    found.points = call_pointer(functions[family], data, number, reach, functions, functions)
    if found.points <= 0:
        pair.points = 0
        return
    store3(found.normal, load3(manifold.normal))
    for k in range(found.points):
        found.feature[k], found.separation[k] = manifold.feature[k], manifold.separation[k]
        for c in range(3 * k, 3 * k + 3):
            found.position[c] = manifold.position[c]


@njit
def write_contacts(pair, number, manifold, collision):
    """One contact a point of the manifold, with the impulse that the same feature bore in the step before."""
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
        before = impulse_before(pair, manifold.feature[k])
        store3(contact.impulse, (dot(normal, before), dot(tangent, before), dot(other, before)))
    pair.points = manifold.points
    for k in range(manifold.points):
        pair.feature[k] = manifold.feature[k]
        keep_impulse(contacts[manifold.first + k], pair)


def combine(one, two):
    """Friction √(μ_a μ_b) and restitution max(e_a, e_b) of two surfaces that no rule is for. For Python; kernels call
    `combined`."""
    return math.sqrt(one.friction * two.friction), max(one.restitution, two.restitution)


combined = njit(combine)


@njit
def coefficients(pair, one, two, count, collision):
    """Friction and restitution of a pair: what a rule says, or what the materials make."""
    if collision.rule_keys.shape[0] > 0:
        found = search(collision.rule_keys, min(pair.a, pair.b) * count + max(pair.a, pair.b))
        if found >= 0:
            return collision.rule_values[2 * found], collision.rule_values[2 * found + 1]
    return combined(one, two)


# Detection, (tables, bodies, margin, y, numbers of it, …), or a job of it, (desk, kind, …, begin, …, end); see `board`.
def evaluate(data, bodies, margin, y, n, nothing, m):
    if bodies < 0:
        tables = _addresses(data, 1)[COLLISION_DESK]
        do_job(bodies, n, m, tables, table_at(Collision, tables))
        return 0
    return detect(_floats(y, n), bodies, margin, table_at(Collision, data))


COMPILED = CFunction(evaluate, C_SIGNATURE)


class Detector:
    """Collision detection behind a C pointer: `address` of the function and `data` to hand it; keeps the arrays alive.

    The pointer's task is the number of bodies, its time the margin.
    """

    def __init__(self, collision: Collision, team: Team | None = None) -> None:
        self.team = team or Team()
        self._narrow = Narrow(collision.colliders.kind, lambda: self.collision)
        collision.functions[:] = self._narrow.addresses
        self._place(collision._replace(board=self.team.board))
        if DISABLED:
            self._callbacks = C_TYPE(self._call), C_TYPE(self._call_job)
            self.address, job = (int(ctypes.cast(one, ctypes.c_void_p).value or 0) for one in self._callbacks)
        else:
            self.address = job = COMPILED.address
        self.team.board[FUNCTIONS + COLLIDE_JOBS] = job
        self._function = C_TYPE(self.address)

    def _place(self, collision: Collision) -> None:
        """Put the tables on the desks of all threads; each has its own room to work."""
        self.collision = collision
        own = [collision]
        for _ in range(1, self.team.threads):
            more = collision._replace(scratch=collision.scratch.copy(), manifold=collision.manifold.copy())
            if len(collision.trees):  # the row of a mesh shows one facet at a time
                more = more._replace(colliders=collision.colliders.copy())
            own.append(more)
        self._tables = own, [address_table(tables) for tables in own]
        for thread, table in enumerate(self._tables[1]):
            self.team.seat(thread, COLLISION_DESK, int(table.ctypes.data))
        self.data = int(self._tables[1][0].ctypes.data)

    def make_room(self) -> None:
        """After NEED_ROOM: more room, half as much again as was needed."""
        counts = self.collision.counts
        wanted = [int(1.5 * counts[need]) for need in (NEED_PAIRS, NEED_CONTACTS, NEED_STRIPS)]
        self._place(with_room(self.collision, *wanted))

    def hold(self, pairs: int, contacts: int) -> None:
        """Have so many pairs and contacts, whose rows are written next; see `detector_fields`."""
        self._place(with_pairs(self.collision, pairs, contacts))

    def _call(self, data: int, bodies: int, margin: float, y: int, n: int, nothing: int, m: int) -> int:
        return int(detect(view(y, n), bodies, margin, self.collision))

    def _call_job(self, desk: int, kind: int, t: float, nothing: int, begin: int, result: int, end: int) -> int:
        do_job(kind, begin, end, self.data, self.collision)
        return 0

    def __call__(self, y: np.ndarray, margin: float) -> int:
        """Detect once, making room as needed; returns the status."""
        bodies = y.size // STATE_SIZE
        while True:
            status = int(self._function(self.data, bodies, margin, y.ctypes.data, y.size, y.ctypes.data, 0))
            if status != NEED_ROOM:
                return status
            self.make_room()
