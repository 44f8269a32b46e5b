"""Kernels that scale rows and columns to a largest size of one each, sweep by sweep.

Scaled entries rᵢ |aᵢⱼ| cⱼ are never stored. The last three functions are entry points of the three before them.
`start`, `columns`, `values` hold the matrix by rows, `turned_…` by columns.
"""

import math

import numpy as np

from ..jit import njit
from ..kernel import array, kernel, out

INDICES = array(1, np.int64)


@njit
def _largest(j, start, others, values, scale):
    """max |aᵢⱼ| scaleᵢ over the entries of column j; or of a row, likewise."""
    most = 0.0
    for k in range(start[j], start[j + 1]):
        most = max(most, values[k] * scale[others[k]])
    return most


@njit
def worst_deviation(n, start, columns, values, turned_start, turned_rows, turned_values, r, c):
    """How far the largest size in a row or column is from one, at most."""
    worst = 0.0
    for i in range(n):
        worst = max(worst, abs(1.0 - r[i] * _largest(i, start, columns, values, c)))
        worst = max(worst, abs(1.0 - c[i] * _largest(i, turned_start, turned_rows, turned_values, r)))
    return worst


@njit
def sweep_ruiz(n, start, columns, values, turned_start, turned_rows, turned_values, r, c, row_roots, column_roots):
    """All rows and columns at once: each is divided by the square root of its largest size.

    D. Ruiz, "A scaling algorithm to equilibrate both rows and columns norms in matrices", RAL-TR-2001-034, 2001.
    """
    for i in range(n):
        row_roots[i] = math.sqrt(r[i] * _largest(i, start, columns, values, c))
        column_roots[i] = math.sqrt(c[i] * _largest(i, turned_start, turned_rows, turned_values, r))
    for i in range(n):
        r[i] /= row_roots[i]
        c[i] /= column_roots[i]


@njit
def sweep_alg3(n, start, columns, values, turned_start, turned_rows, turned_values, r, c):
    """Row and column i together, for i = 1 … n: what comes later sees what was scaled before."""
    for i in range(n):
        row = r[i] * _largest(i, start, columns, values, c)
        column = c[i] * _largest(i, turned_start, turned_rows, turned_values, r)
        r[i] /= math.sqrt(row)
        c[i] /= math.sqrt(column)


@kernel
def deviation(
    n: int, start: INDICES, columns: INDICES, values: array(), turned_start: INDICES, turned_rows: INDICES,
    turned_values: array(), r: array(), c: array(),
) -> float:  # fmt: skip
    return worst_deviation(n, start, columns, values, turned_start, turned_rows, turned_values, r, c)


@kernel
def ruiz_sweep(
    n: int, start: INDICES, columns: INDICES, values: array(), turned_start: INDICES, turned_rows: INDICES,
    turned_values: array(), r: out(), c: out(), row_roots: out(), column_roots: out(),
) -> None:  # fmt: skip
    sweep_ruiz(n, start, columns, values, turned_start, turned_rows, turned_values, r, c, row_roots, column_roots)


@kernel
def alg3_sweep(
    n: int, start: INDICES, columns: INDICES, values: array(), turned_start: INDICES, turned_rows: INDICES,
    turned_values: array(), r: out(), c: out(),
) -> None:  # fmt: skip
    sweep_alg3(n, start, columns, values, turned_start, turned_rows, turned_values, r, c)
