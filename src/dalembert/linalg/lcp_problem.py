"""What the parts of Dantzig's algorithm share: where the numbers of a problem lie, what a result may be, and its test.

The problem is that of `lcp_dantzig`: f and a = A f + b with lower ≤ f ≤ upper. The matrix is symmetric, so that its rows are
taken for its columns: a sum of columns runs along rows, four at a time.

Workspace: `work` of `work_size(n)` floats, rows of n numbers (B, LOWER, UPPER given; F, A found) and the factor;
`ints` of `ints_size(n)`: the state of each index, the members of C in the order of the factor, and how many they are. With
friction, COUPLED is 1, and SLOPE, SIDE and OWNER are given (`lcp_friction`); else these need not be set.
"""

import math

from ..jit import inlined, njit
from ..lanes import larger4, peek4, plus4, poke4, spread, times4
from ..unchecked import peek, poke

# Rows of `work`; the factor comes after them.
B, LOWER, UPPER, F, A, SIZE, Y, X, DF, DA, RISE, FALL, GAIN, ZERO, SLOPE, SIDE, TIED, FACTOR = range(18)
# Blocks of `ints`.
STATE, ORDER, OWNER, PIVOTS, COUNT = range(5)
COUPLED = 1  # after COUNT: whether there is friction
WAITING, OUTSIDE, CLAMPED, IGNORED, DRIVEN = range(5)

OK, INFEASIBLE, NOT_SEMIDEFINITE, STALLED, INACCURATE = range(5)

ROUNDING = 2e-14  # see `lcp_dantzig`
SATISFIED = 1e-12  # an acceleration this small beside the terms it is the sum of is zero


def work_size(n: int) -> int:
    """How many float64 a problem of n unknowns takes."""
    return FACTOR * n + 2 * n * n


def ints_size(n: int) -> int:
    """How many int64 a problem of n unknowns takes."""
    return COUNT * n + 2


@inlined
def add_four(target, o, before, source, c, d, e, g, p, q, r, s, count):
    """Row o becomes row `before` plus multiples p, q, r, s of the rows at c, d, e, g, all loaded and stored but once."""
    whole = count - count % 4
    for i in range(0, whole, 4):
        first = plus4(times4(spread(p), peek4(source, c + i)), times4(spread(q), peek4(source, d + i)))
        second = plus4(times4(spread(r), peek4(source, e + i)), times4(spread(s), peek4(source, g + i)))
        poke4(target, o + i, plus4(peek4(target, before + i), plus4(first, second)))
    for i in range(whole, count):
        first = p * peek(source, c + i) + q * peek(source, d + i)
        second = r * peek(source, e + i) + s * peek(source, g + i)
        poke(target, o + i, peek(target, before + i) + (first + second))


@njit
def accelerations(n, matrix, stride, work, sizes):
    """a = A f + b into A, and the sums of the sizes of the terms into the row `sizes`."""
    a, sizes = A * n, sizes * n
    for i in range(n):
        b = peek(work, B * n + i)
        poke(work, a + i, b)
        poke(work, sizes + i, abs(b))
    for j in range(0, n, 2):
        k = min(j + 1, n - 1)
        p, q = work[F * n + j], work[F * n + k] if k > j else 0.0
        if p != 0.0 or q != 0.0:
            j, k = j * stride, k * stride
            for i in range(0, n - n % 4, 4):
                first, second = times4(spread(p), peek4(matrix, j + i)), times4(spread(q), peek4(matrix, k + i))
                both = plus4(larger4(first, times4(spread(-1.0), first)), larger4(second, times4(spread(-1.0), second)))
                poke4(work, a + i, plus4(peek4(work, a + i), plus4(first, second)))
                poke4(work, sizes + i, plus4(peek4(work, sizes + i), both))
            for i in range(n - n % 4, n):
                first, second = p * peek(matrix, j + i), q * peek(matrix, k + i)
                poke(work, a + i, peek(work, a + i) + (first + second))
                poke(work, sizes + i, peek(work, sizes + i) + (abs(first) + abs(second)))


@njit
def acceleration(n, matrix, stride, work, i):
    """(A f + b)_i and the sum of the sizes of its terms."""
    value, size = work[B * n + i], abs(work[B * n + i])
    for j in range(n):
        term = matrix[i * stride + j] * work[F * n + j]
        value += term
        size += abs(term)
    return value, size


@njit
def violation(n, matrix, stride, work):
    """Find a everywhere. Returns how far the conditions are violated at most, beside the terms that a is the sum of; what is
    less than SATISFIED is not told apart."""
    accelerations(n, matrix, stride, work, DF)
    worst = SATISFIED
    for i in range(n):
        a, scale = work[A * n + i], work[DF * n + i]
        if not scale < math.inf:
            return math.inf
        lower, f, upper = work[LOWER * n + i], work[F * n + i], work[UPPER * n + i]
        if abs(a) > worst * scale and lower != upper and ((a < 0.0 and f < upper) or (a > 0.0 and f > lower)):
            worst = abs(a) / scale
    return worst
