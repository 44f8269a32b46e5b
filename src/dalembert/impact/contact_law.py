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
from ..core.simd import load
from ..core.status import NoSolution
from ..core.tables import column
from ..linalg.lcp import boxed, lcp
from ..linalg.lcp_dantzig import OK
from .features import FRICTIONLESS, OPEN, SLIDING, STICKING

FREE, DIRECTED, CONE = range(3)
CONVERGED = 1e-13  # of the largest of b: the error at which the iteration ends, some roundings
ACCEPTED = 1e-9  # of the largest of b: a larger error is no solution
CONSISTENT = 1e-5  # the same of forces: accelerations of contacts that depend on each other agree no better
FIRST, BETWEEN = 30, 100  # sweeps before Newton's method, and between its attempts
ATTEMPTS, ENOUGH = 12, 2  # of Newton's method: most, and those after which an accepted error is good enough
STEPS, HALVINGS = 20, 6  # at most, in an attempt
SWEEPS = 20_000  # at most, where Newton's method fails
PROXIMAL = 1e-6  # of the scaled Jacobian's identity: what makes it regular where contacts depend on each other

# Sweeps ----------------------------------------------------------------------------------------------------------------


class LawOfContact(NamedTuple):
    """One problem of n contacts; see above."""

    matrix: Any = column("(3 * n) ** 2", doc="A")
    b: Any = column("3 * n")
    kinds: Any = column("n", np.int64, doc="FREE, DIRECTED or CONE")
    friction: Any = column("n")
    direction: Any = column("2 * n", doc="d of DIRECTED contacts, unit")
    lower: Any = column("n", doc="least normal forces")
    force: Any = column("3 * n", doc="in: the start; out: f")


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
def update_friction(i, most, law):
    """Set the friction f[i + 1 : i + 3] of one contact against its slip, at most of size `most`; returns its change, times an
    eigenvalue of A."""
    n = law.b.shape[0]
    matrix, f = law.matrix, law.force
    tt, ss, ts = matrix[(i + 1) * n + i + 1], matrix[(i + 2) * n + i + 2], matrix[(i + 1) * n + i + 2]
    half, spread = 0.5 * (tt + ss), 0.5 * (tt - ss)
    largest = half + math.sqrt(spread * spread + ts * ts)
    old_t, old_s = f[i + 1], f[i + 2]
    new_t = old_t - acceleration(i + 1, law) / largest
    new_s = old_s - acceleration(i + 2, law) / largest
    size = math.sqrt(new_t * new_t + new_s * new_s)
    if size > most:
        new_t, new_s = new_t * most / size, new_s * most / size
    f[i + 1], f[i + 2] = new_t, new_s
    return max(abs(new_t - old_t), abs(new_s - old_s)) * largest


@kernel
def _solve(law: LawOfContact, tolerance: float, sweeps: int) -> float:
    change = 0.0
    for _ in range(sweeps):
        change = sweep(law)
        if change <= tolerance:
            break
    return change


KERNELS = (_solve,)


# Newton's method ---------------------------------------------------------------------------------------------------------


class Unknowns(NamedTuple):
    """A problem in its unknowns x: normal forces, and the friction of CONE contacts. a = B x + c are the accelerations of the
    same components, and f = E x all forces."""

    matrix: np.ndarray  # B
    constant: np.ndarray  # c
    expand: np.ndarray  # E
    normal: np.ndarray  # (n,) where the normal force of each contact stands in x
    cones: np.ndarray  # numbers of the CONE contacts, whose friction stands behind their normal force
    rho: np.ndarray  # 1/eigenvalue of each component
    lower: np.ndarray
    friction: np.ndarray


def _unknowns(
    matrix: np.ndarray, b: np.ndarray, kinds: np.ndarray, friction: np.ndarray, direction: np.ndarray, lower: np.ndarray
) -> Unknowns:
    n = len(kinds)
    cone = kinds == CONE
    sizes = np.where(cone, 3, 1)
    normal = np.cumsum(sizes) - sizes
    rows = np.sort(np.concatenate([3 * np.arange(n), 3 * np.flatnonzero(cone) + 1, 3 * np.flatnonzero(cone) + 2]))
    expand = np.zeros((3 * n, len(rows)))
    expand[rows, np.arange(len(rows))] = 1.0
    for k in np.flatnonzero(kinds == DIRECTED):
        expand[3 * k + 1 : 3 * k + 3, normal[k]] = -friction[k] * direction[k]
    blocks = matrix.reshape(n, 3, n, 3)[np.arange(n), :, np.arange(n), :]
    rho = np.empty(len(rows))
    rho[normal] = blocks[:, 0, 0]
    for k in np.flatnonzero(cone):
        rho[normal[k] + 1 : normal[k] + 3] = np.linalg.eigvalsh(blocks[k, 1:, 1:])[-1]
    rho = 1.0 / np.maximum(rho, 1e-12 * max(float(rho.max()), 1e-300))
    return Unknowns(
        matrix[rows] @ expand, b.ravel()[rows], expand, normal, np.flatnonzero(cone), rho, lower, friction
    )  # fmt: skip


