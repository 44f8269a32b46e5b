"""One time step of contact at velocity level (J. J. Moreau 1988, 1999), with forces and joints.

    half a drift → forces, joints, contacts there → forces and impulses act → half a drift

In the half drifts bodies move freely, with exactly constant momenta. All impulses act at the midpoint; `joints`
describes those of joints. The impulses p of contacts satisfy, with u the velocities after them, the law of a hard
contact with friction:

    gap + h u_n ≥ 0 ⊥ p_n ≥ 0 (u_n + e u_n⁻ ≥ 0 where it bounces),   |p_t| ≤ μ p_n, opposed to u_t where it slides.

Overlap is not removed by velocities, which would add energy, but by displacements, the smallest in the metric of the
masses (`position_correction`). As forces and impulses change the velocities from v⁻ to v⁺ at one place, the kinetic
energy changes by exactly (h F + Jᵀ p)·½ (v⁻ + v⁺), which is the entry of the ledger.

The two drifts are in `free_motion`, all that happens at the middle in `velocities`.

In order: a run of steps, the step, its two halves, and sleep.
"""

import numpy as np

from ..collide.tables import (
    AWAKE,
    CONTACTS,
    ISLANDS,
    NEED_ROOM,
    RESTORE_DETECTION,
    SAVE_PLACES,
    UNMOVED,
    copy_row,
    save_warm_start,
)
from ..core.c_function import C_SIGNATURE, CHOOSE_ROWS, COMPLETE, KINEMATICS, call_pointer, viewer
from ..core.jit import CFunction, njit
from ..core.math3 import (
    add,
    cross,
    dot,
    load3,
    norm,
    scale,
)
from ..core.profiler import begin_timing, end_stage
from ..core.simd import clear, copy, is_finite, load, store
from ..core.status import NON_FINITE, OK
from ..core.tables import table_at
from ..core.thread_pool import CONTACT_SLOT
from ..dynamics.commands import BEGIN_STEP, PLACES, call_commands
from ..model.tables import (
    LEDGER,
    PROJECTION_WORK,
    STATE_SIZE,
)
from .curved_paths import AT_START
from .divided_steps import (
    CLOSES,
    DIVIDED,
    DIVIDES,
    LEAVES,
    MOST_PARTS,
    MOST_PROBES,
    PROBES,
    happens_at,
    happens_later,
    instant_of,
    time_until_hit,
)
from .fast import forget_left, forget_struck, note_contacts, slot_of
from .free_motion import advance, advance_trees
from .joints import add_impulses, book_reaction
from .parallel import (
    ADD_IMPULSES,
    ADD_IMPULSES_OF_ISLANDS,
    BIASES,
    OVERLAP,
    RUN_STEPS,
    SAVE_IMPULSES,
    SEPARATIONS,
    is_shared,
    whole_pairs,
)
from .position_correction import move_separations, overlap_of
from .solve import run_job
from .tables import (
    ANGULAR,
    BEGIN_SURFACES,
    BEGIN_WAY,
    FINISH,
    LINEAR,
    MOTION,
    PLACE,
    RESTORE_SURFACES,
    SET_SOFT,
    SMOOTH,
    START_STEP,
    STEP_ROUNDING,
    STOP_ISLAND,
    TURN,
    UPDATE,
    ContactTables,
    call_coordinates,
    call_limits,
    call_mechanism,
    call_surfaces,
    in_joint_space,
    load_motion,
    note_residual,
    start_of_part,
    three,
)
from .velocities import (
    ask_detection,
    evaluate_forces,
    resolve_impacts,
    set_gap_biases,
    solve_velocities,
    store_impulses,
)

_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def run_steps(y, dydt, stop, tables):
    """Steps until `stop` (s after the start) is reached. Writes y and the tables of the step. Returns a status; at
    NEED_ROOM y is the start of the step that was not made."""
    stepping = tables.stepping
    options = stepping.options[0]
    report = stepping.report[0]
    if options.fresh != 0:
        report.unnoted, report.passed, report.crowded = 0, 0, 0
        status = find_initial_contacts(options.start + report.steps * options.dt, y, dydt, tables)
        if status != OK:
            return status
        options.fresh = 0
        reset_memory(stepping)
    while (report.steps + STEP_ROUNDING) * options.whole < stop:
        status = step(y, dydt, tables)
        if status != OK:
            return status
        report.steps += 1
    return OK


