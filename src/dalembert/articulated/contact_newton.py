"""Newton's method on the law of contact of one island, where Gauss–Seidel takes long: semismooth, as P. Alart and A. Curnier
(1991) have it.

With û_n = u_n + b, y = p_t − ρ u_t and d = y/|y|, and u changing by D Δp, a contact is

    open    p_n ≤ ρ_n û_n   : Δp = −p
    stuck   |y| < μ p_n     : D_n Δp = −û_n, D_t Δp = −u_t
    sliding                 : D_n Δp = −û_n, Δp_t − μ d Δp_n − (μ p_n/|y|) (1 − d dᵀ) (Δp_t − ρ D_t Δp) = μ p_n d − p_t.

A bound holds its rate (D Δλ + C Δλ = −(ṡ + b + C λ), C its compliance) or is at its limit. Points that bear a load together
make D singular; ε on its diagonal picks one way to share it. A step is kept only if the residual falls.
"""

import math

from ..contact.bounded import wanted_change
from ..contact.tables import FRICTION_STEP, INVERSE_NORMAL, OFF, RESPONSE, ROW
from ..jit import inlined, njit
from ..linalg.lu import factorize, substitute
from ..unchecked import peek, poke
from ..vec import load3, store3

STEPS = 10
EPSILON = 1e-6


@inlined
def row_of(k, island, count):
    """The row of D that is the k-th of an island: those of its contacts, and then the bounds."""
    own = 3 * (island.end - island.first)
    return 3 * island.first + k if k < own else 3 * count + k - own


@njit
def step_newton(island, count, collision, stepping):
    """One step: changes the impulses of an island and its rates. Returns whether there was one."""
    bounds = stepping.bounds
    rows = 3 * count + bounds.shape[0]
    n = 3 * (island.end - island.first) + (bounds.shape[0] if island.jointed != 0 else 0)
    contacts, step = collision.contacts, stepping.newton_step
    keep_impulses(island, n, count, collision, stepping)
    for i in range(island.first, island.end):
        fill_contact(i, contacts[i], island, n, rows, count, stepping)
    for k in range(3 * (island.end - island.first), n):
        fill_bound(k, bounds[row_of(k, island, count) - 3 * count], island, n, rows, count, stepping)
    if factorize(n, stepping.newton_matrix, 0, stepping.newton_pivots, 0) != 0:
        return False
    substitute(n, stepping.newton_matrix, 0, stepping.newton_pivots, 0, step, 0)
    for i in range(island.first, island.end):
        p, at = load3(contacts[i].impulse), 3 * (i - island.first)
        store3(contacts[i].impulse, within(
            p[0] + peek(step, at), p[1] + peek(step, at + 1), p[2] + peek(step, at + 2), contacts[i].friction
        ))  # fmt: skip
    for k in range(3 * (island.end - island.first), n):
        bound = bounds[row_of(k, island, count) - 3 * count]
        bound.impulse = min(bound.most, max(bound.least, bound.impulse + peek(step, k)))
    find_rates(island, n, rows, count, collision, stepping)
    return True


@inlined
def within(n, t, s, friction):
    """The impulse with its friction in its disc, as Gauss–Seidel leaves it; none that is not a number."""
    if not n > 0.0:
        return (0.0, 0.0, 0.0)
    size, most = math.sqrt(t * t + s * s), friction * n
    shrink = most / size if size > most else 1.0
    return (n, shrink * t, shrink * s)


@njit
def fill_contact(i, contact, island, n, rows, count, stepping):
    responses, rates, step, matrix = (
        stepping.responses,
        stepping.rates,
        stepping.newton_step,
        stepping.newton_matrix,
    )
    p, k = load3(contact.impulse), 3 * (i - island.first)
    excess, own = peek(rates, 3 * i) + contact.bias, peek(responses, ROW * i + RESPONSE)
    if own == OFF or p[0] - excess * peek(responses, ROW * i + INVERSE_NORMAL) <= 0.0:
        for r in range(3):
            fill_unit(k + r, -p[r], n, stepping)
        return
    fill_delassus(k, -excess, island, n, rows, count, stepping)
    rho, most = peek(responses, ROW * i + FRICTION_STEP), contact.friction * p[0]
    y = (p[1] - rho * peek(rates, 3 * i + 1), p[2] - rho * peek(rates, 3 * i + 2))
    size = math.sqrt(y[0] * y[0] + y[1] * y[1])
    for r in range(2):
        if size < most:
            fill_delassus(k + 1 + r, -peek(rates, 3 * i + 1 + r), island, n, rows, count, stepping)
            continue
        fill_unit(k + 1 + r, 0.0, n, stepping)
        if not size > 0.0:
            continue
        across, along = most / size, y[r] / size
        at = (k + 1 + r) * n
        poke(step, k + 1 + r, most * along - p[1 + r])
        poke(matrix, at + k, -contact.friction * along)
        for c in range(2):
            part = across * ((1.0 if c == r else 0.0) - along * y[c] / size)
            poke(matrix, at + k + 1 + c, peek(matrix, at + k + 1 + c) - part)
            add_delassus(at, 3 * i + 1 + c, rho * part, island, n, rows, count, stepping)


