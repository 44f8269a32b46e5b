"""Block LDLᵀ of a symmetric quasi-definite matrix: `factor` and `solve`, then products with one block, and its inverse.

Blocks are row-major at an offset of a flat array, in the order of `ordering.analyse`. With B the stored block of row
i in column k and D the (updated) diagonal block of k, the factor is X = B D⁻¹, and the elimination of k subtracts X_i B_jᵀ
from every later block (i, j). The inverses of the small diagonal blocks are stored, so that a solution is products only.

Blocks have up to 6 rows; 3 (a ball joint) is by far the most frequent, so it is written out in scalars: the compiler cannot
know that two arrays do not overlap, and would load them again after every store. 5 (a hinge) is a constant in its own branch,
so that the compiler unrolls the loops.
"""

from ..core.jit import inlined, njit
from ..core.simd import load, store


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
        eliminate(column, entries, updates, values, lower)
    return smallest


@inlined
def eliminate(column, entries, updates, values, lower):
    """Eliminate a column whose block on the diagonal is inverted."""
    for e in range(column.first, column.last):
        entry = entries[e]
        product(lower, entry.offset, values, entry.offset, values, column.pivot, entry.rows, column.width)
    for u in range(column.first_update, column.last_update):
        update = updates[u]
        subtract_product_t(
            values, update.target, lower, update.left, update.rows, values, update.right, update.columns, column.width
        )


@njit
def factor_independent(columns, entries, updates, values, lower, scale, independent, least):
    """`factor` of the rows that are `independent`; `solve` gives the others zero. least > 0: find out first which are, those
    with a larger |pivot| / scale. Returns the smallest of theirs."""
    smallest = 1.0
    for k in range(columns.shape[0]):
        column = columns[k]
        ratio = invert_independent(values, column.pivot, column.width, scale, column.x, independent, least)
        smallest = min(smallest, ratio)
        if ratio == 0.0:
            return 0.0
        eliminate(column, entries, updates, values, lower)
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


# Loads, sums and products of blocks ------------------------------------------------------------------------------------


@inlined
def load_3x3(a, o):
    """Nine numbers from o on: a 3×3 block, row by row."""
    return (
        load(a, o), load(a, o + 1), load(a, o + 2), load(a, o + 3), load(a, o + 4), load(a, o + 5), load(a, o + 6),
        load(a, o + 7), load(a, o + 8),
    )  # fmt: skip


@inlined
def load_6(a, o):
    """Six numbers from o on."""
    return (load(a, o), load(a, o + 1), load(a, o + 2), load(a, o + 3), load(a, o + 4), load(a, o + 5))


@inlined
def add_at(a, o, amount):
    """a[o] += amount."""
    store(a, o, load(a, o) + amount)


@inlined
def product(c, oc, a, oa, d, od, rows, size):
    """C = A D with A (rows × size) and D (size × size)."""
    if rows == 3 and size == 3:
        m = load_3x3(d, od)
        for i in range(3):
            x, y, z = load(a, oa + 3 * i), load(a, oa + 3 * i + 1), load(a, oa + 3 * i + 2)
            store(c, oc + 3 * i, x * m[0] + y * m[3] + z * m[6])
            store(c, oc + 3 * i + 1, x * m[1] + y * m[4] + z * m[7])
            store(c, oc + 3 * i + 2, x * m[2] + y * m[5] + z * m[8])
    elif size == 5:
        _product(c, oc, a, oa, d, od, rows, 5)
    else:
        _product(c, oc, a, oa, d, od, rows, size)


@inlined
def _product(c, oc, a, oa, d, od, rows, size):
    """`product` of any size."""
    for i in range(rows):
        for j in range(size):
            s = 0.0
            for k in range(size):
                s += load(a, oa + size * i + k) * load(d, od + size * k + j)
            store(c, oc + size * i + j, s)


@inlined
def subtract_product_t(c, oc, a, oa, rows, b, ob, columns, size):
    """C −= A Bᵀ with A (rows × size) and B (columns × size)."""
    if rows == 3 and columns == 3 and size == 3:
        m = load_3x3(b, ob)
        for i in range(3):
            x, y, z = load(a, oa + 3 * i), load(a, oa + 3 * i + 1), load(a, oa + 3 * i + 2)
            at = oc + 3 * i
            store(c, at, load(c, at) - (x * m[0] + y * m[1] + z * m[2]))
            store(c, at + 1, load(c, at + 1) - (x * m[3] + y * m[4] + z * m[5]))
            store(c, at + 2, load(c, at + 2) - (x * m[6] + y * m[7] + z * m[8]))
    elif size == 5:
        _subtract_product_t(c, oc, a, oa, rows, b, ob, columns, 5)
    else:
        _subtract_product_t(c, oc, a, oa, rows, b, ob, columns, size)


