"""A few linear equations in scratch, which may depend on each other."""

from ..jit import njit

NEGLIGIBLE = 1e-11  # of the largest coefficient: a smaller pivot counts as zero


@njit
def solve_small(a, at, n):
    """Solve n equations by Gauss–Jordan elimination with complete pivoting; unknowns that they leave open are zero.

    a[at :] holds n rows of n coefficients and the right-hand side; the solution is written after them. n is at most 8.
    """
    width = n + 1
    solution = at + n * width
    largest = 0.0
    for i in range(n):
        a[solution + i] = 0.0
        for j in range(n):
            largest = max(largest, abs(a[at + width * i + j]))
    rows = 0  # bit i: row i has had its pivot
    owner = 0  # three bits a column: the row of its pivot
    taken = 0
    for _ in range(n):
        row, column = -1, -1
        pivot = NEGLIGIBLE * largest
        for i in range(n):
            for j in range(n):
                size = abs(a[at + width * i + j])
                if rows >> i & 1 == 0 and taken >> j & 1 == 0 and size > pivot:
                    row, column, pivot = i, j, size
        if row < 0:
            break
        rows |= 1 << row
        taken |= 1 << column
        owner |= row << 3 * column
        for i in range(n):
            if i != row:
                factor = a[at + width * i + column] / a[at + width * row + column]
                for j in range(width):
                    a[at + width * i + j] -= factor * a[at + width * row + j]
    for j in range(n):
        if taken >> j & 1 == 1:
            row = owner >> 3 * j & 7
            a[solution + j] = a[at + width * row + n] / a[at + width * row + j]
