"""Patches: the few bodies of a large island whose contacts sweeps leave unsolved, by the converging solver.

Sweeps over a large island solve all but some tens of its contacts, which are in one or two places: thin bodies wedged
between others, where a sweep lowers the residual by one part in hundreds. All contacts of the bodies there, and of those
around them, are solved together, with the impulses of the other contacts as they are. All bodies that these contacts touch
give way; where this makes other contacts miss the aim, the next patch is there. It takes in each earlier patch that it
touches: alone, it might undo what that one solved, and the other way round in the next. A patch that is not solved grows by
the bodies that it touches. It is a block Gauss–Seidel method whose blocks follow the error, as those of the local sweeps
(`large_islands`) do, and grow.
"""

from ..collide.tables import MOVED
from ..core.jit import njit
from ..core.math3 import load3, scale
from .gauss_seidel import axes_of, residual_of, world_impulse
from .island_problem import PROBLEM_CONTACTS, add_coupling, begin_problem, fill_body, fill_contact_side
from .large_islands import FACTORED, MARKED, UNMARKED, list_touched, unmark_bodies
from .tables import push

PART = 0.3  # of an island that can be factored: where a patch has more of its contacts, the island is solved at once
FACTORIZATIONS = 100  # at most, for a patch
WELL = 0.3  # of the aim: the residual of a patch, so that its neighbours do not make it miss the aim at once
MISSED = 0.9  # of the aim: a contact above it marks its bodies
EARLIER = 8  # `levels` of the bodies of earlier patches


@njit
def mark_missed(island, tables):
    """Mark the bodies of contacts that miss the aim of an island, in `levels` and in its part of `queue`; those that were
    marked are now of `EARLIER` patches. Returns how many bodies are marked."""
    collision, stepping = tables.collision, tables.stepping
    contacts, members, levels, queue = collision.contacts, collision.members, stepping.levels, stepping.queue
    end, world = island.first_member, collision.counts[MOVED]
    for m in range(island.first_member, island.end_member):
        body = members[m]
        levels[body] = EARLIER if levels[body] == MARKED or levels[body] == EARLIER else UNMARKED
    for i in range(island.first, island.end):
        if residual_of(i, contacts, stepping.motion, stepping.rows) <= MISSED * island.aim:
            continue
        for body in (contacts[i].a, contacts[i].b):
            if body < world and levels[body] != MARKED:
                levels[body] = MARKED
                queue[end] = body
                end += 1
    return end - island.first_member


@njit
def join_earlier(listed, island, tables):
    """Append the bodies of earlier patches that touch the first `listed` bodies in the queue of an island, or each other from
    there, to it. Returns how many bodies it has then."""
    collision, stepping = tables.collision, tables.stepping
    contacts, levels, queue = collision.contacts, stepping.levels, stepping.queue
    starts, ends, links, world = stepping.link_starts, stepping.link_ends, stepping.links, collision.counts[MOVED]
    begin, end = island.first_member, island.first_member + listed
    m = begin
    while m < end:
        for k in range(starts[queue[m]], ends[queue[m]]):
            for body in (contacts[links[k]].a, contacts[links[k]].b):
                if body < world and levels[body] == EARLIER:
                    levels[body] = MARKED
                    queue[end] = body
                    end += 1
        m += 1
    return end - begin


@njit
def describe_patch(marked, touched, island, problem, tables):
    """Fill an `IslandProblem` with all contacts of the first `marked` bodies in the queue of an island; the first `touched`
    ones are all that these touch. Returns whether it is small enough."""
    collision, stepping = tables.collision, tables.stepping
    contacts, queue, levels = collision.contacts, stepping.queue, stepping.levels
    starts, ends, links, world = stepping.link_starts, stepping.link_ends, stepping.links, collision.counts[MOVED]
    begin_problem(problem)
    begin, count = island.first_member, 0
    for m in range(begin, begin + marked):
        count += ends[queue[m]] - starts[queue[m]]
    if count > 2 * FACTORED:
        return False
    for m in range(begin, begin + touched):
        fill_body(queue[m], problem, tables.system)
    for m in range(begin, begin + marked):
        body = queue[m]
        for k in range(starts[body], ends[body]):
            contact = contacts[links[k]]
            if body != contact.a and contact.a < world and levels[contact.a] == MARKED:
                continue  # that of a has it
            coupling = add_coupling(PROBLEM_CONTACTS, links[k], problem)
            fill_contact_side(coupling, contact.a, -1.0, load3(contact.arm_a), axes_of(contact), problem)
            fill_contact_side(coupling, contact.b, 1.0, load3(contact.arm_b), axes_of(contact), problem)
    return problem.counts[PROBLEM_CONTACTS] <= FACTORED


@njit
def apply_impulses(sign, problem, tables):
    """Add the impulses of the contacts of a problem, times a sign, to the velocities of its bodies in `motion`."""
    contacts, motion = tables.collision.contacts, tables.stepping.motion
    for k in range(problem.counts[PROBLEM_CONTACTS]):
        contact = contacts[problem.contacts[k].number]
        p, (n, t, s) = load3(contact.impulse), axes_of(contact)
        if p[0] == 0.0:
            continue
        impulse = scale(sign, world_impulse(n, t, s, p[0], p[1], p[2]))
        if problem.block_of[contact.a] >= 0:
            push(motion, contact.a, impulse, load3(contact.arm_a), -1.0)
        if problem.block_of[contact.b] >= 0:
            push(motion, contact.b, impulse, load3(contact.arm_b), 1.0)


@njit
def find_patch(island, problem, tables):
    """Describe the contacts of an island that miss its aim, with those around them and of earlier patches that these touch,
    in an `IslandProblem`. Returns whether there are some, and few enough; if not, no body stays marked."""
    marked = mark_missed(island, tables)
    if marked == 0:
        return False
    levels, queue = tables.stepping.levels, tables.stepping.queue
    around = join_earlier(list_touched(marked, island, tables), island, tables)
    for m in range(island.first_member, island.first_member + around):
        levels[queue[m]] = MARKED
    few = describe_patch(around, list_touched(around, island, tables), island, problem, tables)
    contacts = island.end - island.first
    if few and contacts <= FACTORED:
        few = problem.counts[PROBLEM_CONTACTS] <= PART * contacts
    if not few:
        unmark_bodies(island, tables)
    return few
