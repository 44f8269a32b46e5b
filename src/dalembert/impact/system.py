"""A mechanism with contact by events: the event function, the C function of the whole system, its tables in Python, and the
energy audit of impulses."""

from __future__ import annotations

import ctypes
import math
import operator
from typing import Any

import numpy as np

from ..collide.curved import DISTANCE_ENTRY, distance
from ..collide.detect import Detector
from ..collide.tables import CONTACTS, DISTANCE, Collision
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
from ..dynamics.mechanism import USER_FUNCTION, Mechanism
from ..model.tables import CONSTRAINT_WORK, LEDGER, REACTION_IMPULSE, REACTION_TORQUE, STATE_SIZE
from .features import (
    HOLD_LINES,
    LOOKING,
    OPEN,
    OPTIONS,
    PAIR,
    RESPOND,
    SIDE,
    SLIDING,
    ImpactTables,
    Looking,
    Touching,
    sliding_direction,
    update_touches,
)
from .grazing import LOOK_ENTRY, look_task, place_kinematic
from .resting_contact import (
    compute_responses,
    contact_forces,
    force_across,
    force_margin,
    free_accelerations,
    hold_lines,
    most_angle,
    note_margins,
    project_contacts,
)

# The event function ----------------------------------------------------------------------------------------------------
#
# What ends a stretch of smooth motion: one number that is positive until something happens.
#
# It is the least of what must stay positive:
#
#     separation of features that do not touch yet        g > −tiny
#     of contacts that bear no force                      g > −tiny, less than that while they part
#     normal force                                        f_n > −tiny
#     friction where it sticks                            μ f_n − |f_t| > −tiny
#     velocity along the way it slides                    u·d > −tiny
#     friction across a straight line that it slides on   part of μ f_n − |f_e| > −tiny
#     distance from the rim of a face or the end of an edge
#
# The slack keeps rounding from being an event, and lets the motion go on from the event just handled.


NEED_ROOM = ENDS_RUN + 50  # status: collision detection needs room

# Causes of events, in `options.cause`
NOTHING, MEETS, CLOSES, LETS_GO, SLIPS, STOPS, LEAVES, TURNS = range(8)


@njit
def event_function(t, y, values, tables):
    """values[0] changes sign from + to − at an event; `options.cause` says of what kind. Returns a status."""
    touching = tables.touching
    options = touching.options[0]
    if place_kinematic(t, y, tables.system) != 0:
        return USER_FUNCTION
    if options.touches > 0:
        status = call_pointer(options.mechanism, options.mechanism_data, DERIVATIVE, t, y, touching.spare)
        if status == 0:
            status = contact_forces(y, touching.spare, tables)
        if status != 0:
            return status
        update_touches(options.touches, tables)
        note_margins(True, touching)
    options.cause, options.which = NOTHING, -1
    least = math.inf
    for k in range(options.touches):
        value, cause = event_of_touch(touching.touches[k], k < options.active, options, tables)
        if value < least:
            least, options.cause, options.which = value, cause, k
    rigid = tables.system.settings[0].rigid
    status = call_pointer(options.detector, options.detector_data, rigid, options.margin, y, y)
    if status != 0:
        return NEED_ROOM if status == MORE_ROOM else NON_FINITE
    value = least_separation(tables)
    if value < least:
        least, options.cause, options.which = value, MEETS, -1
    values[0] = least
    return 0


@njit
def event_of_touch(touch, active, options, tables):
    """(least number, its cause) of one contact."""
    if not active or touch.mode == OPEN:
        slack = options.tiny_gap if touch.velocity[0] < 0.0 else 3.0 * options.tiny_gap
        return touch.gap + slack + touch.slack_gap, CLOSES
    least, value = force_margin(touch, options)
    cause = LETS_GO
    if value < least:
        least, cause = value, SLIPS
    if touch.mode == SLIDING:
        f, slide = touch.frame, load3(touch.slide)
        value = options.tiny_speed + touch.slack_slide
        value += touch.velocity[1] * dot((f[3], f[4], f[5]), slide) + touch.velocity[2] * dot((f[6], f[7], f[8]), slide)
        if value < least:
            least, cause = value, STOPS
        if touch.straight != 0:
            d = sliding_direction(touch, options.tiny_speed)
            across = abs(force_across(touch, d))
            value = (
                most_angle(touch, options.tiny_speed) * touch.friction * touch.force[0] - across + options.tiny_force
            )
            if value < least:
                least, cause = value, TURNS
    value = distance_inside(
        touch.position, tables.system.kinematics[touch.i], touch.first_i, touch.last_i, tables.touching.sides
    )
    value = min(
        value,
        distance_inside(
            touch.position, tables.system.kinematics[touch.j], touch.first_j, touch.last_j, tables.touching.sides
        ),
    )
    value += touch.slack_rim
    return (value, LEAVES) if value < least else (least, cause)


