"""The tables of an iterative solver: a square matrix by rows, what prepares it, and its workspace."""

from typing import Any, NamedTuple

import numpy as np

from ..tables import column

PREPARE, ANEW, AGAIN = range(3)  # tasks of `iterate`; AGAIN starts from the solution of the task AGAIN before

BICGSTAB, CONJUGATE_GRADIENT, MINRES, GAUSS_SEIDEL, JACOBI = range(5)  # from GAUSS_SEIDEL on: stationary ones
NONE, BLOCK_JACOBI, INCOMPLETE = range(3)  # preconditioners
UNSCALED, ALG3, MC64, RUIZ = range(4)  # equilibration

# How a solution ended
SOLVED = 0
TOO_FEW = 1  # iterations
STALLED = 2  # rounding keeps the residual from falling further
NO_SHADOW = 3  # BiCGSTAB: ρ = 0, the residual is orthogonal to the one that it started from
NO_STABILIZER = 4  # BiCGSTAB: ω = 0
INDEFINITE = 5  # conjugate gradients: pᵀ A p ≤ 0
INDEFINITE_PRECONDITIONER = 6
DIVERGED = 7
# How a preparation ended
NOT_FINITE = 8
ZERO_ROW = 9
SINGULAR_BLOCK = 10  # a block of the diagonal has no inverse

WORK = 6  # vectors

ITERATION = np.dtype(
    [("method", "i8"), ("preconditioner", "i8"), ("scaling", "i8"), ("tolerance", "f8"), ("most", "i8"),
     ("warm", "i8"), ("strict", "i8"),
     # of the last solution
     ("status", "i8"), ("row", "i8"), ("iterations", "i8"), ("residual", "f8"), ("relaxation", "f8"),
     # of all solutions so far
     ("solves", "i8"), ("all_iterations", "i8"), ("worst", "f8"), ("unsolved", "i8")],
    align=True,
)  # fmt: skip


class Iterative(NamedTuple):
    """A x = b of n rows, by rows; `values` is scaled in place where that was asked for."""

    iteration: Any = column("1", ITERATION)
    starts: Any = column("n + 1", np.int64)
    columns: Any = column("entries", np.int64, doc="in order in each row")
    source: Any = column("entries", np.int64, doc="where each entry stands in what `prepare` is given")
    diagonal: Any = column("n", np.int64, doc="where the entries of the diagonal stand")
    blocks: Any = column("blocks + 1", np.int64, doc="first rows of the blocks of the diagonal")
    block_starts: Any = column("blocks", np.int64, doc="where their factors stand")
    pivots: Any = column("n", np.int64, doc="of these")
    values: Any = column("entries")
    sizes: Any = column("entries")
    block_factors: Any = column()
    incomplete: Any = column("entries", doc="L and U")
    scale: Any = column("n", doc="of rows and of columns")
    before: Any = column("n", doc="the last solution")
    b: Any = column("n")
    x: Any = column("n")
    r: Any = column("n")
    d: Any = column("n")
    work: Any = column("WORK * n")
    place: Any = column("n", np.int64, doc="and so are the rest, which matchings are found with")
    row_of: Any = column(dtype=np.int64)
    column_of: Any = column(dtype=np.int64)
    reached_from: Any = column(dtype=np.int64)
    heap: Any = column(dtype=np.int64)
    reached: Any = column(dtype=np.int64)
