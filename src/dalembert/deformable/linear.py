"""The linear system of a Newton step: A d = −g, with particles that are pinned, or locked to bodies that they touch.

A locked particle follows its carrier, a body with the displacement δ and the rotation θ, in the directions E (several
carriers, if its contacts are with several bodies: see `contact`), and moves freely in the others: d = (1 − E Eᵀ) z + E
Eᵀ (δ + θ × r) + p, p the prescribed part. With d = T (z, δ, θ) + p for all particles that is Tᵀ A T (z, δ, θ) = −Tᵀ (g
+ A p), to which bodies add their inertia: the reaction of a lock acts on the body with its moment. Without bodies that
move this is the filter of Baraff & Witkin (1998, §5.3), and the solver is that of `linalg.conjugate_gradient`; with
them conjugate gradients with the blocks on the diagonal inverted.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.c_function import C_TYPE, PARTICLE_MATRIX, SOLVE, call_pointer, part_of, view
from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, matvec, scale, store3, sub, unit
from ..core.simd import clear, load, store
from ..core.status import OK
from ..linalg.block_ldl import load_3x3
from ..linalg.block_matrix import (
    BlockMatrix,
    add_3,
    inverse_of,
    load_3,
    load_symmetric,
    multiply,
    store_3,
    store_symmetric,
    to_scipy,
)
from ..linalg.conjugate_gradient import INDEFINITE, NOT_CONVERGED, Limits, Problem, Workspace, conjugate_gradient
from ..linalg.deflation import CoarseSpace, CoarseWork
from ..linalg.krylov import add_multiple, inner, turn
from ..model.tables import System
from .carriers import (
    FACTOR,
    INERTIA,
    PROJECT,
    RESPOND,
    SPREAD,
    begin_wrenches,
    body_momentum,
    call_carriers,
    end_wrenches,
    spread,
)
from .contact import (
    axis_of,
    carried_by_foot,
    carried_part,
    foot_arm,
    foot_body,
    foot_grip,
    foot_tangent,
    free_part,
    friction_at,
    is_carried,
    locked_part,
    missing_displacement,
    push_by_friction,
    push_carriers,
    push_foot,
    share_of_foot,
    slides,
    slip_at,
)
from .driven import is_driven
from .tables import BODY_ROW, CARRIED, Steps

# Tables of conjugate gradients ----------------------------------------------------------------------------------------


@inlined
def matrix_of(steps):
    """The block matrix of the particles."""
    return BlockMatrix(steps.starts, steps.columns, steps.values)


@inlined
def space_of(steps):
    """The coarse space of deflation."""
    at = steps.space
    return CoarseSpace(
        at.position, at.starts, at.columns, at.sources, at.patch, at.patches,
        at.h_starts, at.h_columns, at.slots, at.targets, at.own, at.pivots, at.below,
        at.updates,
    )  # fmt: skip


@inlined
def coarse_of(steps):
    """The workspace of deflation."""
    at = steps.coarse
    return CoarseWork(
        at.held_by, at.led_by, at.frame, at.back, at.upper, at.h, at.z, at.t, at.e,
        at.g, at.exact_back, at.exact_upper, at.exact_h, at.exact_z, at.exact_t,
        at.exact_e, at.exact_g, at.row, at.block, at.values, at.lower, at.c,
        at.y, at.w,
    )  # fmt: skip


@inlined
def work_of(n, steps):
    """The workspace of conjugate gradients for n numbers."""
    return Workspace(part_of(steps.direction, 0, n), part_of(steps.residual, 0, n))


@njit
def list_constrained(steps):
    """Fill the table of constrained nodes: pinned particles and locked ones. Returns their number."""
    touches, pinned, held = steps.touches, steps.pinned, steps.held
    number = 0
    for k in range(pinned.shape[0]):
        held[number].node, held[number].fixed = pinned[k], 3
        number += 1
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        if touch.locked > 0:
            row = held[number]
            row.node, row.fixed = touch.particle, touch.locked
            if touch.locked == 1:
                store3(row.direction, axis_of(touch, 0))
            elif touch.locked == 2:
                store3(row.direction, cross(axis_of(touch, 0), axis_of(touch, 1)))
            number += 1
    return number


@njit
def solve_filtered(tolerance, n, steps):
    """Filtered conjugate gradients for n numbers, from the guess in `change`. Returns a status of `linalg`."""
    held = steps.held[: list_constrained(steps)]
    problem = Problem(matrix_of(steps), held, space_of(steps), part_of(steps.rhs, 0, n))
    limits = Limits(tolerance, steps.options[0].linear_iterations)
    status = conjugate_gradient(
        problem, part_of(steps.change, 0, n), work_of(n, steps), coarse_of(steps), limits, steps.solution[0]
    )
    steps.report[0].linear += steps.solution[0].iterations
    return status


@njit
def apply(u, out, system, steps):
    """out = A u of all particles."""
    if steps.options[0].explicit == 0:
        multiply(matrix_of(steps), u, out)
        return
    mass, weight = system.particle_mass, steps.stage[0].weight
    for i in range(mass.shape[0]):
        for k in range(3 * i, 3 * i + 3):
            store(out, k, weight * load(mass, i) * load(u, k))


# Conjugate gradients for particles and bodies at once -----------------------------------------------------------------


@njit
def expand(z, u, system, steps):
    """u = T z: displacements of particles from the unknowns of particles and bodies."""
    touches, pinned = steps.touches, steps.pinned
    n = 3 * system.settings[0].particles
    for k in range(n):
        store(u, k, load(z, k))
    spread(z, steps.twists, system, steps)
    for k in range(pinned.shape[0]):
        store_3(u, 3 * pinned[k], (0.0, 0.0, 0.0))
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        i = 3 * touch.particle
        u_i = load_3(u, i)
        along = sub(locked_part(touch, u_i), carried_part(touch, steps.twists, system))
        store_3(u, i, sub(u_i, along))


@njit
def gather(w, q, system, steps):
    """q = Tᵀ w: forces on particles become those on the unknowns."""
    touches, pinned = steps.touches, steps.pinned
    n = 3 * system.settings[0].particles
    for k in range(n):
        store(q, k, load(w, k))
    for k in range(n, q.shape[0]):
        store(q, k, 0.0)
    begin_wrenches(q, system, steps)
    for k in range(pinned.shape[0]):
        store_3(q, 3 * pinned[k], (0.0, 0.0, 0.0))
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        i = 3 * touch.particle
        reaction = locked_part(touch, load_3(w, i))
        add_3(q, i, scale(-1.0, reaction))
        push_carriers(touch, reaction, steps.wrenches, system)
    end_wrenches(q, system, steps)


@njit
def add_inertia(z, q, system, steps):
    """q += w M (δ, θ) of all bodies."""
    n, weight = 3 * system.settings[0].particles, steps.stage[0].body_weight
    if steps.options[0].carriers != 0:
        c = steps.offset.shape[0]
        call_carriers(INERTIA, weight, part_of(z, n, c), part_of(q, n, c), steps)
        return
    for b in range(system.settings[0].rigid):
        at = n + BODY_ROW * b
        m, spin = body_momentum(b, load_3(z, at), load_3(z, at + 3), steps)
        add_3(q, at, scale(weight, m))
        add_3(q, at + 3, scale(weight, spin))


@njit
def coupled_product(z, q, u, system, steps):
    """q = (Tᵀ A T + inertia) z; u is scratch of the size of z."""
    expand(z, u, system, steps)
    apply(u, steps.image, system, steps)
    add_slip_of_particles(u, steps.image, system, steps)
    gather(steps.image, q, system, steps)
    add_inertia(z, q, system, steps)
    add_slip_of_bodies(1.0, u, q, system, steps)


# κ times the slip of sliding touches. u and `twists` are those of `expand`.
@njit
def add_slip_of_particles(u, image, system, steps):
    """Add it to the forces on particles, where the matrix lacks it."""
    touches, explicit = steps.touches, steps.options[0].explicit != 0
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        if not slides(touch):
            continue
        i = 3 * touch.particle
        own, force = load_3(u, i), (0.0, 0.0, 0.0)
        for c in range(touch.feet):
            slip = slip_at(touch, c, own, steps.twists, system)
            if not explicit:
                slip = sub(slip, foot_tangent(touch, c, own))
            force = add_scaled(force, foot_grip(touch, c), slip)
        add_3(image, i, force)


@njit
def add_slip_of_bodies(sign, u, q, system, steps):
    """Add `sign` times it to the forces on bodies in q."""
    touches, sliding = steps.touches, False
    for k in range(steps.touch_counts[0]):
        sliding = sliding or slides(touches[k])
    if not sliding:
        return
    begin_wrenches(q, system, steps)
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        for c in range(touch.feet if slides(touch) else 0):
            if foot_body(touch, c) < system.settings[0].rigid:
                slip = slip_at(touch, c, load_3(u, 3 * touch.particle), steps.twists, system)
                push_foot(touch, c, scale(-sign * foot_grip(touch, c), slip), steps.wrenches)
    end_wrenches(q, system, steps)


@njit
def solve_coupled(tolerance, system, steps):
    """Conjugate gradients for particles and bodies at once; see the head of this file."""
    report, rhs, change = steps.report[0], steps.rhs, steps.change
    z, r, p, q, s, u = steps.d, steps.residual, steps.direction, steps.g, steps.scaled, steps.t
    n, total = 3 * system.settings[0].particles, rhs.shape[0]
    apply(change, steps.image, system, steps)
    spread(change, steps.twists, system, steps)
    add_slip_of_particles(change, steps.image, system, steps)
    for k in range(n):
        store(u, k, load(rhs, k) - load(steps.image, k))
    gather(u, r, system, steps)
    add_slip_of_bodies(-1.0, change, r, system, steps)
    for k in range(n, total):
        store(r, k, load(r, k) + load(rhs, k))
    clear(z)
    clear(p)
    if not invert_blocks(system, steps):
        return INDEFINITE
    goal, last, status = -1.0, 1.0, NOT_CONVERGED
    for iteration in range(steps.options[0].linear_iterations):
        precondition(r, s, system, steps)
        square = inner(r, s)
        if goal < 0.0:
            goal = tolerance * tolerance * square
        if square <= goal:
            status = OK
            break
        turn(p, square / last if iteration > 0 else 0.0, s)
        last = square
        coupled_product(p, q, u, system, steps)
        report.linear += 1
        curvature = inner(p, q)
        if not curvature > 0.0:
            return INDEFINITE
        add_multiple(z, square / curvature, p)
        add_multiple(r, -square / curvature, q)
    expand(z, u, system, steps)
    for k in range(total):
        store(change, k, load(change, k) + (load(u, k) if k < n else load(z, k)))
    return status


@njit
def invert_blocks(system, steps):
    """The inverse blocks on the diagonal: 9 numbers a particle, then 9 + 9 a body. Returns whether all are definite."""
    stage, diagonal, mass = steps.stage[0], steps.diagonal, system.particle_mass
    explicit = steps.options[0].explicit != 0
    n = mass.shape[0]
    good = True
    for i in range(n):
        m = stage.weight * load(mass, i)
        block = (m, m, m, 0.0, 0.0, 0.0) if explicit else load_symmetric(steps.values, 9 * steps.starts[i])
        inverse, definite = inverse_of(block)
        store_symmetric(diagonal, 9 * i, inverse, 1.0)
        good = good and definite
    if steps.options[0].carriers != 0:
        return weigh_carriers(explicit, system, steps) and good
    for b in range(system.settings[0].rigid):
        at = 9 * (n + 2 * b)
        for k in range(18):
            store(diagonal, at + k, 0.0)
        for c in range(3):
            m, spin = body_momentum(b, unit(c), unit(c), steps)
            for r in range(3):
                store(diagonal, at + 3 * r + c, stage.body_weight * m[r])
                store(diagonal, at + 9 + 3 * r + c, stage.body_weight * spin[r])
    touches = steps.touches
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        for c in range(touch.feet if touch.locked > 0 else 0):
            if foot_body(touch, c) < system.settings[0].rigid:
                add_carried_block(touch, c, explicit, n, system, steps)
    for b in range(2 * system.settings[0].rigid):
        inverse, definite = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), True  # of a body that does not respond
        if not is_driven(b // 2, steps):
            inverse, definite = inverse_of(load_symmetric(diagonal, 9 * (n + b)))
        store_symmetric(diagonal, 9 * (n + b), inverse, 1.0)
        good = good and definite
    return good


@njit
def add_carried_block(touch, foot, explicit, n, system, steps):
    """Add a locked particle's own block, as seen by the body of a foot, to the blocks of that."""
    diagonal = steps.diagonal
    m = steps.stage[0].weight * load(system.particle_mass, touch.particle)
    arm, at = foot_arm(touch, foot), 9 * (n + 2 * foot_body(touch, foot))
    for c in range(3):
        push = carried_force(touch, foot, m, unit(c), explicit, steps)
        moment = cross(arm, carried_force(touch, foot, m, cross(unit(c), arm), explicit, steps))
        for r in range(3):
            store(diagonal, at + 3 * r + c, load(diagonal, at + 3 * r + c) + push[r])
            store(diagonal, at + 9 + 3 * r + c, load(diagonal, at + 9 + 3 * r + c) + moment[r])


