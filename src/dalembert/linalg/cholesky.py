"""Cholesky factor of a small dense symmetric matrix, in flat arrays at offsets; rows are `stride` apart.

Row by row, so that the factor of a leading block is the leading block of the factor.
"""

import math

from ..jit import njit
from ..unchecked import peek, poke


@njit
def factorize(n, a, o, stride, scale, least):
    """The lower triangle of A = L Lᵀ in place. Returns −1, or the first row whose pivot is within `least` times its scale
    (float64[n]) of zero, or below. What is not a number goes through."""
    for i in range(n):
        row = o + i * stride
        for j in range(i):
            other = o + j * stride
            value = peek(a, row + j)
            for k in range(j):
                value -= peek(a, row + k) * peek(a, other + k)
            poke(a, row + j, value / peek(a, other + j))
        value = peek(a, row + i)
        for k in range(i):
            value -= peek(a, row + k) * peek(a, row + k)
        if value <= least * scale[i]:
            return i
        poke(a, row + i, math.sqrt(value))
    return -1


@njit
def forward(n, a, o, stride, x, at):
    """x ← L⁻¹ x, from `at`."""
    for i in range(n):
        value = peek(x, at + i)
        for k in range(i):
            value -= peek(a, o + i * stride + k) * peek(x, at + k)
        poke(x, at + i, value / peek(a, o + i * stride + i))


@njit
def backward(n, a, o, stride, x, at):
    """x ← L⁻ᵀ x, from `at`."""
    for i in range(n - 1, -1, -1):
        value = peek(x, at + i)
        for k in range(i + 1, n):
            value -= peek(a, o + k * stride + i) * peek(x, at + k)
        poke(x, at + i, value / peek(a, o + i * stride + i))
