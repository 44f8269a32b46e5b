"""The smooth part of a time step of contact: free drifts, and the forces and their kick between them; see `step`."""

import numpy as np

from ..collide.tables import AWAKE, CONTACTS, ISLANDS, NEED_ROOM, Collision, clear_warm_start, save_warm_start
from ..core.c_function import C_SIGNATURE, COMPLETE, DERIVATIVE, DRIFT, POWERS, call_pointer, viewer
from ..core.jit import CFunction, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, norm, scale, store3, symvec
from ..core.profiler import begin_timing, end_stage
from ..core.simd import copy, is_finite, load, store
from ..core.status import NON_FINITE, OK
from ..core.tables import table_at
from ..core.thread_pool import CALLBACKS_SLOT, COLLISION_SLOT, CONTACT_JOBS, STEPPING_SLOT, SYSTEM_SLOT, run_parallel
from ..model.tables import (
    CONSTRAINT_WORK,
    LEDGER,
    PROJECTION_WORK,
    REACTION_IMPULSE,
    REACTION_TORQUE,
    STATE_SIZE,
    System,
)
from .cone import load_motion, relative_velocity, six, three
from .gauss_seidel import axes_of
from .joints import apply_impulses, book_reaction, set_targets
from .parallel import (
    A_CHUNK,
    APPLY,
    BEGIN,
    CHANGE_SIDES,
    DISPLACE_SOFT,
    PLACE_KICKED,
    PLACE_LIMITS,
    PREPARE,
    REFACTOR,
    RUN_STEPS,
    SET,
    SET_BOUNCES,
    SET_KICKED,
    ask,
)
from .position_correction import apply_correction, plan_correction
from .restitution import limit_restitution, set_bias
from .solve import CALLBACKS, callbacks_at, do_job, solve
from .tables import (
    ANGULAR,
    BEFORE,
    DETECTION,
    INVERSE_INERTIA,
    INVERSE_MASS,
    LINEAR,
    MOTION,
    ROW,
    SMOOTH,
    SOLVER,
    UPDATE,
    Stepping,
    note_residual,
)

# ----------------------------------------------------------------------------------------------------------------------
# Falling asleep, where the user asked for it: islands of bodies that have been slow for a while are left alone.
#
# What is left of their motion is taken from them, and booked: the energy as work of projection, which is an error of
# the
# energy, the momenta as reactions from outside. While they sleep what bears them bears the forces on them.
# `collide.sleep`
# tells how they wake.


@njit
def bear_sleeper(body, h, y, system):
    """What bears a body that sleeps answers the forces on it over h."""
    kin = system.kinematics[body]
    force, torque = scale(-h, load3(kin.force)), scale(-h, load3(kin.torque))
    book_reaction(y, force, add(cross(three(y, STATE_SIZE * body), force), torque))


@njit
def fall_asleep(y, system, collision, stepping):
    """Watch who is slow, at the end of a step, and put to sleep the islands in which all have been so for long enough."""
    options, report = stepping.options[0], stepping.report[0]
    asleep, slow, motion = collision.asleep, stepping.slow, stepping.motion
    for body in range(system.bodies.shape[0]):
        slow[body] += options.dt
        if 2.0 * kinetic_energy(body, y, motion) > system.bodies[body].mass * options.sleep_speed**2:
            slow[body] = min(slow[body], 0.0)
    islands, members = collision.islands, collision.members
    for i in range(collision.counts[ISLANDS]):
        island = islands[i]
        tired = True
        for m in range(island.first_member, island.end_member):
            tired = tired and slow[members[m]] >= options.sleep_after
        if tired:
            report.naps += 1
            for m in range(island.first_member, island.end_member):
                asleep[members[m]] = AWAKE + report.naps
                stop(members[m], y, motion)


@njit
def kinetic_energy(body, y, motion):
    """½ (P·v + L·ω), J."""
    at, to = STATE_SIZE * body, MOTION * body
    return 0.5 * (
        dot(three(y, at + 7), three(motion, to + LINEAR)) + dot(three(y, at + 10), three(motion, to + ANGULAR))
    )