# A step that stops half-way, because a table is too short or the converging solver is not at hand, is made again from its
# start, with the same bits. So all that persists from step to step, beside the state, is put back. Collision detection finds
# nothing moved when it looks again at the same place, and its manifolds as they are; where it looks at several places in a
# step, or farther for a second time, its state is saved before (`velocities.keep_detection`). Where nothing met in the first
# half, the step that is made again does not look there, with what it has found in the middle.


@njit
def save_memory(stepping):
    """Save the passes and aims of islands, what bears force, bounds and soft rows."""
    passes, waits, saved = stepping.passes, stepping.waits, stepping.saved_passes
    for body in range(passes.shape[0]):
        saved[2 * body], saved[2 * body + 1] = passes[body], waits[body]
    copy(stepping.saved_aims, stepping.aims)
    copy(stepping.saved_bears, stepping.bears)
    copy(stepping.saved_last_speeds, stepping.last_speeds)
    copy(stepping.saved_bounds, stepping.numbers_of_bounds)
    copy(stepping.saved_soft, stepping.numbers_of_soft)


@njit
def restore_memory(stepping):
    """Put them back."""
    passes, waits, saved = stepping.passes, stepping.waits, stepping.saved_passes
    for body in range(passes.shape[0]):
        passes[body], waits[body] = saved[2 * body], saved[2 * body + 1]
    copy(stepping.aims, stepping.saved_aims)
    copy(stepping.bears, stepping.saved_bears)
    copy(stepping.last_speeds, stepping.saved_last_speeds)
    copy(stepping.numbers_of_bounds, stepping.saved_bounds)
    copy(stepping.numbers_of_soft, stepping.saved_soft)


@njit
def restore_start(was_fast, status, tables):
    """Put back whether something was fast, and the state of collision detection where it was saved, for a step that found no
    room."""
    tables.stepping.options[0].fast = 1 if was_fast else 0
    if status in (NEED_ROOM, DIVIDED) and tables.stepping.report[0].kept != 0:
        ask_detection(RESTORE_DETECTION, tables)


@njit
def restore_kinematics(t, y, dydt, tables):
    """The velocities of the state y in the kinematics table, where bounds and soft rows begin from them."""
    if tables.callbacks[0].limits != 0 and not in_joint_space(tables):
        call_pointer(tables.callbacks[0].plain, tables.callbacks[0].plain_data, KINEMATICS, t, y, dydt)


@njit
def reset_memory(stepping):
    """Forget which islands were at rest or large, what bore force, and where shock propagation did not help."""
    passes, waits = stepping.passes, stepping.waits
    clear(stepping.aims)
    clear(stepping.bears)
    stepping.report[0].jolted = AT_START
    for body in range(passes.shape[0]):
        passes[body], waits[body] = 0, 0


# RUN_STEPS: `data` is the address of the tables. Else a job of a thread (`core.thread_pool`): `data` is the address of its
# slot, the items of the job are n … m, and its result is in `dydt`.
def step_entry(data, task, stop, y, n, dydt, m):
    if task == RUN_STEPS:
        return run_steps(_floats(y, n), _floats(dydt, m), stop, table_at(ContactTables, data))
    tables, result = table_at(ContactTables, _addresses(data, CONTACT_SLOT + 1)[CONTACT_SLOT]), _floats(dydt, 1)
    result[0] = max(result[0], run_step_job(task, stop, n, m, tables))
    return OK


