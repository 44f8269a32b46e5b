"""Contact with Coulomb friction in one time step, solved to a stated residual: interior point, then Newton.

The bodies' velocities v, the impulses p of contacts and the multipliers y of joint rows satisfy

    M (v − v_free) = Jᵀ p + Gᵀ y,   G v = g,   K_μ ∋ p ⊥ u + (bias + μ |u_t|) e_n ∈ K_μ*,   u = J v,

the exact Coulomb cone with non-penetration in the form of De Saxcé and Feng (1998). With tangents scaled by μ both cones are
the Lorentz cone Q: z(v) = (u_n + bias + μ |u_t|, μ u_t) and λ = (p_n, p_t/μ); for μ = 0 the tangents vanish by themselves.

Far from the solution, a primal-dual interior point method with Nesterov–Todd scaling and Mehrotra's predictor and
corrector follows λ ∘ z = σμ e, with the derivative of μ |u_t| in Newton's matrix (V. Acary, P. Armand, H. M. Nguyen,
M. Shpakovych, "Second-order cone programming for frictional contact mechanics using interior point algorithm", 2023).
When it has come within HANDOVER, semismooth Newton on the natural map (P. Alart, A. Curnier, 1991) ends the work in a few
steps, unless contacts are degenerate; then the interior point goes on until it comes no further, and hands over to the
method of multipliers. Redundant contacts and joint rows are regularized inside Newton's
matrix only, by 1e-9 of their compliance: the limit is exact (proximal method of multipliers).
In order: the iterate, what a contact contributes to a step, the method of multipliers, and the iteration.
"""

import math

from ..core.elementary import hypot
from ..core.jit import njit
from ..core.math3 import add, dot, load3, norm, scale, store3, sub
from ..linalg.ordering import adjacency, cuthill_mckee, row_starts
from .cone import (
    UNBOUNDED,
    apply_inverse_scaling,
    apply_scaling,
    apply_spectrum,
    coulomb_velocity,
    divide,
    natural_map,
    product,
    project_coulomb,
    projection_spectrum,
    regularized_inverse,
    scaling_point,
    step_to_boundary,
)
from .interior_point_system import (
    DIRECTION,
    FREE,
    GRADIENT,
    LEFT,
    NEED_MORE,
    NOT_CONVERGED,
    NOT_FINITE,
    POINT,
    REGULARIZATION,
    RIGHT,
    SAVED,
    SOLVED,
    add_impulse_size,
    add_momentum,
    contact_compliance,
    contact_velocity,
    direction,
    factorize,
    measure,
    push_contact,
    push_row,
    rigidity,
    row_compliance,
    row_velocity,
    set_spectrum,
    spectrum_of,
    speed_of_momentum,
    to_impulse,
    typical_speed,
    unbalance,
)

# The iterate -----------------------------------------------------------------------------------------------------------

HUGE = 1e300  # residual of an iterate that is not finite


@njit
def load_problem(problem):
    """Copy the free velocities, find compliances and the typical speed. Returns 1 where the input is not finite."""
    step = problem.step[0]
    n = step.bodies
    velocity, vectors = problem.velocity, problem.vectors
    inverse_mass, inverse_inertia = problem.inverse_mass, problem.inverse_inertia
    step.speed = typical_speed(problem)
    step.residual = HUGE
    check = step.speed
    for i in range(6 * n):
        vectors[6 * n * FREE + i] = velocity[i]
        check += abs(velocity[i])
    contacts, cones = problem.contacts, problem.cones
    for i in range(step.contacts):
        c = contact_compliance(contacts[i], inverse_mass, inverse_inertia, n)
        cones[i].compliance = c
        check += c + abs(contacts[i].bias) + contacts[i].friction
    groups, jacobian, links = problem.groups, problem.jacobian, problem.links
    target = problem.target
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            c = row_compliance(groups[i], row, jacobian, inverse_mass, inverse_inertia, n)
            links[row].compliance = c
            check += c + abs(target[row])
    return 0 if check < HUGE else 1


