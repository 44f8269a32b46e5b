"""The tables of forces between particles: laws, the particles that they act on, and room to work in.

A law is radial: particles i and j at the distance r have the energy w_i w_j W(r), where w is the weight of a particle under
that law: its mass, its charge, or 1. SI units.
"""

from typing import Any, NamedTuple

import numpy as np

from ..status import PASSED_THROUGH
from ..tables import column

# Kinds of laws --------------------------------------------------------------------------------------------------------
GRAVITATION = 0  # W = strength/√(r² + softening²), strength = −G
COULOMB = 1  # the same, strength = k
LENNARD_JONES = 2  # W = 4 strength ((diameter/r)¹² − (diameter/r)⁶), with its force shifted to zero at the cut-off
REPULSION = 3  # W = ½ strength (diameter − r)² where r < diameter, and a damper there
CUSTOM = 4  # (W, dW/dr) by a function of the user's, as it is up to the cut-off and zero beyond

# Methods --------------------------------------------------------------------------------------------------------------
ALL_PAIRS = 0
CELLS = 1  # pairs nearer than the cut-off, found by a grid
TREE = 2  # Barnes and Hut: what is far acts as one (GRAVITATION and COULOMB)

COINCIDENT = PASSED_THROUGH + 60  # status: two particles at one place, where the law has no limit; see `trouble`

# `members` and `weights` of a law are those from `first` on, up to `last`. `cutoff` is infinite where there is none;
# `energy_shift` and `slope_shift` are W and dW/dr there without the shift. `buckets`, `hash_y` and `hash_z`: see `cells`.
LAW = np.dtype(
    [("kind", "i8"), ("method", "i8"), ("first", "i8"), ("last", "i8"), ("ledger", "i8"), ("active", "i8"),
     ("address", "i8"), ("strength", "f8"), ("softening", "f8"), ("cutoff", "f8"), ("diameter", "f8"), ("damping", "f8"),
     ("theta", "f8"), ("energy_shift", "f8"), ("slope_shift", "f8"), ("buckets", "i8"), ("hash_y", "i8"),
     ("hash_z", "i8")],
    align=True,
)  # fmt: skip
# A node of the tree, which is in depth-first order: its particles, in the order of the tree; the next node that is not below
# it; the longest side of the box about its particles; the centre of expansion, and sums about it of weights (those above and
# below zero apart), of weight times place, and of weight times products of places (xx, yy, zz, xy, xz, yz).
NODE = np.dtype(
    [("first", "i8"), ("last", "i8"), ("skip", "i8"), ("leaf", "i8"), ("side", "f8"), ("centre", "f8", 3),
     ("positive", "f8"), ("negative", "f8"), ("dipole", "f8", 3), ("quadrupole", "f8", 6)],
    align=True,
)  # fmt: skip

LEAF = 8  # most particles of a leaf, but for those that no cell tells apart
BLOCK = 128  # most particles that go through the tree together
BLOCK_ROWS = 7  # of numbers that a block has for each of them

# `scratch`: argument and results of a user's function, then the power of dampers
ARGUMENT, RESULT, POWER, SCRATCH = 0, 1, 3, 4
# `trouble`: the two particles and the law of COINCIDENT
ONE, OTHER, THE_LAW, TROUBLE = 0, 1, 2, 3
INTS = 512  # 2 numbers a pending node: 8 children on each of 21 levels; of cells: 2 numbers a run


class Interactions(NamedTuple):
    """All laws between particles, and the workspaces that they share.

    With n the most members of a law. Particles are worked on in the order that the method chose: `order`.
    """

    laws: Any = column("laws", LAW)
    members: Any = column(dtype=np.int64, doc="numbers of particles, law after law")
    weights: Any = column(doc="one a member")
    order: Any = column("n", np.int64, doc="which member (counted from the law's first) is at each place")
    points: Any = column("4 * n", doc="x, y, z and weight")
    sums: Any = column("6 * n", doc="3 numbers of force a place; or 6 of a symmetric block")
    keys: Any = column(
        "4 * n", np.int64, doc="the cell of each member; or keys of the tree and places, and room to sort them"
    )
    starts: Any = column("buckets + 1", np.int64, doc="first place of each cell")
    nodes: Any = column("2 * in_trees", NODE)
    block: Any = column("BLOCK_ROWS * BLOCK")
    ints: Any = column("INTS", np.int64)
    scratch: Any = column("SCRATCH")
    trouble: Any = column("TROUBLE", np.int64)
