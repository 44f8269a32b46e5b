"""Runs that are repeated, resumed, interrupted or pushed between two parts."""

import numpy as np
import pytest

import dalembert as dal

from .motions import chain, double_pendulum, free_body, pendulum


def test_two_runs_agree_to_the_bit():
    runs = [dal.simulate(chain(5, sideways=True), 0.5) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].trajectory.state.values, runs[1].trajectory.state.values)


def test_a_run_in_two_parts_is_the_run_in_one():
    whole = dal.simulate(double_pendulum(), 0.6, method="rk4", dt=1e-3, frame_rate=100)
    parts = dal.Simulation(double_pendulum(), method="rk4", dt=1e-3, frame_rate=100).advance(0.3).advance(0.3)
    assert parts.time == whole.time
    np.testing.assert_array_equal(parts.state.y, whole.state.y)


def test_a_saved_run_is_resumed(tmp_path):
    whole = dal.simulate(double_pendulum(), 0.6, method="rk4", dt=1e-3, frame_rate=100)
    path = tmp_path / "half.nc"
    dal.simulate(double_pendulum(), 0.3, method="rk4", dt=1e-3, frame_rate=100).trajectory.save(path)
    run = dal.Simulation(double_pendulum(), method="rk4", dt=1e-3, frame_rate=100).resume(dal.Trajectory.load(path))
    run.advance(0.3)
    assert run.time == whole.time
    np.testing.assert_array_equal(run.state.y, whole.state.y)


def test_frames_are_recorded_at_their_rate():
    run = dal.simulate(pendulum(), 1.0, frame_rate=50)
    np.testing.assert_allclose(run.trajectory.times, np.arange(51) / 50, rtol=0, atol=1e-15)


def test_an_interrupt_keeps_what_was_recorded():
    def progress(run):
        if run.time > 0.3:
            raise KeyboardInterrupt

    run = dal.Simulation(pendulum(), frame_rate=100)
    with pytest.raises(KeyboardInterrupt) as caught:
        run.advance(1.0, progress=progress)
    assert caught.value.simulation is run
    assert run.interrupted and run.report.interrupted
    assert run.trajectory.times[-1] == pytest.approx(0.31, abs=1e-12)
    run.advance(0.1)
    assert run.time == pytest.approx(0.41, abs=1e-12)


def test_an_impulse_between_two_parts():
    run = dal.Simulation(free_body(), method="rk4", dt=1e-2).advance(0.5)
    run.state.momentum[0] += [0.0, 2.0, 0.0]
    run.changed()
    run.advance(0.5)
    np.testing.assert_allclose(run.state.position[0], [0.3, 1.0, 0.0], rtol=0, atol=1e-14)


def test_names_of_a_state():
    run = dal.Simulation(chain(3), dt=1e-2)
    assert run.state.index("link2") == 2
    assert run.model.body_slice("link2") == slice(26, 39)
