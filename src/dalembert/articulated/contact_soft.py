"""Motors with gains, springs and dampers of joints in joint coordinates, as `contact.soft` explains.

On a joint of the tree the coordinate is a freedom, so that λ = push − resist ṡ⁺ + keep ṡ⁻ is `resist` on the diagonal of M,
exactly, and costs nothing. On a joint that closes a loop it is a row with a compliance, beside stops and dry friction
(`contact.bounded`).
"""

import math

from ..arrays import copy
from ..contact.soft import acting, book_row, change_side, elastic_impulse, set_laws
from ..jit import njit
from ..mechanics.coordinates import coordinate_rows, coordinate_value
from ..model.tables import LEDGER, PROJECTION_WORK
from ..unchecked import peek, poke
from .contact_books import book_side
from .contact_restitution import row_work
from .mass_matrix import factorize


@njit
def place_soft(z, first, reduced, stepping):
    """The laws of a step, and the values and rates before it, where the tree is; speeds are in z[first:]."""
    soft, system, y = stepping.soft, reduced.system, reduced.y
    h = stepping.options[0].dt
    set_laws(h, soft, system.forces)
    for i in range(soft.shape[0]):
        row = soft[i]
        coordinate = system.coordinates[row.coordinate]
        row.value = coordinate_value(y, coordinate, system.kinematics, system.curves)
        if row.freedom >= 0:
            row.drift = 0.5 * h * peek(stepping.slopes, row.freedom)
            row.before = peek(z, first + row.freedom) - row.drift


@njit
def add_soft(reduced, stepping):
    """The factor of M with `resist` on its diagonal, which is also added to the `resistance` of the freedoms, for the loops.
    Returns the freedom that nothing resists, or −1."""
    soft, forces = stepping.soft, reduced.system.forces
    matrix, h, m = reduced.tree.matrix, stepping.options[0].dt, stepping.before.shape[0]
    resistance = reduced.resistance
    copy(matrix, stepping.mass)
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom >= 0:
            _, resist, _, _ = acting(h, row, forces[row.force])
            poke(resistance, row.freedom, peek(resistance, row.freedom) + resist)
    for k in range(m):
        poke(matrix, k * (m + 1), peek(matrix, k * (m + 1)) + peek(resistance, k))
    return factorize(reduced.tree)


@njit
def keep_factor(reduced, stepping):
    """Keep the factor of M, which the drift after the impulses takes."""
    if stepping.soft.shape[0] > 0:
        copy(stepping.factor, reduced.tree.matrix)


@njit
def push_soft(reduced, stepping):
    """Add to `pushed` what the rows give at the speeds before the step."""
    soft, forces, pushed = stepping.soft, reduced.system.forces, stepping.pushed
    h = stepping.options[0].dt
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom >= 0:
            push, resist, keep, k = acting(h, row, forces[row.force])
            before = row.before + row.drift
            change = push - h * k * row.value + keep * row.before - resist * (before + row.drift)
            poke(pushed, row.freedom, peek(pushed, row.freedom) + change)


@njit
def change_sides(trial, reduced, stepping):
    """As `contact.soft.change_sides`, at the speeds `after`."""
    soft, forces, after = stepping.soft, reduced.system.forces, stepping.after
    h, changed = stepping.options[0].dt, False
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom >= 0:
            changed = change_side(trial, h, row, forces[row.force], peek(after, row.freedom) + row.drift) or changed
    return changed


@njit
def has_limits(reduced, stepping):
    soft, forces = stepping.soft, reduced.system.forces
    for i in range(soft.shape[0]):
        if soft[i].freedom >= 0 and forces[soft[i].force].limit < math.inf:
            return True
    return False


@njit
def book_soft(z, reduced, stepping):
    """The impulses of the rows: on the trees, from the world, and their work, less what goes into potentials of springs."""
    soft, system, after = stepping.soft, reduced.system, stepping.after
    forces, h = system.forces, stepping.options[0].dt
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom < 0:
            continue
        now, force = peek(after, row.freedom) + row.drift, forces[row.force]
        push, resist, keep, k = acting(h, row, force)
        row.impulse = push - h * k * row.value + keep * row.before - resist * now
        elastic = elastic_impulse(h, row, force, now)
        book_row(z, row, 0.5 * (row.impulse - elastic) * (row.before + now))
        linear_a, angular_a, linear_b, angular_b, _ = coordinate_rows(
            system.coordinates[row.coordinate], system.kinematics
        )
        book_side(z, row.a, row.impulse, linear_a, angular_a, reduced, stepping)
        book_side(z, row.b, row.impulse, linear_b, angular_b, reduced, stepping)


@njit
def displace_soft(z, reduced, stepping):
    """Book what motors and dampers of the rows do along the displacement in `shift`; that nothing has done the opposite work
    is an error of the energy, booked as the work of projection."""
    soft, after, shift = stepping.soft, stepping.after, stepping.shift
    forces, h = reduced.system.forces, stepping.options[0].dt
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom >= 0:
            elastic = elastic_impulse(h, row, forces[row.force], peek(after, row.freedom) + row.drift)
            work = (row.impulse - elastic) * peek(shift, row.freedom) / h
            book_row(z, row, work)
            z[z.shape[0] - len(LEDGER) + PROJECTION_WORK] -= work


@njit
def note_bounds(z, count, reduced, stepping):
    """The impulses of rows that are bounds, whose work has been booked: what went into potentials of springs is none."""
    bounds, soft, forces = stepping.bounds, stepping.soft, reduced.system.forces
    h, rates = stepping.options[0].dt, stepping.rates
    for i in range(bounds.shape[0]):
        if bounds[i].soft >= 0:
            row = soft[bounds[i].soft]
            row.impulse = bounds[i].impulse
            elastic = elastic_impulse(h, row, forces[row.force], peek(rates, 3 * count + i) + row.drift)
            z[row.entry] -= row_work(row.impulse, 3 * count + i, stepping)
            book_row(z, row, row_work(row.impulse - elastic, 3 * count + i, stepping))
