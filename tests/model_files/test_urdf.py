"""What a URDF file becomes: bodies, links, joints, shapes and warnings."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.cli import app
from dalembert.cli.commands import REFUSED
from dalembert.io.description import nearest_inertia

from .small_package import write_package

LINK = '<link name="{0}"><inertial><mass value="{1}"/>{2}</inertial></link>'
SPHERE = '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'
JOINT = '<joint name="{0}{1}" type="{2}"><parent link="{0}"/><child link="{1}"/><axis xyz="0 0 1"/>{3}</joint>'


@pytest.fixture
def robot(tmp_path):
    return write_package(tmp_path) / "robot.urdf"


def written(tmp_path, *elements):
    file = tmp_path / "made.urdf"
    file.write_text("<robot name='made'>" + "\n".join(elements) + "</robot>")
    return file


def test_joints_have_their_kinds_stops_and_resistance(robot):
    model = dal.load_model(robot)
    scene = model.scene
    assert model.joints == ["rail", "shoulder", "elbow", "tip", "slide/x", "slide/y", "slide/turn"]
    kinds = [scene.joints[name].kind for name in model.joints]
    assert kinds == ["slider", "hinge", "hinge", "weld", "slider", "slider", "hinge"]
    assert scene.forces["rail/limit"].stops == (-1.0, 2.0)
    assert scene.forces["rail/spring"].damping == 0.5
    assert scene.forces["rail/friction"].limit == 0.2
    assert scene.joints["elbow/mimic"].coupling.ratio == -2.0
    np.testing.assert_allclose(scene.joints["shoulder"].axis, [-np.sin(0.5), np.cos(0.5), 0.0])
    assert scene.joints["rail"].a is dal.WORLD
    smooth = dal.load_model(robot, limits=False, friction=False).scene
    assert smooth.limited_forces() == []
    assert "rail/spring" in smooth.forces


def test_links_without_mass_are_links_and_the_root_is_fixed_unless_it_floats(robot):
    model = dal.load_model(robot)
    assert set(model.scene.bodies) == {"cart", "arm", "hand", "plate"}
    assert set(model.scene.links) == {"tool", "plate/slide/x", "plate/slide/y"}
    assert model.frames["base"].body is dal.WORLD
    assert model.frames["tool"].body is model.scene.links["tool"]
    np.testing.assert_allclose(model.frames["cart"].position, [-0.1, 0.0, -0.02])
    floating = dal.load_model(robot, floating=True)
    assert floating.frames["base"].body is floating.scene.links["base"]
    assert floating.scene.joints["rail"].a is floating.scene.links["base"]


def test_what_touches_is_a_compound_of_hulls_about_the_centre_of_mass(robot):
    model = dal.load_model(robot)
    cart = model.scene.bodies["cart"]
    box, mesh = cart.shape.parts
    assert box.shape == dal.Box(0.4, 0.2, 0.1)
    np.testing.assert_allclose(box.position, [-0.1, 0.0, 0.08])
    assert isinstance(mesh.shape, dal.ConvexHull)
    np.testing.assert_allclose(np.ptp(mesh.shape.vertices, axis=0), [0.2, 0.2, 0.1])
    assert cart.material == dal.Material() and cart.color == "#000080"
    assert model.scene.bodies["plate"].material is None
    assert model.scene.obstacles == {}  # the base is only seen


def test_a_collada_mesh_is_placed_and_scaled_as_its_scene_says(robot):
    """Corners ±1, ±1, 0 … 1: scaled by 100, 200, 100, turned by 90° about z, moved by 50 along z, centimetres; times 0.2."""
    mesh = dal.load_model(robot).scene.bodies["hand"].shape.parts[1].shape
    np.testing.assert_allclose(mesh.vertices.min(axis=0), [-0.4, -0.2, 0.1], atol=1e-12)
    np.testing.assert_allclose(mesh.vertices.max(axis=0), [0.4, 0.2, 0.3], atol=1e-12)


def test_warnings_name_file_line_and_element(robot):
    warnings = dal.load_model(robot).warnings
    lines = robot.read_text().splitlines()
    for warning in warnings:
        assert f"<{warning.element}" in lines[warning.line - 1]
        assert str(warning).startswith(f"{robot.resolve()}:{warning.line}: <{warning.element}>: ")
        assert "\n" not in str(warning)
    assert [w.element for w in warnings] == ["limit", "transmission", "gazebo"]
    assert "1 more" in warnings[-1].message


def test_an_impossible_inertia_is_replaced_by_the_nearest_and_said(tmp_path):
    wrong = '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.5"/>'
    none = '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'
    file = written(tmp_path, LINK.format("a", 1, SPHERE), LINK.format("b", 2, wrong), LINK.format("c", 3, none),
                   JOINT.format("a", "b", "continuous", ""), JOINT.format("b", "c", "continuous", ""))  # fmt: skip
    model = dal.load_model(file)
    assert sum("impossible" in warning.message for warning in model.warnings) == 2
    moments = np.linalg.eigvalsh(model.scene.bodies["b"].inertia)
    np.testing.assert_allclose(moments, [0.25, 0.25, 0.5], rtol=1e-5)
    np.testing.assert_allclose(model.scene.bodies["c"].inertia, 3e-6 * np.eye(3))


def test_the_nearest_inertia_is_nearer_than_others():
    """Σ = ½ tr(I) 1 − I in the Frobenius norm, against random inertias of solids."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        root = rng.normal(size=(3, 3))
        wrong = root @ root.T + np.diag([0.0, 0.0, 20.0])
        repaired, said = nearest_inertia(1.0, wrong)
        assert said is not None

        def second(inertia):
            return 0.5 * np.trace(inertia) * np.eye(3) - inertia

        best = np.linalg.norm(second(repaired) - second(wrong))
        for _ in range(50):
            step = 0.1 * rng.normal(size=(3, 3))
            other = second(repaired) + step @ step.T * rng.choice([0.01, 1.0])
            assert np.linalg.norm(other - second(wrong)) > best - 1e-4


