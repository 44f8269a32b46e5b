"""Checks of a frictional contact problem given as matrices, and W = B Bᵀ of a problem without masses."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

ASYMMETRY = 1e-8  # of √(Mii Mjj): more is no rounding
LARGEST_FRICTION = 100.0  # μ: the natural map sees −u_n / √(1 + μ²) of a penetration
SEMIDEFINITE = 1e-8  # of the diagonal: what W = B Bᵀ may leave


class Rows(NamedTuple):
    """Checked `ScalarRows`: G (k, n) csr, and (k,) each."""

    matrix: Any
    target: np.ndarray
    compliance: np.ndarray
    least: np.ndarray
    most: np.ndarray


class Problem(NamedTuple):
    """A checked problem: M (n, n) and J (3 m, n) csr, v (n,), μ (m,), offset (m, 3), rows."""

    masses: Any
    contacts: Any
    free: np.ndarray
    friction: np.ndarray
    offset: np.ndarray
    rows: Rows


# Matrices and vectors ---------------------------------------------------------------------------------------------------


def as_matrix(name: str, given: Any, columns: int | None = None) -> Any:
    """A finite real csr matrix without stored zeros. Raises ValueError."""
    from scipy.sparse import csr_array, issparse

    try:
        if np.iscomplexobj(given):
            raise TypeError("it is complex")
        found = given if issparse(given) else np.asarray(given, float)
        if found.ndim == 1 and found.size == 0 and columns is not None:
            found = found.reshape(0, columns)
        if found.ndim != 2:
            raise TypeError(f"its shape is {found.shape}")
        made = csr_array(found, dtype=float, copy=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a matrix of real numbers: {error}") from None
    if columns is not None and made.shape[1] != columns:
        raise ValueError(f"{name} has the shape {made.shape}; it must have {columns} columns, one for each row of M")
    made.sum_duplicates()
    wrong = np.flatnonzero(~np.isfinite(made.data))
    if wrong.size:
        row = int(np.searchsorted(made.indptr, wrong[0], side="right")) - 1
        raise ValueError(
            f"{name}[{row}, {made.indices[wrong[0]]}] is {made.data[wrong[0]]}: every entry must be a finite number"
        )
    made.eliminate_zeros()
    return made


def as_numbers(name: str, given: Any) -> np.ndarray:
    """An array of floats. Raises ValueError."""
    try:
        if np.iscomplexobj(given):
            raise TypeError("they are complex")
        return np.array(given, float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be real numbers: {error}") from None


def as_vector(name: str, given: Any, size: int, infinite: bool = False) -> np.ndarray:
    """(size,) floats from as many, or from one for all; no NaN, and finite unless `infinite`. Raises ValueError."""
    found = as_numbers(name, given)
    if found.ndim == 0:
        found = np.full(size, float(found))
    found = found.reshape(-1)
    if found.shape != (size,):
        raise ValueError(f"{name} must have {size} numbers, not {found.size}")
    wrong = np.flatnonzero(np.isnan(found) if infinite else ~np.isfinite(found))
    if wrong.size:
        raise ValueError(f"{name}[{wrong[0]}] is {found[wrong[0]]}: give a finite number")
    return found


def triples_of(name: str, given: Any, m: int) -> np.ndarray:
    """(m, 3) from (m, 3), (3 m,), (m,) of normals, or None. Raises ValueError."""
    made = np.zeros((m, 3))
    if given is None:
        return made
    found = as_numbers(name, given)
    if found.shape == (m,):
        made[:, 0] = found
    elif found.shape in ((m, 3), (3 * m,)):
        made[:] = found.reshape(m, 3)
    else:
        raise ValueError(f"{name} has the shape {found.shape}; for {m} contacts give {(m, 3)}, {(3 * m,)} or {(m,)}")
    wrong = np.flatnonzero(~np.isfinite(made).all(axis=1))
    if wrong.size:
        raise ValueError(f"{name} of contact {wrong[0]} is {made[wrong[0]]}: give finite numbers")
    return made


def friction_of(mu: Any, m: int) -> np.ndarray:
    """(m,) friction, from 0 to LARGEST_FRICTION. Raises ValueError."""
    found = as_vector("mu", mu, m)
    wrong = np.flatnonzero(found < 0.0)
    if wrong.size:
        raise ValueError(f"mu[{wrong[0]}] is {found[wrong[0]]}: friction must not be below 0")
    wrong = np.flatnonzero(found > LARGEST_FRICTION)
    if wrong.size:
        raise ValueError(
            f"mu[{wrong[0]}] is {found[wrong[0]]}: at most {LARGEST_FRICTION:g}, beyond which residuals say nothing "
            "of penetration; what never slides is an equation: see ScalarRows"
        )
    return found


def rows_of(given: Any, n: int) -> Rows:
    """Checked rows. Raises ValueError."""
    from scipy.sparse import csr_array

    if given is not None and not hasattr(given, "compliance"):
        raise ValueError(f"rows must be ScalarRows, not a {type(given).__name__}: pass dal.ScalarRows(matrix, target)")
    if given is None:
        return Rows(csr_array((0, n)), *np.zeros((4, 0)))
    matrix = as_matrix("rows.matrix", given.matrix, columns=n)
    k = matrix.shape[0]
    target, compliance = as_vector("rows.target", given.target, k), as_vector("rows.compliance", given.compliance, k)
    least, most = (as_vector(f"rows.{name}", getattr(given, name), k, infinite=True) for name in ("least", "most"))
    for i in range(k):
        if compliance[i] < 0.0:
            raise ValueError(f"rows.compliance[{i}] is {compliance[i]}: it must not be below 0")
        if not least[i] <= most[i] or least[i] == math.inf or most[i] == -math.inf:
            raise ValueError(f"rows: least[{i}] is {least[i]} and most[{i}] is {most[i]}; give least ≤ most")
    return Rows(matrix, target, compliance, least, most)


def check_settings(tolerance: float, max_iterations: int) -> None:
    """Raises ValueError."""
    if not isinstance(tolerance, (int, float, np.floating)) or not 0.0 < tolerance < 1.0:
        raise ValueError(f"tolerance is {tolerance!r}; give a number between 0 and 1, of the largest speed")
    if not isinstance(max_iterations, (int, np.integer)) or max_iterations < 1:
        raise ValueError(f"max_iterations is {max_iterations!r}; give a whole number of at least 1")


def check_masses(masses: Any) -> None:
    """Raises ValueError where M is not square, symmetric and positive definite."""
    from scipy.sparse.csgraph import connected_components

    n = masses.shape[0]
    if masses.shape != (n, n) or n == 0:
        raise ValueError(f"M has the shape {masses.shape}; it must be square, and not empty")
    require_symmetric("M", masses)
    diagonal = masses.diagonal()
    if (diagonal <= 0.0).any():
        at = int(np.flatnonzero(diagonal <= 0.0)[0])
        raise ValueError(f"M[{at}, {at}] is {diagonal[at]}: masses must be positive; leave fixed bodies out of M and J")
    count, labels = connected_components(masses, directed=False)
    sizes = np.bincount(labels)
    for block in np.flatnonzero(sizes > 1):
        own = np.flatnonzero(labels == block) if count > 1 else np.arange(n)
        try:
            np.linalg.cholesky(masses[own][:, own].toarray())
        except np.linalg.LinAlgError:
            raise ValueError(
                f"M is not positive definite: its block of the speeds {own[0]} … {own[-1]} is not, as masses are"
            ) from None


def require_symmetric(name: str, matrix: Any) -> None:
    """Raises ValueError for a matrix that is not symmetric, relative to its diagonal."""
    from scipy.sparse import coo_array

    skew = coo_array(matrix - matrix.T)
    size = np.sqrt(np.abs(matrix.diagonal()))
    limit = ASYMMETRY * np.maximum(size[skew.row] * size[skew.col], np.finfo(float).tiny)
    wrong = np.flatnonzero(np.abs(skew.data) > limit)
    if wrong.size:
        i, j = int(skew.row[wrong[0]]), int(skew.col[wrong[0]])
        raise ValueError(f"{name} is not symmetric: [{i}, {j}] is {matrix[i, j]}, and [{j}, {i}] is {matrix[j, i]}")


def check_contacts(problem: Problem) -> None:
    """Raises ValueError for contacts and rows that nothing can move and that are not satisfied as they are."""
    moved = np.diff(problem.contacts.indptr).reshape(-1, 3) > 0
    for i in np.flatnonzero(~moved[:, 0]):
        if moved[i].any():
            raise ValueError(
                f"contact {i}: its normal row {3 * i} of J is zero, but its tangents are not; leave it out"
            )
        if problem.offset[i, 0] < 0.0:
            raise ValueError(
                f"contact {i}: its rows of J are zero, so no velocity can move it, but it approaches at "
                f"{-problem.offset[i, 0]} m/s; leave it out"
            )
    rows = problem.rows
    for i in np.flatnonzero((np.diff(rows.matrix.indptr) == 0) & (rows.target != 0.0)):
        raise ValueError(f"row {i} of rows.matrix is zero, but its target is {rows.target[i]}; leave it out")


# Problems without masses --------------------------------------------------------------------------------------------------


def local_matrix(delassus: Any, V: Any, R: Any) -> tuple[Any, int, int]:
    """([W V; Vᵀ R], contacts, rows), or W alone. Raises ValueError where these do not fit or are not symmetric."""
    from scipy.sparse import block_array, csr_array

    size = delassus.shape[0]
    if delassus.shape[1] != size or size % 3:
        raise ValueError(f"W has the shape {delassus.shape}; it must be square, with three rows for each contact")
    k = 0
    if (V is None) != (R is None):
        raise ValueError("V and R belong together: give both, or neither")
    if V is not None:
        V, R = as_matrix("V", V), as_matrix("R", R)
        k = R.shape[0]
        if V.shape != (size, k) or R.shape != (k, k):
            raise ValueError(
                f"V and R have the shapes {V.shape} and {R.shape}; with W of {size} rows the shapes do not match"
            )
        delassus = csr_array(block_array([[delassus, V], [V.T, R]]))
    require_symmetric("W", delassus)
    return delassus, size // 3, k


def square_root(matrix: Any, contact_rows: int) -> Any:
    """B (csc) of W = B Bᵀ for a positive semidefinite W, group by group of contacts that W couples: Cholesky's factor with
    pivots, of W scaled to a diagonal of 1, which ends at the rank of W. Raises ValueError where W is not."""
    from scipy.linalg.lapack import dpstrf
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import connected_components

    size = matrix.shape[0]
    owner = np.arange(size)
    owner[:contact_rows] = owner[:contact_rows] // 3 * 3
    together = csr_array((np.ones(size), (np.arange(size), owner)), shape=(size, size))
    count, labels = connected_components(abs(matrix) + together, directed=False)
    order = np.argsort(labels, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=count))]) if size else np.zeros(1, int)
    rows, columns, values, rank = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)], 0
    for k in range(count if size else 0):
        own = order[ends[k] : ends[k + 1]]
        dense = matrix[own][:, own].toarray()
        scale = np.sqrt(np.abs(np.diag(dense)))
        inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
        unit = inverse[:, None] * dense * inverse
        factor, pivots, found, _ = dpstrf(unit, lower=1)
        root = np.zeros((len(own), found))
        root[pivots - 1] = np.tril(factor)[:, :found]
        if (
            np.abs(root @ root.T - unit).max() > SEMIDEFINITE
            or (np.diag(dense) < 0.0).any()
            or dense[scale == 0.0].any()
        ):
            raise ValueError(f"W is not positive semidefinite: its block of rows {own[0]} … {own[-1]} is not")
        rows.append(np.repeat(own, found))
        columns.append(np.tile(rank + np.arange(found), len(own)))
        values.append((scale[:, None] * root).ravel())
        rank += found
    where = (np.concatenate(rows), np.concatenate(columns))
    return csr_array(coo_array((np.concatenate(values), where), shape=(size, max(rank, 1))))
