"""The converging solver of a step: contacts and joints as a `Problem` of `interior_point`."""

from ..arrays import clear
from ..collide.tables import CONTACTS
from ..collide.tables_of import counts_of
from ..jit import njit
from ..mechanics.constraints import wrench_of
from ..mechanics.kinematics import load6, load9
from ..mechanics.system import bodies_of, incidences_of, jacobian_of, joints_of, kinematics_of
from ..vec import congruence
from . import interior_point_tables as problem_tables
from .interior_point_tables import (
    ROW,
    groups_of,
    inertia_of,
    inverse_inertia_of,
    multiplier_of,
    step_of,
    velocity_of,
)
from .tables import ANGULAR, LINEAR, MOTION
from .velocities import put_three, three


@njit
def load_problem(system, collision, motion, unit, problem):
    """Fill the problem from the velocities in `motion`; `unit` (rows of joints) must be zero, and is again."""
    step = step_of(problem)[0]
    bodies = bodies_of(system)
    kinematics = kinematics_of(system)
    inertia, inverse, velocity = inertia_of(problem), inverse_inertia_of(problem), velocity_of(problem)
    step.bodies, step.contacts = bodies.shape[0], counts_of(collision)[CONTACTS]
    step.groups = joints_of(system).shape[0]
    for i in range(bodies.shape[0]):
        kin = kinematics[i]
        put_three(velocity, 6 * i, three(motion, MOTION * i + LINEAR))
        put_three(velocity, 6 * i + 3, three(motion, MOTION * i + ANGULAR))
        now = congruence(load9(kin.rotation), load6(bodies[i].inertia))
        for k in range(6):
            inertia[6 * i + k] = now[k]
            inverse[6 * i + k] = kin.inverse_inertia[k]
    load_joints(system, unit, problem)


@njit
def load_joints(system, unit, problem):
    """The rows of every joint that is held, body by body: a row of J is what Jᵀ makes of a unit impulse."""
    joints = joints_of(system)
    incidences = incidences_of(system)
    jacobian = jacobian_of(system)
    groups = groups_of(problem)
    rows = problem_tables.jacobian_of(problem)
    clear(rows)
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


@njit
def unload_problem(problem, motion, joint_impulses):
    """Velocities and impulses of joints out of the solved problem; those of contacts are in their table already."""
    velocity = velocity_of(problem)
    multiplier = multiplier_of(problem)
    for i in range(step_of(problem)[0].bodies):
        put_three(motion, MOTION * i + LINEAR, three(velocity, 6 * i))
        put_three(motion, MOTION * i + ANGULAR, three(velocity, 6 * i + 3))
    for r in range(joint_impulses.shape[0]):
        joint_impulses[r] = multiplier[r]
