"""Gradients and Hessians of an element from 3-vectors and 3×3 matrices (nine floats, row by row), and their sums.

`out` holds the energy, the gradient and the Hessian of an element of k nodes: 1 + 3 k + 9 k² numbers. Inverses of rest shapes
are at the end.
"""

import numpy as np

from ..core.jit import inlined, njit
from ..core.math3 import add_scaled, scale
from ..core.simd import four, load, load4, part4, plus4, store, store4, times4

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@inlined
def point(x, node):
    """Three numbers of a particle."""
    return (load(x, 3 * node), load(x, 3 * node + 1), load(x, 3 * node + 2))


@njit
def outer(a, b):
    """a bᵀ."""
    return (
        a[0] * b[0], a[0] * b[1], a[0] * b[2], a[1] * b[0], a[1] * b[1], a[1] * b[2], a[2] * b[0], a[2] * b[1], a[2] *
        b[2],
    )  # fmt: skip


@njit
def skew(a):
    """[a]×, so that [a]× b = a × b."""
    return (0.0, -a[2], a[1], a[2], 0.0, -a[0], -a[1], a[0], 0.0)


@njit
def transposed(m):
    """Mᵀ."""
    return (m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8])


@njit
def plus(m, s, n):
    """M + s N."""
    return (
        m[0] + s * n[0], m[1] + s * n[1], m[2] + s * n[2], m[3] + s * n[3], m[4] + s * n[4], m[5] + s * n[5],
        m[6] + s * n[6], m[7] + s * n[7], m[8] + s * n[8],
    )  # fmt: skip


@njit
def times(s, m):
    """s M."""
    return (
        s * m[0], s * m[1], s * m[2], s * m[3], s * m[4], s * m[5], s * m[6], s * m[7], s * m[8],
    )  # fmt: skip


@njit
def minus_sum(m, n):
    """−(M + N)."""
    return times(-1.0, plus(m, 1.0, n))


@njit
def shifted(m, s):
    """M + s 1."""
    return (m[0] + s, m[1], m[2], m[3], m[4] + s, m[5], m[6], m[7], m[8] + s)


@inlined
def put(out, at, a):
    """Write a 3-vector."""
    store(out, at, a[0])
    store(out, at + 1, a[1])
    store(out, at + 2, a[2])


@inlined
def put_block(out, nodes, i, j, m):
    """Write a block of the Hessian and its transpose."""
    width = 3 * nodes
    at = 1 + width + 3 * i * width + 3 * j
    put(out, at, (m[0], m[1], m[2]))
    put(out, at + width, (m[3], m[4], m[5]))
    put(out, at + 2 * width, (m[6], m[7], m[8]))
    if i != j:
        at = 1 + width + 3 * j * width + 3 * i
        put(out, at, (m[0], m[3], m[6]))
        put(out, at + width, (m[1], m[4], m[7]))
        put(out, at + 2 * width, (m[2], m[5], m[8]))


# Two vectors a and b ---------------------------------------------------------------------------------------------------
# Three nodes on which W depends by a = Σ αᵢ xᵢ and b = Σ βᵢ xᵢ only, with Σ α = Σ β = 0 (α and β are 3-tuples here): the
# gradient is αᵢ g_a + βᵢ g_b, the Hessian αᵢ αⱼ H_aa + αᵢ βⱼ H_ab + βᵢ αⱼ H_abᵀ + βᵢ βⱼ H_bb, whose rows sum to zero.


@njit
def put_pair_gradient(out, at, alpha, beta, g_a, g_b):
    """Write αᵢ g_a + βᵢ g_b."""
    put(out, at, add_scaled(scale(alpha[0], g_a), beta[0], g_b))
    put(out, at + 3, add_scaled(scale(alpha[1], g_a), beta[1], g_b))
    put(out, at + 6, add_scaled(scale(alpha[2], g_a), beta[2], g_b))


