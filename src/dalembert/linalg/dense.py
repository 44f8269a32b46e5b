"""Dense matrices: Cholesky and LU factors of small ones, in flat arrays at offsets, for kernels; then matrices from users,
checked, read from files, or random.
"""

from __future__ import annotations

import gzip
import math
import zlib
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..core.jit import njit
from ..core.simd import load, store

if TYPE_CHECKING:
    from scipy.sparse import csc_array


# Cholesky factor of a symmetric matrix; rows are `stride` apart --------------------------------------------------------
#
# Row by row, so that the factor of a leading block is the leading block of the factor.


@njit
def cholesky_factorize(n, a, o, stride, scale, least):
    """The lower triangle of A = L Lᵀ in place. Returns −1, or the first row whose pivot is within `least` times its scale
    (float64[n]) of zero, or below. What is not a number goes through."""
    for i in range(n):
        row = o + i * stride
        for j in range(i):
            other = o + j * stride
            value = load(a, row + j)
            for k in range(j):
                value -= load(a, row + k) * load(a, other + k)
            store(a, row + j, value / load(a, other + j))
        value = load(a, row + i)
        for k in range(i):
            value -= load(a, row + k) * load(a, row + k)
        if value <= least * scale[i]:
            return i
        store(a, row + i, math.sqrt(value))
    return -1


@njit
def forward(n, a, o, stride, x, at):
    """x ← L⁻¹ x, from `at`."""
    for i in range(n):
        value = load(x, at + i)
        for k in range(i):
            value -= load(a, o + i * stride + k) * load(x, at + k)
        store(x, at + i, value / load(a, o + i * stride + i))


@njit
def backward(n, a, o, stride, x, at):
    """x ← L⁻ᵀ x, from `at`."""
    for i in range(n - 1, -1, -1):
        value = load(x, at + i)
        for k in range(i + 1, n):
            value -= load(a, o + k * stride + i) * load(x, at + k)
        store(x, at + i, value / load(a, o + i * stride + i))


# LU of a small dense matrix with row pivoting, in flat arrays at offsets -----------------------------------------------


@njit
def lu_factorize(n, a, o, pivots, q):
    """LU of the (n, n) matrix from o in place, its pivots from q. Returns 0, or 1 where a pivot is zero."""
    for k in range(n):
        p, best = k, abs(load(a, o + k * n + k))
        for i in range(k + 1, n):
            if abs(load(a, o + i * n + k)) > best:
                p, best = i, abs(load(a, o + i * n + k))
        if not best > 0.0:
            return 1
        pivots[q + k] = p
        if p != k:
            for j in range(n):
                value = load(a, o + k * n + j)
                store(a, o + k * n + j, load(a, o + p * n + j))
                store(a, o + p * n + j, value)
        for i in range(k + 1, n):
            factor = load(a, o + i * n + k) / load(a, o + k * n + k)
            store(a, o + i * n + k, factor)
            for j in range(k + 1, n):
                store(a, o + i * n + j, load(a, o + i * n + j) - factor * load(a, o + k * n + j))
    return 0


@njit
def lu_substitute(n, a, o, pivots, q, x, at):
    """Solve with these factors; the right side lies in x from `at`, and the solution takes its place."""
    for k in range(n):
        p = pivots[q + k]
        value = load(x, at + k)
        store(x, at + k, load(x, at + p))
        store(x, at + p, value)
    for i in range(n):
        value = load(x, at + i)
        for j in range(i):
            value -= load(a, o + i * n + j) * load(x, at + j)
        store(x, at + i, value)
    for i in range(n - 1, -1, -1):
        value = load(x, at + i)
        for j in range(i + 1, n):
            value -= load(a, o + i * n + j) * load(x, at + j)
        store(x, at + i, value / load(a, o + i * n + i))


# Square matrices from users: checked once, stored by columns and by rows -----------------------


Matrix: TypeAlias = Any  # (n, n): what NumPy makes an array of, or a sparse array or matrix of SciPy's, in any format


class Sizes(NamedTuple):
    """|aᵢⱼ| where it is not zero, by columns and by rows: what lies from start[j] to start[j + 1] is of column, or row, j."""

    n: int
    column_start: np.ndarray  # (n + 1,) int64
    column_rows: np.ndarray  # (entries,) int64
    column_values: np.ndarray  # (entries,) float64
    row_start: np.ndarray
    row_columns: np.ndarray
    row_values: np.ndarray


