"""Rows over a packed vector of speeds, in any coordinates, and Gauss–Seidel on them.

A contact is three rows (n, t, s), a bound one. On each side a row has its entries of J at the speeds on the path from the
body to the root of its tree, and its response M⁻¹ Jᵀ at all speeds that it moves: those of the tree and of those that loops
connect to it (an *assembly*), with the answer of the loops. So with w the speeds,

    u = Σ J w,   w ← w + M⁻¹ Jᵀ Δp,   K = Σ J (M⁻¹ Jᵀ),

the sums over at most two sides, in time O(depth) and O(speeds of the assembly). The matrix J M⁻¹ Jᵀ is never formed. One step
at a contact is that of `gauss_seidel`, one at a bound that of `limits`. For two free bodies, whose rows follow from
arms and axes, `gauss_seidel.sweep_contacts` does the same without any table.

In order: the tables, products with rows, and sweeps over an island. `island_problem` has what solvers of second order need.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.jit import inlined, njit
from ..core.math3 import load3, store3
from ..core.simd import load, store
from ..core.tables import column
from .cone import coulomb_velocity, natural_map, project_coulomb
from .gauss_seidel import improve, is_zero
from .joint_space_solves import answer_loops, is_looped, solve_one
from .limits import ENOUGH, PASSES, STOP_ROUNDING, impulse_change, is_stop, usable_response
from .position_correction import overlap_of
from .tables import BEFORE, INVERSE_NORMAL, OFF, RESPONSE, ROW, WAITING

# Tables -----------------------------------------------------------------------------------------------------------------

# One side of a contact or of a bound: its speeds in J are indices[path : path + length], the speeds that it moves are
# first … end of the packed vector. Both are empty for the world. Where both sides are in one assembly, the response is that
# of both, and lies with the second.
SIDE = np.dtype([("path", "i8"), ("length", "i8"), ("first", "i8"), ("end", "i8")], align=True)


class Rows(NamedTuple):
    """Rows of contacts and bounds. `path`: the longest path of a body to its root, `span`: the most speeds of an assembly."""

    indices: Any = column(dtype=np.int64, doc="packed speeds on the path from each body to the root of its tree")
    sides: Any = column("2 * contacts", SIDE, doc="a, b of each contact")
    jacobian: Any = column("6 * path * contacts", doc="of each side, (n, t, s) for each speed")
    response: Any = column("6 * span * contacts", doc="likewise")
    bound_sides: Any = column("2 * bounds", SIDE)
    bound_jacobian: Any = column("2 * path * bounds")
    bound_response: Any = column("2 * span * bounds")
    longest: Any = column("2", np.int64, doc="path and span")


# Products with rows ------------------------------------------------------------------------------------------------------


@njit
def contact_velocity(i, w, rows):
    """u = Σ J w of contact i, as (n, t, s)."""
    jacobian, indices, sides, path = rows.jacobian, rows.indices, rows.sides, rows.longest[0]
    n, t, s = 0.0, 0.0, 0.0
    for side in range(2 * i, 2 * i + 2):
        start, k = sides[side].path, 3 * path * side
        for j in range(start, start + sides[side].length):
            speed = load(w, indices[j])
            n += load(jacobian, k) * speed
            t += load(jacobian, k + 1) * speed
            s += load(jacobian, k + 2) * speed
            k += 3
    return n, t, s


@njit
def push_contact(i, d, w, rows):
    """w += M⁻¹ Jᵀ d for an impulse d (n, t, s) at contact i."""
    response, sides, span = rows.response, rows.sides, rows.longest[1]
    for side in range(2 * i, 2 * i + 2):
        at = 3 * span * side
        for k in range(sides[side].first, sides[side].end):
            store(w, k, load(w, k) + (d[0] * load(response, at) + d[1] * load(response, at + 1)
                  + d[2] * load(response, at + 2)))  # fmt: skip
            at += 3


@njit
def bound_rate(i, w, rows):
    """ṡ = Σ J w of bound i."""
    jacobian, indices, path = rows.bound_jacobian, rows.indices, rows.longest[0]
    rate = 0.0
    for side in range(2 * i, 2 * i + 2):
        own, at = rows.bound_sides[side], path * side
        for j in range(own.length):
            rate += load(jacobian, at + j) * load(w, indices[own.path + j])
    return rate


@njit
def push_bound(i, change, w, rows):
    """w += M⁻¹ Jᵀ for an impulse at bound i."""
    response, span = rows.bound_response, rows.longest[1]
    for side in range(2 * i, 2 * i + 2):
        own, at = rows.bound_sides[side], span * side
        for k in range(own.first, own.end):
            store(w, k, load(w, k) + change * load(response, at + k - own.first))


# Bounds of trees ----------------------------------------------------------------------------------------------------------
#
# The rate of a joint of a tree is a speed, and its row of J is ±1 there. Most stops are far from acting, and a
# comparison with that speed tells so; the response of a stop is found in the step in which it first acts, if it does.


@njit
def respond_to_freedom(i, bound, reduced, js):
    """M⁻¹ Jᵀ and the response of a bound on a freedom of a tree."""
    rows = js.rows
    own, response = rows.bound_sides[2 * i + 1], rows.bound_response
    at = rows.longest[1] * (2 * i + 1)
    for k in range(at, at + own.end - own.first):
        store(response, k, 0.0)
    store(response, at + js.packed_at[bound.freedom] - own.first, bound.sign)
    if is_looped(own.first, reduced, js):
        alone = answer_loops(response, at, 1, own.first, own.end, reduced, js)
        found = bound.sign * load(response, at + js.packed_at[bound.freedom] - own.first)
        bound.response = usable_response(found, alone, bound)
    else:
        bound.response = solve_one(response, at, own.first, own.end, js.factor_values, js.factor_inverse, js)


@inlined
def rate_of(i, bound, w, js):
    """ṡ of a bound at the packed speeds w."""
    if bound.freedom >= 0:
        return bound.sign * load(w, js.packed_at[bound.freedom])
    return bound_rate(i, w, js.rows)


@inlined
def acts(i, bound, now, reduced, js):
    """Whether a bound may have an impulse at the rate `now`; finds the response of one that waits, if it does."""
    if bound.response != WAITING:
        return bound.response != OFF
    if bound.impulse == 0.0 and now + bound.bias >= 0.0:
        return False
    respond_to_freedom(i, bound, reduced, js)
    return bound.response != OFF


# Gauss–Seidel over an island ---------------------------------------------------------------------------------------------
#
# As `gauss_seidel` and `limits` explain, with w in `stepping.motion`. The bounds of an island are those of its members.


@njit
def warm_start_rows(island, reduced, js, tables):
    """Apply the impulses that there are; those of contacts, in axes that have turned, are projected on the cone."""
    contacts, stepping, rows = tables.collision.contacts, tables.stepping, js.rows
    bounds, motion = stepping.bounds, stepping.motion
    for i in range(island.first, island.end):
        p = project_coulomb(load3(contacts[i].impulse), contacts[i].friction)
        store3(contacts[i].impulse, p)
        if not is_zero(p):
            push_contact(i, p, motion, rows)
    for m in range(island.first_member, island.end_member):
        own = stepping.members[tables.collision.members[m]]
        for i in range(own.first_bound, own.end_bound):
            if bounds[i].impulse != 0.0 and acts(i, bounds[i], 0.0, reduced, js):
                push_bound(i, bounds[i].impulse, motion, rows)


@njit
def sweep_rows(island, reduced, js, tables):
    """One sweep over contacts and bounds; returns the largest change of a velocity by its own impulse (m/s or rad/s)."""
    contacts, stepping, rows = tables.collision.contacts, tables.stepping, js.rows
    motion, responses = stepping.motion, stepping.rows
    largest = 0.0
    for i in range(island.first, island.end):
        d = improve(contacts[i], contact_velocity(i, motion, rows), 1.0, responses, ROW * i)
        if not is_zero(d):
            push_contact(i, d, motion, rows)
            k = ROW * i + RESPONSE
            largest = max(largest, abs(d[0]) * load(responses, k), abs(d[1]) * load(responses, k + 3))
            largest = max(largest, abs(d[2]) * load(responses, k + 5))
    return max(largest, sweep_bounds_of_rows(island, reduced, js, tables))


@njit
def sweep_bounds_of_rows(island, reduced, js, tables):
    """One sweep over the bounds of an island; returns the same."""
    stepping = tables.stepping
    motion, bounds, largest = stepping.motion, stepping.bounds, 0.0
    for m in range(island.first_member, island.end_member):
        own = stepping.members[tables.collision.members[m]]
        for i in range(own.first_bound, own.end_bound):
            bound = bounds[i]
            now = rate_of(i, bound, motion, js)
            if not acts(i, bound, now, reduced, js):
                continue
            change = impulse_change(bound, now)
            if change != 0.0:
                bound.impulse += change
                push_bound(i, change, motion, js.rows)
                largest = max(largest, abs(change) * bound.response)
    return largest


@njit
def residual_of_rows(island, reduced, js, tables):
    """The largest residual of Coulomb's law and of the bounds (m/s or rad/s); see `cone`."""
    contacts, stepping, rows = tables.collision.contacts, tables.stepping, js.rows
    motion, responses = stepping.motion, stepping.rows
    worst = 0.0
    for i in range(island.first, island.end):
        contact, k = contacts[i], load(responses, ROW * i + RESPONSE)
        if k != OFF:
            u_hat = coulomb_velocity(contact, contact_velocity(i, motion, rows))
            worst = max(worst, natural_map(load3(contact.impulse), u_hat, contact.friction, k))
    return max(worst, residual_of_bounds(island, reduced, js, tables))