@njit
def run_step_job(kind, value, begin, end, tables):
    """Items begin … end of a job that threads share (see `parallel`), with a number; returns the largest of the values of its
    items."""
    collision, stepping = tables.collision, tables.stepping
    if kind < OVERLAP or kind > ADD_IMPULSES_OF_ISLANDS:
        return run_job(kind, value, begin, end, tables)
    if kind == OVERLAP:
        return overlap_of(begin, end, collision.contacts)
    if kind == BIASES:
        return set_gap_biases(value, begin, end, tables)
    if kind == SEPARATIONS:
        move_separations(begin, end, collision.contacts, stepping.shift)
    elif kind == SAVE_IMPULSES:
        save_warm_start(begin, end, collision)
    else:
        y = _floats(stepping.job_state[0], stepping.job_state[1])
        if kind == ADD_IMPULSES:
            add_impulses(whole_pairs(begin, collision), whole_pairs(end, collision), y, tables)
            return 0.0
        for i in range(begin, end):
            island = collision.islands[i]
            if not is_shared(island, collision):
                add_impulses(island.first, island.end, y, tables)
    return 0.0


STEP_ENTRY = CFunction(step_entry, C_SIGNATURE)


@njit
def step(y, dydt, tables):
    """One step, in place, in parts if it is divided (`divided_steps`). Returns a status; where it is not OK, y is the start
    of the part that was not made, from which the step goes on, and `saved` the state at which it failed. dydt is scratch."""
    stepping = tables.stepping
    options, report, unsolved = stepping.options[0], stepping.report[0], stepping.report[0].unsolved
    rest, hit, status = options.whole - report.done, 0.0, OK
    while status == OK and rest > STEP_ROUNDING * options.whole:
        length = rest if report.done > 0.0 else options.whole
        if hit > 0.0 and report.parts < MOST_PARTS:
            report.hit, status = hit, DIVIDED
        else:
            status = try_part(length, DIVIDES if report.parts < MOST_PARTS else CLOSES, y, dydt, tables)
        if status == DIVIDED:
            status = make_until_hit(length, y, dydt, tables)
        if status == OK:
            hit = report.hit - options.dt if report.hits == LEAVES else 0.0
            report.last, rest = options.dt, rest - options.dt
            report.done, report.parts = options.whole - rest, report.parts + 1
            if rest > STEP_ROUNDING * options.whole:
                keep_records(tables)
        options.dt = options.whole
    report.unsolved = min(report.unsolved, unsolved + 1)
    if status == OK:
        report.impacts += 1 if report.parts > 1 else 0
        report.done, report.parts = 0.0, 0
    return status


@njit
def make_until_hit(length, y, dydt, tables):
    """Find when bodies hit, and make the part of a step that ends before, or if that is now, the instant in which they do.
    length : of the rest of the step (s). Returns a status as `step`."""
    report, whole, status = tables.stepping.report[0], tables.stepping.options[0].whole, DIVIDED
    for _ in range(MOST_PROBES):
        expected = report.hit
        if status == DIVIDED and happens_later(expected, whole):
            status = try_part(2.0 * expected, PROBES, y, dydt, tables)
        if happens_at(report.hit, expected, whole):
            break
    if status == DIVIDED and not happens_later(report.hit, whole):
        status = try_part(min(instant_of(whole), length), CLOSES, y, dydt, tables)
    if status == DIVIDED:
        status = try_part(min(time_until_hit(report, whole), length), LEAVES, y, dydt, tables)
    return status


@njit
def try_part(length, what, y, dydt, tables):
    """Make a part of a step of some length (s), or try it; what : happens with the contacts that would hit. Returns a status
    as `step`."""
    tables.stepping.options[0].dt, tables.stepping.report[0].hits = length, what
    return make_part(start_of_part(tables.stepping), y, dydt, tables)


@njit
def keep_records(tables):
    """Keep what contacts (`struck`), stops and motors did in a part of a step."""
    stepping = tables.stepping
    for i in range(stepping.bounds.shape[0]):
        stepping.bounds[i].earlier += stepping.bounds[i].impulse
    for i in range(stepping.soft.shape[0]):
        stepping.soft[i].earlier += stepping.soft[i].impulse
    note_contacts(0, tables.collision.counts[CONTACTS], tables)
    for i in range(stepping.report[0].struck):
        copy_row(stepping.struck_before, i, stepping.struck, i)
    stepping.report[0].kept_struck = stepping.report[0].struck


