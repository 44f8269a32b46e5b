"""The converging solver of contact with Coulomb friction: interior point, then the method of multipliers with Newton.

Solves a `cone_problem.ConeProblem` with the exact cone and non-penetration in the form of De Saxcé and Feng (1998).

1. From a warm start: the method of multipliers, which needs few steps where little has changed.
2. Else, or where that ends above the tolerance: a primal–dual interior point method, from a point far inside the cones, to a
   residual at which most contacts have found out whether they stick, slide or open; then multipliers from there.

In order: the iterate, the interior point, the method of multipliers, the iteration, its use from Python.
"""

import math

import numpy as np

from ..core.c_function import C_SIGNATURE
from ..core.jit import CFunction, njit
from ..core.math3 import add, dot, load3, norm, scale, store3, sub
from ..core.simd import load, store
from ..core.tables import TableFunction, table_at
from ..linalg.supernodal_analysis import grown
from .cone import (
    UNBOUNDED,
    apply_inverse_scaling,
    apply_scaling,
    apply_spectrum,
    divide,
    product,
    project_coulomb,
    regularized_inverse,
    scaling_point,
    step_to_boundary,
    tangent_norm,
)
from .cone_problem import (
    BLOCKS,
    DIRECTION,
    GRADIENT,
    HUGE,
    NEED_MORE,
    NOT_CONVERGED,
    NOT_FINITE,
    POINT,
    SAVED,
    SOLVED,
    START,
    ConeProblem,
    add_responses,
    add_scaled_direction,
    balance,
    contact_rate,
    direction,
    evaluate,
    factorize,
    find_rates,
    invert_masses,
    judge,
    measure,
    own_response,
    plan_matrix,
    row_rate,
    typical_speed,
)

# The iterate -----------------------------------------------------------------------------------------------------------

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


# Interior point ----------------------------------------------------------------------------------------------------------
#
# With tangents scaled by μ the cone and its dual are the Lorentz cone Q: λ = (p_n, p_t/μ), z = (û_n, μ u_t). The method
# follows the path λ ∘ z = σ e with the scaling of Nesterov and Todd, W z = W⁻¹ λ, and Mehrotra's predictor and corrector (L.
# Vandenberghe, 2010, §5). The derivative of û in the velocities includes that of De Saxcé's μ |u_t| (V. Acary, P. Armand, H.
# M. Nguyen, M. Shpakovych, "Second-order cone programming for frictional contact mechanics using interior point algorithm",
# 2023).
#
# That alone stalls on piles, for two reasons. Where bodies are wedged, impulses are not bounded and the path has no limit: so
# each step is that of a proximal method of multipliers (S. Pougkakiotis, J. Gondzio, "An interior point–proximal method of
# multipliers for convex quadratic programming", 2021), z(w⁺) + δ c (λ⁺ − λ), with δ proportional to σ. And μ |u_t| has a
# kink: beyond it the linear prediction of û_n is too small. What is missing is added to the slack z_n, which stays inside the
# cone by that, as μ |u_t| is convex, and leaves no infeasibility behind.
#
# A row with bounds has the slacks a of λ − least and b of most − λ, and e = a − b.

PROXIMAL, LEAST_PROXIMAL = 0.1, 1e-10  # δ at the start, and at least
TO_BOUNDARY = 0.99  # of the way to the boundary of the cones: the longest step
SECOND_ORDER = 0.1  # length of the predictor from which its second-order term is used
LEAST_CENTRING = 1e-6


@njit
def to_lorentz(mu, u):
    """(u_n, μ u_t): û as z, and λ as p."""
    return (u[0], mu * u[1], mu * u[2])


