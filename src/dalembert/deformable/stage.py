"""The stage of a time step: the function that it minimizes, its gradient, and the end of the step.

An implicit step minimizes a function (implicit Euler: D. Baraff, A. Witkin, course notes on physically based modelling; the
others alike): with the positions x at the time of the stage, velocities (x − base)/τ and the positions s of free motion,

    ½ w |x − s|²_M + W(x)   is least,   its gradient   w M (x − s) − f(x) = 0.

    implicit Euler      τ = h       base = x₀                s = x₀ + h v₀           then x₁ = x, v₁ = (x − base)/τ
    implicit midpoint   τ = h/2     base = x₀                s = x₀ + τ v₀           then x₁ = 2 x − x₀, v₁ = 2 v − v₀
    any stage at θ h    τ = θ h     base = x₀                s = x₀ + τ v₀           then x₁ = x₀ + (x − x₀)/θ, v₁ alike
    BDF2                τ = 2 h/3   base = (4 x₀ − x₋₁)/3    s = base + τ (4 v₀ − v₋₁)/3
    explicit            τ = h/2     base = x₀ + τ v₀         s = base + τ v₀         forces at base; then x₁ = x

with w = 1/τ², but 2/h² for the explicit one, whose impulse lasts h. Forces without a potential, as drag, are added to f,
and their work along a Newton step to its change of energy. Bodies that touch particles are unknowns too: their
displacements and rotations since x₀, X, with ½ w (X − X₀)ᵀ M (X − X₀), where X₀ is their displacement without particles.
"""

import math

from ..core.c_function import PARTICLE_FORCES, call_pointer
from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, scale, sub, symvec
from ..core.simd import load, store
from ..dynamics.commands import book_drive
from ..dynamics.kinematics import load6
from ..dynamics.particle_forces import particles_at
from ..linalg.block_matrix import add_3, load_3, store_3
from ..model.tables import FORCE_IMPULSE, LEDGER, PROJECTION_WORK, REACTION_IMPULSE, REACTION_TORQUE, TORQUE_IMPULSE
from .carriers import begin_carriers, body_momentum, fill_inertia, momentum_of_offset
from .contact import (
    body_displacement,
    foot_arm,
    foot_body,
    foot_friction,
    foot_point,
    normal_part,
    share_of_foot,
    slip_of,
)
from .tables import BODY_ROW

# Bodies in a stage ----------------------------------------------------------------------------------------------------


@njit
def begin_bodies(system, steps):
    """Mass matrices, and the displacements X₀, from the forces in the kinematics table. Of bodies with joints X₀ is known."""
    options = steps.options[0]
    bodies, kinematics = system.bodies, system.kinematics
    moved, wanted = steps.moved, steps.wanted
    tau = options.fraction * options.dt
    duration = options.dt if options.explicit != 0 else tau  # of the impulse
    steps.stage[0].body_weight = 1.0 / (tau * duration)
    if options.carriers != 0:
        add_assumed(steps)
        begin_carriers(steps)
        return
    for b in range(system.settings[0].rigid):
        kin, body = kinematics[b], bodies[b]
        fill_inertia(b, system, steps)
        turn = symvec(load6(kin.inverse_inertia), load3(kin.torque))
        shift = add_scaled(load3(kin.v), duration * body.inverse_mass, load3(kin.force))
        spin = add_scaled(load3(kin.omega), duration, turn)
        at = BODY_ROW * b
        store_3(wanted, at, scale(tau, shift))
        store_3(wanted, at + 3, scale(tau, spin))
        store_3(moved, at, scale(tau, shift))
        store_3(moved, at + 3, scale(tau, spin))
    if options.assumes != 0:
        add_assumed(steps)
        for k in range(moved.shape[0]):
            store(moved, k, load(wanted, k))


@njit
def add_assumed(steps):
    """Add to X₀ what the bodies' own step is assumed to give to their velocities."""
    options, wanted, assumed = steps.options[0], steps.wanted, steps.assumed
    share = 1.0 if options.explicit != 0 else options.fraction
    for k in range(wanted.shape[0]):
        gained = options.fraction * options.dt * share * load(assumed, k)
        store(wanted, k, load(wanted, k) + gained)


