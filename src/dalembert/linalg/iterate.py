"""Preparing and solving A x = b by an iterative method, as one C function: the matrix is handed over, scaled, its
preconditioner made; then any number of right-hand sides.

A method stops by the residual that it keeps up to date itself, which rounding takes away from the true one. So that is
computed at the end, and what is left of it is solved for anew, as long as it falls: which also sets BiCGSTAB
going again where it broke down, with another r̂.
"""

import math

import numpy as np

from ..arrays import clear, copy
from ..jit import CFunction, njit
from ..pointer import C_SIGNATURE, part_of, viewer
from ..tables import table_at
from ..unchecked import peek, poke
from .iterative_scale import find_scale
from .iterative_tables import (
    AGAIN,
    BICGSTAB,
    BLOCK_JACOBI,
    CONJUGATE_GRADIENT,
    DIVERGED,
    GAUSS_SEIDEL,
    INCOMPLETE,
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
)
from .krylov import bicgstab, conjugate_gradient, minres, multiply, norm
from .precondition import factor_blocks, factor_incomplete
from .stationary import gauss_seidel, jacobi, relaxation

PROGRESS = 0.9  # what is solved for anew must leave less than this of the residual


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
        poke(b, i, peek(b, i) * peek(scale, i))
        poke(x, i, peek(before, i) / peek(scale, i) if again and iteration.warm != 0 else 0.0)
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
        poke(x, i, peek(x, i) * peek(scale, i))
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
            poke(x, i, peek(x, i) + peek(d, i))
        now = true_residual(tables)
        if not now <= left and (status != TOO_FEW or not now < math.inf):  # worse than before, or not a number
            for i in range(x.shape[0]):
                poke(x, i, peek(x, i) - peek(d, i))
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
        poke(r, i, peek(b, i) - peek(r, i))
    return norm(r)


@njit
def perform(task, given, found, tables):
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
    return perform(task, _floats(given, n), _floats(found, m), table_at(Iterative, data))


COMPILED = CFunction(iterate, C_SIGNATURE)
