"""What is recorded of a state: energies, rates of the constraints, and what each joint does to its second body."""

from ..jit import inlined, njit
from ..vec import add_scaled, cross, load3, matvec
from .constraints import jacobian_velocity, wrench_of
from .dynamics import finish, prepare
from .forces import potential_energy
from .kinematics import kinetic_energy, load9
from .particles import particle_potential, particles_kinetic
from .system import (
    energies_of,
    incidences_of,
    jacobian_of,
    joints_of,
    kinematics_of,
    multipliers_of,
    rates_of,
    reactions_of,
    settings_of,
    wrenches_of,
)


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
    energies = energies_of(system)
    kinematics = kinematics_of(system)
    rates = rates_of(system)
    reactions = reactions_of(system)
    energies[0] = kinetic_energy(y, kinematics, settings_of(system)[0].rigid) + particles_kinetic(y, system)
    if settings_of(system)[0].stepped != 0:
        energies[2] = particle_potential(t, y, dydt, system)
    energies[1] = potential_energy(y, system) + energies[2]
    jacobian_velocity(system, rates)
    for j in range(reactions.shape[0]):
        reaction(j, system)


@inlined
def reaction(j, system):
    """Jᵀ λ of one joint on one body, moved from the centre of mass to the joint: force and torque, world axes."""
    joints = joints_of(system)
    reactions = reactions_of(system)
    wrenches = wrenches_of(system)
    kinematics = kinematics_of(system)
    multipliers = multipliers_of(system)
    jacobian = jacobian_of(system)
    incidences = incidences_of(system)
    joint = joints[j]
    where = reactions[j]
    force = (0.0, 0.0, 0.0)
    torque = (0.0, 0.0, 0.0)
    for i in range(joint.first, joint.last):
        if incidences[i].body == where.body:
            f, m = wrench_of(incidences[i], jacobian, multipliers)
            force = add_scaled(force, where.sign, f)
            torque = add_scaled(torque, where.sign, m)
    arm = matvec(load9(kinematics[where.body].rotation), load3(where.anchor))
    moment = cross(arm, force)
    for k in range(3):
        wrenches[6 * j + k] = force[k]
        wrenches[6 * j + 3 + k] = torque[k] - moment[k]
