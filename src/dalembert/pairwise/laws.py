"""Radial laws and their tables: the energy W(r) of a pair, and its first two derivatives, as forces and Hessians need them.

The force on the particle at x_j is −(W'/r) d with d = x_j − x_i, and the block of the Hessian that belongs to it is
W'' u uᵀ + (W'/r)(I − u uᵀ) with u = d/r.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.c_function import DERIVATIVE, call_pointer
from ..core.jit import inlined, njit
from ..core.status import PASSED_THROUGH
from ..core.tables import column

# Tables ---------------------------------------------------------------------------------------------------------------
# Particles i and j at the distance r have the energy w_i w_j W(r), where w is the weight of a particle
# under that law: its mass, its charge, or 1. SI units.

# Kinds of laws --------------------------------------------------------------------------------------------------------
GRAVITATION = 0  # W = strength/√(r² + softening²), strength = −G
COULOMB = 1  # the same, strength = k
LENNARD_JONES = 2  # W = 4 strength ((diameter/r)¹² − (diameter/r)⁶), with its force shifted to zero at the cut-off
REPULSION = 3  # W = ½ strength (diameter − r)² where r < diameter, and a damper there
CUSTOM = 4  # (W, dW/dr) by a function of the user's, as it is up to the cut-off and zero beyond

# Methods --------------------------------------------------------------------------------------------------------------
ALL_PAIRS = 0
CELLS = 1  # pairs nearer than the cut-off, by a grid
TREE = 2  # Barnes and Hut: what is far acts as one (GRAVITATION and COULOMB)

COINCIDENT = PASSED_THROUGH + 60  # status: two particles at one point, where the law has no limit; see `trouble`

# `members` and `weights` of a law are those from `first` up to `last`. `cutoff` is infinite where there is none;
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
# below zero apart), of weight times position, and of weight times products of positions (xx, yy, zz, xy, xz, yz).
NODE = np.dtype(
    [("first", "i8"), ("last", "i8"), ("skip", "i8"), ("leaf", "i8"), ("side", "f8"), ("centre", "f8", 3),
     ("positive", "f8"), ("negative", "f8"), ("dipole", "f8", 3), ("quadrupole", "f8", 6)],
    align=True,
)  # fmt: skip

LEAF = 8  # most particles of a leaf, but for those that no cell separates
BLOCK = 128  # most particles that go through the tree together
BLOCK_ROWS = 7  # of numbers that a block has for each of them

# `scratch`: argument and results of a user's function, then the power of dampers
ARGUMENT, RESULT, POWER, SCRATCH = 0, 1, 3, 4
# `trouble`: the two particles and the law of COINCIDENT
ONE, OTHER, THE_LAW, TROUBLE = 0, 1, 2, 3
INTS = 512  # 2 numbers a pending node: 8 children on each of 21 levels; of cells: 2 numbers a run


class Interactions(NamedTuple):
    """All laws between particles, and the workspaces that they share.

    With n the most members of a law. A method sorts particles: `order`.
    """

    laws: Any = column("laws", LAW)
    members: Any = column(dtype=np.int64, doc="numbers of particles, law after law")
    weights: Any = column(doc="one a member")
    order: Any = column("n", np.int64, doc="the members, counted from the law's first, in the order of the method")
    points: Any = column("4 * n", doc="x, y, z and weight")
    sums: Any = column("6 * n", doc="3 numbers of force a particle; or 6 of a symmetric block")
    keys: Any = column(
        "4 * n",
        np.int64,
        doc="the cell of each member; or keys of the tree with their members, and workspace to sort them",
    )
    starts: Any = column("buckets + 1", np.int64, doc="first particle of each cell")
    nodes: Any = column("2 * in_trees", NODE)
    block: Any = column("BLOCK_ROWS * BLOCK")
    ints: Any = column("INTS", np.int64)
    scratch: Any = column("SCRATCH")
    trouble: Any = column("TROUBLE", np.int64)


# Energies and their derivatives ---------------------------------------------------------------------------------------

STEP = 1e-5  # relative step of the difference for the second derivative of a user's law; its error is about STEP²


@inlined
def curvature_of_square(law, r2, weight):
    """(W, W'/r, W'') at a distance within the cut-off, from its square; weight = w_i w_j. Not for CUSTOM."""
    if law.kind == LENNARD_JONES:
        return lennard_jones(law, r2, weight)
    if law.kind == REPULSION:
        return repulsion(law, r2, weight)
    return inverse_distance(law.softening * law.softening, r2, law.strength * weight)


@njit
def curvature(law, r, weight):
    """(W, W'/r, W'') of two particles at the distance r (m), with weight = w_i w_j: J, N/m and N/m. Not for CUSTOM."""
    if r >= law.cutoff:
        return 0.0, 0.0, 0.0
    return curvature_of_square(law, r * r, weight)


# W = s/ρ, ρ² = r² + ε²: W' = −s r/ρ³, W'' = −s/ρ³ + 3 s r²/ρ⁵ (H. C. Plummer 1911).
@inlined
def inverse_distance(softening2, r2, strength):
    """(W, W'/r, W'') of a softened inverse distance."""
    inverse2 = 1.0 / (r2 + softening2)
    energy = strength * math.sqrt(inverse2)
    slope = -energy * inverse2
    return energy, slope, slope * (1.0 - 3.0 * r2 * inverse2)


# W = 4 e (s¹² − s⁶) − W_c − (r − r_c) W'_c with s = σ/r. The last two terms make W and W' continuous at the cut-off: with W
# alone shifted the force would jump there, and no integrator keeps the energy of particles that cross a jump.
@inlined
def lennard_jones(law, r2, weight):
    """(W, W'/r, W'') of Lennard-Jones, with its force shifted to zero at the cut-off."""
    inverse2 = 1.0 / r2
    ratio = law.diameter * law.diameter * inverse2
    s6 = ratio * ratio * ratio
    depth = 4.0 * law.strength * weight
    energy = depth * s6 * (s6 - 1.0)
    slope = -6.0 * depth * s6 * (2.0 * s6 - 1.0) * inverse2
    second = depth * s6 * (156.0 * s6 - 42.0) * inverse2
    if law.cutoff < math.inf:
        r = math.sqrt(r2)
        energy -= weight * (law.energy_shift + (r - law.cutoff) * law.slope_shift)
        slope -= weight * law.slope_shift / r
    return energy, slope, second


# W = ½ k (d − r)²; continuous with its slope at r = d.
@inlined
def repulsion(law, r2, weight):
    """(W, W'/r, W'') of a linear spring between overlapping spheres."""
    r = math.sqrt(r2)
    overlap = law.diameter - r
    stiffness = law.strength * weight
    return 0.5 * stiffness * overlap * overlap, -stiffness * overlap / r, stiffness


@njit
def call_user_law(t, law, r, tables):
    """(W, dW/dr, status) of a user's law, by its function (t, (r,)) → (W, dW/dr)."""
    scratch = tables.scratch
    scratch[ARGUMENT] = r
    arguments, results = scratch[ARGUMENT : ARGUMENT + 1], scratch[RESULT : RESULT + 2]
    status = call_pointer(law.address, 0, DERIVATIVE, t, arguments, results)
    return scratch[RESULT], scratch[RESULT + 1], status


@inlined
def first_derivative(t, law, r2, weight, tables):
    """(W, W'/r, status) of any law, for r > 0 within the cut-off."""
    if law.kind == CUSTOM:
        r = math.sqrt(r2)
        energy, slope, status = call_user_law(t, law, r, tables)
        return weight * energy, weight * slope / r, status
    energy, slope, _ = curvature_of_square(law, r2, weight)
    return energy, slope, 0


@njit
def second_derivatives(t, law, r2, weight, tables):
    """(W'/r, W'', status) of any law, for r > 0 within the cut-off; W'' of a user's law is a central difference of W'."""
    if law.kind == CUSTOM:
        r = math.sqrt(r2)
        step = STEP * r
        _, slope, status = call_user_law(t, law, r, tables)
        if status == 0:
            _, before, status = call_user_law(t, law, r - step, tables)
        if status == 0:
            _, after, status = call_user_law(t, law, r + step, tables)
        if status != 0:
            return 0.0, 0.0, status
        return weight * slope / r, weight * (after - before) / (2.0 * step), 0
    _, slope, second = curvature_of_square(law, r2, weight)
    return slope, second, 0
