import numpy as np
import pytest

from dalembert.integrate import IntegrationError, solve

from .problems import kepler, kepler_energy, kepler_start, oscillator


def test_time_does_not_drift():
    run = solve(oscillator, [1.0, 0.0], 0.5, 100.5, "euler", dt=0.1)
    np.testing.assert_array_equal(run.t[:-1], 0.5 + 0.1 * np.arange(1000))
    assert run.t[-1] == pytest.approx(100.5, abs=1e-10)
    assert run.steps == 1000


def test_recording_on_step_ends_changes_no_bit():
    every = solve(oscillator, [1.0, 0.0], 0.0, 4.0, "rk4", dt=0.01)
    tenth = solve(oscillator, [1.0, 0.0], 0.0, 4.0, "rk4", dt=0.01, times=np.linspace(0.0, 4.0, 41))
    np.testing.assert_array_equal(tenth.y, every.y[::10])
    np.testing.assert_array_equal(tenth.t, every.t[::10])


def test_a_time_between_step_ends_is_landed_on_and_the_grid_kept():
    run = solve(oscillator, [1.0, 0.0], 0.0, 1.0, "rk4", dt=0.1, times=[0.25, 0.3, 1.0])
    np.testing.assert_array_equal(run.t, [0.25, 3 * 0.1, 1.0])
    assert run.steps == 11
    np.testing.assert_allclose(run.y[:, 0], np.cos(run.t), atol=1e-6)


def test_symplectic_euler_keeps_the_energy_of_an_oscillator():
    """The modified energy (q² + p²)/2 + h q p / 2 is an exact invariant (sign: momenta move first)."""
    h = 0.1
    run = solve(oscillator, [1.0, 0.0], 0.0, 200.0, "symplectic_euler", dt=h)
    q, p = run.y[:-1].T
    modified = 0.5 * (q**2 + p**2) - 0.5 * h * q * p
    np.testing.assert_allclose(modified, 0.5, rtol=1e-11)


def test_symplectic_euler_bounds_the_energy_of_an_orbit():
    run = solve(kepler, kepler_start(0.3), 0.0, 60.0, "symplectic_euler", dt=0.02)
    error = np.abs(kepler_energy(run.y) + 0.5)
    assert error.max() < 0.04
    assert error[-1000:].max() < 1.2 * error[:1000].max()


def test_a_state_that_is_not_finite_stops_on_the_last_good_one():
    with np.errstate(over="ignore"), pytest.raises(IntegrationError, match="infinite") as caught:
        solve(lambda t, y: y**3, [10.0], 0.0, 1.0, "euler", dt=0.1)
    assert np.all(np.isfinite(caught.value.solution.y))


def test_no_time_to_go():
    run = solve(oscillator, [1.0, 0.0], 2.0, 2.0, "rk4", dt=0.1)
    np.testing.assert_array_equal(run.t, [2.0])
    assert run.steps == 0
