"""What acts on coordinates of joints, as a C function; see `ask_limits`. It is handed the addresses that `step` has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.c_function import C_SIGNATURE, CONSTRAIN, FACTORIZE, KINEMATICS, call_pointer, viewer
from ..core.elementary import exp, expm1, sin
from ..core.jit import CFunction, njit
from ..core.math3 import add_scaled, dot, load3, scale, store3, symvec
from ..core.status import OK
from ..core.tables import table_at
from ..dynamics.jacobian import coordinate_rate, coordinate_rows, coordinate_value
from ..dynamics.mechanism import Mechanism
from ..model.compile import Model
from ..model.graph import SPARE, Graph, build_graph
from ..model.tables import LEDGER, MOTOR, PART, PROJECTION_WORK, SERVO, SOFT, STOP, TORSION, System
from .cone import clear_velocities, put_three, six, three
from .joints import answer_joints, book_reaction, give, solve_joints
from .parallel import (
    APPLY,
    BEGIN,
    CHANGE_SIDES,
    CORRECT_STOPS,
    DISPLACE,
    DISPLACE_SOFT,
    LIMITS_RESIDUAL,
    PLACE_KICKED,
    PLACE_LIMITS,
    PUSH,
    REFACTOR,
    SET,
    SET_BOUNCES,
    SET_KICKED,
    SET_PLASTIC,
    SWEEP_LIMITS,
    WORK,
)
from .solve import CALLBACKS, callbacks_at
from .tables import ANGULAR, AT_LEAST, AT_MOST, HELD, INVERSE_INERTIA, INVERSE_MASS, LINEAR, MOTION, OFF, Stepping
from .tables import SOFT as SOFT_ROW

# ----------------------------------------------------------------------------------------------------------------------
# What acts on one coordinate of a joint within bounds: stops, dry friction, motors that hold a speed.
#
# With ṡ the rate of the coordinate, K its response to a unit impulse (joints taking part) and λ⁻ ≤ λ ≤ λ⁺ the
# impulse,
#
#     λ = clamp(λ − (ṡ + bias)/K):   ṡ + bias = 0 inside the bounds, ≥ 0 at the lower, ≤ 0 at the upper one.
#
# A stop pushes only, 0 ≤ λ, with the law of a frictionless contact; dry friction and motors have |λ| ≤ h · effort.
# The work
# of λ is λ · ½ (ṡ⁻ + ṡ⁺), as that of contacts. A motor holds the ṡ at the end of the step, which is that after the
# impulses and
# what it changes by itself in half a drift (see `soft`).


LOCKED = 1e-9  # of the response without joints: joints leave the coordinate no freedom
STOP_ROUNDING = 1e-13  # m or rad: so much beyond a stop is left alone
PASSES, ENOUGH = 50, 1e-3  # of bringing back; they end when so small a part is left


@njit
def find_bounds(callbacks, h, kicked, y, system, stepping):
    """Rows, gaps and responses at the configuration of the kinematics table; efforts act over h if `kicked`. Returns a
    status."""
    bounds = stepping.bounds
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        place_bound(bound, h if kicked else 0.0, y, system)
        bound.before = rate(bound, stepping.motion)
        if kicked and system.forces[bound.force].kind == SERVO:
            bound.bias += bound.before - bound.start
    return respond_bounds(callbacks, system, stepping)


@njit
def respond_bounds(callbacks, system, stepping):
    """The responses of all bounds, and where their impulses begin. Returns a status."""
    bounds = stepping.bounds
    for i in range(bounds.shape[0]):
        status = respond(callbacks, bounds[i], system, stepping)
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
def respond(callbacks, bound, system, stepping):
    """`response` of a bound: its rate after a unit impulse that the joints have answered. `shift` is used."""
    shift = stepping.shift
    clear_velocities(stepping.motion, shift)
    push(bound, 1.0, shift)
    alone = rate(bound, shift)
    status = answer_joints(callbacks, system, stepping, shift)
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
def sweep_bounds(callbacks, system, stepping):
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
        status = solve_joints(callbacks, system, stepping)
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
def part_stops(callbacks, system, stepping):
    """Add to `shift` the least displacement, joints taking part, that brings back what is beyond a stop: Gauss–Seidel over
    the stops. Returns (whether there is anything, a status)."""
    bounds, shift = stepping.bounds, stepping.shift
    deepest = 0.0
    for i in range(bounds.shape[0]):
        bounds[i].correction = 0.0
        if is_stop(bounds[i], system):
            deepest = max(deepest, -bounds[i].gap)
    if deepest <= STOP_ROUNDING:
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
                status = answer_joints(callbacks, system, stepping, shift)
                if status != 0:
                    return True, status
        if left <= max(STOP_ROUNDING, ENOUGH * deepest):
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


# ----------------------------------------------------------------------------------------------------------------------
# Motors with gains, and springs and dampers of joints, as soft constraints: implicit in the step, stable for any
# gain.
#
# Such a force acts on the coordinate s of a joint with e + k (p − s) + d (t − ṡ). Its impulse in a step over h is
# that of the
# implicit midpoint rule, which takes s and ṡ half-way: s̄ = s + ¼ h (ṡ⁺ − ṡ⁻) and ½ (ṡ⁻ + ṡ⁺), with s that of the
# middle of the
# step, and −, + at the start of the step and at its end:
#
#     λ = h (e + k (p − s̄)) + h d' (t − ½ (ṡ⁻ + ṡ⁺)) − m (ṡ⁺ − ṡ⁻) = push − resist ṡ⁺ + keep ṡ⁻.
#
# So ṡ⁺ + λ/resist = (push + keep ṡ⁻)/resist: a constraint with a compliance, one more row in the system of the
# joints. The work
# of the elastic part, −h k (s̄ − p) · ½ (ṡ⁻ + ṡ⁺), is what its potential energy changes by. From the impulses of a
# step to
# those of the next ṡ changes by itself, as axes turn; ṡ⁺ is the rate after the impulses, and as much more as the
# first half
# drift of the step has brought (`drift`).
#
# The midpoint rule alone would let what is stiff ring for ever. The inertia m ≥ 0 and the damping d' > 0, which
# differ from 0
# and d by h² or so, correct that. With a = h² k K and b = h d K, K the response of the coordinate to an impulse, one
# freedom
# moves by x' = x + w⁺, D w⁺ = D e^{−b} w⁻ − a x, with x = s − p in the middles of the steps, w = h ṡ between them,
# and
# D = 1 + m K + ¼ a + ½ h d' K. Whatever D is, it decays by e^{−b}, as it should. `follow` takes for D
#
#     g(x₁) g(x₂), g(x) = x/(1 − e^{−x}), x₁ + x₂ = b, x₁ x₂ = a    where it is overdamped: the exact solution, however fast;
#     a/|1 − e^{−x₁}|²                                               where it oscillates (by π a step at most),
#     2 (1 + ¼ a)/(1 + e^{−b})                                       which is m = 0, at least.
#
# Stability needs no K: with ½ m ṡ² counted as kinetic energy, a step takes h d' (½ (ṡ⁻ + ṡ⁺))² at each coordinate,
# and nothing
# else, whatever else the mechanism consists of. An oscillation beyond the limit of explicit steps, √a > 2, which no
# step can
# follow, is damped as if b were 2 (√a − 2) at least. What that takes is work of a motor; of a spring it is an error
# of the
# energy, and booked as the work of projection.
#
# A motor at its limit exerts that, and its row is left a compliance so large (`faint`) that it does nothing else.
# Which motors
# are at their limits is found by trial: see `change_sides`.


SETTLED = 1e-9  # of its limit: a motor that asks for less than so much beyond is within it
TRIALS = 8  # in which a motor may leave its limit again


@njit
def growth(x):
    """x/(1 − e^{−x})."""
    return x / -expm1(-x) if x > 0.0 else 1.0


@njit
def follow(a, b):
    """(m K, h d' K) for a = h² k K and b = h d K; see above."""
    fade = exp(-b)
    own = 2.0 * (1.0 + 0.25 * a) / (1.0 + fade)  # where m is zero
    square = 0.25 * b * b - a
    if square >= 0.0:
        fast = 0.5 * b + math.sqrt(square)
        exact = growth(fast) * growth(a / fast if fast > 0.0 else 0.0)
    else:
        half, turn = expm1(-0.5 * b), sin(0.5 * min(math.sqrt(-square), math.pi))
        exact = a / (half * half + 4.0 * (1.0 + half) * turn * turn)
    whole = max(own, exact)
    return max(0.0, 0.5 * whole * (1.0 + fade) - 0.25 * a - 1.0), -whole * expm1(-b)


@njit
def set_laws(h, soft, forces):
    """`push` at s = 0, `resist` and `keep` of all rows for a step over h (s)."""
    first = 0
    while first < soft.shape[0]:
        end = soft[first].end
        k, d = 0.0, 0.0
        for i in range(first, end):
            force = forces[soft[i].force]
            if force.active != 0:
                k += force.stiffness
                d += force.damping
        response = soft[first].response
        a, b = h * h * k * response, h * d * response
        more = max(0.0, 2.0 * (math.sqrt(a) - 2.0) - b)
        inertia, damping = follow(a, b + more)
        for i in range(first, end):
            force = forces[soft[i].force]
            set_law(h, soft[i], force, k, b, more, inertia, damping)
        first = end


@njit
def set_law(h, row, force, whole, b, more, inertia, damping):
    """The law of one row, with its share of the inertia and the damping of its coordinate."""
    if force.active == 0:
        row.push, row.resist, row.keep = 0.0, row.faint, row.faint
        return
    k, hd, mass = force.stiffness, h * force.damping, 0.0
    row.lost = 0.0
    if row.response > 0.0 and b + more > 0.0:
        added = more * k / whole if more > 0.0 else 0.0
        share = (hd * row.response + added) / (b + more)
        row.lost = added / (hd * row.response + added) if force.kind == TORSION and added > 0.0 else 0.0
        mass, hd = share * inertia / row.response, share * damping / row.response
    row.resist, row.keep = 0.25 * h * h * k + 0.5 * hd + mass, 0.25 * h * h * k - 0.5 * hd + mass
    if force.kind == TORSION:
        row.push = h * k * force.rest
    else:
        row.push = h * (force.rest + k * force.position) + hd * force.target
    if row.resist < row.faint:
        row.resist, row.keep = row.resist + row.faint, row.keep + row.faint


@njit
def acting(h, row, force):
    """(push at s = 0, resist, keep, k) as they act: those of the law, or of what is at its limit."""
    if row.state == HELD:
        return row.push, row.resist, row.keep, force.stiffness if force.active != 0 else 0.0
    limit = h * force.limit
    return limit if row.state == AT_MOST else -limit, row.faint, row.faint, 0.0


@njit
def set_rows(h, kicked, system, stepping):
    """The soft rows of a step, as the mechanism takes them: before its factorization. Without a kick they do nothing."""
    soft, forces, parts, joints = stepping.soft, system.forces, system.parts, system.joints
    set_laws(h, soft, forces)
    for i in range(soft.shape[0]):
        row = soft[i]
        if not kicked:
            row.push, row.resist, row.keep, row.state = 0.0, row.faint, row.faint, HELD
        push, resist, keep, k = acting(h, row, forces[row.force])
        if not kicked:
            k = 0.0
        joints[row.joint].compliance = 1.0 / resist
        part = parts[row.part]
        part.value, part.ratio, part.ratio_2 = -push / (resist * h), k / resist, (1.0 - keep / resist) / h


@njit
def begin_rows(y, system, stepping):
    """The rates at the start of a step, where the kinematics table is; those of ideal motors too."""
    soft, bounds, coordinates = stepping.soft, stepping.bounds, system.coordinates
    kinematics, curves = system.kinematics, system.curves
    for i in range(soft.shape[0]):
        soft[i].before = coordinate_rate(y, coordinates[soft[i].coordinate], kinematics, curves)
    for i in range(bounds.shape[0]):
        force = system.forces[bounds[i].force]
        if force.kind == SERVO:
            bounds[i].start = coordinate_rate(y, coordinates[force.coordinate], kinematics, curves)


@njit
def place_rows(system, stepping):
    """Values, rows and drifts, where the kinematics table is, from the velocities in `motion`."""
    soft, kinematics = stepping.soft, system.kinematics
    for i in range(soft.shape[0]):
        row = soft[i]
        linear_a, angular_a, linear_b, angular_b, _ = coordinate_rows(system.coordinates[row.coordinate], kinematics)
        store3(row.linear_a, linear_a)
        store3(row.angular_a, angular_a)
        store3(row.linear_b, linear_b)
        store3(row.angular_b, angular_b)
        row.value = system.error[row.row]
        row.drift = rate(row, stepping.motion) - row.before


@njit
def aim_rows(h, kicked, system, stepping):
    """(push + keep ṡ⁻)/resist for ṡ⁺, into the targets of the joints' rows."""
    soft, forces, targets = stepping.soft, system.forces, stepping.targets
    for i in range(soft.shape[0]):
        row = soft[i]
        push, resist, keep, k = acting(h, row, forces[row.force])
        if kicked:
            push -= h * k * row.value
        targets[row.row] = (push + keep * row.before) / resist - row.drift


@njit
def change_sides(trial, system, stepping):
    """Let motors that ask for more than their limit exert that, and those that ask for less follow their law; after some
    trials only the first. Returns whether any has changed."""
    soft, forces, h = stepping.soft, system.forces, stepping.options[0].dt
    changed = False
    for i in range(soft.shape[0]):
        now = rate(soft[i], stepping.motion) + soft[i].drift
        changed = change_side(trial, h, soft[i], forces[soft[i].force], now) or changed
    return changed


@njit
def change_side(trial, h, row, force, now):
    """The same for one row, whose rate is `now` at the end."""
    if force.kind != MOTOR or force.limit == math.inf or force.active == 0:
        return False
    wanted = row.push - h * force.stiffness * row.value + row.keep * row.before - row.resist * now
    most = h * force.limit
    if row.state == HELD:
        most *= 1.0 + SETTLED
    side = AT_MOST if wanted > most else (AT_LEAST if wanted < -most else HELD)
    if side == row.state or (trial >= TRIALS and row.state != HELD):
        return False
    row.state = side
    return True


@njit
def refactor(callbacks, system, stepping):
    """The factorization with the rows as they are now, and their targets. Returns a status."""
    soft, forces, h, joints = stepping.soft, system.forces, stepping.options[0].dt, system.joints
    for i in range(soft.shape[0]):
        _, resist, _, _ = acting(h, soft[i], forces[soft[i].force])
        joints[soft[i].joint].compliance = 1.0 / resist
    aim_rows(h, True, system, stepping)
    return call_pointer(
        callbacks.mechanism, callbacks.mechanism_data, FACTORIZE, 0.0, stepping.targets, stepping.targets
    )


@njit
def note_impulses(system, stepping):
    """The impulses of the rows out of those of the joints."""
    soft, impulses = stepping.soft, stepping.joint_impulses
    for i in range(soft.shape[0]):
        soft[i].impulse = impulses[soft[i].row]


@njit
def book_soft(y, system, stepping):
    """Work of motors and dampers to the ledger: that of the impulse, less what goes into the potential of a spring."""
    soft, forces, h = stepping.soft, system.forces, stepping.options[0].dt
    for i in range(soft.shape[0]):
        row = soft[i]
        now = rate(row, stepping.motion) + row.drift
        elastic = elastic_impulse(h, row, forces[row.force], now)
        book_row(y, row, 0.5 * (row.impulse - elastic) * (row.before + now))


@njit
def book_row(y, row, work):
    """Work of a motor or a damper to its entry, and to that of projection what a spring without one would have kept."""
    y[row.entry] += (1.0 - row.lost) * work
    y[y.shape[0] - len(LEDGER) + PROJECTION_WORK] += row.lost * work


@njit
def elastic_impulse(h, row, force, now):
    """−h k (s̄ − r) of a spring, whose rate is `now` at the end; a motor has no potential."""
    if force.kind != TORSION or force.active == 0:
        return 0.0
    return -h * force.stiffness * (row.value + 0.25 * h * (now - row.before) - force.rest)


@njit
def displace_soft(y, system, stepping):
    """Book what the forces of the rows do along the displacement in `shift`."""
    soft, forces, h = stepping.soft, system.forces, stepping.options[0].dt
    for i in range(soft.shape[0]):
        row = soft[i]
        moved = rate(row, stepping.shift) / h
        elastic = elastic_impulse(h, row, forces[row.force], rate(row, stepping.motion) + row.drift)
        book_row(y, row, (row.impulse - elastic) * moved)
        y[y.shape[0] - len(LEDGER) + PROJECTION_WORK] -= row.impulse * moved


# ----------------------------------------------------------------------------------------------------------------------

_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def limits_task(task, h, y, answer, callbacks, system, stepping):
    """Do one of the tasks; returns a status, or what `ask_limits` says."""
    if task == BEGIN:
        begin_rows(y, system, stepping)
    elif task in (SET, SET_KICKED):
        set_rows(h, task == SET_KICKED, system, stepping)
    elif task in (PLACE_LIMITS, PLACE_KICKED):
        place_rows(system, stepping)
        aim_rows(h, task == PLACE_KICKED, system, stepping)
        return find_bounds(callbacks, h, task == PLACE_KICKED, y, system, stepping)
    elif task in (SET_BOUNCES, SET_PLASTIC):
        return 1 if set_bounces(h, system, stepping, task == SET_PLASTIC) else 0
    elif task == CHANGE_SIDES:
        return 1 if change_sides(int(h), system, stepping) else 0
    elif task == REFACTOR:
        status = refactor(callbacks, system, stepping)
        return respond_bounds(callbacks, system, stepping) if status == OK else status
    elif task == PUSH:
        push_bounds(stepping)
    elif task == SWEEP_LIMITS:
        answer[0], status = sweep_bounds(callbacks, system, stepping)
        return status
    elif task == LIMITS_RESIDUAL:
        answer[0] = bounds_residual(stepping)
    elif task == WORK:
        answer[0], answer[1] = passive_work(system, stepping)
    elif task == APPLY:
        apply_bounds(y, system, stepping)
        note_impulses(system, stepping)
        book_soft(y, system, stepping)
    elif task == CORRECT_STOPS:
        some, status = part_stops(callbacks, system, stepping)
        answer[0] = 1.0 if some else 0.0
        return status
    elif task == DISPLACE:
        answer[0] = work_of_bounds(y, system, stepping)
    elif task == DISPLACE_SOFT:
        displace_soft(y, system, stepping)
    return OK


def limits_entry(data, task, h, y, n, answer, m):
    at = _addresses(data, CALLBACKS + 3)
    system, stepping = table_at(System, at[CALLBACKS]), table_at(Stepping, at[CALLBACKS + 2])
    return limits_task(task, h, _floats(y, n), _floats(answer, m), callbacks_at(data), system, stepping)


LIMITS_ENTRY = CFunction(limits_entry, C_SIGNATURE)


# ----------------------------------------------------------------------------------------------------------------------
# The mechanism as time steps see it: with a row for each motor with gains and each spring of a joint; see `soft`.


FAINT = 1e-14  # of the inertia that a coordinate has without joints: what stands for no row
LOOSE = 1e4  # compliance of rows, over the response of the bodies alone, with which they hardly take part


def is_implicit(forces: Any) -> np.ndarray:
    """Which rows of the table of forces are soft constraints of time steps."""
    on_coordinate = (forces.kind == MOTOR) | (forces.kind == TORSION)
    return np.asarray(on_coordinate & ((forces.stiffness > 0.0) | (forces.damping > 0.0)))


def implicit_forces(system: System) -> np.ndarray:
    """The rows of the forces on coordinates that are soft constraints of a step, coordinate by coordinate."""
    forces = system.forces
    chosen = np.flatnonzero(is_implicit(forces))
    return chosen[np.argsort(forces.coordinate[chosen], kind="stable")]


def make_soft(system: System, size: int, chosen: np.ndarray) -> Any:
    """The SOFT table of these forces; `size` is that of the state."""
    rows = np.zeros(len(chosen), SOFT_ROW).view(np.recarray)
    forces, coordinates = system.forces, system.coordinates
    rows.force, rows.coordinate = chosen, forces.coordinate[chosen]
    rows.entry = size - len(system.power) + forces.ledger[chosen]
    rows.a, rows.b = coordinates.a[rows.coordinate], coordinates.b[rows.coordinate]
    rows.first = np.searchsorted(rows.coordinate, rows.coordinate, side="left")
    rows.end = np.searchsorted(rows.coordinate, rows.coordinate, side="right")
    rows.joint = rows.row = rows.part = rows.freedom = -1
    return rows


class SoftMechanism(Mechanism):
    """A mechanism with a row more for each implicit force. It shares bodies, forces and what they do with that of the model;
    joints, their matrix and its factorization are its own. `rows` is the SOFT table."""

    def __init__(self, model: Model, plain: Mechanism, chosen: np.ndarray) -> None:
        self.plain = plain.system
        system, rows = self.plain, make_soft(self.plain, model.size, chosen)
        graph = _with_rows(model.graph, system, rows)
        system.forces.implicit[chosen] = 1
        rows.joint = np.arange(len(system.joints), len(graph.joints))
        rows.row = graph.joints["row"][rows.joint]
        rows.part = np.arange(len(system.parts), len(system.parts) + len(rows))
        symbolic, count, unknowns = graph.symbolic, graph.rows, graph.unknowns
        super().__init__(
            system._replace(
                parts=_parts(model.graph, graph, system, rows), joints=np.array(graph.joints).view(np.recarray),
                incidences=graph.incidences, pairs=graph.pairs, hubs=graph.hubs, columns=symbolic.columns,
                entries=symbolic.entries, updates=symbolic.updates, settings=np.array(system.settings).view(np.recarray),
                jacobian=np.zeros(graph.jacobian_size), error=np.zeros(count), bias=np.zeros(count),
                scale=np.zeros(unknowns), values=np.zeros(symbolic.values), lower=np.zeros(symbolic.values),
                rhs=np.zeros(unknowns), multipliers=np.zeros(unknowns), residual=np.zeros(unknowns),
                rates=np.zeros(count), timer=np.zeros(len(system.timer)),
            )
        )  # fmt: skip
        self.rows = rows
        self.follow()
        self._find_responses(model)

    def follow(self) -> None:
        """Take over what may have been changed in the plain mechanism: its settings, and joints that were let go."""
        own, settings, count = self.system, self.system.settings, len(self.plain.joints)
        settings[0] = self.plain.settings[0]
        settings.implicit, settings.solver = 1, 0
        self._name_functions()  # it has rows that the plain one has not
        for j in np.flatnonzero(own.joints.active[:count] != self.plain.joints.active):
            own.joints.active[j] = self.plain.joints.active[j]
            rows = slice(own.joints.row[j], own.joints.row[j] + own.joints.rows[j])
            for values in (own.error, own.bias, own.multipliers):
                values[rows] = 0.0
            for incidence in own.incidences[own.joints["first"][j] : own.joints["last"][j]]:
                own.jacobian[incidence.offset : incidence.offset + size_of(incidence)] = 0.0

    def _find_responses(self, model: Model) -> None:
        """How each coordinate answers a unit impulse at the initial pose, with the joints taking part."""
        system, rows = self.system, self.rows
        system.joints.compliance[rows.joint] = 1.0
        y, found = model.initial.copy(), np.zeros(len(system.error))
        self.call(KINEMATICS, 0.0, y, found)
        alone = np.array([self._alone(int(joint)) for joint in rows.joint])
        rows.faint, rows.response = FAINT / alone, alone
        loose = LOOSE * alone
        system.joints.compliance[rows.joint] = loose
        if self.call(KINEMATICS, 0.0, y, found) != OK:
            return
        for i in range(len(rows)):
            rates = np.zeros(len(found))
            rates[rows.row[i]] = 1.0
            if rows.first[i] == i and self.call(CONSTRAIN, 0.0, rates, found) == OK:
                response = 1.0 / found[rows.row[i]] - loose[i]
                rows.response[i : rows.end[i]] = response if response > LOCKED * alone[i] else 0.0

    def _alone(self, joint: int) -> float:
        """The same of the two bodies without joints."""
        system, total = self.system, 0.0
        for incidence in system.incidences[system.joints["first"][joint] : system.joints["last"][joint]]:
            linear, angular = system.jacobian[incidence.offset : incidence.offset + 6].reshape(2, 3)
            xx, yy, zz, xy, xz, yz = system.kinematics.inverse_inertia[incidence.body]
            inverse = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            total += system.bodies.inverse_mass[incidence.body] * linear @ linear + angular @ inverse @ angular
        return float(total)


def with_soft_rows(model: Model, mechanism: Mechanism) -> Mechanism:
    """The mechanism with rows for its implicit forces; itself, where there are none."""
    chosen = implicit_forces(mechanism.system)
    return SoftMechanism(model, mechanism, chosen) if len(chosen) else mechanism


def size_of(incidence: Any) -> int:
    """Numbers that the Jacobian of an incidence has."""
    return 4 if incidence.is_point else 6 * int(incidence.rows)


def _with_rows(graph: Graph, system: System, rows: Any) -> Graph:
    """The graph with a node more for each row."""
    joints, incidences = graph.joints, graph.incidences
    bodies = [sorted(set(incidences["body"][j["first"] : j["last"]].tolist())) for j in joints]
    points = [bool(incidences["is_point"][j["first"] : j["last"]].any()) for j in joints]
    world, count = len(system.kinematics) - 1, len(rows)
    ends = [[int(row.a), int(row.b)] for row in rows]
    return build_graph(
        [*joints["rows"].tolist(), *[1] * count], [*points, *[False] * count], [*bodies, *ends], world,
        len(graph.hubs) > 0, count,
    )  # fmt: skip


def _parts(old: Graph, new: Graph, system: System, rows: Any) -> Any:
    """The parts of joints with their Jacobians where the new graph has them, and those of the rows."""
    spare = new.jacobian_size - SPARE
    moved = np.full(old.jacobian_size, spare)
    for place, offset in old.offsets.items():
        moved[offset] = new.offsets[place]
    parts = np.concatenate([np.asarray(system.parts), np.zeros(len(rows), PART)]).view(np.recarray)
    for block in ("block_a", "block_b", "block_c", "block_d"):
        parts[block][: len(system.parts)] = moved[system.parts[block]]
        parts[block][len(system.parts) :] = spare
    for row in rows:
        part = parts[row.part]
        part.kind, part.joint, part.row, part.first = SOFT, row.joint, row.row, row.coordinate
        part.a, part.b = row.a, row.b
        part.block_a, part.block_b = (new.offset(int(row.joint), int(body), 0) for body in (row.a, row.b))
    return parts
