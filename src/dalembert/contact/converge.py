"""The solver "interior_point" of a step: contacts and joints as one `Problem` of `interior_point`.

A force within bounds (see `limits`) is either inside them, and then a row like those of joints, or at one of them, and then a
known impulse. This active set is found by trial: bounds that violate their law change sides, all at once at first, then
one at a time, lowest first (K. G. Murty 1974).
"""

from typing import Any

import numpy as np

from ..collide.tables import CONTACTS, NEED_ROOM
from ..core.c_function import C_SIGNATURE, C_TYPE
from ..core.jit import DISABLED, CFunction, njit
from ..core.math3 import add_scaled, congruence, symvec
from ..core.simd import clear
from ..core.status import NON_FINITE, OK
from ..core.tables import address_table, allocate, grow, table_at
from ..dynamics.constraints import wrench_of
from ..dynamics.kinematics import load6, load9
from .interior_point import solve_system
from .interior_point_system import GROUP, NEED_MORE, NOT_FINITE, ROW, STEP, Problem, row_velocity
from .limits import bounds_residual
from .solvers import SOLVERS, ContactSolver
from .tables import (
    ANGULAR,
    AT_LEAST,
    AT_MOST,
    HELD,
    LINEAR,
    MOTION,
    OFF,
    RESPONSE,
    SOLVE_IMPULSES,
    ContactTables,
    put_three,
    six,
    three,
)
from .tables import ROW as CONTACT_ROW

TRIALS = 12  # of the active set, in which all bounds change sides at once
ROUNDING = 1e-15  # of the numbers whose difference a residual is


@njit
def solve_impulses(tables, problem):
    """The impulses of a step, to the tolerance: writes `motion`, impulses and the report. Returns a status."""
    stepping = tables.stepping
    report = stepping.report[0]
    step = problem.step[0]
    report.iterations = 0
    for trial in range(TRIALS + 2 * stepping.bounds.shape[0]):
        load_problem(tables, stepping.motion, problem)
        load_joints(tables.system, stepping.change, stepping.targets, problem)
        load_bounds(stepping, problem)
        status = solve_problem(problem)
        if status != OK:
            return status
        report.iterations += step.iterations
        if not update_active_set(trial >= TRIALS, stepping, problem):
            break
    unload_problem(problem, stepping.motion, stepping.joint_impulses)
    report.residual = max(step.natural_map * step.speed, bounds_residual(stepping))
    report.aim = max(step.tolerance * step.speed, ROUNDING * largest_static_speed(tables))
    return OK


@njit
def largest_static_speed(tables):
    """The largest K p of a contact (m/s), of which the residual is a difference."""
    contacts, rows = tables.collision.contacts, tables.stepping.rows
    largest = 0.0
    for i in range(tables.collision.counts[CONTACTS]):
        largest = max(largest, contacts[i].impulse[0] * rows[CONTACT_ROW * i + RESPONSE])
    return largest


@njit
def update_active_set(one_only, stepping, problem):
    """Move each bound that violates its law to the side where it belongs, or the first if `one_only`; returns whether
    there was one."""
    bounds = stepping.bounds
    first_row = stepping.targets.shape[0]
    multiplier, target = problem.multiplier, problem.target
    velocity, jacobian, groups = problem.velocity, problem.jacobian, problem.groups
    step = problem.step[0]
    slack = step.tolerance * step.speed
    changed = False
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        if bound.response == OFF:
            continue
        row = first_row + i
        state = bound.state
        if state == HELD:
            bound.impulse = min(bound.most, max(bound.least, multiplier[row]))
            if (multiplier[row] < bound.least) or (multiplier[row] > bound.most):
                if abs(multiplier[row] - bound.impulse) * bound.response > slack:
                    state = AT_LEAST if multiplier[row] < bound.least else AT_MOST
        else:
            group = groups[step.groups - bounds.shape[0] + i]
            excess = row_velocity(group, row, jacobian, velocity, 0, step.bodies) - target[row]
            if (state == AT_LEAST and excess < -slack) or (state == AT_MOST and excess > slack):
                state = HELD
        if state != bound.state:
            bound.state = state
            changed = True
            if one_only:
                return True
    return changed


