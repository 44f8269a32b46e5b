"""The tables of an iterative solver: a square matrix by rows, what prepares it, and its workspace."""

from typing import Any, NamedTuple

import numpy as np

from ..addresses import reader

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

    iteration: Any  # ITERATION, one row
    starts: np.ndarray  # (n + 1,) int64
    columns: np.ndarray  # (entries,) int64, in order in each row
    source: np.ndarray  # (entries,) int64, where each entry stands in what `prepare` is given
    diagonal: np.ndarray  # (n,) int64, where the entries of the diagonal stand
    blocks: np.ndarray  # (blocks + 1,) int64, first rows of the blocks of the diagonal
    block_starts: np.ndarray  # (blocks,) int64, where their factors stand
    pivots: np.ndarray  # (n,) int64, of these
    values: np.ndarray  # (entries,)
    sizes: np.ndarray  # (entries,)
    block_factors: np.ndarray
    incomplete: np.ndarray  # (entries,), L and U
    scale: np.ndarray  # (n,), of rows and of columns
    before: np.ndarray  # (n,), the last solution
    b: np.ndarray  # (n,)
    x: np.ndarray  # (n,)
    r: np.ndarray  # (n,)
    d: np.ndarray  # (n,)
    work: np.ndarray  # (WORK n,)
    place: np.ndarray  # (n,) int64, and so are the rest, which matchings are found with
    row_of: np.ndarray
    column_of: np.ndarray
    reached_from: np.ndarray
    heap: np.ndarray
    reached: np.ndarray


iteration_of = reader(Iterative, "iteration", ITERATION)
starts_of = reader(Iterative, "starts", np.int64)
columns_of = reader(Iterative, "columns", np.int64)
source_of = reader(Iterative, "source", np.int64)
diagonal_of = reader(Iterative, "diagonal", np.int64)
blocks_of = reader(Iterative, "blocks", np.int64)
block_starts_of = reader(Iterative, "block_starts", np.int64)
pivots_of = reader(Iterative, "pivots", np.int64)
values_of = reader(Iterative, "values")
sizes_of = reader(Iterative, "sizes")
block_factors_of = reader(Iterative, "block_factors")
incomplete_of = reader(Iterative, "incomplete")
scale_of = reader(Iterative, "scale")
before_of = reader(Iterative, "before")
b_of = reader(Iterative, "b")
x_of = reader(Iterative, "x")
r_of = reader(Iterative, "r")
d_of = reader(Iterative, "d")
work_of = reader(Iterative, "work")
place_of = reader(Iterative, "place", np.int64)
row_of_of = reader(Iterative, "row_of", np.int64)
column_of_of = reader(Iterative, "column_of", np.int64)
reached_from_of = reader(Iterative, "reached_from", np.int64)
heap_of = reader(Iterative, "heap", np.int64)
reached_of = reader(Iterative, "reached", np.int64)
