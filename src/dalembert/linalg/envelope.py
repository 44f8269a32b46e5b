"""LU factorization of a matrix of 6×6 blocks inside its envelope (skyline), for systems of a few unknowns a body.

The pattern is symmetric, the values need not be: sliding friction makes them unsymmetric (see contact/interior_point). The
lower triangle is kept by rows and the upper one by columns, so that every inner product runs over two contiguous pieces:

    l_kj = (a_kj − Σ_m l_km u_mj) / u_jj,   u_jk = a_jk − Σ_m l_jm u_mk,   u_kk = a_kk − Σ_m l_km u_mk,   m from the
                                                                                        first column of rows j and k on.
Block row i has its columns first[i] … i, of which six scalar rows of width 6 (i − first[i] + 1) start at start[i] in the
lower half; the same place in the upper half (which starts at `half`) holds the column. A. George, J. Liu, 1981, ch. 4.
There are no row exchanges: but for sliding friction the caller's matrices are definite, and it refines and checks solutions.
"""

from ..jit import inlined, njit
from ..unchecked import peek, poke


@inlined
def place(first, start, row, column):
    """Where the block (row, column), column ≤ row, begins; its scalar rows are `row_width` apart."""
    return start[row] + 6 * (column - first[row])


@inlined
def row_width(first, row):
    return 6 * (row - first[row] + 1)


@njit
def two_dots(a, at_a, b, at_b, count, shift):
    """Σ a[at_a + m] b[at_b + shift + m] and Σ a[at_a + shift + m] b[at_b + m], in two partial sums each."""
    s0, s1, t0, t1 = 0.0, 0.0, 0.0, 0.0
    m = 0
    while m + 1 < count:
        s0 += peek(a, at_a + m) * peek(b, at_b + shift + m)
        t0 += peek(a, at_a + shift + m) * peek(b, at_b + m)
        s1 += peek(a, at_a + m + 1) * peek(b, at_b + shift + m + 1)
        t1 += peek(a, at_a + shift + m + 1) * peek(b, at_b + m + 1)
        m += 2
    if m < count:
        s0 += peek(a, at_a + m) * peek(b, at_b + shift + m)
        t0 += peek(a, at_a + shift + m) * peek(b, at_b + m)
    return s0 + s1, t0 + t1


@njit
def factor(rows, first, start, values, half):
    """Factor in place. Diagonals become 1/u_kk. Returns 0, or 1 where a pivot vanished or is not a number."""
    for i in range(rows):
        width = row_width(first, i)
        left = 6 * first[i]
        for r in range(6):
            row = start[i] + r * width
            k = 6 * i + r
            for j in range(left, k):
                block = j // 6
                begin = max(left, 6 * first[block])
                other = start[block] + (j - 6 * block) * row_width(first, block) - 6 * first[block]
                s, t = two_dots(values, row + begin - left, values, other + begin, j - begin, half)
                at = row + j - left
                poke(values, at, (peek(values, at) - s) * peek(values, other + j))
                poke(values, half + at, peek(values, half + at) - t)
            s, _ = two_dots(values, row, values, row, k - left, half)
            pivot = peek(values, row + k - left) - s
            if not abs(pivot) > 0.0:
                return 1
            poke(values, row + k - left, 1.0 / pivot)
    return 0


@njit
def solve(rows, first, start, values, half, x):
    """Solve in place with the factors of `factor`; x (6 rows) holds the right-hand side on entry."""
    for i in range(rows):
        left = 6 * first[i]
        for r in range(6):
            k = 6 * i + r
            row = start[i] + r * row_width(first, i) - left
            s, t = 0.0, 0.0
            for m in range(left, k - 1, 2):
                s += peek(values, row + m) * peek(x, m)
                t += peek(values, row + m + 1) * peek(x, m + 1)
            if (k - left) % 2 == 1:
                s += peek(values, row + k - 1) * peek(x, k - 1)
            poke(x, k, peek(x, k) - (s + t))
    for i in range(rows - 1, -1, -1):
        left = 6 * first[i]
        for r in range(5, -1, -1):
            k = 6 * i + r
            row = start[i] + r * row_width(first, i) - left
            value = peek(x, k) * peek(values, row + k)
            poke(x, k, value)
            for m in range(left, k):
                poke(x, m, peek(x, m) - peek(values, half + row + m) * value)
