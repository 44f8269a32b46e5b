"""The tables of an iterative solver (`Iterative`), its preconditioners M (diagonal blocks, incomplete factorization), and the
equilibration of its matrix."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.c_function import part_of
from ..core.elementary import exp, log
from ..core.jit import njit
from ..core.simd import load, store
from ..core.tables import column
from .dense import lu_factorize, lu_substitute
from .equilibrate import Entries, sweep_alg3, sweep_ruiz, worst_deviation
from .matching import MatchingWork, match_columns

# The tables of an iterative solver: a square matrix by rows, what prepares it, and its workspace -----------------------


PREPARE, ANEW, AGAIN = range(3)  # tasks of `krylov.iterate`; AGAIN starts from the solution of the task AGAIN before

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
    """A x = b of n rows, by rows; `values` is scaled in place if the options ask for it."""

    iteration: Any = column("1", ITERATION)
    starts: Any = column("n + 1", np.int64)
    columns: Any = column("entries", np.int64, doc="in order in each row")
    source: Any = column("entries", np.int64, doc="index of each entry in the input of `prepare`")
    diagonal: Any = column("n", np.int64, doc="indices of the diagonal entries")
    blocks: Any = column("blocks + 1", np.int64, doc="first rows of the blocks of the diagonal")
    block_starts: Any = column("blocks", np.int64, doc="offsets of their factors")
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


# The preconditioners ---------------------------------------------------------------------------------------------------

LEAST_PIVOT = 1e-10  # of the diagonal entry: a smaller pivot of the incomplete factorization is replaced


@njit
def factor_blocks(tables):
    """LU of the blocks of the diagonal. Returns a status; `row` names the first row of a singular one."""
    starts, columns, values = tables.starts, tables.columns, tables.values
    blocks, at, factors = tables.blocks, tables.block_starts, tables.block_factors
    for k in range(at.shape[0]):
        first, width = blocks[k], blocks[k + 1] - blocks[k]
        for i in range(width * width):
            factors[at[k] + i] = 0.0
        for i in range(width):
            for e in range(starts[first + i], starts[first + i + 1]):
                j = columns[e] - first
                if j >= 0 and j < width:
                    factors[at[k] + width * i + j] = values[e]
        if lu_factorize(width, factors, at[k], tables.pivots, first) != 0:
            tables.iteration[0].row = first
            return SINGULAR_BLOCK
    return SOLVED


@njit
def solve_block(tables, k, x):
    """x ← D⁻¹ x in the rows of block k."""
    first, width = tables.blocks[k], tables.blocks[k + 1] - tables.blocks[k]
    at = tables.block_starts[k]
    if width == 1:
        store(x, first, load(x, first) / load(tables.block_factors, at))
        return
    lu_substitute(width, tables.block_factors, at, tables.pivots, first, x, first)


@njit
def factor_incomplete(tables):
    """A ≈ L U with the pattern of A, L with ones on its diagonal: ILU(0), row by row (Y. Saad, "Iterative methods for sparse
    linear systems", 2003, algorithm 10.4). Of a symmetric matrix it is the incomplete L D Lᵀ.

    A pivot that comes out much smaller than the entry of A, or of the other sign, is replaced by that entry.
    """
    starts, columns, values = tables.starts, tables.columns, tables.values
    diagonal, factors, place = tables.diagonal, tables.incomplete, tables.place
    n = diagonal.shape[0]
    for e in range(values.shape[0]):
        factors[e] = values[e]
    for j in range(n):
        place[j] = -1
    for i in range(n):
        for e in range(starts[i], starts[i + 1]):
            place[columns[e]] = e
        for e in range(starts[i], diagonal[i]):
            k = columns[e]
            factors[e] /= factors[diagonal[k]]
            for f in range(diagonal[k] + 1, starts[k + 1]):
                target = place[columns[f]]
                if target >= 0:
                    factors[target] -= factors[e] * factors[f]
        for e in range(starts[i], starts[i + 1]):
            place[columns[e]] = -1
        own = values[diagonal[i]]
        if not factors[diagonal[i]] * own > LEAST_PIVOT * own * own:
            factors[diagonal[i]] = own if own != 0.0 else 1.0


@njit
def precondition(tables, r, z):
    """z = M⁻¹ r."""
    for i in range(r.shape[0]):
        z[i] = r[i]
    kind = tables.iteration[0].preconditioner
    if kind == BLOCK_JACOBI:
        for k in range(tables.block_starts.shape[0]):
            solve_block(tables, k, z)
    elif kind == INCOMPLETE:
        solve_incomplete(tables, z)


@njit
def solve_incomplete(tables, z):
    """z ← U⁻¹ L⁻¹ z."""
    starts, columns = tables.starts, tables.columns
    diagonal, factors = tables.diagonal, tables.incomplete
    n = diagonal.shape[0]
    for i in range(n):
        s = load(z, i)
        for e in range(starts[i], diagonal[i]):
            s -= load(factors, e) * load(z, columns[e])
        store(z, i, s)
    for i in range(n - 1, -1, -1):
        s = load(z, i)
        for e in range(diagonal[i] + 1, starts[i + 1]):
            s -= load(factors, e) * load(z, columns[e])
        store(z, i, s / load(factors, diagonal[i]))


# Equilibration of a symmetric matrix inside a run: one factor for row and column i, so that it stays symmetric ---------
#
# ALG3 and Ruiz's method scale both alike, where the matrix is symmetric. MC64's rows and columns come out different; the
# square root of their product keeps every entry at most one and those of the matching at one (I. Duff, S. Pralet,
# "Strategies for scaling and pivoting for sparse symmetric indefinite problems", SIAM J. Matrix Anal. Appl. 27, 2005).


ENOUGH = 1e-4  # deviation of the largest size in a row from one
SWEEPS = 50  # at most: the rest of the deviation does no harm


@njit
def find_scale(tables):
    """`scale` from `sizes`, by the method asked for. Overwrites `sizes`."""
    if tables.iteration[0].scaling == MC64:
        scale_by_matching(tables)
    else:
        scale_by_sweeps(tables)


@njit
def scale_by_sweeps(tables):
    """`scale` = √(r c) with r and c by ALG3 or by Ruiz's method."""
    starts, columns, sizes, r = tables.starts, tables.columns, tables.sizes, tables.scale
    entries = Entries(starts, columns, sizes, starts, columns, sizes)  # symmetric: rows are columns
    n = r.shape[0]
    c, r_roots, c_roots = (
        part_of(tables.work, 0, n),
        part_of(tables.work, n, n),
        part_of(tables.work, 2 * n, n),
    )
    for i in range(n):
        r[i], c[i] = 1.0, 1.0
    for _ in range(SWEEPS):
        if worst_deviation(n, entries, r, c) <= ENOUGH:
            break
        if tables.iteration[0].scaling == ALG3:
            sweep_alg3(n, entries, r, c)
        else:
            sweep_ruiz(n, entries, r, c, r_roots, c_roots)
    for i in range(n):
        r[i] = math.sqrt(r[i] * c[i])


@njit
def scale_by_matching(tables):
    """`scale` by the matching of largest product. Rows and columns without a match are scaled by their largest size alone."""
    starts, costs, scale = tables.starts, tables.sizes, tables.scale
    n = scale.shape[0]
    u, v, distance = part_of(tables.work, 0, n), part_of(tables.work, n, n), part_of(tables.work, 2 * n, n)
    for i in range(n):
        largest = 0.0
        for e in range(starts[i], starts[i + 1]):
            largest = max(largest, costs[e])
        scale[i] = largest
        for e in range(starts[i], starts[i + 1]):
            costs[e] = log(largest / costs[e]) if costs[e] > 0.0 else math.inf
    work = MatchingWork(
        u, v, tables.row_of, tables.column_of, distance, tables.reached_from, tables.heap, tables.place, tables.reached
    )  # fmt: skip
    match_columns(n, starts, tables.columns, costs, work)
    for i in range(n):
        scale[i] = math.sqrt(exp(u[i] + v[i]) / scale[i])
