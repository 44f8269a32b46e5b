"""Kinematics of rigid bodies: rotation, velocity, angular velocity and inverse inertia from the state (`update_kinematics`),
free motion over a step (`drift`), and the angular momentum in body axes that a step carries (`carry`).

The state of a body is the notes' (x, q, P, L); v = P/m and ω = I⁻¹ L with I⁻¹ = R I_body⁻¹ Rᵀ (Baraff, rigid body
notes, §2.9–2.11).
"""

import math

from ..core.elementary import sin_cos
from ..core.jit import inlined, njit
from ..core.math3 import (
    congruence,
    conjugate,
    cross,
    dot,
    load3,
    matvec,
    matvec_t,
    multiply,
    norm,
    normalize,
    rotate_by,
    scale,
    sub,
    symvec,
    to_matrix,
)
from ..linalg.block_matrix import load_3
from ..model.tables import EQUAL_MOMENTS, STATE_SIZE


@inlined
def load6(a):
    """The six numbers of a record's field, as a tuple."""
    return (a[0], a[1], a[2], a[3], a[4], a[5])


@inlined
def load9(a):
    """The nine numbers of a record's field, as a tuple."""
    return (a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8])


@inlined
def update_kinematics(y, bodies, rigid, kinematics):
    """Fill the rows of rigid bodies in the kinematics table from the state vector."""
    for i in range(rigid):
        body = bodies[i]
        kin = kinematics[i]
        at = STATE_SIZE * i
        r = to_matrix((y[at + 3], y[at + 4], y[at + 5], y[at + 6]))
        inverse = congruence(r, load6(body.inverse_inertia))
        omega = symvec(inverse, (y[at + 10], y[at + 11], y[at + 12]))
        w = body.inverse_mass
        for k in range(9):
            kin.rotation[k] = r[k]
        for k in range(6):
            kin.inverse_inertia[k] = inverse[k]
        for k in range(3):
            kin.x[k] = y[at + k]
            kin.v[k] = w * y[at + 7 + k]
            kin.omega[k] = omega[k]
            kin.momentum[k] = y[at + 10 + k]


@njit
def kinetic_energy(y, kinematics, count):
    """½ Σ (P·v + L·ω), J."""
    total = 0.0
    for i in range(count):
        kin = kinematics[i]
        at = STATE_SIZE * i
        for k in range(3):
            total += y[at + 7 + k] * kin.v[k] + y[at + 10 + k] * kin.omega[k]
    return 0.5 * total


# Free motion over a step -----------------------------------------------------------------------------------------------
#
# Positions are exact; rotations are split so that L stays exact. The kinetic energy of rotation is the sum of L_i²/(2 I_i)
# over the principal axes. Each term alone rotates the body about its own axis i by (L_i/I_i) h, an exact and simple flow that
# leaves L fixed in space. Composed symmetrically, ½ of axes 1 and 2, 3, and ½ of 2 and 1, they make a symplectic map of
# order 2 (Dullweber, Leimkuhler & McLachlan, J. Chem. Phys. 107, 1997), exact for a body with three equal moments. Five of
# these, four of p h around one of (1 − 4p) h with p = 1/(4 − 4^⅓), are of order 4 (M. Suzuki, Phys. Lett. A 146, 1990): the
# energy oscillates less, so that the energy balance closes better at impacts, which may happen at any phase.


OUTER = 1.0 / (4.0 - 1.5874010519681994)  # 4^⅓ to the last digit
MIDDLE = 1.0 - 4.0 * OUTER
LARGE, MOST_PARTS = 1.0, 4096.0  # rad: a larger rotation is made in parts, of which there are at most so many
SMALL = 1e-4  # rad: over so small a rotation order 2 has a relative energy error of 1e-13


