"""Block LDLᵀ of a symmetric quasi-definite matrix, in the order that `ordering.analyse` found.

With B the stored block of row i in column k and D the (updated) diagonal block of k, the factor is X = B D⁻¹, and the
elimination of k subtracts X_i B_jᵀ from every later block (i, j). The inverses of the small diagonal blocks are kept,
so that a solution is products only.
"""

from ..jit import inlined, njit
from ..unchecked import peek, poke
from .block import invert, load_3x3, product, subtract_product_t


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
        for e in range(column.first, column.last):
            entry = entries[e]
            subtract_times(lower, entry.offset, entry.rows, column.width, x, column.x, entry.x)
    for k in range(columns.shape[0]):
        column = columns[k]
        apply_inverse(values, column.pivot, column.width, x, column.x)
    for k in range(columns.shape[0] - 1, -1, -1):
        column = columns[k]
        for e in range(column.first, column.last):
            entry = entries[e]
            subtract_transposed_times(lower, entry.offset, entry.rows, column.width, x, entry.x, column.x)


@inlined
def subtract_times(a, o, rows, size, x, source, target):
    """x[target] −= A x[source] with A (rows × size)."""
    if rows == 3 and size == 3:
        m = load_3x3(a, o)
        u, v, w = peek(x, source), peek(x, source + 1), peek(x, source + 2)
        poke(x, target, peek(x, target) - (m[0] * u + m[1] * v + m[2] * w))
        poke(x, target + 1, peek(x, target + 1) - (m[3] * u + m[4] * v + m[5] * w))
        poke(x, target + 2, peek(x, target + 2) - (m[6] * u + m[7] * v + m[8] * w))
    elif size == 5:
        _subtract_times(a, o, rows, 5, x, source, target)
    else:
        _subtract_times(a, o, rows, size, x, source, target)


@inlined
def _subtract_times(a, o, rows, size, x, source, target):
    for i in range(rows):
        s = 0.0
        for j in range(size):
            s += peek(a, o + size * i + j) * peek(x, source + j)
        poke(x, target + i, peek(x, target + i) - s)


@inlined
def subtract_transposed_times(a, o, rows, size, x, source, target):
    """x[target] −= Aᵀ x[source] with A (rows × size)."""
    if rows == 3 and size == 3:
        m = load_3x3(a, o)
        u, v, w = peek(x, source), peek(x, source + 1), peek(x, source + 2)
        poke(x, target, peek(x, target) - (m[0] * u + m[3] * v + m[6] * w))
        poke(x, target + 1, peek(x, target + 1) - (m[1] * u + m[4] * v + m[7] * w))
        poke(x, target + 2, peek(x, target + 2) - (m[2] * u + m[5] * v + m[8] * w))
    elif size == 5:
        _subtract_transposed_times(a, o, rows, 5, x, source, target)
    else:
        _subtract_transposed_times(a, o, rows, size, x, source, target)


@inlined
def _subtract_transposed_times(a, o, rows, size, x, source, target):
    for j in range(size):
        s = 0.0
        for i in range(rows):
            s += peek(a, o + size * i + j) * peek(x, source + i)
        poke(x, target + j, peek(x, target + j) - s)


@inlined
def apply_inverse(values, o, size, x, at):
    """x ← D⁻¹ x for one block of at most six rows."""
    u, v, w = x[at], 0.0, 0.0
    if size == 3:
        m = load_3x3(values, o)
        v, w = peek(x, at + 1), peek(x, at + 2)
        poke(x, at, m[0] * u + m[1] * v + m[2] * w)
        poke(x, at + 1, m[3] * u + m[4] * v + m[5] * w)
        poke(x, at + 2, m[6] * u + m[7] * v + m[8] * w)
        return
    p, q, r = 0.0, 0.0, 0.0
    if size > 1:
        v = peek(x, at + 1)
    if size > 2:
        w = peek(x, at + 2)
    if size > 3:
        p = peek(x, at + 3)
    if size > 4:
        q = peek(x, at + 4)
    if size == 5:
        for i in range(5):
            k = o + 5 * i
            s = peek(values, k) * u + peek(values, k + 1) * v + peek(values, k + 2) * w
            poke(x, at + i, s + (peek(values, k + 3) * p + peek(values, k + 4) * q))
        return
    if size > 5:
        r = peek(x, at + 5)
    rest = (u, v, w, p, q, r)
    for i in range(size):
        s = 0.0
        for j in range(size):
            s += peek(values, o + size * i + j) * rest[j]
        poke(x, at + i, s)
