"""Batches: many runs of one scene, which differ in numbers, inside one compiled call a thread.

`run` is the entry. `vary` and `structure` find what differs, `workspace` and `threads` keep the tables of each thread,
`result` labels what was recorded. `kernel`, with its `tables`, is the compiled part.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..core.c_function import C_SIGNATURE, COMPLETE, MEASURE, call_pointer
from ..core.jit import DISABLED, CFunction, cgutils, intrinsic, ir, njit, types
from ..core.simd import copy
from ..core.status import LARGEST, MAX_STEPS, NON_FINITE, OK
from ..core.tables import column, part, table_at
from ..dynamics.joint_space.mechanism import FORWARD_KINEMATICS, INVERSE_KINEMATICS, JointMechanism
from ..dynamics.mechanism import NOT_CLOSED
from ..integrate.driver import Driver
from ..integrate.state import CLOCK, PLAN
from ..model.compile import Model
from ..model.tables import LEDGER, PROJECTION, STATE_SIZE, System
from ..simulation.simulation import Simulation
from ..symbolic.mechanism import PlacedMechanism

# ----------------------------------------------------------------------------------------------------------------------
# The tables of a thread that runs members of a batch, and how compiled code reads them; see `tables`.


NEXT, STOP = 0, 8  # words that threads share: the member to be taken next, and whether all shall stop
NOT_RUN, INTERRUPTED, OPEN_AT_START, APART_AT_START, CANNOT_CLOSE, DEPENDENT = (
    -1,
    50,
    51,
    52,
    53,
    54,
)  # statuses of ours

OWN = np.dtype(
    [("mechanism", "i8"), ("handle", "i8"), ("stepper", "i8"), ("steps", "i8"), ("joint", "i8"), ("assemble", "i8"),
     ("members", "i8"), ("rows", "i8"), ("closed", "f8"), ("dependent", "f8")],
    align=True,
)  # fmt: skip
"""mechanism, handle, stepper, steps : addresses of both functions, and of what each is handed. joint : 1 in joint
coordinates. rows : frames that there is room for, of each member. closed, dependent : the limits of `start`."""

TABLE = np.dtype([("address", "i8"), ("width", "i8"), ("first", "i8")], align=True)
"""A table of the workspace: its address, bytes, and where in the image its first contents stand."""

VARIED = np.dtype([("address", "i8"), ("width", "i8"), ("source", "i8")], align=True)
"""Bytes that differ from member to member, and the address of those of member 0, which those of member 1 follow."""

OUTCOME = np.dtype(
    [("status", "i8"), ("frames", "i8"), ("steps", "i8"), ("rejected", "i8"), ("evaluations", "i8"), ("end", "f8")],
    align=True,
)
"""How a member ended, and when (s); what it recorded and counted."""


class Worker(NamedTuple):
    """What one thread works with. n numbers of the state, m members, f frames."""

    own: Any = column("1", OWN)
    system: Any = part(System)
    clock: Any = column(dtype=CLOCK)
    plan: Any = column(dtype=PLAN)
    tables: Any = column(dtype=TABLE)
    image: Any = column(dtype=np.uint8, doc="uint8")
    varied: Any = column(dtype=VARIED)
    y: Any = column("n")
    dydt: Any = column("n")
    spare: Any = column("n")
    z: Any = column(doc="joint coordinates: the state, its rate, y as last put or taken, and y as the mechanism has it")
    dzdt: Any = column()
    known: Any = column()
    lifted: Any = column()
    targets: Any = column("f1", unit="s")
    shared: Any = column(dtype=np.int64, doc="see NEXT; this and all below are of all threads")
    times: Any = column("f", unit="s")
    states: Any = column("m * f * n")
    energies: Any = column("m * f * 2", unit="J")
    errors: Any = column("m * f", unit="m", doc="of the worst joint")
    error_rates: Any = column("m * f", unit="m/s")
    outcomes: Any = column(dtype=OUTCOME, doc="one a member")


# ----------------------------------------------------------------------------------------------------------------------
# Runs of many members of one scene in one compiled call: each thread takes the next member until none is left.
#
# A member begins from the tables as they were made, with what varies put over them, and goes through the same calls
# as a
# `Simulation` in the same order, so that its results are the same bits; which thread runs it does not matter. The
# equations of
# motion and the stepping are behind their pointers.


MOST_STEPS = 256  # steps between looks at whether to stop
ENTRIES = len(LEDGER)


@intrinsic
def _copy_bytes(typing_context, target, source, count):
    def generate(context, builder, signature, arguments):
        byte = ir.IntType(8).as_pointer()
        target, source = (builder.inttoptr(address, byte) for address in arguments[:2])
        cgutils.raw_memcpy(builder, target, source, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def _take_next(typing_context, words):
    """The member to be run next; the next one to ask gets the one after it."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = cgutils.gep_inbounds(builder, data, NEXT)
        return builder.atomic_rmw("add", place, ir.Constant(ir.IntType(64), 1), "acq_rel")

    return types.int64(words), generate


