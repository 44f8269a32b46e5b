"""CLOTH: a triangle with material coordinates (u, v).

D. Baraff, A. Witkin, "Large steps in cloth simulation", 1998, §4.2 and 4.3:

w_u = ∂x/∂u and w_v = ∂x/∂v are constant over the triangle: the columns of (x₁ − x₀, x₂ − x₀) D⁻¹, with D the 2×2 matrix
of material edges. So w_u = Σ αᵢ xᵢ and w_v = Σ βᵢ xᵢ, and

    W = ½ a (k_u (|w_u| − 1)² + k_v (|w_v| − 1)² + k_s (w_u · w_v)²)

with a the area at rest (the paper has a²; with a, cloth of any mesh is the same).
"""

import math

from ..jit import inlined, njit
from ..unchecked import poke
from ..vec import add_scaled, dot, norm, scale
from .matrices import IDENTITY, outer, plus, point, put_pair_gradient, put_pair_hessian, times


@inlined
def evaluate(e, x, order, out):
    """Energy, gradient (`order` ≥ 1) and Hessian (2: exact, 3: positive semidefinite) of one triangle; see `loops`."""
    alpha, beta, w_u, w_v, length_u, length_v = geometry(e, x)
    k_u, k_v, k_s = e.area * e.stretch_u, e.area * e.stretch_v, e.area * e.shear
    stretch_u, stretch_v, shear = length_u - 1.0, length_v - 1.0, dot(w_u, w_v)
    poke(out, 0, 0.5 * (k_u * stretch_u * stretch_u + k_v * stretch_v * stretch_v + k_s * shear * shear))
    if order == 0:
        return
    u = scale(1.0 / length_u if length_u > 0.0 else 0.0, w_u)
    v = scale(1.0 / length_v if length_v > 0.0 else 0.0, w_v)
    g_u = add_scaled(scale(k_u * stretch_u, u), k_s * shear, w_v)
    g_v = add_scaled(scale(k_v * stretch_v, v), k_s * shear, w_u)
    put_pair_gradient(out, 1, alpha, beta, g_u, g_v)
    if order >= 2:
        put_hessian(order, alpha, beta, w_u, w_v, u, v, length_u, length_v, k_u, k_v, k_s, out)


@inlined
def geometry(e, x):
    """α, β, w_u, w_v and their lengths."""
    alpha = (-e.inverse[0] - e.inverse[2], e.inverse[0], e.inverse[2])
    beta = (-e.inverse[1] - e.inverse[3], e.inverse[1], e.inverse[3])
    x_0, x_1, x_2 = point(x, e.nodes[0]), point(x, e.nodes[1]), point(x, e.nodes[2])
    w_u = add_scaled(add_scaled(scale(alpha[0], x_0), alpha[1], x_1), alpha[2], x_2)
    w_v = add_scaled(add_scaled(scale(beta[0], x_0), beta[1], x_1), beta[2], x_2)
    return alpha, beta, w_u, w_v, norm(w_u), norm(w_v)


# In terms of w_u and w_v, with unit vectors u, v and τ_u = 1 − 1/|w_u| (1 at w_u = 0, where it has no direction), τ_v
# likewise,
#     H = M ⊗ 1 + (k_u − M_uu) u uᵀ + (k_v − M_vv) v vᵀ + k_s g gᵀ,   M = ((k_u τ_u, k_s S), (k_s S, k_v τ_v)),
# where g = (w_v, w_u) is the gradient of the shear S = w_u · w_v. All but M are positive; and M alone acts at right
# angles to the triangle. So H is positive semidefinite just where M is, and M is what is projected.
@inlined
def put_hessian(order, alpha, beta, w_u, w_v, u, v, length_u, length_v, k_u, k_v, k_s, out):
    m_uu = k_u - k_u / length_u if length_u > 0.0 else k_u
    m_vv = k_v - k_v / length_v if length_v > 0.0 else k_v
    m_uv = k_s * dot(w_u, w_v)
    if order == 3:
        m_uu, m_uv, m_vv = positive_part(m_uu, m_uv, m_vv)
    h_uu = plus(plus(times(m_uu, IDENTITY), max(k_u - m_uu, 0.0), outer(u, u)), k_s, outer(w_v, w_v))
    h_vv = plus(plus(times(m_vv, IDENTITY), max(k_v - m_vv, 0.0), outer(v, v)), k_s, outer(w_u, w_u))
    h_uv = plus(times(m_uv, IDENTITY), k_s, outer(w_v, w_u))
    put_pair_hessian(out, alpha, beta, h_uu, h_uv, h_vv)


# Of M with eigenvalues λ₁ > 0 > λ₂ it is λ₁ (M − λ₂)/(λ₁ − λ₂).
@njit
def positive_part(a, b, c):
    """The symmetric matrix ((a, b), (b, c)) with its negative eigenvalues set to zero."""
    mean, radius = 0.5 * (a + c), math.sqrt(0.25 * (a - c) * (a - c) + b * b)
    if mean - radius >= 0.0:
        return a, b, c
    if mean + radius <= 0.0:
        return 0.0, 0.0, 0.0
    share = (mean + radius) / (2.0 * radius)
    low = mean - radius
    return share * (a - low), share * b, share * (c - low)


@inlined
def damping_rows(e, x, rows):
    """√(a d) times the gradients of |w_u|, |w_v| and w_u · w_v; see `loops`."""
    if e.stretch_damping == 0.0 and e.shear_damping == 0.0:
        return 0
    alpha, beta, w_u, w_v, length_u, length_v = geometry(e, x)
    stretch, shear = math.sqrt(e.area * e.stretch_damping), math.sqrt(e.area * e.shear_damping)
    none = (0.0, 0.0, 0.0)
    put_pair_gradient(rows, 0, alpha, beta, scale(stretch / length_u if length_u > 0.0 else 0.0, w_u), none)
    put_pair_gradient(rows, 9, alpha, beta, none, scale(stretch / length_v if length_v > 0.0 else 0.0, w_v))
    put_pair_gradient(rows, 18, alpha, beta, scale(shear, w_v), scale(shear, w_u))
    return 3
