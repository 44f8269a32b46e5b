"""One time step of particles: forces of bodies → contacts → the stage → new positions and momenta, and the books.

Bodies are at the start of the step (in the middle of it for the explicit scheme) and do not move here: what particles do to
them is left in `pushes`, as forces for the bodies' own step.
"""

import numpy as np

from ..arrays import clear, copy
from ..collide.particle_tables import CONTACTS as NUMBER
from ..collide.particle_tables import Particles
from ..jit import CFunction, njit
from ..linalg.block_matrix import load_3
from ..mechanics.particles import particles_at
from ..model.tables import System
from ..pointer import C_SIGNATURE, DERIVATIVE, DRIFT, call_pointer, viewer
from ..status import NON_FINITE, OK
from ..tables import table_at
from ..ticks import begin, lap
from ..unchecked import peek, poke
from ..vec import dot, load3, scale, sub
from .begin_touches import gather_attachments, gather_touches, remember
from .books import book_forces, finish_touch, shift_particle
from .free import are_free, march_free
from .newton import minimize
from .stage import begin_stage
from .stage_bodies import begin_bodies
from .tables import CONTACTS, UPDATE, Steps, Walls

WALLS = len(Walls._fields)
_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def march(walls, y, dydt, stop, particles, system, steps):
    """Steps until `stop` (s since the start) is reached. Returns a status; at NEED_ROOM y is the start of the step."""
    options, report = steps.options[0], steps.report[0]
    if are_free(system, steps) and march_free(stop, y, system, steps) == OK:
        return OK
    while (report.steps + 1e-9) * options.dt < stop:
        status = step(walls, options.start + report.steps * options.dt, y, dydt, particles, system, steps)
        if status != OK:
            return status
        report.steps += 1
    return OK


@njit
def step(walls, t, y, dydt, particles, system, steps):
    """One step of `options.dt` from t, in place. Returns a status; where it is not OK, y is as it was."""
    options = steps.options[0]
    ticks = steps.ticks
    begin(ticks, 1.0)
    clear(system.pushes)
    begin_stage(t, y, system, steps)
    steps.touch_counts[0] = 0
    status = OK
    if system.settings[0].rigid > 0 or options.contacts != 0:
        status = look_at_bodies(walls, t, y, dydt, particles, system, steps)
        if options.past_q != 0.0 and options.history != 0 and steps.touch_counts[0] > 0 and status == OK:
            options.history = 0  # what touches has no smooth past: such a step is one of implicit Euler
            begin_stage(t, y, system, steps)
            steps.touch_counts[0] = 0
            status = look_at_bodies(walls, t, y, dydt, particles, system, steps)
    lap(ticks, CONTACTS)
    if status == OK:
        status = minimize(walls, particles, system, steps)
    if status != OK:
        return status
    status = finish(y, particles, system, steps)
    lap(ticks, UPDATE)
    if status == OK and steps.touch_counts[0] > 0 and options.contacts != 0:
        status = leave_obstacles(walls, y, particles, system, steps)
        lap(ticks, CONTACTS)
    return status


# A step goes along the plane that touched a surface at its start, and so into one that is hollow.
@njit
def leave_obstacles(walls, y, particles, system, steps):
    """Move particles out of obstacles that they are in at the end of a step. Returns a status."""
    trial, n, at = steps.trial, 3 * system.settings[0].particles, particles_at(system)
    for k in range(n):
        poke(trial, k, peek(y, at + k))
    status = call_pointer(walls.detector, walls.detector_data, 0, 0.0, steps.spare, trial)
    if status != OK:
        return OK  # there are more contacts than room for them: the next step makes it
    contacts, inverse = particles.contacts, system.particle_inverse_mass
    for c in range(particles.counts[NUMBER]):
        contact = contacts[c]
        depth = contact.separation
        if depth < 0.0 and contact.body >= system.settings[0].rigid and peek(inverse, contact.particle) > 0.0:
            n_c = load3(contact.normal)
            # Another contact of the same particle may have moved it already.
            moved = sub(load_3(y, at + 3 * contact.particle), load_3(trial, 3 * contact.particle))
            depth += dot(n_c, moved)
            if depth < 0.0:
                shift_particle(contact.particle, scale(-depth, n_c), y, system, steps)
    return OK


