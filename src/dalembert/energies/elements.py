"""The elements of a model: their tables, loops over the elements of each kind, and the sums over all kinds.

`add_forces` and `add_matrix` at the end are what the mechanics calls.
"""

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.jit import inlined, njit
from ..core.math3 import scale
from ..core.registry import by_kind
from ..core.simd import load
from ..core.tables import column
from .kinds import KINDS, OUT, SCRATCH, Kind
from .matrices import add_block, outer, plus, subtract, times

ELEMENT_SET = np.dtype(
    [("kind", "i8"), ("first", "i8"), ("last", "i8"), ("ledger", "i8"), ("active", "i8")], align=True
)


COLUMNS = {name: column(dtype=kind.dtype) for name, kind in KINDS.items()}
SLOTS = {f"{name}_slots": column(dtype=np.int64, doc="k (k + 1)/2 numbers an element of k nodes") for name in KINDS}
DECLARED = {**COLUMNS, "sets": column(dtype=ELEMENT_SET), **SLOTS, "scratch": column(f"{SCRATCH}")}


class Elements(namedtuple("Elements", DECLARED, defaults=DECLARED.values())):  # type: ignore[misc]
    """All elements of a model.

    There is one table of elements a kind, by its name. A set (ELEMENT_SET) is the elements first ≤ i < last of one kind;
    inactive sets do nothing. `ledger` is where the power of its damping is added, none if negative. Slots (int64,
    k (k + 1)/2 numbers an element of k nodes) are the blocks of the matrix that an element adds to; see `Loops`. They may be
    empty where no matrix is wanted. scratch : (kinds.SCRATCH,) float64.
    """

    __slots__ = ()


# Loops over the elements of one kind ----------------------------------------------------------------------------------
# A kind is defined by two functions:
#
#     derivatives(e, x, order, out) out[0] = W; with order ≥ 1, out[1 : 1 + 3 k] = ∂W/∂x of its k nodes; with order 2, its
#                                   Hessian (3 k × 3 k, row by row) from there on; with order 3, a positive semidefinite
#                                   one, which is the same wherever the Hessian is positive semidefinite
#     damping_rows(e, x, rows) → n  n rows rᵢ of 3 k numbers; the damping force is −Σ rᵢ (rᵢ · v). They are √c times the
#                                   gradients of what the energy measures, so that rigid motions are not damped.
#
# Where a measure has no gradient (an edge without length, a triangle without area) the element exerts no force, and all
# numbers are finite.


class Points(NamedTuple):
    """The positions at which elements are evaluated (flat): x for energies, elastic forces and Hessians, `about` for damping,
    near x. same : whether these are equal, so that what is computed at x serves both."""

    x: Any
    about: Any
    same: Any


class Weights(NamedTuple):
    """The factors of positive Hessians and of damping matrices in a sum."""

    stiffness: Any
    damping: Any


class Loops(NamedTuple):
    """Compiled functions of records first ≤ i < last of a table of elements."""

    energy: Callable[..., Any]  # (elements, first, last, x, scratch) → Σ W
    # (elements, first, last, at, v, f, g, scratch) → Σ W, power of damping; f += elastic forces, g += those of damping. at :
    # `Points`
    forces: Callable[..., Any]
    # (elements, slots, first, last, at, weights, values, scratch): values += the sum by `Weights` of the positive Hessians
    # and of Σ rᵢ rᵢᵀ, in 3×3 blocks (row by row, nine numbers each). Slots of an element: one a pair a ≤ b of its nodes, in
    # the order (0, 0), (0, 1), … (1, 1), …; slot s means the block s >> 1, and its transpose where s is odd.
    matrix: Callable[..., Any]


