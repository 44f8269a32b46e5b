"""3-vectors, 3×3 matrices and quaternions as tuples of floats: compiled, no allocation.

A vector is `(x, y, z)`; a matrix is nine floats row by row; a symmetric matrix is six, `(xx, yy, zz, xy, xz, yz)`.
"""

import math

from .elementary import atan2, sin_cos
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
    """Write a tuple to a 3-element array (a field of a record)."""
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


@njit
def matmul(a, b):
    """A B of two 3×3 matrices."""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6], a[0] * b[1] + a[1] * b[4] + a[2] * b[7],
        a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6], a[3] * b[1] + a[4] * b[4] + a[5] * b[7],
        a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6], a[6] * b[1] + a[7] * b[4] + a[8] * b[7],
        a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )  # fmt: skip


# Unit quaternions -----------------------------------------------------------------------------------------------------
# (w, x, y, z), body → world, as tuples of floats.

SMALL_ANGLE = 1e-8  # rad², of (angle/2)²: below it the series to the fourth power is exact to rounding
NO_AXIS = 1e-12  # |(x, y, z)| of a unit quaternion, below which its axis is lost in rounding


@njit
def multiply(p, q):
    """Hamilton product p q: the rotation q followed by p."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@njit
def conjugate(q):
    """The inverse of a unit quaternion."""
    return (q[0], -q[1], -q[2], -q[3])


@njit
def normalize(q):
    """q/|q|."""
    s = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return (s * q[0], s * q[1], s * q[2], s * q[3])


@njit
def derivative(q, omega):
    """dq/dt = ½ (0, ω) q, with ω in world axes (rad/s)."""
    wx, wy, wz = 0.5 * omega[0], 0.5 * omega[1], 0.5 * omega[2]
    return (
        -wx * q[1] - wy * q[2] - wz * q[3],
        wx * q[0] + wy * q[3] - wz * q[2],
        wy * q[0] + wz * q[1] - wx * q[3],
        wz * q[0] + wx * q[2] - wy * q[1],
    )


@njit
def from_rotation_vector(v):
    """The rotation by |v| radians about v; the series near zero keeps full accuracy."""
    half2 = 0.25 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    if half2 < SMALL_ANGLE:
        s = 0.5 * (1.0 - half2 / 6.0 * (1.0 - half2 / 20.0))
        return (1.0 - half2 / 2.0 * (1.0 - half2 / 12.0), s * v[0], s * v[1], s * v[2])
    half = math.sqrt(half2)
    sine, cosine = sin_cos(half)
    s = 0.5 * sine / half
    return (cosine, s * v[0], s * v[1], s * v[2])


@njit
def rotate_by(q, v):
    """The orientation q turned by the world rotation vector v (rad), renormalised."""
    return normalize(multiply(from_rotation_vector(v), q))


@njit
def to_matrix(q):
    """Rotation matrix of a quaternion, nine floats row by row; any positive length of q gives the same rotation."""
    w, x, y, z = q
    s = 2.0 / (w * w + x * x + y * y + z * z)
    xx, yy, zz = s * x * x, s * y * y, s * z * z
    xy, xz, yz = s * x * y, s * x * z, s * y * z
    wx, wy, wz = s * w * x, s * w * y, s * w * z
    return (
        1.0 - yy - zz, xy - wz, xz + wy,
        xy + wz, 1.0 - xx - zz, yz - wx,
        xz - wy, yz + wx, 1.0 - xx - yy,
    )  # fmt: skip


@njit
def from_matrix(m):
    """Quaternion of a rotation matrix, dividing by the largest of the four components (Shepperd 1978)."""
    trace = m[0] + m[4] + m[8]
    if trace >= m[0] and trace >= m[4] and trace >= m[8]:
        q = (1.0 + trace, m[7] - m[5], m[2] - m[6], m[3] - m[1])
    elif m[0] >= m[4] and m[0] >= m[8]:
        q = (m[7] - m[5], 1.0 + 2.0 * m[0] - trace, m[1] + m[3], m[2] + m[6])
    elif m[4] >= m[8]:
        q = (m[2] - m[6], m[1] + m[3], 1.0 + 2.0 * m[4] - trace, m[5] + m[7])
    else:
        q = (m[3] - m[1], m[2] + m[6], m[5] + m[7], 1.0 + 2.0 * m[8] - trace)
    q = normalize(q)
    if q[0] < 0.0:
        return (-q[0], -q[1], -q[2], -q[3])
    return q


@njit
def rotation_vector(q):
    """Rotation vector (rad, |v| ≤ π) of a unit quaternion: the inverse of `from_rotation_vector`."""
    s = math.sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    if s < NO_AXIS:
        return scale(2.0 / q[0], (q[1], q[2], q[3]))
    angle = 2.0 * atan2(s, abs(q[0]))
    return scale(math.copysign(angle / s, q[0]), (q[1], q[2], q[3]))
