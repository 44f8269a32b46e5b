"""Dantzig's algorithm for the forces of resting contact, after Baraff (1994), section 4.

Find f and a = A f + b, A symmetric and positive semidefinite, such that for each i

    lower ≤ f ≤ upper,   a ≥ 0 where f = lower,   a ≤ 0 where f = upper,   a = 0 in between.

A frictionless contact has the bounds 0 and ∞. One index d after another is brought to this: f_d is moved against a_d, the
forces of the clamped contacts C move along so that their accelerations stay zero, and the first of these ends the step:
a_d vanishes, f_d is at a bound, a force in C is at a bound (it leaves C), or the acceleration of one outside vanishes
(it joins C). With x = −A_CC⁻¹ A_Cd and the direction v = (x, 1), the acceleration a_d changes by the pivot
δ = A_dd + A_dC x = vᵀ A v a unit of force, and the factorization of A_CC, which gives x, gains d as its new last row.

Dependent contacts. Where vᵀ A v = 0, semidefiniteness says that A v = 0: forces along v change no acceleration at all, d
cannot join C, and d is moved until a force in C comes to a bound. If none ever does, v ≥ 0 with vᵀ b < 0 proves that
no solution exists. In floating point a change of a_i is a rounding error below ROUNDING √A_ii Σ √A_jj |v_j|, and the
pivot is one below ROUNDING (Σ √A_jj |v_j|)², as |A_ij| ≤ √(A_ii A_jj). An index outside whose acceleration is driven
to zero, but which depends on C, is left out for this d: its acceleration changes by rounding errors only.

Of several changes at the same moment the one of least index is taken, which excludes cycles (Chang 1979). The number of
changes is bounded all the same.

Workspace: `work` of `work_size(n)` floats, rows of n numbers (B, LOWER, UPPER given; F, A found) and the factor;
`ints` of `ints_size(n)`: the state of each index, the members of C in the order of the factor, and how many they are.
"""

import math

from ..jit import njit
from ..unchecked import peek, poke
from .lcp_factor import add_multiple, append, dot, eliminate, remove, substitute

# Rows of `work`; the factor comes after them.
B, LOWER, UPPER, F, A, SIZE, Y, X, DF, DA, FACTOR = range(11)
# Blocks of `ints`.
STATE, ORDER, COUNT = range(3)
WAITING, OUTSIDE, CLAMPED, IGNORED, DRIVEN = range(5)

OK, INFEASIBLE, NOT_SEMIDEFINITE, STALLED, INACCURATE = range(5)

ROUNDING = 2e-14
SATISFIED = 1e-12  # an acceleration this small beside the terms it is the sum of is zero
ACCURATE = 1e-10  # what the result must keep to, on the same scale
PASSES = 3
CHANGES = 50  # an index, at most


def work_size(n: int) -> int:
    """How many float64 a problem of n unknowns takes."""
    return FACTOR * n + n * n


def ints_size(n: int) -> int:
    """How many int64 a problem of n unknowns takes."""
    return COUNT * n + 1


@njit
def dantzig(n, matrix, stride, work, ints):
    """Solve; `matrix` is flat, row i from i * stride. Returns a status, and leaves f and a in `work`."""
    ints[COUNT * n] = 0
    left = CHANGES * (n + 1)
    for i in range(n):
        ints[STATE * n + i] = WAITING
        work[SIZE * n + i] = math.sqrt(max(matrix[i * stride + i], 0.0))
        work[F * n + i] = work[LOWER * n + i] if work[LOWER * n + i] == work[UPPER * n + i] else 0.0
    for _ in range(PASSES):
        for d in range(n):
            if ints[STATE * n + d] != CLAMPED:
                status, left = drive(n, matrix, stride, work, ints, d, left)
                if status != OK:
                    return status
        refine(n, matrix, stride, work, ints)
        if violation(n, matrix, stride, work) <= ACCURATE:
            return OK
    return INACCURATE


@njit
def acceleration(n, matrix, stride, work, i):
    """(A f + b)_i and the sum of the sizes of its terms."""
    value, size = work[B * n + i], abs(work[B * n + i])
    for j in range(n):
        term = peek(matrix, i * stride + j) * peek(work, F * n + j)
        value += term
        size += abs(term)
    return value, size


