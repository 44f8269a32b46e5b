"""What overlaps, or is beyond a stop, is put right by the smallest displacement in the metric of M: Gauss–Seidel on D again,
gap + D c ≥ 0 ⊥ c ≥ 0, and the displacement R c. See `contact.separate`."""

from ..arrays import clear
from ..collide.tables import CONTACTS, ISLANDS
from ..collide.tables_of import contacts_of, counts_of, islands_of
from ..contact.bounded import ENOUGH, PASSES, ROUNDING, is_stop
from ..contact.separate import overlap_of
from ..contact.tables import OFF, RESPONSE, ROW
from ..jit import njit
from ..unchecked import peek, poke
from .contact_tables_of import (
    before_of,
    bounds_of,
    corrections_of,
    delassus_of,
    first_rates_of,
    options_of,
    report_of,
    response_of,
    responses_of,
    shift_of,
)
from .tables_of import system_of


@njit
def plan_separation(reduced, collision, stepping):
    """Find the displacement, into `shift`; the gaps are then those of the new place. Returns whether there is one."""
    contacts, bounds, count = contacts_of(collision), bounds_of(stepping), counts_of(collision)[CONTACTS]
    report, slop, system = report_of(stepping)[0], options_of(stepping)[0].slop, system_of(reduced)
    report.overlap = overlap_of(0, count, contacts)
    report.deepest = max(report.deepest, report.overlap)
    report.worst_penetration = max(report.worst_penetration, report.overlap)
    deepest = report.overlap if report.overlap > slop else 0.0
    for i in range(bounds.shape[0]):
        if is_stop(bounds[i], system):
            deepest = max(deepest, -bounds[i].gap)
    if deepest <= ROUNDING:
        return False
    rows = 3 * count + bounds.shape[0]
    moved, corrections = first_rates_of(stepping), corrections_of(stepping)
    for r in range(rows):
        poke(moved, r, 0.0)
        poke(corrections, r, 0.0)
    for _ in range(PASSES):
        if part(slop, rows, reduced, collision, stepping) <= max(ROUNDING, ENOUGH * deepest):
            break
    for i in range(count):
        contacts[i].separation += peek(moved, 3 * i)
    for i in range(bounds.shape[0]):
        bounds[i].gap += peek(moved, 3 * count + i)
    fill_shift(rows, stepping)
    return True


@njit
def part(slop, rows, reduced, collision, stepping):
    """One pass; returns the deepest that it found (m or rad)."""
    contacts, bounds, count = contacts_of(collision), bounds_of(stepping), counts_of(collision)[CONTACTS]
    islands, responses, system = islands_of(collision), responses_of(stepping), system_of(reduced)
    left = 0.0
    for number in range(counts_of(collision)[ISLANDS]):
        first, end = islands[number].first, islands[number].end
        for i in range(first, end):
            if peek(responses, ROW * i + RESPONSE) != OFF:
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
    moved, corrections, delassus = first_rates_of(stepping), corrections_of(stepping), delassus_of(stepping)
    now, old = gap + peek(moved, row), peek(corrections, row)
    new = max(0.0, old - now / peek(delassus, row * (rows + 1)))
    if new != old:
        poke(corrections, row, new)
        for j in range(first, end):
            poke(moved, j, peek(moved, j) + (new - old) * peek(delassus, row * rows + j))
        for j in range(more, rows):
            poke(moved, j, peek(moved, j) + (new - old) * peek(delassus, row * rows + j))
    return -now


@njit
def fill_shift(rows, stepping):
    """R c."""
    shift, corrections, response = shift_of(stepping), corrections_of(stepping), response_of(stepping)
    m = before_of(stepping).shape[0]
    clear(shift)
    for r in range(rows):
        c = peek(corrections, r)
        if c != 0.0:
            for k in range(m):
                poke(shift, k, peek(shift, k) + c * peek(response, r * m + k))