@njit
def weigh_carriers(explicit, system, steps):
    """The locked particles' own blocks, as seen by their carriers, for the preconditioner of these. Returns whether it is
    definite."""
    touches, carried = steps.touches, steps.carried
    clear(carried)
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        for c in range(touch.feet if touch.locked > 0 else 0):
            if foot_body(touch, c) < system.settings[0].rigid:
                weigh_carrier(touch, c, explicit, system, steps)
    return call_carriers(FACTOR, steps.stage[0].body_weight, carried, steps.own, steps) == OK


@njit
def weigh_carrier(touch, foot, explicit, system, steps):
    """Add what the body of a foot carries to `carried`."""
    carried = steps.carried
    m = steps.stage[0].weight * load(system.particle_mass, touch.particle)
    arm, at = foot_arm(touch, foot), CARRIED * foot_body(touch, foot)
    for c in range(3):
        push = carried_force(touch, foot, m, unit(c), explicit, steps)
        turned = carried_force(touch, foot, m, cross(unit(c), arm), explicit, steps)
        add_column(c, push, at, carried)
        for r in range(3):
            store(carried, at + 6 + 3 * r + c, load(carried, at + 6 + 3 * r + c) + turned[r])
        add_column(c, cross(arm, turned), at + 15, carried)


@inlined
def add_column(c, v, at, symmetric):
    """Add a column to a symmetric matrix, of which (xx, yy, zz, xy, xz, yz) are kept."""
    store(symmetric, at + c, load(symmetric, at + c) + v[c])
    for r in range(c):
        k = at + 2 + r + c
        store(symmetric, k, load(symmetric, k) + v[r])