@inlined
def distance_inside(position, kin, first, last, sides):
    """The distance of a point (world) from the rim of a feature, positive inside."""
    local = matvec_t(load9(kin.rotation), sub(load3(position), load3(kin.x)))
    least = math.inf
    for s in range(first, last):
        at = SIDE * s
        least = min(
            least, load(sides, at + 3) - dot((load(sides, at), load(sides, at + 1), load(sides, at + 2)), local)
        )
    return least


@njit
def least_separation(tables):
    """The least separation of the points of collision detection that are no touches."""
    options = tables.touching.options[0]
    contacts = tables.collision.contacts
    least = options.margin
    for c in range(tables.collision.counts[CONTACTS]):
        contact = contacts[c]
        value = contact.separation + options.tiny_gap + options.slack
        if value < least and not is_known(contact, tables) and can_move(contact, tables.system):
            least = value
    return least


@inlined
def can_move(contact, system):
    """Whether a contact can move one of its bodies: not those between what moves by command and obstacles."""
    if system.commands.shape[0] == 0:
        return True
    rigid, bodies = system.settings[0].rigid, system.bodies
    a, b = contact.a, contact.b
    return (a < rigid and bodies[a].inverse_mass > 0.0) or (b < rigid and bodies[b].inverse_mass > 0.0)


@inlined
def is_known(contact, tables):
    """Whether a point of collision detection is one of the touches."""
    options = tables.touching.options[0]
    touches = tables.touching.touches
    pair = tables.collision.pairs[contact.pair]
    for k in range(options.touches):
        touch = touches[k]
        if min(touch.a, touch.b) == min(pair.a, pair.b) and max(touch.a, touch.b) == max(pair.a, pair.b):
            d = sub(load3(contact.position), load3(touch.position))
            if dot(d, d) <= options.near * options.near:
                return True
    return False


# The C function --------------------------------------------------------------------------------------------------------
#
# It does the tasks of the mechanism with the forces of contact in them, RESPOND, and EVENT, the event function. Its `data`
# is the address of `ImpactTables`.


_floats = viewer(np.float64)


@njit
def contact_system_task(task, t, y, dydt, tables):
    """Do one of the tasks for the state y; writes dydt and the tables. Returns a status."""
    if task == EVENT:
        return event_function(t, y, dydt, tables)
    options = tables.touching.options[0]
    if task in (COMPLETE, COMPLETE_EVALUATED):
        return project_contacts(t, y, dydt, tables)
    inner = DERIVATIVE if task in (RESPOND, HOLD_LINES) else task
    status = call_pointer(options.mechanism, options.mechanism_data, inner, t, y, dydt)
    if status != 0:
        return status
    if task in (DERIVATIVE, HOLD_LINES):
        status = contact_forces(y, dydt, tables)
        note_margins(False, tables.touching)
        if task == HOLD_LINES and status == 0:
            hold_lines(tables.touching)
        return status
    if task == RESPOND:
        update_touches(options.touches, tables)
        compute_responses(options.touches, tables)
        free_accelerations(options.touches, y, dydt, tables)
    return 0


def contact_system_entry(data, task, t, y, n, dydt, m):
    return contact_system_task(task, t, _floats(y, n), _floats(dydt, m), table_at(ImpactTables, data))


CONTACT_SYSTEM_ENTRY = CFunction(contact_system_entry, C_SIGNATURE)


# Its tables ------------------------------------------------------------------------------------------------------------


