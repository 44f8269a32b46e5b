"""What an MJCF file becomes, where MuJoCo is no guide: equalities, warnings, defaults, files."""

import shutil

import numpy as np
import pytest

import dalembert as dal

from .small_package import HERE, write_package

FEATURES = HERE / "features.xml"


def written(tmp_path, text, name="made.xml"):
    file = tmp_path / name
    file.write_text(f"<mujoco>{text}</mujoco>")
    return file


def test_several_joints_of_a_body_are_a_chain_through_links():
    scene = dal.load_model(FEATURES).scene
    lift, turn = scene.joints["lift"], scene.joints["turn"]
    assert lift.a is dal.WORLD and lift.b is scene.links["arm/lift"]
    assert turn.a is lift.b and turn.b is scene.bodies["arm"]


def test_equalities_are_gears_balls_and_welds():
    scene = dal.load_model(FEATURES).scene
    gear = next(joint for joint in scene.joints.values() if joint.coupling)
    assert [joint.name for joint in gear.coupling.joints] == ["ankle01-1", "ankle00-1"] and gear.coupling.ratio == -0.5
    ball = next(joint for joint in scene.joints.values() if joint.kind == "ball" and joint.name != "wrist")
    hand = scene.bodies["hand"]
    np.testing.assert_allclose(ball.at, hand.position + hand.rotation @ ([0, 0, 0.2] - np.array([0.1, 0.2, 0.3])))
    weld = next(joint for joint in scene.joints.values() if joint.kind == "weld" and joint.a.name == "thin")
    assert weld.b is scene.bodies["backpack"]


def test_bodies_fixed_to_the_world_are_obstacles_and_a_plane_a_half_space():
    scene = dal.load_model(FEATURES).scene
    floor = scene.obstacles["floor"]
    assert floor.shape == dal.HalfSpace() and "table" not in scene.bodies
    normal = np.array([0.1, 0.0, 1.0]) / np.sqrt(1.01)
    np.testing.assert_allclose(floor.rotation[:, 2], normal, atol=1e-12)
    assert scene.obstacles["top"].shape == dal.Box(1.0, 0.8, 0.2)


def test_what_is_not_kept_is_said_with_its_line():
    lines = FEATURES.read_text().splitlines()
    for warning in dal.load_model(FEATURES).warnings:
        assert f"<{warning.element}" in lines[warning.line - 1]
    words = {warning.element: warning.message for warning in dal.load_model(FEATURES).warnings}
    assert "does not act on a joint" in words["motor"]


@pytest.mark.parametrize(
    "element, said",
    [
        ("<tendon><fixed name='t' stiffness='1'/></tendon>", "tendon 't' is left out"),
        ("<worldbody><geom size='1' castshadow='false' oddity='2'/></worldbody>", "'oddity' is not used"),
        ("<worldbody><geom type='hfield' hfield='h'/></worldbody>", "hfield"),
        ("<worldbody><body gravcomp='1'><joint/><geom size='1'/></body></worldbody>", "gravcomp"),
        ("<worldbody><body><joint type='ball' damping='1'/><geom size='1'/></body></worldbody>", "damping of ball"),
        ("<worldbody><body><joint stiffness='1 2'/><geom size='1'/></body></worldbody>", "linear part"),
        ("<worldbody><body><joint range='1 2'/><geom size='1'/></body></worldbody>", "beyond its stops"),
        
        ("<option density='1.2'/>", "density"),
        ("<worldbody><attach model='m' body='b' prefix='p'/></worldbody>", "<attach>"),
        ("<worldbody><body name='b'><joint name='j'/><geom size='1'/></body></worldbody>"
         "<actuator><muscle joint='j'/></actuator>", "muscle"),
        ("<worldbody><body name='b'><joint name='j'/><geom size='1'/></body></worldbody>"
         "<equality><joint joint1='j' polycoef='0.1 0'/></equality>", "only proportional coupling"),
        ("<worldbody><body><joint/><geom size='1'/><geom size='1' friction='2'/></body></worldbody>", "differ in friction"),
        ("<worldbody><geom size='1' solref='0.1 1'/></worldbody>", "hard here"),
    ],
)  # fmt: skip
def test_unsupported_features_give_a_warning(tmp_path, element, said):
    messages = [str(warning) for warning in dal.load_model(written(tmp_path, element)).warnings]
    assert len(messages) == 1 and said in messages[0] and "made.xml:1: <" in messages[0]


