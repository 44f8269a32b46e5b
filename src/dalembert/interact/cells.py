"""Pairs nearer than the cut-off, found by a grid of cells of that size: a particle looks at its own cell and those about it.

The number of the cell (a, b, c) is a + p b + q c modulo the number of cells, M. With (p, q) the grid's own strides this is
the usual numbering of a box of cells. Where that box would have more cells than there is room for, as when one particle is
far off, p and q are spread numbers instead, and cells that are far apart share a number; what meets there is too far apart to
act. Either way the 27 offsets of neighbours are 27 different numbers modulo M, so that each pair of neighbours is found once.

Particles are put in the order of their cells by counting (D. Knuth, The Art of Computer Programming 3, §5.2, Algorithm D).
Of two cells that are neighbours one looks at the other: a cell looks at the next one in its row, and at four rows of three.
"""

from ..jit import njit
from .pairs import gather, run

FAR = 2.0**30  # cells: what is farther off is there
# of the cut-off: cells are as much larger, so that no rounding of a place puts what is near two cells apart
MARGIN = 1e-6


@njit
def over_cells(task, t, law, x, v, tables):
    """All pairs of the members of a law that are nearer than its cut-off. Returns (energy, status)."""
    starts, runs = tables.starts, tables.ints
    cells, p, q = sort_into_cells(law, x, tables)
    gather(law, x, tables)
    energy = 0.0
    for cell in range(cells):
        first, last = starts[cell], starts[cell + 1]
        if first == last:
            continue
        count = find_runs(cell, cells, p, q, starts, runs)
        for i in range(first, last):
            for k in range(count):
                begin = i + 1 if k == 0 else runs[2 * k]
                more, status = run(task, t, law, i, begin, runs[2 * k + 1], v, tables)
                if status != 0:
                    return energy, status
                energy += more
    return energy, 0


@njit
def find_runs(cell, cells, p, q, starts, runs):
    """The places that a cell looks at, as runs (first, last): its own and its neighbour's to the right come first."""
    count = add_runs(cell, 2, cells, starts, runs, 0)
    count = add_runs(cell + p - 1, 3, cells, starts, runs, count)
    for b in range(-1, 2):
        count = add_runs(cell + b * p + q - 1, 3, cells, starts, runs, count)
    return count


@njit
def add_runs(cell, width, cells, starts, runs, count):
    """Add the run of `width` cells from one on; two runs where it goes on at the first cell."""
    cell = cell % cells
    end = cell + width
    count = add_run(starts[cell], starts[min(end, cells)], runs, count)
    if end > cells:
        count = add_run(starts[0], starts[end - cells], runs, count)
    return count


@njit
def add_run(first, last, runs, count):
    if first == last:
        return count
    runs[2 * count] = first
    runs[2 * count + 1] = last
    return count + 1


@njit
def bounds_of(law, axis, x, tables):
    """The least and the largest coordinate of the members of a law."""
    members = tables.members
    low, high = x[3 * members[law.first] + axis], x[3 * members[law.first] + axis]
    for k in range(law.first, law.last):
        value = x[3 * members[k] + axis]
        low, high = min(low, value), max(high, value)
    return low, high


@njit
def sort_into_cells(law, x, tables):
    """Fill `order` and `starts`; returns the number of cells and the strides of their rows and layers."""
    if law.first == law.last:
        return 0, 0, 0
    members, order, keys, starts = tables.members, tables.order, tables.keys, tables.starts
    per_metre = 1.0 / (law.cutoff * (1.0 + MARGIN))
    x_low, x_high = bounds_of(law, 0, x, tables)
    y_low, y_high = bounds_of(law, 1, x, tables)
    z_low, z_high = bounds_of(law, 2, x, tables)
    a, b, c = width_of(x_low, x_high, per_metre), width_of(y_low, y_high, per_metre), width_of(z_low, z_high, per_metre)
    cells, p, q = law.buckets, law.hash_y, law.hash_z
    if a * b * c <= float(law.buckets):
        p, q = int(a), int(a) * int(b)
        cells = q * int(c)
    for cell in range(cells + 1):
        starts[cell] = 0
    n = law.last - law.first
    for k in range(n):
        at = 3 * members[law.first + k]
        row = cell_of(x[at + 1], y_low, per_metre)
        layer = cell_of(x[at + 2], z_low, per_metre)
        cell = (cell_of(x[at], x_low, per_metre) + p * row + q * layer) % cells
        keys[k] = cell
        starts[cell + 1] += 1
    for cell in range(cells):
        starts[cell + 1] += starts[cell]
    # Backwards, so that what is in one cell keeps its order; starts[cell + 1] comes down to the first place of the cell.
    for k in range(n - 1, -1, -1):
        cell = keys[k]
        starts[cell + 1] -= 1
        order[starts[cell + 1]] = k
    for cell in range(cells):
        starts[cell] = starts[cell + 1]
    starts[cells] = n
    return cells, p, q


@njit
def width_of(low, high, per_metre):
    """Cells from end to end, as a float; three at least, so that neighbours have different numbers."""
    return max(float(cell_of(high, low, per_metre)) + 1.0, 3.0)


@njit
def cell_of(value, low, per_metre):
    """The cell of a coordinate along one axis."""
    cells = (value - low) * per_metre
    return int(cells) if cells < FAR else int(FAR)
