"""Friction in Dantzig's algorithm, after Baraff (1994), section 5: bounds that move with the normal force.

Index i is a tangent of the contact whose normal force is f_j, its owner, with |f_i| ≤ μ f_j. It sticks (a_i = 0: it belongs
to C), or its force is at a bound, against a_i. SIDE ±1 says instead that it slides already: f_i = ±μ f_j whatever a_i is.
Two tangents of a contact bound its friction by a pyramid, not by Coulomb's cone.

A force at its bound is tied to its owner, f_i = t_i f_j with t_i = ±μ, and moves along with it. So column j of the equations
of C is A_j + Σ t_i A_i over what is tied to j. They are not symmetric, and are solved by LU with row pivoting, anew for each
direction: O(k³) for k in C, which is meant for the few contacts of an instant. While f_j = 0 its tangents bear nothing;
when it is about to grow, each is tied to the side that opposes a_i, and joins C at once if a_i turns.

Without symmetry the driver's proof of progress is lost: a force may grow and nothing stop it (INFEASIBLE: so it is where
Painlevé's rod has no solution), or the changes allowed be used up (STALLED).
"""

import math

from ..jit import njit
from .lcp_factor import add_multiple
from .lcp_problem import (
    CLAMPED,
    COUNT,
    COUPLED,
    DA,
    DF,
    DRIVEN,
    FACTOR,
    LOWER,
    ORDER,
    OUTSIDE,
    OWNER,
    PIVOTS,
    ROUNDING,
    SIDE,
    SIZE,
    SLOPE,
    STATE,
    TIED,
    UPPER,
    WAITING,
    A,
    F,
    X,
)
from .lu import factorize, substitute


@njit
def start_loose(n, matrix, stride, work, ints):
    """No forces, nothing in C."""
    ints[COUNT * n] = 0
    for i in range(n):
        ints[STATE * n + i] = WAITING
        work[SIZE * n + i] = math.sqrt(max(matrix[i * stride + i], 0.0))
        work[F * n + i], work[LOWER * n + i] = 0.0, 0.0
        work[UPPER * n + i] = math.inf if ints[OWNER * n + i] < 0 else 0.0
        work[TIED * n + i] = work[SIDE * n + i] * work[SLOPE * n + i]


@njit
def entry(n, matrix, stride, work, ints, i, j):
    """What force j, and those tied to it, do to acceleration i."""
    value = matrix[i * stride + j]
    for m in range(n):
        if ints[OWNER * n + m] == j and work[TIED * n + m] != 0.0:
            value += work[TIED * n + m] * matrix[i * stride + m]
    return value


@njit
def solve_tied(n, matrix, stride, work, ints):
    """X ← the forces in C that change its accelerations by X."""
    k = ints[COUNT * n]
    for c in range(k):
        for e in range(k):
            i, j = ints[ORDER * n + c], ints[ORDER * n + e]
            work[FACTOR * n + c * k + e] = entry(n, matrix, stride, work, ints, i, j)
    if factorize(k, work, FACTOR * n, ints, PIVOTS * n) == 0:
        substitute(k, work, FACTOR * n, ints, PIVOTS * n, work, X * n)
    else:
        for c in range(k):
            work[X * n + c] = math.nan


@njit
def reduce_tied(n, matrix, stride, work, ints, d):
    """What `lcp_clamped.reduce` does: x into X; the pivot, and the size of the direction (x, 1)."""
    k = ints[COUNT * n]
    for c in range(k):
        work[X * n + c] = -entry(n, matrix, stride, work, ints, ints[ORDER * n + c], d)
    solve_tied(n, matrix, stride, work, ints)
    pivot, span = entry(n, matrix, stride, work, ints, d, d), work[SIZE * n + d]
    for c in range(k):
        j = ints[ORDER * n + c]
        pivot += entry(n, matrix, stride, work, ints, d, j) * work[X * n + c]
        span += work[SIZE * n + j] * abs(work[X * n + c])
    return pivot, span


