"""CURVATURE: bending of a thread that is straight at rest, W = ½ k |κ|² with the curvature binormal of discrete elastic rods.

κ = 2 t₁ × t₂/(1 + c) of the unit tangents t₁, t₂ on either side of the middle node and c = t₁ · t₂, the cosine of the
turning angle φ, so that |κ| = 2 tan(φ/2) and W = 2 k (1 − c)/(1 + c): M. Bergou, M. Wardetzky, S. Robinson, B. Audoly,
E. Grinspun, "Discrete elastic rods", 2008. k is the bending stiffness EI divided by the length of thread that belongs to
the node.

With e₁ = x₁ − x₀, e₂ = x₂ − x₁ and q₁ = t₂ − c t₁ = (t₁ × t₂) × t₁, q₂ = t₁ − c t₂ = t₂ × (t₁ × t₂):

    W' = ∂W/∂c = −4 k/(1 + c)²,   W'' = 8 k/(1 + c)³,   ∂c/∂eᵢ = qᵢ/|eᵢ|,
    ∂²c/∂eᵢ² = −[tᵢ qᵢᵀ + qᵢ tᵢᵀ + c (1 − tᵢ tᵢᵀ)]/|eᵢ|²,   ∂²c/∂e₁∂e₂ = (1 − t₁ t₁ᵀ)(1 − t₂ t₂ᵀ)/(|e₁| |e₂|),

which are smooth at φ = 0. A thread folded back on itself (φ = π) has no bound on W; it is kept finite there.
"""

import math
from typing import Any

import numpy as np

from ..core.jit import inlined, njit
from ..core.math3 import cross, dot, norm, perpendicular, scale, sub
from ..core.simd import store
from .kinds import Energy, register
from .matrices import IDENTITY, clear_from, outer, plus, point, put_pair_gradient, put_pair_hessian, skew, times


class Bending(Energy):
    """Bending of threads that are straight at rest; see `Scene.bending`."""

    kind, label = "curvatures", "bending"

    def __init__(self, particles: Any, triples: Any, *, stiffness: Any, damping: Any = 0.0) -> None:
        self.particles, self.triples = particles, triples
        self.numbers = {"stiffness": stiffness, "damping": damping}

    def resolve(self, found: Any) -> tuple[Any, dict[str, Any]]:
        group = found.group(self.particles)
        rows = found.elements(group, self.triples, 3, apart="a thread needs some length")
        values = {"nodes": rows + group.first, **found.per_element(len(rows), **self.numbers)}
        lengths = np.linalg.norm(np.diff(group.position[rows], axis=1), axis=2).mean(axis=1)
        values["stiffness"] = values["stiffness"] / lengths
        return group, values


ALPHA = (-1.0, 1.0, 0.0)
BETA = (0.0, -1.0, 1.0)
FOLDED = 1e-12  # the least 1 + c
STRAIGHT = 1e-12  # sin φ below which the thread has no plane


@inlined
def element_derivatives(e, x, order, out):
    """Energy, gradient (`order` ≥ 1) and Hessian (2: exact, 3: positive semidefinite) of one bend; see `loops`."""
    r_1, r_2, t_1, t_2, b, d = geometry(e, x)
    store(out, 0, 2.0 * e.stiffness * dot(b, b) / (d * d))
    if order == 0:
        return
    if not r_1 * r_2 > 0.0:
        clear_from(out, 1, 91 if order >= 2 else 10)
        return
    q_1, q_2 = scale(1.0 / r_1, cross(b, t_1)), scale(1.0 / r_2, cross(t_2, b))
    slope = -4.0 * e.stiffness / (d * d)
    put_pair_gradient(out, 1, ALPHA, BETA, scale(slope, q_1), scale(slope, q_2))
    if order == 2:
        put_exact_hessian(slope, d, r_1, r_2, t_1, t_2, q_1, q_2, out)
    elif order == 3:
        put_positive_hessian(e.stiffness, d, r_1, r_2, t_1, t_2, b, q_1, q_2, out)


@inlined
def geometry(e, x):
    """|e₁|, |e₂|, t₁, t₂, t₁ × t₂ and 1 + c; zero tangents where an edge has no length."""
    middle = point(x, e.nodes[1])
    e_1, e_2 = sub(middle, point(x, e.nodes[0])), sub(point(x, e.nodes[2]), middle)
    r_1, r_2 = norm(e_1), norm(e_2)
    t_1 = scale(1.0 / r_1 if r_1 > 0.0 else 0.0, e_1)
    t_2 = scale(1.0 / r_2 if r_2 > 0.0 else 0.0, e_2)
    return r_1, r_2, t_1, t_2, cross(t_1, t_2), max(1.0 + dot(t_1, t_2), FOLDED)


