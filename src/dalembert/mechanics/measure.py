"""What is recorded of a state: energies, rates of the constraints, and what each joint does to its second body."""

from ..jit import inlined, njit
from ..vec import add_scaled, cross, load3, matvec
from .constraints import jacobian_velocity, wrench_of
from .dynamics import finish, prepare
from .forces import potential_energy
from .kinematics import kinetic_energy, load9
from .particles import particle_potential, particles_kinetic


@inlined
def measure(t, y, dydt, system):
    """Evaluate one state and fill `energies`, `rates` and `wrenches` of the system. Returns a status."""
    status = prepare(t, y, system)
    if status == 0:
        status = finish(t, y, dydt, system)
    record(t, y, dydt, system)
    return status


@njit
def record(t, y, dydt, system):
    """What is recorded of a state that was just evaluated."""
    energies = system.energies
    energies[0] = kinetic_energy(y, system.kinematics, system.settings[0].rigid) + particles_kinetic(y, system)
    if system.settings[0].stepped != 0:
        energies[2] = particle_potential(t, y, dydt, system)
    energies[1] = potential_energy(y, system) + energies[2]
    jacobian_velocity(system, system.rates)
    for j in range(system.reactions.shape[0]):
        reaction(j, system)


@inlined
def reaction(j, system):
    """Jᵀ λ of one joint on one body, moved from the centre of mass to the joint: force and torque, world axes."""
    wrenches = system.wrenches
    multipliers = system.multipliers
    jacobian = system.jacobian
    incidences = system.incidences
    joint = system.joints[j]
    where = system.reactions[j]
    force = (0.0, 0.0, 0.0)
    torque = (0.0, 0.0, 0.0)
    for i in range(joint.first, joint.last):
        if incidences[i].body == where.body:
            f, m = wrench_of(incidences[i], jacobian, multipliers)
            force = add_scaled(force, where.sign, f)
            torque = add_scaled(torque, where.sign, m)
    arm = matvec(load9(system.kinematics[where.body].rotation), load3(where.anchor))
    moment = cross(arm, force)
    for k in range(3):
        wrenches[6 * j + k] = force[k]
        wrenches[6 * j + 3 + k] = torque[k] - moment[k]