@njit
def start_inside(problem, factor):
    """At rest, with λ and z on the axes of the cones and the same λ·z everywhere; `factor` pushes it further inside. Returns
    the mean of λ·z."""
    step = problem.step[0]
    n = step.speeds
    for k in range(n):
        store(problem.vectors, POINT * n + k, 0.0)
    stiffness, count = 0.0, 0
    for i in range(step.contacts):
        if problem.cones[i].compliance > 0.0:
            stiffness += 1.0 / problem.cones[i].compliance
            count += 1
    for i in range(step.rows):
        row = problem.rows[i]
        if not (is_equation(row) or is_fixed(row)):
            stiffness += 1.0 / row.response
            count += 1
    unit = factor * max(step.speed * math.sqrt(stiffness / max(count, 1)), largest_load(problem))
    for i in range(step.contacts):
        cone = problem.cones[i]
        root = math.sqrt(cone.compliance)
        store3(cone.slack, (unit * root, 0.0, 0.0))
        store3(cone.force, (unit / root if root > 0.0 else 0.0, 0.0, 0.0))
        store3(cone.p, load3(cone.force))
    for i in range(step.rows):
        start_row(problem.rows[i], unit)
    return unit * unit


@njit
def largest_load(problem):
    """The largest √c p of contacts, with the p that stops the block at one side of it. Where a heavy block meets a light one,
    c is that of the light one, and p that of the heavy one: impulses that begin far below it never get there."""
    step, largest = problem.step[0], 0.0
    for i in range(step.contacts):
        cone = problem.cones[i]
        for side in range(BLOCKS):
            if cone.blocks[side] < 0:
                break
            response, rate = response_of_side(cone.blocks[side], cone.at[side], problem)
            if response > LEAST_RESPONSE * cone.compliance:
                largest = max(largest, math.sqrt(cone.compliance) * abs(rate) / response)
    return largest


@njit
def response_of_side(block_number, at, problem):
    """(n M⁻¹ nᵀ, n w_free) of one block of a contact."""
    block, jacobian = problem.blocks[block_number], problem.jacobian
    size, response, rate = block.speeds, 0.0, 0.0
    for r in range(size):
        turned = 0.0
        for k in range(size):
            turned += load(problem.inverses, block.mass + r * size + k) * load(jacobian, at + k)
        response += load(jacobian, at + r) * turned
        rate += load(jacobian, at + r) * load(problem.free, block.first + r)
    return response, rate


@njit
def start_row(row, unit):
    """The same of a row: half-way between its bounds, or inside the one that it has."""
    if is_equation(row) or is_fixed(row):
        row.force = 0.0 if is_equation(row) else min(row.most, max(row.least, 0.0))
        return
    inside = unit / math.sqrt(row.response)
    inside = min(inside, 0.5 * (row.most - row.least))
    row.force = row.least + inside if row.least > -math.inf else row.most - inside
    row.lower = unit * unit / (row.force - row.least) if row.least > -math.inf else 0.0
    row.upper = unit * unit / (row.most - row.force) if row.most < math.inf else 0.0


@njit
def scale_cones(problem):
    """W, K and the right-hand side of the predictor."""
    step = problem.step[0]
    for i in range(step.contacts):
        cone = problem.cones[i]
        if cone.compliance == 0.0:
            continue
        slack, mu, u = load3(cone.slack), cone.friction, load3(cone.u)
        beta, w = scaling_point(slack, load3(cone.force))
        cone.beta = beta
        store3(cone.w, w)
        cone.slip = tangent_norm(u)
        cone.sliding[0] = u[1] / cone.slip if cone.slip > 0.0 else 0.0
        cone.sliding[1] = u[2] / cone.slip if cone.slip > 0.0 else 0.0
        spectrum = regularized_inverse(beta, w, step.regularization * cone.compliance)
        for k in range(5):
            cone.d[k] = spectrum[k]
        a, b = cone.sliding[0], cone.sliding[1]
        set_column(cone, 0, to_lorentz(mu, apply_spectrum(spectrum, (1.0, 0.0, 0.0))))
        set_column(cone, 1, to_lorentz(mu, apply_spectrum(spectrum, (mu * a, mu, 0.0))))
        set_column(cone, 2, to_lorentz(mu, apply_spectrum(spectrum, (mu * b, 0.0, mu))))
        aim_cone(cone, scale(-1.0, slack))
    for i in range(step.rows):
        scale_row(problem.rows[i], step.regularization)


@njit
def set_column(cone, k, x):
    """Column k of K."""
    cone.stiffness[k], cone.stiffness[3 + k], cone.stiffness[6 + k] = x[0], x[1], x[2]


