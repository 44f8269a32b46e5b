"""A Newton step, halved until it brings the energy of the stage down: a line search that never accepts a rise."""

from ..arrays import copy
from ..jit import njit
from ..linalg.block_matrix import load_3
from ..status import NON_FINITE, OK
from ..unchecked import peek
from ..vec import dot
from .stage import evaluate, fill_gradient, move
from .stage_bodies import move_bodies
from .tables import BODY_ROW
from .touch import body_point, friction_at

SUFFICIENT = 1e-4  # Armijo's: of the decrease that the slope promises
HALVINGS = 40
ROUNDING = 1e-11  # of the energy: a smaller change of it is read off the gradients instead


# The energy of a stage falls along a Newton step by what its conservative part falls, and by the work of the other forces
# along the step, which is taken from their mean at its ends. Where contacts have just changed, the step is made whole.
@njit
def search(walls, pending, system, steps):
    """Make a Newton step, halved until it brings the energy down. Returns a status, and whether a part of it does: if none,
    rounding is all that is left, and forces are evaluated anew where it is."""
    report = steps.report[0]
    place, trial, change = steps.place, steps.trial, steps.change
    forces, now, gradient = steps.forces, steps.trial_forces, steps.gradient
    n = 3 * system.settings[0].particles
    before, slope, lost = steps.stage[0].energy, 0.0, 0.0
    for k in range(change.shape[0]):
        slope += peek(gradient, k) * peek(change, k)
    for k in range(n):
        lost += peek(forces, n + k) * peek(change, k)
    rubbed = friction_work(0.0, system, steps)
    slope, lost = slope - rubbed, lost + rubbed
    steps.stage[0].slope = slope
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
    change, now = steps.change, steps.trial_forces
    n = 3 * system.settings[0].particles
    lost_now = 0.0
    for k in range(n):
        lost_now += peek(now, n + k) * peek(change, k)
    lost_now += friction_work(length, system, steps)
    fall = steps.stage[0].energy - before - 0.5 * length * (lost + lost_now)
    if abs(length * slope) <= ROUNDING * (abs(steps.stage[0].energy) + abs(before)):
        fill_gradient(steps.trial, now, steps.gradient, system, steps)
        there = -friction_work(length, system, steps)
        for k in range(change.shape[0]):
            there += peek(steps.gradient, k) * peek(change, k)
        fall = 0.5 * length * (slope + there)
    return fall <= SUFFICIENT * length * slope


@njit
def friction_work(share, system, steps):
    """The work of sliding friction along `change`, as it is so much of it further on; bodies have gone that way already."""
    touches, change = steps.touches, steps.change
    n = 3 * system.settings[0].particles
    total = 0.0
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        friction = friction_at(touch, share, 0.0, system, steps)
        total += dot(friction, load_3(change, 3 * touch.particle))
        if touch.body < system.settings[0].rigid:
            total -= dot(friction, body_point(touch, change, n + BODY_ROW * touch.body))
    return total
