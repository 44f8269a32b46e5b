"""A symmetric matrix of 3×3 blocks, of which the upper triangle is kept: sums of elements, products, SciPy's form.

With both triangles kept products would only read, but twice as much: on a sheet of 10 000 particles they took 15 to 40 %
longer.
"""

from typing import Any, NamedTuple

import numpy as np

from ..arrays import clear
from ..jit import inlined, njit
from ..unchecked import peek, poke
from ..vec import matvec, matvec_t
from .block import load_3x3


class BlockMatrix(NamedTuple):
    """What kernels are handed. The first two are those of a `BlockPattern`."""

    starts: np.ndarray  # (n + 1,) int64
    columns: np.ndarray  # (blocks,) int32
    values: np.ndarray  # (9 blocks,) float64, block by block, each row by row; all of a diagonal block is kept


@inlined
def load_3(a, o):
    return (peek(a, o), peek(a, o + 1), peek(a, o + 2))


@inlined
def store_3(a, o, v):
    poke(a, o, v[0])
    poke(a, o + 1, v[1])
    poke(a, o + 2, v[2])


@inlined
def add_3(a, o, v):
    poke(a, o, peek(a, o) + v[0])
    poke(a, o + 1, peek(a, o + 1) + v[1])
    poke(a, o + 2, peek(a, o + 2) + v[2])


@inlined
def add_block(values, slot, m):
    """Add a local block (nine floats row by row) at its slot (see `BlockPattern`)."""
    o = 9 * (slot // 2)
    if slot % 2 == 1:
        m = (m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8])
    for k in range(9):
        poke(values, o + k, peek(values, o + k) + m[k])


@njit
def add_to_diagonal(matrix, amount):
    """A ← A + diag(amount), with one number (of (n,)) for the three rows of each node: masses."""
    for i in range(amount.shape[0]):
        o = 9 * matrix.starts[i]
        for k in range(0, 9, 4):
            poke(matrix.values, o + k, peek(matrix.values, o + k) + amount[i])


@njit
def diagonal_blocks(matrix, blocks):
    """Copy the diagonal blocks to `blocks` (9 n,)."""
    for i in range(matrix.starts.shape[0] - 1):
        o = 9 * matrix.starts[i]
        for k in range(9):
            poke(blocks, 9 * i + k, peek(matrix.values, o + k))


@njit
def multiply(matrix, x, y):
    """y = A x, both (3 n,) and apart. Each block is read once, and serves its row and its column."""
    starts, columns, values = matrix.starts, matrix.columns, matrix.values
    clear(y)
    for i in range(starts.shape[0] - 1):
        x_i = load_3(x, 3 * i)
        u, v, w = matvec(load_3x3(values, 9 * starts[i]), x_i)
        s0, s1, s2 = load_3(y, 3 * i)
        s0, s1, s2 = s0 + u, s1 + v, s2 + w
        for e in range(starts[i] + 1, starts[i + 1]):
            m, j = load_3x3(values, 9 * e), 3 * columns[e]
            u, v, w = matvec(m, load_3(x, j))
            s0, s1, s2 = s0 + u, s1 + v, s2 + w
            u, v, w = matvec_t(m, x_i)
            poke(y, j, peek(y, j) + u)
            poke(y, j + 1, peek(y, j + 1) + v)
            poke(y, j + 2, peek(y, j + 2) + w)
        store_3(y, 3 * i, (s0, s1, s2))


def to_scipy(matrix: BlockMatrix) -> Any:
    """The whole matrix as a SciPy `csc_array` (3 n, 3 n), for its direct solvers."""
    from scipy.sparse import bsr_array  # SciPy's parts are slow to load, and most runs need none

    starts, columns, values = matrix
    side = 3 * (len(starts) - 1)
    blocks = values.reshape(-1, 3, 3)
    beside = blocks.copy()
    beside[starts[:-1]] = 0.0
    upper = bsr_array((blocks, columns, starts), shape=(side, side))
    return (upper + bsr_array((beside, columns, starts), shape=(side, side)).T).tocsc()
