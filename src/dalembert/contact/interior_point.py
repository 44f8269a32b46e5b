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
method of multipliers (`interior_point_multipliers`). Redundant contacts and joint rows are regularized inside Newton's
matrix only, by 1e-9 of their compliance: the limit is exact (proximal method of multipliers).
"""

from ..jit import njit
from ..linalg.envelope_order import adjacency, cuthill_mckee, row_starts
from ..vec import store3
from .interior_point_matrix import factorize
from .interior_point_multipliers import multiply
from .interior_point_phases import (
    CENTRING,
    complementarity,
    correct,
    linearize_natural_map,
    longest_step,
    scale_cones,
)
from .interior_point_state import HUGE, evaluate, keep_best, move, place_on_axes, restore, save, start
from .interior_point_system import direction
from .interior_point_tables import FREE, LEFT, NEED_MORE, NOT_CONVERGED, NOT_FINITE, RIGHT, SOLVED
from .residual import measure

HANDOVER = 1e-3  # residual at which polishing takes over, a hundred times less after each failure
SHORTEST, SHORT_STEPS = 0.05, 4  # so many steps in a row shorter than this: the interior point comes no further
MOST_STEPS = 25  # of the interior point from one start
POLISHING = 12  # most steps of polishing at a time
NEAR = 10.0  # times the tolerance: what is so near and stuck is not helped by starting from elsewhere
TO_BOUNDARY = 0.99


@njit
def order_bodies(system):
    """Order the bodies and lay out the envelope; returns NEED_MORE if it is too short, 0 otherwise."""
    step = system.step[0]
    n = step.bodies
    numbers, inverse_mass = system.numbers, system.inverse_mass
    contacts, groups = system.contacts, system.groups
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
    return NEED_MORE if system.envelope.shape[0] < step.envelope_needed else 0


@njit
def interior_step(system):
    """One predictor and corrector step. Returns its length; 0 when the matrix could not be factored."""
    scale_cones(system)
    if factorize(system) != 0:
        return 0.0
    direction(system, 1.0)
    predicted = min(1.0, longest_step(system))
    gap, infeasible = complementarity(system, 0.0)
    after, _ = complementarity(system, predicted)
    sigma = 0.0
    if gap > 0.0:
        ratio = min(1.0, max(0.0, after / gap))
        sigma = ratio * ratio * ratio
        sigma = max(sigma, min(10.0, CENTRING * infeasible / gap))
    share = max(0.0, 1.0 - sigma)
    correct(system, sigma * gap, predicted > 0.1, share)
    direction(system, share)
    length = min(1.0, TO_BOUNDARY * longest_step(system))
    move(system, length)
    return length


@njit
def polish(system, residual):
    """Semismooth Newton with halving, as long as it gets nearer; returns the residual reached."""
    step = system.step[0]
    for _ in range(POLISHING):
        if step.iterations >= step.max_iterations or residual <= step.tolerance:
            break
        step.iterations += 1
        linearize_natural_map(system)
        if factorize(system) != 0:
            break
        direction(system, 1.0)
        no_slack_steps(system)
        length = 1.0
        move(system, length)
        now = evaluate(system)
        while length > 0.02 and not now < residual:
            length *= 0.5
            move(system, -length)
            now = evaluate(system)
        if not now < residual:
            break
        residual = now
        keep_best(system, residual)
    return residual


@njit
def no_slack_steps(system):
    cones = system.cones
    for i in range(system.step[0].contacts):
        store3(cones[i].slack_step, (0.0, 0.0, 0.0))


@njit
def iterate(system):
    """Interior point, polishing and multipliers in turn, until the tolerance or the most iterations. What gets stuck in all
    of them starts again from elsewhere."""
    step = system.step[0]
    attempt, steps, shorts, handover = 0, 0, 0, HANDOVER
    place_on_axes(system, 1.0, 1.0)
    residual = evaluate(system)
    keep_best(system, residual)
    while step.iterations < step.max_iterations and step.residual > step.tolerance:
        step.iterations += 1
        steps += 1
        length = interior_step(system)
        residual = evaluate(system)
        keep_best(system, residual)
        shorts = shorts + 1 if length < SHORTEST else 0
        stuck = shorts >= SHORT_STEPS or steps >= MOST_STEPS or length == 0.0 or not residual < HUGE
        if not (residual < handover or stuck):
            continue
        save(system)
        if residual < HUGE and polish(system, residual) <= step.tolerance:
            break
        restore(system)
        if not stuck:
            handover = 0.01 * min(handover, residual)
            residual = evaluate(system)
            continue
        multiply(system)
        if step.residual <= NEAR * step.tolerance:
            break
        attempt += 1
        place_on_axes(system, 1.0 if attempt % 3 == 0 else 0.0, 1.0 if attempt % 3 == 2 else 10.0)
        steps, shorts, handover = 0, 0, HANDOVER
        residual = evaluate(system)


@njit
def solve_system(system):
    """Solve the problem whose tables `system` addresses (a `Problem`). Returns SOLVED,
    NOT_CONVERGED (the best iterate is in the outputs), NEED_MORE (nothing done: `step.envelope_needed` numbers are
    needed) or NOT_FINITE (the input is not; outputs are as they were)."""
    step = system.step[0]
    step.iterations = 0
    if order_bodies(system) != 0:
        return NEED_MORE
    if start(system) != 0:
        return NOT_FINITE
    iterate(system)
    size = 6 * step.bodies
    measure(system, FREE * size, RIGHT * size, LEFT * size)
    return SOLVED if step.residual <= step.tolerance else NOT_CONVERGED
