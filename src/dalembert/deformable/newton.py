"""Newton's method for a stage: projected Hessians, an active set of contacts, a line search on the energy.

`solve_stage` at the end is the method; the line search and the active set it uses come before it.
"""

import math

from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, dot, load3, norm, store3, sub
from ..core.profiler import end_stage
from ..core.simd import clear, copy, load, store
from ..core.status import NON_FINITE, OK
from ..linalg.block_matrix import load_3, load_symmetric, store_3
from .contact import (
    CREEP,
    body_displacement,
    displacement_to_surface,
    foot_body,
    foot_friction,
    foot_point,
    friction_at,
    lock,
    locked_part,
    missing_displacement,
    normal_share,
    slides,
    slip_of,
    tangent_part,
    velocities_before,
)
from .linear import FROM_AIM, FROM_CHANGE, FROM_ZERO, assemble, reduced_norm, solve
from .stage import (
    evaluate_forces,
    fill_gradient,
    move_bodies,
    move_particles,
    predict_velocities,
    store_power,
    typical_forces,
)
from .tables import CONTACTS, FORCES, LINEAR, MATRIX

# Line search ----------------------------------------------------------------------------------------------------------
# A Newton step is halved until the energy of the stage decreases; no increase is accepted.

SUFFICIENT = 1e-4  # Armijo's: of the decrease that the slope promises
HALVINGS = 40
ROUNDING = 1e-11  # of the energy: a smaller change of it is computed from the gradients instead


# The energy of a stage falls along a Newton step by what its conservative part falls, and by the work of the other forces
# along the step, which is taken from their mean at its ends. Where contacts have just changed, the full step is taken; where
# friction has, only if no part of it lowers the energy.
@njit
def line_search(callbacks, pending, system, steps):
    """Take a Newton step, halved until the energy decreases. Returns a status, and whether a step was taken: if not, only
    rounding is left, and forces are evaluated at `iterate` again."""
    report = steps.report[0]
    iterate, trial, change = steps.iterate, steps.trial, steps.change
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
        move_particles(iterate, change, length, trial, system, steps)
        move_bodies(length, change, system, steps)
        status = evaluate_forces(callbacks, trial, now, system, steps)
        if status == OK and (pending or decreases_enough(before, slope, lost, length, system, steps)):
            break
        move_bodies(-length, change, system, steps)
        length *= 0.5
        report.halvings += 1
        status = NON_FINITE
    if status == NON_FINITE:
        return evaluate_forces(callbacks, iterate, forces, system, steps), False
    if status != OK:
        return status, False
    copy(iterate, trial)
    copy(forces, now)
    return OK, True


@njit
def decreases_enough(before, slope, lost, length, system, steps):
    """Whether the energy at `trial` satisfies Armijo's condition."""
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
    """The work along `change` of sliding friction after `share` of it; bodies have moved by that already."""
    touches, change = steps.touches, steps.change
    total = 0.0
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        for c in range(touch.feet if slides(touch) else 0):
            friction = foot_friction(touch, c, share, 0.0, system, steps)
            total += dot(friction, load_3(change, 3 * touch.particle))
            if foot_body(touch, c) < system.settings[0].rigid:
                total -= dot(friction, foot_point(touch, c, steps.shift))
    return total


# The active set of contacts -------------------------------------------------------------------------------------------

CROSSED = 1e-9  # of the margin: contacts that would be crossed by less are not closed
UNMET = 1e-9  # of the margin: a locked particle that is nearer to its target has met it
PULL = 1e-12  # of the typical force: a smaller pull releases no contact
LEAST_TOLERANCE = 1e-12  # of a linear solve: rounding
# Of the tolerance of linear solves: late steps of Newton's method, which change contacts only, are solved no better.
FINEST = 1e-2
FRICTION_UNTIL, CONTACTS_UNTIL = 8, 20  # steps of Newton's method after which they are no longer updated
# Solves of one such step after which friction of a single foot is left to the next: contacts and friction may cycle.
FRICTION_ROUNDS = 3
RETURNS = 2  # how often in a step a sliding touch may stick again
FIRMEST = 100.0  # of the inertia of the particle: the largest κ of a sliding touch, for well-conditioned matrices
STEADY = 1e-4  # of the limit: friction within it is not updated


