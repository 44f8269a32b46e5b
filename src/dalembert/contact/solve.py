"""The impulses of a step: contacts and joints together, by the solver that the user chose."""

from typing import NamedTuple

from ..arrays import clear
from ..collide.detect import NEED_ROOM
from ..collide.tables import CONTACTS
from ..collide.tables_of import contacts_of, counts_of
from ..jit import njit
from ..mechanics.system import joints_of
from ..pointer import call_pointer
from ..status import NON_FINITE, OK
from .converge import load_problem, unload_problem
from .gauss_seidel import sweep_contacts, warm_start, worst_residual
from .interior_point_tables import NEED_MORE, NOT_FINITE, step_of
from .joints import hold_joints
from .tables import INTERIOR_POINT
from .tables_of import change_of, joint_impulses_of, motion_of, options_of, report_of, rows_of


class Walls(NamedTuple):
    """Addresses of the C functions that a step calls, and what each is handed; see `pointer`."""

    mechanism: int
    mechanism_data: int
    detector: int
    detector_data: int
    solver: int
    solver_data: int


@njit
def solve(walls, system, collision, stepping, problem):
    """`motion`, the velocities without impulses, becomes those after them; contacts and `joint_impulses` hold the impulses,
    those of contacts being where the search starts. Returns a status."""
    count = counts_of(collision)[CONTACTS]
    report_of(stepping)[0].contacts = count
    clear(joint_impulses_of(stepping))
    if count == 0:
        if joints_of(system).shape[0] == 0:
            return OK
        return hold_joints(walls.mechanism, walls.mechanism_data, system, stepping)
    if options_of(stepping)[0].solver == INTERIOR_POINT:
        return converge(walls, system, collision, stepping, problem)
    return relax(walls, system, collision, stepping)


@njit
def relax(walls, system, collision, stepping):
    """Gauss–Seidel: contact by contact, and then all joints at once, over and over."""
    options = options_of(stepping)[0]
    contacts = contacts_of(collision)
    count = counts_of(collision)[CONTACTS]
    motion, rows = motion_of(stepping), rows_of(stepping)
    joints = joints_of(system).shape[0] > 0
    report = report_of(stepping)[0]
    status = OK
    warm_start(contacts, count, motion)
    if joints:
        status = hold_joints(walls.mechanism, walls.mechanism_data, system, stepping)
    for iteration in range(options.iterations):
        change = sweep_contacts(contacts, count, motion, rows)
        if joints and status == OK:
            status = hold_joints(walls.mechanism, walls.mechanism_data, system, stepping)
        report.iterations = iteration + 1
        if change <= options.tolerance:
            break
    note_residual(report, worst_residual(contacts, count, motion, rows), options.tolerance)
    return status


@njit
def converge(walls, system, collision, stepping, problem):
    """The interior-point method."""
    motion = motion_of(stepping)
    report = report_of(stepping)[0]
    load_problem(system, collision, motion, change_of(stepping), problem)
    status = call_pointer(walls.solver, walls.solver_data, 0, 0.0, motion, motion)
    if status == NEED_MORE:
        return NEED_ROOM
    if status == NOT_FINITE:
        return NON_FINITE
    unload_problem(problem, motion, joint_impulses_of(stepping))
    reached = step_of(problem)[0]
    report.iterations = reached.iterations
    note_residual(report, reached.natural_map * reached.speed, reached.tolerance * reached.speed)
    return OK


@njit
def note_residual(report, residual, tolerance):
    """Keep the worst residual of the solver, and count the steps in which it missed its tolerance."""
    report.largest_residual = max(report.largest_residual, residual)
    report.worst_residual = max(report.worst_residual, residual)
    if residual > tolerance:
        report.unsolved += 1
