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
from numpy.polynomial import Polynomial

from ..core.elementary import atan2, sin_cos
from ..core.jit import inlined, njit
from ..core.math3 import cross, dot, norm, scale, sub
from ..core.simd import store
from .kinds import Energy, register
from .matrices import clear_from, outer, plus, point, put_pair_gradient, put_pair_hessian, times


class AngularSprings(Energy):
    """Springs on the angle at the middle one of three particles; see `Scene.angular_springs`."""

    kind, label = "angles", "angular springs"

    def __init__(self, particles: Any, triples: Any, *, stiffness: Any, damping: Any = 0.0, rest: Any = None) -> None:
        self.particles, self.triples, self.rest = particles, triples, rest
        self.numbers = {"stiffness": stiffness, "damping": damping}

    def resolve(self, found: Any) -> tuple[Any, dict[str, Any]]:
        group = found.group(self.particles)
        rows = found.elements(group, self.triples, 3, apart="an angle needs three places")
        x = group.position
        values = {"nodes": rows + group.first, **found.per_element(len(rows), **self.numbers)}
        u, v = x[rows[:, 0]] - x[rows[:, 1]], x[rows[:, 2]] - x[rows[:, 1]]
        angle = np.arctan2(np.linalg.norm(np.cross(u, v), axis=1), np.einsum("ij,ij->i", u, v))
        values["rest"] = angle if self.rest is None else found.per_element(len(rows), rest=self.rest)["rest"]
        flat = (values["rest"] < 1e-6) | (values["rest"] > np.pi - 1e-6)
        if flat.any():
            i = int(np.argmax(flat))
            raise ValueError(
                f"{found.owner}: the rest angle of element {i} is {values['rest'][i]:g}; straight ones go with bending()"
            )
        return group, values


ALPHA = (1.0, -1.0, 0.0)
BETA = (0.0, -1.0, 1.0)


@inlined
def element_derivatives(e, x, order, out):
    """Energy, gradient (`order` ≥ 1) and Hessian (2: exact, 3: positive semidefinite) of one angle; see `loops`."""
    theta, sine, a, b, t_a, t_b, m = geometry(e, x)
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
        put_exact_hessian(e.stiffness, slope, theta, a, b, t_a, t_b, m, g_a, g_b, out)
    elif order == 3:
        put_positive_hessian(e.stiffness, slope, theta, a, b, m, g_a, g_b, out)


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
def put_exact_hessian(stiffness, slope, theta, a, b, t_a, t_b, m, g_a, g_b, out):
    sine, cosine = sin_cos(theta)
    out_of_plane = outer(m, m)
    h_aa = plus(times(stiffness, outer(g_a, g_a)), -slope / a, outer(t_a, g_a))
    h_aa = plus(plus(h_aa, -slope / a, outer(g_a, t_a)), slope * cosine / (sine * a * a), out_of_plane)
    h_bb = plus(times(stiffness, outer(g_b, g_b)), -slope / b, outer(t_b, g_b))
    h_bb = plus(plus(h_bb, -slope / b, outer(g_b, t_b)), slope * cosine / (sine * b * b), out_of_plane)
    h_ab = plus(times(stiffness, outer(g_a, g_b)), -slope / (sine * a * b), out_of_plane)
    put_pair_hessian(out, ALPHA, BETA, h_aa, h_ab, h_bb)


# W does not change along an arm, so that tᵀ H t = 0 while H t = −W' p/|a|² ≠ 0: H is indefinite wherever W' = k (θ − θ₀)
# ≠ 0. What is kept of it is k ∇θ ∇θᵀ and the positive part out of the plane. There, in terms of the turns α and β of the
# arms,
#     W' (cot θ (α² + β²) − 2 α β/sin θ) = ½ W' [cot(θ/2) (α − β)² − tan(θ/2) (α + β)²].
# What is left out couples turns with stretches of the arms and has no part in the energy of a turn alone.
@njit
def put_positive_hessian(stiffness, slope, theta, a, b, m, g_a, g_b, out):
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
    """√c ∂θ/∂x; see `loops`."""
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


# ----------------------------------------------------------------------------------------------------------------------
# The angle of a point of the plane, without branches: `math.atan2` takes longer than all else of a hinge.
#
# By symmetry and one turn by π/4 it is that of a point between −π/8 and π/8: t = tan, |t| ≤ √2 − 1. Gauss's continued
# fraction
#
#     atan t = t/(1 + 1² z/(3 + 2² z/(5 + 3² z/(7 + …)))),   z = t²,
#
# cut after eleven terms is t A/B with polynomials A and B of z, and wrong by less than 2e-17 t. With C = (B − A)/z, t
# − t z C/B
# rounds little more than t does.


TERMS = 11
TAN_EIGHTH = math.sqrt(2.0) - 1.0


# From its end: the fraction that starts with 2 n − 1 is pₙ/pₙ₊₁, and pₙ = (2 n − 1) pₙ₊₁ + n² z pₙ₊₂.
def convergent() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """C (six numbers) and B (seven), from the constant term on; B begins with 1."""
    p, after = Polynomial([2.0 * TERMS + 1.0]), Polynomial([1.0])
    for n in range(TERMS, 0, -1):
        p, after = (2.0 * n - 1.0) * p + Polynomial([0.0, n * n]) * after, p
    first = p.coef[0]
    return tuple(((p - after).coef[1:] / first).tolist()), tuple((p.coef / first).tolist())


C, B = convergent()


@inlined
def angle_of(x, y):
    """atan2(y, x), rad; 0 for the origin."""
    a, b = abs(x), abs(y)
    low, high = min(a, b), max(a, b)
    turned = low > TAN_EIGHTH * high
    above, below = (low - high, low + high) if turned else (low, high)
    t = above / below if below > 0.0 else 0.0
    z = t * t
    zz = z * z
    c = C[0] + z * C[1] + zz * (C[2] + z * C[3]) + zz * zz * (C[4] + z * C[5])
    d = B[0] + z * B[1] + zz * (B[2] + z * B[3]) + zz * zz * (B[4] + z * B[5] + zz * B[6])
    angle = t - t * z * c / d
    if turned:
        angle += 0.25 * math.pi
    if b > a:
        angle = 0.5 * math.pi - angle
    if x < 0.0:
        angle = math.pi - angle
    return -angle if y < 0.0 else angle