@njit
def aim_cone(cone, q):
    """g = D (q − (z(w) − z)), and f = T g."""
    mu = cone.friction
    spectrum = (cone.d[0], cone.d[1], cone.d[2], cone.d[3], cone.d[4])
    defect = sub(to_lorentz(mu, load3(cone.u_hat)), load3(cone.slack))
    g = apply_spectrum(spectrum, sub(q, defect))
    store3(cone.g, g)
    store3(cone.f, to_lorentz(mu, g))


@njit
def scale_row(row, regularization):
    """k and the predictor's f of a row."""
    if is_fixed(row):
        row.stiffness, row.f = 0.0, 0.0
    elif is_equation(row):
        soften_equation(row)
    else:
        below, above = row.force - row.least, row.most - row.force
        row.stiffness = 1.0 / (row.compliance + regularization * row.response + row.lower / below + row.upper / above)
        aim_row(row, 0.0, 0.0)


@njit
def aim_row(row, of_lower, of_upper):
    """f of a row with bounds, for what (λ − least) a and (most − λ) b are to be."""
    below, above = row.force - row.least, row.most - row.force
    defect = row.error - row.lower + row.upper
    row.f = row.stiffness * ((of_lower / below - row.lower) - (of_upper / above - row.upper) - defect)


@njit
def interior_step(problem, mean):
    """One step of predictor and corrector from an iterate with this mean of λ·z. Returns its length, 0 where the matrix could
    not be factorized, and the new mean."""
    scale_cones(problem)
    if not factorize(problem):
        return 0.0, mean
    direction(problem, 0)
    steps_of_forces(problem, 0.0, False)
    predicted = min(1.0, TO_BOUNDARY * longest_step(problem))
    ratio = min(1.0, max(0.0, complementarity(problem, predicted) / mean))
    target = max(ratio * ratio * ratio, LEAST_CENTRING) * mean
    correct(problem, target, predicted > SECOND_ORDER)
    direction(problem, 1)
    steps_of_forces(problem, target, predicted > SECOND_ORDER)
    length = min(1.0, TO_BOUNDARY * longest_step(problem))
    move(problem, length)
    return length, complementarity(problem, 0.0)


@njit
def steps_of_forces(problem, target, second_order):
    """δλ and δz of contacts; δa and δb of rows, for a corrector `second_order` with the predictor's steps."""
    step = problem.step[0]
    for i in range(step.contacts):
        cone = problem.cones[i]
        if cone.compliance == 0.0:
            continue
        mu, du = cone.friction, load3(cone.du)
        along = mu * (cone.sliding[0] * du[1] + cone.sliding[1] * du[2])
        change = (du[0] + along, mu * du[1], mu * du[2])
        spectrum = (cone.d[0], cone.d[1], cone.d[2], cone.d[3], cone.d[4])
        force = sub(load3(cone.g), apply_spectrum(spectrum, change))
        defect = sub(to_lorentz(mu, load3(cone.u_hat)), load3(cone.slack))
        store3(cone.force_step, force)
        slack = add(add(defect, change), scale(step.regularization * cone.compliance, force))
        store3(cone.slack_step, slack)
    for i in range(step.rows):
        row = problem.rows[i]
        row.step = row.f - row.stiffness * row.rate_step
        if is_equation(row) or is_fixed(row):
            continue
        below, above = row.force - row.least, row.most - row.force
        of_lower = target - (row.prior if second_order else 0.0)
        of_upper = target - (row.saved if second_order else 0.0)
        row.lower_step = (of_lower - row.lower * row.step) / below - row.lower if below < math.inf else 0.0
        row.upper_step = (of_upper + row.upper * row.step) / above - row.upper if above < math.inf else 0.0


@njit
def correct(problem, target, second_order):
    """The corrector's right-hand side, for λ ∘ z = `target`, from the predictor's steps."""
    step = problem.step[0]
    for i in range(step.contacts):
        cone = problem.cones[i]
        if cone.compliance == 0.0:
            continue
        beta, w = cone.beta, load3(cone.w)
        aim = (target, 0.0, 0.0)
        if second_order:
            slack = apply_inverse_scaling(beta, w, load3(cone.slack_step))
            aim = sub(aim, product(slack, apply_scaling(beta, w, load3(cone.force_step))))
        aim = apply_scaling(beta, w, divide(apply_scaling(beta, w, load3(cone.force)), aim))
        aim_cone(cone, sub(aim, load3(cone.slack)))
    for i in range(step.rows):
        row = problem.rows[i]
        if not (is_equation(row) or is_fixed(row)):
            row.prior, row.saved = row.step * row.lower_step, -row.step * row.upper_step
            of_lower, of_upper = (row.prior, row.saved) if second_order else (0.0, 0.0)
            aim_row(row, target - of_lower, target - of_upper)


