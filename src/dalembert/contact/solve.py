"""The impulses of a step: contacts and joints together, by the solver that the user chose."""

from typing import NamedTuple

from ..arrays import clear
from ..collide.tables import CONTACTS
from ..collide.tables_of import contacts_of, counts_of
from ..jit import njit
from ..mechanics.system import joints_of
from ..status import OK
from .bounded import bounds_residual, push_bounds, sweep_bounds
from .converge import converge
from .gauss_seidel import sweep_contacts, warm_start, worst_residual
from .joints import hold_joints
from .loads import EVERY, carry_loads
from .search import go_back, keep, take_best
from .tables import INTERIOR_POINT
from .tables_of import bounds_of, joint_impulses_of, motion_of, options_of, report_of, rows_of


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
        return converge(walls, system, collision, stepping, problem)
    return relax(walls, system, collision, stepping)


@njit
def relax(walls, system, collision, stepping):
    """Gauss–Seidel: contact by contact, bound by bound, and then all joints at once, over and over; now and then loads are
    carried down at once, as long as it helps."""
    options = options_of(stepping)[0]
    contacts = contacts_of(collision)
    count = counts_of(collision)[CONTACTS]
    motion, rows = motion_of(stepping), rows_of(stepping)
    joints = joints_of(system).shape[0] > 0
    report = report_of(stepping)[0]
    status, hopeful = OK, True
    calm = report.iterations == 1  # all was at rest in the last step, and is likely to be in this one
    report.iterations = 0
    keep(contacts, count, 0.0, stepping)
    warm_start(contacts, count, motion)
    take_best(contacts, count, stepping)
    if joints:
        push_bounds(stepping)
        status = hold_joints(walls, system, stepping)
    if calm:
        keep(contacts, count, 1.0, stepping)
    while report.iterations < options.iterations and status == OK:
        if hopeful and not calm and report.iterations % EVERY == 0:
            hopeful = carry_loads(options.tolerance, system, collision, stepping)
        change = sweep_contacts(contacts, count, motion, rows)
        if calm and change > options.tolerance:
            go_back(0.0, contacts, count, stepping)  # loads are best carried before a pass has set things swaying
            calm = False
            continue
        calm = False
        if joints:
            of_bounds, status = sweep_bounds(walls, system, stepping)
            change = max(change, of_bounds)
            if status == OK and count > 0:
                status = hold_joints(walls, system, stepping)
        report.iterations += 1
        if change <= options.tolerance or report.iterations == options.iterations:
            report.residual = max(worst_residual(contacts, count, motion, rows), bounds_residual(stepping))
            if report.residual <= options.tolerance:
                break
    report.aim = options.tolerance
    return status
