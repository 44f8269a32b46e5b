"""LU of a small dense matrix with row pivoting, in flat arrays at offsets."""

from ..jit import njit
from ..unchecked import peek, poke


@njit
def factorize(n, a, o, pivots, q):
    """LU of the (n, n) matrix from o in place, its pivots from q. Returns 0, or 1 where a pivot is zero."""
    for k in range(n):
        p, best = k, abs(peek(a, o + k * n + k))
        for i in range(k + 1, n):
            if abs(peek(a, o + i * n + k)) > best:
                p, best = i, abs(peek(a, o + i * n + k))
        if not best > 0.0:
            return 1
        pivots[q + k] = p
        if p != k:
            for j in range(n):
                value = peek(a, o + k * n + j)
                poke(a, o + k * n + j, peek(a, o + p * n + j))
                poke(a, o + p * n + j, value)
        for i in range(k + 1, n):
            factor = peek(a, o + i * n + k) / peek(a, o + k * n + k)
            poke(a, o + i * n + k, factor)
            for j in range(k + 1, n):
                poke(a, o + i * n + j, peek(a, o + i * n + j) - factor * peek(a, o + k * n + j))
    return 0


@njit
def substitute(n, a, o, pivots, q, x, at):
    """Solve with these factors; the right side lies in x from `at`, and the solution takes its place."""
    for k in range(n):
        p = pivots[q + k]
        value = peek(x, at + k)
        poke(x, at + k, peek(x, at + p))
        poke(x, at + p, value)
    for i in range(n):
        value = peek(x, at + i)
        for j in range(i):
            value -= peek(a, o + i * n + j) * peek(x, at + j)
        poke(x, at + i, value)
    for i in range(n - 1, -1, -1):
        value = peek(x, at + i)
        for j in range(i + 1, n):
            value -= peek(a, o + i * n + j) * peek(x, at + j)
        poke(x, at + i, value / peek(a, o + i * n + i))
