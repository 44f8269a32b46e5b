"""The end of a time step of particles: momenta of what touches, and the ledger."""

from ..jit import inlined, njit
from ..linalg.block_matrix import add_3, load_3, store_3
from ..mechanics.particles import particles_at
from ..model.tables import FORCE_IMPULSE, LEDGER, PROJECTION_WORK, REACTION_IMPULSE, REACTION_TORQUE, TORQUE_IMPULSE
from ..unchecked import peek, poke
from ..vec import add, add_scaled, cross, dot, load3, scale, sub
from .tables import BODY_ROW
from .touch import carried, normal_part, push_carrier, slip_of


@inlined
def force_place(particle, steps):
    """Where the forces of a step act on a particle."""
    if steps.options[0].explicit != 0:
        return load_3(steps.base, 3 * particle)
    return load_3(steps.place, 3 * particle)


@njit
def book_forces(y, system, steps):
    """Powers and impulses of the forces on particles, into the ledger, by the rule that moves the particles."""
    options, n = steps.options[0], system.settings[0].particles
    forces, inverse = steps.forces, system.particle_inverse_mass
    power, booked = steps.power, steps.booked
    zero = (0.0, 0.0, 0.0)
    total, moment, held, held_moment = zero, zero, zero, zero
    for i in range(n):
        f = add(load_3(forces, 3 * i), load_3(forces, 3 * (n + i)))
        turning = cross(force_place(i, steps), f)
        total, moment = add(total, f), add(moment, turning)
        if peek(inverse, i) == 0.0:
            held, held_moment = sub(held, f), sub(held_moment, turning)
    common = power.shape[0] - len(LEDGER)
    store_3(power, common + FORCE_IMPULSE, total)
    store_3(power, common + TORQUE_IMPULSE, moment)
    store_3(power, common + REACTION_IMPULSE, held)
    store_3(power, common + REACTION_TORQUE, held_moment)
    twice = options.past_q != 0.0 and options.history != 0
    ledger = y.shape[0] - power.shape[0]
    for i in range(power.shape[0]):
        amount = options.dt * peek(power, i)
        if twice:
            amount = ((options.past_r - options.past_q) * amount + options.past_q * peek(booked, i)) / options.past_r
        poke(booked, i, amount)
        poke(y, ledger + i, peek(y, ledger + i) + amount)


# The impulse of a contact changes the velocity at one place, so that its work is that with the mean of the velocities before
# and after, whatever rule moves the particle: what an impact takes is physics, and no error of implicit Euler, whose rule
# has the velocity after it. Work of friction is that along the slip; what else the contact does to the particle, it does the
# other way round to the carrier, in whose own step that is booked.
@njit
def finish_touch(touch, y, particles, system, steps):
    """Book what a touch did to its particle, leave the opposite to the carrier, move the particle out of what it is in."""
    options = steps.options[0]
    h, n, at = options.dt, system.settings[0].particles, particles_at(system) + 3 * touch.particle
    w = peek(system.particle_inverse_mass, touch.particle)
    x, v = load_3(y, at), scale(w, load_3(y, at + 3 * n))
    x_0, v_0 = load_3(steps.start, 3 * touch.particle), scale(w, load_3(steps.start, 3 * (n + touch.particle)))
    force = load3(touch.force)
    normal = normal_part(touch, force)
    along = sub(force, normal)
    mean = scale(0.5 * h, add(v, v_0))
    beside = mean
    if touch.normals > 0:
        way = sub(x, x_0) if options.explicit == 0 else mean
        beside = add_scaled(way, -1.0 / options.fraction, slip_of(touch, 0.0, 0.0, system, steps))
    ledger = options.ledger
    poke(y, ledger, peek(y, ledger) + dot(normal, mean) + dot(along, beside))
    poke(y, ledger + 1, peek(y, ledger + 1) + dot(along, sub(mean, beside)))
    push(touch, force_place(touch.particle, steps), force, h, y, system)
    move_out(touch, sub(x, x_0), y, particles, system, steps)


@njit
def move_out(touch, way, y, particles, system, steps):
    """Put a particle where its contacts want it."""
    contacts, active = particles.contacts, steps.active
    stretch = steps.options[0].stretch
    out = (0.0, 0.0, 0.0)
    for c in range(touch.first, touch.last):
        contact = contacts[c]
        if active[c] != 0:
            n = load3(contact.normal)
            body = carried(contact.body, load3(contact.position), steps.moved, 0, system)
            depth = contact.separation + dot(n, add_scaled(add(way, out), -stretch, body))
            if depth < 0.0:
                out = add_scaled(out, -depth, n)
    shift_particle(touch.particle, out, y, system, steps)


@njit
def shift_particle(particle, out, y, system, steps):
    """Move a particle, and book the energy and the angular momentum of that."""
    at, common = particles_at(system) + 3 * particle, y.shape[0] - len(LEDGER)
    p = load_3(y, at + 3 * system.settings[0].particles)
    add_3(y, at, out)
    entry = common + PROJECTION_WORK
    poke(y, entry, peek(y, entry) - dot(load_3(steps.forces, 3 * particle), out))
    add_3(y, common + REACTION_TORQUE, cross(out, p))


@njit
def push(touch, x, force, h, y, system):
    """Book the impulse of a contact on its particle, and leave the opposite force to the carrier."""
    common = y.shape[0] - len(LEDGER)
    add_3(y, common + REACTION_IMPULSE, scale(h, force))
    add_3(y, common + REACTION_TORQUE, scale(h, cross(x, force)))
    if touch.body < system.settings[0].rigid:
        push_carrier(touch, scale(-1.0, force), system.pushes, BODY_ROW * touch.body)
