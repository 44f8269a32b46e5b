"""Equilibration: rows and columns of a square matrix scaled so that its largest entries are of size one.

A x = b becomes (R A C) y = R b with x = C y, for R = diag(rows) and C = diag(columns). Direct solvers pivot better on it,
iterative ones converge faster, and its condition number says more about how well the system can be solved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..no_solution import NoSolution
from .matching import match
from .scaling import alg3_sweep, deviation, ruiz_sweep
from .square_matrix import Matrix, Sizes, checked, sizes

METHODS = ("mc64", "alg3", "ruiz")


class Equilibration(NamedTuple):
    """What `equilibrate` found."""

    rows: np.ndarray  # (n,) factors of the rows, positive
    columns: np.ndarray  # (n,) factors of the columns, positive
    matrix: Matrix  # diag(rows) A diag(columns), an array where A was dense, else scipy.sparse.csc_array
    permutation: np.ndarray | None  # (n,) "mc64": matrix[permutation] has ±1 on its diagonal; else None
    sweeps: int  # over the matrix; 0 for "mc64"
    deviation: float  # of the largest size in any row or column from 1, at most


def equilibrate(
    matrix: Matrix, method: str = "mc64", *, tolerance: float = 1e-4, max_sweeps: int = 1000
) -> Equilibration:
    """Scale the rows and columns of a square matrix (n, n), dense or sparse, so that the largest size in each is one.

    "mc64": the sizes on the matching of `matching` become one, all others at most one (Duff & Koster 2001, and HSL's MC64,
    job 5). "alg3": for each i in turn, row i and column i are divided by the square roots of their largest sizes, in
    sweeps. "ruiz": the same for all rows and columns at once (Ruiz 2001). Sweeps end where no row or column is further than
    `tolerance` from one; "mc64" needs none, and takes no tolerance.

    Raises ValueError: unknown method; not square, empty, not real and finite; a row or column without an entry; for "mc64"
    structurally singular (see `matching`); factors beyond the range of floating point. NoSolution: `max_sweeps` were too few.

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
        raise ValueError("the factors that would scale the matrix are beyond the range of floating point numbers")
    return Equilibration(r, c, _scaled(matrix, columns, r, c), permutation, sweeps, _deviation(entries, r, c))


def _by_matching(entries: Sizes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """rᵢ = exp uᵢ and cⱼ = exp vⱼ / maxₖ|aₖⱼ|, so that rᵢ |aᵢⱼ| cⱼ = exp(uᵢ + vⱼ − cᵢⱼ)."""
    found = match(entries)
    largest = np.maximum.reduceat(entries.column_values, entries.column_start[:-1])
    return np.exp(found.row_duals), np.exp(found.column_duals) / largest, found.rows


def _by_sweeps(entries: Sizes, method: str, tolerance: float, max_sweeps: int) -> tuple[np.ndarray, np.ndarray, int]:
    n = entries.n
    arrays = _by_rows_and_columns(entries)
    r, c, roots = np.ones(n), np.ones(n), np.empty((2, n))
    left = _deviation(entries, r, c)
    for sweep in range(max_sweeps + 1):
        if left <= tolerance:
            return r, c, sweep
        if method == "alg3":
            alg3_sweep(n, *arrays, r, c)
        else:
            ruiz_sweep(n, *arrays, r, c, *roots)
        left = _deviation(entries, r, c)
    raise NoSolution(
        f"after {max_sweeps} sweeps of {method!r} a row or column is still {left:.3g} from one; allow more sweeps"
    )


def _deviation(entries: Sizes, r: np.ndarray, c: np.ndarray) -> float:
    return float(deviation(entries.n, *_by_rows_and_columns(entries), r, c))


def _by_rows_and_columns(entries: Sizes) -> tuple[np.ndarray, ...]:
    return (
        entries.row_start, entries.row_columns, entries.row_values,
        entries.column_start, entries.column_rows, entries.column_values,
    )  # fmt: skip


def _scaled(given: Matrix, columns: Matrix, r: np.ndarray, c: np.ndarray) -> Matrix:
    from scipy.sparse import diags_array, issparse

    if issparse(given):
        return (diags_array(r) @ columns @ diags_array(c)).tocsc()
    return r[:, None] * np.asarray(given, float) * c
