"""The kernel of batches: many runs of one scene, which differ in numbers, inside one compiled call per thread.

In order: the tables of a thread, the kernel (`run_batch` is its entry, `run_members` the loop over members), and the
`Workspace`, a simulation with tables that is not started. `batch` finds the numbers that differ and starts threads.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..core.c_function import C_SIGNATURE, CHOOSE_ROWS, COMPLETE, MEASURE, call_pointer
from ..core.jit import DISABLED, CFunction, cgutils, intrinsic, ir, njit, types
from ..core.math3 import matvec_t, symvec, to_matrix
from ..core.simd import copy
from ..core.status import LARGEST, MAX_STEPS, NON_FINITE, OK
from ..core.tables import column, part, table_at
from ..dynamics.joint_space.mechanism import FORWARD_KINEMATICS, INVERSE_KINEMATICS, JointMechanism
from ..dynamics.kinematics import load6
from ..dynamics.mechanism import NOT_CLOSED
from ..integrate.driver import Driver
from ..integrate.state import CLOCK, PLAN
from ..model.compile import Model
from ..model.tables import LEDGER, PROJECTION, STATE_SIZE, System
from ..sensors.sampling import SAME_TIME, Sensors
from ..simulation.simulation import Simulation
from ..symbolic.mechanism import PlacedMechanism

# Tables of a thread that runs members ---------------------------------------------------------------------------------


NEXT, STOP = 0, 8  # words that threads share: the next member to run, and whether all threads must stop
NOT_RUN = -1  # status of a member, as are:
INTERRUPTED, OPEN_AT_START, APART_AT_START, CANNOT_CLOSE, DEPENDENT = range(50, 55)

OWN = np.dtype(
    [("mechanism", "i8"), ("handle", "i8"), ("stepper", "i8"), ("steps", "i8"), ("joint", "i8"), ("assemble", "i8"),
     ("members", "i8"), ("rows", "i8"), ("samples", "i8"), ("closed", "f8"), ("dependent", "f8")],
    align=True,
)  # fmt: skip
"""mechanism, handle, stepper, steps : addresses of both functions, and of their tables. joint : 1 in joint coordinates.
rows, samples : frames and samples allocated for each member. closed, dependent : the limits of `initial_conditions`."""

TABLE = np.dtype([("address", "i8"), ("width", "i8"), ("first", "i8")], align=True)
"""A table of the workspace: its address, size in bytes, and offset in the image, the copy of all initial contents."""

VARIED = np.dtype([("address", "i8"), ("width", "i8"), ("source", "i8")], align=True)
"""Bytes that differ from member to member: their address in the tables, their number, and the address of the values of
member 0, which those of member 1 follow."""

OUTCOME = np.dtype(
    [("status", "i8"), ("frames", "i8"), ("steps", "i8"), ("rejected", "i8"), ("evaluations", "i8"), ("end", "f8")],
    align=True,
)
"""How a member ended, and when (s); its numbers of frames, steps and evaluations."""


class Worker(NamedTuple):
    """The tables of one thread: n numbers of state, m members, f frames."""

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
    z: Any = column(doc="joint coordinates: state, rate, y at the last conversion, and y as the mechanism computed it")
    dzdt: Any = column()
    known: Any = column()
    poses: Any = column()
    targets: Any = column("f1", unit="s")
    shared: Any = column(dtype=np.int64, doc="see NEXT; this and all below are of all threads")
    times: Any = column("f", unit="s")
    states: Any = column("m * f * n")
    energies: Any = column("m * f * 2", unit="J")
    errors: Any = column("m * f", unit="m", doc="of the worst joint")
    error_rates: Any = column("m * f", unit="m/s")
    outcomes: Any = column(dtype=OUTCOME, doc="one a member")
    rates: Any = column("r", unit="Hz", doc="of the sensors")
    due: Any = column("r", dtype=np.int64, doc="the number of the next sample of each; of the thread")
    sample_counts: Any = column("m", dtype=np.int64)
    sample_times: Any = column("m * s", unit="s")
    sample_states: Any = column("m * s * n")
    sample_z: Any = column("m * s * k", doc="joint coordinates")


# Kernel: each thread takes the next member until none is left ---------------------------------------------------------
#
# A member starts from copies of all tables as they were made, with its own numbers put over them, and makes the same calls
# as a `Simulation` in the same order, so that its results are bit-identical, whichever thread runs it. The equations of
# motion and the stepping are called by their addresses.


MOST_STEPS = 256  # steps between checks of the word STOP: milliseconds
ENTRIES = len(LEDGER)


@intrinsic
def _copy_bytes(typing_context, target, source, count):
    """Copy `count` bytes from one address to another (memcpy)."""

    def generate(context, builder, signature, arguments):
        byte = ir.IntType(8).as_pointer()
        target, source = (builder.inttoptr(address, byte) for address in arguments[:2])
        cgutils.raw_memcpy(builder, target, source, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def _take_next(typing_context, words):
    """The number of the next member to run, counted up atomically."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = cgutils.gep_inbounds(builder, data, NEXT)
        return builder.atomic_rmw("add", place, ir.Constant(ir.IntType(64), 1), "acq_rel")

    return types.int64(words), generate


