"""What makes sweeps over large islands fast: sweeps over the part that is not solved yet, and single precision.

`solve.sweep` calls both between cycles of sweeps with momentum (see `parallel`).

In order: local sweeps, single precision.
"""

import math

from ..collide.tables import MOVED
from ..core.jit import inlined, njit
from ..core.math3 import dot
from ..core.simd import load
from ..core.simd_wide import double_w, load_w, minus_w, part_w, single_w, store_w
from ..core.thread_pool import CONTACT_JOBS, run_parallel
from .gauss_seidel import residual_of, sweep_contact
from .parallel import (
    APPLY_SINGLE,
    LOAD,
    MEASURE,
    PREPARE_RESPONSES,
    RESTORE_BODIES,
    ROUND,
    ROUND_BODIES,
    ROUNDING,
    STORE,
    even_share,
    is_shared,
    is_wide,
    move_impulses,
    over_colours_of_groups,
    over_contacts,
    over_groups,
)
from .shock_propagation import list_contacts
from .tables import INVERSE_MASS, MOTION, copy_velocity, three

FACTORED = 6000  # contacts: larger problems are left to sweeps, as one factorization takes as long as hundreds of them

# Local sweeps ---------------------------------------------------------------------------------------------------------
# After some tens of sweeps over a large island most of its contacts are solved. A few per cent are not: they oscillate
# under the momentum of `parallel.carry_on`, or stand in a chain of contacts that passes its error on slowly. Sweeps
# over these contacts alone cost a hundredth of a sweep over all. A contact takes part with all contacts of its bodies,
# which are *marked*. Some sweeps over the contacts of marked bodies change the velocities of these and of their
# neighbours, and no others. So after each round only the contacts of both need to be measured, and what is then above
# the aim, or near it, marks the bodies of the next round. The marked region follows the error through the island, and
# vanishes where the error does (cf. R. V. Southwell, *Relaxation Methods in Engineering Science*, 1940).

FEW = 0.01  # of the contacts of an island: more than these are not solved locally
MANY = 0.03  # likewise: with more than these, two cycles pass before the next look
MOST_MARKED = 0.25  # of its bodies
NEAR = 0.5  # of the aim: a contact above it marks its bodies
SWEEPS_A_ROUND = 8
ENOUGH = 0.3  # of the aim: sweeps that change velocities less than that end a round
MOST_WORK = 8.0  # sweeps over the island: rounds end when they have swept as many contacts
LEAST_WORK = 0.25  # likewise: they are not judged before
HANDFUL, LONG_WORK = 16, 2.0  # no more contacts than these get more rounds
COST = 0.25  # cycles that take as long as one such sweep, contact by contact
FIRST_GAIN = 1.5  # ln of the factor by which a cycle lowers the number of contacts above the aim, where it is not known
STALLED = 0.7  # of the contacts above the aim: cycles that leave more are followed by cycles of another kind
UNMARKED, MARKED, TOUCHED, NEXT = 0, 1, 2, 4  # `levels` of bodies; NEXT is added to the others


# Whether local sweeps or cycles over the island lower the number of contacts above the aim faster differs from island to
# island, and changes within a solution: boxes lie in chains of contacts that only momentum solves, while a few contacts that
# oscillate under it are solved by a few sweeps without. So local sweeps go on while they do better than the last cycle did.
@njit
def sweep_locally(before, cycles, island, tables):
    """Sweep the contacts of an island above its aim, and those near them, until none is left or they gain too little: writes
    impulses and `motion`. before : how many were above the aim after the last local sweeps; −1 for the first time in a
    solution, which prepares what they need; cycles : since then. Returns how many contacts are above the aim."""
    collision = tables.collision
    contacts = island.end - island.first
    if before < 0:
        if is_wide(island, collision):
            over_contacts(PREPARE_RESPONSES, island, tables)
        list_contacts(island, tables)
    above, marked = mark_bodies(island, tables)
    if above == 0 or above > FEW * contacts:
        return above
    move_impulses(STORE, island, tables)
    start, work, least = above, 0.0, LEAST_WORK if above > HANDFUL else LONG_WORK
    gain = max(0.0, logarithm_of_ratio(before, start)) / cycles if before > 0 else FIRST_GAIN
    while above > 0 and work < MOST_WORK and marked < MOST_MARKED * (island.end_member - island.first_member):
        work += sweep_marked(marked, island, tables) / contacts
        above, marked = mark_again(list_touched(marked, island, tables), island, tables)
        fall = gain * COST * work  # of the logarithm, by cycles that take as long
        if work > least and above * (1.0 + fall + 0.5 * fall * fall) > start:
            break
    move_impulses(LOAD, island, tables)
    return above


