"""Where a run of `solve` went: it goes on until buffers are full."""

from typing import Any, NamedTuple

import numpy as np

from ..arrays import copy
from ..jit import njit
from ..pointer import part_of
from ..status import MAX_STEPS, OK
from .advance import advance
from .explicit import dense_coefficients, extra_stages
from .rows import as_rows

PROGRESS = np.dtype([("stop", "i8"), ("count", "i8"), ("each", "i8"), ("most", "i8")], align=True)
"""The next of the stops; how many rows were written; 1: each step is recorded, 0: the state at each stop; most steps of the
run."""


class Record(NamedTuple):
    """Times to end on and what is recorded, m rows at most."""

    progress: Any  # PROGRESS, one row
    stops: np.ndarray  # s, increasing
    times: np.ndarray  # (m,) s
    states: np.ndarray  # (m n,)
    polynomials: np.ndarray  # (m degree n,), the polynomial that ends at each row; or empty


def make_record(stops: np.ndarray, each: bool, most: int, rows: int, n: int, degree: int) -> Record:
    """Buffers for so many rows; degree : of the polynomials, 0 for none."""
    progress = np.array([(0, 0, int(each), most)], PROGRESS).view(np.recarray)
    return Record(progress, stops, np.empty(rows), np.empty(rows * n), np.empty(rows * n * degree))


NO_RECORD = make_record(np.zeros(0), False, 0, 0, 0, 0)


@njit
def record(context, plan, y, dydt, work, signs, clock, progress, stops, times, states, polynomials):
    """Go on until a status that is not OK, or until the buffers are full; see `Record`. Returns a status."""
    now, n = clock[0], y.shape[0]
    progress.count = 0
    while progress.stop < stops.shape[0] and progress.count < times.shape[0]:
        steps, t_before, count = now.steps, now.t, progress.count
        copy(work.y_before, y)
        allowed = progress.most - steps
        if progress.each != 0:
            allowed = min(1, allowed)
        status = advance(context, plan, y, dydt, work, signs, clock, stops[progress.stop], allowed)
        if (progress.each != 0 and now.steps > steps) or (progress.each == 0 and status == OK):
            times[count] = now.t
            copy(part_of(states, n * count, n), y)
            if polynomials.shape[0] > 0:
                h = now.t - t_before
                now.evaluations += plan.extra
                failed = extra_stages(context, t_before, work.y_before, h, plan, work.k, work.stage)
                if failed != OK:
                    return failed
                size = plan.degree * n
                dense_coefficients(plan, work.k, h, as_rows(part_of(polynomials, size * count, size), plan.degree, n))
            progress.count += 1
        if status == OK:
            progress.stop += 1
        elif status != MAX_STEPS or now.steps >= progress.most:
            return status
    return OK
