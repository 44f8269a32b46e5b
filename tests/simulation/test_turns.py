"""A coordinate of a joint counts full turns wherever it comes from: set, varied in a batch, saved and resumed, rewound."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.simulation.session import rewind

ANGLES = (3.5, -10.0, 100.0)
GAIN, INERTIA = 40.0, 0.02


def turntable(rates=(0.0, 0.0), **motor):
    """A wheel about a tilted axis, and another on it that nothing drives; with the speeds of both joints (rad/s)."""
    scene = dal.Scene("turntable", gravity=(0.0, 0.0, 0.0))
    axis, across = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0), np.array([0.0, 1.0, 0.0])
    spin = rates[0] * axis
    wheel = scene.add_body("wheel", dal.Box(0.3, 0.2, 0.1), mass=2.0, position=(0.1, 0.0, 0.0), angular_velocity=spin)
    other = scene.add_body(
        "other", dal.Box(0.1, 0.2, 0.1), mass=0.5, position=(0.1, 0.0, 0.5), velocity=np.cross(spin, (0.0, 0.0, 0.5)),
        angular_velocity=spin + rates[1] * across,
    )  # fmt: skip
    scene.hinge("spindle", dal.WORLD, wheel, (0.1, 0.0, 0.0), axis)
    scene.hinge("loose", wheel, other, (0.1, 0.0, 0.5), across)
    if motor:
        scene.motor("drive", "spindle", **motor)
    return scene


def held(angle):
    return turntable(stiffness=GAIN, position=angle, damping=2.0, speed=0.0)


def started(scene, state, **settings):
    return dal.Simulation(scene, coordinates="joint", **settings).restart(lambda run: run.set_joint_state(state))


@pytest.mark.parametrize("settings", [{}, {"method": "rk4", "dt": 1e-3}])
@pytest.mark.parametrize("angle", ANGLES)
def test_a_motor_that_is_at_its_target_rests(angle, settings):
    run = started(held(angle), {"spindle": (angle, 0.0)}, **settings)
    assert run.efforts["drive"] == pytest.approx(0.0, abs=1e-10)
    run.advance(0.2)
    assert run.joint_state()["spindle"] == pytest.approx((angle, 0.0), abs=1e-10)


@pytest.mark.parametrize("angle", ANGLES)
def test_time_steps_see_the_same_turns(angle):
    scene = held(angle)
    scene.limit("stop", "spindle", lower=angle - 0.5, upper=angle + 0.5)
    run = started(scene, {"spindle": (angle, 0.0)}, dt=1e-3).advance(0.2)
    assert run.joint_state()["spindle"] == pytest.approx((angle, 0.0), abs=1e-10)


@pytest.mark.parametrize("coordinates", ["joint", "maximal"])
@pytest.mark.parametrize("turns", [3, -5])
def test_a_stop_beyond_a_turn_holds_there(turns, coordinates):
    """It starts at the zero pose, spins, and meets the stop at turns · π."""
    stop = turns * np.pi
    scene = turntable(effort=float(np.sign(turns)))
    scene.limit("stop", "spindle", **{"upper" if turns > 0 else "lower": stop})
    run = dal.Simulation(scene, dt=1e-3, coordinates=coordinates).advance(4.0)
    assert run.joint_state()["spindle"][0] == pytest.approx(stop, abs=1e-4)


def test_a_stop_is_met_from_where_the_joint_was_set():
    scene = turntable(effort=1.0)
    scene.limit("stop", "spindle", upper=3.0 * np.pi)
    run = started(scene, {"spindle": (9.0, 0.0)}, dt=1e-3).advance(1.0)
    assert run.joint_state()["spindle"][0] == pytest.approx(3.0 * np.pi, abs=1e-4)


@pytest.mark.parametrize("angle", ANGLES)
def test_springs_pull_from_the_turns_that_were_set(angle):
    scene = turntable()
    scene.torsion_spring("spring", "spindle", stiffness=GAIN, rest=0.25)
    run = started(scene, {"spindle": (angle, 0.0)})
    assert float(run.trajectory["potential"].values[0]) == pytest.approx(0.5 * GAIN * (angle - 0.25) ** 2, rel=1e-12)


@pytest.mark.parametrize("angle", ANGLES)
def test_gears_count_the_turns_that_were_set(angle):
    scene = turntable()
    scene.gear("gear", "spindle", "loose", -2.5)
    run = started(scene, {"spindle": (angle, 1.0), "loose": (-2.5 * angle, -2.5)}).advance(0.1)
    state = run.joint_state()
    assert state["spindle"][0] > angle + 0.05
    assert state["loose"][0] == pytest.approx(-2.5 * state["spindle"][0], abs=1e-8)


@pytest.mark.parametrize("coordinates", ["joint", "maximal"])
@pytest.mark.parametrize("motor", [True, False])
def test_a_saved_run_goes_on_with_its_turns(coordinates, motor, tmp_path):
    """Both wheels, of which at most one has a motor that counts."""
    scene = turntable((12.0, -9.0), **({"stiffness": 1e-9, "position": 0.0} if motor else {}))
    run = dal.Simulation(scene, coordinates=coordinates).advance(1.0)
    before = run.joint_state()
    assert all(abs(angle) > 7.0 for angle, _ in before.values())
    run.trajectory.save(tmp_path / "run.nc")
    again = dal.Simulation(scene, coordinates=coordinates).resume(dal.Trajectory.load(tmp_path / "run.nc"))
    assert [s for s, _ in again.joint_state().values()] == pytest.approx([s for s, _ in before.values()], abs=1e-9)
    run.advance(0.5)
    again.advance(0.5)
    assert [s for s, _ in again.joint_state().values()] == pytest.approx(
        [s for s, _ in run.joint_state().values()], abs=1e-6
    )
    index = int(np.searchsorted(run.trajectory.times, 0.7, side="right")) - 1
    then = run.trajectory["joint_coordinate"].values[index]
    rewind(run, 0.7, lambda run: None)
    assert [s for s, _ in run.joint_state().values()] == pytest.approx(then.tolist(), abs=1e-9)


@pytest.mark.parametrize("coordinates", ["joint", "maximal"])
def test_a_batch_counts_the_turns_of_each_member(coordinates):
    angles = np.array([0.5, *ANGLES, 0.25])
    scene = held(0.0)
    batch = dal.run_batch(
        scene,
        0.05,
        vary={"spindle.position": angles, "drive.position": angles},
        coordinates=coordinates,
        frame_rate=100.0,
    )
    assert np.abs(batch.momentum).max() < 1e-9
