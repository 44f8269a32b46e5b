"""Newton's method on the law of contact of one small island, where Gauss–Seidel takes long: semismooth, as P. Alart and A.
Curnier (1991) have it.

With û_n = u_n + b, y = p_t − ρ u_t and d = y/|y|, and u changing by D Δp, D = J M⁻¹ Jᵀ of the island, a contact is

    open    p_n ≤ ρ_n û_n   : Δp = −p
    stuck   |y| < μ p_n     : D_n Δp = −û_n, D_t Δp = −u_t
    sliding                 : D_n Δp = −û_n, Δp_t − μ d Δp_n − (μ p_n/|y|) (1 − d dᵀ) (Δp_t − ρ D_t Δp) = μ p_n d − p_t.

A bound holds its rate (D Δλ + C Δλ = −(ṡ + b + C λ), C its compliance) or is at its limit. Points that bear a load
together make D singular; ε on its diagonal picks one way to share it. A step is kept only if the residual falls.

It is called for islands that the first sweeps leave unsolved (`solve.finish_islands`); only then is D formed, and only for
islands of up to MOST rows.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.c_function import C_SIGNATURE
from ..core.jit import CFunction, inlined, njit
from ..core.math3 import load3
from ..core.simd import load, store
from ..core.status import OK
from ..core.tables import column, table_at
from ..linalg.dense import lu_factorize, lu_substitute
from .joint_space import JointSpace
from .limits import impulse_change
from .rows import bound_rate, contact_velocity, push_bound, push_contact, residual_of_rows
from .tables import FRICTION_STEP, INVERSE_NORMAL, OFF, RESPONSE, ROW, ContactTables

STEPS = 10
EPSILON = 1e-6
MOST = 300  # rows of an island


class DelassusNewton(NamedTuple):
    """The system of one island. n : the most rows."""

    delassus: Any = column("n * n", doc="D = J M⁻¹ Jᵀ")
    matrix: Any = column("n * n", doc="of a step")
    pivots: Any = column("n", np.int64)
    step: Any = column("n", doc="the right-hand side, then the change of the impulses")
    kept: Any = column("n", doc="impulses before a step")
    contacts: Any = column("n", np.int64, doc="of each row, its contact; −1 for a bound")
    numbers: Any = column("n", np.int64, doc="of each row, its axis or its bound")


@njit
def finish_island(number, tables, rows, system):
    """Newton steps on the impulses of an island and `motion`, as long as its residual falls; writes `residual` of its row."""
    island, tolerance = tables.collision.islands[number], tables.stepping.options[0].tolerance
    n = list_rows(island, tables, system)
    if n > system.kept.shape[0] or n > MOST:
        return
    fill_delassus(n, rows, system)
    for _ in range(STEPS):
        if island.residual <= tolerance or not make_step(n, tables, rows, system):
            return
        residual = residual_of_rows(island, rows, tables)
        if not residual < island.residual:
            for k in range(n):
                change_row(k, load(system.kept, k), tables, rows, system)
            return
        island.residual = residual


@njit
def list_rows(island, tables, system):
    """The rows of an island, contacts first; returns how many, with or without room."""
    members, contacts, numbers = tables.collision.members, system.contacts, system.numbers
    room, n = system.kept.shape[0], 0
    for i in range(island.first, island.end):
        for axis in range(3):
            if n < room:
                contacts[n], numbers[n] = i, axis
            n += 1
    for m in range(island.first_member, island.end_member):
        own = tables.stepping.members[members[m]]
        for i in range(own.first_bound, own.end_bound):
            if n < room:
                contacts[n], numbers[n] = -1, i
            n += 1
    return n


@njit
def fill_delassus(n, rows, system):
    """D: J of one row on the response of another."""
    for k in range(n):
        for j in range(k + 1):
            value = product(k, j, rows, system)
            store(system.delassus, k * n + j, value)
            store(system.delassus, j * n + k, value)


@njit
def product(k, j, rows, system):
    """J of row k times M⁻¹ Jᵀ of row j."""
    path, span = rows.longest[0], rows.longest[1]
    of, on = system.contacts[k], system.contacts[j]
    wide, tall = 3 if of >= 0 else 1, 3 if on >= 0 else 1
    first, other = 2 * (of if of >= 0 else system.numbers[k]), 2 * (on if on >= 0 else system.numbers[j])
    c, e = system.numbers[k] if of >= 0 else 0, system.numbers[j] if on >= 0 else 0
    total = 0.0
    for side in range(first, first + 2):
        own = rows.sides[side] if of >= 0 else rows.bound_sides[side]
        for target in range(other, other + 2):
            moved = rows.sides[target] if on >= 0 else rows.bound_sides[target]
            if own.length == 0 or not moved.first <= rows.indices[own.path] < moved.end:
                continue
            for i in range(own.length):
                at = tall * (span * target + rows.indices[own.path + i] - moved.first) + e
                value = load(rows.response, at) if on >= 0 else load(rows.bound_response, at)
                at = wide * (path * side + i) + c
                total += value * (load(rows.jacobian, at) if of >= 0 else load(rows.bound_jacobian, at))
    return total


@njit
def make_step(n, tables, rows, system):
    """One step on the impulses and `motion`; `kept` is what takes it back. Returns whether there was one."""
    contacts, bounds, step = tables.collision.contacts, tables.stepping.bounds, system.step
    for k in range(n):
        i, number = system.contacts[k], system.numbers[k]
        if i >= 0 and number == 0:
            fill_contact(k, i, n, tables, rows, system)
        elif i < 0:
            fill_bound(k, number, n, tables, rows, system)
    if lu_factorize(n, system.matrix, 0, system.pivots, 0) != 0:
        return False
    lu_substitute(n, system.matrix, 0, system.pivots, 0, step, 0)
    for k in range(n):
        i, number = system.contacts[k], system.numbers[k]
        if i < 0:
            bound = bounds[number]
            store(system.kept, k, bound.impulse)
            wanted = min(bound.most, max(bound.least, bound.impulse + load(step, k)))
            change_row(k, wanted, tables, rows, system)
        elif number == 0:
            p = load3(contacts[i].impulse)
            new = within(p[0] + load(step, k), p[1] + load(step, k + 1), p[2] + load(step, k + 2), contacts[i].friction)
            for axis in range(3):
                store(system.kept, k + axis, p[axis])
                change_row(k + axis, new[axis], tables, rows, system)
    return True


@njit
def change_row(k, impulse, tables, rows, system):
    """Set the impulse of a row, and change `motion` accordingly."""
    i, number, motion = system.contacts[k], system.numbers[k], tables.stepping.motion
    if i < 0:
        bound = tables.stepping.bounds[number]
        push_bound(number, impulse - bound.impulse, motion, rows)
        bound.impulse = impulse
        return
    own = tables.collision.contacts[i].impulse
    d = impulse - own[number]
    own[number] = impulse
    if d != 0.0:
        push_contact(i, (d if number == 0 else 0.0, d if number == 1 else 0.0, d if number == 2 else 0.0), motion, rows)


@inlined
def within(n, t, s, friction):
    """The impulse with its friction in its disc, as Gauss–Seidel leaves it; none that is not a number."""
    if not n > 0.0:
        return (0.0, 0.0, 0.0)
    size, most = math.sqrt(t * t + s * s), friction * n
    shrink = most / size if size > most else 1.0
    return (n, shrink * t, shrink * s)


@njit
def fill_contact(k, i, n, tables, rows, system):
    """The equations of one contact, rows k … k + 2: open, stuck or sliding."""
    contact, responses, step, matrix = tables.collision.contacts[i], tables.stepping.rows, system.step, system.matrix
    p, u = load3(contact.impulse), contact_velocity(i, tables.stepping.motion, rows)
    excess, own = u[0] + contact.bias, load(responses, ROW * i + RESPONSE)
    if own == OFF or p[0] - excess * load(responses, ROW * i + INVERSE_NORMAL) <= 0.0:
        for r in range(3):
            fill_unit(k + r, -p[r], n, system)
        return
    fill_row(k, -excess, n, system)
    rho, most = load(responses, ROW * i + FRICTION_STEP), contact.friction * p[0]
    y = (p[1] - rho * u[1], p[2] - rho * u[2])
    size = math.sqrt(y[0] * y[0] + y[1] * y[1])
    for r in range(2):
        if size < most:
            fill_row(k + 1 + r, -u[1 + r], n, system)
            continue
        fill_unit(k + 1 + r, 0.0, n, system)
        if not size > 0.0:
            continue
        across, along = most / size, y[r] / size
        at = (k + 1 + r) * n
        store(step, k + 1 + r, most * along - p[1 + r])
        store(matrix, at + k, -contact.friction * along)
        for c in range(2):
            share = across * ((1.0 if c == r else 0.0) - along * y[c] / size)
            store(matrix, at + k + 1 + c, load(matrix, at + k + 1 + c) - share)
            add_row(at, k + 1 + c, rho * share, n, system)


@njit
def fill_bound(k, i, n, tables, rows, system):
    """The equation of one bound: inside, or at a limit."""
    bound, matrix = tables.stepping.bounds[i], system.matrix
    rate = bound_rate(i, tables.stepping.motion, rows)
    change = 0.0 if bound.response == OFF else impulse_change(bound, rate)
    at_most = bound.impulse + change >= bound.most and bound.most < math.inf
    if bound.response == OFF or bound.impulse + change <= bound.least or at_most:
        fill_unit(k, change, n, system)
        return
    fill_row(k, -(rate + bound.bias + bound.compliance * bound.impulse), n, system)
    if bound.compliance > 0.0:
        own = bound.compliance / load(system.delassus, k * (n + 1))
        store(matrix, k * (n + 1), load(matrix, k * (n + 1)) + own)


@njit
def fill_unit(k, value, n, system):
    """The equation Δp_k = value."""
    for j in range(n):
        store(system.matrix, k * n + j, 0.0)
    store(system.matrix, k * (n + 1), 1.0)
    store(system.step, k, value)


@njit
def fill_row(k, value, n, system):
    """The equation D_k Δp = value, over D_kk."""
    own = 1.0 / load(system.delassus, k * (n + 1))
    fill_unit(k, own * value, n, system)
    store(system.matrix, k * (n + 1), EPSILON)
    add_row(k * n, k, own, n, system)


@njit
def add_row(at, row, share, n, system):
    """matrix[at : at + n] += share times a row of D."""
    for j in range(n):
        value = share * load(system.delassus, row * n + j)
        store(system.matrix, at + j, load(system.matrix, at + j) + value)


def delassus_newton_entry(data, task, number, unused, n, nothing, m):
    tables = table_at(ContactTables, data)
    rows = table_at(JointSpace, tables.callbacks[0].joint_space).rows
    finish_island(int(number), tables, rows, table_at(DelassusNewton, tables.callbacks[0].workspace))
    return OK


DELASSUS_NEWTON_ENTRY = CFunction(delassus_newton_entry, C_SIGNATURE)
