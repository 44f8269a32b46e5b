"""Deflation of conjugate gradients by the translations of patches of nodes: what makes their number of iterations nearly
independent of stiffness.

Relaxation leaves errors that vary slowly from node to node. P (3 n × 3 m) moves the nodes of each of m patches together,
S keeps nodes where they are held (see `ssor`), and with W = S P the coarse matrix is A_c = Wᵀ A W. The first step,
W A_c⁻¹ Wᵀ r, leaves a residual with Wᵀ r = 0, which stays one if the directions t of the iteration are A-orthogonal to W:

    t = z − W c + β t_before   with   z = M⁻¹ r,   A_c c = (A W)ᵀ z − Wᵀ r

(R. Nicolaides, "Deflation of conjugate gradients with applications to boundary value problems", SIAM J. Numer. Anal. 24,
1987). Wᵀ r is what rounding leaves of it: to subtract it makes the iteration stable, and in the notation of `ssor` costs
nothing (method A-DEF2 of J. Tang, R. Nabben, C. Vuik, Y. Erlangga, "Comparison of two-level preconditioners derived from
deflation, domain decomposition and multigrid methods", J. Sci. Comput. 39, 2009). With H = S (U + (ω − 1) D̃) W, which has
a block or two for each node,

    (A W)ᵀ z = Hᵀ z + Wᵀ (D̃ + U) z = Hᵀ z + Wᵀ w,   Wᵀ r = Wᵀ (D̃ + Uᵀ) r̂ = Hᵀ G w + (2 − ω) Wᵀ w,
    A_c = Wᵀ H + Hᵀ W + (2 − ω) Wᵀ D̃ W.

A patch whose nodes are all held moves as one of those that are held least can: P is zero in its other directions.
"""

from ..arrays import clear
from ..jit import inlined, njit
from ..unchecked import peek, poke
from ..vec import add_scaled, dot, load3, matvec, matvec_t, scale, sub
from .block import load_3x3, product, subtract_product_t
from .block_matrix import add_block, load_3, store_3
from .ldl import solve
from .ssor import RELAXATION, fixed_part, inverse_of, load_symmetric, project, store_symmetric


@inlined
def transposed(m):
    return (m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8])


@njit
def times_free(m, held, by):
    """m S with the projection of a record, m where there is none."""
    if by < 0:
        return m
    fixed, u = held[by].fixed, load3(held[by].direction)
    a, b, c = (m[0], m[1], m[2]), (m[3], m[4], m[5]), (m[6], m[7], m[8])
    a, b, c = sub(a, fixed_part(fixed, u, a)), sub(b, fixed_part(fixed, u, b)), sub(c, fixed_part(fixed, u, c))
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


@inlined
def free_times(m, held, by):
    """S m."""
    return transposed(times_free(transposed(m), held, by))


@inlined
def scaled(factor, m):
    a, b, c = scale(factor, (m[0], m[1], m[2])), scale(factor, (m[3], m[4], m[5])), scale(factor, (m[6], m[7], m[8]))
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


@njit
def prepare(matrix, held, space, work):
    """H and the factors of A_c. Returns False where A_c is not positive definite; then A is not."""
    find_leaders(held, space, work)
    clear(work.h)
    clear(work.values)
    for i in range(space.patch.shape[0]):
        spread_row(matrix, held, space, work, i)
        gather_row(matrix, held, space, work, i)
    return factor(space, work.values, work.lower)


@njit
def find_leaders(held, space, work):
    """Of each patch without a free node the record that fixes the fewest directions."""
    unknown = -2
    for i in range(work.held_by.shape[0]):
        work.held_by[i] = -1
    for i in range(work.led_by.shape[0]):
        work.led_by[i] = unknown
    for k in range(held.shape[0]):
        if work.held_by.shape[0] > 0:
            work.held_by[held[k].node] = k
    for i in range(space.patch.shape[0]):
        by, leader = work.held_by[i], work.led_by[space.patch[i]]
        if by < 0 or leader == unknown or (leader >= 0 and held[by].fixed < held[leader].fixed):
            work.led_by[space.patch[i]] = by


