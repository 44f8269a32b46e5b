"""One step of the chosen method: how long it is, whether it is accepted, and the completed state at its end.

`y` is untouched: the new state is left in work.y_new, its derivative in the row of work.k after the stages.
"""

import math

from ..jit import inlined, njit
from ..status import ENDS_RUN, NON_FINITE, OK, STEP_UNDERFLOW
from .control import SMALLEST_ERROR, SMALLEST_STEP, all_finite, error_norm, growth, reduction
from .explicit import explicit_step, splitting_step, symplectic_step
from .functions import complete, derivative, merge

SAME_TIME = 1e-9  # in units of dt: step ends closer than this are one
EPSILON = 2.220446049250313e-16


@inlined
def attempt(context, plan, t, h, y, work, clock):
    """work.y_new = one raw step of h from y; row 0 of work.k holds f(t, y)."""
    clock[0].evaluations += plan.stages - 1
    if plan.partitioned == 2:
        return splitting_step(context, t, y, h, work.momentum, work.k, work.stage, work.y_new)
    if plan.partitioned == 1:
        return symplectic_step(context, t, y, h, work.momentum, work.k, work.stage, work.y_new)
    status = explicit_step(context, t, y, h, plan, work.k, work.stage, work.y_new)
    return status if status != OK else merge(t + h, work.y_new, context)


@inlined
def finish(context, plan, t_new, evaluated, work, clock):
    """Complete work.y_new at t_new."""
    if evaluated == 0:
        clock[0].evaluations += 1
    return complete(t_new, work.y_new, work.k[plan.stages], evaluated, context)


@inlined
def fixed_end(plan, clock, t_end):
    """(t_new, h): the end of the next fixed step, on the grid origin + i dt, and its length."""
    now = clock[0]
    on_grid = now.t == now.origin + now.count * now.h
    t_new = now.origin + (now.count + 1) * now.h
    if not on_grid and t_new - now.t <= SAME_TIME * now.h:
        now.count += 1
        t_new = now.origin + (now.count + 1) * now.h
    if plan.land != 0 and t_new > t_end + SAME_TIME * now.h:
        return t_end, t_end - now.t
    if on_grid:
        return t_new, now.h
    return t_new, t_new - now.t


@inlined
def fixed_step(context, plan, y, work, clock, t_end):
    """(status, t_new, h) of one fixed step, completed."""
    t = clock[0].t
    t_new, h = fixed_end(plan, clock, t_end)
    status = attempt(context, plan, t, h, y, work, clock)
    if status == OK and not all_finite(work.y_new):
        status = NON_FINITE
    if status == OK:
        status = finish(context, plan, t_new, 0, work, clock)
    return status, t_new, h


@njit
def judge(context, plan, t_new, h, y, work, clock):
    """(status, error) of the raw step in `work`; infinite where the state is not finite."""
    if not all_finite(work.y_new):
        return OK, math.inf
    if plan.fsal != 0:
        clock[0].evaluations += 1
        status = derivative(t_new, work.y_new, work.k[plan.stages], context)
        if status != OK:
            return status, math.inf
    return OK, error_norm(plan, h, y, work)


@njit
def adaptive_step(context, plan, y, work, clock, t_end):
    """(status, t_new, h) of one accepted step, completed, and the clock's next h. The step that reaches t_end is
    shortened to land on it, without spoiling h.

    A trial is rejected where its error is too large, where it is not finite, and where the system cannot be evaluated at one
    of its stages or completed at its end. The run fails only where the step would have to be too short for the clock; then
    the clock's h is that step, and the status that of the last trial."""
    now = clock[0]
    t = now.t
    h = min(now.h, plan.h_max)
    limit = 1.0
    while True:
        shortened = t + h >= t_end - 1e-10 * h
        proposed = h
        if shortened:
            h = t_end - t
        t_new = t_end if shortened else t + h
        status, error = attempt(context, plan, t, h, y, work, clock), math.inf
        if status == OK:
            status, error = judge(context, plan, t_new, h, y, work, clock)
        if status == OK and error <= 1.0:
            status = finish(context, plan, t_new, plan.fsal, work, clock)
            if status == OK:
                break
            error = math.inf
        now.h = h
        if status >= ENDS_RUN:
            return status, t, h
        now.rejected += 1
        limit = 0.0
        h *= reduction(plan, error)
        if too_short(t, h):
            if status == OK:
                status = NON_FINITE if math.isinf(error) else STEP_UNDERFLOW
            return status, t, h
    factor = growth(plan, error, now.error_last)
    if limit == 0.0:
        factor = min(1.0, factor)
    if shortened:
        now.h = max(proposed, h * factor) if h < proposed else h * factor
    else:
        now.h = h * factor
        now.error_last = max(error, SMALLEST_ERROR)
    return OK, t_new, h


@inlined
def too_short(t, h):
    """Whether a step is too short to be told from none at all."""
    return h < 16.0 * EPSILON * abs(t) or h < SMALLEST_STEP
