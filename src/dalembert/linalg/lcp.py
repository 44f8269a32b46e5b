"""The linear complementarity problem, from Python."""

import numpy as np
from numpy.typing import ArrayLike

from ..kernel import array, kernel, out
from . import lcp_lemke, lcp_problem
from .lcp_dantzig import dantzig
from .lcp_lemke import lemke
from .lcp_problem import INACCURATE, INFEASIBLE, NOT_SEMIDEFINITE, OK, STALLED

METHODS = ("dantzig", "lemke")
MESSAGES = {
    OK: "solved",
    INFEASIBLE: "no solution was found: no f >= 0 makes a >= 0 (for a positive semidefinite A that is proven)",
    NOT_SEMIDEFINITE: "A is not positive semidefinite; method='lemke' takes any matrix",
    STALLED: "the number of changes allowed was used up, which rounding in a nearly singular A can cause; "
    "try the other method",
    INACCURATE: "the result keeps to the conditions less well than 1e-10: A is too badly conditioned; try the other method",
}
SYMMETRIC = 1e-12  # relative to the largest entry


@kernel
def _dantzig(n: int, matrix: array(), stride: int, work: out(), ints: out(1, np.int64)) -> int:
    return dantzig(n, matrix, stride, work, ints)


@kernel
def _lemke(
    n: int, matrix: array(), stride: int, b: array(), table: out(), names: out(1, np.int64), f: out(), a: out()
) -> int:
    return lemke(n, matrix, stride, b, table, names, f, a)


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
        table, names = np.zeros(lcp_lemke.table_size(n)), np.zeros(lcp_lemke.names_size(n), np.int64)
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
            "method='lemke' takes any matrix"
        )
