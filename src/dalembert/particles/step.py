"""One time step of particles: forces of bodies → contacts → the stage → new positions and momenta, and the books.

Bodies are at the start of the step (in the middle of it for the explicit scheme) and do not move here: what particles do to
them is left in `pushes`, as forces for the bodies' own step.
"""

import numpy as np

from ..arrays import clear, copy
from ..collide.particle_tables import Particles, particle_contacts_of
from ..jit import CFunction, njit
from ..linalg.block_matrix import load_3, store_3
from ..mechanics.particles import particles_at
from ..mechanics.system import kinematics_of, particle_inverse_mass_of, particle_mass_of, settings_of
from ..mechanics.system import pushes_of as system_pushes_of
from ..model.tables import FORCE_IMPULSE, LEDGER, REACTION_IMPULSE, REACTION_TORQUE, TORQUE_IMPULSE, System
from ..pointer import C_SIGNATURE, DERIVATIVE, DRIFT, call_pointer, viewer
from ..status import NON_FINITE, OK
from ..ticks import begin, lap
from ..unchecked import peek, poke
from ..vec import add, cross, dot, load3, scale, sub
from .newton import minimize
from .stage import begin_bodies, begin_stage
from .tables import BDF2, BODY_ROW, CONTACTS, EXPLICIT, IMPLICIT_MIDPOINT, UPDATE, Steps, Walls
from .tables_of import (
    base_of,
    before_of,
    booked_of,
    forces_of,
    moved_of,
    options_of,
    place_of,
    power_of,
    report_of,
    spare_of,
    start_of,
    ticks_of,
    touch_counts_of,
    touches_of,
)
from .touch import axis_of, body_point, gather_touches, remember

WALLS = len(Walls._fields)
PARTICLES, SYSTEM, STEPS = 2 * len(Particles._fields), 2 * len(System._fields), 2 * len(Steps._fields)
_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def march(walls, y, dydt, stop, particles, system, steps):
    """Steps until `stop` (s since the start) is reached. Returns a status; at NEED_ROOM y is the start of the step."""
    options, report = options_of(steps)[0], report_of(steps)[0]
    while (report.steps + 1e-9) * options.dt < stop:
        status = step(walls, report.steps * options.dt, y, dydt, particles, system, steps)
        if status != OK:
            return status
        report.steps += 1
    return OK


@njit
def step(walls, t, y, dydt, particles, system, steps):
    """One step of `options.dt` from t, in place. Returns a status; where it is not OK, y is as it was."""
    options = options_of(steps)[0]
    ticks = ticks_of(steps)
    begin(ticks, 1.0)
    clear(system_pushes_of(system))
    begin_stage(t, y, system, steps)
    status = OK
    if settings_of(system)[0].rigid > 0 or options.contacts != 0:
        status = look_at_bodies(walls, t, y, dydt, particles, system, steps)
    lap(ticks, CONTACTS)
    if status == OK:
        status = minimize(walls, particles, system, steps)
    if status != OK:
        return status
    status = finish(y, particles, system, steps)
    lap(ticks, UPDATE)
    return status


@njit
def look_at_bodies(walls, t, y, dydt, particles, system, steps):
    """Where bodies are and what they do without particles, and what particles touch. Returns a status."""
    options, spare = options_of(steps)[0], spare_of(steps)
    touch_counts_of(steps)[0] = 0
    copy(spare, y)
    status = OK
    if options.scheme == EXPLICIT:
        dydt[0] = 0.5 * options.dt
        status = call_pointer(walls.mechanism, walls.mechanism_data, DRIFT, 0.0, spare, dydt)
        t += 0.5 * options.dt
    if status == OK and settings_of(system)[0].rigid > 0:
        status = call_pointer(walls.mechanism, walls.mechanism_data, DERIVATIVE, t, spare, dydt)
        begin_bodies(system, steps)
    if status != OK or options.contacts == 0:
        return status
    h = 0.5 * options.dt if options.scheme == EXPLICIT else options.dt
    status = call_pointer(walls.detector, walls.detector_data, 0, h, spare, place_of(steps))
    if status != OK:
        return status
    gather_touches(particles, system, steps)
    return OK


