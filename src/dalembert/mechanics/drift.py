"""Free motion of rigid bodies over a step: positions exactly, rotations by a splitting that keeps L exactly.

The kinetic energy of rotation is the sum of L_i²/(2 I_i) over the principal axes. Each term alone turns the body about
its own axis i by (L_i/I_i) h, an exact and simple flow that leaves L fixed in space. Composed symmetrically, ½ of axes 1
and 2, 3, and ½ of 2 and 1, they make a symplectic map of order 2 (Dullweber, Leimkuhler & McLachlan, J. Chem. Phys. 107,
1997), exact for a body with three equal moments. Orientations change; L, in world axes, does not.
"""

import math

from ..jit import njit
from ..model.tables import STATE_SIZE
from ..quat import conjugate, multiply, normalize, to_matrix
from ..vec import load3, matvec_t


@njit
def drift(h, y, bodies):
    """Move every body freely over h (s), in place. Returns a status."""
    for i in range(bodies.shape[0]):
        body = bodies[i]
        at = STATE_SIZE * i
        principal = (body.principal[0], body.principal[1], body.principal[2], body.principal[3])
        q = multiply((y[at + 3], y[at + 4], y[at + 5], y[at + 6]), principal)
        spin = (y[at + 10], y[at + 11], y[at + 12])
        moments = load3(body.moments)
        for k in range(3):
            y[at + k] += h * body.inverse_mass * y[at + 7 + k]
        q = turn(q, spin, moments, 0, 0.5 * h)
        q = turn(q, spin, moments, 1, 0.5 * h)
        q = turn(q, spin, moments, 2, h)
        q = turn(q, spin, moments, 1, 0.5 * h)
        q = turn(q, spin, moments, 0, 0.5 * h)
        q = normalize(multiply(q, conjugate(principal)))
        for k in range(4):
            y[at + 3 + k] = q[k]
    return 0


@njit
def turn(q, spin, moments, axis, h):
    """The flow of L_axis²/(2 I_axis) over h, with q the orientation of the principal axes."""
    local = matvec_t(to_matrix(q), spin)
    half = 0.5 * h * local[axis] / moments[axis]
    s = math.sin(half)
    about = (
        math.cos(half),
        s if axis == 0 else 0.0,
        s if axis == 1 else 0.0,
        s if axis == 2 else 0.0,
    )
    return multiply(q, about)
