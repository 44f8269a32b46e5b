"""One time step of particles: forces of bodies → contacts → the stage → new positions and momenta, and the books.

Bodies are at the start of the step (in the middle of it for the explicit scheme) and do not move here: what particles do to
them is left in `pushes`, as forces for the bodies' own step.
"""

import numpy as np

from ..collide.particles import CONTACTS as NUMBER
from ..collide.particles import Particles
from ..core.c_function import C_SIGNATURE, DERIVATIVE, DRIFT, call_pointer, viewer
from ..core.jit import CFunction, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, scale, sub
from ..core.profiler import begin_timing, end_stage
from ..core.simd import clear, copy, load, store
from ..core.status import NON_FINITE, OK
from ..core.tables import table_at
from ..dynamics.particle_forces import medium_drag, particles_at
from ..linalg.block_matrix import add_3, load_3, store_3
from ..model.tables import (
    FORCE_IMPULSE,
    LEDGER,
    MEDIUM,
    PARTICLE_FIELD,
    REACTION_IMPULSE,
    REACTION_TORQUE,
    TORQUE_IMPULSE,
    System,
)
from .contact import gather_attachments, gather_touches, remember
from .linear import step_fours
from .newton import minimize
from .stage import begin_bodies, begin_stage, book_forces, finish_touch, shift_particle
from .tables import CONTACTS, UPDATE, Callbacks, Steps

# ----------------------------------------------------------------------------------------------------------------------
# Particles on which nothing acts but uniform fields and media: explicit steps in one pass over memory.
#
# Each moves by itself: half a drift, a kick with the force there, half a drift. What depends on the velocity is taken
# half a kick further on, as by `stage.predict`. The state is read and written once a step, in place; the general step
# passes over memory many times, and gives the same numbers but for rounding.


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
def run_free(stop, y, system, steps):
    """Steps until `stop` (s since the start) is reached. Returns a status; where it is not OK, y is as it was before all of
    them."""
    options, report = steps.options[0], steps.report[0]
    first = report.steps
    copy(steps.spare, y)
    while (report.steps + 1e-9) * options.dt < stop:
        begin_timing(steps.timer, 1.0)
        finite = step_free(y, system, steps)
        end_stage(steps.timer, UPDATE)
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
        store(y, ledger + k, load(y, ledger + k) + h * load(power, k))
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
            store(power, force.ledger, load(power, force.ledger) + share * dot(pull, v))
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
        m, w = load(mass, i), 0.5 * h * load(inverse, i)
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
            f = add_scaled(c, load(mass, i), a)
            if drags:
                f = add(f, drag(i, zero, 0.0, power, system))
            add_3(power, common + REACTION_IMPULSE, sub(zero, f))
            add_3(power, common + REACTION_TORQUE, sub(zero, cross(load_3(y, at + 3 * i), f)))


@njit
def dragged(i, p, f, h, power, system):
    """The force of media on particle i with the momentum p at the start of a step, f all other forces on it."""
    w = load(system.particle_inverse_mass, i)
    v = scale(w, p)
    v = add_scaled(v, 0.5 * h * w, add(f, drag(i, v, 0.0, power, system)))
    return drag(i, v, 1.0, power, system)


# ----------------------------------------------------------------------------------------------------------------------

CALLBACKS = len(Callbacks._fields)
_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def run_steps(callbacks, y, dydt, stop, particles, system, steps):
    """Steps until `stop` (s since the start) is reached. Returns a status; at NEED_ROOM y is the start of the step."""
    options, report = steps.options[0], steps.report[0]
    if are_free(system, steps) and run_free(stop, y, system, steps) == OK:
        return OK
    while (report.steps + 1e-9) * options.dt < stop:
        status = step(callbacks, options.start + report.steps * options.dt, y, dydt, particles, system, steps)
        if status != OK:
            return status
        report.steps += 1
    return OK


