"""Newton's method for a stage: projected Hessians, rounds about contacts, steps that bring the energy down."""

import math

from ..arrays import clear, copy
from ..jit import inlined, njit
from ..linalg.block_matrix import load_3, store_3
from ..status import NON_FINITE, OK
from ..ticks import lap
from ..unchecked import peek, poke
from ..vec import store3
from .line_search import ROUNDING, search
from .linear import FROM_AIM, FROM_CHANGE, FROM_ZERO, assemble, reduced_norm, solve
from .review import measure_touches, review
from .stage import evaluate, fill_gradient, keep_power, move, predict, typical_forces
from .stage_bodies import move_bodies
from .tables import CONTACTS, FORCES, LINEAR, MATRIX
from .touch import missing


@njit
def minimize(walls, particles, system, steps):
    """Solve the stage from where `begin_stage` set out. Returns a status; what was reached is in `place`, with its forces."""
    options, stage, report = steps.options[0], steps.stage[0], steps.report[0]
    place, forces = steps.place, steps.forces
    once = options.linear != 0
    status = evaluate(walls, place, forces, system, steps)
    if status == OK and options.predict != 0:
        predict(system, steps)
        status = evaluate(walls, place, forces, system, steps)
    if status != OK:
        return status
    lap(steps.ticks, FORCES)
    keep_power(system, steps)
    applied, stage.typical = typical_forces(place, forces, system, steps)
    # Relative to the forces: most of the right-hand side of a single solve may be the momentum that particles have anyway.
    share = applied / stage.typical if once and stage.typical > 0.0 else 1.0
    guess, last = FROM_AIM, math.inf
    for iteration in range(1 if once else options.newton):
        fill_gradient(place, forces, steps.gradient, system, steps)
        stage.residual = reduced_norm(system, steps)
        if stage.residual - stage.residual != 0.0:  # infinite, or not a number: no step gets away from there
            return NON_FINITE
        pending = unsettled(system, steps)
        if not once and not pending and (stage.residual <= options.tolerance * stage.typical or stalled(last, steps)):
            if contacts_agree(iteration, particles, system, steps):
                break
            fill_gradient(place, forces, steps.gradient, system, steps)
            pending = True
        last = stage.residual
        report.newton += 1
        status = assemble(walls, system, steps)
        if status != OK:
            return status
        lap(steps.ticks, MATRIX)
        changed, solved = settle(guess, iteration, once, share, particles, system, steps)
        if once:
            return accept_whole(walls, solved, system, steps)
        guess, pending = FROM_ZERO, pending or changed
        status, moved = search(walls, pending, system, steps)
        if status != OK:
            return status
        if not moved:
            break
        keep_power(system, steps)
        lap(steps.ticks, FORCES)
    note(system, steps)
    return OK


@inlined
def stalled(last, steps):
    """Whether a step that changed the energy by no more than it is rounded to has not brought the gradient down either."""
    stage = steps.stage[0]
    return stage.residual >= last and abs(stage.slope) <= ROUNDING * abs(stage.energy)


@njit
def note(system, steps):
    """How far the stage was solved, and what contacts bear where it ends: what is missing to balance there. Left in
    `gradient` is what particles lack that nothing holds; see `step.finish`."""
    report = steps.report[0]
    relative = relative_gradient(system, steps)
    touches = steps.touches
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        i = 3 * touch.particle
        store3(touch.force, load_3(steps.gradient, i) if touch.locked > 0 else (0.0, 0.0, 0.0))
        if touch.locked > 0:
            store_3(steps.gradient, i, (0.0, 0.0, 0.0))
    report.worst = max(report.worst, relative)
    if relative > steps.options[0].tolerance:
        report.unsolved += 1


@njit
def relative_gradient(system, steps):
    """Fill the gradient where the stage is. Returns its norm besides what contacts bear, relative to the typical force."""
    stage = steps.stage[0]
    fill_gradient(steps.place, steps.forces, steps.gradient, system, steps)
    stage.residual = reduced_norm(system, steps)
    return stage.residual / stage.typical if stage.typical > 0.0 else 0.0


@njit
def contacts_agree(iteration, particles, system, steps):
    """Whether contacts hold as they should where the gradient vanishes but for what they bear."""
    if steps.touch_counts[0] == 0:
        return True
    clear(steps.change)
    clear(steps.image)
    measure_touches(system, steps)
    changed, rubbed = review(iteration, particles, system, steps)
    lap(steps.ticks, CONTACTS)
    return changed == 0 and rubbed == 0


@njit
def settle(guess, iteration, once, share, particles, system, steps):
    """Linear solves until the contacts agree with them, to the tolerance times `share`; friction, which never brings energy,
    has one more to agree. Returns whether any contact changed, and whether the last system was solved to the tolerance."""
    options, stage = steps.options[0], steps.stage[0]
    tolerance = max(1e-12, options.linear_tolerance * share)
    if not once and stage.typical > 0.0:
        tolerance = min(tolerance, max(1e-12, stage.residual / stage.typical))
    any_changed, agreed, status = False, False, OK
    for k in range(options.rounds):
        status = solve(guess, tolerance, system, steps)
        guess = FROM_CHANGE
        lap(steps.ticks, LINEAR)
        if steps.touch_counts[0] == 0:
            break
        measure_touches(system, steps)
        if k == options.rounds - 1:
            break
        changed, rubbed = review(iteration, particles, system, steps)
        lap(steps.ticks, CONTACTS)
        if changed == 0 and (rubbed == 0 or agreed):
            break
        agreed = changed == 0
        any_changed = any_changed or changed > 0
    return any_changed, status == OK


@njit
def unsettled(system, steps):
    """Whether a locked particle is not yet where its lock wants it."""
    touches, margin = steps.touches, steps.options[0].margin
    for k in range(steps.touch_counts[0]):
        gap = missing(touches[k], system, steps)
        if abs(gap[0]) + abs(gap[1]) + abs(gap[2]) > 1e-9 * margin:
            return True
    return False


@njit
def accept_whole(walls, solved, system, steps):
    """Make the only step of a stage; the books ask for powers there, but for those of the explicit scheme. A status."""
    report = steps.report[0]
    move(steps.place, steps.change, 1.0, steps.trial, system, steps)
    copy(steps.place, steps.trial)
    move_bodies(1.0, steps.change, system, steps)
    status = OK
    if steps.options[0].explicit == 0:
        if steps.options[0].powers != 0:
            status = evaluate(walls, steps.place, steps.trial_forces, system, steps)
            keep_power(system, steps)
        make_forces_linear(system, steps)
        lap(steps.ticks, FORCES)
    if not solved:
        report.worst = max(report.worst, relative_gradient(system, steps))
        report.unsolved += 1
    return status


# What moves particles in a single solve is f − (A − w M) d, which is f at the end but for second order.
@njit
def make_forces_linear(system, steps):
    """The forces of a step of one linear solve, as that has them, in place of those where it starts."""
    forces, change, image, mass = steps.forces, steps.change, steps.image, system.particle_mass
    n = 3 * system.settings[0].particles
    for k in range(n):
        inertial = steps.stage[0].weight * peek(mass, k // 3) * peek(change, k)
        poke(forces, k, peek(forces, k) + inertial - peek(image, k))
