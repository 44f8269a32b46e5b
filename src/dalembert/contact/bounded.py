"""What acts on one coordinate of a joint within bounds: stops, dry friction, motors that hold a speed.

With ṡ the rate of the coordinate, K its response to a unit impulse (joints taking part) and λ⁻ ≤ λ ≤ λ⁺ the impulse,

    λ = clamp(λ − (ṡ + bias)/K):   ṡ + bias = 0 inside the bounds, ≥ 0 at the lower, ≤ 0 at the upper one.

A stop pushes only, 0 ≤ λ, with the law of a frictionless contact; dry friction and motors have |λ| ≤ h · effort. The work
of λ is λ · ½ (ṡ⁻ + ṡ⁺), as that of contacts. A motor holds the ṡ at the end of the step, which is that after the impulses and
what it changes by itself in half a drift (see `soft`).
"""

from ..jit import njit
from ..mechanics.coordinates import coordinate_rows, coordinate_value
from ..model.tables import SERVO, STOP
from ..vec import add_scaled, dot, load3, scale, store3, symvec
from .impulses import book_reaction, give
from .joints import answer_joints, hold_joints
from .tables import ANGULAR, INVERSE_INERTIA, INVERSE_MASS, LINEAR, MOTION, OFF
from .velocities import clear_velocities, put_three, six, three

LOCKED = 1e-9  # of the response without joints: joints leave the coordinate no freedom
ROUNDING = 1e-13  # m or rad: so much beyond a stop is left alone
PASSES, ENOUGH = 50, 1e-3  # of bringing back; they end when so small a part is left


@njit
def find_bounds(walls, h, kicked, y, system, stepping):
    """Rows, gaps and responses at the configuration of the kinematics table; efforts act over h if `kicked`. Returns a
    status."""
    bounds = stepping.bounds
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        place_bound(bound, h if kicked else 0.0, y, system)
        bound.before = rate(bound, stepping.motion)
        if kicked and system.forces[bound.force].kind == SERVO:
            bound.bias += bound.before - bound.start
    return respond_bounds(walls, system, stepping)


@njit
def respond_bounds(walls, system, stepping):
    """The responses of all bounds, and where their impulses begin. Returns a status."""
    bounds = stepping.bounds
    for i in range(bounds.shape[0]):
        status = respond(walls, bounds[i], system, stepping)
        if status != 0:
            return status
        begin_bound(bounds[i], system)
    return 0


@njit
def place_bound(bound, h, y, system):
    """The row of a bound, its gap or the limits of its impulse, where the kinematics table is."""
    force = system.forces[bound.force]
    coordinate = system.coordinates[force.coordinate]
    linear_a, angular_a, linear_b, angular_b, _ = coordinate_rows(coordinate, system.kinematics)
    side = -1.0 if force.kind == STOP and force.side < 0.0 else 1.0
    store3(bound.linear_a, scale(side, linear_a))
    store3(bound.angular_a, scale(side, angular_a))
    store3(bound.linear_b, scale(side, linear_b))
    store3(bound.angular_b, scale(side, angular_b))
    if force.kind == STOP:
        bound.gap = force.side * (coordinate_value(y, coordinate, system.kinematics, system.curves) - force.rest)
        return
    most = h * force.limit if h > 0.0 else 0.0  # the limit may be infinite
    bound.least, bound.most = -most, most
    if bound.soft < 0:
        bound.bias = -force.target


@njit
def begin_bound(bound, system):
    """The impulse that a solver starts from: that of the step before, where it can act and within its limits."""
    if system.forces[bound.force].active == 0:
        bound.response = OFF
    if bound.response == OFF:
        bound.impulse = 0.0
    bound.impulse = min(bound.most, max(bound.least, bound.impulse))


@njit
def respond(walls, bound, system, stepping):
    """`response` of a bound: its rate after a unit impulse that the joints have answered. `shift` is used."""
    shift = stepping.shift
    clear_velocities(stepping.motion, shift)
    push(bound, 1.0, shift)
    alone = rate(bound, shift)
    status = answer_joints(walls, system, stepping, shift)
    found = rate(bound, shift)
    bound.response = found if found > LOCKED * alone else OFF
    return status


@njit
def rate(bound, motion):
    """ṡ, toward the inside for a stop."""
    at, to = MOTION * bound.a, MOTION * bound.b
    return (
        dot(load3(bound.linear_a), three(motion, at + LINEAR)) + dot(load3(bound.angular_a), three(motion, at + ANGULAR))
        + dot(load3(bound.linear_b), three(motion, to + LINEAR)) + dot(load3(bound.angular_b), three(motion, to + ANGULAR))
    )  # fmt: skip


@njit
def push(bound, impulse, motion):
    """Change the velocities of both bodies by an impulse on the coordinate."""
    push_body(bound.a, load3(bound.linear_a), load3(bound.angular_a), impulse, motion)
    push_body(bound.b, load3(bound.linear_b), load3(bound.angular_b), impulse, motion)


@njit
def push_body(body, linear, angular, impulse, motion):
    at = MOTION * body
    turn = symvec(six(motion, at + INVERSE_INERTIA), angular)
    put_three(motion, at + LINEAR, add_scaled(three(motion, at + LINEAR), impulse * motion[at + INVERSE_MASS], linear))
    put_three(motion, at + ANGULAR, add_scaled(three(motion, at + ANGULAR), impulse, turn))


