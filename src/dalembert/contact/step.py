"""One time step of contact at velocity level (J. J. Moreau 1988, 1999), with forces and joints.

    half a drift → forces, joints, contacts there → forces and impulses act → half a drift

Over the drifts bodies move freely, with exactly constant momenta; all impulses act at the midpoint, those of joints as
`joints` says. The impulses p of contacts satisfy, with u the velocities after them, the law of a hard contact with friction:

    gap + h u_n ≥ 0 ⊥ p_n ≥ 0 (u_n + e u_n⁻ ≥ 0 where it bounces),   |p_t| ≤ μ p_n, opposed to u_t where it slides.

Overlap is not removed by velocities, which would add energy, but by displacements, the smallest in the metric of the masses
(`position_correction`). As forces and impulses change the velocities from v⁻ to v⁺ at one place, the kinetic energy
changes by exactly (h F + Jᵀ p)·½ (v⁻ + v⁺), which is what the audit books.

In order: a run of steps and the step, its changes of velocity, free motion, its forces, and sleep.
"""

import numpy as np

from ..collide.tables import (
    AWAKE,
    CONTACTS,
    ISLANDS,
    NEED_ROOM,
    UNMOVED,
    clear_warm_start,
    save_warm_start,
)
from ..core.c_function import C_SIGNATURE, COMPLETE, DERIVATIVE, DRIFT, KINEMATICS, POWERS, call_pointer, viewer
from ..core.jit import CFunction, njit
from ..core.math3 import (
    add,
    add_scaled,
    cross,
    dot,
    load3,
    matvec,
    norm,
    perpendicular,
    scale,
    store3,
    sub,
    symvec,
)
from ..core.profiler import begin_timing, end_stage
from ..core.simd import clear, copy, is_finite, load, store
from ..core.status import NON_FINITE, OK
from ..core.tables import own_address, table_at
from ..core.thread_pool import CONTACT_SLOT
from ..dynamics.commands import BEGIN_INSTANT, BEGIN_STEP, MOTIONS, PLACES, SETTLE, SHOW_VELOCITIES, call_commands
from ..dynamics.kinematics import load9
from ..model.tables import (
    CONSTRAINT_WORK,
    LEDGER,
    PROJECTION_WORK,
    REACTION_IMPULSE,
    REACTION_TORQUE,
    STATE_SIZE,
)
from .fast import (
    FIND,
    IMPACT_NORMAL,
    IMPACT_POINT,
    SIDE_A,
    SIDE_B,
    STRIKE,
    TIME,
    ignore_far_ahead,
    is_fast,
    moves_little,
    note_contacts,
    note_strike,
    outruns,
    show_start,
    show_velocities,
)
from .gauss_seidel import axes_of
from .joints import add_impulses, apply_impulses, book_reaction, set_targets
from .parallel import (
    ADD_IMPULSES,
    ADD_IMPULSES_OF_ISLANDS,
    BIASES,
    OVERLAP,
    RUN_STEPS,
    SAVE_IMPULSES,
    SEPARATIONS,
    is_shared,
    over_all_contacts,
    prepare_rows,
    shares_contacts,
    whole_pairs,
)
from .position_correction import apply_correction, move_separations, overlap_of, plan_correction
from .restitution import (
    ELASTIC_ROUNDS,
    add_impacts,
    bounce_mechanisms,
    gap_bias,
    load_free_motion,
    load_speeds,
    make_impacts,
    set_bias,
)
from .solve import run_job, solve_impulses
from .tables import (
    ANGULAR,
    APPLY_TO_STATE,
    BEFORE,
    BEGIN_SURFACES,
    BEGIN_WAY,
    BOOK,
    BOOK_CORRECTION_OF_SOFT,
    BOOK_SURFACES,
    DETECTION,
    FILL_ROWS,
    FILL_SURFACES,
    FINISH,
    FREE_SPEEDS,
    INVERSE_INERTIA,
    INVERSE_MASS,
    INVERSE_NORMAL,
    LINEAR,
    MARK_SURFACES,
    MOTION,
    PLACE,
    PLACE_ON_WAY,
    POWER,
    RATES,
    REFACTOR,
    RESPOND_SURFACES,
    RESTORE_SURFACES,
    ROW,
    SAVE_SURFACES,
    SET_SOFT,
    SET_SOFT_IDLE,
    SET_STOPS,
    SMOOTH,
    SOLVER,
    START_STEP,
    STOP_ISLAND,
    TURN,
    UPDATE,
    UPDATE_ROWS,
    UPDATE_ROWS_IDLE,
    UPDATE_SATURATION,
    WALK,
    ContactTables,
    call_coordinates,
    call_limits,
    call_mechanism,
    call_surfaces,
    in_joint_space,
    load_motion,
    note_residual,
    note_way,
    relative_velocity,
    six,
    three,
)