@njit
def drive(n, matrix, stride, work, ints, d, left):
    """Bring index d to complementarity. Returns (status, how many changes are left)."""
    lower, upper = work[LOWER * n + d], work[UPPER * n + d]
    a, scale = acceleration(n, matrix, stride, work, d)
    work[A * n + d] = a
    ints[STATE * n + d] = OUTSIDE
    if lower == upper or (abs(a) <= SATISFIED * scale and not lower < work[F * n + d] < upper):
        return OK, left
    for i in range(n):
        if ints[STATE * n + i] == IGNORED:
            ints[STATE * n + i] = OUTSIDE
    sign = 1.0 if a < 0.0 else -1.0
    goal = upper if a < 0.0 else lower
    while work[F * n + d] != goal:
        if left == 0:
            return STALLED, left
        left -= 1
        ints[STATE * n + d] = DRIVEN
        pivot, span = direction(n, matrix, stride, work, ints, d, sign)
        if pivot < -ROUNDING * span * span:
            return NOT_SEMIDEFINITE, left
        independent = pivot > ROUNDING * span * span
        if not independent:
            refine(n, matrix, stride, work, ints)
            a, scale = acceleration(n, matrix, stride, work, d)
            work[A * n + d] = a
            if abs(a) <= SATISFIED * scale:
                ints[STATE * n + d] = OUTSIDE
                return OK, left
        at_zero = abs(work[A * n + d]) / pivot if independent else math.inf
        own = min(abs(goal - work[F * n + d]), at_zero)
        i, step = first_change(n, work, ints, own, span)
        ints[STATE * n + d] = OUTSIDE
        if step == math.inf:
            # Nothing stops this direction. An acceleration within the accuracy of the result may stay as it is.
            return (OK if abs(a) <= ACCURATE * scale else INFEASIBLE), left
        move(n, work, ints, d, step, sign * pivot)
        if i >= 0:
            exchange(n, matrix, stride, work, ints, i)
        elif at_zero <= step:
            join(n, work, ints, d, pivot)
            return OK, left
        else:
            work[F * n + d] = goal
    return OK, left


@njit
def reduce(n, matrix, stride, work, ints, d):
    """Row d against C: l into Y, x into X. Returns the pivot, and Σ √A_jj |v_j| of the direction v = (x, 1)."""
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
def direction(n, matrix, stride, work, ints, d, sign):
    """How f and a change when f_d moves by `sign`: into DF and, outside of C, DA. Returns what `reduce` does."""
    pivot, span = reduce(n, matrix, stride, work, ints, d)
    k = ints[COUNT * n]
    for c in range(k):
        work[DF * n + ints[ORDER * n + c]] = sign * work[X * n + c]
    work[DF * n + d] = sign
    count = 0
    for i in range(n):
        if ints[STATE * n + i] in (OUTSIDE, IGNORED):
            count = i + 1
    for i in range(count):
        work[DA * n + i] = sign * matrix[d * stride + i]
    whole = k - k % 4 if count > 0 else 0
    for c in range(0, whole, 4):
        add_four(work, DA * n, matrix, stride, ints, ORDER * n + c, DF * n, count)
    for c in range(whole, k if count > 0 else 0):
        j = ints[ORDER * n + c]
        add_multiple(work, DA * n, matrix, j * stride, work[DF * n + j], count)
    return pivot, span


@njit
def add_four(work, target, matrix, stride, ints, order, factors, count):
    """Add multiples of four rows of the matrix: each sum is loaded and stored once instead of four times."""
    c, d, e, g = ints[order], ints[order + 1], ints[order + 2], ints[order + 3]
    p, q, r, s = work[factors + c], work[factors + d], work[factors + e], work[factors + g]
    c, d, e, g = c * stride, d * stride, e * stride, g * stride
    for i in range(count):
        first = p * peek(matrix, c + i) + q * peek(matrix, d + i)
        second = r * peek(matrix, e + i) + s * peek(matrix, g + i)
        poke(work, target + i, peek(work, target + i) + (first + second))