def checked(matrix: Matrix) -> csc_array:
    """A square matrix, dense or SciPy's sparse, as float64 by columns, its rows in order and without stored zeros.

    Raises ValueError: not square, empty, complex or no numbers at all, an entry that is not finite.
    """
    from scipy.sparse import csc_array, issparse  # SciPy's parts are slow to load, and most runs need none

    given = matrix if issparse(matrix) else np.asarray(matrix)
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise ValueError(f"the matrix must be square, not of shape {given.shape}")
    if given.shape[0] == 0:
        raise ValueError("the matrix is empty: it has no row")
    if given.dtype.kind not in "fiub":
        kind = "complex" if given.dtype.kind == "c" else given.dtype
        raise ValueError(f"the matrix must have real entries, not {kind} ones")
    columns = csc_array(given, dtype=np.float64, copy=True)
    columns.sum_duplicates()
    if not np.isfinite(columns.data).all():
        at = int(np.flatnonzero(~np.isfinite(columns.data))[0])
        column = int(np.searchsorted(columns.indptr, at, side="right")) - 1
        raise ValueError(
            f"entry ({columns.indices[at]}, {column}) is {columns.data[at]}: every entry must be a finite number"
        )
    columns.eliminate_zeros()
    return columns


def sizes(columns: csc_array) -> Sizes:
    """The sizes of the entries of a checked matrix.

    Raises ValueError where a row or a column has none.
    """
    from scipy.sparse import csr_array

    magnitudes = abs(columns)
    by_rows = csr_array(magnitudes)
    for name, start in (("row", by_rows.indptr), ("column", magnitudes.indptr)):
        empty = np.flatnonzero(np.diff(start) == 0)
        if len(empty):
            raise ValueError(f"the matrix is singular: {name} {empty[0]} has no entry other than zero")
    return Sizes(columns.shape[0], *_arrays(magnitudes), *_arrays(by_rows))


def _arrays(compressed: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return compressed.indptr.astype(np.int64), compressed.indices.astype(np.int64), compressed.data


# Matrices to look at: read from Matrix Market files, or random and badly scaled ----------------------------------------


MAX_BYTES = 1 << 29  # of text, unpacked
MAX_ROWS = 1_000_000
MAX_ENTRIES = 20_000_000
MAX_DENSE = 5000  # rows


def read_matrix(path: Path | str) -> csc_array:
    """The square real matrix of a Matrix Market file (.mtx, or packed, .mtx.gz), without the zeros that the file may store.

    Raises ValueError: it is no such file, or holds no square matrix of finite real numbers, or one of more than a million
    rows or 20 million entries; OSError where it cannot be read.
    """
    from scipy.io import mminfo, mmread

    text = _text(Path(path))
    try:
        rows, columns, entries, _, field, _ = mminfo(BytesIO(text))
        if field == "complex":
            raise ValueError("the matrix must have real entries, not complex ones")
        if rows != columns:
            raise ValueError(f"the matrix must be square, not of shape {(rows, columns)}")
        if rows > MAX_ROWS or entries > MAX_ENTRIES:
            raise ValueError(
                f"the matrix has {rows} rows and {entries} entries; at most {MAX_ROWS} and {MAX_ENTRIES} are supported"
            )
        if entries > len(text):
            raise ValueError(f"the file is cut off: it is too short for {entries} entries")
        return checked(mmread(BytesIO(text)))
    except (ValueError, OverflowError, IndexError, TypeError) as error:
        raise ValueError(str(error) or "no Matrix Market file") from error


def _text(path: Path) -> bytes:
    """The unpacked contents of a file. Raises ValueError for a damaged or too large one."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"it cannot be unpacked: {error}") from error
    if len(text) > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES >> 20} MiB of text are not read")
    return text


def badly_scaled(n: int, seed: int = 0) -> np.ndarray:
    """D₁ A D₂, an (n, n) array: A of random numbers in [0, 1), D₁ and D₂ diagonal, of squares of such numbers.

    Raises ValueError: n is not 1 to 5000.
    """
    if not 1 <= n <= MAX_DENSE:
        raise ValueError(f"n is {n}: it must be 1 to {MAX_DENSE}")
    rng = np.random.default_rng(seed)
    rows, columns = rng.uniform(size=(2, n)) ** 2
    return rows[:, None] * rng.uniform(size=(n, n)) * columns