MOST_LOOKS = 16  # of collision detection in a step
MOST_IMPACTS = 64  # of fast bodies in half a step
SWEEPS_OF_IMPACTS = 200  # most sweeps of the solver at an impact of a fast body, or more if the user allows
AT_ONCE = 1e-6  # of half a step: an impact so soon after another is at the same place
STEP_ROUNDING = 1e-9  # of a step: one that would begin so shortly before the end of the run is not made

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
        report.unnoted = 0
        status = find_initial_contacts(options.start + report.steps * options.dt, y, dydt, tables)
        if status != OK:
            return status
        options.fresh = 0
        reset_memory(stepping)
    while (report.steps + STEP_ROUNDING) * options.dt < stop:
        status = step(options.start + report.steps * options.dt, y, dydt, tables)
        if status != OK:
            return status
        report.steps += 1
    return OK


# A step that stops half-way, because a table is too short or the converging solver is not at hand, is made again from its
# start, with the same bits. So all that persists from step to step, beside the state, is put back. Collision detection finds
# nothing moved when it looks again at the same place, and its manifolds as they are.


@njit
def save_memory(stepping):
    """Save the passes of islands, bounds and soft rows."""
    passes, waits, saved = stepping.passes, stepping.waits, stepping.saved_passes
    for body in range(passes.shape[0]):
        saved[2 * body], saved[2 * body + 1] = passes[body], waits[body]
    copy(stepping.saved_bounds, stepping.numbers_of_bounds)
    copy(stepping.saved_soft, stepping.numbers_of_soft)


@njit
def restore_memory(stepping):
    """Put them back."""
    passes, waits, saved = stepping.passes, stepping.waits, stepping.saved_passes
    for body in range(passes.shape[0]):
        passes[body], waits[body] = saved[2 * body], saved[2 * body + 1]
    copy(stepping.numbers_of_bounds, stepping.saved_bounds)
    copy(stepping.numbers_of_soft, stepping.saved_soft)


@njit
def restore_kinematics(t, y, dydt, tables):
    """The velocities of the state y in the kinematics table, where bounds and soft rows begin from them."""
    if tables.callbacks[0].limits != 0 and not in_joint_space(tables):
        call_pointer(tables.callbacks[0].plain, tables.callbacks[0].plain_data, KINEMATICS, t, y, dydt)


@njit
def reset_memory(stepping):
    """Forget which islands were at rest, and where shock propagation did not help."""
    passes, waits = stepping.passes, stepping.waits
    for body in range(passes.shape[0]):
        passes[body], waits[body] = 0, 0


# RUN_STEPS: `data` is the address of the tables. Else a job of a thread (`core.thread_pool`): `data` is the address of its
# slot, the items of the job are n … m, and its result is in `dydt`.
def step_entry(data, task, stop, y, n, dydt, m):
    if task == RUN_STEPS:
        return run_steps(_floats(y, n), _floats(dydt, m), stop, table_at(ContactTables, data))
    tables, result = table_at(ContactTables, _addresses(data, CONTACT_SLOT + 1)[CONTACT_SLOT]), _floats(dydt, 1)
    result[0] = max(result[0], run_step_job(task, n, m, tables))
    return OK


@njit
def run_step_job(kind, begin, end, tables):
    """Items begin … end of a job that threads share (see `parallel`); returns the largest of the values of its items."""
    collision, stepping = tables.collision, tables.stepping
    if kind < OVERLAP or kind > ADD_IMPULSES_OF_ISLANDS:
        return run_job(kind, begin, end, tables)
    if kind == OVERLAP:
        return overlap_of(begin, end, collision.contacts)
    if kind == BIASES:
        return set_gap_biases(begin, end, tables)
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
def look_from_start(t, y, dydt, tables):
    """Find the pairs of a step that is made again, where it begins. Returns a status."""
    if in_joint_space(tables):
        status = call_coordinates(PLACE_ON_WAY, 0.0, y, tables.stepping.answer, tables)
    else:
        callbacks = tables.callbacks[0]
        status = call_pointer(callbacks.plain, callbacks.plain_data, KINEMATICS, t, y, dydt)
    if status != OK:
        return status
    h, bodies = tables.stepping.options[0].dt, tables.system.settings[0].rigid
    set_travel(h, bodies, tables.system.kinematics, tables.collision)
    return detect(tables.stepping.state_of_bodies if in_joint_space(tables) else y, tables)


@njit
def step(t, y, dydt, tables):
    """One step of `options.dt` from t, in place. Returns a status; where it is not OK, y is as it was, and `saved` is the
    state at which the step failed. dydt is scratch."""
    stepping = tables.stepping
    h, report = stepping.options[0].dt, stepping.report[0]
    timer = stepping.timer
    begin_timing(timer, 1.0)
    copy(stepping.saved, y)
    save_memory(stepping)
    call_surfaces(BEGIN_SURFACES, 0.0, y, tables)
    was_fast, impacts, held = stepping.options[0].fast != 0, report.impacts, report.held
    report.struck, report.unnoted, report.way_residual, report.way_aim = 0, 0, 0.0, 1.0
    if was_fast:
        copy(stepping.origin, y)
    status = look_from_start(t, y, dydt, tables) if report.again != 0 and was_fast else OK
    report.again = 0
    if status == OK:
        status = move_to_middle(t, h, y, dydt, tables)
    end_stage(timer, SMOOTH)
    if status == OK:
        status = solve_velocities(h, True, y, dydt, tables)
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
        report.impacts, report.held, report.struck, report.again = impacts, held, 0, 1
        if was_fast:
            copy(y, stepping.origin)
        restore_kinematics(t, y, dydt, tables)
        return status
    report.residual, report.aim = residual, aim
    if report.way_residual > 0.0 and (aim <= 0.0 or report.way_residual * aim > residual * report.way_aim):
        report.residual, report.aim = report.way_residual, report.way_aim
    note_residual(report)
    return OK


