"""Particles: their part of the derivative, and the C functions of the forces on them.

Forces are fields on each particle or on the triangles of a surface (`fields_task`), elements (`elements_task`) and laws
between all particles (`pairs_task`). Each is a C function of its own, so that a run compiles what its scene needs. They
receive the tables of the system, and have these tasks:

    PARTICLE_RATES    inputs: x; out: v, forces, to which theirs are added
    PARTICLE_FORCES   inputs: x, v, the velocities about which forces are linear in v, and the positions at which
                      damping and wind are evaluated; out: conservative forces and all others, to which theirs are added
    PARTICLE_MATRIX   inputs: the same; out: a block matrix, to which is added −∂f/∂x − rate ∂f/∂v with `rate` of the
                      settings, made positive semidefinite, without fields of the user's
    PARTICLE_ENERGY   inputs: x; out: scratch for v and forces, which are overwritten

All vectors have 3 numbers a particle. All tasks but PARTICLE_MATRIX add the potential energy to `energies[2]`, and
powers to `power` of the system.
"""

import numpy as np

from ..core.c_function import (
    C_SIGNATURE,
    DERIVATIVE,
    PARTICLE_ENERGY,
    PARTICLE_FORCES,
    PARTICLE_MATRIX,
    PARTICLE_RATES,
    call_pointer,
    part_of,
    viewer,
)
from ..core.jit import DISABLED, CFunction, inlined, njit
from ..core.math3 import add, cross, dot, load3, norm, scale, sub
from ..core.simd import clear, load, store
from ..core.tables import own_address, table_at
from ..energies.elements import add_forces, add_matrix, total_energy
from ..linalg.block_matrix import add_3, load_3
from ..model.tables import CUSTOM_FIELD, MEDIUM, PARTICLE_FIELD, STATE_SIZE, WIND, System
from ..pairwise.forces import add_diagonal, interact

_floats = viewer(np.float64)


# The derivative of particles -------------------------------------------------------------------------------------------
#
# The particles' block of the state is x (3 n) and then p (3 n), after the bodies. Forces are summed in the entries of ṗ in
# the derivative, and velocities are written to those of ẋ, so that nothing is copied.


@inlined
def particles_at(system):
    """Where the particles' block starts in the state vector."""
    return STATE_SIZE * system.settings[0].rigid


@njit
def particle_forces(t, y, dydt, system):
    """ẋ of all particles into dydt, and the applied forces in place of ṗ; writes their potential energy and powers. Returns a
    status."""
    n = system.settings[0].particles
    system.energies[2] = 0.0
    if n == 0:
        return 0
    if system.settings[0].stepped != 0:
        clear_rates(dydt, system)
        return 0
    at = particles_at(system)
    x, p = part_of(y, at, 3 * n), part_of(y, at + 3 * n, 3 * n)
    v, f = part_of(dydt, at, 3 * n), part_of(dydt, at + 3 * n, 3 * n)
    inverse_mass = system.particle_inverse_mass
    for i in range(n):
        w = load(inverse_mass, i)
        for k in range(3 * i, 3 * i + 3):
            store(v, k, w * load(p, k))
            store(f, k, 0.0)
    return call_particle_functions(PARTICLE_RATES, t, x, part_of(dydt, at, 6 * n), system)


@njit
def clear_rates(dydt, system):
    """Zero rates: the particles have a time step of their own."""
    at = particles_at(system)
    for k in range(at, at + 6 * system.settings[0].particles):
        store(dydt, k, 0.0)


@njit
def split_forces(t, place, out, system):
    """out = conservative forces, then all others, for the time step of particles: the task PARTICLE_FORCES. `energies` and
    `power` are as in `particle_forces`. Returns a status."""
    clear(out)
    clear(system.power)
    return call_particle_functions(PARTICLE_FORCES, t, place, out, system)