@intrinsic
def _told_to_stop(typing_context, words):
    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        word = builder.load_atomic(cgutils.gep_inbounds(builder, data, STOP), "acquire", 8)
        return builder.icmp_signed("!=", word, ir.Constant(ir.IntType(64), 0))

    return types.boolean(words), generate


if DISABLED:

    def _copy_bytes(target, source, count):
        ctypes.memmove(int(target), int(source), int(count))

    def _take_next(words):
        words[NEXT] += 1
        return words[NEXT] - 1

    def _told_to_stop(words):
        return words[STOP] != 0


@njit
def run_members(worker):
    """Take members until none is left."""
    own, shared = worker.own[0], worker.shared
    while not _told_to_stop(shared):
        member = _take_next(shared)
        if member >= own.members:
            break
        run_member(member, worker)
    return OK


@njit
def run_member(member, worker):
    """From its start to the end, or to where it fails."""
    now, outcome = worker.clock[0], worker.outcomes[member]
    targets, times = worker.targets, worker.times
    set_tables(member, worker)
    status = set_out(worker)
    if status == OK:
        status = step_to(0.0, worker)
    frames = 0
    if status == OK:
        status = keep(member, 0, worker)
    if status == OK:
        frames = 1
    for i in range(targets.shape[0]):
        if status != OK:
            break
        status = step_to(targets[i], worker)
        if status == OK and now.t > times[frames - 1]:
            status = keep(member, frames, worker)
            if status == OK:
                frames += 1
    outcome.status, outcome.frames, outcome.end = status, frames, now.t
    outcome.steps, outcome.rejected, outcome.evaluations = now.steps, now.rejected, now.evaluations


@njit
def set_tables(member, worker):
    """The workspace as it was made, with the numbers of a member."""
    tables, varied = worker.tables, worker.varied
    image = np.int64(worker.image.ctypes.data)
    for i in range(tables.shape[0]):
        _copy_bytes(tables[i].address, image + tables[i].first, tables[i].width)
    for i in range(varied.shape[0]):
        row = varied[i]
        _copy_bytes(row.address, row.source + member * row.width, row.width)


@njit
def set_out(worker):
    """What `start.set_out` does, with a status for what that raises."""
    own, system, y = worker.own[0], worker.system, worker.y
    settings = system.settings[0]
    ask(MEASURE, 0.0, worker)
    if own.assemble == 0:
        if worst_joint(system.error, system) > own.closed * settings.length:
            return OPEN_AT_START
        speed, bodies = 0.0, system.bodies
        for i in range(settings.rigid):
            for k in range(7, 10):
                speed = max(speed, abs(y[STATE_SIZE * i + k] / bodies[i].mass))
        if worst_joint(system.rates, system) > own.closed * max(speed, settings.length):
            return APART_AT_START
    if own.joint == 0 and settings.condition < own.dependent and system.hubs.shape[0] > 0:
        return DEPENDENT
    if settings.hold == PROJECTION:
        status = ask(COMPLETE, 0.0, worker)
        if status != OK and status != NOT_CLOSED:
            return status
        ask(MEASURE, 0.0, worker)
        if status != OK or worst_joint(system.error, system) > own.closed * settings.length:
            return CANNOT_CLOSE
        for k in range(y.shape[0] - ENTRIES - settings.ledger, y.shape[0]):
            y[k] = 0.0
    settings.deficient = 1 if settings.condition < own.dependent else 0
    return OK


