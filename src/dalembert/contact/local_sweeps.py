"""Sweeps over the part of a large island that is not solved yet.

After some tens of sweeps over a large island most of its contacts are solved. A few per cent are not: they oscillate
under the momentum of `parallel.carry_on`, or stand in a chain of contacts that passes its error on slowly. Sweeps
over these contacts alone cost a hundredth of a sweep over all. A contact takes part with all contacts of its bodies,
which are *marked*. Some sweeps over the contacts of marked bodies change the velocities of these and of their
neighbours, and no others. So after each round only the contacts of both need to be measured, and what is then above
the aim, or near it, marks the bodies of the next round. The marked region follows the error through the island, and
vanishes where the error does (cf. R. V. Southwell, *Relaxation Methods in Engineering Science*, 1940).
"""

from ..collide.tables import MOVED
from ..core.jit import njit
from .gauss_seidel import prepare_responses, residual_of, sweep_contact
from .parallel import LOAD, STORE, is_wide, move_impulses
from .shock_propagation import list_contacts

FEW = 0.01  # of the contacts of an island: more than these are not solved locally
MOST_MARKED = 0.25  # of its bodies
NEAR = 0.5  # of the aim: a contact above it marks its bodies
SWEEPS_A_ROUND = 8
ENOUGH = 0.3  # of the aim: sweeps that change velocities less than that end a round
MOST_WORK = 1  # sweeps over the island: rounds end when they have swept as many contacts
UNMARKED, MARKED, TOUCHED, NEXT = 0, 1, 2, 4  # `levels` of bodies; NEXT is added to the others


@njit
def sweep_locally(first, island, tables):
    """Sweep the contacts of an island above its aim, and those near them, until none is left or it takes too long: writes
    impulses and `motion`. `first` : whether this is the first time in a solution, so that rows of contacts in groups have no
    responses yet. Returns whether all contacts are within the aim."""
    collision, stepping = tables.collision, tables.stepping
    move_impulses(STORE, island, tables)
    if first and is_wide(island, collision):
        prepare_responses(island.first, island.end, collision.contacts, stepping.motion, stepping.rows)
    above, marked = mark_bodies(island, tables)
    if above == 0 or above > FEW * (island.end - island.first):
        return above == 0
    list_contacts(island, tables)
    most, work = MOST_WORK * (island.end - island.first), 0
    while above > 0 and work < most and marked < MOST_MARKED * (island.end_member - island.first_member):
        work += sweep_marked(marked, island, tables)
        above, marked = mark_again(list_touched(marked, island, tables), island, tables)
    move_impulses(LOAD, island, tables)
    return above == 0


@njit
def mark_bodies(island, tables):
    """Mark the bodies of contacts near the aim of an island or above it: `levels`, and a list in its part of `queue`. Returns
    how many contacts are above the aim, and how many bodies are marked."""
    collision, stepping = tables.collision, tables.stepping
    contacts, members, levels, queue = collision.contacts, collision.members, stepping.levels, stepping.queue
    above, end, world = 0, island.first_member, collision.counts[MOVED]
    for m in range(island.first_member, island.end_member):
        levels[members[m]] = UNMARKED
    for i in range(island.first, island.end):
        left = residual_of(i, contacts, stepping.motion, stepping.rows)
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
    """Some sweeps over all contacts of marked bodies. Returns how many contacts were swept."""
    collision, stepping = tables.collision, tables.stepping
    contacts, motion, rows, levels = collision.contacts, stepping.motion, stepping.rows, stepping.levels
    starts, ends, links, world = stepping.link_starts, stepping.link_ends, stepping.links, collision.counts[MOVED]
    swept = 0
    for _ in range(SWEEPS_A_ROUND):
        largest = 0.0
        for m in range(island.first_member, island.first_member + marked):
            body = stepping.queue[m]
            for k in range(starts[body], ends[body]):
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