@njit
def look_at_bodies(walls, t, y, dydt, particles, system, steps):
    """Where bodies are and what they do without particles, and what particles touch. Returns a status."""
    options, spare = steps.options[0], steps.spare
    copy(spare, y)
    status = OK
    if options.explicit != 0:
        dydt[0] = 0.5 * options.dt
        status = call_pointer(walls.mechanism, walls.mechanism_data, DRIFT, 0.0, spare, dydt)
        t += 0.5 * options.dt
    if status == OK and system.settings[0].rigid > 0:
        status = call_pointer(walls.mechanism, walls.mechanism_data, DERIVATIVE, t, spare, dydt)
        begin_bodies(system, steps)
    if status == OK:
        gather_attachments(system, steps)
    if status != OK or options.contacts == 0:
        return status
    fill_before(steps)
    status = call_pointer(walls.detector, walls.detector_data, 0, options.dt, spare, steps.trial)
    if status != OK:
        return status
    gather_touches(particles, system, steps)
    return OK


@njit
def fill_before(steps):
    """`trial` = `place`, but at the start of the step, where an explicit stage is not."""
    trial, start = steps.trial, steps.start
    copy(trial, steps.place)
    for k in range(start.shape[0] // 2):
        poke(trial, k, peek(start, k))


# Momenta are those that the forces give, not m v: what Newton's method left of the gradient of a particle that nothing holds
# is no force, and momentum is balanced however far a step was solved. One linear solve has forces of its own.
@njit
def finish(y, particles, system, steps):
    """Positions and momenta at the end of the step, and the ledger. Returns a status."""
    options = steps.options[0]
    n, at = system.settings[0].particles, particles_at(system)
    place, start = steps.place, steps.start
    mass, inverse = system.particle_mass, system.particle_inverse_mass
    stretch = options.stretch
    gradient, tau = steps.gradient, steps.stage[0].tau
    if options.linear != 0:
        tau = 0.0
    check = 0.0
    for i in range(n):
        m = peek(mass, i) if peek(inverse, i) > 0.0 else 0.0
        for k in range(3 * i, 3 * i + 3):
            x, v = peek(place, k), peek(place, 3 * n + k) - tau * peek(inverse, i) * peek(gradient, k)
            check += x + v
            if stretch != 1.0:
                rest = stretch - 1.0
                x = stretch * x - rest * peek(start, k)
                v = stretch * v - rest * peek(inverse, i) * peek(start, 3 * n + k)
            poke(y, at + k, x)
            poke(y, at + 3 * n + k, m * v)
    if check - check != 0.0:  # infinite, or not a number
        for k in range(6 * n):
            poke(y, at + k, peek(start, k))
        return NON_FINITE
    book_forces(y, system, steps)
    copy(steps.before, start)
    for k in range(steps.touch_counts[0]):
        finish_touch(steps.touches[k], y, particles, system, steps)
    remember(steps)
    options.history = 1
    return OK


# `data` is the address of the walls and, after them, of the addresses of the three tables.
def evaluate(data, task, stop, y, n, dydt, m):
    at = _addresses(data, WALLS + 3)
    walls = Walls(at[0], at[1], at[2], at[3])
    return march(
        walls, _floats(y, n), _floats(dydt, m), stop, table_at(Particles, at[WALLS]),
        table_at(System, at[WALLS + 1]), table_at(Steps, at[WALLS + 2]),
    )  # fmt: skip


COMPILED = CFunction(evaluate, C_SIGNATURE)
