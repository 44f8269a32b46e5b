"""The impulses of a step: contacts and joints together, by the solver that the user chose; see `solvers`."""

from typing import NamedTuple

import numpy as np

from ..collide.tables import CONTACTS, FREE, ISLANDS, Collision
from ..core.c_function import call_pointer, viewer
from ..core.jit import njit
from ..core.math3 import load3
from ..core.simd import clear
from ..core.status import OK
from ..core.tables import table_at
from ..model.tables import System
from .cone import copy_velocities
from .gauss_seidel import axes_of, put_row, response, warm_start
from .joints import solve_joints
from .parallel import (
    CORRECT_ISLANDS,
    CORRECT_LONE_ISLANDS,
    PUSH,
    RESIDUAL,
    SOLVE_ISLANDS,
    SOLVE_LONE_ISLANDS,
    SUPPORT_DOWN,
    SUPPORT_UP,
    SWEEP,
    ask,
    ask_number,
    do_contacts,
    is_alone,
    over_colours,
    over_contacts,
    over_islands,
    over_level,
    solve_supports,
)
from .parallel import LIMITS_RESIDUAL as BOUNDS_RESIDUAL
from .parallel import SWEEP_LIMITS as SWEEP_BOUNDS
from .position_correction import correct_island
from .shock_propagation import go_back, save_velocities, take_best
from .tables import ROW, SOLVE_IMPULSES, Stepping


class Callbacks(NamedTuple):
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


CALLBACKS = len(Callbacks._fields)
_addresses = viewer(np.int64)


@njit
def callbacks_at(address):
    at = _addresses(address, CALLBACKS)
    return Callbacks(at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7])


@njit
def tables_of_step(data):
    """What the `data` of a solver's C function stands for: walls, system, collision, stepping, and the address of its
    workspace (see `tables.table_at`)."""
    at = _addresses(data, CALLBACKS + 4)
    return (
        callbacks_at(data), table_at(System, at[CALLBACKS]), table_at(Collision, at[CALLBACKS + 1]),
        table_at(Stepping, at[CALLBACKS + 2]), at[CALLBACKS + 3],
    )  # fmt: skip


@njit
def solve(callbacks, system, collision, stepping):
    """`motion`, the velocities without impulses, becomes those after them; contacts, bounds and `joint_impulses` hold the
    impulses, those of contacts and bounds being where the search starts. Returns a status."""
    count = collision.counts[CONTACTS]
    report = stepping.report[0]
    report.contacts, report.residual, report.aim = count, 0.0, 0.0
    clear(stepping.joint_impulses)
    if count == 0 and stepping.bounds.shape[0] == 0:
        if system.joints.shape[0] == 0:
            return OK
        return solve_joints(callbacks, system, stepping)
    if callbacks.solver != 0:
        return call_pointer(callbacks.solver, callbacks.data, SOLVE_IMPULSES, 0.0, stepping.motion, stepping.motion)
    report.status = OK
    over_islands(SOLVE_ISLANDS, SOLVE_LONE_ISLANDS, collision)
    report.iterations, report.aim = 0, stepping.options[0].tolerance
    islands = collision.islands
    for i in range(collision.counts[ISLANDS]):
        report.iterations = max(report.iterations, islands[i].iterations)
        report.residual = max(report.residual, islands[i].residual)
    return report.status


# ----------------------------------------------------------------------------------------------------------------------
# Loads carried down a stack in one go, which passes of Gauss–Seidel hand on from body to body.
#
# A pass lets a contact feel its neighbours only. The lowest box of a stack bears all the others after as many passes
# as there
# are boxes, and the sway of the whole, which contacts resist as a beam resists bending, dies out over n⁴ of them. But
# a body
# that stands on others can be solved for alone, once it is known how these will move. So, with the level of a body
# the least
# number of contacts between it and the world:
#
# 1. from the ground up, each body is brought to rest on what bears it, which does not feel it: the velocities v*;
# 2. from the top down, each body takes the load of what stands on it, and is given the impulses that the law asks for
# on
#    supports that move with v*.
#
# Bodies of one level feel nothing of each other in this, so that threads may share them.
#
# Where every body ends with v*, this is the solution: so it is for whatever stands. Where bodies slide under a load,
# or hold
# each other up, it is a guess, which is followed as far as that is good (`search`), or not at all.


EVERY = 5  # passes over all contacts from one time to the next
WORTH = 0.3  # of the residual: what must be left of it at most, as it takes as long as thirty passes
HELPED, IN_VAIN, NO_STACK = range(3)
UNKNOWN, JOINTED = -1, -2  # levels: not standing on the world; one that joints hold is not to be moved alone


@njit
def propagate_shocks(island, system, collision, stepping):
    """Change impulses and `motion` as said above, if that does any good; returns what it did."""
    end = find_levels(island, collision, stepping)
    if end == island.first_member or stepping.levels[stepping.queue[end - 1]] < 2:
        return NO_STACK
    before = over_contacts(RESIDUAL, island, collision, stepping)
    prepare_own(island, collision, stepping)
    save_velocities(1.0, island, collision, stepping)
    begin = island.first_member
    while begin < end:
        begin = over_level(SUPPORT_UP, begin, end, 1, island, system, collision, stepping)
    copy_velocities(island, collision.members, stepping.motion, stepping.standing)
    go_back(0.0, island, collision, stepping)
    last = end - 1
    while last >= island.first_member:
        last = over_level(SUPPORT_DOWN, last, island.first_member - 1, -1, island, system, collision, stepping)
    if take_best(island, collision, stepping) > 0.0:
        if over_contacts(RESIDUAL, island, collision, stepping) < WORTH * before:
            return HELPED
        go_back(0.0, island, collision, stepping)
    return IN_VAIN


