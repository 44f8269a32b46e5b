"""Restitution that makes no energy, as `contact.restitution` explains, for rows in joint coordinates."""

from ..arrays import copy
from ..collide.tables import CONTACTS, ISLANDS
from ..contact.bounded import set_bounce
from ..contact.restitution import ROUNDING, between, gap_bias, largest_share, set_bias
from ..jit import njit
from ..model.tables import STOP
from ..unchecked import peek, poke
from .contact_relax import relax


@njit
def find_impulses(h, limited, reduced, collision, stepping):
    """The impulses of a step over h from `rates_free`, and the `rates` that they lead to; with restitution as it is asked for
    or, if `limited`, no more of it than makes no energy."""
    bounces = set_biases(h, reduced, collision, stepping)
    relax(collision, stepping)
    if limited and bounces and measure_gains(reduced, collision, stepping):
        limit_restitution(h, reduced, collision, stepping)


@njit
def set_biases(h, reduced, collision, stepping):
    """What the law adds to the rates; returns whether something bounces."""
    contacts, count, slop = collision.contacts, collision.counts[CONTACTS], stepping.options[0].slop
    before, free = stepping.rates_before, stepping.rates_free
    bounces = False
    for i in range(count):
        bounces = set_bias(contacts[i], h, slop, peek(before, 3 * i), peek(free, 3 * i)) or bounces
    return set_bounces(h, False, count, reduced, stepping) or bounces


@njit
def set_bounces(h, plastic, count, reduced, stepping):
    """The same for stops; unless `plastic`, they bounce."""
    bounds, forces, free = stepping.bounds, reduced.system.forces, stepping.rates_free
    bounces = False
    for i in range(bounds.shape[0]):
        force = forces[bounds[i].force]
        if force.kind == STOP:
            bounces = set_bounce(bounds[i], force.restitution, h, peek(free, 3 * count + i), plastic) or bounces
    return bounces


@njit
def limit_restitution(h, reduced, collision, stepping):
    """Where impulses bring energy to an island, put a mixture with those without restitution in their place."""
    islands, count = collision.islands, collision.counts[ISLANDS]
    contacts, slop = collision.contacts, stepping.options[0].slop
    keep_first(collision, stepping)
    for number in range(count):
        island = islands[number]
        if island.gained > 0.0:
            for i in range(island.first, island.end):
                contacts[i].bias = gap_bias(contacts[i], h, slop)
            if island.jointed != 0:
                set_bounces(h, True, collision.counts[CONTACTS], reduced, stepping)
    relax(collision, stepping)
    for number in range(count):
        island = islands[number]
        if island.gained > 0.0:
            plastic, _ = work_on(island, reduced, collision, stepping)
            mixture(0.5, island, collision, stepping)
            middle, _ = work_on(island, reduced, collision, stepping)
            share = 2.0 * largest_share(plastic, middle, island.gained) - 1.0
            mixture(share, island, collision, stepping)
        else:
            mixture(1.0, island, collision, stepping)


@njit
def keep_first(collision, stepping):
    """Keep the solution with restitution."""
    contacts, bounds, first = collision.contacts, stepping.bounds, stepping.first_impulses
    copy(stepping.first_rates, stepping.rates)
    for i in range(collision.counts[CONTACTS]):
        for k in range(3):
            first[3 * i + k] = contacts[i].impulse[k]
    for i in range(bounds.shape[0]):
        bounds[i].first_impulse = bounds[i].impulse


@njit
def measure_gains(reduced, collision, stepping):
    """The energy that impulses bring to each island, zero where that is rounding or less; whether it is more anywhere."""
    islands = collision.islands
    some = False
    for number in range(collision.counts[ISLANDS]):
        gained, turned_over = work_on(islands[number], reduced, collision, stepping)
        islands[number].gained = gained if gained > ROUNDING * turned_over else 0.0
        some = some or islands[number].gained > 0.0
    return some


@njit
def work_on(island, reduced, collision, stepping):
    """(work of the contacts of an island, and of its stops, the sum of its parts without their signs), J."""
    contacts, count = collision.contacts, collision.counts[CONTACTS]
    before, bounds = stepping.rates_before, stepping.bounds
    work, size = 0.0, 0.0
    for i in range(island.first, island.end):
        p = contacts[i].impulse
        if p[0] > 0.0:
            friction = row_work(p[1], 3 * i + 1, stepping) + row_work(p[2], 3 * i + 2, stepping)
            work += row_work(p[0], 3 * i, stepping) + friction
            size += p[0] * abs(peek(before, 3 * i)) + abs(friction)
    if island.jointed != 0:
        for i in range(bounds.shape[0]):
            if reduced.system.forces[bounds[i].force].kind == STOP:
                work += row_work(bounds[i].impulse, 3 * count + i, stepping)
                size += abs(bounds[i].impulse * bounds[i].before)
    return work, size


@njit
def row_work(impulse, row, stepping):
    """p · ½ (u⁻ + u⁺) of one row."""
    return 0.5 * impulse * (peek(stepping.rates_before, row) + peek(stepping.rates, row))


@njit
def mixture(share, island, collision, stepping):
    """Impulses and rates of an island become (1 − share) of what they are and `share` of the first solution's."""
    contacts, bounds, count = collision.contacts, stepping.bounds, collision.counts[CONTACTS]
    first = stepping.first_impulses
    mix_rates(share, 3 * island.first, 3 * island.end, stepping)
    for i in range(island.first, island.end):
        impulse = contacts[i].impulse
        for k in range(3):
            impulse[k] = between(share, impulse[k], first[3 * i + k])
    if island.jointed != 0:
        mix_rates(share, 3 * count, 3 * count + bounds.shape[0], stepping)
        for i in range(bounds.shape[0]):
            bounds[i].impulse = between(share, bounds[i].impulse, bounds[i].first_impulse)


@njit
def mix_rates(share, begin, end, stepping):
    rates, first = stepping.rates, stepping.first_rates
    for r in range(begin, end):
        poke(rates, r, between(share, peek(rates, r), peek(first, r)))
