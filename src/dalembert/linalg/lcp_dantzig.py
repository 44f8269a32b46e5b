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

Friction: see `lcp_friction`; the workspace: `lcp_problem`.
"""

import math

from ..jit import njit
from .lcp_clamped import correct, join, leave, reduce, refine, uncouple
from .lcp_friction import couple, nearer_upper, start_loose, tie
from .lcp_motion import direction, first_change, move, time_to_goal
from .lcp_predict import by_position, predict
from .lcp_problem import (
    CLAMPED,
    COUNT,
    COUPLED,
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
    violation,
)

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
