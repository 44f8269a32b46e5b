"""Elimination order of a symmetric block matrix, once per model: minimum degree, and its tables.

A chain or a tree is eliminated from its leaves and gets no fill (Baraff 1996), so that the work is linear in the number
of blocks. Loops cost the fill of the minimum-degree heuristic.
"""

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..core.jit import inlined, njit
from ..core.simd import load, store

COLUMN = np.dtype(
    [("width", "i8"), ("x", "i8"), ("pivot", "i8"), ("first", "i8"), ("last", "i8"), ("first_update", "i8"),
     ("last_update", "i8")],
    align=True,
)  # fmt: skip
ENTRY = np.dtype([("rows", "i8"), ("x", "i8"), ("offset", "i8")], align=True)
UPDATE = np.dtype(
    [("rows", "i8"), ("columns", "i8"), ("left", "i8"), ("right", "i8"), ("target", "i8")], align=True
)  # fmt: skip


class Symbolic(NamedTuple):
    """What the numeric factorization follows: columns in elimination order, their blocks, and the updates they cause."""

    columns: np.ndarray  # COLUMN, one a node, in elimination order
    entries: np.ndarray  # ENTRY, the off-diagonal blocks (rows × size) of each column
    updates: np.ndarray  # UPDATE, target −= left · rightᵀ
    order: np.ndarray  # node of each column
    values: int  # length of the flat array of blocks
    block: Callable[[int, int], tuple[int, bool]]  # (node i, node j) → offset, whether the block stored is (j, i)


def minimum_degree(
    neighbours: Sequence[set[int]], ready: Callable[[int, set[int]], bool], stages: Sequence[int] = ()
) -> tuple[list[int], list]:
    """Order the nodes of a graph; also return each node's later neighbours at its elimination.

    `ready(node, eliminated)` says whether a node may be eliminated yet (its pivot block is definite). stages : of each node;
    nodes of a lower stage are eliminated first.
    """
    graph = [set(s) for s in neighbours]
    stage = stages or [0] * len(graph)
    level = [0] * len(graph)  # a chain is eliminated from both ends in turn: the processor does both at once
    heap = [(stage[node], len(s), 0, node) for node, s in enumerate(graph)]
    heapq.heapify(heap)
    order: list[int] = []
    structure: list[list[int]] = []
    eliminated: set[int] = set()
    waiting: list[int] = []
    while heap:
        _, degree, _, node = heapq.heappop(heap)
        if node in eliminated or degree != len(graph[node]):
            continue
        if not ready(node, eliminated):
            waiting.append(node)
            if not heap:
                raise ValueError("no node of the constraint graph can be eliminated next")
            continue
        eliminated.add(node)
        order.append(node)
        clique = graph[node]
        structure.append(sorted(clique))
        for other in clique:
            before = len(graph[other])
            graph[other] |= clique
            graph[other] -= {other, node}
            level[other] = max(level[other], level[node] + 1)
            if len(graph[other]) != before or len(clique) == 1:
                heapq.heappush(heap, (stage[other], len(graph[other]), level[other], other))
        for other in waiting:
            if other not in eliminated:
                heapq.heappush(heap, (stage[other], len(graph[other]), level[other], other))
        waiting.clear()
    return order, structure


def analyse(
    sizes: Sequence[int], starts: Sequence[int], neighbours: Sequence[set[int]], ready: Callable[[int, set[int]], bool],
    stages: Sequence[int] = (),
) -> Symbolic:  # fmt: skip
    """Tables for the block LDLᵀ of a symmetric matrix with the given block sizes, vector offsets and graph; see
    `minimum_degree`."""
    order, structure = minimum_degree(neighbours, ready, stages)
    position = {node: k for k, node in enumerate(order)}
    offsets: dict[tuple[int, int], int] = {}
    total = 0
    for node, later in zip(order, structure, strict=True):
        offsets[node, node] = total
        total += sizes[node] ** 2
        for row in sorted(later, key=position.__getitem__):
            offsets[row, node] = total
            total += sizes[row] * sizes[node]
    columns: list[tuple[int, ...]] = []
    entries: list[tuple[int, ...]] = []
    updates: list[tuple[int, ...]] = []
    for node, later in zip(order, structure, strict=True):
        rows = sorted(later, key=position.__getitem__)
        first, first_update = len(entries), len(updates)
        entries += [(sizes[row], starts[row], offsets[row, node]) for row in rows]
        for at, j in enumerate(rows):
            updates += [(sizes[i], sizes[j], offsets[i, node], offsets[j, node], offsets[i, j]) for i in rows[at:]]
        columns.append(
            (sizes[node], starts[node], offsets[node, node], first, len(entries), first_update, len(updates))
        )

    def block(i: int, j: int) -> tuple[int, bool]:
        """Offset of the block of nodes (i, j), and whether the one stored is (j, i)."""
        swapped = position[i] < position[j]
        return (offsets[j, i], True) if swapped else (offsets[i, j], False)

    return Symbolic(
        np.array(columns, COLUMN).view(np.recarray),
        np.array(entries, ENTRY).view(np.recarray),
        np.array(updates, UPDATE).view(np.recarray),
        np.array(order, np.int64),
        total,
        block,
    )