@njit
def move_to_middle(t, h, y, dydt, tables):
    """The first half drift, and the forces in the middle of a step from t. Returns a status."""
    if in_joint_space(tables):
        status = advance_trees(0.5 * h, True, y, dydt, tables)
        return call_coordinates(PLACE, h, y, tables.stepping.answer, tables) if status == OK else status
    call_limits(START_STEP, h, y, tables)
    status = advance(t, 0.5 * h, True, y, dydt, tables)
    if tables.stepping.options[0].fast != 0:
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
    options = tables.stepping.options[0]
    if in_joint_space(tables):
        if options.fast != 0:
            call_coordinates(TURN, h, y, tables.stepping.answer, tables)
        status = advance_trees(0.5 * h, False, y, dydt, tables)
        if status == OK:
            status = call_coordinates(FINISH, h, y, tables.stepping.answer, tables)
        if status == OK and options.sleep_after > 0.0:
            status = put_to_sleep(y, tables)
        return status
    status = advance(t + 0.5 * h, 0.5 * h, False, y, dydt, tables)
    if status == OK and tables.system.commands.shape[0] > 0:
        status = call_commands(PLACES, t + h, y, y, tables.system)
    if status == OK and tables.system.joints.shape[0] > 0:
        status = call_pointer(tables.callbacks[0].plain, tables.callbacks[0].plain_data, COMPLETE, t + h, y, dydt)
    if status == OK and options.fast != 0 and options.sleep_after > 0.0:
        load_motion(y, tables.system.bodies, tables.system.kinematics, tables.stepping.motion)
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
    """Resolve the contacts that would close within half a step from the initial state, by impulses alone. Returns a
    status."""
    stepping = tables.stepping
    copy(stepping.saved, y)
    save_memory(stepping)
    half = 0.5 * stepping.options[0].dt
    if in_joint_space(tables):
        status = call_coordinates(PLACE, 0.0, y, stepping.answer, tables)
        if status == OK:
            status = solve_velocities(half, False, y, dydt, tables)
        if status == OK:
            status = call_coordinates(FINISH, 0.0, y, stepping.answer, tables)
    else:
        status = resolve_impacts(t, half, y, dydt, tables)
    if status == OK and not is_finite(y):
        status = NON_FINITE
    if status != OK:
        copy(y, stepping.saved)
        restore_memory(stepping)
        restore_kinematics(t, y, dydt, tables)
        return status
    note_residual(stepping.report[0])
    return OK


@njit
def resolve_impacts(t, h, y, dydt, tables):
    """Resolve the contacts of bodies that would close within h (s) from the state y, by impulses alone. Returns a status."""
    call_limits(SET_SOFT_IDLE, tables.stepping.options[0].dt, y, tables)
    status = call_mechanism(tables.callbacks, DERIVATIVE, t, y, dydt)
    if status == OK and tables.system.commands.shape[0] > 0:
        status = call_commands(BEGIN_INSTANT, t, y, y, tables.system)
    if status == OK:
        call_limits(START_STEP, 0.0, y, tables)
        status = solve_velocities(h, False, y, dydt, tables)
    return status


