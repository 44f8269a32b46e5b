"""Deflation of conjugate gradients by the translations of patches of nodes, which makes the number of iterations nearly
independent of stiffness: the coarse solve, the patches (`aggregates`), the tables (`coarse_space`), and their values for a
matrix (`prepare`).

Gauss–Seidel sweeps leave errors that vary slowly from node to node. P (3 n × 3 m) moves the nodes of each of m patches
together, S projects onto the free directions of nodes (see `block_matrix`), and with W = S P the coarse matrix is
A_c = Wᵀ A W. The first step,
W A_c⁻¹ Wᵀ r, leaves a residual with Wᵀ r = 0, which stays one if the directions t of the iteration are A-orthogonal to W:

    t = z − W c + β t_before   with   z = M⁻¹ r,   A_c c = (A W)ᵀ z − Wᵀ r

(R. Nicolaides, "Deflation of conjugate gradients with applications to boundary value problems", SIAM J. Numer. Anal. 24,
1987). Wᵀ r is what rounding leaves of it: to subtract it makes the iteration stable, and in the notation of `block_matrix`
costs nothing (method A-DEF2 of J. Tang, R. Nabben, C. Vuik, Y. Erlangga, "Comparison of two-level preconditioners derived
from deflation, domain decomposition and multigrid methods", J. Sci. Comput. 39, 2009). With H = S U W, which has a block or
two for each node, and in the notation of `block_matrix` Ŵ = Fᴵ W, Ĥ = Û Ŵ = Fᵀ H,

    (A W)ᵀ z = Ĥᵀ z + Ŵᵀ (1 + Û) z = Ĥᵀ z + Ŵᵀ w,   Wᵀ r = Ŵᵀ (1 + Ûᵀ) w = Ĥᵀ w + Ŵᵀ w,
    A_c c = Ĥᵀ (z − w),   A_c = Wᵀ H + Hᵀ W + Wᵀ D W.

A patch whose nodes are all constrained moves in the free directions of its least constrained node: P is zero in the others.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.jit import inlined, njit
from ..core.math3 import dot, load3, scale, sub
from ..core.simd import clear, load, plus4, store, times4
from ..core.tables import allocate, column
from .block_ldl import load_3x3, product, solve, subtract_product_t
from .block_matrix import (
    SIMD_WIDTH,
    BlockPattern,
    add_3,
    add_block,
    fixed_part,
    gather12,
    inverse_of,
    load12,
    load_3,
    load_symmetric,
    own_positions,
    scale_diagonal,
    simd_entries,
    store12,
    store_3,
    store_symmetric,
    sweep_order,
)
from .ordering import COLUMN, ENTRY, UPDATE, analyse


@njit
def solve_coarse(held, space, work):
    """c ← A_c⁻¹ c, projected onto the free directions of each patch."""
    solve(space.pivots, space.below, work.values, work.lower, work.c)
    for k in range(work.led_by.shape[0]):
        by = work.led_by[k]
        if by >= 0:
            c_k = load_3(work.c, 3 * k)
            store_3(work.c, 3 * k, sub(c_k, fixed_part(held[by].fixed, load3(held[by].direction), c_k)))


@njit
def coarse_part(held, space, work, r):
    """c ← −A_c⁻¹ Wᵀ r for a residual that S has been applied to. Returns rᵀ W A_c⁻¹ Wᵀ r."""
    clear(work.c)
    for i in range(space.patch.shape[0]):
        add_3(work.c, 3 * space.patch[i], scale(-1.0, load_3(r, 3 * i)))
    solve_coarse(held, space, work)
    square = 0.0
    for i in range(space.patch.shape[0]):
        square -= dot(load_3(r, 3 * i), load_3(work.c, 3 * space.patch[i]))
    return square


# Patches of neighbouring nodes, the aggregates of a coarse space: found once per model by bisection of the graph -------
#
# A part that is to become k patches is cut between two of its nodes that lie far apart: its nodes are sorted by the
# difference of their distances (in edges) from the two, and k // 2 of k shares are cut off. All parts are cut at once. Then
# nodes at borders join the patch that most of their neighbours are in, which makes borders straighter: on a sheet of 10 000
# particles it saves a fifth of the iterations, and a quarter of the work on the coarse matrix.


ROUNDS = 8  # of half the nodes each; more change little


class Graph:
    """Edges in both directions, by rising tail."""

    def __init__(self, nodes: int, tails: np.ndarray, heads: np.ndarray) -> None:
        self.nodes, self.tails, self.heads = nodes, tails, heads
        self.starts = np.searchsorted(tails, np.arange(nodes + 1))

    def within(self, part: np.ndarray) -> "Graph":
        """Without the edges between parts."""
        inside = part[self.tails] == part[self.heads]
        return Graph(self.nodes, self.tails[inside], self.heads[inside])

    def components(self) -> np.ndarray:
        """The number of the component of each node, from 0 up, by rising first node."""
        label = np.arange(self.nodes)
        while True:
            least = label.copy()
            np.minimum.at(least, label[self.tails], label[self.heads])
            while not np.array_equal(least[least], least):
                least = least[least]
            if np.array_equal(least, label):
                return np.unique(label, return_inverse=True)[1]
            label = least

    def distances(self, seeds: np.ndarray) -> np.ndarray:
        """How many edges each node is away from the nearest of the seeds; −1 where there is no path."""
        distance = np.full(self.nodes, -1)
        distance[seeds] = 0
        while seeds.size:
            degree = self.starts[seeds + 1] - self.starts[seeds]
            before = np.cumsum(degree) - degree
            met = self.heads[np.repeat(self.starts[seeds] - before, degree) + np.arange(degree.sum())]
            here = distance[seeds[0]]
            seeds = np.unique(met[distance[met] < 0])
            distance[seeds] = here + 1
        return distance


def aggregates(pattern: BlockPattern, size: int) -> np.ndarray:
    """The number (n,) of each node's patch, from 0 up. Patches are connected, and have about `size` nodes.

    >>> from dalembert.linalg.block_matrix import block_pattern
    >>> aggregates(block_pattern(7, [[[0, 1], [1, 2], [2, 3], [5, 4]]]), 2).tolist()
    [0, 0, 1, 1, 2, 2, 3]
    """
    n = len(pattern.starts) - 1
    rows, columns = np.repeat(np.arange(n), np.diff(pattern.starts)), pattern.columns.astype(np.int64)
    beside = rows != columns
    tails, heads = np.concatenate([rows[beside], columns[beside]]), np.concatenate([columns[beside], rows[beside]])
    order = np.lexsort((heads, tails))
    graph = Graph(n, tails[order], heads[order])
    part = graph.components()
    while (np.bincount(part) > size).any():
        part = graph.within(2 * part + _cut_off(graph.within(part), part, size)).components()
    for turn in range(ROUNDS):
        moving = np.arange(n) % 2 == turn % 2
        part = np.where(moving, _preferred(graph, part), part)
    return graph.within(part).components()


def _preferred(graph: Graph, part: np.ndarray) -> np.ndarray:
    """The part (n,) that most neighbours of each node are in: its own before others, then the first."""
    own = np.arange(graph.nodes)
    nodes, tails, heads = max(graph.nodes, 1), np.append(graph.tails, own), np.append(graph.heads, own)
    key, count = np.unique(tails * nodes + part[heads], return_counts=True)  # a node is its own neighbour here
    node, candidate = np.divmod(key, nodes)
    order = np.lexsort((candidate, candidate != part[node], -count, node))
    return candidate[order[np.searchsorted(node[order], own)]]


def _cut_off(graph: Graph, part: np.ndarray, size: int) -> np.ndarray:
    """Which nodes (n,) are to be cut off from their parts; none of those that are small enough."""
    nodes = np.bincount(part)
    shares = -(-nodes // size)
    end, _ = _farthest(graph, part, np.unique(part, return_index=True)[1])
    other, from_end = _farthest(graph, part, end)
    order = np.lexsort((from_end - graph.distances(other), part))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order)) - (np.cumsum(nodes) - nodes)[part[order]]
    return rank < (nodes * (shares // 2) // shares)[part]


def _farthest(graph: Graph, part: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The node of each part that is farthest from the part's seed, and all nodes' distances."""
    distance = graph.distances(seeds)
    order = np.lexsort((-distance, part))
    return order[np.searchsorted(part[order], np.arange(len(seeds)))], distance


