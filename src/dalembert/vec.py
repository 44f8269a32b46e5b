"""3-vectors and 3×3 matrices as tuples of floats: compiled, no allocation.

A vector is `(x, y, z)`; a matrix is nine floats row by row; a symmetric matrix is six, `(xx, yy, zz, xy, xz, yz)`.
"""

import math

from .jit import njit


@njit
def load(array, i):
    """Row `i` of an (n, 3) array as a tuple."""
    return (array[i, 0], array[i, 1], array[i, 2])


@njit
def load3(array):
    """A 3-element array (a field of a record) as a tuple."""
    return (array[0], array[1], array[2])


@njit
def store3(array, a):
    array[0] = a[0]
    array[1] = a[1]
    array[2] = a[2]


@njit
def unit(k):
    """The unit vector along axis k."""
    return (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)


@njit
def add(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@njit
def sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@njit
def scale(s, a):
    return (s * a[0], s * a[1], s * a[2])


@njit
def add_scaled(a, s, b):
    """a + s b."""
    return (a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2])


@njit
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit
def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@njit
def norm(a):
    return math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@njit
def matvec(m, a):
    """m a, with m nine floats row by row."""
    return (
        m[0] * a[0] + m[1] * a[1] + m[2] * a[2],
        m[3] * a[0] + m[4] * a[1] + m[5] * a[2],
        m[6] * a[0] + m[7] * a[1] + m[8] * a[2],
    )


@njit
def matvec_t(m, a):
    """mᵀ a."""
    return (
        m[0] * a[0] + m[3] * a[1] + m[6] * a[2],
        m[1] * a[0] + m[4] * a[1] + m[7] * a[2],
        m[2] * a[0] + m[5] * a[1] + m[8] * a[2],
    )


@njit
def symvec(s, a):
    """S a, with S symmetric as (xx, yy, zz, xy, xz, yz)."""
    return (
        s[0] * a[0] + s[3] * a[1] + s[4] * a[2],
        s[3] * a[0] + s[1] * a[1] + s[5] * a[2],
        s[4] * a[0] + s[5] * a[1] + s[2] * a[2],
    )


@njit
def congruence(m, s):
    """M S Mᵀ for a symmetric S, as six floats."""
    a = symvec(s, (m[0], m[1], m[2]))
    b = symvec(s, (m[3], m[4], m[5]))
    c = symvec(s, (m[6], m[7], m[8]))
    return (
        m[0] * a[0] + m[1] * a[1] + m[2] * a[2],
        m[3] * b[0] + m[4] * b[1] + m[5] * b[2],
        m[6] * c[0] + m[7] * c[1] + m[8] * c[2],
        m[0] * b[0] + m[1] * b[1] + m[2] * b[2],
        m[0] * c[0] + m[1] * c[1] + m[2] * c[2],
        m[3] * c[0] + m[4] * c[1] + m[5] * c[2],
    )


@njit
def perpendicular(a):
    """A unit vector at right angles to the unit vector `a`, chosen away from its largest component."""
    ax, ay, az = abs(a[0]), abs(a[1]), abs(a[2])
    if ax <= ay and ax <= az:
        t = cross(a, (1.0, 0.0, 0.0))
    elif ay <= az:
        t = cross(a, (0.0, 1.0, 0.0))
    else:
        t = cross(a, (0.0, 0.0, 1.0))
    return scale(1.0 / norm(t), t)