@njit
def solve_velocities(h, with_forces, y, dydt, tables):
    """All changes of momentum of a step, where the bodies are: by forces over h, if `with_forces`, and by impulses.

    Detects contacts, and looks again where impulses make a body faster than detection assumed; writes momenta and ledger in
    y, the impulses in the tables, and the displacements that remove overlap. Returns a status.
    """
    collision, stepping = tables.collision, tables.stepping
    options, joint_space = stepping.options[0], in_joint_space(tables)
    if options.fast != 0 and stepping.report[0].unnoted != 0 and not note_contacts(tables):
        return NEED_ROOM
    stepping.report[0].unnoted = 1
    reach = options.dt if options.fast != 0 else h
    set_travel(reach, tables.system.settings[0].rigid, tables.system.kinematics, collision)
    corrected, bounced, status = find_and_solve(h, with_forces, True, y, dydt, tables)
    looks = 1
    watched = not joint_space or tables.system.commands.shape[0] == 0
    calm = watched and status == OK and moves_little(tables)
    while (
        watched
        and not calm
        and status == OK
        and looks < MOST_LOOKS
        and outruns_detection(reach, with_forces, bounced, tables)
    ):
        corrected, bounced, status = find_and_solve(h, with_forces, False, y, dydt, tables)
        looks += 1
    if status == OK and watched:
        status = watch_fast(calm, with_forces, tables)
    if status != OK:
        return status
    end_stage(stepping.timer, SOLVER)
    if shares_contacts(collision):
        over_all_contacts(SAVE_IMPULSES, tables)
    else:
        save_warm_start(0, collision.counts[CONTACTS], collision)
    call_surfaces(SAVE_SURFACES, h if with_forces else 0.0, y, tables)
    if joint_space:
        status = call_coordinates(BOOK, h if with_forces else 0.0, y, stepping.answer, tables)
        call_surfaces(BOOK_SURFACES, h if with_forces else 0.0, y, tables)
        return status
    apply_impulses(y, tables)
    call_surfaces(BOOK_SURFACES, h if with_forces else 0.0, y, tables)
    call_limits(APPLY_TO_STATE, h, y, tables)
    if with_forces:
        book_work(h, corrected, y, tables)
    if corrected:
        apply_correction(y, tables)
        call_limits(BOOK_CORRECTION_OF_SOFT, h, y, tables)
    if tables.system.commands.shape[0] > 0:
        call_commands(SETTLE, 0.0, y, stepping.joint_impulses, tables.system)
    if with_forces and options.fast == 0 and options.sleep_after > 0.0:
        return put_to_sleep(y, tables)
    return OK


@njit
def outruns_detection(reach, with_forces, bounced, tables):
    """Whether some body may meet what was not looked for, see `fast.outruns`; in joint coordinates shows the velocities of
    bodies first."""
    if in_joint_space(tables):
        show_velocities(tables)
        return outruns(reach, with_forces, bounced, tables.stepping.search_motion, tables)
    return outruns(reach, with_forces, bounced, tables.stepping.motion, tables)


@njit
def watch_fast(calm, with_forces, tables):
    """Note whether some body is fast after the impulses; not where all are `calm`. Returns a status: NEED_ROOM where
    continuous collision detection is needed, and not at hand yet."""
    options, stepping = tables.stepping.options[0], tables.stepping
    if calm:
        fast = False
    elif in_joint_space(tables):
        fast = is_fast(options.dt, stepping.search_motion, tables)
    else:
        fast = is_fast(options.dt, stepping.motion, tables)
    if fast:
        options.fast = 1
    elif with_forces:
        options.fast = 0
    return NEED_ROOM if options.fast != 0 and tables.callbacks[0].continuous == 0 else OK


@njit
def find_and_solve(h, with_forces, first, y, dydt, tables):
    """Detect the contacts within the `travel` of the bodies, and find displacements and impulses; forces act on y at the
    `first` look only. Returns (whether positions are to be corrected, whether elastic bodies bounced, a status)."""
    collision, stepping = tables.collision, tables.stepping
    driven, corrected, bounced = tables.system.commands.shape[0] > 0, False, False
    status = detect(stepping.state_of_bodies if in_joint_space(tables) else y, tables)
    if status != OK:
        return corrected, bounced, status
    end_stage(stepping.timer, DETECTION)
    call_surfaces(MARK_SURFACES, 0.0, y, tables)
    if driven:
        call_commands(SHOW_VELOCITIES, 0.0, y, y, tables.system)
    status = fill_rows(h, with_forces, y if first or not with_forces else stepping.saved, y, tables)
    if status == OK:
        call_surfaces(FILL_SURFACES, h if with_forces else 0.0, y, tables)
    if status == OK and with_forces:
        corrected, status = plan_correction(tables)
        if first:
            apply_forces(h, y, dydt, tables)
        if driven:
            call_commands(SHOW_VELOCITIES, 1.0, y, y, tables.system)
        load_speeds(h, y, tables)
    elif status == OK:
        clear_warm_start(collision)  # of another step, or of none
        load_speeds(0.0, y, tables)
    if status == OK:
        bounced, status = find_impulses(h, with_forces, y, tables)
    return corrected, bounced, status


@njit
def detect(y, tables):
    """Find the contacts of bodies at the state y, within their `travel`. Returns a status."""
    bodies = tables.system.settings[0].rigid
    detector, data = tables.callbacks[0].detector, tables.callbacks[0].detector_data
    status = call_pointer(detector, data, bodies, tables.stepping.options[0].margin, y, y)
    if status != OK:
        return NEED_ROOM if status == NEED_ROOM else NON_FINITE
    return OK


