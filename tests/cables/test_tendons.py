"""Tendons of MJCF: lengths, forces and motions are those of MuJoCo; what has no counterpart is named; cables come back."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.export.mjcf import export_mjcf
from dalembert.scene.cable import elements_at, trace

mujoco = pytest.importorskip("mujoco")

MODEL = """<mujoco model="tendons">
  <compiler angle="radian"/>
  <option timestep="0.0005" integrator="RK4"><flag contact="disable"/></option>
  <worldbody>
    <geom name="post" type="cylinder" pos="0 0 1" euler="1.5707963267948966 0 0" size="0.2 0.05" contype="0" conaffinity="0"/>
    <site name="top" pos="0 0 1.5"/>
    <site name="anchor" pos="-0.6 0.1 0.3"/>
    <body name="ball" pos="0.3 0 -0.05">
      <freejoint/>
      <geom size="0.05" mass="1"/>
      <site name="on ball" pos="0 0 0.05"/>
    </body>
    <body name="arm" pos="1.5 0 1">
      <joint name="shoulder" axis="0 1 0" damping="3"/>
      <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.03" mass="1"/>
      <geom name="knee" type="sphere" pos="0.5 0 0" size="0.08" contype="0" conaffinity="0"/>
      <site name="over knee" pos="0.5 0 0.2"/>
      <site name="on arm" pos="0.1 0 0.06"/>
      <body name="shin" pos="0.5 0 0">
        <joint name="elbow" axis="0 1 0" damping="0.4"/>
        <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.03" mass="0.7"/>
        <site name="on shin" pos="0.3 0 0.05"/>
      </body>
    </body>
  </worldbody>
  <tendon>{tendons}</tendon>
  {more}
</mujoco>"""
OVER = '<site site="anchor"/><geom geom="post" sidesite="top"/><site site="on ball"/>'
KNEE = '<site site="on arm"/><geom geom="knee" sidesite="over knee"/><site site="on shin"/>'
TENDONS = f"""
    <spatial name="over" stiffness="400" springlength="0 1.9">{OVER}</spatial>
    <spatial name="muscle" stiffness="300" springlength="0 0.69">{KNEE}</spatial>
    <spatial name="straight" stiffness="50" damping="0.5"><site site="top"/><site site="on arm"/></spatial>
    <fixed name="one" stiffness="3" damping="0.1" springlength="0.5"><joint joint="shoulder" coef="1.5"/></fixed>"""


def both(tmp_path, tendons, more=""):
    """The model as read here, and MuJoCo's."""
    file = tmp_path / "model.xml"
    file.write_text(MODEL.format(tendons=tendons, more=more))
    return dal.load_model(file), mujoco.MjModel.from_xml_path(str(file))


def said(model):
    """The warnings about tendons."""
    return [one.message for one in model.warnings if "tendon" in one.message]


def test_each_tendon_becomes_the_element_that_is_like_it(tmp_path):
    model, _ = both(tmp_path, TENDONS)
    kinds = {name: type(force).__name__ for name, force in model.scene.forces.items()}
    assert kinds == {
        "over": "ElasticCable", "muscle": "ElasticCable", "straight": "Spring", "one": "TorsionSpring",
        "shoulder/spring": "TorsionSpring", "elbow/spring": "TorsionSpring",
    }  # fmt: skip
    assert not said(model)


@pytest.mark.parametrize("name", ["over", "muscle"])
def test_lengths_are_mujocos_while_it_keeps_the_side(tmp_path, name):
    model, theirs = both(tmp_path, TENDONS)
    data, path = mujoco.MjData(theirs), model.scene.forces[name].cable
    rng, touched = np.random.default_rng(3), 0
    for _ in range(60):
        data.qpos[:] = theirs.qpos0
        data.qpos[:3] += rng.uniform((-0.1, -0.3, -0.4), (0.4, 0.3, 0.3))
        data.qpos[-2:] += rng.uniform((-1.0, -1.5), (1.0, 1.2))
        mujoco.mj_forward(theirs, data)

        def pose(frame, data=data):
            i = theirs.body(frame.name).id
            return data.xipos[i], data.xmat[i].reshape(3, 3)

        found = trace(elements_at(path, pose))
        touched += bool(found.on[1])
        assert abs(found.length - data.ten_length[theirs.tendon(name).id]) < 1e-12
    assert touched > 10