@njit
def put_exact_hessian(slope, d, r_1, r_2, t_1, t_2, q_1, q_2, out):
    bend = -2.0 * slope / d
    c = d - 1.0
    tangent_1, tangent_2 = outer(t_1, t_1), outer(t_2, t_2)
    h_11 = plus(times(bend, outer(q_1, q_1)), -slope / r_1, outer(t_1, q_1))
    h_11 = plus(plus(h_11, -slope / r_1, outer(q_1, t_1)), -slope * c / (r_1 * r_1), plus(IDENTITY, -1.0, tangent_1))
    h_22 = plus(times(bend, outer(q_2, q_2)), -slope / r_2, outer(t_2, q_2))
    h_22 = plus(plus(h_22, -slope / r_2, outer(q_2, t_2)), -slope * c / (r_2 * r_2), plus(IDENTITY, -1.0, tangent_2))
    mixed = plus(plus(plus(IDENTITY, -1.0, tangent_1), -1.0, tangent_2), c, outer(t_1, t_2))
    h_12 = plus(times(bend, outer(q_1, q_2)), slope / (r_1 * r_2), mixed)
    put_pair_hessian(out, ALPHA, BETA, h_11, h_12, h_22)


# In terms of the turns of the edges, αᵢ in the plane and βᵢ out of it, and of s = 1/cos²(φ/2) = 2/(1 + c),
#     δᵀ H δ = k s (3 s − 2) (α₂ − α₁)² + k s [(β₂ − β₁)² − tan²(φ/2) (β₂ + β₁)²] + what couples αᵢ with stretches of the
#     edges,
# which makes H indefinite wherever φ ≠ 0 (as for ANGLE). The two squares that are positive are kept: k s times the
# identity of both directions, carried from one edge to the other by the least rotation R of t₂ to t₁, and 3 k s
# tan²(φ/2) in the plane.
@njit
def put_positive_hessian(stiffness, d, r_1, r_2, t_1, t_2, b, q_1, q_2, out):
    ks = 2.0 * stiffness / d
    bend = 3.0 * ks / (d * d)
    h_11 = plus(times(bend, outer(q_1, q_1)), ks / (r_1 * r_1), plus(IDENTITY, -1.0, outer(t_1, t_1)))
    h_22 = plus(times(bend, outer(q_2, q_2)), ks / (r_2 * r_2), plus(IDENTITY, -1.0, outer(t_2, t_2)))
    rotation = plus(plus(times(d - 1.0, IDENTITY), -1.0, skew(b)), 1.0 / d, outer(b, b))
    h_12 = plus(times(bend, outer(q_1, q_2)), -ks / (r_1 * r_2), plus(rotation, -1.0, outer(t_1, t_2)))
    put_pair_hessian(out, ALPHA, BETA, h_11, h_12, h_22)


# The condition is |κ|, and its gradient ∂φ/∂x/cos²(φ/2). Of a straight thread it has none: both directions in which it
# can bend are damped then. Of a bent one there is no second: any motion out of its plane turns the three nodes as a
# rigid body.
@njit
def damping_rows(e, x, rows):
    """√c ∂|κ|/∂x; see `loops`."""
    if e.damping == 0.0:
        return 0
    r_1, r_2, t_1, t_2, b, d = geometry(e, x)
    if not r_1 * r_2 > 0.0:
        return 0
    sine = norm(b)
    size = 2.0 * math.sqrt(e.damping) / d
    if sine > STRAIGHT:
        m = scale(size / sine, b)
        put_pair_gradient(rows, 0, ALPHA, BETA, scale(1.0 / r_1, cross(t_1, m)), scale(1.0 / r_2, cross(m, t_2)))
        return 1
    m = scale(size, perpendicular(t_1))
    for i in range(2):
        put_pair_gradient(rows, 9 * i, ALPHA, BETA, scale(-1.0 / r_1, m), scale(1.0 / r_2, m))
        m = cross(t_1, m)
    return 2


# EI divided by the length that belongs to the middle node (N m), damping (N m s). nodes[1] is the middle one.
register("curvatures", 3, 2, "stiffness damping", element_derivatives, damping_rows)
