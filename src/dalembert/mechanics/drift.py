"""Free motion of rigid bodies over a step: positions exactly, rotations by a splitting that keeps L exactly.

The kinetic energy of rotation is the sum of L_i²/(2 I_i) over the principal axes. Each term alone turns the body about
its own axis i by (L_i/I_i) h, an exact and simple flow that leaves L fixed in space. Composed symmetrically, ½ of axes 1
and 2, 3, and ½ of 2 and 1, they make a symplectic map of order 2 (Dullweber, Leimkuhler & McLachlan, J. Chem. Phys. 107,
1997), exact for a body with three equal moments. Five of these, four of p h around one of (1 − 4p) h with
p = 1/(4 − 4^⅓), are of order 4 (M. Suzuki, Phys. Lett. A 146, 1990): impacts catch a body anywhere in the oscillation of
its energy, so that the books would not close by as much. Orientations change; L, in world axes, does not.
"""

from ..elementary.circular import sin_cos
from ..jit import inlined, njit
from ..model.tables import EQUAL_MOMENTS, STATE_SIZE
from ..quat import conjugate, multiply, normalize, to_matrix
from ..vec import load3, matvec_t, norm

OUTER = 1.0 / (4.0 - 1.5874010519681994)  # 4^⅓ to the last digit
MIDDLE = 1.0 - 4.0 * OUTER
SMALL = 1e-4  # rad: after so small a turn the energy is off by 1e-13 of itself with order 2


@njit
def drift(h, y, rigid, bodies):
    """Move every body freely over h (s), in place."""
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
    for k in range(5):
        q, spin = split(q, spin, moments, (MIDDLE if k == 2 else OUTER) * h)
    return q


@njit
def split(q, spin, moments, h):
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