def test_accelerations_are_mujocos(tmp_path):
    model, theirs = both(tmp_path, TENDONS)
    data = mujoco.MjData(theirs)
    data.qpos[2] -= 0.15
    data.qpos[-2:] += (0.1, 0.8)
    data.qvel[:] = 0.1 * np.arange(1, 9)
    sim = dal.Simulation(model.scene, method="dormand_prince", rtol=1e-9, coordinates="joint")
    sim.set_joint_state({"shoulder": (0.1, data.qvel[6]), "elbow": (0.8, data.qvel[7])})
    sim["ball"].position = data.qpos[:3]
    sim["ball"].velocity, sim["ball"].angular_velocity = data.qvel[:3], data.qvel[3:6]
    mujoco.mj_forward(theirs, data)
    before, h = [sim["ball"].velocity.copy(), sim.joint_state()], 1e-5
    sim.advance(h)
    joints = [(sim.joint_state()[name][1] - before[1][name][1]) / h for name in ("shoulder", "elbow")]
    assert np.abs((sim["ball"].velocity - before[0]) / h - data.qacc[:3]).max() < 1e-3 * np.abs(data.qacc[:3]).max()
    assert np.abs(joints - data.qacc[-2:]).max() < 1e-3 * np.abs(data.qacc[-2:]).max()


def test_the_motion_is_mujocos(tmp_path):
    model, theirs = both(tmp_path, TENDONS)
    data = mujoco.MjData(theirs)
    sim = dal.Simulation(model.scene, method="dormand_prince", rtol=1e-9, coordinates="joint")
    for _ in range(4):
        sim.advance(0.1)
        while data.time < sim.time - 1e-9:
            mujoco.mj_step(theirs, data)
        mujoco.mj_kinematics(theirs, data)
        for name in ("ball", "shin"):
            assert np.abs(sim[name].position - data.xipos[theirs.body(name).id]).max() < 5e-6


def test_a_range_is_a_cable_that_goes_slack(tmp_path):
    model, _ = both(tmp_path, f'<spatial name="leash" limited="true" range="0 2.5">{OVER}</spatial>')
    leash = model.scene.forces["leash"]
    assert (type(leash).__name__, leash.rest) == ("SlackCable", 2.5)
    assert not said(model)


def test_an_equality_keeps_a_length(tmp_path):
    tendons = f"""<spatial name="over">{OVER}</spatial><spatial name="rod"><site site="top"/><site site="on ball"/></spatial>
        <fixed name="gear"><joint joint="shoulder" coef="2"/><joint joint="elbow" coef="-1"/></fixed>"""
    more = """<equality><tendon name="taut" tendon1="over" polycoef="0 0 0 0 0"/>
        <tendon name="bar" tendon1="rod" polycoef="0.02 0 0 0 0"/>
        <tendon name="mesh" tendon1="gear" polycoef="0 0 0 0 0"/></equality>"""
    model, _ = both(tmp_path, tendons, more)
    kinds = {name: model.scene.joints[name].kind for name in ("taut", "bar", "mesh")}
    assert kinds == {"taut": "cable", "bar": "rod", "mesh": "gear"}
    assert abs(model.scene.joints["bar"].parts[0].value - np.hypot(0.3, 1.5) - 0.02) < 1e-12
    gear = model.scene.joints["mesh"].coupling
    first, second = (joint.name for joint in gear.joints)
    rates = {first: 1.0, second: gear.ratio}  # the second follows the first
    assert abs(2.0 * rates["shoulder"] - rates["elbow"]) < 1e-12


@pytest.mark.parametrize(
    ("tendon", "reason"),
    [
        (
            '<spatial name="x" stiffness="1"><site site="anchor"/><site site="top"/><pulley divisor="2"/>'
            '<site site="top"/><site site="on ball"/></spatial>',
            "pulley with a divisor",
        ),
        (
            '<spatial name="x" stiffness="1" springlength="0 1"><site site="anchor"/><geom geom="knee"/>'
            '<site site="on ball"/></spatial>',
            "give it a sidesite",
        ),
        (
            '<fixed name="x" stiffness="1"><joint joint="shoulder" coef="1"/><joint joint="elbow" coef="1"/></fixed>',
            "couples several joints",
        ),
        (f'<spatial name="x" damping="1">{OVER}</spatial>', "damping without stiffness"),
        (f'<spatial name="x" limited="true" range="0 1">{OVER}</spatial>', "less than that of its path at the start"),
    ],
)
def test_what_no_element_is_like_is_refused_by_name(tmp_path, tendon, reason):
    model, _ = both(tmp_path, tendon)
    (message,) = said(model)
    assert message.startswith("tendon 'x' is left out: ")
    assert reason in message
    assert not [name for name in model.scene.forces if name.startswith("x")]


