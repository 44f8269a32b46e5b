"""Jamming: constraints that no velocities satisfy, because what moves by command presses against what does not give way.

The impulses z of the solver then grow with each iteration, and balance ever better on the bodies between. With the slip
|u_t| of the iterate, the law asks for û = J w + b with b = (bias + μ |u_t|) e_n + offset in the dual cone, so that for all
impulses z of the friction cones, and multipliers λ of rows that are equations or stops,

    0 ≤ Σ z · û + Σ λ (g w − target) = (Jᵀ z + gᵀ λ) · w + c,      c = z · b − λ · target,

    and so      |w|_M ≥ −c / |Jᵀ z + gᵀ λ|_W,     W = M⁻¹.

If this speed is many times that of what moves, no solution is near, and more iterations do not find one.
"""

import math

from ..core.jit import njit
from ..core.math3 import add, dot, load3, norm
from ..core.simd import load, store
from .cone import tangent_norm
from .cone_iterate import is_fixed, load_best
from .cone_problem import LEFT, POINT, contact_rate, push_contact, push_row

JAMMED = 100.0  # times the speeds of the step, in the metric of masses: such bodies cannot give way


@njit
def is_jammed(problem):
    """Whether the best impulses so far show that no velocities near those of the step satisfy the constraints. The iterate
    becomes the best."""
    step, vectors = problem.step[0], problem.vectors
    load_best(problem)
    base, closing, given = LEFT * step.speeds, 0.0, 0.0
    for k in range(step.speeds):
        store(vectors, base + k, 0.0)
    for i in range(step.contacts):
        cone = problem.cones[i]
        if not cone.compliance > 0.0:
            continue
        z, offset = load3(cone.p), load3(cone.offset)
        slip = tangent_norm(add(contact_rate(cone, problem, vectors, POINT), offset))
        closing -= dot(z, offset) + z[0] * (cone.bias + cone.friction * slip)
        given = max(given, (norm(offset) + max(0.0, -cone.bias)) / math.sqrt(cone.compliance))
        push_contact(cone, z, problem, vectors, base)
    for i in range(step.rows):
        row = problem.rows[i]
        if is_fixed(row) or row.compliance > 0.0:
            continue
        if (row.least == -math.inf or row.least == 0.0) and (row.most == math.inf or row.most == 0.0):
            closing += row.force * row.target
            given = max(given, abs(row.target) / math.sqrt(row.response))
            push_row(row, row.force, problem, vectors, base)
    if not closing > 0.0:
        return False
    of_impulses = square_of(problem, problem.inverses, base)
    known = max(given * given, square_of(problem, problem.masses, POINT))
    return closing * closing > JAMMED * JAMMED * known * of_impulses


@njit
def square_of(problem, matrices, at):
    """x · B x of the vector at `at` with the blocks B: masses or their inverses."""
    value = 0.0
    for i in range(problem.step[0].blocks):
        block = problem.blocks[i]
        for r in range(block.speeds):
            row = 0.0
            for k in range(block.speeds):
                row += load(matrices, block.mass + r * block.speeds + k) * load(problem.vectors, at + block.first + k)
            value += load(problem.vectors, at + block.first + r) * row
    return value
