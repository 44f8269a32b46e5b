"""CLOTH: a triangle with material coordinates (u, v).

D. Baraff, A. Witkin, "Large steps in cloth simulation", 1998, §4.2 and 4.3:

w_u = ∂x/∂u and w_v = ∂x/∂v are constant over the triangle: the columns of (x₁ − x₀, x₂ − x₀) D⁻¹, with D the 2×2 matrix
of material edges. So w_u = Σ αᵢ xᵢ and w_v = Σ βᵢ xᵢ, and

    W = ½ a (k_u (|w_u| − 1)² + k_v (|w_v| − 1)² + k_s (w_u · w_v)²)

with a the area at rest (the paper has a²; with a, cloth of any mesh is the same).
"""

import math

from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, matvec, norm, perpendicular, scale, sub
from ..core.simd import four, load, plus4, spread, store, times4
from .kinds import register
from .matrices import (
    add_nine,
    factors,
    nine,
    outer,
    plus,
    point,
    product,
    put,
    put_block,
    put_edge_hessian,
    put_pair_gradient,
    shifted,
    skew,
    subtract,
    times,
)


@inlined
def element_derivatives(e, x, order, out):
    """Energy, gradient (`order` ≥ 1) and Hessian (2: exact, 3: positive semidefinite) of one triangle; see `loops`."""
    w_u, w_v, i_u, i_v = measures(e, x)
    energy, g_u, g_v = stress(e, w_u, w_v, i_u, i_v)
    store(out, 0, energy)
    if order >= 1:
        alpha, beta = weights(e)
        put_pair_gradient(out, 1, alpha, beta, g_u, g_v)
    if order >= 2:
        m, c_u, c_v, c_s = stiffness(e, order, w_u, w_v, i_u, i_v)
        parts = parts_of(e, m, c_u, c_v, c_s, w_u, w_v, i_u, i_v)
        put_block(out, 3, 0, 0, nine(pair(parts, 0, 0)))
        put_block(out, 3, 0, 1, nine(pair(parts, 0, 1)))
        put_block(out, 3, 0, 2, nine(pair(parts, 0, 2)))
        put_block(out, 3, 1, 1, nine(pair(parts, 1, 1)))
        put_block(out, 3, 1, 2, nine(pair(parts, 1, 2)))
        put_block(out, 3, 2, 2, nine(pair(parts, 2, 2)))


@inlined
def weights(e):
    """α and β."""
    return (
        (-e.inverse[0] - e.inverse[2], e.inverse[0], e.inverse[2]),
        (-e.inverse[1] - e.inverse[3], e.inverse[1], e.inverse[3]),
    )


@inlined
def derivatives(e, x):
    """w_u and w_v; with velocities in place of x, their rates."""
    x_0 = point(x, e.nodes[0])
    d_1, d_2 = sub(point(x, e.nodes[1]), x_0), sub(point(x, e.nodes[2]), x_0)
    w_u = add_scaled(scale(e.inverse[0], d_1), e.inverse[2], d_2)
    return w_u, add_scaled(scale(e.inverse[1], d_1), e.inverse[3], d_2)


@inlined
def measures(e, x):
    """w_u, w_v, 1/|w_u| and 1/|w_v|, zero where there is no length."""
    w_u, w_v = derivatives(e, x)
    length_u, length_v = norm(w_u), norm(w_v)
    return w_u, w_v, 1.0 / length_u if length_u > 0.0 else 0.0, 1.0 / length_v if length_v > 0.0 else 0.0


@inlined
def stress(e, w_u, w_v, i_u, i_v):
    """W and its gradients by w_u and w_v."""
    stretch_u, stretch_v, shear = norm(w_u) - 1.0, norm(w_v) - 1.0, dot(w_u, w_v)
    t_u, t_v, t_s = e.area * e.stretch_u * stretch_u, e.area * e.stretch_v * stretch_v, e.area * e.shear * shear
    g_u, g_v = add_scaled(scale(t_u * i_u, w_u), t_s, w_v), add_scaled(scale(t_v * i_v, w_v), t_s, w_u)
    return 0.5 * (t_u * stretch_u + t_v * stretch_v + t_s * shear), g_u, g_v