@njit
def step(callbacks, t, y, dydt, particles, system, steps):
    """One step of `options.dt` from t, in place. Returns a status; where it is not OK, y is as it was."""
    options = steps.options[0]
    timer = steps.timer
    begin_timing(timer, 1.0)
    clear(system.pushes)
    begin_stage(t, y, system, steps)
    steps.touch_counts[0] = 0
    status = OK
    if system.settings[0].rigid > 0 or options.contacts != 0:
        status = look_at_bodies(callbacks, t, y, dydt, particles, system, steps)
        if options.past_q != 0.0 and options.history != 0 and steps.touch_counts[0] > 0 and status == OK:
            options.history = 0  # what touches has no smooth past: such a step is one of implicit Euler
            begin_stage(t, y, system, steps)
            steps.touch_counts[0] = 0
            status = look_at_bodies(callbacks, t, y, dydt, particles, system, steps)
    end_stage(timer, CONTACTS)
    if status == OK:
        status = minimize(callbacks, particles, system, steps)
    if status != OK:
        return status
    status = finish(y, particles, system, steps)
    end_stage(timer, UPDATE)
    if status == OK and steps.touch_counts[0] > 0 and options.contacts != 0:
        status = leave_obstacles(callbacks, y, particles, system, steps)
        end_stage(timer, CONTACTS)
    return status


# A step goes along the plane that touched a surface at its start, and so into one that is hollow.
@njit
def leave_obstacles(callbacks, y, particles, system, steps):
    """Move particles out of obstacles that they are in at the end of a step. Returns a status."""
    trial, n, at = steps.trial, 3 * system.settings[0].particles, particles_at(system)
    for k in range(n):
        store(trial, k, load(y, at + k))
    status = call_pointer(callbacks.detector, callbacks.detector_data, 0, 0.0, steps.spare, trial)
    if status != OK:
        return OK  # there are more contacts than room for them: the next step makes it
    contacts, inverse = particles.contacts, system.particle_inverse_mass
    for c in range(particles.counts[NUMBER]):
        contact = contacts[c]
        depth = contact.separation
        if depth < 0.0 and contact.body >= system.settings[0].rigid and load(inverse, contact.particle) > 0.0:
            n_c = load3(contact.normal)
            # Another contact of the same particle may have moved it already.
            moved = sub(load_3(y, at + 3 * contact.particle), load_3(trial, 3 * contact.particle))
            depth += dot(n_c, moved)
            if depth < 0.0:
                shift_particle(contact.particle, scale(-depth, n_c), y, system, steps)
    return OK


@njit
def look_at_bodies(callbacks, t, y, dydt, particles, system, steps):
    """Where bodies are and what they do without particles, and what particles touch. Returns a status."""
    options, spare = steps.options[0], steps.spare
    copy(spare, y)
    status = OK
    if options.explicit != 0:
        dydt[0] = 0.5 * options.dt
        status = call_pointer(callbacks.mechanism, callbacks.mechanism_data, DRIFT, 0.0, spare, dydt)
        t += 0.5 * options.dt
    if status == OK and system.settings[0].rigid > 0:
        status = call_pointer(callbacks.mechanism, callbacks.mechanism_data, DERIVATIVE, t, spare, dydt)
        begin_bodies(system, steps)
    if status == OK:
        gather_attachments(system, steps)
    if status != OK or options.contacts == 0:
        return status
    fill_before(steps)
    status = call_pointer(callbacks.detector, callbacks.detector_data, 0, options.dt, spare, steps.trial)
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
        store(trial, k, load(start, k))


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
        m = load(mass, i) if load(inverse, i) > 0.0 else 0.0
        for k in range(3 * i, 3 * i + 3):
            x, v = load(place, k), load(place, 3 * n + k) - tau * load(inverse, i) * load(gradient, k)
            check += x + v
            if stretch != 1.0:
                rest = stretch - 1.0
                x = stretch * x - rest * load(start, k)
                v = stretch * v - rest * load(inverse, i) * load(start, 3 * n + k)
            store(y, at + k, x)
            store(y, at + 3 * n + k, m * v)
    if check - check != 0.0:  # infinite, or not a number
        for k in range(6 * n):
            store(y, at + k, load(start, k))
        return NON_FINITE
    book_forces(y, system, steps)
    copy(steps.before, start)
    for k in range(steps.touch_counts[0]):
        finish_touch(steps.touches[k], y, particles, system, steps)
    remember(steps)
    options.history = 1
    return OK


# `data` is the address of the walls and, after them, of the addresses of the three tables.
def particle_step_entry(data, task, stop, y, n, dydt, m):
    at = _addresses(data, CALLBACKS + 3)
    callbacks = Callbacks(at[0], at[1], at[2], at[3])
    return run_steps(
        callbacks, _floats(y, n), _floats(dydt, m), stop, table_at(Particles, at[CALLBACKS]),
        table_at(System, at[CALLBACKS + 1]), table_at(Steps, at[CALLBACKS + 2]),
    )  # fmt: skip


PARTICLE_STEP_ENTRY = CFunction(particle_step_entry, C_SIGNATURE)