@njit
def set_bounces(h, system, stepping, plastic):
    """What the law adds to the rate at stops: gap / h, or e ṡ⁻ of one that is met within the step, unless `plastic`. Returns
    whether there is one of these."""
    bounds = stepping.bounds
    bounces = False
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        force = system.forces[bound.force]
        if force.kind == STOP and set_bounce(bound, force.restitution, h, rate(bound, stepping.motion), plastic):
            bounces = True
    return bounces


@njit
def set_bounce(bound, restitution, h, now, plastic):
    """The same for one stop whose rate is `now` without impulses."""
    gap = max(bound.gap, 0.0)
    bound.bias = gap / h
    meets = bound.before < 0.0 and gap + h * now < 0.0
    if restitution > 0.0 and meets and not plastic:
        bound.bias = restitution * bound.before
        return True
    return False


@njit
def push_bounds(stepping):
    """Apply the impulses that the bounds have."""
    bounds = stepping.bounds
    for i in range(bounds.shape[0]):
        push(bounds[i], bounds[i].impulse, stepping.motion)


@njit
def sweep_bounds(walls, system, stepping):
    """One pass over all bounds, each answered by the joints; returns (the largest change of a rate, a status)."""
    bounds = stepping.bounds
    motion = stepping.motion
    largest = 0.0
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        if bound.response == OFF:
            continue
        change = wanted_change(bound, rate(bound, motion))
        if change == 0.0:
            continue
        bound.impulse += change
        push(bound, change, motion)
        status = hold_joints(walls, system, stepping)
        if status != 0:
            return largest, status
        largest = max(largest, abs(change) * bound.response)
    return largest, 0


@njit
def bounds_residual(stepping):
    """The largest |λ − clamp(λ − (ṡ + bias)/K)| K over the bounds, m/s or rad/s."""
    bounds = stepping.bounds
    worst = 0.0
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        if bound.response != OFF:
            worst = max(worst, bound.response * abs(wanted_change(bound, rate(bound, stepping.motion))))
    return worst


@njit
def wanted_change(bound, now):
    """How much the law changes the impulse at the rate `now`: clamp(λ − (ṡ + bias + C λ)/(K + C)) − λ, with C
    the compliance."""
    excess = now + bound.bias + bound.compliance * bound.impulse
    wanted = bound.impulse - excess / (bound.response + bound.compliance)
    return min(bound.most, max(bound.least, wanted)) - bound.impulse


@njit
def passive_work(system, stepping):
    """(work of stops, the same of its parts without their signs): what restitution may have brought."""
    bounds = stepping.bounds
    work, size = 0.0, 0.0
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        if system.forces[bound.force].kind == STOP:
            own = 0.5 * bound.impulse * (bound.before + rate(bound, stepping.motion))
            work += own
            size += abs(bound.impulse * bound.before)
    return work, size


@njit
def apply_bounds(y, system, stepping):
    """P, L ← P, L + λ sᵀ; work and reactions to the ledger."""
    bounds = stepping.bounds
    bodies = system.bodies.shape[0]
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        impulse = bound.impulse
        y[bound.entry] += 0.5 * impulse * (bound.before + rate(bound, stepping.motion))
        for side in range(2):
            body = bound.a if side == 0 else bound.b
            linear = load3(bound.linear_a) if side == 0 else load3(bound.linear_b)
            angular = load3(bound.angular_a) if side == 0 else load3(bound.angular_b)
            if body < bodies:
                give(y, body, scale(impulse, linear), scale(impulse, angular))
            else:
                book_reaction(y, scale(-impulse, linear), scale(-impulse, angular))


@njit
def part_stops(walls, system, stepping):
    """Add to `shift` the least displacement, joints taking part, that brings back what is beyond a stop: Gauss–Seidel over
    the stops. Returns (whether there is anything, a status)."""
    bounds, shift = stepping.bounds, stepping.shift
    deepest = 0.0
    for i in range(bounds.shape[0]):
        bounds[i].correction = 0.0
        if is_stop(bounds[i], system):
            deepest = max(deepest, -bounds[i].gap)
    if deepest <= ROUNDING:
        return False, 0
    for _ in range(PASSES):
        left = 0.0
        for i in range(bounds.shape[0]):
            bound = bounds[i]
            if not is_stop(bound, system):
                continue
            gap = bound.gap + rate(bound, shift)
            left = max(left, -gap)
            change = max(0.0, bound.correction - gap / bound.response) - bound.correction
            if change != 0.0:
                bound.correction += change
                push(bound, change, shift)
                status = answer_joints(walls, system, stepping, shift)
                if status != 0:
                    return True, status
        if left <= max(ROUNDING, ENOUGH * deepest):
            break
    for i in range(bounds.shape[0]):
        bounds[i].gap += rate(bounds[i], shift)
    return True, 0


@njit
def is_stop(bound, system):
    return system.forces[bound.force].kind == STOP and bound.response != OFF


@njit
def work_of_bounds(y, system, stepping):
    """Book the work of motors and dry friction along the displacement. Returns the sum (J)."""
    bounds, total = stepping.bounds, 0.0
    for i in range(bounds.shape[0]):
        if not is_stop(bounds[i], system):
            work = bounds[i].impulse / stepping.options[0].dt * rate(bounds[i], stepping.shift)
            y[bounds[i].entry] += work
            total += work
    return total