@inlined
def _subtract_product_t(c, oc, a, oa, rows, b, ob, columns, size):
    """`subtract_product_t` of any size."""
    for i in range(rows):
        for j in range(columns):
            s = 0.0
            for k in range(size):
                s += load(a, oa + size * i + k) * load(b, ob + size * j + k)
            at = oc + columns * i + j
            store(c, at, load(c, at) - s)


@inlined
def subtract_times(a, o, rows, size, x, source, target):
    """x[target] −= A x[source] with A (rows × size)."""
    if rows == 3 and size == 3:
        m = load_3x3(a, o)
        u, v, w = load(x, source), load(x, source + 1), load(x, source + 2)
        store(x, target, load(x, target) - (m[0] * u + m[1] * v + m[2] * w))
        store(x, target + 1, load(x, target + 1) - (m[3] * u + m[4] * v + m[5] * w))
        store(x, target + 2, load(x, target + 2) - (m[6] * u + m[7] * v + m[8] * w))
    elif size == 5:
        _subtract_times(a, o, rows, 5, x, source, target)
    else:
        _subtract_times(a, o, rows, size, x, source, target)


@inlined
def _subtract_times(a, o, rows, size, x, source, target):
    """`subtract_times` of any size."""
    for i in range(rows):
        s = 0.0
        for j in range(size):
            s += load(a, o + size * i + j) * load(x, source + j)
        store(x, target + i, load(x, target + i) - s)


@inlined
def subtract_transposed_times(a, o, rows, size, x, source, target):
    """x[target] −= Aᵀ x[source] with A (rows × size)."""
    if rows == 3 and size == 3:
        m = load_3x3(a, o)
        u, v, w = load(x, source), load(x, source + 1), load(x, source + 2)
        store(x, target, load(x, target) - (m[0] * u + m[3] * v + m[6] * w))
        store(x, target + 1, load(x, target + 1) - (m[1] * u + m[4] * v + m[7] * w))
        store(x, target + 2, load(x, target + 2) - (m[2] * u + m[5] * v + m[8] * w))
    elif size == 5:
        _subtract_transposed_times(a, o, rows, 5, x, source, target)
    else:
        _subtract_transposed_times(a, o, rows, size, x, source, target)


@inlined
def _subtract_transposed_times(a, o, rows, size, x, source, target):
    """`subtract_transposed_times` of any size."""
    for j in range(size):
        s = 0.0
        for i in range(rows):
            s += load(a, o + size * i + j) * load(x, source + i)
        store(x, target + j, load(x, target + j) - s)


@inlined
def apply_inverse(values, o, size, x, at):
    """x ← D⁻¹ x for one block of at most six rows."""
    u, v, w = x[at], 0.0, 0.0
    if size == 3:
        m = load_3x3(values, o)
        v, w = load(x, at + 1), load(x, at + 2)
        store(x, at, m[0] * u + m[1] * v + m[2] * w)
        store(x, at + 1, m[3] * u + m[4] * v + m[5] * w)
        store(x, at + 2, m[6] * u + m[7] * v + m[8] * w)
        return
    p, q, r = 0.0, 0.0, 0.0
    if size > 1:
        v = load(x, at + 1)
    if size > 2:
        w = load(x, at + 2)
    if size > 3:
        p = load(x, at + 3)
    if size > 4:
        q = load(x, at + 4)
    if size == 5:
        for i in range(5):
            k = o + 5 * i
            s = load(values, k) * u + load(values, k + 1) * v + load(values, k + 2) * w
            store(x, at + i, s + (load(values, k + 3) * p + load(values, k + 4) * q))
        return
    if size > 5:
        r = load(x, at + 5)
    rest = (u, v, w, p, q, r)
    for i in range(size):
        s = 0.0
        for j in range(size):
            s += load(values, o + size * i + j) * rest[j]
        store(x, at + i, s)


# The inverse of a diagonal block ---------------------------------------------------------------------------------------


