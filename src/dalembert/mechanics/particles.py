"""Particles in the derivative: velocities, forces, and what nodes hand on to joints and forces of bodies.

The particles' block of the state is x (3 n) and then p (3 n), after the bodies. Forces are gathered where ṗ stands in the
derivative, and velocities where ẋ stands, so that nothing is copied.
"""

from ..arrays import clear
from ..jit import inlined, njit
from ..linalg.block_matrix import load_3
from ..model.tables import STATE_SIZE
from ..pointer import PARTICLE_ENERGY, PARTICLE_FORCES, PARTICLE_RATES, part_of
from ..unchecked import peek, poke
from ..vec import add, cross, load3
from .on_particles import ask_all


@inlined
def particles_at(system):
    """Where the particles' block starts in the state vector."""
    return STATE_SIZE * system.settings[0].rigid


@njit
def particle_forces(t, y, dydt, system):
    """ẋ of all particles, and in place of ṗ the applied forces; potential energy and powers of the ledger. A status."""
    n = system.settings[0].particles
    system.energies[2] = 0.0
    if n == 0:
        return 0
    if system.settings[0].stepped != 0:
        rest_particles(dydt, system)
        return 0
    at = particles_at(system)
    x, p = part_of(y, at, 3 * n), part_of(y, at + 3 * n, 3 * n)
    v, f = part_of(dydt, at, 3 * n), part_of(dydt, at + 3 * n, 3 * n)
    inverse_mass = system.particle_inverse_mass
    for i in range(n):
        w = peek(inverse_mass, i)
        for k in range(3 * i, 3 * i + 3):
            poke(v, k, w * peek(p, k))
            poke(f, k, 0.0)
    return ask_all(PARTICLE_RATES, t, x, part_of(dydt, at, 6 * n), system)


@njit
def rest_particles(dydt, system):
    """No rates: the particles have a time step of their own."""
    at = particles_at(system)
    for k in range(at, at + 6 * system.settings[0].particles):
        poke(dydt, k, 0.0)


@njit
def split_forces(t, place, out, system):
    """Forces for the time step of particles: conservative ones, then all others; see `on_particles`. `energies` and `power`
    are as in `particle_forces`. Returns a status."""
    clear(out)
    clear(system.power)
    return ask_all(PARTICLE_FORCES, t, place, out, system)


@njit
def particle_potential(t, y, dydt, system):
    """Potential energy (J) of the particles' own forces; overwrites the particles' block of dydt."""
    n = system.settings[0].particles
    if n == 0:
        return 0.0
    at = particles_at(system)
    ask_all(PARTICLE_ENERGY, t, part_of(y, at, 3 * n), part_of(dydt, at, 6 * n), system)
    return system.energies[2]


@inlined
def load_nodes(y, system):
    """Places and velocities of nodes into the kinematics table."""
    nodes, bodies, kinematics = system.nodes, system.bodies, system.kinematics
    settings = system.settings[0]
    at = particles_at(system)
    for i in range(nodes.shape[0]):
        kin = kinematics[settings.rigid + i]
        w = bodies[settings.rigid + i].inverse_mass
        x = at + 3 * nodes[i].particle
        for k in range(3):
            kin.x[k] = y[x + k]
            kin.v[k] = w * y[x + 3 * settings.particles + k]


@inlined
def exchange_forces(dydt, system):
    """Forces that a node has as a particle and as a body become one sum, in both places."""
    nodes, kinematics = system.nodes, system.kinematics
    settings = system.settings[0]
    at = particles_at(system) + 3 * settings.particles
    for i in range(nodes.shape[0]):
        kin = kinematics[settings.rigid + i]
        f = at + 3 * nodes[i].particle
        for k in range(3):
            kin.force[k] += dydt[f + k]
            dydt[f + k] = kin.force[k]


@njit
def finish_particles(y, dydt, system):
    """ṗ from the forces, with those of constraints; returns the sums of force, moment about the origin, and of what holds
    pinned particles: force, moment."""
    nodes, kinematics = system.nodes, system.kinematics
    settings = system.settings[0]
    n = settings.particles
    at = particles_at(system)
    x, f = part_of(y, at, 3 * n), part_of(dydt, at + 3 * n, 3 * n)
    inverse_mass = system.particle_inverse_mass
    zero = (0.0, 0.0, 0.0)
    total, moment, held, held_moment = zero, zero, zero, zero
    for i in range(n):
        force = load_3(f, 3 * i)
        turning = cross(load_3(x, 3 * i), force)
        total, moment = add(total, force), add(moment, turning)
        if peek(inverse_mass, i) == 0.0:
            held, held_moment = add(held, force), add(held_moment, turning)
            for k in range(3 * i, 3 * i + 3):
                poke(f, k, 0.0)
    for i in range(nodes.shape[0]):
        kin = kinematics[settings.rigid + i]
        at = 3 * nodes[i].particle
        if peek(inverse_mass, nodes[i].particle) != 0.0:
            for k in range(3):
                poke(f, at + k, peek(f, at + k) + kin.linear[k])
        else:
            held = add(held, load3(kin.linear))
            held_moment = add(held_moment, cross(load3(kin.x), load3(kin.linear)))
    return total, moment, held, held_moment


@njit
def drift_particles(h, y, system):
    """x += h p/m, unless particles have a time step of their own."""
    if system.settings[0].stepped != 0:
        return
    n = system.settings[0].particles
    at = particles_at(system)
    inverse_mass = system.particle_inverse_mass
    for i in range(n):
        w = h * peek(inverse_mass, i)
        for k in range(at + 3 * i, at + 3 * i + 3):
            poke(y, k, peek(y, k) + w * peek(y, k + 3 * n))


@njit
def particles_kinetic(y, system):
    """½ Σ p²/m, J."""
    n = system.settings[0].particles
    at = particles_at(system) + 3 * n
    inverse_mass = system.particle_inverse_mass
    total = 0.0
    for i in range(n):
        p = load_3(y, at + 3 * i)
        total += peek(inverse_mass, i) * (p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
    return 0.5 * total
