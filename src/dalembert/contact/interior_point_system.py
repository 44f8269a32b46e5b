"""The Newton system of the contact solver, reduced to the velocities of the bodies: solved.

    (M + Σ Aᵀ D B + Gᵀ Δ⁻¹ G) δv = −r + Aᵀ f − Gᵀ Δ⁻¹ (G v − g),   δλ = f − D B δv,   δy = −Δ⁻¹ (G (v + δv) − g)

with A = T J, T = diag(1, μ, μ), B = A + e_n μ tᵀ J_t where t is the direction of sliding, and r the unbalanced momentum. Two
steps of refinement use the products body by body, not the sum.
"""

from ..jit import njit
from ..linalg import envelope
from ..vec import load3
from .cone import apply_spectrum
from .interior_point_matrix import REGULARIZATION, lift, spectrum_of, to_impulse
from .interior_point_tables import DIRECTION, GRADIENT, LEFT, ORDERED, RIGHT
from .motion import add_momentum, push, push_row, relative_velocity, row_velocity

REFINEMENTS = 2


@njit
def right_hand_side(system, share):
    """−share r + Aᵀ f − share Gᵀ Δ⁻¹ (G v + C y − g) into RIGHT."""
    step = system.step[0]
    vectors = system.vectors
    size = 6 * step.bodies
    right = RIGHT * size
    for i in range(size):
        vectors[right + i] = -share * vectors[GRADIENT * size + i]
    contacts, cones = system.contacts, system.cones
    for i in range(step.contacts):
        push(contacts[i], to_impulse(contacts[i].friction, load3(cones[i].f)), vectors, right, step.bodies)
    groups, jacobian, links, compliance = (
        system.groups,
        system.jacobian,
        system.links,
        system.compliance,
    )
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            if links[row].compliance > 0.0:
                amount = -share * links[row].defect / (REGULARIZATION * links[row].compliance + compliance[row])
                push_row(groups[i], row, jacobian, amount, vectors, right, step.bodies)


@njit
def steps_of_forces(system, share):
    """δλ = f − D B δv, δy, and δz, which keeps the slack equal to z(v) to rounding, from the step of the velocities."""
    step = system.step[0]
    vectors = system.vectors
    base = DIRECTION * 6 * step.bodies
    contacts, cones = system.contacts, system.cones
    for i in range(step.contacts):
        cone = cones[i]
        u = lift(contacts[i].friction, cone, relative_velocity(contacts[i], vectors, base, step.bodies))
        less = apply_spectrum(spectrum_of(cone), u)
        for k in range(3):
            cone.force_step[k] = cone.f[k] - less[k]
            cone.slack_step[k] = share * (cone.value[k] - cone.slack[k]) + u[k]
    groups, jacobian, links, compliance = (
        system.groups,
        system.jacobian,
        system.links,
        system.compliance,
    )
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            link = links[row]
            if link.compliance > 0.0:
                rate = row_velocity(groups[i], row, jacobian, vectors, base, step.bodies)
                link.force_step = -(rate + share * link.defect) / (REGULARIZATION * link.compliance + compliance[row])


@njit
def left_over(system, share):
    """−share r − M δv + Aᵀ δλ + Gᵀ δy into LEFT: what is left of the equations."""
    step = system.step[0]
    vectors = system.vectors
    size = 6 * step.bodies
    left = LEFT * size
    mass, inertia, inverse_mass = system.mass, system.inertia, system.inverse_mass
    for i in range(size):
        vectors[left + i] = -share * vectors[GRADIENT * size + i]
    for i in range(step.bodies):
        if inverse_mass[i] > 0.0:
            add_momentum(mass, inertia, i, -1.0, vectors, DIRECTION * size + 6 * i, vectors, left + 6 * i)
    contacts, cones = system.contacts, system.cones
    for i in range(step.contacts):
        push(contacts[i], to_impulse(contacts[i].friction, load3(cones[i].force_step)), vectors, left, step.bodies)
    groups, jacobian, links = system.groups, system.jacobian, system.links
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            push_row(groups[i], row, jacobian, links[row].force_step, vectors, left, step.bodies)


@njit
def back_substitute(system, source):
    """DIRECTION += H⁻¹ vectors[source:]."""
    step = system.step[0]
    vectors, numbers = system.vectors, system.numbers
    size = 6 * step.bodies
    x = vectors[ORDERED * size :]
    for i in range(step.bodies):
        if numbers[i] >= 0:
            for k in range(6):
                x[6 * numbers[i] + k] = vectors[source + 6 * i + k]
    envelope.solve(step.placed, numbers[step.bodies :], numbers[2 * step.bodies :], system.envelope, step.half, x)
    for i in range(step.bodies):
        if numbers[i] >= 0:
            for k in range(6):
                vectors[DIRECTION * size + 6 * i + k] += x[6 * numbers[i] + k]


@njit
def direction(system, share):
    """Newton's step of velocities, forces and multipliers, for the f in the cones and the share of r to remove."""
    vectors = system.vectors
    size = 6 * system.step[0].bodies
    for i in range(size):
        vectors[DIRECTION * size + i] = 0.0
    right_hand_side(system, share)
    back_substitute(system, RIGHT * size)
    steps_of_forces(system, share)
    for _ in range(REFINEMENTS):
        left_over(system, share)
        back_substitute(system, LEFT * size)
        steps_of_forces(system, share)
