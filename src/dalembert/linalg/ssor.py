"""Symmetric successive over-relaxation of a block matrix as the preconditioner of conjugate gradients, at the cost of the
product alone; nodes that are held in some directions.

With A = Uᵀ + D + U (U above the block diagonal D) and D̃ = D/ω the preconditioner is

    M = (D̃ + Uᵀ) D̃⁻¹ (D̃ + U).

Conjugate gradients with M on A x = b are conjugate gradients on Â x̂ = b̂ with Â = (D̃ + Uᵀ)⁻¹ A (D̃ + U)⁻¹,
x̂ = (D̃ + U) x, b̂ = (D̃ + Uᵀ)⁻¹ b and the preconditioner D̃⁻¹. For a direction t of x and p = (D̃ + U) t, as
A = (D̃ + Uᵀ) + U + (ω − 1) D̃,

    Â p = t + q   with   (D̃ + Uᵀ) q = e,   e = U t + (ω − 1) D̃ t = p + (ω − 2) D̃ t,

and directions come from the preconditioned residual z,

    (D̃ + U) z = w,   t = z + β t_before,   e = w + (ω − 2) D̃ z + β e_before,   w = D̃ r̂,

r̂ being the residual of the transformed system: two triangular solves, which together read U as often as product and
preconditioner would each (S. Eisenstat, "Efficient implementation of a class of preconditioned conjugate gradient
methods", SIAM J. Sci. Stat. Comput. 2, 1981). w falls by g = D̃ (t + q), and rᵀ M⁻¹ r is wᵀ G w with G = D̃⁻¹.
Between the two solves `deflation` has its say.

A node that is held moves in the range of a projection S only (D. Baraff, A. Witkin, "Large steps in cloth simulation",
SIGGRAPH 1998, §5.3; U. Ascher, E. Boxerman, "On the modified conjugate gradient method in cloth simulation", The Visual
Computer 19, 2003). The system is then that of S A S on its range, whose G is Q (Qᵀ D̃ Q)⁻¹ Qᵀ with a basis Q of the range of
S. As G forgets what lies outside, projecting residuals is all that is needed besides, and that for the sake of rounding:
forces that hold a node may be large beside the residual.
"""

import numpy as np

from ..jit import inlined, njit
from ..unchecked import peek, poke
from ..vec import add, add_scaled, cross, dot, load3, matvec, matvec_t, perpendicular, scale, sub
from .block import load_3x3
from .block_matrix import load_3, store_3

# A node that may not move freely. How many directions are fixed: 1, the given one; 2, all but the given one; 3. Directions
# are unit vectors, and a node is held once.
HELD = np.dtype([("node", "i8"), ("fixed", "i8"), ("direction", "f8", (3,))], align=True)

# ω. On grids of springs with h² k / m from 1e2 to 1e4 it takes a quarter to two fifths fewer iterations than 1, and fewer
# than or about as many as 1.4 and 1.8.
RELAXATION = 1.6


@inlined
def load_symmetric(a, o):
    """(xx, yy, zz, xy, xz, yz) of the block at o, from its upper half."""
    return (peek(a, o), peek(a, o + 4), peek(a, o + 8), peek(a, o + 1), peek(a, o + 2), peek(a, o + 5))


@inlined
def store_symmetric(a, o, s, factor):
    store_3(a, o, scale(factor, (s[0], s[3], s[4])))
    store_3(a, o + 3, scale(factor, (s[3], s[1], s[5])))
    store_3(a, o + 6, scale(factor, (s[4], s[5], s[2])))


@njit
def inverse_of(s):
    """The inverse of a symmetric 3×3 matrix (six floats) and whether it is positive definite.

    By L E Lᵀ rather than by cofactors, whose determinant is nothing but rounding once stiffnesses are 1e8 apart."""
    l1, l2 = s[3] / s[0], s[4] / s[0]
    e1, f = s[1] - l1 * s[3], s[5] - l1 * s[4]
    l3 = f / e1
    e2 = s[2] - l2 * s[4] - l3 * f
    # L⁻¹ has the rows (1, 0, 0), (−l1, 1, 0), (k, −l3, 1).
    k = l1 * l3 - l2
    g0, g1, g2 = 1.0 / s[0], 1.0 / e1, 1.0 / e2
    inverse = (
        g0 + l1 * l1 * g1 + k * k * g2, g1 + l3 * l3 * g2, g2, -l1 * g1 - k * l3 * g2, k * g2, -l3 * g2
    )  # fmt: skip
    return inverse, s[0] > 0.0 and e1 > 0.0 and e2 > 0.0


@njit
def inverse_held(m, fixed, direction):
    """Q (Qᵀ D Q)⁻¹ Qᵀ (six floats) of the block D = m (nine floats) of a held node, and whether Qᵀ D Q is definite."""
    if fixed == 3:
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), True
    if fixed == 2:
        u, v = direction, direction
        a = dot(u, matvec(m, u))
        definite, g0, g1, g2 = a > 0.0, 1.0 / a, 0.0, 0.0
    else:
        u = perpendicular(direction)
        v = cross(direction, u)
        a, b, c = dot(u, matvec(m, u)), dot(u, matvec(m, v)), dot(v, matvec(m, v))
        ratio = b / a
        pivot = c - b * ratio
        definite = a > 0.0 and pivot > 0.0
        g0, g1, g2 = 1.0 / a + ratio * ratio / pivot, -ratio / pivot, 1.0 / pivot
    # g0 u uᵀ + g1 (u vᵀ + v uᵀ) + g2 v vᵀ
    p = (g0 * u[0] + g1 * v[0], g0 * u[1] + g1 * v[1], g0 * u[2] + g1 * v[2])
    q = (g1 * u[0] + g2 * v[0], g1 * u[1] + g2 * v[1], g1 * u[2] + g2 * v[2])
    inverse = (
        u[0] * p[0] + v[0] * q[0], u[1] * p[1] + v[1] * q[1], u[2] * p[2] + v[2] * q[2],
        u[0] * p[1] + v[0] * q[1], u[0] * p[2] + v[0] * q[2], u[1] * p[2] + v[1] * q[2],
    )  # fmt: skip
    return inverse, definite