@njit
def stop(body, y, motion):
    """Take its motion from a body, and book it."""
    at = STATE_SIZE * body
    x, momentum, moment = three(y, at), three(y, at + 7), three(y, at + 10)
    entry = y.shape[0] - len(LEDGER) + PROJECTION_WORK
    store(y, entry, load(y, entry) - kinetic_energy(body, y, motion))
    book_reaction(y, scale(-1.0, momentum), scale(-1.0, add(cross(x, momentum), moment)))
    for k in range(at + 7, at + STATE_SIZE):
        store(y, k, 0.0)


# ----------------------------------------------------------------------------------------------------------------------


@njit
def drift(callbacks, h, y, spare):
    """Free motion over h; see `mechanics.drift`."""
    spare[0] = h
    return call_pointer(callbacks.mechanism, callbacks.mechanism_data, DRIFT, 0.0, y, spare)


@njit
def find_forces(callbacks, t, h, y, dydt, system, stepping):
    """Forces at the middle of the step, in the kinematics table; those that depend on velocities, at velocities that are
    half a step further than those in y."""
    status = call_pointer(callbacks.mechanism, callbacks.mechanism_data, DERIVATIVE, t, y, dydt)
    if status != OK or stepping.options[0].predict == 0:
        return status
    for i in range(system.bodies.shape[0]):
        for k in range(STATE_SIZE * i + 7, STATE_SIZE * (i + 1)):
            store(y, k, load(y, k) + 0.5 * h * load(dydt, k))
    status = call_pointer(callbacks.mechanism, callbacks.mechanism_data, DERIVATIVE, t, y, dydt)
    saved = stepping.saved
    for i in range(system.bodies.shape[0]):
        for k in range(STATE_SIZE * i + 7, STATE_SIZE * (i + 1)):
            store(y, k, load(saved, k))
    return status


@njit
def apply_forces(h, y, dydt, system, collision):
    """Momenta and what the ledger has of them over the whole step, by the applied forces; their work is known when the
    impulses of constraints and contacts are: see `book_work`."""
    kinematics, asleep = system.kinematics, collision.asleep
    bodies = system.bodies.shape[0]
    for i in range(bodies):
        if asleep[i] != AWAKE:
            bear_sleeper(i, h, y, system)
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
def book_work(callbacks, h, apart, y, system, stepping):
    """The work of the applied forces of a step, F · h ½ (v⁻ + v⁺), after its impulses; and along the displacement in `shift`,
    if bodies are put `apart`. Velocities of the kinematics table are those means then."""
    if stepping.options[0].predict == 0 and system.settings[0].stepped == 0:
        return  # nothing acts but fields, which have a potential
    kinematics, motion, saved, shift = (
        system.kinematics,
        stepping.motion,
        stepping.saved,
        stepping.shift,
    )
    for i in range(system.bodies.shape[0]):
        kin, at, to = kinematics[i], STATE_SIZE * i, MOTION * i
        momentum, spin = add(three(saved, at + 7), three(y, at + 7)), add(three(saved, at + 10), three(y, at + 10))
        v = scale(0.5 * load(motion, to + INVERSE_MASS), momentum)
        omega = scale(0.5, symvec(six(motion, to + INVERSE_INERTIA), spin))
        if apart:
            v = add_scaled(v, 1.0 / h, three(shift, to + LINEAR))
            omega = add_scaled(omega, 1.0 / h, three(shift, to + ANGULAR))
        store3(kin.v, v)
        store3(kin.omega, omega)
    call_pointer(callbacks.mechanism, callbacks.mechanism_data, POWERS, 0.0, y, y)
    power = system.power
    first = y.shape[0] - power.shape[0]
    for i in range(power.shape[0] - len(LEDGER)):
        y[first + i] += h * power[i]


# ----------------------------------------------------------------------------------------------------------------------
# One time step of contact at velocity level (J. J. Moreau 1988, 1999), with forces and joints.
#
#     half a drift → forces, joints, contacts there → kick → contact impulses → half a drift
#
# Over the drifts bodies move freely, with exactly constant momenta; all impulses act at the midpoint, those of joints
# as
# `joints` says. The impulses p of contacts satisfy, with u the velocities after them, the law of a hard contact with
# friction:
#
#     gap + h u_n ≥ 0 ⊥ p_n ≥ 0 (u_n + e u_n⁻ ≥ 0 where it bounces),   |p_t| ≤ μ p_n, opposed to u_t where it slides.
#
# Nothing pushes overlap apart through velocities, so that no energy comes of it: what overlaps is put right by
# displacements,
# the smallest in the metric of the masses. As forces and impulses change the velocities from v⁻ to v⁺ at one place,
# the kinetic
# energy changes by exactly (h F + Jᵀ p)·½ (v⁻ + v⁺), which is what the audit books.


