"""Gauss–Seidel on D: contact by contact with the exact cone, then bound by bound, over and over; and now and then Newton's
method (`step_newton`) for islands that are not done yet.

Each has all that its impulse does to the mechanism in its row of D. One step at a contact is that of `contact.gauss_seidel`,
one at a bound that of `contact.limits`.
"""

import math

from ..collide.tables import CONTACTS, ISLANDS
from ..core.jit import inlined, njit
from ..core.math3 import load3, store3
from ..core.simd import clear, copy, load, store
from ..linalg.dense import lu_factorize, lu_substitute
from ..model.tables import STOP
from .cone import project_coulomb
from .gauss_seidel import improve, is_zero
from .interior_point_system import coulomb_velocity, natural_map
from .limits import ENOUGH, PASSES, STOP_ROUNDING, impulse_change, is_stop, set_bounce
from .position_correction import overlap_of
from .restitution import ROUNDING, gap_bias, interpolate, largest_share, set_bias
from .tables import FRICTION_STEP, INVERSE_NORMAL, OFF, RESPONSE, ROW

# ----------------------------------------------------------------------------------------------------------------------
# Newton's method on the law of contact of one island, where Gauss–Seidel takes long: semismooth, as P. Alart and A.
# Curnier (1991) have it.
#
# With û_n = u_n + b, y = p_t − ρ u_t and d = y/|y|, and u changing by D Δp, a contact is
#
#     open    p_n ≤ ρ_n û_n   : Δp = −p
#     stuck   |y| < μ p_n     : D_n Δp = −û_n, D_t Δp = −u_t
#     sliding                 : D_n Δp = −û_n, Δp_t − μ d Δp_n − (μ p_n/|y|) (1 − d dᵀ) (Δp_t − ρ D_t Δp) = μ p_n d − p_t.
#
# A bound holds its rate (D Δλ + C Δλ = −(ṡ + b + C λ), C its compliance) or is at its limit. Points that bear a load
# together make D singular; ε on its diagonal picks one way to share it. A step is kept only if the residual falls.


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
        fill_newton_contact(i, contacts[i], island, n, rows, count, stepping)
    for k in range(3 * (island.end - island.first), n):
        fill_newton_bound(k, bounds[row_of(k, island, count) - 3 * count], island, n, rows, count, stepping)
    if lu_factorize(n, stepping.newton_matrix, 0, stepping.newton_pivots, 0) != 0:
        return False
    lu_substitute(n, stepping.newton_matrix, 0, stepping.newton_pivots, 0, step, 0)
    for i in range(island.first, island.end):
        p, at = load3(contacts[i].impulse), 3 * (i - island.first)
        store3(contacts[i].impulse, within(
            p[0] + load(step, at), p[1] + load(step, at + 1), p[2] + load(step, at + 2), contacts[i].friction
        ))  # fmt: skip
    for k in range(3 * (island.end - island.first), n):
        bound = bounds[row_of(k, island, count) - 3 * count]
        bound.impulse = min(bound.most, max(bound.least, bound.impulse + load(step, k)))
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
def fill_newton_contact(i, contact, island, n, rows, count, stepping):
    """The equations of one contact: open, stuck or sliding."""
    responses, rates, step, matrix = (
        stepping.responses,
        stepping.rates,
        stepping.newton_step,
        stepping.newton_matrix,
    )
    p, k = load3(contact.impulse), 3 * (i - island.first)
    excess, own = load(rates, 3 * i) + contact.bias, load(responses, ROW * i + RESPONSE)
    if own == OFF or p[0] - excess * load(responses, ROW * i + INVERSE_NORMAL) <= 0.0:
        for r in range(3):
            fill_unit(k + r, -p[r], n, stepping)
        return
    fill_newton_delassus(k, -excess, island, n, rows, count, stepping)
    rho, most = load(responses, ROW * i + FRICTION_STEP), contact.friction * p[0]
    y = (p[1] - rho * load(rates, 3 * i + 1), p[2] - rho * load(rates, 3 * i + 2))
    size = math.sqrt(y[0] * y[0] + y[1] * y[1])
    for r in range(2):
        if size < most:
            fill_newton_delassus(k + 1 + r, -load(rates, 3 * i + 1 + r), island, n, rows, count, stepping)
            continue
        fill_unit(k + 1 + r, 0.0, n, stepping)
        if not size > 0.0:
            continue
        across, along = most / size, y[r] / size
        at = (k + 1 + r) * n
        store(step, k + 1 + r, most * along - p[1 + r])
        store(matrix, at + k, -contact.friction * along)
        for c in range(2):
            part = across * ((1.0 if c == r else 0.0) - along * y[c] / size)
            store(matrix, at + k + 1 + c, load(matrix, at + k + 1 + c) - part)
            add_delassus(at, 3 * i + 1 + c, rho * part, island, n, rows, count, stepping)


