"""Angular momentum in body axes, which a step of an integration method carries beside the state.

The state of a body's rotation is (q, L) with L in world axes, where that of a free body is constant. But then the error
of q in a step turns Rᵀ L, what the body itself rotates with, and free rotation amplifies it: spin about the middle axis
is a saddle, and passes it again and again. Euler's equations for l = Rᵀ L,

    l̇ = Rᵀ τ − ω × l        ω = I⁻¹ l, all in body axes,

do not contain q if no torque acts, so that its errors stay where they are. So a step carries l of each body that has
three different moments behind the state vector, and ω comes from it. At the end of the step q, L and l say one thing
twice. L is exact for a free body, and l is better than q; so q is turned by the smallest rotation that makes R l
parallel to L, θ = R l × (L − R l)/|L|², and l starts the next step as Rᵀ L. The state stays (x, q, P, L).

A torque that is fixed in space is better integrated in world axes. Where |τ| > |ω| |L| at the start of a step, l is left
zero, which says that the body goes by (q, L) until the step ends.
"""

import math

from ..jit import njit
from ..model.tables import STATE_SIZE
from ..quat import rotate_by, to_matrix
from ..vec import cross, dot, load3, matvec, matvec_t, scale, sub, symvec
from .kinematics import load6, load9

ZERO = (0.0, 0.0, 0.0)
NO_SPIN = 1e-100  # |L|², (kg m²/s)²: what is less does not turn, and its square may be lost to underflow


@njit
def three(values, at):
    return (values[at], values[at + 1], values[at + 2])


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
    """Write l and l̇ behind the state y at the start of a step and its derivative, from these alone."""
    spins, bodies, size = system.spins, system.bodies, state_size(system)
    for i in range(spins.shape[0]):
        at, own = size + 3 * i, STATE_SIZE * spins[i].body
        rotation = to_matrix((y[own + 3], y[own + 4], y[own + 5], y[own + 6]))
        spin, torque = matvec_t(rotation, three(y, own + 10)), matvec_t(rotation, three(dydt, own + 10))
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
        spin = three(y, size + 3 * i)
        if dot(spin, spin) > 0.0:
            kin = kinematics[spins[i].body]
            momentum = matvec(load9(kin.rotation), spin)
            omega = symvec(load6(kin.inverse_inertia), momentum)
            for k in range(3):
                kin.momentum[k], kin.omega[k] = momentum[k], omega[k]


@njit
def spin_rates(y, dydt, system):
    """l̇ behind the derivative, where the state y carries l."""
    spins, kinematics, size = system.spins, system.kinematics, state_size(system)
    if not carries(y, system):
        return
    for i in range(spins.shape[0]):
        at, rate = size + 3 * i, ZERO
        spin = three(y, at)
        if dot(spin, spin) > 0.0:
            kin = kinematics[spins[i].body]
            torque = three(dydt, STATE_SIZE * spins[i].body + 10)
            rate = matvec_t(load9(kin.rotation), sub(torque, cross(load3(kin.omega), load3(kin.momentum))))
        for k in range(3):
            dydt[at + k] = rate[k]


@njit
def merge_spins(y, system):
    """At the raw end of a step: turn bodies so that R l is parallel to L, and make l = Rᵀ L.

    Where L has become small in the step, θ is that of its size at the start.
    """
    spins, size = system.spins, state_size(system)
    for i in range(spins.shape[0]):
        at, own = size + 3 * i, STATE_SIZE * spins[i].body
        spin, momentum = three(y, at), three(y, own + 10)
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
