"""Energy, forces and matrix of all elements of a model."""

from ..dispatch import by_kind
from ..jit import njit
from ..unchecked import peek
from .kinds import KINDS, Kind
from .loops import Loops, make_loops


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
        if peek(x, k) != peek(about, k):
            return False
    return True