@njit
def spread_row(matrix, held, space, work, i):
    """Row i of (U + (ω − 1) D̃) W, to the left of which S is missing."""
    diagonal = matrix.starts[i]
    for e in range(diagonal, matrix.starts[i + 1]):
        m = load_3x3(matrix.values, 9 * e)
        if e == diagonal:
            m = scaled((RELAXATION - 1.0) / RELAXATION, m)
        add_block(work.h, 2 * space.slots[e], times_free(m, held, work.held_by[matrix.columns[e]]))


@njit
def gather_row(matrix, held, space, work, i):
    """Complete row i of H, and add what it and D̃ give to A_c, whose diagonal gets something where P is zero."""
    by, leader = work.held_by[i], work.led_by[space.patch[i]]
    own = space.slots[matrix.starts[i]]
    for k in range(space.starts[i], space.starts[i + 1]):
        m = free_times(times_free(load_3x3(work.h, 9 * k), held, work.led_by[space.columns[k]]), held, by)
        for at in range(9):
            poke(work.h, 9 * k + at, m[at])
        m = free_times(m, held, leader)
        add_block(work.values, space.targets[k], m)
        if k == own:
            add_block(work.values, space.targets[k], transposed(m))
    d = scaled(2.0 / RELAXATION - 1.0, load_3x3(matrix.values, 9 * matrix.starts[i]))
    m = times_free(times_free(d, held, by), held, leader)
    add_block(work.values, space.targets[own], free_times(free_times(m, held, by), held, leader))
    if leader >= 0:
        size = d[0] + d[4] + d[8]
        one = (size, 0.0, 0.0, 0.0, size, 0.0, 0.0, 0.0, size)
        add_block(work.values, space.targets[own], one)
        add_block(work.values, space.targets[own], scaled(-1.0, times_free(one, held, leader)))


@njit
def factor(space, values, lower):
    """`ldl.factor` of a definite matrix whose blocks are 3×3; whether it is one."""
    for k in range(space.pivots.shape[0]):
        column = space.pivots[k]
        inverse, definite = inverse_of(load_symmetric(values, column.pivot))
        if not definite:
            return False
        store_symmetric(values, column.pivot, inverse, 1.0)
        for e in range(column.first, column.last):
            o = space.below[e].offset
            product(lower, o, values, o, values, column.pivot, 3, 3)
        for u in range(column.first_update, column.last_update):
            update = space.updates[u]
            subtract_product_t(values, update.target, lower, update.left, 3, values, update.right, 3, 3)
    return True


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


@njit
def coarse_direction(held, space, work, inverse, w, z):
    """c ← A_c⁻¹ ((A W)ᵀ z − Wᵀ r)."""
    clear(work.c)
    for i in range(space.patch.shape[0]):
        w_i = load_3(w, 3 * i)
        v = sub(load_3(z, 3 * i), matvec(load_3x3(inverse, 9 * i), w_i))
        add_3(work.c, 3 * space.patch[i], scale(RELAXATION - 1.0, w_i))
        for k in range(space.starts[i], space.starts[i + 1]):
            add_3(work.c, 3 * space.columns[k], matvec_t(load_3x3(work.h, 9 * k), v))
    solve_coarse(held, space, work)


@njit
def advance(space, work, held, beta, z, t, e, g):
    """t ← z − W c + β t and e ← g − H c + β e, also in g."""
    patched = space.pivots.shape[0] > 0
    for i in range(t.shape[0] // 3):
        t_i, e_i = load_3(z, 3 * i), load_3(g, 3 * i)
        if patched:
            t_i = sub(t_i, load_3(work.c, 3 * space.patch[i]))
            for k in range(space.starts[i], space.starts[i + 1]):
                e_i = sub(e_i, matvec(load_3x3(work.h, 9 * k), load_3(work.c, 3 * space.columns[k])))
        e_i = add_scaled(e_i, beta, load_3(e, 3 * i))
        store_3(t, 3 * i, add_scaled(t_i, beta, load_3(t, 3 * i)))
        store_3(e, 3 * i, e_i)
        store_3(g, 3 * i, e_i)
    project(held, t)
