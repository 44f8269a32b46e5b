"""Runs of many members of one scene in one compiled call: each thread takes the next member until none is left.

A member begins from the tables as they were made, with what varies put over them, and goes through the same calls as a
`Simulation` in the same order, so that its results are the same bits; which thread runs it does not matter. The equations of
motion and the stepping are behind their pointers.
"""

import ctypes
import math

import numpy as np

from ..arrays import copy
from ..articulated.evaluate import LIFT, LOWER
from ..jit import DISABLED, CFunction, cgutils, intrinsic, ir, njit, types
from ..limits import LARGEST
from ..mechanics.projection import NOT_CLOSED
from ..model.tables import LEDGER, PROJECTION, STATE_SIZE
from ..pointer import C_SIGNATURE, COMPLETE, MEASURE, call_pointer
from ..status import MAX_STEPS, NON_FINITE, OK
from ..tables import table_at
from .tables import APART_AT_START, CANNOT_CLOSE, DEPENDENT, INTERRUPTED, NEXT, OPEN_AT_START, STOP, Worker

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
        return march(target, worker.y, worker.dydt, worker)
    status = take(worker)
    if status == OK:
        status = march(target, worker.z, worker.dzdt, worker)
        put(worker)
    return status


@njit
def march(target, z, dzdt, worker):
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
    return call_pointer(worker.own[0].mechanism, worker.own[0].handle, LOWER, 0.0, worker.z, worker.dzdt)


@njit
def put(worker):
    """y from z."""
    call_pointer(worker.own[0].mechanism, worker.own[0].handle, LIFT, 0.0, worker.z, worker.dzdt)
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


COMPILED = CFunction(run_batch, C_SIGNATURE)