@njit
def drift(h, y, rigid, bodies):
    """Free motion of every body over h (s): x and q in y, in place; P and L stay."""
    for i in range(rigid):
        body = bodies[i]
        at = STATE_SIZE * i
        principal = (body.principal[0], body.principal[1], body.principal[2], body.principal[3])
        q = multiply((y[at + 3], y[at + 4], y[at + 5], y[at + 6]), principal)
        spin = matvec_t(to_matrix(q), (y[at + 10], y[at + 11], y[at + 12]))
        moments = load3(body.moments)
        for k in range(3):
            y[at + k] += h * body.inverse_mass * y[at + 7 + k]
        q = rotate(q, spin, moments, h)
        q = normalize(multiply(q, conjugate(principal)))
        for k in range(4):
            y[at + 3 + k] = q[k]


@njit
def rotate(q, spin, moments, h):
    """The orientation of the principal axes after free rotation over h; spin: L in these axes."""
    a, b, c = moments
    least = min(a, b, c)
    if norm(spin) * abs(h) <= SMALL * least or max(a, b, c) - least <= EQUAL_MOMENTS * least:
        q, spin = split(q, spin, moments, h)
        return q
    turned = norm((spin[0] / a, spin[1] / b, spin[2] / c)) * abs(h)
    parts = int(min(turned / LARGE, MOST_PARTS)) + 1
    for _ in range(parts):
        for k in range(5):
            q, spin = split(q, spin, moments, (MIDDLE if k == 2 else OUTER) * h / parts)
    return q


ROUGHLY = 0.25  # rad: what `rotate_roughly` turns at once at most


@njit
def rotate_roughly(q, spin, moments, h):
    """The same to 4e-3 rad over turns of up to one radian, in a fifth of the operations over turns of less than `ROUGHLY`."""
    turned = norm(spin) / min(moments[0], moments[1], moments[2]) * abs(h)  # whichever way the body comes to spin
    parts = int(min(turned / ROUGHLY, MOST_PARTS)) + 1
    for _ in range(parts):
        q, spin = split(q, spin, moments, h / parts)
    return q


@njit
def split(q, spin, moments, h):
    """(q, spin) after the symmetric composition of order 2 over h."""
    q, spin = turn(q, spin, moments, 0, 0.5 * h)
    q, spin = turn(q, spin, moments, 1, 0.5 * h)
    q, spin = turn(q, spin, moments, 2, h)
    q, spin = turn(q, spin, moments, 1, 0.5 * h)
    return turn(q, spin, moments, 0, 0.5 * h)


@inlined
def turn(q, spin, moments, axis, h):
    """The flow of L_axis²/(2 I_axis) over h: q turns about the axis, and L about it the other way, as seen from the axes."""
    half = 0.5 * h * spin[axis] / moments[axis]
    s, c = sin_cos(half)
    sine, cosine = 2.0 * s * c, 1.0 - 2.0 * s * s
    x, y, z = spin
    if axis == 0:
        return multiply(q, (c, s, 0.0, 0.0)), (x, cosine * y + sine * z, cosine * z - sine * y)
    if axis == 1:
        return multiply(q, (c, 0.0, s, 0.0)), (cosine * x - sine * z, y, cosine * z + sine * x)
    return multiply(q, (c, 0.0, 0.0, s)), (cosine * x + sine * y, cosine * y - sine * x, z)


# Angular momentum in body axes, carried by a step ----------------------------------------------------------------------
#
# The state of a body's rotation is (q, L) with L in world axes, where that of a free body is constant. But then the error
# of q in a step rotates l = Rᵀ L, and free rotation amplifies it: rotation about the middle axis is a saddle of the motion,
# which passes it again and again. Euler's equations for l = Rᵀ L,
#
#     l̇ = Rᵀ τ − ω × l        ω = I⁻¹ l, all in body axes,
#
# do not contain q if no torque acts, so that errors of q do not grow. So a step carries l of each body with three different
# moments, after the state vector, and ω comes from it. At the end of the step (q, L) and l are redundant. L is exact for a
# free body, and l is better than q; so q is corrected by the smallest rotation that makes R l parallel to L,
# θ = R l × (L − R l)/|L|², and l starts the next step as Rᵀ L. The state stays (x, q, P, L).
#
# A torque that is fixed in space is better integrated in world axes. Where |τ| > |ω| |L| at the start of a step, l is set to
# zero: then the body uses (q, L) until the step ends.


