"""MJCF files: masses, inertias, frames, joints and actuators are those of MuJoCo, as it compiles the same file."""

from pathlib import Path

import numpy as np
import pytest

import dalembert as dal
from dalembert.scene.body import Body
from dalembert.scene.checks import rotation_matrix

from .places import package_files

mujoco = pytest.importorskip("mujoco")

FEATURES = Path(__file__).parent / "features.xml"
GYMNASIUM = package_files("gymnasium", "envs/mujoco/assets/*.xml")
BULLET = package_files("pybullet_data", "mjcf/*.xml")
CLOSE = 1e-9


@pytest.fixture(autouse=True)
def logs_go_elsewhere(tmp_path, monkeypatch):
    """MuJoCo writes its warnings into the folder that it runs in."""
    monkeypatch.chdir(tmp_path)


def compiled(path):
    """MuJoCo's model and its kinematics at the initial pose; None for a file that MuJoCo refuses."""
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        return None
    data = mujoco.MjData(model)
    data.qpos[:] = model.qpos0
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    return model, data


def pose(frame):
    """World position and rotation of a `FileFrame`."""
    if frame.body is dal.WORLD:
        return frame.position, rotation_matrix(frame.orientation)
    turn = frame.body.rotation
    return frame.body.position + turn @ frame.position, turn @ rotation_matrix(frame.orientation)


def require_same_bodies(ours, model, data):
    for i in range(1, model.nbody):
        frame = ours.frames[model.body(i).name or f"body {i}"]
        position, rotation = pose(frame)
        np.testing.assert_allclose(position, data.xpos[i], atol=CLOSE)
        np.testing.assert_allclose(rotation, data.xmat[i].reshape(3, 3), atol=CLOSE)
        body = frame.body
        if isinstance(body, Body):
            axes = data.ximat[i].reshape(3, 3)
            expected = axes @ np.diag(model.body_inertia[i]) @ axes.T
            assert body.mass == pytest.approx(model.body_mass[i], rel=CLOSE)
            np.testing.assert_allclose(body.position, data.xipos[i], atol=CLOSE)
            np.testing.assert_allclose(
                body.rotation @ body.inertia @ body.rotation.T, expected, atol=CLOSE * np.abs(expected).max()
            )
        elif body is not dal.WORLD:
            assert model.body_mass[i] == 0.0


def require_same_joints(ours, model, data):
    names = [name for name in ours.joints if ours.scene.joints[name].kind != "weld"]
    numbers = [j for j in range(model.njnt) if model.jnt_type[j] != mujoco.mjtJoint.mjJNT_FREE]
    assert len(names) == len(numbers)
    for name, j in zip(names, numbers, strict=True):
        joint, forces = ours.scene.joints[name], ours.scene.forces
        kind = {"ball": "mjJNT_BALL", "slider": "mjJNT_SLIDE", "hinge": "mjJNT_HINGE"}[joint.kind]
        assert model.jnt_type[j] == getattr(mujoco.mjtJoint, kind)
        np.testing.assert_allclose(joint.at, data.xanchor[j], atol=CLOSE)
        if joint.kind == "ball":
            continue
        np.testing.assert_allclose(joint.axis, data.xaxis[j], atol=CLOSE)
        zero, dof = model.qpos0[model.jnt_qposadr[j]], model.jnt_dofadr[j]
        driven = [i for i in range(model.nu) if model.actuator_trntype[i] == 0 and model.actuator_trnid[i, 0] == j]
        rotors = sum(model.actuator_armature[i] * model.actuator_gear[i, 0] ** 2 for i in driven)
        assert joint.armature == pytest.approx(model.dof_armature[dof] + rotors, rel=CLOSE)
        stops, spring, friction = (forces.get(f"{name}/{what}") for what in ("limit", "spring", "friction"))
        assert (stops is not None) == bool(model.jnt_limited[j])
        if stops is not None:
            np.testing.assert_allclose(np.array(stops.stops) + zero, model.jnt_range[j], atol=CLOSE)
        assert (spring.damping if spring else 0.0) == pytest.approx(model.dof_damping[dof], rel=CLOSE)
        assert (spring.stiffness if spring else 0.0) == pytest.approx(model.jnt_stiffness[j], rel=CLOSE)
        assert (friction.limit if friction else 0.0) == pytest.approx(model.dof_frictionloss[dof], rel=CLOSE)
        if spring is not None and spring.stiffness > 0.0:
            assert spring.rest + zero == pytest.approx(model.qpos_spring[model.jnt_qposadr[j]], abs=CLOSE)


