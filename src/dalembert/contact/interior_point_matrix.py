"""The matrix M + Σ Aᵀ D B + Gᵀ Δ⁻¹ G of the contact solver's Newton system, assembled and factored.

A contact gives each pair of its bodies the 6×6 block ± P_xᵀ K P_y, with K = Fᵀ T D (T + e_n μ tᵀ) F in world axes, F its
frame and P = [1, −[r]×] the velocity of its point; the other letters are those of `interior_point_system`.
"""

from ..jit import njit
from ..linalg import envelope
from ..mechanics.kinematics import load9
from ..unchecked import peek, poke
from ..vec import cross, load3, matvec, matvec_t, symvec, unit
from .cone import apply_spectrum
from .interior_point_tables import ROW

REGULARIZATION = 1e-9  # δ over the compliance, of contacts and joint rows


@njit
def spectrum_of(cone):
    """D of a contact; see `cone.apply_spectrum`."""
    return (cone.d[0], cone.d[1], cone.d[2], cone.d[3], cone.d[4])


@njit
def set_spectrum(cone, spectrum):
    for k in range(5):
        cone.d[k] = spectrum[k]


@njit
def lift(mu, cone, u):
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
    x = matvec_t(frame, to_impulse(mu, apply_spectrum(d, lift(mu, cone, (frame[0], frame[3], frame[6])))))
    y = matvec_t(frame, to_impulse(mu, apply_spectrum(d, lift(mu, cone, (frame[1], frame[4], frame[7])))))
    z = matvec_t(frame, to_impulse(mu, apply_spectrum(d, lift(mu, cone, (frame[2], frame[5], frame[8])))))
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])


@njit
def add_column(values, half, first, start, row, column, k, sign, top, bottom):
    """Column k of the block (row, column) += sign (top, bottom), wherever the envelope keeps it."""
    if row > column:
        at, stride = envelope.place(first, start, row, column) + k, envelope.row_width(first, row)
    elif row < column:
        at = half + envelope.place(first, start, column, row) + k * envelope.row_width(first, column)
        stride = 1
    else:
        at, stride = envelope.place(first, start, row, row) + k, envelope.row_width(first, row)
    for i in range(6):
        amount = sign * (top[i] if i < 3 else bottom[i - 3])
        target = at + i * stride
        if row == column and i < k:
            target = half + at - k + k * stride + i
        poke(values, target, peek(values, target) + amount)


@njit
def add_contact(contact, cone, place_a, place_b, values, half, first, start):
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
                    add_column(values, half, first, start, row, column, k, sign, g, turned)


@njit
def add_row_product(jacobian, row, weight, place_a, place_b, values, half, first, start):
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
                add_column(values, half, first, start, other, column, k, scale, top, bottom)


@njit
def position_of(system, body):
    """Place of a body in the order of elimination; −1: the world, or what nothing moves."""
    return system.numbers[body] if body < system.step[0].bodies else -1


@njit
def assemble(system):
    step = system.step[0]
    numbers, values = system.numbers, system.envelope
    first, start = numbers[step.bodies :], numbers[2 * step.bodies :]
    half = step.half
    for i in range(2 * half):
        values[i] = 0.0
    mass, inertia = system.mass, system.inertia
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
                add_column(values, half, first, start, numbers[i], numbers[i], k, 1.0, top, bottom)
    contacts, cones = system.contacts, system.cones
    for i in range(step.contacts):
        a, b = position_of(system, contacts[i].a), position_of(system, contacts[i].b)
        add_contact(contacts[i], cones[i], a, b, values, half, first, start)
    groups, jacobian, links, compliance = (
        system.groups,
        system.jacobian,
        system.links,
        system.compliance,
    )
    for i in range(step.groups):
        a, b = position_of(system, groups[i].a), position_of(system, groups[i].b)
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            if links[row].compliance > 0.0:
                weight = 1.0 / (REGULARIZATION * links[row].compliance + compliance[row])
                add_row_product(jacobian, row, weight, a, b, values, half, first, start)


@njit
def factorize(system):
    """0, or 1 where a pivot vanished."""
    assemble(system)
    step = system.step[0]
    return envelope.factor(
        step.placed, system.numbers[step.bodies :], system.numbers[2 * step.bodies :], system.envelope, step.half
    )
