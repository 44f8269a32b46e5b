"""Friction against turning at one contact, and Stribeck's law: compiled functions for the sweeps and the solvers.

A contact of two slightly compliant surfaces resists turning about its normal (torsion, or spin) and about its tangents
(rolling), with impulsive torques τ = (τ_n, τ_t, τ_s) in the frame of the contact, N m s, on body b, and −τ on a. Each
part is bounded by the normal impulse and a length (R. Leine, C. Glocker 2003; MuJoCo's condim 4 and 6):

    |τ_n| ≤ μ_s p_n,    |τ_r| ≤ μ_r p_n,    τ_r = (τ_t, τ_s),

with μ_s and μ_r in metres, and each part opposes its angular velocity of b relative to a with most dissipation:
τ_n = −μ_s p_n sign ω_n where it spins, τ_r = −μ_r p_n ω_r/|ω_r| where it rolls. With Coulomb's |p_t| ≤ μ p_n the set is
a product of discs, so that its parts are projected, and solved, one by one.

The angular velocity depends on τ by K = Fᵀ (I_a⁻¹ + I_b⁻¹) F, with F the axes. It is stored as (nn, tt, ss, nt, ns,
ts), the order of every symmetric matrix here. Contacts without these coefficients skip all of this.
"""

import math

import numpy as np

from ..core.elementary import exp
from ..core.jit import njit
from ..core.kernel import array, kernel, out
from ..core.math3 import dot, symvec

NEWTON = 60  # steps of the multiplier of a disc, at most
ROUNDING = 1e-15  # relative: where they end
# Of the squared trace of K: a determinant that is rounding, as joints let the body turn about one axis only. Of the trace: a
# response that is none, so that no torque is needed. Of an angular velocity: its part across that axis that is rounding.
DEPENDENT, STILL = 1e-12, 1e-9


@njit
def angular_matrix(frame, inverse_a, inverse_b):
    """K of a contact: frame, three unit axes; inverse inertias (1/(kg m²)) of both bodies in world axes, 0 of the world."""
    n, t, s = frame
    total = (
        inverse_a[0] + inverse_b[0], inverse_a[1] + inverse_b[1], inverse_a[2] + inverse_b[2],
        inverse_a[3] + inverse_b[3], inverse_a[4] + inverse_b[4], inverse_a[5] + inverse_b[5],
    )  # fmt: skip
    kn, kt, ks = symvec(total, n), symvec(total, t), symvec(total, s)
    return (dot(n, kn), dot(t, kt), dot(s, ks), dot(n, kt), dot(n, ks), dot(t, ks))


@njit
def project_torques(torque, most_spin, most_roll):
    """The nearest (τ_n, τ_t, τ_s) with |τ_n| ≤ most_spin and |τ_r| ≤ most_roll, N m s."""
    spin = min(most_spin, max(-most_spin, torque[0]))
    size = math.sqrt(torque[1] * torque[1] + torque[2] * torque[2])
    part = most_roll / size if size > most_roll else 1.0
    return (spin, part * torque[1], part * torque[2])


@njit
def disc_solution(xx, yy, xy, u, v, radius):
    """The (x, y) in a disc with M (x, y) + (u, v) + λ (x, y) = 0, λ ≥ 0, and λ = 0 inside; M = (xx, yy, xy) is positive.

    λ is the root of |(M + λ)⁻¹ (u, v)| = radius, found by Newton on 1/|·|, which is concave in λ, from λ = 0 (J. Moré,
    D. Sorensen 1983).
    """
    if not radius > 0.0:
        return (0.0, 0.0)
    if xx * yy - xy * xy <= DEPENDENT * (xx + yy) * (xx + yy):
        return disc_on_axis(xx, yy, xy, u, v, radius)
    return disc_from(0.0, xx, yy, xy, u, v, radius)


@njit
def disc_from(multiplier, xx, yy, xy, u, v, radius):
    """The same from a multiplier λ that is no larger than the root."""
    x = y = 0.0
    for _ in range(NEWTON):
        a, b = xx + multiplier, yy + multiplier
        determinant = a * b - xy * xy
        x, y = (xy * v - b * u) / determinant, (xy * u - a * v) / determinant
        size = math.sqrt(x * x + y * y)
        if size <= radius * (1.0 + ROUNDING):
            break
        bend = (b * x * x - 2.0 * xy * x * y + a * y * y) / determinant  # (x, y) (M + λ)⁻¹ (x, y)
        change = (size / radius - 1.0) * size * size / bend
        multiplier += change
        if change <= ROUNDING * multiplier:
            break
    size = math.sqrt(x * x + y * y)
    part = radius / size if size > radius else 1.0
    return (part * x, part * y)


@njit
def disc_on_axis(xx, yy, xy, u, v, radius):
    """The same where M is m e eᵀ: joints let the body turn about one axis e at most. Across it nothing changes (u, v)."""
    m, size = xx + yy, math.sqrt(u * u + v * v)
    if size == 0.0:
        return (0.0, 0.0)
    if not m > 0.0:
        return (-radius * u / size, -radius * v / size)
    ex, ey = (xx, xy) if xx >= yy else (xy, yy)
    length = math.sqrt(ex * ex + ey * ey)
    ex, ey = ex / length, ey / length
    along, across = ex * u + ey * v, ex * v - ey * u
    if abs(across) <= STILL * size:
        x = min(radius, max(-radius, -along / m))
        return (x * ex, x * ey)
    x, y = disc_from(abs(across) / radius, m, 0.0, 0.0, along, across, radius)
    return (x * ex - y * ey, x * ey + y * ex)


