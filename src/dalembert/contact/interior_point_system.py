"""The Newton system of the interior point solver, reduced to the velocities of the bodies.

    (M + Σ Aᵀ D B + Gᵀ Δ⁻¹ G) δv = −r + Aᵀ f − Gᵀ Δ⁻¹ (G v − g),   δλ = f − D B δv,   δy = −Δ⁻¹ (G (v + δv) − g)

with A = T J, T = diag(1, μ, μ), B = A + e_n μ tᵀ J_t where t is the direction of sliding, and r the unbalanced momentum. Two
steps of refinement use the products body by body, not the sum. In order: the tables, products with Jacobians, the matrix, its
solution, and the residuals that every contact solver reports.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import CONTACT
from ..core.jit import njit
from ..core.math3 import add, cross, dot, load3, matvec, matvec_t, norm, sub, symvec, unit
from ..core.simd import load, store
from ..core.tables import column
from ..dynamics.kinematics import load9
from ..linalg import ordering as envelope
from .cone import apply_spectrum, coulomb_velocity, natural_map, project_coulomb, project_dual

# Tables ----------------------------------------------------------------------------------------------------------------

# Statuses. Of the first two the solution is at hand; NEED_MORE asks for a longer `envelope` (`Step.envelope_needed`).
SOLVED, NOT_CONVERGED, NEED_MORE, NOT_FINITE = range(4)

# The first five are input, the others output.
STEP = np.dtype(
    [("bodies", "i8"), ("contacts", "i8"), ("groups", "i8"), ("max_iterations", "i8"), ("tolerance", "f8"),
     ("iterations", "i8"), ("envelope_needed", "i8"), ("placed", "i8"), ("half", "i8"),
     ("speed", "f8"), ("residual", "f8"), ("cone", "f8"), ("dual", "f8"), ("complementarity", "f8"),
     ("natural_map", "f8"), ("joints", "f8"), ("balance", "f8")],
    align=True,
)  # fmt: skip
# A contact in the variables of the Lorentz cone (see `interior_point`): force λ, slack, and their steps; value z(v) and the
# direction of sliding there; f and the spectrum of D (see `cone`) of λ's step f − D B δv; the scaling (β, w) and its right
# side q; compliance: J W Jᵀ of the normal, 0 between bodies that nothing moves; saved, prior: the force before the method
# of multipliers, and before its round.
CONE = np.dtype(
    [("force", "f8", 3), ("slack", "f8", 3), ("force_step", "f8", 3), ("slack_step", "f8", 3), ("value", "f8", 3),
     ("sliding", "f8", 2), ("q", "f8", 3), ("f", "f8", 3), ("d", "f8", 5), ("beta", "f8"), ("w", "f8", 3),
     ("compliance", "f8"), ("saved", "f8", 3), ("prior", "f8", 3)],
    align=True,
)  # fmt: skip
# A group of joint rows, over bodies a and b.
GROUP = np.dtype([("first", "i8"), ("rows", "i8"), ("a", "i8"), ("b", "i8")], align=True)
ROW = 12  # numbers a row in `jacobian`: linear and angular part of body a, then of body b
# A joint row in the solver: the multiplier, its step, what it was before the method of multipliers, G v − g, and G W Gᵀ.
LINK = np.dtype(
    [("force", "f8"), ("force_step", "f8"), ("saved", "f8"), ("defect", "f8"), ("compliance", "f8")], align=True
)


class Problem(NamedTuple):
    """One time step at velocity level, n bodies; world axes, SI units. Body index n is the world. In and out:"""

    step: Any = column("1", STEP)
    mass: Any = column("n", unit="kg")
    inverse_mass: Any = column("n", unit="1/kg", doc="0: a body that nothing moves")
    inertia: Any = column("6 * n", unit="kg m²", doc="xx, yy, zz, xy, xz, yz")
    inverse_inertia: Any = column("6 * n")
    velocity: Any = column(
        "6 * n", unit="m/s, rad/s", doc="v then ω of each body; in: free of contacts and joints, out: the solution"
    )
    contacts: Any = column("contacts", CONTACT, used="step[0].contacts", doc="out: impulse")
    groups: Any = column("groups", GROUP)
    jacobian: Any = column("12 * rows")
    target: Any = column("rows", doc="what J v + compliance y must be")
    compliance: Any = column("rows", unit="1/kg, 1/(kg m²)")
    multiplier: Any = column("rows", doc="out")
    # Workspace
    cones: Any = column("contacts", CONE)
    links: Any = column("rows", LINK)
    vectors: Any = column("VECTORS * 6 * n")
    numbers: Any = column("(INTEGERS + 1) * n + 4 * (contacts + groups) + 1", np.int64)
    envelope: Any = column("entries", doc="both triangles; its length is known once the bodies are ordered")


# Vectors of 6 n numbers in `vectors`: v_free, the iterate, its step, the best iterate, M (v − v_free) − Jᵀ p − Gᵀ y, a
# right-hand side, what is left of it, and the same in the order of elimination.
FREE, POINT, DIRECTION, SAVED, GRADIENT, RIGHT, LEFT, ORDERED = range(8)
VECTORS = 8
INTEGERS = 6  # integers a body: position in the order, first column, start, degree, queue, level


# Products with Jacobians -----------------------------------------------------------------------------------------------
#
# Vectors have 6 numbers a body (linear, angular) in a flat array, in which `x[base + 6 i]` is where body i begins; the body
# index `bodies` is the world, which does not move.


@njit
def linear(x, at):
    """x[at : at + 3]."""
    return (load(x, at), load(x, at + 1), load(x, at + 2))


@njit
def increase(x, at, s, a):
    """x[at : at + 3] += s a."""
    for k in range(3):
        store(x, at + k, load(x, at + k) + s * a[k])


@njit
def contact_velocity(contact, x, base, bodies):
    """J x of a contact: velocity of b's point less a's, in its frame."""
    u = (0.0, 0.0, 0.0)
    if contact.b < bodies:
        at = base + 6 * contact.b
        u = add(linear(x, at), cross(linear(x, at + 3), load3(contact.arm_b)))
    if contact.a < bodies:
        at = base + 6 * contact.a
        u = sub(sub(u, linear(x, at)), cross(linear(x, at + 3), load3(contact.arm_a)))
    return matvec(load9(contact.frame), u)


@njit
def push_contact(contact, p, x, base, bodies):
    """x += Jᵀ p, with p in the frame of the contact."""
    push_world(contact, matvec_t(load9(contact.frame), p), x, base, bodies)


@njit
def push_world(contact, p, x, base, bodies):
    """x += Jᵀ p, with p in world axes."""
    if contact.b < bodies:
        at = base + 6 * contact.b
        increase(x, at, 1.0, p)
        increase(x, at + 3, 1.0, cross(load3(contact.arm_b), p))
    if contact.a < bodies:
        at = base + 6 * contact.a
        increase(x, at, -1.0, p)
        increase(x, at + 3, -1.0, cross(load3(contact.arm_a), p))


@njit
def row_velocity(group, row, jacobian, x, base, bodies):
    """G x of one joint row."""
    s = 0.0
    for side in range(2):
        body = group.a if side == 0 else group.b
        if body < bodies:
            at, j = base + 6 * body, ROW * row + 6 * side
            s += dot(linear(jacobian, j), linear(x, at)) + dot(linear(jacobian, j + 3), linear(x, at + 3))
    return s


@njit
def push_row(group, row, jacobian, amount, x, base, bodies):
    """x += Gᵀ amount, for one joint row."""
    for side in range(2):
        body = group.a if side == 0 else group.b
        if body < bodies:
            at, j = base + 6 * body, ROW * row + 6 * side
            increase(x, at, amount, linear(jacobian, j))
            increase(x, at + 3, amount, linear(jacobian, j + 3))


@njit
def sym6(a, i):
    """The symmetric matrix of body i, as six numbers."""
    return (a[6 * i], a[6 * i + 1], a[6 * i + 2], a[6 * i + 3], a[6 * i + 4], a[6 * i + 5])


@njit
def contact_compliance(contact, inverse_mass, inverse_inertia, bodies):
    """J W Jᵀ of the normal, 1/kg: the velocity that a unit impulse makes."""
    normal = (contact.frame[0], contact.frame[1], contact.frame[2])
    s = 0.0
    for side in range(2):
        body = contact.a if side == 0 else contact.b
        if body < bodies:
            turn = cross(load3(contact.arm_a) if side == 0 else load3(contact.arm_b), normal)
            s += inverse_mass[body] + dot(turn, symvec(sym6(inverse_inertia, body), turn))
    return s


@njit
def row_compliance(group, row, jacobian, inverse_mass, inverse_inertia, bodies):
    """G W Gᵀ of one joint row."""
    s = 0.0
    for side in range(2):
        body = group.a if side == 0 else group.b
        if body < bodies:
            j = ROW * row + 6 * side
            line, a = linear(jacobian, j), linear(jacobian, j + 3)
            s += inverse_mass[body] * dot(line, line) + dot(a, symvec(sym6(inverse_inertia, body), a))
    return s


@njit
def rigidity(own, compliance):
    """The share of an error of G v + compliance y that is in the velocity, 1 for a rigid row; own : G W Gᵀ."""
    return own / (own + compliance) if compliance > 0.0 else 1.0


@njit
def add_momentum(mass, inertia, body, s, x, base, out, at):
    """out += s M x of one body."""
    increase(out, at, s * mass[body], linear(x, base))
    increase(out, at + 3, s, symvec(sym6(inertia, body), linear(x, base + 3)))


@njit
def speed_of_momentum(inverse_mass, inverse_inertia, body, x, at):
    """√(xᵀ W x / m) of a momentum, m/s: the speed of a point mass of the same kinetic energy."""
    line, a = linear(x, at), linear(x, at + 3)
    w = inverse_mass[body]
    return math.sqrt(w * (w * dot(line, line) + dot(a, symvec(sym6(inverse_inertia, body), a))))


@njit
def add_impulse_size(a, b, impulse, sums, base, bodies):
    """Add the size of an impulse to the sums of its two bodies: sums[base + i], N s."""
    if a < bodies:
        sums[base + a] += impulse
    if b < bodies:
        sums[base + b] += impulse


@njit
def unbalance(inverse_mass, inverse_inertia, body, x, at, sums, base, speed):
    """The momentum x[at:] of a body over m V, or over the impulses that act on it where they are more: their sum has the
    rounding of its terms, which matters for a light body between heavy ones."""
    error = speed_of_momentum(inverse_mass, inverse_inertia, body, x, at)
    return error / max(speed, inverse_mass[body] * sums[base + body])


# The matrix ------------------------------------------------------------------------------------------------------------
#
# A contact gives each pair of its bodies the 6×6 block ± P_xᵀ K P_y, with K = Fᵀ T D (T + e_n μ tᵀ) F in world axes, F its
# frame and P = [1, −[r]×] the velocity of its point; the other letters are those of the head of this file.


REGULARIZATION = 1e-9  # δ over the compliance, of contacts and joint rows


@njit
def spectrum_of(cone):
    """D of a contact; see `cone.apply_spectrum`."""
    return (cone.d[0], cone.d[1], cone.d[2], cone.d[3], cone.d[4])


@njit
def set_spectrum(cone, spectrum):
    """Write D of a contact."""
    for k in range(5):
        cone.d[k] = spectrum[k]


@njit
def add_sliding(mu, cone, u):
    """(T + e_n μ tᵀ) u."""
    return (u[0] + mu * (cone.sliding[0] * u[1] + cone.sliding[1] * u[2]), mu * u[1], mu * u[2])


@njit
def to_impulse(mu, force):
    """T λ."""
    return (force[0], mu * force[1], mu * force[2])


@njit
def stiffness(contact, cone):
    """K, nine numbers row by row."""
    frame, d, mu = load9(contact.frame), spectrum_of(cone), contact.friction
    x = matvec_t(frame, to_impulse(mu, apply_spectrum(d, add_sliding(mu, cone, (frame[0], frame[3], frame[6])))))
    y = matvec_t(frame, to_impulse(mu, apply_spectrum(d, add_sliding(mu, cone, (frame[1], frame[4], frame[7])))))
    z = matvec_t(frame, to_impulse(mu, apply_spectrum(d, add_sliding(mu, cone, (frame[2], frame[5], frame[8])))))
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])


class Envelope(NamedTuple):
    """The matrix as `linalg.ordering` stores it: both triangles in `values`, the upper from `half` on."""

    values: Any
    half: Any
    first: Any
    start: Any


@njit
def add_column(matrix, row, column, k, sign, top, bottom):
    """Column k of the block (row, column) of the matrix += sign (top, bottom)."""
    values, half, first, start = matrix
    if row > column:
        at, stride = envelope.block_offset(first, start, row, column) + k, envelope.row_width(first, row)
    elif row < column:
        at = half + envelope.block_offset(first, start, column, row) + k * envelope.row_width(first, column)
        stride = 1
    else:
        at, stride = envelope.block_offset(first, start, row, row) + k, envelope.row_width(first, row)
    for i in range(6):
        amount = sign * (top[i] if i < 3 else bottom[i - 3])
        target = at + i * stride
        if row == column and i < k:
            target = half + at - k + k * stride + i
        store(values, target, load(values, target) + amount)


@njit
def add_contact(contact, cone, place_a, place_b, matrix):
    """matrix += ± P_xᵀ K P_y for all pairs of the bodies of a contact, at these positions in the order; −1: none."""
    k_world = stiffness(contact, cone)
    for column_side in range(2):
        column = place_a if column_side == 0 else place_b
        arm = load3(contact.arm_a) if column_side == 0 else load3(contact.arm_b)
        if column < 0:
            continue
        for k in range(6):
            g = matvec(k_world, unit(k) if k < 3 else cross(unit(k - 3), arm))
            for row_side in range(2):
                row = place_a if row_side == 0 else place_b
                if row >= 0:
                    sign = 1.0 if row_side == column_side else -1.0
                    turned = cross(load3(contact.arm_a) if row_side == 0 else load3(contact.arm_b), g)
                    add_column(matrix, row, column, k, sign, g, turned)


@njit
def add_row_product(jacobian, row, weight, place_a, place_b, matrix):
    """matrix += weight gᵀ g for one joint row g."""
    for column_side in range(2):
        column = place_a if column_side == 0 else place_b
        for row_side in range(2):
            other = place_a if row_side == 0 else place_b
            if column < 0 or other < 0:
                continue
            at = ROW * row + 6 * row_side
            top = (jacobian[at], jacobian[at + 1], jacobian[at + 2])
            bottom = (jacobian[at + 3], jacobian[at + 4], jacobian[at + 5])
            for k in range(6):
                scale = weight * jacobian[ROW * row + 6 * column_side + k]
                add_column(matrix, other, column, k, scale, top, bottom)


@njit
def position_of(problem, body):
    """Place of a body in the order of elimination; −1: the world, or what nothing moves."""
    return problem.numbers[body] if body < problem.step[0].bodies else -1


@njit
def assemble(problem):
    """Fill `envelope` with the matrix."""
    step = problem.step[0]
    numbers, values = problem.numbers, problem.envelope
    first, start = numbers[step.bodies :], numbers[2 * step.bodies :]
    half = step.half
    for i in range(2 * half):
        values[i] = 0.0
    matrix = Envelope(values, half, first, start)
    mass, inertia = problem.mass, problem.inertia
    for i in range(step.bodies):
        if numbers[i] >= 0:
            m = mass[i]
            for k in range(6):
                if k < 3:
                    top, bottom = (m if k == 0 else 0.0, m if k == 1 else 0.0, m if k == 2 else 0.0), (0.0, 0.0, 0.0)
                else:
                    body = 6 * i
                    s = (inertia[body], inertia[body + 1], inertia[body + 2], inertia[body + 3], inertia[body + 4],
                         inertia[body + 5])  # fmt: skip
                    top, bottom = (0.0, 0.0, 0.0), symvec(s, unit(k - 3))
                add_column(matrix, numbers[i], numbers[i], k, 1.0, top, bottom)
    contacts, cones = problem.contacts, problem.cones
    for i in range(step.contacts):
        a, b = position_of(problem, contacts[i].a), position_of(problem, contacts[i].b)
        add_contact(contacts[i], cones[i], a, b, matrix)
    groups, jacobian, links, compliance = (
        problem.groups,
        problem.jacobian,
        problem.links,
        problem.compliance,
    )
    for i in range(step.groups):
        a, b = position_of(problem, groups[i].a), position_of(problem, groups[i].b)
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            if links[row].compliance > 0.0:
                weight = 1.0 / (REGULARIZATION * links[row].compliance + compliance[row])
                add_row_product(jacobian, row, weight, a, b, matrix)


@njit
def factorize(problem):
    """Assemble and factorize the matrix. Returns 0, or 1 where a pivot vanished."""
    assemble(problem)
    step = problem.step[0]
    return envelope.factor(
        step.placed, problem.numbers[step.bodies :], problem.numbers[2 * step.bodies :], problem.envelope, step.half
    )


# Its solution ----------------------------------------------------------------------------------------------------------

REFINEMENTS = 2  # steps, after which the residual of the linear system is rounding


@njit
def right_hand_side(problem, share):
    """−share r + Aᵀ f − share Gᵀ Δ⁻¹ (G v + C y − g) into RIGHT."""
    step = problem.step[0]
    vectors = problem.vectors
    size = 6 * step.bodies
    right = RIGHT * size
    for i in range(size):
        vectors[right + i] = -share * vectors[GRADIENT * size + i]
    contacts, cones = problem.contacts, problem.cones
    for i in range(step.contacts):
        push_contact(contacts[i], to_impulse(contacts[i].friction, load3(cones[i].f)), vectors, right, step.bodies)
    groups, jacobian, links, compliance = (
        problem.groups,
        problem.jacobian,
        problem.links,
        problem.compliance,
    )
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            if links[row].compliance > 0.0:
                amount = -share * links[row].defect / (REGULARIZATION * links[row].compliance + compliance[row])
                push_row(groups[i], row, jacobian, amount, vectors, right, step.bodies)


@njit
def steps_of_forces(problem, share):
    """δλ = f − D B δv, δy, and δz, which keeps the slack equal to z(v) to rounding, from the step of the velocities."""
    step = problem.step[0]
    vectors = problem.vectors
    base = DIRECTION * 6 * step.bodies
    contacts, cones = problem.contacts, problem.cones
    for i in range(step.contacts):
        cone = cones[i]
        u = add_sliding(contacts[i].friction, cone, contact_velocity(contacts[i], vectors, base, step.bodies))
        less = apply_spectrum(spectrum_of(cone), u)
        for k in range(3):
            cone.force_step[k] = cone.f[k] - less[k]
            cone.slack_step[k] = share * (cone.value[k] - cone.slack[k]) + u[k]
    groups, jacobian, links, compliance = (
        problem.groups,
        problem.jacobian,
        problem.links,
        problem.compliance,
    )
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            link = links[row]
            if link.compliance > 0.0:
                rate = row_velocity(groups[i], row, jacobian, vectors, base, step.bodies)
                link.force_step = -(rate + share * link.defect) / (REGULARIZATION * link.compliance + compliance[row])


@njit
def left_over(problem, share):
    """−share r − M δv + Aᵀ δλ + Gᵀ δy into LEFT: the residual of the linear system."""
    step = problem.step[0]
    vectors = problem.vectors
    size = 6 * step.bodies
    left = LEFT * size
    mass, inertia, inverse_mass = problem.mass, problem.inertia, problem.inverse_mass
    for i in range(size):
        vectors[left + i] = -share * vectors[GRADIENT * size + i]
    for i in range(step.bodies):
        if inverse_mass[i] > 0.0:
            add_momentum(mass, inertia, i, -1.0, vectors, DIRECTION * size + 6 * i, vectors, left + 6 * i)
    contacts, cones = problem.contacts, problem.cones
    for i in range(step.contacts):
        push_contact(
            contacts[i], to_impulse(contacts[i].friction, load3(cones[i].force_step)), vectors, left, step.bodies
        )
    groups, jacobian, links = problem.groups, problem.jacobian, problem.links
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            push_row(groups[i], row, jacobian, links[row].force_step, vectors, left, step.bodies)


@njit
def back_substitute(problem, source):
    """DIRECTION += H⁻¹ vectors[source:]."""
    step = problem.step[0]
    vectors, numbers = problem.vectors, problem.numbers
    size = 6 * step.bodies
    x = vectors[ORDERED * size :]
    for i in range(step.bodies):
        if numbers[i] >= 0:
            for k in range(6):
                x[6 * numbers[i] + k] = vectors[source + 6 * i + k]
    envelope.solve(step.placed, numbers[step.bodies :], numbers[2 * step.bodies :], problem.envelope, step.half, x)
    for i in range(step.bodies):
        if numbers[i] >= 0:
            for k in range(6):
                vectors[DIRECTION * size + 6 * i + k] += x[6 * numbers[i] + k]


@njit
def direction(problem, share):
    """Newton's step of velocities, forces and multipliers, for the f in the cones and the share of r to remove."""
    vectors = problem.vectors
    size = 6 * problem.step[0].bodies
    for i in range(size):
        vectors[DIRECTION * size + i] = 0.0
    right_hand_side(problem, share)
    back_substitute(problem, RIGHT * size)
    steps_of_forces(problem, share)
    for _ in range(REFINEMENTS):
        left_over(problem, share)
        back_substitute(problem, LEFT * size)
        steps_of_forces(problem, share)