@njit
def place_on_axes(problem, share, factor):
    """Place the iterate at `share` of the free velocities (0: at rest) and on the axes of the cones, with the same λ·z at
    every contact, so that it is on the central path but for feasibility; `factor` pushes it further inside."""
    step = problem.step[0]
    size = 6 * step.bodies
    vectors, inverse_mass = problem.vectors, problem.inverse_mass
    for i in range(size):
        part = share if inverse_mass[i // 6] > 0.0 else 1.0
        vectors[size * POINT + i] = part * vectors[size * FREE + i]
        vectors[size * DIRECTION + i] = 0.0
    cones, groups, links = problem.cones, problem.groups, problem.links
    stiffness, count = 0.0, 0
    for i in range(step.contacts):
        if cones[i].compliance > 0.0:
            stiffness += 1.0 / cones[i].compliance
            count += 1
    unit = factor * step.speed * math.sqrt(stiffness / max(count, 1))
    for i in range(step.contacts):
        cone = cones[i]
        set_spectrum(cone, (0.0, 0.0, 0.0, 1.0, 0.0))
        store3(cone.f, (0.0, 0.0, 0.0))
        store3(cone.force_step, (0.0, 0.0, 0.0))
        store3(cone.slack_step, (0.0, 0.0, 0.0))
        root = math.sqrt(cone.compliance)
        store3(cone.slack, (unit * root, 0.0, 0.0))
        store3(cone.force, (unit / root if root > 0.0 else 0.0, 0.0, 0.0))
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            links[row].force = 0.0
            links[row].force_step = 0.0


@njit
def evaluate_residual(problem):
    """Write z(v) and the direction of sliding of each contact, the defects of joint rows and the unbalanced momentum; returns
    the residual: the worst of natural map, joint rows and balance, as `measure` defines them."""
    step = problem.step[0]
    vectors, mass, inertia = problem.vectors, problem.mass, problem.inertia
    inverse_mass, inverse_inertia = problem.inverse_mass, problem.inverse_inertia
    size = 6 * step.bodies
    gradient, point, sums = GRADIENT * size, POINT * size, LEFT * size
    worst, total = 0.0, 0.0
    for i in range(size):
        vectors[gradient + i] = 0.0
        vectors[sums + i] = 0.0
    for i in range(step.bodies):
        if inverse_mass[i] > 0.0:
            at = gradient + 6 * i
            add_momentum(mass, inertia, i, 1.0, vectors, point + 6 * i, vectors, at)
            add_momentum(mass, inertia, i, -1.0, vectors, FREE * size + 6 * i, vectors, at)
    contacts, cones = problem.contacts, problem.cones
    for i in range(step.contacts):
        if cones[i].compliance > 0.0:
            error = evaluate_contact(contacts[i], cones[i], vectors, point, gradient, sums, step.bodies) / step.speed
            worst = max(worst, error)
            total += error
    groups, jacobian, links, target = problem.groups, problem.jacobian, problem.links, problem.target
    compliance = problem.compliance
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            defect = row_velocity(groups[i], row, jacobian, vectors, point, step.bodies) - target[row]
            defect += compliance[row] * links[row].force
            push_row(groups[i], row, jacobian, -links[row].force, vectors, gradient, step.bodies)
            add_impulse_size(groups[i].a, groups[i].b, abs(links[row].force), vectors, sums, step.bodies)
            links[row].defect = defect
            error = abs(defect) * rigidity(links[row].compliance, compliance[row])
            worst = max(worst, error / step.speed)
            total += error
    for i in range(step.bodies):
        if inverse_mass[i] > 0.0:
            at = gradient + 6 * i
            error = unbalance(inverse_mass, inverse_inertia, i, vectors, at, vectors, sums, step.speed)
            worst = max(worst, error)
            total += error
    return worst if total < HUGE else HUGE


@njit
def evaluate_contact(contact, cone, vectors, point, gradient, sums, bodies):
    """z(v) and sliding of one contact, and its impulse into the gradient and the sum of impulses; returns its natural map
    (m/s)."""
    u = contact_velocity(contact, vectors, point, bodies)
    u_hat = coulomb_velocity(contact, u)
    mu = contact.friction
    store3(cone.value, (u_hat[0], mu * u[1], mu * u[2]))
    t = hypot(u[1], u[2])
    cone.sliding[0] = u[1] / t if t > 0.0 else 0.0
    cone.sliding[1] = u[2] / t if t > 0.0 else 0.0
    p = to_impulse(mu, load3(cone.force))
    push_contact(contact, (-p[0], -p[1], -p[2]), vectors, gradient, bodies)
    add_impulse_size(contact.a, contact.b, norm(p), vectors, sums, bodies)
    return natural_map(p, u_hat, mu, cone.compliance)


@njit
def move(problem, length):
    """Add `length` times the step to velocities, forces, slacks and multipliers."""
    move_velocities(problem, length)
    cones = problem.cones
    for i in range(problem.step[0].contacts):
        cone = cones[i]
        store3(cone.force, add(load3(cone.force), scale(length, load3(cone.force_step))))
        store3(cone.slack, add(load3(cone.slack), scale(length, load3(cone.slack_step))))


@njit
def move_velocities(problem, length):
    """Add `length` times the step to velocities and to the multipliers of joint rows."""
    vectors = problem.vectors
    size = 6 * problem.step[0].bodies
    for i in range(size):
        vectors[POINT * size + i] += length * vectors[DIRECTION * size + i]
    links, groups = problem.links, problem.groups
    for i in range(problem.step[0].groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            links[row].force += length * links[row].force_step


@njit
def store_best(problem, residual):
    """Write the iterate to the outputs if it is the best so far."""
    step = problem.step[0]
    if not residual < step.residual:
        return
    step.residual = residual
    velocity, vectors = problem.velocity, problem.vectors
    contacts, cones = problem.contacts, problem.cones
    groups, links, multiplier = problem.groups, problem.links, problem.multiplier
    size = 6 * step.bodies
    for i in range(size):
        velocity[i] = vectors[POINT * size + i]
    for i in range(step.contacts):
        store3(contacts[i].impulse, to_impulse(contacts[i].friction, load3(cones[i].force)))
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            multiplier[row] = links[row].force


@njit
def save(problem):
    """Save the iterate; the slacks do not change in the method of multipliers."""
    step = problem.step[0]
    vectors = problem.vectors
    size = 6 * step.bodies
    for i in range(size):
        vectors[SAVED * size + i] = vectors[POINT * size + i]
    cones, links, groups = problem.cones, problem.links, problem.groups
    for i in range(step.contacts):
        store3(cones[i].saved, load3(cones[i].force))
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            links[row].saved = links[row].force


@njit
def restore(problem):
    """Go back to the saved iterate."""
    step = problem.step[0]
    vectors = problem.vectors
    size = 6 * step.bodies
    for i in range(size):
        vectors[POINT * size + i] = vectors[SAVED * size + i]
    cones, links, groups = problem.cones, problem.links, problem.groups
    for i in range(step.contacts):
        store3(cones[i].force, load3(cones[i].saved))
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            links[row].force = links[row].saved


# What a contact contributes to a step ----------------------------------------------------------------------------------
#
# Interior point (L. Vandenberghe, 2010, §5): with the scaling W of slack z and force λ, and the direction c of
# complementarity, W δλ + W⁻¹ δz = W⁻¹ q, so that δλ = (W² + δ)⁻¹ (q − (z(v) − z) − B δv) and δz = z(v) − z + B δv. It is
# also q − W² δλ, but for rounding, which W² amplifies where the force is at the boundary of the cone. The predictor has q =
# −z; the corrector q = −z + W (λ̄ \ (σμ e − (W⁻¹ δz) ∘ (W δλ))) with λ̄ = W λ.
#
# Polishing: semismooth Newton on the natural map φ = λ − P(λ − ρ z(v)), P the projection on the cone, with ρ =
# 1/compliance: (1 − (1 − ε) P′) δλ = −φ − ρ P′ B δv. ε > 0 replaces δ, as P′ has the eigenvalue 1 where a contact sticks.

PROXIMAL = 1e-11  # ε: a force may change by the velocity over ε in one step
SECOND_ORDER = 0.1  # length of the predictor from which its second-order term is used
CENTRING = 0.1  # of the infeasibility times the force: complementarity stays above it


@njit
def scale_cones(problem):
    """Scaling, D, and the predictor's right-hand side."""
    cones = problem.cones
    for i in range(problem.step[0].contacts):
        cone = cones[i]
        if cone.compliance == 0.0:
            continue
        slack = load3(cone.slack)
        beta, w = scaling_point(slack, load3(cone.force))
        cone.beta = beta
        store3(cone.w, w)
        set_spectrum(cone, regularized_inverse(beta, w, REGULARIZATION * cone.compliance))
        set_right_hand_side(cone, scale(-1.0, slack), 1.0)


@njit
def set_right_hand_side(cone, q, share):
    """f = D (q − share (z(v) − z)) of a contact."""
    store3(cone.q, q)
    defect = sub(load3(cone.value), load3(cone.slack))
    store3(cone.f, apply_spectrum(spectrum_of(cone), sub(q, scale(share, defect))))


@njit
def correct(problem, target, second_order, share):
    """The corrector's right-hand side, for complementarity `target`, from the predictor's steps."""
    cones = problem.cones
    for i in range(problem.step[0].contacts):
        cone = cones[i]
        if cone.compliance == 0.0:
            continue
        beta, w = cone.beta, load3(cone.w)
        aim = (target, 0.0, 0.0)
        if second_order:
            slack = apply_inverse_scaling(beta, w, load3(cone.slack_step))
            aim = sub(aim, product(slack, apply_scaling(beta, w, load3(cone.force_step))))
        aim = apply_scaling(beta, w, divide(apply_scaling(beta, w, load3(cone.force)), aim))
        set_right_hand_side(cone, sub(aim, load3(cone.slack)), share)


@njit
def longest_step(problem):
    """How far force and slack can go along their steps, at most UNBOUNDED."""
    cones = problem.cones
    longest = UNBOUNDED
    for i in range(problem.step[0].contacts):
        cone = cones[i]
        if cone.compliance == 0.0:
            continue
        longest = min(longest, step_to_boundary(load3(cone.force), load3(cone.force_step)))
        longest = min(longest, step_to_boundary(load3(cone.slack), load3(cone.slack_step)))
    return longest


@njit
def complementarity(problem, length):
    """Mean λ·z after a step of that length, and the mean of λ_n |z(v) − z| now."""
    cones = problem.cones
    total, infeasible, count = 0.0, 0.0, 0
    for i in range(problem.step[0].contacts):
        cone = cones[i]
        if cone.compliance > 0.0:
            force = add(load3(cone.force), scale(length, load3(cone.force_step)))
            total += dot(force, add(load3(cone.slack), scale(length, load3(cone.slack_step))))
            infeasible += cone.force[0] * norm(sub(load3(cone.value), load3(cone.slack)))
            count += 1
    count = max(count, 1)
    return total / count, infeasible / count


@njit
def linearize_natural_map(problem):
    """f and D of the polishing phase."""
    cones = problem.cones
    for i in range(problem.step[0].contacts):
        cone = cones[i]
        if cone.compliance == 0.0:
            continue
        force = load3(cone.force)
        x = sub(force, scale(1.0 / cone.compliance, load3(cone.value)))
        plus, minus, across, a, b = projection_spectrum(x)
        g_plus, g_minus, g_across = gain(plus), gain(minus), gain(across)
        rho = 1.0 / cone.compliance
        set_spectrum(cone, (rho * plus * g_plus, rho * minus * g_minus, rho * across * g_across, a, b))
        phi = sub(project_coulomb(x, 1.0), force)
        store3(cone.f, apply_spectrum((g_plus, g_minus, g_across, a, b), phi))


@njit
def gain(eigenvalue):
    """1/(1 − (1 − ε) λ) of an eigenvalue λ of P′."""
    return 1.0 / (1.0 - (1.0 - PROXIMAL) * eigenvalue)


# The method of multipliers ---------------------------------------------------------------------------------------------
#
# The end of the solver, with semismooth Newton inside. A round fixes the forces λ̄ and finds the velocities that balance
# M (v − v_free) = Aᵀ λ(v) + Gᵀ y, where
#
#     λ(v) = P(λ̄ − ρ z(v)),   ρ = κ / compliance,
#
# P the projection on the cone; then λ̄ ← λ(v). A fixed point has λ = P(λ − ρ z), which is Coulomb's law. Newton's matrix is
# M + Aᵀ ρ P′ B, as in the interior point. It stays regular with redundant contacts, with contacts between sticking and
# sliding, and with those that touch without force, where Newton on λ = P(λ − ρ z) itself fails. The larger κ, the fewer
# rounds, the smaller the region in which Newton converges, and the larger the rounding of λ(v), about κ 1e-17 of the
# typical speed: κ grows from what suits the present residual, and shrinks where a round fails.
#
# R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in convex programming", 1976;
# J. C. Simo, T. A. Laursen, "An augmented Lagrangian treatment of contact problems involving friction", 1992.

ROUNDS, NEWTON = 60, 25  # most rounds, and most steps of Newton in one
SMALLEST, FIRST, LARGEST = 0.01, 1e2, 1e6  # κ: at least, at most to begin with, and at most
GROWTH = 3.0  # of κ after a round that brought little; after one that failed it shrinks by as much
LITTLE = 0.1  # of the residual before it
REACH = 1e-3  # κ times the residual, of typical speeds, at which Newton is expected to converge
BALANCED = 0.1  # of the tolerance: what Newton aims at
FAILED = 1e-8  # imbalance over the typical speed at which a round has failed
SUFFICIENT = 1e-4  # Armijo's: of the decrease that is predicted
SHORTEST_MULTIPLIER_STEP = 0.01  # step of a line search


@njit
def run_multipliers(problem):
    """Rounds from the present iterate, until the tolerance or the most iterations; the best is in the outputs."""
    step = problem.step[0]
    last = HUGE
    residual = evaluate_residual(problem)
    kappa = min(FIRST, max(SMALLEST, REACH / residual)) if residual > 0.0 else FIRST
    for _ in range(ROUNDS):
        if step.residual <= step.tolerance or step.iterations >= step.max_iterations:
            break
        save_forces(problem)
        imbalance, residual = find_balance(problem, kappa)
        if imbalance > FAILED:
            restore_forces(problem)
            kappa = max(SMALLEST, kappa / GROWTH)
            continue
        store_best(problem, residual)
        if residual > LITTLE * last:
            kappa = min(GROWTH * kappa, LARGEST)
        last = residual


@njit
def find_balance(problem, kappa):
    """The velocities of a round, by Newton with Armijo's rule. Returns (imbalance, residual)."""
    step = problem.step[0]
    imbalance, residual = force_response(problem, kappa)
    for _ in range(NEWTON):
        if imbalance <= BALANCED * step.tolerance or step.iterations >= step.max_iterations:
            break
        step.iterations += 1
        if factorize(problem) != 0:
            break
        direction(problem, 1.0)
        length = 1.0
        move_velocities(problem, length)
        now, residual = force_response(problem, kappa)
        while not now < (1.0 - SUFFICIENT * length) * imbalance and length > SHORTEST_MULTIPLIER_STEP:
            length *= 0.5
            move_velocities(problem, -length)
            now, residual = force_response(problem, kappa)
        if not now < (1.0 - SUFFICIENT * length) * imbalance:
            move_velocities(problem, -length)
            return force_response(problem, kappa)
        imbalance = now
    return imbalance, residual


@njit
def force_response(problem, kappa):
    """λ(v) and its derivative; returns (imbalance: a norm of speeds over the typical speed, residual)."""
    evaluate_residual(problem)  # z(v)
    cones = problem.cones
    for i in range(problem.step[0].contacts):
        cone = cones[i]
        if cone.compliance == 0.0:
            continue
        rho = kappa / cone.compliance
        x = sub(load3(cone.prior), scale(rho, load3(cone.value)))
        plus, minus, across, a, b = projection_spectrum(x)
        set_spectrum(cone, (rho * plus, rho * minus, rho * across, a, b))
        store3(cone.f, (0.0, 0.0, 0.0))
        store3(cone.force, project_coulomb(x, 1.0))
    residual = evaluate_residual(problem)
    return imbalance_of(problem), residual


@njit
def imbalance_of(problem):
    """The 2-norm of unbalanced momenta, as speeds, and of the defects of joint rows, over the typical speed."""
    step = problem.step[0]
    vectors, inverse_mass, inverse_inertia = problem.vectors, problem.inverse_mass, problem.inverse_inertia
    gradient = GRADIENT * 6 * step.bodies
    total = 0.0
    for i in range(step.bodies):
        if inverse_mass[i] > 0.0:
            speed = speed_of_momentum(inverse_mass, inverse_inertia, i, vectors, gradient + 6 * i)
            total += speed * speed
    groups, links, compliance = problem.groups, problem.links, problem.compliance
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            error = links[row].defect * rigidity(links[row].compliance, compliance[row])
            total += error * error
    return math.sqrt(total) / step.speed


@njit
def save_forces(problem):
    """λ̄ ← λ."""
    cones = problem.cones
    for i in range(problem.step[0].contacts):
        store3(cones[i].prior, load3(cones[i].force))


@njit
def restore_forces(problem):
    """λ ← λ̄."""
    cones = problem.cones
    for i in range(problem.step[0].contacts):
        store3(cones[i].force, load3(cones[i].prior))


# The iteration ---------------------------------------------------------------------------------------------------------

HANDOVER = 1e-3  # residual at which polishing begins, a hundred times less after each failure
SHORTEST, SHORT_STEPS = 0.05, 4  # the interior point is stuck after so many steps in a row shorter than this
MOST_STEPS = 25  # of the interior point from one start
POLISHING, SHORTEST_POLISHING = 12, 0.02  # most steps of polishing at a time; the shortest of its line search
NEAR = 10.0  # times the tolerance: a new start does not help an iterate that is so near and stuck
TO_BOUNDARY = 0.99  # of the way to the boundary of the cones: the longest step


@njit
def order_bodies(problem):
    """Order the bodies and lay out the envelope; returns NEED_MORE if it is too short, 0 otherwise."""
    step = problem.step[0]
    n = step.bodies
    numbers, inverse_mass = problem.numbers, problem.inverse_mass
    contacts, groups = problem.contacts, problem.groups
    degree, head = numbers[3 * n :], numbers[6 * n :]
    edges = numbers[7 * n + 1 :]
    count = step.contacts + step.groups
    neighbour = numbers[7 * n + 1 + 2 * count :]
    for i in range(n):
        degree[i] = 0 if inverse_mass[i] > 0.0 else -1
    for i in range(step.contacts):
        edges[2 * i], edges[2 * i + 1] = contacts[i].a, contacts[i].b
    for i in range(step.groups):
        at = 2 * (step.contacts + i)
        edges[at], edges[at + 1] = groups[i].a, groups[i].b
    adjacency(n, edges, count, head, neighbour, degree)
    step.placed = cuthill_mckee(n, head, neighbour, degree, numbers[4 * n :], numbers[5 * n :], numbers)
    step.half = row_starts(n, step.placed, head, neighbour, numbers, numbers[n:], numbers[2 * n :])
    step.envelope_needed = 2 * step.half
    return NEED_MORE if problem.envelope.shape[0] < step.envelope_needed else 0


@njit
def interior_step(problem):
    """One predictor and corrector step. Returns its length; 0 when the matrix could not be factored."""
    scale_cones(problem)
    if factorize(problem) != 0:
        return 0.0
    direction(problem, 1.0)
    predicted = min(1.0, longest_step(problem))
    gap, infeasible = complementarity(problem, 0.0)
    after, _ = complementarity(problem, predicted)
    sigma = 0.0
    if gap > 0.0:
        ratio = min(1.0, max(0.0, after / gap))
        sigma = ratio * ratio * ratio
        sigma = max(sigma, min(10.0, CENTRING * infeasible / gap))
    share = max(0.0, 1.0 - sigma)
    correct(problem, sigma * gap, predicted > SECOND_ORDER, share)
    direction(problem, share)
    length = min(1.0, TO_BOUNDARY * longest_step(problem))
    move(problem, length)
    return length


@njit
def polish(problem, residual):
    """Semismooth Newton with halving, as long as it gets nearer; returns the residual reached."""
    step = problem.step[0]
    for _ in range(POLISHING):
        if step.iterations >= step.max_iterations or residual <= step.tolerance:
            break
        step.iterations += 1
        linearize_natural_map(problem)
        if factorize(problem) != 0:
            break
        direction(problem, 1.0)
        no_slack_steps(problem)
        length = 1.0
        move(problem, length)
        now = evaluate_residual(problem)
        while length > SHORTEST_POLISHING and not now < residual:
            length *= 0.5
            move(problem, -length)
            now = evaluate_residual(problem)
        if not now < residual:
            break
        residual = now
        store_best(problem, residual)
    return residual


@njit
def no_slack_steps(problem):
    """δz = 0: polishing does not move the slacks."""
    cones = problem.cones
    for i in range(problem.step[0].contacts):
        store3(cones[i].slack_step, (0.0, 0.0, 0.0))


@njit
def iterate(problem):
    """Interior point, polishing and multipliers in turn, until the tolerance or the most iterations. Where all of them are
    stuck, the interior point starts again from another point."""
    step = problem.step[0]
    attempt, steps, shorts, handover = 0, 0, 0, HANDOVER
    place_on_axes(problem, 1.0, 1.0)
    residual = evaluate_residual(problem)
    store_best(problem, residual)
    while step.iterations < step.max_iterations and step.residual > step.tolerance:
        step.iterations += 1
        steps += 1
        length = interior_step(problem)
        residual = evaluate_residual(problem)
        store_best(problem, residual)
        shorts = shorts + 1 if length < SHORTEST else 0
        stuck = shorts >= SHORT_STEPS or steps >= MOST_STEPS or length == 0.0 or not residual < HUGE
        if not (residual < handover or stuck):
            continue
        save(problem)
        if residual < HUGE and polish(problem, residual) <= step.tolerance:
            break
        restore(problem)
        if not stuck:
            handover = 0.01 * min(handover, residual)
            residual = evaluate_residual(problem)
            continue
        run_multipliers(problem)
        if step.residual <= NEAR * step.tolerance:
            break
        attempt += 1
        place_on_axes(problem, 1.0 if attempt % 3 == 0 else 0.0, 1.0 if attempt % 3 == 2 else 10.0)
        steps, shorts, handover = 0, 0, HANDOVER
        residual = evaluate_residual(problem)


@njit
def solve_system(problem):
    """Solve a `Problem`, in place. Returns SOLVED,
    NOT_CONVERGED (the best iterate is in the outputs), NEED_MORE (nothing done: `step.envelope_needed` numbers are
    needed) or NOT_FINITE (the input is not; outputs are as they were)."""
    step = problem.step[0]
    step.iterations = 0
    if order_bodies(problem) != 0:
        return NEED_MORE
    if load_problem(problem) != 0:
        return NOT_FINITE
    iterate(problem)
    size = 6 * step.bodies
    measure(problem, FREE * size, RIGHT * size, LEFT * size)
    return SOLVED if step.residual <= step.tolerance else NOT_CONVERGED