@njit
def longest_step(problem):
    """How far forces and slacks can go along their steps, at most UNBOUNDED."""
    longest = UNBOUNDED
    for i in range(problem.step[0].contacts):
        cone = problem.cones[i]
        if cone.compliance > 0.0:
            longest = min(longest, step_to_boundary(load3(cone.force), load3(cone.force_step)))
            longest = min(longest, step_to_boundary(load3(cone.slack), load3(cone.slack_step)))
    for i in range(problem.step[0].rows):
        row = problem.rows[i]
        if not (is_equation(row) or is_fixed(row)):
            longest = min(longest, to_zero(row.force - row.least, row.step), to_zero(row.most - row.force, -row.step))
            longest = min(longest, to_zero(row.lower, row.lower_step), to_zero(row.upper, row.upper_step))
    return longest


@njit
def to_zero(x, d):
    """The step at which x + α d is zero."""
    return -x / d if d < 0.0 and x < math.inf else UNBOUNDED


@njit
def complementarity(problem, length):
    """The mean of λ·z over contacts and bounds after a step of that length."""
    total, count = 0.0, 0
    for i in range(problem.step[0].contacts):
        cone = problem.cones[i]
        if cone.compliance > 0.0:
            force = add(load3(cone.force), scale(length, load3(cone.force_step)))
            total += dot(force, add(load3(cone.slack), scale(length, load3(cone.slack_step))))
            count += 1
    for i in range(problem.step[0].rows):
        row = problem.rows[i]
        if is_equation(row) or is_fixed(row):
            continue
        force = row.force + length * row.step
        if row.least > -math.inf:
            total += (force - row.least) * (row.lower + length * row.lower_step)
            count += 1
        if row.most < math.inf:
            total += (row.most - force) * (row.upper + length * row.upper_step)
            count += 1
    return total / max(count, 1)


@njit
def move(problem, length):
    """Add `length` times the step to speeds, forces and slacks; and to slacks what the linear prediction of û_n misses."""
    step = problem.step[0]
    add_scaled_direction(problem, length)
    for i in range(step.contacts):
        cone = problem.cones[i]
        if cone.compliance == 0.0:
            continue
        mu, du = cone.friction, load3(cone.du)
        store3(cone.force, add(load3(cone.force), scale(length, load3(cone.force_step))))
        store3(cone.slack, add(load3(cone.slack), scale(length, load3(cone.slack_step))))
        u = add(load3(cone.u), scale(length, du))
        predicted = cone.slip + length * (cone.sliding[0] * du[1] + cone.sliding[1] * du[2])
        cone.slack[0] += mu * max(0.0, tangent_norm(u) - predicted)
        store3(cone.p, to_lorentz(mu, load3(cone.force)))
        store3(cone.force_step, (0.0, 0.0, 0.0))
        store3(cone.slack_step, (0.0, 0.0, 0.0))
    for i in range(step.rows):
        row = problem.rows[i]
        row.force += length * row.step
        row.step = 0.0
        if not (is_equation(row) or is_fixed(row)):
            row.lower += length * row.lower_step
            row.upper += length * row.upper_step
            row.lower_step = row.upper_step = 0.0


