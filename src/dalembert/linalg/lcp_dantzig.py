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

Most problems are solved before anything is driven: `lcp_predict` foretells C. Where it is wrong, forces that it puts beyond
a bound are released, and the driver begins with what is left, among indices that already are as they should be.

Workspace: see `lcp_problem`.
"""

import math

from ..jit import njit
from .lcp_clamped import correct, join, leave, reduce, refine, uncouple
from .lcp_factor import add_multiple
from .lcp_friction import (
    add_tied,
    couple,
    follow,
    nearer_upper,
    rate_of_bound,
    start_loose,
    tie,
    time_of_friction,
)
from .lcp_predict import by_position, predict
from .lcp_problem import (
    CLAMPED,
    COUNT,
    COUPLED,
    DA,
    DF,
    DRIVEN,
    IGNORED,
    INACCURATE,
    INFEASIBLE,
    LOWER,
    NOT_SEMIDEFINITE,
    OK,
    ORDER,
    OUTSIDE,
    OWNER,
    ROUNDING,
    SATISFIED,
    SIZE,
    STALLED,
    STATE,
    TIED,
    UPPER,
    WAITING,
    A,
    F,
    X,
    acceleration,
    add_four,
    violation,
)  # fmt: skip

ACCURATE = 1e-10  # what the result must keep to, on the same scale
PASSES = 3
CHANGES = 50  # an index, at most
ORDERS = 12  # that are tried with friction


@njit
def dantzig(n, matrix, stride, work, ints):
    """Solve; `matrix` is flat, row i from i * stride. Returns a status, and leaves f and a in `work`."""
    if ints[COUNT * n + COUPLED] != 0:
        return dantzig_with_friction(n, matrix, stride, work, ints)
    status, kept = predict(n, matrix, stride, work, ints)
    if status != OK or (kept and violation(n, matrix, stride, work) <= SATISFIED):
        return status
    begin(n, matrix, stride, work, ints)
    return drive_all(n, matrix, stride, work, ints, 0)


@njit
def dantzig_with_friction(n, matrix, stride, work, ints):
    """The same with friction, where what stalls in one order of the indices seldom does so in another."""
    status = OK
    for first in range(max(1, min(n, ORDERS))):
        start_loose(n, matrix, stride, work, ints)
        status = drive_all(n, matrix, stride, work, ints, first)
        if status == OK:
            break
    return status


@njit
def drive_all(n, matrix, stride, work, ints, first):
    """Drive index after index, beginning with `first`, until the conditions hold everywhere. Returns a status."""
    left = CHANGES * (n + 1)
    for _ in range(PASSES):
        for e in range(n):
            d = (first + e) % n
            if ints[STATE * n + d] != CLAMPED:
                status, left = drive(n, matrix, stride, work, ints, d, left)
                if status != OK:
                    return status
        refine(n, matrix, stride, work, ints)
        if violation(n, matrix, stride, work) <= ACCURATE:
            return OK
    return INACCURATE


@njit
def begin(n, matrix, stride, work, ints):
    """Release from the C foretold what is beyond its bounds, until nothing is. What is not in C waits to be driven."""
    by_position(n, work, ints)
    for i in range(n):
        ints[STATE * n + i] = WAITING
        work[SIZE * n + i] = math.sqrt(max(matrix[i * stride + i], 0.0))
    for c in range(ints[COUNT * n]):
        ints[STATE * n + ints[ORDER * n + c]] = CLAMPED
    released = True
    while released:
        released = False
        correct(n, matrix, stride, work, ints)
        for c in range(ints[COUNT * n]):
            i = ints[ORDER * n + c]
            work[DF * n + i] = work[F * n + i] + work[X * n + c]
        for i in range(n):
            if ints[STATE * n + i] == CLAMPED:
                lower, f, upper = work[LOWER * n + i], work[DF * n + i], work[UPPER * n + i]
                work[F * n + i] = min(max(f, lower), upper)
                if f < lower or f > upper:
                    leave(n, work, ints, i)
                    ints[STATE * n + i] = WAITING
                    released = True


@njit
def drive(n, matrix, stride, work, ints, d, left):
    """Bring index d to complementarity. Returns (status, how many changes are left)."""
    a, scale = acceleration(n, matrix, stride, work, d)
    work[A * n + d] = a
    ints[STATE * n + d] = OUTSIDE
    lower, f, upper = work[LOWER * n + d], work[F * n + d], work[UPPER * n + d]
    coupled = ints[COUNT * n + COUPLED] != 0
    if lower == upper or (abs(a) <= SATISFIED * scale and not lower < f < upper):
        return OK, left
    if coupled:
        couple(n, work, ints, d)
    for i in range(n):
        if ints[STATE * n + i] == IGNORED:
            ints[STATE * n + i] = OUTSIDE
    sign = 1.0 if a < 0.0 else -1.0
    goal = (UPPER if a < 0.0 else LOWER) * n + d  # where that bound stands: with friction it may move
    while work[F * n + d] != work[goal]:
        if left == 0:
            return STALLED, left
        left -= 1
        ints[STATE * n + d] = DRIVEN
        pivot, span = direction(n, matrix, stride, work, ints, d, sign)
        if pivot < -ROUNDING * span * span and not coupled:
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
        i, step = first_change(n, work, ints, min(time_to_goal(n, work, ints, d, goal), at_zero), span)
        if step == math.inf:
            # Nothing stops this direction. An acceleration within the accuracy of the result may stay as it is.
            ints[STATE * n + d] = OUTSIDE
            return (OK if abs(a) <= ACCURATE * scale else INFEASIBLE), left
        move(n, work, ints, d, step, sign * pivot)
        ints[STATE * n + d] = OUTSIDE
        if i >= 0:
            exchange(n, matrix, stride, work, ints, i)
        elif at_zero <= step:
            join(n, work, ints, d, pivot)
            return OK, left
        else:
            work[F * n + d] = work[goal]
    if coupled:
        tie(n, work, ints, d, sign)
    return OK, left


@njit
def time_to_goal(n, work, ints, d, goal):
    """How far the direction can be followed until the driven force is at its bound."""
    closing = 1.0 - rate_of_bound(n, work, ints, d)
    return abs(work[goal] - work[F * n + d]) / closing if closing > 0.0 else math.inf


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
        e, g, h, j = (ints[ORDER * n + c], ints[ORDER * n + c + 1], ints[ORDER * n + c + 2], ints[ORDER * n + c + 3])
        add_four(
            work, DA * n, DA * n, matrix, e * stride, g * stride, h * stride, j * stride,
            work[DF * n + e], work[DF * n + g], work[DF * n + h], work[DF * n + j], count,
        )  # fmt: skip
    for c in range(whole, k if count > 0 else 0):
        j = ints[ORDER * n + c]
        add_multiple(work, DA * n, matrix, j * stride, work[DF * n + j], count)
    if ints[COUNT * n + COUPLED] != 0:
        add_tied(n, matrix, stride, work, ints, count)
    return pivot, span


@njit
def time_to_change(n, work, ints, i, span):
    """How far the direction can be followed until index i changes side."""
    if ints[COUNT * n + COUPLED] != 0 and ints[OWNER * n + i] >= 0:
        return time_of_friction(n, work, ints, i, span)
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
    if ints[COUNT * n + COUPLED] != 0:
        follow(n, work, ints)


@njit
def exchange(n, matrix, stride, work, ints, i):
    """Index i leaves C, its force at the bound it came to; or it joins C, or is ignored when it depends on C."""
    coupled = ints[COUNT * n + COUPLED] != 0
    work[A * n + i] = 0.0
    if ints[STATE * n + i] == CLAMPED:
        rises = work[DF * n + i] > 0.0 if not coupled else nearer_upper(n, work, i)
        work[F * n + i] = work[(UPPER if rises else LOWER) * n + i]
        work[DF * n + i] = 0.0
        leave(n, work, ints, i)
        if coupled:
            uncouple(n, work, ints, i)
            tie(n, work, ints, i, 1.0 if rises else -1.0)
        return
    side = work[TIED * n + i]
    if coupled:
        couple(n, work, ints, i)
    pivot, span = reduce(n, matrix, stride, work, ints, i)
    if pivot > ROUNDING * span * span:
        join(n, work, ints, i, pivot)
    else:
        work[TIED * n + i] = side
        ints[STATE * n + i] = IGNORED