# Residuals -------------------------------------------------------------------------------------------------------------
#
# How far a set of impulses and velocities is from Coulomb's law K_μ ∋ p ⊥ û ∈ K_μ* (see `cone`). For each contact
# ρ = 1/(J W Jᵀ)_nn turns velocities into impulses, and all residuals are velocities over a typical speed V:
#
#     cone             |p − proj_K(p)| / ρ
#     dual             |û − proj_K*(û)|
#     complementarity  |p·û| / max(|p|, ρ V)
#     natural map      |p − proj_K(p − ρ û)| / ρ
#
# The natural map is the error that V. Acary, M. Brémond, O. Huber, "On solving contact problems with Coulomb friction:
# formulations and numerical comparisons", 2018, measure their solvers with (there with ρ = 1, a 2-norm, and the norm of the
# free relative velocity for V); the worst contact counts here. `joints` is |G v − g| over V (rows are taken as speeds), and
# `balance` the momentum x = M (v − v_free) − Jᵀ p − Gᵀ y of a body as a speed, √(xᵀ W x / m), over V or over the speed that
# the sum of all |p| and |y| on the body would give it, where that is more (`unbalance`). V is the greatest free speed of a
# body, √(v·M v / m), or the greatest bias or target where that is more.


@njit
def typical_speed(problem):
    """V, m/s; 1 where nothing moves."""
    step = problem.step[0]
    mass, inertia, velocity = problem.mass, problem.inertia, problem.velocity
    inverse_mass, inverse_inertia = problem.inverse_mass, problem.inverse_inertia
    scratch = problem.vectors
    speed = 0.0
    for i in range(step.bodies):
        if inverse_mass[i] > 0.0:
            for k in range(6):
                scratch[k] = 0.0
            add_momentum(mass, inertia, i, 1.0, velocity, 6 * i, scratch, 0)
            speed = max(speed, speed_of_momentum(inverse_mass, inverse_inertia, i, scratch, 0))
    contacts, groups, target = problem.contacts, problem.groups, problem.target
    compliance = problem.compliance
    for i in range(step.contacts):
        speed = max(speed, abs(contacts[i].bias))
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            if compliance[row] == 0.0:
                speed = max(speed, abs(target[row]))
    return speed if speed > 0.0 else 1.0