# The method of multipliers ---------------------------------------------------------------------------------------------
#
# A round fixes the impulses p̄ and finds the speeds that balance M (w − w_free) = Jᵀ p(w) + gᵀ λ(w), where
#
#     p(w) = proj_K(p̄ − ρ û(w)),   ρ = κ / c,      λ(w) = clamp((λ̄ − ρ (g w − target)) / (1 + ρ C)),
#
# then p̄ ← p(w). A fixed point is Coulomb's law. Newton's matrix has K = ρ proj′ (1 + e_n μ tᵀ) and stays regular with
# redundant contacts, and with contacts between two states. The larger κ, the fewer rounds, and the smaller the region in
# which Newton converges. So κ grows with each round that succeeds, and shrinks where one fails. It has to be very large where
# contacts cannot all stick for some 1e-9 m/s: their impulses grow by κ/c times that in a round until the weakest slides. A
# rounding ε of u would be one of κ ε in p c. So within a round u is not formed from w but goes on from that of the last step,
# u ← u + δu: its rounding vanishes with δu.
#
# R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in convex programming", 1976; P.
# Alart, A. Curnier, "A mixed formulation for frictional contact problems prone to Newton like solution methods", 1991.

FIRST, LARGEST, DECAY = 100.0, 1e12, 8.0  # κ: to begin with, at most, after failure
GROWTH, EASY = 4.0, 16.0  # after success, and where one step of Newton was enough
CUT, RISE = 0.5, 2.0  # after a failure κ stays below this part of where it failed, which grows with each success
ROUNDS, NEWTON = 100, 12  # most rounds, and most steps of Newton in one
BALANCED, REDUCED = 0.1, 1e-2  # a round ends at this share of the tolerance, or of the imbalance that it began with
SUFFICIENT = 1e-4  # Armijo's: of the decrease that is predicted
SHORTEST = 0.02  # step of a line search


@njit
def run_multipliers(problem, most):
    """Rounds from the present iterate, until the tolerance, or `most` factorizations; the best is in the outputs."""
    step = problem.step[0]
    kappa, ceiling, end = FIRST, LARGEST, min(step.max_iterations, step.iterations + most)
    for _ in range(ROUNDS):
        if step.residual <= step.tolerance or step.iterations >= end:
            break
        save(problem)
        before = step.iterations
        solved, residual = find_balance(problem, kappa, end)
        store_best(problem, residual)
        if solved:
            if kappa >= ceiling:
                ceiling = min(RISE * ceiling, LARGEST)
            kappa = min((EASY if step.iterations == before + 1 else GROWTH) * kappa, ceiling)
        else:
            ceiling = max(1.0, CUT * kappa)
            kappa = max(1.0, kappa / DECAY)
            undo_round(problem)


@njit
def save(problem):
    """p̄ and λ̄ of a round, and where it starts."""
    vectors, n = problem.vectors, problem.step[0].speeds
    for k in range(n):
        store(vectors, START * n + k, load(vectors, POINT * n + k))
    for i in range(problem.step[0].contacts):
        store3(problem.cones[i].prior, load3(problem.cones[i].p))
    for i in range(problem.step[0].rows):
        problem.rows[i].prior = problem.rows[i].force


@njit
def undo_round(problem):
    """Back to where a round started."""
    vectors, n = problem.vectors, problem.step[0].speeds
    for k in range(n):
        store(vectors, POINT * n + k, load(vectors, START * n + k))
    for i in range(problem.step[0].contacts):
        store3(problem.cones[i].p, load3(problem.cones[i].prior))
    for i in range(problem.step[0].rows):
        problem.rows[i].force = problem.rows[i].prior


@njit
def find_balance(problem, kappa, end):
    """The speeds of a round, by Newton's method. Returns (whether it balances, the residual)."""
    step = problem.step[0]
    find_rates(problem)
    imbalance, residual = respond(problem, kappa)
    first = imbalance
    for _ in range(NEWTON):
        if step.iterations >= end:
            break
        step.iterations += 1
        if not factorize(problem):
            return False, HUGE
        direction(problem, 1)
        now, residual = search(problem, kappa, imbalance)
        if balance(problem) <= BALANCED * step.tolerance or now <= REDUCED * first:
            return True, residual
        if not now < imbalance:
            return False, residual
        imbalance = now
    return False, residual


