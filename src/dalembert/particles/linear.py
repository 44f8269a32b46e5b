"""The linear system of a Newton step: A d = −g, with particles that are pinned, or locked to what they touch.

A locked particle goes along with its carrier, a body with the displacement δ and the turn θ, in the directions E, and on its
own in the others: d = (1 − E Eᵀ) z + E Eᵀ (δ + θ × r) + p, p what is prescribed. With d = T (z, δ, θ) + p for all
particles that is Tᵀ A T (z, δ, θ) = −Tᵀ (g + A p), to which bodies add their inertia: the force that a lock bears acts on the
body with its moment, as it should. Without bodies that move this is the filter of Baraff & Witkin (1998, §5.3), and the
solver is that of `linalg.conjugate_gradient`; with them conjugate gradients with the blocks on the diagonal inverted.
"""

import math

from ..arrays import clear
from ..jit import inlined, njit
from ..linalg.block_matrix import load_3, multiply, store_3
from ..linalg.conjugate_gradient import INDEFINITE, NOT_CONVERGED
from ..linalg.ssor import inverse_of, load_symmetric, store_symmetric
from ..mechanics.system import particle_mass_of, settings_of
from ..pointer import PARTICLE_MATRIX, SOLVE, call_pointer
from ..status import OK
from ..unchecked import peek, poke
from ..vec import add, add_scaled, cross, load3, matvec, scale, sub
from .conjugate import matrix_of, solve_held
from .stage import body_momentum
from .tables import BODY_ROW, EXPLICIT
from .tables_of import (
    aim_of,
    change_of,
    d_of,
    diagonal_of,
    direction_of,
    g_of,
    gradient_of,
    image_of,
    moved_of,
    options_of,
    pinned_of,
    place_of,
    report_of,
    residual_of,
    rhs_of,
    scaled_of,
    stage_of,
    starts_of,
    t_of,
    touch_counts_of,
    touches_of,
    values_of,
    wanted_of,
)
from .touch import body_point, friction_at, locked_part, missing, normal_part

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
    begin_at(guess, n, change, steps)
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


@njit
def begin_at(guess, n, change, steps):
    aim, place, pinned = aim_of(steps), place_of(steps), pinned_of(steps)
    if guess != FROM_CHANGE:
        clear(change)
    if guess == FROM_AIM:
        for k in range(n):
            poke(change, k, peek(aim, k) - peek(place, k))
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
        friction = friction_at(touch, 0.0, system, steps)
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
def apply(u, out, system, steps):
    """out = A u of all particles."""
    if options_of(steps)[0].scheme != EXPLICIT:
        multiply(matrix_of(steps), u, out)
        return
    mass, weight = particle_mass_of(system), stage_of(steps)[0].weight
    for i in range(mass.shape[0]):
        for k in range(3 * i, 3 * i + 3):
            poke(out, k, weight * peek(mass, i) * peek(u, k))


@njit
def expand(z, u, system, steps):
    """u = T z without what is prescribed: particles from the unknowns of particles and bodies."""
    touches, pinned = touches_of(steps), pinned_of(steps)
    n = 3 * settings_of(system)[0].particles
    for k in range(n):
        poke(u, k, peek(z, k))
    for k in range(pinned.shape[0]):
        store_3(u, 3 * pinned[k], (0.0, 0.0, 0.0))
    for k in range(touch_counts_of(steps)[0]):
        touch = touches[k]
        i = 3 * touch.particle
        u_i = load_3(u, i)
        along = locked_part(touch, u_i)
        if touch.body < settings_of(system)[0].rigid:
            along = sub(along, locked_part(touch, body_point(touch, z, n + BODY_ROW * touch.body)))
        store_3(u, i, sub(u_i, along))


@njit
def gather(w, q, system, steps):
    """q = Tᵀ w: forces on particles become those on the unknowns."""
    touches, pinned = touches_of(steps), pinned_of(steps)
    n = 3 * settings_of(system)[0].particles
    for k in range(n):
        poke(q, k, peek(w, k))
    for k in range(n, q.shape[0]):
        poke(q, k, 0.0)
    for k in range(pinned.shape[0]):
        store_3(q, 3 * pinned[k], (0.0, 0.0, 0.0))
    for k in range(touch_counts_of(steps)[0]):
        touch = touches[k]
        i = 3 * touch.particle
        borne = locked_part(touch, load_3(w, i))
        store_3(q, i, sub(load_3(q, i), borne))
        if touch.body < settings_of(system)[0].rigid:
            at = n + BODY_ROW * touch.body
            store_3(q, at, add(load_3(q, at), borne))
            store_3(q, at + 3, add(load_3(q, at + 3), cross(load3(touch.arm), borne)))


