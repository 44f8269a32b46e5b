"""One time step of contact at velocity level (J. J. Moreau 1988, 1999), with forces and joints.

    half a drift → forces, joints, contacts there → kick → contact impulses → half a drift

Over the drifts bodies move freely, with exactly constant momenta; all impulses act at the midpoint. The impulses p satisfy,
with u the velocities after them, the law of a hard contact with friction:

    gap + h u_n ≥ 0 ⊥ p_n ≥ 0 (u_n + e u_n⁻ ≥ 0 where it bounces),   |p_t| ≤ μ p_n, opposed to u_t where it slides.

Nothing pushes overlap apart through velocities, so that no energy comes of it: what overlaps is put right by displacements,
the smallest in the metric of the masses. As forces and impulses change the velocities from v⁻ to v⁺ at one place, the kinetic
energy changes by exactly (h F + Jᵀ p)·½ (v⁻ + v⁺), which is what the audit books.
"""

from typing import NamedTuple

from ..arrays import clear, copy
from ..collide.detect import NEED_ROOM, keep_impulses
from ..collide.tables import CONTACTS
from ..collide.tables_of import contacts_of, counts_of
from ..jit import kernel, njit
from ..mechanics.system import bodies_of, joints_of, kinematics_of
from ..model.tables import STATE_SIZE
from ..pointer import COMPLETE, DERIVATIVE, DRIFT, call_pointer
from ..status import NON_FINITE, OK
from ..ticks import begin, lap
from ..unchecked import peek, poke
from ..vec import dot, load3
from .converge import load_problem, unload_problem
from .gauss_seidel import axes_of, prepare_contacts, sweep_contacts, warm_start, worst_residual
from .impulses import apply_impulses
from .interior_point_tables import NEED_MORE, NOT_FINITE, step_of
from .joints import prepare_joints, sweep_joints
from .separate import displace, plan_separation
from .tables import BEFORE, DETECTION, INTERIOR_POINT, ROW, SMOOTH, SOLVER, UPDATE
from .tables_of import (
    blocks_of,
    change_of,
    joint_impulses_of,
    motion_of,
    options_of,
    rates_of,
    report_of,
    rows_of,
    saved_of,
    scale_of,
    ticks_of,
)
from .velocities import load_motion, relative_velocity


class Walls(NamedTuple):
    """Addresses of the C functions that a step calls, and what each is handed; see `pointer`."""

    mechanism: int
    mechanism_data: int
    detector: int
    detector_data: int
    solver: int
    solver_data: int


@kernel
def march(walls, y, dydt, stop, system, collision, stepping, problem):
    """Steps until `stop` (s) is reached. Returns a status; at NEED_ROOM y is the start of the step that was not made."""
    options = options_of(stepping)[0]
    report = report_of(stepping)[0]
    while (report.steps + 1e-9) * options.dt < stop:
        status = step(walls, report.steps * options.dt, y, dydt, system, collision, stepping, problem)
        if status != OK:
            return status
        report.steps += 1
    return OK


@njit
def step(walls, t, y, dydt, system, collision, stepping, problem):
    """One step of `options.dt` from t, in place. Returns a status."""
    h = options_of(stepping)[0].dt
    ticks = ticks_of(stepping)
    begin(ticks)
    copy(saved_of(stepping), y)
    status = drift(walls, 0.5 * h, y, dydt)
    if status == OK:
        status = call_pointer(walls.mechanism, walls.mechanism_data, DERIVATIVE, t + 0.5 * h, y, dydt)
    if status != OK:
        return status
    lap(ticks, SMOOTH)
    bodies = bodies_of(system)
    status = call_pointer(walls.detector, walls.detector_data, bodies.shape[0], options_of(stepping)[0].margin, y, y)
    if status != OK:
        copy(y, saved_of(stepping))
        return NEED_ROOM if status == NEED_ROOM else NON_FINITE
    lap(ticks, DETECTION)
    load_motion(y, bodies, kinematics_of(system), motion_of(stepping))
    prepare_contacts(contacts_of(collision), counts_of(collision)[CONTACTS], motion_of(stepping), rows_of(stepping))
    overlaps = plan_separation(system, collision, stepping)
    for i in range(bodies.shape[0]):
        at = STATE_SIZE * i
        for k in range(at + 7, at + STATE_SIZE):
            poke(y, k, peek(y, k) + h * peek(dydt, k))
    for i in range(STATE_SIZE * bodies.shape[0], y.shape[0]):
        y[i] += h * dydt[i]
    load_motion(y, bodies, kinematics_of(system), motion_of(stepping))
    set_biases(h, collision, stepping)
    status = solve(walls, system, collision, stepping, problem)
    if status != OK:
        copy(y, saved_of(stepping))
        return status
    lap(ticks, SOLVER)
    apply_impulses(y, system, collision, stepping)
    keep_impulses(collision)
    if overlaps:
        displace(y, dydt, system, stepping)
    status = drift(walls, 0.5 * h, y, dydt)
    if status == OK and joints_of(system).shape[0] > 0:
        status = call_pointer(walls.mechanism, walls.mechanism_data, COMPLETE, t + h, y, dydt)
    lap(ticks, UPDATE)
    return status


