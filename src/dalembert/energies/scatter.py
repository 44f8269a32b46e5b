"""Sums into the arrays of a model: forces of particles, and the 3×3 blocks of its matrix."""

from ..jit import inlined
from ..lanes import four, part4, peek4, plus4, poke4, times4
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


# The nine numbers of s a bᵀ, row by row, in two registers and a number: (s a)₀₀₀₁ b₀₁₂₀, (s a)₁₁₂₂ b₁₂₀₁ and (s a)₂ b₂.
@inlined
def factors(s, a):
    """What blocks s a bᵀ and s b aᵀ need of a."""
    u, v, w = s * a[0], s * a[1], s * a[2]
    return four(u, u, u, v), four(v, v, w, w), w, four(a[0], a[1], a[2], a[0]), four(a[1], a[2], a[0], a[1]), a[2]


@inlined
def product(a, b):
    """s a bᵀ from the `factors` of both."""
    return times4(a[0], b[3]), times4(a[1], b[4]), a[2] * b[5]


@inlined
def nine(m):
    """The numbers of such a block."""
    return (
        part4(m[0], 0), part4(m[0], 1), part4(m[0], 2), part4(m[0], 3), part4(m[1], 0), part4(m[1], 1), part4(m[1], 2),
        part4(m[1], 3), m[2],
    )  # fmt: skip


@inlined
def add_nine(values, at, m):
    """Add such a block."""
    poke4(values, at, plus4(peek4(values, at), m[0]))
    poke4(values, at + 4, plus4(peek4(values, at + 4), m[1]))
    poke(values, at + 8, peek(values, at + 8) + m[2])


@inlined
def add_product(values, slot, a, b):
    """Add s a bᵀ, or its transpose, to the block of a slot."""
    if slot & 1 == 1:
        a, b = b, a
    add_nine(values, 9 * (slot >> 1), product(a, b))
