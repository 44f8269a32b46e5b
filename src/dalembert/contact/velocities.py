"""The changes of velocity in the middle of a step, or at an impact in free motion: forces and impulses, where the
bodies are.

    contacts within reach → rows → displacements that remove overlap → forces → biases, impacts, impulses → momenta and
    ledger

Detection covers the distance that bodies can move at their velocities before the step. If impulses make a body faster,
it is repeated. The work of applied forces is computed when all impulses are known, as F · h ½ (v⁻ + v⁺).

In order: all changes of velocity; contacts and rows; impulses and biases; the applied forces.
"""

import math

from ..collide.near import ELSEWHERE
from ..collide.tables import (
    AWAKE,
    CONTACTS,
    ISLANDS,
    NEED_ROOM,
    SAVE_DETECTION,
    SAVE_PLACES,
    clear_warm_start,
    save_warm_start,
)
from ..core.c_function import DERIVATIVE, POWERS, call_pointer
from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, congruence, cross, dot, load3, norm, scale, store3, sub, symvec
from ..core.profiler import end_stage
from ..core.simd import clear, copy, load, store
from ..core.status import NON_FINITE, OK
from ..dynamics.commands import BEGIN_INSTANT, SETTLE, SHOW_VELOCITIES, call_commands, surface_velocity
from ..dynamics.kinematics import load6, load9
from ..model.tables import CONSTRAINT_WORK, LEDGER, PROJECTION_WORK, REACTION_IMPULSE, REACTION_TORQUE, STATE_SIZE
from .curved_paths import note_velocities, set_bends
from .divided_steps import DIVIDED, divides, drift_ahead, find_hits, time_to_close
from .fast import (
    bounces_on_way,
    forget_left,
    have_restitution,
    is_fast,
    is_free,
    leave_bounces,
    leave_caught,
    leave_start,
    leave_to_detection,
    moves_little,
    note_bearing,
    note_contacts,
    outruns,
    show_start,
    show_velocities,
)
from .gauss_seidel import axes_of
from .joints import apply_impulses, book_reaction, set_targets
from .nearby import add_nearby, concerns_few, exchange_nearby, forget_nearby, solve_marked
from .parallel import BIASES, SAVE_IMPULSES, over_all_contacts, prepare_rows, shares_contacts
from .position_correction import apply_correction, plan_correction
from .restitution import (
    ELASTIC_ROUNDS,
    REPEATS,
    add_impacts,
    bounce_mechanisms,
    gap_bias,
    load_after_impacts,
    load_free_motion,
    load_speeds,
    make_impacts,
    set_bias,
    weaken_impacts,
)
from .seams import pass_seams
from .solve import solve_impulses
from .tables import (
    ANGULAR,
    APPLY_TO_STATE,
    BEFORE,
    BOOK,
    BOOK_CORRECTION_OF_SOFT,
    BOOK_SURFACES,
    DETECTION,
    FILL_ROWS,
    FILL_SURFACES,
    INVERSE_INERTIA,
    INVERSE_MASS,
    LINEAR,
    MARK_SURFACES,
    MEAN_FORCES,
    MOTION,
    RATES,
    REFACTOR,
    RESPOND_SURFACES,
    ROW,
    SAVE_SURFACES,
    SET_SOFT_IDLE,
    SET_STOPS,
    SOLVER,
    START_STEP,
    UPDATE_ROWS,
    UPDATE_ROWS_IDLE,
    UPDATE_SATURATION,
    add_powers,
    call_coordinates,
    call_limits,
    call_mechanism,
    call_surfaces,
    exerts,
    has_surfaces,
    in_joint_space,
    load_motion,
    put_three,
    relative_velocity,
    six,
    start_of_part,
    three,
)

MOST_LOOKS = 16  # of collision detection in a step


