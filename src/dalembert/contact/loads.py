"""Loads carried down a stack in one go, which passes of Gauss–Seidel hand on from body to body.

A pass lets a contact feel its neighbours only. The lowest box of a stack bears all the others after as many passes as there
are boxes, and the sway of the whole, which contacts resist as a beam resists bending, dies out over n⁴ of them. But a body
that stands on others can be solved for alone, once it is known how these will move. So, with the level of a body the least
number of contacts between it and the world:

1. from the ground up, each body is brought to rest on what bears it, which does not feel it: the velocities v*;
2. from the top down, each body is given the impulses that the law asks for on supports that move with v*; they load the
   supports, whose turn comes next.

Where every body ends with v*, this is the solution: so it is for whatever stands. Where bodies slide under a load, or hold
each other up, it is a guess, which is followed as far as that is good (`search`), or not at all.
"""

from ..arrays import copy
from ..collide.tables import CONTACTS
from ..collide.tables_of import contacts_of, counts_of
from ..jit import njit
from ..mechanics.system import incidences_of
from ..unchecked import peek
from ..vec import load3
from .bearing import settle
from .gauss_seidel import axes_of, put_row, response, worst_residual
from .search import go_back, keep, take_best
from .tables import INVERSE_MASS, MOTION, ROW
from .tables_of import (
    levels_of,
    link_starts_of,
    links_of,
    motion_of,
    own_rows_of,
    queue_of,
    rows_of,
    standing_of,
)

EVERY = 5  # passes over all contacts from one time to the next
UNKNOWN, JOINTED = -1, -2  # levels: not standing on the world; one that joints hold is not to be moved alone


@njit
def carry_loads(tolerance, system, collision, stepping):
    """Change impulses and `motion` as said above; returns whether that did any good."""
    contacts, count = contacts_of(collision), counts_of(collision)[CONTACTS]
    motion, standing = motion_of(stepping), standing_of(stepping)
    levels, queue = levels_of(stepping), queue_of(stepping)
    reached = find_levels(contacts, count, system, stepping)
    if levels[queue[reached - 1]] < 2:
        return False
    before = worst_residual(contacts, count, motion, rows_of(stepping))
    prepare_own(contacts, count, stepping)
    keep(contacts, count, 1.0, stepping)
    for q in range(reached):
        settle(queue[q], motion, False, tolerance, contacts, system, stepping)
    copy(standing, motion)
    go_back(0.0, contacts, count, stepping)
    for q in range(reached - 1, -1, -1):
        settle(queue[q], standing, True, tolerance, contacts, system, stepping)
    if take_best(contacts, count, stepping) > 0.0:
        if worst_residual(contacts, count, motion, rows_of(stepping)) < before:
            return True
        go_back(0.0, contacts, count, stepping)
    return False


@njit
def find_levels(contacts, count, system, stepping):
    """Fill `levels`, and `queue` with the bodies that have one, lowest first, after listing the contacts of each body.
    Returns how many these are, with the world and whatever cannot be moved."""
    levels, queue = levels_of(stepping), queue_of(stepping)
    starts, links = link_starts_of(stepping), links_of(stepping)
    list_contacts(contacts, count, starts, links)
    reached = 0
    for body in range(levels.shape[0]):
        levels[body] = UNKNOWN
        if peek(motion_of(stepping), MOTION * body + INVERSE_MASS) == 0.0:
            levels[body] = 0
            queue[reached] = body
            reached += 1
    incidences = incidences_of(system)
    for i in range(incidences.shape[0]):
        levels[incidences[i].body] = JOINTED
    q = 0
    while q < reached:
        body = queue[q]
        for k in range(starts[body], starts[body + 1]):
            contact = contacts[links[k]]
            other = contact.a + contact.b - body
            if levels[other] == UNKNOWN:
                levels[other] = levels[body] + 1
                queue[reached] = other
                reached += 1
        q += 1
    return reached


@njit
def list_contacts(contacts, count, starts, links):
    """The contacts of body i become links[starts[i] : starts[i + 1]]."""
    for body in range(starts.shape[0]):
        starts[body] = 0
    for i in range(count):
        starts[contacts[i].a + 1] += 1
        starts[contacts[i].b + 1] += 1
    for body in range(starts.shape[0] - 1):
        starts[body + 1] += starts[body]
    # Filled from the ends, so that each start comes to where it should be.
    for i in range(count - 1, -1, -1):
        for body in (contacts[i].a, contacts[i].b):
            starts[body + 1] -= 1
            links[starts[body + 1]] = i
    for body in range(starts.shape[0] - 1):
        starts[body] = starts[body + 1]
    starts[starts.shape[0] - 1] = 2 * count


@njit
def prepare_own(contacts, count, stepping):
    """The rows of contacts between levels, with the response of the upper body only."""
    levels, motion, rows = levels_of(stepping), motion_of(stepping), own_rows_of(stepping)
    for i in range(count):
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
