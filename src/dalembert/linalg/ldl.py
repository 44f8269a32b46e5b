"""Block LDLᵀ of a symmetric quasi-definite matrix, in the order that `ordering.analyse` found.

With B the stored block of row i in column k and D the (updated) diagonal block of k, the factor is X = B D⁻¹, and the
elimination of k subtracts X_i B_jᵀ from every later block (i, j). The inverses of the small diagonal blocks are kept,
so that a solution is products only.
"""

from ..jit import njit
from .block import invert, product, subtract_product_t


@njit
def factor(columns, entries, updates, values, lower, scale):
    """Factor in place: `values` holds the blocks on entry; D⁻¹ and B afterwards, and `lower` the factor X.

    `scale` holds, for each scalar row, the size its pivot would have without the others. Returns the smallest
    |pivot| / scale (1: independent rows; 0: linearly dependent, or not a number).
    """
    smallest = 1.0
    for k in range(columns.shape[0]):
        column = columns[k]
        size = column.width
        ratio = invert(values, column.pivot, size, scale, column.x)
        if ratio < smallest:
            smallest = ratio
            if ratio == 0.0:
                return 0.0
        for e in range(column.first, column.last):
            entry = entries[e]
            product(lower, entry.offset, values, entry.offset, values, column.pivot, entry.rows, size)
        for u in range(column.first_update, column.last_update):
            update = updates[u]
            subtract_product_t(
                values, update.target, lower, update.left, update.rows, values, update.right, update.columns, size
            )
    return smallest


@njit
def solve(columns, entries, values, lower, x):
    """Solve in place with the factors of `factor`; x holds the right-hand side on entry."""
    for k in range(columns.shape[0]):
        column = columns[k]
        size, at = column.width, column.x
        for e in range(column.first, column.last):
            entry = entries[e]
            for i in range(entry.rows):
                s = 0.0
                for j in range(size):
                    s += lower[entry.offset + size * i + j] * x[at + j]
                x[entry.x + i] -= s
    for k in range(columns.shape[0] - 1, -1, -1):
        column = columns[k]
        size, at = column.width, column.x
        _apply_inverse(values, column.pivot, size, x, at)
        for e in range(column.first, column.last):
            entry = entries[e]
            for i in range(entry.rows):
                xi = x[entry.x + i]
                for j in range(size):
                    x[at + j] -= lower[entry.offset + size * i + j] * xi


@njit
def _apply_inverse(values, offset, size, x, at):
    """x ← D⁻¹ x for one block of at most six rows."""
    x0 = x[at]
    x1 = x[at + 1] if size > 1 else 0.0
    x2 = x[at + 2] if size > 2 else 0.0
    x3 = x[at + 3] if size > 3 else 0.0
    x4 = x[at + 4] if size > 4 else 0.0
    x5 = x[at + 5] if size > 5 else 0.0
    for i in range(size):
        row = offset + size * i
        s = values[row] * x0
        if size > 1:
            s += values[row + 1] * x1
        if size > 2:
            s += values[row + 2] * x2
        if size > 3:
            s += values[row + 3] * x3 + (values[row + 4] * x4 if size > 4 else 0.0)
        if size > 5:
            s += values[row + 5] * x5
        x[at + i] = s
