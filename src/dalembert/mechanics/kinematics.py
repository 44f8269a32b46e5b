"""Mass properties in motion: rotation, velocity, angular velocity and inverse inertia of every body, from its state.

The state of a body is the notes' (x, q, P, L); v = P/m and ω = I⁻¹ L with I⁻¹ = R I_body⁻¹ Rᵀ (Baraff, rigid body
notes, §2.9–2.11).
"""

from ..jit import inlined, njit
from ..model.tables import STATE_SIZE
from ..quat import to_matrix
from ..vec import congruence, symvec


@inlined
def load6(a):
    return (a[0], a[1], a[2], a[3], a[4], a[5])


@inlined
def load9(a):
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
