"""The method of multipliers of the converging solver, with Newton's method inside, and sweeps for cases in which it
stalls.

A round fixes the impulses p̄ and finds the speeds that balance M (w − w_free) = Jᵀ p(w) + gᵀ λ(w), where

    p(w) = proj_K(p̄ − ρ û(w)),   ρ = κ / c,      λ(w) = clamp((λ̄ − ρ (g w − target)) / (1 + ρ C)),

then p̄ ← p(w). A fixed point is Coulomb's law. Newton's matrix has K = ρ proj′ (1 + e_n μ tᵀ) and stays regular with
redundant contacts, and with contacts between two states. The larger κ, the fewer rounds, and the smaller the region in
which Newton converges. It has to be very large where contacts cannot all stick for some 1e-9 m/s, or where the load of a
sliding face has to move from one of its corners to another: their impulses grow by κ/c times the velocity that is left, in
each round, until the weakest slides or opens. In a pile these are a few contacts of many, and with κ as large for all of
them Newton fails. So each contact and row has its own κ (`penalty`), which grows where a round leaves more than a part of the
velocity that the round before left; all grow where few steps of Newton were enough, and where a round fails, those that have
grown shrink. A rounding ε of u would be one of κ ε
in p c. So within a round u is not formed from w but goes on from that of the last step, u ← u + δu: its rounding vanishes
with δu.

R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in convex programming", 1976; P.
Alart, A. Curnier, "A mixed formulation for frictional contact problems prone to Newton like solution methods", 1991; A.
Conn, N. Gould, P. Toint, "A globally convergent augmented Lagrangian algorithm", SIAM J. Numer. Anal. 28 (1991): a penalty
grows where its constraint does not improve.
"""

import math

from ..core.jit import njit
from ..core.math3 import add, load3, norm, scale, store3, sub
from ..core.simd import load, store
from .cone import project_coulomb, tangent_norm
from .cone_iterate import is_equation, is_fixed, load_best, soften_equation, store_best
from .cone_problem import (
    BLOCKS,
    DIRECTION,
    GRADIENT,
    HUGE,
    POINT,
    SAVED,
    START,
    balance,
    contact_rate,
    direction,
    evaluate,
    factorize,
    find_rates,
    judge,
    own_response,
    row_rate,
)

FIRST, LARGEST, DECAY = 100.0, 1e12, 8.0  # κ: to begin with, at most, after failure
GROWTH, EASY, FEW = 4.0, 16.0, 2  # of a κ that is too small, and of all after FEW steps of Newton; and after one
# κ is too small where a round leaves more than this part of what the one before left, and more than so much of the tolerance
IMPROVED, NOTICED = 0.25, 0.3
CUT, RISE = 0.5, 2.0  # after a failure κ stays below this part of where it failed; that grows after rounds of few steps
ROUNDS, NEWTON = 100, 12  # most rounds, and most steps of Newton in one
BALANCED, REDUCED = 0.1, 1e-2  # a round ends at this share of the tolerance, or of the imbalance that it began with
SUFFICIENT = 1e-4  # Armijo's: of the decrease that is predicted
SHORTEST = 0.02  # step of a line search
STIFF = 1e6  # κ from which a step of Newton is refined: below it the factorization is precise enough for one step


@njit
def run_multipliers(problem, most):
    """Rounds from the present iterate, until the tolerance, or `most` factorizations; the best is in the outputs."""
    step = problem.step[0]
    end = min(step.max_iterations, step.iterations + most)
    begin_penalties(problem)
    for _ in range(ROUNDS):
        if step.residual <= step.tolerance or step.iterations >= end:
            break
        save(problem)
        before = step.iterations
        solved, residual = find_balance(problem, end)
        store_best(problem, residual)
        if solved:
            raise_penalties(problem, step.iterations - before)
        else:
            lower_penalties(problem)
            undo_round(problem)


@njit
def begin_penalties(problem):
    """The first κ of each contact and row."""
    for i in range(problem.step[0].contacts):
        begin_penalty(problem.cones[i])
    for i in range(problem.step[0].rows):
        begin_penalty(problem.rows[i])


@njit
def begin_penalty(own):
    """The first κ of a contact or row."""
    own.penalty, own.ceiling, own.left = FIRST, LARGEST, math.inf


@njit
def raise_penalties(problem, steps):
    """κ after a round that took so many steps of Newton; see above."""
    step = problem.step[0]
    for i in range(step.contacts):
        cone = problem.cones[i]
        raise_penalty(cone, cone.compliance * norm(sub(load3(cone.p), load3(cone.prior))), steps, step.tolerance)
    for i in range(step.rows):
        row = problem.rows[i]
        raise_penalty(row, row.response * abs(row.force - row.prior), steps, step.tolerance)