@inlined
def fixed_part(fixed, direction, v):
    """(1 − S) v: the part of a held node's vector that is prescribed."""
    if fixed == 3:
        return v
    along = scale(dot(direction, v), direction)
    return sub(v, along) if fixed == 2 else along


@njit
def project(held, v):
    """v ← S v (3 n,)."""
    for h in range(held.shape[0]):
        row = held[h]
        v_i = load_3(v, 3 * row.node)
        store_3(v, 3 * row.node, sub(v_i, fixed_part(row.fixed, load3(row.direction), v_i)))


@njit
def invert_diagonal(matrix, held, inverse):
    """The blocks G (9 n,). Returns False where one is not positive definite, or not a number, where its node can move."""
    for i in range(matrix.starts.shape[0] - 1):
        block, definite = inverse_of(load_symmetric(matrix.values, 9 * matrix.starts[i]))
        store_inverse(inverse, i, block, definite)
    for h in range(held.shape[0]):
        row = held[h]
        m = load_3x3(matrix.values, 9 * matrix.starts[row.node])
        block, definite = inverse_held(m, row.fixed, load3(row.direction))
        store_inverse(inverse, row.node, block, definite)
    good = True
    for i in range(matrix.starts.shape[0] - 1):
        good = good and inverse[9 * i] >= 0.0
    return good


@inlined
def store_inverse(inverse, i, block, definite):
    """Keep a block of G; a negative number stands in one that is not definite."""
    store_symmetric(inverse, 9 * i, block, RELAXATION)
    if not definite:
        poke(inverse, 9 * i, -1.0)


@njit
def residual_norm(matrix, inverse, w):
    """From a residual r = w make w = D̃ r̂ in place. Returns rᵀ M⁻¹ r."""
    starts, columns, values = matrix.starts, matrix.columns, matrix.values
    square = 0.0
    for i in range(starts.shape[0] - 1):
        w_i = load_3(w, 3 * i)
        q_i = matvec(load_3x3(inverse, 9 * i), w_i)
        square += dot(q_i, w_i)
        for e in range(starts[i] + 1, starts[i + 1]):
            subtract(w, 3 * columns[e], matvec_t(load_3x3(values, 9 * e), q_i))
    return square


@inlined
def subtract(a, o, v):
    poke(a, o, peek(a, o) - v[0])
    poke(a, o + 1, peek(a, o + 1) - v[1])
    poke(a, o + 2, peek(a, o + 2) - v[2])


@njit
def solve_upward(matrix, inverse, w, z, g):
    """z = (D̃ + U)⁻¹ w and g = w + (ω − 2) D̃ z."""
    starts, columns, values = matrix.starts, matrix.columns, matrix.values
    for i in range(starts.shape[0] - 2, -1, -1):
        w_i = load_3(w, 3 * i)
        d0, d1, d2 = w_i
        for k in range(starts[i] + 1, starts[i + 1]):
            u0, u1, u2 = matvec(load_3x3(values, 9 * k), load_3(z, 3 * columns[k]))
            d0, d1, d2 = d0 - u0, d1 - u1, d2 - u2
        d_i = (d0, d1, d2)
        store_3(z, 3 * i, matvec(load_3x3(inverse, 9 * i), d_i))
        store_3(g, 3 * i, add_scaled(w_i, RELAXATION - 2.0, d_i))


@njit
def solve_downward(matrix, inverse, t, e, g):
    """From g = e make g = D̃ (t + q) in place; q is not kept. Returns p · Â p, which is t · A t."""
    starts, columns, values = matrix.starts, matrix.columns, matrix.values
    product = 0.0
    for i in range(starts.shape[0] - 1):
        t_i, rest = load_3(t, 3 * i), load_3(g, 3 * i)
        d_i = scale(1.0 / RELAXATION, matvec(load_3x3(values, 9 * starts[i]), t_i))
        q_i = matvec(load_3x3(inverse, 9 * i), rest)
        product += dot(add_scaled(load_3(e, 3 * i), 2.0 - RELAXATION, d_i), add(t_i, q_i))
        store_3(g, 3 * i, add(rest, d_i))
        for k in range(starts[i] + 1, starts[i + 1]):
            subtract(g, 3 * columns[k], matvec_t(load_3x3(values, 9 * k), q_i))
    return product


@njit
def descend(inverse, alpha, t, g, x, w):
    """x ← x + α t, w ← w − α g. Returns wᵀ G w."""
    square = 0.0
    for i in range(x.shape[0] // 3):
        store_3(x, 3 * i, add_scaled(load_3(x, 3 * i), alpha, load_3(t, 3 * i)))
        w_i = add_scaled(load_3(w, 3 * i), -alpha, load_3(g, 3 * i))
        store_3(w, 3 * i, w_i)
        square += dot(w_i, matvec(load_3x3(inverse, 9 * i), w_i))
    return square