@njit
def fill_newton_bound(k, bound, island, n, rows, count, stepping):
    """The equation of one bound: inside, or at a limit."""
    row = row_of(k, island, count)
    change = 0.0 if bound.response == OFF else impulse_change(bound, load(stepping.rates, row))
    at_most = bound.impulse + change >= bound.most and bound.most < math.inf
    if bound.response == OFF or bound.impulse + change <= bound.least or at_most:
        fill_unit(k, change, n, stepping)
    else:
        excess = load(stepping.rates, row) + bound.bias + bound.compliance * bound.impulse
        fill_newton_delassus(k, -excess, island, n, rows, count, stepping)
        if bound.compliance > 0.0:
            own = bound.compliance / load(stepping.delassus, row * (rows + 1))
            store(stepping.newton_matrix, k * (n + 1), load(stepping.newton_matrix, k * (n + 1)) + own)


@njit
def fill_unit(k, value, n, stepping):
    """The equation Δp_k = value."""
    matrix = stepping.newton_matrix
    for j in range(n):
        store(matrix, k * n + j, 0.0)
    store(matrix, k * (n + 1), 1.0)
    store(stepping.newton_step, k, value)


@njit
def fill_newton_delassus(k, value, island, n, rows, count, stepping):
    """The equation D_k Δp = value, over D_kk."""
    row = row_of(k, island, count)
    own = 1.0 / load(stepping.delassus, row * (rows + 1))
    fill_unit(k, own * value, n, stepping)
    store(stepping.newton_matrix, k * (n + 1), EPSILON)
    add_delassus(k * n, row, own, island, n, rows, count, stepping)


@njit
def add_delassus(at, row, share, island, n, rows, count, stepping):
    """newton_matrix[at : at + n] += share times a row of D."""
    matrix, delassus = stepping.newton_matrix, stepping.delassus
    for j in range(n):
        value = share * load(delassus, row * rows + row_of(j, island, count))
        store(matrix, at + j, load(matrix, at + j) + value)