def make_loops(derivatives: Callable[..., Any], damping_rows: Callable[..., Any], nodes: int) -> Loops:
    """The three loops of a kind; `scratch` has `kinds.SCRATCH` numbers."""
    width = 3 * nodes
    pairs = nodes * (nodes + 1) // 2

    @njit
    def energy(elements, first, last, x, scratch):
        """Σ W."""
        total = 0.0
        for i in range(first, last):
            derivatives(elements[i], x, 0, scratch)
            total += load(scratch, 0)
        return total

    @njit
    def forces(elements, first, last, at, v, f, g, scratch):
        """Σ W and −Σ (rᵢ · v)²; f −= ∂W/∂x, g −= Σ rᵢ (rᵢ · v)."""
        rows = scratch[OUT:]
        total, power = 0.0, 0.0
        for i in range(first, last):
            e = elements[i]
            derivatives(e, at.x, 1, scratch)
            count = damping_rows(e, at.about, rows)
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
    def matrix(elements, slots, first, last, at, weights, values, scratch):
        """values += p H + q Σ rᵢ rᵢᵀ by the weights p and q."""
        rows = scratch[OUT:]
        for i in range(first, last):
            e = elements[i]
            derivatives(e, at.x, 3, scratch)
            count = damping_rows(e, at.about, rows)
            slot = i * pairs
            for a in range(nodes):
                for b in range(a, nodes):
                    block = times(weights.stiffness, nine(scratch, 1 + width + 3 * a * width + 3 * b, width))
                    for row in range(count):
                        r_a, r_b = three(rows, row * width + 3 * a), three(rows, row * width + 3 * b)
                        block = plus(block, weights.damping, outer(r_a, r_b))
                    add_block(values, slots[slot], block)
                    slot += 1

    return Loops(energy, forces, matrix)


@inlined
def product(v, at, rows, row):
    """The inner product of three numbers of each."""
    return load(v, at) * load(rows, row) + load(v, at + 1) * load(rows, row + 1) + load(v, at + 2) * load(rows, row + 2)


@inlined
def three(a, at):
    """Three numbers of an array, from `at` on."""
    return (load(a, at), load(a, at + 1), load(a, at + 2))


@inlined
def nine(a, at, width):
    """A 3×3 block of a matrix of `width` columns."""
    return three(a, at) + three(a, at + width) + three(a, at + 2 * width)


# All elements of a model ----------------------------------------------------------------------------------------------


def loops_of(kind: Kind) -> Loops:
    """The loops of a kind: its own where it has some."""
    energy, forces, matrix = make_loops(kind.derivatives, kind.damping_rows, kind.nodes)
    return Loops(energy, kind.forces or forces, kind.matrix or matrix)


LOOPS = {kind.number: loops_of(kind) for kind in KINDS.values()}
NAMES = {kind.number: name for name, kind in KINDS.items()}
set_energy = by_kind(
    __name__, "set_energy", "first, last, x, elements, scratch",
    {number: loops.energy for number, loops in LOOPS.items()}, "0.0",
    {number: f"elements.{name}, first, last, x, scratch" for number, name in NAMES.items()},
)  # fmt: skip
set_forces = by_kind(
    __name__, "set_forces", "first, last, at, v, f, g, elements, scratch",
    {number: loops.forces for number, loops in LOOPS.items()}, "(0.0, 0.0)",
    {number: f"elements.{name}, first, last, at, v, f, g, scratch" for number, name in NAMES.items()},
)  # fmt: skip
set_matrix = by_kind(
    __name__, "set_matrix", "first, last, at, weights, values, elements, scratch",
    {number: loops.matrix for number, loops in LOOPS.items()}, "None",
    {
        number: f"elements.{name}, elements.{name}_slots, first, last, at, weights, values, scratch"
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

    about : the positions at which damping is evaluated; x, or near it."""
    sets, scratch = elements.sets, elements.scratch
    total, at = 0.0, Points(x, about, equal(x, about))
    for i in range(sets.shape[0]):
        s = sets[i]
        if s.active == 0:
            continue
        energy, lost = set_forces(s.kind, s.first, s.last, at, v, f, g, elements, scratch)
        total += energy
        if s.ledger >= 0:
            power[s.ledger] += lost
    return total


@njit
def add_matrix(x, about, stiffness_weight, damping_weight, values, elements):
    """Add the weighted sum of positive Hessians and of damping matrices to the 3×3 blocks `values`; see `Loops`."""
    sets, scratch = elements.sets, elements.scratch
    at, weights = Points(x, about, equal(x, about)), Weights(stiffness_weight, damping_weight)
    for i in range(sets.shape[0]):
        s = sets[i]
        if s.active != 0:
            set_matrix(s.kind, s.first, s.last, at, weights, values, elements, scratch)


@njit
def equal(x, about):
    """Whether these are the same positions, as in explicit and linear steps: then nothing is computed twice."""
    for k in range(x.shape[0]):
        if load(x, k) != load(about, k):
            return False
    return True
