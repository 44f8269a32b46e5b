"""All laws of a table: forces and energy, and the diagonal of a bound on their Hessian."""

import math

from ..jit import njit
from .cells import over_cells
from .pairs import BEND, PULL, over_all
from .tables import CELLS, POWER, THE_LAW, TREE
from .walk import over_tree


@njit
def interact(t, x, v, f, power, tables):
    """Add the forces (N) of all active laws to f, and the powers (W) of their dampers to `power` at the laws' ledgers.

    x, v, f : flat (3 N,), places (m), velocities (m/s) and forces of particles. Returns (potential energy (J), status): 0;
    COINCIDENT, with two particles and their law in `trouble`; or what a user's law returned. f is not complete then.
    """
    laws, scratch = tables.laws, tables.scratch
    energy = 0.0
    for k in range(laws.shape[0]):
        law = laws[k]
        if law.active == 0:
            continue
        scratch[POWER] = 0.0
        more, status = over_pairs(PULL, t, law, x, v, tables)
        if status != 0:
            tables.trouble[THE_LAW] = k
            return energy, status
        energy += more
        if law.damping > 0.0:
            power[law.ledger] += scratch[POWER]
        hand_over_forces(law, f, tables)
    return energy, 0


@njit
def add_diagonal(t, x, weight, values, slots, tables):
    """Add the diagonal blocks of a matrix that is at least `weight` times the Hessian of all active laws.

    With P the positive semidefinite part of a pair's block W'' u uᵀ + (W'/r)(I − u uᵀ), the pair's part of the Hessian is at
    most [P −P; −P P], and that at most 2 diag(P, P), as (a − b)·P(a − b) ≤ 2 (a·P a + b·P b). Dampers have no part in it.
    A node of a tree that acts as one does so by its weights alone here: with TREE the bound is as good as that.

    values : flat, 9 numbers a block (N/m), added to. slots : int64 (N,), the block of each particle. Returns a status.
    """
    laws = tables.laws
    for k in range(laws.shape[0]):
        law = laws[k]
        if law.active == 0:
            continue
        _, status = over_pairs(BEND, t, law, x, x, tables)
        if status != 0:
            tables.trouble[THE_LAW] = k
            return status
        hand_over_blocks(law, 2.0 * weight, values, slots, tables)
    return 0


@njit
def over_pairs(task, t, law, x, v, tables):
    """A task for all pairs of a law, left in `sums`; all NaN where a place is not finite, as no grid or tree holds that."""
    if not all_finite(law, x, tables):
        return poisoned(law, tables), 0
    if law.method == TREE:
        return over_tree(task, t, law, x, v, tables)
    if law.method == CELLS:
        return over_cells(task, t, law, x, v, tables)
    return over_all(task, t, law, x, v, tables)


@njit
def all_finite(law, x, tables):
    members = tables.members
    zero = 0.0
    for k in range(law.first, law.last):
        at = 3 * members[k]
        zero += 0.0 * (x[at] + x[at + 1] + x[at + 2])
    return zero == 0.0


@njit
def poisoned(law, tables):
    order, sums = tables.order, tables.sums
    for place in range(law.last - law.first):
        order[place] = place
        for k in range(6 * place, 6 * place + 6):
            sums[k] = math.nan
    return math.nan


@njit
def hand_over_forces(law, f, tables):
    members, order, sums = tables.members, tables.order, tables.sums
    for place in range(law.last - law.first):
        at = 3 * members[law.first + order[place]]
        for k in range(3):
            f[at + k] += sums[3 * place + k]


@njit
def hand_over_blocks(law, scale, values, slots, tables):
    members, order, sums = tables.members, tables.order, tables.sums
    for place in range(law.last - law.first):
        at = 9 * slots[members[law.first + order[place]]]
        xx, yy, zz = scale * sums[6 * place], scale * sums[6 * place + 1], scale * sums[6 * place + 2]
        xy, xz, yz = scale * sums[6 * place + 3], scale * sums[6 * place + 4], scale * sums[6 * place + 5]
        values[at] += xx
        values[at + 1] += xy
        values[at + 2] += xz
        values[at + 3] += xy
        values[at + 4] += yy
        values[at + 5] += yz
        values[at + 6] += xz
        values[at + 7] += yz
        values[at + 8] += zz
