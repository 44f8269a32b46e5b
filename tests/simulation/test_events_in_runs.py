"""Events happen at their time, and what they do is booked."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dal

from .motions import G, angle_of, pendulum


def test_an_event_releases_at_its_time():
    scene = pendulum(np.pi / 3)
    scene.event("bottom", lambda t, y: y[5], release="pin")
    run = dal.Simulation(scene, rtol=1e-11, frame_rate=200)
    run.advance(1.0)
    trajectory = run.trajectory
    force = np.abs(trajectory.reaction_force.values[:, 0]).max(axis=1)
    free = int(np.argmax(force == 0.0))
    assert free > 0 and not force[free:].any()
    q = trajectory.orientation.values[free, 0]
    assert abs(2 * np.arctan2(q[2], q[0])) <= 1e-12
    # Free from then on: it keeps its spin and falls.
    spin = trajectory.angular_momentum.values[free:, 0]
    np.testing.assert_allclose(spin, np.broadcast_to(spin[0], spin.shape), rtol=0, atol=1e-13)
    later = 1.0 - float(trajectory.times[free])
    drop = trajectory.position.values[-1, 0, 2] - trajectory.position.values[free, 0, 2]
    speed = trajectory.momentum.values[free, 0, 2] / 2.0
    assert drop == pytest.approx(speed * later - 0.5 * G * later**2, abs=1e-10)
    assert run.report.energy_residual <= 1e-9


def test_time_of_an_event_is_that_of_the_motion():
    scene = pendulum(1.0)
    scene.event("bottom", lambda t, y: y[5], stop=True)
    run = dal.simulate(scene, 5.0, rtol=1e-12)
    inertia = 2.0 * (1.01 / 12 + 0.25)
    swing = solve_ivp(lambda t, z: [z[1], -2 * G * 0.5 / inertia * np.sin(z[0])], (0, 2), [1.0, 0], method="DOP853",
                      rtol=1e-13, atol=1e-14, events=lambda t, z: z[0])  # fmt: skip
    assert run.stopped and run.time == pytest.approx(swing.t_events[0][0], abs=1e-10)
    assert abs(angle_of(run.state)) <= 1e-10
    assert run.trajectory.times[-1] == run.time


@pytest.mark.parametrize("direction, sign", [(-1, -1), (1, 1)])
def test_direction_of_an_event(direction, sign):
    scene = pendulum(0.5)
    scene.event("bottom", lambda t, y: y[5], stop=True, direction=direction)
    run = dal.simulate(scene, 5.0, rtol=1e-10)
    assert run.stopped and abs(angle_of(run.state)) <= 1e-9
    assert np.sign(run.state.angular_momentum[0, 1]) == sign


def test_an_action_is_booked_as_work_of_events():
    scene = pendulum(0.5)

    def kick(state):
        state.angular_momentum[0, 1] *= 2.0
        state.momentum[0] *= 2.0

    scene.event("bottom", lambda t, y: y[5], action=kick)
    run = dal.simulate(scene, 1.0, rtol=1e-11)
    report = run.report
    assert report.work["events"] == pytest.approx(report.energy_end - report.energy_start, rel=1e-8)
    assert report.energy_residual <= 1e-8


def test_an_event_that_repeats():
    scene = pendulum(0.3)
    times = []
    scene.event("bottom", lambda t, y: y[5], once=False, action=lambda state: times.append(state.time))
    dal.simulate(scene, 4.0, rtol=1e-10)
    gaps = np.diff(times)
    assert len(times) >= 4
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-8)


def test_an_error_in_an_action_names_the_event_and_the_time():
    """As one in any other function does; what was recorded until then is kept."""
    scene = dal.Scene("falling")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    scene.event("boom", lambda t, y: t - 0.2, action=lambda state: 1 / 0)
    with pytest.raises(
        dal.SimulationError, match=r"at t = 0\.2 s the action of event 'boom' failed: ZeroDivisionError"
    ) as caught:
        dal.simulate(scene, 0.5)
    assert isinstance(caught.value.__cause__, ZeroDivisionError) and caught.value.time == pytest.approx(0.2)
    run = caught.value.simulation
    assert run.trajectory.times[-1] == pytest.approx(0.2) and run.event_times["boom"] == [run.time]


def test_an_interrupt_in_an_action_goes_on_as_one():
    def interrupt(state):
        raise KeyboardInterrupt

    scene = dal.Scene("falling")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    scene.event("boom", lambda t, y: t - 0.2, action=interrupt)
    with pytest.raises(KeyboardInterrupt):
        dal.simulate(scene, 0.5)
