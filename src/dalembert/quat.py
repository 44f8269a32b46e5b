"""Unit quaternions (w, x, y, z), body → world, as tuples of floats."""

import math

from .elementary.arctangent import atan2
from .elementary.circular import sin_cos
from .jit import njit
from .vec import scale


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
    return (q[0], -q[1], -q[2], -q[3])


@njit
def normalize(q):
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
    if half2 < 1e-8:
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
    if s < 1e-12:
        return scale(2.0 / q[0], (q[1], q[2], q[3]))
    angle = 2.0 * atan2(s, abs(q[0]))
    return scale(math.copysign(angle / s, q[0]), (q[1], q[2], q[3]))
