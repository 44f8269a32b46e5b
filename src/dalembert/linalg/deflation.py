"""Deflation of conjugate gradients by the translations of patches of nodes: what makes their number of iterations nearly
independent of stiffness.

Relaxation leaves errors that vary slowly from node to node. P (3 n × 3 m) moves the nodes of each of m patches together,
S keeps nodes where they are held (see `ssor`), and with W = S P the coarse matrix is A_c = Wᵀ A W. The first step,
W A_c⁻¹ Wᵀ r, leaves a residual with Wᵀ r = 0, which stays one if the directions t of the iteration are A-orthogonal to W:

    t = z − W c + β t_before   with   z = M⁻¹ r,   A_c c = (A W)ᵀ z − Wᵀ r

(R. Nicolaides, "Deflation of conjugate gradients with applications to boundary value problems", SIAM J. Numer. Anal. 24,
1987). Wᵀ r is what rounding leaves of it: to subtract it makes the iteration stable, and in the notation of `ssor` costs
nothing (method A-DEF2 of J. Tang, R. Nabben, C. Vuik, Y. Erlangga, "Comparison of two-level preconditioners derived from
deflation, domain decomposition and multigrid methods", J. Sci. Comput. 39, 2009). With H = S U W, which has a block or two
for each node, and in the notation of `ssor` Ŵ = Fᴵ W, Ĥ = Û Ŵ = Fᵀ H,

    (A W)ᵀ z = Ĥᵀ z + Ŵᵀ (1 + Û) z = Ĥᵀ z + Ŵᵀ w,   Wᵀ r = Ŵᵀ (1 + Ûᵀ) w = Ĥᵀ w + Ŵᵀ w,
    A_c c = Ĥᵀ (z − w),   A_c = Wᵀ H + Hᵀ W + Wᵀ D W.

A patch whose nodes are all held moves as one of those that are held least can: P is zero in its other directions.
"""

from ..arrays import clear
from ..jit import inlined, njit
from ..unchecked import peek, poke
from ..vec import dot, load3, scale, sub
from .block_matrix import load_3, store_3
from .ldl import solve
from .ssor import fixed_part


@inlined
def add_3(a, o, v):
    poke(a, o, peek(a, o) + v[0])
    poke(a, o + 1, peek(a, o + 1) + v[1])
    poke(a, o + 2, peek(a, o + 2) + v[2])


@njit
def solve_coarse(held, space, work):
    """c ← A_c⁻¹ c, without what a patch cannot do."""
    solve(space.pivots, space.below, work.values, work.lower, work.c)
    for k in range(work.led_by.shape[0]):
        by = work.led_by[k]
        if by >= 0:
            c_k = load_3(work.c, 3 * k)
            store_3(work.c, 3 * k, sub(c_k, fixed_part(held[by].fixed, load3(held[by].direction), c_k)))


@njit
def coarse_part(held, space, work, r):
    """c ← −A_c⁻¹ Wᵀ r for a residual that S has been applied to. Returns rᵀ W A_c⁻¹ Wᵀ r."""
    clear(work.c)
    for i in range(space.patch.shape[0]):
        add_3(work.c, 3 * space.patch[i], scale(-1.0, load_3(r, 3 * i)))
    solve_coarse(held, space, work)
    square = 0.0
    for i in range(space.patch.shape[0]):
        square -= dot(load_3(r, 3 * i), load_3(work.c, 3 * space.patch[i]))
    return square
