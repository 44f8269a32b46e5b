"""The linear complementarity problem a = A f + b ≥ 0, f ≥ 0, f·a = 0: Lemke's algorithm, and both algorithms from Python
(`lcp`, `lcp_with_friction`); Dantzig's algorithm is in `lcp_dantzig`."""

import math

import numpy as np
from numpy.typing import ArrayLike

from ..core.jit import njit
from ..core.kernel import array, kernel, out
from ..core.simd import load, store
from . import lcp_dantzig as lcp_problem
from .lcp_dantzig import INACCURATE, INFEASIBLE, NOT_SEMIDEFINITE, OK, STALLED, dantzig

# Lemke's algorithm for a = A f + b ≥ 0, f ≥ 0, f·a = 0: complementary pivoting, for any square matrix A ----------------
#
# A covering variable z makes every b of a = b + A f + e z positive (e: all ones). It enters first, in place of the smallest
# b; whichever variable then leaves the basis, its complement (f_i for a_i, a_i for f_i) enters next, until z leaves: that
# is the solution. When nothing leaves the path ends on a ray; for a positive semidefinite A the problem then has no
# solution (Cottle, Pang & Stone, The Linear Complementarity Problem, section 4.4).
#
# The dictionary is condensed: rows are the basic variables as functions of the nonbasic ones, columns those, and a pivot
# exchanges a row with a column, O(n²). Ties of the ratio test are resolved lexicographically, with the rows of the inverse
# of the basis, so that no basis recurs (ibid., section 4.9). They can be read off the dictionary: the column of a_j is that
# of −a_j where a_j is nonbasic, and a unit vector where it is basic.
#
# Workspace: `table` of `table_size(n)` floats, n rows of (constant, n + 1 nonbasic variables); `names` of `names_size(n)`
# int64: the basic variables by row, then the nonbasic ones by column. Variable i < n is a_i, n + i is f_i, 2n is z.


MOST_PIVOTS = 50  # for each unknown
VANISHING = 1e-11  # of the largest entry of its column: a smaller entry is zero
TIE = 1e-12  # relative: ratios that differ by less are equal
NEGLIGIBLE = 1e-12  # of its first value: a smaller covering variable is zero
ACCURATE = 1e-10  # the largest violation of a result, relative to the sizes of the terms of a


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
    for _ in range(MOST_PIVOTS * (n + 1)):
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
    """The row of the basic variable that first becomes zero as the variable of `column` grows, that of z among equals; −1 for
    none."""
    width = n + 2
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(table[i * width + 1 + column]))
    row, least = -1, math.inf
    for i in range(n):
        slope = table[i * width + 1 + column]
        if slope < -VANISHING * largest:
            ratio = max(table[i * width], 0.0) / -slope
            if row < 0 or ratio < least * (1.0 - TIE):
                row, least = i, ratio
            elif ratio <= least * (1.0 + TIE) and names[row] != 2 * n:
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
        if abs(u - v) > TIE * (abs(u) + abs(v)):
            return u < v
    return False


@njit
def exchange(n, table, names, row, column):
    """Exchange the basic variable of `row` and the nonbasic one of `column`."""
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
                store(table, i * width + j, load(table, i * width + j) + factor * load(table, own + j))
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
            residual, _ = row_acceleration(n, matrix, stride, b, f, names[n + c])
            for i in range(n):
                table[i * width] -= table[i * width + 1 + c] * residual
    for i in range(n):
        if n <= names[i] < 2 * n:
            f[names[i] - n] = max(table[i * width], 0.0)
    worst = 0.0
    for i in range(n):
        a[i], scale = row_acceleration(n, matrix, stride, b, f, i)
        if not scale < math.inf:
            return math.inf
        if (a[i] < 0.0 or f[i] > 0.0) and abs(a[i]) > worst * scale:
            worst = abs(a[i]) / scale
    return worst


