"""Sweeps over the few contacts of a large island that are still above its aim, and over all contacts of their bodies.

If bodies collide, most contacts of an island are solved after some tens of sweeps. A few are not: they oscillate under the
momentum of `parallel.carry_on`, or their body has a hundred other contacts. Sweeps without momentum over these contacts and
their neighbours solve them at little cost. In a pile at rest, force chains pass the error of one contact on to the next, and
only sweeps over all contacts reduce it. So local sweeps are made only if few contacts are above the aim.
"""

from ..collide.tables import MOVED
from ..core.jit import njit
from .gauss_seidel import prepare_responses, residual_of, sweep_contact
from .parallel import LOAD, STORE, is_wide, move_impulses

FEW = 0.004  # of the contacts of an island: more than these are not solved locally
NEAR = 0.5  # of the aim: a contact above it takes part with all contacts of its bodies
MOST_SWEEPS = 32
ENOUGH = 0.3  # of the aim: sweeps that change velocities less than that end


@njit
def sweep_locally(first, island, tables):
    """Sweep the contacts of an island above its aim, and their neighbours: writes impulses and `motion`. Changes nothing
    unless they are few. `first` : whether this is the first time in a solution, so that rows of contacts four wide have no
    responses yet."""
    collision, stepping = tables.collision, tables.stepping
    contacts, motion, rows = collision.contacts, stepping.motion, stepping.rows
    move_impulses(STORE, island, tables)
    if first and is_wide(island, collision):
        prepare_responses(island.first, island.end, contacts, motion, rows)
    above = mark_bodies(island, tables)
    if above == 0 or above > FEW * (island.end - island.first):
        return
    begin, end = 2 * island.first, list_contacts_of_marked(island, tables)
    for _ in range(MOST_SWEEPS):
        if sweep_listed(begin, end, contacts, motion, rows, stepping.links) <= ENOUGH * island.aim:
            break
    move_impulses(LOAD, island, tables)


@njit
def mark_bodies(island, tables):
    """Set `levels` to 1 for bodies of contacts near the aim of an island or above it, to 0 for its others. Returns how many
    contacts are above it."""
    collision, stepping = tables.collision, tables.stepping
    contacts, members, levels, rows = collision.contacts, collision.members, stepping.levels, stepping.rows
    above, world = 0, collision.counts[MOVED]
    for m in range(island.first_member, island.end_member):
        levels[members[m]] = 0
    for i in range(island.first, island.end):
        left = residual_of(i, contacts, stepping.motion, rows)
        if left > island.aim:
            above += 1
        if left > NEAR * island.aim:
            for body in (contacts[i].a, contacts[i].b):
                if body < world:
                    levels[body] = 1
    return above


@njit
def list_contacts_of_marked(island, tables):
    """The contacts of marked bodies become links[2 first :]; returns where they end."""
    contacts, levels, links = tables.collision.contacts, tables.stepping.levels, tables.stepping.links
    world, end = tables.collision.counts[MOVED], 2 * island.first
    for i in range(island.first, island.end):
        contact = contacts[i]
        if (contact.a < world and levels[contact.a] == 1) or (contact.b < world and levels[contact.b] == 1):
            links[end] = i
            end += 1
    return end


@njit
def sweep_listed(begin, end, contacts, motion, rows, links):
    """`gauss_seidel.sweep_contacts` over contacts links[begin : end]."""
    largest = 0.0
    for k in range(begin, end):
        largest = max(largest, sweep_contact(links[k], contacts, motion, rows))
    return largest
