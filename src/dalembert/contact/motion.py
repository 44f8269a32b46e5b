"""Products with the Jacobians of contacts and joint rows, on vectors of 6 numbers a body (linear, angular) in a flat array.

`x[base + 6 i]` is where body i begins; the body index `bodies` is the world, which has no motion.
"""

import math

from ..jit import njit
from ..mechanics.kinematics import load9
from ..unchecked import peek, poke
from ..vec import add, cross, dot, load3, matvec, matvec_t, sub, symvec
from .interior_point_tables import ROW


@njit
def linear(x, at):
    return (peek(x, at), peek(x, at + 1), peek(x, at + 2))


@njit
def increase(x, at, s, a):
    """x[at : at + 3] += s a."""
    for k in range(3):
        poke(x, at + k, peek(x, at + k) + s * a[k])


@njit
def relative_velocity(contact, x, base, bodies):
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
def push(contact, p, x, base, bodies):
    """x += Jᵀ p, with p in the frame of the contact."""
    push_world(contact, matvec_t(load9(contact.frame), p), x, base, bodies)


@njit
def push_world(contact, p, x, base, bodies):
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
    """What share of an error of G v + compliance y the velocity takes; own : G W Gᵀ. One of a rigid row."""
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
def add_load(a, b, impulse, loads, base, bodies):
    """Add the size of an impulse to what acts on its two bodies: loads[base + i], N s."""
    if a < bodies:
        loads[base + a] += impulse
    if b < bodies:
        loads[base + b] += impulse


@njit
def unbalance(inverse_mass, inverse_inertia, body, x, at, loads, base, speed):
    """The momentum x[at:] of a body over m V, or over the impulses that act on it where they are more: cancelling, they
    leave no less than their rounding, which a light body between heavy ones feels."""
    error = speed_of_momentum(inverse_mass, inverse_inertia, body, x, at)
    return error / max(speed, inverse_mass[body] * loads[base + body])


@njit
def coulomb_velocity(contact, u):
    """De Saxcé's û = u + (bias + μ |u_t|) e_n, which is orthogonal to the impulse under Coulomb's law."""
    return (u[0] + contact.bias + contact.friction * math.sqrt(u[1] * u[1] + u[2] * u[2]), u[1], u[2])
