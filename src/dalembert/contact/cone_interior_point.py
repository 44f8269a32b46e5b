"""The primal–dual interior point method of the converging solver: from a point far inside the cones, or from one beside given
impulses, to near the solution.

With tangents scaled by μ the cone and its dual are the Lorentz cone Q: λ = (p_n, p_t/μ), z = (û_n, μ u_t). The method
follows the path λ ∘ z = σ e with the scaling of Nesterov and Todd, W z = W⁻¹ λ, and Mehrotra's predictor and corrector (L.
Vandenberghe, 2010, §5). The derivative of û in the velocities includes that of De Saxcé's μ |u_t| (V. Acary, P. Armand, H.
M. Nguyen, M. Shpakovych, "Second-order cone programming for frictional contact mechanics using interior point algorithm",
2023).

That alone stalls on piles, for two reasons. Where bodies are wedged, impulses are not bounded and the path has no limit: so
each step is that of a proximal method of multipliers (S. Pougkakiotis, J. Gondzio, "An interior point–proximal method of
multipliers for convex quadratic programming", 2021), z(w⁺) + δ c (λ⁺ − λ), with δ proportional to σ. And μ |u_t| has a
kink: beyond it the linear prediction of û_n is too small. What is missing is added to the slack z_n, which stays inside the
cone by that, as μ |u_t| is convex, and leaves no infeasibility behind.

Coulomb's law is not monotone, and the path may turn back: there the sign of the determinant of Newton's matrix changes, no
step along the path goes on, and steps get short. All of that comes from the derivative of μ |u_t|; without it the matrix is
symmetric and positive definite. So where a step was short, the next ones take only a part of the derivative (`coupling`),
half as much each time, and more again as steps get longer. The equations stay the same: a step without it is that of a fixed
point iteration on De Saxcé's term, which leaves the stretch of the path that ends and finds another one.

A row with bounds has the slacks a of λ − least and b of most − λ, and e = a − b.
"""

import math

from ..core.jit import njit
from ..core.math3 import add, dot, load3, scale, store3, sub
from ..core.simd import load, store
from .cone import (
    UNBOUNDED,
    apply_inverse_scaling,
    apply_scaling,
    apply_spectrum,
    divide,
    product,
    regularized_inverse,
    scaling_point,
    step_to_boundary,
    tangent_norm,
)
from .cone_iterate import LEAST_RESPONSE, is_equation, is_fixed, load_best, soften_equation, store_best
from .cone_problem import BLOCKS, HUGE, POINT, add_scaled_direction, direction, evaluate, factorize

# Least part of λ·z that a step aims at, from a start far inside the cones, and beside impulses
FAR, AROUND = 1e-6, 0.03
EDGE = 1e-12  # ratio of the eigenvalues of λ, below which rounding could put it outside
PROXIMAL, LEAST_PROXIMAL = 0.1, 1e-10  # δ at the start, and at least
TO_BOUNDARY = 0.99  # of the way to the boundary of the cones: the longest step
SECOND_ORDER = 0.1  # length of the predictor from which its second-order term is used
HALF = 0.5  # it ends where the residual has not become half in as many steps as the caller says
MOST_STEPS = 100
SHORT, LESS, RETURN = 0.3, 0.5, 0.5  # after a shorter step, so much of the derivative; else so much of what is missing


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
    unit = factor * max(step.speed * math.sqrt(mean_stiffness(problem)), largest_load(problem))
    for i in range(step.contacts):
        cone = problem.cones[i]
        root = math.sqrt(cone.compliance)
        store3(cone.slack, (unit * root, 0.0, 0.0))
        store3(cone.force, (unit / root if root > 0.0 else 0.0, 0.0, 0.0))
        store3(cone.p, load3(cone.force))
    for i in range(step.rows):
        row = problem.rows[i]
        start_row(row, unit, row.least if row.least > -math.inf else row.most)
    return unit * unit


@njit
def mean_stiffness(problem):
    """The mean of 1/c over contacts and rows with bounds, kg."""
    step, stiffness, count = problem.step[0], 0.0, 0
    for i in range(step.contacts):
        if problem.cones[i].compliance > 0.0:
            stiffness += 1.0 / problem.cones[i].compliance
            count += 1
    for i in range(step.rows):
        row = problem.rows[i]
        if not (is_equation(row) or is_fixed(row)):
            stiffness += 1.0 / row.response
            count += 1
    return stiffness / max(count, 1)


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
def start_row(row, unit, wanted):
    """λ and slacks of a row: `wanted`, but half-way between its bounds, or inside the one that it has."""
    if is_equation(row) or is_fixed(row):
        row.force = 0.0 if is_equation(row) else min(row.most, max(row.least, 0.0))
        return
    row.lower_step, row.upper_step = 0.0, 0.0
    inside = min(unit / math.sqrt(row.response), 0.5 * (row.most - row.least))
    row.force = max(row.least + inside, min(row.most - inside, wanted))
    row.lower = unit * unit / (row.force - row.least) if row.least > -math.inf else 0.0
    row.upper = unit * unit / (row.most - row.force) if row.most < math.inf else 0.0


