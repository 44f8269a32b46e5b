"""Iterative methods for A x = b: Krylov methods, stationary iterations, and the C function that prepares and solves.

Each method solves A d = r from d = 0: it changes r and d of the tables, iterates until the 2-norm of its own residual is at
most `goal`, and returns a status.
"""

import math

import numpy as np

from ..core.c_function import C_SIGNATURE, part_of, viewer
from ..core.jit import CFunction, njit
from ..core.simd import clear, copy, load, store
from ..core.tables import table_at
from .precondition import (
    AGAIN,
    BICGSTAB,
    BLOCK_JACOBI,
    CONJUGATE_GRADIENT,
    DIVERGED,
    GAUSS_SEIDEL,
    INCOMPLETE,
    INDEFINITE,
    INDEFINITE_PRECONDITIONER,
    JACOBI,
    MINRES,
    NO_SHADOW,
    NO_STABILIZER,
    NOT_FINITE,
    PREPARE,
    SOLVED,
    STALLED,
    TOO_FEW,
    UNSCALED,
    ZERO_ROW,
    Iterative,
    factor_blocks,
    factor_incomplete,
    find_scale,
    precondition,
    solve_block,
)

VANISHED = 1e-15  # relative: a smaller product of vectors is rounding


@njit
def multiply(tables, x, y):
    """y = A x."""
    starts, columns, values = tables.starts, tables.columns, tables.values
    for i in range(x.shape[0]):
        s = 0.0
        for e in range(starts[i], starts[i + 1]):
            s += load(values, e) * load(x, columns[e])
        store(y, i, s)


@njit
def inner(a, b):
    """a · b."""
    s = 0.0
    for i in range(a.shape[0]):
        s += load(a, i) * load(b, i)
    return s


@njit
def norm(a):
    """|a|."""
    return math.sqrt(inner(a, a))


@njit
def add_multiple(y, factor, x):
    """y += factor x."""
    for i in range(y.shape[0]):
        store(y, i, load(y, i) + factor * load(x, i))


@njit
def turn(p, beta, z):
    """p ← z + β p: the next direction of conjugate gradients."""
    for i in range(p.shape[0]):
        store(p, i, load(z, i) + beta * load(p, i))


@njit
def bicgstab(tables, goal, turned):
    """H. van der Vorst, "Bi-CGSTAB", SIAM J. Sci. Stat. Comput. 13, 1992, preconditioned from the right, so that r is the
    residual itself. It breaks down where ρ = r̂·r or ω vanish: `NO_SHADOW`, `NO_STABILIZER`.

    r̂ is the first r. Where that broke down as r·B r = 0, with B = A M⁻¹, `turned` makes it r + (|r| / |B r|) B r, for which
    neither r̂·r nor r̂·B r vanishes.
    """
    iteration = tables.iteration[0]
    r, d, work = tables.r, tables.d, tables.work
    n = r.shape[0]
    shadow, p, v = part_of(work, 0, n), part_of(work, n, n), part_of(work, 2 * n, n)
    z, t = part_of(work, 3 * n, n), part_of(work, 4 * n, n)
    size = norm(r)
    copy(shadow, r)
    if turned:
        precondition(tables, r, z)
        multiply(tables, z, v)
        add_multiple(shadow, size / norm(v), v)
    clear(d)
    clear(p)
    clear(v)
    rho, alpha, omega = 1.0, 1.0, 1.0
    reach = norm(shadow)
    while not size <= goal:
        if iteration.iterations >= iteration.most:
            return TOO_FEW
        following = inner(shadow, r)
        if not abs(following) > VANISHED * reach * size:
            return NO_SHADOW
        beta = following / rho * (alpha / omega)
        rho = following
        for i in range(n):
            store(p, i, load(r, i) + beta * (load(p, i) - omega * load(v, i)))
        iteration.iterations += 1
        precondition(tables, p, z)
        multiply(tables, z, v)
        across = inner(shadow, v)
        if not abs(across) > VANISHED * reach * norm(v):
            return NO_SHADOW
        alpha = rho / across
        add_multiple(d, alpha, z)
        add_multiple(r, -alpha, v)
        size = norm(r)
        if size <= goal:
            break
        precondition(tables, r, z)
        multiply(tables, z, t)
        square, along = inner(t, t), inner(t, r)
        if not abs(along) > VANISHED * math.sqrt(square) * size:
            return NO_STABILIZER
        omega = along / square
        add_multiple(d, omega, z)
        add_multiple(r, -omega, t)
        size = norm(r)
    return SOLVED


