"""Square matrices as they come from users: checked once, and kept column by column and row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csc_array

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