@inlined
def _sweep(d, o, size, scale, scale_at):
    """`invert` of any size, by Gauss–Jordan sweeps."""
    smallest = 1.0
    for p in range(size):
        pivot = load(d, o + size * p + p)
        ratio = abs(pivot) / load(scale, scale_at + p)
        if not ratio > 0.0:
            return 0.0
        if ratio < smallest:
            smallest = ratio
        sweep_pivot(d, o, size, p)
    return smallest


@inlined
def sweep_pivot(d, o, size, p):
    """One Gauss–Jordan sweep, about pivot p."""
    inverse = 1.0 / load(d, o + size * p + p)
    for i in range(size):
        if i != p:
            factor = load(d, o + size * i + p) * inverse
            for j in range(size):
                if j != p:
                    at = o + size * i + j
                    store(d, at, load(d, at) - factor * load(d, o + size * p + j))
    for i in range(size):
        if i != p:
            store(d, o + size * i + p, load(d, o + size * i + p) * inverse)
            store(d, o + size * p + i, load(d, o + size * p + i) * -inverse)
    store(d, o + size * p + p, inverse)


@njit
def invert_independent(d, o, size, scale, scale_at, independent, least):
    """`invert` on the rows of a block that are independent, and zero on the others; see `factor_independent`. The largest
    pivots come first, so that of rows that depend on each other those are chosen that do so least."""
    swept, smallest = 0, 1.0
    for _ in range(size):
        p, best = -1, least
        for i in range(size):
            if (swept >> i) & 1 == 0 and (least > 0.0 or independent[scale_at + i] != 0):
                ratio = abs(load(d, o + size * i + i)) / load(scale, scale_at + i)
                if ratio > best:
                    p, best = i, ratio
        if p < 0:
            break
        smallest = min(smallest, best)
        swept |= 1 << p
        sweep_pivot(d, o, size, p)
    for p in range(size):
        chosen = (swept >> p) & 1
        if least > 0.0:
            independent[scale_at + p] = chosen
        if chosen != independent[scale_at + p]:
            smallest = 0.0
        if chosen == 0:
            for i in range(size):
                store(d, o + size * i + p, 0.0)
                store(d, o + size * p + i, 0.0)
    return smallest


@njit
def _sweep_5(d, o, scale, scale_at):
    return _sweep(d, o, 5, scale, scale_at)


@njit
def _sweep_any(d, o, size, scale, scale_at):
    return _sweep(d, o, size, scale, scale_at)


@inlined
def _invert_3(d, o, scale, scale_at):
    """By cofactors, from the upper triangle; the pivots of LDLᵀ are ratios of the leading minors."""
    a, b, c = load(d, o), load(d, o + 1), load(d, o + 2)
    e, f, i = load(d, o + 4), load(d, o + 5), load(d, o + 8)
    minor = a * e - b * b
    c00, c01, c02 = e * i - f * f, c * f - b * i, b * f - c * e
    determinant = a * c00 + b * c01 + c * c02
    inverse = 1.0 / determinant
    c12 = (b * c - a * f) * inverse
    c01 *= inverse
    c02 *= inverse
    store(d, o, c00 * inverse)
    store(d, o + 1, c01)
    store(d, o + 2, c02)
    store(d, o + 3, c01)
    store(d, o + 4, (a * i - c * c) * inverse)
    store(d, o + 5, c12)
    store(d, o + 6, c02)
    store(d, o + 7, c12)
    store(d, o + 8, minor * inverse)
    # The smallest of |a| / s_0, |minor / a| / s_1 and |determinant / minor| / s_2, as a fraction: one division.
    a, minor = abs(a), abs(minor)
    over, under = a, load(scale, scale_at)
    if not minor * under >= over * (a * load(scale, scale_at + 1)):
        over, under = minor, a * load(scale, scale_at + 1)
    if not abs(determinant) * under >= over * (minor * load(scale, scale_at + 2)):
        over, under = abs(determinant), minor * load(scale, scale_at + 2)
    smallest = over / under
    return min(smallest, 1.0) if smallest > 0.0 else 0.0


@inlined
def invert(d, o, size, scale, scale_at):
    """Replace a symmetric definite block by its inverse (Gauss–Jordan, pivots down the diagonal).

    Returns the smallest |pivot| / scale met, 0 when a pivot vanishes or is not a number: the measure of how nearly the
    block depends on those eliminated before it.
    """
    if size == 3:
        return _invert_3(d, o, scale, scale_at)
    if size == 5:
        return _sweep_5(d, o, scale, scale_at)
    return _sweep_any(d, o, size, scale, scale_at)
