"""The law of contact at one instant: forces (or impulses) f and accelerations (or velocities) a = A f + b of n contacts.

For each contact, with the frame (n, t, s),

    f_n ≥ lower ⊥ a_n ≥ 0,   and   f_t = 0 (FREE),   f_t = −μ f_n d (DIRECTED),   |f_t| ≤ μ f_n, against a_t (CONE).

Without CONE it is a linear complementarity problem (D. Baraff 1994): Dantzig's algorithm solves it without friction, Lemke's
where some contacts slide (A is then not symmetric). With CONE, sweeps of Gauss–Seidel guess which contacts part, stick and
slide, and Newton's method on the natural map

    F(f) = f − P(f − ρ a) = 0,   P the projection on f_n ≥ lower and |f_t| ≤ μ (f_n − ρ a_n)

(P. Alart, A. Curnier 1991) ends the iteration to rounding. A is singular where contacts depend on each other, so each step
is a proximal one; steps that do not reduce |F| are halved, and then swept over. There are few contacts, and few instants.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.jit import inlined, njit
from ..core.kernel import kernel
from ..core.simd import load, store
from ..core.status import NoSolution
from ..core.tables import allocate, column
from ..linalg.dense import lu_factorize, lu_substitute
from ..linalg.lcp import boxed, lcp
from ..linalg.lcp_dantzig import OK
from .features import FRICTIONLESS, OPEN, SLIDING, STICKING

FREE, DIRECTED, CONE = range(3)
CONVERGED = 1e-13  # of the largest of b: the error at which the iteration ends, some roundings
ACCEPTED = 1e-9  # of the largest of b: a larger error is no solution
CONSISTENT = 1e-4  # the same of forces: accelerations of contacts that depend on each other agree no better
FIRST, BETWEEN = 30, 200  # sweeps before Newton's method, and between its attempts
ATTEMPTS, ENOUGH = 20, 2  # of Newton's method: most, and those after which an accepted error is good enough
STUCK, FALLS = 5, 0.5  # attempts in which the error must fall by this factor
STEPS, HALVINGS = 20, 6  # at most, in an attempt
PROXIMAL = 1e-6  # added to the diagonal of the scaled Jacobian, which is singular where contacts depend on each other

# Sweeps ----------------------------------------------------------------------------------------------------------------


class LawOfContact(NamedTuple):
    """One problem of n contacts; see above."""

    matrix: Any = column("(3 * n) ** 2", doc="A")
    b: Any = column("3 * n")
    kinds: Any = column("n", np.int64, doc="FREE, DIRECTED or CONE")
    friction: Any = column("n")
    direction: Any = column("2 * n", doc="d of DIRECTED contacts, unit")
    lower: Any = column("n", doc="least normal forces")
    force: Any = column("3 * n", doc="f")
    best: Any = column("3 * n", doc="f of least error")
    rho: Any = column("3 * n", doc="ρ")
    moved: Any = column("3 * n", doc="f − ρ a")
    value: Any = column("3 * n", doc="F")
    jacobian: Any = column("(3 * n) ** 2", doc="∂F/∂f, and its factors")
    step: Any = column("3 * n", doc="a step of Newton's method")
    before: Any = column("3 * n", doc="f before it")
    pivots: Any = column("3 * n", np.int64)


@inlined
def acceleration(i, law):
    """a_i = (A f + b)_i."""
    n = law.b.shape[0]
    matrix, f = law.matrix, law.force
    value = load(law.b, i)
    for j in range(n):
        value += load(matrix, i * n + j) * load(f, j)
    return value


@njit
def sweep(law):
    """One sweep of Gauss–Seidel; writes `force`. Returns the largest change of f, times the diagonal of A."""
    n = law.b.shape[0]
    matrix, f, direction = law.matrix, law.force, law.direction
    largest = 0.0
    for k in range(n // 3):
        i = 3 * k
        diagonal = matrix[i * n + i]
        slope, kind = law.friction[k], law.kinds[k]
        if kind == DIRECTED:
            diagonal -= slope * (
                direction[2 * k] * matrix[i * n + i + 1] + direction[2 * k + 1] * matrix[i * n + i + 2]
            )
        before = f[i]
        if diagonal > 0.0:
            f[i] = max(law.lower[k], f[i] - acceleration(i, law) / diagonal)
        largest = max(largest, abs(f[i] - before) * diagonal)
        if kind == DIRECTED:
            f[i + 1], f[i + 2] = -slope * f[i] * direction[2 * k], -slope * f[i] * direction[2 * k + 1]
        if kind == CONE:
            largest = max(largest, update_friction(i, slope * f[i], law))
    return largest


@njit
def tangential_eigenvalue(k, law):
    """The larger eigenvalue of A in the tangents of contact k."""
    n, matrix = law.b.shape[0], law.matrix
    i = 3 * k
    tt, ss, ts = matrix[(i + 1) * n + i + 1], matrix[(i + 2) * n + i + 2], matrix[(i + 1) * n + i + 2]
    half, spread = 0.5 * (tt + ss), 0.5 * (tt - ss)
    return half + math.sqrt(spread * spread + ts * ts)


@njit
def update_friction(i, most, law):
    """Set the friction f[i + 1 : i + 3] of one contact against its slip, at most of size `most`; returns its change, times an
    eigenvalue of A."""
    f = law.force
    largest = tangential_eigenvalue(i // 3, law)
    old_t, old_s = f[i + 1], f[i + 2]
    new_t = old_t - acceleration(i + 1, law) / largest
    new_s = old_s - acceleration(i + 2, law) / largest
    size = math.sqrt(new_t * new_t + new_s * new_s)
    if size > most:
        new_t, new_s = new_t * most / size, new_s * most / size
    f[i + 1], f[i + 2] = new_t, new_s
    return max(abs(new_t - old_t), abs(new_s - old_s)) * largest


# Newton's method -------------------------------------------------------------------------------------------------------


@njit
def natural_map(law):
    """`value` = F(f) of `force`, and its `jacobian`; writes `moved`, y = f − ρ a. Returns the error, the largest |F|/ρ."""
    n = law.b.shape[0]
    f, y, value, rho = law.force, law.moved, law.value, law.rho
    for i in range(n):
        y[i] = f[i] - rho[i] * acceleration(i, law)
        for j in range(n):
            store(law.jacobian, i * n + j, 0.0)
        store(law.jacobian, i * n + i, 1.0)
    for k in range(n // 3):
        i = 3 * k
        most = max(y[i], law.lower[k])
        value[i] = f[i] - most
        if y[i] > law.lower[k]:
            add_row(i, i, -1.0, law)
        if law.kinds[k] == CONE:
            tangential_map(k, most, law)
            continue
        slope = law.friction[k] if law.kinds[k] == DIRECTED else 0.0
        for c in range(1, 3):
            value[i + c] = f[i + c] + slope * f[i] * law.direction[2 * k + c - 1]
            store(law.jacobian, (i + c) * n + i, slope * law.direction[2 * k + c - 1])
    error = 0.0
    for i in range(n):
        error = max(error, abs(value[i]) / rho[i])
    return error


@njit
def tangential_map(k, most, law):
    """The rows of natural_map of the friction at contact k, whose projected normal force is `most`."""
    i, slope = 3 * k, law.friction[k]
    u, v = law.moved[i + 1], law.moved[i + 2]
    length, radius = math.sqrt(u * u + v * v), slope * max(most, 0.0)
    f, value = law.force, law.value
    if length <= radius:
        value[i + 1], value[i + 2] = f[i + 1] - u, f[i + 2] - v
        add_row(i + 1, i + 1, -1.0, law)
        add_row(i + 2, i + 2, -1.0, law)
        return
    u, v = u / length, v / length
    value[i + 1], value[i + 2] = f[i + 1] - radius * u, f[i + 2] - radius * v
    part = radius / length
    add_row(i + 1, i + 1, -part * v * v, law)
    add_row(i + 1, i + 2, part * u * v, law)
    add_row(i + 2, i + 1, part * u * v, law)
    add_row(i + 2, i + 2, -part * u * u, law)
    if law.moved[i] > law.lower[k] and radius > 0.0:
        add_row(i + 1, i, -slope * u, law)
        add_row(i + 2, i, -slope * v, law)


@njit
def add_row(row, i, factor, law):
    """jacobian[row] += factor ∂y_i/∂f, with ∂y_i/∂f = e_i − ρ_i A_i."""
    n, jacobian = law.b.shape[0], law.jacobian
    at, scaled = row * n, -factor * law.rho[i]
    for j in range(n):
        store(jacobian, at + j, load(jacobian, at + j) + scaled * load(law.matrix, i * n + j))
    store(jacobian, at + i, load(jacobian, at + i) + factor)


@njit
def newton(enough, law):
    """Steps of Newton's method from `force`, until the error is `enough` or does not fall; returns it."""
    n = law.b.shape[0]
    f, step, before = law.force, law.step, law.before
    error = natural_map(law)
    for _ in range(STEPS):
        if error <= enough:
            break
        for i in range(n):
            step[i], before[i] = -law.value[i], f[i]
            store(law.jacobian, i * n + i, load(law.jacobian, i * n + i) + PROXIMAL)
        if lu_factorize(n, law.jacobian, 0, law.pivots, 0) != 0:
            break
        lu_substitute(n, law.jacobian, 0, law.pivots, 0, step, 0)
        part, found = 1.0, False
        for _ in range(HALVINGS):
            for i in range(n):
                f[i] = before[i] + part * step[i]
            now = natural_map(law)
            if now < (1.0 - 0.1 * part) * error:
                found = True
                break
            part *= 0.5
        if not found:
            for i in range(n):
                f[i] = before[i]
            break
        error = now
    return error