@pytest.mark.parametrize(
    "element, said",
    [
        ("<worldbody><body><geom size='1' class='none'/></body></worldbody>", "default class 'none'"),
        ("<worldbody><body><body><freejoint/></body></body></worldbody>", "free joint"),
        ("<worldbody><body name='a'/><body name='a'/></worldbody>", "is defined twice"),
        ("<worldbody><body name='world'/></worldbody>", "is defined twice, or is 'world'"),
        ("<worldbody><geom type='box' size='1 1'/></worldbody>", "needs 3"),
        ("<worldbody><geom type='mesh' mesh='m'/></worldbody>", "no mesh 'm'"),
        ("<worldbody><body><joint range='2 1'/></body></worldbody>", "is empty; give lower < upper"),
        ("<worldbody><body euler='0 0 1' quat='1 0 0 0'/></worldbody>", "both given"),
        ("<compiler coordinate='global'/>", "global"),
        (
            "<asset><mesh name='m' file='none.stl'/></asset><worldbody><geom type='mesh' mesh='m'/></worldbody>",
            "missing",
        ),
        ("<actuator><motor joint='j'/></actuator>", "no joint 'j'"),
        ("<contact><exclude body1='a' body2='b'/></contact>", "no body 'a'"),
        ("<keyframe><key qpos='1'/></keyframe>", "0 coordinates"),
    ],
)
def test_mistakes_are_refused_with_their_line(tmp_path, element, said):
    with pytest.raises(ValueError, match=said) as refusal:
        dal.load_model(written(tmp_path, "\n" + element))
    assert "made.xml:2: <" in str(refusal.value)


def test_included_files_are_found_beside_their_includer_and_meshes_in_meshdir(tmp_path):
    package = write_package(tmp_path)
    (package / "parts").mkdir()
    (package / "parts/arm.xml").write_text("<mujocoinclude><include file='hand.xml'/></mujocoinclude>")
    (package / "parts/hand.xml").write_text(
        "<mujocoinclude><body name='hand'><joint/><geom type='mesh' mesh='block'/></body></mujocoinclude>"
    )
    text = ("<compiler meshdir='meshes'/><asset><mesh file='block.{}'/></asset>"
            "<worldbody><include file='parts/arm.xml'/></worldbody>")  # fmt: skip
    masses = [dal.load_model(written(package, text.format(kind))).scene.bodies["hand"].mass for kind in ("stl", "obj")]
    assert masses == pytest.approx([4000.0, 4000.0])


def test_a_file_in_muJocos_own_mesh_format_is_read(tmp_path):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "<f4")
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], "<i4")
    head = np.array([4, 0, 0, 4], "<i4").tobytes()
    body = "<body name='a'><freejoint/><geom type='mesh' mesh='a'/></body>"
    text = f"<asset><mesh file='a.msh'/></asset><worldbody>{body}</worldbody>"
    (tmp_path / "a.msh").write_bytes(head + corners.tobytes() + faces.tobytes())
    assert dal.load_model(written(tmp_path, text)).scene.bodies["a"].mass == pytest.approx(1000.0 / 6.0)
    (tmp_path / "a.msh").write_bytes(head + corners.tobytes())
    with pytest.raises(ValueError, match="not an MSH file"):
        dal.load_model(written(tmp_path, text))


def test_floating_is_for_urdf(tmp_path):
    shutil.copyfile(FEATURES, tmp_path / "features.xml")
    with pytest.raises(ValueError, match="freejoint"):
        dal.load_model(tmp_path / "features.xml", floating=True)


def test_gravity_and_contact_can_be_disabled(tmp_path):
    text = ("<option><flag gravity='disable' contact='disable' limit='disable' frictionloss='disable'/></option><worldbody>"
            "<geom type='plane' size='1 1 1'/><body name='a'><joint range='-1 1' frictionloss='1'/><geom size='1'/></body>"
            "</worldbody>")  # fmt: skip
    scene = dal.load_model(written(tmp_path, text)).scene
    assert not scene.gravity.any() and scene.touching() == [] and scene.limited_forces() == []


def test_defaults_of_joints_are_not_those_of_equalities(tmp_path):
    file = written(
        tmp_path,
        """<default><joint damping=".2" armature=".01" range="-1 1" limited="true"/></default>
        <worldbody><body><joint name="a" axis="0 1 0"/><geom size=".1"/></body>
        <body pos="1 0 0"><joint name="b" axis="0 1 0"/><geom size=".1"/></body></worldbody>
        <equality><joint joint1="a" joint2="b" polycoef="0 2"/></equality>""",
    )
    model = dal.load_model(file)
    assert not [str(warning) for warning in model.warnings if "is not used" in str(warning)]
    assert [joint.kind for joint in model.scene.joints.values()].count("gear") == 1


@pytest.mark.parametrize("limits, gears, said", [
    ("-1 1", (5, -4), "joint 'j' limits the sum of its actuators in MuJoCo; here each of 'm0', 'm1' by itself"),
    ("-1 1", (5,), None),
    ("-1 3", (5,), "actuatorfrcrange [-1.0, 3.0] is not symmetric"),
])  # fmt: skip
def test_a_limit_of_the_efforts_on_a_joint_that_is_not_the_same_is_said(tmp_path, limits, gears, said):
    motors = "".join(f"<motor name='m{i}' joint='j' gear='{gear}'/>" for i, gear in enumerate(gears))
    text = (
        f"<worldbody><body><joint name='j' actuatorfrcrange='{limits}'/><geom size='.1'/></body></worldbody>"
        f"<actuator>{motors}</actuator>"
    )
    found = [str(warning) for warning in dal.load_model(written(tmp_path, text)).warnings]
    assert (len(found) == 1 and said in found[0]) if said else not found
