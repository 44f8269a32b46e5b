"""Newton's method for a stage: projected Hessians, a line search that never accepts a rise, rounds about contacts."""

import math

from ..arrays import clear, copy
from ..jit import inlined, njit
from ..linalg.block_matrix import load_3, store_3
from ..mechanics.system import particle_mass_of, settings_of
from ..status import NON_FINITE, OK
from ..ticks import lap
from ..unchecked import peek, poke
from ..vec import dot, store3
from .linear import FROM_AIM, FROM_CHANGE, FROM_ZERO, assemble, reduced_norm, solve
from .review import measure_touches, review
from .stage import evaluate, fill_gradient, keep_power, move, move_bodies, predict, typical_forces
from .tables import BODY_ROW, CONTACTS, EXPLICIT, FORCES, LINEAR, LINEAR_EULER, MATRIX
from .tables_of import (
    change_of,
    forces_of,
    gradient_of,
    image_of,
    options_of,
    place_of,
    report_of,
    stage_of,
    ticks_of,
    touch_counts_of,
    touches_of,
    trial_forces_of,
    trial_of,
)
from .touch import body_point, friction_at, missing

SUFFICIENT = 1e-4  # Armijo's: of the decrease that the slope promises
HALVINGS = 40
ROUNDING = 1e-11  # of the energy: a smaller change of it is read off the gradients instead
NEGLIGIBLE = 1e-12  # of the typical force


@njit
def minimize(walls, particles, system, steps):
    """Solve the stage from where `begin_stage` set out. Returns a status; what was reached is in `place`, with its forces."""
    options, stage, report = options_of(steps)[0], stage_of(steps)[0], report_of(steps)[0]
    place, forces = place_of(steps), forces_of(steps)
    once = options.scheme == EXPLICIT or options.scheme == LINEAR_EULER
    status = evaluate(walls, place, forces, system, steps)
    if status == OK and options.predict != 0:
        predict(system, steps)
        status = evaluate(walls, place, forces, system, steps)
    if status != OK:
        return status
    lap(ticks_of(steps), FORCES)
    keep_power(system, steps)
    applied, stage.typical = typical_forces(place, forces, system, steps)
    # Relative to the forces: most of the right-hand side of a single solve may be the momentum that particles have anyway.
    share = applied / stage.typical if once and stage.typical > 0.0 else 1.0
    guess, last = FROM_AIM, math.inf
    for iteration in range(1 if once else options.newton):
        fill_gradient(place, forces, gradient_of(steps), system, steps)
        stage.residual = reduced_norm(steps, system)
        if stage.residual - stage.residual != 0.0:  # infinite, or not a number: no step gets away from there
            return NON_FINITE
        pending = unsettled(system, steps)
        if not once and not pending and (stage.residual <= options.tolerance * stage.typical or stalled(last, steps)):
            if contacts_agree(iteration, particles, system, steps):
                break
            fill_gradient(place, forces, gradient_of(steps), system, steps)
            pending = True
        last = stage.residual
        report.newton += 1
        status = assemble(walls, system, steps)
        if status != OK:
            return status
        lap(ticks_of(steps), MATRIX)
        pending = settle(guess, iteration, once, share, particles, system, steps) or pending
        guess = FROM_ZERO
        if once:
            return accept_whole(walls, system, steps)
        status, moved = search(walls, pending, system, steps)
        if status != OK:
            return status
        if not moved:
            break
        keep_power(system, steps)
        lap(ticks_of(steps), FORCES)
    note(system, steps)
    return OK


@inlined
def stalled(last, steps):
    """Whether a step that changed the energy by no more than it is rounded to has not brought the gradient down either."""
    stage = stage_of(steps)[0]
    return stage.residual >= last and abs(stage.slope) <= ROUNDING * abs(stage.energy)


@njit
def note(system, steps):
    """How far the stage was solved, and what contacts bear where it ends: what is missing to balance there. Left in
    `gradient` is what particles lack that nothing holds; see `step.finish`."""
    options, stage, report = options_of(steps)[0], stage_of(steps)[0], report_of(steps)[0]
    fill_gradient(place_of(steps), forces_of(steps), gradient_of(steps), system, steps)
    stage.residual = reduced_norm(steps, system)
    touches = touches_of(steps)
    for k in range(touch_counts_of(steps)[0]):
        touch = touches[k]
        i = 3 * touch.particle
        store3(touch.force, load_3(gradient_of(steps), i) if touch.locked > 0 else (0.0, 0.0, 0.0))
        if touch.locked > 0:
            store_3(gradient_of(steps), i, (0.0, 0.0, 0.0))
    relative = stage.residual / stage.typical if stage.typical > 0.0 else 0.0
    report.worst = max(report.worst, relative)
    if relative > options.tolerance:
        report.unsolved += 1


@njit
def contacts_agree(iteration, particles, system, steps):
    """Whether contacts hold as they should where the gradient vanishes but for what they bear."""
    if touch_counts_of(steps)[0] == 0:
        return True
    clear(change_of(steps))
    clear(image_of(steps))
    measure_touches(system, steps)
    changed, rubbed = review(iteration, particles, system, steps)
    lap(ticks_of(steps), CONTACTS)
    return changed == 0 and rubbed == 0


