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
from ..mechanics.system import coordinates_of, curves_of, forces_of, kinematics_of
from ..model.tables import LEDGER, PROJECTION_WORK
from ..unchecked import peek, poke
from .contact_books import book_side
from .contact_restitution import row_work
from .contact_tables_of import (
    after_of,
    before_of,
    bounds_of,
    factor_of,
    mass_of,
    options_of,
    pushed_of,
    rates_of,
    shift_of,
    slopes_of,
    soft_of,
)
from .mass_matrix import factorize
from .tables_of import matrix_of, resistance_of, system_of, tree_of, y_of


@njit
def place_soft(z, first, reduced, stepping):
    """The laws of a step, and the values and rates before it, where the tree is; speeds are in z[first:]."""
    soft, system, y = soft_of(stepping), system_of(reduced), y_of(reduced)
    h = options_of(stepping)[0].dt
    set_laws(h, soft, forces_of(system))
    for i in range(soft.shape[0]):
        row = soft[i]
        coordinate = coordinates_of(system)[row.coordinate]
        row.value = coordinate_value(y, coordinate, kinematics_of(system), curves_of(system))
        if row.freedom >= 0:
            row.drift = 0.5 * h * peek(slopes_of(stepping), row.freedom)
            row.before = peek(z, first + row.freedom) - row.drift


@njit
def add_soft(reduced, stepping):
    """The factor of M with `resist` on its diagonal, which is also added to the `resistance` of the freedoms, for the loops.
    Returns the freedom that nothing resists, or −1."""
    tree, soft, forces = tree_of(reduced), soft_of(stepping), forces_of(system_of(reduced))
    matrix, h, m = matrix_of(tree), options_of(stepping)[0].dt, before_of(stepping).shape[0]
    resistance = resistance_of(reduced)
    copy(matrix, mass_of(stepping))
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom >= 0:
            _, resist, _, _ = acting(h, row, forces[row.force])
            poke(resistance, row.freedom, peek(resistance, row.freedom) + resist)
    for k in range(m):
        poke(matrix, k * (m + 1), peek(matrix, k * (m + 1)) + peek(resistance, k))
    return factorize(tree)


@njit
def keep_factor(reduced, stepping):
    """Keep the factor of M, which the drift after the impulses takes."""
    if soft_of(stepping).shape[0] > 0:
        copy(factor_of(stepping), matrix_of(tree_of(reduced)))


@njit
def push_soft(reduced, stepping):
    """Add to `pushed` what the rows give at the speeds before the step."""
    soft, forces, pushed = soft_of(stepping), forces_of(system_of(reduced)), pushed_of(stepping)
    h = options_of(stepping)[0].dt
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
    soft, forces, after = soft_of(stepping), forces_of(system_of(reduced)), after_of(stepping)
    h, changed = options_of(stepping)[0].dt, False
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom >= 0:
            changed = change_side(trial, h, row, forces[row.force], peek(after, row.freedom) + row.drift) or changed
    return changed


@njit
def has_limits(reduced, stepping):
    soft, forces = soft_of(stepping), forces_of(system_of(reduced))
    for i in range(soft.shape[0]):
        if soft[i].freedom >= 0 and forces[soft[i].force].limit < math.inf:
            return True
    return False


@njit
def book_soft(z, reduced, stepping):
    """The impulses of the rows: on the trees, from the world, and their work, less what goes into potentials of springs."""
    soft, system, after = soft_of(stepping), system_of(reduced), after_of(stepping)
    forces, h = forces_of(system), options_of(stepping)[0].dt
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
            coordinates_of(system)[row.coordinate], kinematics_of(system)
        )
        book_side(z, row.a, row.impulse, linear_a, angular_a, reduced, stepping)
        book_side(z, row.b, row.impulse, linear_b, angular_b, reduced, stepping)


@njit
def displace_soft(z, reduced, stepping):
    """Book what motors and dampers of the rows do along the displacement in `shift`; that nothing has done the opposite work
    is an error of the energy, booked as the work of projection."""
    soft, after, shift = soft_of(stepping), after_of(stepping), shift_of(stepping)
    forces, h = forces_of(system_of(reduced)), options_of(stepping)[0].dt
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
    bounds, soft, forces = bounds_of(stepping), soft_of(stepping), forces_of(system_of(reduced))
    h, rates = options_of(stepping)[0].dt, rates_of(stepping)
    for i in range(bounds.shape[0]):
        if bounds[i].soft >= 0:
            row = soft[bounds[i].soft]
            row.impulse = bounds[i].impulse
            elastic = elastic_impulse(h, row, forces[row.force], peek(rates, 3 * count + i) + row.drift)
            z[row.entry] -= row_work(row.impulse, 3 * count + i, stepping)
            book_row(z, row, row_work(row.impulse - elastic, 3 * count + i, stepping))
