"""The iterate of the converging solver: initial values, the best iterate so far, and rows without bounds."""

import math

from ..core.jit import njit
from ..core.math3 import load3, norm, store3
from ..core.simd import load, store
from .cone import project_coulomb
from .cone_problem import (
    HUGE,
    POINT,
    SAVED,
    add_responses,
    balance,
    evaluate,
    invert_masses,
    own_response,
    typical_speed,
)

LEAST_RESPONSE = 1e-13  # of 1/M: a contact or row that responds less is one that the blocks cannot move


@njit
def prepare(problem):
    """Compliances, responses and the typical speed. Returns whether the input is finite and the masses are positive."""
    step = problem.step[0]
    if not invert_masses(problem):
        return False
    check, sliding = 0.0, 0.0
    for k in range(step.speeds):
        check += abs(load(problem.speeds, k))
    for i in range(step.contacts):
        cone = problem.cones[i]
        cone.compliance = own_response(problem, cone.blocks, cone.at, 0)
        check += norm(load3(cone.offset))
        if step.warm == 0:
            store3(cone.impulse, (0.0, 0.0, 0.0))
        check += cone.compliance + abs(cone.bias) + cone.friction + norm(load3(cone.impulse))
        sliding = max(sliding, cone.friction)
    for i in range(step.rows):
        row = problem.rows[i]
        row.response = own_response(problem, row.blocks, row.at, 0)
        if step.warm == 0:
            row.impulse = 0.0
        row.impulse = min(row.most, max(row.least, row.impulse))
        check += row.response + abs(row.target) + row.compliance + abs(row.impulse)
    set_start(problem)
    step.speed = typical_speed(problem)
    step.tolerance = max(step.tolerance, step.relative * step.speed)
    step.symmetric = 1 if sliding == 0.0 else 0
    step.residual = HUGE
    return check + step.speed < HUGE


@njit
def set_start(problem):
    """w_free, and the iterate of a warm start: its impulses and the speeds with them."""
    step, vectors = problem.step[0], problem.vectors
    for i in range(step.contacts):
        cone = problem.cones[i]
        store3(cone.p, project_coulomb(load3(cone.impulse), cone.friction))
    for i in range(step.rows):
        problem.rows[i].force = problem.rows[i].impulse
    for k in range(step.speeds):
        store(problem.free, k, load(problem.speeds, k))
        store(vectors, POINT + k, load(problem.speeds, k))
    if step.warm != 0:
        add_responses(problem, 1.0, vectors)  # the iterate is the first of the vectors


@njit
def needs_impulses(problem):
    """Whether the law does not hold with no impulses at all; if it does, that is the solution. Else the iterate is the
    start."""
    step, vectors = problem.step[0], problem.vectors
    for i in range(step.contacts):
        store3(problem.cones[i].p, (0.0, 0.0, 0.0))
    for i in range(step.rows):
        row = problem.rows[i]
        row.force = min(row.most, max(row.least, 0.0))
        if row.force != 0.0:
            set_start(problem)
            return True
    for k in range(step.speeds):
        store(vectors, POINT + k, load(problem.free, k))
    residual = evaluate(problem)
    if residual <= step.tolerance:
        store_best(problem, residual)
        return False
    set_start(problem)
    return True


CONSISTENT = 0.01  # of the tolerance: an imbalance that changes no residual by more than a few such parts

ROUNDED = 1e-15  # of what an impulse changes a speed by: so much is rounding


@njit
def store_best(problem, residual):
    """Write the iterate, which has this residual, to the outputs if it is the best so far: its impulses, with the speeds that
    they give, w_free + M⁻¹ (Jᵀ p + gᵀ λ), and the residual of these; or its own speeds where they are as good as the same,
    and only rounding of large impulses is between them. The iterate stays; rates become those of the speeds that the impulses
    give."""
    step, vectors = problem.step[0], problem.vectors
    if not residual < step.residual:
        return
    largest = 0.0
    for i in range(step.contacts):
        largest = max(largest, problem.cones[i].compliance * problem.cones[i].p[0])
    is_consistent = balance(problem) <= max(CONSISTENT * step.tolerance, ROUNDED * largest)
    for k in range(step.speeds):
        store(vectors, SAVED * step.speeds + k, load(vectors, POINT * step.speeds + k))
        store(vectors, POINT * step.speeds + k, load(problem.free, k))
    add_responses(problem, 1.0, vectors)  # POINT is the first
    of_impulses = evaluate(problem)
    as_it_is = is_consistent and residual < of_impulses
    if not as_it_is and of_impulses < step.residual:
        step.residual = of_impulses
        copy_to_outputs(problem)
    for k in range(step.speeds):
        store(vectors, POINT * step.speeds + k, load(vectors, SAVED * step.speeds + k))
    if as_it_is:
        step.residual = residual
        copy_to_outputs(problem)


@njit
def copy_to_outputs(problem):
    """The iterate becomes the output."""
    step = problem.step[0]
    for k in range(step.speeds):
        store(problem.speeds, k, load(problem.vectors, POINT * step.speeds + k))
    for i in range(step.contacts):
        store3(problem.cones[i].impulse, load3(problem.cones[i].p))
    for i in range(step.rows):
        problem.rows[i].impulse = problem.rows[i].force


@njit
def load_best(problem):
    """The iterate becomes the best so far. Returns its residual."""
    step = problem.step[0]
    for k in range(step.speeds):
        store(problem.vectors, POINT * step.speeds + k, load(problem.speeds, k))
    for i in range(step.contacts):
        store3(problem.cones[i].p, load3(problem.cones[i].impulse))
    for i in range(step.rows):
        problem.rows[i].force = problem.rows[i].impulse
    return evaluate(problem)


@njit
def is_equation(row):
    """Whether a row has no bounds."""
    return row.least == -math.inf and row.most == math.inf


@njit
def is_fixed(row):
    """Whether the impulse of a row is given, or nothing moves along it."""
    return not row.most > row.least or not row.response > 0.0


EQUATION = (
    1e-9  # regularization of rows without bounds, over their response: multipliers follow in every step, so it is exact
)


@njit
def soften_equation(row):
    """k and f of a row without bounds."""
    row.stiffness = 1.0 / (EQUATION * row.response + row.compliance)
    row.f = -row.error * row.stiffness