@njit
def find_levels(island, collision, stepping):
    """Fill `levels`, and `queue` with the bodies that have one, lowest first, after listing the contacts of each body.
    Returns where they end there."""
    contacts, members, linked = collision.contacts, collision.members, collision.linked
    levels, queue, links = stepping.levels, stepping.queue, stepping.links
    starts, ends = stepping.link_starts, stepping.link_ends
    list_contacts(island, collision, stepping)
    world = levels.shape[0] - 1
    reached = island.first_member
    for m in range(island.first_member, island.end_member):
        body = members[m]
        levels[body] = UNKNOWN if linked[body] == FREE else JOINTED
        for k in range(starts[body], ends[body]):
            contact = contacts[links[k]]
            if contact.a + contact.b - body == world and levels[body] == UNKNOWN:
                levels[body] = 1
                queue[reached] = body
                reached += 1
    q = island.first_member
    while q < reached:
        body = queue[q]
        for k in range(starts[body], ends[body]):
            contact = contacts[links[k]]
            other = contact.a + contact.b - body
            if levels[other] == UNKNOWN:
                levels[other] = levels[body] + 1
                queue[reached] = other
                reached += 1
        q += 1
    return reached


@njit
def list_contacts(island, collision, stepping):
    """The contacts of a body become links[link_starts[body] : link_ends[body]]."""
    contacts, members = collision.contacts, collision.members
    starts, ends, links = stepping.link_starts, stepping.link_ends, stepping.links
    world = starts.shape[0]
    for m in range(island.first_member, island.end_member):
        ends[members[m]] = 0
    for i in range(island.first, island.end):
        for body in (contacts[i].a, contacts[i].b):
            if body < world:
                ends[body] += 1
    at = 2 * island.first
    for m in range(island.first_member, island.end_member):
        body = members[m]
        starts[body] = at
        at += ends[body]
        ends[body] = starts[body]
    for i in range(island.first, island.end):
        for body in (contacts[i].a, contacts[i].b):
            if body < world:
                links[ends[body]] = i
                ends[body] += 1


@njit
def prepare_own(island, collision, stepping):
    """The rows of contacts between levels, with the response of the upper body only."""
    contacts = collision.contacts
    levels, motion, rows = stepping.levels, stepping.motion, stepping.own_rows
    for i in range(island.first, island.end):
        contact = contacts[i]
        a, b = contact.a, contact.b
        if min(levels[a], levels[b]) < 0 or levels[a] == levels[b]:
            continue
        n, t, s = axes_of(contact)
        if levels[b] > levels[a]:
            k = response(b, load3(contact.arm_b), n, t, s, motion)
        else:
            k = response(a, load3(contact.arm_a), n, t, s, motion)
        put_row(k, rows, ROW * i)


# ----------------------------------------------------------------------------------------------------------------------
# Gauss–Seidel on one island: contact by contact, bound by bound, and then all joints at once, over and over.
#
# Now and then loads are carried down at once (`loads`), as long as it helps; where it does not, it is not tried again
# for some
# steps. An island that was at rest in the last step is likely to be in this one, and gets a pass before anything
# else.


WAIT = 16  # steps without carrying loads after it did no good


@njit
def solve_island(number, callbacks, system, collision, stepping):
    """Bring the impulses of an island, and `motion`, to what the law asks for; its row tells how near they came. Returns a
    status."""
    options, island = stepping.options[0], collision.islands[number]
    jointed, resting = island.jointed != 0, was_resting(island, collision, stepping)
    status, hopeful = OK, not has_to_wait(island, collision, stepping)
    island.iterations, island.residual = 0, 0.0
    save_velocities(0.0, island, collision, stepping)
    warm_start(island.first, island.end, collision.contacts, stepping.motion)
    take_best(island, collision, stepping)
    if jointed:
        ask(PUSH, 0.0, stepping.motion, stepping)
        status = solve_joints(callbacks, system, stepping)
    if resting:
        save_velocities(1.0, island, collision, stepping)
    while island.iterations < options.iterations and status == OK:
        if hopeful and not resting and island.iterations % EVERY == 0:
            found = propagate_shocks(island, system, collision, stepping)
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
                status = solve_joints(callbacks, system, stepping)
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


# ----------------------------------------------------------------------------------------------------------------------
# What threads do of a step: jobs of all kinds; see `sharing`.


@njit
def do_job(kind, begin, end, callbacks, system, collision, stepping):
    """Items begin … end; returns the largest of what is found of each."""
    if kind < SUPPORT_UP:
        return do_contacts(kind, begin, end, collision, stepping)
    if kind < SOLVE_ISLANDS:
        solve_supports(kind == SUPPORT_DOWN, begin, end, system, collision, stepping)
        return 0.0
    for i in range(begin, end):
        alone = kind >= SOLVE_LONE_ISLANDS
        if alone != is_alone(collision.islands[i], collision):
            continue
        if kind == CORRECT_ISLANDS or kind == CORRECT_LONE_ISLANDS:  # noqa: SIM109 - compiled
            correct_island(i, collision, stepping)
            continue
        status = solve_island(i, callbacks, system, collision, stepping)
        if status != OK:
            stepping.report[0].status = status
    return 0.0