@njit
def ask(task, t, worker):
    """Do a task of `pointer` at the state y."""
    own = worker.own[0]
    if own.joint == 0:
        out = worker.spare if task == MEASURE else worker.dydt
        return call_pointer(own.mechanism, own.handle, task, t, worker.y, out)
    status = take(worker)
    if status == OK:
        status = call_pointer(own.mechanism, own.handle, task, t, worker.z, worker.dzdt)
    if task != MEASURE:
        put(worker)
    return status


@njit
def step_to(target, worker):
    """Integrate until `target` (s); returns a status."""
    if worker.own[0].joint == 0:
        return integrate_member(target, worker.y, worker.dydt, worker)
    status = take(worker)
    if status == OK:
        status = integrate_member(target, worker.z, worker.dzdt, worker)
        put(worker)
    return status


@njit
def integrate_member(target, z, dzdt, worker):
    """The steps themselves, until told to stop."""
    own, status = worker.own[0], MAX_STEPS
    while status == MAX_STEPS:
        if _told_to_stop(worker.shared):
            return INTERRUPTED
        status = call_pointer(own.stepper, own.steps, MOST_STEPS, target, z, dzdt)
    return status


# These two are the methods of `JointMechanism` of the same names.
@njit
def take(worker):
    """z from y, if that is not what `put` left."""
    y, known = worker.y, worker.known
    same = True
    for k in range(y.shape[0]):
        same = same and y[k] == known[k]
    if same:
        return OK
    copy(known, y)
    copy(worker.lifted, y)
    return call_pointer(worker.own[0].mechanism, worker.own[0].handle, INVERSE_KINEMATICS, 0.0, worker.z, worker.dzdt)


@njit
def put(worker):
    """y from z."""
    call_pointer(worker.own[0].mechanism, worker.own[0].handle, FORWARD_KINEMATICS, 0.0, worker.z, worker.dzdt)
    copy(worker.known, worker.lifted)
    copy(worker.y, worker.lifted)


@njit
def keep(member, frame, worker):
    """Record the state as a frame of a member, if it can be: see `Recorder.record`. Returns a status."""
    system, y, t = worker.system, worker.y, worker.clock[0].t
    states = worker.states
    ask(MEASURE, t, worker)
    if not (abs(system.energies[0]) < LARGEST and abs(system.energies[1]) < LARGEST and are_sound(y)):
        return NON_FINITE
    if not (are_sound(system.error) and are_sound(system.rates)):
        return NON_FINITE
    at = member * worker.own[0].rows + frame
    first = at * y.shape[0]
    for k in range(y.shape[0]):
        states[first + k] = y[k]
    worker.energies[2 * at], worker.energies[2 * at + 1] = system.energies[0], system.energies[1]
    worker.errors[at] = worst_joint(system.error, system)
    worker.error_rates[at] = worst_joint(system.rates, system)
    worker.times[frame] = t
    return OK


@njit
def are_sound(values):
    for k in range(values.shape[0]):
        if not abs(values[k]) < LARGEST:
            return False
    return True


@njit
def worst_joint(values, system):
    """The largest |value| of the rows of joints that hold; NaN if one is."""
    joints, worst = system.joints, 0.0
    for i in range(joints.shape[0]):
        joint = joints[i]
        if joint.active != 0:
            for r in range(joint.row, joint.row + joint.rows):
                if math.isnan(values[r]):
                    return math.nan
                worst = max(worst, abs(values[r]))
    return worst


def run_batch(data, task, t, y, n, out, m):
    return run_members(table_at(Worker, data))


BATCH_ENTRY = CFunction(run_batch, C_SIGNATURE)


# ----------------------------------------------------------------------------------------------------------------------
# A run that is made and not started: all its tables by name, so that they can be put back as they were made, and
# given the
# numbers of a member.


ALONE = 'run them one by one with simulate, or in a sweep with how="processes"'


@dataclass
class Varied:
    """Bytes of a table that differ from member to member."""

    table: str
    first: int  # byte
    values: np.ndarray  # (members, width) uint8


class NotForBatches(ValueError):
    """What batches cannot run, though it can be run alone."""


