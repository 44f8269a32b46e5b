"""The linear system of a Newton step: A d = −g, with particles that are pinned, or locked to what they touch.

A locked particle goes along with its carrier, a body with the displacement δ and the turn θ, in the directions E, and on its
own in the others: d = (1 − E Eᵀ) z + E Eᵀ (δ + θ × r) + p, p what is prescribed. With d = T (z, δ, θ) + p for all
particles that is Tᵀ A T (z, δ, θ) = −Tᵀ (g + A p), to which bodies add their inertia: the force that a lock bears acts on the
body with its moment, as it should. Without bodies that move this is the filter of Baraff & Witkin (1998, §5.3), and the
solver is that of `linalg.conjugate_gradient`; with them conjugate gradients with the blocks on the diagonal inverted.
"""

import math

from ..arrays import clear
from ..jit import njit
from ..linalg.block_matrix import load_3, store_3
from ..mechanics.system import particle_inverse_mass_of, particle_mass_of, settings_of
from ..pointer import PARTICLE_MATRIX, SOLVE, call_pointer
from ..status import OK
from ..unchecked import peek, poke
from ..vec import add, cross, load3, scale, sub
from .conjugate import apply, solve_held
from .coupled import gather, solve_coupled
from .tables import BODY_ROW, EXPLICIT, LINEAR_EULER
from .tables_of import (
    aim_of,
    before_of,
    change_of,
    g_of,
    gradient_of,
    image_of,
    moved_of,
    options_of,
    pinned_of,
    place_of,
    report_of,
    rhs_of,
    stage_of,
    start_of,
    starts_of,
    t_of,
    touch_counts_of,
    touches_of,
    values_of,
    wanted_of,
)
from .touch import friction_at, locked_part, missing, normal_part

FROM_ZERO, FROM_AIM, FROM_CHANGE = range(3)


@njit
def assemble(walls, system, steps):
    """The matrix of a Newton step at `place`: w M, and what the forces add. Returns a status."""
    if options_of(steps)[0].scheme == EXPLICIT:
        return OK
    stage, values, starts = stage_of(steps)[0], values_of(steps), starts_of(steps)
    mass = particle_mass_of(system)
    clear(values)
    settings_of(system)[0].rate = 1.0 / stage.tau
    status = call_pointer(walls.mechanism, walls.mechanism_data, PARTICLE_MATRIX, stage.time, place_of(steps), values)
    for i in range(mass.shape[0]):
        at = 9 * starts[i]
        for k in range(0, 9, 4):
            poke(values, at + k, peek(values, at + k) + stage.weight * peek(mass, i))
    return status


@njit
def solve(guess, tolerance, system, steps):
    """`change` with A change = −gradient, and A change in `image`, particle by particle. Returns a status of `linalg`.

    guess : where to begin: FROM_ZERO, FROM_AIM, where the particles would go freely, or FROM_CHANGE, as it is.
    """
    options, n = options_of(steps)[0], 3 * settings_of(system)[0].particles
    gradient, rhs, change = gradient_of(steps), rhs_of(steps), change_of(steps)
    for k in range(rhs.shape[0]):
        poke(rhs, k, -peek(gradient, k))
    begin_at(guess, n, change, system, steps)
    coupled = prescribe(system, steps)
    if coupled or options.direct != 0 or options.scheme == EXPLICIT:
        clear(change)
        prescribe_only(system, steps)
    explicit = options.scheme == EXPLICIT
    if not explicit:
        add_friction(1.0, steps)
    report_of(steps)[0].solves += 1
    if options.direct != 0:
        status = call_pointer(options.direct, 0, SOLVE, 0.0, rhs, change)
    elif coupled:
        status = solve_coupled(tolerance, system, steps)
    else:
        leave_bodies(n, steps)
        status = divide(system, steps) if explicit else solve_held(tolerance, n, steps)
    if not explicit:
        add_friction(-1.0, steps)
    apply(change, image_of(steps), system, steps)
    return status


