"""Iterative solvers of A x = b from Python, for any square matrix: options (`IterativeSolver`), the solver of one pattern
(`IterativeSystem`), and `solve_linear`. The methods are in `krylov`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.tables import TableFunction
from . import precondition as tables
from .dense import Matrix, checked
from .equilibrate import equilibrate
from .krylov import ITERATE_ENTRY, iterate_task
from .precondition import AGAIN, PREPARE, Iterative

SOLVERS = ("bicgstab", "conjugate_gradient", "minres", "gauss_seidel", "jacobi")
PRECONDITIONERS = ("none", "block_jacobi", "incomplete")
EQUILIBRATIONS = (None, "alg3", "mc64", "ruiz")
SYMMETRIC = ("conjugate_gradient", "minres")
ASYMMETRY = 1e-12  # of the largest entry: less is rounding
STATIONARY = ("gauss_seidel", "jacobi")
REASONS = {
    tables.SOLVED: "solved",
    tables.TOO_FEW: "the largest number of iterations was reached",
    tables.STALLED: "rounding prevents a further decrease of the residual",
    tables.NO_SHADOW: "BiCGSTAB broke down: rho vanished",
    tables.NO_STABILIZER: "BiCGSTAB broke down: omega vanished",
    tables.INDEFINITE: "the matrix is not positive definite",
    tables.INDEFINITE_PRECONDITIONER: "the preconditioner is not positive definite",
    tables.DIVERGED: "the iteration diverges",
    tables.NOT_FINITE: "an entry is not a finite number",
    tables.ZERO_ROW: "a row is zero",
    tables.SINGULAR_BLOCK: "a block of the diagonal is singular",
}


@dataclass(frozen=True)
class IterativeSolver:
    """How to solve A x = b by iteration.

    solver : "bicgstab" (any matrix), "conjugate_gradient" (symmetric positive definite), "minres" (symmetric), or
        "gauss_seidel" and "jacobi" (positive definite, or dominated by the diagonal), which go block by block.
    preconditioner : "none", "block_jacobi" (the blocks of the diagonal; default), or "incomplete" (ILU(0)). For the
        first three solvers only; the last two use the blocks themselves.
    equilibration : None, or "alg3", "mc64" or "ruiz" to scale rows and columns first; see `equilibrate`.
    tolerance : bound on the 2-norm of the residual relative to that of b, both scaled.
    iterations : largest number of iterations for one b.
    warm_start : in a run, whether λ of an evaluation starts from that of the previous one.

    Raises ValueError for unknown names, and numbers out of range.
    """

    solver: str = "bicgstab"
    preconditioner: str | None = None
    equilibration: str | None = None
    tolerance: float = 1e-10
    iterations: int = 1000
    warm_start: bool = True

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise ValueError(f"unknown iterative solver {self.solver!r}; there are {', '.join(SOLVERS)}")
        if self.preconditioner is not None and self.preconditioner not in PRECONDITIONERS:
            raise ValueError(f"unknown preconditioner {self.preconditioner!r}; there are {', '.join(PRECONDITIONERS)}")
        if self.preconditioner not in (None, "block_jacobi") and self.solver in STATIONARY:
            raise ValueError(f"{self.solver!r} has no preconditioner; leave it out, or use 'bicgstab'")
        if self.equilibration not in EQUILIBRATIONS:
            raise ValueError(f"unknown equilibration {self.equilibration!r}; there are None, 'alg3', 'mc64' and 'ruiz'")
        if not 0.0 < self.tolerance < 1.0:
            raise ValueError(f"tolerance is {self.tolerance!r}; give a number between 0 and 1")
        if not (isinstance(self.iterations, int) and self.iterations >= 1):
            raise ValueError(f"iterations is {self.iterations!r}; give a whole number of at least 1")

    def __str__(self) -> str:
        words = [self.solver]
        if self.solver not in STATIONARY:
            words.append(
                (self.preconditioner or "block_jacobi").replace("_", " ").replace("none", "not preconditioned")
            )
        if self.equilibration is not None:
            words.append(f"equilibrated by {self.equilibration}")
        return ", ".join(words)


class LinearSolution(NamedTuple):
    """The result of `solve_linear`."""

    x: np.ndarray  # (n,) the best iterate
    solved: bool  # whether the residual is within the tolerance
    reason: str  # why the iteration ended
    iterations: int  # number of iterations
    residual: float  # ‖b − A x‖ / ‖b‖, of the scaled system


def plain(task: int, t: float, given: np.ndarray, found: np.ndarray, own: Iterative) -> int:
    """A task of `krylov.iterate_task` without compilation."""
    return int(iterate_task(task, given, found, own))


class IterativeSystem(TableFunction):
    """A pattern of entries and a solver behind a C pointer, for the tasks of `krylov.iterate_task`.

    starts, columns : the matrix by rows, columns in order, with all of the diagonal. source : where `prepare` finds each
    entry in what it is given. blocks : (blocks + 1,) first rows of the blocks of the diagonal. strict : whether the function
    says so where it misses the tolerance.
    """

    def __init__(
        self, starts: np.ndarray, columns: np.ndarray, source: np.ndarray, blocks: np.ndarray, solver: IterativeSolver,
        strict: bool = False,
    ) -> None:  # fmt: skip
        n, entries = len(starts) - 1, len(columns)
        rows = np.repeat(np.arange(n), np.diff(starts))
        widths = np.diff(blocks)
        iteration = np.zeros(1, tables.ITERATION).view(np.recarray)
        own = iteration[0]
        own.method = SOLVERS.index(solver.solver)
        own.preconditioner = PRECONDITIONERS.index(solver.preconditioner or "block_jacobi")
        own.scaling = EQUILIBRATIONS.index(solver.equilibration)
        own.tolerance, own.most = solver.tolerance, solver.iterations
        own.warm, own.strict, own.relaxation = int(solver.warm_start), int(strict), 1.0
        own.row = -1

        def blank(size: int) -> np.ndarray:
            return np.full(size, np.nan)

        def whole(values: Any) -> np.ndarray:
            return np.ascontiguousarray(values, np.int64)

        own_tables = Iterative(
            iteration, whole(starts), whole(columns), whole(source), whole(np.flatnonzero(rows == columns)), whole(blocks),
            whole(np.cumsum(widths**2) - widths**2), np.zeros(n, np.int64), blank(entries), blank(entries),
            blank(int((widths**2).sum())), blank(entries), np.ones(n), np.zeros(n), blank(n), blank(n), blank(n), blank(n),
            blank(tables.WORK * n), *np.zeros((6, n), np.int64),
        )  # fmt: skip
        super().__init__(ITERATE_ENTRY, plain, own_tables)

    @property
    def iteration(self) -> Any:
        """The record of the last solution: ITERATION of `precondition`."""
        return self.tables.iteration[0]

    @property
    def reason(self) -> str:
        """Why the last task ended."""
        return REASONS[int(self.iteration.status)]


def solve_linear(
    matrix: Matrix, b: ArrayLike, solver: str | IterativeSolver = "bicgstab", *, start: ArrayLike | None = None,
    blocks: ArrayLike | int = 1,
) -> LinearSolution:  # fmt: skip
    """Solve A x = b by iteration, for a square matrix (n, n), dense or sparse, and b (n,).

    solver : a name, or an `IterativeSolver`. start : (n,) initial x, default zero. blocks : sizes of the blocks of the
    diagonal, in order, or one size for all.

    If the solver finds no solution, `solved` is False, `reason` says why, and x is the best iterate.

    Raises ValueError for a matrix that is not square, empty, not real or not finite, or has a row without an entry; for
    a b or start of another size, or not finite; for blocks that do not add up to n or, if the solver needs them, are
    singular; for a nonsymmetric matrix if the solver needs a symmetric one; and for a matrix that cannot be scaled (see
    `equilibrate`).

    >>> import dalembert as dal
    >>> dal.solve_linear([[4.0, 1.0], [1.0, 3.0]], [1.0, 2.0], "conjugate_gradient").x.round(6).tolist()
    [0.090909, 0.636364]
    """
    from scipy.sparse import csr_array, eye_array

    chosen = IterativeSolver(solver) if isinstance(solver, str) else solver
    columns = checked(matrix)
    n = columns.shape[0]
    right, guess = _vector("b", b, n), np.zeros(n) if start is None else _vector("start", start, n)
    if chosen.solver in SYMMETRIC:
        _require_symmetric(columns, chosen.solver)
    rows = np.flatnonzero(abs(columns).sum(axis=1) == 0.0)
    if rows.size:
        raise ValueError(f"the matrix is singular: row {rows[0]} has no entry other than zero")
    r, c = np.ones(n), np.ones(n)
    if chosen.equilibration is not None:
        found = equilibrate(columns, chosen.equilibration)
        r, c = (found.rows, found.columns)
        if chosen.solver in SYMMETRIC:
            r = c = np.sqrt(r * c)
        columns = csr_array(columns.multiply(r[:, None]).multiply(c[None, :]))
    # All of the diagonal is stored, zeros too.
    by_rows = csr_array(columns)
    pattern = csr_array((np.ones(by_rows.nnz), by_rows.indices, by_rows.indptr), shape=(n, n)) + eye_array(
        n, format="csr"
    )
    pattern.sort_indices()
    of_row = np.repeat(np.arange(n), np.diff(pattern.indptr))
    values = np.asarray(by_rows[of_row, pattern.indices]).reshape(-1).astype(float)
    bare = replace(chosen, equilibration=None, warm_start=True)
    system = IterativeSystem(pattern.indptr, pattern.indices, np.arange(len(values)), _blocks(blocks, n), bare)
    with np.errstate(all="ignore"):
        status = system.call(PREPARE, 0.0, values, np.empty(0))
    if status != tables.SOLVED:
        raise ValueError(f"{REASONS[status]}, from row {int(system.iteration.row)} on")
    x = np.empty(n)
    system.tables.before[:] = guess / c  # A x = b is R A C y = R b with x = C y
    with np.errstate(all="ignore"):
        system.call(AGAIN, 0.0, r * right, x)
    done = system.iteration
    return LinearSolution(
        c * x, int(done.status) == tables.SOLVED, system.reason, int(done.iterations), float(done.residual)
    )


def _vector(name: str, given: ArrayLike, n: int) -> np.ndarray:
    """(n,) finite floats. Raises ValueError."""
    found = np.array(given, float)
    if found.shape != (n,):
        raise ValueError(f"{name} must have the shape {(n,)}, not {found.shape}")
    if not np.isfinite(found).all():
        at = int(np.flatnonzero(~np.isfinite(found))[0])
        raise ValueError(f"{name}[{at}] is {found[at]}: every entry must be a finite number")
    return found


def _require_symmetric(columns: Any, solver: str) -> None:
    """Raises ValueError for an unsymmetric matrix."""
    largest = abs(columns - columns.T).max()
    if largest > ASYMMETRY * abs(columns).max():
        raise ValueError(
            f"{solver!r} needs a symmetric matrix, and this one differs from its transpose by {largest:.3g}; use 'bicgstab'"
        )


def _blocks(given: ArrayLike | int, n: int) -> np.ndarray:
    """First rows of the diagonal blocks. Raises ValueError for widths that do not add up to n."""
    widths = np.asarray(given, np.int64)
    if widths.ndim == 0:
        width = int(widths)
        if width < 1:
            raise ValueError(f"blocks is {width}; give a whole number of at least 1")
        widths = np.array([width] * (n // width) + ([n % width] if n % width else []), np.int64)
    if (widths < 1).any() or widths.sum() != n:
        raise ValueError(f"blocks must be whole numbers of at least 1 that add up to {n}, not to {widths.sum()}")
    return np.concatenate([[0], np.cumsum(widths)])