@njit
def particle_potential(t, y, dydt, system):
    """Potential energy (J) of the particles' own forces; overwrites the particles' block of dydt."""
    n = system.settings[0].particles
    if n == 0:
        return 0.0
    at = particles_at(system)
    call_particle_functions(PARTICLE_ENERGY, t, part_of(y, at, 3 * n), part_of(dydt, at, 6 * n), system)
    return system.energies[2]


@inlined
def load_nodes(y, system):
    """Positions and velocities of nodes (particles in joints) into the kinematics table."""
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
    """Forces on a node as a particle, in dydt, and as a body, in the kinematics table: both become their sum."""
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
    """ṗ = forces and constraint forces, in place. Returns the sums over all particles of force and moment about the origin,
    and those of the forces on pinned particles, which their support balances."""
    nodes, kinematics = system.nodes, system.kinematics
    settings = system.settings[0]
    n = settings.particles
    at = particles_at(system)
    x, f = part_of(y, at, 3 * n), part_of(dydt, at + 3 * n, 3 * n)
    inverse_mass = system.particle_inverse_mass
    zero = (0.0, 0.0, 0.0)
    total, moment, pinned, pinned_moment = zero, zero, zero, zero
    for i in range(n):
        force = load_3(f, 3 * i)
        turning = cross(load_3(x, 3 * i), force)
        total, moment = add(total, force), add(moment, turning)
        if load(inverse_mass, i) == 0.0:
            pinned, pinned_moment = add(pinned, force), add(pinned_moment, turning)
            for k in range(3 * i, 3 * i + 3):
                store(f, k, 0.0)
    for i in range(nodes.shape[0]):
        kin = kinematics[settings.rigid + i]
        at = 3 * nodes[i].particle
        if load(inverse_mass, nodes[i].particle) != 0.0:
            for k in range(3):
                store(f, at + k, load(f, at + k) + kin.linear[k])
        else:
            pinned = add(pinned, load3(kin.linear))
            pinned_moment = add(pinned_moment, cross(load3(kin.x), load3(kin.linear)))
    return total, moment, pinned, pinned_moment


@njit
def drift_particles(h, y, system):
    """x += h p/m, unless particles have a time step of their own."""
    if system.settings[0].stepped != 0:
        return
    n = system.settings[0].particles
    at = particles_at(system)
    inverse_mass = system.particle_inverse_mass
    for i in range(n):
        w = h * load(inverse_mass, i)
        for k in range(at + 3 * i, at + 3 * i + 3):
            store(y, k, load(y, k) + w * load(y, k + 3 * n))


