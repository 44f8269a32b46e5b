"""The tables of elements: one record array a kind, and the table of all of them."""

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.jit import inlined, njit
from ..core.math3 import scale
from ..core.registry import by_kind
from ..core.simd import load
from ..core.tables import column
from .kinds import KINDS, OUT, Kind
from .matrices import add_block, outer, plus, subtract, times

ELEMENT_SET = np.dtype(
    [("kind", "i8"), ("first", "i8"), ("last", "i8"), ("ledger", "i8"), ("active", "i8")], align=True
)


COLUMNS = {name: column(dtype=kind.dtype) for name, kind in KINDS.items()}
SLOTS = {f"{name}_slots": column(dtype=np.int64, doc="k (k + 1)/2 numbers an element of k nodes") for name in KINDS}
DECLARED = {**COLUMNS, "sets": column(dtype=ELEMENT_SET), **SLOTS, "scratch": column("SCRATCH")}


class Elements(namedtuple("Elements", DECLARED, defaults=DECLARED.values())):
    """All elements of a model.

    There is one table of elements a kind, by its name. A set (ELEMENT_SET) is the elements first ≤ i < last of one kind;
    those that are not active do nothing. `ledger` is where the power of its damping is added, none if negative. Slots (int64,
    k (k + 1)/2 numbers an element of k nodes) say where the matrix of an element goes; see `loops`. They may be empty where
    no matrix is asked for. scratch : (kinds.SCRATCH,) float64.
    """

    __slots__ = ()


# ----------------------------------------------------------------------------------------------------------------------
# Sums over the elements of one kind, made from its two functions.
#
# A kind is given by
#
#     evaluate(e, x, order, out)    out[0] = W; with order ≥ 1, out[1 : 1 + 3 k] = ∂W/∂x of its k nodes; with order 2, its
#                                   Hessian (3 k × 3 k, row by row) from there on; with order 3, a positive semidefinite
#                                   one, which is the same wherever the Hessian is that
#     damping_rows(e, x, rows) → n  n rows rᵢ of 3 k numbers; the damping force is −Σ rᵢ (rᵢ · v). They are √c times the
#                                   gradients of what the energy measures, and so do not see rigid motions.
#
# Where a measure has no gradient (an edge without length, a triangle without area) the element exerts no force, and
# all
# numbers are finite.


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
            total += load(scratch, 0)
        return total

    @njit
    def forces(elements, first, last, x, about, same, v, f, g, scratch):
        rows = scratch[OUT:]
        total, power = 0.0, 0.0
        for i in range(first, last):
            e = elements[i]
            evaluate(e, x, 1, scratch)
            count = damping_rows(e, about, rows)
            total += load(scratch, 0)
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
    return load(v, at) * load(rows, row) + load(v, at + 1) * load(rows, row + 1) + load(v, at + 2) * load(rows, row + 2)


@inlined
def three(a, at):
    return (load(a, at), load(a, at + 1), load(a, at + 2))


@inlined
def nine(a, at, width):
    """A 3×3 block of a matrix of `width` columns."""
    return three(a, at) + three(a, at + width) + three(a, at + 2 * width)


# ----------------------------------------------------------------------------------------------------------------------
# Energy, forces and matrix of all elements of a model.


def loops_of(kind: Kind) -> Loops:
    """The loops of a kind: its own where it has some."""
    energy, forces, matrix = make_loops(kind.evaluate, kind.damping_rows, kind.nodes)
    return Loops(energy, kind.forces or forces, kind.matrix or matrix)


LOOPS = {kind.number: loops_of(kind) for kind in KINDS.values()}
NAMES = {kind.number: name for name, kind in KINDS.items()}
set_energy = by_kind(
    __name__, "first, last, x, elements, scratch", {number: loops.energy for number, loops in LOOPS.items()}, "0.0",
    {number: f"elements.{name}, first, last, x, scratch" for number, name in NAMES.items()},
)  # fmt: skip
set_forces = by_kind(
    __name__, "first, last, x, about, same, v, f, g, elements, scratch",
    {number: loops.forces for number, loops in LOOPS.items()}, "(0.0, 0.0)",
    {number: f"elements.{name}, first, last, x, about, same, v, f, g, scratch" for number, name in NAMES.items()},
)  # fmt: skip
set_matrix = by_kind(
    __name__, "first, last, x, about, same, p, q, values, elements, scratch",
    {number: loops.matrix for number, loops in LOOPS.items()}, "None",
    {
        number: f"elements.{name}, elements.{name}_slots, first, last, x, about, same, p, q, values, scratch"
        for number, name in NAMES.items()
    },
)  # fmt: skip


@njit
def total_energy(x, elements):
    """W of all active sets (J) at the positions x."""
    sets = elements.sets
    scratch = elements.scratch
    total = 0.0
    for i in range(sets.shape[0]):
        s = sets[i]
        if s.active != 0:
            total += set_energy(s.kind, s.first, s.last, x, elements, scratch)
    return total


@njit
def add_forces(x, about, v, f, g, power, elements):
    """Add elastic forces (N) to f, those of damping to g, which may be f, and the power of damping to `power`; returns W.

    about : the places at which damping is looked at; x, or near it."""
    sets = elements.sets
    scratch = elements.scratch
    total, same = 0.0, equal(x, about)
    for i in range(sets.shape[0]):
        s = sets[i]
        if s.active == 0:
            continue
        energy, lost = set_forces(s.kind, s.first, s.last, x, about, same, v, f, g, elements, scratch)
        total += energy
        if s.ledger >= 0:
            power[s.ledger] += lost
    return total


@njit
def add_matrix(x, about, stiffness_weight, damping_weight, values, elements):
    """Add the weighted sum of positive Hessians and of damping matrices to the 3×3 blocks `values`; see `loops`."""
    sets, scratch, same = elements.sets, elements.scratch, equal(x, about)
    for i in range(sets.shape[0]):
        s = sets[i]
        if s.active != 0:
            p, q = stiffness_weight, damping_weight
            set_matrix(s.kind, s.first, s.last, x, about, same, p, q, values, elements, scratch)


# As explicit and linear steps have it: what was found at x is not found again.
@njit
def equal(x, about):
    """Whether these are the same places."""
    for k in range(x.shape[0]):
        if load(x, k) != load(about, k):
            return False
    return True