@njit
def resolve_impacts(t, h, lead, y, dydt, tables):
    """Resolve the contacts of bodies that would close within h (s) from the state y, by impulses alone. lead (s) : for how
    long forces act on bodies in flight first, if the pair that meets bounces, see `nearby`. Returns a status."""
    call_limits(SET_SOFT_IDLE, tables.stepping.options[0].dt, y, tables)
    status = call_mechanism(tables.callbacks, DERIVATIVE, t, y, dydt)
    if status == OK and tables.system.commands.shape[0] > 0:
        status = call_commands(BEGIN_INSTANT, t, y, y, tables.system)
    if status == OK:
        call_limits(START_STEP, 0.0, y, tables)
        bounces = lead != 0.0 and bounces_on_way(tables.stepping.options[0].dt, tables)
        if bounces:
            lead_flying(lead, y, tables)
        status = solve_velocities(h, False, y, dydt, tables)
        clear(tables.stepping.lead)
        if bounces:
            return_flying(lead, y, tables)
    return status


@njit
def lead_flying(h, y, tables):
    """Let forces act for h (s) on the momenta in y of all bodies in flight. Writes their impulses to `led`."""
    system, led = tables.system, tables.stepping.led
    clear(led)
    for i in range(system.bodies.shape[0]):
        if system.bodies[i].inverse_mass > 0.0 and is_free(i, tables):
            kin, at = system.kinematics[i], STATE_SIZE * i + 7
            put_three(led, MOTION * i, scale(h, load3(kin.force)))
            put_three(led, MOTION * i + 3, scale(h, load3(kin.torque)))
            for k in range(6):
                store(y, at + k, load(y, at + k) + load(led, MOTION * i + k))


@njit
def return_flying(h, y, tables):
    """Take back what `lead_flying` has done over h (s). Writes `lead`."""
    stepping = tables.stepping
    for i in range(tables.system.bodies.shape[0]):
        at = STATE_SIZE * i + 7
        if is_free(i, tables):
            store(stepping.lead, i, h)
        for k in range(6):
            store(y, at + k, load(y, at + k) - load(stepping.led, MOTION * i + k))


@njit
def solve_velocities(h, with_forces, y, dydt, tables):
    """All changes of momentum of a step, where the bodies are: by forces over h, if `with_forces`, and by impulses.

    Detects contacts, and looks again where impulses make a body faster than detection assumed; writes momenta and ledger in
    y, the impulses in the tables, and the displacements that remove overlap. Returns a status.
    """
    collision, stepping = tables.collision, tables.stepping
    options, joint_space = stepping.options[0], in_joint_space(tables)
    if (
        options.fast != 0
        and stepping.report[0].unnoted != 0
        and not note_contacts(0, collision.counts[CONTACTS], tables)
    ):
        return NEED_ROOM
    stepping.report[0].unnoted = 1
    if with_forces:
        forget_left(tables)
    if with_forces:
        reach = time_to_close(stepping)
    else:
        reach = options.dt if options.fast != 0 else h
    set_travel(reach, with_forces, tables)
    corrected, bounced, status = find_and_solve(h, with_forces, True, y, dydt, tables)
    looks = 1
    calm = status == OK and moves_little(tables)
    few, nearby = concerns_few(tables), False
    while not calm and status == OK and looks < MOST_LOOKS and outruns_detection(reach, bounced, tables):
        keep_detection(True, tables)
        few = few and stepping.report[0].crowded == 0
        status = solve_outrun(h, reach, corrected, y, tables) if few else ELSEWHERE
        nearby = status != ELSEWHERE
        if nearby:
            break
        few = False
        corrected, bounced, status = find_and_solve(h, with_forces, False, y, dydt, tables)
        looks += 1
    if status == OK:
        status = watch_fast(calm, with_forces, tables)
    if status != OK:
        return status
    if with_forces and options.fast != 0:
        if joint_space and have_restitution(tables):
            show_velocities(tables)
        note_bearing(h, stepping.search_motion if joint_space else stepping.motion, tables)
    if nearby:
        exchange_nearby(tables)
    end_stage(stepping.timer, SOLVER)
    remember_velocities(with_forces, nearby, tables)
    if with_forces and options.fast != 0:
        stepping.report[0].unstored = 1
    else:
        store_impulses(tables)
    call_surfaces(SAVE_SURFACES, h if with_forces else 0.0, y, tables)
    if joint_space:
        status = call_coordinates(BOOK, h if with_forces else 0.0, y, stepping.answer, tables)
        call_surfaces(BOOK_SURFACES, h if with_forces else 0.0, y, tables)
        return status
    apply_impulses(y, tables)
    call_surfaces(BOOK_SURFACES, h if with_forces else 0.0, y, tables)
    call_limits(APPLY_TO_STATE, h if with_forces else 0.0, y, tables)
    if with_forces:
        book_work(h, corrected, y, tables)
    if corrected:
        apply_correction(y, tables)
        call_limits(BOOK_CORRECTION_OF_SOFT, h, y, tables)
    if nearby:
        exchange_nearby(tables)
        if with_forces:
            copy_momenta(y, tables)
        status = add_nearby(y, tables)
        clear(stepping.lead)
        if with_forces:
            book_detour(0.5 * h, y, tables)
    if tables.system.commands.shape[0] > 0:
        call_commands(SETTLE, 0.0, y, stepping.joint_impulses, tables.system)
    return status


