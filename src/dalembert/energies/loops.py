"""Sums over the elements of one kind, made from its two functions.

A kind is given by

    evaluate(e, x, order, out)    out[0] = W; with order ≥ 1, out[1 : 1 + 3 k] = ∂W/∂x of its k nodes; with order 2, its
                                  Hessian (3 k × 3 k, row by row) from there on; with order 3, a positive semidefinite
                                  one, which is the same wherever the Hessian is that
    damping_rows(e, x, rows) → n  n rows rᵢ of 3 k numbers; the damping force is −Σ rᵢ (rᵢ · v). They are √c times the
                                  gradients of what the energy measures, and so do not see rigid motions.

Where a measure has no gradient (an edge without length, a triangle without area) the element exerts no force, and all
numbers are finite.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..jit import inlined, njit
from ..unchecked import peek
from ..vec import scale
from .kinds import OUT
from .matrices import outer, plus, times
from .scatter import add_block, subtract


class Loops(NamedTuple):
    """Compiled functions of records first ≤ i < last of a table of elements."""

    energy: Callable[..., Any]  # (elements, first, last, x, scratch) → Σ W
    # (elements, first, last, x, about, same, v, f, g, scratch) → Σ W, power of damping; f += elastic forces, g += those of
    # damping, whose rows are taken at the places `about`; same : whether that is x
    forces: Callable[..., Any]
    # (elements, slots, first, last, x, about, same, stiffness_weight, damping_weight, values, scratch): values += the
    # weighted sum of the positive Hessians and of Σ rᵢ rᵢᵀ, in 3×3 blocks (row by row, nine numbers each). Slots of an
    # element: one a pair a ≤ b of its nodes, in the order (0, 0), (0, 1), … (1, 1), …; slot s means the block s >> 1, and its
    # transpose where s is odd.
    matrix: Callable[..., Any]


def make_loops(evaluate: Callable[..., Any], damping_rows: Callable[..., Any], nodes: int) -> Loops:
    """The three loops of a kind; `scratch` has `kinds.SCRATCH` numbers."""
    width = 3 * nodes
    pairs = nodes * (nodes + 1) // 2

    @njit
    def energy(elements, first, last, x, scratch):
        total = 0.0
        for i in range(first, last):
            evaluate(elements[i], x, 0, scratch)
            total += peek(scratch, 0)
        return total

    @njit
    def forces(elements, first, last, x, about, same, v, f, g, scratch):
        rows = scratch[OUT:]
        total, power = 0.0, 0.0
        for i in range(first, last):
            e = elements[i]
            evaluate(e, x, 1, scratch)
            count = damping_rows(e, about, rows)
            total += peek(scratch, 0)
            for a in range(nodes):
                subtract(f, e.nodes[a], three(scratch, 1 + 3 * a))
            for row in range(count):
                rate = 0.0
                for a in range(nodes):
                    rate += product(v, 3 * e.nodes[a], rows, row * width + 3 * a)
                power -= rate * rate
                for a in range(nodes):
                    subtract(g, e.nodes[a], scale(rate, three(rows, row * width + 3 * a)))
        return total, power

    @njit
    def matrix(elements, slots, first, last, x, about, same, stiffness_weight, damping_weight, values, scratch):
        rows = scratch[OUT:]
        for i in range(first, last):
            e = elements[i]
            evaluate(e, x, 3, scratch)
            count = damping_rows(e, about, rows)
            slot = i * pairs
            for a in range(nodes):
                for b in range(a, nodes):
                    block = times(stiffness_weight, nine(scratch, 1 + width + 3 * a * width + 3 * b, width))
                    for row in range(count):
                        r_a, r_b = three(rows, row * width + 3 * a), three(rows, row * width + 3 * b)
                        block = plus(block, damping_weight, outer(r_a, r_b))
                    add_block(values, slots[slot], block)
                    slot += 1

    return Loops(energy, forces, matrix)


@inlined
def product(v, at, rows, row):
    """The inner product of three numbers of each."""
    return peek(v, at) * peek(rows, row) + peek(v, at + 1) * peek(rows, row + 1) + peek(v, at + 2) * peek(rows, row + 2)


@inlined
def three(a, at):
    return (peek(a, at), peek(a, at + 1), peek(a, at + 2))


@inlined
def nine(a, at, width):
    """A 3×3 block of a matrix of `width` columns."""
    return three(a, at) + three(a, at + width) + three(a, at + 2 * width)
