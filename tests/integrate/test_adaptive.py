import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dalembert.integrate import IntegrationError, solve

from .problems import kepler, kepler_start, logistic_forced, logistic_solution, oscillator

SCIPY = {"bogacki_shampine": "RK23", "dormand_prince": "RK45", "dop853": "DOP853"}


@pytest.mark.parametrize("rtol", [1e-5, 1e-7])
@pytest.mark.parametrize("name", SCIPY)
def test_tolerance_is_met_as_well_as_by_scipy(name, rtol):
    start, end = kepler_start(0.5), 2.0 * np.pi
    ours = solve(kepler, start, 0.0, end, name, rtol=rtol)
    theirs = solve_ivp(kepler, (0.0, end), start, method=SCIPY[name], rtol=rtol, atol=rtol)
    error = np.abs(ours.y[-1] - start).max()
    assert error < 200.0 * rtol
    assert error < 2.5 * np.abs(theirs.y[:, -1] - start).max()
    assert ours.evaluations < 2.0 * theirs.nfev
    assert ours.t[-1] == end


def test_step_doubling_halves_its_steps_for_a_quarter_of_the_tolerance():
    runs = [solve(logistic_forced, [1.0, 1.0], 0.0, 2.0, "adaptive_euler", rtol=rtol) for rtol in (4e-4, 1e-4, 2.5e-5)]
    errors = [np.abs(run.y[-1] - logistic_solution(2.0)).max() for run in runs]
    for coarse, fine in itertools.pairwise(runs):
        assert fine.steps == pytest.approx(2.0 * coarse.steps, rel=0.15)
    assert errors[1] == pytest.approx(errors[0] / 2.0, rel=0.2)
    assert errors[2] == pytest.approx(errors[1] / 2.0, rel=0.2)


def test_step_doubling_keeps_the_two_half_steps():
    run = solve(logistic_forced, [1.0, 1.0], 0.0, 0.5, "adaptive_euler", dt=0.25)
    halves = solve(logistic_forced, [1.0, 1.0], 0.0, 0.5, "euler", dt=0.125)
    np.testing.assert_allclose(run.y, halves.y[::2], rtol=1e-15)


def test_clipping_does_not_spoil_the_step():
    free = solve(oscillator, [1.0, 0.0], 0.0, 20.0, rtol=1e-8)
    times = np.sort(np.concatenate([np.linspace(0.0, 20.0, 11), np.linspace(0.0, 20.0, 11)[1:-1] + 1e-9]))
    clipped = solve(oscillator, [1.0, 0.0], 0.0, 20.0, rtol=1e-8, times=times)
    np.testing.assert_array_equal(clipped.t, times)
    assert clipped.steps < free.steps + 2.5 * len(times)
    np.testing.assert_allclose(clipped.y[:, 0], np.cos(times), atol=1e-6)


def test_longest_step_is_respected():
    run = solve(oscillator, [1.0, 0.0], 0.0, 5.0, rtol=1e-3, max_step=0.1)
    assert np.diff(run.t).max() <= 0.1 + 1e-12


def test_a_singularity_ends_the_run_and_keeps_what_came_before():
    with np.errstate(all="ignore"), pytest.raises(IntegrationError, match=r"too small|infinite") as caught:
        solve(lambda t, y: y**2, [1.0], 0.0, 2.0, rtol=1e-6, atol=1e-9)
    partial = caught.value.solution
    assert partial.t[-1] == pytest.approx(1.0, abs=1e-4)
    assert np.all(np.isfinite(partial.y))
    early = partial.t < 0.9
    np.testing.assert_allclose(partial.y[early, 0], 1.0 / (1.0 - partial.t[early]), rtol=1e-4)


def test_a_state_that_is_not_finite_shrinks_the_step():
    """sqrt fails beyond t = 1: the run comes close and stops."""
    with np.errstate(invalid="ignore"), pytest.raises(IntegrationError, match="not a number") as caught:
        solve(lambda t, y: np.sqrt(np.array([1.0 - t])), [0.0], 0.0, 2.0)
    assert caught.value.solution.t[-1] == pytest.approx(1.0, abs=1e-9)


def test_max_steps_keeps_the_partial_solution():
    with pytest.raises(IntegrationError, match="max_steps is 7") as caught:
        solve(oscillator, [1.0, 0.0], 0.0, 1e6, max_steps=7)
    assert caught.value.solution.steps == 7
    assert len(caught.value.solution.t) == 8
