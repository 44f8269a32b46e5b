"""Sensors in MJCF files that are written: MuJoCo reads the same values there, and they come back."""

from pathlib import Path

import numpy as np
import pytest

import dalembert as dal
from dalembert import sensors
from dalembert.export.mjcf import export_mjcf

mujoco = pytest.importorskip("mujoco")
ARM = Path(__file__).with_name("arm.xml")
SPEEDS = {"yaw": 0.5, "sh": -1.0, "el": 0.2}
SPIN, VELOCITY = (2.0, -3.0, 1.5), (0.1, 0.2, 0.3)


def sensed(file):
    """Name → MuJoCo's values at the start, with the motors at rest."""
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    for name, speed in SPEEDS.items():
        data.qvel[model.joint(name).dofadr[0]] = speed
    free = next(i for i in range(model.njnt) if model.jnt_type[i] == mujoco.mjtJoint.mjJNT_FREE)
    data.qvel[model.jnt_dofadr[free] :][:6] = [*VELOCITY, *SPIN]
    mujoco.mj_forward(model, data)
    starts, sizes = model.sensor_adr, model.sensor_dim
    return {model.sensor(i).name: data.sensordata[starts[i] :][: sizes[i]].copy() for i in range(model.nsensor)}


def test_mujoco_reads_the_same_values_in_the_written_file(tmp_path):
    first = dal.load_model(ARM)
    warnings = export_mjcf(first.scene, tmp_path / "arm.xml")
    original, written = sensed(ARM), sensed(tmp_path / "arm.xml")
    assert set(written) == set(original) - {"cl", "mg"}  # which are not read
    for name, values in written.items():
        offset = 0.1 if name == "jp" else 0.0  # the joint's ref, which is a bias here
        if name == "fq" and values @ original[name] < 0.0:
            values = -values
        assert np.abs(values + offset - original[name]).max() < 1e-9 * max(1.0, np.abs(original[name]).max()), name
    said = {one.item: one.message for one in warnings if "sensor" in one.item}
    assert said == {"sensor 'jp'": "MJCF has no bias of a sensor; it is left out"}


def test_sensors_come_back(tmp_path):
    first = dal.load_model(ARM)
    export_mjcf(first.scene, tmp_path / "arm.xml")
    back = dal.load_model(tmp_path / "arm.xml")
    assert {name: type(one) for name, one in back.scene.sensors.items()} == {
        name: type(one) for name, one in first.scene.sensors.items()
    }
    runs = [dal.simulate(each.scene, 0.05, rtol=1e-10, coordinates="joint") for each in (first, back)]
    for name, reading in runs[0].sensors.items():
        other = runs[1].sensors[name].value + (0.1 if name == "jp" else 0.0)
        if np.isfinite(reading.value).all():
            assert np.abs(reading.value - other).max() < 1e-6, name


def leg():
    scene = dal.Scene("leg", material=dal.Material(friction=0.8))
    scene.add_obstacle("ground", dal.HalfSpace())
    trunk = scene.add_body("trunk", dal.Box(0.4, 0.2, 0.1), mass=5.0, position=(0, 0, 0.75))
    foot = scene.add_body("foot", dal.Box(0.4, 0.3, 0.1), mass=1.0, position=(0, 0, 0.05))
    leg = scene.slider("leg", trunk, foot, at=(0, 0, 0.4), axis=(0, 0, 1))
    scene.motor("lift", leg, stiffness=2000.0, damping=200.0)
    return scene, trunk, foot, leg


def test_an_inertial_unit_a_wrench_and_rays_become_their_parts(tmp_path):
    scene, trunk, foot, slider = leg()
    scene.add_sensor(sensors.Imu("imu", trunk, position=(0.1, 0, 0), noise=0.02))
    scene.add_sensor(sensors.ForceTorque("wrench", slider))
    scene.add_sensor(sensors.Touch("sole", foot))
    scene.add_sensor(sensors.Range("rays", trunk, directions=((0, 0, 1), (1, 0, 0)), reach=9.0))
    scene.add_sensor(sensors.Effort("effort", "lift"))
    warnings = export_mjcf(scene, tmp_path / "leg.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "leg.xml"))
    names = [model.sensor(i).name for i in range(model.nsensor)]
    assert names == ["imu.force", "imu.rate", "wrench.force", "wrench.torque", "sole", "rays.0", "rays.1", "effort"]
    assert model.sensor("imu.rate").noise[0] == 0.02
    assert [one.message for one in warnings if "rays" in one.item] == [
        "a rangefinder of MJCF has no reach; it is left out"
    ]
    back = dal.load_model(tmp_path / "leg.xml").scene.sensors
    assert [type(one).__name__ for one in back.values()] == [
        "Accelerometer", "Gyroscope", "ForceTorque", "ForceTorque", "Touch", "Range", "Range", "Effort",
    ]  # fmt: skip
    data = mujoco.MjData(model)
    for _ in range(2000):
        mujoco.mj_step(model, data)
    assert data.sensor("sole").data[0] == pytest.approx(6.0 * 9.81, rel=1e-3)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda trunk, foot, leg: sensors.Camera("x", trunk), "no camera sensor"),
        (lambda trunk, foot, leg: sensors.ContactForce("x", foot), "no contact force sensor"),
        (lambda trunk, foot, leg: sensors.JointState("x", leg, "effort"), "sum of all efforts"),
        (lambda trunk, foot, leg: sensors.FrameState("x", foot, "acceleration"), "contains gravity"),
        (lambda trunk, foot, leg: sensors.CenterOfMass("x", [trunk]), "these are other bodies"),
        (lambda trunk, foot, leg: sensors.ForceTorque("x", leg, body=trunk), "does not carry the body"),
    ],
)
def test_what_mjcf_does_not_have_is_named(tmp_path, make, reason):
    scene, *parts = leg()
    scene.add_sensor(make(*parts))
    (warning,) = [one for one in export_mjcf(scene, tmp_path / "leg.xml") if "sensor" in one.item]
    assert warning.item == "sensor 'x'"
    assert reason in warning.message
