"""The tables of a mechanism with contact, and the C functions that read them; see `evaluate`."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from ..collide.detect import Detector
from ..collide.tables import CONTACTS, Collision
from ..collide.tables import NEED_ROOM as MORE_ROOM
from ..core.c_function import (
    C_SIGNATURE,
    C_TYPE,
    COMPLETE,
    COMPLETE_EVALUATED,
    DERIVATIVE,
    EVENT,
    call_pointer,
    view,
    viewer,
)
from ..core.jit import DISABLED, CFunction, inlined, njit
from ..core.math3 import dot, load3, matvec_t, sub
from ..core.simd import load
from ..core.status import ENDS_RUN, NON_FINITE
from ..core.tables import address_table, allocate, table_at
from ..dynamics.kinematics import load9
from ..dynamics.mechanism import Mechanism
from ..model.compile import Model
from ..model.tables import CONSTRAINT_WORK, LEDGER, REACTION_IMPULSE, REACTION_TORQUE, STATE_SIZE, System
from ..scene.shapes.base import BOX, CAPSULE, HALF_SPACE, SPHERE
from .features import OPEN, OPTIONS, RESPOND, SIDE, SLIDING, STICKING, Touching, corners, facets, place_touches
from .resting_contact import complete, contact_forces, free_accelerations, respond

# ----------------------------------------------------------------------------------------------------------------------
# What ends a stretch of smooth motion: one number that is positive until something happens.
#
# It is the least of what must stay positive:
#
#     separation of features that do not touch yet        g > −tiny
#     of contacts that bear no force                      g > −tiny, less than that while they part
#     normal force                                        f_n > −tiny
#     friction where it sticks                            μ f_n − |f_t| > −tiny
#     velocity along the way it slides                    u·d > −tiny
#     distance from the rim of a face or the end of an edge
#
# The slack keeps rounding from being an event, and lets the motion go on from the event just handled.


NEED_ROOM = ENDS_RUN + 50  # status: collision detection needs room

# What the least number is of, in `options.cause`
NOTHING, MEETS, CLOSES, LETS_GO, SLIPS, STOPS, LEAVES = range(7)


@njit
def event_functions(t, y, values, system, collision, touching):
    """values[0] changes sign from + to − when something happens. Returns a status."""
    options = touching.options[0]
    if options.touches > 0:
        status = call_pointer(options.mechanism, options.mechanism_data, DERIVATIVE, t, y, touching.spare)
        if status == 0:
            status = contact_forces(y, touching.spare, system, touching)
        if status != 0:
            return status
        place_touches(options.touches, system, touching)
    options.cause = NOTHING
    least = math.inf
    for k in range(options.touches):
        value, cause = of_touch(touching.touches[k], k < options.active, options, system, touching)
        if value < least:
            least, options.cause = value, cause
    rigid = system.settings[0].rigid
    status = call_pointer(options.detector, options.detector_data, rigid, options.margin, y, y)
    if status != 0:
        return NEED_ROOM if status == MORE_ROOM else NON_FINITE
    value = nearest(collision, touching)
    if value < least:
        least, options.cause = value, MEETS
    values[0] = least
    return 0


@njit
def of_touch(touch, active, options, system, touching):
    """(number, cause) of one contact."""
    if not active or touch.mode == OPEN:
        slack = options.tiny_gap if touch.velocity[0] < 0.0 else 3.0 * options.tiny_gap
        return touch.gap + slack + touch.slack_gap, CLOSES
    least, cause = touch.force[0] + options.tiny_force, LETS_GO
    if touch.mode == STICKING:
        rubs = math.sqrt(touch.force[1] * touch.force[1] + touch.force[2] * touch.force[2])
        value = touch.friction * touch.force[0] - rubs + touch.slack_cone + options.tiny_force
        if value < least:
            least, cause = value, SLIPS
    if touch.mode == SLIDING:
        f, slide = touch.frame, load3(touch.slide)
        value = options.tiny_speed
        value += touch.velocity[1] * dot((f[3], f[4], f[5]), slide) + touch.velocity[2] * dot((f[6], f[7], f[8]), slide)
        if value < least:
            least, cause = value, STOPS
    value = inside(touch.position, system.kinematics[touch.i], touch.first_i, touch.last_i, touching.sides)
    value = min(value, inside(touch.position, system.kinematics[touch.j], touch.first_j, touch.last_j, touching.sides))
    return (value, LEAVES) if value < least else (least, cause)


@inlined
def inside(position, kin, first, last, sides):
    """How far a point is inside of the rim of a feature."""
    local = matvec_t(load9(kin.rotation), sub(load3(position), load3(kin.x)))
    least = math.inf
    for s in range(first, last):
        at = SIDE * s
        least = min(
            least, load(sides, at + 3) - dot((load(sides, at), load(sides, at + 1), load(sides, at + 2)), local)
        )
    return least


@njit
def nearest(collision, touching):
    """The least separation of what collision detection finds, but for the contacts that are known."""
    options = touching.options[0]
    contacts = collision.contacts
    least = options.margin
    for c in range(collision.counts[CONTACTS]):
        contact = contacts[c]
        if contact.separation + options.tiny_gap < least and not known(contact, collision, touching):
            least = contact.separation + options.tiny_gap
    return least


@inlined
def known(contact, collision, touching):
    """Whether a point that was found is one of the touches."""
    options = touching.options[0]
    touches = touching.touches
    pair = collision.pairs[contact.pair]
    for k in range(options.touches):
        touch = touches[k]
        if min(touch.a, touch.b) == min(pair.a, pair.b) and max(touch.a, touch.b) == max(pair.a, pair.b):
            d = sub(load3(contact.position), load3(touch.position))
            if dot(d, d) <= options.near * options.near:
                return True
    return False


# ----------------------------------------------------------------------------------------------------------------------
# A mechanism with contact as a C function: what is integrated, and what is watched meanwhile; see `pointer`.
#
# It does the tasks of the mechanism with the forces of contact in them, and RESPOND; EVENT is what is watched. It is
# handed the
# address of the addresses of three tables: of the system, of contact and of collision detection.


_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def contact_system_task(task, t, y, dydt, system, touching, collision):
    """Do one of the tasks; returns a status."""
    if task == EVENT:
        return event_functions(t, y, dydt, system, collision, touching)
    options = touching.options[0]
    if task in (COMPLETE, COMPLETE_EVALUATED):
        return complete(t, y, dydt, system, touching)
    inner = DERIVATIVE if task == RESPOND else task
    status = call_pointer(options.mechanism, options.mechanism_data, inner, t, y, dydt)
    if status != 0:
        return status
    if task == DERIVATIVE:
        return contact_forces(y, dydt, system, touching)
    if task == RESPOND:
        place_touches(options.touches, system, touching)
        respond(options.touches, system, touching)
        free_accelerations(options.touches, y, dydt, system, touching)
    return 0


def contact_system_entry(data, task, t, y, n, dydt, m):
    at = _addresses(data, 3)
    system, touching, collision = table_at(System, at[0]), table_at(Touching, at[1]), table_at(Collision, at[2])
    return contact_system_task(task, t, _floats(y, n), _floats(dydt, m), system, touching, collision)


CONTACT_SYSTEM_ENTRY = CFunction(contact_system_entry, C_SIGNATURE)


# ----------------------------------------------------------------------------------------------------------------------


class ContactSystem:
    """A mechanism and what touches in it: a C function at `address`, to be handed `data`; keeps the arrays alive.

    ledger : where the entries of contact stand in the state. margin : m, features nearer than this are looked at.
    """

    def __init__(self, mechanism: Mechanism, collision: Collision, size: int, ledger: int, margin: float) -> None:
        self.mechanism, self.detector = mechanism, Detector(collision)
        self.options = np.zeros(1, OPTIONS).view(np.recarray)
        options: Any = self.options[0]
        options.ledger, options.margin = ledger, margin
        options.mechanism, options.mechanism_data = mechanism.address, mechanism.data
        options.detector = self.detector.address
        self._size = size
        self._data = np.zeros(3, np.int64)
        self.data = int(self._data.ctypes.data)
        if DISABLED:
            self._callback = C_TYPE(self._call)
            self.address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
        else:
            self.address = CONTACT_SYSTEM_ENTRY.address
        self._function = C_TYPE(self.address)
        self.tables = self._workspace(0)
        self.place_tables()

    def _workspace(self, touches: int) -> Touching:
        """Tables for so many touches."""
        sizes = {"n": touches, "m": len(self.mechanism.system.bodies), "sides": 0, "state": self._size}
        return allocate(Touching, sizes, options=self.options)

    def place_tables(self) -> None:
        """Write the addresses of all tables where the C functions look for them; after any of them moved."""
        self.options.detector_data = self.detector.data
        tables = (self.mechanism.system, self.tables, self.detector.collision)
        self._addresses = [address_table(table) for table in tables]
        self._data[:] = [table.ctypes.data for table in self._addresses]

    def set_touches(self, touches: np.ndarray, sides: np.ndarray, active: int) -> None:
        """What touches from now on; the first `active` bear force. sides: (m, 4), see `tables`."""
        self.tables = self._workspace(len(touches))._replace(sides=np.ascontiguousarray(sides, float).reshape(-1))
        self.tables.touches[:] = touches
        self.options.touches, self.options.active = len(touches), active
        self.place_tables()

    def make_room(self) -> None:
        """After NEED_ROOM of the watch."""
        self.detector.make_room()
        self.place_tables()

    def detect(self, y: np.ndarray, margin: float) -> Any:
        """The contacts (`collide.tables.CONTACT`) of features nearer than `margin` (m). Raises FloatingPointError."""
        if self.detector(y[: STATE_SIZE * int(self.mechanism.system.settings.rigid[0])], margin) != 0:
            raise FloatingPointError("a pose is not finite")
        self.place_tables()
        collision = self.detector.collision
        return collision.contacts[: int(collision.counts[CONTACTS])]

    def _call(self, data: int, task: int, t: float, y: int, n: int, dydt: int, m: int) -> int:
        tables = (self.mechanism.system, self.tables, self.detector.collision)
        return int(contact_system_task(task, t, view(y, n), view(dydt, m), *tables))

    def __call__(self, task: int, t: float, y: np.ndarray, dydt: np.ndarray) -> int:
        """Do a task on two contiguous float64 arrays; returns a status."""
        return int(self._function(self.data, task, t, y.ctypes.data, y.size, dydt.ctypes.data, dydt.size))

    def look(self, t: float, y: np.ndarray) -> float:
        """The number that is watched, at a state."""
        values = np.zeros(1)
        self(EVENT, t, y, values)
        return float(values[0])


# ----------------------------------------------------------------------------------------------------------------------
# The impulses of an instant on the momenta, and what the audit books of them.


def book_impulse(
    y: np.ndarray, system: System, entry: int, wrench: np.ndarray, impulse: np.ndarray, mean: np.ndarray
) -> None:
    """Add impulses to the momenta in y, at the velocities in the kinematics table.

    entry : where the ledger of contact stands. wrench : (m, 6) N s and N m s on each body or node, joints' answer included.
    impulse, mean : (n, 3) of each contact, and its mean velocity ½ (u + u⁺): their product is the work.
    """
    settings: Any = system.settings[0]
    rigid, block = int(settings.rigid), STATE_SIZE * int(settings.rigid)
    kinematics = system.kinematics[:-1]
    wrench[rigid:, 3:] = 0.0  # nodes do not turn
    y[:block].reshape(-1, STATE_SIZE)[:, 7:] += wrench[:rigid]
    momenta = y[block + 3 * settings.particles : block + 6 * settings.particles].reshape(-1, 3)
    momenta[system.nodes.particle] += wrench[rigid:, :3]
    inverse = kinematics.inverse_inertia[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)
    v = kinematics.v + 0.5 * system.bodies.inverse_mass[:, None] * wrench[:, :3]
    omega = kinematics.omega + 0.5 * np.einsum("ijk,ik->ij", inverse, wrench[:, 3:])
    gained = float(np.sum(wrench[:, :3] * v) + np.sum(wrench[:, 3:] * omega))
    work = np.sum(impulse * mean, axis=0)
    common = y.size - len(LEDGER)
    y[entry] += work[0]
    y[entry + 1] += work[1] + work[2]
    y[common + CONSTRAINT_WORK] += gained - float(work.sum())
    y[common + REACTION_IMPULSE : common + REACTION_IMPULSE + 3] += wrench[:, :3].sum(axis=0)
    moment = np.cross(kinematics.x, wrench[:, :3]) + wrench[:, 3:]
    y[common + REACTION_TORQUE : common + REACTION_TORQUE + 3] += moment.sum(axis=0)


# ----------------------------------------------------------------------------------------------------------------------
# How long the motion can be left alone so that nothing passes through anything unseen.
#
# A step is looked at at its end. There, two things that met within it overlap, unless one is through the other
# already. So a
# step may not take them past their distance and half the thickness of the thinner one, at speeds and accelerations as
# they are, with room to spare.


THICKNESS = 0.5  # what part of it may be passed
SPARE = 2.0  # how much the acceleration may grow meanwhile
LONGEST = 1e6  # s


class ConservativeAdvancement:
    """The speeds and sizes of the colliders of a model. body_radius: (m,) m, of each body about its centre of mass."""

    def __init__(self, collision: Collision, model: Model) -> None:
        colliders = collision.colliders
        self._count = len(model.body_names)
        self._body = np.array(colliders.body)
        self._bounded = np.flatnonzero(colliders.kind != HALF_SPACE)
        self._offset = np.linalg.norm(colliders.position, axis=1)
        self._position = np.array(colliders.position)
        self._rotation = np.array(colliders.rotation).reshape(-1, 3, 3)
        self._radius = np.where(colliders.kind == HALF_SPACE, 0.0, colliders.radius)
        self._thickness = np.array([thickness(collision, c) for c in range(len(colliders))])
        self.body_radius = np.zeros(self._count)
        for c, body in enumerate(self._body):
            if body < self._count:
                self.body_radius[body] = max(self.body_radius[body], self._offset[c] + self._radius[c])
        self._mass = np.array(model.tables["bodies"]["mass"])[: self._count]
        inverse = np.array(model.tables["bodies"]["inverse_inertia"])[: self._count, :3]
        self._inverse = inverse.max(axis=1, initial=0.0)
        self._first, self._second = self._pairs(collision, len(colliders))

    def _pairs(self, collision: Collision, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of colliders that can touch, a half-space second."""
        first, second = np.triu_indices(count, 1)
        barred = np.isin(first * count + second, collision.excluded)
        a, b = self._body[first], self._body[second]
        keep = (a != b) & ~((a >= self._count) & (b >= self._count)) & ~barred
        first, second = first[keep], second[keep]
        planes = collision.colliders.kind == HALF_SPACE
        swap = planes[first]
        return np.where(swap, second, first), np.where(swap, first, second)

    def safe_time(self, y: np.ndarray, dydt: np.ndarray) -> float:
        """Seconds, from the state y with its derivative."""
        if not len(self._first):
            return LONGEST
        state = y[: STATE_SIZE * self._count].reshape(-1, STATE_SIZE)
        rate = dydt[: STATE_SIZE * self._count].reshape(-1, STATE_SIZE)
        turn = self._inverse * np.linalg.norm(state[:, 10:], axis=1)
        velocity = np.vstack([state[:, 7:10] / self._mass[:, None], np.zeros(3)])
        pull = np.vstack([np.nan_to_num(rate[:, 7:10]) / self._mass[:, None], np.zeros(3)])
        twist = self._inverse * np.linalg.norm(np.nan_to_num(rate[:, 10:]), axis=1)
        spin = np.append(turn * self.body_radius, 0.0)
        whirl = np.append((twist + turn**2) * self.body_radius, 0.0)
        a, b = self._body[self._first], self._body[self._second]
        speed = np.linalg.norm(velocity[a] - velocity[b], axis=1) + spin[a] + spin[b]
        push = SPARE * (np.linalg.norm(pull[a] - pull[b], axis=1) + whirl[a] + whirl[b])
        room = self._distances(state) + THICKNESS * np.minimum(
            self._thickness[self._first], self._thickness[self._second]
        )
        # The least time of speed t + push t²/2 = room.
        time = 2.0 * room / np.maximum(speed + np.sqrt(speed * speed + 2.0 * push * room), 1e-300)
        return float(min(time.min(), LONGEST))

    def _distances(self, state: np.ndarray) -> np.ndarray:
        """(pairs,) at most the distances of their spheres, or of a sphere and the half-space; none below zero."""
        x, turned = np.vstack([state[:, :3], np.zeros(3)]), np.vstack([state[:, 3:7], (1.0, 0.0, 0.0, 0.0)])
        q = turned[self._body]
        centre = x[self._body] + rotate(q, self._position)
        normal = rotate(q, self._rotation[:, :, 2])
        apart = centre[self._first] - centre[self._second]
        from_plane = np.sum(apart * normal[self._second], axis=1)
        plane = np.isinf(self._thickness[self._second])
        distance = np.where(plane, from_plane, np.linalg.norm(apart, axis=1))
        return np.maximum(distance - self._radius[self._first] - self._radius[self._second], 0.0)


def rotate(q: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Vectors (n, 3) turned by unit quaternions (n, 4)."""
    t = 2.0 * np.cross(q[:, 1:], a)
    return np.asarray(a + q[:, :1] * t + np.cross(q[:, 1:], t))


def thickness(collision: Collision, c: int) -> float:
    """The radius of a ball that fits into a collider, m; infinite for a half-space."""
    collider = collision.colliders[c]
    if collider.kind == HALF_SPACE:
        return float("inf")
    if collider.kind in (SPHERE, CAPSULE):
        return float(collider["size"][0])
    if collider.kind == BOX:
        return float(min(collider["size"]))
    _, offsets = facets(collision, c)
    return float(max(offsets.min(), 1e-3 * np.ptp(corners(collision, c), axis=0).min()))
