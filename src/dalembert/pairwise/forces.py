"""Forces of all laws between particles: the sums over laws, calls from Python, and the making of their tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.jit import njit
from ..core.kernel import array, kernel, out
from ..core.tables import allocate
from .barnes_hut import sum_by_tree
from .cells import BLOCKS, FORCES, sum_all_pairs, sum_by_cells
from .laws import (
    ALL_PAIRS,
    CELLS,
    COULOMB,
    GRAVITATION,
    LAW,
    LENNARD_JONES,
    POWER,
    REPULSION,
    THE_LAW,
    TREE,
    Interactions,
    curvature,
)

# All laws of a table --------------------------------------------------------------------------------------------------


@njit
def interact(t, x, v, f, power, tables):
    """Add the forces (N) of all active laws to f, and the powers (W) of their dampers to `power` at the laws' ledgers.

    x, v, f : flat (3 N,), positions (m), velocities (m/s) and forces of particles. Returns (potential energy (J), status): 0;
    COINCIDENT, with two particles and their law in `trouble`; or what a user's law returned. f is not complete then.
    """
    laws, scratch = tables.laws, tables.scratch
    energy = 0.0
    for k in range(laws.shape[0]):
        law = laws[k]
        if law.active == 0:
            continue
        scratch[POWER] = 0.0
        more, status = sum_pairs(FORCES, t, law, x, v, tables)
        if status != 0:
            tables.trouble[THE_LAW] = k
            return energy, status
        energy += more
        if law.damping > 0.0:
            power[law.ledger] += scratch[POWER]
        scatter_forces(law, f, tables)
    return energy, 0


@njit
def add_diagonal(t, x, weight, values, slots, tables):
    """Add the diagonal blocks of a matrix that is at least `weight` times the Hessian of all active laws.

    With P the positive semidefinite part of a pair's block W'' u uᵀ + (W'/r)(I − u uᵀ), the pair's part of the Hessian is at
    most [P −P; −P P], and that at most 2 diag(P, P), as (a − b)·P(a − b) ≤ 2 (a·P a + b·P b). Dampers have no part in it.
    A node of a tree that acts as one does so by its weights alone here: with TREE the bound is as good as that.

    values : flat, 9 numbers a block (N/m), added to. slots : int64 (N,), the block of each particle. Returns a status.
    """
    laws = tables.laws
    for k in range(laws.shape[0]):
        law = laws[k]
        if law.active == 0:
            continue
        _, status = sum_pairs(BLOCKS, t, law, x, x, tables)
        if status != 0:
            tables.trouble[THE_LAW] = k
            return status
        scatter_blocks(law, 2.0 * weight, values, slots, tables)
    return 0


@njit
def sum_pairs(task, t, law, x, v, tables):
    """A task for all pairs of a law, into `sums`: NaN if any position is not finite, as no grid or tree can contain that."""
    if not all_finite(law, x, tables):
        return fill_with_nan(law, tables), 0
    if law.method == TREE:
        return sum_by_tree(task, t, law, x, v, tables)
    if law.method == CELLS:
        return sum_by_cells(task, t, law, x, v, tables)
    return sum_all_pairs(task, t, law, x, v, tables)


@njit
def all_finite(law, x, tables):
    """Whether the positions of all members of a law are finite."""
    members = tables.members
    zero = 0.0
    for k in range(law.first, law.last):
        at = 3 * members[k]
        zero += 0.0 * (x[at] + x[at + 1] + x[at + 2])
    return zero == 0.0


@njit
def fill_with_nan(law, tables):
    """Fill the sums of a law with NaN; returns NaN, its energy."""
    order, sums = tables.order, tables.sums
    for i in range(law.last - law.first):
        order[i] = i
        for k in range(6 * i, 6 * i + 6):
            sums[k] = math.nan
    return math.nan


@njit
def scatter_forces(law, f, tables):
    """Add the sums of a law to the forces f of its particles."""
    members, order, sums = tables.members, tables.order, tables.sums
    for i in range(law.last - law.first):
        at = 3 * members[law.first + order[i]]
        for k in range(3):
            f[at + k] += sums[3 * i + k]


@njit
def scatter_blocks(law, scale, values, slots, tables):
    """Add `scale` times the symmetric blocks in the sums of a law to the blocks of its particles."""
    members, order, sums = tables.members, tables.order, tables.sums
    for i in range(law.last - law.first):
        at = 9 * slots[members[law.first + order[i]]]
        xx, yy, zz = scale * sums[6 * i], scale * sums[6 * i + 1], scale * sums[6 * i + 2]
        xy, xz, yz = scale * sums[6 * i + 3], scale * sums[6 * i + 4], scale * sums[6 * i + 5]
        values[at] += xx
        values[at + 1] += xy
        values[at + 2] += xz
        values[at + 3] += xy
        values[at + 4] += yy
        values[at + 5] += yz
        values[at + 6] += xz
        values[at + 7] += yz
        values[at + 8] += zz


# From Python ----------------------------------------------------------------------------------------------------------


@kernel
def _interact(t: float, x: array(), v: array(), f: out(), power: out(), energy: out(), tables: Interactions) -> int:
    energy[0], status = interact(t, x, v, f, power, tables)
    return status


@kernel
def evaluate_diagonal(
    t: float, x: array(), weight: float, values: out(), slots: array(1, np.int64), tables: Interactions
) -> int:
    """See `forces.add_diagonal`."""
    return add_diagonal(t, x, weight, values, slots, tables)


@kernel
def _curvature(laws: array(1, LAW), k: int, r: float, weight: float, values: out()) -> None:
    values[0], values[1], values[2] = curvature(laws[k], r, weight)


def interactions_entry(
    t: float, x: np.ndarray, v: np.ndarray, f: np.ndarray, power: np.ndarray, tables: Any
) -> tuple[float, int]:
    """See `forces.interact`; tables: `Interactions`, or their `core.tables.handed`."""
    energy = np.zeros(1)
    status = _interact(t, x, v, f, power, energy, tables)
    return float(energy[0]), status


def curvature_at(laws: np.ndarray, k: int, r: float, weight: float) -> np.ndarray:
    """(3,) `laws.curvature` of the k-th law."""
    values = np.zeros(3)
    _curvature(laws, k, r, weight, values)
    return values


def forces(
    tables: Interactions, x: np.ndarray, v: np.ndarray | None = None, t: float = 0.0
) -> tuple[float, np.ndarray, int]:
    """(potential energy (J), forces (3 N,) in N, status) of particles at x (3 N,) in m with velocities v (zero)."""
    x = np.ascontiguousarray(x, float).ravel()
    v = np.zeros_like(x) if v is None else np.ascontiguousarray(v, float).ravel()
    f, power = np.zeros_like(x), np.zeros(1 + int(max(tables.laws.ledger, default=0)))
    energy, status = interactions_entry(t, x, v, f, power, tables)
    return energy, f, status


# From laws to tables --------------------------------------------------------------------------------------------------

LEAST_BUCKETS = 64
# of the cells' number: strides of rows and layers that spread any box of cells evenly (the powers of the root of
# p³ = p + 1; M. Roberts 2018), where the cells' own box would be too large
SPREAD_Y, SPREAD_Z = 0.7548776662466927, 0.5698402909980532


class RadialLaw(NamedTuple):
    """A law between all pairs of `members` (n,), which are numbers of particles, none twice.

    kind, method : see `laws`.
    strength : that of W = strength/r with its sign, −G for GRAVITATION (m³/(kg s²)) and k for COULOMB (N m²/C²); the depth
    of LENNARD_JONES (J); the stiffness of REPULSION (N/m).
    weights (n,) : masses (kg), charges (C); ones by default.
    softening, cutoff, diameter : m. REPULSION ends at its diameter.
    damping : of REPULSION (N s/m). ledger : where the power of the damper is added.
    theta : opening angle of TREE, see `barnes_hut`.
    address : of a user's function (t, (r,)) → (W, dW/dr), see `user_function.Pointer`. It is not called beyond the cut-off,
    where it and its slope should be zero.
    """

    kind: int
    members: Sequence[int] | np.ndarray
    weights: Sequence[float] | np.ndarray | None = None
    method: int = ALL_PAIRS
    strength: float = 1.0
    softening: float = 0.0
    cutoff: float = math.inf
    diameter: float = 0.0
    damping: float = 0.0
    theta: float = 0.5
    ledger: int = 0
    address: int = 0


def make_interactions(laws: Sequence[RadialLaw]) -> Interactions:
    """The tables of laws, with all the room that evaluations need.

    Raises ValueError: CELLS without a finite cut-off; TREE for a law that is not GRAVITATION or COULOMB, or with an opening
    angle that is not in [0, 1]; duplicate members; weights that are not as many as the members.
    """
    table = np.zeros(len(laws), LAW).view(np.recarray)
    for k, law in enumerate(laws):
        table[k] = _row(law, sum(len(other.members) for other in laws[:k]))
        if law.kind == LENNARD_JONES and law.cutoff < math.inf:
            table[k].cutoff = math.inf
            energy, slope, _ = curvature_at(table, k, law.cutoff, 1.0)
            table[k].energy_shift, table[k].slope_shift, table[k].cutoff = energy, slope * law.cutoff, law.cutoff
    members = [np.asarray(law.members, np.int64) for law in laws]
    weights = [np.ones(len(law.members)) if law.weights is None else np.asarray(law.weights, float) for law in laws]
    n = max(map(len, members), default=0)
    in_trees = max((len(law.members) for law in laws if law.method == TREE), default=0)
    buckets = max(table.buckets, default=0)
    return allocate(
        Interactions, {"n": n, "in_trees": in_trees, "buckets": buckets}, laws=table,
        members=np.concatenate(members or [np.zeros(0, np.int64)]),
        weights=np.concatenate(weights or [np.zeros(0)]), keys=np.zeros(max(n, 4 * in_trees), np.int64),
    )  # fmt: skip


def _row(law: RadialLaw, first: int) -> Any:
    n = len(law.members)
    cutoff = law.diameter if law.kind == REPULSION else law.cutoff
    if len(np.unique(law.members)) != n:
        raise ValueError("a law has a member twice")
    if law.weights is not None and len(law.weights) != n:
        raise ValueError(f"a law has {n} members and {len(law.weights)} weights")
    if law.method == CELLS and not 0.0 < cutoff < math.inf:
        raise ValueError(f"cells need a finite cut-off above zero, not {cutoff!r}")
    if law.method == TREE and not (
        law.kind in (GRAVITATION, COULOMB) and cutoff == math.inf and 0.0 <= law.theta <= 1.0
    ):
        raise ValueError("theta needs gravitation or electrostatics without a cut-off, and 0 <= theta <= 1")
    row = np.zeros((), LAW)
    for name in ("kind", "method", "strength", "softening", "diameter", "damping", "theta", "ledger", "address"):
        row[name] = getattr(law, name)
    row["first"], row["last"], row["active"], row["cutoff"] = first, first + n, 1, cutoff
    if law.method == CELLS:
        row["buckets"] = max(2 * n, LEAST_BUCKETS)
        row["hash_y"], row["hash_z"] = spread_strides(int(row["buckets"]))
    return row[()]


def spread_strides(cells: int) -> tuple[int, int]:
    """(p, q) near the spread strides for which a + p b + q c, with a, b and c of −1, 0, 1, are 27 numbers modulo `cells`."""
    offsets = np.stack(np.meshgrid(*[[-1, 0, 1]] * 3), -1).reshape(-1, 3)
    q = round(SPREAD_Z * cells)
    for p in range(round(SPREAD_Y * cells), 2 * cells):
        if len(np.unique(offsets @ (1, p, q) % cells)) == len(offsets):
            return p, q
    raise ValueError(f"{cells} cells are too few")
