"""Sums over pairs of particles: all pairs, and those nearer than the cut-off by a grid of cells of that size.

The number of the cell (a, b, c) is a + p b + q c modulo the number of cells, M. With (p, q) the grid's own strides this is
the usual numbering of a box of cells. Where that box would have more cells than there is room for, as when one particle is
far away, p and q are spread numbers instead, and cells that are far apart share a number; particles that meet there are too
far apart to act. Either way the 27 offsets of neighbours are 27 different numbers modulo M, so that each pair of neighbours
is visited once.

Particles are sorted by their cells by counting (D. Knuth, The Art of Computer Programming 3, §5.2, Algorithm D).
Of two neighbouring cells one visits the other: a cell visits the next one in its row, and four rows of three.
"""

import math

from ..core.jit import inlined, njit
from ..core.simd import load, store
from .laws import (
    COINCIDENT,
    CUSTOM,
    LENNARD_JONES,
    ONE,
    OTHER,
    POWER,
    REPULSION,
    call_user_law,
    first_derivative,
    second_derivatives,
)

# Runs of pairs, and all pairs -----------------------------------------------------------------------------------------
# One particle against a run of others, each pair once. There are two tasks: FORCES adds forces, BLOCKS the blocks of a
# diagonal (see `forces.add_diagonal`). Sums are in the order of the method, and are scattered to particles after all pairs.

FORCES, BLOCKS = 0, 1
TILE = 1024  # particles that all others visit before the next: as many as the nearest cache holds


@njit
def gather(law, x, tables):
    """Copy positions and weights into `points` in the order of `order`, and clear `sums`."""
    members, weights, order = tables.members, tables.weights, tables.order
    points, sums = tables.points, tables.sums
    for i in range(law.last - law.first):
        member = law.first + order[i]
        at = 3 * members[member]
        for k in range(3):
            points[4 * i + k] = x[at + k]
        points[4 * i + 3] = weights[member]
    for k in range(6 * (law.last - law.first)):
        sums[k] = 0.0


@njit
def sum_all_pairs(task, t, law, x, v, tables):
    """All pairs of the members of a law. Returns (energy, status)."""
    order = tables.order
    n = law.last - law.first
    for i in range(n):
        order[i] = i
    gather(law, x, tables)
    energy = 0.0
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        for i in range(last):
            more, status = add_pairs_of_run(task, t, law, i, max(i + 1, first), last, v, tables)
            if status != 0:
                return energy, status
            energy += more
    return energy, 0


@inlined
def add_pairs_of_run(task, t, law, i, first, last, v, tables):
    """Do a task for particle i (in the order of the method) and each of first ... last − 1. Returns (energy, status)."""
    if task == BLOCKS:
        return 0.0, add_blocks_of_run(t, law, i, first, last, tables)
    return add_forces_of_run(t, law, i, first, last, v, tables)


@inlined
def add_forces_of_run(t, law, i, first, last, v, tables):
    """Add −(W'/r) d to `sums` of each j of a run, the opposite to i, and powers of dampers. Returns (energy, status)."""
    points, sums = tables.points, tables.sums
    x, y, z, weight = load(points, 4 * i), load(points, 4 * i + 1), load(points, 4 * i + 2), load(points, 4 * i + 3)
    reach2 = law.cutoff * law.cutoff
    damped = law.damping > 0.0
    fx, fy, fz, energy = 0.0, 0.0, 0.0, 0.0
    for j in range(first, last):
        dx, dy, dz = load(points, 4 * j) - x, load(points, 4 * j + 1) - y, load(points, 4 * j + 2) - z
        r2 = dx * dx + dy * dy + dz * dz
        if r2 >= reach2:
            continue
        both = weight * load(points, 4 * j + 3)
        if r2 == 0.0:
            w, status = coincident_pair(t, law, i, j, both, tables)
            slope = 0.0
        else:
            w, slope, status = first_derivative(t, law, r2, both, tables)
            if damped:
                slope += damper(law, i, j, (dx, dy, dz), r2, both, v, tables)
        if status != 0:
            return energy, status
        energy += w
        fx, fy, fz = fx + slope * dx, fy + slope * dy, fz + slope * dz
        store(sums, 3 * j, load(sums, 3 * j) - slope * dx)
        store(sums, 3 * j + 1, load(sums, 3 * j + 1) - slope * dy)
        store(sums, 3 * j + 2, load(sums, 3 * j + 2) - slope * dz)
    store(sums, 3 * i, load(sums, 3 * i) + fx)
    store(sums, 3 * i + 1, load(sums, 3 * i + 1) + fy)
    store(sums, 3 * i + 2, load(sums, 3 * i + 2) + fz)
    return energy, 0