# In terms of w_u and w_v, with unit vectors u, v and τ_u = 1 − 1/|w_u| (1 at w_u = 0, where it has no direction), τ_v
# likewise,
#     H = M ⊗ 1 + (k_u − M_uu) u uᵀ + (k_v − M_vv) v vᵀ + k_s g gᵀ,   M = ((k_u τ_u, k_s S), (k_s S, k_v τ_v)),
# where g = (w_v, w_u) is the gradient of the shear S = w_u · w_v. All but M are positive; and M alone acts at right
# angles to the triangle. So H is positive semidefinite just where M is, and M is what is projected.
@inlined
def stiffness(e, order, w_u, w_v, i_u, i_v):
    """M as (uu, uv, vv), and the factors of the three squares."""
    k_u, k_v, k_s = e.area * e.stretch_u, e.area * e.stretch_v, e.area * e.shear
    m_uu, m_uv, m_vv = k_u - k_u * i_u, k_s * dot(w_u, w_v), k_v - k_v * i_v
    if order == 3:
        m_uu, m_uv, m_vv = positive_part(m_uu, m_uv, m_vv)
    return (m_uu, m_uv, m_vv), max(k_u - m_uu, 0.0), max(k_v - m_vv, 0.0), k_s


# The gradients of |w_u|, |w_v| and w_u · w_v by xᵢ are αᵢ u, βᵢ v and rᵢ = αᵢ w_v + βᵢ w_u, so that the block (i, j) of H is
#     (M_uu αᵢ αⱼ + M_uv (αᵢ βⱼ + βᵢ αⱼ) + M_vv βᵢ βⱼ) 1 + αᵢ αⱼ c_u u uᵀ + βᵢ βⱼ c_v v vᵀ + c_s rᵢ rⱼᵀ.
@inlined
def parts_of(e, m, c_u, c_v, c_s, w_u, w_v, i_u, i_v):
    """What `pair` needs: α, β, M, the squares of u and v, and the factors of r."""
    alpha, beta = weights(e)
    u, v = factors(c_u * i_u * i_u, w_u), factors(c_v * i_v * i_v, w_v)
    r_0 = factors(c_s, add_scaled(scale(alpha[0], w_v), beta[0], w_u))
    r_1 = factors(c_s, add_scaled(scale(alpha[1], w_v), beta[1], w_u))
    r_2 = factors(c_s, add_scaled(scale(alpha[2], w_v), beta[2], w_u))
    return alpha, beta, m, product(u, u), product(v, v), (r_0, r_1, r_2)


@inlined
def pair(parts, i, j, turned=False):
    """The block of two nodes, as `scatter.product` has it, or its transpose."""
    alpha, beta, m, uu, vv, r = parts
    p, q = alpha[i] * alpha[j], beta[i] * beta[j]
    s = m[0] * p + m[1] * (alpha[i] * beta[j] + beta[i] * alpha[j]) + m[2] * q
    head, middle, last = product(r[j], r[i]) if turned else product(r[i], r[j])
    p_4, q_4 = spread(p), spread(q)
    return (
        plus4(plus4(times4(p_4, uu[0]), times4(q_4, vv[0])), plus4(head, four(s, 0.0, 0.0, 0.0))),
        plus4(plus4(times4(p_4, uu[1]), times4(q_4, vv[1])), plus4(middle, four(s, 0.0, 0.0, 0.0))),
        p * uu[2] + q * vv[2] + (last + s),
    )


@inlined
def add_pair(values, slot, parts, i, j):
    """Add the block of two nodes, or its transpose, to the block of a slot."""
    add_nine(values, 9 * (slot >> 1), pair(parts, i, j, slot & 1 == 1))


