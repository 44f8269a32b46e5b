"""Particles on which nothing acts but uniform fields and media: explicit steps in one pass over memory.

Each moves by itself: half a drift, a kick with the force there, half a drift. What depends on the velocity is taken half a
kick further on, as by `stage.predict`. The state is read and written once a step, in place; the general step passes over
memory many times, and gives the same numbers but for rounding.
"""

from ..arrays import clear, copy
from ..jit import njit
from ..linalg.block_matrix import add_3, load_3, store_3
from ..mechanics.fields import medium_drag
from ..mechanics.particles import particles_at
from ..model.tables import (
    FORCE_IMPULSE,
    LEDGER,
    MEDIUM,
    PARTICLE_FIELD,
    REACTION_IMPULSE,
    REACTION_TORQUE,
    TORQUE_IMPULSE,
)
from ..status import NON_FINITE, OK
from ..ticks import begin, lap
from ..unchecked import peek, poke
from ..vec import add, add_scaled, cross, dot, load3, scale, sub
from .fours import step_fours
from .tables import UPDATE


@njit
def are_free(system, steps):
    """Whether all particles move by themselves, by the explicit scheme."""
    forces = system.particle_forces
    if steps.options[0].explicit == 0 or steps.options[0].contacts != 0 or system.settings[0].rigid > 0:
        return False
    if system.elements.sets.shape[0] > 0 or system.interactions.laws.shape[0] > 0:
        return False
    for k in range(forces.shape[0]):
        if forces[k].kind != PARTICLE_FIELD and forces[k].kind != MEDIUM:
            return False
    return True


@njit
def march_free(stop, y, system, steps):
    """Steps until `stop` (s since the start) is reached. Returns a status; where it is not OK, y is as it was before all of
    them."""
    options, report = steps.options[0], steps.report[0]
    first = report.steps
    copy(steps.spare, y)
    while (report.steps + 1e-9) * options.dt < stop:
        begin(steps.ticks, 1.0)
        finite = step_free(y, system, steps)
        lap(steps.ticks, UPDATE)
        if not finite:
            copy(y, steps.spare)
            report.newton -= report.steps - first
            report.steps = first
            return NON_FINITE
        report.newton += 1
        report.steps += 1
    return OK


@njit
def step_free(y, system, steps):
    """One step in place, and its books. Returns whether all is finite."""
    n, power, h = system.settings[0].particles, steps.power, steps.options[0].dt
    clear(power)
    check = 0.0
    first = 0
    while first < n:
        last = end_of_stretch(first, n, system)
        check += step_stretch(first, last, y, system, steps)
        first = last
    ledger = y.shape[0] - power.shape[0]
    for k in range(power.shape[0]):
        poke(y, ledger + k, peek(y, ledger + k) + h * peek(power, k))
    return check - check == 0.0


@njit
def end_of_stretch(first, n, system):
    """How far the same forces act as on the particle `first`."""
    forces = system.particle_forces
    for k in range(forces.shape[0]):
        if forces[k].first > first:
            n = min(n, forces[k].first)
        if forces[k].last > first:
            n = min(n, forces[k].last)
    return n


@njit
def uniform_pull(i, system):
    """The acceleration and the force of all uniform fields at particle i, and whether any medium is there."""
    forces = system.particle_forces
    a, c, drags = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), False
    for k in range(forces.shape[0]):
        force = forces[k]
        if force.active == 0 or i < force.first or i >= force.last:
            continue
        if force.kind == PARTICLE_FIELD:
            a, c = add(a, load3(force.vector)), add(c, load3(force.force))
        else:
            drags = True
    return a, c, drags


@njit
def drag(i, v, share, power, system):
    """The force of all media on particle i at the velocity v; so much of its power goes into `power`."""
    forces = system.particle_forces
    total = (0.0, 0.0, 0.0)
    for k in range(forces.shape[0]):
        force = forces[k]
        if force.kind == MEDIUM and force.active != 0 and force.first <= i < force.last:
            u = sub(v, load3(force.velocity))
            across, _ = medium_drag(force, u)
            pull = scale(-across, u)
            total = add(total, pull)
            poke(power, force.ledger, peek(power, force.ledger) + share * dot(pull, v))
    return total


@njit
def step_stretch(first, last, y, system, steps):
    """A step of particles on which the same forces act. Returns a number that is not finite if any of theirs is not."""
    h, n, at = steps.options[0].dt, system.settings[0].particles, particles_at(system)
    mass, inverse, power = system.particle_mass, system.particle_inverse_mass, steps.power
    a, c, drags = uniform_pull(first, system)
    book_held(first, last, a, c, drags, y, system, steps)
    total, moment = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    check = 0.0
    if not drags:
        first, total, moment, check = step_fours(first, last, a, c, y, system, steps)
    for i in range(first, last):
        m, w = peek(mass, i), 0.5 * h * peek(inverse, i)
        p = load_3(y, at + 3 * (n + i))
        x = add_scaled(load_3(y, at + 3 * i), w, p)
        f = add_scaled(c, m, a)
        if drags:
            f = add(f, dragged(i, p, f, h, power, system))
        total, moment = add(total, f), add(moment, cross(x, f))
        if w > 0.0:
            p = add_scaled(p, h, f)
            x = add_scaled(x, w, p)
            check += x[0] + x[1] + x[2]
            store_3(y, at + 3 * i, x)
            store_3(y, at + 3 * (n + i), p)
    common = power.shape[0] - len(LEDGER)
    add_3(power, common + FORCE_IMPULSE, total)
    add_3(power, common + TORQUE_IMPULSE, moment)
    return check


@njit
def book_held(first, last, a, c, drags, y, system, steps):
    """The forces that hold pinned particles, into the powers."""
    at, mass, power, pinned = particles_at(system), system.particle_mass, steps.power, steps.pinned
    common = power.shape[0] - len(LEDGER)
    zero = (0.0, 0.0, 0.0)
    for k in range(pinned.shape[0]):
        i = pinned[k]
        if first <= i < last:
            f = add_scaled(c, peek(mass, i), a)
            if drags:
                f = add(f, drag(i, zero, 0.0, power, system))
            add_3(power, common + REACTION_IMPULSE, sub(zero, f))
            add_3(power, common + REACTION_TORQUE, sub(zero, cross(load_3(y, at + 3 * i), f)))


@njit
def dragged(i, p, f, h, power, system):
    """The force of media on particle i with the momentum p at the start of a step, f all other forces on it."""
    w = peek(system.particle_inverse_mass, i)
    v = scale(w, p)
    v = add_scaled(v, 0.5 * h * w, add(f, drag(i, v, 0.0, power, system)))
    return drag(i, v, 1.0, power, system)