# The tables of a pattern: order of the sweeps, patches, and the coarse matrix ------------------------------------------


# About how many nodes a patch has, and how many a matrix at least for patches to pay.
PATCH = 25
FEWEST = 100


class CoarseSpace(NamedTuple):
    """Tables of a `BlockPattern`: of its `SweepOrder`, of patches, and of `analyse` for A_c; without patches all but the
    first four are empty. H is stored as U is, in groups of four rows."""

    position: Any = column("n", np.int64, doc="see `SweepOrder`")
    starts: Any = column("groups + 1", np.int64)
    columns: Any = column("4 * entries", np.int32)
    sources: Any = column("4 * entries", np.int64)
    patch: Any = column("n", np.int64)
    patches: Any = column("4 * groups", np.int32, doc="three times the patch of each lane's row; 0 where there is none")
    h_starts: Any = column("groups + 1", np.int64, doc="where the blocks of each group of H start")
    h_columns: Any = column("4 * blocks", np.int32, doc="three times their patches; 0 where there is no block")
    slots: Any = column("4 * entries", np.int64, doc="the first number of its group of H that each block of U adds to")
    targets: Any = column("4 * blocks", np.int64, doc="where in A_c each is added: a slot of `BlockPattern`, or −1")
    own: Any = column("m", np.int64, doc="the slots of the diagonal of A_c")
    pivots: Any = column(dtype=COLUMN)
    below: Any = column(dtype=ENTRY)
    updates: Any = column(dtype=UPDATE)


