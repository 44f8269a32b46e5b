"""Equilibration of a symmetric matrix inside a run: one factor for row and column i, so that it stays symmetric.

ALG3 and Ruiz's method scale both alike, where the matrix is symmetric. MC64's rows and columns come out different; the
square root of their product keeps every entry at most one and those of the matching at one (I. Duff, S. Pralet, "Strategies
for scaling and pivoting for sparse symmetric indefinite problems", SIAM J. Matrix Anal. Appl. 27, 2005).
"""

import math

from ..addresses import part_of
from ..elementary.exponential import exp
from ..elementary.logarithm import log
from ..jit import njit
from .iterative_tables import (
    ALG3,
    MC64,
    column_of_of,
    columns_of,
    heap_of,
    iteration_of,
    place_of,
    reached_from_of,
    reached_of,
    row_of_of,
    scale_of,
    sizes_of,
    starts_of,
    work_of,
)
from .matching import match_columns
from .scaling import sweep_alg3, sweep_ruiz, worst_deviation

ENOUGH = 1e-4  # deviation of the largest size in a row from one
SWEEPS = 50


@njit
def find_scale(tables):
    """`scale` from `sizes`, by the method asked for. Overwrites `sizes`."""
    if iteration_of(tables)[0].scaling == MC64:
        scale_by_matching(tables)
    else:
        scale_by_sweeps(tables)


@njit
def scale_by_sweeps(tables):
    starts, columns, sizes, r = starts_of(tables), columns_of(tables), sizes_of(tables), scale_of(tables)
    n = r.shape[0]
    c, r_roots, c_roots = (
        part_of(work_of(tables), 0, n),
        part_of(work_of(tables), n, n),
        part_of(work_of(tables), 2 * n, n),
    )
    for i in range(n):
        r[i], c[i] = 1.0, 1.0
    for _ in range(SWEEPS):
        if worst_deviation(n, starts, columns, sizes, starts, columns, sizes, r, c) <= ENOUGH:
            break
        if iteration_of(tables)[0].scaling == ALG3:
            sweep_alg3(n, starts, columns, sizes, starts, columns, sizes, r, c)
        else:
            sweep_ruiz(n, starts, columns, sizes, starts, columns, sizes, r, c, r_roots, c_roots)
    for i in range(n):
        r[i] = math.sqrt(r[i] * c[i])


@njit
def scale_by_matching(tables):
    """Where no matching is perfect, rows and columns that it leaves out are scaled by their largest size alone."""
    starts, columns, costs, scale = starts_of(tables), columns_of(tables), sizes_of(tables), scale_of(tables)
    n = scale.shape[0]
    u, v, distance = part_of(work_of(tables), 0, n), part_of(work_of(tables), n, n), part_of(work_of(tables), 2 * n, n)
    for i in range(n):
        largest = 0.0
        for e in range(starts[i], starts[i + 1]):
            largest = max(largest, costs[e])
        scale[i] = largest
        for e in range(starts[i], starts[i + 1]):
            costs[e] = log(largest / costs[e]) if costs[e] > 0.0 else math.inf
    match_columns(
        n, starts, columns, costs, u, v, row_of_of(tables), column_of_of(tables), distance, reached_from_of(tables),
        heap_of(tables), place_of(tables), reached_of(tables),
    )  # fmt: skip
    for i in range(n):
        scale[i] = math.sqrt(exp(u[i] + v[i]) / scale[i])