@njit
def begin_records(stepping):
    """Begin the records of impulses of a step, or go on with those of its earlier parts."""
    forget_struck(stepping)
    if stepping.report[0].parts == 0:
        for i in range(stepping.bounds.shape[0]):
            stepping.bounds[i].earlier = 0.0
        for i in range(stepping.soft.shape[0]):
            stepping.soft[i].earlier = 0.0
        return
    for i in range(stepping.report[0].kept_struck):
        row = stepping.struck_before[i]
        copy_row(stepping.struck, i, stepping.struck_before, i)
        stepping.struck_slots[slot_of(row.a, row.b, stepping.struck, stepping.struck_slots)] = i + 1
        stepping.report[0].struck = i + 1


@njit
def make_part(t, y, dydt, tables):
    """One step of `options.dt` from t, in place, or a part of one. Returns a status; where it is not OK, y is as it was, and
    `saved` is the state at which it failed. dydt is scratch."""
    stepping = tables.stepping
    h, report = stepping.options[0].dt, stepping.report[0]
    timer = stepping.timer
    begin_timing(timer, 1.0)
    copy(stepping.saved, y)
    save_memory(stepping)
    call_surfaces(BEGIN_SURFACES, 0.0, y, tables)
    was_fast, impacts, held, jolted = stepping.options[0].fast != 0, report.impacts, report.held, report.jolted
    caught, crowded = report.caught, report.crowded
    begin_records(stepping)
    report.unnoted, report.unstored, report.kept, report.way_residual, report.way_aim = 0, 0, 0, 0.0, 1.0
    if was_fast:
        copy(stepping.origin, y)
    status = move_to_middle(t, h, y, dydt, tables)
    end_stage(timer, SMOOTH)
    if status == OK:
        report.passed = 1 if report.impacts == impacts else 0
        status = solve_velocities(h, True, y, dydt, tables)
    if status == OK and sleeps_at_middle(tables):
        status = put_to_sleep(y, tables)
    residual, aim = report.residual, report.aim  # impacts in free motion follow
    if status == OK:
        status = move_to_end(t, h, y, dydt, tables)
    if status == OK and not is_finite(y):
        status = NON_FINITE
    end_stage(timer, UPDATE)
    if status != OK:
        swap(y, stepping.saved)
        restore_memory(stepping)
        call_surfaces(RESTORE_SURFACES, 0.0, y, tables)
        forget_struck(stepping)
        tables.system.settings[0].open = 0
        report.impacts, report.held, report.jolted = impacts, held, jolted
        report.caught, report.crowded = caught, crowded
        if was_fast:
            copy(y, stepping.origin)
        restore_start(was_fast, status, tables)
        restore_kinematics(t, y, dydt, tables)
        return status if status != DIVIDED else ask_room_of_parts(tables)
    report.passed, report.residual, report.aim = 0, residual, aim
    if report.way_residual > 0.0 and (aim <= 0.0 or report.way_residual * aim > residual * report.way_aim):
        report.residual, report.aim = report.way_residual, report.way_aim
    note_residual(report)
    return OK


@njit
def ask_room_of_parts(tables):
    """What a step is to be made in parts needs: room for the contacts of all of them in `struck`. Returns a status, DIVIDED
    where it is there."""
    report, needed = tables.stepping.report[0], (MOST_PARTS + 1) * tables.collision.counts[CONTACTS]
    report.passed = 0
    if tables.stepping.struck_before.shape[0] < needed:
        report.room = needed
        return NEED_ROOM
    return DIVIDED


@njit
def move_to_middle(t, h, y, dydt, tables):
    """The first half drift, and the forces in the middle of a step from t. Returns a status."""
    if in_joint_space(tables):
        call_coordinates(BEGIN_WAY, 0.0, y, tables.stepping.answer, tables)
        status = advance_trees(0.5 * h, True, y, dydt, tables)
        return call_coordinates(PLACE, h, y, tables.stepping.answer, tables) if status == OK else status
    restore_kinematics(t, y, dydt, tables)
    call_limits(START_STEP, h, y, tables)
    status, impacts = OK, tables.stepping.report[0].impacts
    if tables.system.joints.shape[0] > 0:
        status = call_mechanism(tables.callbacks, CHOOSE_ROWS, t, y, dydt)
    if status == OK:
        status = advance(t, 0.5 * h, True, y, dydt, tables)
    if tables.stepping.options[0].fast != 0:
        # an impact has changed the rates, so that those at the start are no measure
        if tables.stepping.report[0].impacts != impacts:
            restore_kinematics(t + 0.5 * h, y, dydt, tables)
        save_momenta(h, y, tables)
    if status == OK and tables.system.commands.shape[0] > 0:
        status = begin_commands(t, h, y, dydt, tables)
    if status == OK:
        call_limits(SET_SOFT, h, y, tables)
        status = evaluate_forces(t + 0.5 * h, h, y, dydt, tables)
    return status


