"""A stage of a step: what is looked for, and how far x is from it.

An implicit step is a minimum (implicit Euler: D. Baraff, A. Witkin, course notes on physically based modelling; the others
alike): with the positions x at the time of the stage, velocities (x − base)/τ and s where the particles would go freely,

    ½ w |x − s|²_M + W(x)   is least,   its gradient   w M (x − s) − f(x) = 0.

    implicit Euler      τ = h       base = x₀                s = x₀ + h v₀           then x₁ = x, v₁ = (x − base)/τ
    implicit midpoint   τ = h/2     base = x₀                s = x₀ + τ v₀           then x₁ = 2 x − x₀, v₁ = 2 v − v₀
    any stage at θ h    τ = θ h     base = x₀                s = x₀ + τ v₀           then x₁ = x₀ + (x − x₀)/θ, v₁ alike
    BDF2                τ = 2 h/3   base = (4 x₀ − x₋₁)/3    s = base + τ (4 v₀ − v₋₁)/3
    explicit            τ = h/2     base = x₀ + τ v₀         s = base + τ v₀         forces at base; then x₁ = x

with w = 1/τ², but 2/h² for the explicit one, whose kick lasts h. Forces that are no gradient, as drag, are added to f, and
their work along a Newton step to its change of energy. Bodies that touch particles are unknowns too: their displacements
since x₀ and turns, X, with ½ w (X − X₀)ᵀ M (X − X₀), where X₀ is what they would do if no particle touched them.
"""

import math

from ..core.c_function import PARTICLE_FORCES, call_pointer
from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, congruence, cross, dot, load3, scale, sub, symvec
from ..core.simd import load, store
from ..dynamics.kinematics import load6, load9
from ..dynamics.particle_forces import particles_at
from ..linalg.block_matrix import add_3, load_3, store_3
from ..model.tables import FORCE_IMPULSE, LEDGER, PROJECTION_WORK, REACTION_IMPULSE, REACTION_TORQUE, TORQUE_IMPULSE
from .contact import carried, normal_part, push_carrier, slip_of
from .tables import BODY_ROW

# ----------------------------------------------------------------------------------------------------------------------
# Bodies in a stage of a step of particles: their mass matrices and displacements; see `stage`.


@njit
def begin_bodies(system, steps):
    """Mass matrices, and the displacements X₀, from the forces in the kinematics table."""
    options = steps.options[0]
    bodies, kinematics = system.bodies, system.kinematics
    inertia, moved, wanted = steps.inertia, steps.moved, steps.wanted
    tau = options.fraction * options.dt
    kick = options.dt if options.explicit != 0 else tau
    steps.stage[0].body_weight = 1.0 / (tau * kick)
    for b in range(system.settings[0].rigid):
        kin, body = kinematics[b], bodies[b]
        m = congruence(load9(kin.rotation), load6(body.inertia))
        turn = symvec(load6(kin.inverse_inertia), load3(kin.torque))
        shift = add_scaled(load3(kin.v), kick * body.inverse_mass, load3(kin.force))
        spin = add_scaled(load3(kin.omega), kick, turn)
        at = BODY_ROW * b
        for k in range(6):
            store(inertia, 7 * b + 1 + k, m[k])
        store(inertia, 7 * b, body.mass)
        store_3(wanted, at, scale(tau, shift))
        store_3(wanted, at + 3, scale(tau, spin))
        store_3(moved, at, scale(tau, shift))
        store_3(moved, at + 3, scale(tau, spin))


@njit
def move_bodies(length, change, system, steps):
    """X += length · change."""
    moved = steps.moved
    first = 3 * system.settings[0].particles
    for k in range(moved.shape[0]):
        store(moved, k, load(moved, k) + length * load(change, first + k))


@inlined
def body_offset(b, steps):
    """X − X₀ of a body: displacement, turn."""
    at = BODY_ROW * b
    return sub(load_3(steps.moved, at), load_3(steps.wanted, at)), sub(
        load_3(steps.moved, at + 3), load_3(steps.wanted, at + 3)
    )


@inlined
def body_momentum(b, u, turn, steps):
    """The mass matrix of a body times a displacement and a turn."""
    inertia, at = steps.inertia, 7 * b
    moments = (
        load(inertia, at + 1), load(inertia, at + 2), load(inertia, at + 3), load(inertia, at + 4),
        load(inertia, at + 5), load(inertia, at + 6),
    )  # fmt: skip
    return scale(load(inertia, at), u), symvec(moments, turn)