@njit
def particles_kinetic(y, system):
    """½ Σ p²/m, J."""
    n = system.settings[0].particles
    at = particles_at(system) + 3 * n
    inverse_mass = system.particle_inverse_mass
    total = 0.0
    for i in range(n):
        p = load_3(y, at + 3 * i)
        total += load(inverse_mass, i) * (p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
    return 0.5 * total


# The C functions of forces on particles --------------------------------------------------------------------------------


ON_EACH, ON_ELEMENTS, ON_PAIRS = range(3)  # indices in `on_particles` of the settings

if DISABLED:

    def call_particle_function(which, task, t, inputs, out, system):
        """A task for one of them. Returns a status."""
        return (fields_task, elements_task, pairs_task)[which](task, t, inputs, out, system)

else:

    @njit
    def call_particle_function(which, task, t, inputs, out, system):
        """A task for one of them. Returns a status."""
        address = system.settings[0].on_particles[which]
        return call_pointer(address, own_address(system), task, t, inputs, out)


@njit
def call_particle_functions(task, t, inputs, out, system):
    """A task for all functions that the scene needs. Returns a status."""
    functions, matrix = system.settings[0].on_particles, task == PARTICLE_MATRIX
    system.energies[2] = 0.0
    for k in range(3):
        which = k
        if matrix and k < ON_PAIRS:
            which = ON_ELEMENTS - k  # the larger blocks first
        if functions[which] != 0:
            status = call_particle_function(which, task, t, inputs, out, system)
            if status != 0:
                return status
    return 0


# Fields: uniform, media, wind, and functions of the user's -------------------------------------------------------------


@njit
def fields_task(task, t, inputs, out, system):
    """One of the tasks of `on_particles`; returns a status."""
    n = 3 * system.settings[0].particles
    if task == PARTICLE_MATRIX:
        about, near = part_of(inputs, 2 * n, n), part_of(inputs, 3 * n, n)
        return add_field_matrix(t, near, about, system.settings[0].rate, out, system.diagonal_slots, system)
    if task == PARTICLE_ENERGY:
        system.energies[2] += fields_energy(inputs, system)
        return 0
    x, v, about, near = inputs, part_of(out, 0, n), part_of(out, 0, n), inputs
    f, g = part_of(out, n, n), part_of(out, n, n)
    if task == PARTICLE_FORCES:
        x, v, about, near = (
            part_of(inputs, 0, n),
            part_of(inputs, n, n),
            part_of(inputs, 2 * n, n),
            part_of(inputs, 3 * n, n),
        )
        f = part_of(out, 0, n)
    potential, status = field_forces(t, x, near, v, about, f, g, system)
    system.energies[2] += potential
    return status


@njit
def field_forces(t, x, near, v, about, f, g, system):
    """Add conservative forces to f and all others to g; returns (potential energy, status). Forces are linear in v about the
    velocities `about`, and wind acts on triangles at the positions `near`; these may be v and x."""
    forces = system.particle_forces
    potential = 0.0
    for i in range(forces.shape[0]):
        force = forces[i]
        if force.active == 0:
            continue
        if force.kind == PARTICLE_FIELD:
            potential += uniform(force, x, f, system.particle_mass)
        elif force.kind == MEDIUM:
            medium(force, v, about, g, system.power)
        else:
            status = (
                custom_field(t, force, x, about, g, system)
                if force.kind == CUSTOM_FIELD
                else wind(t, force, near, v, about, g, system)
            )
            if status != 0:
                return potential, status
    return potential, 0


@njit
def fields_energy(x, system):
    """Potential energy of the uniform fields, J."""
    forces = system.particle_forces
    total = 0.0
    for i in range(forces.shape[0]):
        if forces[i].active != 0 and forces[i].kind == PARTICLE_FIELD:
            total += uniform_energy(forces[i], x, system.particle_mass)
    return total


@njit
def uniform(force, x, f, mass):
    """f += m a + c on each; returns the energy, −Σ (m a + c)·x."""
    a, c = load3(force.vector), load3(force.force)
    total = 0.0
    for i in range(force.first, force.last):
        m = load(mass, i)
        pull = (m * a[0] + c[0], m * a[1] + c[1], m * a[2] + c[2])
        add_3(f, 3 * i, pull)
        total -= dot(pull, load_3(x, 3 * i))
    return total


@njit
def uniform_energy(force, x, mass):
    """−Σ (m a + c)·x, J."""
    a, c = load3(force.vector), load3(force.force)
    total = 0.0
    for i in range(force.first, force.last):
        place = load_3(x, 3 * i)
        total -= load(mass, i) * dot(a, place) + dot(c, place)
    return total


@njit
def medium(force, v, about, f, power):
    """f += −(c₁ + c₂ |u|) u on each, u = v − v_medium, linear in v about `about`; adds the power."""
    flow = load3(force.velocity)
    total = 0.0
    for i in range(force.first, force.last):
        u = sub(load_3(about, 3 * i), flow)
        more = sub(load_3(v, 3 * i), load_3(about, 3 * i))
        across, along = medium_drag(force, u)
        pull = sub(scale(-across, add(u, more)), scale(along * dot(u, more), u))
        add_3(f, 3 * i, pull)
        total += dot(pull, load_3(v, 3 * i))
    power[force.ledger] += total


# f = −(c₁ + c₂ |u|) u has the derivative −(c₁ + c₂ |u|) 1 − (c₂/|u|) u uᵀ.
@inlined
def medium_drag(force, u):
    """The two factors of that derivative, of 1 and of u uᵀ."""
    speed = norm(u)
    return force.linear + force.quadratic * speed, force.quadratic / speed if speed > 0.0 else 0.0


@njit
def custom_field(t, force, x, v, f, system):
    """Add forces of the user's function, which receives (x, v) of a particle, six numbers, and returns three; adds the power.
    Returns its status."""
    power = system.power
    state, out = part_of(system.scratch, 0, 6), part_of(system.scratch, STATE_SIZE, 3)
    for i in range(force.first, force.last):
        for k in range(3):
            state[k], state[3 + k] = load(x, 3 * i + k), load(v, 3 * i + k)
        status = call_pointer(force.address, 0, DERIVATIVE, t, state, out)
        if status != 0:
            return status
        add_3(f, 3 * i, load3(out))
        power[force.ledger] += dot(load3(out), load_3(v, 3 * i))
    return 0


# On a triangle with the edges d and e, A n = ½ d × e; the wind meets it with the speed u_n = (w − v̄)·n, and pushes with
# ½ ρ c A |u_n| u_n along n: with N = d × e = 2 A n and u = w − v̄ that is ¼ ρ c |u·N| (u·N) N / |N|².
@njit
def wind(t, force, x, v, about, f, system):
    """Add the force of the wind on each triangle to f, a third to each corner, linear in v about `about`; adds the power.
    Returns a status."""
    panels, power = system.panels, system.power
    for i in range(force.first, force.last):
        nodes = panels[i].nodes
        a, b, c = nodes[0], nodes[1], nodes[2]
        normal = panel_normal(x, a, b, c)
        size = dot(normal, normal)
        if size == 0.0:
            continue
        flow, status = flow_at(t, force, x, a, b, c, system)
        if status != 0:
            return status
        mean, known = panel_mean(v, a, b, c), panel_mean(about, a, b, c)
        through = dot(sub(flow, known), normal)
        more = 2.0 * abs(through) * dot(sub(known, mean), normal)
        push = scale(0.5 * force.pressure * (abs(through) * through + more) / size, normal)
        third = scale(1.0 / 3.0, push)
        add_3(f, 3 * a, third)
        add_3(f, 3 * b, third)
        add_3(f, 3 * c, third)
        power[force.ledger] += dot(push, mean)
    return 0


@njit
def flow_at(t, force, x, a, b, c, system):
    """The wind's velocity at the middle of a triangle, and the status of the user's function, which receives the position."""
    if force.address == 0:
        return load3(force.velocity), 0
    position, out = part_of(system.scratch, 0, 3), part_of(system.scratch, STATE_SIZE, 3)
    middle = panel_mean(x, a, b, c)
    for k in range(3):
        position[k] = middle[k]
    status = call_pointer(force.address, 0, DERIVATIVE, t, position, out)
    return load3(out), status


@inlined
def panel_normal(x, a, b, c):
    """d × e of the triangle's edges from its first corner: twice its area, along its normal."""
    corner = load_3(x, 3 * a)
    return cross(sub(load_3(x, 3 * b), corner), sub(load_3(x, 3 * c), corner))


@inlined
def panel_mean(v, a, b, c):
    """The mean of v over three corners."""
    return scale(1.0 / 3.0, add(add(load_3(v, 3 * a), load_3(v, 3 * b)), load_3(v, 3 * c)))


@njit
def add_field_matrix(t, x, about, rate, values, starts, system):
    """Add `rate` times the derivatives −∂f/∂v of media and wind to the diagonal blocks of a matrix; those of wind summed
    over the corners of each triangle, which is no less than they are together. Returns a status."""
    forces, panels = system.particle_forces, system.panels
    for k in range(forces.shape[0]):
        force = forces[k]
        if force.active == 0:
            continue
        if force.kind == MEDIUM:
            for i in range(force.first, force.last):
                u = sub(load_3(about, 3 * i), load3(force.velocity))
                across, along = medium_drag(force, u)
                add_drag_matrix(values, starts[i], rate * across, rate * along, u)
        elif force.kind == WIND:
            for i in range(force.first, force.last):
                nodes = panels[i].nodes
                a, b, c = nodes[0], nodes[1], nodes[2]
                normal = panel_normal(x, a, b, c)
                size = dot(normal, normal)
                if size > 0.0:
                    flow, status = flow_at(t, force, x, a, b, c, system)
                    if status != 0:
                        return status
                    through = abs(dot(sub(flow, panel_mean(about, a, b, c)), normal))
                    factor = rate * force.pressure * through / (3.0 * size)
                    add_drag_matrix(values, starts[a], 0.0, factor, normal)
                    add_drag_matrix(values, starts[b], 0.0, factor, normal)
                    add_drag_matrix(values, starts[c], 0.0, factor, normal)
    return 0


@inlined
def add_drag_matrix(values, block, factor, along, u):
    """values[block] += factor 1 + along u uᵀ."""
    for r in range(3):
        for c in range(3):
            amount = along * u[r] * u[c] + (factor if r == c else 0.0)
            at = 9 * block + 3 * r + c
            store(values, at, load(values, at) + amount)


def fields_entry(data, task, t, inputs, n, out, m):
    return fields_task(task, t, _floats(inputs, n), _floats(out, m), table_at(System, data))


FIELDS_ENTRY = CFunction(fields_entry, C_SIGNATURE)


# Elements: springs, cloth, tetrahedra …; see `energies` ----------------------------------------------------------------


@njit
def elements_task(task, t, inputs, out, system):
    """One of the tasks of `on_particles`; returns a status."""
    elements = system.elements
    n = 3 * system.settings[0].particles
    if task == PARTICLE_MATRIX:
        add_matrix(part_of(inputs, 0, n), part_of(inputs, 3 * n, n), 1.0, system.settings[0].rate, out, elements)
    elif task == PARTICLE_ENERGY:
        system.energies[2] += total_energy(inputs, elements)
    else:
        x, near, v, f, g = inputs, inputs, part_of(out, 0, n), part_of(out, n, n), part_of(out, n, n)
        if task == PARTICLE_FORCES:
            x, near, v, f = part_of(inputs, 0, n), part_of(inputs, 3 * n, n), part_of(inputs, n, n), part_of(out, 0, n)
        system.energies[2] += add_forces(x, near, v, f, g, system.power, elements)
    return 0


def elements_entry(data, task, t, inputs, n, out, m):
    return elements_task(task, t, _floats(inputs, n), _floats(out, m), table_at(System, data))


ELEMENTS_ENTRY = CFunction(elements_entry, C_SIGNATURE)


# Laws between all particles; see `pairwise` ----------------------------------------------------------------------------


@njit
def pairs_task(task, t, inputs, out, system):
    """One of the tasks of `on_particles`; returns a status."""
    n = 3 * system.settings[0].particles
    if task == PARTICLE_MATRIX:
        return add_diagonal(t, part_of(inputs, 0, n), 1.0, out, system.diagonal_slots, system.interactions)
    if task == PARTICLE_ENERGY:
        clear(out)
    x, v, f = inputs, part_of(out, 0, n), part_of(out, n, n)
    if task == PARTICLE_FORCES:
        x, v, f = part_of(inputs, 0, n), part_of(inputs, n, n), part_of(out, 0, n)
    energy, status = interact(t, x, v, f, system.power, system.interactions)
    system.energies[2] += energy
    return status


def pairs_entry(data, task, t, inputs, n, out, m):
    return pairs_task(task, t, _floats(inputs, n), _floats(out, m), table_at(System, data))


PAIRS_ENTRY = CFunction(pairs_entry, C_SIGNATURE)