class _Made(Exception):
    """The tables are there, and nothing has been done to them."""


class Workspace(Simulation):
    """A `Simulation` up to where it would look at its start. `made` : copies of its tables.

    Raises NotForBatches for what batches cannot run, beside all that a `Simulation` raises.
    """

    made: dict[str, np.ndarray]

    def restart(self, prepare: Callable[[Simulation], Any] | None = None) -> Simulation:
        """Make the tables."""
        with contextlib.suppress(_Made):
            super().restart(prepare=self._capture)
        return self

    def _capture(self, run: Simulation) -> None:
        self._require_smooth()
        self.made = {name: table.copy() for name, table in member_tables(self).items()}
        raise _Made

    def _require_smooth(self) -> None:
        name = self.model.name
        if not isinstance(self._driver, Driver):
            raise NotForBatches(
                f"scene {name!r} with method {self.method!r} cannot run in a batch: contact and time steps are not smooth "
                f"motion; {ALONE}"
            )
        if isinstance(self._mechanism, PlacedMechanism):
            raise NotForBatches(f"scene {name!r}: batches take coordinates='maximal' or 'joint'; {ALONE}")
        if self.model.events:
            raise NotForBatches(
                f"scene {name!r} has the event {self.model.events[0].name!r}, which batches cannot do; {ALONE}"
            )
        if self._constraint_solver is not None:
            raise NotForBatches(f"batches solve constraints by constraint_solver='ldl' only; leave it out, or {ALONE}")
        if self._clock is not None:
            raise NotForBatches(f"a controller takes part from Python, which batches do without; {ALONE}")


class Member(Simulation):
    """The run of one member by itself."""

    def __init__(self, model: Model, settings: dict[str, Any], varied: list[Varied], member: int) -> None:
        self._numbers = varied, member
        tables = {"system." + name: np.array(table).view(type(table)) for name, table in model.tables.items()}
        state = {"y": model.initial.copy()}
        give(tables | state, [item for item in varied if item.table in tables or item.table in state], member)
        own = {name.removeprefix("system."): table for name, table in tables.items()}
        super().__init__(replace(model, tables=own, initial=state["y"]), **settings)

    def restart(self, prepare: Callable[[Simulation], Any] | None = None) -> Simulation:
        """Go back to the start; see `Simulation.restart`."""

        def begin(run: Simulation) -> None:
            give(member_tables(run), *self._numbers)
            if prepare is not None:
                prepare(run)

        return super().restart(prepare=begin)


def bytes_of(array: np.ndarray) -> np.ndarray:
    """The bytes of a contiguous array: a view."""
    return np.asarray(array).reshape(-1).view(np.uint8)


def tables_of_system(mechanism: Any) -> dict[str, np.ndarray]:
    """Those of the mechanics, and in joint coordinates of the tree."""
    found: dict[str, np.ndarray] = {}
    _collect("system", mechanism.system, found)
    if isinstance(mechanism, JointMechanism):
        for name, table in zip(mechanism.tables._fields, mechanism.tables, strict=True):
            if name != "system":
                _collect_one(f"joint.{name}", table, found)
        found |= {"z": mechanism.z, "dzdt": mechanism.dzdt, "known": mechanism._known}
    return found


def member_tables(run: Simulation) -> dict[str, np.ndarray]:
    """All that a run writes on or reads, by name."""
    found = tables_of_system(run._mechanism)
    _collect("stepping", run._driver.stepper.tables, found)  # type: ignore[attr-defined]
    return found | {"y": run._y, "dydt": run._dydt}


def give(tables: dict[str, np.ndarray], varied: list[Varied], member: int) -> None:
    """Put the numbers of a member in the tables."""
    for item in varied:
        row = item.values[member]
        bytes_of(tables[item.table])[item.first : item.first + row.size] = row


def _collect(prefix: str, tables: Any, found: dict[str, np.ndarray]) -> None:
    for name, table in zip(tables._fields, tables, strict=True):
        _collect_one(f"{prefix}.{name}", table, found)


def _collect_one(name: str, table: Any, found: dict[str, np.ndarray]) -> None:
    if isinstance(table, tuple):
        _collect(name, table, found)
    else:
        found[name] = table