@njit
def remember_velocities(with_forces, nearby, tables):
    """Note the velocities after the impulses of a step, or of an impact on the way, for the next step; whether impacts among
    a few bodies follow: `nearby`."""
    stepping = tables.stepping
    if not in_joint_space(tables):
        note_velocities(stepping.motion, tables)
    elif tables.collision.counts[CONTACTS] > 0:
        call_coordinates(RATES, 0.0, stepping.motion, stepping.contact_rates, tables)
        show_velocities(tables)
        note_velocities(stepping.search_motion, tables)
    if with_forces:
        stepping.report[0].jolted = 1 if nearby else 0


@njit
def solve_outrun(h, reach, corrected, y, tables):
    """What marked bodies meet that detection did not look for, from the velocities after the impulses of the step: an impact
    among those that it concerns. Returns a status: ELSEWHERE where all contacts are to be solved again."""
    collision, report = tables.collision, tables.stepping.report[0]
    allowed, caught = max(report.residual, tables.stepping.options[0].tolerance), report.caught
    status = solve_marked(h, reach, 0.0, allowed, True, corrected, y, tables)
    island = collision.islands[collision.counts[ISLANDS]]
    if status == OK and report.caught > caught:
        report.caught, report.crowded, status = caught, 1, ELSEWHERE
    if status == ELSEWHERE:
        forget_nearby(tables)
    elif report.aim <= 0.0 or island.residual * report.aim > report.residual * island.aim:
        report.residual, report.aim = island.residual, island.aim
    return status


@njit
def outruns_detection(reach, bounced, tables):
    """Whether some body may meet what was not looked for, see `fast.outruns`; in joint coordinates shows the velocities of
    bodies first."""
    if in_joint_space(tables):
        show_velocities(tables)
        return outruns(reach, bounced, tables.stepping.search_motion, tables)
    return outruns(reach, bounced, tables.stepping.motion, tables)


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
    if fast or stepping.report[0].left != 0:
        options.fast = 1
    elif with_forces:
        options.fast = 0
    if options.fast != 0 and tables.callbacks[0].continuous == 0:
        stepping.report[0].wants_continuous = 1
        return NEED_ROOM
    return OK


@njit
def keep_detection(places, tables):
    """Save the state of collision detection, once a step, should this be made again: before it looks anew where it has
    looked, or at another place than the middle of the step; `places` too, unless they are saved."""
    report = tables.stepping.report[0]
    if report.kept == 0:
        if places:
            ask_detection(SAVE_PLACES, tables)
        ask_detection(SAVE_DETECTION, tables)
        report.kept = 1


@njit
def ask_detection(task, tables):
    """SAVE_PLACES, SAVE_DETECTION or RESTORE_DETECTION, see `collide.tables`."""
    callbacks, y = tables.callbacks[0], tables.stepping.saved
    call_pointer(callbacks.detector, callbacks.detector_data, task, 0.0, y, y)


@njit
def store_impulses(tables):
    """Store the impulses of the contacts with their pairs, for the next step."""
    collision = tables.collision
    tables.stepping.report[0].unstored = 0
    if shares_contacts(collision):
        over_all_contacts(SAVE_IMPULSES, tables)
    else:
        save_warm_start(0, collision.counts[CONTACTS], collision)


