"""Gauss–Seidel on D: contact by contact with the exact cone, then bound by bound, over and over; and now and then Newton's
method (`contact_newton`) for islands that are not done yet.

Each has all that its impulse does to the mechanism in its row of D. One step at a contact is that of `contact.gauss_seidel`,
one at a bound that of `contact.bounded`.
"""

from ..arrays import copy
from ..collide.tables import CONTACTS, ISLANDS
from ..contact.bounded import wanted_change
from ..contact.cone import project_coulomb
from ..contact.gauss_seidel import improve, is_zero
from ..contact.motion import coulomb_velocity
from ..contact.residual import natural_map
from ..contact.tables import OFF, RESPONSE, ROW
from ..jit import njit
from ..unchecked import peek, poke
from ..vec import load3, store3
from .contact_newton import STEPS, go_back, step_newton

EVERY = 10  # passes before Newton's method is tried


@njit
def relax(collision, stepping):
    """Bring the impulses, which are where it starts, and `rates` to what the law asks for; the report tells how near they
    came."""
    options, report = stepping.options[0], stepping.report[0]
    report.contacts = collision.counts[CONTACTS]
    report.iterations, report.residual, report.aim = 0, 0.0, options.tolerance
    if report.contacts == 0 and stepping.bounds.shape[0] == 0:
        return
    begin(collision, stepping)
    while report.iterations < options.iterations:
        change = max(sweep_contacts(collision, stepping), sweep_bounds(report.contacts, stepping))
        report.iterations += 1
        due = report.iterations % EVERY == 0
        if due:
            finish(collision, stepping)
        if due or change <= options.tolerance or report.iterations == options.iterations:
            report.residual = worst_residual(collision, stepping)
            if report.residual <= options.tolerance:
                break


@njit
def finish(collision, stepping):
    """Newton's method for each island that is above the tolerance, as long as it brings that down."""
    count, tolerance = collision.counts[CONTACTS], stepping.options[0].tolerance
    for number in range(collision.counts[ISLANDS]):
        island = collision.islands[number]
        residual = residual_of(island, count, collision, stepping)
        for _ in range(STEPS):
            if residual <= tolerance or not step_newton(island, count, collision, stepping):
                break
            now = residual_of(island, count, collision, stepping)
            if not now < residual:
                go_back(island, count, collision, stepping)
                break
            residual = now


@njit
def begin(collision, stepping):
    """`rates` with the impulses that there are; those of contacts, in axes that have turned, are put in the cone."""
    contacts, count = collision.contacts, collision.counts[CONTACTS]
    bounds = stepping.bounds
    copy(stepping.rates, stepping.rates_free)
    for number in range(collision.counts[ISLANDS]):
        island = collision.islands[number]
        for i in range(island.first, island.end):
            p = project_coulomb(load3(contacts[i].impulse), contacts[i].friction)
            store3(contacts[i].impulse, p)
            push_contact(i, p, island, count, stepping)
    for i in range(bounds.shape[0]):
        push_bound(3 * count + i, bounds[i].impulse, count, stepping)


@njit
def sweep_contacts(collision, stepping):
    """One pass; returns the largest change of a velocity of a contact that its own impulse made (m/s)."""
    contacts, count = collision.contacts, collision.counts[CONTACTS]
    rates, responses = stepping.rates, stepping.responses
    largest = 0.0
    for number in range(collision.counts[ISLANDS]):
        island = collision.islands[number]
        for i in range(island.first, island.end):
            u = (peek(rates, 3 * i), peek(rates, 3 * i + 1), peek(rates, 3 * i + 2))
            d = improve(contacts[i], u, 1.0, responses, ROW * i)
            if not is_zero(d):
                push_contact(i, d, island, count, stepping)
                k = ROW * i + RESPONSE
                largest = max(largest, abs(d[0]) * peek(responses, k))
                largest = max(largest, abs(d[1]) * peek(responses, k + 3), abs(d[2]) * peek(responses, k + 5))
    return largest


@njit
def sweep_bounds(count, stepping):
    """The same for bounds (rad/s or m/s)."""
    bounds, rates = stepping.bounds, stepping.rates
    largest = 0.0
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        if bound.response == OFF:
            continue
        change = wanted_change(bound, peek(rates, 3 * count + i))
        if change != 0.0:
            bound.impulse += change
            push_bound(3 * count + i, change, count, stepping)
            largest = max(largest, abs(change) * bound.response)
    return largest


@njit
def push_contact(i, d, island, count, stepping):
    """What a change of the impulse of a contact does to all rates that feel it."""
    delassus, rates = stepping.delassus, stepping.rates
    rows = 3 * count + stepping.bounds.shape[0]
    n, t, s = 3 * i * rows, (3 * i + 1) * rows, (3 * i + 2) * rows
    for j in range(3 * island.first, 3 * island.end):
        poke(rates, j, peek(rates, j) + d[0] * peek(delassus, n + j) + d[1] * peek(delassus, t + j)
             + d[2] * peek(delassus, s + j))  # fmt: skip
    for j in range(3 * count, rows):
        poke(rates, j, peek(rates, j) + d[0] * peek(delassus, n + j) + d[1] * peek(delassus, t + j)
             + d[2] * peek(delassus, s + j))  # fmt: skip


@njit
def push_bound(row, change, count, stepping):
    """The same of a bound."""
    delassus, rates = stepping.delassus, stepping.rates
    rows = 3 * count + stepping.bounds.shape[0]
    for j in range(rows):
        poke(rates, j, peek(rates, j) + change * peek(delassus, row * rows + j))


@njit
def worst_residual(collision, stepping):
    """The largest residual of Coulomb's law (see `contact.residual`) and of the bounds, m/s or rad/s."""
    count = collision.counts[CONTACTS]
    worst = bounds_residual(count, stepping)
    for number in range(collision.counts[ISLANDS]):
        worst = max(worst, residual_of(collision.islands[number], count, collision, stepping))
    return worst


@njit
def residual_of(island, count, collision, stepping):
    """The same of one island."""
    contacts, rates, responses = collision.contacts, stepping.rates, stepping.responses
    worst = bounds_residual(count, stepping) if island.jointed != 0 else 0.0
    for i in range(island.first, island.end):
        contact, k = contacts[i], peek(responses, ROW * i + RESPONSE)
        if k != OFF:
            u = (peek(rates, 3 * i), peek(rates, 3 * i + 1), peek(rates, 3 * i + 2))
            worst = max(worst, natural_map(load3(contact.impulse), coulomb_velocity(contact, u), contact.friction, k))
    return worst


@njit
def bounds_residual(count, stepping):
    bounds, rates = stepping.bounds, stepping.rates
    worst = 0.0
    for i in range(bounds.shape[0]):
        if bounds[i].response != OFF:
            change = wanted_change(bounds[i], peek(rates, 3 * count + i))
            worst = max(worst, bounds[i].response * abs(change))
    return worst