# Impulses that are nearly right are a start as well, but on the boundaries of the cones, from which no step gets far. With
# x = c λ − z and σ > 0 there is one pair inside the cones that has this x and λ ∘ z = σ e. With the eigenvalues x₁, x₂ =
# x_n ± |x_t|, and those of λ and z,
#
#     c λᵢ = (xᵢ + √(xᵢ² + 4 c σ)) / 2,      c λᵢ zᵢ = c σ
#
# (M. Fukushima, Z.-Q. Luo, P. Tseng, "Smoothing functions for second-order-cone complementarity problems", 2002). The pair
# is on the path, and √(cσ), in m/s, from what was given. That is to be more than the residual, as other contacts than those
# that are known as closed now may have to close, and no less than some thousand tolerances, from which the path is smooth.
@njit
def start_near(problem, distance):
    """From the best iterate so far, with the same λ·z everywhere: that of a `distance` (m/s) at the mean c. Returns λ·z."""
    step = problem.step[0]
    load_best(problem)
    unit = distance * math.sqrt(mean_stiffness(problem))
    for i in range(step.contacts):
        if problem.cones[i].compliance > 0.0:
            start_cone(problem.cones[i], unit)
    for i in range(step.rows):
        if not is_equation(problem.rows[i]):
            start_row(problem.rows[i], unit, problem.rows[i].force)
    return unit * unit


@njit
def start_cone(cone, unit):
    """λ and z of a contact, beside its p and û."""
    force, slack = beside(cone.compliance, cone.friction, load3(cone.p), load3(cone.u_hat), unit)
    store3(cone.force, force)
    store3(cone.slack, slack)
    store3(cone.p, to_lorentz(cone.friction, force))


@njit
def beside(c, mu, p, u_hat, unit):
    """λ and z with λ ∘ z = unit² e, beside p and û."""
    z, tangential, both = to_lorentz(mu, u_hat), (c / mu if mu > 0.0 else 0.0), c * unit * unit
    x = (c * p[0] - z[0], tangential * p[1] - z[1], tangential * p[2] - z[2])
    t = tangent_norm(x)
    a, b = (x[1] / t, x[2] / t) if t > 0.0 else (1.0, 0.0)
    most = inside_boundary(x[0] + t, both)
    least = max(inside_boundary(x[0] - t, both), EDGE * most)
    force, force_t = 0.5 * (most + least) / c, 0.5 * (most - least) / c
    slack, slack_t = 0.5 * (both / most + both / least), 0.5 * (both / most - both / least)
    return (force, force_t * a, force_t * b), (slack, slack_t * a, slack_t * b)


@njit
def inside_boundary(x, both):
    """The positive y with y (y − x) = both."""
    root = math.sqrt(x * x + 4.0 * both)
    return 0.5 * (x + root) if x > 0.0 else 2.0 * both / (root - x)


@njit
def scale_cones(problem):
    """W, K and the right-hand side of the predictor."""
    step = problem.step[0]
    theta = step.coupling
    for i in range(step.contacts):
        cone = problem.cones[i]
        if cone.compliance == 0.0:
            continue
        slack, mu, u = load3(cone.slack), cone.friction, load3(cone.u)
        beta, w = scaling_point(slack, load3(cone.force))
        cone.beta = beta
        store3(cone.w, w)
        cone.slip = tangent_norm(u)
        cone.sliding[0] = theta * u[1] / cone.slip if cone.slip > 0.0 else 0.0
        cone.sliding[1] = theta * u[2] / cone.slip if cone.slip > 0.0 else 0.0
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
def interior_step(problem, mean, centring):
    """One step of predictor and corrector from an iterate with this mean of λ·z, to no less than the part `centring` of it.
    Returns its length, 0 where the matrix could not be factorized, and the new mean."""
    scale_cones(problem)
    if not factorize(problem):
        return 0.0, mean
    direction(problem, 0)
    longest, linear, square = find_steps(problem, 0.0, False)
    predicted = min(1.0, TO_BOUNDARY * longest)
    ratio = min(1.0, max(0.0, 1.0 + predicted * (linear + predicted * square) / mean))
    target = max(ratio * ratio, centring) * mean  # not the usual cube: the problem is not convex
    correct(problem, target, predicted > SECOND_ORDER)
    direction(problem, 0)
    longest, linear, square = find_steps(problem, target, predicted > SECOND_ORDER)
    length = min(1.0, TO_BOUNDARY * longest)
    return length, move(problem, length)


