"""What a contact contributes to Newton's step in the interior point and in polishing.

Interior point (L. Vandenberghe, 2010, §5): with the scaling W of slack z and force λ, and the direction c of
complementarity, W δλ + W⁻¹ δz = W⁻¹ q, so that δλ = (W² + δ)⁻¹ (q − (z(v) − z) − B δv) and δz = z(v) − z + B δv. It is also
q − W² δλ, but for rounding, which W² blows up where the force is at the boundary of the cone. The predictor has q = −z; the
corrector q = −z + W (λ̄ \\ (σμ e − (W⁻¹ δz) ∘ (W δλ))) with λ̄ = W λ.

Polishing: semismooth Newton on the natural map φ = λ − P(λ − ρ z(v)), P the projection on the cone, with ρ = 1/compliance:
(1 − (1 − ε) P′) δλ = −φ − ρ P′ B δv. ε > 0 takes the place of δ, as P′ has the eigenvalue 1 where a contact sticks.
"""

from ..jit import njit
from ..vec import add, dot, load3, norm, scale, store3, sub
from .cone import (
    apply_inverse_scaling,
    apply_scaling,
    apply_spectrum,
    divide,
    product,
    project_coulomb,
    projection_spectrum,
    regularized_inverse,
    scaling_point,
    step_to_boundary,
)
from .interior_point_matrix import REGULARIZATION, set_spectrum, spectrum_of

PROXIMAL = 1e-11  # ε: a force may change by the velocity over ε in one step
CENTRING = 0.1  # how much of what is infeasible, times the force, complementarity is not to fall below


@njit
def scale_cones(system):
    """Scaling, D, and the predictor's right-hand side."""
    cones = system.cones
    for i in range(system.step[0].contacts):
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
    store3(cone.q, q)
    defect = sub(load3(cone.value), load3(cone.slack))
    store3(cone.f, apply_spectrum(spectrum_of(cone), sub(q, scale(share, defect))))


@njit
def correct(system, target, second_order, share):
    """The corrector's right-hand side, for complementarity `target`, from the predictor's steps."""
    cones = system.cones
    for i in range(system.step[0].contacts):
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
def longest_step(system):
    """How far force and slack can go along their steps, at most 1e30."""
    cones = system.cones
    longest = 1e30
    for i in range(system.step[0].contacts):
        cone = cones[i]
        if cone.compliance == 0.0:
            continue
        longest = min(longest, step_to_boundary(load3(cone.force), load3(cone.force_step)))
        longest = min(longest, step_to_boundary(load3(cone.slack), load3(cone.slack_step)))
    return longest


@njit
def complementarity(system, length):
    """Mean λ·z after a step of that length, and the mean of λ_n |z(v) − z| now."""
    cones = system.cones
    total, infeasible, count = 0.0, 0.0, 0
    for i in range(system.step[0].contacts):
        cone = cones[i]
        if cone.compliance > 0.0:
            force = add(load3(cone.force), scale(length, load3(cone.force_step)))
            total += dot(force, add(load3(cone.slack), scale(length, load3(cone.slack_step))))
            infeasible += cone.force[0] * norm(sub(load3(cone.value), load3(cone.slack)))
            count += 1
    count = max(count, 1)
    return total / count, infeasible / count


@njit
def linearize_natural_map(system):
    """f and D of the polishing phase."""
    cones = system.cones
    for i in range(system.step[0].contacts):
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
    return 1.0 / (1.0 - (1.0 - PROXIMAL) * eigenvalue)
