"""The laws: energy W(r) of a pair, and its first two derivatives, in the form that forces and Hessians need.

The force on the particle at x_j is −(W'/r) d with d = x_j − x_i, and the block of the Hessian that belongs to it is
W'' u uᵀ + (W'/r)(I − u uᵀ) with u = d/r.
"""

import math

from ..jit import inlined, njit
from ..pointer import DERIVATIVE, call_pointer
from .tables import ARGUMENT, CUSTOM, LENNARD_JONES, REPULSION, RESULT

STEP = 1e-5  # relative: of the difference that gives the second derivative of a user's law; its error is about STEP²


@inlined
def curvature_of_square(law, r2, weight):
    """(W, W'/r, W'') at a distance within the cut-off, given its square; weight = w_i w_j. Not for CUSTOM."""
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
    inverse2 = 1.0 / (r2 + softening2)
    energy = strength * math.sqrt(inverse2)
    slope = -energy * inverse2
    return energy, slope, slope * (1.0 - 3.0 * r2 * inverse2)


# W = 4 e (s¹² − s⁶) − W_c − (r − r_c) W'_c with s = σ/r. The last two terms make W and W' continuous at the cut-off: with W
# alone shifted the force would jump there, and no integrator keeps the energy of particles that cross a jump.
@inlined
def lennard_jones(law, r2, weight):
    inverse2 = 1.0 / r2
    ratio = law.diameter * law.diameter * inverse2
    s6 = ratio * ratio * ratio
    depth = 4.0 * law.strength * weight
    energy = depth * s6 * (s6 - 1.0)
    slope = -6.0 * depth * s6 * (2.0 * s6 - 1.0) * inverse2
    bend = depth * s6 * (156.0 * s6 - 42.0) * inverse2
    if law.cutoff < math.inf:
        r = math.sqrt(r2)
        energy -= weight * (law.energy_shift + (r - law.cutoff) * law.slope_shift)
        slope -= weight * law.slope_shift / r
    return energy, slope, bend


# W = ½ k (d − r)²; continuous with its slope at r = d.
@inlined
def repulsion(law, r2, weight):
    r = math.sqrt(r2)
    overlap = law.diameter - r
    stiffness = law.strength * weight
    return 0.5 * stiffness * overlap * overlap, -stiffness * overlap / r, stiffness


@njit
def ask(t, law, r, tables):
    """(W, dW/dr, status) of a user's law, by its function (t, (r,)) → (W, dW/dr)."""
    scratch = tables.scratch
    scratch[ARGUMENT] = r
    arguments, results = scratch[ARGUMENT : ARGUMENT + 1], scratch[RESULT : RESULT + 2]
    status = call_pointer(law.address, 0, DERIVATIVE, t, arguments, results)
    return scratch[RESULT], scratch[RESULT + 1], status


@inlined
def slope_of(t, law, r2, weight, tables):
    """(W, W'/r, status) of any law, for r > 0 within the cut-off."""
    if law.kind == CUSTOM:
        r = math.sqrt(r2)
        energy, slope, status = ask(t, law, r, tables)
        return weight * energy, weight * slope / r, status
    energy, slope, _ = curvature_of_square(law, r2, weight)
    return energy, slope, 0


@njit
def bend_of(t, law, r2, weight, tables):
    """(W'/r, W'', status) of any law, for r > 0 within the cut-off; W'' of a user's law is a central difference of W'."""
    if law.kind == CUSTOM:
        r = math.sqrt(r2)
        step = STEP * r
        _, slope, status = ask(t, law, r, tables)
        if status == 0:
            _, before, status = ask(t, law, r - step, tables)
        if status == 0:
            _, after, status = ask(t, law, r + step, tables)
        if status != 0:
            return 0.0, 0.0, status
        return weight * slope / r, weight * (after - before) / (2.0 * step), 0
    _, slope, bend = curvature_of_square(law, r2, weight)
    return slope, bend, 0
