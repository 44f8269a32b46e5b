"""Conjugate gradients for a symmetric positive definite matrix of 3×3 blocks, nodes of which may be held; see `ssor` for the
preconditioner and `deflation` for what patches of nodes do together."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import clear, copy
from ..jit import kernel, njit
from ..status import OK
from ..vec import load3
from .block_matrix import BlockMatrix, load_3, multiply, store_3
from .block_pattern import BlockPattern
from .coarse_space import CoarseSpace, coarse_space, coarse_workspace
from .deflation import advance, coarse_direction, coarse_part, prepare
from .ssor import HELD, descend, fixed_part, invert_diagonal, project, residual_norm, solve_downward, solve_upward

NOT_CONVERGED = 1  # the iterations allowed were used up, or rounding lets the residual fall no further
INDEFINITE = 2  # a direction was met along which A does not bend upward: x is the best found before
NOT_FINITE = 3  # numbers of the problem are not finite, or overflow

REPORT = np.dtype([("iterations", "i8"), ("residual", "f8")], align=True)  # residual: relative, of the x returned

PROGRESS = 0.25  # of its square: what the true residual must fall by between two starts, where rounding adds to it


class Workspace(NamedTuple):
    """Scratch of a solve; its names are those of `ssor`."""

    inverse: np.ndarray  # (9 n,)
    z: np.ndarray  # (3 n,), as are the others
    t: np.ndarray
    e: np.ndarray
    g: np.ndarray
    w: np.ndarray


def workspace(n: int) -> Workspace:
    """Scratch for n block rows."""
    return Workspace(np.zeros(9 * n), *(np.zeros(3 * n) for _ in range(5)))


@njit
def conjugate_gradient(matrix, held, space, b, x, work, coarse, tolerance, max_iterations, report):
    """Solve S A S y = S (b − A z), x = z + y, where z is what x has on entry in the directions that `held` fixes.

    matrix: BlockMatrix; held: HELD records; space: CoarseSpace of its pattern; b: (3 n,); x: (3 n,), the start on entry and
    the solution afterwards; work: Workspace; coarse: CoarseWork; report: a REPORT record. It ends where
    ‖r‖ ≤ tolerance ‖S (b − A z)‖, with the norm √(rᵀ (M⁻¹ + W A_c⁻¹ Wᵀ) r) of the preconditioner and the patches. The
    residual is computed from x at the end, and iteration starts again where rounding has made it larger than the recursion
    says. Returns OK, NOT_CONVERGED, INDEFINITE or NOT_FINITE.
    """
    report.iterations = 0
    report.residual = math.inf
    if not (invert_diagonal(matrix, held, work.inverse) and prepare(matrix, held, space, coarse)):
        return INDEFINITE
    prescribed(held, x, work.z)
    reference = residual(matrix, held, space, b, work.z, work, coarse)
    if reference == 0.0:
        copy(x, work.z)
        report.residual = 0.0
        return OK
    status, last, square = OK, math.inf, reference  # that of z; work.w still holds its residual
    if not same(x, work.z):
        square = residual(matrix, held, space, b, x, work, coarse)
    goal = tolerance * tolerance * reference
    while status == OK and square > goal:
        if report.iterations >= max_iterations or square > PROGRESS * last:
            status = NOT_CONVERGED
            break
        last = square
        status = iterate(matrix, held, space, x, work, coarse, goal, max_iterations, report)
        square = residual(matrix, held, space, b, x, work, coarse)
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
def residual(matrix, held, space, b, x, work, coarse):
    """w of b − A x, its coarse part in coarse.c, and the square of the norm of S (b − A x)."""
    copy(work.w, b)
    if not is_zero(x):
        multiply(matrix, x, work.w)
        for k in range(b.shape[0]):
            work.w[k] = b[k] - work.w[k]
    project(held, work.w)
    square = coarse_part(held, space, coarse, work.w)
    square += residual_norm(matrix, work.inverse, work.w)
    project(held, work.w)
    return square


@njit
def is_zero(a):
    for k in range(a.shape[0]):
        if a[k] != 0.0:
            return False
    return True


@njit
def same(a, b):
    for k in range(a.shape[0]):
        if a[k] != b[k]:
            return False
    return True


@njit
def iterate(matrix, held, space, x, work, coarse, goal, max_iterations, report):
    """Conjugate gradients from x, whose residual is in work.w and coarse.c, to one of which the square is `goal`."""
    inverse, z, t, e, g, w = work
    for vector in (z, t, e, g):
        clear(vector)
    # t = W A_c⁻¹ Wᵀ r removes the coarse part of the residual.
    advance(space, coarse, held, 0.0, z, t, e, g)
    solve_downward(matrix, inverse, t, e, g)
    project(held, g)
    square = descend(inverse, 1.0, t, g, x, w)
    beta = 0.0
    while square > goal and report.iterations < max_iterations:
        report.iterations += 1
        solve_upward(matrix, inverse, w, z, g)
        coarse_direction(held, space, coarse, inverse, w, z)
        advance(space, coarse, held, beta, z, t, e, g)
        curvature = solve_downward(matrix, inverse, t, e, g)
        project(held, g)
        if not curvature > 0.0:
            return INDEFINITE
        last, square = square, descend(inverse, square / curvature, t, g, x, w)
        beta = square / last
    return OK


@kernel
def _solve(matrix, held, space, b, x, work, coarse, tolerance, max_iterations, report):
    return conjugate_gradient(matrix, held, space, b, x, work, coarse, tolerance, max_iterations, report[0])


class Solution(NamedTuple):
    """What `solve_cg` found."""

    x: np.ndarray  # (n, 3)
    status: int
    iterations: int
    residual: float  # relative, in the norm of the preconditioner


def solve_cg(
    matrix: BlockMatrix, b: ArrayLike, start: ArrayLike | None = None, *, held: Iterable[Any] = (),
    space: CoarseSpace | None = None, tolerance: float = 1e-8, max_iterations: int = 1000,
) -> Solution:  # fmt: skip
    """Solve A x = b for symmetric positive definite A, where nodes may be held: see `conjugate_gradient`.

    space : patches of the matrix's pattern, those of `coarse_space` if not given.
    b, start : (n, 3); the start, zeros if not given, has the prescribed values where nodes are held. held : HELD
    records, or a list of (node, how many directions are fixed, direction); a direction need not be a unit vector here.

    Raises ValueError: sizes that do not fit; a node held twice, or that is not there; directions without length.

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
    flat = x.reshape(-1)
    space = coarse_space(BlockPattern(matrix.starts, matrix.columns, ())) if space is None else space
    status = _solve(
        matrix,
        table,
        space,
        right.reshape(-1),
        flat,
        workspace(n),
        coarse_workspace(space),
        tolerance,
        max_iterations,
        report,
    )
    return Solution(x, int(status), int(report[0].iterations), float(report[0].residual))


def held_table(n: int, held: Iterable[Any]) -> np.ndarray:
    """HELD records with unit directions, of nodes from 0 to n − 1. Raises ValueError as `solve_cg` does."""
    table = np.array(list(held), HELD).reshape(-1).view(np.recarray)
    if len(np.unique(table.node)) < len(table) or ((table.node < 0) | (table.node >= n)).any():
        raise ValueError(f"nodes that are held must be distinct and from 0 to {n - 1}: {table.node.tolist()}")
    if ((table.fixed < 1) | (table.fixed > 3)).any():
        raise ValueError(f"one to three directions of a node can be fixed, not {table.fixed.tolist()}")
    partly = table.fixed < 3
    length = np.linalg.norm(table.direction[partly], axis=1)
    if not ((length > 0.0) & (length < math.inf)).all():
        raise ValueError(f"directions must have a length: {table.direction[partly].tolist()}")
    table.direction[partly] /= length[:, None]
    return table
