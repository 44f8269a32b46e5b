"""The recorded angular velocity is the rate of the recorded orientation, in all coordinates, and survives in files."""

import numpy as np
import pytest

import dalembert as dal
from dalembert import gallery
from dalembert.simulation.trajectory import Trajectory


def rate_of(q, dt):
    """ω (n − 2, b, 3) rad/s from orientations (n, b, 4): 2 q̇ q*, by central differences."""
    turned = np.where(np.sum(q[1:] * q[:-1], axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
    q = q * np.cumprod(np.concatenate([np.ones_like(turned[:1]), turned]), axis=0)
    rate, (w, v) = (q[2:] - q[:-2]) / (2 * dt), (q[1:-1, :, :1], q[1:-1, :, 1:])
    return 2 * (w * rate[..., 1:] - rate[..., :1] * v - np.cross(rate[..., 1:], v))


def tumbling():
    scene = dal.Scene("tumbling")
    scene.add_body("brick", dal.Box(0.1, 0.2, 0.4), mass=1.0, position=(0, 0, 2), angular_velocity=(0.3, 2.0, 0.1))
    rod = scene.add_body("rod", dal.Box(1, 0.05, 0.05), mass=1.0, position=(0.5, 2, 0))
    scene.hinge("pivot", dal.WORLD, rod, at=(0, 2, 0), axis=(0, 1, 0))
    return scene


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_it_is_the_rate_of_the_orientation(coordinates):
    errors = []
    for frames in (100.0, 200.0):
        found = dal.simulate(tumbling(), 1.0, coordinates=coordinates, rtol=1e-10, frame_rate=frames).trajectory
        rate = rate_of(found.orientation.values, 1 / frames)
        errors.append(np.abs(rate - found.angular_velocity.values[1:-1]).max())
    assert errors[0] < 0.02
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)  # the error of the difference, of order 2


def test_it_is_that_of_the_state_for_bodies_of_all_kinds():
    for name in ("factory", "generalized", "tippe-top"):
        scene = gallery.load(name)
        run = dal.simulate(scene.build(), **{**scene.SETTINGS, "duration": 0.2})
        found = run.trajectory.angular_velocity
        assert found.attrs["units"] == "rad/s" and np.abs(found.values).max() > 1.0
        np.testing.assert_allclose(found.values[-1], np.asarray(run.state.angular_velocity), rtol=1e-13, atol=1e-13)


def test_a_kinematic_body_has_that_of_its_command():
    scene = dal.Scene("turntable", material=dal.Material(0.5))
    scene.add_body("table", dal.Cylinder(0.5, 0.1), motion="set", position=(0, 0, 0.05), angular_velocity=(0, 0, 1.5))
    scene.add_body("box", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(0.2, 0, 0.15))
    found = dal.simulate(scene, 0.1, dt=1 / 200).trajectory
    np.testing.assert_array_equal(found.body("table").angular_velocity.values[:, 2], 1.5)


def test_files_keep_it_and_files_without_it_are_read(tmp_path):
    found = dal.simulate(tumbling(), 0.1).trajectory
    loaded = Trajectory.load(found.save(tmp_path / "run.nc"))
    np.testing.assert_array_equal(loaded.angular_velocity.values, found.angular_velocity.values)
    before = Trajectory(found.dataset.drop_vars("angular_velocity"))
    loaded = Trajectory.load(before.save(tmp_path / "before.nc"))
    with pytest.raises(AttributeError, match="'angular_velocity' was not recorded"):
        _ = loaded.angular_velocity
    assert dal.Simulation(tumbling()).resume(loaded).advance(0.1).time == pytest.approx(0.2)
