"""`Simulation.step`: the same steps, frames and bits as `advance`, one or a few at a time."""

import numpy as np
import pytest

import dalembert as dal

from .steppers import STEPPERS, bouncing_ball, tumbling_boxes
from .test_live_forces import ball, box_on_floor, pendulum

FIXED = [name for name, (_, settings) in STEPPERS.items() if "dt" in settings]
ADAPTIVE = [name for name, (_, settings) in STEPPERS.items() if "dt" not in settings]


@pytest.mark.filterwarnings("ignore:a bounce of", "ignore:overlap at the start")  # what counts is the bits
@pytest.mark.parametrize("name", FIXED)
def test_steps_make_the_bits_and_the_frames_of_advance(name):
    build, settings = STEPPERS[name]
    whole = dal.Simulation(build(), **settings).advance(60 * settings["dt"])
    steps = dal.Simulation(build(), **settings)
    for count in (1, 1, 3, 7, 1, 20, 2, 25):
        steps.step(count)
    assert steps.time == whole.time == pytest.approx(60 * settings["dt"], rel=1e-12)
    assert steps.state.y.tobytes() == whole.state.y.tobytes()
    one, other = steps.trajectory, whole.trajectory
    np.testing.assert_array_equal(one.time.values, other.time.values)
    np.testing.assert_array_equal(one.state.values, other.state.values)
    assert steps.report.steps == whole.report.steps >= 60
    assert dal.replay(one, scene=build()).same


@pytest.mark.parametrize("name", ADAPTIVE)
def test_steps_of_adaptive_methods_end_at_the_recorded_frames(name):
    build, settings = STEPPERS[name]
    whole = dal.Simulation(build(), **settings).advance(6 / 60)
    steps = dal.Simulation(build(), **settings)
    for count in (1, 2, 3):
        steps.step(count)
    assert steps.time == whole.time == 0.1
    np.testing.assert_array_equal(steps.trajectory.state.values, whole.trajectory.state.values)


def test_frames_are_recorded_at_their_rate_and_results_end_with_the_current_state():
    sim = dal.Simulation(ball(velocity=(1, 0, 0)), method="rk4", dt=1 / 240)  # 60 frames a second
    sim.step()
    assert len(sim.recorder) == 1
    for _ in range(9):
        sim.step()
    assert [round(240 * t) for t in sim.recorder.frames["time"]] == [0, 4, 8]
    assert sim.trajectory.time.values[-1] == sim.time
    assert sim.report.energy_end == pytest.approx(1.0)
    sim.step(2)
    assert [round(240 * t) for t in sim.recorder.frames["time"]] == [0, 4, 8, 10, 12]


def test_steps_and_advance_are_mixed_without_drift():
    sim = dal.Simulation(ball(velocity=(1, 0, 0)), method="rk4", dt=1 / 240)
    for k in range(10):
        sim.advance(0.01).step(3)
        assert len(sim.trajectory) > k
        sim.step()
    assert sim.time * 240 == pytest.approx(round(sim.time * 240), abs=1e-9)
    assert dal.replay(sim.trajectory, scene=ball(velocity=(1, 0, 0))).same


def test_a_controller_is_called_at_its_rate_whatever_the_steps():
    calls = [[], []]
    for each, counts in zip(calls, ([24], [1] * 24), strict=True):
        sim = dal.Simulation(
            pendulum(),
            method="rk4",
            dt=1 / 240,
            controller=lambda run, each=each: each.append(run.time),
            control_rate=60,
        )
        for count in counts:
            sim.step(count)
    assert calls[0] == calls[1] and len(calls[0]) == 6


def test_an_event_that_stops_the_run_ends_the_steps():
    scene = ball(velocity=(1, 0, 0))
    scene.event("far", lambda t, y: y[0] - 0.05, stop=True)
    sim = dal.Simulation(scene, method="rk4", dt=0.01).step(20)
    assert sim.stopped and sim.time == pytest.approx(0.05, abs=0.011)
    time = sim.time
    assert sim.step(5).time == time


def test_adaptive_contact_by_events_steps_to_frames():
    sim = dal.Simulation(bouncing_ball(), method="dormand_prince", rtol=1e-9).step(30)
    assert sim.time == pytest.approx(0.5)
    assert sim["ball"].position[2] > 0.0999


@pytest.mark.parametrize("n", [0, -1, 1.5, "3", True, None])
def test_numbers_of_steps_that_are_not_whole_are_refused(n):
    sim = dal.Simulation(ball(), method="rk4", dt=0.01)
    with pytest.raises(ValueError, match=r"n is .*; give a whole number of at least 1"):
        sim.step(n)


def test_a_controller_cannot_step_the_run_that_calls_it():
    sim = dal.Simulation(ball(), method="rk4", dt=0.01, controller=lambda run: run.step(), control_rate=100)
    with pytest.raises(dal.SimulationError, match="cannot advance the run that calls it"):
        sim.step()


def test_ctrl_c_between_steps_loses_nothing():
    def interrupt(run):
        if run.time > 0.045:
            raise KeyboardInterrupt

    sim = dal.Simulation(tumbling_boxes(), dt=0.01, controller=interrupt, control_rate=100)
    with pytest.raises(KeyboardInterrupt):
        for _ in range(10):
            sim.step()
    assert sim.interrupted and sim.time == pytest.approx(0.05)
    plain = dal.Simulation(tumbling_boxes(), dt=0.01).step(5)
    assert sim.state.y.tobytes() == plain.state.y.tobytes()


def test_a_state_that_was_written_between_steps_is_noticed():
    sim = dal.Simulation(box_on_floor(), dt=1 / 240).step(10)
    sim.state.velocity[0] = (0.0, 0.0, 3.0)
    sim.step()
    assert sim["box"].velocity[2] == pytest.approx(3.0 - 9.81 / 240, rel=1e-9)
    assert sim.by_hand