@njit
def put_pair_hessian(out, alpha, beta, h_aa, h_ab, h_bb):
    """Write the Hessian of three nodes from those by a and b."""
    h_ba = transposed(h_ab)
    h_11 = _pair_block(alpha[1], beta[1], alpha[1], beta[1], h_aa, h_ab, h_ba, h_bb)
    h_12 = _pair_block(alpha[1], beta[1], alpha[2], beta[2], h_aa, h_ab, h_ba, h_bb)
    h_22 = _pair_block(alpha[2], beta[2], alpha[2], beta[2], h_aa, h_ab, h_ba, h_bb)
    put_blocks(out, h_11, h_12, h_22)


@inlined
def put_blocks(out, h_11, h_12, h_22):
    """Write the Hessian of three nodes from the blocks of the last two, as its rows sum to zero."""
    h_00, h_01, h_02 = first_row(h_11, h_12, h_22)
    put_block(out, 3, 0, 0, h_00)
    put_block(out, 3, 0, 1, h_01)
    put_block(out, 3, 0, 2, h_02)
    put_block(out, 3, 1, 1, h_11)
    put_block(out, 3, 1, 2, h_12)
    put_block(out, 3, 2, 2, h_22)


@inlined
def first_row(h_11, h_12, h_22):
    """The blocks (0, 0), (0, 1) and (0, 2) of three nodes, from the others."""
    h_01, h_02 = minus_sum(h_11, transposed(h_12)), minus_sum(h_12, h_22)
    return minus_sum(h_01, h_02), h_01, h_02


@inlined
def _pair_block(alpha_i, beta_i, alpha_j, beta_j, h_aa, h_ab, h_ba, h_bb):
    """αᵢ αⱼ H_aa + αᵢ βⱼ H_ab + βᵢ αⱼ H_abᵀ + βᵢ βⱼ H_bb."""
    m = plus(times(alpha_i * alpha_j, h_aa), alpha_i * beta_j, h_ab)
    return plus(plus(m, beta_i * alpha_j, h_ba), beta_i * beta_j, h_bb)


# Three edges from nodes[0] ---------------------------------------------------------------------------------------------


@njit
def put_edge_hessian(out, h_11, h_12, h_13, h_22, h_23, h_33):
    """Write the Hessian of four nodes from that by the edges from nodes[0], as its rows sum to zero."""
    put_block(out, 4, 1, 1, h_11)
    put_block(out, 4, 1, 2, h_12)
    put_block(out, 4, 1, 3, h_13)
    put_block(out, 4, 2, 2, h_22)
    put_block(out, 4, 2, 3, h_23)
    put_block(out, 4, 3, 3, h_33)
    h_01 = times(-1.0, plus(plus(h_11, 1.0, transposed(h_12)), 1.0, transposed(h_13)))
    h_02 = times(-1.0, plus(plus(h_12, 1.0, h_22), 1.0, transposed(h_23)))
    h_03 = times(-1.0, plus(plus(h_13, 1.0, h_23), 1.0, h_33))
    put_block(out, 4, 0, 1, h_01)
    put_block(out, 4, 0, 2, h_02)
    put_block(out, 4, 0, 3, h_03)
    put_block(out, 4, 0, 0, times(-1.0, plus(plus(h_01, 1.0, h_02), 1.0, h_03)))


@njit
def clear_from(out, first, last):
    """out[first : last] = 0."""
    for i in range(first, last):
        store(out, i, 0.0)


# Sums into the arrays of a model --------------------------------------------------------------------------------------


@inlined
def subtract(f, node, a):
    """Subtract a 3-vector from that of a particle."""
    at = 3 * node
    store(f, at, load(f, at) - a[0])
    store(f, at + 1, load(f, at + 1) - a[1])
    store(f, at + 2, load(f, at + 2) - a[2])


