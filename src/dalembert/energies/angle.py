"""ANGLE: W = ½ k (θ − θ₀)² of the angle θ between the arms a = x₀ − x₁ and b = x₂ − x₁, smooth for 0 < θ < π.

With t_a = a/|a|, t_b = b/|b|, the binormal m = t_a × t_b/sin θ and the unit vectors p_a = t_a × m, p_b = m × t_b in the
plane of the arms, along which their ends move as the angle opens,

    ∂θ/∂a = p_a/|a|,   ∂θ/∂b = p_b/|b|,
    ∂²θ/∂a² = [−t_a p_aᵀ − p_a t_aᵀ + cot θ m mᵀ]/|a|²,   ∂²θ/∂a∂b = −m mᵀ/(sin θ |a| |b|):

in the plane θ is a difference of azimuths; for turns α and β of the arms out of it,
cos θ' = cos θ cos α cos β + sin α sin β.
"""

import math
from typing import Any

import numpy as np

from ..core.elementary import atan2, sin_cos
from ..core.jit import inlined, njit
from ..core.math3 import cross, dot, norm, scale, sub
from ..core.simd import store
from .kinds import Energy, register
from .matrices import clear_from, outer, plus, point, put_pair_gradient, put_pair_hessian, times

SINGULAR = 1e-6  # rad: rest angles this near to 0 or π have no gradient to speak of


class AngularSprings(Energy):
    """Springs on the angle at the middle one of three particles; see `Scene.angular_springs`."""

    kind, label = "angles", "angular springs"

    def __init__(self, particles: Any, triples: Any, *, stiffness: Any, damping: Any = 0.0, rest: Any = None) -> None:
        self.particles, self.triples, self.rest = particles, triples, rest
        self.numbers = {"stiffness": stiffness, "damping": damping}

    def resolve(self, resolver: Any) -> tuple[Any, dict[str, Any]]:
        group = resolver.group(self.particles)
        rows = resolver.elements(group, self.triples, 3, apart="an angle needs three different points")
        x = group.position
        values = {"nodes": rows + group.first, **resolver.per_element(len(rows), **self.numbers)}
        u, v = x[rows[:, 0]] - x[rows[:, 1]], x[rows[:, 2]] - x[rows[:, 1]]
        angle = np.arctan2(np.linalg.norm(np.cross(u, v), axis=1), np.einsum("ij,ij->i", u, v))
        values["rest"] = angle if self.rest is None else resolver.per_element(len(rows), rest=self.rest)["rest"]
        flat = (values["rest"] < SINGULAR) | (values["rest"] > np.pi - SINGULAR)
        if flat.any():
            i = int(np.argmax(flat))
            raise ValueError(
                f"{resolver.owner}: the rest angle of element {i} is {values['rest'][i]:g}; use bending() for straight ones"
            )
        return group, values


ALPHA = (1.0, -1.0, 0.0)
BETA = (0.0, -1.0, 1.0)


@inlined
def element_derivatives(e, x, order, out):
    """Energy, gradient (`order` ≥ 1) and Hessian (2: exact, 3: positive semidefinite) of one angle; see `elements`."""
    arms = geometry(e, x)
    theta, sine, a, b, t_a, t_b, m = arms
    slope = e.stiffness * (theta - e.rest)
    store(out, 0, 0.5 * slope * (theta - e.rest))
    if order == 0:
        return
    if sine == 0.0:
        clear_from(out, 1, 91 if order >= 2 else 10)
        return
    g_a, g_b = scale(1.0 / a, cross(t_a, m)), scale(1.0 / b, cross(m, t_b))
    put_pair_gradient(out, 1, ALPHA, BETA, scale(slope, g_a), scale(slope, g_b))
    if order == 2:
        put_exact_hessian(e.stiffness, slope, arms, g_a, g_b, out)
    elif order == 3:
        put_positive_hessian(e.stiffness, slope, arms, g_a, g_b, out)