def natural_map(x: np.ndarray, of: Unknowns) -> tuple[np.ndarray, np.ndarray]:
    """F(x), and its (generalized) Jacobian."""
    size = len(x)
    y = x - of.rho * (of.matrix @ x + of.constant)
    slope = np.eye(size) - of.rho[:, None] * of.matrix  # of y
    most = np.maximum(y[of.normal], of.lower)
    presses = y[of.normal] > of.lower
    projected, jacobian = y.copy(), slope.copy()
    projected[of.normal] = most
    jacobian[of.normal[~presses]] = 0.0
    for k in of.cones:
        i = of.normal[k]
        tangents = slice(i + 1, i + 3)
        length, radius = float(np.hypot(y[i + 1], y[i + 2])), of.friction[k] * max(most[k], 0.0)
        if length <= radius:
            continue
        way = y[tangents] / length
        across = np.eye(2) - np.outer(way, way)
        projected[tangents] = radius * way
        jacobian[tangents] = radius / length * across @ slope[tangents]
        if presses[k] and radius > 0.0:
            jacobian[tangents] += of.friction[k] * np.outer(way, slope[i])
    return x - projected, np.eye(size) - jacobian


def _attempt(x: np.ndarray, of: Unknowns, enough: float) -> tuple[np.ndarray, float]:
    """(x, error) after steps of Newton's method, until the error, |F|/ρ, is `enough` or does not fall."""
    value, jacobian = natural_map(x, of)
    error = float(np.abs(value / of.rho).max())
    for _ in range(STEPS):
        if error <= enough:
            break
        step = np.linalg.solve(jacobian + PROXIMAL * np.eye(len(x)), -value)
        part = 1.0
        for _ in range(HALVINGS):
            trial = x + part * step
            value, jacobian = natural_map(trial, of)
            now = float(np.abs(value / of.rho).max())
            if now < (1.0 - 0.1 * part) * error:
                break
            part *= 0.5
        else:
            return x, error
        x, error = trial, now
    return x, error


# The solution ------------------------------------------------------------------------------------------------------------


def solve(
    matrix: np.ndarray,
    b: np.ndarray,
    kinds: np.ndarray,
    friction: np.ndarray,
    direction: np.ndarray,
    lower: np.ndarray,
    accepted: float = ACCEPTED,
) -> tuple[np.ndarray, float]:
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
    law = LawOfContact(
        np.ascontiguousarray(matrix).reshape(-1), np.ascontiguousarray(b).reshape(-1), kinds.astype(np.int64),
        friction.astype(float), np.ascontiguousarray(direction, float).reshape(-1), lower.astype(float), f.reshape(-1),
    )  # fmt: skip
    of = _unknowns(matrix, b, kinds, friction, direction, lower)
    back = np.flatnonzero(of.expand.max(axis=1) == 1.0)  # where the unknowns stand in f
    _solve(law, CONVERGED * size, FIRST)
    best, least = f.copy(), np.inf
    for attempt in range(ATTEMPTS + 1):
        x, error = _attempt(f.reshape(-1)[back], of, CONVERGED * size)
        if error < least:
            best, least = (of.expand @ x).reshape(-1, 3), error
        if least <= CONVERGED * size or (least <= accepted * size and attempt >= ENOUGH):
            break
        if _solve(law, CONVERGED * size, BETWEEN if attempt < ATTEMPTS - 1 else SWEEPS) <= CONVERGED * size:
            continue
    return best, least / size


# How contacts go on --------------------------------------------------------------------------------------------------------

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
    kinds = np.where(friction > 0.0, np.where(slides, DIRECTED, CONE), FREE)
    force, error = resting_forces(matrix, free, kinds, friction, slide)
    acceleration = free + (matrix @ force.ravel()).reshape(-1, 3)
    small = max(ZERO, 2.0 * error) * float(np.abs(free).max(initial=0.0))
    part = acceleration[:, 0] <= small
    shear = np.hypot(acceleration[:, 1], acceleration[:, 2])
    starts = (kinds == CONE) & (shear > small)
    slide = np.where(starts[:, None], acceleration[:, 1:] / np.where(starts, shear, 1.0)[:, None], slide)
    mode = np.where(kinds == FREE, FRICTIONLESS, np.where(slides | starts, SLIDING, STICKING))
    return Rest(np.where(part, mode, OPEN), slide, force)


def classify_slow(
    matrix: np.ndarray, free: np.ndarray, velocity: np.ndarray, friction: np.ndarray, limits: tuple[float, float, float]
) -> Rest:
    """As `classify`, where a contact that slides so slowly that friction stops it within a tiny distance sticks at once.

    Near its end a slide may turn without end: several contacts of one body share the load, and the friction of the one that
    comes to a stop changes all others. limits: m/s, the speed that is none; m/s, the fastest that is slow; m, the distance.
    """
    still, fastest, distance = limits
    speed = np.hypot(velocity[:, 1], velocity[:, 2])
    slow = (speed > still) & (speed <= fastest) & (friction > 0.0)
    first = 3 * np.arange(len(free))
    response = np.minimum(matrix[first + 1, first + 1], matrix[first + 2, first + 2])
    while slow.any():
        rest = classify(matrix, free, np.where(slow[:, None], 0.0, velocity), friction, still)
        spare = friction * rest.force[:, 0] - np.hypot(rest.force[:, 1], rest.force[:, 2])
        stops = (rest.mode == STICKING) & (speed**2 <= 2.0 * response * spare * distance)
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
            "none (Painlevé): give less friction, or use method='time_stepping'"
        )
    return force, error