@inlined
def add_block(values, slot, m):
    """Add M, or its transpose, to the block of a slot."""
    if slot & 1 == 1:
        m = transposed(m)
    at = 9 * (slot >> 1)
    store(values, at, load(values, at) + m[0])
    store(values, at + 1, load(values, at + 1) + m[1])
    store(values, at + 2, load(values, at + 2) + m[2])
    store(values, at + 3, load(values, at + 3) + m[3])
    store(values, at + 4, load(values, at + 4) + m[4])
    store(values, at + 5, load(values, at + 5) + m[5])
    store(values, at + 6, load(values, at + 6) + m[6])
    store(values, at + 7, load(values, at + 7) + m[7])
    store(values, at + 8, load(values, at + 8) + m[8])


# The nine numbers of s a bᵀ, row by row, in two registers and a number: (s a)₀₀₀₁ b₀₁₂₀, (s a)₁₁₂₂ b₁₂₀₁ and (s a)₂ b₂.
@inlined
def factors(s, a):
    """What blocks s a bᵀ and s b aᵀ need of a."""
    u, v, w = s * a[0], s * a[1], s * a[2]
    return four(u, u, u, v), four(v, v, w, w), w, four(a[0], a[1], a[2], a[0]), four(a[1], a[2], a[0], a[1]), a[2]


@inlined
def product(a, b):
    """s a bᵀ from the `factors` of both."""
    return times4(a[0], b[3]), times4(a[1], b[4]), a[2] * b[5]


@inlined
def nine(m):
    """The numbers of such a block."""
    return (
        part4(m[0], 0), part4(m[0], 1), part4(m[0], 2), part4(m[0], 3), part4(m[1], 0), part4(m[1], 1), part4(m[1], 2),
        part4(m[1], 3), m[2],
    )  # fmt: skip


@inlined
def add_nine(values, at, m):
    """Add such a block."""
    store4(values, at, plus4(load4(values, at), m[0]))
    store4(values, at + 4, plus4(load4(values, at + 4), m[1]))
    store(values, at + 8, load(values, at + 8) + m[2])


@inlined
def add_product(values, slot, a, b):
    """Add s a bᵀ, or its transpose, to the block of a slot."""
    if slot & 1 == 1:
        a, b = b, a
    add_nine(values, 9 * (slot >> 1), product(a, b))


# Rest shapes ------------------------------------------------------------------------------------------------------------
# In NumPy, when a scene is compiled. LAPACK is not used: its kernels differ from processor to processor, and with them the
# last bits of what they compute.


def determinants(m: np.ndarray) -> np.ndarray:
    """The determinants of (k, 2, 2) or (k, 3, 3) matrices, with the same bits on every processor."""
    if m.shape[1] == 2:
        return np.asarray(m[:, 0, 0] * m[:, 1, 1] - m[:, 0, 1] * m[:, 1, 0])
    first = adjugates(m)[:, :, 0]
    return np.asarray(m[:, 0, 0] * first[:, 0] + m[:, 0, 1] * first[:, 1] + m[:, 0, 2] * first[:, 2])


def adjugates(m: np.ndarray) -> np.ndarray:
    """The transposed cofactors of (k, 2, 2) or (k, 3, 3) matrices: M adj M = det M."""
    found = np.empty_like(m)
    if m.shape[1] == 2:
        found[:, 0, 0], found[:, 0, 1], found[:, 1, 0], found[:, 1, 1] = (
            m[:, 1, 1],
            -m[:, 0, 1],
            -m[:, 1, 0],
            m[:, 0, 0],
        )
        return found
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            found[:, a, i] = m[:, j, b] * m[:, k, c] - m[:, j, c] * m[:, k, b]
    return found


def inverses(m: np.ndarray) -> np.ndarray:
    """The inverses of (k, 2, 2) or (k, 3, 3) matrices, with the same bits on every processor."""
    return np.asarray(adjugates(m) / determinants(m)[:, None, None])