@njit
def fill_bound(k, bound, island, n, rows, count, stepping):
    row = row_of(k, island, count)
    change = 0.0 if bound.response == OFF else wanted_change(bound, peek(stepping.rates, row))
    at_most = bound.impulse + change >= bound.most and bound.most < math.inf
    if bound.response == OFF or bound.impulse + change <= bound.least or at_most:
        fill_unit(k, change, n, stepping)
    else:
        excess = peek(stepping.rates, row) + bound.bias + bound.compliance * bound.impulse
        fill_delassus(k, -excess, island, n, rows, count, stepping)
        if bound.compliance > 0.0:
            own = bound.compliance / peek(stepping.delassus, row * (rows + 1))
            poke(stepping.newton_matrix, k * (n + 1), peek(stepping.newton_matrix, k * (n + 1)) + own)


@njit
def fill_unit(k, value, n, stepping):
    """The equation Δp_k = value."""
    matrix = stepping.newton_matrix
    for j in range(n):
        poke(matrix, k * n + j, 0.0)
    poke(matrix, k * (n + 1), 1.0)
    poke(stepping.newton_step, k, value)


@njit
def fill_delassus(k, value, island, n, rows, count, stepping):
    """The equation D_k Δp = value, over D_kk."""
    row = row_of(k, island, count)
    own = 1.0 / peek(stepping.delassus, row * (rows + 1))
    fill_unit(k, own * value, n, stepping)
    poke(stepping.newton_matrix, k * (n + 1), EPSILON)
    add_delassus(k * n, row, own, island, n, rows, count, stepping)


@njit
def add_delassus(at, row, share, island, n, rows, count, stepping):
    matrix, delassus = stepping.newton_matrix, stepping.delassus
    for j in range(n):
        value = share * peek(delassus, row * rows + row_of(j, island, count))
        poke(matrix, at + j, peek(matrix, at + j) + value)


@njit
def keep_impulses(island, n, count, collision, stepping):
    """Keep the impulses that a step starts from."""
    contacts, bounds, kept = collision.contacts, stepping.bounds, stepping.newton_kept
    for k in range(n):
        row = row_of(k, island, count)
        poke(kept, k, contacts[row // 3].impulse[row % 3] if row < 3 * count else bounds[row - 3 * count].impulse)


@njit
def go_back(island, count, collision, stepping):
    """Take a step back."""
    contacts, bounds, kept = collision.contacts, stepping.bounds, stepping.newton_kept
    n = 3 * (island.end - island.first) + (bounds.shape[0] if island.jointed != 0 else 0)
    for k in range(n):
        row = row_of(k, island, count)
        if row < 3 * count:
            contacts[row // 3].impulse[row % 3] = peek(kept, k)
        else:
            bounds[row - 3 * count].impulse = peek(kept, k)
    find_rates(island, n, 3 * count + bounds.shape[0], count, collision, stepping)


@njit
def find_rates(island, n, rows, count, collision, stepping):
    """u = u_free + D p of an island."""
    contacts, bounds, delassus = collision.contacts, stepping.bounds, stepping.delassus
    rates, free = stepping.rates, stepping.rates_free
    for k in range(n):
        row = row_of(k, island, count)
        value = peek(free, row)
        for j in range(n):
            s = row_of(j, island, count)
            p = contacts[s // 3].impulse[s % 3] if s < 3 * count else bounds[s - 3 * count].impulse
            value += peek(delassus, row * rows + s) * p
        poke(rates, row, value)
