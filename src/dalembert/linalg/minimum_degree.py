"""Minimum-degree order of a graph, with sets of bits for neighbours.

The elimination of a node makes its neighbours a clique. Row i of `bits` holds the neighbours of node i that are not
eliminated yet, one bit a node, so that an elimination is one union of words a neighbour, and degrees are exact. A
neighbour without further neighbours outside the clique is eliminated at once ("mass elimination"): these nodes are a
*set*, columns of the factor with one structure. The row of the first node of a set stays as it is then: the structure
of the set. A. George, J. Liu, "The evolution of the minimum degree ordering algorithm", SIAM Review 31 (1989).

Memory grows as the square of the number of nodes over 64: 0.5 MB for 2000 nodes, 50 MB for 20 000.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.jit import DISABLED, inlined, intrinsic, ir, njit, types
from ..core.tables import column


class Elimination(NamedTuple):
    """The graph while its nodes are eliminated, and the order."""

    bits: Any = column("nodes * ((nodes + 63) // 64)", np.int64, doc="neighbours of each node, 64 a word")
    low: Any = column("nodes", np.int64, doc="first word of the node's row that is in use")
    high: Any = column("nodes", np.int64, doc="one after the last")
    degree: Any = column("nodes", np.int64)
    head: Any = column("nodes + 1", np.int64, doc="first node of each degree; −1: none")
    after: Any = column("nodes", np.int64, doc="the next node of the same degree")
    before: Any = column("nodes", np.int64, doc="the one before; −1: the first")
    order: Any = column("nodes", np.int64, doc="out: nodes in the order of elimination")
    first: Any = column("nodes + 1", np.int64, doc="out: index in `order` of the first node of each set")


# Bits -------------------------------------------------------------------------------------------------------------------


@intrinsic
def count_bits(typing_context, word):
    """How many bits of an int64 are set."""
    return types.int64(types.int64), lambda context, builder, signature, arguments: builder.ctpop(arguments[0])


@intrinsic
def lowest_bit(typing_context, word):
    """The index of the lowest bit that is set, of an int64 that is not zero."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


if DISABLED:

    def count_bits(word):
        return (int(word) % 2**64).bit_count()

    def lowest_bit(word):
        return (int(word) & -int(word)).bit_length() - 1


@inlined
def bit(k):
    """The word in which bit k is set."""
    return np.int64(1) << np.int64(k)


@njit
def clear_rows(e, nodes):
    """Begin a graph: no node has a neighbour. Words outside low … high of a row are not in use, and hold anything."""
    for i in range(nodes):
        e.low[i] = 0
        e.high[i] = 0


@inlined
def widen(e, words, i, low, high):
    """Bring the words low … high − 1 of row i into use."""
    if e.low[i] == e.high[i]:
        e.low[i] = low
        e.high[i] = low
    for w in range(low, e.low[i]):
        e.bits[i * words + w] = 0
    for w in range(e.high[i], high):
        e.bits[i * words + w] = 0
    e.low[i] = min(e.low[i], low)
    e.high[i] = max(e.high[i], high)


@njit
def set_neighbour(e, words, i, j):
    """Make j a neighbour of i; the caller does the reverse."""
    w = j >> 6
    widen(e, words, i, w, w + 1)
    e.bits[i * words + w] |= bit(j & 63)


# Nodes by degree --------------------------------------------------------------------------------------------------------


@inlined
def insert(e, node):
    """Put a node into the list of its degree, in front."""
    degree = e.degree[node]
    second = e.head[degree]
    e.head[degree] = node
    e.after[node] = second
    e.before[node] = -1
    if second >= 0:
        e.before[second] = node


@inlined
def remove(e, node):
    """Take a node out of the list of its degree."""
    left, right = e.before[node], e.after[node]
    if left >= 0:
        e.after[left] = right
    else:
        e.head[e.degree[node]] = right
    if right >= 0:
        e.before[right] = left


# Elimination ------------------------------------------------------------------------------------------------------------


@njit
def eliminate(e, nodes):
    """Order all nodes: fills `order` and `first`; returns the number of sets. The rows of `bits` are the graph on entry."""
    words = (nodes + 63) // 64
    for degree in range(nodes + 1):
        e.head[degree] = -1
    for node in range(nodes - 1, -1, -1):
        count = 0
        for w in range(e.low[node], e.high[node]):
            count += count_bits(e.bits[node * words + w])
        e.degree[node] = count
        insert(e, node)
    placed, sets, least = 0, 0, 0
    while placed < nodes:
        while e.head[least] < 0:
            least += 1
        node = e.head[least]
        remove(e, node)
        e.first[sets] = placed
        sets += 1
        e.order[placed] = node
        absorbed = placed + 1
        placed = connect(e, words, node, absorbed)
        least = min(least, settle(e, words, node, absorbed, placed))
    e.first[sets] = nodes
    return sets


@njit
def connect(e, words, node, placed):
    """Make the neighbours of a node a clique without it; those that have no other neighbours are put into `order` from
    `placed` on. Returns where that ends."""
    base, low, high = node * words, e.low[node], e.high[node]
    own, most = node >> 6, e.degree[node] - 1
    for w in range(low, high):
        left = e.bits[base + w]
        while left != 0:
            k = lowest_bit(left)
            left ^= bit(k)
            other = 64 * w + k
            remove(e, other)
            row = other * words
            widen(e, words, other, low, high)
            for v in range(low, high):
                e.bits[row + v] |= e.bits[base + v]
            e.bits[row + w] &= ~bit(k)
            e.bits[row + own] &= ~bit(node & 63)
            count = 0
            for v in range(e.low[other], e.high[other]):
                count += count_bits(e.bits[row + v])
            e.degree[other] = count
            if count == most:
                e.order[placed] = other
                placed += 1
    return placed


@njit
def settle(e, words, node, absorbed, end):
    """Take the nodes order[absorbed:end], which are eliminated with `node`, out of its clique; list the others by their new
    degrees. Returns the least of these."""
    base = node * words
    for k in range(absorbed, end):
        gone = e.order[k]
        e.bits[base + (gone >> 6)] &= ~bit(gone & 63)
    least = e.degree.shape[0]
    for w in range(e.low[node], e.high[node]):
        left = e.bits[base + w]
        while left != 0:
            k = lowest_bit(left)
            left ^= bit(k)
            other = 64 * w + k
            for at in range(absorbed, end):
                gone = e.order[at]
                e.bits[other * words + (gone >> 6)] &= ~bit(gone & 63)
            e.degree[other] -= end - absorbed
            least = min(least, e.degree[other])
            insert(e, other)
    return least
