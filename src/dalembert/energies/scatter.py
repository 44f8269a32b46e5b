"""Sums into the arrays of a model: forces of particles, and the 3×3 blocks of its matrix."""

from ..jit import inlined
from ..unchecked import peek, poke
from .matrices import transposed


@inlined
def subtract(f, node, a):
    """Subtract a 3-vector from that of a particle."""
    at = 3 * node
    poke(f, at, peek(f, at) - a[0])
    poke(f, at + 1, peek(f, at + 1) - a[1])
    poke(f, at + 2, peek(f, at + 2) - a[2])


@inlined
def add_block(values, slot, m):
    """Add M, or its transpose, to the block of a slot."""
    if slot & 1 == 1:
        m = transposed(m)
    at = 9 * (slot >> 1)
    poke(values, at, peek(values, at) + m[0])
    poke(values, at + 1, peek(values, at + 1) + m[1])
    poke(values, at + 2, peek(values, at + 2) + m[2])
    poke(values, at + 3, peek(values, at + 3) + m[3])
    poke(values, at + 4, peek(values, at + 4) + m[4])
    poke(values, at + 5, peek(values, at + 5) + m[5])
    poke(values, at + 6, peek(values, at + 6) + m[6])
    poke(values, at + 7, peek(values, at + 7) + m[7])
    poke(values, at + 8, peek(values, at + 8) + m[8])


@inlined
def add_blocks(values, slots, at, h_00, h_01, h_02, h_11, h_12, h_22):
    """Add the blocks of three nodes."""
    add_block(values, slots[at], h_00)
    add_block(values, slots[at + 1], h_01)
    add_block(values, slots[at + 2], h_02)
    add_block(values, slots[at + 3], h_11)
    add_block(values, slots[at + 4], h_12)
    add_block(values, slots[at + 5], h_22)