@njit
def search(problem, kappa, before):
    """Go along the step of Newton, halving it until the imbalance is less than `before`. Returns (imbalance, residual)."""
    step, vectors, n = problem.step[0], problem.vectors, problem.step[0].speeds
    for k in range(n):
        store(vectors, SAVED * n + k, load(vectors, POINT * n + k))
    for i in range(step.contacts):
        store3(problem.cones[i].saved, load3(problem.cones[i].u))
    for i in range(step.rows):
        row = problem.rows[i]
        row.rate_saved = row.rate
        row.saved, row.step = row.force, row.f - row.stiffness * row.rate_step
    length = 1.0
    while True:
        for k in range(n):
            store(vectors, POINT * n + k, load(vectors, SAVED * n + k) + length * load(vectors, DIRECTION * n + k))
        for i in range(step.contacts):
            cone = problem.cones[i]
            store3(cone.u, add(load3(cone.saved), scale(length, load3(cone.du))))
        for i in range(step.rows):
            row = problem.rows[i]
            row.rate = row.rate_saved + length * row.rate_step
            if is_equation(row):
                row.force = row.saved + length * row.step
        now, residual = respond(problem, kappa)
        if now < (1.0 - SUFFICIENT * length) * before or length < SHORTEST:
            return now, residual
        length *= 0.5


@njit
def respond(problem, kappa):
    """p and λ of the rates u and g w, their derivatives, and r. Returns (imbalance: √ of an energy, the residual)."""
    step = problem.step[0]
    for i in range(step.contacts):
        if problem.cones[i].compliance > 0.0:
            respond_cone(problem.cones[i], kappa, load3(problem.cones[i].u))
    for i in range(step.rows):
        row = problem.rows[i]
        if is_fixed(row):
            row.force, row.stiffness, row.f = min(row.most, max(row.least, 0.0)), 0.0, 0.0
        elif not is_equation(row):
            respond_row(row, kappa / row.response)
    residual = judge(problem)
    return imbalance_of(problem), residual


@njit
def respond_cone(cone, kappa, u):
    """p and K of a contact at the velocity u, which has the bias in it.

    With x = p̄ − ρ û a sliding contact has (1 + μ²) p_n = x_n + μ |x_t|. Both are large, ρ μ |u_t|, and nearly opposite; so
    it is p̄_n − ρ u_n + μ (|x_t| − ρ |u_t|), with that difference as one of squares."""
    mu, rho, prior = cone.friction, kappa / cone.compliance, load3(cone.prior)
    slip, normal = tangent_norm(u), prior[0] - rho * u[0]
    x = (normal - rho * mu * slip, prior[1] - rho * u[1], prior[2] - rho * u[2])
    t = tangent_norm(x)
    together = t + rho * slip
    difference = prior[1] * (x[1] - rho * u[1]) + prior[2] * (x[2] - rho * u[2])
    along = normal + (mu * difference / together if together > 0.0 else 0.0)
    store3(cone.f, (0.0, 0.0, 0.0))
    if along <= 0.0:
        store3(cone.p, (0.0, 0.0, 0.0))
        nn, nt, ns, tt, ts, ss = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    elif t <= mu * x[0]:
        store3(cone.p, x)
        nn, nt, ns, tt, ts, ss = 1.0, 0.0, 0.0, 1.0, 0.0, 1.0
    else:
        nn = 1.0 / (1.0 + mu * mu)
        a, b = (x[1] / t, x[2] / t) if t > 0.0 else (1.0, 0.0)
        store3(cone.p, (nn * along, mu * nn * along * a, mu * nn * along * b))
        nt, ns, across = mu * nn * a, mu * nn * b, (mu * nn * along / t if t > 0.0 else 0.0)
        tt = mu * mu * nn * a * a + across * b * b
        ts, ss = (mu * mu * nn - across) * a * b, mu * mu * nn * b * b + across * a * a
    a, b = (mu * u[1] / slip, mu * u[2] / slip) if slip > 0.0 else (0.0, 0.0)
    k = cone.stiffness
    k[0], k[1], k[2] = rho * nn, rho * (nt + a * nn), rho * (ns + b * nn)
    k[3], k[4], k[5] = rho * nt, rho * (tt + a * nt), rho * (ts + b * nt)
    k[6], k[7], k[8] = rho * ns, rho * (ts + a * ns), rho * (ss + b * ns)


@njit
def respond_row(row, rho):
    """λ and k of a row with bounds."""
    k = rho / (1.0 + rho * row.compliance)
    wanted = (row.prior - rho * row.rate) / (1.0 + rho * row.compliance)
    inside = row.least < wanted < row.most
    row.force, row.stiffness, row.f = min(row.most, max(row.least, wanted)), k if inside else 0.0, 0.0


