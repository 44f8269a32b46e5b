"""The sensors of a model file against MuJoCo's `sensordata`, on an arm and a free body in smooth motion."""

from pathlib import Path

import numpy as np
import pytest

import dalembert as dal

mujoco = pytest.importorskip("mujoco")
FILE = Path(__file__).with_name("arm.xml")
SPEEDS = {"yaw": 0.5, "sh": -1.0, "el": 0.2}
SPIN, VELOCITY = (2.0, -3.0, 1.5), (0.1, 0.2, 0.3)


@pytest.fixture(scope="module")
def reference():
    """Name → MuJoCo's values after 0.2 s, by steps of the fourth order."""
    model = mujoco.MjModel.from_xml_path(str(FILE))
    data = mujoco.MjData(model)
    data.ctrl[:] = [2.0, 0.3]
    data.qvel[:] = [*SPEEDS.values(), *VELOCITY, *SPIN]
    for _ in range(400):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    starts, sizes = model.sensor_adr, model.sensor_dim
    return {model.sensor(i).name: data.sensordata[starts[i] :][: sizes[i]].copy() for i in range(model.nsensor)}


def simulated(coordinates):
    """Name → our values at the same time."""
    file = dal.load_model(FILE)
    start = dal.Simulation(file.scene, coordinates="joint")
    start.set_joint_state({name: (0.0, speed) for name, speed in SPEEDS.items()})
    run = dal.Simulation(file.scene, rtol=1e-9, coordinates=coordinates)
    run.state.momentum, run.state.angular_momentum = start.state.momentum, start.state.angular_momentum
    ball = run.state.index("ball")
    run.state.velocity[ball], run.state.angular_velocity[ball] = VELOCITY, SPIN
    run.set_motor("m1", effort=2.0)
    run.set_motor("m2", position=0.3)
    return file, run.advance(0.2)


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_values_are_those_of_mujoco(reference, coordinates):
    file, run = simulated(coordinates)
    assert {sensor.rate for sensor in file.scene.sensors.values()} == {2000.0}  # of the file's time step
    assert len(run.sensors) == 29
    for name, reading in run.sensors.items():
        expected = reference[name]
        if name == "fq" and reading.value @ expected < 0.0:
            expected = -expected
        if name == "rf":
            assert np.isinf(reading.value[0])
            assert expected[0] == -1.0
        else:
            assert np.abs(reading.value - expected).max() < 3e-8 * max(1.0, np.abs(expected).max()), name


def test_what_is_not_read_is_warned_of_by_name():
    told = [str(warning) for warning in dal.load_model(FILE).warnings]
    assert any("clock sensor is not supported" in line for line in told)
    assert any("magnetometer sensor is not supported" in line for line in told)


SITE = '<site name="s" size=".02"/>'


def model(sensor, more="", actuator=""):
    return f"""<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/>
        <body name="b" pos="0 0 .1"><joint name="x" type="slide" axis="0 0 1"/>
        <geom name="g" type="box" size=".1 .1 .1" mass="2"/>{SITE}{more}</body></worldbody>
        <actuator>{actuator}</actuator><sensor>{sensor}</sensor></mujoco>"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (model('<framepos objtype="site" objname="s" reftype="body" refname="b"/>'), "relative to another"),
        (model('<framequat objtype="body" objname="b"/>'), "objtype xbody"),
        (
            model('<jointpos joint="k"/>', '<body name="c"><joint name="k" type="ball"/><geom size=".1"/></body>'),
            "not a movable hinge or slider",
        ),
        (model('<actuatorfrc actuator="m"/>', actuator='<motor name="m" joint="x" gear="3"/>'), "gear"),
        (model('<gyro site="s" cutoff="2"/>'), "cutoff"),
        (model('<gyro site="s" noise="0.1"/>'), ""),
    ],
)
def test_doubtful_sensors_are_warned_of(text, told, tmp_path):
    (tmp_path / "m.xml").write_text(text)
    file = dal.load_model(tmp_path / "m.xml")
    warnings = " ".join(str(warning) for warning in file.warnings)
    assert told in warnings
    assert (len(file.scene.sensors) == 1) == (told in ("", "cutoff"))


@pytest.mark.parametrize(
    "text", [model('<gyro site="t"/>'), model('<jointpos joint="y"/>'), model('<subtreecom body="q"/>')]
)
def test_unknown_names_are_rejected_with_the_line(text, tmp_path):
    (tmp_path / "m.xml").write_text(text)
    with pytest.raises(ValueError, match=r"m\.xml:\d+: <\w+>: there is no"):
        dal.load_model(tmp_path / "m.xml")


def test_touch_of_a_file_reads_the_weight_within_its_site(tmp_path):
    site = '<site name="t" type="box" size=".11 .11 .02" pos="0 0 -.1"/>'
    (tmp_path / "m.xml").write_text(model('<touch name="all" site="t"/><touch name="none" site="s"/>', site))
    run = dal.simulate(dal.load_model(tmp_path / "m.xml").scene, 0.2, dt=1 / 200)
    assert abs(run.sensors["all"].value[0] - 2 * 9.81) < 1e-3
    assert run.sensors["none"].value[0] == 0.0