@inlined
def geometry(e, x):
    """θ, sin θ, |a|, |b|, t_a, t_b, m; zeros where an arm has no length, and m = 0 where the arms are parallel."""
    vertex = point(x, e.nodes[1])
    arm_a, arm_b = sub(point(x, e.nodes[0]), vertex), sub(point(x, e.nodes[2]), vertex)
    a, b = norm(arm_a), norm(arm_b)
    t_a = scale(1.0 / a if a > 0.0 else 0.0, arm_a)
    t_b = scale(1.0 / b if b > 0.0 else 0.0, arm_b)
    normal = cross(t_a, t_b)
    sine = norm(normal)
    return atan2(sine, dot(t_a, t_b)), sine, a, b, t_a, t_b, scale(1.0 / sine if sine > 0.0 else 0.0, normal)


@njit
def put_exact_hessian(stiffness, slope, arms, g_a, g_b, out):
    """Write W'' ∇θ ∇θᵀ + W' ∂²θ/∂x², W' = `slope`; `arms` is the result of `geometry`."""
    theta, _, a, b, t_a, t_b, m = arms
    sine, cosine = sin_cos(theta)
    out_of_plane = outer(m, m)
    h_aa = plus(times(stiffness, outer(g_a, g_a)), -slope / a, outer(t_a, g_a))
    h_aa = plus(plus(h_aa, -slope / a, outer(g_a, t_a)), slope * cosine / (sine * a * a), out_of_plane)
    h_bb = plus(times(stiffness, outer(g_b, g_b)), -slope / b, outer(t_b, g_b))
    h_bb = plus(plus(h_bb, -slope / b, outer(g_b, t_b)), slope * cosine / (sine * b * b), out_of_plane)
    h_ab = plus(times(stiffness, outer(g_a, g_b)), -slope / (sine * a * b), out_of_plane)
    put_pair_hessian(out, ALPHA, BETA, h_aa, h_ab, h_bb)


# W does not change along an arm, so that tᵀ H t = 0 while H t = −W' p/|a|² ≠ 0: H is indefinite wherever W' = k (θ − θ₀)
# ≠ 0. Its positive part is k ∇θ ∇θᵀ and the positive part out of the plane. There, in terms of the turns α and β of the
# arms,
#     W' (cot θ (α² + β²) − 2 α β/sin θ) = ½ W' [cot(θ/2) (α − β)² − tan(θ/2) (α + β)²].
# What is left out couples turns with stretches of the arms and has no part in the energy of a turn alone.
@njit
def put_positive_hessian(stiffness, slope, arms, g_a, g_b, out):
    """Write the positive semidefinite part of the Hessian; `arms` is the result of `geometry`."""
    theta, _, a, b, _, _, m = arms
    sine, cosine = sin_cos(0.5 * theta)
    if slope >= 0.0:
        size, side = 0.5 * slope * cosine / sine, -1.0
    else:
        size, side = -0.5 * slope * sine / cosine, 1.0
    out_of_plane = outer(m, m)
    h_aa = plus(times(stiffness, outer(g_a, g_a)), size / (a * a), out_of_plane)
    h_ab = plus(times(stiffness, outer(g_a, g_b)), side * size / (a * b), out_of_plane)
    h_bb = plus(times(stiffness, outer(g_b, g_b)), size / (b * b), out_of_plane)
    put_pair_hessian(out, ALPHA, BETA, h_aa, h_ab, h_bb)


@inlined
def damping_rows(e, x, rows):
    """√c ∂θ/∂x; see `elements`."""
    if e.damping == 0.0:
        return 0
    _, sine, a, b, t_a, t_b, m = geometry(e, x)
    if sine == 0.0:
        return 0
    root = math.sqrt(e.damping)
    put_pair_gradient(rows, 0, ALPHA, BETA, scale(root / a, cross(t_a, m)), scale(root / b, cross(m, t_b)))
    return 1


# Stiffness of ½ k (θ − θ₀)² (N m/rad²), damping (N m s/rad²), rest angle. nodes[1] is the vertex.
register("angles", 3, 1, "stiffness damping rest", element_derivatives, damping_rows)
