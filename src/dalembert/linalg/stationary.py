"""Gauss–Seidel and Jacobi iterations for A d = r from d = 0, block by block of the diagonal; as in `krylov`."""

import math

from ..arrays import clear, copy
from ..jit import njit
from ..pointer import part_of
from ..unchecked import peek, poke
from .iterative_tables import DIVERGED, SOLVED, TOO_FEW
from .krylov import multiply, norm
from .precondition import solve_block

GROWTH = 1e6  # of the residual, over its smallest: it will not come back


@njit
def gauss_seidel(tables, goal):
    """Each block of rows is solved for its own unknowns, with the newest of all others. It converges where A is symmetric
    positive definite, or dominated by its diagonal. The residual is that which each block is found with."""
    iteration = tables.iteration[0]
    r, d = tables.r, tables.d
    starts, columns, values, blocks = tables.starts, tables.columns, tables.values, tables.blocks
    n = r.shape[0]
    change = part_of(tables.work, 0, n)
    clear(d)
    least = math.inf
    while True:
        if iteration.iterations >= iteration.most:
            return TOO_FEW
        iteration.iterations += 1
        square = 0.0
        for k in range(tables.block_starts.shape[0]):
            for i in range(blocks[k], blocks[k + 1]):
                s = peek(r, i)
                for e in range(starts[i], starts[i + 1]):
                    s -= peek(values, e) * peek(d, columns[e])
                poke(change, i, s)
                square += s * s
            solve_block(tables, k, change)
            for i in range(blocks[k], blocks[k + 1]):
                poke(d, i, peek(d, i) + peek(change, i))
        size = math.sqrt(square)
        if size <= goal:
            return SOLVED
        least = min(least, size)
        if not size <= GROWTH * least:
            return DIVERGED


@njit
def jacobi(tables, goal):
    """d += ω D⁻¹ (r − A d), for all blocks at once; ω is 1 unless `relaxation` finds that this may diverge."""
    iteration = tables.iteration[0]
    r, d = tables.r, tables.d
    n = r.shape[0]
    change, turned = part_of(tables.work, 0, n), part_of(tables.work, n, n)
    clear(d)
    size = norm(r)
    least = size
    while not size <= goal:
        if iteration.iterations >= iteration.most:
            return TOO_FEW
        iteration.iterations += 1
        copy(change, r)
        for k in range(tables.block_starts.shape[0]):
            solve_block(tables, k, change)
        for i in range(n):
            poke(change, i, iteration.relaxation * peek(change, i))
            poke(d, i, peek(d, i) + peek(change, i))
        multiply(tables, change, turned)
        for i in range(n):
            poke(r, i, peek(r, i) - peek(turned, i))
        size = norm(r)
        least = min(least, size)
        if not size <= GROWTH * least:
            return DIVERGED
    return SOLVED


@njit
def relaxation(tables):
    """ω of Jacobi's iteration. For symmetric positive definite A it converges where ω times the largest eigenvalue of
    D⁻¹ A is below 2; no eigenvalue is above the largest sum ρ of sizes in a row of D⁻¹ A. So 1 where ρ < 2, else 2 / (1 + ρ).
    """
    starts, columns, values, blocks = tables.starts, tables.columns, tables.values, tables.blocks
    column, sums = part_of(tables.work, 0, tables.r.shape[0]), tables.r
    clear(sums)
    bound = 0.0
    for k in range(tables.block_starts.shape[0]):
        first, last = blocks[k], blocks[k + 1]
        # The columns that the rows of a block have entries in are those of its first row, and of others where they differ.
        for lead in range(first, last):
            for e in range(starts[lead], starts[lead + 1]):
                j = columns[e]
                if lead > first and _stored(starts, columns, first, lead, j):
                    continue
                for i in range(first, last):
                    column[i] = 0.0
                    for f in range(starts[i], starts[i + 1]):
                        if columns[f] == j:
                            column[i] = values[f]
                solve_block(tables, k, column)
                for i in range(first, last):
                    sums[i] += abs(column[i])
        for i in range(first, last):
            bound = max(bound, sums[i])
    return 1.0 if bound < 2.0 else 2.0 / (1.0 + bound)


@njit
def _stored(starts, columns, first, last, j):
    """Whether any of these rows has an entry in column j."""
    for i in range(first, last):
        for e in range(starts[i], starts[i + 1]):
            if columns[e] == j:
                return True
    return False