@njit
def raise_penalty(own, change, steps, tolerance):
    """The same of a contact or row whose impulse has changed by `change`, in m/s; change/κ is what is left of its law."""
    left = change / own.penalty
    if steps == 1:
        own.penalty = min(EASY * own.penalty, own.ceiling)
    elif steps <= FEW or (left > IMPROVED * own.left and left > NOTICED * tolerance):
        own.penalty = min(GROWTH * own.penalty, own.ceiling)
    if steps <= FEW:
        own.ceiling = min(RISE * own.ceiling, LARGEST)
    own.left = left


@njit
def largest_penalty(problem):
    """The largest κ."""
    step, largest = problem.step[0], FIRST
    for i in range(step.contacts):
        largest = max(largest, problem.cones[i].penalty)
    for i in range(step.rows):
        largest = max(largest, problem.rows[i].penalty)
    return largest


@njit
def lower_penalties(problem):
    """κ after a round that failed: those that have grown shrink, or all where none has."""
    step, grown = problem.step[0], False
    for i in range(step.contacts):
        grown = grown or problem.cones[i].penalty > FIRST
    for i in range(step.rows):
        grown = grown or problem.rows[i].penalty > FIRST
    for i in range(step.contacts):
        lower_penalty(problem.cones[i], grown)
    for i in range(step.rows):
        lower_penalty(problem.rows[i], grown)


@njit
def lower_penalty(own, only_grown):
    """The same of a contact or row."""
    own.left = math.inf
    if own.penalty > FIRST or not only_grown:
        own.ceiling = max(1.0, min(own.ceiling, CUT * own.penalty))
        own.penalty = max(1.0, own.penalty / DECAY)


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
def find_balance(problem, end):
    """The speeds of a round, by Newton's method. Returns (whether it balances, the residual)."""
    step = problem.step[0]
    find_rates(problem)
    imbalance, residual = respond(problem)
    first, refinements = imbalance, 1 if largest_penalty(problem) > STIFF else 0
    for _ in range(NEWTON):
        if step.iterations >= end:
            break
        step.iterations += 1
        if not factorize(problem):
            return False, HUGE
        direction(problem, refinements)
        now, residual = search(problem, imbalance)
        if balance(problem) <= BALANCED * step.tolerance or now <= REDUCED * first:
            return True, residual
        if not now < imbalance:
            return False, residual
        imbalance = now
    return False, residual


@njit
def search(problem, before):
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
        now, residual = respond(problem)
        if now < (1.0 - SUFFICIENT * length) * before or length < SHORTEST:
            return now, residual
        length *= 0.5


@njit
def respond(problem):
    """p and λ of the rates u and g w, their derivatives, and r. Returns (imbalance: √ of an energy, the residual)."""
    step = problem.step[0]
    for i in range(step.contacts):
        if problem.cones[i].compliance > 0.0:
            respond_cone(problem.cones[i], load3(problem.cones[i].u))
    for i in range(step.rows):
        row = problem.rows[i]
        if is_fixed(row):
            row.force, row.stiffness, row.f = min(row.most, max(row.least, 0.0)), 0.0, 0.0
        elif not is_equation(row):
            respond_row(row, row.penalty / row.response)
    residual = judge(problem)
    return imbalance_of(problem), residual


@njit
def respond_cone(cone, u):
    """p and K of a contact at the velocity u, which has the bias in it.

    With x = p̄ − ρ û a sliding contact has (1 + μ²) p_n = x_n + μ |x_t|. Both are large, ρ μ |u_t|, and nearly opposite; so
    it is p̄_n − ρ u_n + μ (|x_t| − ρ |u_t|), with that difference as one of squares."""
    mu, rho, prior = cone.friction, cone.penalty / cone.compliance, load3(cone.prior)
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

SWEEPS, LEAST_SWEEPS, SWEPT = 300, 20, 20000  # most and least sweeps; in between so many contacts all together


@njit
def sweep_contacts(most, problem):
    """At most so many sweeps over all contacts and rows from the best iterate, and the result if it is better."""
    step = problem.step[0]
    sweeps = min(most, max(LEAST_SWEEPS, SWEPT // max(1, step.contacts)))
    load_best(problem)
    for i in range(step.contacts):
        cone = problem.cones[i]
        own = own_response(problem, cone.blocks, cone.at, 1) + own_response(problem, cone.blocks, cone.at, 2)
        cone.beta = cone.compliance + own
    for _ in range(sweeps):
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