@njit
def solve_displacements(tables, problem):
    """`shift` becomes the least displacement without overlap, with joints closed. Returns a status."""
    stepping = tables.stepping
    rates = stepping.rates
    clear(rates)
    load_problem(tables, stepping.shift, problem)
    load_joints(tables.system, stepping.change, rates, problem)
    soft = stepping.soft
    for i in range(soft.shape[0]):
        problem.groups[soft[i].joint].rows = 0
    for i in range(stepping.bounds.shape[0]):
        problem.groups[tables.system.joints.shape[0] + i].rows = 0
    status = solve_problem(problem)
    if status == OK:
        unload_problem(problem, stepping.shift, rates)
    return status


@njit
def solve_problem(problem):
    """Solve the problem; it holds the best iterate. Returns a status."""
    status = solve_system(problem)
    if status == NEED_MORE:
        return NEED_ROOM
    return NON_FINITE if status == NOT_FINITE else OK


@njit
def load_problem(tables, motion, problem):
    """Fill the problem from the velocities in `motion`."""
    system = tables.system
    step = problem.step[0]
    bodies = system.bodies
    kinematics = system.kinematics
    inertia, inverse, velocity = problem.inertia, problem.inverse_inertia, problem.velocity
    step.bodies, step.contacts = bodies.shape[0], tables.collision.counts[CONTACTS]
    step.groups = system.joints.shape[0] + tables.stepping.bounds.shape[0]
    for i in range(bodies.shape[0]):
        kin = kinematics[i]
        put_three(velocity, 6 * i, three(motion, MOTION * i + LINEAR))
        put_three(velocity, 6 * i + 3, three(motion, MOTION * i + ANGULAR))
        now = congruence(load9(kin.rotation), load6(bodies[i].inertia))
        for k in range(6):
            inertia[6 * i + k] = now[k]
            inverse[6 * i + k] = kin.inverse_inertia[k]


@njit
def load_joints(system, unit, targets, problem):
    """The rows of every active joint, body by body: a row of J is Jᵀ times a unit impulse, in `unit`, which is scratch."""
    clear(unit)
    joints = system.joints
    incidences = system.incidences
    jacobian = system.jacobian
    groups = problem.groups
    rows, compliance = problem.jacobian, problem.compliance
    target = problem.target
    clear(rows)
    clear(compliance)
    for j in range(joints.shape[0]):
        joint = joints[j]
        groups[j].first = joint.row
        groups[j].rows = joint.rows if joint.active != 0 else 0
        for r in range(groups[j].rows):
            unit[joint.row + r] = 1.0
            for i in range(joint.first, joint.last):
                force, torque = wrench_of(incidences[i], jacobian, unit)
                at = ROW * (joint.row + r) + (0 if incidences[i].body == groups[j].a else 6)
                for k in range(3):
                    rows[at + k] += force[k]
                    rows[at + 3 + k] += torque[k]
            unit[joint.row + r] = 0.0
            compliance[joint.row + r] = joint.compliance
            target[joint.row + r] = targets[joint.row + r]


@njit
def load_bounds(stepping, problem):
    """The rows of forces inside their bounds; the impulses of those at a bound are applied to the velocities."""
    bounds = stepping.bounds
    groups = problem.groups
    first_row, first_group = stepping.targets.shape[0], problem.step[0].groups - bounds.shape[0]
    rows, target = problem.jacobian, problem.target
    inverse_mass, inverse, velocity = problem.inverse_mass, problem.inverse_inertia, problem.velocity
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        group, at = groups[first_group + i], ROW * (first_row + i)
        group.first = first_row + i
        group.rows = 1 if bound.state == HELD and bound.response != OFF else 0
        for k in range(3):
            rows[at + k], rows[at + 3 + k] = bound.linear_a[k], bound.angular_a[k]
            rows[at + 6 + k], rows[at + 9 + k] = bound.linear_b[k], bound.angular_b[k]
        target[first_row + i] = -bound.bias
        if bound.state != HELD and bound.response != OFF:
            bound.impulse = bound.least if bound.state == AT_LEAST else bound.most
        if group.rows == 0 and bound.impulse != 0.0:
            for side in range(2):
                body = group.a if side == 0 else group.b
                if body < problem.step[0].bodies:
                    own = at + 6 * side
                    turn = symvec(six(inverse, 6 * body), three(rows, own + 3))
                    speed = bound.impulse * inverse_mass[body]
                    put_three(velocity, 6 * body, add_scaled(three(velocity, 6 * body), speed, three(rows, own)))
                    spin = add_scaled(three(velocity, 6 * body + 3), bound.impulse, turn)
                    put_three(velocity, 6 * body + 3, spin)