@inlined
def add_pairs(values, slots, at, parts):
    add_pair(values, slots[at], parts, 0, 0)
    add_pair(values, slots[at + 1], parts, 0, 1)
    add_pair(values, slots[at + 2], parts, 0, 2)
    add_pair(values, slots[at + 3], parts, 1, 1)
    add_pair(values, slots[at + 4], parts, 1, 2)
    add_pair(values, slots[at + 5], parts, 2, 2)


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
def dampings(e):
    """a d of the two stretches, and of the shear."""
    return e.area * e.stretch_damping, e.area * e.shear_damping


@inlined
def damping_rows(e, x, rows):
    """√(a d) times the gradients of |w_u|, |w_v| and w_u · w_v; see `loops`."""
    stretch, shear = dampings(e)
    if stretch == 0.0 and shear == 0.0:
        return 0
    alpha, beta = weights(e)
    w_u, w_v, i_u, i_v = measures(e, x)
    stretch, shear = math.sqrt(stretch), math.sqrt(shear)
    none = (0.0, 0.0, 0.0)
    put_pair_gradient(rows, 0, alpha, beta, scale(stretch * i_u, w_u), none)
    put_pair_gradient(rows, 9, alpha, beta, none, scale(stretch * i_v, w_v))
    put_pair_gradient(rows, 18, alpha, beta, scale(shear, w_v), scale(shear, w_u))
    return 3


# Triangles of cloth are many, so that loops of their own pay: damping is summed by w_u and w_v, as what it damps.


@njit
def forces(elements, first, last, x, about, same, v, f, g, scratch):
    """Σ W and the power of damping; f += elastic forces, g += damping; see `loops.Loops`. same : `about` equals x."""
    total, power = 0.0, 0.0
    for i in range(first, last):
        e = elements[i]
        w_u, w_v, i_u, i_v = measures(e, x)
        energy, g_u, g_v = stress(e, w_u, w_v, i_u, i_v)
        total += energy
        subtract_pair(f, e, g_u, g_v)
        if e.stretch_damping > 0.0 or e.shear_damping > 0.0:
            if not same:
                w_u, w_v, i_u, i_v = measures(e, about)
            lost, g_u, g_v = drag(e, w_u, w_v, i_u, i_v, v)
            power -= lost
            subtract_pair(g, e, g_u, g_v)
    return total, power


@inlined
def drag(e, w_u, w_v, i_u, i_v, v):
    """Σ c Ċ² and Σ c Ċ ∇C by w_u and w_v, for the three measures C."""
    stretch, shear = dampings(e)
    change_u, change_v = derivatives(e, v)
    rate_u, rate_v, rate = i_u * dot(w_u, change_u), i_v * dot(w_v, change_v), dot(w_v, change_u) + dot(w_u, change_v)
    t_u, t_v, t_s = stretch * rate_u, stretch * rate_v, shear * rate
    g_u, g_v = add_scaled(scale(t_u * i_u, w_u), t_s, w_v), add_scaled(scale(t_v * i_v, w_v), t_s, w_u)
    return t_u * rate_u + t_v * rate_v + t_s * rate, g_u, g_v


@inlined
def subtract_pair(f, e, g_u, g_v):
    """Subtract the gradient by nodes of what has these by w_u and w_v."""
    g_1 = add_scaled(scale(e.inverse[0], g_u), e.inverse[1], g_v)
    g_2 = add_scaled(scale(e.inverse[2], g_u), e.inverse[3], g_v)
    subtract(f, e.nodes[0], scale(-1.0, add(g_1, g_2)))
    subtract(f, e.nodes[1], g_1)
    subtract(f, e.nodes[2], g_2)


