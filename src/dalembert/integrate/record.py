"""The kernel behind `solve`: advance a system given by function pointers, and write down where it went."""

from typing import Any

import numpy as np

from ..arrays import copy
from ..jit import njit
from ..kernel import array, kernel, out
from ..status import MAX_STEPS, OK
from .advance import advance
from .explicit import dense_coefficients, extra_stages
from .functions import Functions
from .state import CLOCK, PLAN, Work


@njit
def record_steps(context, plans, y, dydt, work, signs, clock, stops, stop, max_steps, each, out_t, out_y, out_dense):
    """(status, stop, count): go on from `stop`, the index of the next time in `stops` (s) to end on, until a status that
    is not OK or until the buffers are full.

    Each step is recorded if `each` is 1, else the state at each stop. out_t: float64[m]; out_y: float64[m, n]; out_dense:
    float64[m, degree, n], the polynomial that ends at the row, or float64[0, degree, n]. `max_steps` bounds clock.steps.
    """
    plan, now = plans[0], clock[0]
    count = 0
    while stop < stops.size and count < out_t.size:
        steps, t_before = now.steps, now.t
        copy(work.y_before, y)
        allowed = max_steps - steps
        if each != 0:
            allowed = min(1, allowed)
        status = advance(context, plan, y, dydt, work, signs, clock, stops[stop], allowed)
        if (each != 0 and now.steps > steps) or (each == 0 and status == OK):
            out_t[count] = now.t
            copy(out_y[count], y)
            if out_dense.shape[0] > 0:
                h = now.t - t_before
                now.evaluations += plan.extra
                failed = extra_stages(context, t_before, work.y_before, h, plan, work.k, work.stage)
                if failed != OK:
                    return failed, stop, count
                dense_coefficients(plan, work.k, h, out_dense[count])
            count += 1
        if status == OK:
            stop += 1
        elif status != MAX_STEPS or now.steps >= max_steps:
            return status, stop, count
    return OK, stop, count


@kernel
def _record(
    context: Functions(int, int, int, array(1, np.int64), array(1, np.int64), int), plans: array(1, PLAN), y: out(),
    dydt: out(), work: Work(out(2), *[out()] * 4, out(2), array(), array(), array(1, np.int64)), signs: out(),
    clock: out(1, CLOCK), stops: array(), stop: int, max_steps: int, each: int, out_t: out(), out_y: out(2),
    out_dense: out(3), found: out(1, np.int64),
) -> int:  # fmt: skip
    status, found[0], found[1] = record_steps(
        context, plans, y, dydt, work, signs, clock, stops, stop, max_steps, each, out_t, out_y, out_dense
    )
    return status


def record(*given: Any) -> tuple[int, int, int]:
    """`record_steps`, for Python."""
    found = np.zeros(2, np.int64)
    status = _record(*given, found)
    return status, int(found[0]), int(found[1])