@intrinsic
def _must_stop(typing_context, words):
    """Whether the word STOP is set, loaded atomically."""

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

    def _must_stop(words):
        return words[STOP] != 0


@njit
def run_members(worker):
    """Run members until none is left, or STOP is set. Writes the record and outcome of each."""
    own, shared = worker.own[0], worker.shared
    while not _must_stop(shared):
        member = _take_next(shared)
        if member >= own.members:
            break
        run_member(member, worker)
    return OK


@njit
def run_member(member, worker):
    """Run one member from its start to the end, or until it fails. Writes its frames and its outcome."""
    now, outcome = worker.clock[0], worker.outcomes[member]
    targets, times = worker.targets, worker.times
    set_tables(member, worker)
    for i in range(worker.due.shape[0]):
        worker.due[i] = 0
    status = check_start(worker)
    if status == OK:
        status = run_until(0.0, member, worker)
    frames = 0
    if status == OK:
        status = record_frame(member, 0, worker)
    if status == OK:
        frames = 1
    for i in range(targets.shape[0]):
        if status != OK:
            break
        status = run_until(targets[i], member, worker)
        if status == OK and now.t > times[frames - 1]:
            status = record_frame(member, frames, worker)
            if status == OK:
                frames += 1
    outcome.status, outcome.frames, outcome.end = status, frames, now.t
    outcome.steps, outcome.rejected, outcome.evaluations = now.steps, now.rejected, now.evaluations


@njit
def run_until(target, member, worker):
    """Integrate until `target` (s), and stop where samples of sensors are due: `Simulation._run`. Returns a status."""
    rates, due = worker.rates, worker.due
    while True:
        stop = target
        for i in range(rates.shape[0]):
            stop = min(stop, due[i] / rates[i])
        status = step_to(stop, worker)
        if status != OK:
            return status
        if rates.shape[0] > 0:
            keep_sample(member, worker)
        if stop >= target:
            return OK


@njit
def keep_sample(member, worker):
    """Keep the state if a sample is due: `Sensors.sample`. Writes due and the samples of the member."""
    rates, due, t = worker.rates, worker.due, worker.clock[0].t
    taken = False
    for i in range(rates.shape[0]):
        number = int(math.floor(t * rates[i] + SAME_TIME))
        if due[i] <= number:
            due[i], taken = number + 1, True
    at = worker.sample_counts[member]
    if not taken or at >= worker.own[0].samples:
        return
    worker.sample_counts[member] = at + 1
    at += member * worker.own[0].samples
    worker.sample_times[at] = t
    for k in range(worker.y.shape[0]):
        worker.sample_states[at * worker.y.shape[0] + k] = worker.y[k]
    for k in range(worker.z.shape[0]):
        worker.sample_z[at * worker.z.shape[0] + k] = worker.z[k]


@njit
def set_tables(member, worker):
    """Restore all tables to their initial contents, and write the numbers of a member over them."""
    tables, varied = worker.tables, worker.varied
    image = np.int64(worker.image.ctypes.data)
    for i in range(tables.shape[0]):
        _copy_bytes(tables[i].address, image + tables[i].first, tables[i].width)
    for i in range(varied.shape[0]):
        row = varied[i]
        _copy_bytes(row.address, row.source + member * row.width, row.width)


