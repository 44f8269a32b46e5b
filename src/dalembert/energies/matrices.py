"""Gradients and Hessians put together from 3-vectors and 3×3 matrices (nine floats, row by row).

`out` holds the energy, the gradient and the Hessian of an element of k nodes: 1 + 3 k + 9 k² numbers.
"""

from ..jit import inlined, njit
from ..unchecked import peek, poke
from ..vec import add_scaled, scale

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@inlined
def point(x, node):
    """Three numbers of a particle."""
    return (peek(x, 3 * node), peek(x, 3 * node + 1), peek(x, 3 * node + 2))


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
    """Put a 3-vector."""
    poke(out, at, a[0])
    poke(out, at + 1, a[1])
    poke(out, at + 2, a[2])


@inlined
def put_block(out, nodes, i, j, m):
    """Put a block of the Hessian and its mirror image."""
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
# Three nodes that count by a = Σ αᵢ xᵢ and b = Σ βᵢ xᵢ only, with Σ α = Σ β = 0 (α and β are 3-tuples here): the gradient is
# αᵢ g_a + βᵢ g_b, the Hessian αᵢ αⱼ H_aa + αᵢ βⱼ H_ab + βᵢ αⱼ H_abᵀ + βᵢ βⱼ H_bb, whose rows sum to zero.


@njit
def put_pair_gradient(out, at, alpha, beta, g_a, g_b):
    put(out, at, add_scaled(scale(alpha[0], g_a), beta[0], g_b))
    put(out, at + 3, add_scaled(scale(alpha[1], g_a), beta[1], g_b))
    put(out, at + 6, add_scaled(scale(alpha[2], g_a), beta[2], g_b))


@njit
def put_pair_hessian(out, alpha, beta, h_aa, h_ab, h_bb):
    h_ba = transposed(h_ab)
    h_11 = _pair_block(alpha[1], beta[1], alpha[1], beta[1], h_aa, h_ab, h_ba, h_bb)
    h_12 = _pair_block(alpha[1], beta[1], alpha[2], beta[2], h_aa, h_ab, h_ba, h_bb)
    h_22 = _pair_block(alpha[2], beta[2], alpha[2], beta[2], h_aa, h_ab, h_ba, h_bb)
    put_blocks(out, h_11, h_12, h_22)


@inlined
def put_blocks(out, h_11, h_12, h_22):
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
    m = plus(times(alpha_i * alpha_j, h_aa), alpha_i * beta_j, h_ab)
    return plus(plus(m, beta_i * alpha_j, h_ba), beta_i * beta_j, h_bb)


# Three edges from nodes[0] ---------------------------------------------------------------------------------------------


@njit
def put_edge_hessian(out, h_11, h_12, h_13, h_22, h_23, h_33):
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
    for i in range(first, last):
        poke(out, i, 0.0)
