"""The forces of the contacts that bear any, and their place in the derivative of the state.

Between events it is known which contacts bear force and which of them slide. The forces satisfy, with A the matrix of
`response` and b the accelerations without them,

    (A f + b)_n = 0 at each,   (A f + b)_t = 0 where it sticks,   f_t = −μ f_n d where it slides along d,

which is linear. That f_n ≥ 0, that f_t stays in the cone and that nothing comes to a stop is watched (`watch`), not imposed:
where one of these ends there is an event, and `rest` says how it goes on. More contacts than the bodies can tell apart (four
under a box) have the forces of least sum of squares, friction in proportion to the normal force of its contact, so that all
slip at the same moment.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.c_function import COMPLETE, DERIVATIVE, POTENTIAL, call_pointer
from ..core.jit import inlined, njit
from ..core.kernel import array, kernel, out
from ..core.math3 import add, cross, dot, load3, rotate_by, scale, store3, sub, symvec
from ..core.simd import load, store
from ..core.status import NoSolution
from ..dynamics.constraints import jacobian_acceleration, solve_multipliers
from ..dynamics.kinematics import load6
from ..linalg.dense import lu_factorize, lu_substitute
from ..linalg.lcp import boxed, lcp
from ..linalg.lcp_dantzig import OK
from ..model.tables import (
    CONSTRAINT_WORK,
    LEDGER,
    PENALTY,
    PROJECTION_WORK,
    REACTION_IMPULSE,
    REACTION_TORQUE,
    STATE_SIZE,
)
from .features import FRICTIONLESS, OPEN, SLIDING, STICKING, place_touches, sliding_direction

# ----------------------------------------------------------------------------------------------------------------------
# Small dense systems: the solution of least weighted size where the matrix is singular.
#
# M f = r with a solution, M positive semidefinite on what it acts on: f ← f + (M + ε D)⁻¹ (r − M f), from f = 0,
# tends to the
# solution of least fᵀ D f (the proximal iteration; its first step is there but for ε).


EPSILON = 1e-7  # relative to the diagonal
CORRECTIONS = 4


@njit
def solve_least(n, touching):
    """`unknown` of least weighted size with `system` · unknown = `right`; n rows. Returns 0, or 1 if it cannot be found."""
    a, factor, pivots = touching.system, touching.factor, touching.pivots
    right, weight, x, change = touching.right, touching.weight, touching.unknown, touching.change
    for i in range(n * n):
        store(factor, i, load(a, i))
    for i in range(n):
        store(factor, i * n + i, load(factor, i * n + i) + EPSILON * load(weight, i))
        x[i] = 0.0
    if lu_factorize(n, factor, 0, pivots, 0) != 0:
        return 1
    for _ in range(CORRECTIONS):
        for i in range(n):
            value = load(right, i)
            for j in range(n):
                value -= load(a, i * n + j) * load(x, j)
            change[i] = value
        lu_substitute(n, factor, 0, pivots, 0, change, 0)
        for i in range(n):
            x[i] += change[i]
    return 0


# ----------------------------------------------------------------------------------------------------------------------
# What forces of contact do: columns of J W Jᵀ, with the answer of the joints in them.
#
# A unit force at a contact accelerates its two bodies, and the joints answer with Δλ so that G v̇ stays what it is:
# G W Gᵀ Δλ = −G W Jᵀ. The column holds Jᵀ + Gᵀ Δλ of every body; its product with the Jacobian of another contact is
# the
# entry of the matrix, which so belongs to the mechanism and not to loose bodies. An impulse does the same to
# velocities.


@inlined
def axis(touch, c):
    """Normal or tangent number c."""
    return (touch.frame[3 * c], touch.frame[3 * c + 1], touch.frame[3 * c + 2])


@inlined
def three(values, at):
    return (load(values, at), load(values, at + 1), load(values, at + 2))


@inlined
def put(values, at, a):
    store(values, at, a[0])
    store(values, at + 1, a[1])
    store(values, at + 2, a[2])


@njit
def respond(count, system, touching):
    """Columns and matrix of the first `count` touches, at the geometry that is in their table."""
    touches = touching.touches
    columns = touching.columns
    size = 6 * system.bodies.shape[0]
    jointed = system.error.shape[0] > 0 and system.settings[0].hold != PENALTY
    for k in range(count):
        for c in range(3):
            at = (3 * k + c) * size
            load_column(touches[k], axis(touches[k], c), at, size, columns)
            if jointed:
                answer_of_joints(at, system, columns)
    width = 3 * touches.shape[0]
    for k in range(3 * count):
        for r in range(count):
            relative(touches[r], k, 3 * r * width + k, width, system, touching)


@inlined
def load_column(touch, e, at, size, columns):
    for x in range(at, at + size):
        store(columns, x, 0.0)
    if 6 * touch.i < size:
        put(columns, at + 6 * touch.i, e)
        put(columns, at + 6 * touch.i + 3, cross(load3(touch.arm_i), e))
    if 6 * touch.j < size:
        put(columns, at + 6 * touch.j, scale(-1.0, e))
        put(columns, at + 6 * touch.j + 3, cross(e, load3(touch.arm_j)))


@njit
def answer_of_joints(at, system, columns):
    bodies = system.bodies
    kinematics = system.kinematics
    rhs = system.rhs
    rows = system.error.shape[0]
    for i in range(bodies.shape[0]):
        kin = kinematics[i]
        set_acceleration(kin, bodies[i].inverse_mass, three(columns, at + 6 * i), three(columns, at + 6 * i + 3))
    jacobian_acceleration(system, rhs)
    for r in range(rhs.shape[0]):
        rhs[r] = -rhs[r] if r < rows else 0.0
    solve_multipliers(system, system.multipliers, False)
    for i in range(bodies.shape[0]):
        kin = kinematics[i]
        put(columns, at + 6 * i, add(three(columns, at + 6 * i), load3(kin.linear)))
        put(columns, at + 6 * i + 3, add(three(columns, at + 6 * i + 3), load3(kin.angular)))


@inlined
def set_acceleration(kin, w, force, torque):
    linear, turning = scale(w, force), symvec(load6(kin.inverse_inertia), torque)
    for x in range(3):
        kin.acceleration[x] = linear[x]
        kin.turning[x] = turning[x]


@inlined
def relative(touch, column, at, width, system, touching):
    """Relative acceleration at one contact that a column makes, into three rows of the matrix."""
    matrix = touching.matrix
    a = sub(
        point_acceleration(touch.i, load3(touch.arm_i), column, system, touching.columns),
        point_acceleration(touch.j, load3(touch.arm_j), column, system, touching.columns),
    )
    for c in range(3):
        store(matrix, at + c * width, dot(axis(touch, c), a))


@njit
def point_acceleration(body, arm, column, system, columns):
    bodies = system.bodies
    if body >= bodies.shape[0]:
        return (0.0, 0.0, 0.0)
    at = 6 * (column * bodies.shape[0] + body)
    turning = symvec(load6(system.kinematics[body].inverse_inertia), three(columns, at + 3))
    return add(scale(bodies[body].inverse_mass, three(columns, at)), cross(turning, arm))


@njit
def free_accelerations(count, y, dydt, system, touching):
    """Relative accelerations under the smooth forces, whose derivative of the state is dydt: I ω̇ = L̇ − ω × L."""
    touches = touching.touches
    free = touching.free
    bodies = system.bodies
    kinematics = system.kinematics
    for i in range(system.settings[0].rigid):  # nodes touch nothing
        kin = kinematics[i]
        at = STATE_SIZE * i
        torque = sub(three(dydt, at + 10), cross(load3(kin.omega), three(y, at + 10)))
        set_acceleration(kin, bodies[i].inverse_mass, three(dydt, at + 7), torque)
    for k in range(count):
        touch = touches[k]
        a = (0.0, 0.0, 0.0)
        if touch.i < bodies.shape[0]:
            kin = kinematics[touch.i]
            a = add(load3(kin.acceleration), cross(load3(kin.turning), load3(touch.arm_i)))
        if touch.j < bodies.shape[0]:
            kin = kinematics[touch.j]
            a = sub(a, add(load3(kin.acceleration), cross(load3(kin.turning), load3(touch.arm_j))))
        for c in range(3):
            store(free, 3 * k + c, dot(axis(touch, c), a) + touch.bias[c])


# ----------------------------------------------------------------------------------------------------------------------

UNSOLVED = 151  # status: the forces of contact cannot be found
LEAST_PART = 1e-6  # of the greatest normal force: what a contact counts for at least where friction is shared out


@njit
def list_rows(active, sticking, touching):
    """Write the components that are unknown; returns how many. sticking: 1 where tangents of sticking contacts count."""
    touches, rows = touching.touches, touching.rows
    n = 0
    for k in range(active):
        for c in range(3 if sticking != 0 and touches[k].mode == STICKING else 1):
            rows[n] = 3 * k + c
            n += 1
    return n


@njit
def set_system(n, friction, touching):
    """The equations of the listed components; friction: 1 where that of sliding contacts goes with their normal force."""
    touches, matrix, rows = touching.touches, touching.matrix, touching.rows
    system, weight = touching.system, touching.weight
    width = 3 * touches.shape[0]
    for j in range(n):
        column = rows[j]
        touch = touches[column // 3]
        slides = friction != 0 and touch.mode == SLIDING
        d = sliding_direction(touch, touching.options[0].tiny_speed) if slides else (0.0, 0.0)
        for i in range(n):
            at = rows[i] * width + column
            value = load(matrix, at)
            if slides:
                value -= touch.friction * (d[0] * load(matrix, at + 1) + d[1] * load(matrix, at + 2))
            store(system, i * n + j, value)
        store(weight, j, largest_response(matrix, width, column - column % 3))


@njit
def largest_response(matrix, width, first):
    """The largest diagonal entry of a contact: one weight for its three components, as no axis is to be preferred."""
    largest = load(matrix, first * (width + 1))
    for i in range(first + 1, first + 3):
        largest = max(largest, load(matrix, i * (width + 1)))
    return largest


@njit
def share_friction(n, touching):
    """Weights of the tangents in inverse proportion to the normal forces just found."""
    rows, weight, unknown = touching.rows, touching.weight, touching.unknown
    most = 0.0
    for i in range(n):
        if rows[i] % 3 == 0:
            most = max(most, unknown[i])
    bears = 1.0
    for i in range(n):
        if rows[i] % 3 == 0:
            bears = max(unknown[i] / most, LEAST_PART) if most > 0.0 else 1.0
        else:
            weight[i] /= bears


@njit
def find_forces(active, touching):
    """The forces of the active contacts, into their table. Returns a status."""
    touches, unknown, rows = touching.touches, touching.unknown, touching.rows
    right, free = touching.right, touching.free
    n = list_rows(active, 1, touching)
    set_system(n, 1, touching)
    for i in range(n):
        right[i] = -free[rows[i]]
    if solve_least(n, touching) != 0:
        return UNSOLVED
    if n > active and active > 1:
        share_friction(n, touching)
        if solve_least(n, touching) != 0:
            return UNSOLVED
    for k in range(active):
        store3(touches[k].force, (0.0, 0.0, 0.0))
    for i in range(n):
        touches[rows[i] // 3].force[rows[i] % 3] = unknown[i]
    for k in range(active):
        touch = touches[k]
        if touch.mode == SLIDING:
            d = sliding_direction(touch, touching.options[0].tiny_speed)
            most = -touch.friction * touch.force[0]
            touch.force[1], touch.force[2] = most * d[0], most * d[1]
    return 0


@njit
def sum_columns(active, system, touching):
    """What the forces in the table are to every body, into `shift`."""
    touches, columns, shift = touching.touches, touching.columns, touching.shift
    size = 6 * system.bodies.shape[0]
    for x in range(size):
        shift[x] = 0.0
    for k in range(active):
        for c in range(3):
            f = touches[k].force[c]
            if f != 0.0:
                at = (3 * k + c) * size
                for x in range(size):
                    store(shift, x, load(shift, x) + f * load(columns, at + x))


@njit
def add_forces(active, dydt, system, touching):
    """Put the forces in the table into the derivative: momenta, and the rates of the ledger."""
    touches, shift = touching.touches, touching.shift
    kinematics = system.kinematics
    sum_columns(active, system, touching)
    book(1.0, dydt, dydt, system, touching)
    power = 0.0
    entry = touching.options[0].ledger
    own, rubbed = 0.0, 0.0
    for k in range(active):
        touch = touches[k]
        own += touch.force[0] * touch.velocity[0]
        rubbed += touch.force[1] * touch.velocity[1] + touch.force[2] * touch.velocity[2]
    dydt[entry] += own
    dydt[entry + 1] += rubbed
    for i in range(system.bodies.shape[0]):
        kin = kinematics[i]
        power += dot(three(shift, 6 * i), load3(kin.v)) + dot(three(shift, 6 * i + 3), load3(kin.omega))
    dydt[dydt.shape[0] - len(LEDGER) + CONSTRAINT_WORK] += power - own - rubbed


@inlined
def node_at(i, system):
    """Where the position of a node, row i of `bodies`, stands in the state vector; its momentum follows 3 n later."""
    return STATE_SIZE * system.settings[0].rigid + 3 * system.nodes[i - system.settings[0].rigid].particle


@njit
def book(s, momenta, ledger, system, touching):
    """Add s times `shift` to the momenta of the state vector `momenta`, and to the reactions in that of `ledger`."""
    settings = system.settings[0]
    shift = touching.shift
    kinematics = system.kinematics
    force_at = ledger.shape[0] - len(LEDGER) + REACTION_IMPULSE
    torque_at = ledger.shape[0] - len(LEDGER) + REACTION_TORQUE
    for i in range(system.bodies.shape[0]):
        force, torque = scale(s, three(shift, 6 * i)), scale(s, three(shift, 6 * i + 3))
        if i < settings.rigid:
            at = STATE_SIZE * i + 7
            put(momenta, at + 3, add(three(momenta, at + 3), torque))
        else:
            at, torque = node_at(i, system) + 3 * settings.particles, (0.0, 0.0, 0.0)
        put(momenta, at, add(three(momenta, at), force))
        put(ledger, force_at, add(three(ledger, force_at), force))
        moment = add(cross(load3(kinematics[i].x), force), torque)
        put(ledger, torque_at, add(three(ledger, torque_at), moment))


@njit
def contact_forces(y, dydt, system, touching):
    """Find the forces at the state whose smooth derivative is dydt, and add them to it. Returns a status."""
    active = touching.options[0].active
    if active == 0:
        return 0
    place_touches(active, system, touching)
    respond(active, system, touching)
    free_accelerations(active, y, dydt, system, touching)
    status = find_forces(active, touching)
    if status == 0:
        add_forces(active, dydt, system, touching)
    return status


@njit
def move_by_shift(system, touching):
    """Turn the momenta in `shift` into velocities, W of them."""
    shift = touching.shift
    bodies = system.bodies
    for i in range(bodies.shape[0]):
        put(shift, 6 * i, scale(bodies[i].inverse_mass, three(shift, 6 * i)))
        inverse = load6(system.kinematics[i].inverse_inertia)
        put(shift, 6 * i + 3, symvec(inverse, three(shift, 6 * i + 3)))


# ----------------------------------------------------------------------------------------------------------------------
# Coulomb's law on a dense matrix, by Gauss–Seidel to the end: few contacts, at instants, to rounding.
#
# Find f with a = A f + b such that for each contact, with the frame (n, t, s),
#
#     f_n ≥ lower ⊥ a_n ≥ 0,   and   f_t = 0 (FREE),   f_t = −μ f_n d (GIVEN),   |f_t| ≤ μ f_n, against a_t (CONE).
#
# f are forces and a accelerations, or impulses and velocities.


FREE, GIVEN, CONE = range(3)
CONVERGED = 1e-13
SWEEPS = 200_000


@inlined
def row(n, matrix, b, f, i):
    value = load(b, i)
    for j in range(n):
        value += load(matrix, i * n + j) * load(f, j)
    return value


@njit
def sweep(n, matrix, b, kinds, friction, direction, lower, f):
    """One pass; returns the largest change of f, as what it changes of a."""
    largest = 0.0
    for k in range(n // 3):
        i = 3 * k
        diagonal = matrix[i * n + i]
        slope = friction[k]
        if kinds[k] == GIVEN:
            diagonal -= slope * (
                direction[2 * k] * matrix[i * n + i + 1] + direction[2 * k + 1] * matrix[i * n + i + 2]
            )
        before = f[i]
        if diagonal > 0.0:
            f[i] = max(lower[k], f[i] - row(n, matrix, b, f, i) / diagonal)
        largest = max(largest, abs(f[i] - before) * diagonal)
        if kinds[k] == GIVEN:
            f[i + 1], f[i + 2] = -slope * f[i] * direction[2 * k], -slope * f[i] * direction[2 * k + 1]
        if kinds[k] == CONE:
            largest = max(largest, rub(n, matrix, b, slope * f[i], f, i))
    return largest


@njit
def rub(n, matrix, b, most, f, i):
    """The friction of one contact, at most so large, against its slip."""
    tt, ss, ts = matrix[(i + 1) * n + i + 1], matrix[(i + 2) * n + i + 2], matrix[(i + 1) * n + i + 2]
    half, spread = 0.5 * (tt + ss), 0.5 * (tt - ss)
    largest = half + math.sqrt(spread * spread + ts * ts)
    old_t, old_s = f[i + 1], f[i + 2]
    new_t = old_t - row(n, matrix, b, f, i + 1) / largest
    new_s = old_s - row(n, matrix, b, f, i + 2) / largest
    size = math.sqrt(new_t * new_t + new_s * new_s)
    if size > most:
        new_t, new_s = new_t * most / size, new_s * most / size
    f[i + 1], f[i + 2] = new_t, new_s
    return max(abs(new_t - old_t), abs(new_s - old_s)) * largest


@kernel
def _solve(
    n: int, matrix: array(), b: array(), kinds: array(1, np.int64), friction: array(), direction: array(), lower: array(),
    f: out(), tolerance: float, sweeps: int,
) -> float:  # fmt: skip
    change = 0.0
    for _ in range(sweeps):
        change = sweep(n, matrix, b, kinds, friction, direction, lower, f)
        if change <= tolerance:
            break
    return change


KERNELS = (_solve,)


def solve(
    matrix: np.ndarray, b: np.ndarray, kinds: np.ndarray, friction: np.ndarray, direction: np.ndarray, lower: np.ndarray
) -> tuple[np.ndarray, float]:
    """(f, change): forces (n, 3), and the change of accelerations in the last sweep over the largest of b.

    matrix : (3 n, 3 n). b : (n, 3). kinds : (n,) of FREE, GIVEN, CONE. friction : (n,). direction : (n, 2), unit, for GIVEN.
    lower : (n,) least normal forces.
    """
    n = b.size
    f = np.zeros((n // 3, 3))
    f[:, 0] = lower
    flat = f.reshape(-1)
    size = float(np.abs(b).max(initial=0.0))
    if size == 0.0 and not lower.any():
        return f, 0.0
    size = max(size, 1e-300)
    change = _solve(
        n, np.ascontiguousarray(matrix).reshape(-1), np.ascontiguousarray(b).reshape(-1), kinds.astype(np.int64),
        friction.astype(float), np.ascontiguousarray(direction, float).reshape(-1), lower.astype(float), flat,
        CONVERGED * size, SWEEPS,
    )  # fmt: skip
    return f, float(change) / size


# ----------------------------------------------------------------------------------------------------------------------
# Resting contact at one instant: which contacts bear force, and which of them slide, by the accelerations they would
# have.
#
# Normal forces are those of the linear complementarity problem A f + b ≥ 0 ⊥ f ≥ 0 (Baraff 1994): by Dantzig's
# algorithm
# without friction, by Lemke's where some slide (A is then not symmetric), by sweeps over the exact cone where some
# may stick.


ZERO = 1e-9  # accelerations below this part of the largest are zero


class Rest(NamedTuple):
    """How each contact goes on: mode (n,) of `tables`, the way it slides (n, 2) in its tangents, forces (n, 3) in N."""

    mode: np.ndarray
    slide: np.ndarray
    force: np.ndarray


def classify(matrix: np.ndarray, free: np.ndarray, velocity: np.ndarray, friction: np.ndarray, still: float) -> Rest:
    """Forces and modes of contacts that neither close nor part.

    matrix : (3 n, 3 n). free : (n, 3) m/s², relative accelerations without these forces. velocity : (n, 3) m/s; tangential
    speeds up to `still` are none. Raises NoSolution.
    """
    speed = np.hypot(velocity[:, 1], velocity[:, 2])
    slides = (speed > still) & (friction > 0.0)
    slide = np.where(slides[:, None], velocity[:, 1:] / np.where(slides, speed, 1.0)[:, None], 0.0)
    kinds = np.where(friction > 0.0, np.where(slides, GIVEN, CONE), FREE)
    force = resting_forces(matrix, free, kinds, friction, slide)
    acceleration = free + (matrix @ force.ravel()).reshape(-1, 3)
    small = ZERO * float(np.abs(free).max(initial=0.0))
    bears = acceleration[:, 0] <= small
    shear = np.hypot(acceleration[:, 1], acceleration[:, 2])
    starts = (kinds == CONE) & (shear > small)
    slide = np.where(starts[:, None], acceleration[:, 1:] / np.where(starts, shear, 1.0)[:, None], slide)
    mode = np.where(kinds == FREE, FRICTIONLESS, np.where(slides | starts, SLIDING, STICKING))
    return Rest(np.where(bears, mode, OPEN), slide, force)


def resting_forces(
    matrix: np.ndarray, free: np.ndarray, kinds: np.ndarray, friction: np.ndarray, slide: np.ndarray
) -> np.ndarray:
    """(n, 3) forces, N; kinds as in `cone_sweeps`, slide (n, 2) of those GIVEN. Raises NoSolution."""
    n = len(free)
    if not (kinds == CONE).any():
        sliding = np.where(kinds == GIVEN, friction, 0.0)
        reduced = (
            matrix[::3, ::3] - matrix[::3, 1::3] * (sliding * slide[:, 0]) - matrix[::3, 2::3] * (sliding * slide[:, 1])
        )
        if sliding.any():
            normal, status = lcp(reduced, free[:, 0], "lemke")
        else:
            status, normal = boxed(np.ascontiguousarray(reduced), free[:, 0].copy(), np.zeros(n), np.full(n, np.inf))
        if status == OK:
            return np.column_stack([normal, -(sliding * normal)[:, None] * slide])
    force, change = solve(matrix, free, kinds, friction, slide, np.zeros(n))
    if not change <= 1e-9:
        raise NoSolution(
            f"the forces of {n} resting contacts were not found (last change {change:.3g}); with much friction there may be "
            "none (Painlevé): give less friction, or use method='time_stepping'"
        )
    return force


# ----------------------------------------------------------------------------------------------------------------------
# The end of a step: contacts that bear force are put back on each other, as joints are.
#
# Position: δ = W Jᵀ μ with A_nn μ = −g, the least correction in the metric of the masses that leaves the joints
# closed.
# Velocity: the impulse that stops the normal rates, and all rates of contacts that stick. What both add goes to the
# ledger, as in `mechanics.projection`.


ROUNDING = 1e-3  # of `tiny_gap`: gaps below are rounding
ITERATIONS = 8


@njit
def complete(t, y, dydt, system, touching):
    """Finish a step in place, with the derivative there in dydt. Returns a status."""
    options = touching.options[0]
    status = call_pointer(options.mechanism, options.mechanism_data, COMPLETE, t, y, dydt)
    if status != 0 or options.active == 0:
        return status
    gained = -potential_energy(y, system, touching)
    worst = place_active(system, touching)
    for _ in range(ITERATIONS):
        if not worst > ROUNDING * options.tiny_gap:
            break
        respond(options.active, system, touching)
        if correct(0, touching) != 0:
            return UNSOLVED
        gained += displace(y, system, touching)
        status = call_pointer(options.mechanism, options.mechanism_data, DERIVATIVE, t, y, dydt)
        if status != 0:
            return status
        before = worst
        worst = place_active(system, touching)
        if not worst < 0.5 * before:
            break
    respond(options.active, system, touching)
    if correct(1, touching) != 0:
        return UNSOLVED
    gained += stop_rates(y, system, touching)
    status = call_pointer(options.mechanism, options.mechanism_data, DERIVATIVE, t, y, dydt)
    if status != 0:
        return status
    gained += potential_energy(y, system, touching)
    y[y.shape[0] - len(LEDGER) + PROJECTION_WORK] += gained
    status = contact_forces(y, dydt, system, touching)
    note_slides(touching)
    return status


@njit
def potential_energy(y, system, touching):
    """That of the forces on bodies (J)."""
    call_pointer(touching.options[0].mechanism, touching.options[0].mechanism_data, POTENTIAL, 0.0, y, y)
    return system.energies[1]


@njit
def place_active(system, touching):
    """The geometry of the active contacts; returns their largest gap."""
    active = touching.options[0].active
    place_touches(active, system, touching)
    worst = 0.0
    for k in range(active):
        worst = max(worst, abs(touching.touches[k].gap))
    return worst


@njit
def correct(velocities, touching):
    """The multipliers that take away the gaps (0), or the velocities (1), as forces in the table. Returns 0 or 1."""
    touches, rows, right, unknown = touching.touches, touching.rows, touching.right, touching.unknown
    active = touching.options[0].active
    n = list_rows(active, velocities, touching)
    set_system(n, 0, touching)
    for i in range(n):
        touch = touches[rows[i] // 3]
        right[i] = -touch.velocity[rows[i] % 3] if velocities != 0 else -touch.gap
    if solve_least(n, touching) != 0:
        return 1
    for k in range(active):
        store3(touches[k].force, (0.0, 0.0, 0.0))
    for i in range(n):
        touches[rows[i] // 3].force[rows[i] % 3] = unknown[i]
    return 0


@njit
def displace(y, system, touching):
    """Move the bodies by the multipliers in the table; returns the kinetic energy gained, as `projection` does."""
    shift = touching.shift
    kinematics = system.kinematics
    sum_columns(touching.options[0].active, system, touching)
    move_by_shift(system, touching)
    gained = 0.0
    ledger = y.shape[0] - len(LEDGER) + REACTION_TORQUE
    settings = system.settings[0]
    for i in range(system.bodies.shape[0]):
        node = i >= settings.rigid
        at = node_at(i, system) if node else STATE_SIZE * i
        move, turn = three(shift, 6 * i), three(shift, 6 * i + 3)
        moment = cross(move, three(y, at + (3 * settings.particles if node else 7)))
        put(y, at, add(three(y, at), move))
        put(y, ledger, add(three(y, ledger), moment))
        if node:
            continue
        gained += dot(turn, cross(load3(kinematics[i].omega), three(y, at + 10)))
        q = rotate_by((y[at + 3], y[at + 4], y[at + 5], y[at + 6]), turn)
        for x in range(4):
            y[at + 3 + x] = q[x]
    return gained


@njit
def stop_rates(y, system, touching):
    """Apply the impulses in the table; returns the kinetic energy gained: ½ Δp·(v + v′) over all bodies."""
    shift = touching.shift
    bodies = system.bodies
    kinematics = system.kinematics
    sum_columns(touching.options[0].active, system, touching)
    book(1.0, y, y, system, touching)
    gained = 0.0
    for i in range(bodies.shape[0]):
        kin = kinematics[i]
        force, torque = three(shift, 6 * i), three(shift, 6 * i + 3)
        gained += dot(force, load3(kin.v)) + dot(torque, load3(kin.omega))
        gained += 0.5 * bodies[i].inverse_mass * dot(force, force)
        gained += 0.5 * dot(torque, symvec(load6(kin.inverse_inertia), torque))
    return gained


@njit
def note_slides(touching):
    """Keep the way each contact slides, for the next step; see `sliding_direction`."""
    options = touching.options[0]
    touches = touching.touches
    for k in range(options.active):
        touch = touches[k]
        if touch.mode == SLIDING:
            u, v = sliding_direction(touch, options.tiny_speed)
            f = touch.frame
            store3(touch.slide, (u * f[3] + v * f[6], u * f[4] + v * f[7], u * f[5] + v * f[8]))
