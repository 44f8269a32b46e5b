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

from ..jit import njit
from ..linalg.block_matrix import load_3, store_3
from ..mechanics.particles import particles_at
from ..pointer import PARTICLE_FORCES, call_pointer
from ..unchecked import peek, poke
from ..vec import add_scaled, dot, scale, sub
from .stage_bodies import body_momentum, body_offset
from .tables import BODY_ROW


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
        poke(start, k, peek(y, at + k))
    twice, q, r = options.past_q != 0.0 and options.history != 0, options.past_q, options.past_r
    once = options.linear != 0
    tau = (r - q) * h / r if twice else options.fraction * h
    stage.tau, stage.weight = tau, 2.0 / (h * h) if explicit else 1.0 / (tau * tau)
    stage.time = t + options.fraction * h
    for i in range(n):
        w = peek(inverse_mass, i)
        for k in range(3 * i, 3 * i + 3):
            x, v = peek(start, k), w * peek(start, 3 * n + k)
            origin, speed = x, v
            if twice:
                origin = ((r + q) * x - q * peek(before, k)) / r
                speed = ((r + q) * v - q * w * peek(before, 3 * n + k)) / r
            elif explicit:
                origin = x + tau * v
            poke(base, k, origin)
            poke(aim, k, origin + tau * speed)
            poke(place, k, origin if explicit else x)
            poke(place, 3 * n + k, v if explicit else (x - origin) / tau)
            poke(place, 6 * n + k, v)
            poke(place, 9 * n + k, peek(place, k) if once else peek(base, k) + tau * speed)


@njit
def evaluate(walls, place, out, system, steps):
    """Forces at a place, and their energy into `stage.energy`. Returns a status."""
    stage = steps.stage[0]
    status = call_pointer(walls.mechanism, walls.mechanism_data, PARTICLE_FORCES, stage.time, place, out)
    n = system.settings[0].particles
    mass, aim = system.particle_mass, steps.aim
    inertial = 0.0
    for i in range(n):
        d = sub(load_3(place, 3 * i), load_3(aim, 3 * i))
        inertial += peek(mass, i) * dot(d, d)
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
        w = tau * peek(inverse, i)
        for k in range(3 * i, 3 * i + 3):
            v = peek(place, 3 * n + k) + w * (peek(forces, k) + peek(forces, 3 * n + k))
            poke(place, 3 * n + k, v)
            poke(place, 6 * n + k, v)
    for j in range(steps.touch_counts[0]):
        touch = steps.touches[j]
        if touch.locked > 0:  # forces do not move it as they would
            i = 3 * touch.particle
            v_0 = scale(peek(inverse, touch.particle), load_3(steps.start, 3 * n + i))
            store_3(place, 3 * n + i, v_0)
            store_3(place, 6 * n + i, v_0)


@njit
def keep_power(system, steps):
    """Remember the powers of the last evaluation."""
    power, found = steps.power, system.power
    for i in range(power.shape[0]):
        poke(power, i, peek(found, i))


@njit
def fill_gradient(place, forces, gradient, system, steps):
    """w M (x − s) − f of every particle, and w M (X − X₀) of every body. Contact forces are what is missing to zero."""
    n = system.settings[0].particles
    stage, mass, aim = steps.stage[0], system.particle_mass, steps.aim
    for i in range(n):
        m = stage.weight * peek(mass, i)
        for k in range(3 * i, 3 * i + 3):
            poke(gradient, k, m * (peek(place, k) - peek(aim, k)) - peek(forces, k) - peek(forces, 3 * n + k))
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
        if peek(inverse, i) == 0.0:
            continue
        d = scale(stage.weight * peek(mass, i), sub(load_3(place, 3 * i), load_3(aim, 3 * i)))
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
        x = peek(place, k) + length * peek(change, k)
        v = (x - peek(base, k)) / tau
        poke(trial, k, x)
        poke(trial, 3 * n + k, v)
        poke(trial, 6 * n + k, v)
        poke(trial, 9 * n + k, peek(place, 9 * n + k))
