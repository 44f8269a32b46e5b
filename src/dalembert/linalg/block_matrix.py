"""Symmetric matrices of 3×3 blocks, sums over elements of a few nodes each: their pattern (`block_pattern`) and values
(`BlockMatrix`); the order of sweeps over them, four rows at a time (`sweep_order`); and symmetric Gauss–Seidel as the
preconditioner of conjugate gradients, with nodes that may be constrained (HELD).

A node is one row of 3×3 blocks: a particle, or half of a rigid body (its velocity is one row, its angular velocity another).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.jit import inlined, njit
from ..core.math3 import add_scaled, cross, dot, load3, matvec, matvec_t, perpendicular, scale, sub
from ..core.simd import (
    clear,
    gather4,
    load,
    load4,
    minus4,
    plus4,
    spread,
    store,
    store4,
    subtract_listed4,
    times4,
    total4,
)
from .block_ldl import load_3x3


class BlockPattern(NamedTuple):
    """The blocks (i, j), i ≤ j, of a symmetric block matrix, row by row, and where the elements add to them.

    Row i has the blocks starts[i] … starts[i + 1] − 1, the diagonal one first, and columns rise along it. `slots` has an
    (elements, k (k + 1)/2) array for every group of elements: local blocks (a, b), a ≤ b, in the order (0, 0), (0, 1), …,
    (0, k − 1), (1, 1), …; a slot is twice the number of the stored block, plus one where that is the local block's transpose.
    """

    starts: np.ndarray  # (n + 1,) int64
    columns: np.ndarray  # (blocks,) int32
    slots: tuple[np.ndarray, ...]  # int64


def block_pattern(n: int, groups: Sequence[ArrayLike]) -> BlockPattern:
    """The pattern of a matrix of n block rows, whose blocks (i, j) are those with an element that names i and j.

    groups : (elements, k) arrays of node numbers, k ≥ 1, in any order. All diagonal blocks are in the pattern.

    Raises ValueError where a group is no such array, or an element names a node twice or one that is not there.

    >>> pattern = block_pattern(3, [[[2, 0]]])
    >>> pattern.starts.tolist(), pattern.columns.tolist()
    ([0, 2, 3, 4], [0, 2, 1, 2])
    >>> pattern.slots[0].tolist()  # the blocks (2, 2), (2, 0), (0, 0): the second one's transpose is stored
    [[6, 3, 0]]
    """
    if n < 0 or n > np.iinfo(np.int32).max:
        raise ValueError(f"the number of block rows must be from 0 to 2^31 - 1, not {n}")
    checked = [_elements(n, at, group) for at, group in enumerate(groups)]
    keys, turned = [np.arange(n) * (n + 1)], []
    for elements in checked:
        first, second = np.triu_indices(elements.shape[1])
        a, b = elements[:, first], elements[:, second]
        keys.append((np.minimum(a, b) * n + np.maximum(a, b)).ravel())
        turned.append(a > b)
    blocks, number = np.unique(np.concatenate(keys), return_inverse=True)
    rows, columns = np.divmod(blocks, max(n, 1))
    slots, at = [], n
    for swapped in turned:
        slots.append(2 * number[at : at + swapped.size].reshape(swapped.shape) + swapped)
        at += swapped.size
    return BlockPattern(np.searchsorted(rows, np.arange(n + 1)), columns.astype(np.int32), tuple(slots))


def _elements(n: int, at: int, group: ArrayLike) -> np.ndarray:
    elements = np.asarray(group)
    if elements.ndim != 2 or elements.shape[1] == 0 or not np.issubdtype(elements.dtype, np.integer):
        raise ValueError(
            f"group {at} must be an (elements, k) array of integers, k ≥ 1, not {elements.shape} of {elements.dtype}"
        )
    elements = elements.astype(np.int64)
    outside = ((elements < 0) | (elements >= n)).any(axis=1)
    ordered = np.sort(elements, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    for bad, why in ((outside, f"which are not all from 0 to {n - 1}"), (repeated, "one of them twice")):
        if bad.any():
            e = int(np.argmax(bad))
            raise ValueError(f"element {e} of group {at} has the nodes {elements[e].tolist()}, {why}")
    return elements


# The matrix ------------------------------------------------------------------------------------------------------------
#
# Only the upper triangle is stored. With both triangles products would only read, but twice as much: on a sheet of 10 000
# particles they took 15 to 40 % longer.


class BlockMatrix(NamedTuple):
    """A matrix, as kernels take it. The first two arrays are those of a `BlockPattern`."""

    starts: np.ndarray  # (n + 1,) int64
    columns: np.ndarray  # (blocks,) int32
    values: np.ndarray  # (9 blocks,) float64, block by block, each row by row; diagonal blocks are whole


@inlined
def load_3(a, o):
    """Three numbers from o on."""
    return (load(a, o), load(a, o + 1), load(a, o + 2))


@inlined
def store_3(a, o, v):
    """a[o : o + 3] = v."""
    store(a, o, v[0])
    store(a, o + 1, v[1])
    store(a, o + 2, v[2])


@inlined
def add_3(a, o, v):
    """a[o : o + 3] += v."""
    store(a, o, load(a, o) + v[0])
    store(a, o + 1, load(a, o + 1) + v[1])
    store(a, o + 2, load(a, o + 2) + v[2])


@inlined
def add_block(values, slot, m):
    """Add a local block (nine floats row by row) at its slot (see `BlockPattern`)."""
    o = 9 * (slot // 2)
    if slot % 2 == 1:
        m = (m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8])
    for k in range(9):
        store(values, o + k, load(values, o + k) + m[k])


@njit
def add_to_diagonal(matrix, amount):
    """A ← A + diag(amount), with one number (of (n,)) for the three rows of each node: masses."""
    for i in range(amount.shape[0]):
        o = 9 * matrix.starts[i]
        for k in range(0, 9, 4):
            store(matrix.values, o + k, load(matrix.values, o + k) + amount[i])


@njit
def diagonal_blocks(matrix, blocks):
    """Copy the diagonal blocks to `blocks` (9 n,)."""
    for i in range(matrix.starts.shape[0] - 1):
        o = 9 * matrix.starts[i]
        for k in range(9):
            store(blocks, 9 * i + k, load(matrix.values, o + k))


@njit
def multiply(matrix, x, y):
    """y = A x, both (3 n,), not overlapping. Each block is read once, for its row and for its column."""
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
            store(y, j, load(y, j) + u)
            store(y, j + 1, load(y, j + 1) + v)
            store(y, j + 2, load(y, j + 2) + w)
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


# The order of sweeps, four rows at a time ------------------------------------------------------------------------------
#
# Each quarter of the rows has a SIMD lane; the first rows of the four lanes form a group unless blocks join them, in which
# case a lane waits. Lanes are far from each other in most models, so that this is nearly the order of the rows, and
# relaxation converges as it does in that. The order is computed once per model.


SIMD_WIDTH = 4


class SweepOrder(NamedTuple):
    """A group g has four rows. A vector has 12 numbers a group: the first of each row, then the second ones, then the third.

    Row i has position[i] = 12 g + its lane; its numbers are there, and 4 and 8 further on. Entries starts[g] …
    starts[g + 1] − 1 have a block of each row that is to the right of the diagonal in this order, in any sequence;
    where a row has fewer than another, its entries are empty.
    """

    position: np.ndarray  # (n,) int64
    starts: np.ndarray  # (groups + 1,) int64
    columns: np.ndarray  # (4 entries,) int32, the position of the column, or of the row itself where there is no block
    sources: np.ndarray  # (4 entries,) int64, the block as a slot of `BlockPattern`; −1 where there is none


def sweep_order(pattern: BlockPattern) -> SweepOrder:
    """The order for a pattern.

    >>> from dalembert.linalg.block_matrix import block_pattern
    >>> order = sweep_order(block_pattern(3, [[[0, 1], [1, 2]]]))
    >>> order.position.tolist(), order.starts.tolist()  # rows 0 and 2, then row 1
    ([1, 14, 3], [0, 1, 1])
    >>> order.columns.tolist(), order.sources.tolist()
    ([0, 14, 2, 14], [-1, 2, -1, 7])
    """
    n = len(pattern.starts) - 1
    rows, columns = np.repeat(np.arange(n), np.diff(pattern.starts)), pattern.columns.astype(np.int64)
    blocks = np.flatnonzero(rows != columns)
    position = _positions(n, rows[blocks], columns[blocks])
    one, two = position[rows[blocks]], position[columns[blocks]]
    swapped = one // 12 > two // 12
    left, right = np.where(swapped, two, one), np.where(swapped, one, two)
    groups = 0 if n == 0 else int(position.max()) // 12 + 1
    starts, places = simd_entries(left // 12, left % 12, right, groups)
    table = own_positions(starts)
    sources = np.full(len(table), -1)
    table[places], sources[places] = right, 2 * blocks + swapped
    return SweepOrder(position, starts, table.astype(np.int32), sources)


def own_positions(starts: np.ndarray) -> np.ndarray:
    """The position of the row of each entry and lane."""
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return (3 * SIMD_WIDTH * group[:, None] + np.arange(SIMD_WIDTH)).ravel()


def simd_entries(group: np.ndarray, lane: np.ndarray, key: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts of the entries of groups, and the index 4 entry + lane of each item, by rising key within its row."""
    row = SIMD_WIDTH * group + lane
    order = np.lexsort((key, row))
    number = np.bincount(row, minlength=SIMD_WIDTH * groups)
    rank = np.empty_like(row)
    rank[order] = np.arange(len(row)) - (np.cumsum(number) - number)[row[order]]
    longest = number.reshape(-1, SIMD_WIDTH).max(axis=1, initial=0)
    starts = np.concatenate([[0], np.cumsum(longest)])
    return starts, SIMD_WIDTH * (starts[group] + rank) + lane


