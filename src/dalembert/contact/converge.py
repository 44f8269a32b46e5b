"""The converging solver of a step: contacts and joints as a `Problem` of `interior_point`.

What acts within bounds (`bounded`) is either inside them, and then a row like those of joints, or at one of them, and then a
known impulse. Which it is, is found by trial: what does not keep to its law changes sides, all at once at first, then
one at a time, lowest first (K. G. Murty 1974).
"""

from ..arrays import clear
from ..collide.tables import CONTACTS, NEED_ROOM
from ..collide.tables_of import contacts_of, counts_of
from ..jit import njit
from ..mechanics.constraints import wrench_of
from ..mechanics.kinematics import load6, load9
from ..mechanics.system import bodies_of, incidences_of, jacobian_of, joints_of, kinematics_of
from ..status import NON_FINITE, OK
from ..vec import add_scaled, congruence, symvec
from . import interior_point_tables as problem_tables
from . import tables
from .bounded import bounds_residual
from .interior_point import solve_system
from .interior_point_tables import (
    NEED_MORE,
    NOT_FINITE,
    ROW,
    groups_of,
    inertia_of,
    inverse_inertia_of,
    inverse_mass_of,
    multiplier_of,
    step_of,
    target_of,
    velocity_of,
)
from .motion import row_velocity
from .tables import ANGULAR, AT_LEAST, AT_MOST, HELD, LINEAR, MOTION, OFF, RESPONSE
from .tables_of import (
    bounds_of,
    change_of,
    joint_impulses_of,
    motion_of,
    rates_of,
    report_of,
    rows_of,
    shift_of,
    soft_of,
    targets_of,
)
from .velocities import put_three, six, three

TRIALS = 12  # of all sides at once
ROUNDING = 1e-15  # of what a residual is the difference of


@njit
def converge(system, collision, stepping, problem):
    """The impulses of a step, to the tolerance. Returns a status."""
    report = report_of(stepping)[0]
    bounds = bounds_of(stepping)
    found = step_of(problem)[0]
    report.iterations = 0
    for trial in range(TRIALS + 2 * bounds.shape[0]):
        load_problem(system, collision, motion_of(stepping), stepping, problem)
        load_joints(system, change_of(stepping), targets_of(stepping), problem)
        load_bounds(stepping, problem)
        status = solve_problem(problem)
        if status != OK:
            return status
        report.iterations += found.iterations
        if not change_sides(trial >= TRIALS, stepping, problem):
            break
    unload_problem(problem, motion_of(stepping), joint_impulses_of(stepping))
    report.residual = max(found.natural_map * found.speed, bounds_residual(stepping))
    report.aim = max(found.tolerance * found.speed, ROUNDING * largest_compliant(collision, stepping))
    return OK


@njit
def largest_compliant(collision, stepping):
    """The largest K p of a contact (m/s), of which the residual is a difference."""
    contacts, rows = contacts_of(collision), rows_of(stepping)
    largest = 0.0
    for i in range(counts_of(collision)[CONTACTS]):
        largest = max(largest, contacts[i].impulse[0] * rows[tables.ROW * i + RESPONSE])
    return largest


@njit
def change_sides(one_only, stepping, problem):
    """Move each bound that does not keep to its law to the side where it belongs; returns whether there was any."""
    bounds = bounds_of(stepping)
    first_row = targets_of(stepping).shape[0]
    multiplier, target = multiplier_of(problem), target_of(problem)
    velocity, jacobian, groups = velocity_of(problem), problem_tables.jacobian_of(problem), groups_of(problem)
    step = step_of(problem)[0]
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
def converge_displacement(system, collision, stepping, problem):
    """`shift` becomes the displacement that the contacts ask for, with all joints as they are. Returns a status."""
    rates = rates_of(stepping)
    clear(rates)
    load_problem(system, collision, shift_of(stepping), stepping, problem)
    load_joints(system, change_of(stepping), rates, problem)
    soft = soft_of(stepping)
    for i in range(soft.shape[0]):
        groups_of(problem)[soft[i].joint].rows = 0
    for i in range(bounds_of(stepping).shape[0]):
        groups_of(problem)[joints_of(system).shape[0] + i].rows = 0
    status = solve_problem(problem)
    if status == OK:
        unload_problem(problem, shift_of(stepping), rates)
    return status


@njit
def solve_problem(problem):
    """Call the solver; the best it found is in the problem. Returns a status."""
    status = solve_system(problem)
    if status == NEED_MORE:
        return NEED_ROOM
    return NON_FINITE if status == NOT_FINITE else OK


@njit
def load_problem(system, collision, motion, stepping, problem):
    """Fill the problem from the velocities in `motion`."""
    step = step_of(problem)[0]
    bodies = bodies_of(system)
    kinematics = kinematics_of(system)
    inertia, inverse, velocity = inertia_of(problem), inverse_inertia_of(problem), velocity_of(problem)
    step.bodies, step.contacts = bodies.shape[0], counts_of(collision)[CONTACTS]
    step.groups = joints_of(system).shape[0] + bounds_of(stepping).shape[0]
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
    """The rows of every joint that is held, body by body: a row of J is what Jᵀ makes of a unit impulse, put in `unit`."""
    clear(unit)
    joints = joints_of(system)
    incidences = incidences_of(system)
    jacobian = jacobian_of(system)
    groups = groups_of(problem)
    rows, compliance = problem_tables.jacobian_of(problem), problem_tables.compliance_of(problem)
    target = target_of(problem)
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
    """The rows of what is inside its bounds; the impulses of what is at one go to the velocities."""
    bounds = bounds_of(stepping)
    groups = groups_of(problem)
    first_row, first_group = targets_of(stepping).shape[0], step_of(problem)[0].groups - bounds.shape[0]
    rows, target = problem_tables.jacobian_of(problem), target_of(problem)
    inverse_mass, inverse, velocity = inverse_mass_of(problem), inverse_inertia_of(problem), velocity_of(problem)
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
                if body < step_of(problem)[0].bodies:
                    own = at + 6 * side
                    turn = symvec(six(inverse, 6 * body), three(rows, own + 3))
                    speed = bound.impulse * inverse_mass[body]
                    put_three(velocity, 6 * body, add_scaled(three(velocity, 6 * body), speed, three(rows, own)))
                    spin = add_scaled(three(velocity, 6 * body + 3), bound.impulse, turn)
                    put_three(velocity, 6 * body + 3, spin)


@njit
def unload_problem(problem, motion, joint_impulses):
    """Velocities and impulses of joints out of the solved problem; those of contacts and bounds are in their tables."""
    velocity = velocity_of(problem)
    multiplier = multiplier_of(problem)
    for i in range(step_of(problem)[0].bodies):
        put_three(motion, MOTION * i + LINEAR, three(velocity, 6 * i))
        put_three(motion, MOTION * i + ANGULAR, three(velocity, 6 * i + 3))
    for r in range(joint_impulses.shape[0]):
        joint_impulses[r] = multiplier[r]
