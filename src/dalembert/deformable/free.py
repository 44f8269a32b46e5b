"""Free particles, on which only uniform fields and media act: explicit steps in one pass over memory.

Each particle moves by itself: half a drift, the impulse of the force there, half a drift. Forces that depend on the
velocity are evaluated half an impulse later, as by `stage.predict_velocities`. The state is read and written once a
step, in place; the general step passes over memory many times, and gives the same numbers up to rounding.
"""

from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, scale, sub
from ..core.profiler import begin_timing, end_stage
from ..core.simd import (
    clear,
    copy,
    first_thrice,
    last_thrice,
    load,
    load4,
    middle_thrice,
    plus4,
    spread,
    store,
    store4,
    times4,
    where4,
)  # fmt: skip
from ..core.status import NON_FINITE, OK
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
)  # fmt: skip
from .tables import ROUNDING_OF_STEPS, UPDATE


@njit
def all_free(system, steps):
    """Whether all particles are free, and the scheme is explicit."""
    forces = system.particle_forces
    if steps.options[0].explicit == 0 or steps.options[0].contacts != 0 or system.settings[0].rigid > 0:
        return False
    if steps.attachments.shape[0] > 0:
        return False
    if system.elements.sets.shape[0] > 0 or system.interactions.laws.shape[0] > 0:
        return False
    for k in range(forces.shape[0]):
        if forces[k].kind != PARTICLE_FIELD and forces[k].kind != MEDIUM:
            return False
    return True


@njit
def run_free_steps(stop, y, system, steps):
    """Steps until `stop` (s since the start) is reached. Returns a status; where it is not OK, y is as it was before all of
    them."""
    options, report = steps.options[0], steps.report[0]
    first = report.steps
    copy(steps.spare, y)
    while (report.steps + ROUNDING_OF_STEPS) * options.dt < stop:
        begin_timing(steps.timer, 1.0)
        finite = free_step(y, system, steps)
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
def free_step(y, system, steps):
    """One step in place, with its ledger. Returns whether the state is finite."""
    n, power, h = system.settings[0].particles, steps.power, steps.options[0].dt
    clear(power)
    check = 0.0
    first = 0
    while first < n:
        last = end_of_range(first, n, system)
        check += step_range(first, last, y, system, steps)
        first = last
    ledger = y.shape[0] - power.shape[0]
    for k in range(power.shape[0]):
        store(y, ledger + k, load(y, ledger + k) + h * load(power, k))
    return check - check == 0.0


@njit
def end_of_range(first, n, system):
    """The end of the range of particles from `first` on which the same forces act."""
    forces = system.particle_forces
    for k in range(forces.shape[0]):
        if forces[k].first > first:
            n = min(n, forces[k].first)
        if forces[k].last > first:
            n = min(n, forces[k].last)
    return n


@njit
def uniform_force(i, system):
    """The acceleration and the force of all uniform fields on particle i, and whether any medium acts on it."""
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
def medium_force(i, v, share, power, system):
    """The force of all media on particle i at the velocity v; adds `share` of its power to `power`."""
    forces = system.particle_forces
    total = (0.0, 0.0, 0.0)
    for k in range(forces.shape[0]):
        force = forces[k]
        if force.kind == MEDIUM and force.active != 0 and force.first <= i < force.last:
            u = sub(v, load3(force.velocity))
            across, _ = medium_drag(force, u)
            resistance = scale(-across, u)
            total = add(total, resistance)
            store(power, force.ledger, load(power, force.ledger) + share * dot(resistance, v))
    return total


@njit
def step_range(first, last, y, system, steps):
    """A step of particles on which the same forces act. Returns a number that is finite only if all of theirs are."""
    h, n, at = steps.options[0].dt, system.settings[0].particles, particles_at(system)
    mass, inverse, power = system.particle_mass, system.particle_inverse_mass, steps.power
    a, c, drags = uniform_force(first, system)
    add_pin_reactions(first, last, a, c, drags, y, system, steps)
    total, moment = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    check = 0.0
    if not drags:
        first, total, moment, check = step_simd(first, last, a, c, y, system, steps)
    for i in range(first, last):
        m, w = load(mass, i), 0.5 * h * load(inverse, i)
        p = load_3(y, at + 3 * (n + i))
        x = add_scaled(load_3(y, at + 3 * i), w, p)
        f = add_scaled(c, m, a)
        if drags:
            f = add(f, midpoint_medium_force(i, p, f, h, power, system))
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
def add_pin_reactions(first, last, a, c, drags, y, system, steps):
    """Add the reactions at pinned particles to the powers."""
    at, mass, power, pinned = particles_at(system), system.particle_mass, steps.power, steps.pinned
    common = power.shape[0] - len(LEDGER)
    zero = (0.0, 0.0, 0.0)
    for k in range(pinned.shape[0]):
        i = pinned[k]
        if first <= i < last:
            f = add_scaled(c, load(mass, i), a)
            if drags:
                f = add(f, medium_force(i, zero, 0.0, power, system))
            add_3(power, common + REACTION_IMPULSE, sub(zero, f))
            add_3(power, common + REACTION_TORQUE, sub(zero, cross(load_3(y, at + 3 * i), f)))