# Contacts and rows ------------------------------------------------------------------------------------------------------


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
            if stepping.options[0].corrects != 0:
                copy(stepping.unforced, y)
            apply_forces(h, y, dydt, tables)
        if driven:
            call_commands(SHOW_VELOCITIES, 1.0, y, y, tables.system)
        load_speeds(h, y, tables)
    elif status == OK:
        clear_warm_start(collision)  # of another step, or of none
        load_speeds(0.0, y, tables)
    if status == OK:
        bounced, status = find_impulses_in_crowd(h, with_forces, y, tables)
    trial = 0
    while status == OK and with_forces and trial < CORRECTIONS and predicts_wrongly(tables):
        changed, status = correct_forces(h, y, dydt, tables)
        if not changed or status != OK:
            break
        load_speeds(h, y, tables)
        bounced, status = find_impulses_in_crowd(h, with_forces, y, tables)
        trial += 1
    return corrected, bounced, status


@njit
def find_impulses_in_crowd(h, with_forces, y, tables):
    """`find_impulses`, where elastic bodies may be caught between others: then what they do not touch yet is left to
    continuous detection, in the steps that follow too, until nothing closes within one. Returns what `find_impulses` does."""
    report, caught = tables.stepping.report[0], tables.stepping.report[0].caught
    if report.crowded != 0:
        closes, status = leave_caught(h, tables)
        if status != OK:
            return False, status
        if with_forces and not closes:
            report.crowded = 0
    bounced, status = find_impulses(h, with_forces, y, tables)
    if status == OK and report.caught > caught and report.crowded == 0:
        report.caught, report.crowded = caught, 1
        _, status = leave_caught(h, tables)
        if status == OK:
            load_speeds(h if with_forces else 0.0, y, tables)
            bounced, status = find_impulses(h, with_forces, y, tables)
    return bounced, status


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
    count, stepping, status = tables.collision.counts[CONTACTS], tables.stepping, OK
    if in_joint_space(tables):
        if count > 0:
            show_start(tables)
            pass_seams(h, stepping.search_motion, tables)
            status = leave_to_detection(0, count, h, stepping.search_motion, stepping.state_of_bodies, tables)
            if status == OK and stepping.options[0].fresh != 0:
                status = leave_start(h, stepping.search_motion, tables)
            if status == OK and with_forces and not has_surfaces(tables):
                status = leave_hits(h, stepping.search_motion, tables)
        if status != OK:
            return status
        status = call_coordinates(FILL_ROWS, h if with_forces else 0.0, y, tables.stepping.answer, tables)
        if status == OK and with_forces and count > 0:
            set_bends(tables.stepping.search_motion, tables)
        return status
    load_motion(before, tables.system, tables.stepping.motion)
    options = tables.stepping.options[0]
    motion = tables.stepping.motion
    if not with_forces and is_fast(options.dt, motion, tables):
        options.fast = 1
    pass_seams(h, motion, tables)
    status = leave_to_detection(0, count, h, motion, y, tables)
    if status == OK and options.fresh != 0:
        status = leave_start(h, motion, tables)
    if status == OK and with_forces and not has_surfaces(tables):
        status = leave_hits(h, motion, tables)
    if status != OK:
        return status
    prepare_rows(tables)
    if with_forces:
        set_bends(motion, tables)
    set_targets(tables)
    return call_limits(UPDATE_ROWS if with_forces else UPDATE_ROWS_IDLE, h, y, tables)


@njit
def leave_hits(h, motion, tables):
    """Leave what bounces in flight to continuous detection, and what bodies that stand hit to the part of a step in whose
    middle they do. Returns a status: NEED_ROOM, or DIVIDED if this step is to be made in parts."""
    status = leave_bounces(h, motion, tables)
    if status == OK and divides(tables) and find_hits(motion, tables):
        return DIVIDED
    return status