@njit
def carried_force(touch, foot, m, v, explicit, steps):
    """The force of a foot on its body per displacement v of that."""
    push = block_times(touch.particle, m, carried_by_foot(touch, foot, v), explicit, steps)
    return add_scaled(share_of_foot(touch, foot, push), foot_grip(touch, foot), foot_tangent(touch, foot, v))


@inlined
def block_times(i, m, v, explicit, steps):
    """The block of a particle on the diagonal times v."""
    if explicit:
        return (m * v[0], m * v[1], m * v[2])
    return matvec(load_3x3(steps.values, 9 * steps.starts[i]), v)


@njit
def precondition(r, s, system, steps):
    """s = r by the inverse blocks, filtered by the locked directions."""
    diagonal, touches = steps.diagonal, steps.touches
    n, c = system.settings[0].particles, steps.offset.shape[0]
    coupled = steps.options[0].carriers != 0
    for i in range(n if coupled else r.shape[0] // 3):
        store_3(s, 3 * i, matvec(load_3x3(diagonal, 9 * i), load_3(r, 3 * i)))
    if coupled:
        call_carriers(RESPOND, steps.stage[0].body_weight, part_of(r, 3 * n, c), part_of(s, 3 * n, c), steps)
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        i = 3 * touch.particle
        store_3(s, i, free_part(touch, load_3(s, i)))


# The system of a Newton step ------------------------------------------------------------------------------------------

FROM_ZERO, FROM_AIM, FROM_CHANGE = range(3)


@njit
def assemble(callbacks, system, steps):
    """The matrix of a Newton step at `iterate`: w M − ∂f/∂x. Returns a status."""
    if steps.options[0].explicit != 0:
        return OK
    stage, values, starts = steps.stage[0], steps.values, steps.starts
    mass = system.particle_mass
    clear(values)
    system.settings[0].rate = 1.0 / stage.tau
    status = call_pointer(
        callbacks.mechanism, callbacks.mechanism_data, PARTICLE_MATRIX, stage.time, steps.iterate, values
    )
    for i in range(mass.shape[0]):
        at = 9 * starts[i]
        for k in range(0, 9, 4):
            store(values, at + k, load(values, at + k) + stage.weight * load(mass, i))
    return status


@njit
def solve(guess, tolerance, system, steps):
    """`change` with A change = −gradient, and A change in `image`, particle by particle. Returns a status of `linalg`.

    guess : the first iterate: FROM_ZERO, FROM_AIM (the free motion) or FROM_CHANGE (the present `change`).
    """
    options, n = steps.options[0], 3 * system.settings[0].particles
    gradient, rhs, change = steps.gradient, steps.rhs, steps.change
    for k in range(rhs.shape[0]):
        store(rhs, k, -load(gradient, k))
    explicit, coupled = options.explicit != 0, add_friction_to_rhs(system, steps)
    fill_guess(FROM_ZERO if coupled or explicit or options.direct != 0 else guess, n, change, system, steps)
    fill_prescribed(system, steps)
    if not explicit:
        add_friction_to_matrix(1.0, steps)
    if options.direct != 0:
        status = call_pointer(options.direct, 0, SOLVE, 0.0, rhs, change)
    elif coupled:
        status = solve_coupled(tolerance, system, steps)
    else:
        move_untouched_bodies(n, steps)
        status = solve_diagonal(system, steps) if explicit else solve_filtered(tolerance, n, steps)
    if not explicit:
        add_friction_to_matrix(-1.0, steps)
    spread(change, steps.shift, system, steps)
    apply(change, steps.image, system, steps)
    count_solve(status, steps.report[0])
    return status


@njit
def count_solve(status, report):
    """Count a linear solve by how it ended."""
    report.solves += 1
    if status == INDEFINITE:
        report.indefinite += 1
    elif status != OK:
        report.unconverged += 1


@njit
def fill_guess(guess, n, change, system, steps):
    """Fill `change` with a guess. A single linear step starts from the accelerations of the step before."""
    aim, iterate, pinned, options = steps.aim, steps.iterate, steps.pinned, steps.options[0]
    start, before, inverse = steps.start, steps.before, system.particle_inverse_mass
    if guess != FROM_CHANGE:
        clear(change)
    if guess == FROM_AIM:
        for k in range(n):
            store(change, k, load(aim, k) - load(iterate, k))
    if guess == FROM_AIM and options.linear != 0 and options.history != 0:
        for k in range(n):
            gain = load(inverse, k // 3) * (load(start, n + k) - load(before, n + k))
            store(change, k, load(change, k) + options.dt * gain)
    for k in range(pinned.shape[0]):
        store_3(change, 3 * pinned[k], (0.0, 0.0, 0.0))


@njit
def fill_prescribed(system, steps):
    """Fill the prescribed displacements of locked particles into `change`."""
    touches, change = steps.touches, steps.change
    for k in range(steps.touch_counts[0]):
        if touches[k].locked > 0:
            i = 3 * touches[k].particle
            free = free_part(touches[k], load_3(change, i))
            store_3(change, i, add(free, missing_displacement(touches[k], system, steps)))


@njit
def add_friction_to_rhs(system, steps):
    """Add friction to `rhs`, on particles and on their carriers. Returns whether any carrier is a body that moves."""
    touches, rhs = steps.touches, steps.rhs
    coupled = False
    begin_wrenches(rhs, system, steps)
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        if touch.locked == 0:
            continue
        friction = friction_at(touch, 0.0, 0.0, system, steps)
        add_3(rhs, 3 * touch.particle, friction)
        coupled = coupled or is_carried(touch, steps)
        push_by_friction(touch, -1.0, steps.wrenches, system, steps)
    end_wrenches(rhs, system, steps)
    return coupled


@njit
def add_friction_to_matrix(sign, steps):
    """Add sign κ (1 − n nᵀ) of sliding feet to the blocks of particles."""
    touches, values, starts = steps.touches, steps.values, steps.starts
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        if not slides(touch):
            continue
        at = 9 * starts[touch.particle]
        for c in range(3):
            column = scale(sign, grip_times(touch, unit(c)))
            for r in range(3):
                store(values, at + 3 * r + c, load(values, at + 3 * r + c) + column[r])


@njit
def grip_times(touch, v):
    """Σ κ (1 − n nᵀ) v of the feet of a touch."""
    out = (0.0, 0.0, 0.0)
    for c in range(touch.feet):
        out = add_scaled(out, foot_grip(touch, c), foot_tangent(touch, c, v))
    return out


@njit
def move_untouched_bodies(n, steps):
    """Fill the displacements of bodies that no particle touches into `change`."""
    change, moved, wanted = steps.change, steps.moved, steps.wanted
    if steps.options[0].carriers != 0:
        for k in range(steps.offset.shape[0]):
            store(change, n + k, -load(steps.offset, k))
        return
    for k in range(moved.shape[0]):
        store(change, n + k, load(wanted, k) - load(moved, k))


@njit
def solve_diagonal(system, steps):
    """Solve where the matrix is diagonal and no body takes part."""
    rhs, change, touches = steps.rhs, steps.change, steps.touches
    mass, weight = system.particle_mass, steps.stage[0].weight
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        i = 3 * touch.particle
        m = weight * load(mass, touch.particle)
        grip = touch.grip
        if touch.feet > 1:  # a free direction is along the surfaces of all feet
            grip = touch.grips[0] + touch.grips[1] + (touch.grips[2] if touch.feet > 2 else 0.0)
        store_3(rhs, i, scale(m / (m + grip), free_part(touch, load_3(rhs, i))))
    for i in range(mass.shape[0]):
        w = 1.0 / (weight * load(mass, i))
        for k in range(3 * i, 3 * i + 3):
            store(change, k, load(change, k) + w * load(rhs, k))
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
        store(u, k, load(gradient, k))
    for k in range(steps.touch_counts[0]):
        add_3(u, 3 * touches[k].particle, scale(-1.0, friction_at(touches[k], 0.0, 0.0, system, steps)))
    gather(u, q, system, steps)
    begin_wrenches(q, system, steps)
    for k in range(steps.touch_counts[0]):
        push_by_friction(touches[k], 1.0, steps.wrenches, system, steps)
    end_wrenches(q, system, steps)
    for k in range(n, q.shape[0]):
        store(q, k, load(q, k) + load(gradient, k))
    if steps.options[0].carriers != 0:
        own, c = steps.own, steps.offset.shape[0]
        call_carriers(PROJECT, 1.0, part_of(q, n, c), own, steps)
        for k in range(c):
            store(q, n + k, load(own, k))
    else:
        for b in range(system.settings[0].rigid):
            if is_driven(b, steps):
                store_3(q, n + BODY_ROW * b, (0.0, 0.0, 0.0))
                store_3(q, n + BODY_ROW * b + 3, (0.0, 0.0, 0.0))
    total = 0.0
    for k in range(q.shape[0]):
        total += load(q, k) * load(q, k)
    return math.sqrt(total)


# Direct solver --------------------------------------------------------------------------------------------------------
# Tᵀ (A + inertia) T z = Tᵀ (b − A p) and d = T z + p by SciPy's sparse LU: for few unknowns, and as a reference.


class DirectSolver:
    """Called by a step through a C pointer: (right-hand side, prescribed displacements) → the solution, in place."""

    def __init__(self, system: System, steps: Steps) -> None:
        self.system, self.steps = system, steps

    def __call__(self, data: int, task: int, t: float, rhs: int, m: int, change: int, also: int) -> int:
        from scipy.sparse import block_diag  # SciPy's parts are slow to load, and most runs need none
        from scipy.sparse.linalg import splu

        b, d = view(rhs, m), view(change, m)
        steps = self.steps
        matrix = to_scipy(BlockMatrix(steps.starts, steps.columns, steps.values))
        basis = self._basis()
        if steps.options.carriers[0] != 0:
            return self._solve_carried(b, d, matrix, basis)
        bodies = self._inertia()
        whole = block_diag([matrix, *bodies], format="csc") if bodies else matrix
        whole = whole + self._friction(whole.shape[0])
        moving = np.repeat(self.steps.driven[:-1] == 0, BODY_ROW)
        basis = basis[:, np.concatenate([moving, np.ones(basis.shape[1] - moving.size, bool)])]
        reduced = (basis.T @ whole @ basis).tocsc()
        try:
            factor = splu(reduced, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:  # exactly singular
            return INDEFINITE
        prescribed = d.copy()
        d[:] = basis @ factor.solve(basis.T @ (b - whole @ prescribed)) + prescribed
        return OK

    def _solve_carried(self, b: np.ndarray, d: np.ndarray, matrix: Any, basis: Any) -> int:
        """The same where the bodies have coordinates of their own, X = J ζ with ζ among those that joints allow."""
        from scipy.sparse import block_diag, csc_array
        from scipy.sparse.linalg import spsolve

        n, weight = matrix.shape[0], float(self.steps.stage.body_weight[0])
        motions, inertia, allowed = self._carriers()
        twists = motions.shape[0]
        whole = block_diag([matrix, csc_array((twists, twists))], format="csc") + self._friction(n + twists)
        basis = basis @ block_diag([csc_array(motions @ allowed), csc_array(np.eye(basis.shape[1] - twists))])
        bodies = allowed.T @ (weight * inertia) @ allowed
        own = np.zeros((basis.shape[1], basis.shape[1]))
        own[: len(bodies), : len(bodies)] = bodies
        prescribed = np.concatenate([d[:n], np.zeros(twists)])
        right = basis.T @ (np.concatenate([b[:n], np.zeros(twists)]) - whole @ prescribed)
        right[: len(bodies)] += allowed.T @ b[n:]
        found = spsolve((basis.T @ whole @ basis + csc_array(own)).tocsc(), right)
        if not np.isfinite(found).all():
            return INDEFINITE
        d[:n] += (basis @ found)[:n]
        d[n:] = allowed @ found[: len(bodies)]
        return OK

    def _carriers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """J (6 b × c), M (c × c), and a basis of the ζ that joints allow, the range of RESPOND."""
        options, c = self.steps.options[0], len(self.steps.offset)
        call = C_TYPE(int(options.carriers))

        def columns(task: int, rows: int) -> np.ndarray:
            found = np.zeros((c, rows))
            for source, target in zip(np.eye(c), found, strict=True):
                call(int(options.carriers_data), task, 1.0, source.ctypes.data, c, target.ctypes.data, rows)
            return found.T

        nothing = np.zeros_like(self.steps.carried)
        call(
            int(options.carriers_data),
            FACTOR,
            1.0,
            nothing.ctypes.data,
            nothing.size,
            nothing.ctypes.data,
            nothing.size,
        )
        inertia = columns(INERTIA, c)
        left, sizes, _ = np.linalg.svd(
            columns(RESPOND, c) @ inertia
        )  # a projector: its singular values are 0, or above 1
        return columns(SPREAD, len(self.steps.twists)), inertia, left[:, sizes > 0.5]

    def _inertia(self) -> list[np.ndarray]:
        """The mass matrices of bodies times their weight, two 3×3 blocks each."""
        weight = float(self.steps.stage[0].body_weight)
        blocks = []
        for m, xx, yy, zz, xy, xz, yz in self.steps.inertia.reshape(-1, 7):
            blocks += [weight * m * np.eye(3), weight * np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])]
        return blocks

    def _friction(self, size: int) -> Any:
        """The part of sliding friction in the matrix besides the blocks of particles: −κ P J, its transpose, and κ Jᵀ P J."""
        from scipy.sparse import csc_array

        n, rigid = int(self.system.settings[0].particles), int(self.system.settings[0].rigid)
        rows, columns, entries = [], [], []
        for touch in self.steps.touches[: int(self.steps.touch_counts[0])]:
            for body, arm, _, plane, grip in _feet(touch, rigid):
                carried = plane @ _point_jacobian(arm)
                both = np.block([[np.zeros((3, 3)), -carried], [-carried.T, carried.T @ carried]])
                at = np.concatenate([3 * int(touch.particle) + np.arange(3), 3 * n + BODY_ROW * body + np.arange(6)])
                r, c = np.meshgrid(at, at, indexing="ij")
                rows.append(r.ravel())
                columns.append(c.ravel())
                entries.append(grip * both.ravel())
        if not entries:
            return csc_array((size, size))
        return csc_array((np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))), shape=(size, size))

    def _basis(self) -> Any:
        """T, of all particles and bodies: (m, unknowns)."""
        from scipy.sparse import csc_array

        n, rigid = int(self.system.settings[0].particles), int(self.system.settings[0].rigid)
        held = np.zeros((n, 3, 3))
        held[self.steps.pinned] = np.eye(3)
        rows: list[Any] = [np.arange(3 * n, 3 * n + BODY_ROW * rigid)]
        columns: list[Any] = [np.arange(BODY_ROW * rigid)]
        entries: list[Any] = [np.ones(BODY_ROW * rigid)]
        for touch in self.steps.touches[: int(self.steps.touch_counts[0])]:
            axes = np.array(touch.axes).reshape(3, 3)[: int(touch.locked)]
            along = axes.T @ axes
            held[int(touch.particle)] = along
            for body, arm, given, _, _ in _feet(touch, rigid):
                carried = given @ _point_jacobian(arm)
                r, c = np.meshgrid(np.arange(3), np.arange(BODY_ROW), indexing="ij")
                rows.append((3 * int(touch.particle) + r).ravel())
                columns.append((BODY_ROW * body + c).ravel())
                entries.append(carried.ravel())
        free = BODY_ROW * rigid
        loose = ~held.any(axis=(1, 2))
        at = (3 * np.nonzero(loose)[0][:, None] + np.arange(3)).ravel()
        rows.append(at)
        columns.append(free + np.arange(at.size))
        entries.append(np.ones(at.size))
        free += at.size
        for i in np.nonzero(~loose)[0]:
            sizes, vectors = np.linalg.eigh(held[i])
            for k in np.nonzero(sizes < 0.5)[0]:
                rows.append(3 * i + np.arange(3))
                columns.append(np.full(3, free))
                entries.append(vectors[:, k])
                free += 1
        joined = np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))
        return csc_array(joined, shape=(3 * n + BODY_ROW * rigid, free))