# One linear step, which takes nothing else from the step before, begins as if accelerations were those of that step.
@njit
def begin_at(guess, n, change, system, steps):
    aim, place, pinned, options = aim_of(steps), place_of(steps), pinned_of(steps), options_of(steps)[0]
    start, before, inverse = start_of(steps), before_of(steps), particle_inverse_mass_of(system)
    if guess != FROM_CHANGE:
        clear(change)
    if guess == FROM_AIM:
        for k in range(n):
            poke(change, k, peek(aim, k) - peek(place, k))
    if guess == FROM_AIM and options.scheme == LINEAR_EULER and options.history != 0:
        for k in range(n):
            gain = peek(inverse, k // 3) * (peek(start, n + k) - peek(before, n + k))
            poke(change, k, peek(change, k) + options.dt * gain)
    for k in range(pinned.shape[0]):
        store_3(change, 3 * pinned[k], (0.0, 0.0, 0.0))


@njit
def prescribe_only(system, steps):
    """What locks prescribe into `change`, which is zero."""
    touches, change = touches_of(steps), change_of(steps)
    for k in range(touch_counts_of(steps)[0]):
        if touches[k].locked > 0:
            store_3(change, 3 * touches[k].particle, missing(touches[k], system, steps))


@njit
def prescribe(system, steps):
    """Friction into `rhs`, and what locks prescribe into `change`. Returns whether a touch is with a body that moves."""
    touches, rhs, change = touches_of(steps), rhs_of(steps), change_of(steps)
    n = 3 * settings_of(system)[0].particles
    coupled = False
    for k in range(touch_counts_of(steps)[0]):
        touch = touches[k]
        i = 3 * touch.particle
        if touch.locked == 0:
            continue
        there = load_3(change, i)
        there = sub(there, locked_part(touch, there))
        store_3(change, i, add(there, missing(touch, system, steps)))
        friction = friction_at(touch, 0.0, 0.0, system, steps)
        store_3(rhs, i, add(load_3(rhs, i), friction))
        if touch.body < settings_of(system)[0].rigid:
            coupled = True
            at = n + BODY_ROW * touch.body
            store_3(rhs, at, sub(load_3(rhs, at), friction))
            store_3(rhs, at + 3, sub(load_3(rhs, at + 3), cross(load3(touch.arm), friction)))
    return coupled


@njit
def add_friction(sign, steps):
    """Add sign κ (1 − n nᵀ) of what slides to the blocks of particles."""
    touches, values, starts = touches_of(steps), values_of(steps), starts_of(steps)
    for k in range(touch_counts_of(steps)[0]):
        touch = touches[k]
        if touch.grip == 0.0 or touch.stick != 0 or touch.locked == 0:
            continue
        at = 9 * starts[touch.particle]
        for c in range(3):
            axis = (1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
            column = scale(sign * touch.grip, sub(axis, normal_part(touch, axis)))
            for r in range(3):
                poke(values, at + 3 * r + c, peek(values, at + 3 * r + c) + column[r])


@njit
def leave_bodies(n, steps):
    """Bodies that no particle touches do what they would."""
    change, moved, wanted = change_of(steps), moved_of(steps), wanted_of(steps)
    for k in range(moved.shape[0]):
        poke(change, n + k, peek(wanted, k) - peek(moved, k))


@njit
def divide(system, steps):
    """The solution where the matrix is diagonal and no body takes part."""
    rhs, change, touches = rhs_of(steps), change_of(steps), touches_of(steps)
    mass, weight = particle_mass_of(system), stage_of(steps)[0].weight
    touched = touch_counts_of(steps)[0]
    for k in range(touched):
        touch = touches[k]
        i = 3 * touch.particle
        b = load_3(rhs, i)
        m = weight * peek(mass, touch.particle)
        b = scale(m / (m + touch.grip), sub(b, locked_part(touch, b)))
        store_3(rhs, i, b)
    for i in range(mass.shape[0]):
        w = 1.0 / (weight * peek(mass, i))
        for k in range(3 * i, 3 * i + 3):
            poke(change, k, peek(change, k) + w * peek(rhs, k))
    pinned = pinned_of(steps)
    for k in range(pinned.shape[0]):
        store_3(change, 3 * pinned[k], (0.0, 0.0, 0.0))
    return OK


@njit
def reduced_norm(steps, system):
    """The norm of Tᵀ (g − friction), which is zero where a stage is solved."""
    gradient, u, q, touches = gradient_of(steps), t_of(steps), g_of(steps), touches_of(steps)
    n = 3 * settings_of(system)[0].particles
    for k in range(n):
        poke(u, k, peek(gradient, k))
    gather(u, q, system, steps)
    for k in range(touch_counts_of(steps)[0]):
        touch = touches[k]
        i = 3 * touch.particle
        friction = friction_at(touch, 0.0, 0.0, system, steps)
        store_3(q, i, sub(load_3(q, i), friction))
        if touch.body < settings_of(system)[0].rigid:
            at = n + BODY_ROW * touch.body
            store_3(q, at, add(load_3(q, at), friction))
            store_3(q, at + 3, add(load_3(q, at + 3), cross(load3(touch.arm), friction)))
    total = 0.0
    for k in range(q.shape[0]):
        value = peek(q, k) + (peek(gradient, k) if k >= n else 0.0)
        total += value * value
    return math.sqrt(total)
