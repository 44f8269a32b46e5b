"""The impulses of a step: contacts and joints together, by the solver that the user chose."""

from typing import NamedTuple

import numpy as np

from ..arrays import clear
from ..collide.tables import CONTACTS, ISLANDS
from ..collide.tables_of import counts_of, islands_of
from ..jit import njit
from ..mechanics.system import joints_of
from ..pointer import call_pointer, viewer
from ..status import OK
from .joints import hold_joints
from .sharing import RELAX, RELAX_ALONE, over_islands
from .tables import CONVERGE, INTERIOR_POINT
from .tables_of import bounds_of, joint_impulses_of, motion_of, options_of, report_of


class Walls(NamedTuple):
    """Addresses of the C functions that a step calls, and what each is handed; see `pointer`. `plain` is the mechanism
    without the rows of `soft`. `data`, of the solver, is where these addresses are, and then those of all tables."""

    mechanism: int
    mechanism_data: int
    plain: int
    plain_data: int
    detector: int
    detector_data: int
    solver: int
    data: int


WALLS = len(Walls._fields)
_addresses = viewer(np.int64)


@njit
def walls_at(address):
    at = _addresses(address, WALLS)
    return Walls(at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7])


@njit
def solve(walls, system, collision, stepping, problem):
    """`motion`, the velocities without impulses, becomes those after them; contacts, bounds and `joint_impulses` hold the
    impulses, those of contacts and bounds being where the search starts. Returns a status."""
    count = counts_of(collision)[CONTACTS]
    report = report_of(stepping)[0]
    report.contacts, report.residual, report.aim = count, 0.0, 0.0
    clear(joint_impulses_of(stepping))
    if count == 0 and bounds_of(stepping).shape[0] == 0:
        if joints_of(system).shape[0] == 0:
            return OK
        return hold_joints(walls, system, stepping)
    if options_of(stepping)[0].solver == INTERIOR_POINT:
        return call_pointer(walls.solver, walls.data, CONVERGE, 0.0, motion_of(stepping), motion_of(stepping))
    report.status = OK
    over_islands(RELAX, RELAX_ALONE, collision)
    report.iterations, report.aim = 0, options_of(stepping)[0].tolerance
    islands = islands_of(collision)
    for i in range(counts_of(collision)[ISLANDS]):
        report.iterations = max(report.iterations, islands[i].iterations)
        report.residual = max(report.residual, islands[i].residual)
    return report.status
