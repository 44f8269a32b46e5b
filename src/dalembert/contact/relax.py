"""Gauss–Seidel on one island: contact by contact, bound by bound, and then all joints at once, over and over.

Now and then loads are carried down at once (`loads`), as long as it helps; where it does not, it is not tried again for some
steps. An island that was at rest in the last step is likely to be in this one, and gets a pass before anything else.
"""

from ..jit import njit
from ..status import OK
from .ask_limits import PUSH, ask, ask_number
from .ask_limits import RESIDUAL as BOUNDS_RESIDUAL
from .ask_limits import SWEEP as SWEEP_BOUNDS
from .gauss_seidel import warm_start
from .joints import hold_joints
from .loads import EVERY, HELPED, IN_VAIN, carry_loads
from .search import go_back, keep, take_best
from .sharing import RESIDUAL, SWEEP, over_colours, over_contacts

WAIT = 16  # steps without carrying loads after it did no good


@njit
def relax(number, walls, system, collision, stepping):
    """Bring the impulses of an island, and `motion`, to what the law asks for; its row tells how near they came. Returns a
    status."""
    options, island = stepping.options[0], collision.islands[number]
    jointed, resting = island.jointed != 0, was_resting(island, collision, stepping)
    status, hopeful = OK, not has_to_wait(island, collision, stepping)
    island.iterations, island.residual = 0, 0.0
    keep(0.0, island, collision, stepping)
    warm_start(island.first, island.end, collision.contacts, stepping.motion)
    take_best(island, collision, stepping)
    if jointed:
        ask(PUSH, 0.0, stepping.motion, stepping)
        status = hold_joints(walls, system, stepping)
    if resting:
        keep(1.0, island, collision, stepping)
    while island.iterations < options.iterations and status == OK:
        if hopeful and not resting and island.iterations % EVERY == 0:
            found = carry_loads(island, system, collision, stepping)
            hopeful = found == HELPED
            if found == IN_VAIN and island.iterations == 0:
                set_waits(WAIT, island, collision, stepping)
        change = over_colours(SWEEP, island, collision, stepping)
        if resting and change > options.tolerance:
            go_back(0.0, island, collision, stepping)  # loads are best carried before a pass has set things swaying
            resting = False
            continue
        resting = False
        if jointed:
            status = ask(SWEEP_BOUNDS, 0.0, stepping.motion, stepping)
            change = max(change, stepping.answer[0])
            if status == OK and island.end > island.first:
                status = hold_joints(walls, system, stepping)
        island.iterations += 1
        if change <= options.tolerance or island.iterations == options.iterations:
            island.residual = over_contacts(RESIDUAL, island, collision, stepping)
            if jointed:
                island.residual = max(island.residual, ask_number(BOUNDS_RESIDUAL, stepping))
            if island.residual <= options.tolerance:
                break
    note_passes(island, collision, stepping)
    return status


@njit
def has_to_wait(island, collision, stepping):
    """Whether loads were carried in vain in one of the last steps."""
    members, waits = collision.members, stepping.waits
    longest = 0
    for m in range(island.first_member, island.end_member):
        longest = max(longest, waits[members[m]])
    if longest > 0:
        set_waits(longest - 1, island, collision, stepping)
    return longest > 0


@njit
def set_waits(steps, island, collision, stepping):
    members, waits = collision.members, stepping.waits
    for m in range(island.first_member, island.end_member):
        waits[members[m]] = steps


@njit
def was_resting(island, collision, stepping):
    """Whether one pass was enough for all its bodies in the last step."""
    members, passes = collision.members, stepping.passes
    for m in range(island.first_member, island.end_member):
        if passes[members[m]] != 1:
            return False
    return True


@njit
def note_passes(island, collision, stepping):
    members, passes = collision.members, stepping.passes
    for m in range(island.first_member, island.end_member):
        passes[members[m]] = island.iterations