class ContactSystem:
    """A mechanism and its contacts: a C function at `address` with its `data`, and one at `look` that looks into steps, with
    the same; keeps the arrays alive.

    ledger : where the entries of contact stand in the state. margin : m, within which collision detection finds features.
    """

    def __init__(self, mechanism: Mechanism, collision: Collision, size: int, ledger: int, margin: float) -> None:
        self.mechanism, self.detector = mechanism, Detector(collision)
        self.options = np.zeros(1, OPTIONS).view(np.recarray)
        options: Any = self.options[0]
        options.ledger, options.margin = ledger, margin
        options.mechanism, options.mechanism_data = mechanism.address, mechanism.data
        options.detector = self.detector.address
        self._size = size
        self._data = np.zeros(2 * len(ImpactTables._fields), np.int64)
        self.data = int(self._data.ctypes.data)
        if DISABLED:
            self._callbacks = [C_TYPE(call) for call in (self._call, self._call_look, self._call_distance)]
            own = [int(ctypes.cast(one, ctypes.c_void_p).value or 0) for one in self._callbacks]
        else:
            own = [entry.address for entry in (CONTACT_SYSTEM_ENTRY, LOOK_ENTRY, DISTANCE_ENTRY)]
        self.address, self.look, collision.functions[DISTANCE] = own
        self._function = C_TYPE(self.address)
        self.tables = self._workspace(0)
        looking = np.zeros(1, LOOKING)
        looking["system"] = self.address
        sizes = {"n": 0, "colliders": len(collision.colliders)}
        self.looking, self._count = allocate(Looking, sizes, options=looking.view(np.recarray)), looking["count"]
        self._written = ImpactTables(None, None, None, None)  # those whose addresses are in `data`
        self.update_addresses()

    def _workspace(self, touches: int) -> Touching:
        """Tables for so many touches."""
        system = self.mechanism.system
        sizes = {
            "n": touches,
            "m": len(system.bodies),
            "sides": 0,
            "state": self._size,
            "unknowns": len(system.multipliers),
        }
        return allocate(Touching, sizes, options=self.options)

    @property
    def all_tables(self) -> ImpactTables:
        """Those of mechanism, contacts and collision detection."""
        return ImpactTables(self.mechanism.system, self.tables, self.detector.collision, self.looking)

    def update_addresses(self) -> None:
        """Write the addresses of all tables to `data` if any of them moved."""
        tables = self.all_tables
        if self.options.detector_data[0] == self.detector.data and all(map(operator.is_, tables, self._written)):
            return
        self.options.detector_data = self.detector.data
        self._written, self._addresses = tables, address_table(tables)
        self._data[:] = self._addresses

    def set_touches(self, touches: np.ndarray, sides: np.ndarray, active: int) -> None:
        """Replace the touches; the first `active` bear force. sides: (m, 4), see `features`."""
        flat = np.ascontiguousarray(sides, float).reshape(-1)
        if len(touches) != len(self.tables.touches) or len(flat) != len(self.tables.sides):
            self.tables = self._workspace(len(touches))._replace(sides=flat)
            self.update_addresses()
        self.tables.sides[:] = flat
        self.tables.touches[:] = touches
        self.options.touches, self.options.active = len(touches), active

    def set_pairs(self, first: np.ndarray, second: np.ndarray) -> None:
        """Choose the pairs of colliders that are looked at within steps, a half-space second."""
        count = len(first)
        if count > len(self.looking.pairs):
            self.looking = self.looking._replace(pairs=np.zeros(2 * count, PAIR).view(np.recarray))
            self.update_addresses()
        if count:
            pairs = self.looking.pairs.view(PAIR, np.ndarray)[:count]
            pairs["a"], pairs["b"], pairs["normal"] = first, second, 0.0
        self._count[0] = count

    def make_room(self) -> None:
        """Grow the tables of collision detection after NEED_ROOM."""
        self.detector.make_room()
        self.update_addresses()

    def detect(self, y: np.ndarray, margin: float) -> Any:
        """The contacts (`collide.tables.CONTACT`) of features nearer than `margin` (m). Raises FloatingPointError."""
        if self.detector(y[: STATE_SIZE * int(self.mechanism.system.settings.rigid[0])], margin) != 0:
            raise FloatingPointError("a pose is not finite")
        self.update_addresses()
        collision = self.detector.collision
        return collision.contacts[: int(collision.counts[CONTACTS])]

    def _call(self, data: int, task: int, t: float, y: int, n: int, dydt: int, m: int) -> int:
        return int(contact_system_task(task, t, view(y, n), view(dydt, m), self.all_tables))

    def _call_look(self, data: int, task: int, t: float, y: int, n: int, out: int, m: int) -> int:
        return int(look_task(task, t, view(y, n), view(out, m), self.all_tables))

    def _call_distance(self, data: int, number: int, bound: float, *_: int) -> int:
        return int(distance(number, bound, self.detector.collision))

    def __call__(self, task: int, t: float, y: np.ndarray, dydt: np.ndarray) -> int:
        """Do a task on two contiguous float64 arrays; returns a status."""
        return int(self._function(self.data, task, t, y.ctypes.data, y.size, dydt.ctypes.data, dydt.size))

    def event_value(self, t: float, y: np.ndarray) -> float:
        """The event function at a state."""
        values = np.zeros(1)
        self(EVENT, t, y, values)
        return float(values[0])


