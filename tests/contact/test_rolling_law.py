"""Friction against rolling and spinning at one contact: the law itself, and a ball that it brings to rest."""

import numpy as np
import pytest

from dalembert.contact.rolling import _matrix, _project, _stribeck, solve_torques

SPIN, ROLL = 0.004, 0.0015


def dense(k):
    return np.array([[k[0], k[3], k[4]], [k[3], k[1], k[5]], [k[4], k[5], k[2]]])


def packed(m):
    return np.array([m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2]])


def problem(seed, size):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3)) * np.array([1.0, 3.0, 10.0])
    return root @ root.T + 0.1 * np.eye(3), size * rng.normal(size=3), rng


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("size", [1e-3, 0.1, 30.0])
def test_torques_stay_in_their_discs_and_dissipate_most(seed, size):
    matrix, free, rng = problem(seed, size)
    torque, residual = solve_torques(packed(matrix), SPIN, ROLL, 2.0, free, sweeps=200_000)  # K is far from round
    omega = free + matrix @ torque
    spin, roll = torque[0], torque[1:]
    most = 2.0 * SPIN, 2.0 * ROLL
    assert residual < 1e-12 * max(1.0, size)
    assert abs(spin) <= most[0] * (1 + 1e-14) and np.linalg.norm(roll) <= most[1] * (1 + 1e-14)
    # Complementarity: what is inside its bound does not turn, what turns is at its bound and opposes.
    assert abs(omega[0]) * (most[0] - abs(spin)) < 1e-13
    assert np.linalg.norm(omega[1:]) * (most[1] - np.linalg.norm(roll)) < 1e-13
    for other in rng.normal(size=(50, 3)):
        other[0] = np.clip(other[0], -1, 1) * most[0]
        other[1:] *= most[1] / max(1.0, np.linalg.norm(other[1:]))
        assert torque @ omega <= other @ omega + 1e-13 * max(1.0, size)  # no other torques take more power
    # The minimum of ½ τ·K τ + τ·ω: what is stationary over a convex set.
    assert 0.5 * torque @ matrix @ torque + torque @ free <= 1e-15


def test_without_load_or_lengths_there_is_no_torque():
    matrix, free, _ = problem(3, 1.0)
    for lengths, normal in (((0.0, 0.0), 2.0), ((SPIN, ROLL), 0.0)):
        torque, residual = solve_torques(packed(matrix), *lengths, normal, free)
        assert not torque.any() and residual == 0.0


def test_a_matrix_of_another_size_is_refused():
    with pytest.raises(ValueError, match="k has 3 numbers; give the 6 of a symmetric matrix"):
        solve_torques(np.ones(3), SPIN, ROLL, 1.0, np.zeros(3))


def test_the_projection_is_the_nearest_point_of_an_interval_times_a_disc():
    nearest = np.zeros(3)
    _project(np.array([-3.0, 3.0, 4.0]), np.array([0.5, 1.0]), 2.0, nearest)
    np.testing.assert_allclose(nearest, [-1.0, 2.0 * 0.6, 2.0 * 0.8])
    _project(np.array([0.2, 0.3, 0.4]), np.array([0.5, 1.0]), 2.0, nearest)
    np.testing.assert_array_equal(nearest, [0.2, 0.3, 0.4])


def test_the_matrix_is_that_of_both_inverse_inertias_in_the_frame():
    rng = np.random.default_rng(5)
    frame = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    inverses = [m @ m.T for m in rng.normal(size=(2, 3, 3))]
    k = np.zeros(6)
    _matrix(frame.ravel(), packed(inverses[0]), packed(inverses[1]), k)
    np.testing.assert_allclose(dense(k), frame @ sum(inverses) @ frame.T, atol=1e-13)


def test_stribeck_friction_falls_from_static_to_kinetic():
    assert _stribeck(0.0, 0.3, 0.5, 0.01) == 0.5
    assert _stribeck(0.01, 0.3, 0.5, 0.01) == pytest.approx(0.3 + 0.2 / np.e)
    assert _stribeck(1.0, 0.3, 0.5, 0.01) == pytest.approx(0.3, abs=1e-15)
    assert _stribeck(0.0, 0.3, 0.5, 0.0) == 0.3


def roll(velocity, omega, duration, dt, slope=0.0, friction=0.8):
    """(x, v, ω) of a ball of 1 kg that rolls along x: Coulomb's law and that of rolling in turns until nothing changes."""
    radius, g = 0.1, 9.81
    inertia = 0.4 * radius**2
    normal, x = g * np.cos(slope) * dt, 0.0
    k = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]) / inertia
    for _ in range(round(duration / dt)):
        push, turn = 0.0, 0.0  # friction along x, and torque about y, N s and N m s
        v, w = velocity + g * np.sin(slope) * dt, omega
        for _ in range(400):
            before = push, turn
            slip = (v + push) - radius * (w + (turn - radius * push) / inertia)
            push = np.clip(push - slip / (1.0 + radius**2 / inertia), -friction * normal, friction * normal)
            rolling = w - radius * push / inertia
            turn = solve_torques(k, SPIN, ROLL, normal, np.array([0.0, rolling, 0.0]), 1)[0][1]
            if abs(push - before[0]) + abs(turn - before[1]) < 1e-17:
                break
        velocity, omega = v + push, w + (turn - radius * push) / inertia
        x += dt * velocity
    return x, velocity, omega


def test_a_ball_that_rolls_stops_where_theory_says():
    # m a = −F, I α = F R − μ_r m g, a = R α: a = −(5/7) μ_r g/R, and the way is v²/(2 |a|).
    deceleration = 5.0 / 7.0 * ROLL * 9.81 / 0.1
    way = 0.1**2 / (2.0 * deceleration)
    x, v, w = roll(0.1, 1.0, 1.2, 1e-3)
    assert x == pytest.approx(way, rel=0.02)  # of first order in the step
    assert abs(v) < 1e-14 and abs(w) < 1e-13
    coarse, fine = (abs(roll(0.1, 1.0, 1.2, dt)[0] - way) for dt in (2e-3, 1e-3))
    assert fine < 0.6 * coarse


@pytest.mark.parametrize(("factor", "rolls"), [(0.99, False), (1.01, True)])
def test_a_ball_on_a_slope_starts_to_roll_where_the_slope_is_the_length_over_the_radius(factor, rolls):
    slope = np.arctan(factor * ROLL / 0.1)
    _, v, _ = roll(0.0, 0.0, 0.1, 1e-3, slope)
    excess = 9.81 * (np.sin(slope) - ROLL / 0.1 * np.cos(slope))
    assert v == pytest.approx(5.0 / 7.0 * excess * 0.1 if rolls else 0.0, rel=1e-9, abs=1e-15)