@njit
def move_bodies(length, change, system, steps):
    """X += length · `shift`, and the coordinates likewise."""
    moved, shift, offset = steps.moved, steps.shift, steps.offset
    first = 3 * system.settings[0].particles
    for k in range(moved.shape[0]):
        store(moved, k, load(moved, k) + length * load(shift, k))
    for k in range(offset.shape[0]):
        store(offset, k, load(offset, k) + length * load(change, first + k))


@inlined
def body_offset(b, steps):
    """X − X₀ of a body: displacement, turn."""
    at = BODY_ROW * b
    return sub(load_3(steps.moved, at), load_3(steps.wanted, at)), sub(
        load_3(steps.moved, at + 3), load_3(steps.wanted, at + 3)
    )


@njit
def energy_of_bodies(system, steps):
    """(X − X₀)ᵀ M (X − X₀)."""
    if steps.options[0].carriers != 0:
        return momentum_of_offset(steps)
    total = 0.0
    for b in range(system.settings[0].rigid):
        u, turn = body_offset(b, steps)
        m, spin = body_momentum(b, u, turn, steps)
        total += dot(u, m) + dot(turn, spin)
    return total


# The stage ------------------------------------------------------------------------------------------------------------


@njit
def begin_stage(t, y, system, steps):
    """Set up the stage from the particles in y: `aim`, `base`, and the first iterate, which is where the stage starts.

    Damping is evaluated where the particles would go freely, which is right to second order; so it is linear in x and has an
    energy too, and Newton's method converges as fast.
    """
    options, stage = steps.options[0], steps.stage[0]
    n = system.settings[0].particles
    h, explicit = options.dt, options.explicit != 0
    start, before, aim, base, iterate = steps.start, steps.before, steps.aim, steps.base, steps.iterate
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
            store(iterate, k, origin if explicit else x)
            store(iterate, 3 * n + k, v if explicit else (x - origin) / tau)
            store(iterate, 6 * n + k, v)
            store(iterate, 9 * n + k, load(iterate, k) if once else load(base, k) + tau * speed)


@njit
def evaluate_forces(callbacks, iterate, out, system, steps):
    """Forces at a state `iterate` into `out`, and the objective of the stage into `stage.energy`. Returns a status."""
    stage = steps.stage[0]
    status = call_pointer(callbacks.mechanism, callbacks.mechanism_data, PARTICLE_FORCES, stage.time, iterate, out)
    n = system.settings[0].particles
    mass, aim = system.particle_mass, steps.aim
    inertial = 0.0
    for i in range(n):
        d = sub(load_3(iterate, 3 * i), load_3(aim, 3 * i))
        inertial += load(mass, i) * dot(d, d)
    bodies = energy_of_bodies(system, steps)
    stage.energy = system.energies[2] + 0.5 * (stage.weight * inertial + stage.body_weight * bodies)
    return status


@njit
def predict_velocities(system, steps):
    """Advance the velocities of an explicit step by half an impulse, where forces that depend on them are evaluated."""
    iterate, forces, inverse = steps.iterate, steps.forces, system.particle_inverse_mass
    n, tau = system.settings[0].particles, steps.stage[0].tau
    for i in range(n):
        w = tau * load(inverse, i)
        for k in range(3 * i, 3 * i + 3):
            v = load(iterate, 3 * n + k) + w * (load(forces, k) + load(forces, 3 * n + k))
            store(iterate, 3 * n + k, v)
            store(iterate, 6 * n + k, v)
    for j in range(steps.touch_counts[0]):
        touch = steps.touches[j]
        if touch.locked > 0:  # its motion is not that of a free particle
            i = 3 * touch.particle
            v_0 = scale(load(inverse, touch.particle), load_3(steps.start, 3 * n + i))
            store_3(iterate, 3 * n + i, v_0)
            store_3(iterate, 6 * n + i, v_0)


@njit
def store_power(system, steps):
    """Store the powers of the last evaluation."""
    power, evaluated = steps.power, system.power
    for i in range(power.shape[0]):
        store(power, i, load(evaluated, i))


@njit
def fill_gradient(iterate, forces, gradient, system, steps):
    """w M (x − s) − f of every particle, and w M (X − X₀) of every body. Contact forces balance the rest."""
    n = system.settings[0].particles
    stage, mass, aim = steps.stage[0], system.particle_mass, steps.aim
    for i in range(n):
        m = stage.weight * load(mass, i)
        for k in range(3 * i, 3 * i + 3):
            store(gradient, k, m * (load(iterate, k) - load(aim, k)) - load(forces, k) - load(forces, 3 * n + k))
    if steps.options[0].carriers != 0:
        momentum_of_offset(steps)
        for k in range(steps.own.shape[0]):
            store(gradient, 3 * n + k, stage.body_weight * load(steps.own, k))
        return
    for b in range(system.settings[0].rigid):
        u, turn = body_offset(b, steps)
        m, spin = body_momentum(b, u, turn, steps)
        at = 3 * n + BODY_ROW * b
        store_3(gradient, at, scale(stage.body_weight, m))
        store_3(gradient, at + 3, scale(stage.body_weight, spin))