@njit
def keep_impulses(island, n, count, collision, stepping):
    """Keep the impulses that a step starts from."""
    contacts, bounds, kept = collision.contacts, stepping.bounds, stepping.newton_kept
    for k in range(n):
        row = row_of(k, island, count)
        store(kept, k, contacts[row // 3].impulse[row % 3] if row < 3 * count else bounds[row - 3 * count].impulse)


@njit
def go_back(island, count, collision, stepping):
    """Take a step back."""
    contacts, bounds, kept = collision.contacts, stepping.bounds, stepping.newton_kept
    n = 3 * (island.end - island.first) + (bounds.shape[0] if island.jointed != 0 else 0)
    for k in range(n):
        row = row_of(k, island, count)
        if row < 3 * count:
            contacts[row // 3].impulse[row % 3] = load(kept, k)
        else:
            bounds[row - 3 * count].impulse = load(kept, k)
    find_rates(island, n, 3 * count + bounds.shape[0], count, collision, stepping)


@njit
def find_rates(island, n, rows, count, collision, stepping):
    """u = u_free + D p of an island."""
    contacts, bounds, delassus = collision.contacts, stepping.bounds, stepping.delassus
    rates, free = stepping.rates, stepping.rates_free
    for k in range(n):
        row = row_of(k, island, count)
        value = load(free, row)
        for j in range(n):
            s = row_of(j, island, count)
            p = contacts[s // 3].impulse[s % 3] if s < 3 * count else bounds[s - 3 * count].impulse
            value += load(delassus, row * rows + s) * p
        store(rates, row, value)


# ----------------------------------------------------------------------------------------------------------------------

EVERY = 10  # passes before Newton's method is tried


@njit
def solve_islands(collision, stepping):
    """Bring the impulses, which are where it starts, and `rates` to what the law asks for; the report tells how near they
    came."""
    options, report = stepping.options[0], stepping.report[0]
    report.contacts = collision.counts[CONTACTS]
    report.iterations, report.residual, report.aim = 0, 0.0, options.tolerance
    if report.contacts == 0 and stepping.bounds.shape[0] == 0:
        return
    begin_solve(collision, stepping)
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
def begin_solve(collision, stepping):
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
            u = (load(rates, 3 * i), load(rates, 3 * i + 1), load(rates, 3 * i + 2))
            d = improve(contacts[i], u, 1.0, responses, ROW * i)
            if not is_zero(d):
                push_contact(i, d, island, count, stepping)
                k = ROW * i + RESPONSE
                largest = max(largest, abs(d[0]) * load(responses, k))
                largest = max(largest, abs(d[1]) * load(responses, k + 3), abs(d[2]) * load(responses, k + 5))
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
        change = impulse_change(bound, load(rates, 3 * count + i))
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
        store(rates, j, load(rates, j) + d[0] * load(delassus, n + j) + d[1] * load(delassus, t + j)
             + d[2] * load(delassus, s + j))  # fmt: skip
    for j in range(3 * count, rows):
        store(rates, j, load(rates, j) + d[0] * load(delassus, n + j) + d[1] * load(delassus, t + j)
             + d[2] * load(delassus, s + j))  # fmt: skip


@njit
def push_bound(row, change, count, stepping):
    """The same of a bound."""
    delassus, rates = stepping.delassus, stepping.rates
    rows = 3 * count + stepping.bounds.shape[0]
    for j in range(rows):
        store(rates, j, load(rates, j) + change * load(delassus, row * rows + j))


@njit
def worst_residual(collision, stepping):
    """The largest residual of Coulomb's law (see `contact.cone`) and of the bounds, m/s or rad/s."""
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
        contact, k = contacts[i], load(responses, ROW * i + RESPONSE)
        if k != OFF:
            u = (load(rates, 3 * i), load(rates, 3 * i + 1), load(rates, 3 * i + 2))
            worst = max(worst, natural_map(load3(contact.impulse), coulomb_velocity(contact, u), contact.friction, k))
    return worst


@njit
def bounds_residual(count, stepping):
    """The largest residual of the bounds, m/s or rad/s."""
    bounds, rates = stepping.bounds, stepping.rates
    worst = 0.0
    for i in range(bounds.shape[0]):
        if bounds[i].response != OFF:
            change = impulse_change(bounds[i], load(rates, 3 * count + i))
            worst = max(worst, bounds[i].response * abs(change))
    return worst


# ----------------------------------------------------------------------------------------------------------------------
# Restitution that makes no energy, as `contact.restitution` explains, for rows in joint coordinates.


@njit
def find_impulses(h, limited, reduced, collision, stepping):
    """The impulses of a step over h from `rates_free`, and the `rates` that they lead to; with restitution as it is asked for
    or, if `limited`, no more of it than makes no energy."""
    bounces = set_biases(h, reduced, collision, stepping)
    solve_islands(collision, stepping)
    if limited and bounces and measure_gains(reduced, collision, stepping):
        limit_restitution(h, reduced, collision, stepping)


@njit
def set_biases(h, reduced, collision, stepping):
    """What the law adds to the rates; returns whether something bounces."""
    contacts, count, slop = collision.contacts, collision.counts[CONTACTS], stepping.options[0].slop
    before, free = stepping.rates_before, stepping.rates_free
    bounces = False
    for i in range(count):
        bounces = set_bias(contacts[i], h, slop, load(before, 3 * i), load(free, 3 * i)) or bounces
    return set_bounces(h, False, count, reduced, stepping) or bounces


@njit
def set_bounces(h, plastic, count, reduced, stepping):
    """The same for stops; unless `plastic`, they bounce."""
    bounds, forces, free = stepping.bounds, reduced.system.forces, stepping.rates_free
    bounces = False
    for i in range(bounds.shape[0]):
        force = forces[bounds[i].force]
        if force.kind == STOP:
            bounces = set_bounce(bounds[i], force.restitution, h, load(free, 3 * count + i), plastic) or bounces
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
    solve_islands(collision, stepping)
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
            size += p[0] * abs(load(before, 3 * i)) + abs(friction)
    if island.jointed != 0:
        for i in range(bounds.shape[0]):
            if reduced.system.forces[bounds[i].force].kind == STOP:
                work += row_work(bounds[i].impulse, 3 * count + i, stepping)
                size += abs(bounds[i].impulse * bounds[i].before)
    return work, size


@njit
def row_work(impulse, row, stepping):
    """p · ½ (u⁻ + u⁺) of one row."""
    return 0.5 * impulse * (load(stepping.rates_before, row) + load(stepping.rates, row))


@njit
def mixture(share, island, collision, stepping):
    """Impulses and rates of an island become (1 − share) of what they are and `share` of the first solution's."""
    contacts, bounds, count = collision.contacts, stepping.bounds, collision.counts[CONTACTS]
    first = stepping.first_impulses
    mix_rates(share, 3 * island.first, 3 * island.end, stepping)
    for i in range(island.first, island.end):
        impulse = contacts[i].impulse
        for k in range(3):
            impulse[k] = interpolate(share, impulse[k], first[3 * i + k])
    if island.jointed != 0:
        mix_rates(share, 3 * count, 3 * count + bounds.shape[0], stepping)
        for i in range(bounds.shape[0]):
            bounds[i].impulse = interpolate(share, bounds[i].impulse, bounds[i].first_impulse)


@njit
def mix_rates(share, begin, end, stepping):
    """Rates begin … end become (1 − share) of the present and `share` of the first solution."""
    rates, first = stepping.rates, stepping.first_rates
    for r in range(begin, end):
        store(rates, r, interpolate(share, load(rates, r), load(first, r)))


# ----------------------------------------------------------------------------------------------------------------------
# What overlaps, or is beyond a stop, is put right by the smallest displacement in the metric of M: Gauss–Seidel on D
# again, gap + D c ≥ 0 ⊥ c ≥ 0, and the displacement R c. See `contact.position_correction`.


@njit
def plan_correction(reduced, collision, stepping):
    """Find the displacement, into `shift`; the gaps are then those of the new place. Returns whether there is one."""
    contacts, bounds, count = collision.contacts, stepping.bounds, collision.counts[CONTACTS]
    report, slop, system = stepping.report[0], stepping.options[0].slop, reduced.system
    report.overlap = overlap_of(0, count, contacts)
    report.deepest = max(report.deepest, report.overlap)
    report.worst_penetration = max(report.worst_penetration, report.overlap)
    deepest = report.overlap if report.overlap > slop else 0.0
    for i in range(bounds.shape[0]):
        if is_stop(bounds[i], system):
            deepest = max(deepest, -bounds[i].gap)
    if deepest <= STOP_ROUNDING:
        return False
    rows = 3 * count + bounds.shape[0]
    moved, corrections = stepping.first_rates, stepping.corrections
    for r in range(rows):
        store(moved, r, 0.0)
        store(corrections, r, 0.0)
    for _ in range(PASSES):
        if correct_islands(slop, rows, reduced, collision, stepping) <= max(STOP_ROUNDING, ENOUGH * deepest):
            break
    for i in range(count):
        contacts[i].separation += load(moved, 3 * i)
    for i in range(bounds.shape[0]):
        bounds[i].gap += load(moved, 3 * count + i)
    fill_shift(rows, stepping)
    return True


@njit
def correct_islands(slop, rows, reduced, collision, stepping):
    """One pass; returns the deepest that it found (m or rad)."""
    contacts, bounds, count = collision.contacts, stepping.bounds, collision.counts[CONTACTS]
    islands, responses, system = collision.islands, stepping.responses, reduced.system
    left = 0.0
    for number in range(collision.counts[ISLANDS]):
        first, end = islands[number].first, islands[number].end
        for i in range(first, end):
            if load(responses, ROW * i + RESPONSE) != OFF:
                gap = contacts[i].separation + slop
                left = max(left, part_row(3 * i, gap, 3 * first, 3 * end, 3 * count, rows, stepping))
    for i in range(bounds.shape[0]):
        if is_stop(bounds[i], system):
            left = max(left, part_row(3 * count + i, bounds[i].gap, 0, rows, rows, rows, stepping))
    return left


@njit
def part_row(row, gap, first, end, more, rows, stepping):
    """Push one row as far as its gap asks for, and what feels it: rows first … end, and from `more` on. Returns how far it
    was."""
    moved, delassus = stepping.first_rates, stepping.delassus
    now, old = gap + load(moved, row), load(stepping.corrections, row)
    new = max(0.0, old - now / load(delassus, row * (rows + 1)))
    if new != old:
        store(stepping.corrections, row, new)
        for j in range(first, end):
            store(moved, j, load(moved, j) + (new - old) * load(delassus, row * rows + j))
        for j in range(more, rows):
            store(moved, j, load(moved, j) + (new - old) * load(delassus, row * rows + j))
    return -now


@njit
def fill_shift(rows, stepping):
    """R c."""
    shift, corrections, response = stepping.shift, stepping.corrections, stepping.response
    m = stepping.before.shape[0]
    clear(shift)
    for r in range(rows):
        c = load(corrections, r)
        if c != 0.0:
            for k in range(m):
                store(shift, k, load(shift, k) + c * load(response, r * m + k))