# Impulses on the momenta, and the energy audit -------------------------------------------------------------------------


def book_impulse(
    y: np.ndarray, tables: ImpactTables, wrench: np.ndarray, impulse: np.ndarray, mean: np.ndarray
) -> None:
    """Add impulses to the momenta in y, at the velocities in the kinematics table.

    wrench : (m, 6) N s and N m s on each body or node, joints' answer included. impulse, mean : (n, 3) of each contact, and
    its mean velocity ½ (u + u⁺): their product is the work.
    """
    system = tables.system
    settings: Any = system.settings[0]
    rigid, block = int(settings.rigid), STATE_SIZE * int(settings.rigid)
    kinematics = system.kinematics[:-1]
    wrench[rigid:, 3:] = 0.0  # nodes do not turn
    inverse = kinematics.inverse_inertia[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)
    v = kinematics.v + 0.5 * system.bodies.inverse_mass[:, None] * wrench[:, :3]
    omega = kinematics.omega + 0.5 * np.einsum("ijk,ik->ij", inverse, wrench[:, 3:])
    gained = np.sum(wrench[:, :3] * v, axis=1) + np.sum(wrench[:, 3:] * omega, axis=1)
    work = np.sum(impulse * mean, axis=0)
    entry, common = int(tables.touching.options.ledger[0]), y.size - len(LEDGER)
    y[entry] += work[0]
    y[entry + 1] += work[1] + work[2]
    y[common + CONSTRAINT_WORK] += float(gained.sum()) - float(work.sum())
    if len(system.commands):
        _book_drives(y, tables, gained, impulse)
        wrench = np.where(np.isin(np.arange(len(wrench)), system.commands.body)[:, None], 0.0, wrench)
    y[:block].reshape(-1, STATE_SIZE)[:, 7:] += wrench[:rigid]
    momenta = y[block + 3 * settings.particles : block + 6 * settings.particles].reshape(-1, 3)
    momenta[system.nodes.particle] += wrench[rigid:, :3]
    y[common + REACTION_IMPULSE : common + REACTION_IMPULSE + 3] += wrench[:, :3].sum(axis=0)
    moment = np.cross(kinematics.x, wrench[:, :3]) + wrench[:, 3:]
    y[common + REACTION_TORQUE : common + REACTION_TORQUE + 3] += moment.sum(axis=0)


def _book_drives(y: np.ndarray, tables: ImpactTables, gained: np.ndarray, impulse: np.ndarray) -> None:
    """The work of the drives against impulses (n, 3) of contacts. gained: (m,) J, what these do to each body."""
    system, touches = tables.system, tables.touching.touches
    common = y.size - len(LEDGER)
    first = common - int(system.settings.ledger[0])
    answers = tables.touching.answers.reshape(impulse.size, -1)
    for row in system.commands:
        body, work = int(row.body), 0.0
        if body < 0:
            if row.row >= 0:
                work = -float(impulse.ravel() @ answers[:, row.row]) * float(system.partial[row.row])
        else:
            for k in np.flatnonzero((touches.i == body) | (touches.j == body)):
                force = touches.frame[k].reshape(3, 3).T @ impulse[k]
                work += float(force @ touches.belt_j[k] if touches.j[k] == body else -force @ touches.belt_i[k])
        y[common + CONSTRAINT_WORK] -= work
        y[first + int(row.entry)] += work if body < 0 else work - float(gained[body])