@njit
def fill_rows(h, with_forces, before, y, tables):
    """The rows of contacts, joints and bounds of a step over h, and the velocities before it, which are those of the momenta
    in `before`. Returns a status."""
    if in_joint_space(tables):
        if tables.stepping.options[0].fast != 0:
            show_start(tables)
            ignore_far_ahead(tables.stepping.options[0].dt, tables.stepping.search_motion, tables)
        return call_coordinates(FILL_ROWS, h if with_forces else 0.0, y, tables.stepping.answer, tables)
    load_motion(before, tables.system.bodies, tables.system.kinematics, tables.stepping.motion)
    options = tables.stepping.options[0]
    motion = tables.stepping.motion
    if not with_forces and is_fast(options.dt, motion, tables):
        options.fast = 1
    if options.fast != 0:
        ignore_far_ahead(options.dt, motion, tables)
    prepare_rows(tables)
    set_targets(tables)
    return call_limits(UPDATE_ROWS if with_forces else UPDATE_ROWS_IDLE, h, y, tables)


@njit
def find_impulses(h, with_forces, y, tables):
    """The impulses of a step, with motors at their limits and restitution; `motion` becomes the velocities after them.
    Returns (whether elastic bodies bounced, a status)."""
    impacts = 0
    if set_biases(h, tables) and not in_joint_space(tables):
        impacts = make_impacts(h, with_forces, y, tables)
    call_limits(SET_STOPS, h, y, tables)
    bounced, status = bounce_mechanisms(h, with_forces, impacts, y, tables)
    if status == OK:
        status = solve_impulses(tables)
    trial = 0
    while status == OK and with_forces and call_limits(UPDATE_SATURATION, float(trial), y, tables) != 0:
        trial += 1
        status = call_limits(REFACTOR, h, y, tables)
        if status == OK and in_joint_space(tables):
            call_surfaces(RESPOND_SURFACES, h, y, tables)
        load_free_motion(h, impacts, y, tables)
        if status == OK:
            bounced, status = bounce_mechanisms(h, with_forces, impacts, y, tables)
        if status == OK:
            status = solve_impulses(tables)
    if impacts != 0 or bounced:
        add_impacts(tables)
    return impacts == ELASTIC_ROUNDS or bounced, status


@njit
def set_travel(h, bodies, kinematics, collision):
    """h |v| and h |ω| of each body: the reach of collision detection within the step."""
    travel = collision.travel
    for i in range(bodies):
        kin = kinematics[i]
        travel[2 * i] = h * norm(load3(kin.v))
        travel[2 * i + 1] = h * norm(load3(kin.omega))


@njit
def set_biases(h, tables):
    """The bias of each contact, gap / h, or e u_n⁻ of one that closes within the step. Returns whether one bounces."""
    stepping = tables.stepping
    contacts = tables.collision.contacts
    motion = stepping.motion
    rows = stepping.rows
    slop = stepping.options[0].slop
    bounces, rates, joint_space = False, stepping.contact_rates, in_joint_space(tables)
    driven = tables.system.commands.shape[0] > 0
    if joint_space:
        call_coordinates(RATES, 0.0, motion, rates, tables)
    stepping.job_time[0] = h
    if shares_contacts(tables.collision) and not driven and over_all_contacts(BIASES, tables) == 0.0:
        return False
    for i in range(tables.collision.counts[CONTACTS]):
        contact = contacts[i]
        if contact.restitution == 0.0 and not driven:
            contact.bias = gap_bias(contact, h, slop)
            continue
        n, _, _ = axes_of(contact)
        if joint_space:
            u = load(rates, 3 * i)
        else:
            u = dot(n, relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b)))
        along = normal_surface_speed(contact, n, tables.system) if driven else 0.0
        bounces = set_bias(contact, h, slop, load(rows, ROW * i + BEFORE) - along, u - along) or bounces
        if driven:
            contact.bias -= along
            store(stepping.surface_speeds, i, along)
    return bounces


@njit
def set_gap_biases(begin, end, tables):
    """The biases of contacts begin … end without restitution; returns 1 if there are others, 0 if not."""
    contacts, slop, h = tables.collision.contacts, tables.stepping.options[0].slop, tables.stepping.job_time[0]
    others = 0.0
    for i in range(begin, end):
        if contacts[i].restitution == 0.0:
            contacts[i].bias = gap_bias(contacts[i], h, slop)
        else:
            others = 1.0
    return others


@njit
def normal_surface_speed(contact, normal, system):
    """The normal part of the velocities of moving surfaces at a contact, b's less a's, which `motion` has in it: surfaces
    move along themselves, so that biases take it out again."""
    commands, kinematics, speed = system.commands, system.kinematics, 0.0
    for i in range(commands.shape[0]):
        row = commands[i]
        sign = (1.0 if row.body == contact.b else 0.0) - (1.0 if row.body == contact.a else 0.0)
        if row.body >= 0 and sign != 0.0:
            rotation = load9(kinematics[row.body].rotation)
            spin, arm = (
                matvec(rotation, load3(row.surface_omega)),
                load3(contact.arm_b if sign > 0.0 else contact.arm_a),
            )
            speed += sign * dot(normal, add(matvec(rotation, load3(row.surface_v)), cross(spin, arm)))
    return speed


# Free motion -------------------------------------------------------------------------------------------------------------
#
# Where something is fast, it stops at each impact that the contacts of the step did not prevent (`continuous`). Impulses act
# there on all that touches. An impact of a pair that is still there after that ends by an impulse on this pair alone.


