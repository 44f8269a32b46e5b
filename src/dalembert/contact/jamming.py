"""Jamming: constraints that no velocities satisfy, because what moves by command presses against what does not give way.

The impulses z of the solver then grow with each iteration, and balance ever better on the bodies between. With the slip
|u_t| of the iterate, the law asks for û = J w + b with b = (bias + μ |u_t|) e_n + offset in the dual cone, so that for all
impulses z of the friction cones, and multipliers λ of rows that are equations or stops,

    0 ≤ Σ z · û + Σ λ (g w − target) = (Jᵀ z + gᵀ λ) · w + c,      c = z · b − λ · target,

    and so      |w|_M ≥ −c / |Jᵀ z + gᵀ λ|_W,     W = M⁻¹.

If this speed is many times that of what moves, no solution is near, and more iterations do not find one.

Or they find one that is as bad: between two jaws whose faces are parallel but for rounding, the velocities that the law asks
for are those of a body that slips out sideways, at thousands of metres a second. So speeds that exceed all that drive the
step so far are no result. A few sweeps without warm start replace them: bodies overlap as far as the motion makes them, and
the step counts as unsolved.
"""

import math

from ..core.jit import inlined, njit
from ..core.math3 import add, dot, load3, norm, store3
from ..core.simd import load, store
from .cone import tangent_norm
from .cone_iterate import is_fixed, load_best, store_best
from .cone_multipliers import sweep_contacts
from .cone_problem import HUGE, LEFT, POINT, contact_rate, evaluate, push_contact, push_row

JAMMED = 100.0  # times the speeds of the step, in the metric of masses: such bodies cannot give way
ESCAPES = 1e3  # times all speeds that drive the step, likewise: what gives way so fast is no result
HELD = 20  # sweeps in place of such a result


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


@njit
def escapes(problem):
    """Whether the speeds of the result, which is the iterate, exceed by far all that drive the step: those without impulses
    and those that contacts and rows ask for."""
    step, vectors, driven = problem.step[0], problem.vectors, 0.0
    for i in range(step.contacts):
        cone = problem.cones[i]
        if cone.compliance > 0.0:
            driven += (norm(load3(cone.offset)) + abs(cone.bias)) / math.sqrt(cone.compliance)
    for i in range(step.rows):
        row = problem.rows[i]
        if not is_fixed(row):
            driven += abs(row.target) / math.sqrt(row.response)
            driven += math.sqrt(row.response) * max(bounded(row.least), bounded(row.most))
    base = LEFT * step.speeds
    for k in range(step.speeds):
        store(vectors, base + k, load(problem.free, k))
    driven += math.sqrt(square_of(problem, problem.masses, base))
    return square_of(problem, problem.masses, POINT) > (ESCAPES * driven) ** 2


@inlined
def bounded(bound):
    """The size of a bound of an impulse; 0 of none."""
    return abs(bound) if abs(bound) < math.inf else 0.0


@njit
def hold(problem):
    """A few sweeps without warm start become the result."""
    step = problem.step[0]
    for i in range(step.contacts):
        store3(problem.cones[i].p, (0.0, 0.0, 0.0))
    for i in range(step.rows):
        row = problem.rows[i]
        row.force = min(row.most, max(row.least, 0.0))
    for k in range(step.speeds):
        store(problem.vectors, POINT * step.speeds + k, load(problem.free, k))
    step.residual = HUGE
    store_best(problem, evaluate(problem))
    sweep_contacts(HELD, problem)
