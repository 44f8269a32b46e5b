"""Rounds of a step of particles and of a step of bodies, until bodies move as the particles assumed.

A stage of particles moves the bodies that they touch, with their inertia and the forces on them. It does not know the
impulses of contacts between bodies, of stops, dry friction and ideal motors, nor, in maximal coordinates, those of
motors and springs of joints. So it assumes their effect on the velocities of bodies, `assumed`. The bodies' own step,
with the forces of the particles, computes the actual effect: the difference of the final velocities is added, and both
steps are repeated from the same state. Without such forces there is one round, and after a stage that is not solved.

With a body at rest on the ground the error shrinks by m/(m + M) a round, m the mass of the particles on it and M its
own. Aitken's factor (B. Irons, R. Tuck, Int. J. Numer. Meth. Eng. 1, 1969) makes one mode exact in two. The next step
starts from this result, so bodies at rest take one round per step.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import CONTACTS
from ..collide.tables import FREE as UNLINKED
from ..contact.joint_space_stepping import JointContactStepper
from ..contact.tables import ContactTables
from ..contact.time_stepping import ContactStepper
from ..core.c_function import C_SIGNATURE, C_TYPE, viewer
from ..core.checkpoint_fields import Field
from ..core.jit import DISABLED, CFunction, njit
from ..core.math3 import add_scaled, congruence, dot, scale, sub, symvec, to_matrix
from ..core.simd import clear, copy, load, store
from ..core.tables import address_table, allocate, column, table_at
from ..dynamics.kinematics import load6
from ..linalg.block_matrix import load_3, store_3
from ..model.compile import Model
from ..model.tables import STATE_SIZE
from .driven import is_driven
from .tables import BODY_ROW, Steps

MOST_ROUNDS = 12
RELATIVE, LEAST = 1e-4, 1e-6  # of what was assumed, and m/s: a smaller error of the velocities ends the rounds
LONGEST = 4.0  # largest factor by Aitken
POOR = 1e-3  # of the forces: a stage that ends with a larger gradient says nothing of what bodies do, and nothing is assumed
BEGIN, AGAIN = range(2)  # tasks: keep the start of a step; compare, and go back there if another round is needed

# `length`: m, that turns ω into a velocity. `soft`: whether motors and springs of joints are not part of a stage. `factor`:
# by Aitken. `made`: rounds. `unsettled`: steps that ended with a larger error than they should, `worst`: the largest, m/s.
COUPLING = np.dtype(
    [("length", "f8"), ("soft", "i8"), ("made", "i8"), ("factor", "f8"), ("unsettled", "i8"), ("worst", "f8")],
    align=True,
)


class Coupling(NamedTuple):
    """What a step of particles and bodies needs to be made again. b bodies."""

    options: Any = column("1", COUPLING)
    places: Any = column("0", np.int64, doc="of what a round changes: address and number of words, one after the other")
    kept: Any = column("0", np.int64, doc="these words as they were")
    before: Any = column("6 * b", unit="m/s, rad/s", doc="velocities of the bodies before the step")
    error: Any = column("6 * b", unit="m/s, rad/s", doc="those after it less what the stage made of them")
    last: Any = column("6 * b", doc="the same of the last round")
    pushed: Any = column("b + 1", np.int64, doc="whether particles push a body, or what joints hold together with it")
    acted: Any = column("b + 1", np.int64, doc="likewise whether something acts on it that is not part of a stage")
    groups: Any = column("b + 1", np.int64, doc="scratch")


if DISABLED:

    def _words(address, count):
        return np.ctypeslib.as_array((ctypes.c_int64 * int(count)).from_address(int(address)))

else:
    _words = viewer(np.int64)


@njit
def keep(coupling):
    """Keep what a round changes."""
    places, kept, at = coupling.places, coupling.kept, 0
    for i in range(0, places.shape[0], 2):
        words = _words(places[i], places[i + 1])
        for k in range(words.shape[0]):
            kept[at + k] = words[k]
        at += words.shape[0]


@njit
def restore(coupling):
    """Put it back."""
    places, kept, at = coupling.places, coupling.kept, 0
    for i in range(0, places.shape[0], 2):
        words = _words(places[i], places[i + 1])
        for k in range(words.shape[0]):
            words[k] = kept[at + k]
        at += words.shape[0]


@njit
def fill_velocities(y, out, system):
    """(v, ω) of all bodies at the state y."""
    bodies = system.bodies
    for i in range(system.settings[0].rigid):
        at = STATE_SIZE * i
        rotation = to_matrix((y[at + 3], y[at + 4], y[at + 5], y[at + 6]))
        inverse = congruence(rotation, load6(bodies[i].inverse_inertia))
        store_3(out, BODY_ROW * i, scale(bodies[i].inverse_mass, load_3(y, at + 7)))
        store_3(out, BODY_ROW * i + 3, symvec(inverse, load_3(y, at + 10)))


@njit
def share_with_group(flags, coupling, collision):
    """Set the flags of all bodies that joints hold together with one that has it set."""
    groups, linked, bodies = coupling.groups, collision.linked, flags.shape[0] - 1
    for i in range(bodies):
        groups[i] = 0
    for i in range(bodies):
        if flags[i] != 0 and linked[i] != UNLINKED:
            groups[linked[i]] = 1
    for i in range(bodies):
        if linked[i] != UNLINKED and groups[linked[i]] != 0:
            flags[i] = 1


@njit
def find_pushed(coupling, system, collision):
    """Fill `pushed`. Returns whether particles push anything."""
    pushed, pushes, some = coupling.pushed, system.pushes, False
    for i in range(pushed.shape[0] - 1):
        pushed[i] = 0
        for k in range(BODY_ROW * i, BODY_ROW * (i + 1)):
            if load(pushes, k) != 0.0:
                pushed[i] = 1
        some = some or pushed[i] != 0
    if some:
        share_with_group(pushed, coupling, collision)
    return some


@njit
def find_acted(coupling, tables):
    """Fill `acted`."""
    acted, collision, stepping = coupling.acted, tables.collision, tables.stepping
    last = acted.shape[0] - 1
    for i in range(last):
        acted[i] = 0
    contacts = collision.contacts
    for i in range(collision.counts[CONTACTS]):
        if contacts[i].impulse[0] != 0.0:
            acted[min(contacts[i].a, last)] = 1
            acted[min(contacts[i].b, last)] = 1
    bounds, soft = stepping.bounds, stepping.soft
    for i in range(bounds.shape[0]):
        if bounds[i].impulse != 0.0:
            acted[min(bounds[i].a, last)] = 1
            acted[min(bounds[i].b, last)] = 1
    for i in range(soft.shape[0] if coupling.options[0].soft != 0 else 0):
        acted[min(soft[i].a, last)] = 1
        acted[min(soft[i].b, last)] = 1
    share_with_group(acted, coupling, collision)


@njit
def find_errors(coupling, steps, system):
    """What bodies do at the end of the step, in `error`, less what the last stage made of them. Returns whether something
    acts on any that particles push; what is assumed of the others is nothing. Kinematic bodies move as they did in it."""
    options, error, moved, assumed = steps.options[0], coupling.error, steps.moved, steps.assumed
    tau, share = options.fraction * options.dt, 1.0 if options.explicit != 0 else options.fraction
    some, zero = False, (0.0, 0.0, 0.0)
    for i in range(system.settings[0].rigid):
        acts = coupling.pushed[i] != 0 and coupling.acted[i] != 0 and not is_driven(i, steps)
        some = some or acts
        for at in range(BODY_ROW * i, BODY_ROW * (i + 1), 3):
            if not acts:
                store_3(error, at, zero)
                store_3(assumed, at, zero)
                continue
            before = load_3(coupling.before, at)
            change = sub(scale(1.0 / tau, load_3(moved, at)), before)
            store_3(error, at, sub(load_3(error, at), add_scaled(before, 1.0 / share, change)))
    return some


@njit
def product(a, b, coupling):
    """a · b of velocities of all bodies, in (m/s)²."""
    total, square = 0.0, coupling.options[0].length ** 2
    for at in range(0, a.shape[0], BODY_ROW):
        total += dot(load_3(a, at), load_3(b, at)) + square * dot(load_3(a, at + 3), load_3(b, at + 3))
    return total


@njit
def relax(coupling):
    """Aitken's factor for the error, from that before it."""
    own, error, last = coupling.options[0], coupling.error, coupling.last
    if own.made > 0:
        before = product(last, last, coupling)
        both = product(last, error, coupling)
        square = product(error, error, coupling) - 2.0 * both + before
        if square > 0.0:
            own.factor = min(max(own.factor * (before - both) / square, 1.0 / LONGEST), LONGEST)
    copy(last, error)