@njit
def measure(problem, free, scratch, sums):
    """Fill the residuals of the STEP record from `velocity`, the contacts' impulses and the multipliers.

    `free`, `scratch` and `sums` say where in `vectors` the free velocity is, and two vectors to work with. Needs `speed`.
    """
    step = problem.step[0]
    inverse_mass, inverse_inertia = problem.inverse_mass, problem.inverse_inertia
    velocity, vectors, jacobian = problem.velocity, problem.vectors, problem.jacobian
    contacts, groups = problem.contacts, problem.groups
    target, multiplier, compliance = problem.target, problem.multiplier, problem.compliance
    momentum_change(problem, free, scratch)
    for i in range(step.bodies):
        vectors[sums + i] = 0.0
    cone, dual, complementarity, natural, joints, balance = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(step.contacts):
        contact = contacts[i]
        p = load3(contact.impulse)
        push_contact(contact, (-p[0], -p[1], -p[2]), vectors, scratch, step.bodies)
        add_impulse_size(contact.a, contact.b, norm(p), vectors, sums, step.bodies)
        c = contact_compliance(contact, inverse_mass, inverse_inertia, step.bodies)
        if c == 0.0:
            continue
        u = coulomb_velocity(contact, contact_velocity(contact, velocity, 0, step.bodies))
        cone = max(cone, c * norm(sub(p, project_coulomb(p, contact.friction))))
        dual = max(dual, norm(sub(u, project_dual(u, contact.friction))))
        complementarity = max(complementarity, c * abs(dot(p, u)) / max(c * norm(p), step.speed))
        natural = max(natural, natural_map(p, u, contact.friction, c))
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            push_row(groups[i], row, jacobian, -multiplier[row], vectors, scratch, step.bodies)
            add_impulse_size(groups[i].a, groups[i].b, abs(multiplier[row]), vectors, sums, step.bodies)
            error = row_velocity(groups[i], row, jacobian, velocity, 0, step.bodies) - target[row]
            error += compliance[row] * multiplier[row]
            own = row_compliance(groups[i], row, jacobian, inverse_mass, inverse_inertia, step.bodies)
            joints = max(joints, abs(error) * rigidity(own, compliance[row]))
    for i in range(step.bodies):
        if inverse_mass[i] > 0.0:
            at = scratch + 6 * i
            balance = max(balance, unbalance(inverse_mass, inverse_inertia, i, vectors, at, vectors, sums, step.speed))
    step.cone = cone / step.speed
    step.dual = dual / step.speed
    step.complementarity = complementarity / step.speed
    step.natural_map = natural / step.speed
    step.joints = joints / step.speed
    step.balance = balance


@njit
def momentum_change(problem, free, out):
    """M (v − v_free), for v in `velocity` and v_free in `vectors`, into vectors[out:]."""
    mass, inertia, velocity, vectors = problem.mass, problem.inertia, problem.velocity, problem.vectors
    inverse_mass = problem.inverse_mass
    for i in range(problem.step[0].bodies):
        at = out + 6 * i
        for k in range(6):
            vectors[at + k] = 0.0
        if inverse_mass[i] > 0.0:
            add_momentum(mass, inertia, i, 1.0, velocity, 6 * i, vectors, at)
            add_momentum(mass, inertia, i, -1.0, vectors, free + 6 * i, vectors, at)