@njit
def advance(t, h, first, y, dydt, tables):
    """Free motion over h from t (s), in place, with the impacts of fast bodies; whether it is the `first` half of a step.
    Returns a status."""
    callbacks, stepping = tables.callbacks, tables.stepping
    if stepping.options[0].fast == 0:
        return drift(callbacks, h, y, dydt)
    watch, impact, report = callbacks[0].continuous, stepping.impact, stepping.report[0]
    if watch == 0:
        return NEED_ROOM
    left, last = h, (-1.0, -1.0)
    for _ in range(MOST_IMPACTS):
        status = show_commands(t + h - left, y, tables)
        if status == OK:
            status = call_pointer(watch, own_address(tables), FIND, left, y, dydt)
        if status != OK or impact[TIME] >= left:
            return drift(callbacks, left, y, dydt) if status == OK else status
        again = impact[TIME] <= AT_ONCE * h and last[0] == impact[SIDE_A] and last[1] == impact[SIDE_B]
        last = impact[SIDE_A], impact[SIDE_B]
        status = drift(callbacks, impact[TIME], y, dydt)
        left -= impact[TIME]
        report.impacts += 1
        copy_momenta(y, tables)
        if status == OK and again:
            status = strike_alone(t + h - left, left, y, dydt, tables)
        elif status == OK:
            iterations = stepping.options[0].iterations
            stepping.options[0].iterations = max(iterations, SWEEPS_OF_IMPACTS)
            status = resolve_impacts(t + h - left, left, y, dydt, tables)
            stepping.options[0].iterations = iterations
            note_way(report)
        book_detour(left - h if first else left, y, tables)
        if status != OK:
            return status
    return hold_fast(left, y, dydt, tables)


# Between two middles the speeds of trees are constant. Where an impact has changed them, the coordinates are moved back along
# them, so that PLACE or FINISH, which move on by half a step, end where they should.


@njit
def advance_trees(h, first, y, dydt, tables):
    """The impacts in joint coordinates within h (s) from the state y, of the `first` or second half of a step. Returns a
    status."""
    stepping, report = tables.stepping, tables.stepping.report[0]
    if stepping.options[0].fast == 0:
        return OK
    watch, impact, answer = tables.callbacks[0].continuous, stepping.impact, stepping.answer
    if watch == 0:
        return NEED_ROOM
    if first:
        call_coordinates(BEGIN_WAY, 0.0, y, answer, tables)
    left, last = h, (-1.0, -1.0)
    for _ in range(MOST_IMPACTS):
        status = call_pointer(watch, own_address(tables), FIND, left, y, dydt)
        if status != OK or impact[TIME] >= left:
            if left != h:
                call_coordinates(WALK, left - h, y, answer, tables)
            return status
        again = impact[TIME] <= AT_ONCE * h and last[0] == impact[SIDE_A] and last[1] == impact[SIDE_B]
        last = impact[SIDE_A], impact[SIDE_B]
        call_coordinates(WALK, impact[TIME], y, answer, tables)
        left -= impact[TIME]
        report.impacts += 1
        status = meet_on_way(again, left, left - h if first else left, y, dydt, tables)
        if status != OK:
            return status
    report.held += 1
    call_coordinates(WALK, -h, y, answer, tables)
    return OK


@njit
def meet_on_way(again, left, detour, y, dydt, tables):
    """The impulses of an impact where the trees are, `left` (s) before half the step ends; if met `again`, on its pair alone.
    Books what forces have not done, see `book_detour`. Returns a status."""
    stepping, answer = tables.stepping, tables.stepping.answer
    status = call_coordinates(PLACE_ON_WAY, 0.0, y, answer, tables)
    if status != OK:
        return status
    call_coordinates(POWER, 0.0, y, answer, tables)
    before = answer[0]
    if again:
        status = strike_trees(y, tables)
    else:
        iterations = stepping.options[0].iterations
        stepping.options[0].iterations = max(iterations, SWEEPS_OF_IMPACTS)
        status = solve_velocities(left, False, y, dydt, tables)
        stepping.options[0].iterations = iterations
        note_way(stepping.report[0])
    if status == OK:
        call_coordinates(POWER, 0.0, y, answer, tables)
        entry = y.shape[0] - len(LEDGER) + PROJECTION_WORK
        store(y, entry, load(y, entry) + detour * (before - answer[0]))
    answer[0] = 0.0
    return status


