"""Symmetric Gauss–Seidel relaxation of a block matrix as the preconditioner of conjugate gradients, at the cost of the
product alone; nodes that are held in some directions.

A = Uᵀ + D + U, with U above the block diagonal D in the order of `sweep_order`. With a block diagonal F such that
Fᵀ D F = 1 and x = F x̂ it becomes

    Â = Fᵀ A F = Ûᵀ + 1 + Û,   and the preconditioner is   M = (1 + Ûᵀ) (1 + Û).

Conjugate gradients with M on Â x̂ = Fᵀ b are conjugate gradients on (1 + Ûᵀ)⁻¹ Â (1 + Û)⁻¹. For a direction t of x̂ and
p = (1 + Û) t, as Â = (1 + Ûᵀ) + Û,

    (1 + Ûᵀ)⁻¹ Â t = t + q   with   (1 + Ûᵀ) q = e,   e = Û t = p − t,

and directions come from the residual w = (1 + Ûᵀ)⁻¹ Fᵀ r,

    (1 + Û) z = w,   t = z + β t_before,   e = (w − z) + β e_before:

two triangular solves, which together read Û as often as product and preconditioner would each (S. Eisenstat, "Efficient
implementation of a class of preconditioned conjugate gradient methods", SIAM J. Sci. Stat. Comput. 2, 1981). w falls by
g = t + q, and rᵀ M⁻¹ r is w · w. Between the two solves `deflation` has its say. (Over-relaxation, M with D/ω in place of D,
saves iterations where there is no deflation only.)

A node that is held moves in the range of a projection S only (D. Baraff, A. Witkin, "Large steps in cloth simulation",
SIGGRAPH 1998, §5.3; U. Ascher, E. Boxerman, "On the modified conjugate gradient method in cloth simulation", The Visual
Computer 19, 2003). The system is then that of S A S on its range. With a basis Q of that, F is Q (3 × m) times what makes
Qᵀ D Q the identity, with columns of zeros after it: so nothing else has to know of held nodes. Fᴵ, with zeros below, is its
inverse on that range, Fᴵ F = 1 but for the zeros.
"""

import math

import numpy as np

from ..jit import inlined, njit
from ..unchecked import peek, poke
from ..vec import add_scaled, cross, dot, load3, matvec, perpendicular, scale, sub
from .block import load_3x3
from .block_matrix import load_3, store_3

# A node that may not move freely. How many directions are fixed: 1, the given one; 2, all but the given one; 3. Directions
# are unit vectors, and a node is held once.
HELD = np.dtype([("node", "i8"), ("fixed", "i8"), ("direction", "f8", (3,))], align=True)

NONE = (0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


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
def free_frame(s):
    """F and Fᴵ (nine floats each, row by row) for a block D (six floats), and whether it is positive definite.

    D = L E Lᵀ as in `inverse_of`; F = L⁻ᵀ E^(−1/2), Fᴵ = E^(1/2) Lᵀ."""
    l1, l2 = s[3] / s[0], s[4] / s[0]
    e1, f = s[1] - l1 * s[3], s[5] - l1 * s[4]
    l3 = f / e1
    e2 = s[2] - l2 * s[4] - l3 * f
    definite = s[0] > 0.0 and e1 > 0.0 and e2 > 0.0
    if not definite:
        return IDENTITY, IDENTITY, False
    r0, r1, r2 = math.sqrt(s[0]), math.sqrt(e1), math.sqrt(e2)
    g0, g1, g2 = 1.0 / r0, 1.0 / r1, 1.0 / r2
    frame = (g0, -l1 * g1, (l1 * l3 - l2) * g2, 0.0, g1, -l3 * g2, 0.0, 0.0, g2)
    return frame, (r0, r0 * l1, r0 * l2, 0.0, r1, r1 * l3, 0.0, 0.0, r2), True


@njit
def held_frame(m, fixed, direction):
    """The same for the block D = m (nine floats) of a held node, and whether Qᵀ D Q is definite."""
    if fixed == 3:
        return rows_of(NONE, NONE), rows_of(NONE, NONE), True
    u = direction if fixed == 2 else perpendicular(direction)
    a = dot(u, matvec(m, u))
    if not a > 0.0:
        return IDENTITY, IDENTITY, False
    root = math.sqrt(a)
    f, r = scale(1.0 / root, u), scale(root, u)
    if fixed == 2:
        return columns_of(f, NONE), rows_of(r, NONE), True
    v = cross(direction, u)
    ratio = dot(u, matvec(m, v)) / a
    pivot = dot(v, matvec(m, v)) - a * ratio * ratio
    if not pivot > 0.0:
        return IDENTITY, IDENTITY, False
    beside = math.sqrt(pivot)
    frame = columns_of(f, scale(1.0 / beside, add_scaled(v, -ratio, u)))
    return frame, rows_of(add_scaled(r, root * ratio, v), scale(beside, v)), True


@inlined
def rows_of(a, b):
    return (a[0], a[1], a[2], b[0], b[1], b[2], 0.0, 0.0, 0.0)


@inlined
def columns_of(a, b):
    return (a[0], b[0], 0.0, a[1], b[1], 0.0, a[2], b[2], 0.0)


@njit
def scale_diagonal(matrix, held, position, frames, backs):
    """F and Fᴵ of all nodes. Returns False where a block is not positive definite, or not a number, where its node can
    move."""
    bad = 0
    for i in range(position.shape[0]):
        frame, back, definite = free_frame(load_symmetric(matrix.values, 9 * matrix.starts[i]))
        store_frame(frames, backs, position[i], frame, back)
        bad += 0 if definite else 1
    for h in range(held.shape[0]):
        row = held[h]
        m = load_3x3(matrix.values, 9 * matrix.starts[row.node])
        _, _, was_definite = free_frame(load_symmetric(matrix.values, 9 * matrix.starts[row.node]))
        frame, back, definite = held_frame(m, row.fixed, load3(row.direction))
        store_frame(frames, backs, position[row.node], frame, back)
        bad += (1 if was_definite else 0) - (1 if definite else 0)
    return bad == 0


# Rows of F are as far apart as vectors are long, those of Fᴵ follow each other in a group.
@inlined
def store_frame(frames, backs, at, frame, back):
    side, lane = frames.shape[0] // 3, at % 12
    for k in range(3):
        for c in range(3):
            poke(frames, k * side + at + 4 * c, frame[3 * k + c])
            backs[3 * (at - lane) + lane + 12 * k + 4 * c] = back[3 * k + c]


@njit
def into_frames(position, work, r, w):
    """w = Fᵀ r, from one triple a node to the order of the sweeps."""
    side = work.frame.shape[0] // 3
    for i in range(position.shape[0]):
        at, r_i = position[i], load_3(r, 3 * i)
        for c in range(0, 12, 4):
            total = peek(work.frame, at + c) * r_i[0] + peek(work.frame, side + at + c) * r_i[1]
            poke(w, at + c, total + peek(work.frame, 2 * side + at + c) * r_i[2])


@njit
def add_from_frames(position, work, y, x):
    """x += F y, from the order of the sweeps."""
    side = work.frame.shape[0] // 3
    for i in range(position.shape[0]):
        at = position[i]
        for k in range(3):
            o = k * side + at
            total = peek(work.frame, o) * peek(y, at) + peek(work.frame, o + 4) * peek(y, at + 4)
            poke(x, 3 * i + k, peek(x, 3 * i + k) + (total + peek(work.frame, o + 8) * peek(y, at + 8)))
