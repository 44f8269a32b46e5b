"""Coulomb's cone and the Lorentz cone: projections, and the Jordan algebra that interior points need.

K_μ = {p : |p_t| ≤ μ p_n} holds the impulses of a contact (normal first, then two tangents); its dual is K_{1/μ}. The Lorentz
cone Q = {x : |x_t| ≤ x_0} is K_1, its own dual. With x = (x_0, x_t) the Jordan product is x ∘ y = (x·y, x_0 y_t + y_0 x_t).

F. Alizadeh, D. Goldfarb, "Second-order cone programming", 2003; L. Vandenberghe, "The CVXOPT linear and quadratic cone
program solvers", 2010, §2.2 and §4.2 (scaling). The end of the file states Coulomb's law on K_μ.
"""

import math

from ..core.jit import njit
from ..core.math3 import add, dot, norm, scale, sub

NEAREST = 1e-15  # of x_0: the least distance of a point inside Q to the boundary, some roundings
UNBOUNDED = 1e30  # step: the ray never leaves Q


@njit
def tangent_norm(x):
    """|x_t|."""
    return math.sqrt(x[1] * x[1] + x[2] * x[2])


@njit
def project_coulomb(x, mu):
    """The point of K_μ nearest to x."""
    t = tangent_norm(x)
    if mu * t <= -x[0]:
        return (0.0, 0.0, 0.0)
    if t <= mu * x[0]:
        return x
    normal = (x[0] + mu * t) / (1.0 + mu * mu)
    along = mu * normal / t if t > 0.0 else 0.0
    return (normal, along * x[1], along * x[2])


@njit
def project_dual(x, mu):
    """The point of the dual cone {u : u_n ≥ μ |u_t|} nearest to x (Moreau: x less the projection on −K_μ)."""
    return add(x, project_coulomb(scale(-1.0, x), mu))


@njit
def apply_spectrum(spectrum, x):
    """S x for the symmetric S with eigenvalues along (1, a, b), (1, −a, −b) and (0, −b, a); spectrum: these three, a and b.

    As a sum over eigenvectors, so that rounding of what a large eigenvalue gives does not get into what a small one gives.
    """
    plus, minus, across, a, b = spectrum
    along = a * x[1] + b * x[2]
    p, m, c = 0.5 * plus * (x[0] + along), 0.5 * minus * (x[0] - along), across * (a * x[2] - b * x[1])
    d = p - m
    return (p + m, d * a - c * b, d * b + c * a)


@njit
def tangent_direction(x):
    """x_t/|x_t| of a vector; (1, 0) where x_t = 0."""
    t = tangent_norm(x)
    return (x[1] / t, x[2] / t) if t > 0.0 else (1.0, 0.0)


@njit
def determinant(x):
    """x_0² − |x_t|² of a point of Q, kept above zero."""
    t = tangent_norm(x)
    return max(x[0] - t, NEAREST * x[0]) * (x[0] + t)


@njit
def product(x, y):
    """x ∘ y."""
    return (dot(x, y), x[0] * y[1] + y[0] * x[1], x[0] * y[2] + y[0] * x[2])


@njit
def divide(x, y):
    """The z with x ∘ z = y, for x inside Q."""
    z = (x[0] * y[0] - x[1] * y[1] - x[2] * y[2]) / determinant(x)
    return (z, (y[1] - z * x[1]) / x[0], (y[2] - z * x[2]) / x[0])


@njit
def scaling_point(s, z):
    """The Nesterov–Todd scaling W of s and z inside Q, W z = W⁻¹ s, as (β, w) with w_0² − |w_t|² = 1 and
    W² = β² (2 w wᵀ − diag(1, −1, −1))."""
    a, b = math.sqrt(determinant(s)), math.sqrt(determinant(z))
    s, z = scale(1.0 / a, s), scale(1.0 / b, z)
    gamma = math.sqrt(0.5 * (1.0 + dot(s, z)))
    x, y = 0.5 * (s[1] - z[1]) / gamma, 0.5 * (s[2] - z[2]) / gamma
    return math.sqrt(a / b), (math.sqrt(1.0 + x * x + y * y), x, y)


@njit
def apply_scaling(beta, w, x):
    """W x."""
    d = w[1] * x[1] + w[2] * x[2]
    c = x[0] + d / (1.0 + w[0])
    return scale(beta, (w[0] * x[0] + d, x[1] + c * w[1], x[2] + c * w[2]))


@njit
def apply_inverse_scaling(beta, w, x):
    """W⁻¹ x."""
    return apply_scaling(1.0 / beta, (w[0], -w[1], -w[2]), x)


@njit
def regularized_inverse(beta, w, delta):
    """The spectrum of (W² + δ)⁻¹: W² has the eigenvalues β² (w_0 ± |w_t|)² along (1, ±w_t/|w_t|), and β² across."""
    large = w[0] + tangent_norm(w)
    a, b = tangent_direction(w)
    square = beta * beta
    plus = 1.0 / (square * large * large + delta)
    minus = 1.0 / (square / (large * large) + delta)
    return (plus, minus, 1.0 / (square + delta), a, b)


@njit
def step_to_boundary(x, d):
    """The largest step α, at most UNBOUNDED, with x + α d in Q, for x inside Q."""
    a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2]
    b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2]
    c = determinant(x)
    # b² ≥ a c wherever a ≥ 0 (Cauchy–Schwarz reversed), but for rounding.
    q = -(b + math.copysign(math.sqrt(max(b * b - a * c, 0.0)), b))
    best = UNBOUNDED
    if a != 0.0 and q / a > 0.0:
        best = q / a
    if q != 0.0 and c / q > 0.0:
        best = min(best, c / q)
    return best


# Coulomb's law on the cone ----------------------------------------------------------------------------------------------
#
# With û = u + (bias + μ |u_t|) e_n (G. De Saxcé, Z.-Q. Feng 1998) it is K_μ ∋ p ⊥ û ∈ K_μ*.


@njit
def coulomb_velocity(contact, u):
    """De Saxcé's û, which is orthogonal to the impulse under Coulomb's law."""
    u_t, u_s = u[1] + contact.bend[1], u[2] + contact.bend[2]
    return (u[0] + contact.bias + contact.friction * math.sqrt(u_t * u_t + u_s * u_s), u_t, u_s)


@njit
def natural_map(p, u_hat, mu, compliance):
    """|p − proj_K(p − ρ û)| / ρ with ρ = 1/compliance, m/s: the residual of Coulomb's law.

    With x = p − ρ û it is |û − proj_K*(−x) / ρ| (Moreau), which is û itself where a contact sticks: no rounding of p is in
    it. Where a contact opens it is p / ρ, and no rounding of û is in it."""
    x = sub(p, scale(1.0 / compliance, u_hat))
    if mu * tangent_norm(x) <= -x[0]:
        return compliance * norm(p)
    return norm(sub(u_hat, scale(compliance, project_dual(scale(-1.0, x), mu))))
