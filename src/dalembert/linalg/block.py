"""Small dense blocks inside flat arrays: products, and the inverse of a symmetric definite block.

Blocks are row-major at an offset. Sizes up to 6 occur; 3 (a ball joint) is by far the most frequent, so it is written out
in scalars: the compiler cannot know that two arrays do not overlap, and would load them again after every store. For 5 (a
hinge) it is told the size, so that it can unroll the loops.
"""

from ..jit import inlined, njit
from ..unchecked import peek, poke


@inlined
def load_3x3(a, o):
    return (
        peek(a, o), peek(a, o + 1), peek(a, o + 2), peek(a, o + 3), peek(a, o + 4), peek(a, o + 5), peek(a, o + 6),
        peek(a, o + 7), peek(a, o + 8),
    )  # fmt: skip


@inlined
def load_6(a, o):
    return (peek(a, o), peek(a, o + 1), peek(a, o + 2), peek(a, o + 3), peek(a, o + 4), peek(a, o + 5))


@inlined
def product(c, oc, a, oa, d, od, rows, size):
    """C = A D with A (rows × size) and D (size × size)."""
    if rows == 3 and size == 3:
        m = load_3x3(d, od)
        for i in range(3):
            x, y, z = peek(a, oa + 3 * i), peek(a, oa + 3 * i + 1), peek(a, oa + 3 * i + 2)
            poke(c, oc + 3 * i, x * m[0] + y * m[3] + z * m[6])
            poke(c, oc + 3 * i + 1, x * m[1] + y * m[4] + z * m[7])
            poke(c, oc + 3 * i + 2, x * m[2] + y * m[5] + z * m[8])
    elif size == 5:
        _product(c, oc, a, oa, d, od, rows, 5)
    else:
        _product(c, oc, a, oa, d, od, rows, size)


@inlined
def _product(c, oc, a, oa, d, od, rows, size):
    for i in range(rows):
        for j in range(size):
            s = 0.0
            for k in range(size):
                s += peek(a, oa + size * i + k) * peek(d, od + size * k + j)
            poke(c, oc + size * i + j, s)


@inlined
def subtract_product_t(c, oc, a, oa, rows, b, ob, columns, size):
    """C −= A Bᵀ with A (rows × size) and B (columns × size)."""
    if rows == 3 and columns == 3 and size == 3:
        m = load_3x3(b, ob)
        for i in range(3):
            x, y, z = peek(a, oa + 3 * i), peek(a, oa + 3 * i + 1), peek(a, oa + 3 * i + 2)
            at = oc + 3 * i
            poke(c, at, peek(c, at) - (x * m[0] + y * m[1] + z * m[2]))
            poke(c, at + 1, peek(c, at + 1) - (x * m[3] + y * m[4] + z * m[5]))
            poke(c, at + 2, peek(c, at + 2) - (x * m[6] + y * m[7] + z * m[8]))
    elif size == 5:
        _subtract_product_t(c, oc, a, oa, rows, b, ob, columns, 5)
    else:
        _subtract_product_t(c, oc, a, oa, rows, b, ob, columns, size)


@inlined
def _subtract_product_t(c, oc, a, oa, rows, b, ob, columns, size):
    for i in range(rows):
        for j in range(columns):
            s = 0.0
            for k in range(size):
                s += peek(a, oa + size * i + k) * peek(b, ob + size * j + k)
            at = oc + columns * i + j
            poke(c, at, peek(c, at) - s)


@inlined
def _sweep(d, o, size, scale, scale_at):
    smallest = 1.0
    for p in range(size):
        pivot = peek(d, o + size * p + p)
        ratio = abs(pivot) / peek(scale, scale_at + p)
        if not ratio > 0.0:
            return 0.0
        if ratio < smallest:
            smallest = ratio
        inverse = 1.0 / pivot
        for i in range(size):
            if i != p:
                factor = peek(d, o + size * i + p) * inverse
                for j in range(size):
                    if j != p:
                        at = o + size * i + j
                        poke(d, at, peek(d, at) - factor * peek(d, o + size * p + j))
        for i in range(size):
            if i != p:
                poke(d, o + size * i + p, peek(d, o + size * i + p) * inverse)
                poke(d, o + size * p + i, peek(d, o + size * p + i) * -inverse)
        poke(d, o + size * p + p, inverse)
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
    a, b, c = peek(d, o), peek(d, o + 1), peek(d, o + 2)
    e, f, i = peek(d, o + 4), peek(d, o + 5), peek(d, o + 8)
    minor = a * e - b * b
    c00, c01, c02 = e * i - f * f, c * f - b * i, b * f - c * e
    determinant = a * c00 + b * c01 + c * c02
    inverse = 1.0 / determinant
    c12 = (b * c - a * f) * inverse
    c01 *= inverse
    c02 *= inverse
    poke(d, o, c00 * inverse)
    poke(d, o + 1, c01)
    poke(d, o + 2, c02)
    poke(d, o + 3, c01)
    poke(d, o + 4, (a * i - c * c) * inverse)
    poke(d, o + 5, c12)
    poke(d, o + 6, c02)
    poke(d, o + 7, c12)
    poke(d, o + 8, minor * inverse)
    # The smallest of |a| / s_0, |minor / a| / s_1 and |determinant / minor| / s_2, kept as a fraction: one division.
    a, minor = abs(a), abs(minor)
    over, under = a, peek(scale, scale_at)
    if not minor * under >= over * (a * peek(scale, scale_at + 1)):
        over, under = minor, a * peek(scale, scale_at + 1)
    if not abs(determinant) * under >= over * (minor * peek(scale, scale_at + 2)):
        over, under = abs(determinant), minor * peek(scale, scale_at + 2)
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
