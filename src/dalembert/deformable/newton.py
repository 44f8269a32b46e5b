"""Newton's method for a stage: projected Hessians, rounds about contacts, steps that bring the energy down."""

import math

from ..core.jit import inlined, njit
from ..core.math3 import add, dot, load3, norm, store3, sub
from ..core.profiler import end_stage
from ..core.simd import clear, copy, load, store
from ..core.status import NON_FINITE, OK
from ..linalg.block_matrix import load_3, store_3
from .contact import CREEP, body_point, carried, friction_at, lock, locked_part, missing, part, slip_of, tangent_part
from .linear import FROM_AIM, FROM_CHANGE, FROM_ZERO, assemble, reduced_norm, solve
from .stage import evaluate_forces, fill_gradient, keep_power, move, move_bodies, predict, typical_forces
from .tables import BODY_ROW, CONTACTS, FORCES, LINEAR, MATRIX

# ----------------------------------------------------------------------------------------------------------------------
# A Newton step, halved until it brings the energy of the stage down: a line search that never accepts a rise.


SUFFICIENT = 1e-4  # Armijo's: of the decrease that the slope promises
HALVINGS = 40
ROUNDING = 1e-11  # of the energy: a smaller change of it is read off the gradients instead


# The energy of a stage falls along a Newton step by what its conservative part falls, and by the work of the other forces
# along the step, which is taken from their mean at its ends. Where contacts have just changed, the step is made whole.
@njit
def line_search(callbacks, pending, system, steps):
    """Make a Newton step, halved until it brings the energy down. Returns a status, and whether a part of it does: if none,
    rounding is all that is left, and forces are evaluated anew where it is."""
    report = steps.report[0]
    place, trial, change = steps.place, steps.trial, steps.change
    forces, now, gradient = steps.forces, steps.trial_forces, steps.gradient
    n = 3 * system.settings[0].particles
    before, slope, lost = steps.stage[0].energy, 0.0, 0.0
    for k in range(change.shape[0]):
        slope += load(gradient, k) * load(change, k)
    for k in range(n):
        lost += load(forces, n + k) * load(change, k)
    rubbed = friction_work(0.0, system, steps)
    slope, lost = slope - rubbed, lost + rubbed
    steps.stage[0].slope = slope
    length, status = 1.0, OK
    for _ in range(HALVINGS):
        move(place, change, length, trial, system, steps)
        move_bodies(length, change, system, steps)
        status = evaluate_forces(callbacks, trial, now, system, steps)
        if status == OK and (pending or falls(before, slope, lost, length, system, steps)):
            break
        move_bodies(-length, change, system, steps)
        length *= 0.5
        report.halvings += 1
        status = NON_FINITE
    if status == NON_FINITE:
        return evaluate_forces(callbacks, place, forces, system, steps), False
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
        lost_now += load(now, n + k) * load(change, k)
    lost_now += friction_work(length, system, steps)
    fall = steps.stage[0].energy - before - 0.5 * length * (lost + lost_now)
    if abs(length * slope) <= ROUNDING * (abs(steps.stage[0].energy) + abs(before)):
        fill_gradient(steps.trial, now, steps.gradient, system, steps)
        there = -friction_work(length, system, steps)
        for k in range(change.shape[0]):
            there += load(steps.gradient, k) * load(change, k)
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


# ----------------------------------------------------------------------------------------------------------------------
# What contacts of particles bear after a linear solve, and which of them hold then; see `touch`.


CROSSED = 1e-9  # of the margin: contacts that would be crossed by less are not closed
PULL = 1e-12  # of the typical force: a smaller one is none
FRICTION_UNTIL, CONTACTS_UNTIL = 8, 20  # steps of Newton's method after which they are no longer looked at
RETURNS = 2  # how often in a step what slides may stick again
FIRMEST = 100.0  # of what its own mass resists with: the strongest pull on what slides, which matrices bear well
STEADY = 1e-3  # of the limit: friction that is right to this is left


@njit
def measure_touches(system, steps):
    """After a solve, with its displacements in `change` and A·change in `image`: what contacts bear."""
    touches = steps.touches
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        i = 3 * touch.particle
        borne = add(load_3(steps.image, i), load_3(steps.gradient, i))
        friction = friction_at(touch, 1.0, 1.0, system, steps)
        store3(touch.friction, friction)
        store3(touch.force, add(locked_part(touch, borne), friction))


@njit
def review(iteration, particles, system, steps):
    """Which contacts hold now that their forces are known. Returns how many touches began or ended contacts, and of how many
    the friction changed. Late in a stage friction, and then contacts, stay as they are, so that Newton's method can end."""
    contacts, touches = particles.contacts, steps.touches
    changed, rubbed = 0, 0
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        if iteration >= CONTACTS_UNTIL:
            continue
        now = let_go(touch, contacts, PULL * steps.stage[0].typical, steps)
        now = close(touch, contacts, system, steps) or now
        changed += 1 if now else 0
        if not now and touch.normals > 0 and iteration < FRICTION_UNTIL:
            now = rub(touch, contacts, system, steps)
            rubbed += 1 if now else 0
        if now:
            lock(touch, contacts, system, steps)
    return changed, rubbed


