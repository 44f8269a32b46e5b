"""What overlaps, or is beyond a stop, is put right by the smallest displacement in the metric of M: Gauss–Seidel on D again,
gap + D c ≥ 0 ⊥ c ≥ 0, and the displacement R c. See `contact.separate`."""

from ..arrays import clear
from ..collide.tables import CONTACTS, ISLANDS
from ..contact.bounded import ENOUGH, PASSES, ROUNDING, is_stop
from ..contact.separate import overlap_of
from ..contact.tables import OFF, RESPONSE, ROW
from ..jit import njit
from ..unchecked import peek, poke


@njit
def plan_separation(reduced, collision, stepping):
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
    if deepest <= ROUNDING:
        return False
    rows = 3 * count + bounds.shape[0]
    moved, corrections = stepping.first_rates, stepping.corrections
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
    contacts, bounds, count = collision.contacts, stepping.bounds, collision.counts[CONTACTS]
    islands, responses, system = collision.islands, stepping.responses, reduced.system
    left = 0.0
    for number in range(collision.counts[ISLANDS]):
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
    moved, delassus = stepping.first_rates, stepping.delassus
    now, old = gap + peek(moved, row), peek(stepping.corrections, row)
    new = max(0.0, old - now / peek(delassus, row * (rows + 1)))
    if new != old:
        poke(stepping.corrections, row, new)
        for j in range(first, end):
            poke(moved, j, peek(moved, j) + (new - old) * peek(delassus, row * rows + j))
        for j in range(more, rows):
            poke(moved, j, peek(moved, j) + (new - old) * peek(delassus, row * rows + j))
    return -now


@njit
def fill_shift(rows, stepping):
    """R c."""
    shift, corrections, response = stepping.shift, stepping.corrections, stepping.response
    m = stepping.before.shape[0]
    clear(shift)
    for r in range(rows):
        c = peek(corrections, r)
        if c != 0.0:
            for k in range(m):
                poke(shift, k, peek(shift, k) + c * peek(response, r * m + k))
