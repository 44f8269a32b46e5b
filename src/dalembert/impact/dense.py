"""Small dense systems: LU with row pivoting, and the solution of least weighted size where the matrix is singular.

M f = r with a solution, M positive semidefinite on what it acts on: f ← f + (M + ε D)⁻¹ (r − M f), from f = 0, tends to the
solution of least fᵀ D f (the proximal iteration; its first step is there but for ε).
"""

from ..jit import njit
from ..unchecked import peek, poke
from .tables_of import change_of, factor_of, pivots_of, right_of, system_of, unknown_of, weight_of

EPSILON = 1e-7  # relative to the diagonal
CORRECTIONS = 4


@njit
def factorize(n, a, pivots):
    """LU of the flat (n, n) array in place. Returns 0, or 1 where a pivot is zero."""
    for k in range(n):
        p, best = k, abs(peek(a, k * n + k))
        for i in range(k + 1, n):
            if abs(peek(a, i * n + k)) > best:
                p, best = i, abs(peek(a, i * n + k))
        if not best > 0.0:
            return 1
        pivots[k] = p
        if p != k:
            for j in range(n):
                value = peek(a, k * n + j)
                poke(a, k * n + j, peek(a, p * n + j))
                poke(a, p * n + j, value)
        for i in range(k + 1, n):
            factor = peek(a, i * n + k) / peek(a, k * n + k)
            poke(a, i * n + k, factor)
            for j in range(k + 1, n):
                poke(a, i * n + j, peek(a, i * n + j) - factor * peek(a, k * n + j))
    return 0


@njit
def substitute(n, a, pivots, x):
    for k in range(n):
        p = pivots[k]
        value = peek(x, k)
        poke(x, k, peek(x, p))
        poke(x, p, value)
    for i in range(n):
        value = peek(x, i)
        for j in range(i):
            value -= peek(a, i * n + j) * peek(x, j)
        poke(x, i, value)
    for i in range(n - 1, -1, -1):
        value = peek(x, i)
        for j in range(i + 1, n):
            value -= peek(a, i * n + j) * peek(x, j)
        poke(x, i, value / peek(a, i * n + i))


@njit
def solve_least(n, touching):
    """`unknown` of least weighted size with `system` · unknown = `right`; n rows. Returns 0, or 1 if it cannot be found."""
    a, factor, pivots = system_of(touching), factor_of(touching), pivots_of(touching)
    right, weight, x, change = right_of(touching), weight_of(touching), unknown_of(touching), change_of(touching)
    for i in range(n * n):
        poke(factor, i, peek(a, i))
    for i in range(n):
        poke(factor, i * n + i, peek(factor, i * n + i) + EPSILON * peek(weight, i))
        x[i] = 0.0
    if factorize(n, factor, pivots) != 0:
        return 1
    for _ in range(CORRECTIONS):
        for i in range(n):
            value = peek(right, i)
            for j in range(n):
                value -= peek(a, i * n + j) * peek(x, j)
            change[i] = value
        substitute(n, factor, pivots, change)
        for i in range(n):
            x[i] += change[i]
    return 0