@njit
def move_to_end(t, h, y, dydt, tables):
    """The second half drift, and the projection of the joints. Returns a status."""
    options, report = tables.stepping.options[0], tables.stepping.report[0]
    if options.fast != 0 and report.kept == 0:
        ask_detection(SAVE_PLACES, tables)
    if in_joint_space(tables):
        if options.fast != 0:
            call_coordinates(TURN, h, y, tables.stepping.answer, tables)
        status = advance_trees(0.5 * h, False, y, dydt, tables)
        if status == OK and report.unstored != 0:
            store_impulses(tables)
        if status == OK:
            status = call_coordinates(FINISH, h, y, tables.stepping.answer, tables)
        if status == OK and options.sleep_after > 0.0:
            status = put_to_sleep(y, tables)
        return status
    status = advance(t + 0.5 * h, 0.5 * h, False, y, dydt, tables)
    if status == OK and report.unstored != 0:
        store_impulses(tables)
    if status == OK and tables.system.commands.shape[0] > 0:
        status = call_commands(PLACES, t + h, y, y, tables.system)
    if status == OK and tables.system.joints.shape[0] > 0:
        status = call_pointer(tables.callbacks[0].plain, tables.callbacks[0].plain_data, COMPLETE, t + h, y, dydt)
    if status == OK and options.fast != 0 and options.sleep_after > 0.0:
        load_motion(y, tables.system, tables.stepping.motion)
        status = put_to_sleep(y, tables)
    return status


@njit
def begin_commands(t, h, y, spare, tables):
    """Move kinematic bodies to the middle of a step, and find their velocities in it; those at rest let others sleep. Returns
    a status."""
    commands, asleep = tables.system.commands, tables.collision.asleep
    spare[0] = h
    status = call_commands(BEGIN_STEP, t, y, spare, tables.system)
    for i in range(commands.shape[0]):
        row = commands[i]
        if row.body >= 0:
            speed = norm(load3(row.before_v)) + norm(load3(row.after_v)) + norm(load3(row.surface_v))
            spin = norm(load3(row.before_omega)) + norm(load3(row.after_omega)) + norm(load3(row.surface_omega))
            asleep[row.body] = AWAKE if speed + spin > 0.0 else UNMOVED
    return status


@njit
def swap(a, b):
    """Exchange the contents of two arrays."""
    for i in range(a.shape[0]):
        a[i], b[i] = b[i], a[i]


@njit
def find_initial_contacts(t, y, dydt, tables):
    """Resolve the contacts that would close within half a step from the initial state, by impulses alone, or leave them to
    continuous detection (`fast.leave_start`). Returns a status."""
    stepping = tables.stepping
    was_fast, caught = stepping.options[0].fast != 0, stepping.report[0].caught
    stepping.report[0].kept = 0
    copy(stepping.saved, y)
    save_memory(stepping)
    status = resolve_at_start(t, y, dydt, tables)
    if status == OK and stepping.options[0].fast != 0 and not was_fast:  # detection covers all of a step then
        stepping.report[0].caught = caught
        copy(y, stepping.saved)
        restore_memory(stepping)
        status = resolve_at_start(t, y, dydt, tables)
    if status == OK and not is_finite(y):
        status = NON_FINITE
    if status != OK:
        stepping.report[0].caught = caught
        copy(y, stepping.saved)
        restore_memory(stepping)
        restore_start(was_fast, status, tables)
        restore_kinematics(t, y, dydt, tables)
        return status
    note_residual(stepping.report[0])
    return OK