@njit
def conjugate_gradient(tables, goal):
    """M. Hestenes, E. Stiefel, 1952, for symmetric positive definite A; semidefinite where r is in its range."""
    iteration = tables.iteration[0]
    r, d, work = tables.r, tables.d, tables.work
    n = r.shape[0]
    p, q, z = part_of(work, 0, n), part_of(work, n, n), part_of(work, 2 * n, n)
    clear(d)
    clear(p)
    last = 1.0
    while not norm(r) <= goal:
        if iteration.iterations >= iteration.most:
            return TOO_FEW
        precondition(tables, r, z)
        square = inner(r, z)
        if not square > 0.0:
            return INDEFINITE_PRECONDITIONER
        turn(p, square / last, z)
        iteration.iterations += 1
        multiply(tables, p, q)
        curvature = inner(p, q)
        if not curvature > 0.0:
            return INDEFINITE
        add_multiple(d, square / curvature, p)
        add_multiple(r, -square / curvature, q)
        last = square
    return SOLVED


@njit
def minres(tables, goal):
    """C. Paige, M. Saunders, "Solution of sparse indefinite systems of linear equations", SIAM J. Numer. Anal. 12, 1975, for
    symmetric A and definite M: the Lanczos vectors v, of length one in the norm of M⁻¹, make A tridiagonal, and Givens
    rotations (c, s) make that triangular. The norm that it lessens is that of M⁻¹."""
    iteration = tables.iteration[0]
    r, d, work = tables.r, tables.d, tables.work
    n = r.shape[0]
    older, y, v = part_of(work, 0, n), part_of(work, n, n), part_of(work, 2 * n, n)
    w, w_1, w_2 = part_of(work, 3 * n, n), part_of(work, 4 * n, n), part_of(work, 5 * n, n)
    clear(d)
    clear(older)
    clear(w)
    clear(w_1)
    size = norm(r)
    if size <= goal:
        return SOLVED
    precondition(tables, r, y)
    beta = inner(r, y)
    if not beta > 0.0:
        return INDEFINITE_PRECONDITIONER
    beta = math.sqrt(beta)
    left, enough = beta, goal / size * beta
    before, epsilon, along, c, s = 1.0, 0.0, 0.0, -1.0, 0.0
    while left > enough:
        if iteration.iterations >= iteration.most:
            return TOO_FEW
        iteration.iterations += 1
        for i in range(n):
            store(v, i, load(y, i) / beta)
        multiply(tables, v, y)
        add_multiple(y, -beta / before, older)
        alpha = inner(v, y)
        add_multiple(y, -alpha / beta, r)
        copy(older, r)
        copy(r, y)
        precondition(tables, r, y)
        before = beta
        beta = inner(r, y)
        if beta < 0.0:
            return INDEFINITE_PRECONDITIONER
        beta = math.sqrt(beta)
        previous = epsilon
        delta = c * along + s * alpha
        turned = s * along - c * alpha
        epsilon = s * beta
        along = -c * beta
        gamma = math.sqrt(turned * turned + beta * beta)
        if not gamma > 0.0:
            return INDEFINITE
        c, s = turned / gamma, beta / gamma
        copy(w_2, w_1)
        copy(w_1, w)
        for i in range(n):
            store(w, i, (load(v, i) - previous * load(w_2, i) - delta * load(w_1, i)) / gamma)
        add_multiple(d, c * left, w)
        left *= s
        if beta <= VANISHED * left:
            break
    return SOLVED


# Gauss–Seidel and Jacobi iterations for A d = r from d = 0, block by block of the diagonal; as in `krylov` -------------


GROWTH = 1e6  # of the residual over its smallest: the iteration diverges


@njit
def gauss_seidel(tables, goal):
    """Each block of rows is solved for its own unknowns, with the newest of all others. It converges where A is symmetric
    positive definite, or dominated by its diagonal. The residual is that which each block is found with."""
    iteration = tables.iteration[0]
    r, d = tables.r, tables.d
    starts, columns, values, blocks = tables.starts, tables.columns, tables.values, tables.blocks
    n = r.shape[0]
    change = part_of(tables.work, 0, n)
    clear(d)
    least = math.inf
    while True:
        if iteration.iterations >= iteration.most:
            return TOO_FEW
        iteration.iterations += 1
        square = 0.0
        for k in range(tables.block_starts.shape[0]):
            for i in range(blocks[k], blocks[k + 1]):
                s = load(r, i)
                for e in range(starts[i], starts[i + 1]):
                    s -= load(values, e) * load(d, columns[e])
                store(change, i, s)
                square += s * s
            solve_block(tables, k, change)
            for i in range(blocks[k], blocks[k + 1]):
                store(d, i, load(d, i) + load(change, i))
        size = math.sqrt(square)
        if size <= goal:
            return SOLVED
        least = min(least, size)
        if not size <= GROWTH * least:
            return DIVERGED


