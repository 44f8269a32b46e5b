"""What threads do of a step: one C function for all kinds of jobs; see `sharing`."""

import numpy as np

from ..board import COLLISION_DESK, STEPPING_DESK, SYSTEM_DESK, WALLS_DESK
from ..collide.tables import Collision
from ..collide.tables_of import islands_of
from ..jit import CFunction, njit
from ..model.tables import System
from ..pointer import C_SIGNATURE, viewer
from ..status import OK
from .relax import relax
from .separate import part
from .sharing import (
    PART,
    PART_ALONE,
    RELAX,
    RELAX_ALONE,
    SETTLE_DOWN,
    SETTLE_UP,
    do_contacts,
    is_alone,
    settle_bodies,
)
from .solve import Walls
from .tables import Stepping
from .tables_of import report_of

WALLS = len(Walls._fields)
COLLISION, STEPPING, SYSTEM = 2 * len(Collision._fields), 2 * len(Stepping._fields), 2 * len(System._fields)
_floats = viewer(np.float64)
_words = viewer(np.int64)


@njit
def do_job(kind, begin, end, walls, system, collision, stepping):
    """Items begin … end; returns the largest of what is found of each."""
    if kind < SETTLE_UP:
        return do_contacts(kind, begin, end, collision, stepping)
    if kind < RELAX:
        settle_bodies(kind == SETTLE_DOWN, begin, end, system, collision, stepping)
        return 0.0
    for i in range(begin, end):
        alone = kind >= RELAX_ALONE
        if alone != is_alone(islands_of(collision)[i], collision):
            continue
        if kind == PART or kind == PART_ALONE:  # noqa: SIM109 - compiled
            part(i, collision, stepping)
            continue
        status = relax(i, walls, system, collision, stepping)
        if status != OK:
            report_of(stepping)[0].status = status
    return 0.0


def evaluate(desk, kind, t, nothing, begin, result, end):
    tables = _words(desk, WALLS_DESK + 1)
    at = _words(tables[WALLS_DESK], WALLS)
    walls = Walls(at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7])
    found = do_job(
        kind, begin, end, walls, _words(tables[SYSTEM_DESK], SYSTEM), _words(tables[COLLISION_DESK], COLLISION),
        _words(tables[STEPPING_DESK], STEPPING),
    )  # fmt: skip
    best = _floats(result, 1)
    best[0] = max(best[0], found)
    return OK


COMPILED = CFunction(evaluate, C_SIGNATURE)
