"""Calls of `advance` add up: whatever the method, a run is where it was asked to be, to within a step and without drift."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.simulation.clock import AskedTime
from dalembert.simulation.session import Session

from .driven import arm
from .motions import pendulum
from .steppers import STEPPERS, tumbling_boxes


@pytest.mark.parametrize("name", STEPPERS)
def test_parts_of_a_frame_end_where_their_sum_does(name):
    build, settings = STEPPERS[name]
    run = dal.Simulation(build(), **{**settings, "dt": 0.01} if "dt" in settings else settings)
    step = 0.01 if "dt" in settings else 0.0
    for k in range(1, 16):
        run.advance(1 / 60)
        assert k / 60 - 1e-12 <= run.time < k / 60 + step + 1e-12
    assert run.time == pytest.approx(0.25, abs=1e-14)


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_second_in_sixtieths_is_a_second(coordinates):
    for settings in ({"method": "time_stepping"}, {"method": "rk4"}):
        build = tumbling_boxes if settings["method"] == "time_stepping" else pendulum
        run = dal.Simulation(build(), dt=0.01, coordinates=coordinates, **settings)
        for _ in range(60):
            run.advance(1 / 60)
        assert run.time == pytest.approx(1.0, abs=1e-12) and run.report.steps == 100


def test_calls_shorter_than_a_step_wait_for_it():
    run = dal.Simulation(tumbling_boxes(), dt=0.01)
    steps = []
    for _ in range(30):
        run.advance(0.001)
        steps.append(run.report.steps)
    assert steps == [1] * 10 + [2] * 10 + [3] * 10
    assert len(run.recorder) == 1 + 3  # a frame where there is something new


def test_what_was_asked_for_does_not_drift():
    asked = AskedTime(0.0)
    for _ in range(200_000):
        end = asked.add(0.1)
    naive = 0.0
    for _ in range(200_000):
        naive += 0.1
    assert end == 20_000.0 and abs(naive - 20_000.0) > 1e-8


def test_an_end_that_rounding_puts_beyond_a_step_does_not_hang():
    run = dal.Simulation(pendulum(), method="rk4", dt=1.0, frame_rate=1.0)
    run.advance(5.0 + 1e-10)
    assert run.time == 5.0


def test_frames_lie_on_their_grid_however_a_run_is_divided():
    run = dal.Simulation(pendulum(), frame_rate=50.0)
    for _ in range(4):
        run.advance(0.025)
    expected = sorted({*(k / 50 for k in range(6)), 0.025, 0.05, 0.075})
    np.testing.assert_allclose(run.trajectory.times, expected, rtol=0, atol=1e-15)


def test_frames_of_a_session_follow_the_clock():
    session = Session(tumbling_boxes(), dt=0.01, frame_rate=60.0)
    for _ in range(60):
        session.advance()
    assert session.time == pytest.approx(1.0, abs=1e-12)
    assert session.run.report.steps == 100


def test_a_controller_between_steps_that_parts_do_not_end_on():
    calls = []
    run = dal.Simulation(
        arm(), method="rk4", dt=0.002, controller=lambda run: calls.append(run.time), control_rate=50.0
    )
    for _ in range(30):
        run.advance(1 / 60)
    np.testing.assert_allclose(calls, np.arange(25) / 50.0, rtol=0, atol=1e-12)


def test_steps_of_an_environment_add_up():
    pytest.importorskip("gymnasium")
    from dalembert.simulation.environment import Environment

    settings = {"motors": ["motor 0"], "reward": lambda run, action: 0.0, "bounds": {"motor 0": (-1.0, 1.0)}}
    environment = Environment(arm, control_rate=60.0, method="rk4", dt=1 / 240, **settings)
    environment.reset()
    for _ in range(60):
        environment.step(np.zeros(1))
    assert environment.run.time == pytest.approx(1.0, abs=1e-12) and environment.run.report.steps == 240


def test_a_batch_ends_on_the_steps_of_a_run():
    batch = dal.run_batch(pendulum(), 0.1, method="rk4", dt=0.003, vary={"gravity": [(0, 0, -9.0), (0, 0, -10.0)]})
    alone = dal.simulate(pendulum(), 0.1, method="rk4", dt=0.003)
    assert alone.time == pytest.approx(0.102) and batch.times[-1] == alone.time


def test_a_replay_of_parts_has_the_same_bits():
    run = dal.Simulation(tumbling_boxes(), dt=0.01)
    for duration in (1 / 60, 0.001, 0.0371, 0.1, 1 / 60):
        run.advance(duration)
    assert dal.replay(run.trajectory, scene=tumbling_boxes()).same
