"""Forces on bodies: fields, and what `special` has beside them.

A conservative force has a potential energy here too. What is not conservative (the damper of a spring, but not its elastic
part) each force also leaves in `exerted`: force and torque on its body or, between two bodies, the first number is what acts
along the distance or the coordinate. Its power goes to its entry of the ledger. A time step asks for the powers of `exerted`
once more (`find_powers`), at mean velocities that are known only after its contacts.
"""

from ..jit import inlined, njit
from ..linalg.block_matrix import load_3
from ..model.tables import BOUNDED
from ..vec import dot, load3
from .ask_special import ENERGY, FORCES, POWERS, ask


@inlined
def apply_forces(t, y, system):
    """Fill force and torque of every body (world axes, torque about the centre of mass) and the ledger's powers."""
    power, forces = system.power, system.forces
    bodies, kinematics = system.bodies, system.kinematics
    settings = system.settings[0]
    for i in range(kinematics.shape[0]):
        kin = kinematics[i]
        for k in range(3):
            kin.force[k] = 0.0
            kin.torque[k] = 0.0
    for i in range(power.shape[0]):
        power[i] = 0.0
    if settings.stepped != 0:
        pushes_of_particles(system)
    if settings.special_forces != 0:
        return ask(FORCES, t, y, y, system)
    for i in range(forces.shape[0]):
        if is_applied(forces[i], settings.implicit):
            field(forces[i], bodies, settings.rigid, kinematics)
    return 0


@inlined
def is_applied(force, held):
    """Whether a force acts as one, and not as a row of a contact solver or, where these are `held`, as a soft constraint."""
    return force.active != 0 and force.kind < BOUNDED and (held == 0 or force.implicit == 0)


@njit
def find_powers(y, system):
    """The power of each entry of the ledger: that of `exerted`, at the velocities in the kinematics table. Places are those
    of the last evaluation."""
    power, kinematics, settings = system.power, system.kinematics, system.settings[0]
    for i in range(power.shape[0]):
        power[i] = 0.0
    if settings.special_forces != 0:
        ask(POWERS, 0.0, y, y, system)
    if settings.stepped != 0:
        pushes = system.pushes
        for i in range(settings.rigid):
            power[settings.contact_entry] += power_on(kinematics[i], 6 * i, pushes)


@inlined
def power_on(kin, at, wrenches):
    """Power of a force and a torque on a body, six numbers at `at`."""
    return dot(load_3(wrenches, at), load3(kin.v)) + dot(load_3(wrenches, at + 3), load3(kin.omega))


@njit
def pushes_of_particles(system):
    """What particles with a time step of their own do to the bodies; its power goes to the ledger's entry of contact."""
    pushes, kinematics, power = system.pushes, system.kinematics, system.power
    settings = system.settings[0]
    for i in range(settings.rigid):
        kin = kinematics[i]
        power[settings.contact_entry] += power_on(kin, 6 * i, pushes)
        for k in range(3):
            kin.force[k] += pushes[6 * i + k]
            kin.torque[k] += pushes[6 * i + 3 + k]


@inlined
def field(force, bodies, rigid, kinematics):
    g = load3(force.vector)
    for i in range(rigid):
        m = bodies[i].mass
        kin = kinematics[i]
        for k in range(3):
            kin.force[k] += m * g[k]


@njit
def potential_energy(y, system):
    """Energy of the conservative forces (J): fields −m g·x, springs ½ k (|d| − l)², torsion springs ½ k (s − s₀)². It
    is left in `energies[1]` too."""
    bodies, kinematics, energies = system.bodies, system.kinematics, system.energies
    forces, settings = system.forces, system.settings[0]
    energies[1] = 0.0
    if settings.special_forces != 0:
        ask(ENERGY, 0.0, y, y, system)
        return energies[1]
    for i in range(forces.shape[0]):
        if forces[i].active != 0 and forces[i].kind < BOUNDED:
            energies[1] = field_energy(energies[1], forces[i], bodies, settings.rigid, kinematics)
    return energies[1]


@inlined
def field_energy(total, force, bodies, rigid, kinematics):
    """`total`, with that of one field."""
    g = load3(force.vector)
    for b in range(rigid):
        total -= bodies[b].mass * dot(g, load3(kinematics[b].x))
    return total