# A binary heap of the numbers 0 … n − 1, ordered by keys that may fall while they are in it ----------------------------
#
# heap[:length] are the numbers, the one with the least key first; place[i] is where number i stands in it.


@njit
def rise(heap, place, key, at, item):
    """Insert an item at index `at` or above: items above with larger keys move down."""
    while at > 0:
        parent = (at - 1) // 2
        above = heap[parent]
        if key[above] <= key[item]:
            break
        heap[at] = above
        place[above] = at
        at = parent
    heap[at] = item
    place[item] = at


@njit
def pop(heap, place, key, length):
    """Remove the item with the least key from a heap of this length, and return it; its `place` does not change."""
    first = heap[0]
    last = length - 1
    item = heap[last]
    at = 0
    while last > 0:
        child = 2 * at + 1
        if child >= last:
            break
        if child + 1 < last and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        below = heap[child]
        if key[item] <= key[below]:
            break
        heap[at] = below
        place[below] = at
        at = child
    if last > 0:
        heap[at] = item
        place[item] = at
    return first


# Reverse Cuthill–McKee order of a graph of bodies, and the envelope of a matrix in that order --------------------------
#
# E. Cuthill, J. McKee, "Reducing the bandwidth of sparse symmetric matrices", 1969; A. George, J. Liu, *Computer Solution
# of Large Sparse Positive Definite Systems*, 1981, ch. 4. Components of the graph (islands) follow one another, so that the
# envelope of each starts afresh and the cost of a factorization is the sum over islands.
#
# The nodes to order are those with `degree[i] >= 0` on entry; edges that touch another node are left out. Edges are pairs
# of nodes, twice the same edge allowed.


@njit
def adjacency(nodes, edges, count, head, neighbour, degree):
    """Compressed lists of neighbours: those of i are neighbour[head[i] : head[i + 1]]. `degree` is filled for the rest."""
    for i in range(nodes + 1):
        head[i] = 0
    for e in range(count):
        a, b = edges[2 * e], edges[2 * e + 1]
        if connects(nodes, a, b, degree):
            head[a] += 1
            head[b] += 1
    total = 0
    for i in range(nodes):
        number = head[i]
        head[i] = total
        total += number
        if degree[i] >= 0:
            degree[i] = number
    head[nodes] = total
    for e in range(count):
        a, b = edges[2 * e], edges[2 * e + 1]
        if connects(nodes, a, b, degree):
            neighbour[head[a]] = b
            neighbour[head[b]] = a
            head[a] += 1
            head[b] += 1
    for i in range(nodes, 0, -1):
        head[i] = head[i - 1]
    head[0] = 0


@njit
def connects(nodes, a, b, degree):
    """Whether the edge (a, b) joins two different nodes that are to be ordered."""
    return a != b and a >= 0 and b >= 0 and a < nodes and b < nodes and degree[a] >= 0 and degree[b] >= 0


@njit
def breadth_first(root, at, head, neighbour, degree, queue, level, mark):
    """Visit a component by levels, neighbours by rising degree; queue[at:end] is the visit. Returns (end, depth)."""
    queue[at] = root
    level[root] = mark
    end = at + 1
    reader = at
    while reader < end:
        node = queue[reader]
        reader += 1
        first = end
        for k in range(head[node], head[node + 1]):
            other = neighbour[k]
            if level[other] < mark:
                level[other] = level[node] + 1
                place = end
                while place > first and degree[queue[place - 1]] > degree[other]:
                    queue[place] = queue[place - 1]
                    place -= 1
                queue[place] = other
                end += 1
    return end, level[queue[end - 1]] - mark


@njit
def cuthill_mckee(nodes, head, neighbour, degree, queue, level, position):
    """Fill `position` (index of each node in the order, −1 for those left out); returns how many have one."""
    for i in range(nodes):
        level[i] = -1
        position[i] = -1
    placed = 0
    mark = 0
    for seed in range(nodes):
        if degree[seed] < 0 or position[seed] >= 0:
            continue
        root, depth = seed, -1
        for _ in range(4):  # towards an end of the component: the deepest node of least degree, while that gets deeper
            end, reached = breadth_first(root, placed, head, neighbour, degree, queue, level, mark)
            mark += nodes + 1
            if reached <= depth:
                break
            depth = reached
            last = queue[end - 1]
            for k in range(end - 2, placed - 1, -1):
                if level[queue[k]] < level[queue[end - 1]]:
                    break
                if degree[queue[k]] < degree[last]:
                    last = queue[k]
            root = last
        for k in range(placed, end):
            position[queue[k]] = placed + end - 1 - k
        placed = end
    return placed