@njit
def is_needed_again(y, coupling, steps, tables):
    """Compare the velocities at the state y with those of the stage, and correct what that assumed. Returns whether to make
    the step again; then all is as before it."""
    system, own, stage = tables.system, coupling.options[0], steps.stage[0]
    poor = steps.options[0].linear == 0 and stage.residual > POOR * stage.typical
    if poor or not find_pushed(coupling, system, tables.collision):
        clear(steps.assumed)
        return False
    find_acted(coupling, tables)
    fill_velocities(y, coupling.error, system)
    if not find_errors(coupling, steps, system):
        return False
    assumed, error = steps.assumed, coupling.error
    relax(coupling)
    size = math.sqrt(product(error, error, coupling))
    small = size <= max(LEAST, RELATIVE * math.sqrt(product(assumed, assumed, coupling)))
    own.made += 1
    steps.options[0].assumes = 1
    finite = size - size == 0.0
    for k in range(assumed.shape[0] if finite else 0):
        store(assumed, k, load(assumed, k) + own.factor * load(error, k))
    if small or own.made == MOST_ROUNDS or not finite:
        own.unsettled += 0 if small else 1
        own.worst = max(own.worst, size)
        return False
    restore(coupling)
    return True


@njit
def rounds_task(task, y, coupling, steps, tables):
    """Do one of the tasks; returns 1 if the step is to be made again."""
    if task == BEGIN:
        keep(coupling)
        fill_velocities(y, coupling.before, tables.system)
        coupling.options[0].made, coupling.options[0].factor = 0, 1.0
        return 0
    return 1 if is_needed_again(y, coupling, steps, tables) else 0