@njit
def residual_of_bounds(island, reduced, js, tables):
    """The largest residual of the bounds of an island."""
    stepping = tables.stepping
    motion, bounds, worst = stepping.motion, stepping.bounds, 0.0
    for m in range(island.first_member, island.end_member):
        own = stepping.members[tables.collision.members[m]]
        for i in range(own.first_bound, own.end_bound):
            now = rate_of(i, bounds[i], motion, js)
            if acts(i, bounds[i], now, reduced, js):
                worst = max(worst, bounds[i].response * abs(impulse_change(bounds[i], now)))
    return worst


@njit
def sweep_positions_of_rows(island, rows, tables):
    """One sweep over contacts for displacements in `shift`, as `gauss_seidel.sweep_positions`; returns the deepest (m)."""
    contacts, stepping = tables.collision.contacts, tables.stepping
    shift, corrections, slop = stepping.shift, stepping.corrections, stepping.options[0].slop
    deepest = 0.0
    for i in range(island.first, island.end):
        inverse = load(stepping.rows, ROW * i + INVERSE_NORMAL)
        if inverse == 0.0:
            continue
        n, _, _ = contact_velocity(i, shift, rows)
        gap = contacts[i].separation + slop + n
        deepest = max(deepest, -gap)
        old = corrections[i]
        new = max(0.0, old - gap * inverse)
        if new != old:
            corrections[i] = new
            push_contact(i, (new - old, 0.0, 0.0), shift, rows)
    return deepest