@njit
def row_starts(nodes, placed, head, neighbour, position, first, start):
    """First column of each block row, and where its 6 scalar rows start; returns the numbers that one triangle takes."""
    for i in range(nodes):
        row = position[i]
        if row >= 0:
            first[row] = row
            for k in range(head[i], head[i + 1]):
                first[row] = min(first[row], position[neighbour[k]])
    total = 0
    for row in range(placed):
        start[row] = total
        total += 36 * (row - first[row] + 1)
    return total


# LU factorization of a matrix of 6×6 blocks inside its envelope (skyline), for systems of a few unknowns a body --------
#
# The pattern is symmetric, the values need not be: sliding friction makes them unsymmetric (see contact/cone_problem).
# The lower triangle is stored by rows and the upper one by columns, so that every inner product runs over two contiguous
# pieces:
#
#     l_kj = (a_kj − Σ_m l_km u_mj) / u_jj,   u_jk = a_jk − Σ_m l_jm u_mk,   u_kk = a_kk − Σ_m l_km u_mk,   m from the
#                                                                                         first column of rows j and k on.
# Block row i has its columns first[i] … i, of which six scalar rows of width 6 (i − first[i] + 1) start at start[i] in the
# lower half; the same offset in the upper half (which starts at `half`) holds the column. A. George, J. Liu, 1981, ch. 4.
# There are no row exchanges: but for sliding friction the caller's matrices are definite, and it refines and checks
# solutions.


@inlined
def block_offset(first, start, row, column):
    """Offset of the block (row, column), column ≤ row; its scalar rows are `row_width` apart."""
    return start[row] + 6 * (column - first[row])


@inlined
def row_width(first, row):
    """Numbers in a scalar row of a block row, in one half."""
    return 6 * (row - first[row] + 1)


@njit
def two_dots(a, at_a, b, at_b, count, shift):
    """Σ a[at_a + m] b[at_b + shift + m] and Σ a[at_a + shift + m] b[at_b + m], in two partial sums each."""
    s0, s1, t0, t1 = 0.0, 0.0, 0.0, 0.0
    m = 0
    while m + 1 < count:
        s0 += load(a, at_a + m) * load(b, at_b + shift + m)
        t0 += load(a, at_a + shift + m) * load(b, at_b + m)
        s1 += load(a, at_a + m + 1) * load(b, at_b + shift + m + 1)
        t1 += load(a, at_a + shift + m + 1) * load(b, at_b + m + 1)
        m += 2
    if m < count:
        s0 += load(a, at_a + m) * load(b, at_b + shift + m)
        t0 += load(a, at_a + shift + m) * load(b, at_b + m)
    return s0 + s1, t0 + t1


@njit
def factor(rows, first, start, values, half):
    """Factor in place. Diagonals become 1/u_kk. Returns 0, or 1 where a pivot vanished or is not a number."""
    for i in range(rows):
        width = row_width(first, i)
        left = 6 * first[i]
        for r in range(6):
            row = start[i] + r * width
            k = 6 * i + r
            for j in range(left, k):
                block = j // 6
                begin = max(left, 6 * first[block])
                other = start[block] + (j - 6 * block) * row_width(first, block) - 6 * first[block]
                s, t = two_dots(values, row + begin - left, values, other + begin, j - begin, half)
                at = row + j - left
                store(values, at, (load(values, at) - s) * load(values, other + j))
                store(values, half + at, load(values, half + at) - t)
            s, _ = two_dots(values, row, values, row, k - left, half)
            pivot = load(values, row + k - left) - s
            if not abs(pivot) > 0.0:
                return 1
            store(values, row + k - left, 1.0 / pivot)
    return 0


@njit
def solve(rows, first, start, values, half, x):
    """Solve in place with the factors of `factor`; x (6 rows) holds the right-hand side on entry."""
    for i in range(rows):
        left = 6 * first[i]
        for r in range(6):
            k = 6 * i + r
            row = start[i] + r * row_width(first, i) - left
            s, t = 0.0, 0.0
            for m in range(left, k - 1, 2):
                s += load(values, row + m) * load(x, m)
                t += load(values, row + m + 1) * load(x, m + 1)
            if (k - left) % 2 == 1:
                s += load(values, row + k - 1) * load(x, k - 1)
            store(x, k, load(x, k) - (s + t))
    for i in range(rows - 1, -1, -1):
        left = 6 * first[i]
        for r in range(5, -1, -1):
            k = 6 * i + r
            row = start[i] + r * row_width(first, i) - left
            value = load(x, k) * load(values, row + k)
            store(x, k, value)
            for m in range(left, k):
                store(x, m, load(x, m) - load(values, half + row + m) * value)