def _positions(n: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """`SweepOrder.position` for blocks at (rows, columns), off the diagonal."""
    tails, heads = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    beside = heads[np.argsort(tails, kind="stable")].tolist()
    first = np.searchsorted(np.sort(tails), np.arange(n + 1)).tolist()
    front = [n * lane // SIMD_WIDTH for lane in range(SIMD_WIDTH + 1)]
    last = front[1:]
    length = np.bincount(rows, minlength=n)
    delay = [_delay(length, begin, n // SIMD_WIDTH) for begin in front[:-1]]
    position = np.zeros(n, np.int64)
    group_of = [-1] * n
    group, left = 0, n
    while left:
        for lane in range(SIMD_WIDTH):
            i = front[lane]
            if (
                group >= delay[lane]
                and i < last[lane]
                and all(group_of[j] != group for j in beside[first[i] : first[i + 1]])
            ):
                position[i], group_of[i] = 3 * SIMD_WIDTH * group + lane, group
                front[lane] += 1
                left -= 1
        group += 1
    return position


def _delay(length: np.ndarray, begin: int, count: int) -> int:
    """How many groups later a lane should begin for its rows to be about as long as those of the first lane."""
    misfit = [
        np.abs(length[delay:count] - length[begin : begin + count - delay]).sum()
        for delay in range(min(SIMD_WIDTH, count))
    ]
    return int(np.argmin(misfit)) if misfit else 0


# The sweeps over Û and over vectors, in the order of `sweep_order`; see the derivation below ---------------------------


@inlined
def load12(a, o):
    return load4(a, o), load4(a, o + 4), load4(a, o + 8)


@inlined
def store12(a, o, v):
    """Three registers of four numbers, from o on."""
    store4(a, o, v[0])
    store4(a, o + 4, v[1])
    store4(a, o + 8, v[2])


@inlined
def dot12(m, v):
    """The inner products of four pairs of triples."""
    return plus4(plus4(times4(m[0], v[0]), times4(m[1], v[1])), times4(m[2], v[2]))


@inlined
def times36(a, o, v):
    """Four blocks from a[o] on times four triples."""
    return dot12(load12(a, o), v), dot12(load12(a, o + 12), v), dot12(load12(a, o + 24), v)


@inlined
def transposed_times36(a, o, v):
    """Four transposed blocks from a[o] on times four triples."""
    x, y, z = load12(a, o), load12(a, o + 12), load12(a, o + 24)
    return dot12((x[0], y[0], z[0]), v), dot12((x[1], y[1], z[1]), v), dot12((x[2], y[2], z[2]), v)


@inlined
def minus12(a, b):
    return minus4(a[0], b[0]), minus4(a[1], b[1]), minus4(a[2], b[2])


@inlined
def plus12(a, b):
    return plus4(a[0], b[0]), plus4(a[1], b[1]), plus4(a[2], b[2])


@inlined
def gather12(a, indices, at, shift):
    return gather4(a, indices, at, shift), gather4(a, indices, at, shift + 4), gather4(a, indices, at, shift + 8)


@inlined
def subtract_listed12(a, indices, at, v):
    """a −= v at four listed positions, and 4 and 8 further on."""
    subtract_listed4(a, indices, at, 0, v[0])
    subtract_listed4(a, indices, at, 4, v[1])
    subtract_listed4(a, indices, at, 8, v[2])


@inlined
def times12(s, a):
    return times4(s, a[0]), times4(s, a[1]), times4(s, a[2])


@inlined
def gather_3(c, indices, at):
    """Four listed triples of c, one in each lane."""
    return gather4(c, indices, at, 0), gather4(c, indices, at, 1), gather4(c, indices, at, 2)


@inlined
def subtract_listed_3(c, indices, at, v):
    """c −= v in four listed triples, one after another."""
    subtract_listed4(c, indices, at, 0, v[0])
    subtract_listed4(c, indices, at, 1, v[1])
    subtract_listed4(c, indices, at, 2, v[2])


@njit
def sweep_residual(space, swept, w):
    """w ← (1 + Ûᵀ)⁻¹ w. Returns w · w."""
    starts, columns, upper = space.starts, space.columns, swept.upper
    square = spread(0.0)
    for i in range(starts.shape[0] - 1):
        w_i = load12(w, 12 * i)
        square = plus4(square, dot12(w_i, w_i))
        for k in range(starts[i], starts[i + 1]):
            subtract_listed12(w, columns, 4 * k, transposed_times36(upper, 36 * k, w_i))
    return total4(square)


@njit
def sweep_upward(space, swept, alpha, y, w, c):
    """y ← y + α t, w ← w − α g; then z = (1 + Û)⁻¹ w, c ← Ĥᵀ (z − w), g = 0. Returns w · w."""
    starts, columns, upper, h_starts, h_columns = (
        space.starts,
        space.columns,
        swept.upper,
        space.h_starts,
        space.h_columns,
    )
    z, t, g, h = swept.z, swept.t, swept.g, swept.h
    patched = c.shape[0] > 0
    step, square, zero = spread(alpha), spread(0.0), spread(0.0)
    clear(c)
    for i in range(starts.shape[0] - 2, -1, -1):
        o = 12 * i
        store12(y, o, plus12(load12(y, o), times12(step, load12(t, o))))
        w_i = minus12(load12(w, o), times12(step, load12(g, o)))
        store12(w, o, w_i)
        store12(g, o, (zero, zero, zero))
        square = plus4(square, dot12(w_i, w_i))
        z_i = w_i
        for k in range(starts[i], starts[i + 1]):
            z_i = minus12(z_i, times36(upper, 36 * k, gather12(z, columns, 4 * k, 0)))
        store12(z, o, z_i)
        if patched:
            e_i = minus12(w_i, z_i)
            for k in range(h_starts[i], h_starts[i + 1]):
                subtract_listed_3(c, h_columns, 4 * k, transposed_times36(h, 36 * k, e_i))
    return total4(square)


@njit
def sweep_downward(space, swept, own, beta, w, c):
    """t ← z − Ŵ c + β t and e ← w − z − Ĥ c + β e, with z and w counted `own` times; then from g = 0 g = t + q. Returns
    p · (t + q), which is t · Â t."""
    starts, columns, upper, h_starts, h_columns = (
        space.starts,
        space.columns,
        swept.upper,
        space.h_starts,
        space.h_columns,
    )
    z, t, e, g, h = swept.z, swept.t, swept.e, swept.g, swept.h
    patched = c.shape[0] > 0
    share, step, product = spread(own), spread(beta), spread(0.0)
    for i in range(starts.shape[0] - 1):
        o = 12 * i
        t_i = times12(share, load12(z, o))
        e_i = minus12(times12(share, load12(w, o)), t_i)
        if patched:
            t_i = minus12(t_i, times36(swept.back, 36 * i, gather_3(c, space.patches, 4 * i)))
            for k in range(h_starts[i], h_starts[i + 1]):
                e_i = minus12(e_i, times36(h, 36 * k, gather_3(c, h_columns, 4 * k)))
        t_i = plus12(t_i, times12(step, load12(t, o)))
        e_i = plus12(e_i, times12(step, load12(e, o)))
        store12(t, o, t_i)
        store12(e, o, e_i)
        q_i = plus12(e_i, load12(g, o))
        g_i = plus12(t_i, q_i)
        store12(g, o, g_i)
        product = plus4(product, dot12(plus12(t_i, e_i), g_i))
        for k in range(starts[i], starts[i + 1]):
            subtract_listed12(g, columns, 4 * k, transposed_times36(upper, 36 * k, q_i))
    return total4(product)


# The preconditioner ----------------------------------------------------------------------------------------------------
#
# Symmetric Gauss–Seidel sweeps of a block matrix as the preconditioner of conjugate gradients, at the cost of the product
# alone; nodes that are constrained in some directions.
#
# A = Uᵀ + D + U, with U above the block diagonal D in the order of `sweep_order`. With a block diagonal F such that
# Fᵀ D F = 1 and x = F x̂ it becomes
#
#     Â = Fᵀ A F = Ûᵀ + 1 + Û,   and the preconditioner is   M = (1 + Ûᵀ) (1 + Û).
#
# Conjugate gradients with M on Â x̂ = Fᵀ b are conjugate gradients on (1 + Ûᵀ)⁻¹ Â (1 + Û)⁻¹. For a direction t of x̂ and p
# = (1 + Û) t, as Â = (1 + Ûᵀ) + Û,
#
#     (1 + Ûᵀ)⁻¹ Â t = t + q   with   (1 + Ûᵀ) q = e,   e = Û t = p − t,
#
# and directions come from the residual w = (1 + Ûᵀ)⁻¹ Fᵀ r,
#
#     (1 + Û) z = w,   t = z + β t_before,   e = (w − z) + β e_before:
#
# two triangular solves, which together read Û as often as product and preconditioner would each (S. Eisenstat, "Efficient
# implementation of a class of preconditioned conjugate gradient methods", SIAM J. Sci. Stat. Comput. 2, 1981). w falls by g
# = t + q, and rᵀ M⁻¹ r is w · w. Between the two solves comes `deflation`. (Over-relaxation, M with D/ω in place of D,
# saves iterations only without deflation.)
#
# A constrained node moves in the range of a projection S only (D. Baraff, A. Witkin, "Large steps in cloth simulation",
# SIGGRAPH 1998, §5.3; U. Ascher, E. Boxerman, "On the modified conjugate gradient method in cloth simulation", The Visual
# Computer 19, 2003). The system is then that of S A S on its range. With a basis Q of that, F is Q (3 × m) times what makes
# Qᵀ D Q the identity, with columns of zeros after it: so no other code depends on constrained nodes. Fᴵ, with zeros below,
# is its inverse on that range, Fᴵ F = 1 but for the zeros.


# A node that is constrained. How many directions are fixed: 1, `direction`; 2, all but `direction`; 3. Directions are unit
# vectors, and a node occurs once.
HELD = np.dtype([("node", "i8"), ("fixed", "i8"), ("direction", "f8", (3,))], align=True)

NONE = (0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@inlined
def load_symmetric(a, o):
    """(xx, yy, zz, xy, xz, yz) of the block at o, from its upper half."""
    return (load(a, o), load(a, o + 4), load(a, o + 8), load(a, o + 1), load(a, o + 2), load(a, o + 5))


@inlined
def store_symmetric(a, o, s, factor):
    """The block at o = factor times a symmetric matrix (xx, yy, zz, xy, xz, yz)."""
    store_3(a, o, scale(factor, (s[0], s[3], s[4])))
    store_3(a, o + 3, scale(factor, (s[3], s[1], s[5])))
    store_3(a, o + 6, scale(factor, (s[4], s[5], s[2])))


@njit
def inverse_of(s):
    """The inverse of a symmetric 3×3 matrix (six floats) and whether it is positive definite.

    By L E Lᵀ rather than by cofactors, whose determinant is nothing but rounding once stiffnesses are 1e8 apart."""
    l1, l2 = s[3] / s[0], s[4] / s[0]
    e1, f = s[1] - l1 * s[3], s[5] - l1 * s[4]
    l3 = f / e1
    e2 = s[2] - l2 * s[4] - l3 * f
    # L⁻¹ has the rows (1, 0, 0), (−l1, 1, 0), (k, −l3, 1).
    k = l1 * l3 - l2
    g0, g1, g2 = 1.0 / s[0], 1.0 / e1, 1.0 / e2
    inverse = (
        g0 + l1 * l1 * g1 + k * k * g2, g1 + l3 * l3 * g2, g2, -l1 * g1 - k * l3 * g2, k * g2, -l3 * g2
    )  # fmt: skip
    return inverse, s[0] > 0.0 and e1 > 0.0 and e2 > 0.0


@inlined
def fixed_part(fixed, direction, v):
    """(1 − S) v: the prescribed part of a constrained node's vector."""
    if fixed == 3:
        return v
    along = scale(dot(direction, v), direction)
    return sub(v, along) if fixed == 2 else along


@njit
def project(held, v):
    """v ← S v (3 n,)."""
    for h in range(held.shape[0]):
        row = held[h]
        v_i = load_3(v, 3 * row.node)
        store_3(v, 3 * row.node, sub(v_i, fixed_part(row.fixed, load3(row.direction), v_i)))


@njit
def free_frame(s):
    """F and Fᴵ (nine floats each, row by row) for a block D (six floats), and whether it is positive definite.

    D = L E Lᵀ as in `inverse_of`; F = L⁻ᵀ E^(−1/2), Fᴵ = E^(1/2) Lᵀ."""
    l1, l2 = s[3] / s[0], s[4] / s[0]
    e1, f = s[1] - l1 * s[3], s[5] - l1 * s[4]
    l3 = f / e1
    e2 = s[2] - l2 * s[4] - l3 * f
    definite = s[0] > 0.0 and e1 > 0.0 and e2 > 0.0
    if not definite:
        return IDENTITY, IDENTITY, False
    r0, r1, r2 = math.sqrt(s[0]), math.sqrt(e1), math.sqrt(e2)
    g0, g1, g2 = 1.0 / r0, 1.0 / r1, 1.0 / r2
    frame = (g0, -l1 * g1, (l1 * l3 - l2) * g2, 0.0, g1, -l3 * g2, 0.0, 0.0, g2)
    return frame, (r0, r0 * l1, r0 * l2, 0.0, r1, r1 * l3, 0.0, 0.0, r2), True


@njit
def held_frame(m, fixed, direction):
    """The same for the block D = m (nine floats) of a constrained node, and whether Qᵀ D Q is definite."""
    if fixed == 3:
        return rows_of(NONE, NONE), rows_of(NONE, NONE), True
    u = direction if fixed == 2 else perpendicular(direction)
    a = dot(u, matvec(m, u))
    if not a > 0.0:
        return IDENTITY, IDENTITY, False
    root = math.sqrt(a)
    f, r = scale(1.0 / root, u), scale(root, u)
    if fixed == 2:
        return columns_of(f, NONE), rows_of(r, NONE), True
    v = cross(direction, u)
    ratio = dot(u, matvec(m, v)) / a
    pivot = dot(v, matvec(m, v)) - a * ratio * ratio
    if not pivot > 0.0:
        return IDENTITY, IDENTITY, False
    beside = math.sqrt(pivot)
    frame = columns_of(f, scale(1.0 / beside, add_scaled(v, -ratio, u)))
    return frame, rows_of(add_scaled(r, root * ratio, v), scale(beside, v)), True


@inlined
def rows_of(a, b):
    """The block with the rows a, b and 0."""
    return (a[0], a[1], a[2], b[0], b[1], b[2], 0.0, 0.0, 0.0)


@inlined
def columns_of(a, b):
    """The block with the columns a, b and 0."""
    return (a[0], b[0], 0.0, a[1], b[1], 0.0, a[2], b[2], 0.0)


@njit
def scale_diagonal(matrix, held, position, frames, backs):
    """F and Fᴵ of all nodes. Returns False where a block is not positive definite, or not a number, where its node can
    move."""
    bad = 0
    for i in range(position.shape[0]):
        frame, back, definite = free_frame(load_symmetric(matrix.values, 9 * matrix.starts[i]))
        store_frame(frames, backs, position[i], frame, back)
        bad += 0 if definite else 1
    for h in range(held.shape[0]):
        row = held[h]
        m = load_3x3(matrix.values, 9 * matrix.starts[row.node])
        _, _, was_definite = free_frame(load_symmetric(matrix.values, 9 * matrix.starts[row.node]))
        frame, back, definite = held_frame(m, row.fixed, load3(row.direction))
        store_frame(frames, backs, position[row.node], frame, back)
        bad += (1 if was_definite else 0) - (1 if definite else 0)
    return bad == 0


# Rows of F are as far apart as vectors are long, those of Fᴵ follow each other in a group.
@inlined
def store_frame(frames, backs, at, frame, back):
    """F and Fᴵ of the node at position `at`."""
    side, lane = frames.shape[0] // 3, at % 12
    for k in range(3):
        for c in range(3):
            store(frames, k * side + at + 4 * c, frame[3 * k + c])
            backs[3 * (at - lane) + lane + 12 * k + 4 * c] = back[3 * k + c]


@njit
def into_frames(position, work, r, w):
    """w = Fᵀ r, from one triple a node to the order of the sweeps."""
    side = work.frame.shape[0] // 3
    for i in range(position.shape[0]):
        at, r_i = position[i], load_3(r, 3 * i)
        for c in range(0, 12, 4):
            total = load(work.frame, at + c) * r_i[0] + load(work.frame, side + at + c) * r_i[1]
            store(w, at + c, total + load(work.frame, 2 * side + at + c) * r_i[2])


@njit
def add_from_frames(position, work, y, x):
    """x += F y, from the order of the sweeps."""
    side = work.frame.shape[0] // 3
    for i in range(position.shape[0]):
        at = position[i]
        for k in range(3):
            o = k * side + at
            total = load(work.frame, o) * load(y, at) + load(work.frame, o + 4) * load(y, at + 4)
            store(x, 3 * i + k, load(x, 3 * i + k) + (total + load(work.frame, o + 8) * load(y, at + 8)))