@njit
def let_go(touch, contacts, least, steps):
    """End contacts that pull. With several, the force is shared among their normals as along the axes."""
    active = steps.active
    changed = False
    for c in range(touch.first, touch.last):
        if active[c] != 0 and pressing(touch, load3(contacts[c].normal)) < -least:
            active[c] = 0
            changed = True
    if changed:
        touch.stick, touch.grip = 0, 0.0
    return changed


@inlined
def pressing(touch, n):
    """The part of the force that a contact's normal bears: all of it along its own axis if it is alone."""
    return dot(n, load3(touch.force))


@njit
def close(touch, contacts, system, steps):
    """Let contacts hold that would be crossed."""
    active, margin = steps.active, steps.options[0].margin
    i, first = 3 * touch.particle, 3 * system.settings[0].particles
    made = add(sub(load_3(steps.place, i), load_3(steps.start, i)), load_3(steps.change, i))
    changed = False
    for c in range(touch.first, touch.last):
        contact = contacts[c]
        if active[c] != 0:
            continue
        point = load3(contact.position)
        d = sub(made, carried(contact.body, point, steps.moved, 0, system))
        d = sub(d, carried(contact.body, point, steps.change, first, system))
        if dot(load3(contact.normal), d) < -part(steps) * contact.separation - CROSSED * margin:
            active[c] = 1
            changed = True
    return changed


@njit
def rub(touch, contacts, system, steps):
    """Sticking or sliding, and how strongly what slides is pulled back. Returns whether that changed by much."""
    limit = friction_limit(touch, contacts, steps)
    if touch.stick != 0:
        held = load3(touch.force)
        size = norm(tangent_part(touch, held))
        if size <= limit * (1.0 + STEADY):
            return False
        # If nothing else held it, it would slide by about this:
        mass = load(system.particle_mass, touch.particle)
        touch.stick, touch.grip = 0, steps.stage[0].weight * mass * limit / (size - limit)
        return True
    least = CREEP * steps.stage[0].tau
    size = norm(slip_of(touch, 1.0, 1.0, system, steps))
    if abs(touch.grip * size - limit) <= STEADY * limit or (size <= least and touch.grip * size <= limit):
        return False
    # Alone, it would slip by b/(a + κ) under the force b, and κ s = μ f_n is where κ = a μ f_n/(b − μ f_n). Where b is no
    # more than μ f_n it sticks; what comes to that again and again is left to creep.
    a = steps.stage[0].weight * load(system.particle_mass, touch.particle)
    beyond = size * (a + touch.grip) - limit
    if beyond * FIRMEST > limit:
        touch.grip = a * limit / beyond
    elif touch.returns < RETURNS:
        touch.returns += 1
        touch.stick, touch.grip = 1, 0.0
    elif touch.grip < FIRMEST * a:
        touch.grip = FIRMEST * a
    else:
        return False
    return True


@njit
def friction_limit(touch, contacts, steps):
    """Σ μ f_n."""
    active = steps.active
    total = 0.0
    for c in range(touch.first, touch.last):
        if active[c] != 0:
            total += contacts[c].friction * max(0.0, pressing(touch, load3(contacts[c].normal)))
    return total


# ----------------------------------------------------------------------------------------------------------------------


@njit
def minimize(callbacks, particles, system, steps):
    """Solve the stage from where `begin_stage` set out. Returns a status; what was reached is in `place`, with its forces."""
    options, stage, report = steps.options[0], steps.stage[0], steps.report[0]
    place, forces = steps.place, steps.forces
    once = options.linear != 0
    status = evaluate_forces(callbacks, place, forces, system, steps)
    if status == OK and options.predict != 0:
        predict(system, steps)
        status = evaluate_forces(callbacks, place, forces, system, steps)
    if status != OK:
        return status
    end_stage(steps.timer, FORCES)
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
        status = assemble(callbacks, system, steps)
        if status != OK:
            return status
        end_stage(steps.timer, MATRIX)
        changed, solved = settle(guess, iteration, once, share, particles, system, steps)
        if once:
            return accept_whole(callbacks, solved, system, steps)
        guess, pending = FROM_ZERO, pending or changed
        status, moved = line_search(callbacks, pending, system, steps)
        if status != OK:
            return status
        if not moved:
            break
        keep_power(system, steps)
        end_stage(steps.timer, FORCES)
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
    end_stage(steps.timer, CONTACTS)
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
        end_stage(steps.timer, LINEAR)
        if steps.touch_counts[0] == 0:
            break
        measure_touches(system, steps)
        if k == options.rounds - 1:
            break
        changed, rubbed = review(iteration, particles, system, steps)
        end_stage(steps.timer, CONTACTS)
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
def accept_whole(callbacks, solved, system, steps):
    """Make the only step of a stage; the books ask for powers there, but for those of the explicit scheme. A status."""
    report = steps.report[0]
    move(steps.place, steps.change, 1.0, steps.trial, system, steps)
    copy(steps.place, steps.trial)
    move_bodies(1.0, steps.change, system, steps)
    status = OK
    if steps.options[0].explicit == 0:
        if steps.options[0].powers != 0:
            status = evaluate_forces(callbacks, steps.place, steps.trial_forces, system, steps)
            keep_power(system, steps)
        make_forces_linear(system, steps)
        end_stage(steps.timer, FORCES)
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
        inertial = steps.stage[0].weight * load(mass, k // 3) * load(change, k)
        store(forces, k, load(forces, k) + inertial - load(image, k))
