"""The clamped set C of Dantzig's algorithm: who joins, who leaves, and the equations of its accelerations.

Without friction the factorization gains and loses rows (`lcp_factor`), O(k²) each for k in C; with friction the equations
are not symmetric, and are factored anew for each solution (`lcp_friction`).
"""

from ..jit import njit
from .lcp_factor import append, dot, eliminate, remove, substitute
from .lcp_friction import follow, reduce_tied, solve_tied
from .lcp_problem import (
    CLAMPED,
    COUNT,
    COUPLED,
    FACTOR,
    IGNORED,
    LOWER,
    ORDER,
    OUTSIDE,
    OWNER,
    SIDE,
    SIZE,
    STATE,
    TIED,
    UPPER,
    A,
    B,
    F,
    X,
    Y,
)


@njit
def reduce(n, matrix, stride, work, ints, d):
    """Row d against C: l into Y, x into X. Returns the pivot, and Σ √A_jj |v_j| of the direction v = (x, 1)."""
    if ints[COUNT * n + COUPLED] != 0:
        return reduce_tied(n, matrix, stride, work, ints, d)
    k = ints[COUNT * n]
    for c in range(k):
        work[Y * n + c] = matrix[d * stride + ints[ORDER * n + c]]
    pivot = matrix[d * stride + d] - eliminate(work, FACTOR * n, n, k, Y * n)
    for c in range(k):
        work[X * n + c] = -work[Y * n + c]
    substitute(work, FACTOR * n, n, k, X * n)
    span = work[SIZE * n + d]
    for c in range(k):
        span += work[SIZE * n + ints[ORDER * n + c]] * abs(work[X * n + c])
    return pivot, span


@njit
def join(n, work, ints, i, pivot):
    """Index i, for which `reduce` was called last, becomes the last of C."""
    k = ints[COUNT * n]
    if ints[COUNT * n + COUPLED] == 0:
        append(work, FACTOR * n, n, k, Y * n, pivot)
    ints[ORDER * n + k] = i
    ints[COUNT * n] = k + 1
    ints[STATE * n + i] = CLAMPED
    work[A * n + i] = 0.0


@njit
def leave(n, work, ints, i):
    """Index i goes out of C."""
    k = ints[COUNT * n]
    j = 0
    while ints[ORDER * n + j] != i:
        j += 1
    if ints[COUNT * n + COUPLED] == 0:
        remove(work, FACTOR * n, n, k, j, Y * n)
    for c in range(j, k - 1):
        ints[ORDER * n + c] = ints[ORDER * n + c + 1]
    ints[COUNT * n] = k - 1
    ints[STATE * n + i] = OUTSIDE


@njit
def uncouple(n, work, ints, j):
    """The force of normal j has come to zero, and with it friction."""
    for i in range(n):
        if ints[OWNER * n + i] == j and work[SIDE * n + i] == 0.0:
            work[TIED * n + i], work[F * n + i] = 0.0, 0.0
            if ints[STATE * n + i] == CLAMPED:
                leave(n, work, ints, i)


@njit
def correct(n, matrix, stride, work, ints):
    """Into X what the forces in C must change by, to make their accelerations zero."""
    k = ints[COUNT * n]
    for c in range(k):
        i = ints[ORDER * n + c]
        work[X * n + c] = -dot(matrix, i * stride, work, F * n, n) - work[B * n + i]
    if ints[COUNT * n + COUPLED] != 0:
        solve_tied(n, matrix, stride, work, ints)
        return
    eliminate(work, FACTOR * n, n, k, X * n)
    substitute(work, FACTOR * n, n, k, X * n)


@njit
def refine(n, matrix, stride, work, ints):
    """Remove what rounding left of the accelerations in C, and find those outside anew."""
    correct(n, matrix, stride, work, ints)
    for c in range(ints[COUNT * n]):
        i = ints[ORDER * n + c]
        work[F * n + i] = min(max(work[F * n + i] + work[X * n + c], work[LOWER * n + i]), work[UPPER * n + i])
    if ints[COUNT * n + COUPLED] != 0:
        follow(n, work, ints)
    for i in range(n):
        if ints[STATE * n + i] in (OUTSIDE, IGNORED):
            work[A * n + i] = dot(matrix, i * stride, work, F * n, n) + work[B * n + i]