@njit
def unload_problem(problem, motion, joint_impulses):
    """Copy velocities and impulses of joints from the solved problem; those of contacts and bounds are in their tables."""
    velocity = problem.velocity
    multiplier = problem.multiplier
    for i in range(problem.step[0].bodies):
        put_three(motion, MOTION * i + LINEAR, three(velocity, 6 * i))
        put_three(motion, MOTION * i + ANGULAR, three(velocity, 6 * i + 3))
    for r in range(joint_impulses.shape[0]):
        joint_impulses[r] = multiplier[r]


# The C function, and its use from Python --------------------------------------------------------------------------------

ALONE = 0  # task: solve one `Problem`, whose address is the `data`


@njit
def converging_task(task, tables, problem):
    """SOLVE_IMPULSES or SOLVE_DISPLACEMENTS; returns a status."""
    if task == SOLVE_IMPULSES:
        return solve_impulses(tables, problem)
    return solve_displacements(tables, problem)


def converging_entry(data, task, t, nothing, n, more, m):
    if task == ALONE:
        return solve_system(table_at(Problem, data))
    tables = table_at(ContactTables, data)
    return converging_task(task, tables, table_at(Problem, tables.callbacks[0].workspace))


CONVERGING_ENTRY = CFunction(converging_entry, C_SIGNATURE)


def solve(problem: Problem) -> tuple[int, Problem]:
    """Solve one time step from Python; the envelope is lengthened as needed. Returns (status, problem): `velocity`, the
    contacts' `impulse` and `multiplier` hold the solution, `step[0]` the residuals.

    Raises ValueError where a mass, velocity, contact or joint row is not finite.
    """
    status = _solve(problem)
    if status == NEED_MORE:
        needed = int(problem.step[0]["envelope_needed"])
        problem = problem._replace(envelope=np.zeros(needed + needed // 4))
        status = _solve(problem)
    if status == NOT_FINITE:
        raise ValueError(
            "the contact problem holds a number that is not finite; look for NaN or infinity in velocities, masses, arms, "
            "bias and joint rows"
        )
    return status, problem


def _solve(problem: Problem) -> int:
    if DISABLED:
        return int(solve_system(problem))
    table = address_table(problem)
    return int(C_TYPE(CONVERGING_ENTRY.address)(table.ctypes.data, 0, 0.0, 0, 0, 0, 0))


def make_problem(mechanism: Any, settings: Any, bounds: Any) -> Problem:
    """The problem of a run's steps, with no room for contacts yet."""
    system = mechanism.system
    bodies, rows, world = len(system.bodies), len(system.error) + len(bounds), len(system.bodies)
    step = np.zeros(1, STEP).view(np.recarray)
    step.max_iterations, step.tolerance = settings.iterations, settings.tolerance
    joints = len(system.joints)
    groups = np.zeros(joints + len(bounds), GROUP).view(np.recarray)
    for group, joint in zip(groups[:joints], system.joints, strict=True):
        held = sorted(set(system.incidences.body[joint.first : joint.last].tolist()))
        group.a, group.b = held[0], held[1] if len(held) > 1 else world
    groups.a[joints:], groups.b[joints:] = bounds.a, bounds.b
    sizes = {"n": bodies, "rows": rows, "contacts": 0, "groups": len(groups), "entries": 0}
    return allocate(
        Problem, sizes, step=step, mass=np.array(system.bodies.mass), inverse_mass=np.array(system.bodies.inverse_mass),
        groups=groups,
    )  # fmt: skip


def fit_problem(problem: Problem, contacts: Any) -> Problem:
    """The problem with these contacts, and an envelope of the length that the last one needed."""
    needed = int(problem.step[0].envelope_needed)
    if needed > len(problem.envelope):
        problem = problem._replace(envelope=np.zeros(needed + needed // 2))
    if len(problem.cones) < len(contacts):
        known = {"n": len(problem.mass), "groups": len(problem.groups)}
        problem = grow(problem, known, contacts=len(contacts))
    return problem._replace(contacts=contacts)


SOLVERS.add(
    "interior_point",
    ContactSolver(
        "converges: all contacts and joints together, by Newton's method", 1000, 1e-10, "relative", 0.0, CONVERGING_ENTRY,
        converging_task,
        separates=True, make_workspace=make_problem, fit_workspace=fit_problem,
    ),
)  # fmt: skip