@kernel
def _solve(law: LawOfContact, enough: float, accepted: float) -> float:
    n = law.b.shape[0]
    for k in range(n // 3):
        law.rho[3 * k] = law.matrix[3 * k * (n + 1)]
        law.rho[3 * k + 1] = law.rho[3 * k + 2] = tangential_eigenvalue(k, law)
    largest = 1e-300
    for i in range(n):
        largest = max(largest, law.rho[i])
    for i in range(n):
        law.rho[i] = 1.0 / max(law.rho[i], 1e-12 * largest)
    for _ in range(FIRST):
        if sweep(law) <= enough:
            break
    least, last, seen = math.inf, 0, math.inf
    for attempt in range(ATTEMPTS):
        error = newton(enough, law)
        if error < FALLS * seen:
            seen, last = error, attempt
        if error < least:
            least = error
            for i in range(n):
                law.best[i] = law.force[i]
        if least <= enough or (least <= accepted and attempt >= ENOUGH) or attempt - last >= STUCK:
            break
        for _ in range(BETWEEN):
            if sweep(law) <= enough:
                break
    return least


KERNELS = (_solve,)


def solve(
    matrix: np.ndarray, b: np.ndarray, kinds: np.ndarray, friction: np.ndarray, direction: np.ndarray, lower: np.ndarray,
    accepted: float = ACCEPTED,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """(f, error): forces (n, 3), and the error of the natural map over the largest of b.

    matrix : (3 n, 3 n). b : (n, 3). kinds : (n,) of FREE, DIRECTED, CONE. friction : (n,). direction : (n, 2), unit, for
    DIRECTED. lower : (n,) least normal forces. accepted : an error that ends the search after some attempts.
    """
    f = np.zeros((b.size // 3, 3))
    f[:, 0] = lower
    size = float(np.abs(b).max(initial=0.0))
    if size == 0.0 and not lower.any():
        return f, 0.0
    size = max(size, float(np.abs(matrix[:, ::3] @ lower).max(initial=0.0)), 1e-300)
    law = allocate(
        LawOfContact, {"n": len(f)},
        matrix=np.ascontiguousarray(matrix).reshape(-1), b=np.ascontiguousarray(b).reshape(-1),
        kinds=kinds.astype(np.int64), friction=friction.astype(float),
        direction=np.ascontiguousarray(direction, float).reshape(-1), lower=lower.astype(float), force=f.reshape(-1),
    )  # fmt: skip
    error = _solve(law, CONVERGED * size, accepted * size)
    return law.best.reshape(-1, 3), float(error) / size


# How contacts go on --------------------------------------------------------------------------------------------------------

ZERO = 1e-9  # accelerations below this part of the largest are zero
MARGIN = 1e-6  # of friction, and of the largest acceleration: contacts stick that would not with so much less friction


class Rest(NamedTuple):
    """How each contact goes on: mode (n,) of `tables`, the way it slides (n, 2) in its tangents, forces (n, 3) in N."""

    mode: np.ndarray
    slide: np.ndarray
    force: np.ndarray


def classify(
    matrix: np.ndarray, free: np.ndarray, velocity: np.ndarray, friction: np.ndarray, still: float,
    known: np.ndarray | None = None,
) -> Rest:  # fmt: skip
    """Forces and modes of contacts that neither close nor part.

    matrix : (3 n, 3 n). free : (n, 3) m/s², relative accelerations without these forces. velocity : (n, 3) m/s; tangential
    speeds up to `still` are none. known : (n, 3) N, the forces, to `CONSISTENT`, where they are known. Raises NoSolution.

    Where the law is just met, as in a stack that slides with the same friction at each level, rounding decides what slips:
    forces that hold each other at small angles θ across the slip leave a part θ²/2 of friction unused, and so let contacts
    slip with that part of the largest acceleration; the natural map shows an error θ of that slip. So where its error is e,
    slips below ½ (2 e)^⅔ are none; twice that, or `MARGIN`, are allowed.
    """
    speed = np.hypot(velocity[:, 1], velocity[:, 2])
    slides = (speed > still) & (friction > 0.0)
    slide = np.where(slides[:, None], velocity[:, 1:] / np.where(slides, speed, 1.0)[:, None], 0.0)
    kinds = np.where(friction > 0.0, np.where(slides, DIRECTED, CONE), FREE)
    force, error = known, CONSISTENT
    if force is None:
        force, error = resting_forces(matrix, free, kinds, friction, slide)
    acceleration = free + (matrix @ force.ravel()).reshape(-1, 3)
    largest = float(np.abs(free).max(initial=0.0))
    small = max(ZERO, 2.0 * error) * largest
    part = acceleration[:, 0] <= small
    shear = np.hypot(acceleration[:, 1], acceleration[:, 2])
    starts = (kinds == CONE) & (shear > max(MARGIN, (2.0 * error) ** (2.0 / 3.0)) * largest)
    slide = np.where(starts[:, None], acceleration[:, 1:] / np.where(starts, shear, 1.0)[:, None], slide)
    mode = np.where(kinds == FREE, FRICTIONLESS, np.where(slides | starts, SLIDING, STICKING))
    return Rest(np.where(part, mode, OPEN), slide, force)


def classify_slow(
    matrix: np.ndarray, free: np.ndarray, velocity: np.ndarray, friction: np.ndarray, limits: tuple[float, float, float]
) -> Rest:
    """As `classify`, where a contact that slides so slowly that friction stops it within a tiny distance sticks at once.

    Near its end a slide may turn without end: several contacts of one body share the load, and the friction of the one that
    comes to a stop changes all others. Where friction just holds, a slow slide neither ends nor grows; it sticks as well.
    limits: m/s, the speed that is none; m/s, the fastest that is slow; m, the distance.
    """
    still, fastest, distance = limits
    speed = np.hypot(velocity[:, 1], velocity[:, 2])
    slow = (speed > still) & (speed <= fastest) & (friction > 0.0)
    first = 3 * np.arange(len(free))
    response = np.minimum(matrix[first + 1, first + 1], matrix[first + 2, first + 2])
    while slow.any():
        rest = classify(matrix, free, np.where(slow[:, None], 0.0, velocity), friction, still)
        most = friction * rest.force[:, 0]
        spare = most - np.hypot(rest.force[:, 1], rest.force[:, 2])
        holds = np.abs(spare) <= MARGIN * most
        stops = (rest.mode == STICKING) & (holds | (speed**2 <= 2.0 * response * spare * distance))
        if stops[slow].all():
            return rest
        slow &= stops
    return classify(matrix, free, velocity, friction, still)


def resting_forces(
    matrix: np.ndarray, free: np.ndarray, kinds: np.ndarray, friction: np.ndarray, slide: np.ndarray
) -> tuple[np.ndarray, float]:
    """(forces (n, 3) in N, their error over the largest of `free`); kinds as in `solve`, slide (n, 2) of those DIRECTED.
    Raises NoSolution."""
    n = len(free)
    if not (kinds == CONE).any():
        sliding = np.where(kinds == DIRECTED, friction, 0.0)
        reduced = (
            matrix[::3, ::3] - matrix[::3, 1::3] * (sliding * slide[:, 0]) - matrix[::3, 2::3] * (sliding * slide[:, 1])
        )
        if sliding.any():
            normal, status = lcp(reduced, free[:, 0], "lemke")
        else:
            status, normal = boxed(np.ascontiguousarray(reduced), free[:, 0].copy(), np.zeros(n), np.full(n, np.inf))
        if status == OK:
            return np.column_stack([normal, -(sliding * normal)[:, None] * slide]), 0.0
    force, error = solve(matrix, free, kinds, friction, slide, np.zeros(n), CONSISTENT)
    if not error <= CONSISTENT:
        raise NoSolution(
            f"the forces of {n} resting contacts were not found (error {error:.3g}); with much friction there may be "
            "none (Painlevé): reduce the friction, or use method='time_stepping'"
        )
    return force, error