@njit
def compute_touch_forces(system, steps):
    """Fill friction and force of each touch after a solve, from its displacements in `change` and A·change in `image`."""
    touches = steps.touches
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        i = 3 * touch.particle
        reaction = add(load_3(steps.image, i), load_3(steps.gradient, i))
        friction = friction_at(touch, 1.0, 1.0, system, steps)
        store3(touch.friction, friction)
        store3(touch.force, add(locked_part(touch, sub(reaction, friction)), friction))


@njit
def update_active_set(iteration, rubs, particles, system, steps):
    """Update which contacts are active from their forces. Returns how many touches gained or lost contacts, of how many the
    friction changed, and how many of these have several feet. rubs : whether friction of a single foot may change. Late in
    a stage friction, and then contacts, are frozen, so that Newton's method can end."""
    contacts, touches = particles.contacts, steps.touches
    changed, rubbed, shared = 0, 0, 0
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        if iteration >= CONTACTS_UNTIL:
            continue
        now = release_pulling(touch, contacts, PULL * steps.stage[0].typical, system, steps)
        now = close_crossed(touch, contacts, system, steps) or now
        changed += 1 if now else 0
        if not now and touch.normals > 0 and iteration < FRICTION_UNTIL and (rubs or touch.feet > 1):
            now = update_friction(touch, contacts, system, steps)
            rubbed += 1 if now else 0
            shared += 1 if now and touch.feet > 1 else 0
        if now:
            lock(touch, contacts, system, steps)
    return changed, rubbed, shared


@njit
def release_pulling(touch, contacts, least, system, steps):
    """Release contacts that pull by more than `least`, but for those that would be crossed nevertheless, as others of the
    same particle hold it beyond them. Returns whether any was released."""
    active = steps.active
    changed = False
    for c in range(touch.first, touch.last):
        if (
            active[c] != 0
            and normal_force(touch, c, contacts) < -least
            and not is_crossed(touch, contacts[c], system, steps)
        ):
            active[c] = 0
            changed = True
    if changed:
        touch.stick, touch.grip = 0, 0.0
        store3(touch.slid, (0.0, 0.0, 0.0))
    return changed


@inlined
def normal_force(touch, c, contacts):
    """The component of the force of a touch along a contact's normal; of several feet, what the contact bears of it."""
    force = load3(touch.force)
    if touch.feet > 1:
        force = sub(force, load3(touch.friction))
        for k in range(touch.feet):
            if touch.contacts[k] == c:
                return normal_share(touch, k, force)
    return dot(load3(contacts[c].normal), force)


@njit
def close_crossed(touch, contacts, system, steps):
    """Make contacts active that would be crossed. Returns whether any would."""
    active, changed = steps.active, False
    for c in range(touch.first, touch.last):
        if active[c] == 0 and is_crossed(touch, contacts[c], system, steps):
            active[c] = 1
            changed = True
    return changed


@inlined
def is_crossed(touch, contact, system, steps):
    """Whether a particle would cross the surface of a contact, or overlap it more than before the stage. A lock does not open
    overlaps, so that to close one for its depth alone would make it pull."""
    i, point = 3 * touch.particle, load3(contact.position)
    d = add(sub(load_3(steps.iterate, i), load_3(steps.start, i)), load_3(steps.change, i))
    d = sub(d, body_displacement(contact.body, point, steps.moved, 0, system))
    d = sub(d, body_displacement(contact.body, point, steps.shift, 0, system))
    v, _ = velocities_before(touch.particle, contact.body, point, system, steps)
    least = displacement_to_surface(v, contact, steps)
    return dot(load3(contact.normal), d) < least - CROSSED * steps.options[0].margin


