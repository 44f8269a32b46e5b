"""Equilibration of a symmetric matrix inside a run: one factor for row and column i, so that it stays symmetric.

ALG3 and Ruiz's method scale both alike, where the matrix is symmetric. MC64's rows and columns come out different; the
square root of their product keeps every entry at most one and those of the matching at one (I. Duff, S. Pralet, "Strategies
for scaling and pivoting for sparse symmetric indefinite problems", SIAM J. Matrix Anal. Appl. 27, 2005).
"""

import math

from ..elementary.exponential import exp
from ..elementary.logarithm import log
from ..jit import njit
from ..pointer import part_of
from .iterative_tables import ALG3, MC64
from .matching import match_columns
from .scaling import sweep_alg3, sweep_ruiz, worst_deviation

ENOUGH = 1e-4  # deviation of the largest size in a row from one
SWEEPS = 50


@njit
def find_scale(tables):
    """`scale` from `sizes`, by the method asked for. Overwrites `sizes`."""
    if tables.iteration[0].scaling == MC64:
        scale_by_matching(tables)
    else:
        scale_by_sweeps(tables)


@njit
def scale_by_sweeps(tables):
    starts, columns, sizes, r = tables.starts, tables.columns, tables.sizes, tables.scale
    n = r.shape[0]
    c, r_roots, c_roots = (
        part_of(tables.work, 0, n),
        part_of(tables.work, n, n),
        part_of(tables.work, 2 * n, n),
    )
    for i in range(n):
        r[i], c[i] = 1.0, 1.0
    for _ in range(SWEEPS):
        if worst_deviation(n, starts, columns, sizes, starts, columns, sizes, r, c) <= ENOUGH:
            break
        if tables.iteration[0].scaling == ALG3:
            sweep_alg3(n, starts, columns, sizes, starts, columns, sizes, r, c)
        else:
            sweep_ruiz(n, starts, columns, sizes, starts, columns, sizes, r, c, r_roots, c_roots)
    for i in range(n):
        r[i] = math.sqrt(r[i] * c[i])


@njit
def scale_by_matching(tables):
    """Where no matching is perfect, rows and columns that it leaves out are scaled by their largest size alone."""
    starts, costs, scale = tables.starts, tables.sizes, tables.scale
    n = scale.shape[0]
    u, v, distance = part_of(tables.work, 0, n), part_of(tables.work, n, n), part_of(tables.work, 2 * n, n)
    for i in range(n):
        largest = 0.0
        for e in range(starts[i], starts[i + 1]):
            largest = max(largest, costs[e])
        scale[i] = largest
        for e in range(starts[i], starts[i + 1]):
            costs[e] = log(largest / costs[e]) if costs[e] > 0.0 else math.inf
    match_columns(
        n, starts, tables.columns, costs, u, v, tables.row_of, tables.column_of, distance, tables.reached_from,
        tables.heap, tables.place, tables.reached,
    )  # fmt: skip
    for i in range(n):
        scale[i] = math.sqrt(exp(u[i] + v[i]) / scale[i])