class Swept(NamedTuple):
    """The arrays of the sweeps, in single or in double precision; symbols are those of `block_matrix` and of this file."""

    back: np.ndarray  # (36 groups,), Fᴵ, four blocks a group
    upper: np.ndarray  # (36 entries,), Û
    h: np.ndarray  # (36 blocks,), Ĥ
    z: np.ndarray  # (12 groups,), as are the others
    t: np.ndarray
    e: np.ndarray
    g: np.ndarray


class CoarseWork(NamedTuple):
    """Scratch for a `CoarseSpace`; symbols are those of `block_matrix` and of this file."""

    held_by: Any = column("12 * groups", np.int64, doc="the HELD record of the node at a position, or −1")
    led_by: Any = column("m", np.int64, doc="the HELD record that constrains a patch, or −1")
    frame: Any = column(
        "36 * groups", doc="F: its first rows, in the order of vectors, then the second, then the third"
    )
    back: Any = column("36 * groups", np.float32, doc="a `Swept` of single precision, as are the next six")
    upper: Any = column("9 * entries", np.float32)
    h: Any = column("9 * blocks", np.float32)
    z: Any = column("12 * groups", np.float32)
    t: Any = column("12 * groups", np.float32)
    e: Any = column("12 * groups", np.float32)
    g: Any = column("12 * groups", np.float32)
    exact_back: Any = column("36 * groups", doc="a `Swept` of double precision, as are the next six")
    exact_upper: Any = column("9 * entries")
    exact_h: Any = column("9 * blocks")
    exact_z: Any = column("12 * groups")
    exact_t: Any = column("12 * groups")
    exact_e: Any = column("12 * groups")
    exact_g: Any = column("12 * groups")
    row: Any = column("36 * longest", doc="a group of H; longest: blocks of the longest one")
    block: Any = column("36", doc="four blocks of U")
    values: Any = column("9 * stored", doc="A_c and its factors, as those of `block_ldl`")
    lower: Any = column("9 * stored")
    c: Any = column("3 * m", doc="a right-hand side and solution")
    y: Any = column("12 * groups", doc="what x̂ changes by")
    w: Any = column("12 * groups")