# ----------------------------------------------------------------------------------------------------------------------


@njit
def begin_stage(t, y, system, steps):
    """Set out from the particles in y: `aim`, `base`, and the first guess, which is where the stage starts.

    Damping is looked at where the particles would go freely, which is right to second order, so that it is linear in x and
    has an energy too: Newton's method keeps its pace.
    """
    options, stage = steps.options[0], steps.stage[0]
    n = system.settings[0].particles
    h, explicit = options.dt, options.explicit != 0
    start, before, aim, base, place = steps.start, steps.before, steps.aim, steps.base, steps.place
    inverse_mass = system.particle_inverse_mass
    at = particles_at(system)
    for k in range(6 * n):
        store(start, k, load(y, at + k))
    twice, q, r = options.past_q != 0.0 and options.history != 0, options.past_q, options.past_r
    once = options.linear != 0
    tau = (r - q) * h / r if twice else options.fraction * h
    stage.tau, stage.weight = tau, 2.0 / (h * h) if explicit else 1.0 / (tau * tau)
    stage.time = t + options.fraction * h
    for i in range(n):
        w = load(inverse_mass, i)
        for k in range(3 * i, 3 * i + 3):
            x, v = load(start, k), w * load(start, 3 * n + k)
            origin, speed = x, v
            if twice:
                origin = ((r + q) * x - q * load(before, k)) / r
                speed = ((r + q) * v - q * w * load(before, 3 * n + k)) / r
            elif explicit:
                origin = x + tau * v
            store(base, k, origin)
            store(aim, k, origin + tau * speed)
            store(place, k, origin if explicit else x)
            store(place, 3 * n + k, v if explicit else (x - origin) / tau)
            store(place, 6 * n + k, v)
            store(place, 9 * n + k, load(place, k) if once else load(base, k) + tau * speed)


@njit
def evaluate_forces(callbacks, place, out, system, steps):
    """Forces at a place, and their energy into `stage.energy`. Returns a status."""
    stage = steps.stage[0]
    status = call_pointer(callbacks.mechanism, callbacks.mechanism_data, PARTICLE_FORCES, stage.time, place, out)
    n = system.settings[0].particles
    mass, aim = system.particle_mass, steps.aim
    inertial = 0.0
    for i in range(n):
        d = sub(load_3(place, 3 * i), load_3(aim, 3 * i))
        inertial += load(mass, i) * dot(d, d)
    bodies = 0.0
    for b in range(system.settings[0].rigid):
        u, turn = body_offset(b, steps)
        m, spin = body_momentum(b, u, turn, steps)
        bodies += dot(u, m) + dot(turn, spin)
    stage.energy = system.energies[2] + 0.5 * (stage.weight * inertial + stage.body_weight * bodies)
    return status


@njit
def predict(system, steps):
    """Velocities of an explicit step half a kick further on, where forces that depend on them are taken."""
    place, forces, inverse = steps.place, steps.forces, system.particle_inverse_mass
    n, tau = system.settings[0].particles, steps.stage[0].tau
    for i in range(n):
        w = tau * load(inverse, i)
        for k in range(3 * i, 3 * i + 3):
            v = load(place, 3 * n + k) + w * (load(forces, k) + load(forces, 3 * n + k))
            store(place, 3 * n + k, v)
            store(place, 6 * n + k, v)
    for j in range(steps.touch_counts[0]):
        touch = steps.touches[j]
        if touch.locked > 0:  # forces do not move it as they would
            i = 3 * touch.particle
            v_0 = scale(load(inverse, touch.particle), load_3(steps.start, 3 * n + i))
            store_3(place, 3 * n + i, v_0)
            store_3(place, 6 * n + i, v_0)


@njit
def keep_power(system, steps):
    """Remember the powers of the last evaluation."""
    power, found = steps.power, system.power
    for i in range(power.shape[0]):
        store(power, i, load(found, i))