@njit
def update_torques(torque, omega, k, normal, spin_length, roll_length):
    """New (τ_n, τ_t, τ_s) of one contact in a sweep of Gauss–Seidel: torsion, then rolling, each solved exactly.

    torque : those so far, N m s. omega : relative angular velocity (n, t, s) with them, rad/s. k : K. normal : p_n, N s.
    spin_length, roll_length : μ_s and μ_r, m. The caller adds F (τ − τ_old) to L_b and subtracts it from L_a.
    """
    most, least = spin_length * normal, DEPENDENT * (k[0] + k[1] + k[2])
    spin = 0.0
    if k[0] > least:
        spin = min(most, max(-most, torque[0] - omega[0] / k[0]))
    change = spin - torque[0]
    # The relative angular velocity about the tangents without τ_r, after the change of τ_n.
    u = omega[1] + k[3] * change - k[1] * torque[1] - k[5] * torque[2]
    v = omega[2] + k[4] * change - k[5] * torque[1] - k[2] * torque[2]
    x, y = 0.0, 0.0
    if k[1] + k[2] > least:
        x, y = disc_solution(k[1], k[2], k[5], u, v, roll_length * normal)
    return (spin, x, y)


@njit
def torque_residual(torque, omega, k, normal, spin_length, roll_length):
    """How far τ is from the law, rad/s: |τ − P(τ − ω/κ)| κ for each part, with κ the trace of its part of K; the larger."""
    spin_scale, roll_scale = k[0], k[1] + k[2]
    least = DEPENDENT * (spin_scale + roll_scale)
    spins, rolls = 1.0 if spin_scale > least else 0.0, 1.0 if roll_scale > least else 0.0
    spin, roll = spins * omega[0] / max(spin_scale, least), rolls / max(roll_scale, least)
    if not spins + rolls > 0.0:
        return 0.0
    target = project_torques(
        (torque[0] - spin, torque[1] - roll * omega[1], torque[2] - roll * omega[2]),
        spin_length * normal,
        roll_length * normal,
    )
    x, y = torque[1] - target[1], torque[2] - target[2]
    return max(spins * spin_scale * abs(torque[0] - target[0]), rolls * roll_scale * math.sqrt(x * x + y * y))


@njit
def stribeck_friction(speed, kinetic, static, velocity):
    """μ(v) = μ_k + (μ_0 − μ_k) exp(−(v/v_s)²) at the sliding speed v, m/s; μ_k where v_s is 0 (R. Stribeck 1902)."""
    if not velocity > 0.0:
        return kinetic
    ratio = speed / velocity
    return kinetic + (static - kinetic) * exp(-ratio * ratio)


# For Python -------------------------------------------------------------------------------------------------------------


@kernel
def _solve(k: array(), lengths: array(), normal: float, omega: array(), torque: out(), sweeps: int) -> float:
    w = (omega[0], omega[1], omega[2])
    matrix = (k[0], k[1], k[2], k[3], k[4], k[5])
    tau = (torque[0], torque[1], torque[2])
    now = w
    for _ in range(sweeps):
        tau = update_torques(tau, now, matrix, normal, lengths[0], lengths[1])
        kn, kt, ks = (
            (matrix[0], matrix[3], matrix[4]),
            (matrix[3], matrix[1], matrix[5]),
            (matrix[4], matrix[5], matrix[2]),
        )
        now = (w[0] + dot(kn, tau), w[1] + dot(kt, tau), w[2] + dot(ks, tau))
    torque[0], torque[1], torque[2] = tau
    return torque_residual(tau, now, matrix, normal, lengths[0], lengths[1])


@kernel
def _project(point: array(), lengths: array(), normal: float, nearest: out()) -> None:
    found = project_torques((point[0], point[1], point[2]), lengths[0] * normal, lengths[1] * normal)
    nearest[0], nearest[1], nearest[2] = found


@kernel
def _matrix(frame: array(), inverse_a: array(), inverse_b: array(), k: out()) -> None:
    axes = ((frame[0], frame[1], frame[2]), (frame[3], frame[4], frame[5]), (frame[6], frame[7], frame[8]))
    a = (inverse_a[0], inverse_a[1], inverse_a[2], inverse_a[3], inverse_a[4], inverse_a[5])
    b = (inverse_b[0], inverse_b[1], inverse_b[2], inverse_b[3], inverse_b[4], inverse_b[5])
    found = angular_matrix(axes, a, b)
    for i in range(6):
        k[i] = found[i]


@kernel
def _stribeck(speed: float, kinetic: float, static: float, velocity: float) -> float:
    return stribeck_friction(speed, kinetic, static, velocity)


KERNELS = (_solve, _project, _matrix, _stribeck)


def solve_torques(
    k: np.ndarray, spin_length: float, roll_length: float, normal: float, omega: np.ndarray, sweeps: int = 200
) -> tuple[np.ndarray, float]:
    """(τ, residual) of one contact: torques (3,) N m s about its axes (n, t, s), and `torque_residual`, rad/s.

    k : (6,) K, 1/(kg m²). spin_length, roll_length : μ_s and μ_r, m. normal : p_n, N s. omega : (3,) rad/s, relative angular
    velocity without τ. Raises ValueError for a K of another size.
    """
    if np.size(k) != 6:
        raise ValueError(f"k has {np.size(k)} numbers; give the 6 of a symmetric matrix: nn, tt, ss, nt, ns, ts")
    torque = np.zeros(3)
    lengths = np.array([spin_length, roll_length], float)
    residual = _solve(np.array(k, float), lengths, float(normal), np.array(omega, float), torque, sweeps)
    return torque, float(residual)
