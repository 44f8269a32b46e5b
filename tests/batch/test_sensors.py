"""Sensors of a batch have the values that the members have by themselves."""

import numpy as np
import pytest

import dalembert as dal
from dalembert import sensors


def arm(length=0.5, noise=0.1, sensed=True, mass=1.0):
    scene = dal.Scene("arm")
    upper = scene.add_body("upper", dal.Box(2 * length, 0.1, 0.1), mass=2.0, position=(length, 0, 0))
    lower = scene.add_body("lower", dal.Box(0.6, 0.08, 0.08), mass=mass, position=(2 * length + 0.3, 0, 0))
    pivot = scene.hinge("pivot", dal.WORLD, upper, at=(0, 0, 0), axis=(0, 1, 0))
    scene.hinge("elbow", upper, lower, at=(2 * length, 0, 0), axis=(0, 1, 0.2))
    scene.motor("drive", pivot, stiffness=20.0, damping=1.0)
    if sensed:
        scene.add_sensor(
            sensors.Imu("imu", lower, position=(0.2, 0, length), rate=50, noise=noise, bias_deviation=noise)
        )
        scene.add_sensor(sensors.JointState("angle", pivot, rate=30))
        scene.add_sensor(sensors.JointState("effort", pivot, "effort", rate=30))
        scene.add_sensor(sensors.ForceTorque("wrench", "elbow", rate=20))
        scene.add_sensor(sensors.CenterOfMass("center", rate=20))
    return scene


SETTINGS = [
    {"coordinates": "joint", "rtol": 1e-8}, {"rtol": 1e-8}, {"method": "rk4", "dt": 3e-3}, {"method": "rk4", "dt": 0.03},
]  # fmt: skip
VARY = {"lower.mass": [0.5, 1.0, 3.0], "drive.stiffness": [5.0, 20.0, 40.0]}


def same(batch, member, run):
    for name, reading in run.sensors.items():
        own = batch.sensors[name]
        assert np.array_equal(own.times, reading.times), name
        assert np.array_equal(own.values[member], reading.values), name


@pytest.mark.parametrize("settings", SETTINGS, ids=["joint", "maximal", "steps", "long steps"])
def test_values_are_those_of_the_members_by_themselves(settings):
    batch = dal.run_batch(arm(), 0.5, vary=VARY, frame_rate=20.0, threads=2, **settings)
    for member in range(3):
        run = batch.alone(member)
        run.advance(0.5)
        assert np.array_equal(run.state.y, batch.state[member, -1])
        same(batch, member, run)


@pytest.mark.parametrize("coordinates", ["joint", "maximal"])
def test_a_mass_that_varies_is_felt(coordinates):
    batch = dal.run_batch(arm(), 0.3, vary={"lower.mass": [0.5, 1.0]}, coordinates=coordinates, rtol=1e-8)
    run = dal.simulate(arm(mass=0.5), 0.3, coordinates=coordinates, rtol=1e-8)
    for name, reading in run.sensors.items():
        assert np.abs(batch.sensors[name].values[0] - reading.values).max() < 1e-5, name


def test_members_given_as_scenes_have_sensors_of_their_own():
    lengths = (0.4, 0.5, 0.7)
    batch = dal.run_batch([arm(length, noise=length) for length in lengths], 0.3, coordinates="joint")
    for member, length in enumerate(lengths):
        same(batch, member, dal.simulate(arm(length, noise=length), 0.3, coordinates="joint"))


def test_seeds_can_vary():
    batch = dal.run_batch(arm(), 0.2, vary={"imu.seed": [0, 7, 0]}, coordinates="joint")
    values = batch.sensors["imu"].values
    assert np.array_equal(values[0], values[2])
    assert not np.array_equal(values[0], values[1])
    run = batch.alone(1)
    run.advance(0.2)
    same(batch, 1, run)
    with pytest.raises(ValueError, match="whole numbers"):
        dal.run_batch(arm(), 0.2, vary={"imu.seed": [0.5]})


def test_the_dataset_has_them_by_member():
    batch = dal.run_batch(arm(), 0.2, vary=VARY, coordinates="joint")
    array = batch.dataset["sensor_0"]
    assert array.dims == ("member", "sensor_0_time", "sensor_0_component")
    assert array.attrs["sensor"] == "imu"
    assert np.array_equal(array.values, batch.sensors["imu"].values)
    assert batch.sensors["imu"].shape == (3, 11, 6)
    with pytest.raises(KeyError, match="imu, angle"):
        batch.sensors["gyro"]


def test_members_with_other_sensors_are_rejected():
    with pytest.raises(ValueError, match="sensor 'imu'"):
        dal.run_batch([arm(), arm(sensed=False)], 0.1)


def test_a_member_that_fails_keeps_its_samples():
    scene = dal.Scene("spring", gravity=(0, 0, 0))
    body = scene.add_body("a", dal.Sphere(0.1), mass=1.0, position=(1, 0, 0), velocity=(0.1, 0, 0))
    scene.spring("spring", dal.WORLD, body, at_a=(0, 0, 0), at_b=(1, 0, 0), stiffness=1.0)
    scene.add_sensor(sensors.Velocimeter("speed", body, rate=100))
    batch = dal.run_batch(scene, 3.0, vary={"spring.stiffness": [1.0, 1e9]}, method="rk4", dt=1e-2)
    assert batch.ok.tolist() == [True, False]
    values = batch.sensors["speed"].values
    assert np.isfinite(values[0]).all()
    assert np.isfinite(values[1, :5]).all()
    assert np.isnan(values[1, -1]).all()