@njit
def set_travel(h, with_forces, tables):
    """h |v| and h |ω| of each body: the reach of collision detection within the step. With forces, half of what weight adds
    counts as well; the other half is in the margin, as of two bodies only one may be held."""
    travel, kinematics = tables.collision.travel, tables.system.kinematics
    fall = tables.stepping.options[0].fall if with_forces else 0.0
    for i in range(tables.system.settings[0].rigid):
        kin = kinematics[i]
        travel[2 * i] = h * norm(load3(kin.v)) + fall
        travel[2 * i + 1] = h * norm(load3(kin.omega))


# Impulses and biases ----------------------------------------------------------------------------------------------------


@njit
def find_impulses(h, with_forces, y, tables):
    """The impulses of a step, with motors at their limits and restitution; `motion` becomes the velocities after them.
    Returns (whether elastic bodies bounced, a status)."""
    impacts, closing = 0, time_to_close(tables.stepping) if with_forces else h
    if set_biases(closing, tables) and not in_joint_space(tables):
        impacts = make_impacts(closing, with_forces, y, tables)
    call_limits(SET_STOPS, drift_ahead(tables.stepping) if with_forces else h, y, tables)
    bounced, status = bounce_mechanisms(h, closing, with_forces, impacts, y, tables)
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
            bounced, status = bounce_mechanisms(h, closing, with_forces, impacts, y, tables)
        if status == OK:
            status = solve_impulses(tables)
    if impacts != 0 or bounced:
        repeats = 0
        while status == OK and repeats < REPEATS and weaken_impacts(impacts != 0, bounced, tables):
            load_after_impacts(h if with_forces else 0.0, impacts, bounced, y, tables)
            status = solve_impulses(tables)
            repeats += 1
        add_impacts(tables)
    return impacts == ELASTIC_ROUNDS or bounced, status


@njit
def set_biases(h, tables):
    """The bias of each contact, gap / h, or e u_n⁻ of one that closes within the step. Returns whether one bounces."""
    stepping = tables.stepping
    contacts = tables.collision.contacts
    motion = stepping.motion
    rows = stepping.rows
    kept = stepping.options[0].kept
    bounces, rates, joint_space = False, stepping.contact_rates, in_joint_space(tables)
    driven = tables.system.commands.shape[0] > 0
    if joint_space:
        call_coordinates(RATES, 0.0, motion, rates, tables)
    if shares_contacts(tables.collision) and not driven and over_all_contacts(BIASES, tables, h) == 0.0:
        return False
    for i in range(tables.collision.counts[CONTACTS]):
        contact = contacts[i]
        if contact.restitution == 0.0 and not driven:
            contact.bias = gap_bias(contact, h, kept)
            continue
        n, _, _ = axes_of(contact)
        if joint_space:
            u = load(rates, 3 * i)
        else:
            u = dot(n, relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b)))
        along = normal_surface_speed(contact, n, tables.system) if driven else 0.0
        bounces = set_bias(contact, h, kept, load(rows, ROW * i + BEFORE) - along, u - along) or bounces
        if driven:
            contact.bias -= along
            store(stepping.surface_speeds, i, along)
    return bounces


@njit
def set_gap_biases(h, begin, end, tables):
    """The biases of contacts begin … end without restitution over h (s); returns 1 if there are others, 0 if not."""
    contacts, kept = tables.collision.contacts, tables.stepping.options[0].kept
    others = 0.0
    for i in range(begin, end):
        if contacts[i].restitution == 0.0:
            contacts[i].bias = gap_bias(contacts[i], h, kept)
        else:
            others = 1.0
    return others


@njit
def normal_surface_speed(contact, normal, system):
    """The normal part of the velocities of moving surfaces at a contact, b's less a's, which `motion` has in it: surfaces
    move along themselves, so that biases take it out again."""
    commands, speed = system.commands, 0.0
    for i in range(commands.shape[0]):
        row = commands[i]
        sign = (1.0 if row.body == contact.b else 0.0) - (1.0 if row.body == contact.a else 0.0)
        if row.body >= 0 and sign != 0.0:
            slide, spin = surface_velocity(row)
            arm = load3(contact.arm_b if sign > 0.0 else contact.arm_a)
            speed += sign * dot(normal, add(slide, cross(spin, arm)))
    return speed