def require_same_actuators(ours, model, data, controls=1.0):
    """The effort on every joint at random positions, speeds and controls."""
    random = np.random.default_rng(1)
    coordinates = {name: 0 for name in ours.joints}
    known = [i for i in range(model.nu) if (model.actuator(i).name or f"actuator {i}") in ours.actuators]
    data.qpos[:], data.qvel[:] = model.qpos0, 0.0
    shift, speed = {}, {}
    for name, actuator in ours.actuators.items():
        j = model.actuator_trnid[[model.actuator(i).name or f"actuator {i}" for i in range(model.nu)].index(name), 0]
        s, rate = shift.setdefault(j, 0.3 * random.normal()), speed.setdefault(j, random.normal())
        data.qpos[model.jnt_qposadr[j]] = model.qpos0[model.jnt_qposadr[j]] + s
        data.qvel[model.jnt_dofadr[j]] = rate
        coordinates[actuator.joint.name] = j
    data.ctrl[:] = 0.0
    expected = np.zeros(model.nv)
    for i in known:
        data.ctrl[i] = controls * random.normal()
        actuator = ours.actuators[model.actuator(i).name or f"actuator {i}"]
        j, motor = coordinates[actuator.joint.name], actuator.motor
        control = np.clip(data.ctrl[i], *actuator.control_range)
        given = {"effort": motor.rest, "position": motor.position, "speed": motor.target}
        given[actuator.sets] = actuator.scale * control + actuator.offset
        effort = given["effort"] + motor.stiffness * (given["position"] - shift[j])
        effort += motor.damping * (given["speed"] - speed[j])
        damper = ours.scene.forces.get(f"{motor.name}/damping")
        expected[model.jnt_dofadr[j]] += np.clip(effort, -motor.limit, motor.limit)
        expected[model.jnt_dofadr[j]] -= damper.damping * speed[j] if damper else 0.0
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.qfrc_actuator, expected, rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("path", [FEATURES, *GYMNASIUM, *BULLET], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_means_what_it_means_to_mujoco(path):
    reference = compiled(path)
    if reference is None:
        pytest.skip("MuJoCo refuses this file")
    ours = dal.load_model(path)
    require_same_bodies(ours, *reference)
    require_same_joints(ours, *reference)
    require_same_actuators(ours, *reference)
    np.testing.assert_allclose(ours.scene.gravity, reference[0].opt.gravity)
    assert (ours.timestep or 0.002) == reference[0].opt.timestep


def test_twenty_models_of_others_are_compared():
    if not (GYMNASIUM and BULLET):
        pytest.skip("gymnasium or pybullet_data is not installed")
    assert sum(compiled(path) is not None for path in [*GYMNASIUM, *BULLET]) >= 20


def test_sites_are_where_mujoco_has_them():
    ours, (model, data) = dal.load_model(FEATURES), compiled(FEATURES)
    assert set(ours.sites) == {model.site(i).name for i in range(model.nsite)} == {"tool", "palm"}
    for name, frame in ours.sites.items():
        position, rotation = pose(frame)
        np.testing.assert_allclose(position, data.site(name).xpos, atol=CLOSE)
        np.testing.assert_allclose(rotation, data.site(name).xmat.reshape(3, 3), atol=CLOSE)


def test_keyframes_give_coordinates_from_the_initial_pose():
    ours, (model, _) = dal.load_model(FEATURES), compiled(FEATURES)
    key, values = ours.keyframes["up"], model.key_qpos[0]
    assert key["ctrl"] == {"m": 1.0, "p": 2.0, "v": 3.0, "g": 4.0, "not a joint": 5.0}
    assert key["positions"]["lift"] == pytest.approx(values[0] - model.qpos0[0])
    np.testing.assert_allclose(key["positions"]["wrist"], values[2:6])
    np.testing.assert_allclose(key["positions"]["robot"], values[6:13])
    for name in ours.joints:
        if name in [model.joint(j).name for j in range(model.njnt)] and ours.scene.joints[name].kind == "hinge":
            address = model.joint(name).qposadr[0]
            assert key["positions"][name] == pytest.approx(values[address] - model.qpos0[address])


def test_what_touches_is_what_mujoco_lets_touch(tmp_path):
    """Pairs of bodies by masks, neighbours and exclusions, and their friction: the larger of the two."""
    file = tmp_path / "touch.xml"
    geom = '<geom size="0.1" pos="{x} 0 0" friction="{mu}" contype="{c}" conaffinity="{a}"/>'
    bodies = [(0, 0.4, 1, 1), (0, 0.7, 2, 1), (0, 0.2, 0, 2), (0, 0.4, 1, 1)]
    words = "".join(
        f'<body name="b{i}"><freejoint/>{geom.format(x=x, mu=mu, c=c, a=a)}</body>'
        for i, (x, mu, c, a) in enumerate(bodies)
    )
    chain = (
        f'<body name="c0">{geom.format(x=0, mu=1, c=1, a=1)}<freejoint/><body name="c1"><joint/><joint axis="1 0 0"/>'
        f'{geom.format(x=0, mu=1, c=1, a=1)}<body name="c2">{geom.format(x=0, mu=1, c=1, a=1)}<body name="c3"><joint/>'
        f"{geom.format(x=0, mu=1, c=1, a=1)}</body></body></body></body>"
    )
    file.write_text(
        f"<mujoco><worldbody>{words}{chain}</worldbody><contact><exclude body1='b0' body2='b3'/></contact></mujoco>"
    )
    from dalembert.collide.detect import combine
    from dalembert.scene.contact import rule_for, rule_table

    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    expected = {}
    for contact in data.contact:
        names = frozenset(model.body(model.geom_bodyid[g]).name for g in contact.geom)
        expected[names] = contact.friction[0]
    scene = dal.load_model(file).scene
    joined = {frozenset((joint.a.name, joint.b.name)) for joint in scene.joints.values()}
    found = {}
    items = list(scene.bodies.values())
    for i, a in enumerate(items):
        for b in items[i + 1 :]:
            rule, names = rule_for(rule_table(scene.contact_rules), a, b), frozenset((a.name, b.name))
            if rule.enabled if rule else names not in joined:
                found[names] = rule.friction if rule and rule.friction else combine(a.material, b.material)[0]
    assert len(expected) > 5 and found == pytest.approx(expected)


def test_what_touches_rubs_as_mujoco_says(tmp_path):
    """Of geoms of every condim and some priorities, and of a pair: condim and coefficients."""
    file, counted = tmp_path / "rub.xml", {1: 0, 3: 1, 4: 2, 6: 4}
    kinds = [(condim, priority) for condim in counted for priority in (0, 1)]
    words = "".join(
        f"<body name='b{i}'><freejoint/><geom name='g{i}' size='0.1' pos='{0.01 * i} 0 0' condim='{condim}' "
        f"priority='{priority}' friction='{0.3 + 0.1 * (i * 3 % 8)} {0.01 + 0.01 * (i * 5 % 8)} {0.001 + 0.001 * i}'/></body>"
        for i, (condim, priority) in enumerate(kinds)
    )
    pairs = "<pair geom1='g0' geom2='g7' condim='6'/><pair geom1='g1' geom2='g6' condim='4' friction='0.2 0.2'/>"
    file.write_text(f"<mujoco><worldbody>{words}</worldbody><contact>{pairs}</contact></mujoco>")
    from dalembert.scene.contact import pair_friction, rule_for, rule_table

    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene = dal.load_model(file).scene
    table, seen = rule_table(scene.contact_rules), 0
    for contact in data.contact:
        a, b = (scene.bodies[model.body(model.geom_bodyid[g]).name] for g in contact.geom)
        made = pair_friction(a.material, b.material, rule_for(table, a, b))
        acting = contact.friction * (np.arange(5) <= counted[contact.dim]) * (contact.dim > 1)
        found = (made.friction, made.torsional, made.rolling)
        np.testing.assert_allclose(found, acting[[0, 2, 3]], rtol=1e-12, err_msg=f"{a.name} {b.name}")
        seen += 1
    assert seen == len(kinds) * (len(kinds) - 1) // 2


PARTIAL = """<mujoco><compiler angle="radian"/><default>
<geom friction=".7 .04"/>
<default class="c"><geom type="box" size=".1 .2 .3" friction=".9 .02 .003" condim="6"/><site type="box" size=".1 .2 .3"/>
<joint damping=".3" stiffness="1"/><motor gear="7 1 2"/><general gainprm="3 2" biastype="affine" biasprm="1 -2 -3"/>
<pair friction="1 2 .1 .01 .02"/>
<default class="d"><geom friction=".5 .06"/></default></default></default><worldbody>
<body name="all"><joint name="x" class="c"/><geom class="c"/><site name="all" class="c"/></body>
<body name="one" pos="1 0 0" childclass="c"><joint name="y" damping=".5"/><geom name="one" size=".2" friction=".4"/>
<site name="one" size=".5"/></body>
<body name="two" pos="2 0 0" childclass="c"><joint name="z"/><geom name="two" size=".2 .4" friction=".4 .1"/></body>
<body name="inner" pos="3 0 0" childclass="d"><joint/><geom size=".05 .4"/>
<site name="none" class="main" type="box" size=".3"/></body>
<body name="inner one" pos="4 0 0" childclass="d"><joint/><geom friction=".2"/>
<site name="line" class="main" type="capsule" fromto="0 0 0 0 0 1"/></body>
<body name="main" pos="5 0 0"><joint/><geom size=".1" friction=".3" condim="6"/></body>
</worldbody>
<contact><pair class="c" geom1="one" geom2="two" friction=".3 .4" condim="6"/></contact>
<equality><joint joint1="x" joint2="y" polycoef="0"/></equality>
<actuator><motor class="c" name="m" joint="x" gear="5"/><general class="c" name="g" joint="y" gainprm="5" biasprm="7 -8"/>
<motor class="c" name="n" joint="z"/></actuator></mujoco>"""


def test_an_element_has_the_numbers_that_it_does_not_give_from_its_class(tmp_path):
    """Sizes, friction, gears, gains and biases of which an element, or an inner class, gives the first numbers only."""
    from dalembert.scene.contact import pair_friction, rule_for, rule_table

    file = tmp_path / "partial.xml"
    file.write_text(PARTIAL)
    ours, (model, _) = dal.load_model(file), compiled(file)
    bodies = ours.scene.bodies
    assert not any("is not used" in str(warning) for warning in ours.warnings)
    for i in range(1, model.nbody):
        body, geom = bodies[model.body(i).name], model.body_geomadr[i]
        material = body.material
        found = material.friction, material.torsional_friction, material.rolling_friction
        np.testing.assert_allclose(found, model.geom_friction[geom], err_msg=body.name)
        assert body.mass == pytest.approx(model.body_mass[i], rel=CLOSE)  # tells the sizes
    rule = rule_for(rule_table(ours.scene.contact_rules), bodies["one"], bodies["two"])
    made = pair_friction(bodies["one"].material, bodies["two"].material, rule)
    np.testing.assert_allclose((made.friction, made.torsional, made.rolling), model.pair_friction[0][[0, 2, 3]])
    for name, actuator in ours.actuators.items():
        there = model.actuator(name)
        assert actuator.gear == there.gear[0] and actuator.scale == there.gear[0] * there.gainprm[0]
        law = there.gear[0] * there.biasprm[0], *(-(there.gear[0] ** 2) * there.biasprm[1:3])
        assert (actuator.offset, actuator.motor.stiffness, actuator.motor.damping) == pytest.approx(law), name
    assert [joint.coupling.ratio for joint in ours.scene.joints.values() if joint.coupling] == [1.0]


@pytest.mark.parametrize("site", ["all", "one", "none", "line"])
def test_a_site_has_the_size_that_mujoco_gives_it(tmp_path, site):
    """Read from the volume of a sensor of touch; 0.005 m where neither the site nor its class gives a number."""
    file = tmp_path / "site.xml"
    file.write_text(PARTIAL.replace("</mujoco>", f"<sensor><touch name='t' site='{site}'/></sensor></mujoco>"))
    model, _ = compiled(file)
    region = dal.load_model(file).scene.sensors["t"].region
    size = model.site(site).size
    assert region == (dal.Capsule(size[0], 2.0 * size[1]) if site == "line" else dal.Box(*(2.0 * size)))


@pytest.mark.parametrize("key", ["stiffness", "damping"])
def test_a_tendon_may_give_coefficients_of_higher_powers(tmp_path, key):
    """As a joint may: only the linear part is used, with a warning."""
    file = tmp_path / "tendon.xml"
    file.write_text(
        "<mujoco><worldbody><body><joint name='j'/><geom size='.1'/></body></worldbody>"
        f"<tendon><fixed name='t' springlength='0' {key}='1 2 3'><joint joint='j' coef='1'/></fixed></tendon></mujoco>"
    )
    assert compiled(file) is not None
    ours = dal.load_model(file)
    assert getattr(ours.scene.forces["t"], key) == 1.0
    assert any("only the linear part" in str(warning) for warning in ours.warnings)
