"""The driver: step, complete, look for events, commit; from the clock's time to `t_end`.

What is integrated is behind the pointers of `context`: see `functions`.
"""

from ..arrays import copy
from ..jit import inlined, njit
from ..status import ENDS_RUN, EVENT, MAX_STEPS, OK
from .control import SHRINK_MOST, initial_step
from .functions import complete, event
from .locate import departure, stop_at_event
from .step import SAME_TIME, adaptive_step, fixed_step, too_short


@njit
def advance(context, plan, y, dydt, work, signs, clock, t_end, max_steps):
    """Integrate until t_end (s), an event, a failure or `max_steps` accepted steps; call again to go on.

    y, dydt: float64[n], always the last good state and its derivative. Adaptive methods end on t_end exactly; fixed
    steps end on the first step end not before t_end (less 1e-9 dt), or on t_end if plan.land is 1. `plan` is
    options.plan[0]; `options`, `work`, `signs` and `clock` come from `state`. After changing y, set clock.valid = 0.
    """
    status = begin(context, plan, y, dydt, work, signs, clock, t_end)
    if status != OK:
        return status
    for _ in range(max_steps):
        if reached(plan, clock, t_end):
            return OK
        status = step(context, plan, y, dydt, work, signs, clock, t_end)
        if status != OK:
            return status
    return OK if reached(plan, clock, t_end) else MAX_STEPS


@inlined
def reached(plan, clock, t_end):
    now = clock[0]
    slack = 0.0 if plan.adaptive != 0 else SAME_TIME * now.h
    return now.t >= t_end - slack


@njit
def begin(context, plan, y, dydt, work, signs, clock, t_end):
    """Whatever is not known yet: the derivative, the first step, the side of each event."""
    now = clock[0]
    if now.valid == 0:
        now.evaluations += 1
        status = complete(now.t, y, dydt, 0, context)
        if status != OK:
            return status
        now.valid = 1
    if reached(plan, clock, t_end):
        return OK
    if plan.adaptive != 0 and now.h <= 0.0:
        now.evaluations += 1
        longest = min(plan.h_max, t_end - now.t)
        status, now.h = initial_step(context, plan, now.t, y, dydt, work, longest)
        if status != OK:
            return status
    if signs.size > 0:
        status = event(now.t, y, work.values[0], context)
        if status == OK and (now.started == 0 or now.event >= 0):
            status = departure(context, y, dydt, work, signs, clock, t_end)
        if status != OK:
            return status
    now.event = -1
    now.started = 1
    return OK


@inlined
def step(context, plan, y, dydt, work, signs, clock, t_end):
    """One accepted step, committed: y, dydt and the clock move together."""
    now = clock[0]
    index = -1
    while True:
        copy(work.k[0], dydt)
        if plan.adaptive != 0:
            status, t_new, h = adaptive_step(context, plan, y, work, clock, t_end)
        else:
            status, t_new, h = fixed_step(context, plan, y, work, clock, t_end)
        if status != OK:
            return status
        if signs.size == 0:
            break
        status, index, t_new = stop_at_event(context, plan, now.t, t_new, h, y, work, signs, clock)
        if status == OK:
            break
        if plan.adaptive == 0 or status >= ENDS_RUN or too_short(now.t, SHRINK_MOST * h):
            return status
        now.rejected += 1  # the system cannot be evaluated somewhere within the step
        now.h = SHRINK_MOST * h
    copy(y, work.y_new)
    copy(dydt, work.k[plan.stages])
    now.t = t_new
    now.steps += 1
    now.event = index
    if plan.adaptive == 0 and t_new >= now.origin + (now.count + 1) * now.h:
        now.count += 1
    return OK if index < 0 else EVENT
