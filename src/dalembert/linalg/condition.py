"""Condition numbers ‖A‖₁ ‖A⁻¹‖₁ of square matrices, dense and sparse, exact or estimated."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .square_matrix import Matrix, checked, sizes

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
    """‖A‖₁ ‖A⁻¹‖₁ of a square matrix (n, n), dense or sparse, by its LU factors; ‖A‖₁ is the largest sum of a column's sizes.

    exact : True takes every column of the inverse, n solves. False estimates ‖A⁻¹‖₁ with a handful (N. Higham, F. Tisseur,
    "A block algorithm for matrix 1-norm estimation", SIAM J. Matrix Anal. Appl. 21(4), 2000, by SciPy's `onenormest`): it is
    never more than the norm but for rounding, seldom less than a third of it, and most often the norm itself. None is
    exact up to n = 1000. seed : of the random columns that the estimate starts from.

    What comes out above 1e16 says no more than that the matrix is singular to rounding, unless it is only badly scaled.

    Raises ValueError: not square, empty, not real and finite, singular, or an inverse beyond the range of floating point.

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
        raise ValueError("the matrix is singular, or its inverse is beyond the range of floating point numbers")
    return condition


def _sparse_factors(columns: csc_array) -> Solve:
    from scipy.sparse.linalg import splu

    try:
        return splu(columns).solve
    except RuntimeError as error:
        raise ValueError("the matrix is singular: a pivot of its LU factorization is zero") from error


def _dense_factors(dense: np.ndarray) -> Solve:
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
