"""One motion of Dantzig's driver: how forces and accelerations change with the driven force, and what first ends that.

A change below ROUNDING times the size of its terms is a rounding error, see `lcp_dantzig`.
"""

import math

from ..jit import njit
from .lcp_clamped import reduce
from .lcp_factor import add_multiple
from .lcp_friction import add_tied, follow, rate_of_bound, time_of_friction
from .lcp_problem import (
    CLAMPED,
    COUNT,
    COUPLED,
    DA,
    DF,
    IGNORED,
    LOWER,
    ORDER,
    OUTSIDE,
    OWNER,
    ROUNDING,
    SIZE,
    STATE,
    UPPER,
    WAITING,
    A,
    F,
    X,
    add_four,
)


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
def time_to_goal(n, work, ints, d, goal):
    """How far the direction can be followed until the driven force is at its bound."""
    closing = 1.0 - rate_of_bound(n, work, ints, d)
    return abs(work[goal] - work[F * n + d]) / closing if closing > 0.0 else math.inf


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