@njit
def settle(guess, iteration, once, share, particles, system, steps):
    """Linear solves until the contacts agree with them, to the tolerance times `share`; friction, which never brings energy,
    has one more to agree. Returns whether any contact changed."""
    options, stage = options_of(steps)[0], stage_of(steps)[0]
    tolerance = max(1e-12, options.linear_tolerance * share)
    if not once and stage.typical > 0.0:
        tolerance = min(tolerance, max(1e-12, stage.residual / stage.typical))
    any_changed, agreed = False, False
    for k in range(options.rounds):
        solve(guess, tolerance, system, steps)
        guess = FROM_CHANGE
        lap(ticks_of(steps), LINEAR)
        if touch_counts_of(steps)[0] == 0:
            return False
        measure_touches(system, steps)
        if k == options.rounds - 1:
            break
        changed, rubbed = review(iteration, particles, system, steps)
        lap(ticks_of(steps), CONTACTS)
        if changed == 0 and (rubbed == 0 or agreed):
            break
        agreed = changed == 0
        any_changed = any_changed or changed > 0
    return any_changed


@njit
def unsettled(system, steps):
    """Whether a locked particle is not yet where its lock wants it."""
    touches, margin = touches_of(steps), options_of(steps)[0].margin
    for k in range(touch_counts_of(steps)[0]):
        gap = missing(touches[k], system, steps)
        if abs(gap[0]) + abs(gap[1]) + abs(gap[2]) > 1e-9 * margin:
            return True
    return False


@njit
def accept_whole(walls, system, steps):
    """Make the only step of a stage; the books ask for powers there, but for those of the explicit scheme. A status."""
    move(place_of(steps), change_of(steps), 1.0, trial_of(steps), system, steps)
    copy(place_of(steps), trial_of(steps))
    move_bodies(1.0, change_of(steps), system, steps)
    if options_of(steps)[0].scheme == EXPLICIT:
        return OK
    status = OK
    if options_of(steps)[0].powers != 0:
        status = evaluate(walls, place_of(steps), trial_forces_of(steps), system, steps)
        keep_power(system, steps)
    make_forces_linear(system, steps)
    lap(ticks_of(steps), FORCES)
    return status


# What moves particles in a single solve is f − (A − w M) d, which is f at the end but for second order.
@njit
def make_forces_linear(system, steps):
    """The forces of a step of one linear solve, as that has them, in place of those where it starts."""
    forces, change, image, mass = forces_of(steps), change_of(steps), image_of(steps), particle_mass_of(system)
    n = 3 * settings_of(system)[0].particles
    for k in range(n):
        inertial = stage_of(steps)[0].weight * peek(mass, k // 3) * peek(change, k)
        poke(forces, k, peek(forces, k) + inertial - peek(image, k))


# The energy of a stage falls along a Newton step by what its conservative part falls, and by the work of the other forces
# along the step, which is taken from their mean at its ends. Where contacts have just changed, the step is made whole.
@njit
def search(walls, pending, system, steps):
    """Make a Newton step, halved until it brings the energy down. Returns a status, and whether a part of it does: if none,
    rounding is all that is left, and forces are evaluated anew where it is."""
    stage, report = stage_of(steps)[0], report_of(steps)[0]
    place, trial, change = place_of(steps), trial_of(steps), change_of(steps)
    forces, now, gradient = forces_of(steps), trial_forces_of(steps), gradient_of(steps)
    n = 3 * settings_of(system)[0].particles
    before, slope, lost = stage.energy, 0.0, 0.0
    for k in range(change.shape[0]):
        slope += peek(gradient, k) * peek(change, k)
    for k in range(n):
        lost += peek(forces, n + k) * peek(change, k)
    rubbed = friction_work(0.0, system, steps)
    slope, lost = slope - rubbed, lost + rubbed
    stage.slope = slope
    length, status = 1.0, OK
    for _ in range(HALVINGS):
        move(place, change, length, trial, system, steps)
        move_bodies(length, change, system, steps)
        status = evaluate(walls, trial, now, system, steps)
        if status == OK and (pending or falls(before, slope, lost, length, system, steps)):
            break
        move_bodies(-length, change, system, steps)
        length *= 0.5
        report.halvings += 1
        status = NON_FINITE
    if status == NON_FINITE:
        return evaluate(walls, place, forces, system, steps), False
    if status != OK:
        return status, False
    copy(place, trial)
    copy(forces, now)
    return OK, True


@njit
def falls(before, slope, lost, length, system, steps):
    """Whether the energy at `trial` is lower by enough."""
    stage, change, now = stage_of(steps)[0], change_of(steps), trial_forces_of(steps)
    n = 3 * settings_of(system)[0].particles
    lost_now = 0.0
    for k in range(n):
        lost_now += peek(now, n + k) * peek(change, k)
    lost_now += friction_work(length, system, steps)
    fall = stage.energy - before - 0.5 * length * (lost + lost_now)
    if abs(length * slope) <= ROUNDING * (abs(stage.energy) + abs(before)):
        fill_gradient(trial_of(steps), now, gradient_of(steps), system, steps)
        there = -friction_work(length, system, steps)
        for k in range(change.shape[0]):
            there += peek(gradient_of(steps), k) * peek(change, k)
        fall = 0.5 * length * (slope + there)
    return fall <= SUFFICIENT * length * slope


@njit
def friction_work(share, system, steps):
    """The work of sliding friction along `change`, as it is so much of it further on; bodies have gone that way already."""
    touches, change = touches_of(steps), change_of(steps)
    n = 3 * settings_of(system)[0].particles
    total = 0.0
    for k in range(touch_counts_of(steps)[0]):
        touch = touches[k]
        friction = friction_at(touch, share, 0.0, system, steps)
        total += dot(friction, load_3(change, 3 * touch.particle))
        if touch.body < settings_of(system)[0].rigid:
            total -= dot(friction, body_point(touch, change, n + BODY_ROW * touch.body))
    return total