@njit
def time_to_change(n, work, ints, i, span):
    """How far the direction can be followed until index i changes side."""
    lower, upper = work[LOWER * n + i], work[UPPER * n + i]
    f, a = work[F * n + i], work[A * n + i]
    if ints[STATE * n + i] == CLAMPED:
        change = work[DF * n + i]
        if abs(change) * work[SIZE * n + i] <= ROUNDING * span:
            return math.inf
        return max((f - lower) / -change if change < 0.0 else (upper - f) / change, 0.0)
    change = work[DA * n + i]
    if ints[STATE * n + i] != OUTSIDE or lower == upper or abs(change) <= ROUNDING * span * work[SIZE * n + i]:
        return math.inf
    if change < 0.0:
        return max(a, 0.0) / -change if f < upper else math.inf
    return max(-a, 0.0) / change if f > lower else math.inf


@njit
def first_change(n, work, ints, own, span):
    """(index, step) of the first change, of least index among equals; index −1: the driven index itself, after `own`."""
    best, step = -1, own
    for i in range(n):
        time = time_to_change(n, work, ints, i, span)
        if time < step:
            best, step = i, time
    return best, step


@njit
def move(n, work, ints, d, step, change):
    """Follow the direction; `change` is that of a_d."""
    for i in range(n):
        state = ints[STATE * n + i]
        if state == CLAMPED or i == d:
            work[F * n + i] += step * work[DF * n + i]
        elif state != WAITING:
            work[A * n + i] += step * work[DA * n + i]
    work[A * n + d] += step * change


@njit
def exchange(n, matrix, stride, work, ints, i):
    """Index i leaves C, its force at the nearer bound; or it joins C, or is ignored when it depends on C."""
    work[A * n + i] = 0.0
    if ints[STATE * n + i] == CLAMPED:
        lower, upper = work[LOWER * n + i], work[UPPER * n + i]
        work[F * n + i] = lower if work[DF * n + i] < 0.0 else upper
        work[DF * n + i] = 0.0
        leave(n, work, ints, i)
        return
    pivot, span = reduce(n, matrix, stride, work, ints, i)
    if pivot > ROUNDING * span * span:
        join(n, work, ints, i, pivot)
    else:
        ints[STATE * n + i] = IGNORED


@njit
def join(n, work, ints, i, pivot):
    k = ints[COUNT * n]
    append(work, FACTOR * n, n, k, Y * n, pivot)
    ints[ORDER * n + k] = i
    ints[COUNT * n] = k + 1
    ints[STATE * n + i] = CLAMPED
    work[A * n + i] = 0.0


@njit
def leave(n, work, ints, i):
    k = ints[COUNT * n]
    j = 0
    while ints[ORDER * n + j] != i:
        j += 1
    remove(work, FACTOR * n, n, k, j, Y * n)
    for c in range(j, k - 1):
        ints[ORDER * n + c] = ints[ORDER * n + c + 1]
    ints[COUNT * n] = k - 1
    ints[STATE * n + i] = OUTSIDE


@njit
def refine(n, matrix, stride, work, ints):
    """Remove what rounding left of the accelerations in C, and find those outside anew."""
    k = ints[COUNT * n]
    for c in range(k):
        i = ints[ORDER * n + c]
        work[X * n + c] = -dot(matrix, i * stride, work, F * n, n) - work[B * n + i]
    eliminate(work, FACTOR * n, n, k, X * n)
    substitute(work, FACTOR * n, n, k, X * n)
    for c in range(k):
        i = ints[ORDER * n + c]
        work[F * n + i] = min(max(work[F * n + i] + work[X * n + c], work[LOWER * n + i]), work[UPPER * n + i])
    for i in range(n):
        if ints[STATE * n + i] in (OUTSIDE, IGNORED):
            work[A * n + i] = dot(matrix, i * stride, work, F * n, n) + work[B * n + i]


@njit
def violation(n, matrix, stride, work):
    """Find a everywhere. Returns how far the conditions are violated at most, beside the terms that a is the sum of."""
    worst = 0.0
    for i in range(n):
        a, scale = acceleration(n, matrix, stride, work, i)
        work[A * n + i] = a
        if not scale < math.inf:
            return math.inf
        lower, f, upper = work[LOWER * n + i], work[F * n + i], work[UPPER * n + i]
        if lower != upper and ((a < 0.0 and f < upper) or (a > 0.0 and f > lower)) and abs(a) > worst * scale:
            worst = abs(a) / scale
    return worst