@njit
def add_inertia(z, factor, q, system, steps):
    """q += factor w M (δ, θ) of all bodies."""
    n, weight = 3 * settings_of(system)[0].particles, stage_of(steps)[0].body_weight
    for b in range(settings_of(system)[0].rigid):
        at = n + BODY_ROW * b
        m, spin = body_momentum(b, load_3(z, at), load_3(z, at + 3), steps)
        store_3(q, at, add_scaled(load_3(q, at), factor * weight, m))
        store_3(q, at + 3, add_scaled(load_3(q, at + 3), factor * weight, spin))


@njit
def product(z, q, u, system, steps):
    """q = (Tᵀ A T + inertia) z; u is scratch of the size of z."""
    image = image_of(steps)
    expand(z, u, system, steps)
    apply(u, image, system, steps)
    gather(image, q, system, steps)
    add_inertia(z, 1.0, q, system, steps)
    add_slip(z, u, q, system, steps)


@njit
def add_slip(z, u, q, system, steps):
    """Add κ times the slip of what slides on bodies to q, for those, and what the matrix does not have for the particles."""
    touches, n = touches_of(steps), 3 * settings_of(system)[0].particles
    explicit = options_of(steps)[0].scheme == EXPLICIT
    for k in range(touch_counts_of(steps)[0]):
        touch = touches[k]
        if touch.grip == 0.0 or touch.stick != 0 or touch.locked == 0:
            continue
        i = 3 * touch.particle
        own = sub(load_3(u, i), normal_part(touch, load_3(u, i)))
        slip = own
        if touch.body < settings_of(system)[0].rigid:
            at = n + BODY_ROW * touch.body
            along = body_point(touch, z, at)
            slip = sub(slip, sub(along, normal_part(touch, along)))
            pull = scale(touch.grip, slip)
            store_3(q, at, sub(load_3(q, at), pull))
            store_3(q, at + 3, sub(load_3(q, at + 3), cross(load3(touch.arm), pull)))
        if not explicit:
            slip = sub(slip, own)
        store_3(q, i, add_scaled(load_3(q, i), touch.grip, slip))


@njit
def solve_coupled(tolerance, system, steps):
    """Conjugate gradients for particles and bodies at once; see the head of this file."""
    report, rhs, change = report_of(steps)[0], rhs_of(steps), change_of(steps)
    z, r, p, q, s, u = d_of(steps), residual_of(steps), direction_of(steps), g_of(steps), scaled_of(steps), t_of(steps)
    n, total = 3 * settings_of(system)[0].particles, rhs.shape[0]
    apply(change, image_of(steps), system, steps)
    for k in range(n):
        poke(u, k, peek(rhs, k) - peek(image_of(steps), k))
    gather(u, r, system, steps)
    for k in range(n, total):
        poke(r, k, peek(r, k) + peek(rhs, k))
    clear(z)
    clear(p)
    if not invert_blocks(system, steps):
        return INDEFINITE
    goal, last, status = -1.0, 1.0, NOT_CONVERGED
    for iteration in range(options_of(steps)[0].linear_iterations):
        precondition(r, s, system, steps)
        square = inner(r, s)
        if goal < 0.0:
            goal = tolerance * tolerance * square
        if square <= goal:
            status = OK
            break
        beta = square / last if iteration > 0 else 0.0
        last = square
        for k in range(total):
            poke(p, k, peek(s, k) + beta * peek(p, k))
        product(p, q, u, system, steps)
        report.linear += 1
        curvature = inner(p, q)
        if not curvature > 0.0:
            return INDEFINITE
        alpha = square / curvature
        for k in range(total):
            poke(z, k, peek(z, k) + alpha * peek(p, k))
            poke(r, k, peek(r, k) - alpha * peek(q, k))
    expand(z, u, system, steps)
    for k in range(total):
        poke(change, k, peek(change, k) + (peek(u, k) if k < n else peek(z, k)))
    return status


