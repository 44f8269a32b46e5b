"""A binary heap of the numbers 0 … n − 1, ordered by keys that may fall while they are in it.

heap[:length] are the numbers, the one with the least key first; place[i] is where number i stands in it.
"""

from ..jit import njit


@njit
def rise(heap, place, key, at, item):
    """Put an item in at `at`, or above it: the items above whose keys are larger go down."""
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
    """Take the item with the least key out of a heap of this length, and return it; its place is left as it was."""
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
