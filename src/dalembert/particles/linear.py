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
from ..linalg.block_matrix import add_3, load_3, store_3
from ..linalg.conjugate_gradient import INDEFINITE
from ..pointer import PARTICLE_MATRIX, SOLVE, call_pointer
from ..status import OK
from ..unchecked import peek, poke
from ..vec import add, scale, unit
from .conjugate import apply, solve_held
from .coupled import gather, solve_coupled
from .tables import BODY_ROW
from .touch import free_part, friction_at, missing, push_carrier, slides, tangent_part

FROM_ZERO, FROM_AIM, FROM_CHANGE = range(3)


@njit
def assemble(walls, system, steps):
    """The matrix of a Newton step at `place`: w M, and what the forces add. Returns a status."""
    if steps.options[0].explicit != 0:
        return OK
    stage, values, starts = steps.stage[0], steps.values, steps.starts
    mass = system.particle_mass
    clear(values)
    system.settings[0].rate = 1.0 / stage.tau
    status = call_pointer(walls.mechanism, walls.mechanism_data, PARTICLE_MATRIX, stage.time, steps.place, values)
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
    options, n = steps.options[0], 3 * system.settings[0].particles
    gradient, rhs, change = steps.gradient, steps.rhs, steps.change
    for k in range(rhs.shape[0]):
        poke(rhs, k, -peek(gradient, k))
    explicit, coupled = options.explicit != 0, push_by_friction(system, steps)
    begin_at(FROM_ZERO if coupled or explicit or options.direct != 0 else guess, n, change, system, steps)
    prescribe(system, steps)
    if not explicit:
        add_friction(1.0, steps)
    if options.direct != 0:
        status = call_pointer(options.direct, 0, SOLVE, 0.0, rhs, change)
    elif coupled:
        status = solve_coupled(tolerance, system, steps)
    else:
        leave_bodies(n, steps)
        status = divide(system, steps) if explicit else solve_held(tolerance, n, steps)
    if not explicit:
        add_friction(-1.0, steps)
    apply(change, steps.image, system, steps)
    count(status, steps.report[0])
    return status


@njit
def count(status, report):
    """Note a linear solve, and how it ended."""
    report.solves += 1
    if status == INDEFINITE:
        report.indefinite += 1
    elif status != OK:
        report.unconverged += 1


# One linear step, which takes nothing else from the step before, begins as if accelerations were those of that step.
@njit
def begin_at(guess, n, change, system, steps):
    aim, place, pinned, options = steps.aim, steps.place, steps.pinned, steps.options[0]
    start, before, inverse = steps.start, steps.before, system.particle_inverse_mass
    if guess != FROM_CHANGE:
        clear(change)
    if guess == FROM_AIM:
        for k in range(n):
            poke(change, k, peek(aim, k) - peek(place, k))
    if guess == FROM_AIM and options.linear != 0 and options.history != 0:
        for k in range(n):
            gain = peek(inverse, k // 3) * (peek(start, n + k) - peek(before, n + k))
            poke(change, k, peek(change, k) + options.dt * gain)
    for k in range(pinned.shape[0]):
        store_3(change, 3 * pinned[k], (0.0, 0.0, 0.0))


@njit
def prescribe(system, steps):
    """What locks prescribe into `change`."""
    touches, change = steps.touches, steps.change
    for k in range(steps.touch_counts[0]):
        if touches[k].locked > 0:
            i = 3 * touches[k].particle
            free = free_part(touches[k], load_3(change, i))
            store_3(change, i, add(free, missing(touches[k], system, steps)))


@njit
def push_by_friction(system, steps):
    """Friction into `rhs`, on particles and on their carriers. Returns whether one of these is a body that moves."""
    touches, rhs = steps.touches, steps.rhs
    n = 3 * system.settings[0].particles
    coupled = False
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        if touch.locked == 0:
            continue
        friction = friction_at(touch, 0.0, 0.0, system, steps)
        add_3(rhs, 3 * touch.particle, friction)
        if touch.body < system.settings[0].rigid:
            coupled = True
            push_carrier(touch, scale(-1.0, friction), rhs, n + BODY_ROW * touch.body)
    return coupled


@njit
def add_friction(sign, steps):
    """Add sign κ (1 − n nᵀ) of what slides to the blocks of particles."""
    touches, values, starts = steps.touches, steps.values, steps.starts
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        if not slides(touch):
            continue
        at = 9 * starts[touch.particle]
        for c in range(3):
            column = scale(sign * touch.grip, tangent_part(touch, unit(c)))
            for r in range(3):
                poke(values, at + 3 * r + c, peek(values, at + 3 * r + c) + column[r])


@njit
def leave_bodies(n, steps):
    """Bodies that no particle touches do what they would."""
    change, moved, wanted = steps.change, steps.moved, steps.wanted
    for k in range(moved.shape[0]):
        poke(change, n + k, peek(wanted, k) - peek(moved, k))


@njit
def divide(system, steps):
    """The solution where the matrix is diagonal and no body takes part."""
    rhs, change, touches = steps.rhs, steps.change, steps.touches
    mass, weight = system.particle_mass, steps.stage[0].weight
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        i = 3 * touch.particle
        m = weight * peek(mass, touch.particle)
        store_3(rhs, i, scale(m / (m + touch.grip), free_part(touch, load_3(rhs, i))))
    for i in range(mass.shape[0]):
        w = 1.0 / (weight * peek(mass, i))
        for k in range(3 * i, 3 * i + 3):
            poke(change, k, peek(change, k) + w * peek(rhs, k))
    pinned = steps.pinned
    for k in range(pinned.shape[0]):
        store_3(change, 3 * pinned[k], (0.0, 0.0, 0.0))
    return OK


@njit
def reduced_norm(system, steps):
    """The norm of Tᵀ (g − friction), which is zero where a stage is solved."""
    gradient, u, q, touches = steps.gradient, steps.t, steps.g, steps.touches
    n = 3 * system.settings[0].particles
    for k in range(n):
        poke(u, k, peek(gradient, k))
    gather(u, q, system, steps)
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        friction = friction_at(touch, 0.0, 0.0, system, steps)
        add_3(q, 3 * touch.particle, scale(-1.0, friction))
        if touch.body < system.settings[0].rigid:
            push_carrier(touch, friction, q, n + BODY_ROW * touch.body)
    total = 0.0
    for k in range(q.shape[0]):
        value = peek(q, k) + (peek(gradient, k) if k >= n else 0.0)
        total += value * value
    return math.sqrt(total)