def test_a_joint_that_carries_no_mass_is_held(tmp_path):
    file = written(tmp_path, LINK.format("a", 1, SPHERE), LINK.format("b", 1, SPHERE), '<link name="c"/>',
                   JOINT.format("a", "b", "continuous", ""), JOINT.format("b", "c", "continuous", ""))  # fmt: skip
    model = dal.load_model(file)
    assert model.scene.joints["bc"].kind == "weld"
    assert any("'bc'" in warning.message and "without mass" in warning.message for warning in model.warnings)


def test_a_floating_root_without_mass_goes_with_what_it_carries(tmp_path):
    """Its only joint would have no equation of motion; with two branches each has one."""
    links = ['<link name="a"/>', *(LINK.format(name, 1, SPHERE) for name in "bc")]
    chain = written(
        tmp_path, *links, JOINT.format("a", "b", "continuous", ""), JOINT.format("b", "c", "continuous", "")
    )
    scene = dal.load_model(chain, floating=True).scene
    assert [scene.joints[name].kind for name in ("ab", "bc")] == ["weld", "hinge"]
    assert dal.load_model(chain).scene.joints["ab"].kind == "hinge"
    fork = written(tmp_path, *links, JOINT.format("a", "b", "continuous", ""), JOINT.format("a", "c", "continuous", ""))
    scene = dal.load_model(fork, floating=True).scene
    assert [scene.joints[name].kind for name in ("ab", "ac")] == ["hinge", "hinge"]


def test_neighbours_do_not_touch_through_links_and_welds(tmp_path):
    """a –hinge– link –hinge– b –fixed– c: no pair of them touches; the fixed base does not touch a either."""
    ball = '<collision><origin xyz="{} 0 0"/><geometry><sphere radius="1"/></geometry></collision></link>'
    links = [LINK.format(name, 1, SPHERE).replace("</link>", ball.format(4 * i)) for i, name in enumerate("zabc")]
    file = written(tmp_path, *links, JOINT.format("z", "a", "continuous", ""), JOINT.format("a", "b", "planar", ""),
                   JOINT.format("b", "c", "fixed", ""))  # fmt: skip
    scene = dal.load_model(file).scene
    apart = {frozenset((rule.a, rule.b)) for rule in scene.contact_rules if not rule.enabled}
    assert apart == {frozenset(pair) for pair in (("a", "b"), ("a", "c"), ("z/collision", "a"))}


def test_meshes_are_found_by_package_by_file_and_by_scheme(robot):
    text = robot.read_text()
    for reference in ("package://small/meshes/block.stl", "meshes/block.obj", "./meshes/../meshes/block.stl",
                      f"file://{robot.parent}/meshes/block.stl"):  # fmt: skip
        robot.write_text(text.replace("package://small/meshes/block.stl", reference))
        assert len(dal.load_model(robot).scene.bodies["cart"].shape.parts) == 2
    below = robot.parent / "urdf"
    below.mkdir()
    moved = robot.rename(below / "robot.urdf")
    moved.write_text(text.replace("package://small", ".."))
    assert any("lies outside" in str(warning) for warning in dal.load_model(moved).warnings)
    (robot.parent / "package.xml").write_text("<package><name>other</name></package>")
    assert not any("lies outside" in str(warning) for warning in dal.load_model(moved).warnings)
    moved.write_text(text.replace("package://small", "package://other"))
    assert len(dal.load_model(moved).scene.bodies["cart"].shape.parts) == 2


def test_inspect_shows_the_tree_and_the_warnings(robot, capsys):
    assert app(["inspect", str(robot)], result_action="return_value") == 0
    out = capsys.readouterr().out
    for words in (
        "world",
        "cart  2.5 kg",
        "slider rail [-1, 2] m",
        "tool  no mass",
        "freedoms",
        "robot.urdf:36: <limit>",
    ):
        assert words in out
    robot.write_text("<robot>")
    assert app(["inspect", str(robot)], result_action="return_value") == REFUSED
    assert "robot.urdf:1" in capsys.readouterr().err


def test_a_file_in_which_nothing_moves_says_how_it_would(tmp_path):
    file = tmp_path / "drone.urdf"
    file.write_text(
        '<robot name="drone"><link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
        'iyz="0"/></inertial></link></robot>'
    )
    (line,) = map(str, dal.load_model(file).warnings)
    assert "nothing in it moves" in line and "floating=True" in line
    assert dal.load_model(file, floating=True).warnings == []


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (
            'effort="1" velocity="1"',
            "'turn' has a <limit> without lower and upper, which by the specification locks it at 0",
        ),
        (
            'lower="0" upper="0" effort="1" velocity="1"',
            "lower 0 and upper 0 are an empty range; joint 'turn' has no stops",
        ),
        ('upper="1" effort="1" velocity="1"', None),
    ],
)
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_limit_that_leaves_no_range_is_told(tmp_path, kind, limit, said):
    file = tmp_path / "arm.urdf"
    joint = f'<joint name="turn" type="{kind}"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/><limit {limit}/></joint>'
    file.write_text(f'<robot name="r">{LINK.format("a", 1, SPHERE)}{LINK.format("b", 1, SPHERE)}{joint}</robot>')
    model = dal.load_model(file)
    told = [str(warning) for warning in model.warnings if "'turn'" in str(warning)]
    assert len(told) == (said is not None) and (said is None or said in told[0])
    assert len(model.scene.forces) == (said is None)