@njit
def update_friction(touch, contacts, system, steps):
    """Update sticking or sliding, and κ of a sliding touch. Returns whether that changed by much."""
    if touch.feet > 1:
        return update_grips(touch, contacts, system, steps)
    limit = friction_limit(touch, contacts, steps)
    if touch.stick != 0:
        size = norm(tangent_part(touch, load3(touch.force)))
        if size <= limit * (1.0 + STEADY):
            return False
        # κ at the slip of a particle that nothing else constrains
        mass = load(system.particle_mass, touch.particle)
        touch.stick, touch.grip, touch.slid[0] = 0, steps.stage[0].weight * mass * limit / (size - limit), 0.0
        return True
    least = CREEP * steps.stage[0].tau
    size = norm(slip_of(touch, 0, 1.0, 1.0, system, steps))
    if abs(touch.grip * size - limit) <= STEADY * limit or (size <= least and touch.grip * size <= limit):
        return False
    # A touch that returns to sticking too often creeps instead.
    a = steps.stage[0].weight * load(system.particle_mass, touch.particle)
    grip = next_grip(touch, 0, touch.grip, size, limit, a)
    if grip < FIRMEST * a:
        touch.grip = grip
    elif touch.returns < RETURNS:
        touch.returns += 1
        touch.stick, touch.grip, touch.slid[0] = 1, 0.0, 0.0
    elif touch.grip < FIRMEST * a:
        touch.grip = FIRMEST * a
    else:
        return False
    return True


# A foot slips by b/(A + κ) under the force b of the rest, with the inertia A of what moves with it: κ s = μ f_n is where
# κ = A μ f_n/(b − μ f_n). Where b is no more than μ f_n it sticks. A follows from the slips at two κ, and is infinite if
# the slip is prescribed. At first it is that of the particle alone, a, which is the least.
@njit
def next_grip(touch, foot, grip, size, limit, a):
    """The next κ (N/m) of a foot that slips by `size` (m) with the present one, `grip`, and should exert `limit` (N); inf
    where it sticks. Records κ and the slip for the next secant. a : N/m."""
    inverse, before = 1.0 / a, touch.slid[foot]
    if before > 0.0:
        gained = size * grip - before * touch.tried[foot]
        inverse = min(max((before - size) / gained, 0.0), inverse) if gained != 0.0 else inverse
    touch.tried[foot], touch.slid[foot] = grip, size
    beyond = size + inverse * (size * grip - limit)
    return limit / beyond if beyond > 0.0 else math.inf


# A foot of several does not stick, as its surface may be along the normal of another: it creeps, with κ of `FIRMEST`. From
# there κ = μ f_n/|s|, as the slip may be prescribed by another foot.
@njit
def update_grips(touch, contacts, system, steps):
    """Update κ of each foot of a touch that has several. Returns whether any changed by much."""
    a, changed = steps.stage[0].weight * load(system.particle_mass, touch.particle), False
    for k in range(touch.feet):
        c = touch.contacts[k]
        limit = contacts[c].friction * max(0.0, normal_force(touch, c, contacts))
        grip, most = touch.grips[k], FIRMEST * a
        size = norm(slip_of(touch, k, 1.0, 1.0, system, steps))
        if abs(grip * size - limit) <= STEADY * limit or (grip == most and grip * size <= limit):
            continue
        if limit <= 0.0:
            touch.grips[k] = 0.0
        elif grip == most:
            touch.grips[k] = limit / size
        else:
            touch.grips[k] = min(next_grip(touch, k, grip, size, limit, a), most)
        changed = changed or touch.grips[k] != grip
    return changed


@njit
def friction_limit(touch, contacts, steps):
    """Σ μ f_n."""
    active = steps.active
    total = 0.0
    for c in range(touch.first, touch.last):
        if active[c] != 0:
            total += contacts[c].friction * max(0.0, normal_force(touch, c, contacts))
    return total


# Newton's method ------------------------------------------------------------------------------------------------------


