"""What acts on coordinates of joints, as a C function; see `ask_limits`. It is handed the addresses that `step` has."""

import numpy as np

from ..jit import CFunction, njit
from ..model.tables import System
from ..pointer import C_SIGNATURE, viewer
from ..status import OK
from ..tables import table_at
from .ask_limits import (
    APPLY,
    BEGIN,
    CHANGE_SIDES,
    DISPLACE,
    DISPLACE_SOFT,
    PART_STOPS,
    PLACE,
    PLACE_KICKED,
    PUSH,
    REFACTOR,
    RESIDUAL,
    SET,
    SET_BOUNCES,
    SET_KICKED,
    SET_PLASTIC,
    SWEEP,
    WORK,
)
from .bounded import (
    apply_bounds,
    bounds_residual,
    find_bounds,
    part_stops,
    passive_work,
    push_bounds,
    respond_bounds,
    set_bounces,
    sweep_bounds,
    work_of_bounds,
)
from .soft import (
    aim_rows,
    begin_rows,
    book_soft,
    change_sides,
    displace_soft,
    note_impulses,
    place_rows,
    refactor,
    set_rows,
)
from .solve import WALLS, walls_at
from .tables import Stepping

_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def perform(task, h, y, answer, walls, system, stepping):
    """Do one of the tasks; returns a status, or what `ask_limits` says."""
    if task == BEGIN:
        begin_rows(y, system, stepping)
    elif task in (SET, SET_KICKED):
        set_rows(h, task == SET_KICKED, system, stepping)
    elif task in (PLACE, PLACE_KICKED):
        place_rows(system, stepping)
        aim_rows(h, task == PLACE_KICKED, system, stepping)
        return find_bounds(walls, h, task == PLACE_KICKED, y, system, stepping)
    elif task in (SET_BOUNCES, SET_PLASTIC):
        return 1 if set_bounces(h, system, stepping, task == SET_PLASTIC) else 0
    elif task == CHANGE_SIDES:
        return 1 if change_sides(int(h), system, stepping) else 0
    elif task == REFACTOR:
        status = refactor(walls, system, stepping)
        return respond_bounds(walls, system, stepping) if status == OK else status
    elif task == PUSH:
        push_bounds(stepping)
    elif task == SWEEP:
        answer[0], status = sweep_bounds(walls, system, stepping)
        return status
    elif task == RESIDUAL:
        answer[0] = bounds_residual(stepping)
    elif task == WORK:
        answer[0], answer[1] = passive_work(system, stepping)
    elif task == APPLY:
        apply_bounds(y, system, stepping)
        note_impulses(system, stepping)
        book_soft(y, system, stepping)
    elif task == PART_STOPS:
        some, status = part_stops(walls, system, stepping)
        answer[0] = 1.0 if some else 0.0
        return status
    elif task == DISPLACE:
        answer[0] = work_of_bounds(y, system, stepping)
    elif task == DISPLACE_SOFT:
        displace_soft(y, system, stepping)
    return OK


def evaluate(data, task, h, y, n, answer, m):
    at = _addresses(data, WALLS + 3)
    system, stepping = table_at(System, at[WALLS]), table_at(Stepping, at[WALLS + 2])
    return perform(task, h, _floats(y, n), _floats(answer, m), walls_at(data), system, stepping)


COMPILED = CFunction(evaluate, C_SIGNATURE)