@njit
def typical_forces(iterate, forces, system, steps):
    """N: the norm of the applied forces at the start of a step, and the larger of that and the norm of w M (x − s)."""
    n = system.settings[0].particles
    stage, aim = steps.stage[0], steps.aim
    mass, inverse = system.particle_mass, system.particle_inverse_mass
    inertial, applied = 0.0, 0.0
    for i in range(n):
        if load(inverse, i) == 0.0:
            continue
        d = scale(stage.weight * load(mass, i), sub(load_3(iterate, 3 * i), load_3(aim, 3 * i)))
        f = add_scaled(load_3(forces, 3 * i), 1.0, load_3(forces, 3 * (n + i)))
        inertial += dot(d, d)
        applied += dot(f, f)
    return math.sqrt(applied), math.sqrt(max(inertial, applied))


@njit
def move_particles(iterate, change, length, trial, system, steps):
    """trial = iterate + length · change, with the velocities there, about which forces are linear."""
    n = system.settings[0].particles
    tau, base = steps.stage[0].tau, steps.base
    for k in range(3 * n):
        x = load(iterate, k) + length * load(change, k)
        v = (x - load(base, k)) / tau
        store(trial, k, x)
        store(trial, 3 * n + k, v)
        store(trial, 6 * n + k, v)
        store(trial, 9 * n + k, load(iterate, 9 * n + k))


# The end of a step ----------------------------------------------------------------------------------------------------


@inlined
def force_position(particle, steps):
    """The position at which the forces of a step act on a particle."""
    if steps.options[0].explicit != 0:
        return load_3(steps.base, 3 * particle)
    return load_3(steps.iterate, 3 * particle)


@njit
def add_force_impulses(y, system, steps):
    """Add work and impulses of the forces on particles to the ledger, by the rule that moves the particles."""
    options, n = steps.options[0], system.settings[0].particles
    forces, inverse = steps.forces, system.particle_inverse_mass
    power, booked = steps.power, steps.booked
    zero = (0.0, 0.0, 0.0)
    total, moment, reaction, reaction_moment = zero, zero, zero, zero
    for i in range(n):
        f = add(load_3(forces, 3 * i), load_3(forces, 3 * (n + i)))
        turning = cross(force_position(i, steps), f)
        total, moment = add(total, f), add(moment, turning)
        if load(inverse, i) == 0.0:
            reaction, reaction_moment = sub(reaction, f), sub(reaction_moment, turning)
    common = power.shape[0] - len(LEDGER)
    store_3(power, common + FORCE_IMPULSE, total)
    store_3(power, common + TORQUE_IMPULSE, moment)
    store_3(power, common + REACTION_IMPULSE, reaction)
    store_3(power, common + REACTION_TORQUE, reaction_moment)
    twice = options.past_q != 0.0 and options.history != 0
    ledger = y.shape[0] - power.shape[0]
    for i in range(power.shape[0]):
        amount = options.dt * load(power, i)
        if twice:
            amount = ((options.past_r - options.past_q) * amount + options.past_q * load(booked, i)) / options.past_r
        store(booked, i, amount)
        store(y, ledger + i, load(y, ledger + i) + amount)