@njit
def strike_trees(y, tables):
    """End the approach of the pair of the last impact by an impulse along its normal, as the only contact. Returns a
    status."""
    collision, stepping, report = tables.collision, tables.stepping, tables.stepping.report[0]
    if report.unnoted != 0 and not note_contacts(tables):
        return NEED_ROOM
    report.unnoted = 0
    impact, rigid = stepping.impact, tables.system.settings[0].rigid
    n, p = three(impact, IMPACT_NORMAL), three(impact, IMPACT_POINT)
    side_a, side_b = int(impact[SIDE_A]), int(impact[SIDE_B])
    if collision.contacts.shape[0] == 0:
        return NEED_ROOM
    contact = collision.contacts[0]
    contact.a, contact.b = collision.colliders[side_a].body, collision.colliders[side_b].body
    t = perpendicular(n)
    s = cross(n, t)
    for k in range(3):
        contact.frame[k], contact.frame[3 + k], contact.frame[6 + k] = n[k], t[k], s[k]
    store3(contact.position, p)
    store3(contact.arm_a, sub(p, load3(tables.system.kinematics[contact.a].x)) if contact.a < rigid else p)
    store3(contact.arm_b, sub(p, load3(tables.system.kinematics[contact.b].x)) if contact.b < rigid else p)
    store3(contact.impulse, (0.0, 0.0, 0.0))
    contact.friction, contact.restitution, contact.bias = 0.0, 0.0, 0.0
    collision.counts[CONTACTS] = 1
    for i in range(stepping.bounds.shape[0]):
        stepping.bounds[i].impulse = 0.0
    call_coordinates(FILL_ROWS, 0.0, y, stepping.answer, tables)
    call_coordinates(FREE_SPEEDS, 0.0, y, stepping.answer, tables)
    call_coordinates(RATES, 0.0, stepping.motion, stepping.contact_rates, tables)
    size = max(0.0, -load(stepping.contact_rates, 0) * load(stepping.rows, INVERSE_NORMAL))
    store3(contact.impulse, (size, 0.0, 0.0))
    call_coordinates(BOOK, 0.0, y, stepping.answer, tables)
    collision.counts[CONTACTS] = 0  # its impulse is in `struck`
    return OK if size == 0.0 or note_strike(side_a, side_b, p, n, size, tables) else NEED_ROOM


@njit
def show_commands(t, y, tables):
    """Write the poses of kinematic bodies at t (s) to y, and their velocities to the kinematics table. Returns a status."""
    if tables.system.commands.shape[0] == 0:
        return OK
    status = call_commands(PLACES, t, y, y, tables.system)
    return call_commands(MOTIONS, t, y, y, tables.system) if status == OK else status


@njit
def strike_alone(t, left, y, dydt, tables):
    """An impulse on the pair of the last impact alone, at t (s). Returns a status."""
    driven = tables.system.commands.shape[0] > 0
    status = show_commands(t, y, tables)
    if status == OK and driven:
        status = call_commands(BEGIN_INSTANT, t, y, y, tables.system)
    if status == OK:
        status = call_pointer(tables.callbacks[0].continuous, own_address(tables), STRIKE, left, y, dydt)
    if status == OK and driven:
        clear(tables.stepping.joint_impulses)
        call_commands(SETTLE, 0.0, y, tables.stepping.joint_impulses, tables.system)
    return status


@njit
def copy_momenta(y, tables):
    """The momenta P of all bodies into `shift`."""
    for i in range(tables.system.bodies.shape[0]):
        for k in range(3):
            store(tables.stepping.shift, MOTION * i + k, load(y, STATE_SIZE * i + 7 + k))


@njit
def book_detour(left, y, tables):
    """Book, as work of projection, what forces F have not done: each step has their impulse h F at its middle, as if bodies
    moved by ½ h at each of the velocities v⁻ and v⁺ before and after an impact in between. They turn `left` (s) before the
    middle of that time (negative: after it), and gain left F · (v⁻ − v⁺)."""
    bodies, kinematics, before = tables.system.bodies, tables.system.kinematics, tables.stepping.shift
    entry = y.shape[0] - len(LEDGER) + PROJECTION_WORK
    for i in range(bodies.shape[0]):
        lost = sub(three(before, MOTION * i), three(y, STATE_SIZE * i + 7))
        y[entry] += left * bodies[i].inverse_mass * dot(load3(kinematics[i].force), lost)


@njit
def hold_fast(h, y, dydt, tables):
    """Free motion over h (s) of what is not fast, after too many impacts; the others stay where they are. What the forces
    would have done along their way is booked as work of projection. Returns a status."""
    stepping, kinematics, bodies = tables.stepping, tables.system.kinematics, tables.system.bodies
    moves, kept = stepping.moves, stepping.shift
    stepping.report[0].held += 1
    for i in range(bodies.shape[0]):
        for k in range(7):
            store(kept, MOTION * i + k, load(y, STATE_SIZE * i + k))
    status = drift(tables.callbacks, h, y, dydt)
    entry = y.shape[0] - len(LEDGER) + PROJECTION_WORK
    for i in range(bodies.shape[0]):
        if moves[i] > 0.0:
            y[entry] += h * bodies[i].inverse_mass * dot(load3(kinematics[i].force), three(y, STATE_SIZE * i + 7))
            for k in range(7):
                store(y, STATE_SIZE * i + k, load(kept, MOTION * i + k))
    return status


@njit
def save_momenta(h, y, tables):
    """The momenta in y, after impacts in the first half of a step, become those before its middle."""
    saved = tables.stepping.saved
    for i in range(tables.system.bodies.shape[0]):
        for k in range(STATE_SIZE * i + 7, STATE_SIZE * (i + 1)):
            store(saved, k, load(y, k))
    call_limits(START_STEP, h, y, tables)