@njit
def drift(walls, h, y, spare):
    """Free motion over h; see `mechanics.drift`."""
    spare[0] = h
    return call_pointer(walls.mechanism, walls.mechanism_data, DRIFT, 0.0, y, spare)


@njit
def set_biases(h, collision, stepping):
    """What the law adds to the normal velocity: gap / h, or e u_n⁻ of a contact that closes within the step."""
    contacts = contacts_of(collision)
    motion = motion_of(stepping)
    rows = rows_of(stepping)
    for i in range(counts_of(collision)[CONTACTS]):
        contact = contacts[i]
        gap = max(contact.separation, 0.0)
        contact.bias = gap / h
        before = peek(rows, ROW * i + BEFORE)
        if contact.restitution > 0.0 and before < 0.0:
            n, _, _ = axes_of(contact)
            u = dot(n, relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b)))
            if gap + h * u < 0.0:
                contact.bias = contact.restitution * before


@njit
def solve(walls, system, collision, stepping, problem):
    """The impulses of contacts and joints, by the solver of `options`; `motion` then holds the velocities after them."""
    options = options_of(stepping)[0]
    report = report_of(stepping)[0]
    contacts = contacts_of(collision)
    count = counts_of(collision)[CONTACTS]
    motion, rows = motion_of(stepping), rows_of(stepping)
    joints = joints_of(system).shape[0]
    report.contacts = count
    clear(joint_impulses_of(stepping))
    if count == 0:
        return OK
    if options.solver == INTERIOR_POINT:
        return converge(walls, system, collision, stepping, problem)
    if joints > 0:
        prepare_joints(system, motion, blocks_of(stepping), scale_of(stepping), change_of(stepping), rates_of(stepping))
    warm_start(contacts, count, motion)
    for iteration in range(options.iterations):
        if joints > 0:
            sweep_joints(
                system, motion, blocks_of(stepping), joint_impulses_of(stepping), change_of(stepping),
                rates_of(stepping),
            )  # fmt: skip
        change = sweep_contacts(contacts, count, motion, rows)
        report.iterations = iteration + 1
        if change <= options.tolerance:
            break
    note_residual(report, worst_residual(contacts, count, motion, rows), options.tolerance)
    return OK


@njit
def converge(walls, system, collision, stepping, problem):
    """Contacts and joints by the interior-point method."""
    motion = motion_of(stepping)
    report = report_of(stepping)[0]
    load_problem(system, collision, motion, change_of(stepping), problem)
    status = call_pointer(walls.solver, walls.solver_data, 0, 0.0, motion, motion)
    if status == NEED_MORE:
        return NEED_ROOM
    if status == NOT_FINITE:
        return NON_FINITE
    unload_problem(problem, motion, joint_impulses_of(stepping))
    reached = step_of(problem)[0]
    report.iterations = reached.iterations
    note_residual(report, reached.natural_map * reached.speed, reached.tolerance * reached.speed)
    return OK


@njit
def note_residual(report, residual, tolerance):
    """Keep the worst residual of the solver, and count the steps in which it missed its tolerance."""
    report.largest_residual = max(report.largest_residual, residual)
    report.worst_residual = max(report.worst_residual, residual)
    if residual > tolerance:
        report.unsolved += 1