@njit
def moves(n, ints, j):
    return ints[STATE * n + j] == CLAMPED or ints[STATE * n + j] == DRIVEN


@njit
def add_tied(n, matrix, stride, work, ints, count):
    """Let tied forces move along, and add what they do to DA."""
    for i in range(n):
        j = ints[OWNER * n + i]
        if j >= 0 and work[TIED * n + i] != 0.0 and moves(n, ints, j):
            work[DF * n + i] = work[TIED * n + i] * work[DF * n + j]
            add_multiple(work, DA * n, matrix, i * stride, work[DF * n + i], count)


@njit
def rate_of_bound(n, work, ints, i):
    """How fast the upper bound of i moves; the lower one moves the other way."""
    if ints[COUNT * n + COUPLED] == 0 or ints[OWNER * n + i] < 0:
        return 0.0
    j = ints[OWNER * n + i]
    return work[SLOPE * n + i] * work[DF * n + j] if moves(n, ints, j) else 0.0


@njit
def time_of_friction(n, work, ints, i, span):
    """How far the direction can be followed until a sticking tangent is at a bound, or one at a bound begins to stick."""
    small = ROUNDING * span
    if ints[STATE * n + i] == CLAMPED:
        f, change, rate = work[F * n + i], work[DF * n + i], rate_of_bound(n, work, ints, i)
        time = math.inf
        if (change - rate) * work[SIZE * n + i] > small:
            time = max((work[UPPER * n + i] - f) / (change - rate), 0.0)
        if (-change - rate) * work[SIZE * n + i] > small:
            time = min(time, max((f - work[LOWER * n + i]) / (-change - rate), 0.0))
        return time
    side, a, change = work[TIED * n + i], work[A * n + i], work[DA * n + i]
    if ints[STATE * n + i] != OUTSIDE or work[SIDE * n + i] != 0.0 or not moves(n, ints, ints[OWNER * n + i]):
        return math.inf
    if abs(change) <= small * work[SIZE * n + i] or (change < 0.0) != (side < 0.0):
        return math.inf
    return max(a if side < 0.0 else -a, 0.0) / abs(change)


@njit
def nearer_upper(n, work, i):
    """At which of its bounds a force is."""
    return work[UPPER * n + i] - work[F * n + i] <= work[F * n + i] - work[LOWER * n + i]


@njit
def follow(n, work, ints):
    """The bounds as the normal forces are, and the forces tied to them."""
    for i in range(n):
        if ints[OWNER * n + i] >= 0:
            normal = work[F * n + ints[OWNER * n + i]]
            given, most = work[SIDE * n + i], work[SLOPE * n + i] * normal
            lower, upper = (given * most, given * most) if given != 0.0 else (-most, most)
            f = work[TIED * n + i] * normal if work[TIED * n + i] != 0.0 else work[F * n + i]
            work[F * n + i] = min(max(f, lower), upper)
            work[LOWER * n + i], work[UPPER * n + i] = lower, upper


@njit
def couple(n, work, ints, j):
    """Index j begins to move: loose if it is a tangent; if it is a normal without force, its tangents oppose their a."""
    if work[SIDE * n + j] == 0.0:
        work[TIED * n + j] = 0.0
    for i in range(n):
        if ints[OWNER * n + i] == j and ints[STATE * n + i] != WAITING and work[F * n + j] == 0.0:
            if work[SIDE * n + i] == 0.0:
                work[TIED * n + i] = work[SLOPE * n + i] * (1.0 if work[A * n + i] < 0.0 else -1.0)


@njit
def tie(n, work, ints, i, side):
    """A tangent has come to its bound."""
    if ints[OWNER * n + i] >= 0 and work[SIDE * n + i] == 0.0:
        work[TIED * n + i] = side * work[SLOPE * n + i]