@njit
def fill_gradient(place, forces, gradient, system, steps):
    """w M (x − s) − f of every particle, and w M (X − X₀) of every body. Contact forces are what is missing to zero."""
    n = system.settings[0].particles
    stage, mass, aim = steps.stage[0], system.particle_mass, steps.aim
    for i in range(n):
        m = stage.weight * load(mass, i)
        for k in range(3 * i, 3 * i + 3):
            store(gradient, k, m * (load(place, k) - load(aim, k)) - load(forces, k) - load(forces, 3 * n + k))
    for b in range(system.settings[0].rigid):
        u, turn = body_offset(b, steps)
        m, spin = body_momentum(b, u, turn, steps)
        at = 3 * n + BODY_ROW * b
        store_3(gradient, at, scale(stage.body_weight, m))
        store_3(gradient, at + 3, scale(stage.body_weight, spin))


@njit
def typical_forces(place, forces, system, steps):
    """N: the norm of the forces that a step starts from, and the larger of that and of what inertia asks for."""
    n = system.settings[0].particles
    stage, mass, aim, inverse = (
        steps.stage[0],
        system.particle_mass,
        steps.aim,
        system.particle_inverse_mass,
    )
    inertial, applied = 0.0, 0.0
    for i in range(n):
        if load(inverse, i) == 0.0:
            continue
        d = scale(stage.weight * load(mass, i), sub(load_3(place, 3 * i), load_3(aim, 3 * i)))
        f = add_scaled(load_3(forces, 3 * i), 1.0, load_3(forces, 3 * (n + i)))
        inertial += dot(d, d)
        applied += dot(f, f)
    return math.sqrt(applied), math.sqrt(max(inertial, applied))


@njit
def move(place, change, length, trial, system, steps):
    """trial = place + length · change, with the velocities there; forces will be linear about these."""
    n = system.settings[0].particles
    tau, base = steps.stage[0].tau, steps.base
    for k in range(3 * n):
        x = load(place, k) + length * load(change, k)
        v = (x - load(base, k)) / tau
        store(trial, k, x)
        store(trial, 3 * n + k, v)
        store(trial, 6 * n + k, v)
        store(trial, 9 * n + k, load(place, 9 * n + k))


# ----------------------------------------------------------------------------------------------------------------------
# The end of a time step of particles: momenta of what touches, and the ledger.


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
        if load(inverse, i) == 0.0:
            held, held_moment = sub(held, f), sub(held_moment, turning)
    common = power.shape[0] - len(LEDGER)
    store_3(power, common + FORCE_IMPULSE, total)
    store_3(power, common + TORQUE_IMPULSE, moment)
    store_3(power, common + REACTION_IMPULSE, held)
    store_3(power, common + REACTION_TORQUE, held_moment)
    twice = options.past_q != 0.0 and options.history != 0
    ledger = y.shape[0] - power.shape[0]
    for i in range(power.shape[0]):
        amount = options.dt * load(power, i)
        if twice:
            amount = ((options.past_r - options.past_q) * amount + options.past_q * load(booked, i)) / options.past_r
        store(booked, i, amount)
        store(y, ledger + i, load(y, ledger + i) + amount)


# The impulse of a contact changes the velocity at one place, so that its work is that with the mean of the velocities before
# and after, whatever rule moves the particle: what an impact takes is physics, and no error of implicit Euler, whose rule
# has the velocity after it. Work of friction is that along the slip; what else the contact does to the particle, it does the
# other way round to the carrier, in whose own step that is booked.
@njit
def finish_touch(touch, y, particles, system, steps):
    """Book what a touch did to its particle, leave the opposite to the carrier, move the particle out of what it is in."""
    options = steps.options[0]
    h, n, at = options.dt, system.settings[0].particles, particles_at(system) + 3 * touch.particle
    w = load(system.particle_inverse_mass, touch.particle)
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
    store(y, ledger, load(y, ledger) + dot(normal, mean) + dot(along, beside))
    store(y, ledger + 1, load(y, ledger + 1) + dot(along, sub(mean, beside)))
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
    store(y, entry, load(y, entry) - dot(load_3(steps.forces, 3 * particle), out))
    add_3(y, common + REACTION_TORQUE, cross(out, p))


@njit
def push(touch, x, force, h, y, system):
    """Book the impulse of a contact on its particle, and leave the opposite force to the carrier."""
    common = y.shape[0] - len(LEDGER)
    add_3(y, common + REACTION_IMPULSE, scale(h, force))
    add_3(y, common + REACTION_TORQUE, scale(h, cross(x, force)))
    if touch.body < system.settings[0].rigid:
        push_carrier(touch, scale(-1.0, force), system.pushes, BODY_ROW * touch.body)