ZERO = (0.0, 0.0, 0.0)
NO_SPIN = 1e-100  # |L|², (kg m²/s)²: what is less does not turn, and its square may be lost to underflow


@njit
def state_size(system):
    """How many numbers the state vector has without what a step carries."""
    return (
        STATE_SIZE * system.settings[0].rigid
        + 6 * system.settings[0].particles
        + system.coordinates.shape[0]
        + system.power.shape[0]
    )


@njit
def carries(y, system):
    """Whether a step carries l behind the state y."""
    return system.spins.shape[0] > 0 and y.shape[0] > state_size(system)


@njit
def carry(y, dydt, system):
    """Write l after the state y at the start of a step, and l̇ after its derivative."""
    spins, bodies, size = system.spins, system.bodies, state_size(system)
    for i in range(spins.shape[0]):
        at, own = size + 3 * i, STATE_SIZE * spins[i].body
        rotation = to_matrix((y[own + 3], y[own + 4], y[own + 5], y[own + 6]))
        spin, torque = matvec_t(rotation, load_3(y, own + 10)), matvec_t(rotation, load_3(dydt, own + 10))
        omega = symvec(load6(bodies[spins[i].body].inverse_inertia), spin)
        rate = sub(torque, cross(omega, spin))
        square = dot(spin, spin)
        if not (square > NO_SPIN and dot(torque, torque) <= dot(omega, omega) * square):
            spin, rate = ZERO, ZERO
        spins[i].size = math.sqrt(square)
        for k in range(3):
            y[at + k], dydt[at + k] = spin[k], rate[k]


@njit
def use_spins(y, system):
    """Angular velocities, and L in world axes, from l where the state y carries it; after `update_kinematics`."""
    spins, kinematics, size = system.spins, system.kinematics, state_size(system)
    if not carries(y, system):
        return
    for i in range(spins.shape[0]):
        spin = load_3(y, size + 3 * i)
        if dot(spin, spin) > 0.0:
            kin = kinematics[spins[i].body]
            momentum = matvec(load9(kin.rotation), spin)
            omega = symvec(load6(kin.inverse_inertia), momentum)
            for k in range(3):
                kin.momentum[k], kin.omega[k] = momentum[k], omega[k]


@njit
def spin_rates(y, dydt, system):
    """Write l̇ after the derivative, where the state y carries l."""
    spins, kinematics, size = system.spins, system.kinematics, state_size(system)
    if not carries(y, system):
        return
    for i in range(spins.shape[0]):
        at, rate = size + 3 * i, ZERO
        spin = load_3(y, at)
        if dot(spin, spin) > 0.0:
            kin = kinematics[spins[i].body]
            torque = load_3(dydt, STATE_SIZE * spins[i].body + 10)
            rate = matvec_t(load9(kin.rotation), sub(torque, cross(load3(kin.omega), load3(kin.momentum))))
        for k in range(3):
            dydt[at + k] = rate[k]


@njit
def merge_spins(y, system):
    """At the end of a step, before projection: rotate bodies so that R l is parallel to L, and set l = Rᵀ L.

    Where L has become small in the step, θ is that of its size at the start.
    """
    spins, size = system.spins, state_size(system)
    for i in range(spins.shape[0]):
        at, own = size + 3 * i, STATE_SIZE * spins[i].body
        spin, momentum = load_3(y, at), load_3(y, own + 10)
        largest = max(dot(momentum, momentum), spins[i].size ** 2)
        if not (dot(spin, spin) > 0.0 and largest > NO_SPIN):
            continue
        q = (y[own + 3], y[own + 4], y[own + 5], y[own + 6])
        seen = matvec(to_matrix(q), spin)
        q = rotate_by(q, scale(1.0 / largest, cross(seen, sub(momentum, seen))))
        spin = matvec_t(to_matrix(q), momentum)
        for k in range(4):
            y[own + 3 + k] = q[k]
        for k in range(3):
            y[at + k] = spin[k]
