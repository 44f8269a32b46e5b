"""A run that comes to nothing says so, at its time and by the name of a body, and what was good of it is kept."""

import numpy as np
import pytest

import dalembert as dal

from .motions import pendulum
from .steppers import blown_drops, cloth_on_ball, tumbling_boxes


def burst(t, x, q, v, w):
    """A force that becomes infinite in the middle of the run."""
    return np.array([np.inf if t > 0.1 else 0.0, 0.0, 0.0])


def with_burst(build):
    def made():
        scene = build()
        scene.external_force("burst", list(scene.bodies)[-1], function=burst)
        return scene

    return made


def bursting_drops():
    scene = blown_drops()
    scene.field("burst", "drops", function=lambda t, x, v: np.full(3, np.inf if t > 0.1 else 0.0))
    return scene


def bursting_cloth():
    scene = cloth_on_ball()
    scene.field("burst", "cloth", function=lambda t, x, v: np.full(3, np.nan if t > 0.1 else 0.0))
    return scene


STEPS = {"method": "time_stepping", "dt": 0.01}
LOST = {
    "contact": (with_burst(tumbling_boxes), STEPS, "body 'box 3'"),
    "converging": (with_burst(tumbling_boxes), {**STEPS, "solver": "interior_point"}, "body 'box 3'"),
    "joint coordinates": (with_burst(tumbling_boxes), {**STEPS, "coordinates": "joint"}, "body 'box"),
    "explicit particles": (bursting_drops, STEPS, r"particle drops\[0\]"),
    "implicit particles": (bursting_cloth, {**STEPS, "method": "implicit_euler"}, r"particle cloth\["),
    "bdf2": (bursting_cloth, {**STEPS, "method": "bdf2"}, r"particle cloth\["),
    "rk4": (with_burst(pendulum), {"method": "rk4", "dt": 0.01}, "body 'rod'"),
    "dormand_prince": (with_burst(pendulum), {}, "body 'rod'"),
}


@pytest.mark.parametrize("name", LOST)
def test_a_state_that_is_not_finite_ends_the_run_and_keeps_the_record(name, tmp_path):
    build, settings, who = LOST[name]
    with pytest.raises(dal.SimulationError, match=f"(?s)infinite or not a number.*{who}") as caught:
        dal.simulate(build(), 1.0, **settings)
    assert 0.09 < caught.value.time < 0.12
    run = caught.value.simulation
    assert np.isfinite(run.state.y).all() and run.report.simulated_time > 0.08
    saved = dal.Trajectory.load(run.trajectory.save(tmp_path / "kept.nc"))
    assert saved.times[-1] == run.recorder.frames["time"][-1] and len(saved) > 5


def test_energies_beyond_all_numbers_end_the_run_and_keep_the_record(tmp_path):
    scene = dal.Scene("fast", gravity=(0, 0, 0))
    ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    scene.external_force("push", ball, function=lambda t, x, q, v, w: np.array([1e160 if t > 0.5 else 0.0, 0.0, 0.0]))
    with pytest.raises(dal.SimulationError, match="'ball'") as caught:
        dal.simulate(scene, 1.0, method="rk4", dt=0.01)
    saved = dal.Trajectory.load(caught.value.simulation.trajectory.save(tmp_path / "kept.nc"))
    assert 0.4 < saved.times[-1] <= 0.51


@pytest.mark.parametrize("settings", [{}, {"method": "rk4", "dt": 0.01}, {"coordinates": "joint"}])
def test_a_run_that_fails_at_its_start_has_a_report_and_a_trajectory(settings, tmp_path):
    def broken(t, x, q, v, w):
        raise ZeroDivisionError("no air")

    scene = pendulum()
    scene.external_force("wind", "rod", function=broken)
    with pytest.raises(dal.SimulationError, match=r"at t = 0 s the function of 'wind' failed.*no air") as caught:
        dal.Simulation(scene, **settings)
    run = caught.value.simulation
    assert "pendulum" in str(run.report) and run.report.steps == 0
    saved = dal.Trajectory.load(run.trajectory.save(tmp_path / "start.nc"))
    assert len(saved) == 1 and saved.times[0] == 0.0
    np.testing.assert_array_equal(saved.last_state[:3], run.model.initial[:3])


def test_a_restart_that_fails_has_a_report_and_a_trajectory():
    broken = []

    def wind(t, x, q, v, w):
        if broken:
            raise ZeroDivisionError("no air")
        return np.zeros(3)

    scene = pendulum()
    scene.external_force("wind", "rod", function=wind)
    run = dal.Simulation(scene).advance(0.1)
    broken.append(True)
    with pytest.raises(dal.SimulationError, match="no air") as caught:
        run.restart()
    assert caught.value.simulation is run and len(run.trajectory) == 1 and run.report.steps == 0
