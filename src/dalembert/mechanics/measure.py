"""What is recorded of a state: energies, rates of the constraints, and what each joint does to its second body."""

from ..jit import njit
from ..vec import cross, load3, matvec
from .constraints import jacobian_velocity
from .dynamics import finish, prepare
from .forces import potential_energy
from .kinematics import kinetic_energy, load9


@njit
def measure(t, y, dydt, system):
    """Evaluate one state and fill `energies`, `rates` and `wrenches` of the system. Returns a status."""
    status = prepare(t, y, system)
    if status == 0:
        status = finish(t, y, dydt, system)
    system.energies[0] = kinetic_energy(y, system.kinematics, system.bodies.shape[0])
    system.energies[1] = potential_energy(y, system)
    jacobian_velocity(system, system.rates)
    for j in range(system.reactions.shape[0]):
        reaction(j, system)
    return status


@njit
def reaction(j, system):
    """Jᵀ λ of one joint on one body, moved from the centre of mass to the joint: force and torque, world axes."""
    joint = system.joints[j]
    where = system.reactions[j]
    for k in range(6):
        total = 0.0
        if joint.active != 0:
            for r in range(joint.rows):
                total += system.multipliers[joint.row + r] * system.jacobian[where.block + 6 * r + k]
        system.wrenches[6 * j + k] = where.sign * total
    arm = matvec(load9(system.kinematics[where.body].rotation), load3(where.anchor))
    moment = cross(arm, (system.wrenches[6 * j], system.wrenches[6 * j + 1], system.wrenches[6 * j + 2]))
    for k in range(3):
        system.wrenches[6 * j + 3 + k] -= moment[k]