# The impulse of a contact changes the velocity at one point, so that its work is that with the mean of the velocities before
# and after, whatever rule moves the particle: the loss of an impact is physics, and no error of implicit Euler, whose rule
# has the velocity after it. Work of friction is that along the slip; the rest of the work is opposite to that on
# the carrier, whose own step adds it to the ledger, but for that on a moving surface, whose drive does it.
@njit
def finish_touch(touch, y, particles, system, steps):
    """Add work and impulse of a touch to the ledger, push its carrier, and move the particle out of overlap."""
    options = steps.options[0]
    h, n, at = options.dt, system.settings[0].particles, particles_at(system) + 3 * touch.particle
    w = load(system.particle_inverse_mass, touch.particle)
    x, v = load_3(y, at), scale(w, load_3(y, at + 3 * n))
    x_0, v_0 = load_3(steps.start, 3 * touch.particle), scale(w, load_3(steps.start, 3 * (n + touch.particle)))
    force = load3(touch.force)
    mean = scale(0.5 * h, add(v, v_0))
    way = sub(x, x_0) if options.explicit == 0 else mean
    ledger = options.ledger
    for c in range(touch.feet):
        normal, along = parts_of_force(touch, c, force, system, steps)
        beside = mean
        if touch.normals > 0:
            beside = add_scaled(way, -1.0 / options.fraction, slip_of(touch, c, 0.0, 0.0, system, steps))
        store(y, ledger, load(y, ledger) + dot(normal, mean) + dot(along, beside))
        store(y, ledger + 1, load(y, ledger + 1) + dot(along, sub(mean, beside)))
        body = foot_body(touch, c)
        if touch.normals > 0 and body < system.settings[0].rigid and system.commands.shape[0] > 0:
            slide = foot_point(touch, c, steps.surface)  # in a stage; a step lasts 1/θ as long
            work = dot(along, slide) / options.fraction
            book_drive(body, work, y, system)
            store(y, ledger, load(y, ledger) - work)
        push_body_of_foot(touch, c, add(normal, along), system, steps)
    add_contact_impulse(force_position(touch.particle, steps), force, h, y)
    correct_position(touch, sub(x, x_0), y, particles, system, steps)


@njit
def parts_of_force(touch, c, force, system, steps):
    """What a foot bears of the force of its touch: along its normal, and along its surface."""
    if touch.feet == 1:
        normal = normal_part(touch, force)
        return normal, sub(force, normal)
    rest, along = force, (0.0, 0.0, 0.0)
    for k in range(touch.feet):
        friction = foot_friction(touch, k, 0.0, 0.0, system, steps)
        rest = sub(rest, friction)
        if k == c:
            along = friction
    if c == 0:  # what the last solve leaves
        along = add(along, sub(rest, normal_part(touch, rest)))
    return share_of_foot(touch, c, rest), along


@njit
def correct_position(touch, way, y, particles, system, steps):
    """Move a particle out of its contacts. In active ones it is by rounding; into others its neighbours may have pressed
    it in the last solve."""
    contacts = particles.contacts
    stretch = steps.options[0].stretch
    out = (0.0, 0.0, 0.0)
    for c in range(touch.first, touch.last):
        contact = contacts[c]
        n = load3(contact.normal)
        body = body_displacement(contact.body, load3(contact.position), steps.moved, 0, system)
        depth = contact.separation + dot(n, add_scaled(add(way, out), -stretch, body))
        if depth < 0.0:
            out = add_scaled(out, -depth, n)
    shift_particle(touch.particle, out, y, system, steps)


@njit
def shift_particle(particle, out, y, system, steps):
    """Move a particle, and add the energy and the angular momentum of that to the ledger."""
    at, common = particles_at(system) + 3 * particle, y.shape[0] - len(LEDGER)
    p = load_3(y, at + 3 * system.settings[0].particles)
    add_3(y, at, out)
    entry = common + PROJECTION_WORK
    store(y, entry, load(y, entry) - dot(load_3(steps.forces, 3 * particle), out))
    add_3(y, common + REACTION_TORQUE, cross(out, p))


@njit
def add_contact_impulse(x, force, h, y):
    """Add the impulse of a touch on its particle to the ledger."""
    common = y.shape[0] - len(LEDGER)
    add_3(y, common + REACTION_IMPULSE, scale(h, force))
    add_3(y, common + REACTION_TORQUE, scale(h, cross(x, force)))


# The arm is that at the start of an implicit stage. The force of the midpoint rule acts at the end of the stage; that of
# implicit Euler is a second difference about its start.
@njit
def push_body_of_foot(touch, c, force, system, steps):
    """Add the opposite of a force on a particle to `pushes` of the body of a foot."""
    options, at = steps.options[0], BODY_ROW * foot_body(touch, c)
    if foot_body(touch, c) < system.settings[0].rigid:
        arm = foot_arm(touch, c)
        if options.stretch != 1.0:
            arm = add(arm, cross(load_3(steps.moved, at + 3), arm))
        add_3(system.pushes, at, scale(-1.0, force))
        add_3(system.pushes, at + 3, cross(force, arm))