@njit
def check_start(worker):
    """Check that joints are closed, or close them: `initial_conditions.set_out`, with a status for each of its errors.

    Reads own and the system; writes y, and `settings.deficient`."""
    own, system, y = worker.own[0], worker.system, worker.y
    settings = system.settings[0]
    call_mechanism(MEASURE, 0.0, worker)
    if own.assemble == 0:
        apart, faster = misfit(worker) if own.joint != 0 else (0.0, 0.0)
        if max(apart, worst_joint(system.error, system)) > own.closed * settings.length:
            return OPEN_AT_START
        speed, bodies = 0.0, system.bodies
        for i in range(settings.rigid):
            for k in range(7, 10):
                if bodies[i].inverse_mass > 0.0:
                    speed = max(speed, abs(y[STATE_SIZE * i + k] / bodies[i].mass))
        if max(faster, worst_joint(system.rates, system)) > own.closed * max(speed, settings.length):
            return APART_AT_START
    if own.joint == 0 and settings.condition < own.dependent and system.hubs.shape[0] > 0:
        return DEPENDENT
    if settings.hold == PROJECTION:
        status = call_mechanism(COMPLETE, 0.0, worker)
        if status != OK and status != NOT_CLOSED:
            return status
        call_mechanism(MEASURE, 0.0, worker)
        if status != OK or worst_joint(system.error, system) > own.closed * settings.length:
            return CANNOT_CLOSE
        for k in range(y.shape[0] - ENTRIES - settings.ledger, y.shape[0]):
            y[k] = 0.0
    settings.deficient = 1 if settings.condition < own.dependent else 0
    if own.joint == 0 and settings.chooses != 0:
        return call_mechanism(CHOOSE_ROWS, 0.0, worker)
    return OK


@njit
def misfit(worker):
    """How far the bodies of y are from where their joint coordinates put them, after it was measured: the largest component
    of displacements (m) and turns (rad), and of differences of velocities (m/s, rad/s). Joints that are open or move apart
    by so much refuse a run; see `initial_conditions.tree_residuals`."""
    y, near, bodies = worker.y, worker.poses, worker.system.bodies
    apart, faster = 0.0, 0.0
    for i in range(worker.system.settings[0].rigid):
        body, at = bodies[i], STATE_SIZE * i
        if not body.inverse_mass > 0.0:
            continue
        same, opposite = 0.0, 0.0
        for k in range(at + 3, at + 7):
            same, opposite = max(same, abs(y[k] - near[k])), max(opposite, abs(y[k] + near[k]))
        apart = max(apart, 2.0 * min(same, opposite))
        for k in range(at, at + 3):
            apart = max(apart, abs(y[k] - near[k]))
            faster = max(faster, abs(y[k + 7] - near[k + 7]) * body.inverse_mass)
        change = (y[at + 10] - near[at + 10], y[at + 11] - near[at + 11], y[at + 12] - near[at + 12])
        q = (near[at + 3], near[at + 4], near[at + 5], near[at + 6])
        turning = symvec(load6(body.inverse_inertia), matvec_t(to_matrix(q), change))
        faster = max(faster, abs(turning[0]), abs(turning[1]), abs(turning[2]))
    return apart, faster


@njit
def call_mechanism(task, t, worker):
    """Call the mechanism with a task of `c_function` at the state y. Returns a status; writes dydt, and z in joint
    coordinates."""
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
    """Integrate y until `target` (s), in its own coordinates. Returns a status."""
    if worker.own[0].joint == 0:
        return integrate_member(target, worker.y, worker.dydt, worker)
    status = take(worker)
    if status == OK:
        status = integrate_member(target, worker.z, worker.dzdt, worker)
        put(worker)
    return status


@njit
def integrate_member(target, z, dzdt, worker):
    """Call the stepper, MOST_STEPS at a time, until `target` (s) or until STOP is set. Returns a status."""
    own, status = worker.own[0], MAX_STEPS
    while status == MAX_STEPS:
        if _must_stop(worker.shared):
            return INTERRUPTED
        status = call_pointer(own.stepper, own.steps, MOST_STEPS, target, z, dzdt)
    return status


@njit
def take(worker):
    """Compute z from y, unless y is what `put` wrote: `JointMechanism.take`. Returns a status; writes z and known."""
    y, known = worker.y, worker.known
    same = True
    for k in range(y.shape[0]):
        same = same and y[k] == known[k]
    if same:
        return OK
    copy(known, y)
    copy(worker.poses, y)
    own, now = worker.own[0], worker.clock[0].t
    return call_pointer(own.mechanism, own.handle, INVERSE_KINEMATICS, now, worker.z, worker.dzdt)


@njit
def put(worker):
    """Compute y from z by forward kinematics: `JointMechanism.put`. Writes y and known."""
    own, now = worker.own[0], worker.clock[0].t
    call_pointer(own.mechanism, own.handle, FORWARD_KINEMATICS, now, worker.z, worker.dzdt)
    copy(worker.known, worker.poses)
    copy(worker.y, worker.poses)