# Forces -----------------------------------------------------------------------------------------------------------------


@njit
def drift(callbacks, h, y, spare):
    """Free motion over h (s), in place; see `core.c_function.DRIFT`."""
    spare[0] = h
    return call_mechanism(callbacks, DRIFT, 0.0, y, spare)


@njit
def evaluate_forces(t, h, y, dydt, tables):
    """Forces at the middle of the step, into the kinematics table; those that depend on velocities at v + ½ h v̇. Momenta
    in y are as before. Returns a status."""
    status = call_mechanism(tables.callbacks, DERIVATIVE, t, y, dydt)
    if status != OK or tables.stepping.options[0].predict == 0:
        return status
    for i in range(tables.system.bodies.shape[0]):
        for k in range(STATE_SIZE * i + 7, STATE_SIZE * (i + 1)):
            store(y, k, load(y, k) + 0.5 * h * load(dydt, k))
    status = call_mechanism(tables.callbacks, DERIVATIVE, t, y, dydt)
    saved = tables.stepping.saved
    for i in range(tables.system.bodies.shape[0]):
        for k in range(STATE_SIZE * i + 7, STATE_SIZE * (i + 1)):
            store(y, k, load(saved, k))
    return status


@njit
def apply_forces(h, y, dydt, tables):
    """P, L ← P, L + h (F, τ) of the applied forces, and their entries in the ledger. Their work follows when all impulses are
    known (`book_work`)."""
    if in_joint_space(tables):
        return  # which are there already
    system = tables.system
    kinematics, asleep = system.kinematics, tables.collision.asleep
    bodies = system.bodies.shape[0]
    for i in range(bodies):
        if asleep[i] != AWAKE:
            book_support_of_sleeper(i, h, y, system)
            continue
        kin = kinematics[i]
        at = STATE_SIZE * i + 7
        for k in range(3):
            store(y, at + k, load(y, at + k) + h * kin.force[k])
            store(y, at + 3 + k, load(y, at + 3 + k) + h * kin.torque[k])
    common = y.shape[0] - len(LEDGER)
    dydt[common + CONSTRAINT_WORK] = 0.0
    for k in range(3):
        dydt[common + REACTION_IMPULSE + k] = 0.0
        dydt[common + REACTION_TORQUE + k] = 0.0
    for i in range(STATE_SIZE * bodies, y.shape[0] - system.power.shape[0]):
        y[i] += h * dydt[i]
    for i in range(common, y.shape[0]):
        y[i] += h * dydt[i]


@njit
def book_work(h, corrected, y, tables):
    """The work of the applied forces of a step, F · h ½ (v⁻ + v⁺), into the ledger; and along the displacement in `shift`, if
    positions are `corrected`. The velocities in the kinematics table become these means."""
    system, stepping = tables.system, tables.stepping
    if stepping.options[0].predict == 0 and system.settings[0].stepped == 0:
        return  # nothing acts but fields, which have a potential
    kinematics, saved = system.kinematics, stepping.saved
    motion, shift = stepping.motion, stepping.shift
    for i in range(system.bodies.shape[0]):
        kin, at, to = kinematics[i], STATE_SIZE * i, MOTION * i
        momentum, spin = add(three(saved, at + 7), three(y, at + 7)), add(three(saved, at + 10), three(y, at + 10))
        v = scale(0.5 * load(motion, to + INVERSE_MASS), momentum)
        omega = scale(0.5, symvec(six(motion, to + INVERSE_INERTIA), spin))
        if corrected:
            v = add_scaled(v, 1.0 / h, three(shift, to + LINEAR))
            omega = add_scaled(omega, 1.0 / h, three(shift, to + ANGULAR))
        store3(kin.v, v)
        store3(kin.omega, omega)
    if system.commands.shape[0] > 0:
        call_commands(SHOW_VELOCITIES, 0.5, y, y, system)
    call_mechanism(tables.callbacks, POWERS, 0.0, y, y)
    power = system.power
    first = y.shape[0] - power.shape[0]
    for i in range(power.shape[0] - len(LEDGER)):
        y[first + i] += h * power[i]


# Sleep ------------------------------------------------------------------------------------------------------------------
#
# Islands whose bodies have all been slow for a while fall asleep, if the user asks for it. What is left of their motion is
# removed, and booked: the energy as work of projection, which is an error of the energy, the momenta as reactions from
# outside. While they sleep, their supports balance the forces on them. `collide.islands` wakes them.


@njit
def book_support_of_sleeper(body, h, y, system):
    """Book the impulse of the supports of a sleeping body, which balances the forces on it over h (s)."""
    kin = system.kinematics[body]
    force, torque = scale(-h, load3(kin.force)), scale(-h, load3(kin.torque))
    book_reaction(y, force, add(cross(three(y, STATE_SIZE * body), force), torque))


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