@njit
def row_acceleration(n, matrix, stride, b, f, i):
    """(A f + b)_i and the sum of the sizes of its terms."""
    value, size = b[i], abs(b[i])
    for j in range(n):
        term = matrix[i * stride + j] * f[j]
        value += term
        size += abs(term)
    return value, size


# From Python -----------------------------------------------------------------------------------------------------------

METHODS = ("dantzig", "lemke")
MESSAGES = {
    OK: "solved",
    INFEASIBLE: "no solution was found: no f >= 0 makes a >= 0 (for a positive semidefinite A that is proven)",
    NOT_SEMIDEFINITE: "A is not positive semidefinite; method='lemke' accepts any matrix",
    STALLED: "the largest number of changes was reached, possibly because of rounding in a nearly singular A; "
    "try the other method",
    INACCURATE: "the result violates the conditions by more than 1e-10: A is too badly conditioned; try the other method",
}
SYMMETRIC = 1e-12  # relative to the largest entry


@kernel
def _dantzig(n: int, matrix: array(), stride: int, work: out(), ints: out(1, np.int64)) -> int:
    """`dantzig` from Python."""
    return dantzig(n, matrix, stride, work, ints)


@kernel
def _lemke(
    n: int, matrix: array(), stride: int, b: array(), table: out(), names: out(1, np.int64), f: out(), a: out()
) -> int:
    """`lemke` from Python."""
    return lemke(n, matrix, stride, b, table, names, f, a)


KERNELS = (_dantzig, _lemke)


def lcp(A: ArrayLike, b: ArrayLike, method: str = "dantzig") -> tuple[np.ndarray, int]:
    """Find f (n,) with a = A f + b ≥ 0, f ≥ 0 and f·a = 0, for A (n, n) and b (n,).

    Returns (f, status); the status is one of OK, INFEASIBLE, NOT_SEMIDEFINITE, STALLED and INACCURATE, which `MESSAGES`
    explains, and f is a solution when it is OK: then a is zero or positive as it should be to 1e-10 of the terms that it is
    the sum of. Where A is singular f need not be unique, but a is.

    "dantzig" (Baraff, Fast contact force computation for nonpenetrating rigid bodies, SIGGRAPH 1994, section 4) is for
    symmetric positive semidefinite A, such as the J W Jᵀ of contacts; "lemke" for any A.

    Raises ValueError: unknown method, sizes that do not fit, numbers that are not finite, an unsymmetric A for "dantzig".
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    matrix, right = checked(A, b)
    n = len(right)
    f, a = np.zeros(n), np.zeros(n)
    if method == "lemke":
        table, names = np.zeros(table_size(n)), np.zeros(names_size(n), np.int64)
        return f, int(_lemke(n, matrix.ravel(), n, right, table, names, f, a))
    check_symmetric(matrix)
    status, f = boxed(matrix, right, np.zeros(n), np.full(n, np.inf))
    return f, status


def lcp_with_friction(
    A: ArrayLike, b: ArrayLike, owner: ArrayLike, friction: ArrayLike, side: ArrayLike | None = None
) -> tuple[np.ndarray, int]:
    """Find the forces f (n,) of contacts with friction, where a = A f + b, by Dantzig's algorithm (Baraff 1994, section 5).

    owner (n,): −1 for a normal force, for which f ≥ 0, a ≥ 0 and f·a = 0; for a tangent the index of its contact's normal.
    friction (n,): μ of each tangent, which sticks (a = 0 with |f| ≤ μ f_owner) or not (f = ∓μ f_owner against a).
    side (n,): 0, or ±1 where a tangent slides already, f = ±μ f_owner whatever a is. Two tangents of a contact make its
    friction a pyramid, not Coulomb's cone; in the plane, with one tangent each, it is Coulomb's law.

    Returns (f, status) as `lcp` does. With tangents that slide already there may be no solution, or several (Painlevé): where
    none is found the status is INFEASIBLE or STALLED. That is no proof, unlike without friction. Raises ValueError.
    """
    matrix, right = checked(A, b)
    check_symmetric(matrix)
    n = len(right)
    owners = np.ascontiguousarray(owner, dtype=np.int64)
    slopes = np.ascontiguousarray(friction, dtype=np.float64)
    sides = np.zeros(n) if side is None else np.ascontiguousarray(side, dtype=np.float64)
    for name, given in (("owner", owners), ("friction", slopes), ("side", sides)):
        if given.shape != (n,):
            raise ValueError(f"{name} must have shape ({n},) to fit A of shape {matrix.shape}, not {given.shape}")
    for i in np.flatnonzero(owners != -1):
        if not (0 <= owners[i] < n and owners[owners[i]] == -1):
            raise ValueError(f"owner[{i}] is {owners[i]}: it must be the index of a normal force, which has owner -1")
        if not 0.0 <= slopes[i] < np.inf:
            raise ValueError(f"friction[{i}] is {slopes[i]}: it must be a finite number, and not negative")
        if sides[i] not in (-1.0, 0.0, 1.0):
            raise ValueError(f"side[{i}] is {sides[i]}: it must be -1, 0 or 1")
    work, rows = workspace(n, right)
    rows[lcp_problem.SLOPE], rows[lcp_problem.SIDE] = slopes, np.where(owners < 0, 0.0, sides)
    ints = np.zeros(lcp_problem.ints_size(n), np.int64)
    ints[lcp_problem.OWNER * n : (lcp_problem.OWNER + 1) * n] = owners
    ints[lcp_problem.COUNT * n + lcp_problem.COUPLED] = 1
    status = _dantzig(n, matrix.ravel(), n, work, ints)
    return rows[lcp_problem.F].copy(), int(status)


def workspace(n: int, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`work` of a problem with this b, and its rows."""
    work = np.zeros(lcp_problem.work_size(n))
    rows = work[: lcp_problem.FACTOR * n].reshape(lcp_problem.FACTOR, n)
    rows[lcp_problem.B] = b
    return work, rows