@njit
def record_frame(member, frame, worker):
    """Record the state as a frame of a member: `Recorder.record`. Returns NON_FINITE if the state or energies are not finite.

    Reads y and the clock; writes states, energies, errors, error_rates and times."""
    system, y, t = worker.system, worker.y, worker.clock[0].t
    states = worker.states
    call_mechanism(MEASURE, t, worker)
    if not (abs(system.energies[0]) < LARGEST and abs(system.energies[1]) < LARGEST and are_finite(y)):
        return NON_FINITE
    if not (are_finite(system.error) and are_finite(system.rates)):
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
def are_finite(values):
    """Whether all values are finite, and small enough for sums over them to be."""
    for k in range(values.shape[0]):
        if not abs(values[k]) < LARGEST:
            return False
    return True


@njit
def worst_joint(values, system):
    """The largest |value| of the rows of active joints; NaN if one is."""
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
    """The entry: `data` is the address of a `Worker`; the other arguments are those of all entries, and not used."""
    return run_members(table_at(Worker, data))


BATCH_ENTRY = CFunction(run_batch, C_SIGNATURE)


# Workspace: the tables of a run by name, to be restored and given the numbers of a member -----------------------------


ALONE = 'run them one by one with simulate, or in a sweep with how="processes"'


@dataclass
class Varied:
    """Bytes of a table that differ from member to member."""

    table: str
    first: int  # byte
    values: np.ndarray  # (members, width) uint8


class NotForBatches(ValueError):
    """A scene or setting that batches cannot run, though `simulate` can."""


class _Made(Exception):
    """Raised when the tables are made, before the checks of the initial conditions."""


class Workspace(Simulation):
    """A `Simulation` before the checks of its initial conditions. `made` : copies of its tables.

    Raises NotForBatches for scenes and settings that batches cannot run, and all that a `Simulation` raises.
    """

    made: dict[str, np.ndarray]

    def restart(self, prepare: Callable[[Simulation], Any] | None = None) -> Simulation:
        """Make the tables."""
        with contextlib.suppress(_Made):
            super().restart(prepare=self._capture)
        return self

    def _capture(self, run: Simulation) -> None:
        """Copy all tables, and end the restart here."""
        self._require_smooth()
        self.made = {name: table.copy() for name, table in member_tables(self).items()}
        raise _Made

    def _require_smooth(self) -> None:
        """Raises NotForBatches unless the run is one of smooth motion without events and controllers."""
        name = self.model.name
        if not isinstance(self._driver, Driver):
            raise NotForBatches(
                f"scene {name!r} with method {self.method!r} cannot run in a batch: batches support neither contact "
                f"nor time steps; {ALONE}"
            )
        if isinstance(self._mechanism, PlacedMechanism):
            raise NotForBatches(f"scene {name!r}: batches support coordinates='maximal' and 'joint'; {ALONE}")
        if self.model.events:
            raise NotForBatches(
                f"scene {name!r} has the event {self.model.events[0].name!r}, and batches do not support events; {ALONE}"
            )
        if self._constraint_solver is not None:
            raise NotForBatches(f"batches support constraint_solver='ldl' only; leave it out, or {ALONE}")
        if self._clock is not None:
            raise NotForBatches(f"batches do not support controllers; {ALONE}")


class Member(Simulation):
    """The run of one member without the batch. seeds : of its sensors, where they are not those of the scene."""

    def __init__(
        self, model: Model, settings: dict[str, Any], varied: list[Varied], member: int, seeds: Mapping[str, int]
    ) -> None:
        self._numbers, self._seeds = (varied, member), seeds
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

    def _make_sensors(self) -> Sensors:
        found = super()._make_sensors()
        if len(found):
            own, (varied, member) = tables_of_system(found.evaluator.mechanism), self._numbers
            give(own, [item for item in varied if item.table in own], member)
        if self._seeds:
            found.begin(self._seeds)
        return found


def bytes_of(array: np.ndarray) -> np.ndarray:
    """The bytes of a contiguous array: a view."""
    return np.asarray(array).reshape(-1).view(np.uint8)


def tables_of_system(mechanism: Any) -> dict[str, np.ndarray]:
    """The tables of the mechanics by name, and of the tree in joint coordinates."""
    found: dict[str, np.ndarray] = {}
    _collect("system", mechanism.system, found)
    if isinstance(mechanism, JointMechanism):
        for name, table in zip(mechanism.tables._fields, mechanism.tables, strict=True):
            if name != "system":
                _collect_one(f"joint.{name}", table, found)
        found |= {"z": mechanism.z, "dzdt": mechanism.dzdt, "known": mechanism._known}
    return found


def member_tables(run: Simulation) -> dict[str, np.ndarray]:
    """All tables that a run reads or writes, by name."""
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