_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def run_steps(callbacks, y, dydt, stop, system, collision, stepping):
    """Steps until `stop` (s) is reached. Returns a status; at NEED_ROOM y is the start of the step that was not made."""
    options = stepping.options[0]
    report = stepping.report[0]
    if options.fresh != 0:
        status = find_initial_contacts(
            callbacks, options.start + report.steps * options.dt, y, dydt, system, collision, stepping
        )
        if status != OK:
            return status
        options.fresh = 0
        forget_steps(stepping)
    while (report.steps + 1e-9) * options.dt < stop:
        status = step(callbacks, options.start + report.steps * options.dt, y, dydt, system, collision, stepping)
        if status != OK:
            return status
        report.steps += 1
    return OK


@njit
def forget_steps(stepping):
    """What was at rest may no longer be, and what was in vain may help."""
    passes, waits = stepping.passes, stepping.waits
    for body in range(passes.shape[0]):
        passes[body], waits[body] = 0, 0


@njit
def job(kind, begin, end, result, slot):
    """A job of a thread, whose tables are on its desk; see `board`."""
    system, collision = table_at(System, slot[SYSTEM_SLOT]), table_at(Collision, slot[COLLISION_SLOT])
    callbacks, stepping = callbacks_at(slot[CALLBACKS_SLOT]), table_at(Stepping, slot[STEPPING_SLOT])
    result[0] = max(result[0], do_job(kind, begin, end, callbacks, system, collision, stepping))
    return OK


# MARCH: `data` is the address of the walls and, after them, of the addresses of the tables. Else a job: `data` is that of a
# desk, n where it begins, and m where it ends.
def step_entry(data, task, stop, y, n, dydt, m):
    if task != RUN_STEPS:
        return job(task, n, m, _floats(dydt, 1), _addresses(data, CALLBACKS_SLOT + 1))
    at, callbacks = _addresses(data, CALLBACKS + 3), callbacks_at(data)
    return run_steps(
        callbacks, _floats(y, n), _floats(dydt, m), stop, table_at(System, at[CALLBACKS]),
        table_at(Collision, at[CALLBACKS + 1]), table_at(Stepping, at[CALLBACKS + 2]),
    )  # fmt: skip


STEP_ENTRY = CFunction(step_entry, C_SIGNATURE)


@njit
def step(callbacks, t, y, dydt, system, collision, stepping):
    """One step of `options.dt` from t, in place. Returns a status; where it is not OK, y is as it was, and `saved` is what
    came of the step."""
    h = stepping.options[0].dt
    timer = stepping.timer
    begin_timing(timer, 1.0)
    copy(stepping.saved, y)
    ask(BEGIN, h, y, stepping)
    status = drift(callbacks, 0.5 * h, y, dydt)
    if status == OK:
        ask(SET_KICKED, h, y, stepping)
        status = find_forces(callbacks, t + 0.5 * h, h, y, dydt, system, stepping)
    end_stage(timer, SMOOTH)
    if status == OK:
        status = solve_velocities(callbacks, h, True, y, dydt, system, collision, stepping)
    if status == OK:
        status = drift(callbacks, 0.5 * h, y, dydt)
    if status == OK and system.joints.shape[0] > 0:
        status = call_pointer(callbacks.plain, callbacks.plain_data, COMPLETE, t + h, y, dydt)
    if status == OK and not is_finite(y):
        status = NON_FINITE
    end_stage(timer, UPDATE)
    if status != OK:
        exchange(y, stepping.saved)
    return status


@njit
def exchange(a, b):
    for i in range(a.shape[0]):
        a[i], b[i] = b[i], a[i]