@njit
def finish(y, particles, system, steps):
    """Positions and momenta at the end of the step, and the ledger. Returns a status."""
    options = options_of(steps)[0]
    n, at = settings_of(system)[0].particles, particles_at(system)
    place, start, before = place_of(steps), start_of(steps), before_of(steps)
    mass, inverse = particle_mass_of(system), particle_inverse_mass_of(system)
    twice = options.scheme == IMPLICIT_MIDPOINT
    check = 0.0
    for i in range(n):
        m = peek(mass, i) if peek(inverse, i) > 0.0 else 0.0
        for k in range(3 * i, 3 * i + 3):
            x, v = peek(place, k), peek(place, 3 * n + k)
            check += x + v
            if twice:
                x, v = 2.0 * x - peek(start, k), 2.0 * v - peek(inverse, i) * peek(start, 3 * n + k)
            poke(y, at + k, x)
            poke(y, at + 3 * n + k, m * v)
    if check - check != 0.0:  # infinite, or not a number
        for k in range(6 * n):
            poke(y, at + k, peek(start, k))
        return NON_FINITE
    book_forces(y, system, steps)
    copy(before, start)
    for k in range(touch_counts_of(steps)[0]):
        if touches_of(steps)[k].locked > 0:
            finish_touch(touches_of(steps)[k], y, particles, system, steps)
    remember(steps)
    options.history = 1
    return OK


@njit
def book_forces(y, system, steps):
    """Powers and impulses of the forces on particles, into the ledger, by the rule that moves the particles."""
    options, n = options_of(steps)[0], settings_of(system)[0].particles
    forces, inverse = forces_of(steps), particle_inverse_mass_of(system)
    place = base_of(steps) if options.scheme == EXPLICIT else place_of(steps)  # where the forces are
    power, booked = power_of(steps), booked_of(steps)
    zero = (0.0, 0.0, 0.0)
    total, moment, held, held_moment = zero, zero, zero, zero
    for i in range(n):
        f = add(load_3(forces, 3 * i), load_3(forces, 3 * (n + i)))
        turning = cross(load_3(place, 3 * i), f)
        total, moment = add(total, f), add(moment, turning)
        if peek(inverse, i) == 0.0:
            held, held_moment = sub(held, f), sub(held_moment, turning)
    common = power.shape[0] - len(LEDGER)
    store_3(power, common + FORCE_IMPULSE, total)
    store_3(power, common + TORQUE_IMPULSE, moment)
    store_3(power, common + REACTION_IMPULSE, held)
    store_3(power, common + REACTION_TORQUE, held_moment)
    twice = options.scheme == BDF2 and options.history != 0
    ledger = y.shape[0] - power.shape[0]
    for i in range(power.shape[0]):
        amount = options.dt * peek(power, i)
        if twice:
            amount = (2.0 * amount + peek(booked, i)) / 3.0
        poke(booked, i, amount)
        poke(y, ledger + i, peek(y, ledger + i) + amount)


@njit
def book(y, at, h, v):
    for k in range(3):
        poke(y, at + k, peek(y, at + k) + h * v[k])


