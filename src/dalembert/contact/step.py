"""One time step of contact at velocity level (J. J. Moreau 1988, 1999), with forces and joints.

    half a drift → forces, joints, contacts there → kick → contact impulses → half a drift

Over the drifts bodies move freely, with exactly constant momenta; all impulses act at the midpoint, those of joints as
`joints` says. The impulses p of contacts satisfy, with u the velocities after them, the law of a hard contact with friction:

    gap + h u_n ≥ 0 ⊥ p_n ≥ 0 (u_n + e u_n⁻ ≥ 0 where it bounces),   |p_t| ≤ μ p_n, opposed to u_t where it slides.

Nothing pushes overlap apart through velocities, so that no energy comes of it: what overlaps is put right by displacements,
the smallest in the metric of the masses. As forces and impulses change the velocities from v⁻ to v⁺ at one place, the kinetic
energy changes by exactly (h F + Jᵀ p)·½ (v⁻ + v⁺), which is what the audit books.
"""

import numpy as np

from ..arrays import copy, is_finite
from ..board import COLLISION_DESK, CONTACT_JOBS, STEPPING_DESK, SYSTEM_DESK, WALLS_DESK, share
from ..collide.kept import forget_impulses, keep_impulses
from ..collide.tables import CONTACTS, NEED_ROOM, Collision
from ..jit import CFunction, njit
from ..model.tables import System
from ..pointer import C_SIGNATURE, COMPLETE, DERIVATIVE, call_pointer, viewer
from ..status import NON_FINITE, OK
from ..tables import table_at
from ..ticks import begin, lap
from ..unchecked import peek
from ..vec import dot, load3, norm
from .ask_limits import (
    APPLY,
    BEGIN,
    CHANGE_SIDES,
    DISPLACE_SOFT,
    PLACE,
    PLACE_KICKED,
    REFACTOR,
    SET,
    SET_BOUNCES,
    SET_KICKED,
    ask,
)
from .gauss_seidel import axes_of
from .impulses import apply_impulses
from .jobs import do_job
from .joints import set_targets
from .report import note_residual
from .restitution import limit_restitution, set_bias
from .separate import displace, plan_separation
from .sharing import A_CHUNK, MARCH, PREPARE
from .sleep import fall_asleep
from .smooth import book_work, drift, find_forces, kick
from .solve import WALLS, solve, walls_at
from .tables import BEFORE, DETECTION, ROW, SMOOTH, SOLVER, UPDATE, Stepping
from .velocities import load_motion, relative_velocity

_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def march(walls, y, dydt, stop, system, collision, stepping):
    """Steps until `stop` (s) is reached. Returns a status; at NEED_ROOM y is the start of the step that was not made."""
    options = stepping.options[0]
    report = stepping.report[0]
    if options.fresh != 0:
        status = look_ahead(walls, options.start + report.steps * options.dt, y, dydt, system, collision, stepping)
        if status != OK:
            return status
        options.fresh = 0
        forget_steps(stepping)
    while (report.steps + 1e-9) * options.dt < stop:
        status = step(walls, options.start + report.steps * options.dt, y, dydt, system, collision, stepping)
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
def job(kind, begin, end, result, desk):
    """A job of a thread, whose tables are on its desk; see `board`."""
    system, collision = table_at(System, desk[SYSTEM_DESK]), table_at(Collision, desk[COLLISION_DESK])
    walls, stepping = walls_at(desk[WALLS_DESK]), table_at(Stepping, desk[STEPPING_DESK])
    result[0] = max(result[0], do_job(kind, begin, end, walls, system, collision, stepping))
    return OK


# MARCH: `data` is the address of the walls and, after them, of the addresses of the tables. Else a job: `data` is that of a
# desk, n where it begins, and m where it ends.
def evaluate(data, task, stop, y, n, dydt, m):
    if task != MARCH:
        return job(task, n, m, _floats(dydt, 1), _addresses(data, WALLS_DESK + 1))
    at, walls = _addresses(data, WALLS + 3), walls_at(data)
    return march(
        walls, _floats(y, n), _floats(dydt, m), stop, table_at(System, at[WALLS]),
        table_at(Collision, at[WALLS + 1]), table_at(Stepping, at[WALLS + 2]),
    )  # fmt: skip


COMPILED = CFunction(evaluate, C_SIGNATURE)


