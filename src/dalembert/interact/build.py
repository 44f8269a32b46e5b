"""From laws to the tables of interactions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..tables import allocate
from .entry import curvature_at
from .tables import (
    ALL_PAIRS,
    CELLS,
    COULOMB,
    GRAVITATION,
    LAW,
    LENNARD_JONES,
    REPULSION,
    TREE,
    Interactions,
)

LEAST_BUCKETS = 64
# of the cells' number: strides of rows and layers that spread any box of cells evenly (the powers of the root of
# p³ = p + 1; M. Roberts 2018), where the cells' own box would be too large
SPREAD_Y, SPREAD_Z = 0.7548776662466927, 0.5698402909980532


class RadialLaw(NamedTuple):
    """A law between all pairs of `members` (n,), which are numbers of particles, none twice.

    kind, method : see `tables`.
    strength : that of W = strength/r with its sign, −G for GRAVITATION (m³/(kg s²)) and k for COULOMB (N m²/C²); the depth
    of LENNARD_JONES (J); the stiffness of REPULSION (N/m).
    weights (n,) : masses (kg), charges (C); ones if not given.
    softening, cutoff, diameter : m. REPULSION ends at its diameter.
    damping : of REPULSION (N s/m). ledger : where the power of the damper is added.
    theta : opening angle of TREE, see `walk`.
    address : of a user's function (t, (r,)) → (W, dW/dr), see `pointer.Pointer`. It is not asked beyond the cut-off, and
    should have come to zero there with its slope.
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
    angle that is not in [0, 1]; members given twice; weights that are not as many as the members.
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


def _row(law: RadialLaw, first: int) -> np.void:
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
        raise ValueError("a tree is for gravitation and electrostatics without a cut-off, and 0 <= theta <= 1")
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