# A particle that ends on a surface keeps no velocity into it or out of it, but for a bounce; where it sticks, none beside
# its carrier. What that changes of its momentum is an impulse of the contact, as h times the force that its lock bore.
@njit
def finish_touch(touch, y, particles, system, steps):
    options = options_of(steps)[0]
    h, n, at = options.dt, settings_of(system)[0].particles, particles_at(system) + 3 * touch.particle
    m = peek(particle_mass_of(system), touch.particle)
    start, before = start_of(steps), before_of(steps)
    x, p = load_3(y, at), load_3(y, at + 3 * n)
    x_0, p_0 = load_3(start, 3 * touch.particle), load_3(start, 3 * (n + touch.particle))
    v, v_0 = scale(1.0 / m, p), scale(1.0 / m, p_0)
    carrier, carrier_0 = carrier_velocities(touch, system, steps)
    change = (0.0, 0.0, 0.0)
    for k in range(touch.locked):
        axis = axis_of(touch, k)
        wanted = dot(carrier, axis)
        if k < touch.normals:
            wanted += bounce(touch, axis, sub(v_0, carrier_0), particles)
        change = add(change, scale(wanted - dot(v, axis), axis))
    p = add(p, scale(m, change))
    store_3(y, at + 3 * n, p)
    normal, along = scale(0.0, x), load3(touch.force)
    for k in range(touch.normals):
        normal = add(normal, scale(dot(along, axis_of(touch, k)), axis_of(touch, k)))
    along = sub(along, normal)
    way = sub(x, x_0) if options.scheme != EXPLICIT else scale(0.5 * h, add(v, v_0))
    ledger = options.ledger
    fixed = 0.5 * m * (dot(add(v, change), add(v, change)) - dot(v, v))
    poke(y, ledger, peek(y, ledger) + dot(normal, way) + fixed)
    poke(y, ledger + 1, peek(y, ledger + 1) + dot(along, way))
    push(touch, x, add(load3(touch.force), scale(m / h, change)), h, y, system)
    if options.history >= 0:  # of the next step: as if it had come with the velocity that it has now
        store_3(before, 3 * touch.particle, sub(x, scale(h / m, p)))
        store_3(before, 3 * (n + touch.particle), p)


@njit
def push(touch, x, force, h, y, system):
    """Book the impulse of a contact on its particle, and leave the opposite force to the carrier."""
    common = y.shape[0] - len(LEDGER)
    book(y, common + REACTION_IMPULSE, h, force)
    book(y, common + REACTION_TORQUE, h, cross(x, force))
    if touch.body < settings_of(system)[0].rigid:
        pushes, at = system_pushes_of(system), BODY_ROW * touch.body
        store_3(pushes, at, sub(load_3(pushes, at), force))
        store_3(pushes, at + 3, sub(load_3(pushes, at + 3), cross(load3(touch.arm), force)))


@njit
def carrier_velocities(touch, system, steps):
    """Of the point of the carrier that a particle touches: at the end of the step, and before."""
    if touch.body >= settings_of(system)[0].rigid:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    options = options_of(steps)[0]
    half = options.scheme == EXPLICIT or options.scheme == IMPLICIT_MIDPOINT  # noqa: SIM109 - for the compiler
    tau = 0.5 * options.dt if half else options.dt
    kin = kinematics_of(system)[touch.body]
    before = add(load3(kin.v), cross(load3(kin.omega), load3(touch.arm)))
    return scale(1.0 / tau, body_point(touch, moved_of(steps), BODY_ROW * touch.body)), before


@njit
def bounce(touch, axis, u, particles):
    """The speed along an axis with which a contact there throws a particle off that came with the velocity u."""
    contacts = particle_contacts_of(particles)
    speed = 0.0
    for c in range(touch.first, touch.last):
        contact = contacts[c]
        closing = dot(load3(contact.normal), u)
        if closing < 0.0 and contact.restitution > 0.0:
            speed = max(speed, -contact.restitution * closing * dot(load3(contact.normal), axis))
    return speed


# `data` is the address of the walls and, after them, of the addresses of the three tables.
def evaluate(data, task, stop, y, n, dydt, m):
    at = _addresses(data, WALLS + 3)
    walls = Walls(at[0], at[1], at[2], at[3])
    return march(
        walls, _floats(y, n), _floats(dydt, m), stop, _addresses(at[WALLS], PARTICLES),
        _addresses(at[WALLS + 1], SYSTEM), _addresses(at[WALLS + 2], STEPS),
    )  # fmt: skip


COMPILED = CFunction(evaluate, C_SIGNATURE)
