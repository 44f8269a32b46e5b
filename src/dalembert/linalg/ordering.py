"""Elimination order of a symmetric block matrix, once per model: minimum degree, and its tables.

A chain or a tree is eliminated from its leaves and gets no fill (Baraff 1996), so that the work is linear in the number
of blocks. Loops cost the fill of the minimum-degree heuristic.
"""

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..core.jit import njit

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
