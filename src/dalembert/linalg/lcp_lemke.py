"""Lemke's algorithm for a = A f + b ≥ 0, f ≥ 0, f·a = 0: complementary pivoting, for any square matrix A.

A covering variable z makes every b of a = b + A f + e z positive (e: all ones). It enters first, in place of the smallest b;
whichever variable then leaves the basis, its complement (f_i for a_i, a_i for f_i) enters next, until z leaves: that is
the solution. When nothing leaves the path ends on a ray; for a positive semidefinite A the problem then has no solution
(Cottle, Pang & Stone, The Linear Complementarity Problem, section 4.4).

The dictionary is condensed: rows are the basic variables as functions of the nonbasic ones, columns those, and a pivot
exchanges a row with a column, O(n²). Ties of the ratio test are resolved lexicographically, with the rows of the inverse
of the basis, so that no basis recurs (ibid., section 4.9). They can be read off the dictionary: the column of a_j is that of
−a_j where a_j is nonbasic, and a unit vector where it is basic.

Workspace: `table` of `table_size(n)` floats, n rows of (constant, n + 1 nonbasic variables); `names` of `names_size(n)`
int64: the basic variables by row, then the nonbasic ones by column. Variable i < n is a_i, n + i is f_i, 2n is z.
"""

import math

from ..jit import njit
from ..unchecked import peek, poke

OK, INFEASIBLE, STALLED, INACCURATE = 0, 1, 3, 4
PIVOTS = 50  # an unknown, at most
VANISHING = 1e-11  # an entry this small beside the largest of its column is zero
TIED = 1e-12
NEGLIGIBLE = 1e-12  # a covering variable this small beside its first value is zero
ACCURATE = 1e-10


def table_size(n: int) -> int:
    """How many float64 a problem of n unknowns takes."""
    return n * (n + 2)


def names_size(n: int) -> int:
    """How many int64 a problem of n unknowns takes."""
    return 2 * n + 1


@njit
def lemke(n, matrix, stride, b, table, names, f, a):
    """Solve; `matrix` is flat, row i from i * stride; b, f and a have n numbers. Returns a status."""
    row = start(n, matrix, stride, b, table, names)
    negligible = -NEGLIGIBLE * b[row] if row >= 0 else 0.0
    entering = 2 * n
    for _ in range(PIVOTS * (n + 1)):
        if row < 0:
            break
        column = 0
        while names[n + column] != entering:
            column += 1
        if entering != 2 * n:
            row = leaving_row(n, table, names, column)
            if row < 0:
                return INFEASIBLE
        leaving = names[row]
        exchange(n, table, names, row, column)
        if leaving == 2 * n or covering(n, table, names) <= negligible:
            row = -1
        entering = leaving + n if leaving < n else leaving - n
    if row >= 0:
        return STALLED
    return OK if read(n, matrix, stride, b, table, names, f, a) <= ACCURATE else INACCURATE


@njit
def covering(n, table, names):
    """The value of z. Where A is singular it may come to zero but for rounding, in the middle of a degenerate path."""
    for i in range(n):
        if names[i] == 2 * n:
            return table[i * (n + 2)]
    return 0.0


@njit
def start(n, matrix, stride, b, table, names):
    """The dictionary with every a basic. Returns the row of the smallest b, −1 when none is negative."""
    width = n + 2
    row, smallest = -1, 0.0
    for i in range(n):
        table[i * width] = b[i]
        for j in range(n):
            table[i * width + 1 + j] = matrix[i * stride + j]
        table[i * width + n + 1] = 1.0
        names[i] = i
        names[n + i] = n + i
        if b[i] < smallest:
            row, smallest = i, b[i]
    names[2 * n] = 2 * n
    return row


@njit
def leaving_row(n, table, names, column):
    """The basic variable that first comes to zero as the variable of `column` grows; z where it may; −1: none does."""
    width = n + 2
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(table[i * width + 1 + column]))
    row, least = -1, math.inf
    for i in range(n):
        slope = table[i * width + 1 + column]
        if slope < -VANISHING * largest:
            ratio = max(table[i * width], 0.0) / -slope
            if row < 0 or ratio < least * (1.0 - TIED):
                row, least = i, ratio
            elif ratio <= least * (1.0 + TIED) and names[row] != 2 * n:
                if names[i] == 2 * n or precedes(n, table, names, column, i, row):
                    row, least = i, min(ratio, least)
    return row


@njit
def precedes(n, table, names, column, i, j):
    """Whether row i of the inverse of the basis, over its slope, comes before row j lexicographically."""
    width = n + 2
    slope_i, slope_j = -table[i * width + 1 + column], -table[j * width + 1 + column]
    for k in range(n):
        place = 0
        while names[place] != k:
            place += 1
        if place < n:
            u, v = 1.0 if place == i else 0.0, 1.0 if place == j else 0.0
        else:
            u, v = -table[i * width + 1 + place - n], -table[j * width + 1 + place - n]
        u, v = u / slope_i, v / slope_j
        if abs(u - v) > TIED * (abs(u) + abs(v)):
            return u < v
    return False


@njit
def exchange(n, table, names, row, column):
    """The basic variable of `row` and the nonbasic one of `column` change places."""
    width = n + 2
    own, at = row * width, 1 + column
    inverse = 1.0 / table[own + at]
    for j in range(width):
        table[own + j] *= -inverse
    table[own + at] = inverse
    for i in range(n):
        factor = table[i * width + at]
        if i != row and factor != 0.0:
            table[i * width + at] = 0.0
            for j in range(width):
                poke(table, i * width + j, peek(table, i * width + j) + factor * peek(table, own + j))
    names[row], names[n + column] = names[n + column], names[row]


@njit
def read(n, matrix, stride, b, table, names, f, a):
    """f and a from the dictionary, corrected once by the residual of a = A f + b. Returns the largest violation of the
    conditions, each beside the terms that its a is the sum of.

    A residual r_j acts as if a_j were greater by it: through the column of a_j where that is nonbasic.
    """
    width = n + 2
    for i in range(n):
        f[i] = 0.0
    for i in range(n):
        if n <= names[i] < 2 * n:
            f[names[i] - n] = table[i * width]
    for c in range(n + 1):
        if names[n + c] < n:
            residual, _ = acceleration(n, matrix, stride, b, f, names[n + c])
            for i in range(n):
                table[i * width] -= table[i * width + 1 + c] * residual
    for i in range(n):
        if n <= names[i] < 2 * n:
            f[names[i] - n] = max(table[i * width], 0.0)
    worst = 0.0
    for i in range(n):
        a[i], scale = acceleration(n, matrix, stride, b, f, i)
        if not scale < math.inf:
            return math.inf
        if (a[i] < 0.0 or f[i] > 0.0) and abs(a[i]) > worst * scale:
            worst = abs(a[i]) / scale
    return worst


@njit
def acceleration(n, matrix, stride, b, f, i):
    """(A f + b)_i and the sum of the sizes of its terms."""
    value, size = b[i], abs(b[i])
    for j in range(n):
        term = matrix[i * stride + j] * f[j]
        value += term
        size += abs(term)
    return value, size
