"""Conjugate gradients for a symmetric positive definite matrix of 3×3 blocks, with nodes that may be constrained; see
`block_matrix` for the preconditioner and `deflation` for the coarse space of patches of nodes."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.jit import njit
from ..core.kernel import array, kernel, out
from ..core.math3 import load3
from ..core.simd import clear, copy
from ..core.status import OK
from .block_matrix import (
    HELD,
    BlockMatrix,
    BlockPattern,
    add_from_frames,
    fixed_part,
    into_frames,
    load_3,
    multiply,
    project,
    store_3,
    sweep_downward,
    sweep_residual,
    sweep_upward,
)
from .deflation import (
    CoarseSpace,
    CoarseWork,
    Swept,
    coarse_part,
    coarse_space,
    coarse_workspace,
    prepare,
    solve_coarse,
)
from .ordering import COLUMN, ENTRY, UPDATE

NOT_CONVERGED = 1  # the most iterations were made, or rounding lets the residual fall no further
INDEFINITE = 2  # a direction of non-positive curvature: x is the best before it
NOT_FINITE = 3  # numbers of the problem are not finite, or overflow

REPORT = np.dtype([("iterations", "i8"), ("residual", "f8")], align=True)  # residual: relative, of the x returned

# What the square of the true residual must fall to between two starts, where rounding adds to it.
PROGRESS = 0.25
# Blocks and directions in single precision are read in half the time. With them the true residual must fall by ten; it is not
# asked to fall by more than 1e5 from one start, and a new start is made where its recursion has not fallen for so long: then
# rounding is all that is left. Where this does not do, double precision takes over.
SINGLE_PROGRESS, SINGLE_FALL, PATIENCE = 1e-2, 1e-10, 20


class Problem(NamedTuple):
    """S A S y = S (b − A z): A, the projection S, the coarse space of A's pattern, and the right-hand side."""

    matrix: Any  # BlockMatrix
    held: Any  # HELD records
    space: Any  # CoarseSpace
    b: Any  # (3 n,)


class Limits(NamedTuple):
    """Where a solution ends."""

    tolerance: float  # relative, of the residual in the norm of the preconditioner
    max_iterations: int


class Workspace(NamedTuple):
    """Scratch of a solve, node by node."""

    z: np.ndarray  # (3 n,), what is prescribed; afterwards the product A x
    r: np.ndarray  # (3 n,), a residual


@njit
def conjugate_gradient(problem, x, work, coarse, limits, report):
    """Solve S A S y = S (b − A z), x = z + y, where z is what x has on entry in the directions that `held` fixes.

    x: (3 n,), the start on entry and the solution afterwards; work: Workspace; coarse: CoarseWork; report: a REPORT record.
    It ends where ‖r‖ ≤ tolerance ‖S (b − A z)‖, with the norm √(rᵀ (M⁻¹ + W A_c⁻¹ Wᵀ) r) of the preconditioner and the
    patches. The residual is computed from x at the end, and iteration starts again where rounding has made it larger than
    that of the recursion. Returns OK, NOT_CONVERGED, INDEFINITE or NOT_FINITE.
    """
    report.iterations = 0
    report.residual = math.inf
    prescribed(problem.held, x, work.z)
    status = INDEFINITE
    if problem.space.pivots.shape[0] > 0:  # where there are few nodes nothing is gained
        swept = Swept(coarse.back, coarse.upper, coarse.h, coarse.z, coarse.t, coarse.e, coarse.g)
        status = descend_to(limits, True, problem, x, work, coarse, swept, report)
    if status != OK and report.iterations < limits.max_iterations:
        swept = Swept(
            coarse.exact_back, coarse.exact_upper, coarse.exact_h, coarse.exact_z, coarse.exact_t, coarse.exact_e,
            coarse.exact_g,
        )  # fmt: skip
        status = descend_to(limits, False, problem, x, work, coarse, swept, report)
    return status