@inlined
def has_stalled(before, above):
    """Whether cycles and local sweeps have gained little: they left so many contacts above the aim, of those `before`."""
    return before > 0 and above > STALLED * before


@inlined
def logarithm_of_ratio(a, b):
    """About ln(a/b): 2 sinh of its half."""
    return (a - b) / math.sqrt(a * b)


@inlined
def cycles_until_look(above, island):
    """The cycles of sweeps until the contacts of an island are looked at again, of which so many are above the aim."""
    return 2 if above > MANY * (island.end - island.first) else 1


@njit
def unmark_bodies(island, tables):
    """Take the marks off all bodies of an island."""
    members, levels = tables.collision.members, tables.stepping.levels
    for m in range(island.first_member, island.end_member):
        levels[members[m]] = UNMARKED


@njit
def mark_touched(island, tables):
    """Mark the bodies of an island that touch marked ones, after `list_touched`. Returns whether there are some."""
    members, levels, found = tables.collision.members, tables.stepping.levels, False
    for m in range(island.first_member, island.end_member):
        if levels[members[m]] == TOUCHED:
            levels[members[m]] = MARKED
            found = True
    return found


@njit
def mark_bodies(island, tables):
    """Mark the bodies of contacts near the aim of an island or above it: `levels`, and a list in its part of `queue`. Returns
    how many contacts are above the aim, and how many bodies are marked."""
    collision, stepping = tables.collision, tables.stepping
    contacts, levels, queue = collision.contacts, stepping.levels, stepping.queue
    above, end, world, wide = 0, island.first_member, collision.counts[MOVED], is_wide(island, collision)
    if wide:
        over_groups(MEASURE, island, tables)
    unmark_bodies(island, tables)
    for i in range(island.first, island.end):
        left = load(stepping.residuals, i) if wide else residual_of(i, contacts, stepping.motion, stepping.rows)
        if left <= NEAR * island.aim:
            continue
        if left > island.aim:
            above += 1
        for body in (contacts[i].a, contacts[i].b):
            if body < world and levels[body] == UNMARKED:
                levels[body] = MARKED
                queue[end] = body
                end += 1
    return above, end - island.first_member


@njit
def sweep_marked(marked, island, tables):
    """Some sweeps over all contacts of marked bodies, in one order and the other. Returns how many contacts were swept."""
    collision, stepping = tables.collision, tables.stepping
    contacts, motion, rows, levels = collision.contacts, stepping.motion, stepping.rows, stepping.levels
    starts, ends, links, world = stepping.link_starts, stepping.link_ends, stepping.links, collision.counts[MOVED]
    swept = 0
    for turn in range(SWEEPS_A_ROUND):
        largest, back = 0.0, turn % 2 == 1
        for m in range(marked):
            body = stepping.queue[island.first_member + (marked - 1 - m if back else m)]
            for at in range(starts[body], ends[body]):
                k = starts[body] + ends[body] - 1 - at if back else at
                a = contacts[links[k]].a
                if body == a or a >= world or levels[a] != MARKED:  # not twice
                    largest = max(largest, sweep_contact(links[k], contacts, motion, rows))
                    swept += 1
        if largest <= ENOUGH * island.aim:
            break
    return swept


@njit
def list_touched(marked, island, tables):
    """Append the bodies that touch marked ones to `queue`. Returns how many bodies it has then."""
    collision, stepping = tables.collision, tables.stepping
    contacts, levels, queue = collision.contacts, stepping.levels, stepping.queue
    starts, ends, links, world = stepping.link_starts, stepping.link_ends, stepping.links, collision.counts[MOVED]
    begin = island.first_member
    end = begin + marked
    for m in range(begin, begin + marked):
        for k in range(starts[queue[m]], ends[queue[m]]):
            for body in (contacts[links[k]].a, contacts[links[k]].b):
                if body < world and levels[body] == UNMARKED:
                    levels[body] = TOUCHED
                    queue[end] = body
                    end += 1
    return end - begin


@njit
def mark_again(moved, island, tables):
    """Measure the contacts of the first `moved` bodies in `queue`, and mark the bodies of those that are near the aim or
    above it. Returns how many contacts are above the aim (some counted twice), and how many bodies are marked."""
    collision, stepping = tables.collision, tables.stepping
    contacts, levels, queue = collision.contacts, stepping.levels, stepping.queue
    starts, ends, links, world = stepping.link_starts, stepping.link_ends, stepping.links, collision.counts[MOVED]
    begin = island.first_member
    above, end = 0, begin + moved
    for m in range(begin, begin + moved):
        for k in range(starts[queue[m]], ends[queue[m]]):
            left = residual_of(links[k], contacts, stepping.motion, stepping.rows)
            if left <= NEAR * island.aim:
                continue
            if left > island.aim:
                above += 1
            for body in (contacts[links[k]].a, contacts[links[k]].b):
                if body >= world or levels[body] >= NEXT:
                    continue
                if levels[body] == UNMARKED:
                    queue[end] = body
                    end += 1
                levels[body] += NEXT
    kept = begin
    for m in range(begin, end):
        body = queue[m]
        if levels[body] >= NEXT:
            levels[body] = MARKED
            queue[kept] = body
            kept += 1
        else:
            levels[body] = UNMARKED
    return above, kept - begin


