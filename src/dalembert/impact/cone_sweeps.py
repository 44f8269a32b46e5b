"""Coulomb's law on a dense matrix, by Gauss–Seidel to the end: few contacts, at instants, to rounding.

Find f with a = A f + b such that for each contact, with the frame (n, t, s),

    f_n ≥ lower ⊥ a_n ≥ 0,   and   f_t = 0 (FREE),   f_t = −μ f_n d (GIVEN),   |f_t| ≤ μ f_n, against a_t (CONE).

f are forces and a accelerations, or impulses and velocities.
"""

import math

import numpy as np

from ..jit import inlined, njit
from ..kernel import array, kernel, out
from ..unchecked import peek

FREE, GIVEN, CONE = range(3)
CONVERGED = 1e-13
SWEEPS = 200_000


@inlined
def row(n, matrix, b, f, i):
    value = peek(b, i)
    for j in range(n):
        value += peek(matrix, i * n + j) * peek(f, j)
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
