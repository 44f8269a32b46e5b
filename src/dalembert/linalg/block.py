"""Small dense blocks inside flat arrays: products, and the inverse of a symmetric definite block.

Blocks are row-major at an offset. Sizes up to 6 occur; 3 (a ball joint) is by far the most frequent, so it has its own
loops, whose constant bounds the compiler unrolls.
"""

from ..jit import njit


@njit
def add_product_6(c, oc, a, oa, rows, b, ob, columns):
    """C += A Bᵀ with A (rows × 6) and B (columns × 6): the assembly of J W Jᵀ."""
    if rows == 3 and columns == 3:
        for i in range(3):
            for j in range(3):
                s = 0.0
                for k in range(6):
                    s += a[oa + 6 * i + k] * b[ob + 6 * j + k]
                c[oc + 3 * i + j] += s
        return
    for i in range(rows):
        for j in range(columns):
            s = 0.0
            for k in range(6):
                s += a[oa + 6 * i + k] * b[ob + 6 * j + k]
            c[oc + columns * i + j] += s


@njit
def product(c, oc, a, oa, d, od, rows, size):
    """C = A D with A (rows × size) and D (size × size)."""
    if rows == 3 and size == 3:
        for i in range(3):
            for j in range(3):
                s = 0.0
                for k in range(3):
                    s += a[oa + 3 * i + k] * d[od + 3 * k + j]
                c[oc + 3 * i + j] = s
        return
    for i in range(rows):
        for j in range(size):
            s = 0.0
            for k in range(size):
                s += a[oa + size * i + k] * d[od + size * k + j]
            c[oc + size * i + j] = s


@njit
def subtract_product_t(c, oc, a, oa, rows, b, ob, columns, size):
    """C −= A Bᵀ with A (rows × size) and B (columns × size)."""
    if rows == 3 and columns == 3 and size == 3:
        for i in range(3):
            for j in range(3):
                s = 0.0
                for k in range(3):
                    s += a[oa + 3 * i + k] * b[ob + 3 * j + k]
                c[oc + 3 * i + j] -= s
        return
    for i in range(rows):
        for j in range(columns):
            s = 0.0
            for k in range(size):
                s += a[oa + size * i + k] * b[ob + size * j + k]
            c[oc + columns * i + j] -= s


@njit
def _sweep(d, o, size, scale, scale_at):
    smallest = 1.0
    for p in range(size):
        pivot = d[o + size * p + p]
        ratio = abs(pivot) / scale[scale_at + p]
        if not ratio > 0.0:
            return 0.0
        if ratio < smallest:
            smallest = ratio
        inverse = 1.0 / pivot
        for i in range(size):
            if i != p:
                factor = d[o + size * i + p] * inverse
                for j in range(size):
                    if j != p:
                        d[o + size * i + j] -= factor * d[o + size * p + j]
        for i in range(size):
            if i != p:
                d[o + size * i + p] *= inverse
                d[o + size * p + i] *= -inverse
        d[o + size * p + p] = inverse
    return smallest


@njit
def invert(d, o, size, scale, scale_at):
    """Replace a symmetric definite block by its inverse (Gauss–Jordan, pivots down the diagonal).

    Returns the smallest |pivot| / scale met, 0 when a pivot vanishes or is not a number: the measure of how nearly the
    block depends on those eliminated before it.
    """
    if size == 3:
        return _sweep(d, o, 3, scale, scale_at)
    if size == 5:
        return _sweep(d, o, 5, scale, scale_at)
    return _sweep(d, o, size, scale, scale_at)
