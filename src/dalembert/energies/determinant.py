"""Energies of tetrahedra that depend on a determinant: its derivatives, and the projection of the Hessian.

For energies Ψ of a deformation gradient F that depend on |F|² and J = det F, with Ψ = ½ μ |F|² + ψ(J),

    ∂²Ψ/∂F² = μ 1 + ψ'' g gᵀ + ψ' ∂²J/∂F²,   g = ∂J/∂F,

whose eigenvalues and eigenmatrices follow from the singular values F = U diag(σ) Vᵀ (B. Smith, F. de Goes, T. Kim,
"Stable neo-Hookean flesh simulation", 2018): for each pair i, j of axes with the third one k,

    μ ± ψ' σ_k   for   U (eᵢ eⱼᵀ ∓ eⱼ eᵢᵀ) Vᵀ/√2,

and those of the 3×3 matrix μ 1 + ψ'' s sᵀ + ψ' ((0, σ₃, σ₂), (σ₃, 0, σ₁), (σ₂, σ₁, 0)), s = (σ₂σ₃, σ₃σ₁, σ₁σ₂), for U
diag(q) Vᵀ. U and V are rotations here, so that one σ is negative where F is inverted.
"""

import math

from ..core.jit import njit
from ..core.math3 import add, add_scaled, cross, dot, matvec, norm, perpendicular, scale, sub
from ..core.simd import load, store
from .matrices import outer, plus, point, put, put_edge_hessian, shifted, skew, times

SWEEPS = 12  # of Jacobi's method at most: convergence is quadratic, and 5 or 6 suffice
PRECISION = 1e-15  # of the cosine of two columns
RANK_ONE = 1e-150  # of the largest singular value: a second one below it has no direction
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
def add_positive(out, volume, psi, f, b_1, b_2, b_3):
    """Set the negative eigenvalues of the Hessian to zero. psi : μ, ψ' and ψ''; f : three columns of F."""
    mu, slope, _ = psi
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
    add_stretch_modes(out, volume, psi, u, sigma, y)


@njit
def along(axes, a):
    """The components of a along three axes."""
    return (dot(axes[0], a), dot(axes[1], a), dot(axes[2], a))


@njit
def twist(a, b, sign):
    """(a bᵀ ∓ b aᵀ)/√2."""
    return times(ROOT, plus(outer(a, b), -sign, outer(b, a)))


@njit
def add_stretch_modes(out, volume, psi, u, sigma, y):
    """The same for the three modes U diag(q) Vᵀ."""
    mu, slope, bend = psi
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
    """U C y."""
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
    u_2 = scale(1.0 / second, f_2) if second > RANK_ONE * size and second > 0.0 else perpendicular(u_1)
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