# Forces -----------------------------------------------------------------------------------------------------------------


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


# Forces that depend on velocities, such as those of dampers, are evaluated at v + ½ h v̇, with v̇ of the forces and joints
# alone (`evaluate_forces`). Where contacts or bounds act too, that is not the mean of the velocities before and after the
# step: the wheel of a car that stands would fall by ½ h g, and its damper would pull the car down, by half of its travel at
# 60 Hz. So the forces are evaluated again there, at the mean that the impulses have given, and these are found again. Each
# time what is left of the error is its part h d/2m, for a damping d (N s/m) and a mass m.
CORRECTIONS = 6  # at most
FORCE_ENOUGH = 0.01  # of the tolerance: forces that change velocities by less than that stay as they are


@inlined
def predicts_wrongly(tables):
    """Whether forces depend on velocities, and impulses act beside those of joints."""
    acts = tables.collision.counts[CONTACTS] > 0 or tables.stepping.bounds.shape[0] > 0
    return acts and tables.stepping.options[0].corrects != 0


@njit
def correct_forces(h, y, dydt, tables):
    """Evaluate the forces at the means of the velocities before the step and in `motion`, and apply them instead of those
    applied so far. Returns (whether they differ by more than a little, a status); if they do not, all stays as it was."""
    system, stepping = tables.system, tables.stepping
    bodies, kinematics, kept, t = system.bodies, system.kinematics, stepping.kept_forces, start_of_part(stepping)
    for i in range(bodies.shape[0]):
        put_three(kept, 6 * i, load3(kinematics[i].force))
        put_three(kept, 6 * i + 3, load3(kinematics[i].torque))
    copy(stepping.kept_exerted, system.exerted)
    if in_joint_space(tables):
        status = call_coordinates(MEAN_FORCES, h, y, stepping.answer, tables)
    else:
        fill_mean_momenta(y, tables)
        status = call_mechanism(tables.callbacks, DERIVATIVE, t + 0.5 * stepping.options[0].dt, y, dydt)
    if status != OK:
        return False, status
    changed = change_by_forces(h, tables) > FORCE_ENOUGH * stepping.options[0].tolerance
    for i in range(bodies.shape[0] if not changed else 0):
        store3(kinematics[i].force, three(kept, 6 * i))
        store3(kinematics[i].torque, three(kept, 6 * i + 3))
    if not changed:
        copy(system.exerted, stepping.kept_exerted)
    if not in_joint_space(tables):
        if system.commands.shape[0] > 0:
            call_commands(SHOW_VELOCITIES, 1.0, y, y, system)
        if changed:
            copy(y, stepping.unforced)
            apply_forces(h, y, dydt, tables)
        else:
            add_momenta_of_forces(h, stepping.unforced, y, tables)
    return changed, OK


@njit
def fill_mean_momenta(y, tables):
    """The momenta in y become the means of those before the step and those of the velocities in `motion`."""
    system, motion, saved = tables.system, tables.stepping.motion, tables.stepping.saved
    bodies, kinematics = system.bodies, system.kinematics
    for i in range(bodies.shape[0]):
        if bodies[i].inverse_mass > 0.0:
            at, to = STATE_SIZE * i + 7, MOTION * i
            inertia = congruence(load9(kinematics[i].rotation), load6(bodies[i].inertia))
            momentum = add_scaled(three(saved, at), bodies[i].mass, three(motion, to + LINEAR))
            spin = add(three(saved, at + 3), symvec(inertia, three(motion, to + ANGULAR)))
            put_three(y, at, scale(0.5, momentum))
            put_three(y, at + 3, scale(0.5, spin))


@njit
def change_by_forces(h, tables):
    """The largest change of a velocity (m/s) by the forces in the kinematics table over h, less those in `kept_forces`: of a
    body, and by its rotation at its radius of gyration."""
    bodies, kinematics, kept, largest = tables.system.bodies, tables.system.kinematics, tables.stepping.kept_forces, 0.0
    for i in range(bodies.shape[0]):
        w, kin = bodies[i].inverse_mass, kinematics[i]
        if w > 0.0:
            force = norm(sub(load3(kin.force), three(kept, 6 * i)))
            torque = norm(sub(load3(kin.torque), three(kept, 6 * i + 3)))
            arm = math.sqrt(load3(bodies[i].moments)[0] * w)
            largest = max(largest, h * w * force, h * w * torque / arm if arm > 0.0 else 0.0)
    return largest