@njit
def solve_stage(callbacks, particles, system, steps):
    """Solve the stage that `begin_stage` set up, into `iterate`, with its forces in `forces`. Returns a status."""
    options, stage, report = steps.options[0], steps.stage[0], steps.report[0]
    iterate, forces = steps.iterate, steps.forces
    once = options.linear != 0
    status = evaluate_forces(callbacks, iterate, forces, system, steps)
    if status == OK and options.predict != 0:
        predict_velocities(system, steps)
        status = evaluate_forces(callbacks, iterate, forces, system, steps)
    if status != OK:
        return status
    end_stage(steps.timer, FORCES)
    store_power(system, steps)
    applied, stage.typical = typical_forces(iterate, forces, system, steps)
    # relative to the forces: most of the right-hand side of a single solve may be the momentum of the particles
    share = applied / stage.typical if once and stage.typical > 0.0 else 1.0
    guess, last = FROM_AIM, math.inf
    for iteration in range(1 if once else options.newton):
        fill_gradient(iterate, forces, steps.gradient, system, steps)
        stage.residual = reduced_norm(system, steps)
        if stage.residual - stage.residual != 0.0:  # infinite, or not a number
            return NON_FINITE
        pending = has_missing_displacement(system, steps)
        if not once and not pending and (stage.residual <= options.tolerance * stage.typical or stalled(last, steps)):
            if contacts_agree(iteration, particles, system, steps):
                break
            fill_gradient(iterate, forces, steps.gradient, system, steps)
            pending = True
        report.newton += 1
        status = assemble(callbacks, system, steps)
        if status != OK:
            return status
        end_stage(steps.timer, MATRIX)
        changed, rubbed, solved = solve_with_contacts(guess, iteration, once, share, particles, system, steps)
        if once:
            return accept_full_step(callbacks, solved, system, steps)
        guess, pending = FROM_ZERO, pending or changed
        last = math.inf if rubbed or changed else stage.residual  # what follows has other contacts
        status, moved = line_search(callbacks, pending, system, steps)
        if status == OK and rubbed and not moved:  # the step is one to other friction than that of the energy here
            status, moved = line_search(callbacks, True, system, steps)
        if status != OK:
            return status
        if not moved:
            break
        store_power(system, steps)
        end_stage(steps.timer, FORCES)
    report_stage(system, steps)
    return OK


@inlined
def stalled(last, steps):
    """Whether a step that changed the energy only by rounding has not decreased the gradient either."""
    stage = steps.stage[0]
    return stage.residual >= last and abs(stage.slope) <= ROUNDING * abs(stage.energy)


@njit
def report_stage(system, steps):
    """Report the gradient of the solution, and fill the forces of touches, which are its part at locked particles. The rest
    is left in `gradient`; see `step.finish_step`."""
    report = steps.report[0]
    relative = relative_gradient(system, steps)
    touches = steps.touches
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        i = 3 * touch.particle
        store3(touch.force, load_3(steps.gradient, i) if touch.locked > 0 else (0.0, 0.0, 0.0))
        if touch.locked > 0:
            store_3(steps.gradient, i, (0.0, 0.0, 0.0))
    typical = steps.stage[0].typical
    report.largest = max(report.largest, typical)
    if relative > steps.options[0].tolerance:  # else typical > 0
        rounding, extent = rounding_of_gradient(system, steps)
        gradient = relative * typical
        if max(gradient, report.largest) <= rounding <= NEAR * extent:
            return  # nothing has acted so far: all forces are rounding
        if gradient > min(ROUNDED * report.largest, rounding):
            report.unsolved += 1
    report.worst = max(report.worst, relative)


EPSILON = 2.0**-52  # rounding leaves a quarter of ε ‖A x‖ at most, in the problems of tests/deformable
# Of the largest forces so far, as those of what has come to rest may be rounding: a larger gradient leaves a step unsolved
# even where it is due to rounding.
ROUNDED = 1e-8
NEAR = 1e-10  # of the extent of the particles: if rounding moves them by more they are too far from the origin


@njit
def rounding_of_gradient(system, steps):
    """ε ‖A_ii x_i‖ over all particles: the gradient that rounding of their positions leaves (N), with the matrix of the last
    step of Newton's method; and ‖A_ii (x_i − c)‖ with the mean c of their positions."""
    n, inverse, iterate = system.settings[0].particles, system.particle_inverse_mass, steps.iterate
    center = (0.0, 0.0, 0.0)
    for i in range(n):
        center = add_scaled(center, 1.0 / n, load_3(iterate, 3 * i))
    rounding, extent = 0.0, 0.0
    for i in range(n):
        if load(inverse, i) != 0.0:
            xx, yy, zz, xy, xz, yz = load_symmetric(steps.values, 9 * steps.starts[i])
            x, r = load_3(iterate, 3 * i), sub(load_3(iterate, 3 * i), center)
            size = xx * xx + yy * yy + zz * zz + 2.0 * (xy * xy + xz * xz + yz * yz)
            rounding += size * dot(x, x)
            extent += size * dot(r, r)
    return EPSILON * math.sqrt(rounding), math.sqrt(extent)


