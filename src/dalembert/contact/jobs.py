"""What threads do of a step: jobs of all kinds; see `sharing`."""

from ..jit import njit
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
        if alone != is_alone(collision.islands[i], collision):
            continue
        if kind == PART or kind == PART_ALONE:  # noqa: SIM109 - compiled
            part(i, collision, stepping)
            continue
        status = relax(i, walls, system, collision, stepping)
        if status != OK:
            stepping.report[0].status = status
    return 0.0