def boxed(matrix: np.ndarray, b: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[int, np.ndarray]:
    """(status, f) by Dantzig's algorithm with bounds on f, see `lcp_dantzig`; nothing is checked."""
    n = len(b)
    work, rows = workspace(n, b)
    rows[lcp_problem.LOWER], rows[lcp_problem.UPPER] = lower, upper
    status = _dantzig(n, matrix.ravel(), n, work, np.zeros(lcp_problem.ints_size(n), np.int64))
    return int(status), rows[lcp_problem.F].copy()


def checked(A: ArrayLike, b: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """A and b as contiguous float64 arrays; ValueError when they do not fit or are not finite."""
    matrix = np.ascontiguousarray(A, dtype=np.float64)
    right = np.ascontiguousarray(b, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"A must be a square matrix, not of shape {matrix.shape}")
    if right.shape != matrix.shape[:1]:
        raise ValueError(f"b must have shape {matrix.shape[:1]} to fit A of shape {matrix.shape}, not {right.shape}")
    for name, given in (("A", matrix), ("b", right)):
        bad = np.argwhere(~np.isfinite(given))
        if len(bad):
            where = tuple(map(int, bad[0]))
            raise ValueError(f"{name}{list(where)} is {given[where]}: every entry must be a finite number")
    return matrix, right


def check_symmetric(matrix: np.ndarray) -> None:
    """ValueError when A differs from its transpose by more than rounding."""
    difference = np.abs(matrix - matrix.T)
    if difference.size and difference.max() > SYMMETRIC * np.abs(matrix).max():
        i, j = map(int, np.unravel_index(int(np.argmax(difference)), difference.shape))
        raise ValueError(
            f"A[{i}, {j}] = {matrix[i, j]} but A[{j}, {i}] = {matrix[j, i]}: method 'dantzig' needs a symmetric A; "
            "method='lemke' accepts any matrix"
        )