@njit
def resolve_at_start(t, y, dydt, tables):
    """The same once, from the state y. Returns a status."""
    forget_left(tables)
    half, answer = 0.5 * tables.stepping.options[0].dt, tables.stepping.answer
    if not in_joint_space(tables):
        return resolve_impacts(t, half, 0.0, y, dydt, tables)
    status = call_coordinates(PLACE, 0.0, y, answer, tables)
    if status == OK:
        status = solve_velocities(half, False, y, dydt, tables)
    if status == OK:
        status = call_coordinates(FINISH, 0.0, y, answer, tables)
    return status


@njit
def save_momenta(h, y, tables):
    """The momenta in y, after impacts in the first half of a step, become those before its middle."""
    saved = tables.stepping.saved
    for i in range(tables.system.bodies.shape[0]):
        for k in range(STATE_SIZE * i + 7, STATE_SIZE * (i + 1)):
            store(saved, k, load(y, k))
    call_limits(START_STEP, h, y, tables)


# Sleep ------------------------------------------------------------------------------------------------------------------
#
# Islands whose bodies have all been slow for a while fall asleep, if the user asks for it. What is left of their motion is
# removed, and booked: the energy as work of projection, which is an error of the energy, the momenta as reactions from
# outside. While they sleep, their supports balance the forces on them. `collide.islands` wakes them.


@njit
def sleeps_at_middle(tables):
    """Whether bodies fall asleep at the middle of a step, where velocities do not change after it; else they do at its
    end."""
    options = tables.stepping.options[0]
    return options.sleep_after > 0.0 and options.fast == 0 and not in_joint_space(tables)


@njit
def put_to_sleep(y, tables):
    """Count the time for which each body has been slow, and stop the islands whose bodies have all been so for long
    enough. Returns a status."""
    collision, stepping = tables.collision, tables.stepping
    options, report = stepping.options[0], stepping.report[0]
    asleep, slow, motion = collision.asleep, stepping.slow, stepping.motion
    joint_space = in_joint_space(tables)
    for body in range(tables.system.settings[0].rigid):
        slow[body] += options.dt
        energy = energy_of_link(body, tables) if joint_space else kinetic_energy(body, y, motion)
        if 2.0 * energy > tables.system.bodies[body].mass * options.sleep_speed**2:
            slow[body] = min(slow[body], 0.0)
    islands, members = collision.islands, collision.members
    for i in range(collision.counts[ISLANDS]):
        island = islands[i]
        slow_enough = asleep[members[island.first_member]] == AWAKE
        for m in range(island.first_member, island.end_member):
            slow_enough = slow_enough and slow[members[m]] >= options.sleep_after
        if slow_enough:
            report.naps += 1
            for m in range(island.first_member, island.end_member):
                asleep[members[m]] = AWAKE + report.naps
                if not joint_space:
                    stop_body(members[m], y, motion)
            status = call_coordinates(STOP_ISLAND, float(i), y, stepping.answer, tables) if joint_space else OK
            if status != OK:
                return status
    return OK


@njit
def energy_of_link(body, tables):
    """The kinetic energy of a body in joint coordinates, J."""
    y, kin, at = tables.stepping.state_of_bodies, tables.system.kinematics[body], STATE_SIZE * body
    return 0.5 * (dot(three(y, at + 7), load3(kin.v)) + dot(three(y, at + 10), load3(kin.omega)))


@njit
def kinetic_energy(body, y, motion):
    """½ (P·v + L·ω), J."""
    at, to = STATE_SIZE * body, MOTION * body
    return 0.5 * (
        dot(three(y, at + 7), three(motion, to + LINEAR)) + dot(three(y, at + 10), three(motion, to + ANGULAR))
    )


@njit
def stop_body(body, y, motion):
    """Set the momenta of a body to zero, and book the change."""
    at = STATE_SIZE * body
    x, momentum, moment = three(y, at), three(y, at + 7), three(y, at + 10)
    entry = y.shape[0] - len(LEDGER) + PROJECTION_WORK
    store(y, entry, load(y, entry) - kinetic_energy(body, y, motion))
    book_reaction(y, scale(-1.0, momentum), scale(-1.0, add(cross(x, momentum), moment)))
    for k in range(at + 7, at + STATE_SIZE):
        store(y, k, 0.0)
