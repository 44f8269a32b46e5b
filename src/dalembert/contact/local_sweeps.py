"""Sweeps over the few contacts of a large island that are still above its aim, and over all contacts of their bodies.

If bodies collide, most contacts of an island are solved after some tens of sweeps. A few are not: they oscillate under the
momentum of `parallel.carry_on`, or their body has a hundred other contacts. Sweeps without momentum over these contacts and
their neighbours solve them at little cost. In a pile at rest, force chains pass the error of one contact on to the next, and
only sweeps over all contacts reduce it. So local sweeps are made only if few contacts are above the aim.
"""

from ..collide.tables import MOVED
from ..core.jit import njit
from ..core.math3 import dot, load3
from ..core.simd import load
from .cone import coulomb_velocity, natural_map
from .gauss_seidel import apply, axes_of, improve, is_zero, prepare_responses, size_of, world_impulse
from .parallel import LOAD, STORE, is_wide, move_impulses
from .tables import RESPONSE, ROW, relative_velocity

FEW = 0.004  # of the contacts of an island: more than these are not solved locally
NEAR = 0.5  # of the aim: a contact above it takes part with all contacts of its bodies
MOST_SWEEPS = 32
ENOUGH = 0.3  # of the aim: sweeps that change velocities less than that end


@njit
def sweep_locally(island, tables):
    """Sweep the contacts of an island above its aim, and their neighbours: writes impulses and `motion`. Does nothing
    where they are not few."""
    collision, stepping = tables.collision, tables.stepping
    contacts, motion, rows = collision.contacts, stepping.motion, stepping.rows
    move_impulses(STORE, island, tables)
    if is_wide(island, collision):
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
        contact = contacts[i]
        n, t, s = axes_of(contact)
        u = relative_velocity(stepping.motion, contact, load3(contact.arm_a), load3(contact.arm_b))
        u_hat = coulomb_velocity(contact, (dot(n, u), dot(t, u), dot(s, u)))
        left = natural_map(load3(contact.impulse), u_hat, contact.friction, load(rows, ROW * i + RESPONSE))
        if left > island.aim:
            above += 1
        if left > NEAR * island.aim:
            if contact.a < world:
                levels[contact.a] = 1
            if contact.b < world:
                levels[contact.b] = 1
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
        i = links[k]
        contact = contacts[i]
        n, t, s = axes_of(contact)
        u = relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b))
        d = improve(contact, (dot(n, u), dot(t, u), dot(s, u)), 1.0, rows, ROW * i)
        if not is_zero(d):
            apply(contact, world_impulse(n, t, s, d[0], d[1], d[2]), motion)
            largest = max(largest, size_of(d, rows, ROW * i))
    return largest
