"""Forces on joint coordinates in a step: stops, dry friction and ideal motors, which have bounds, and soft constraints.

One C function does the tasks that `tables` lists; scenes without these forces do not compile it. In order: forces
within bounds, soft constraints, the C function, and the mechanism with a row for each soft constraint.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.c_function import C_SIGNATURE, CONSTRAIN, FACTORIZE, KINEMATICS, viewer
from ..core.elementary import exp, expm1, sin
from ..core.jit import CFunction, inlined, njit
from ..core.math3 import add_scaled, dot, load3, scale, store3, symvec
from ..core.status import OK
from ..core.tables import grow, table_at
from ..dynamics.commands import surface_velocity
from ..dynamics.jacobian import coordinate_rate, coordinate_rows, coordinate_value, plain_rows
from ..dynamics.mechanism import Mechanism
from ..model.compile import Model
from ..model.graph import SPARE, Graph, build_graph
from ..model.tables import LEDGER, MOTOR, PART, PROJECTION_WORK, SETTINGS, SOFT, STOP, TORSION, System
from .joints import LOCKED, add_impulse, book_reaction, project_velocities, solve_joints
from .tables import (
    ANGULAR,
    APPLY_TO_STATE,
    APPLY_WARM_START,
    AT_LEAST,
    AT_MOST,
    BOOK_CORRECTION,
    BOOK_CORRECTION_OF_SOFT,
    CORRECT_STOPS,
    HELD,
    INVERSE_INERTIA,
    INVERSE_MASS,
    LIMITS_RESIDUAL,
    LINEAR,
    MOTION,
    OFF,
    REFACTOR,
    SET_SOFT,
    SET_SOFT_IDLE,
    SET_STOPS,
    START_STEP,
    SWEEP_LIMITS,
    UPDATE_ROWS,
    UPDATE_ROWS_IDLE,
    UPDATE_SATURATION,
    ContactTables,
    call_mechanism,
    clear_velocities,
    put_three,
    six,
    three,
)
from .tables import SOFT as SOFT_ROW

# Forces within bounds ---------------------------------------------------------------------------------------------------
#
# With ṡ the rate of the coordinate, K its response to a unit impulse (joints taking part) and λ⁻ ≤ λ ≤ λ⁺ the impulse,
#
#     λ = clamp(λ − (ṡ + bias)/K):   ṡ + bias = 0 inside the bounds, ≥ 0 at the lower, ≤ 0 at the upper one.
#
# A stop pushes only, 0 ≤ λ, with the law of a frictionless contact; dry friction and motors have |λ| ≤ h · effort. The work
# of λ is λ · ½ (ṡ⁻ + ṡ⁺), as that of contacts. What a motor prescribes, and a stop or dry friction holds, is the ṡ at the end
# of the step: that after the impulses and its change in half a drift, which is that in the first half of the step.

STOP_ROUNDING = 1e-13  # m or rad: a smaller overlap of a stop is rounding
FIRM = 1e-6  # of it: what a coordinate without freedom answers to a force that has a limit, or gives way
PASSES, ENOUGH = 50, 1e-3  # most sweeps of position correction; they end when so small a part of the overlap is left


@njit
def update_bounds(h, with_forces, y, tables):
    """Rows, gaps, limits and responses of all bounds at the kinematics table; efforts act over h (s) if `with_forces`.
    Returns a status."""
    bounds = tables.stepping.bounds
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        update_bound(bound, h if with_forces else 0.0, y, tables.system)
        bound.slide = rate_of_surfaces(bound, tables.system)
        bound.before = present_rate(bound, tables)
        if not with_forces:
            bound.start = bound.before
        elif bound.soft < 0 and tables.system.forces[bound.force].kind != STOP:
            bound.bias += bound.before - bound.start
    return compute_responses(tables)


@njit
def compute_responses(tables):
    """The responses and the warm start of all bounds. Returns a status."""
    bounds = tables.stepping.bounds
    for i in range(bounds.shape[0]):
        status = compute_response(bounds[i], tables)
        if status != 0:
            return status
        warm_start_bound(bounds[i], tables.system)
    return 0


@njit
def update_bound(bound, h, y, system):
    """The row of a bound, and its gap or the limits of its impulse, at the kinematics table."""
    fill_row(bound, system)
    force = system.forces[bound.force]
    if force.kind == STOP:
        coordinate = system.coordinates[force.coordinate]
        bound.gap = force.side * (coordinate_value(y, coordinate, system.kinematics, system.curves) - force.rest)
        return
    set_limits(bound, force, h)


@njit
def fill_row(bound, system):
    """The row of a bound at the kinematics table."""
    force = system.forces[bound.force]
    coordinate = system.coordinates[force.coordinate]
    linear_a, angular_a, linear_b, angular_b, _ = coordinate_rows(coordinate, system.kinematics, system.curves)
    side = -1.0 if force.kind == STOP and force.side < 0.0 else 1.0
    store3(bound.linear_a, scale(side, linear_a))
    store3(bound.angular_a, scale(side, angular_a))
    store3(bound.linear_b, scale(side, linear_b))
    store3(bound.angular_b, scale(side, angular_b))


@njit
def set_limits(bound, force, h):
    """The limits of the impulse of dry friction or of an ideal motor over h (s), and what the rate is to be."""
    most = h * force.limit if h > 0.0 else 0.0  # the limit may be infinite
    bound.least, bound.most = -most, most
    if bound.soft < 0:
        bound.bias = -force.target


@njit
def warm_start_bound(bound, system):
    """The impulse that a solver starts from: that of the last step, within its limits; zero for an inactive force."""
    if system.forces[bound.force].active == 0:
        bound.response = OFF
    if bound.response == OFF:
        bound.impulse = 0.0
    bound.impulse = min(bound.most, max(bound.least, bound.impulse))


@njit
def compute_response(bound, tables):
    """`response` of a bound: its rate after a unit impulse, with joints closed. `support_motion` is scratch. Returns a
    status."""
    trial = tables.stepping.support_motion
    clear_velocities(tables.stepping.motion, trial)
    push_coordinate(bound, 1.0, trial)
    alone = rate(bound, trial)
    status = project_velocities(tables, trial)
    closed = rate(bound, trial)
    bound.response = usable_response(closed, alone, bound)
    return status


# Joints, or a prescribed motion, may leave a coordinate no freedom. A stop, or a motor without limit, then does nothing.
# Dry friction and a motor with a limit reach that as soon as the coordinate moves, and a spring has the force of its law:
# these need a response, which is made small, as it tells at what rate they reach it.
@inlined
def usable_response(closed, alone, bound):
    """The response that solvers divide by, from that with joints closed and that without joints."""
    if closed > LOCKED * alone:
        return closed
    limited = -math.inf < bound.least and bound.most < math.inf
    return FIRM * alone if limited or bound.soft >= 0 else OFF


@njit
def rate(bound, motion):
    """ṡ, toward the inside for a stop."""
    at, to = MOTION * bound.a, MOTION * bound.b
    return (
        dot(load3(bound.linear_a), three(motion, at + LINEAR)) + dot(load3(bound.angular_a), three(motion, at + ANGULAR))
        + dot(load3(bound.linear_b), three(motion, to + LINEAR)) + dot(load3(bound.angular_b), three(motion, to + ANGULAR))
    )  # fmt: skip


@inlined
def present_rate(row, tables):
    """The same at the present velocities, without those of moving surfaces, which move no joint."""
    return rate(row, tables.stepping.motion) - row.slide


@njit
def rate_of_surfaces(row, system):
    """What moving surfaces of its bodies add to that."""
    total = 0.0
    for i in range(system.commands.shape[0]):
        body = system.commands[i].body
        if body >= 0 and (body == row.a or body == row.b):
            slide, spin = surface_velocity(system.commands[i])
            linear, angular = (row.linear_a, row.angular_a) if body == row.a else (row.linear_b, row.angular_b)
            total += dot(load3(linear), slide) + dot(load3(angular), spin)
    return total


@njit
def push_coordinate(bound, impulse, motion):
    """Change the velocities of both bodies by an impulse on the coordinate."""
    push_body(bound.a, load3(bound.linear_a), load3(bound.angular_a), impulse, motion)
    push_body(bound.b, load3(bound.linear_b), load3(bound.angular_b), impulse, motion)


@njit
def push_body(body, linear, angular, impulse, motion):
    """v ← v + λ l/m, ω ← ω + λ I⁻¹ a for the row (l, a) of one body."""
    at = MOTION * body
    turn = symvec(six(motion, at + INVERSE_INERTIA), angular)
    put_three(motion, at + LINEAR, add_scaled(three(motion, at + LINEAR), impulse * motion[at + INVERSE_MASS], linear))
    put_three(motion, at + ANGULAR, add_scaled(three(motion, at + ANGULAR), impulse, turn))


@njit
def set_stops(h, bounds, forces):
    """The biases of stops without restitution: gap / h, and the change of the rate in half a drift."""
    for i in range(bounds.shape[0]):
        if forces[bounds[i].force].kind == STOP:
            bounds[i].bias = max(bounds[i].gap, 0.0) / h + bounds[i].before - bounds[i].start


@njit
def apply_warm_start(stepping):
    """Apply the impulses in the table of bounds to `motion`."""
    bounds = stepping.bounds
    for i in range(bounds.shape[0]):
        push_coordinate(bounds[i], bounds[i].impulse, stepping.motion)


@njit
def sweep_bounds(tables):
    """One sweep over all bounds, the joints after each; returns (the largest change of a rate, a status)."""
    bounds = tables.stepping.bounds
    largest = 0.0
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        if bound.response == OFF:
            continue
        change = impulse_change(bound, present_rate(bound, tables))
        if change == 0.0:
            continue
        bound.impulse += change
        push_coordinate(bound, change, tables.stepping.motion)
        status = solve_joints(tables)
        if status != 0:
            return largest, status
        largest = max(largest, abs(change) * bound.response)
    return largest, 0


@njit
def bounds_residual(tables):
    """The largest |λ − clamp(λ − (ṡ + bias)/K)| K over the bounds, m/s or rad/s."""
    bounds = tables.stepping.bounds
    worst = 0.0
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        if bound.response != OFF:
            worst = max(worst, bound.response * abs(impulse_change(bound, present_rate(bound, tables))))
    return worst


@njit
def impulse_change(bound, now):
    """The change of the impulse by the law at the rate `now`: clamp(λ − (ṡ + bias + C λ)/(K + C)) − λ, C the compliance."""
    excess = now + bound.bias + bound.compliance * bound.impulse
    wanted = bound.impulse - excess / (bound.response + bound.compliance)
    return min(bound.most, max(bound.least, wanted)) - bound.impulse


@njit
def apply_bounds(y, tables):
    """P, L ← P, L + λ sᵀ; work and reactions to the ledger."""
    bounds = tables.stepping.bounds
    bodies = tables.system.bodies.shape[0]
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        impulse = bound.impulse
        y[bound.entry] += 0.5 * impulse * (bound.before + present_rate(bound, tables))
        for side in range(2):
            body = bound.a if side == 0 else bound.b
            linear = load3(bound.linear_a) if side == 0 else load3(bound.linear_b)
            angular = load3(bound.angular_a) if side == 0 else load3(bound.angular_b)
            if body < bodies:
                add_impulse(y, body, scale(impulse, linear), scale(impulse, angular))
            else:
                book_reaction(y, scale(-impulse, linear), scale(-impulse, angular))


@njit
def correct_stops(tables):
    """Add to `shift` the least displacement, with joints closed, that removes the overlap of stops: Gauss–Seidel over the
    stops. Returns (whether there is one, a status)."""
    bounds, shift = tables.stepping.bounds, tables.stepping.shift
    deepest = 0.0
    for i in range(bounds.shape[0]):
        bounds[i].correction = 0.0
        if is_stop(bounds[i], tables.system):
            deepest = max(deepest, -bounds[i].gap)
    if deepest <= STOP_ROUNDING:
        return False, 0
    for _ in range(PASSES):
        left = 0.0
        for i in range(bounds.shape[0]):
            bound = bounds[i]
            if not is_stop(bound, tables.system):
                continue
            gap = bound.gap + rate(bound, shift)
            left = max(left, -gap)
            change = max(0.0, bound.correction - gap / bound.response) - bound.correction
            if change != 0.0:
                bound.correction += change
                push_coordinate(bound, change, shift)
                status = project_velocities(tables, shift)
                if status != 0:
                    return True, status
        if left <= max(STOP_ROUNDING, ENOUGH * deepest):
            break
    for i in range(bounds.shape[0]):
        bounds[i].gap += rate(bounds[i], shift)
    return True, 0


@njit
def is_stop(bound, system):
    """Whether a bound is a stop that can act."""
    return system.forces[bound.force].kind == STOP and bound.response != OFF


@njit
def book_correction_of_bounds(y, tables):
    """Book the work of motors and dry friction along the displacement in `shift`. Returns the sum (J)."""
    stepping = tables.stepping
    bounds, total = stepping.bounds, 0.0
    for i in range(bounds.shape[0]):
        if not is_stop(bounds[i], tables.system):
            work = bounds[i].impulse / stepping.options[0].dt * rate(bounds[i], stepping.shift)
            y[bounds[i].entry] += work
            total += work
    return total


# Soft constraints -------------------------------------------------------------------------------------------------------
#
# Motors with gains, and springs and dampers of joints, are implicit in the step, and stable for any gain.
#
# Such a force acts on the coordinate s of a joint with e + k (p − s) + d (t − ṡ). Its impulse in a step over h is that of
# the implicit midpoint rule, which takes s and ṡ half-way: s̄ = s + ¼ h (ṡ⁺ − ṡ⁻) and ½ (ṡ⁻ + ṡ⁺), with s that of the
# middle of the step, and −, + at the start of the step and at its end:
#
#     λ = h (e + k (p − s̄)) + h d' (t − ½ (ṡ⁻ + ṡ⁺)) − m (ṡ⁺ − ṡ⁻) = push − resist ṡ⁺ + keep ṡ⁻.
#
# So ṡ⁺ + λ/resist = (push + keep ṡ⁻)/resist: a constraint with a compliance, one more row in the system of the joints. The
# work of the elastic part, −h k (s̄ − p) · ½ (ṡ⁻ + ṡ⁺), is the change of its potential energy. From the impulses of a step
# to those of the next ṡ changes by itself, as axes turn; ṡ⁺ is the rate after the impulses, and as much more as the first
# half drift of the step has changed it (`drift`).
#
# The midpoint rule alone would let stiff springs ring for ever. The inertia m ≥ 0 and the damping d' > 0, which differ from
# 0 and d by h² or so, correct that. With a = h² k K and b = h d K, K the response of the coordinate to an impulse, one
# freedom moves by x' = x + w⁺, D w⁺ = D e^{−b} w⁻ − a x, with x = s − p in the middles of the steps, w = h ṡ between them,
# and D = 1 + m K + ¼ a + ½ h d' K. Whatever D is, it decays by e^{−b}, as it should. `fit_decay` takes for D
#
#     g(x₁) g(x₂), g(x) = x/(1 − e^{−x}), x₁ + x₂ = b, x₁ x₂ = a    where it is overdamped: the exact solution, however fast;
#     a/|1 − e^{−x₁}|²                                               where it oscillates (by π a step at most),
#     2 (1 + ¼ a)/(1 + e^{−b})                                       which is m = 0, at least.
#
# Stability needs no K: with ½ m ṡ² counted as kinetic energy, a step takes h d' (½ (ṡ⁻ + ṡ⁺))² at each coordinate, and
# nothing else, whatever else the mechanism consists of. An oscillation beyond the limit of explicit steps, √a > 2, which no
# step can follow, is damped as if b were 2 (√a − 2) at least. The energy of that is work of a motor; of a spring it is an
# error of the energy, and booked as the work of projection.
#
# A motor at its limit exerts that, and its row gets a compliance so large (`faint`) that it does nothing else. Which motors
# are at their limits is decided by trial: see `update_saturation`.

SETTLED = 1e-9  # of its limit: a motor that exceeds it by less is within it, so that rounding does not switch it
TRIALS = 8  # in which a motor may leave its limit again; after that it stays, so that trials end


@njit
def growth(x):
    """x/(1 − e^{−x})."""
    return x / -expm1(-x) if x > 0.0 else 1.0


@inlined
def least_damping(a, b):
    """b, or what damps an oscillation that no step can follow."""
    return max(b, 2.0 * (math.sqrt(a) - 2.0))


@njit
def fit_decay(a, b):
    """(m K, h d' K) for a = h² k K and b = h d K: the coefficients with the exact decay; see above."""
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
    """`push_coordinate` at s = 0, `resist` and `keep` of all rows for a step over h (s)."""
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
        more = least_damping(a, b) - b
        own = soft[first]
        if own.of_h != h or own.of_k != k or own.of_d != d:
            own.of_h, own.of_k, own.of_d = h, k, d
            own.inertia, own.damping = fit_decay(a, b + more)
        for i in range(first, end):
            force = forces[soft[i].force]
            set_law(h, soft[i], force, k, b, more, own.inertia, own.damping)
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
def active_law(h, row, force):
    """(push_coordinate at s = 0, resist, keep, k) as they act: those of the law, or of what is at its limit."""
    if row.state == HELD:
        return row.push, row.resist, row.keep, force.stiffness if force.active != 0 else 0.0
    limit = h * force.limit
    return limit if row.state == AT_MOST else -limit, row.faint, row.faint, 0.0


@njit
def set_soft_rows(h, with_forces, tables):
    """The soft rows of a step as the mechanism takes them, before its factorization; without forces they do nothing."""
    system = tables.system
    soft, forces, parts, joints = tables.stepping.soft, system.forces, system.parts, system.joints
    set_laws(h, soft, forces)
    for i in range(soft.shape[0]):
        row = soft[i]
        if not with_forces:
            row.push, row.resist, row.keep, row.state = 0.0, row.faint, row.faint, HELD
        push_coordinate, resist, keep, k = active_law(h, row, forces[row.force])
        if not with_forces:
            k = 0.0
        joints[row.joint].compliance = 1.0 / resist
        part = parts[row.part]
        part.value, part.ratio, part.ratio_2 = -push_coordinate / (resist * h), k / resist, (1.0 - keep / resist) / h


@njit
def store_initial_rates(y, tables):
    """The rates at the start of a step, where the kinematics table is."""
    system = tables.system
    soft, bounds, coordinates = tables.stepping.soft, tables.stepping.bounds, system.coordinates
    kinematics, curves = system.kinematics, system.curves
    for i in range(soft.shape[0]):
        soft[i].before = coordinate_rate(y, coordinates[soft[i].coordinate], kinematics, curves)
    for i in range(bounds.shape[0]):
        force = system.forces[bounds[i].force]
        bounds[i].start = coordinate_rate(y, coordinates[force.coordinate], kinematics, curves)
        if force.kind == STOP and force.side < 0.0:
            bounds[i].start = -bounds[i].start


@njit
def update_soft_rows(tables):
    """Values, rows and drifts of soft rows at the kinematics table, from the velocities in `motion`."""
    system = tables.system
    soft, kinematics = tables.stepping.soft, system.kinematics
    for i in range(soft.shape[0]):
        row = soft[i]
        linear_a, angular_a, linear_b, angular_b, _ = plain_rows(system.coordinates[row.coordinate], kinematics)
        store3(row.linear_a, linear_a)
        store3(row.angular_a, angular_a)
        store3(row.linear_b, linear_b)
        store3(row.angular_b, angular_b)
        row.value = system.error[row.row]
        row.slide = rate_of_surfaces(row, system)
        row.drift = present_rate(row, tables) - row.before


@njit
def set_soft_targets(h, with_forces, tables):
    """(push_coordinate + keep ṡ⁻)/resist for ṡ⁺, into the targets of the joints' rows."""
    soft, forces, targets = tables.stepping.soft, tables.system.forces, tables.stepping.targets
    for i in range(soft.shape[0]):
        row = soft[i]
        push_coordinate, resist, keep, k = active_law(h, row, forces[row.force])
        if with_forces:
            push_coordinate -= h * k * row.value
        targets[row.row] = (push_coordinate + keep * row.before) / resist - row.drift + row.slide


@njit
def update_saturation(trial, tables):
    """Let motors that ask for more than their limit exert that, and those that ask for less fit_decay their law; after some
    trials only the first. Returns whether any has changed."""
    stepping = tables.stepping
    soft, forces, h = stepping.soft, tables.system.forces, stepping.options[0].dt
    changed = False
    for i in range(soft.shape[0]):
        now = present_rate(soft[i], tables) + soft[i].drift
        changed = saturation_changed(trial, h, soft[i], forces[soft[i].force], now) or changed
    return changed


@njit
def saturation_changed(trial, h, row, force, now):
    """The same for one row, whose rate at the end of the step is `now`."""
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
def refactor(tables):
    """The factorization with the present rows, and their targets. Returns a status."""
    stepping = tables.stepping
    soft, forces, h, joints = stepping.soft, tables.system.forces, stepping.options[0].dt, tables.system.joints
    for i in range(soft.shape[0]):
        _, resist, _, _ = active_law(h, soft[i], forces[soft[i].force])
        joints[soft[i].joint].compliance = 1.0 / resist
    set_soft_targets(h, True, tables)
    return call_mechanism(tables.callbacks, FACTORIZE, 0.0, stepping.targets, stepping.targets)


@njit
def store_soft_impulses(tables):
    """Copy the impulses of soft rows from those of the joints."""
    soft, impulses = tables.stepping.soft, tables.stepping.joint_impulses
    for i in range(soft.shape[0]):
        soft[i].impulse = impulses[soft[i].row]


@njit
def book_soft(h, y, tables):
    """Work of motors and dampers in a step over h (s) to the ledger: that of the impulse, less the change of the potential
    energy of springs. h = 0: only impulses act."""
    stepping = tables.stepping
    soft, forces = stepping.soft, tables.system.forces
    for i in range(soft.shape[0]):
        row = soft[i]
        now = present_rate(row, tables) + row.drift
        elastic = elastic_impulse(h, row, forces[row.force], now)
        book_row(y, row, 0.5 * (row.impulse - elastic) * (row.before + now))


@njit
def book_row(y, row, work):
    """Add work (J) of a row to its entry of the ledger; numerical damping of a spring is an error, and goes to projection."""
    y[row.entry] += (1.0 - row.lost) * work
    y[y.shape[0] - len(LEDGER) + PROJECTION_WORK] += row.lost * work


@njit
def elastic_impulse(h, row, force, now):
    """−h k (s̄ − r) of a spring, whose rate at the end is `now`; zero for a motor, which has no potential."""
    if force.kind != TORSION or force.active == 0:
        return 0.0
    return -h * force.stiffness * (row.value + 0.25 * h * (now - row.before) - force.rest)


@njit
def book_correction_of_soft(y, tables):
    """Book the work of soft rows along the displacement in `shift`."""
    stepping = tables.stepping
    soft, forces, h = stepping.soft, tables.system.forces, stepping.options[0].dt
    for i in range(soft.shape[0]):
        row = soft[i]
        moved = rate(row, stepping.shift) / h
        elastic = elastic_impulse(h, row, forces[row.force], present_rate(row, tables) + row.drift)
        book_row(y, row, (row.impulse - elastic) * moved)
        y[y.shape[0] - len(LEDGER) + PROJECTION_WORK] -= row.impulse * moved


# The C function ---------------------------------------------------------------------------------------------------------

_floats = viewer(np.float64)


@njit
def limits_task(task, h, y, answer, tables):
    """Do one of the tasks that `tables` lists, for a step over h (s); returns a status, or 1 or 0 where that list says so."""
    if task == START_STEP:
        store_initial_rates(y, tables)
    elif task in (SET_SOFT_IDLE, SET_SOFT):
        set_soft_rows(h, task == SET_SOFT, tables)
    elif task in (UPDATE_ROWS_IDLE, UPDATE_ROWS):
        update_soft_rows(tables)
        set_soft_targets(h, task == UPDATE_ROWS, tables)
        return update_bounds(h, task == UPDATE_ROWS, y, tables)
    elif task == SET_STOPS:
        set_stops(h, tables.stepping.bounds, tables.system.forces)
    elif task == UPDATE_SATURATION:
        return 1 if update_saturation(int(h), tables) else 0
    elif task == REFACTOR:
        status = refactor(tables)
        return compute_responses(tables) if status == OK else status
    elif task == APPLY_WARM_START:
        apply_warm_start(tables.stepping)
    elif task == SWEEP_LIMITS:
        answer[0], status = sweep_bounds(tables)
        return status
    elif task == LIMITS_RESIDUAL:
        answer[0] = bounds_residual(tables)
    elif task == APPLY_TO_STATE:
        apply_bounds(y, tables)
        store_soft_impulses(tables)
        book_soft(h, y, tables)
    elif task == CORRECT_STOPS:
        some, status = correct_stops(tables)
        answer[0] = 1.0 if some else 0.0
        return status
    elif task == BOOK_CORRECTION:
        answer[0] = book_correction_of_bounds(y, tables)
    elif task == BOOK_CORRECTION_OF_SOFT:
        book_correction_of_soft(y, tables)
    return OK


def limits_entry(data, task, h, y, n, answer, m):
    return limits_task(task, h, _floats(y, n), _floats(answer, m), table_at(ContactTables, data))


LIMITS_ENTRY = CFunction(limits_entry, C_SIGNATURE)


# The mechanism with soft rows -------------------------------------------------------------------------------------------

FAINT = 1e-14  # of the inertia of a coordinate without joints: a row with so small a resistance has no effect
LOOSE = 1e4  # of the response of the bodies alone: rows with so large a compliance hardly take part


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
    rows.joint = rows.row = rows.part = rows.freedom = rows.at = -1
    return rows


# Settings as words: where two of them are, and how many name functions, which are the last ones
_PLACES: Any = SETTINGS.fields
IMPLICIT, SOLVER = (_PLACES[name][1] // 8 for name in ("implicit", "solver"))
NAMES = (SETTINGS.itemsize - _PLACES["on_particles"][1]) // 8


class SoftMechanism(Mechanism):
    """A mechanism with a row more for each implicit force. It shares bodies and forces with that of the model; joints, their
    matrix and its factorization are its own. `rows` is the SOFT table."""

    def __init__(self, model: Model, plain: Mechanism, chosen: np.ndarray) -> None:
        self.plain = plain.system
        system, rows = self.plain, make_soft(self.plain, model.size, chosen)
        graph = _with_rows(model.graph, system, rows)
        system.forces.implicit[chosen] = 1
        rows.joint = np.arange(len(system.joints), len(graph.joints))
        rows.row = graph.joints["row"][rows.joint]
        rows.part = np.arange(len(system.parts), len(system.parts) + len(rows))
        symbolic = graph.symbolic
        own = grow(
            system, rows=graph.rows, unknowns=graph.unknowns, values=symbolic.values, jacobian_size=graph.jacobian_size,
            joints=len(graph.joints),
        )  # fmt: skip
        super().__init__(
            own._replace(
                parts=_parts(model.graph, graph, system, rows), joints=np.array(graph.joints).view(np.recarray),
                incidences=graph.incidences, pairs=graph.pairs, hubs=graph.hubs, columns=symbolic.columns,
                entries=symbolic.entries, updates=symbolic.updates, settings=np.array(system.settings).view(np.recarray),
                timer=np.zeros(len(system.timer)),
            )
        )  # fmt: skip
        self.rows = rows
        self._words, self._given = (np.asarray(one.settings).view(np.int64) for one in (self.system, self.plain))
        # It has rows that the plain one has not, so that it may need other functions.
        self._names, self._names_of_plain = self._words[-NAMES:].copy(), self._given[-NAMES:].copy()
        self._active, self._active_of_plain = (
            one.joints.view(np.ndarray)["active"][: len(self.plain.joints)] for one in (self.system, self.plain)
        )
        self.synchronize()
        self._find_responses(model)

    def synchronize(self) -> None:
        """Take over changes of the plain mechanism: its settings, and joints that were released."""
        words = self._words
        words[:] = self._given
        words[IMPLICIT], words[SOLVER] = 1, 0
        if (self._given[-NAMES:] != self._names_of_plain).any():
            self._names_of_plain[:] = self._given[-NAMES:]
            self._name_functions()
            self._names[:] = words[-NAMES:]
        words[-NAMES:] = self._names
        own = self.system
        for j in np.flatnonzero(self._active != self._active_of_plain):
            own.joints.active[j] = self.plain.joints.active[j]
            rows = slice(own.joints.row[j], own.joints.row[j] + own.joints.rows[j])
            for values in (own.error, own.bias, own.partial, own.multipliers):
                values[rows] = 0.0
            for incidence in own.incidences[own.joints["first"][j] : own.joints["last"][j]]:
                own.jacobian[incidence.offset : incidence.offset + size_of(incidence)] = 0.0

    def _find_responses(self, model: Model) -> None:
        """The response of each coordinate to a unit impulse at the initial pose, with joints closed."""
        system, rows = self.system, self.rows
        system.joints.compliance[rows.joint] = 1.0
        y, impulses = model.initial.copy(), np.zeros(len(system.error))
        self.call(KINEMATICS, 0.0, y, impulses)
        alone = np.array([self._alone(int(joint)) for joint in rows.joint])
        rows.faint, rows.response = FAINT / alone, alone
        loose = LOOSE * alone
        system.joints.compliance[rows.joint] = loose
        if self.call(KINEMATICS, 0.0, y, impulses) != OK:
            return
        for i in range(len(rows)):
            rates = np.zeros(len(impulses))
            rates[rows.row[i]] = 1.0
            if rows.first[i] == i and self.call(CONSTRAIN, 0.0, rates, impulses) == OK:
                response = 1.0 / impulses[rows.row[i]] - loose[i]
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
        len(graph.hubs) > 0, count, graph.fixed,
    )  # fmt: skip


def _parts(old: Graph, new: Graph, system: System, rows: Any) -> Any:
    """The parts of joints with their Jacobians where the new graph has them, and those of the rows."""
    spare = new.jacobian_size - SPARE
    moved = np.full(old.jacobian_size, spare)
    for key, offset in old.offsets.items():
        moved[offset] = new.offsets[key]
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
