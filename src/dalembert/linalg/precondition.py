"""Preconditioners M of A x = b: blocks of the diagonal, or an incomplete factorization."""

from ..jit import njit
from ..unchecked import peek, poke
from .iterative_tables import BLOCK_JACOBI, INCOMPLETE, SINGULAR_BLOCK, SOLVED
from .lu import factorize, substitute

LEAST_PIVOT = 1e-10  # of the entry on the diagonal: what an incomplete factorization leaves below is not trusted


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
        if factorize(width, factors, at[k], tables.pivots, first) != 0:
            tables.iteration[0].row = first
            return SINGULAR_BLOCK
    return SOLVED


@njit
def solve_block(tables, k, x):
    """x ← D⁻¹ x in the rows of block k."""
    first, width = tables.blocks[k], tables.blocks[k + 1] - tables.blocks[k]
    at = tables.block_starts[k]
    if width == 1:
        poke(x, first, peek(x, first) / peek(tables.block_factors, at))
        return
    substitute(width, tables.block_factors, at, tables.pivots, first, x, first)


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
        s = peek(z, i)
        for e in range(starts[i], diagonal[i]):
            s -= peek(factors, e) * peek(z, columns[e])
        poke(z, i, s)
    for i in range(n - 1, -1, -1):
        s = peek(z, i)
        for e in range(diagonal[i] + 1, starts[i + 1]):
            s -= peek(factors, e) * peek(z, columns[e])
        poke(z, i, s / peek(factors, diagonal[i]))
