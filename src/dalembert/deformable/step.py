"""One time step of particles: forces of bodies → contacts → the stage → new positions and momenta, and the ledger.

Bodies are at the start of the step (at its midpoint for the explicit scheme) and do not move here: the forces of
particles on them are stored in `pushes`, for the bodies' own step.

`step` is the whole step, in this order: `stage.begin_stage`, `update_bodies_and_contacts`, `newton.solve_stage`,
`finish_step`.
"""

import numpy as np

from ..collide.particles import CONTACTS as NUMBER
from ..collide.particles import Particles
from ..core.c_function import C_SIGNATURE, DERIVATIVE, DRIFT, call_pointer, viewer
from ..core.jit import CFunction, njit
from ..core.math3 import dot, load3, scale, sub
from ..core.profiler import begin_timing, end_stage
from ..core.simd import clear, copy, load, store
from ..core.status import NON_FINITE, OK
from ..core.tables import table_at
from ..dynamics.particle_forces import particles_at
from ..linalg.block_matrix import load_3
from ..model.tables import System
from .carriers import BEGIN, call_carriers
from .contact import gather_attachments, gather_touches, store_warm_start
from .driven import drive_bodies, place_driven
from .free import all_free, run_free_steps
from .newton import solve_stage
from .stage import add_force_impulses, begin_bodies, begin_stage, finish_touch, shift_particle
from .tables import CONTACTS, ROUNDING_OF_STEPS, UPDATE, Callbacks, Steps

CALLBACKS = len(Callbacks._fields)
_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def run_steps(callbacks, y, dydt, stop, particles, system, steps):
    """Steps until `stop` (s since the start) is reached. Returns a status; at NEED_ROOM y is the start of the step."""
    options, report = steps.options[0], steps.report[0]
    if all_free(system, steps) and run_free_steps(stop, y, system, steps) == OK:
        return OK
    while (report.steps + ROUNDING_OF_STEPS) * options.dt < stop:
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
    if system.settings[0].rigid > 0 or options.contacts != 0 or steps.attachments.shape[0] > 0:
        status = update_bodies_and_contacts(callbacks, t, y, dydt, particles, system, steps)
        if options.past_q != 0.0 and options.history != 0 and steps.touch_counts[0] > 0 and status == OK:
            options.history = 0  # after a contact the past is not smooth: take a step of implicit Euler
            begin_stage(t, y, system, steps)
            steps.touch_counts[0] = 0
            status = update_bodies_and_contacts(callbacks, t, y, dydt, particles, system, steps)
    end_stage(timer, CONTACTS)
    if status == OK:
        status = solve_stage(callbacks, particles, system, steps)
    if status != OK:
        return status
    status = finish_step(y, particles, system, steps)
    end_stage(timer, UPDATE)
    if status == OK and steps.touch_counts[0] > 0 and options.contacts != 0:
        status = project_out_of_obstacles(callbacks, y, particles, system, steps)
        end_stage(timer, CONTACTS)
    return status


# A step follows the tangent plane of the contact at its start, which leads into hollow surfaces.
@njit
def project_out_of_obstacles(callbacks, y, particles, system, steps):
    """Project particles out of obstacles that they penetrate at the end of a step. Returns a status."""
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
            # another contact of the same particle may have moved it already
            moved = sub(load_3(y, at + 3 * contact.particle), load_3(trial, 3 * contact.particle))
            depth += dot(n_c, moved)
            if depth < 0.0:
                shift_particle(contact.particle, scale(-depth, n_c), y, system, steps)
    return OK


@njit
def update_bodies_and_contacts(callbacks, t, y, dydt, particles, system, steps):
    """Evaluate bodies without particles, detect contacts, and gather touches. Returns a status."""
    options, spare = steps.options[0], steps.spare
    copy(spare, y)
    status = OK
    if options.carriers != 0:
        status = call_carriers(BEGIN, t, spare, steps.wanted, steps)
    elif options.explicit != 0:
        dydt[0] = 0.5 * options.dt
        status = call_pointer(callbacks.mechanism, callbacks.mechanism_data, DRIFT, 0.0, spare, dydt)
    if status == OK and options.explicit != 0:
        t += 0.5 * options.dt
        status = place_driven(t, spare, system)
    if status == OK and system.settings[0].rigid > 0:
        if options.carriers == 0:
            status = call_pointer(callbacks.mechanism, callbacks.mechanism_data, DERIVATIVE, t, spare, dydt)
        begin_bodies(system, steps)
        if status == OK:
            status = drive_bodies(t, spare, dydt, system, steps)
    if status == OK:
        gather_attachments(system, steps)
    if status != OK or options.contacts == 0:
        return status
    fill_start_positions(steps)
    status = call_pointer(callbacks.detector, callbacks.detector_data, 0, options.dt, spare, steps.trial)
    if status != OK:
        return status
    gather_touches(particles, system, steps)
    return OK


@njit
def fill_start_positions(steps):
    """`trial` = `iterate`, with the positions at the start of the step, which an explicit stage has left."""
    trial, start = steps.trial, steps.start
    copy(trial, steps.iterate)
    for k in range(start.shape[0] // 2):
        store(trial, k, load(start, k))


# Momenta are those that the forces give, not m v: the gradient that Newton's method leaves at a free particle is no
# force, and momentum is balanced to any tolerance. A single linear solve has forces of its own.
@njit
def finish_step(y, particles, system, steps):
    """Positions and momenta at the end of the step, and the ledger. Returns a status."""
    options = steps.options[0]
    n, at = system.settings[0].particles, particles_at(system)
    iterate, start = steps.iterate, steps.start
    mass, inverse = system.particle_mass, system.particle_inverse_mass
    stretch = options.stretch
    gradient, tau = steps.gradient, steps.stage[0].tau
    if options.linear != 0:
        tau = 0.0
    check = 0.0
    for i in range(n):
        m = load(mass, i) if load(inverse, i) > 0.0 else 0.0
        for k in range(3 * i, 3 * i + 3):
            x, v = load(iterate, k), load(iterate, 3 * n + k) - tau * load(inverse, i) * load(gradient, k)
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
    add_force_impulses(y, system, steps)
    copy(steps.before, start)
    for k in range(steps.touch_counts[0]):
        finish_touch(steps.touches[k], y, particles, system, steps)
    store_warm_start(steps)
    # an impulse of contact leaves velocities that jump, and a displacement that is not theirs: no past of a smooth motion
    options.history = 0 if options.past_q != 0.0 and steps.touch_counts[0] > 0 else 1
    return OK


def particle_step_entry(data, task, stop, y, n, dydt, m):
    """`run_steps` as a C function. `data`: the address of the callbacks, followed by the addresses of the three tables."""
    at = _addresses(data, CALLBACKS + 3)
    callbacks = Callbacks(at[0], at[1], at[2], at[3])
    return run_steps(
        callbacks, _floats(y, n), _floats(dydt, m), stop, table_at(Particles, at[CALLBACKS]),
        table_at(System, at[CALLBACKS + 1]), table_at(Steps, at[CALLBACKS + 2]),
    )  # fmt: skip


PARTICLE_STEP_ENTRY = CFunction(particle_step_entry, C_SIGNATURE)