@njit
def coincident_pair(t, law, i, j, both, tables):
    """(energy, status) where r = 0: no force, as its direction is not defined, if the law has a limit there."""
    if law.kind == CUSTOM:
        energy, slope, status = call_user_law(t, law, 0.0, tables)
        if status != 0:
            return 0.0, status
        singular = not (math.isfinite(energy) and math.isfinite(slope))
    elif law.kind == REPULSION:
        energy, singular = 0.5 * law.strength * law.diameter * law.diameter, False
    else:
        singular = law.kind == LENNARD_JONES or law.softening == 0.0
        energy = 0.0 if singular else law.strength / law.softening
    if singular:
        tables.trouble[ONE] = tables.members[law.first + tables.order[i]]
        tables.trouble[OTHER] = tables.members[law.first + tables.order[j]]
        return 0.0, COINCIDENT
    return both * energy, 0


@njit
def damper(law, i, j, d, r2, both, v, tables):
    """The damper adds −c u (u · v) to the force on j, v its velocity relative to i, as if W'/r were larger by c (d · v)/r²,
    which is returned. Adds its power −c (u · v)² to `scratch`."""
    a, b = 3 * tables.members[law.first + tables.order[i]], 3 * tables.members[law.first + tables.order[j]]
    closing = d[0] * (v[b] - v[a]) + d[1] * (v[b + 1] - v[a + 1]) + d[2] * (v[b + 2] - v[a + 2])
    slope = law.damping * both * closing / r2
    tables.scratch[POWER] -= slope * closing
    return slope


@njit
def add_blocks_of_run(t, law, i, first, last, tables):
    """Add the positive semidefinite block of each pair to `sums` of both of its particles. Returns a status."""
    points, sums = tables.points, tables.sums
    reach2 = law.cutoff * law.cutoff
    for j in range(first, last):
        dx, dy = points[4 * j] - points[4 * i], points[4 * j + 1] - points[4 * i + 1]
        dz = points[4 * j + 2] - points[4 * i + 2]
        r2 = dx * dx + dy * dy + dz * dz
        if r2 >= reach2:
            continue
        both = points[4 * i + 3] * points[4 * j + 3]
        if r2 == 0.0:
            _, status = coincident_pair(t, law, i, j, both, tables)
            if status != 0:
                return status
        a, b, status = project_block(t, law, r2, both, tables)
        if status != 0:
            return status
        add_block(a, b, (dx, dy, dz), r2, i, sums)
        add_block(a, b, (dx, dy, dz), r2, j, sums)
    return 0


# W'' u uᵀ + (W'/r)(I − u uᵀ) has the eigenvalues W'' and W'/r (twice); its positive semidefinite part has them without those
# below zero. Where r = 0 u may be any direction, and the larger of the two bounds the block whatever u is.
@njit
def project_block(t, law, r2, both, tables):
    """(eigenvalue along u, eigenvalue across, status) of the positive semidefinite part of a pair's block."""
    if r2 == 0.0 and law.kind == CUSTOM:
        return 0.0, 0.0, 0  # W'/r is not known there
    slope, second, status = second_derivatives(t, law, r2, both, tables)
    along, across = max(second, 0.0), max(slope, 0.0)
    if r2 == 0.0:
        across = max(along, across)
    return along, across, status


@njit
def add_block(along, across, d, r2, i, sums):
    """Add across I + (along − across) u uᵀ to the block of particle i in the order of the method."""
    dx, dy, dz = d
    outer = (along - across) / r2 if r2 > 0.0 else 0.0
    at = 6 * i
    sums[at] += across + outer * dx * dx
    sums[at + 1] += across + outer * dy * dy
    sums[at + 2] += across + outer * dz * dz
    sums[at + 3] += outer * dx * dy
    sums[at + 4] += outer * dx * dz
    sums[at + 5] += outer * dy * dz


# Cells ----------------------------------------------------------------------------------------------------------------

FAR = 2.0**30  # cells: coordinates beyond are clamped to it
# of the cut-off: cells are larger by that, so that rounding of a position never puts near particles two cells apart
MARGIN = 1e-6


@njit
def sum_by_cells(task, t, law, x, v, tables):
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
                more, status = add_pairs_of_run(task, t, law, i, begin, runs[2 * k + 1], v, tables)
                if status != 0:
                    return energy, status
                energy += more
    return energy, 0


@njit
def find_runs(cell, cells, p, q, starts, runs):
    """The particles that a cell visits, as runs (first, last): its own and its right neighbour's come first."""
    count = append_runs(cell, 2, cells, starts, runs, 0)
    count = append_runs(cell + p - 1, 3, cells, starts, runs, count)
    for b in range(-1, 2):
        count = append_runs(cell + b * p + q - 1, 3, cells, starts, runs, count)
    return count


@njit
def append_runs(cell, width, cells, starts, runs, count):
    """Add the run of `width` cells from one on; two runs where it goes on at the first cell."""
    cell = cell % cells
    end = cell + width
    count = append_run(starts[cell], starts[min(end, cells)], runs, count)
    if end > cells:
        count = append_run(starts[0], starts[end - cells], runs, count)
    return count


@njit
def append_run(first, last, runs, count):
    """Append a run unless it is empty; returns the number of runs."""
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
    # Backwards, so that what is in one cell keeps its order; starts[cell + 1] comes down to the first particle of the cell.
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
