"""Rows over a packed vector of speeds, in any coordinates: Gauss–Seidel on them, and what an island looks like to a solver.

A contact is three rows (n, t, s), a bound one. On each side a row has its entries of J at the speeds on the path from the body
to the root of its tree, and its response M⁻¹ Jᵀ at all speeds that it moves: those of the tree and of those that loops
connect to it (an *assembly*), with the answer of the loops. So with w the speeds,

    u = Σ J w,   w ← w + M⁻¹ Jᵀ Δp,   K = Σ J (M⁻¹ Jᵀ),

the sums over at most two sides, in time O(depth) and O(speeds of the assembly). The matrix J M⁻¹ Jᵀ is never formed. One step
at a contact is that of `gauss_seidel`, one at a bound that of `limits`. For two free bodies, whose rows follow from
arms and axes, `gauss_seidel.sweep_contacts` does the same without any table.

In order: the tables, products with rows, sweeps over an island, and the island as a problem.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.jit import inlined, njit
from ..core.math3 import load3, store3
from ..core.simd import load, store
from ..core.tables import column
from .cone import coulomb_velocity, natural_map, project_coulomb
from .gauss_seidel import improve, is_zero
from .limits import impulse_change
from .tables import BOUND, INVERSE_NORMAL, OFF, RESPONSE, ROW

# Tables -----------------------------------------------------------------------------------------------------------------

# One side of a contact or of a bound: its speeds in J are indices[path : path + length], the speeds that it moves are
# first … end of the packed vector. Both are empty for the world. Where both sides are in one assembly, the response is that
# of both, and lies with the second.
SIDE = np.dtype([("path", "i8"), ("length", "i8"), ("first", "i8"), ("end", "i8")], align=True)


class Rows(NamedTuple):
    """Rows of contacts and bounds. `path`: the longest path of a body to its root, `span`: the most speeds of an assembly."""

    indices: Any = column(dtype=np.int64, doc="packed speeds on the path from each body to the root of its tree")
    sides: Any = column("2 * contacts", SIDE, doc="a, b of each contact")
    jacobian: Any = column("6 * path * contacts", doc="of each side, (n, t, s) for each speed")
    response: Any = column("6 * span * contacts", doc="likewise")
    bound_sides: Any = column("2 * bounds", SIDE)
    bound_jacobian: Any = column("2 * path * bounds")
    bound_response: Any = column("2 * span * bounds")
    longest: Any = column("2", np.int64, doc="path and span")


# An island as a problem -----------------------------------------------------------------------------------------------------
# For solvers of second order, which need M and J and not only products with them.

# A block of speeds: `member`, the body (of a tree: its first body), where its speeds are in the packed vector `motion`, and
# where in the vector of the island; M of the block, size × size row by row, from `masses[mass]` on.
BLOCK = np.dtype([("member", "i8"), ("packed", "i8"), ("first", "i8"), ("size", "i8"), ("mass", "i8")], align=True)
# A contact, bound, or row of a joint or loop: its number in its own table, its two blocks (−1: none), and where J begins in
# `jacobian` for each of them: rows × size, row by row, with 3 rows for a contact and 1 for others.
COUPLING = np.dtype([("number", "i8"), ("blocks", "i8", 2), ("at", "i8", 2)], align=True)


class IslandProblem(NamedTuple):
    """One island, for a solver: M w⁺ = M w + Jᵀ p + Bᵀ λ + Gᵀ ν with the law of contact on (J w⁺, p), that of bounds on
    (B w⁺, λ), and G w⁺ = `wanted`.

    The speeds w without impulses are in `motion`; friction, bias and impulse of a contact in `collision.contacts`, least, most,
    bias, compliance and impulse of a bound in `stepping.bounds`. The solver writes impulses there, and w⁺ to `motion`.
    """

    counts: Any = column("5", np.int64, doc="blocks, contacts, bounds, equations, speeds that are in use")
    blocks: Any = column("blocks", BLOCK)
    masses: Any = column("masses", unit="kg, kg m, kg m²", doc="M, block by block, with the resistance of soft rows")
    contacts: Any = column("contacts", COUPLING)
    bounds: Any = column("bounds", COUPLING)
    equations: Any = column("equations", COUPLING, doc="rows of joints or loops in G")
    wanted: Any = column("equations", unit="m/s, rad/s", doc="G w⁺")
    jacobian: Any = column("jacobian", doc="J, B and G, block by block")
