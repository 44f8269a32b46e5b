"""Equilibration of square matrices, dense and sparse (`equilibrate`), and their condition numbers ‖A‖₁ ‖A⁻¹‖₁
(`condition_number`), with the table of both that `dalembert condition` prints."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..core.jit import njit
from ..core.kernel import array, kernel, out
from ..core.status import NoSolution
from .dense import Matrix, Sizes, badly_scaled, checked, read_matrix, sizes
from .matching import match

if TYPE_CHECKING:
    from scipy.sparse import csc_array

EXACT_UP_TO = 1000  # rows: the inverse takes a second or two
BLOCK = 16  # columns of the inverse at once: more leave the processor's cache
SEED = (
    2  # estimates vary by a few percent with it; with this one those of docs/linear-systems.md are the published ones
)

Solve = Callable[[np.ndarray, str], np.ndarray]  # (b, "N" or "T") → A⁻¹ b or A⁻ᵀ b
_drawing = threading.Lock()


def condition_number(matrix: Matrix, exact: bool | None = None, *, seed: int = SEED) -> float:
    """‖A‖₁ ‖A⁻¹‖₁ of a square matrix (n, n), dense or sparse, by its LU factors; ‖A‖₁ is the largest column sum of
    absolute values.

    exact : True computes every column of the inverse (n solves). False estimates ‖A⁻¹‖₁ with a few solves (N. Higham,
    F. Tisseur, "A block algorithm for matrix 1-norm estimation", SIAM J. Matrix Anal. Appl. 21(4), 2000, by SciPy's
    `onenormest`): except for rounding, the estimate never exceeds the norm; it is rarely below a third of it, and
    usually equals it. None is exact up to n = 1000. seed : seed of the random columns that the estimate starts from.

    A result above 1e16 means that the matrix is singular to rounding, or badly scaled.

    Raises ValueError for a matrix that is not square, empty, not real, not finite or singular, and for overflow of the
    inverse.

    >>> condition_number([[2.0, 0.0], [0.0, 0.5]])
    4.0
    """
    from scipy.sparse import issparse

    columns = checked(matrix)
    sizes(columns)
    n = columns.shape[0]
    solve = _sparse_factors(columns) if issparse(matrix) else _dense_factors(columns.toarray())
    with np.errstate(over="ignore", invalid="ignore"):
        inverse = (
            _inverse_norm(n, solve) if exact or (exact is None and n <= EXACT_UP_TO) else _estimate(n, solve, seed)
        )
        condition = float(abs(columns).sum(axis=0).max()) * inverse
    if not np.isfinite(condition):
        raise ValueError("the matrix is singular, or its inverse overflows")
    return condition


def _sparse_factors(columns: csc_array) -> Solve:
    """Solutions with the sparse LU factors. Raises ValueError for a singular matrix."""
    from scipy.sparse.linalg import splu

    try:
        return splu(columns).solve
    except RuntimeError as error:
        raise ValueError("the matrix is singular: a pivot of its LU factorization is zero") from error


def _dense_factors(dense: np.ndarray) -> Solve:
    """Solutions with the dense LU factors. Raises ValueError for a singular matrix."""
    from scipy.linalg import lapack

    factors, pivots, status = lapack.dgetrf(dense)
    if status > 0:
        raise ValueError("the matrix is singular: a pivot of its LU factorization is zero")
    return lambda right, form: lapack.dgetrs(factors, pivots, right, trans=int(form == "T"))[0]


def _inverse_norm(n: int, solve: Solve) -> float:
    """‖A⁻¹‖₁ of all columns."""
    largest = 0.0
    for first in range(0, n, BLOCK):
        unit = np.eye(n, min(BLOCK, n - first), -first, order="F")
        largest = np.maximum(largest, np.abs(solve(unit, "N")).sum(axis=0).max())  # keeps NaN
    return float(largest)


def _estimate(n: int, solve: Solve, seed: int) -> float:
    """‖A⁻¹‖₁ by Higham and Tisseur's algorithm with two columns, as SciPy has it, which draws from NumPy's global numbers."""
    from scipy.sparse.linalg import LinearOperator, onenormest

    def forwards(right: np.ndarray) -> np.ndarray:
        return solve(right, "N")

    def turned(right: np.ndarray) -> np.ndarray:
        return solve(right, "T")

    inverse = LinearOperator((n, n), forwards, turned, forwards, dtype=np.float64, rmatmat=turned)
    with _drawing:
        state = np.random.get_state()
        try:
            np.random.seed(seed)
            return float(onenormest(inverse))
        finally:
            np.random.set_state(state)


# Kernels that scale rows and columns to a largest size of one each, sweep by sweep -------------------------------------
#
# Scaled entries rᵢ |aᵢⱼ| cⱼ are never stored. The last three functions are entry points of the three before them.


INDICES = array(1, np.int64)


@njit
def _largest(j, start, others, values, scale):
    """max |aᵢⱼ| scaleᵢ over the entries of column j; or of a row, likewise."""
    most = 0.0
    for k in range(start[j], start[j + 1]):
        most = max(most, values[k] * scale[others[k]])
    return most


class Entries(NamedTuple):
    """Sizes of the entries of a square matrix by rows and by columns, as in `dense.Sizes`."""

    row_start: np.ndarray  # (n + 1,)
    row_columns: np.ndarray
    row_values: np.ndarray
    column_start: np.ndarray  # (n + 1,)
    column_rows: np.ndarray
    column_values: np.ndarray


@njit
def worst_deviation(n, entries, r, c):
    """The largest |1 − largest size| over rows and columns, as scaled by r and c."""
    worst = 0.0
    for i in range(n):
        worst = max(worst, abs(1.0 - r[i] * _largest(i, entries.row_start, entries.row_columns, entries.row_values, c)))
        column = _largest(i, entries.column_start, entries.column_rows, entries.column_values, r)
        worst = max(worst, abs(1.0 - c[i] * column))
    return worst


@njit
def sweep_ruiz(n, entries, r, c, row_roots, column_roots):
    """All rows and columns at once: each is divided by the square root of its largest size.

    D. Ruiz, "A scaling algorithm to equilibrate both rows and columns norms in matrices", RAL-TR-2001-034, 2001.
    """
    for i in range(n):
        row = r[i] * _largest(i, entries.row_start, entries.row_columns, entries.row_values, c)
        column = c[i] * _largest(i, entries.column_start, entries.column_rows, entries.column_values, r)
        row_roots[i] = math.sqrt(row)
        column_roots[i] = math.sqrt(column)
    for i in range(n):
        r[i] /= row_roots[i]
        c[i] /= column_roots[i]


@njit
def sweep_alg3(n, entries, r, c):
    """Row and column i together, for i = 1 … n: later ones see the scales of earlier ones."""
    for i in range(n):
        row = r[i] * _largest(i, entries.row_start, entries.row_columns, entries.row_values, c)
        column = c[i] * _largest(i, entries.column_start, entries.column_rows, entries.column_values, r)
        r[i] /= math.sqrt(row)
        c[i] /= math.sqrt(column)


ENTRIES = Entries(INDICES, INDICES, array(), INDICES, INDICES, array())


@kernel
def deviation(n: int, entries: ENTRIES, r: array(), c: array()) -> float:
    """`worst_deviation` from Python."""
    return worst_deviation(n, entries, r, c)


@kernel
def ruiz_sweep(n: int, entries: ENTRIES, r: out(), c: out(), row_roots: out(), column_roots: out()) -> None:
    """`sweep_ruiz` from Python."""
    sweep_ruiz(n, entries, r, c, row_roots, column_roots)


@kernel
def alg3_sweep(n: int, entries: ENTRIES, r: out(), c: out()) -> None:
    """`sweep_alg3` from Python."""
    sweep_alg3(n, entries, r, c)


# Equilibration: rows and columns of a square matrix scaled so that its largest entries are of size one -----------------
#
# A x = b becomes (R A C) y = R b with x = C y, for R = diag(rows) and C = diag(columns). Direct solvers pivot better on it,
# iterative ones converge faster, and its condition number says more about how well the system can be solved.


METHODS = ("mc64", "alg3", "ruiz")


class Equilibration(NamedTuple):
    """The result of `equilibrate`."""

    rows: np.ndarray  # (n,) factors of the rows, positive
    columns: np.ndarray  # (n,) factors of the columns, positive
    matrix: Matrix  # diag(rows) A diag(columns), an array if A is dense, else scipy.sparse.csc_array
    permutation: np.ndarray | None  # (n,) "mc64": matrix[permutation] has ±1 on its diagonal; else None
    sweeps: int  # over the matrix; 0 for "mc64"
    deviation: float  # largest distance from 1 of the largest absolute value in a row or column


def equilibrate(
    matrix: Matrix, method: str = "mc64", *, tolerance: float = 1e-4, max_sweeps: int = 1000
) -> Equilibration:
    """Scale the rows and columns of a square matrix (n, n), dense or sparse, so that the largest absolute value in each
    is one.

    "mc64": entries on the matching of `matching` get the absolute value one, all others at most one (Duff & Koster
    2001, and HSL's MC64, job 5). "alg3": for each i in turn, row i and column i are divided by the square roots of
    their largest absolute values, in sweeps. "ruiz": the same for all rows and columns at once (Ruiz 2001). Sweeps end
    when every row and column is within `tolerance` of one. "mc64" is direct and ignores `tolerance`.

    Raises ValueError for an unknown method, a matrix that is not square, empty, not real or not finite, a row or column
    without an entry, a structurally singular matrix with "mc64" (see `matching`), and overflow of the factors. Raises
    NoSolution if `max_sweeps` is reached.

    >>> equilibrate([[1e6, 2.0], [3.0, 1e-6]]).matrix.round(6).tolist()
    [[1.0, 1.0], [1.0, 0.166667]]
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if not 0.0 < tolerance < 1.0:
        raise ValueError(f"tolerance is {tolerance}: it must lie between 0 and 1")
    columns = checked(matrix)
    entries = sizes(columns)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        if method == "mc64":
            r, c, permutation, sweeps = *_by_matching(entries), 0
        else:
            r, c, sweeps = _by_sweeps(entries, method, tolerance, max_sweeps)
            permutation = None
    if not (np.isfinite(r) & np.isfinite(c) & (r > 0.0) & (c > 0.0)).all():
        raise ValueError("the scaling factors overflow")
    return Equilibration(r, c, _scaled(matrix, columns, r, c), permutation, sweeps, _deviation(entries, r, c))


def _by_matching(entries: Sizes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """rᵢ = exp uᵢ and cⱼ = exp vⱼ / maxₖ|aₖⱼ|, so that rᵢ |aᵢⱼ| cⱼ = exp(uᵢ + vⱼ − cᵢⱼ)."""
    found = match(entries)
    largest = np.maximum.reduceat(entries.column_values, entries.column_start[:-1])
    return np.exp(found.row_duals), np.exp(found.column_duals) / largest, found.rows


def _by_sweeps(entries: Sizes, method: str, tolerance: float, max_sweeps: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(r, c, number of sweeps) by "alg3" or "ruiz". Raises NoSolution after `max_sweeps`."""
    n = entries.n
    arrays = _by_rows_and_columns(entries)
    r, c, roots = np.ones(n), np.ones(n), np.empty((2, n))
    left = _deviation(entries, r, c)
    for sweep in range(max_sweeps + 1):
        if left <= tolerance:
            return r, c, sweep
        if method == "alg3":
            alg3_sweep(n, arrays, r, c)
        else:
            ruiz_sweep(n, arrays, r, c, *roots)
        left = _deviation(entries, r, c)
    raise NoSolution(
        f"after {max_sweeps} sweeps of {method!r} a row or column is still {left:.3g} from one; allow more sweeps"
    )


def _deviation(entries: Sizes, r: np.ndarray, c: np.ndarray) -> float:
    return float(deviation(entries.n, _by_rows_and_columns(entries), r, c))


def _by_rows_and_columns(entries: Sizes) -> Entries:
    """The arrays of the sizes, rows first, as kernels take them."""
    return Entries(
        entries.row_start, entries.row_columns, entries.row_values,
        entries.column_start, entries.column_rows, entries.column_values,
    )  # fmt: skip


def _scaled(given: Matrix, columns: Matrix, r: np.ndarray, c: np.ndarray) -> Matrix:
    """diag(r) A diag(c), in the form of the given matrix."""
    from scipy.sparse import diags_array, issparse

    if issparse(given):
        return (diags_array(r) @ columns @ diags_array(c)).tocsc()
    return r[:, None] * np.asarray(given, float) * c


# The table of condition numbers of matrices as they are, and after scaling: what `dalembert condition` prints ----------


def condition_table(files: Sequence[Path], random: Sequence[int], exact: bool) -> Iterator[tuple[str, bool]]:
    """Lines, each with whether it is of the table: the head, then a matrix each, or what is wrong with it.

    files : of Matrix Market; random : rows of matrices of `badly_scaled`; exact : every column of the inverses is computed.
    """
    names = [file.name.removesuffix(".gz").removesuffix(".mtx") for file in files] + [f"random-{n}" for n in random]
    width = max(map(len, names), default=4)
    yield f"{'name':{width}} {'n':>8} {'nnz':>9} {'original':>10} {'MC64':>10} {'ALG3':>10}", True
    sources: list[Path | int] = [*files, *random]
    for source, name in zip(sources, names, strict=True):
        try:
            matrix = read_matrix(source) if isinstance(source, Path) else checked(badly_scaled(source))
            scaled = (matrix, equilibrate(matrix, "mc64").matrix, equilibrate(matrix, "alg3").matrix)
            columns = " ".join(f"{condition_number(each, exact):>10.2e}" for each in scaled)
        except (ValueError, OSError, NoSolution) as error:
            yield f"{source if isinstance(source, Path) else name}: {error}", False
        else:
            yield f"{name:{width}} {matrix.shape[0]:>8} {matrix.nnz:>9} {columns}", True
