"""Events: the first sign change in a step, located on the dense output and then on the method's own steps.

`event(t, y, values, context)` writes one number per event; a root is where it changes sign. `signs` keeps the side each
event is on between calls, so that a root just found is not found again and one found late is not lost.
"""

import math

from ..arrays import copy
from ..jit import njit
from ..status import NON_FINITE, OK
from .control import all_finite
from .explicit import dense_state, extra_stages
from .functions import event
from .step import EPSILON, attempt, finish

RESOLUTION = 1e-14  # of the step


@njit
def sign(value):
    return 1.0 if value > 0.0 else (-1.0 if value < 0.0 else 0.0)


@njit
def departure(context, y, dydt, work, signs, clock, t_end):
    """Set the side of every event at the start of a run, or of the event just stopped at. On a root, it is the side that
    y is about to move to; the value there, a rounding error, gives way to the one a little ahead."""
    now = clock[0]
    ahead = 1e-3 * min(now.h, t_end - now.t)
    for j in range(y.size):
        work.stage[j] = y[j] + ahead * dydt[j]
    status = event(now.t + ahead, work.stage, work.values[2], context)
    for i in range(signs.size):
        if i == now.event or (now.started == 0 and work.values[0, i] == 0.0):
            work.values[0, i] = work.values[2, i]
            signs[i] = sign(work.values[2, i])
        elif now.started == 0:
            signs[i] = sign(work.values[0, i])
    return status


@njit
def crossed(before, value, direction):
    """Whether going from the side `before` to `value` is an event."""
    return before != 0.0 and sign(value) != before and (direction == 0 or direction == -before)


@njit
def keep_sides(values, direction, signs):
    """Remember the side of each value, except where that would hide a crossing still to be reported."""
    for i in range(signs.size):
        if values[i] != 0.0 and not crossed(signs[i], values[i], direction[i]):
            signs[i] = sign(values[i])


@njit
def divide(low, g_low, high, g_high):
    """Where the chord meets zero, kept inside the bracket."""
    x = low - g_low * (high - low) / (g_high - g_low)
    return min(high, max(low, x))


@njit
def dense_root(context, plan, t, h, y, work, which):
    """(status, θ) with θ in [0, 1] where event `which` crosses zero on the dense output: regula falsi (Illinois), with a
    bisection now and then."""
    low, high = 0.0, 1.0
    g_low, g_high = work.values[0, which], work.values[1, which]
    side = 0
    for i in range(200):
        width = high - low
        if width <= RESOLUTION:
            break
        x = 0.5 * (low + high) if i % 4 == 3 else divide(low, g_low, high, g_high)
        x = min(high - 0.25 * RESOLUTION, max(low + 0.25 * RESOLUTION, x))
        dense_state(plan, work.k, y, h, x, work.stage)
        status = event(t + x * h, work.stage, work.values[2], context)
        g = work.values[2, which]
        if status != OK or g == 0.0:
            return status, x
        if (g > 0.0) == (g_high > 0.0):
            high, g_high = x, g
            g_low *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            low, g_low = x, g
            g_high *= 0.5 if side == -1 else 1.0
            side = -1
    return OK, high


@njit
def first_root(context, plan, t, h, y, work, signs, clock):
    """(status, index, θ) of the earliest crossing in the step, by dense output; index -1 if there is none. Values at the
    start and the end are in rows 0 and 1 of work.values."""
    first, earliest, ready = -1, math.inf, False
    for i in range(signs.size):
        if not crossed(signs[i], work.values[1, i], work.direction[i]):
            continue
        if not ready:
            clock[0].evaluations += plan.extra
            status = extra_stages(context, t, y, h, plan, work.k, work.stage)
            if status != OK:
                return status, -1, 0.0
            ready = True
        if sign(work.values[0, i]) != signs[i]:
            theta = 0.0
        elif work.values[1, i] == 0.0:
            theta = 1.0
        else:
            status, theta = dense_root(context, plan, t, h, y, work, i)
            if status != OK:
                return status, -1, 0.0
        if theta < earliest:
            first, earliest = i, theta
    return OK, first, earliest


@njit
def retake(context, plan, t, h, theta, y, work, clock, which):
    """(status, t_new): take the step again from y up to the event, so that the state there has the method's accuracy.

    The dense output is less exact than the method; its root is corrected by regula falsi on steps of the method.
    """
    low, g_low = 0.0, work.values[0, which]
    high, g_high = h, work.values[1, which]
    x, side = theta * h, 0
    for attempts_left in range(9, -1, -1):
        status = attempt(context, plan, t, x, y, work, clock)
        if status == OK and not all_finite(work.y_new):
            status = NON_FINITE
        if status == OK:
            status = finish(context, plan, t + x, 0, work, clock)
        if status == OK:
            status = event(t + x, work.y_new, work.values[2], context)
        if status != OK:
            return status, t
        g = work.values[2, which]
        if g == 0.0 or x == 0.0 or attempts_left == 0:
            break
        if (g > 0.0) == (g_low > 0.0):
            low, g_low = x, g
            g_high *= 0.5 if side == -1 else 1.0
            side = -1
        else:
            high, g_high = x, g
            g_low *= 0.5 if side == 1 else 1.0
            side = 1
        better = divide(low, g_low, high, g_high)
        if abs(better - x) <= RESOLUTION * h + EPSILON * abs(t):
            break
        x = better
    return OK, t + x


@njit
def stop_at_event(context, plan, t, t_new, h, y, work, signs, clock):
    """(status, index, t_new): look for an event in the step just taken; if there is one, the step now ends there."""
    status = event(t_new, work.y_new, work.values[1], context)
    if status != OK:
        return status, -1, t
    status, index, theta = first_root(context, plan, t, h, y, work, signs, clock)
    if status != OK:
        return status, -1, t
    latest = 1
    if index >= 0:
        status, t_new = retake(context, plan, t, h, theta, y, work, clock, index)
        if status != OK:
            return status, -1, t
        latest = 2
    keep_sides(work.values[latest], work.direction, signs)
    copy(work.values[0], work.values[latest])
    return OK, index, t_new