@njit
def jacobi(tables, goal):
    """d += ω D⁻¹ (r − A d), for all blocks at once; ω is 1 unless `relaxation` finds that this may diverge."""
    iteration = tables.iteration[0]
    r, d = tables.r, tables.d
    n = r.shape[0]
    change, turned = part_of(tables.work, 0, n), part_of(tables.work, n, n)
    clear(d)
    size = norm(r)
    least = size
    while not size <= goal:
        if iteration.iterations >= iteration.most:
            return TOO_FEW
        iteration.iterations += 1
        copy(change, r)
        for k in range(tables.block_starts.shape[0]):
            solve_block(tables, k, change)
        for i in range(n):
            store(change, i, iteration.relaxation * load(change, i))
            store(d, i, load(d, i) + load(change, i))
        multiply(tables, change, turned)
        for i in range(n):
            store(r, i, load(r, i) - load(turned, i))
        size = norm(r)
        least = min(least, size)
        if not size <= GROWTH * least:
            return DIVERGED
    return SOLVED


@njit
def relaxation(tables):
    """ω of Jacobi's iteration. For symmetric positive definite A it converges where ω times the largest eigenvalue of
    D⁻¹ A is below 2; no eigenvalue is above the largest sum ρ of sizes in a row of D⁻¹ A. So 1 where ρ < 2, else 2 / (1 + ρ).
    """
    starts, columns, values, blocks = tables.starts, tables.columns, tables.values, tables.blocks
    column, sums = part_of(tables.work, 0, tables.r.shape[0]), tables.r
    clear(sums)
    bound = 0.0
    for k in range(tables.block_starts.shape[0]):
        first, last = blocks[k], blocks[k + 1]
        # The columns that the rows of a block have entries in are those of its first row, and of others where they differ.
        for lead in range(first, last):
            for e in range(starts[lead], starts[lead + 1]):
                j = columns[e]
                if lead > first and _stored(starts, columns, first, lead, j):
                    continue
                for i in range(first, last):
                    column[i] = 0.0
                    for f in range(starts[i], starts[i + 1]):
                        if columns[f] == j:
                            column[i] = values[f]
                solve_block(tables, k, column)
                for i in range(first, last):
                    sums[i] += abs(column[i])
        for i in range(first, last):
            bound = max(bound, sums[i])
    return 1.0 if bound < 2.0 else 2.0 / (1.0 + bound)


@njit
def _stored(starts, columns, first, last, j):
    """Whether any of these rows has an entry in column j."""
    for i in range(first, last):
        for e in range(starts[i], starts[i + 1]):
            if columns[e] == j:
                return True
    return False


# The C function of a solver --------------------------------------------------------------------------------------------
#
# Preparing and solving A x = b by an iterative method, as one C function: the matrix is copied, scaled, its
# preconditioner made; then any number of right-hand sides.
#
# A method stops by the residual that it keeps up to date itself, which rounding takes away from the true one. So that is
# computed at the end, and what is left of it is solved for anew, as long as it falls: which also sets BiCGSTAB going again
# where it broke down, with another r̂.


PROGRESS = 0.9  # a new start must reduce the residual at least to this share


@njit
def prepare(given, tables):
    """Take the matrix from `given`, scale it, and make what the method needs of it. Returns a status; `row` says where."""
    iteration = tables.iteration[0]
    starts, source, values, sizes = tables.starts, tables.source, tables.values, tables.sizes
    for i in range(tables.diagonal.shape[0]):
        largest = 0.0
        for e in range(starts[i], starts[i + 1]):
            values[e] = given[source[e]]
            sizes[e] = abs(values[e])
            if not sizes[e] < math.inf:
                iteration.row = i
                return NOT_FINITE
            largest = max(largest, sizes[e])
        if largest == 0.0:
            iteration.row = i
            return ZERO_ROW
    if iteration.scaling != UNSCALED:
        find_scale(tables)
        scale, columns = tables.scale, tables.columns
        for i in range(scale.shape[0]):
            for e in range(starts[i], starts[i + 1]):
                values[e] *= scale[i] * scale[columns[e]]
    method = iteration.method
    status = SOLVED
    stationary = method >= GAUSS_SEIDEL
    if stationary or iteration.preconditioner == BLOCK_JACOBI:
        status = factor_blocks(tables)
    elif iteration.preconditioner == INCOMPLETE:
        factor_incomplete(tables)
    if status == SOLVED and method == JACOBI:
        iteration.relaxation = relaxation(tables)
    return status