@njit
def add_momenta_of_forces(h, before, y, tables):
    """The momenta in y become those in `before` and the impulses over h of the forces in the kinematics table."""
    kinematics, asleep = tables.system.kinematics, tables.collision.asleep
    for i in range(tables.system.bodies.shape[0]):
        kin, at = kinematics[i], STATE_SIZE * i + 7
        share = h if asleep[i] == AWAKE else 0.0
        for k in range(3):
            store(y, at + k, load(before, at + k) + share * kin.force[k])
            store(y, at + 3 + k, load(before, at + 3 + k) + share * kin.torque[k])


@njit
def apply_forces(h, y, dydt, tables):
    """P, L ← P, L + h (F, τ) of the applied forces, and their entries in the ledger. Their work follows when all impulses are
    known (`book_work`)."""
    if in_joint_space(tables):
        return  # which are there already
    system = tables.system
    bodies = system.bodies.shape[0]
    for i in range(bodies):
        if tables.collision.asleep[i] != AWAKE:
            book_support_of_sleeper(i, h, y, system)
    add_momenta_of_forces(h, y, y, tables)
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
    if not exerts(tables):
        return
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
    add_powers(h, y, system.power)


@njit
def copy_momenta(y, tables):
    """The momenta P and L of all bodies into `shift`."""
    for i in range(tables.system.bodies.shape[0]):
        for k in range(6):
            store(tables.stepping.shift, MOTION * i + k, load(y, STATE_SIZE * i + 7 + k))


@njit
def book_detour(left, y, tables):
    """Book, as work of projection, what forces F have not done: each step has their impulse h F at its middle, as if bodies
    moved by ½ h at each of the velocities v⁻ and v⁺ before and after an impact in between. They turn `left` (s) before the
    middle of that time (negative: after it), and gain left F · (v⁻ − v⁺). Where the impact has taken this into account
    (`lead`), the way is longer by left (v⁺ − v⁻), along which the forces work."""
    bodies, kinematics, before, leads = tables.system.bodies, tables.system.kinematics, tables.stepping.shift, 0
    entry = y.shape[0] - len(LEDGER) + PROJECTION_WORK
    for i in range(bodies.shape[0]):
        leads += load(tables.stepping.lead, i) != 0.0
        time = left + load(tables.stepping.lead, i)
        lost = sub(three(before, MOTION * i), three(y, STATE_SIZE * i + 7))
        y[entry] += time * bodies[i].inverse_mass * dot(load3(kinematics[i].force), lost)
    if leads > 0 and exerts(tables):
        book_led(left, y, tables)


@njit
def book_led(left, y, tables):
    """The work of the applied forces along the detour of the bodies with a `lead`. The velocities in the kinematics table
    become what they have lost."""
    system, before, motion = tables.system, tables.stepping.shift, tables.stepping.motion
    for i in range(system.bodies.shape[0]):
        kin, at, to = system.kinematics[i], STATE_SIZE * i, MOTION * i
        led = 1.0 if load(tables.stepping.lead, i) != 0.0 else 0.0
        spin = symvec(six(motion, to + INVERSE_INERTIA), sub(three(before, to + 3), three(y, at + 10)))
        store3(kin.v, scale(led * load(motion, to + INVERSE_MASS), sub(three(before, to), three(y, at + 7))))
        store3(kin.omega, scale(led, spin))
    call_mechanism(tables.callbacks, POWERS, 0.0, y, y)
    add_powers(-left, y, system.power)


@njit
def book_support_of_sleeper(body, h, y, system):
    """Book the impulse of the supports of a sleeping body, which balances the forces on it over h (s)."""
    kin = system.kinematics[body]
    force, torque = scale(-h, load3(kin.force)), scale(-h, load3(kin.torque))
    book_reaction(y, force, add(cross(three(y, STATE_SIZE * body), force), torque))
