"""Joints in Gauss–Seidel: each joint in turn takes the impulse that stops its own rates, Δλ = −(J W Jᵀ)⁻¹ J v, its (up to
six) rows at once. The smooth motion's constraint forces are in the velocities already, so that only what impacts add is left.
"""

from ..jit import inlined, njit
from ..linalg.block import invert
from ..mechanics.constraints import add_rates, wrench_of
from ..mechanics.system import incidences_of, jacobian_of, joints_of
from ..unchecked import peek
from ..vec import add, scale, symvec
from .tables import ANGULAR, INVERSE_INERTIA, INVERSE_MASS, LINEAR, MOTION
from .velocities import put_three, six, three

BLOCK = 36  # room of one joint's inverse
DEPENDENT = 1e-10  # of its diagonal: added to rows of a joint, which may depend on each other where both bodies are one


@inlined
def turn_by(wrench, at, motion):
    """Change of (v, ω) of a body by an impulsive force and torque about its centre of mass."""
    return scale(peek(motion, at + INVERSE_MASS), wrench[0]), symvec(six(motion, at + INVERSE_INERTIA), wrench[1])


@njit
def prepare_joints(system, motion, blocks, scales, unit, rates):
    """The inverse of J W Jᵀ of every active joint, one after the other; `unit` and `rates` must be zero, and are again."""
    joints = joints_of(system)
    for j in range(joints.shape[0]):
        joint = joints[j]
        at = BLOCK * j
        if joint.active == 0:
            continue
        for r in range(joint.rows):
            unit[joint.row + r] = 1.0
            respond(joint, system, motion, unit, rates)
            unit[joint.row + r] = 0.0
            for k in range(joint.rows):
                blocks[at + joint.rows * k + r] = rates[joint.row + k]
                rates[joint.row + k] = 0.0
        for r in range(joint.rows):
            blocks[at + (joint.rows + 1) * r] *= 1.0 + DEPENDENT
            scales[r] = blocks[at + (joint.rows + 1) * r]
        invert(blocks, at, joint.rows, scales, 0)


@njit
def respond(joint, system, motion, impulses, rates):
    """rates += J W Jᵀ impulses, for the rows of one joint."""
    incidences = incidences_of(system)
    jacobian = jacobian_of(system)
    for i in range(joint.first, joint.last):
        body = incidences[i].body
        linear, angular = turn_by(wrench_of(incidences[i], jacobian, impulses), MOTION * body, motion)
        for k in range(joint.first, joint.last):
            if incidences[k].body == body:
                add_rates(incidences[k], jacobian, linear, angular, rates)


@njit
def sweep_joints(system, motion, blocks, total, change, rates):
    """One pass over all joints; adds to `total`. `change` and `rates` must be zero, and are again."""
    joints = joints_of(system)
    incidences = incidences_of(system)
    jacobian = jacobian_of(system)
    for j in range(joints.shape[0]):
        joint = joints[j]
        if joint.active == 0:
            continue
        first, rows, at = joint.row, joint.rows, BLOCK * j
        for i in range(joint.first, joint.last):
            to = MOTION * incidences[i].body
            add_rates(incidences[i], jacobian, three(motion, to + LINEAR), three(motion, to + ANGULAR), rates)
        for r in range(rows):
            value = 0.0
            for k in range(rows):
                value -= blocks[at + rows * r + k] * rates[first + k]
            change[first + r] = value
            total[first + r] += value
        for i in range(joint.first, joint.last):
            to = MOTION * incidences[i].body
            linear, angular = turn_by(wrench_of(incidences[i], jacobian, change), to, motion)
            put_three(motion, to + LINEAR, add(three(motion, to + LINEAR), linear))
            put_three(motion, to + ANGULAR, add(three(motion, to + ANGULAR), angular))
        for r in range(rows):
            rates[first + r] = 0.0
            change[first + r] = 0.0