@njit
def step(walls, t, y, dydt, system, collision, stepping):
    """One step of `options.dt` from t, in place. Returns a status; where it is not OK, y is as it was, and `saved` is what
    came of the step."""
    h = stepping.options[0].dt
    ticks = stepping.ticks
    begin(ticks, 1.0)
    copy(stepping.saved, y)
    ask(BEGIN, h, y, stepping)
    status = drift(walls, 0.5 * h, y, dydt)
    if status == OK:
        ask(SET_KICKED, h, y, stepping)
        status = find_forces(walls, t + 0.5 * h, h, y, dydt, system, stepping)
    lap(ticks, SMOOTH)
    if status == OK:
        status = strike(walls, h, True, y, dydt, system, collision, stepping)
    if status == OK:
        status = drift(walls, 0.5 * h, y, dydt)
    if status == OK and system.joints.shape[0] > 0:
        status = call_pointer(walls.plain, walls.plain_data, COMPLETE, t + h, y, dydt)
    if status == OK and not is_finite(y):
        status = NON_FINITE
    lap(ticks, UPDATE)
    if status != OK:
        exchange(y, stepping.saved)
    return status


@njit
def exchange(a, b):
    for i in range(a.shape[0]):
        a[i], b[i] = b[i], a[i]


@njit
def look_ahead(walls, t, y, dydt, system, collision, stepping):
    """At the start, what would be met in the half drift before the first look. Returns a status."""
    copy(stepping.saved, y)
    ask(SET, stepping.options[0].dt, y, stepping)
    status = call_pointer(walls.mechanism, walls.mechanism_data, DERIVATIVE, t, y, dydt)
    if status == OK:
        ask(BEGIN, 0.0, y, stepping)
        half = 0.5 * stepping.options[0].dt
        status = strike(walls, half, False, y, dydt, system, collision, stepping)
    if status == OK and not is_finite(y):
        status = NON_FINITE
    if status != OK:
        copy(y, stepping.saved)
    return status


@njit
def strike(walls, h, kicked, y, dydt, system, collision, stepping):
    """All changes of momentum of a step, where the bodies are: by forces over h, if `kicked`, and by impulses. Returns a
    status."""
    bodies, kinematics = system.bodies, system.kinematics
    set_travel(h, bodies.shape[0], kinematics, collision)
    status = call_pointer(walls.detector, walls.detector_data, bodies.shape[0], stepping.options[0].margin, y, y)
    if status != OK:
        return NEED_ROOM if status == NEED_ROOM else NON_FINITE
    lap(stepping.ticks, DETECTION)
    load_motion(y, bodies, kinematics, stepping.motion)
    share(collision.board, CONTACT_JOBS, PREPARE, 0, collision.counts[CONTACTS], A_CHUNK)
    set_targets(system, stepping)
    status = ask(PLACE_KICKED if kicked else PLACE, h, y, stepping)
    apart = False
    if status == OK and kicked:
        apart, status = plan_separation(walls, system, collision, stepping)
        kick(h, y, dydt, system, collision)
        load_motion(y, bodies, kinematics, stepping.motion)
    elif status == OK:
        forget_impulses(collision)  # they are those of another step, or of none
    if status == OK:
        status = find_impulses(walls, h, kicked, y, system, collision, stepping)
    if status != OK:
        return status
    lap(stepping.ticks, SOLVER)
    apply_impulses(y, system, collision, stepping)
    ask(APPLY, h, y, stepping)
    keep_impulses(collision)
    if kicked:
        book_work(walls, h, apart, y, system, stepping)
    if apart:
        displace(y, system, stepping)
        ask(DISPLACE_SOFT, h, y, stepping)
    if kicked and stepping.options[0].sleep_after > 0.0:
        fall_asleep(y, system, collision, stepping)
    return OK


@njit
def find_impulses(walls, h, kicked, y, system, collision, stepping):
    """`motion`, the velocities without impulses, becomes those after them. Returns a status."""
    bounces = set_biases(h, collision, stepping)
    bounces = ask(SET_BOUNCES, h, y, stepping) != 0 or bounces
    status = solve(walls, system, collision, stepping)
    trial = 0
    while status == OK and kicked and ask(CHANGE_SIDES, float(trial), y, stepping) != 0:
        trial += 1
        status = ask(REFACTOR, h, y, stepping)
        load_motion(y, system.bodies, system.kinematics, stepping.motion)
        if status == OK:
            status = solve(walls, system, collision, stepping)
    if status == OK and bounces:
        status = limit_restitution(walls, h, y, system, collision, stepping)
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
        bounces = set_bias(contact, h, slop, peek(rows, ROW * i + BEFORE), u) or bounces
    return bounces
