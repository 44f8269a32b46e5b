"""The end of the converging solver: the method of multipliers, with semismooth Newton inside.

A round keeps the forces λ̄ and finds the velocities that balance M (v − v_free) = Aᵀ λ(v) + Gᵀ y, where

    λ(v) = P(λ̄ − ρ z(v)),   ρ = κ / compliance,

P the projection on the cone; then λ̄ ← λ(v). Where this comes to rest λ = P(λ − ρ z), which is Coulomb's law. Newton's
matrix is M + Aᵀ ρ P′ B, as in the interior point: it does not care how many contacts are redundant, nor whether one is at
the edge between sticking and sliding, or touches without force, where Newton on λ = P(λ − ρ z) itself gets lost.
The larger κ, the fewer rounds, the smaller the region in which Newton converges, and the larger the rounding of λ(v), about
κ 1e-17 of the typical speed: κ grows from what suits the residual at hand, and shrinks where a round fails.

R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in convex programming", 1976;
J. C. Simo, T. A. Laursen, "An augmented Lagrangian treatment of contact problems involving friction", 1992.
"""

import math

from ..jit import njit
from ..vec import load3, scale, store3, sub
from .cone import project_coulomb, projection_spectrum
from .interior_point_matrix import factorize, set_spectrum
from .interior_point_state import HUGE, evaluate, keep_best, move_velocities
from .interior_point_system import direction
from .interior_point_tables import GRADIENT
from .motion import rigidity, speed_of_momentum

ROUNDS, NEWTON = 60, 25  # most rounds, and most steps of Newton in one
SMALLEST, FIRST, LARGEST = 0.01, 1e2, 1e6  # κ: at least, at most to begin with, and at most
GROWTH = 3.0  # of κ after a round that brought little; after one that failed it shrinks by as much
LITTLE = 0.1  # of the residual before it
REACH = 1e-3  # κ times the residual, of typical speeds, at which Newton is expected to converge
BALANCED = 0.1  # of the tolerance: what Newton aims at
FAILED = 1e-8  # imbalance over the typical speed at which a round has failed
SUFFICIENT = 1e-4  # Armijo's: of the decrease that is predicted
SHORTEST = 0.01  # step of a line search


@njit
def multiply(system):
    """Rounds from the iterate, until the tolerance or the most iterations; the best is in the outputs."""
    step = system.step[0]
    last = HUGE
    residual = evaluate(system)
    kappa = min(FIRST, max(SMALLEST, REACH / residual)) if residual > 0.0 else FIRST
    for _ in range(ROUNDS):
        if step.residual <= step.tolerance or step.iterations >= step.max_iterations:
            break
        keep_forces(system)
        imbalance, residual = find_balance(system, kappa)
        if imbalance > FAILED:
            restore_forces(system)
            kappa = max(SMALLEST, kappa / GROWTH)
            continue
        keep_best(system, residual)
        if residual > LITTLE * last:
            kappa = min(GROWTH * kappa, LARGEST)
        last = residual


@njit
def find_balance(system, kappa):
    """The velocities of a round, by Newton with Armijo's rule. Returns (imbalance, residual)."""
    step = system.step[0]
    imbalance, residual = respond(system, kappa)
    for _ in range(NEWTON):
        if imbalance <= BALANCED * step.tolerance or step.iterations >= step.max_iterations:
            break
        step.iterations += 1
        if factorize(system) != 0:
            break
        direction(system, 1.0)
        length = 1.0
        move_velocities(system, length)
        now, residual = respond(system, kappa)
        while not now < (1.0 - SUFFICIENT * length) * imbalance and length > SHORTEST:
            length *= 0.5
            move_velocities(system, -length)
            now, residual = respond(system, kappa)
        if not now < (1.0 - SUFFICIENT * length) * imbalance:
            move_velocities(system, -length)
            return respond(system, kappa)
        imbalance = now
    return imbalance, residual


@njit
def respond(system, kappa):
    """λ(v) and its derivative; returns (imbalance: a norm of speeds over the typical speed, residual)."""
    evaluate(system)  # z(v)
    cones = system.cones
    for i in range(system.step[0].contacts):
        cone = cones[i]
        if cone.compliance == 0.0:
            continue
        rho = kappa / cone.compliance
        x = sub(load3(cone.prior), scale(rho, load3(cone.value)))
        plus, minus, across, a, b = projection_spectrum(x)
        set_spectrum(cone, (rho * plus, rho * minus, rho * across, a, b))
        store3(cone.f, (0.0, 0.0, 0.0))
        store3(cone.force, project_coulomb(x, 1.0))
    residual = evaluate(system)
    return imbalance_of(system), residual


@njit
def imbalance_of(system):
    step = system.step[0]
    vectors, inverse_mass, inverse_inertia = system.vectors, system.inverse_mass, system.inverse_inertia
    gradient = GRADIENT * 6 * step.bodies
    total = 0.0
    for i in range(step.bodies):
        if inverse_mass[i] > 0.0:
            speed = speed_of_momentum(inverse_mass, inverse_inertia, i, vectors, gradient + 6 * i)
            total += speed * speed
    groups, links, compliance = system.groups, system.links, system.compliance
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            error = links[row].defect * rigidity(links[row].compliance, compliance[row])
            total += error * error
    return math.sqrt(total) / step.speed


@njit
def keep_forces(system):
    cones = system.cones
    for i in range(system.step[0].contacts):
        store3(cones[i].prior, load3(cones[i].force))


@njit
def restore_forces(system):
    cones = system.cones
    for i in range(system.step[0].contacts):
        store3(cones[i].force, load3(cones[i].prior))