@njit
def matrix(elements, slots, first, last, x, about, same, stiffness_weight, damping_weight, values, scratch):
    """values += the weighted sum of positive Hessians and damping; see `loops.Loops`. same : `about` equals x."""
    for i in range(first, last):
        e = elements[i]
        stretch, shear = dampings(e)
        stretch, shear = damping_weight * stretch, damping_weight * shear
        w_u, w_v, i_u, i_v = measures(e, x)
        m, c_u, c_v, c_s = stiffness(e, 3, w_u, w_v, i_u, i_v)
        m, c_u, c_v, c_s = (
            scale(stiffness_weight, m),
            stiffness_weight * c_u,
            stiffness_weight * c_v,
            stiffness_weight * c_s,
        )
        if same:
            c_u, c_v, c_s = c_u + stretch, c_v + stretch, c_s + shear
        add_pairs(values, slots, 6 * i, parts_of(e, m, c_u, c_v, c_s, w_u, w_v, i_u, i_v))
        if not same and (stretch > 0.0 or shear > 0.0):
            w_u, w_v, i_u, i_v = measures(e, about)
            parts = parts_of(e, (0.0, 0.0, 0.0), stretch, stretch, shear, w_u, w_v, i_u, i_v)
            add_pairs(values, slots, 6 * i, parts)


# Inverse (row by row) of the 2×2 matrix whose columns are the material edges from nodes[0] (1/m), area at rest (m²),
# stiffnesses (N/m), dampings (N s/m).
FIELDS = "inverse:4 area stretch_u stretch_v shear stretch_damping shear_damping"
register("cloths", 3, 3, FIELDS, element_derivatives, damping_rows, forces=forces, matrix=matrix)


# ----------------------------------------------------------------------------------------------------------------------
# What the energies of tetrahedra share: derivatives of the determinant, and where the Hessian is negative.
#
# For energies Ψ of a deformation gradient F that depend on |F|² and J = det F, with Ψ = ½ μ |F|² + ψ(J),
#
#     ∂²Ψ/∂F² = μ 1 + ψ'' g gᵀ + ψ' ∂²J/∂F²,   g = ∂J/∂F,
#
# whose eigenvalues and eigenmatrices follow from the singular values F = U diag(σ) Vᵀ (B. Smith, F. de Goes, T. Kim,
# "Stable neo-Hookean flesh simulation", 2018): for each pair i, j of axes with the third one k,
#
#     μ ± ψ' σ_k   for   U (eᵢ eⱼᵀ ∓ eⱼ eᵢᵀ) Vᵀ/√2,
#
# and those of the 3×3 matrix μ 1 + ψ'' s sᵀ + ψ' ((0, σ₃, σ₂), (σ₃, 0, σ₁), (σ₂, σ₁, 0)), s = (σ₂σ₃, σ₃σ₁, σ₁σ₂), for U
# diag(q) Vᵀ. U and V are rotations here, so that one σ is negative where F is inverted.


SWEEPS = 12
PRECISION = 1e-15  # of the cosine of two columns
ROOT = math.sqrt(0.5)


@njit
def edges(e, x):
    """The edges of a tetrahedron from its first node."""
    x_0 = point(x, e.nodes[0])
    return sub(point(x, e.nodes[1]), x_0), sub(point(x, e.nodes[2]), x_0), sub(point(x, e.nodes[3]), x_0)


@njit
def put_edge_gradient(out, at, g_1, g_2, g_3):
    """Put the gradient by nodes of what has the gradient g by the edges."""
    put(out, at, scale(-1.0, add(add(g_1, g_2), g_3)))
    put(out, at + 3, g_1)
    put(out, at + 6, g_2)
    put(out, at + 9, g_3)


# det(d₁, d₂, d₃) has the gradient c = (d₂ × d₃, d₃ × d₁, d₁ × d₂), and δ(d₂ × d₃) = −[d₃]× δd₂ + [d₂]× δd₃.
@njit
def put_determinant_hessian(out, stiff, p, q, d_1, d_2, d_3):
    """Put Hᵢⱼ = sᵢⱼ 1 + p cᵢ cⱼᵀ + q ∂²det/∂dᵢ∂dⱼ, by edges; `stiff` is s as (11, 22, 33, 12, 13, 23)."""
    c_1, c_2, c_3 = cross(d_2, d_3), cross(d_3, d_1), cross(d_1, d_2)
    h_11 = shifted(times(p, outer(c_1, c_1)), stiff[0])
    h_22 = shifted(times(p, outer(c_2, c_2)), stiff[1])
    h_33 = shifted(times(p, outer(c_3, c_3)), stiff[2])
    h_12 = plus(shifted(times(p, outer(c_1, c_2)), stiff[3]), -q, skew(d_3))
    h_13 = plus(shifted(times(p, outer(c_1, c_3)), stiff[4]), q, skew(d_2))
    h_23 = plus(shifted(times(p, outer(c_2, c_3)), stiff[5]), -q, skew(d_1))
    put_edge_hessian(out, h_11, h_12, h_13, h_22, h_23, h_33)


