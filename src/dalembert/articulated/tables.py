"""The tables of a mechanism in joint coordinates; those of its tree are in `model.tree_tables`."""

from typing import Any, NamedTuple

import numpy as np

REDUCED = np.dtype(
    [("mechanism", "i8"), ("handle", "i8"), ("coordinates", "i8"), ("speeds", "i8"), ("size", "i8"), ("limp", "i8")],
    align=True,
)
"""Address of the mechanism that knows forces and loops, and what to hand it; numbers of u, of w and of the
state; the freedom that nothing resisted, −1 if none."""


class Reduced(NamedTuple):
    """A mechanism in joint coordinates. Its state is u, w, then what the state of the mechanism has after its bodies:
    particles, coordinates that are watched, the ledger. r rows of loops; q = m + three a node (particle in a loop)."""

    options: Any  # REDUCED, one row
    tree: Any  # Tree, see `addresses.nested`
    system: Any  # model.tables.System, likewise
    node_of_row: np.ndarray  # int64, row of the kinematics table → node, −1 for none
    y: np.ndarray  # the state of the mechanism
    dydt: np.ndarray
    jacobian: np.ndarray  # (r × q,) of the loops
    response: np.ndarray  # (r × q,) M⁻¹ Jᵀ, row by row
    schur: np.ndarray  # (r × r,) J M⁻¹ Jᵀ
    factor: np.ndarray  # (r × r,)
    pivots: np.ndarray  # int64 (r,)
    wanted: np.ndarray  # (r,) right-hand side
    residual: np.ndarray  # (r,)
    change: np.ndarray  # (q,) of speeds