@njit
def relative_gradient(system, steps):
    """Fill the gradient at `iterate`. Returns its norm without the forces of contacts, relative to the typical force."""
    stage = steps.stage[0]
    fill_gradient(steps.iterate, steps.forces, steps.gradient, system, steps)
    stage.residual = reduced_norm(system, steps)
    return stage.residual / stage.typical if stage.typical > 0.0 else 0.0


@njit
def contacts_agree(iteration, particles, system, steps):
    """Whether the active set is right where the gradient vanishes but for the forces of contacts."""
    if steps.touch_counts[0] == 0:
        return True
    clear(steps.change)
    clear(steps.shift)
    clear(steps.image)
    compute_touch_forces(system, steps)
    changed, rubbed, _ = update_active_set(iteration, True, particles, system, steps)
    end_stage(steps.timer, CONTACTS)
    return changed == 0 and rubbed == 0


@njit
def solve_with_contacts(guess, iteration, once, share, particles, system, steps):
    """Linear solves, to the tolerance times `share`, until the active set agrees with them; friction, which only dissipates,
    gets one more round, or as many as it needs where a particle has several feet. Returns whether any contact changed,
    whether any friction did, and whether the last system was solved to the tolerance."""
    options, stage = steps.options[0], steps.stage[0]
    tolerance = max(LEAST_TOLERANCE, options.linear_tolerance * share)
    if not once and stage.typical > 0.0:
        least = max(FINEST * tolerance, LEAST_TOLERANCE)
        tolerance = min(tolerance, max(least, stage.residual / stage.typical))
    any_changed, any_rubbed, agreed, status = False, False, False, OK
    for k in range(options.rounds):
        status = solve(guess, tolerance, system, steps)
        guess = FROM_CHANGE
        end_stage(steps.timer, LINEAR)
        if steps.touch_counts[0] == 0:
            break
        compute_touch_forces(system, steps)
        if k == options.rounds - 1:
            break
        rubs = once or k < FRICTION_ROUNDS
        changed, rubbed, shared = update_active_set(iteration, rubs, particles, system, steps)
        any_rubbed = any_rubbed or rubbed > 0
        end_stage(steps.timer, CONTACTS)
        if changed == 0 and shared == 0 and (rubbed == 0 or agreed):
            break
        agreed = changed == 0
        any_changed = any_changed or changed > 0
    return any_changed, any_rubbed, status == OK


@njit
def has_missing_displacement(system, steps):
    """Whether a locked particle has not reached its target."""
    touches, margin = steps.touches, steps.options[0].margin
    for k in range(steps.touch_counts[0]):
        gap = missing_displacement(touches[k], system, steps)
        if abs(gap[0]) + abs(gap[1]) + abs(gap[2]) > UNMET * margin:
            return True
    return False


@njit
def accept_full_step(callbacks, solved, system, steps):
    """Take the only step of a stage; the ledger needs powers at its end, but for the explicit scheme. Returns a status."""
    report = steps.report[0]
    move_particles(steps.iterate, steps.change, 1.0, steps.trial, system, steps)
    copy(steps.iterate, steps.trial)
    move_bodies(1.0, steps.change, system, steps)
    status = OK
    if steps.options[0].explicit == 0:
        if steps.options[0].powers != 0:
            status = evaluate_forces(callbacks, steps.iterate, steps.trial_forces, system, steps)
            store_power(system, steps)
        linearize_forces(system, steps)
        end_stage(steps.timer, FORCES)
    if not solved:
        report.worst = max(report.worst, relative_gradient(system, steps))
        report.unsolved += 1
    return status


@njit
def linearize_forces(system, steps):
    """forces = f − (A − w M) d: those of a single linear solve, which are f at its end to first order."""
    forces, change, image, mass = steps.forces, steps.change, steps.image, system.particle_mass
    n = 3 * system.settings[0].particles
    for k in range(n):
        inertial = steps.stage[0].weight * load(mass, k // 3) * load(change, k)
        store(forces, k, load(forces, k) + inertial - load(image, k))