# H + Σ |λ| m mᵀ over the negative eigenvalues has zeros in their place. A mode M of F is, by the edges, M bᵢ with bᵢ the
# rows of the inverse D⁻¹ of the edges at rest (F = Σ dᵢ bᵢᵀ), and M bᵢ = U C Vᵀ bᵢ.
@njit
def add_positive(out, volume, mu, slope, bend, f, b_1, b_2, b_3):
    """Take the negative eigenvalues out of the Hessian; f: three columns of F, `slope` ψ', `bend` ψ''."""
    u, sigma, v = singular(f[0], f[1], f[2])
    y = (along(v, b_1), along(v, b_2), along(v, b_3))
    x_, y_, z_ = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    for sign in (1.0, -1.0):
        if mu + sign * slope * sigma[0] < 0.0:
            add_mode(out, -volume * (mu + sign * slope * sigma[0]), twist(y_, z_, sign), u, y)
        if mu + sign * slope * sigma[1] < 0.0:
            add_mode(out, -volume * (mu + sign * slope * sigma[1]), twist(z_, x_, sign), u, y)
        if mu + sign * slope * sigma[2] < 0.0:
            add_mode(out, -volume * (mu + sign * slope * sigma[2]), twist(x_, y_, sign), u, y)
    add_stretch_modes(out, volume, mu, slope, bend, u, sigma, y)


@njit
def along(axes, a):
    return (dot(axes[0], a), dot(axes[1], a), dot(axes[2], a))


@njit
def twist(a, b, sign):
    return times(ROOT, plus(outer(a, b), -sign, outer(b, a)))


@njit
def add_stretch_modes(out, volume, mu, slope, bend, u, sigma, y):
    s = (sigma[1] * sigma[2], sigma[2] * sigma[0], sigma[0] * sigma[1])
    a_1 = (mu + bend * s[0] * s[0], bend * s[0] * s[1] + slope * sigma[2], bend * s[0] * s[2] + slope * sigma[1])
    a_2 = (a_1[1], mu + bend * s[1] * s[1], bend * s[1] * s[2] + slope * sigma[0])
    a_3 = (a_1[2], a_2[2], mu + bend * s[2] * s[2])
    minor = a_1[0] * a_2[1] - a_1[1] * a_2[0]
    if a_1[0] > 0.0 and minor > 0.0 and dot(a_1, cross(a_2, a_3)) > 0.0:
        return
    # The eigenvectors are those of A + shift 1, which is positive, and of its singular values.
    shift = math.sqrt(dot(a_1, a_1) + dot(a_2, a_2) + dot(a_3, a_3))
    _, q = orthogonal(add(a_1, (shift, 0.0, 0.0)), add(a_2, (0.0, shift, 0.0)), add(a_3, (0.0, 0.0, shift)))
    for axis in (q[0], q[1], q[2]):
        size = axis[0] * dot(a_1, axis) + axis[1] * dot(a_2, axis) + axis[2] * dot(a_3, axis)
        if size < 0.0:
            diagonal = (axis[0], 0.0, 0.0, 0.0, axis[1], 0.0, 0.0, 0.0, axis[2])
            add_mode(out, -volume * size, diagonal, u, y)