@njit
def find_initial_contacts(callbacks, t, y, dydt, system, collision, stepping):
    """At the start, what would be met in the half drift before the first look. Returns a status."""
    copy(stepping.saved, y)
    ask(SET, stepping.options[0].dt, y, stepping)
    status = call_pointer(callbacks.mechanism, callbacks.mechanism_data, DERIVATIVE, t, y, dydt)
    if status == OK:
        ask(BEGIN, 0.0, y, stepping)
        half = 0.5 * stepping.options[0].dt
        status = solve_velocities(callbacks, half, False, y, dydt, system, collision, stepping)
    if status == OK and not is_finite(y):
        status = NON_FINITE
    if status != OK:
        copy(y, stepping.saved)
    return status


@njit
def solve_velocities(callbacks, h, kicked, y, dydt, system, collision, stepping):
    """All changes of momentum of a step, where the bodies are: by forces over h, if `kicked`, and by impulses. Returns a
    status."""
    bodies, kinematics = system.bodies, system.kinematics
    set_travel(h, bodies.shape[0], kinematics, collision)
    status = call_pointer(
        callbacks.detector, callbacks.detector_data, bodies.shape[0], stepping.options[0].margin, y, y
    )
    if status != OK:
        return NEED_ROOM if status == NEED_ROOM else NON_FINITE
    end_stage(stepping.timer, DETECTION)
    load_motion(y, bodies, kinematics, stepping.motion)
    run_parallel(collision.job_queue, CONTACT_JOBS, PREPARE, 0, collision.counts[CONTACTS], A_CHUNK)
    set_targets(system, stepping)
    status = ask(PLACE_KICKED if kicked else PLACE_LIMITS, h, y, stepping)
    apart = False
    if status == OK and kicked:
        apart, status = plan_correction(callbacks, system, collision, stepping)
        apply_forces(h, y, dydt, system, collision)
        load_motion(y, bodies, kinematics, stepping.motion)
    elif status == OK:
        clear_warm_start(collision)  # they are those of another step, or of none
    if status == OK:
        status = find_impulses(callbacks, h, kicked, y, system, collision, stepping)
    if status != OK:
        return status
    end_stage(stepping.timer, SOLVER)
    apply_impulses(y, system, collision, stepping)
    ask(APPLY, h, y, stepping)
    save_warm_start(collision)
    if kicked:
        book_work(callbacks, h, apart, y, system, stepping)
    if apart:
        apply_correction(y, system, stepping)
        ask(DISPLACE_SOFT, h, y, stepping)
    if kicked and stepping.options[0].sleep_after > 0.0:
        fall_asleep(y, system, collision, stepping)
    return OK


@njit
def find_impulses(callbacks, h, kicked, y, system, collision, stepping):
    """`motion`, the velocities without impulses, becomes those after them. Returns a status."""
    bounces = set_biases(h, collision, stepping)
    bounces = ask(SET_BOUNCES, h, y, stepping) != 0 or bounces
    status = solve(callbacks, system, collision, stepping)
    trial = 0
    while status == OK and kicked and ask(CHANGE_SIDES, float(trial), y, stepping) != 0:
        trial += 1
        status = ask(REFACTOR, h, y, stepping)
        load_motion(y, system.bodies, system.kinematics, stepping.motion)
        if status == OK:
            status = solve(callbacks, system, collision, stepping)
    if status == OK and bounces:
        status = limit_restitution(callbacks, h, y, system, collision, stepping)
    note_residual(stepping.report[0])
    return status


@njit
def set_travel(h, bodies, kinematics, collision):
    """How far each body moves within the step, so that what it may meet on the way is looked at."""
    travel = collision.travel
    for i in range(bodies):
        kin = kinematics[i]
        travel[2 * i] = h * norm(load3(kin.v))
        travel[2 * i + 1] = h * norm(load3(kin.omega))


@njit
def set_biases(h, collision, stepping):
    """What the law adds to the normal velocity: gap / h, or e u_n⁻ of a contact that closes within the step. Returns
    whether there is one of these."""
    contacts = collision.contacts
    motion = stepping.motion
    rows = stepping.rows
    slop = stepping.options[0].slop
    bounces = False
    for i in range(collision.counts[CONTACTS]):
        contact = contacts[i]
        n, _, _ = axes_of(contact)
        u = dot(n, relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b)))
        bounces = set_bias(contact, h, slop, load(rows, ROW * i + BEFORE), u) or bounces
    return bounces