def coarse_space(pattern: BlockPattern, size: int = PATCH, fewest: int = FEWEST) -> CoarseSpace:
    """The order, and patches of about `size` nodes each, or none where there are fewer than `fewest` nodes."""
    n = len(pattern.starts) - 1
    order = sweep_order(pattern)
    patch = aggregates(pattern, size) if n >= fewest else np.zeros(0, np.int64)
    if not patch.size:
        none = analyse([], range(0), [], lambda node, eliminated: True)
        whole, small = np.zeros(0, np.int64), np.zeros(0, np.int32)
        return CoarseSpace(
            *order, whole, small, whole, small, whole, whole, whole, none.columns, none.entries, none.updates
        )
    m, groups = int(patch.max()) + 1, len(order.starts) - 1
    node = np.full(3 * SIMD_WIDTH * groups, -1)
    node[order.position] = np.arange(n)
    filled = np.flatnonzero(order.sources >= 0)
    row, column = node[own_positions(order.starts)[filled]], node[order.columns[filled]]
    pairs, number = np.unique(row * m + patch[column], return_inverse=True)
    row, reached = np.divmod(pairs, m)
    at = order.position[row]
    h_starts, places = simd_entries(at // 12, at % 12, reached, groups)
    slots = np.zeros(len(order.sources), np.int64)
    slots[filled] = (36 * (places // SIMD_WIDTH - h_starts[at // 12]) + places % SIMD_WIDTH)[number]
    joined, number = np.unique(np.stack([patch[row], reached]), axis=1, return_inverse=True)
    neighbours: list[set[int]] = [set() for _ in range(m)]
    for one, two in joined.T.tolist():
        if one != two:
            neighbours[one].add(two)
            neighbours[two].add(one)
    symbolic = analyse([3] * m, range(0, 3 * m, 3), neighbours, lambda node, eliminated: True)
    slot = np.array([_slot(*symbolic.block(one, two)) for one, two in joined.T.tolist()], np.int64)
    h_columns, targets = np.zeros(SIMD_WIDTH * int(h_starts[-1]), np.int32), np.full(SIMD_WIDTH * int(h_starts[-1]), -1)
    h_columns[places], targets[places] = 3 * reached, slot[number.reshape(-1)]
    patches = np.zeros(SIMD_WIDTH * groups, np.int32)
    patches[SIMD_WIDTH * (order.position // 12) + order.position % 12] = 3 * patch
    own = np.array([_slot(*symbolic.block(one, one)) for one in range(m)], np.int64)
    return CoarseSpace(
        *order, patch, patches, h_starts, h_columns, slots, targets, own, symbolic.columns, symbolic.entries,
        symbolic.updates,
    )  # fmt: skip


def _slot(offset: int, swapped: bool) -> int:
    """A slot of `BlockPattern` from `Symbolic.block`."""
    return 2 * (offset // 9) + swapped


def coarse_workspace(space: CoarseSpace) -> CoarseWork:
    """Scratch for a solve with these tables."""
    m = len(space.pivots)
    sizes = {
        "m": m, "groups": len(space.starts) - 1, "entries": len(space.columns), "blocks": len(space.h_columns),
        "longest": int(np.diff(space.h_starts).max(initial=0)), "stored": m + len(space.below),
    }  # fmt: skip
    return allocate(CoarseWork, sizes)


# The values for a matrix: Û, Ĥ, and the factors of A_c -----------------------------------------------------------------


ZERO = (0.0,) * 9


@inlined
def transposed(m):
    """mᵀ of nine numbers, row by row."""
    return (m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8])


@njit
def times_free(m, held, by):
    """m S with the projection of a record, m where there is none."""
    if by < 0:
        return m
    fixed, u = held[by].fixed, load3(held[by].direction)
    a, b, c = (m[0], m[1], m[2]), (m[3], m[4], m[5]), (m[6], m[7], m[8])
    a, b, c = sub(a, fixed_part(fixed, u, a)), sub(b, fixed_part(fixed, u, b)), sub(c, fixed_part(fixed, u, c))
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


@inlined
def free_times(m, held, by):
    """S m."""
    return transposed(times_free(transposed(m), held, by))


@njit
def prepare(matrix, held, space, work, swept):
    """F, Fᴵ, Û, Ĥ, and the factors of A_c. Returns False where A_c or a block on the diagonal is not positive definite; then
    A is not."""
    if not scale_diagonal(matrix, held, space.position, work.frame, swept.back):
        return False
    find_leaders(held, space, work)
    clear(work.values)
    patched = space.pivots.shape[0] > 0
    for group in range(space.starts.shape[0] - 1):
        scale_blocks(matrix, space, work, swept, group)
        if patched:
            clear(work.row)
            spread_rows(matrix, held, space, work, group)
            gather_rows(held, space, work, group)
            scale_rows(space, work, swept, group)
    if patched:
        add_diagonals(matrix, held, space, work)
    return factor(space, work.values, work.lower)


@njit
def find_leaders(held, space, work):
    """`held_by` and `led_by`: for each patch without a free node, the record that fixes the fewest directions."""
    unknown = -2
    for at in range(work.held_by.shape[0]):
        work.held_by[at] = -1
    for i in range(work.led_by.shape[0]):
        work.led_by[i] = unknown
    for k in range(held.shape[0]):
        work.held_by[space.position[held[k].node]] = k
    for i in range(space.patch.shape[0]):
        by, leader = work.held_by[space.position[i]], work.led_by[space.patch[i]]
        if by < 0 or leader == unknown or (leader >= 0 and held[by].fixed < held[leader].fixed):
            work.led_by[space.patch[i]] = by


# A block of one SIMD lane is nine numbers, four apart.
@inlined
def store_strided(a, o, m):
    """Store a block of one lane."""
    for k in range(9):
        store(a, o + 4 * k, m[k])


@inlined
def add_strided(a, o, m):
    """Add to a block of one lane."""
    for k in range(9):
        store(a, o + 4 * k, load(a, o + 4 * k) + m[k])


@inlined
def load_strided(a, o):
    """Load a block of one lane."""
    return (
        load(a, o), load(a, o + 4), load(a, o + 8), load(a, o + 12), load(a, o + 16), load(a, o + 20), load(a, o + 24),
        load(a, o + 28), load(a, o + 32),
    )  # fmt: skip


@inlined
def block_of(values, source):
    """The block of a slot."""
    m = load_3x3(values, 9 * (source // 2))
    return transposed(m) if source % 2 == 1 else m


@njit
def scale_blocks(matrix, space, work, swept, group):
    """Û of a group of rows."""
    side, o = work.frame.shape[0] // 3, 12 * group
    f_0, f_1, f_2 = load12(work.frame, o), load12(work.frame, side + o), load12(work.frame, 2 * side + o)
    for k in range(space.starts[group], space.starts[group + 1]):
        for lane in range(4):
            source = space.sources[4 * k + lane]
            store_strided(work.block, lane, block_of(matrix.values, source) if source >= 0 else ZERO)
        b_0, b_1, b_2 = scaled_rows(work.block, 0, f_0, f_1, f_2)
        g_0 = gather12(work.frame, space.columns, 4 * k, 0)
        g_1 = gather12(work.frame, space.columns, 4 * k, side)
        g_2 = gather12(work.frame, space.columns, 4 * k, 2 * side)
        store12(swept.upper, 36 * k, combined(b_0, g_0, g_1, g_2))
        store12(swept.upper, 36 * k + 12, combined(b_1, g_0, g_1, g_2))
        store12(swept.upper, 36 * k + 24, combined(b_2, g_0, g_1, g_2))


@njit
def spread_rows(matrix, held, space, work, group):
    """U W of a group of rows, without S on its left."""
    for at in range(4 * space.starts[group], 4 * space.starts[group + 1]):
        source = space.sources[at]
        if source >= 0:
            m = times_free(block_of(matrix.values, source), held, work.held_by[space.columns[at]])
            add_strided(work.row, space.slots[at], m)


@njit
def gather_rows(held, space, work, group):
    """Complete the rows of H, and add their part of A_c."""
    first = 4 * space.h_starts[group]
    for at in range(first, 4 * space.h_starts[group + 1]):
        target, o, lane = space.targets[at], 36 * ((at - first) // 4) + at % 4, at % 4
        if target < 0:
            continue
        m, own = load_strided(work.row, o), space.patches[4 * group + lane]
        by, leader = work.held_by[12 * group + lane], work.led_by[own // 3]
        other = work.led_by[space.h_columns[at] // 3]
        if by >= 0 or leader >= 0 or other >= 0:
            m = free_times(times_free(m, held, other), held, by)
            store_strided(work.row, o, m)
            m = free_times(m, held, leader)
        add_block(work.values, target, m)
        if space.h_columns[at] == own:
            add_block(work.values, target, transposed(m))


@njit
def add_diagonals(matrix, held, space, work):
    """Add Wᵀ D W to A_c, and a positive diagonal where P is zero."""
    for i in range(space.patch.shape[0]):
        by, leader = work.held_by[space.position[i]], work.led_by[space.patch[i]]
        m, target = load_3x3(matrix.values, 9 * matrix.starts[i]), space.own[space.patch[i]]
        if by >= 0 or leader >= 0:
            size = m[0] + m[4] + m[8]
            one = (size, 0.0, 0.0, 0.0, size, 0.0, 0.0, 0.0, size)
            m = times_free(times_free(m, held, by), held, leader)
            m = free_times(free_times(m, held, by), held, leader)
            if leader >= 0:
                add_block(work.values, target, one)
                m = sub_9(m, times_free(one, held, leader))
        add_block(work.values, target, m)


@inlined
def sub_9(m, n):
    """m − n of nine numbers."""
    a, b, c = sub(m[:3], n[:3]), sub(m[3:6], n[3:6]), sub(m[6:], n[6:])
    return a + b + c


@njit
def scale_rows(space, work, swept, group):
    """Ĥ of a group of rows."""
    side, o = work.frame.shape[0] // 3, 12 * group
    f_0, f_1, f_2 = load12(work.frame, o), load12(work.frame, side + o), load12(work.frame, 2 * side + o)
    first = space.h_starts[group]
    for k in range(first, space.h_starts[group + 1]):
        b_0, b_1, b_2 = scaled_rows(work.row, 36 * (k - first), f_0, f_1, f_2)
        store12(swept.h, 36 * k, b_0)
        store12(swept.h, 36 * k + 12, b_1)
        store12(swept.h, 36 * k + 24, b_2)


@inlined
def combined(a, v_0, v_1, v_2):
    """a₀ v₀ + a₁ v₁ + a₂ v₂, four times."""
    return (
        plus4(plus4(times4(a[0], v_0[0]), times4(a[1], v_1[0])), times4(a[2], v_2[0])),
        plus4(plus4(times4(a[0], v_0[1]), times4(a[1], v_1[1])), times4(a[2], v_2[1])),
        plus4(plus4(times4(a[0], v_0[2]), times4(a[1], v_1[2])), times4(a[2], v_2[2])),
    )


@inlined
def scaled_rows(a, o, f_0, f_1, f_2):
    """The rows of Fᵀ B for four blocks B from a[o] on, with rows of F."""
    b_0, b_1, b_2 = load12(a, o), load12(a, o + 12), load12(a, o + 24)
    return (
        combined((f_0[0], f_1[0], f_2[0]), b_0, b_1, b_2),
        combined((f_0[1], f_1[1], f_2[1]), b_0, b_1, b_2),
        combined((f_0[2], f_1[2], f_2[2]), b_0, b_1, b_2),
    )


@njit
def factor(space, values, lower):
    """`block_ldl.factor` of a matrix of 3×3 blocks. Returns False where it is not positive definite."""
    for k in range(space.pivots.shape[0]):
        column = space.pivots[k]
        inverse, definite = inverse_of(load_symmetric(values, column.pivot))
        if not definite:
            return False
        store_symmetric(values, column.pivot, inverse, 1.0)
        for e in range(column.first, column.last):
            o = space.below[e].offset
            product(lower, o, values, o, values, column.pivot, 3, 3)
        for u in range(column.first_update, column.last_update):
            update = space.updates[u]
            subtract_product_t(values, update.target, lower, update.left, 3, values, update.right, 3, 3)
    return True