@njit
def add_mode(out, size, c, u, y):
    """Add size m mᵀ with the vector m of the mode U C Vᵀ; y: the rows of D⁻¹ along the axes V."""
    m_1, m_2, m_3 = mode(c, u, y[0]), mode(c, u, y[1]), mode(c, u, y[2])
    m_0 = scale(-1.0, add(add(m_1, m_2), m_3))
    for i, a in enumerate((m_0, m_1, m_2, m_3)):
        for j, b in enumerate((m_0, m_1, m_2, m_3)):
            at = 13 + 36 * i + 3 * j
            for k in range(3):
                s = size * a[k]
                store(out, at + 12 * k, load(out, at + 12 * k) + s * b[0])
                store(out, at + 12 * k + 1, load(out, at + 12 * k + 1) + s * b[1])
                store(out, at + 12 * k + 2, load(out, at + 12 * k + 2) + s * b[2])


@njit
def mode(c, u, y):
    z = matvec(c, y)
    return add_scaled(add_scaled(scale(z[0], u[0]), z[1], u[1]), z[2], u[2])


# Singular values -------------------------------------------------------------------------------------------------------
# One-sided Jacobi: V is turned until the columns of F V are orthogonal (M. Hestenes, 1958), which finds small singular
# values as precisely as large ones.


@njit
def singular(f_1, f_2, f_3):
    """Rotations U and V (by columns) and σ with F = U diag(σ) Vᵀ; the last σ is the least in size, and has a sign."""
    (f_1, f_2, f_3), (v_1, v_2, v_3) = orthogonal(f_1, f_2, f_3)
    if dot(f_1, f_1) < dot(f_2, f_2):
        f_1, f_2, v_1, v_2 = f_2, scale(-1.0, f_1), v_2, scale(-1.0, v_1)
    if dot(f_2, f_2) < dot(f_3, f_3):
        f_2, f_3, v_2, v_3 = f_3, scale(-1.0, f_2), v_3, scale(-1.0, v_2)
    if dot(f_1, f_1) < dot(f_2, f_2):
        f_1, f_2, v_1, v_2 = f_2, scale(-1.0, f_1), v_2, scale(-1.0, v_1)
    size = norm(f_1)
    u_1 = scale(1.0 / size, f_1) if size > 0.0 else (1.0, 0.0, 0.0)
    second = norm(f_2)
    u_2 = scale(1.0 / second, f_2) if second > 1e-150 * size and second > 0.0 else perpendicular(u_1)
    u_3 = cross(u_1, u_2)
    return (u_1, u_2, u_3), (size, second, dot(u_3, f_3)), (v_1, v_2, v_3)


@njit
def orthogonal(f_1, f_2, f_3):
    """F V with orthogonal columns, and the rotation V."""
    v_1, v_2, v_3 = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    for _ in range(SWEEPS):
        f_1, f_2, v_1, v_2, r = turned(f_1, f_2, v_1, v_2)
        f_1, f_3, v_1, v_3, s = turned(f_1, f_3, v_1, v_3)
        f_2, f_3, v_2, v_3, t = turned(f_2, f_3, v_2, v_3)
        if r == 0.0 and s == 0.0 and t == 0.0:
            break
    return (f_1, f_2, f_3), (v_1, v_2, v_3)


@njit
def turned(f_a, f_b, v_a, v_b):
    """Two columns of F made orthogonal, those of V turned likewise, and the tangent of that turn."""
    mixed, square_a, square_b = dot(f_a, f_b), dot(f_a, f_a), dot(f_b, f_b)
    if not mixed * mixed > PRECISION * PRECISION * square_a * square_b:
        return f_a, f_b, v_a, v_b, 0.0
    twice, change = 2.0 * mixed, square_b - square_a
    root = math.sqrt(change * change + twice * twice)
    tangent = twice / (change + root if change >= 0.0 else change - root)
    c = 1.0 / math.sqrt(1.0 + tangent * tangent)
    s = c * tangent
    f_a, f_b = add_scaled(scale(c, f_a), -s, f_b), add_scaled(scale(c, f_b), s, f_a)
    v_a, v_b = add_scaled(scale(c, v_a), -s, v_b), add_scaled(scale(c, v_b), s, v_a)
    return f_a, f_b, v_a, v_b, tangent
