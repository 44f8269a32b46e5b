"""Runs that begin again have the bits of new ones; they may begin from another state."""

import numpy as np
import pytest

import dalembert as dal

from .driven import COORDINATES, arm
from .motions import pendulum


def falling_boxes():
    scene = dal.Scene("boxes")
    steel = dal.Material(0.4, restitution=0.3)
    scene.add_obstacle("ground", dal.HalfSpace(), material=steel)
    for i in range(3):
        scene.add_body(f"box {i}", dal.Box(0.4, 0.3, 0.2), mass=1.0, position=(0.07 * i, 0, 0.3 + 0.3 * i), material=steel,
                       angular_velocity=(1.0, 2.0 * i, 0.5))  # fmt: skip
    return scene


def hanging_cloth():
    scene = dal.Scene("cloth")
    scene.add_obstacle("ball", dal.Sphere(0.3), position=(0.3, 0.2, -0.4), material=dal.Material(0.3))
    places, faces = dal.triangle_grid(1.0, 1.0, 8, 8)
    scene.cloth(
        "cloth",
        places,
        faces,
        density=0.2,
        radius=0.01,
        stretch=200.0,
        shear=20.0,
        pinned=[0, 7],
        material=dal.Material(0.3),
    )
    return scene


def double():
    scene = arm()
    scene.event("let go", lambda t, y: t - 0.1, action=lambda state: None)
    return scene


BEGUN = {
    "integrator": (double, {}),
    "fixed steps": (double, {"method": "rk4", "dt": 1e-3}),
    "joint coordinates": (double, {"coordinates": "joint"}),
    "contact": (falling_boxes, {"dt": 2e-3}),
    "contact by events": (lambda: falling_balls(), {"method": "dormand_prince"}),
    "particles": (hanging_cloth, {"method": "implicit_euler", "dt": 5e-3}),
}


def falling_balls():
    scene = dal.Scene("balls")
    scene.add_obstacle("ground", dal.HalfSpace(), material=dal.Material(0.3, restitution=0.5))
    scene.add_body(
        "ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 0.2), velocity=(1, 0, 0), material=dal.Material(0.3)
    )
    return scene


@pytest.mark.parametrize("name", BEGUN)
def test_a_run_that_begins_again_has_the_same_bits_as_a_new_one(name):
    build, settings = BEGUN[name]
    scene = build()
    run = dal.Simulation(scene, **settings).advance(0.3)
    first = run.trajectory
    for _ in range(2):
        if "motor 0" in scene.forces:
            run.set_motor("motor 0", effort=3.0)
            run.advance(0.1)
        run.restart()
        assert run.time == 0.0 and len(run.recorder) == 1 and not any(run.event_times.values())
        run.advance(0.3)
        again = run.trajectory
        for key in first.dataset.data_vars:
            np.testing.assert_array_equal(again[key].values, first[key].values, err_msg=key)
    fresh = dal.Simulation(build(), **settings).advance(0.3).trajectory
    np.testing.assert_array_equal(fresh.state.values, first.state.values)


def test_what_was_let_go_is_held_again():
    run = dal.Simulation(pendulum()).advance(0.2)
    run.release("pin")
    run.advance(0.3)
    run.restart().advance(1.0)
    assert run.released == {} and run.report.joint_error < 1e-9
    assert np.linalg.norm(run.state.position[0]) == pytest.approx(0.5)


@COORDINATES
def test_a_run_can_begin_from_another_state_and_its_energy_balance_closes(coordinates):
    run = dal.Simulation(pendulum(), coordinates=coordinates)

    def prepare(run):
        if coordinates == "joint":
            run.set_joint_state({"pin": (0.3, 1.0)})
        else:
            run.state.momentum[0], run.state.angular_momentum[0] = 0.0, (0.0, 0.0, 0.0)
            run.state.orientation[0] = (1.0, 0.0, 0.0, 0.0)
            run.state.position[0] = (0.0, 0.0, -0.5)

    run.restart(prepare)
    expected = 0.3 if coordinates == "joint" else -np.pi / 2  # from the initial pose, which is level
    assert run.joint_state()["pin"][0] == pytest.approx(expected, abs=1e-12)
    run.advance(0.5)
    assert run.report.energy_residual < 1e-7
    assert run.trajectory.balance[0] == 0.0


def test_a_state_to_begin_from_that_opens_joints_is_refused():
    run = dal.Simulation(pendulum())

    def prepare(run):
        run.state.position[0, 0] += 0.1

    with pytest.raises(ValueError, match="'pin' is open at the start"):
        run.restart(prepare)


def pushed_box():
    """A box on a plane, pushed to and fro by a function of time."""
    scene = dal.Scene("pushed", material=dal.Material(0.1))
    scene.add_obstacle("ground", dal.HalfSpace())
    box = scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 0.1))
    scene.external_force("push", box, function=lambda t, x, q, v, w: np.array([4.0 * np.sin(9.0 * t), 0.0, 0.0]))
    return scene


def blown_drop():
    """A particle in a field that changes with time."""
    scene = dal.Scene("blown", gravity=(0, 0, 0))
    scene.add_particles("drop", (0, 0, 0), mass=0.5)
    scene.field("wind", "drop", function=lambda t, x, v: np.array([np.sin(9.0 * t), 0.0, 0.0]))
    return scene


@pytest.mark.parametrize(
    ("build", "settings"),
    [
        (pushed_box, {"method": "time_stepping"}),
        (pushed_box, {"method": "time_stepping", "coordinates": "joint"}),
        (blown_drop, {"method": "time_stepping"}),
        (blown_drop, {"method": "implicit_euler"}),
    ],
)
def test_a_resumed_run_of_time_steps_goes_on_at_its_time(build, settings, tmp_path):
    settings = {"dt": 1e-3, "frame_rate": 100.0, **settings}
    whole = dal.simulate(build(), 0.4, **settings)
    dal.simulate(build(), 0.2, **settings).trajectory.save(tmp_path / "half.nc")
    again = dal.Simulation(build(), **settings).resume(dal.Trajectory.load(tmp_path / "half.nc")).advance(0.2)
    size = np.abs(whole.state.y[:6]).max()
    np.testing.assert_allclose(again.state.y[:6], whole.state.y[:6], atol=1e-6 * size)
