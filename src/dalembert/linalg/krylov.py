"""Krylov methods for A d = r from d = 0: BiCGSTAB, conjugate gradients, MINRES. Each changes r and d of the tables, goes on
until the residual is down to `goal` in the 2-norm, as the method itself reckons it, and returns a status."""

import math

from ..arrays import clear, copy
from ..jit import njit
from ..pointer import part_of
from ..unchecked import peek, poke
from .iterative_tables import INDEFINITE, INDEFINITE_PRECONDITIONER, NO_SHADOW, NO_STABILIZER, SOLVED, TOO_FEW
from .precondition import precondition

VANISHED = 1e-15  # relative: of a product of vectors that is nothing but rounding


@njit
def multiply(tables, x, y):
    """y = A x."""
    starts, columns, values = tables.starts, tables.columns, tables.values
    for i in range(x.shape[0]):
        s = 0.0
        for e in range(starts[i], starts[i + 1]):
            s += peek(values, e) * peek(x, columns[e])
        poke(y, i, s)


@njit
def inner(a, b):
    s = 0.0
    for i in range(a.shape[0]):
        s += peek(a, i) * peek(b, i)
    return s


@njit
def norm(a):
    return math.sqrt(inner(a, a))


@njit
def add_multiple(y, factor, x):
    """y += factor x."""
    for i in range(y.shape[0]):
        poke(y, i, peek(y, i) + factor * peek(x, i))


@njit
def turn(p, beta, z):
    """p ← z + β p: the next direction of conjugate gradients."""
    for i in range(p.shape[0]):
        poke(p, i, peek(z, i) + beta * peek(p, i))


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
            poke(p, i, peek(r, i) + beta * (peek(p, i) - omega * peek(v, i)))
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
            poke(v, i, peek(y, i) / beta)
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
            poke(w, i, (peek(v, i) - previous * peek(w_2, i) - delta * peek(w_1, i)) / gamma)
        add_multiple(d, c * left, w)
        left *= s
        if beta <= VANISHED * left:
            break
    return SOLVED