@njit
def find_steps(problem, target, second_order):
    """δλ and δz of contacts; δa and δb of rows, for a corrector `second_order` with the predictor's steps. Returns the
    longest step α that stays in the cones, at most UNBOUNDED, and the changes of the mean of λ·z with α and with α²."""
    step, longest, linear, square, count = problem.step[0], UNBOUNDED, 0.0, 0.0, 0
    for i in range(step.contacts):
        if problem.cones[i].compliance > 0.0:
            reach, more, bent = find_cone_step(problem.cones[i], step.regularization)
            longest, linear, square, count = min(longest, reach), linear + more, square + bent, count + 1
    for i in range(step.rows):
        row = problem.rows[i]
        row.step = row.f - row.stiffness * row.rate_step
        if is_equation(row) or is_fixed(row):
            continue
        below, above = row.force - row.least, row.most - row.force
        if row.least > -math.inf:
            of_lower = target - (row.prior if second_order else 0.0)
            row.lower_step = (of_lower - row.lower * row.step) / below - row.lower
            longest = min(longest, to_zero(below, row.step), to_zero(row.lower, row.lower_step))
            linear += below * row.lower_step + row.step * row.lower
            square += row.step * row.lower_step
            count += 1
        if row.most < math.inf:
            of_upper = target - (row.saved if second_order else 0.0)
            row.upper_step = (of_upper + row.upper * row.step) / above - row.upper
            longest = min(longest, to_zero(above, -row.step), to_zero(row.upper, row.upper_step))
            linear += above * row.upper_step - row.step * row.upper
            square -= row.step * row.upper_step
            count += 1
    return longest, linear / max(count, 1), square / max(count, 1)


@njit
def find_cone_step(cone, regularization):
    """δλ and δz of a contact. Returns how far λ and z can go along them, and the change of λ·z with the length and with its
    square."""
    mu, du = cone.friction, load3(cone.du)
    along = mu * (cone.sliding[0] * du[1] + cone.sliding[1] * du[2])
    change = (du[0] + along, mu * du[1], mu * du[2])
    spectrum = (cone.d[0], cone.d[1], cone.d[2], cone.d[3], cone.d[4])
    force, slack = load3(cone.force), load3(cone.slack)
    force_step = sub(load3(cone.g), apply_spectrum(spectrum, change))
    defect = sub(to_lorentz(mu, load3(cone.u_hat)), slack)
    slack_step = add(add(defect, change), scale(regularization * cone.compliance, force_step))
    store3(cone.force_step, force_step)
    store3(cone.slack_step, slack_step)
    reach = min(step_to_boundary(force, force_step), step_to_boundary(slack, slack_step))
    return reach, dot(force, slack_step) + dot(force_step, slack), dot(force_step, slack_step)


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
def to_zero(x, d):
    """The step at which x + α d is zero."""
    return -x / d if d < 0.0 and x < math.inf else UNBOUNDED


@njit
def move(problem, length):
    """Add `length` times the step to speeds, forces and slacks; and to slacks what the linear prediction of û_n misses.
    Returns the mean of λ·z over contacts and bounds."""
    step, total, count = problem.step[0], 0.0, 0
    add_scaled_direction(problem, length)
    for i in range(step.contacts):
        cone = problem.cones[i]
        if cone.compliance == 0.0:
            continue
        mu, du = cone.friction, load3(cone.du)
        force = add(load3(cone.force), scale(length, load3(cone.force_step)))
        slack = add(load3(cone.slack), scale(length, load3(cone.slack_step)))
        u = add(load3(cone.u), scale(length, du))
        predicted = cone.slip + length * (cone.sliding[0] * du[1] + cone.sliding[1] * du[2])
        slack = (slack[0] + mu * max(0.0, tangent_norm(u) - predicted), slack[1], slack[2])
        store3(cone.force, force)
        store3(cone.slack, slack)
        store3(cone.p, to_lorentz(mu, force))
        total += dot(force, slack)
        count += 1
    for i in range(step.rows):
        row = problem.rows[i]
        row.force += length * row.step
        if is_equation(row) or is_fixed(row):
            continue
        if row.least > -math.inf:
            row.lower += length * row.lower_step
            total += (row.force - row.least) * row.lower
            count += 1
        if row.most < math.inf:
            row.upper += length * row.upper_step
            total += (row.most - row.force) * row.upper
            count += 1
    return total / max(count, 1)


@njit
def run_interior(problem, mean, centring, handover, adapts, patience):
    """The interior point method from a start with this mean of λ·z, each step to no less than a part of it (`centring`),
    until the residual `handover`, or until it is not half of what it was so many (`patience`) steps before. `adapts` the part
    of the derivative of μ |u_t|, or takes all of it. The best is in the outputs."""
    step = problem.step[0]
    first, waited, length, stored = mean, 0, 1.0, step.residual
    step.coupling = 1.0
    residual = evaluate(problem)
    lowest = residual
    for _ in range(MOST_STEPS):
        if step.iterations >= step.max_iterations or not mean > 0.0:
            break
        step.iterations += 1
        step.regularization = max(PROXIMAL * mean / first, LEAST_PROXIMAL)
        if adapts:
            step.coupling = LESS * step.coupling if length < SHORT else 1.0 - RETURN * (1.0 - step.coupling)
        length, mean = interior_step(problem, mean, centring)
        residual = evaluate(problem)
        if length == 0.0 or not residual < HUGE:
            break
        waited += 1
        if residual < HALF * lowest:
            lowest, waited = residual, 0
        if residual <= handover or waited >= patience:
            break
        if waited > 0 and residual < HALF * stored:  # where it goes on fast, only the last one is worth the time
            stored = residual
            store_best(problem, residual)
            evaluate(problem)
    if residual < step.residual:
        store_best(problem, residual)
