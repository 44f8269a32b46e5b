"""The table of pairs: what may touch, and what is known of a pair (witness, impulses) from the step before.

The table has two halves that take turns. A pair of the step before is found through a hash table.
"""

from ..jit import inlined, njit
from .tables import NO_WITNESS, POINTS

EMPTY = -1


@njit
def add_pair(i, j, facet, bodies, first, found, room, old_first, collision):
    """Add a pair unless it can never touch, with what was known of it; returns the number of pairs found.

    facet : of a mesh, if one of the two is one; else zero.
    """
    colliders = collision.colliders
    body_i, body_j = colliders[i].body, colliders[j].body
    if body_i == body_j or (body_i >= bodies and body_j >= bodies):
        return found
    if collision.excluded.shape[0] > 0 and search(collision.excluded, min(i, j) * colliders.shape[0] + max(i, j)) >= 0:
        return found
    if found >= room:
        return found + 1
    if colliders[i].kind > colliders[j].kind or (colliders[i].kind == colliders[j].kind and i > j):
        i, j = j, i
    pair = collision.pairs[first + found]
    known = recall(i, j, facet, old_first, collision)
    if known >= 0:
        copy_pair(pair, collision.pairs[known])
        return found + 1
    pair.a, pair.b, pair.facet = i, j, facet
    pair.witness = NO_WITNESS
    pair.feature_a, pair.feature_b = 0, 0
    pair.points = 0
    for k in range(3):
        pair.axis[k] = 0.0
    return found + 1


@njit
def search(keys, key):
    """Where a key stands in a sorted array, or −1."""
    low, high = 0, keys.shape[0]
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < keys.shape[0] and keys[low] == key else -1


# The hash table holds numbers of pairs; a pair starts at a mixture of its numbers and takes the next free slot.
@inlined
def slot_of(a, b, facet, mask):
    return ((a * 73856093) ^ (b * 19349663) ^ (facet * 83492791)) & mask


@njit
def remember_pairs(first, count, collision):
    slots = collision.slots
    pairs = collision.pairs
    mask = slots.shape[0] - 1
    for s in range(slots.shape[0]):
        slots[s] = EMPTY
    for p in range(first, first + count):
        s = slot_of(pairs[p].a, pairs[p].b, pairs[p].facet, mask)
        while slots[s] != EMPTY:
            s = (s + 1) & mask
        slots[s] = p


@njit
def recall(a, b, facet, old_first, collision):
    """The number of the pair in the half of the step before, or −1."""
    slots = collision.slots
    pairs = collision.pairs
    mask = slots.shape[0] - 1
    s = slot_of(a, b, facet, mask)
    while slots[s] != EMPTY:
        known = pairs[slots[s]]
        if known.a == a and known.b == b and known.facet == facet:
            return slots[s]
        s = (s + 1) & mask
    return -1


@njit
def copy_pair(to, source):
    to.a, to.b, to.facet = source.a, source.b, source.facet
    to.witness = source.witness
    to.feature_a, to.feature_b = source.feature_a, source.feature_b
    to.points = source.points
    for k in range(3):
        to.axis[k] = source.axis[k]
    for k in range(POINTS):
        to.feature[k] = source.feature[k]
    for k in range(3 * POINTS):
        to.impulse[k] = source.impulse[k]
