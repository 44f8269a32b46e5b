"""Forces on each particle of a range, or each triangle of a surface: uniform fields, media, wind, functions of the user's.

They are a C function of their own, see `on_particles`.
"""

import numpy as np

from ..jit import CFunction, inlined, njit
from ..linalg.block_matrix import add_3, load_3
from ..model.tables import CUSTOM_FIELD, MEDIUM, PARTICLE_FIELD, STATE_SIZE, WIND, System
from ..pointer import (
    C_SIGNATURE,
    DERIVATIVE,
    PARTICLE_ENERGY,
    PARTICLE_FORCES,
    PARTICLE_MATRIX,
    call_pointer,
    part_of,
    viewer,
)
from ..tables import table_at
from ..unchecked import peek, poke
from ..vec import add, cross, dot, load3, norm, scale, sub

_floats = viewer(np.float64)


@njit
def perform(task, t, given, found, system):
    """One of the tasks of `on_particles`; returns a status."""
    n = 3 * system.settings[0].particles
    if task == PARTICLE_MATRIX:
        about, near = part_of(given, 2 * n, n), part_of(given, 3 * n, n)
        return add_field_matrix(t, near, about, system.settings[0].rate, found, system.diagonal_slots, system)
    if task == PARTICLE_ENERGY:
        system.energies[2] += fields_energy(given, system)
        return 0
    x, v, about, near = given, part_of(found, 0, n), part_of(found, 0, n), given
    f, g = part_of(found, n, n), part_of(found, n, n)
    if task == PARTICLE_FORCES:
        x, v, about, near = (
            part_of(given, 0, n),
            part_of(given, n, n),
            part_of(given, 2 * n, n),
            part_of(given, 3 * n, n),
        )
        f = part_of(found, 0, n)
    potential, status = field_forces(t, x, near, v, about, f, g, system)
    system.energies[2] += potential
    return status


@njit
def field_forces(t, x, near, v, about, f, g, system):
    """Add conservative ones to f and the others to g; (potential energy, status). Velocities count to first order about
    those in `about`, and wind meets triangles as they are at `near`; these may be v and x."""
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
        m = peek(mass, i)
        pull = (m * a[0] + c[0], m * a[1] + c[1], m * a[2] + c[2])
        add_3(f, 3 * i, pull)
        total -= dot(pull, load_3(x, 3 * i))
    return total


@njit
def uniform_energy(force, x, mass):
    a, c = load3(force.vector), load3(force.force)
    total = 0.0
    for i in range(force.first, force.last):
        place = load_3(x, 3 * i)
        total -= peek(mass, i) * dot(a, place) + dot(c, place)
    return total


@njit
def medium(force, v, about, f, power):
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
    """The user's function receives (x, v) of a particle, six numbers, and returns three."""
    power = system.power
    given, out = part_of(system.scratch, 0, 6), part_of(system.scratch, STATE_SIZE, 3)
    for i in range(force.first, force.last):
        for k in range(3):
            given[k], given[3 + k] = peek(x, 3 * i + k), peek(v, 3 * i + k)
        status = call_pointer(force.address, 0, DERIVATIVE, t, given, out)
        if status != 0:
            return status
        add_3(f, 3 * i, load3(out))
        power[force.ledger] += dot(load3(out), load_3(v, 3 * i))
    return 0


# On a triangle with the edges d and e, A n = ½ d × e; the wind meets it with the speed u_n = (w − v̄)·n, and pushes with
# ½ ρ c A |u_n| u_n along n: with N = d × e = 2 A n and u = w − v̄ that is ¼ ρ c |u·N| (u·N) N / |N|².
@njit
def wind(t, force, x, v, about, f, system):
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
    """The wind's velocity at the middle of a triangle, and a status: the user's function receives the place."""
    if force.address == 0:
        return load3(force.velocity), 0
    given, out = part_of(system.scratch, 0, 3), part_of(system.scratch, STATE_SIZE, 3)
    middle = panel_mean(x, a, b, c)
    for k in range(3):
        given[k] = middle[k]
    status = call_pointer(force.address, 0, DERIVATIVE, t, given, out)
    return load3(out), status


@inlined
def panel_normal(x, a, b, c):
    """d × e of the triangle's edges from its first corner: twice its area, along its normal."""
    corner = load_3(x, 3 * a)
    return cross(sub(load_3(x, 3 * b), corner), sub(load_3(x, 3 * c), corner))


@inlined
def panel_mean(v, a, b, c):
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
                add_diagonal(values, starts[i], rate * across, rate * along, u)
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
                    add_diagonal(values, starts[a], 0.0, factor, normal)
                    add_diagonal(values, starts[b], 0.0, factor, normal)
                    add_diagonal(values, starts[c], 0.0, factor, normal)
    return 0


@inlined
def add_diagonal(values, block, factor, along, u):
    """values[block] += factor 1 + along u uᵀ."""
    for r in range(3):
        for c in range(3):
            amount = along * u[r] * u[c] + (factor if r == c else 0.0)
            at = 9 * block + 3 * r + c
            poke(values, at, peek(values, at) + amount)


def evaluate(data, task, t, given, n, found, m):
    return perform(task, t, _floats(given, n), _floats(found, m), table_at(System, data))


COMPILED = CFunction(evaluate, C_SIGNATURE)
