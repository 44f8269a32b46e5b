"""Motors with gains, and springs and dampers of joints, as soft constraints: implicit in the step, stable for any gain.

Such a force acts on the coordinate s of a joint with e + k (p − s) + d (t − ṡ). Its impulse in a step over h is that of the
implicit midpoint rule, which takes s and ṡ half-way: s̄ = s + ¼ h (ṡ⁺ − ṡ⁻) and ½ (ṡ⁻ + ṡ⁺), with s that of the middle of the
step, and −, + at the start of the step and at its end:

    λ = h (e + k (p − s̄)) + h d' (t − ½ (ṡ⁻ + ṡ⁺)) − m (ṡ⁺ − ṡ⁻) = push − resist ṡ⁺ + keep ṡ⁻.

So ṡ⁺ + λ/resist = (push + keep ṡ⁻)/resist: a constraint with a compliance, one more row in the system of the joints. The work
of the elastic part, −h k (s̄ − p) · ½ (ṡ⁻ + ṡ⁺), is what its potential energy changes by. From the impulses of a step to
those of the next ṡ changes by itself, as axes turn; ṡ⁺ is the rate after the impulses, and as much more as the first half
drift of the step has brought (`drift`).

The midpoint rule alone would let what is stiff ring for ever. The inertia m ≥ 0 and the damping d' > 0, which differ from 0
and d by h² or so, correct that. With a = h² k K and b = h d K, K the response of the coordinate to an impulse, one freedom
moves by x' = x + w⁺, D w⁺ = D e^{−b} w⁻ − a x, with x = s − p in the middles of the steps, w = h ṡ between them, and
D = 1 + m K + ¼ a + ½ h d' K. Whatever D is, it decays by e^{−b}, as it should. `follow` takes for D

    g(x₁) g(x₂), g(x) = x/(1 − e^{−x}), x₁ + x₂ = b, x₁ x₂ = a    where it is overdamped: the exact solution, however fast;
    a/|1 − e^{−x₁}|²                                               where it oscillates (by π a step at most),
    2 (1 + ¼ a)/(1 + e^{−b})                                       which is m = 0, at least.

Stability needs no K: with ½ m ṡ² counted as kinetic energy, a step takes h d' (½ (ṡ⁻ + ṡ⁺))² at each coordinate, and nothing
else, whatever else the mechanism consists of. An oscillation beyond the limit of explicit steps, √a > 2, which no step can
follow, is damped as if b were 2 (√a − 2) at least. What that takes is work of a motor; of a spring it is an error of the
energy, and booked as the work of projection.

A motor at its limit exerts that, and its row is left a compliance so large (`faint`) that it does nothing else. Which motors
are at their limits is found by trial: see `change_sides`.
"""

import math

from ..elementary.circular import sin
from ..elementary.exponential import exp, expm1
from ..jit import njit
from ..mechanics.coordinates import coordinate_rate, coordinate_rows
from ..model.tables import LEDGER, MOTOR, PROJECTION_WORK, SERVO, TORSION
from ..pointer import FACTORIZE, call_pointer
from ..vec import store3
from .bounded import rate
from .tables import AT_LEAST, AT_MOST, HELD

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
def refactor(walls, system, stepping):
    """The factorization with the rows as they are now, and their targets. Returns a status."""
    soft, forces, h, joints = stepping.soft, system.forces, stepping.options[0].dt, system.joints
    for i in range(soft.shape[0]):
        _, resist, _, _ = acting(h, soft[i], forces[soft[i].force])
        joints[soft[i].joint].compliance = 1.0 / resist
    aim_rows(h, True, system, stepping)
    return call_pointer(walls.mechanism, walls.mechanism_data, FACTORIZE, 0.0, stepping.targets, stepping.targets)


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