@njit
def descend_to(limits, single, problem, x, work, coarse, swept, report):
    """Iterate with the arrays `swept`, starting again where rounding keeps the true residual above that of the recursion.
    single : whether they are in single precision. Returns a status."""
    tolerance, max_iterations = limits
    if not prepare(problem.matrix, problem.held, problem.space, coarse, swept):
        return INDEFINITE
    reference = residual(problem, work.z, work, coarse, swept)
    if reference == 0.0:
        copy(x, work.z)
        report.residual = 0.0
        return OK
    status, last, square = OK, math.inf, reference  # that of z, of which coarse still has the residual
    if not same(x, work.z):
        square = residual(problem, x, work, coarse, swept)
    goal = tolerance * tolerance * reference
    progress = SINGLE_PROGRESS if single else PROGRESS
    while status == OK and square > goal:
        if report.iterations >= max_iterations or square > progress * last:
            status = NOT_CONVERGED
            break
        last = square
        near = max(goal, SINGLE_FALL * square) if single else goal
        patience = PATIENCE if single else max_iterations
        status = iterate(problem, x, coarse, swept, near, patience, max_iterations, report)
        square = residual(problem, x, work, coarse, swept)
    report.residual = math.sqrt(square / reference)
    return status if report.residual < math.inf else NOT_FINITE


@njit
def prescribed(held, x, z):
    """z ← (1 − S) x."""
    clear(z)
    for h in range(held.shape[0]):
        row = held[h]
        at = 3 * row.node
        store_3(z, at, fixed_part(row.fixed, load3(row.direction), load_3(x, at)))


@njit
def residual(problem, x, work, coarse, swept):
    """w of b − A x and its coarse part c, both in `coarse`, and the square of the norm of S (b − A x)."""
    matrix, held, space, b = problem
    copy(work.r, b)
    if not is_zero(x):
        multiply(matrix, x, work.r)
        for k in range(b.shape[0]):
            work.r[k] = b[k] - work.r[k]
    project(held, work.r)
    square = coarse_part(held, space, coarse, work.r)
    into_frames(space.position, coarse, work.r, coarse.w)
    return square + sweep_residual(space, swept, coarse.w)


@njit
def is_zero(a):
    """Whether all numbers are zero."""
    for k in range(a.shape[0]):
        if a[k] != 0.0:
            return False
    return True


@njit
def same(a, b):
    """Whether two arrays are equal."""
    for k in range(a.shape[0]):
        if a[k] != b[k]:
            return False
    return True


@njit
def iterate(problem, x, coarse, swept, goal, patience, max_iterations, report):
    """Conjugate gradients from x, whose residual is in coarse.w and coarse.c, to one whose squared norm is at most
    `goal`. Returns a status."""
    held, space = problem.held, problem.space
    y, w, c = coarse.y, coarse.w, coarse.c
    clear(y)
    clear(swept.z)
    clear(swept.t)
    clear(swept.e)
    clear(swept.g)
    # t = W A_c⁻¹ Wᵀ r removes the coarse part of the residual.
    sweep_downward(space, swept, 0.0, 0.0, w, c)
    alpha, last, status = 1.0, math.inf, OK
    least, since = math.inf, 0
    while True:
        square = sweep_upward(space, swept, alpha, y, w, c)
        since = 0 if square < least else since + 1
        least = min(least, square)
        if not square > goal or report.iterations >= max_iterations or since > patience:
            break
        beta, last = square / last, square
        report.iterations += 1
        solve_coarse(held, space, coarse)
        curvature = sweep_downward(space, swept, 1.0, beta, w, c)
        if not curvature > 0.0:
            status = INDEFINITE
            break
        alpha = square / curvature
    add_from_frames(space.position, coarse, y, x)
    return status


INTS, SINGLE = array(1, np.int64), out(1, np.float32)
SPACE = CoarseSpace(
    INTS, INTS, array(1, np.int32), INTS, INTS, array(1, np.int32), INTS, array(1, np.int32), INTS, INTS, INTS,
    array(1, COLUMN), array(1, ENTRY), array(1, UPDATE),
)  # fmt: skip
SCRATCH = CoarseWork(out(1, np.int64), out(1, np.int64), out(), *[SINGLE] * 7, *[out()] * 14)


