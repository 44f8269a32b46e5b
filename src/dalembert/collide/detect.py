"""Collision detection of one step: poses and boxes → pairs → manifolds → contact points.

The narrow phase of each family of pairs is a C function of its own (`narrow`), reached by its address, so that only those
a scene needs are compiled.
"""

import ctypes
import math

import numba
import numpy as np

from ..addresses import address_table
from ..jit import CFunction, inlined, njit
from ..model.tables import STATE_SIZE
from ..pointer import C_SIGNATURE, C_TYPE, call_pointer, view, viewer
from ..unchecked import peek
from ..vec import cross, dot, load3, perpendicular, store3, sub
from .bounds import place_colliders
from .broad import find_pairs
from .build import with_room
from .kept import impulse_before, keep_impulse
from .narrow import Narrow, family_of
from .pair_table import search
from .tables import (
    CONTACTS,
    FIRST_PAIR,
    NEED_CONTACTS,
    NEED_PAIRS,
    NEED_ROOM,
    NEED_STRIPS,
    PAIRS,
    Collision,
)
from .tables_of import (
    colliders_of,
    contacts_of,
    counts_of,
    functions_of,
    manifold_of,
    pairs_of,
    places_of,
    rule_keys_of,
    rule_values_of,
)

FIELDS = 2 * len(Collision._fields)
_floats = viewer(np.float64)
_addresses = viewer(np.int64)
NOT_FINITE = 2  # status: a pose is not a number


@njit
def detect(y, bodies, margin, data, collision):
    """Fill `contacts` from the poses in y: every point where two colliders are nearer than `margin` (m), or than they may
    come on their ways (`travel`).

    Impulses of the step before stand in the contacts, by feature. Returns 0, NEED_ROOM or NOT_FINITE.
    """
    if place_colliders(y, bodies, 0.5 * margin, collision) >= 0:
        return NOT_FINITE
    if find_pairs(bodies, collision) != 0:
        return NEED_ROOM
    counts = counts_of(collision)
    pairs = pairs_of(collision)
    colliders = colliders_of(collision)
    functions, places = functions_of(collision), places_of(collision)
    room = contacts_of(collision).shape[0]
    found = 0
    first = counts[FIRST_PAIR]
    for p in range(first, first + counts[PAIRS]):
        pair = pairs[p]
        family = family_of(colliders[pair.a].kind, colliders[pair.b].kind)
        reach = places[pair.a].reach + places[pair.b].reach
        points = call_pointer(functions[family], data, p, reach, y, y)
        if points > 0 and found + points <= room:
            write_contacts(p, found, y, bodies, collision)
        found += points
        if points == 0:
            pair.points = 0
    counts[CONTACTS] = min(found, room)
    if found > room:
        counts[NEED_CONTACTS] = found
        return NEED_ROOM
    return 0


@inlined
def centre(y, body, bodies):
    """Where the arms of a body begin: at its centre of mass; those of the world at the origin."""
    at = STATE_SIZE * body
    return (peek(y, at), peek(y, at + 1), peek(y, at + 2)) if body < bodies else (0.0, 0.0, 0.0)


@njit
def write_contacts(p, at, y, bodies, collision):
    """One contact a point of the manifold, with the impulse that the same feature bore in the step before."""
    pair = pairs_of(collision)[p]
    manifold = manifold_of(collision)[0]
    colliders = colliders_of(collision)
    contacts = contacts_of(collision)
    one, two = colliders[pair.a], colliders[pair.b]
    normal = load3(manifold.normal)
    tangent = perpendicular(normal)
    other = cross(normal, tangent)
    friction, restitution = coefficients(pair, one, two, colliders.shape[0], collision)
    for k in range(manifold.points):
        contact = contacts[at + k]
        position = (manifold.position[3 * k], manifold.position[3 * k + 1], manifold.position[3 * k + 2])
        contact.a, contact.b = one.body, two.body
        contact.pair, contact.point = p, k
        store3(contact.position, position)
        for c in range(3):
            contact.frame[c], contact.frame[3 + c], contact.frame[6 + c] = normal[c], tangent[c], other[c]
        store3(contact.arm_a, sub(position, centre(y, one.body, bodies)))
        store3(contact.arm_b, sub(position, centre(y, two.body, bodies)))
        contact.separation = manifold.separation[k]
        contact.friction, contact.restitution = friction, restitution
        contact.bias = 0.0
        before = impulse_before(pair, manifold.feature[k])
        store3(contact.impulse, (dot(normal, before), dot(tangent, before), dot(other, before)))
    pair.points = manifold.points
    for k in range(manifold.points):
        pair.feature[k] = manifold.feature[k]
        keep_impulse(contacts[at + k], pair)


@njit
def coefficients(pair, one, two, count, collision):
    """Friction and restitution of a pair: geometric mean, and the larger of the two, or what a rule says."""
    keys = rule_keys_of(collision)
    if keys.shape[0] > 0:
        found = search(keys, min(pair.a, pair.b) * count + max(pair.a, pair.b))
        if found >= 0:
            values = rule_values_of(collision)
            return values[2 * found], values[2 * found + 1]
    return math.sqrt(one.friction * two.friction), max(one.restitution, two.restitution)


def evaluate(data, bodies, margin, y, n, nothing, m):
    return detect(_floats(y, n), bodies, margin, data, _addresses(data, FIELDS))


COMPILED = CFunction(evaluate, C_SIGNATURE)


class Detector:
    """Collision detection behind a C pointer: `address` of the function and `data` to hand it; keeps the arrays alive.

    The pointer's task is the number of bodies, its time the margin.
    """

    def __init__(self, collision: Collision) -> None:
        self._narrow = Narrow(collision.colliders.kind, lambda: self.collision)
        collision.functions[:] = self._narrow.addresses
        self._place(collision)
        if numba.config.DISABLE_JIT:
            self._callback = C_TYPE(self._call)
            self.address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
        else:
            self.address = COMPILED.address
        self._function = C_TYPE(self.address)

    def _place(self, collision: Collision) -> None:
        self.collision = collision
        self._table = address_table(collision)
        self.data = int(self._table.ctypes.data)

    def make_room(self) -> None:
        """After NEED_ROOM: more room, half as much again as was needed."""
        counts = self.collision.counts
        wanted = [int(1.5 * counts[need]) for need in (NEED_PAIRS, NEED_CONTACTS, NEED_STRIPS)]
        self._place(with_room(self.collision, *wanted))

    def _call(self, data: int, bodies: int, margin: float, y: int, n: int, nothing: int, m: int) -> int:
        return int(detect(view(y, n), bodies, margin, data, self.collision))

    def __call__(self, y: np.ndarray, margin: float) -> int:
        """Detect once, making room as needed; returns the status."""
        bodies = y.size // STATE_SIZE
        while True:
            status = int(self._function(self.data, bodies, margin, y.ctypes.data, y.size, y.ctypes.data, 0))
            if status != NEED_ROOM:
                return status
            self.make_room()