@njit
def imbalance_of(problem):
    """√(Σ r²/M + Σ e²/(g M⁻¹ gᵀ)), e of rows without bounds; sets their k and f."""
    step, masses, gradient = problem.step[0], problem.masses, GRADIENT * problem.step[0].speeds
    total = 0.0
    for i in range(step.blocks):
        block = problem.blocks[i]
        for k in range(block.speeds):
            r = load(problem.vectors, gradient + block.first + k)
            total += r * r / load(masses, block.mass + k * (block.speeds + 1))
    for i in range(step.rows):
        row = problem.rows[i]
        if is_equation(row) and not is_fixed(row):
            soften_equation(row)
            total += row.error * row.error / (row.response + row.compliance)
    return math.sqrt(total)


# Sweeps ----------------------------------------------------------------------------------------------------------------
#
# Where the methods above are stuck at contacts that change their state back and forth, projected Gauss–Seidel brings these to
# where they belong, one by one: p ← proj_K(p − û / k), w ← w + M⁻¹ Jᵀ Δp, with k the trace of J M⁻¹ Jᵀ.

SWEEPS = 300


@njit
def sweep_contacts(problem):
    """SWEEPS over all contacts and rows from the best iterate, and the result if it is better."""
    step = problem.step[0]
    load_best(problem)
    for i in range(step.contacts):
        cone = problem.cones[i]
        own = own_response(problem, cone.blocks, cone.at, 1) + own_response(problem, cone.blocks, cone.at, 2)
        cone.beta = cone.compliance + own
    for _ in range(SWEEPS):
        for i in range(step.contacts):
            if problem.cones[i].compliance > 0.0:
                sweep_contact(problem.cones[i], problem)
        for i in range(step.rows):
            if not is_fixed(problem.rows[i]):
                sweep_row(problem.rows[i], problem)
    store_best(problem, evaluate(problem))


@njit
def sweep_contact(cone, problem):
    """One contact of a sweep."""
    mu, old = cone.friction, load3(cone.p)
    u = add(contact_rate(cone, problem, problem.vectors, POINT), load3(cone.offset))
    u_hat = (u[0] + cone.bias + mu * tangent_norm(u), u[1], u[2])
    new = project_coulomb(sub(old, scale(1.0 / cone.beta, u_hat)), mu)
    d = sub(new, old)
    if d[0] == 0.0 and d[1] == 0.0 and d[2] == 0.0:
        return
    store3(cone.p, new)
    for side in range(BLOCKS):
        if cone.blocks[side] < 0:
            break
        block, at = problem.blocks[cone.blocks[side]], cone.at[side]
        size = block.speeds
        for k in range(size):
            impulse = d[0] * load(problem.jacobian, at + k) + d[1] * load(problem.jacobian, at + size + k)
            impulse += d[2] * load(problem.jacobian, at + 2 * size + k)
            respond_to(impulse, k, block, problem)


@njit
def sweep_row(row, problem):
    """One row of a sweep."""
    error = row_rate(row, problem, problem.vectors, POINT) - row.target + row.compliance * row.force
    new = min(row.most, max(row.least, row.force - error / (row.response + row.compliance)))
    d, row.force = new - row.force, new
    if d == 0.0:
        return
    for side in range(BLOCKS):
        if row.blocks[side] < 0:
            break
        block = problem.blocks[row.blocks[side]]
        for k in range(block.speeds):
            respond_to(d * load(problem.jacobian, row.at[side] + k), k, block, problem)


@njit
def respond_to(impulse, k, block, problem):
    """w += M⁻¹ for an impulse along speed k of a block."""
    size, vectors = block.speeds, problem.vectors
    if impulse != 0.0:
        for r in range(size):
            to = POINT + block.first + r
            store(vectors, to, load(vectors, to) + impulse * load(problem.inverses, block.mass + r * size + k))


# The iteration ---------------------------------------------------------------------------------------------------------