@njit
def midpoint_medium_force(i, p, f, h, power, system):
    """The force of media on particle i with the momentum p at the start of a step, f all other forces on it."""
    w = load(system.particle_inverse_mass, i)
    v = scale(w, p)
    v = add_scaled(v, 0.5 * h * w, add(f, medium_force(i, v, 0.0, power, system)))
    return medium_force(i, v, 1.0, power, system)


# Four particles at a time ----------------------------------------------------------------------------------------------
# Four particles are three registers of positions, x y z x | y z x y | z x y z, and as many of momenta. Of forces m a +
# c the sum is a Σ m + c n and their moment (Σ m x) × a + (Σ x) × c. Pinned particles have an inverse mass of zero, and
# no momentum.
@njit
def step_simd(first, last, a, c, y, system, steps):
    """The step of the particles first ... last − 1, four at a time, with the acceleration a and the force c.

    Returns (the first of the up to three that remain, sum of forces, their moment, a number that is finite only if all
    positions are).
    """
    h, n, at = steps.options[0].dt, system.settings[0].particles, particles_at(system)
    mass, inverse, scratch = system.particle_mass, system.particle_inverse_mass, steps.start
    end = last - (last - first) % 4
    if end == first:  # the workspace may be too small
        return first, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    for k in range(12):
        store(scratch, k, h * a[k % 3])
        store(scratch, 12 + k, h * c[k % 3])
    a_0, a_1, a_2 = load4(scratch, 0), load4(scratch, 4), load4(scratch, 8)
    c_0, c_1, c_2 = load4(scratch, 12), load4(scratch, 16), load4(scratch, 20)
    zero, half = spread(0.0), spread(0.5 * h)
    masses, check = zero, zero
    s_0, s_1, s_2, r_0, r_1, r_2 = zero, zero, zero, zero, zero, zero  # Σ m x and Σ x
    for i in range(first, end, 4):
        m, w = load4(mass, i), times4(half, load4(inverse, i))
        moved = where4(w, zero, m)
        x, p = at + 3 * i, at + 3 * (n + i)
        masses_0 = first_thrice(w), first_thrice(m), first_thrice(moved)
        masses_1 = middle_thrice(w), middle_thrice(m), middle_thrice(moved)
        masses_2 = last_thrice(w), last_thrice(m), last_thrice(moved)
        s_0, r_0, check = move_simd(y, (x, p), masses_0, a_0, c_0, (s_0, r_0, check))
        s_1, r_1, check = move_simd(y, (x + 4, p + 4), masses_1, a_1, c_1, (s_1, r_1, check))
        s_2, r_2, check = move_simd(y, (x + 8, p + 8), masses_2, a_2, c_2, (s_2, r_2, check))
        masses = plus4(masses, m)
    weighted, positions = sum_vectors(s_0, s_1, s_2, scratch), sum_vectors(r_0, r_1, r_2, scratch)
    total = add_scaled(scale(end - first, c), sum_numbers(masses, scratch), a)
    moment = add(cross(weighted, a), cross(positions, c))
    return end, total, moment, sum_numbers(check, scratch)


@inlined
def move_simd(y, at, masses, a, c, sums):
    """Four numbers: half a drift, the impulse m a + c where w > 0, half a drift.

    at : of positions and momenta in y. masses : w, m, and m where w > 0. a, c : times h. Returns the three sums with theirs
    added: Σ m x, Σ x, and Σ x at the end.
    """
    (at_x, at_p), (w, m, moved), (weighted, positions, check) = at, masses, sums
    zero = spread(0.0)
    p = load4(y, at_p)
    x = plus4(load4(y, at_x), times4(w, p))
    weighted, positions = plus4(weighted, times4(m, x)), plus4(positions, x)
    p = plus4(p, plus4(times4(moved, a), where4(w, zero, c)))
    x = plus4(x, times4(w, p))
    store4(y, at_x, x)
    store4(y, at_p, p)
    return weighted, positions, plus4(check, x)


@inlined
def sum_vectors(v_0, v_1, v_2, scratch):
    """The sum of four vectors in three registers."""
    store4(scratch, 0, v_0)
    store4(scratch, 4, v_1)
    store4(scratch, 8, v_2)
    total = (0.0, 0.0, 0.0)
    for k in range(0, 12, 3):
        total = add(total, (load(scratch, k), load(scratch, k + 1), load(scratch, k + 2)))
    return total


@inlined
def sum_numbers(v, scratch):
    """The sum of four numbers."""
    store4(scratch, 0, v)
    return load(scratch, 0) + load(scratch, 1) + load(scratch, 2) + load(scratch, 3)