@njit
def solve(tables, again):
    """x with A x = b, from zero or from the solution before. Returns a status; the residual is relative to b, as scaled."""
    iteration = tables.iteration[0]
    b, x, scale, before = tables.b, tables.x, tables.scale, tables.before
    n = b.shape[0]
    for i in range(n):
        store(b, i, load(b, i) * load(scale, i))
        store(x, i, load(before, i) / load(scale, i) if again and iteration.warm != 0 else 0.0)
    size = norm(b)
    iteration.iterations = 0
    status = SOLVED
    if size == 0.0:
        clear(x)
        left = 0.0
    else:
        left = true_residual(tables)
        if not left < size:  # a start from the last solution that is no better than zero
            clear(x)
            left = true_residual(tables)
        status = refine(tables, left, iteration.tolerance * size)
        left = norm(tables.r) / size
    for i in range(n):
        store(x, i, load(x, i) * load(scale, i))
    if again:
        copy(before, x)
    if not left < math.inf:
        status = NOT_FINITE
    iteration.status = status
    iteration.residual = left
    iteration.solves += 1
    iteration.all_iterations += iteration.iterations
    iteration.worst = max(iteration.worst, left)
    if not left <= iteration.tolerance:
        iteration.unsolved += 1
    return status


@njit
def refine(tables, left, goal):
    """Solve for what is left of the residual until it is within the goal, or falls no more; r is the true one at the end."""
    iteration, x, d = tables.iteration[0], tables.x, tables.d
    turned = False
    while not left <= goal:
        status = run(tables, goal, turned)
        for i in range(x.shape[0]):
            store(x, i, load(x, i) + load(d, i))
        now = true_residual(tables)
        if not now <= left and (status != TOO_FEW or not now < math.inf):  # worse than before, or not a number
            for i in range(x.shape[0]):
                store(x, i, load(x, i) - load(d, i))
            if now < math.inf:
                now = true_residual(tables)
        if now <= goal:
            return SOLVED
        broke = status == NO_SHADOW or status == NO_STABILIZER  # noqa: SIM109 - compiled
        fell = now <= PROGRESS * left or (broke and not turned)
        if not fell or status == DIVERGED or iteration.iterations >= iteration.most:
            return STALLED if status == SOLVED else status
        left, turned = now, broke
    return SOLVED


@njit
def run(tables, goal, turned):
    """The method of the options, once. Returns its status."""
    method = tables.iteration[0].method
    if method == BICGSTAB:
        return bicgstab(tables, goal, turned)
    if method == CONJUGATE_GRADIENT:
        return conjugate_gradient(tables, goal)
    if method == MINRES:
        return minres(tables, goal)
    if method == GAUSS_SEIDEL:
        return gauss_seidel(tables, goal)
    return jacobi(tables, goal)


@njit
def true_residual(tables):
    """r = b − A x; returns its norm."""
    b, r = tables.b, tables.r
    multiply(tables, tables.x, r)
    for i in range(r.shape[0]):
        store(r, i, load(b, i) - load(r, i))
    return norm(r)


@njit
def iterate_task(task, given, found, tables):
    """PREPARE: given is what `source` points into. ANEW, AGAIN: given is b, and found becomes x. Returns 0, or a status where
    there is no solution to go on with: any but SOLVED if the solver is `strict`."""
    if task == PREPARE:
        status = prepare(given, tables)
        tables.iteration[0].status = status
        return status
    copy(tables.b, part_of(given, 0, tables.b.shape[0]))
    status = solve(tables, task == AGAIN)
    copy(part_of(found, 0, tables.x.shape[0]), tables.x)
    lost = status == DIVERGED or (status == NOT_FINITE or tables.iteration[0].strict != 0)
    return status if lost else SOLVED


_floats = viewer(np.float64)


def iterate(data, task, t, given, n, found, m):
    return iterate_task(task, _floats(given, n), _floats(found, m), table_at(Iterative, data))


ITERATE_ENTRY = CFunction(iterate, C_SIGNATURE)