@njit
def inner(a, b):
    total = 0.0
    for k in range(a.shape[0]):
        total += peek(a, k) * peek(b, k)
    return total


@njit
def invert_blocks(system, steps):
    """The inverse blocks on the diagonal: 9 numbers a particle, then 9 + 9 a body. Returns whether all are definite."""
    stage, diagonal, mass = stage_of(steps)[0], diagonal_of(steps), particle_mass_of(system)
    explicit = options_of(steps)[0].scheme == EXPLICIT
    n = mass.shape[0]
    good = True
    for i in range(n):
        m = stage.weight * peek(mass, i)
        block = (m, m, m, 0.0, 0.0, 0.0) if explicit else load_symmetric(values_of(steps), 9 * starts_of(steps)[i])
        inverse, definite = inverse_of(block)
        store_symmetric(diagonal, 9 * i, inverse, 1.0)
        good = good and definite
    for b in range(settings_of(system)[0].rigid):
        at = 9 * (n + 2 * b)
        for k in range(18):
            poke(diagonal, at + k, 0.0)
        for c in range(3):
            axis = (1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
            m, spin = body_momentum(b, axis, axis, steps)
            for r in range(3):
                poke(diagonal, at + 3 * r + c, stage.body_weight * m[r])
                poke(diagonal, at + 9 + 3 * r + c, stage.body_weight * spin[r])
    touches = touches_of(steps)
    for k in range(touch_counts_of(steps)[0]):
        touch = touches[k]
        if touch.body < settings_of(system)[0].rigid and touch.locked > 0:
            add_load(touch, explicit, n, system, steps)
    for b in range(2 * settings_of(system)[0].rigid):
        inverse, definite = inverse_of(load_symmetric(diagonal, 9 * (n + b)))
        store_symmetric(diagonal, 9 * (n + b), inverse, 1.0)
        good = good and definite
    return good


@njit
def add_load(touch, explicit, n, system, steps):
    """Add what a locked particle's own block is to its carrier, to the blocks of that."""
    diagonal = diagonal_of(steps)
    m = stage_of(steps)[0].weight * peek(particle_mass_of(system), touch.particle)
    grip = touch.grip if touch.stick == 0 else 0.0
    arm, at = load3(touch.arm), 9 * (n + 2 * touch.body)
    for c in range(3):
        axis = (1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
        push = locked_part(touch, block_times(touch.particle, m, locked_part(touch, axis), explicit, steps))
        push = add_scaled(push, grip, sub(axis, normal_part(touch, axis)))
        turned = cross(axis, arm)
        twist = locked_part(touch, block_times(touch.particle, m, locked_part(touch, turned), explicit, steps))
        moment = cross(arm, add_scaled(twist, grip, sub(turned, normal_part(touch, turned))))
        for r in range(3):
            poke(diagonal, at + 3 * r + c, peek(diagonal, at + 3 * r + c) + push[r])
            poke(diagonal, at + 9 + 3 * r + c, peek(diagonal, at + 9 + 3 * r + c) + moment[r])


@inlined
def block_times(i, m, v, explicit, steps):
    if explicit:
        return (m * v[0], m * v[1], m * v[2])
    return matvec(load_block(values_of(steps), 9 * starts_of(steps)[i]), v)


@inlined
def load_block(a, o):
    return (
        peek(a, o), peek(a, o + 1), peek(a, o + 2), peek(a, o + 3), peek(a, o + 4), peek(a, o + 5), peek(a, o + 6),
        peek(a, o + 7), peek(a, o + 8),
    )  # fmt: skip


@njit
def precondition(r, s, system, steps):
    diagonal, touches = diagonal_of(steps), touches_of(steps)
    for i in range(r.shape[0] // 3):
        store_3(s, 3 * i, matvec(load_block(diagonal, 9 * i), load_3(r, 3 * i)))
    for k in range(touch_counts_of(steps)[0]):
        touch = touches[k]
        i = 3 * touch.particle
        v = load_3(s, i)
        store_3(s, i, sub(v, locked_part(touch, v)))


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
        friction = friction_at(touch, 0.0, system, steps)
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
