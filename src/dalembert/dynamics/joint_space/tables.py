"""The tables of a mechanism in joint coordinates; those of its tree are in `model.tree`."""

from typing import Any, NamedTuple

import numpy as np

from ...core.tables import column, part
from ...linalg.ordering import COLUMN as LOOP_COLUMN
from ...linalg.ordering import ENTRY, UPDATE
from ...model.tables import System
from ...model.tree import Tree

REDUCED = np.dtype(
    [("mechanism", "i8"), ("handle", "i8"), ("coordinates", "i8"), ("speeds", "i8"), ("state_size", "i8"), ("limp", "i8"),
     ("held", "i8"), ("loops", "i8")],
    align=True,
)  # fmt: skip
"""mechanism, handle : address and tables of the mechanism in maximal coordinates, which computes forces and rows of loops.
coordinates, speeds, state_size : lengths of u, of w and of the state z. limp : the freedom without inertia, −1 if none.
held : whether the rank of the loops is that of the last state at which they were closed. loops : address of the C function
of loops, 0 where there are none."""

# Where the rows of loops are in the tree; see `loops.build_loop_graph`.
FRONT = np.dtype(
    [("own", "i8"), ("first", "i8"), ("last", "i8"), ("product", "i8"), ("last_product", "i8")], align=True
)
"""Of each node, then of each particle in a loop. own … first : the carries of loops that close here; first … last : those
of loops that go on to the parent, with their products."""

CARRY = np.dtype([("row", "i8"), ("up", "i8"), ("force", "f8", 3), ("torque", "f8", 3), ("share", "f8", 6)], align=True)
"""A row at a node. up : the carry of this row at the parent, −1 if it goes no further. force, torque : K, its coefficients
on the node's accelerations. share : z of each freedom of the node; see `loops`."""

PRODUCT = np.dtype(
    [("left", "i8"), ("rows", "i8"), ("right", "i8"), ("columns", "i8"), ("target", "i8"), ("row_step", "i8"),
     ("column_step", "i8")],
    align=True,
)  # fmt: skip
"""Two loops that pass a node, or one twice: their first carries, their numbers of rows, and where the products of these go in
the matrix."""

END = np.dtype([("incidence", "i8"), ("carry", "i8"), ("node", "i8"), ("with_mass", "i8")], align=True)
"""An incidence of a loop: the carry of its first row, its node, and the nearest node with mass (−1 if none)."""

CLOSURE = np.dtype([("node", "i8"), ("carry", "i8"), ("joint", "i8")], align=True)
"""Of a column of the matrix of the loops, which is one loop: where it closes (−1: at the world) and its first carry
there."""


class Reduced(NamedTuple):
    """A mechanism in joint coordinates. Its state is u, w, then what the state of the mechanism has after its bodies:
    particles, turn counts of angles, the ledger. r rows of loops; q = m + three a node (particle in a loop)."""

    options: Any = column("1", REDUCED)
    tree: Any = part(Tree)
    system: Any = part(System)
    node_of_row: Any = column(dtype=np.int64, doc="row of the kinematics table → node, −1 for none")
    y: Any = column(doc="the state of the mechanism")
    dydt: Any = column("state")
    fronts: Any = column(dtype=FRONT)
    carries: Any = column(dtype=CARRY)
    products: Any = column(dtype=PRODUCT)
    ends: Any = column(dtype=END)
    closures: Any = column(dtype=CLOSURE, doc="one a column")
    columns: Any = column(
        dtype=LOOP_COLUMN, doc="in the order of elimination: nodes from the leaves on, the world last"
    )
    entries: Any = column(dtype=ENTRY)
    entry_carries: Any = column(
        dtype=np.int64, doc="of each entry: first carry of its loop where the column closes, −1 at the world"
    )
    updates: Any = column(dtype=UPDATE)
    values: Any = column("values", fill=np.nan, doc="the blocks of G, then of its factor")
    lower: Any = column("values", fill=np.nan, doc="likewise")
    sizes: Any = column("r", fill=np.nan, doc="response of the tree to each row by itself")
    free: Any = column("r", fill=np.nan, doc="response of its bodies if they were free")
    independent: Any = column("r", np.int64, fill=1, doc="whether a row is independent of those before it")
    resistance: Any = column("m", doc="added to the armatures by time steps")
    wanted: Any = column("r", fill=np.nan, doc="right-hand side")
    residual: Any = column("r", fill=np.nan)
    change: Any = column(
        "q", fill=np.nan, doc="efforts, replaced by the change of the speeds that they and the loops make"
    )