@njit
def contact_work_of_rows(i, p, motion, before, rows):
    """(work of the normal part, of friction) of an impulse p at contact i."""
    u, at = contact_velocity(i, motion, rows), ROW * i + BEFORE
    normal = 0.5 * p[0] * (load(before, at) + u[0])
    return normal, 0.5 * p[1] * (load(before, at + 1) + u[1]) + 0.5 * p[2] * (load(before, at + 2) + u[2])


@njit
def correct_stops_of_rows(island, reduced, js, tables):
    """Add to `shift` what removes the overlap of the stops of an island, with its contacts in their places: Gauss–Seidel over
    both. Returns whether there is some."""
    contacts, stepping, system, rows = tables.collision.contacts, tables.stepping, tables.system, js.rows
    bounds, shift, corrections = stepping.bounds, stepping.shift, stepping.corrections
    deepest = 0.0
    for m in range(island.first_member, island.end_member):
        own = stepping.members[tables.collision.members[m]]
        for i in range(own.first_bound, own.end_bound):
            bounds[i].correction = 0.0
            if is_stop(bounds[i], system):
                deepest = max(deepest, -bounds[i].gap - rate_of(i, bounds[i], shift, js))
    if deepest <= STOP_ROUNDING:
        return False
    if overlap_of(island.first, island.end, contacts) <= stepping.options[0].slop:
        for i in range(island.first, island.end):
            corrections[i] = 0.0  # not corrected before
    for _ in range(PASSES):
        left = 0.0
        for m in range(island.first_member, island.end_member):
            own = stepping.members[tables.collision.members[m]]
            for i in range(own.first_bound, own.end_bound):
                bound = bounds[i]
                if is_stop(bound, system):
                    gap = bound.gap + rate_of(i, bound, shift, js)
                    left = max(left, -gap)
                    if bound.response == WAITING:
                        if gap >= 0.0:
                            continue
                        respond_to_freedom(i, bound, reduced, js)
                        if bound.response == OFF:
                            continue
                    change = max(0.0, bound.correction - gap / bound.response) - bound.correction
                    if change != 0.0:
                        bound.correction += change
                        push_bound(i, change, shift, rows)
        left = max(left, sweep_positions_of_rows(island, rows, tables))
        if left <= max(STOP_ROUNDING, ENOUGH * deepest):
            break
    return True