# Single precision -----------------------------------------------------------------------------------------------------
# What such an island aims at, 1e-3 of its speed or a hundredth of what its weight adds in a step, is far above the rounding
# of float32. There, eight numbers fill one register of AVX instead of two, and a body one cache line instead of two: a
# sweep takes half the time. What counts stays in double precision: after a cycle of sweeps, and before a residual is
# measured, the impulses are put into their cones and applied to the velocities without impulses (mixed-precision
# refinement, cf. N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2002). The velocities that follow differ
# from those of the sweeps by the rounding of these; where this is no longer small beside the aim, sweeps go on in double
# precision.

RANGE = 1e4  # times the aim: what the fastest body may move at
LIGHTEST, HEAVIEST = 1e-6, 1e6  # kg: bodies whose impulses are far from the ends of the range of float32
ROUNDED = 0.05  # of the aim: what rounding may change a velocity by


@njit
def allows_single(island, tables):
    """Whether sweeps over an island may be in single precision. It must be solved to an aim of its own, so that `free_motion`
    has the velocities without impulses."""
    collision, motion, options = tables.collision, tables.stepping.motion, tables.stepping.options[0]
    if options.finishes == 0 or island.aim <= options.tolerance:
        return False
    if island.jointed != 0 or island.surfaces != 0 or not is_wide(island, collision):
        return False
    fastest = RANGE * island.aim
    for m in range(island.first_member, island.end_member):
        at = MOTION * collision.members[m]
        v = three(motion, at)
        if dot(v, v) > fastest * fastest or not 1.0 / HEAVIEST <= load(motion, at + INVERSE_MASS) <= 1.0 / LIGHTEST:
            return False
    return True


@njit
def round_island(island, tables):
    """The groups and velocities of an island, and the velocities of what contacts do not move, in single precision."""
    motion, single = tables.stepping.motion, tables.stepping.single_motion
    over_bodies(ROUND_BODIES, island, tables)
    for body in range(tables.collision.counts[MOVED], motion.shape[0] // MOTION):
        round_body(body, motion, single)
    over_groups(ROUND, island, tables)


@njit
def over_bodies(kind, island, tables):
    """ROUND_BODIES, RESTORE_BODIES or ROUNDING for all bodies of an island; returns the largest value."""
    begin, end, queue = island.first_member, island.end_member, tables.collision.job_queue
    if is_shared(island, tables.collision):
        return run_parallel(queue, CONTACT_JOBS, kind, begin, end, even_share(end - begin, queue))
    return round_or_restore(kind, begin, end, tables)


@njit
def round_or_restore(kind, begin, end, tables):
    """Of bodies begin … end of `members`: ROUND_BODIES, their rows in single precision; RESTORE_BODIES, their velocities
    without impulses; or ROUNDING, the largest difference of the velocities in both precisions, m/s, which is returned."""
    members, stepping = tables.collision.members, tables.stepping
    motion, single, largest = stepping.motion, stepping.single_motion, 0.0
    for m in range(begin, end):
        at = MOTION * members[m]
        if kind == ROUND_BODIES:
            round_body(members[m], motion, single)
        elif kind == RESTORE_BODIES:
            copy_velocity(members[m], stepping.free_motion, motion)
        else:
            change = minus_w(load_w(motion, at), double_w(load_w(single, at)))
            for k in range(3):
                largest = max(largest, abs(part_w(change, k)))
    return largest


@inlined
def round_body(body, motion, single):
    """The row of a body in single precision."""
    at, half = MOTION * body, MOTION * body + MOTION // 2
    store_w(single, at, single_w(load_w(motion, at)))
    store_w(single, half, single_w(load_w(motion, half)))


@njit
def leave_single(island, tables):
    """The impulses of an island in double precision, and `motion` with them. Where rounding was not small beside the aim, the
    island is not solved in single precision any more."""
    over_bodies(RESTORE_BODIES, island, tables)
    over_colours_of_groups(APPLY_SINGLE, 0.0, island, tables)
    if not over_bodies(ROUNDING, island, tables) <= ROUNDED * island.aim:
        island.single = 0
