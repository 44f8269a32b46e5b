"""Joints in a time step: all of them at once, by the mechanism's own factorization.

A joint that turns has J v ≠ 0 at the middle of a step, where its impulse acts, even when it holds at both ends. With v⁻
the velocities before and v⁺ those after, a step that looks the same backwards in time has

    J (v⁻ + v⁺) = 0.

The impulse p = Jᵀ λ then does the work λ · ½ J (v⁻ + v⁺) = 0: d'Alembert's principle for a step, whatever its length.
"""

from ..arrays import clear
from ..jit import njit
from ..mechanics.constraints import add_rates
from ..pointer import CONSTRAIN, call_pointer
from ..vec import add, add_scaled, load3, symvec
from .tables import ANGULAR, INVERSE_INERTIA, INVERSE_MASS, LINEAR, MOTION
from .velocities import put_three, six, three


@njit
def rates_of_motion(system, motion, out):
    """out = J v for the velocities in `motion`."""
    incidences = system.incidences
    jacobian = system.jacobian
    clear(out)
    for i in range(incidences.shape[0]):
        at = MOTION * incidences[i].body
        add_rates(incidences[i], jacobian, three(motion, at + LINEAR), three(motion, at + ANGULAR), out)


@njit
def set_targets(system, stepping):
    """What J v must be after the step, from what it is before it."""
    targets = stepping.targets
    rates_of_motion(system, stepping.motion, targets)
    for r in range(targets.shape[0]):
        targets[r] = -targets[r]


@njit
def hold_joints(walls, system, stepping):
    """Change `motion` by the joint impulses that bring J v to its target, and book them. Returns a status."""
    total, targets = stepping.joint_impulses, stepping.targets
    rates, change = stepping.rates, stepping.change
    rates_of_motion(system, stepping.motion, rates)
    for r in range(rates.shape[0]):
        rates[r] = targets[r] - rates[r]
    soft, joints = stepping.soft, system.joints
    for i in range(soft.shape[0]):
        row = soft[i].row
        rates[row] -= joints[soft[i].joint].compliance * total[row]
    status = change_rates(walls, system, stepping, stepping.motion)
    for r in range(rates.shape[0]):
        total[r] += change[r]
    return status


@njit
def answer_joints(walls, system, stepping, motion):
    """Change the velocities in `motion` by the joint impulses that bring J v to zero. Returns a status."""
    rates = stepping.rates
    rates_of_motion(system, motion, rates)
    for r in range(rates.shape[0]):
        rates[r] = -rates[r]
    return change_rates(walls, system, stepping, motion)


@njit
def change_rates(walls, system, stepping, motion):
    """Change `motion` by the joint impulses that change J v by `rates`, and leave these impulses in `change`."""
    status = call_pointer(walls.mechanism, walls.mechanism_data, CONSTRAIN, 0.0, stepping.rates, stepping.change)
    kinematics = system.kinematics
    for i in range(system.bodies.shape[0]):
        kin = kinematics[i]
        at = MOTION * i
        turn = symvec(six(motion, at + INVERSE_INERTIA), load3(kin.angular))
        v = add_scaled(three(motion, at + LINEAR), motion[at + INVERSE_MASS], load3(kin.linear))
        put_three(motion, at + LINEAR, v)
        put_three(motion, at + ANGULAR, add(three(motion, at + ANGULAR), turn))
    return status


@njit
def joint_work(system, stepping):
    """λ · ½ J (v⁻ + v⁺): zero but for what the solver has left undone."""
    rates, targets, impulses = stepping.rates, stepping.targets, stepping.joint_impulses
    rates_of_motion(system, stepping.motion, rates)
    work = 0.0
    for r in range(rates.shape[0] - stepping.soft.shape[0]):  # rows that are soft come last
        work += 0.5 * impulses[r] * (rates[r] - targets[r])
    return work