def test_a_length_at_another_pose_is_asked_for(tmp_path):
    file = tmp_path / "model.xml"
    line = '<spatial name="x" stiffness="1"><site site="top"/><site site="on arm"/></spatial>'
    file.write_text(MODEL.format(tendons=line, more="").replace('name="shoulder"', 'name="shoulder" ref="0.2"'))
    (message,) = said(dal.load_model(file))
    assert "springref" in message


def test_what_differs_is_said(tmp_path):
    model, _ = both(tmp_path, f'<spatial name="x" stiffness="9" damping="1" springlength="1.9">{OVER}</spatial>')
    messages = "; ".join(said(model))
    assert "does not push below it" in messages
    assert "while it is taut only" in messages


# Out ------------------------------------------------------------------------------------------------------------------


def crane(kind):
    """A load on a hook block, over a pulley of a jib that turns, with a cable of a kind."""
    scene = dal.Scene("crane")
    jib = scene.add_body("jib", dal.Box(1.0, 0.05, 0.05), mass=2.0, position=(0.5, 0, 1))
    load = scene.add_body("load", dal.Sphere(0.1), mass=1.0, position=(1.085, 0, 0.2))
    scene.hinge("post", dal.WORLD, jib, at=(0, 0, 1), axis=(0, 0, 1))
    over = dal.Pulley(jib, at=(0.9, 0, 1), axis=(0, 1, 0), radius=0.08, side=(0, 0, 1))
    block = dal.Pulley(load, at=(1.085, 0, 0.35), axis=(0, 1, 0), radius=0.06, side=(0, 0, -1), swivels=True)
    path = [(jib, (0.1, 0, 0.95)), over, (jib, (0.97, 0, 0.9)), block, (dal.WORLD, (1.2, 0, 1.2))]
    scene.cable("rope", path, **kind)
    return scene


@pytest.mark.parametrize("kind", [{"stretch": 5e3}, {}], ids=["stretch", "taut"])
def test_cables_become_tendons_and_come_back(tmp_path, kind):
    scene = crane(kind)
    file = tmp_path / "crane.xml"
    assert not [one for one in export_mjcf(scene, file) if "rope" in one.item]
    back = dal.load_model(file)
    assert not said(back)
    found = {**back.scene.joints, **back.scene.forces}["rope"].cable
    own = {**scene.joints, **scene.forces}["rope"].cable
    assert [element.kind for element in found.elements] == [element.kind for element in own.elements]
    assert abs(found.length - own.length) < 1e-12
    theirs = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    assert abs(data.ten_length[0] - own.length) < 1e-12
    settings = {"method": "dormand_prince", "rtol": 1e-9}
    one, other = (dal.simulate(each, 0.3, **settings).state.position for each in (scene, back.scene))
    assert np.abs(one - other).max() < 1e-8


def test_a_slack_cable_becomes_a_range(tmp_path):
    scene = dal.Scene("leash")
    ball = scene.add_body("ball", dal.Sphere(0.05), mass=2.0, position=(0.1, 0, 1.8))
    over = dal.Pulley(dal.WORLD, at=(0, 0, 2), axis=(0, 1, 0), radius=0.1, side=(0, 0, 1))
    scene.cable("rope", [(dal.WORLD, (-0.1, 0, 1)), over, (ball, (0.1, 0, 1.8))], length=2.5, slack=True)
    export_mjcf(scene, tmp_path / "leash.xml")
    back = dal.load_model(tmp_path / "leash.xml")
    assert back.scene.forces["rope"].rest == 2.5
    ends = [dal.simulate(each, 1.0, dt=1e-3).state.position[0] for each in (scene, back.scene)]
    assert np.abs(ends[0] - ends[1]).max() < 1e-9


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"turns": 1}, "more than once"), ({"friction": 0.2}, "no friction"), ({"slips": False}, "no drums"),
    ],
)  # fmt: skip
def test_cables_that_no_tendon_is_like_are_named(tmp_path, change, reason):
    scene = dal.Scene("post")
    wheel = scene.add_body(
        "wheel", dal.Cylinder(0.2, 0.1), mass=1.0, position=(0, 0, 1), orientation=(0.5**0.5, 0.5**0.5, 0, 0)
    )
    scene.hinge("axle", dal.WORLD, wheel, at=(0, 0, 1), axis=(0, 1, 0))
    ball = scene.add_body("ball", dal.Sphere(0.05), mass=1.0, position=(0.2, 0, 0))
    over = dal.Pulley(wheel, (0, 0, 1), (0, 1, 0), 0.2, (0, 0, 1), **change)
    scene.cable("rope", [(dal.WORLD, (-0.2, 0, 0)), over, (ball, (0.2, 0, 0))], stretch=1e4)
    warnings = export_mjcf(scene, tmp_path / "post.xml")
    assert any("rope" in one.item and reason in one.message for one in warnings)
