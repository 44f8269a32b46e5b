"""LDLᵀ of a symmetric matrix that gains and loses rows: each costs O(k²) for k rows.

The transposed factor is kept, U = Lᵀ with D on its diagonal, row-major at an offset of a flat array with a leading
dimension: then elimination, and the change when a row is taken out, run along rows.

A new last row (α, aᵀ) of the matrix needs L D l = a and the pivot δ = α − lᵀ D l. Without row and column j, the part of the
factor after j has to become that of L₃ D₃ L₃ᵀ + d_j l lᵀ with l the old column j: an update by a positive term, which
loses no accuracy (Gill, Golub, Murray & Saunders 1974, method C1).
"""

from ..jit import inlined, njit
from ..unchecked import peek, poke


@inlined
def dot(a, oa, b, ob, count):
    """Σ a b in four partial sums, which the processor adds side by side."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = count - count % 4
    for i in range(0, whole, 4):
        s0 += peek(a, oa + i) * peek(b, ob + i)
        s1 += peek(a, oa + i + 1) * peek(b, ob + i + 1)
        s2 += peek(a, oa + i + 2) * peek(b, ob + i + 2)
        s3 += peek(a, oa + i + 3) * peek(b, ob + i + 3)
    for i in range(whole, count):
        s0 += peek(a, oa + i) * peek(b, ob + i)
    return (s0 + s1) + (s2 + s3)


@inlined
def add_multiple(a, oa, b, ob, factor, count):
    """a += factor b."""
    for i in range(count):
        poke(a, oa + i, peek(a, oa + i) + factor * peek(b, ob + i))


@njit
def eliminate(u, o, stride, k, y):
    """y ← l with L D l = y (y lies in the same array as U). Returns lᵀ D l."""
    for c in range(k - 1):
        add_multiple(u, y + c + 1, u, o + c * stride + c + 1, -u[y + c], k - c - 1)
    square = 0.0
    for c in range(k):
        value = u[y + c] / u[o + c * stride + c]
        square += value * u[y + c]
        u[y + c] = value
    return square


@njit
def substitute(u, o, stride, k, x):
    """x ← Lᵀ⁻¹ x (x lies in the same array as U)."""
    for c in range(k - 2, -1, -1):
        u[x + c] -= dot(u, o + c * stride + c + 1, u, x + c + 1, k - c - 1)


@njit
def append(u, o, stride, k, y, pivot):
    """Row k of the factor: l (from `eliminate`) and its pivot."""
    for c in range(k):
        u[o + c * stride + k] = u[y + c]
    u[o + k * stride + k] = pivot


@njit
def remove(u, o, stride, k, j, y):
    """Take out row j of k. `y` is the place of k numbers of scratch in the same array."""
    for c in range(j):
        row = o + c * stride
        for r in range(j, k - 1):
            u[row + r] = u[row + r + 1]
    weight = u[o + j * stride + j]
    for r in range(j + 1, k):
        u[y + r] = u[o + j * stride + r]
    for c in range(j + 1, k):
        old, new = o + c * stride, o + (c - 1) * stride - 1
        p, pivot = u[y + c], u[old + c]
        larger = pivot + weight * p * p
        beta = weight * p / larger
        weight *= pivot / larger
        u[new + c] = larger
        for r in range(c + 1, k):
            rest = peek(u, y + r) - p * peek(u, old + r)
            poke(u, y + r, rest)
            poke(u, new + r, peek(u, old + r) + beta * rest)