WARM = 12  # factorizations from a warm start
# Residual over the typical speed at which the interior point ends, at the first start and, of that, at each further one; and
# NEAR the tolerance
HANDOVER, LATER, NEAR = 1e-4, 1e-3, 10.0
PATIENCE, HALF = 6, 0.5  # it ends as well where the residual has not become half in so many steps
MOST_STEPS, MULTIPLIERS, STARTS = 40, 80, 4  # most steps of it, factorizations after it, and starts


@njit
def run_interior(problem, factor, handover):
    """The interior point method from its own start, until the residual `handover`. The best is in the outputs."""
    step = problem.step[0]
    mean = start_inside(problem, factor)
    first, waited = mean, 0
    residual = evaluate(problem)
    lowest = residual
    for _ in range(MOST_STEPS):
        if step.iterations >= step.max_iterations or not mean > 0.0:
            break
        step.iterations += 1
        step.regularization = max(PROXIMAL * mean / first, LEAST_PROXIMAL)
        length, mean = interior_step(problem, mean)
        residual = evaluate(problem)
        if length == 0.0 or not residual < HUGE:
            break
        if residual < step.residual:
            store_best(problem, residual)
            evaluate(problem)
        waited += 1
        if residual < HALF * lowest:
            lowest, waited = residual, 0
        if residual <= handover or waited >= PATIENCE:
            break


@njit
def run(problem):
    """From the warm start if there is one; else, and where that fails, from starts of the interior point."""
    step = problem.step[0]
    if not needs_impulses(problem):
        return
    if step.warm != 0:
        store_best(problem, evaluate(problem))
        run_multipliers(problem, WARM)
    factor, handover = 1.0, HANDOVER * step.speed
    for _ in range(STARTS):
        if step.residual <= step.tolerance or step.iterations >= step.max_iterations:
            break
        if factor > 1.0:
            sweep_contacts(problem)
            run_multipliers(problem, MULTIPLIERS)
            if step.residual <= step.tolerance:
                break
        run_interior(problem, factor, max(handover, NEAR * step.tolerance))
        load_best(problem)
        run_multipliers(problem, MULTIPLIERS)
        factor *= 10.0
        handover *= LATER


@njit
def solve_problem(problem):
    """Solve a `ConeProblem`, in place. Returns SOLVED, NOT_CONVERGED (the best iterate is in the outputs), NEED_MORE (nothing
    done: tables of `matrix` are too short) or NOT_FINITE (the input is not, or a mass is not positive)."""
    step = problem.step[0]
    step.iterations = 0
    if plan_matrix(problem) != 0:
        return NEED_MORE
    if not prepare(problem):
        return NOT_FINITE
    run(problem)
    measure(problem)
    return SOLVED if step.residual <= step.tolerance else NOT_CONVERGED


# Its use from Python -----------------------------------------------------------------------------------------------------


def cone_solver_entry(data, task, t, nothing, n, more, m):
    """`solve_problem` of the tables at `data`."""
    return solve_problem(table_at(ConeProblem, data))


def plain_entry(task: int, t: float, nothing: np.ndarray, more: np.ndarray, problem: ConeProblem) -> int:
    """The same without compilation."""
    return int(solve_problem(problem))


CONE_SOLVER_ENTRY = CFunction(cone_solver_entry, C_SIGNATURE)


def solve_tables(problem: ConeProblem) -> tuple[int, ConeProblem]:
    """Solve a problem from Python, with longer tables where those of `matrix` are too short. Returns (a status of
    `cone_problem`, the problem, which holds the solution)."""
    nothing = np.zeros(1)
    while True:
        with np.errstate(all="ignore"):
            status = TableFunction(CONE_SOLVER_ENTRY, plain_entry, problem).call(0, 0.0, nothing, nothing)
        if status != NEED_MORE:
            return status, problem
        problem = problem._replace(matrix=grown(problem.matrix))


def solve(problem: ConeProblem) -> tuple[int, ConeProblem]:
    """The same, SOLVED or NOT_CONVERGED. Raises ValueError where a number of the problem is not finite, or a mass matrix not
    positive definite."""
    status, problem = solve_tables(problem)
    if status == NOT_FINITE:
        raise ValueError(
            "the contact problem holds a number that is not finite, or a mass matrix that is not positive definite; look for "
            "NaN or infinity in speeds, masses, Jacobians, bias and targets"
        )
    return status, problem