def _feet(touch: Any, rigid: int) -> list[tuple[int, np.ndarray, np.ndarray, np.ndarray, float]]:
    """Body, arm, the matrices of `carried_by_foot` and `foot_tangent`, and κ of each foot that is at a body."""
    axes, several = np.array(touch.axes).reshape(3, 3), int(touch.feet) > 1
    if not several:
        normals, held = axes[: int(touch.normals)], axes[: int(touch.locked)]
        sliding = touch.stick == 0 and touch.normals > 0
        plane, grip = np.eye(3) - normals.T @ normals, float(touch.grip) if sliding else 0.0
        feet = [(int(touch.body), np.array(touch.arm), held.T @ held, plane, grip)]
        return [foot for foot in feet if foot[0] < rigid]
    arms, bases, lean = (np.array(own).reshape(3, 3) for own in (touch.arms, touch.bases, touch.lean))
    locked, feet = int(touch.locked), []
    for c in range(int(touch.feet)):
        n = bases[c]
        given = np.outer(axes[:locked].T @ lean[:locked, c], n)
        feet.append((int(touch.bodies[c]), arms[c], given, np.eye(3) - np.outer(n, n), float(touch.grips[c])))
    return [foot for foot in feet if foot[0] < rigid]


def _point_jacobian(arm: np.ndarray) -> np.ndarray:
    """(3, 6): the displacement of a point at `arm` from a body's displacement and turn."""
    x, y, z = arm
    return np.hstack([np.eye(3), -np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])])