@kernel
def _solve(
    problem: Problem(BlockMatrix(INTS, array(1, np.int32), array()), array(1, HELD), SPACE, array()), x: out(),
    work: Workspace(out(), out()), coarse: SCRATCH, tolerance: float, max_iterations: int, report: out(1, REPORT),
) -> int:  # fmt: skip
    """`conjugate_gradient` from Python."""
    return conjugate_gradient(problem, x, work, coarse, Limits(tolerance, max_iterations), report[0])


class Solution(NamedTuple):
    """The result of `solve_cg`."""

    x: np.ndarray  # (n, 3)
    status: int
    iterations: int
    residual: float  # relative, in the norm of the preconditioner


def solve_cg(
    matrix: BlockMatrix, b: ArrayLike, start: ArrayLike | None = None, *, held: Iterable[Any] = (),
    space: CoarseSpace | None = None, tolerance: float = 1e-8, max_iterations: int = 1000,
) -> Solution:  # fmt: skip
    """Solve A x = b for symmetric positive definite A, with nodes that may be constrained: see `conjugate_gradient`.

    space : patches of the matrix's pattern, those of `coarse_space` if not given.
    b, start : (n, 3); the start, zeros if not given, has the prescribed values where nodes are constrained. held : HELD
    records, or a list of (node, how many directions are fixed, direction); a direction need not be a unit vector here.

    Raises ValueError for sizes that do not fit, repeated or unknown nodes, and directions of length zero.

    >>> import numpy as np
    >>> spring = np.array([0, 1, 2]), np.array([0, 1], np.int32), np.concatenate([np.diag([2.0, 4.0, 8.0]).ravel()] * 2)
    >>> solve_cg(BlockMatrix(*spring), [(2, 4, 8), (2, 4, 8)], held=[(1, 1, (0, 0, 1))]).x.round(6).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]]
    """
    n = len(matrix.starts) - 1
    right = np.array(b, np.float64)
    x = np.zeros((n, 3)) if start is None else np.array(start, np.float64)
    if right.shape != (n, 3) or x.shape != (n, 3):
        raise ValueError(f"b and start must have the shape {(n, 3)}, not {right.shape} and {x.shape}")
    if not 0.0 < tolerance < math.inf:
        raise ValueError(f"tolerance must be positive, not {tolerance}")
    table, report = held_table(n, held), np.zeros(1, REPORT).view(np.recarray)
    flat, work = x.reshape(-1), Workspace(np.zeros(3 * n), np.zeros(3 * n))
    space = coarse_space(BlockPattern(matrix.starts, matrix.columns, ())) if space is None else space
    scratch = coarse_workspace(space)
    problem = Problem(matrix, table, space, right.reshape(-1))
    status = _solve(problem, flat, work, scratch, tolerance, max_iterations, report)
    return Solution(x, int(status), int(report[0].iterations), float(report[0].residual))


def held_table(n: int, held: Iterable[Any]) -> np.ndarray:
    """HELD records with unit directions, of nodes from 0 to n − 1. Raises ValueError as `solve_cg` does."""
    table = np.array(list(held), HELD).reshape(-1).view(np.recarray)
    if len(np.unique(table.node)) < len(table) or ((table.node < 0) | (table.node >= n)).any():
        raise ValueError(f"constrained nodes must be distinct and from 0 to {n - 1}: {table.node.tolist()}")
    if ((table.fixed < 1) | (table.fixed > 3)).any():
        raise ValueError(f"one to three directions of a node can be fixed, not {table.fixed.tolist()}")
    partly = table.fixed < 3
    length = np.linalg.norm(table.direction[partly], axis=1)
    if not ((length > 0.0) & (length < math.inf)).all():
        raise ValueError(f"directions must have a length: {table.direction[partly].tolist()}")
    table.direction[partly] /= length[:, None]
    return table
