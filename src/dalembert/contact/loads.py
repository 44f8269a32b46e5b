"""Loads carried down a stack in one go, which passes of Gauss–Seidel hand on from body to body.

A pass lets a contact feel its neighbours only. The lowest box of a stack bears all the others after as many passes as there
are boxes, and the sway of the whole, which contacts resist as a beam resists bending, dies out over n⁴ of them. But a body
that stands on others can be solved for alone, once it is known how these will move. So, with the level of a body the least
number of contacts between it and the world:

1. from the ground up, each body is brought to rest on what bears it, which does not feel it: the velocities v*;
2. from the top down, each body takes the load of what stands on it, and is given the impulses that the law asks for on
   supports that move with v*.

Bodies of one level feel nothing of each other in this, so that threads may share them.

Where every body ends with v*, this is the solution: so it is for whatever stands. Where bodies slide under a load, or hold
each other up, it is a guess, which is followed as far as that is good (`search`), or not at all.
"""

from ..collide.tables import FREE
from ..jit import njit
from ..vec import load3
from .gauss_seidel import axes_of, put_row, response
from .search import go_back, keep, take_best
from .sharing import RESIDUAL, SETTLE_DOWN, SETTLE_UP, over_contacts, over_level
from .tables import ROW
from .velocities import copy_velocities

EVERY = 5  # passes over all contacts from one time to the next
WORTH = 0.3  # of the residual: what must be left of it at most, as it takes as long as thirty passes
HELPED, IN_VAIN, NO_STACK = range(3)
UNKNOWN, JOINTED = -1, -2  # levels: not standing on the world; one that joints hold is not to be moved alone


@njit
def carry_loads(island, system, collision, stepping):
    """Change impulses and `motion` as said above, if that does any good; returns what it did."""
    end = find_levels(island, collision, stepping)
    if end == island.first_member or stepping.levels[stepping.queue[end - 1]] < 2:
        return NO_STACK
    before = over_contacts(RESIDUAL, island, collision, stepping)
    prepare_own(island, collision, stepping)
    keep(1.0, island, collision, stepping)
    begin = island.first_member
    while begin < end:
        begin = over_level(SETTLE_UP, begin, end, 1, island, system, collision, stepping)
    copy_velocities(island, collision.members, stepping.motion, stepping.standing)
    go_back(0.0, island, collision, stepping)
    last = end - 1
    while last >= island.first_member:
        last = over_level(SETTLE_DOWN, last, island.first_member - 1, -1, island, system, collision, stepping)
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