_floats = viewer(np.float64)


# `data`: the addresses of the tables: ours, of the step of particles, and of that of bodies.
def rounds_entry(data, task, t, y, n, nothing, m):
    at = _words(data, 3)
    tables = table_at(Coupling, at[0]), table_at(Steps, at[1]), table_at(ContactTables, at[2])
    return rounds_task(task, _floats(y, n), tables[0], tables[1], tables[2])


ROUNDS_ENTRY = CFunction(rounds_entry, C_SIGNATURE)


class Rounds:
    """Whether steps of particles and bodies are to be made again. particles : their stepper."""

    def __init__(self, model: Model, bodies: ContactStepper, particles: Any) -> None:
        self._bodies, self._particles = bodies, particles
        count = len(model.body_names)
        options: Any = np.zeros(1, COUPLING).view(np.recarray)
        options.length, options.soft = model.length, not isinstance(bodies, JointContactStepper)
        self._tables = allocate(Coupling, {"b": count}, options=options)
        self._known: Any = None
        self._steps: Any = None
        self._y: Any = None

    def _fit(self, y: np.ndarray) -> None:
        """Take the addresses of all that a round changes, where tables are others than the last time: they have grown, but
        what a round changes has as many numbers as before."""
        own, bodies, steps = self._particles, self._bodies, self._particles.steps_tables
        if self._known is bodies.contact_tables and self._steps is steps and self._y is y:
            return
        self._known, self._y, self._steps = bodies.contact_tables, y, steps
        report, commands = own.report, bodies.contact_tables.system.commands
        arrays = [y, report.steps, report.unsolved, report.worst, bodies.report, commands]
        arrays += [steps.before, steps.memory, steps.booked, steps.options.history]
        arrays += [field.values for field in bodies.memory_fields()]
        places = [(array.ctypes.data, array.nbytes // 8) for array in arrays if array.size]
        self._tables = self._tables._replace(places=np.array(places, np.int64).ravel())
        words = sum(count for _, count in places)
        if len(self._tables.kept) != words:
            self._tables = self._tables._replace(kept=np.zeros(words, np.int64))
        if DISABLED:
            return
        self._addresses = address_table(self._tables), address_table(self._steps)
        numbers = [*(int(table.ctypes.data) for table in self._addresses), self._bodies.address_of_tables]
        self._data = np.array(numbers, np.int64)
        self._function = C_TYPE(ROUNDS_ENTRY.address)

    def _call(self, task: int, y: np.ndarray) -> int:
        if DISABLED:
            return int(rounds_task(task, y, self._tables, self._particles.steps_tables, self._bodies.contact_tables))
        return int(self._function(self._data.ctypes.data, task, 0.0, y.ctypes.data, y.size, y.ctypes.data, 0))

    def begin(self, y: np.ndarray) -> None:
        """Keep the start of a step, whose state is y."""
        self._fit(y)
        self._call(BEGIN, y)

    def again(self, y: np.ndarray) -> bool:
        """Compare what was assumed with what happened, at the end of a step. Returns whether to make it again; then all is as
        it was before."""
        self._fit(y)
        repeat = self._call(AGAIN, y) != 0
        if repeat:
            self._bodies.keep_finisher()
        return repeat

    @property
    def unsettled(self) -> int:
        """Steps that ended with a larger error than they should."""
        return int(self._tables.options.unsettled[0])

    @property
    def worst(self) -> float:
        """The largest error that was left, m/s."""
        return float(self._tables.options.worst[0])

    def fields(self) -> list[Field]:
        """What carries over from step to step."""
        return [Field("assumed", self._particles.steps_tables.assumed)]
