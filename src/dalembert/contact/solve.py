"""The impulses of a step: contacts and joints together, by the solver that the user chose; see `solvers`."""

from typing import NamedTuple

import numpy as np

from ..arrays import clear
from ..collide.tables import CONTACTS, ISLANDS, Collision
from ..jit import njit
from ..model.tables import System
from ..pointer import call_pointer, viewer
from ..status import OK
from ..tables import table_at
from .joints import hold_joints
from .sharing import RELAX, RELAX_ALONE, over_islands
from .tables import SOLVE_IMPULSES, Stepping


class Walls(NamedTuple):
    """Addresses of the C functions that a step calls, and what each is handed; see `pointer`. `plain` is the mechanism
    without the rows of `soft`. `solver` is 0 for Gauss–Seidel, which is part of the step. `data`, of the solver, is where
    these addresses are, and then those of all tables."""

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
def tables_of_step(data):
    """What the `data` of a solver's C function stands for: walls, system, collision, stepping, and the address of its
    workspace (see `tables.table_at`)."""
    at = _addresses(data, WALLS + 4)
    return (
        walls_at(data), table_at(System, at[WALLS]), table_at(Collision, at[WALLS + 1]),
        table_at(Stepping, at[WALLS + 2]), at[WALLS + 3],
    )  # fmt: skip


@njit
def solve(walls, system, collision, stepping):
    """`motion`, the velocities without impulses, becomes those after them; contacts, bounds and `joint_impulses` hold the
    impulses, those of contacts and bounds being where the search starts. Returns a status."""
    count = collision.counts[CONTACTS]
    report = stepping.report[0]
    report.contacts, report.residual, report.aim = count, 0.0, 0.0
    clear(stepping.joint_impulses)
    if count == 0 and stepping.bounds.shape[0] == 0:
        if system.joints.shape[0] == 0:
            return OK
        return hold_joints(walls, system, stepping)
    if walls.solver != 0:
        return call_pointer(walls.solver, walls.data, SOLVE_IMPULSES, 0.0, stepping.motion, stepping.motion)
    report.status = OK
    over_islands(RELAX, RELAX_ALONE, collision)
    report.iterations, report.aim = 0, stepping.options[0].tolerance
    islands = collision.islands
    for i in range(collision.counts[ISLANDS]):
        report.iterations = max(report.iterations, islands[i].iterations)
        report.residual = max(report.residual, islands[i].residual)
    return report.status
