"""Exported MJCF files: MuJoCo reads from them the mechanics of the scene."""

import numpy as np
import pytest

import dalembert as dal
from dalembert import gallery

from .trees import random_tree

mujoco = pytest.importorskip("mujoco")
from .mujoco_oracle import exported  # noqa: E402

CLOSE = 1e-9


def require_equal(oracle, seed=0, states=5):
    rng = np.random.default_rng(seed)
    for _ in range(states):
        for what, value in oracle.differences(rng).items():
            assert value < CLOSE, what


@pytest.mark.parametrize("seed", range(30))
def test_mujoco_finds_the_mass_matrix_and_bias_of_random_trees(seed, tmp_path):
    oracle, warnings = exported(random_tree(seed), tmp_path)
    assert not [line for line in warnings if "mass" not in line]
    for body in oracle.scene.bodies.values():
        assert oracle.model.body(body.name).mass[0] == body.mass
        assert np.abs(np.sort(oracle.model.body(body.name).inertia) - np.linalg.eigvalsh(body.inertia)).max() < 1e-14
    require_equal(oracle, seed)


@pytest.mark.parametrize("name", ["double-pendulum", "rope", "trebuchet", "four-bar", "top", "wall"])
def test_mujoco_finds_the_mechanics_of_gallery_scenes(name, tmp_path):
    oracle, warnings = exported(gallery.load(name).build(), tmp_path)
    assert [line for line in warnings if not line.startswith("event")] == []
    require_equal(oracle, states=2)


@pytest.mark.parametrize("name", ["four-bar", "n-four-bar", "top"])
def test_the_key_frame_moves_as_the_scene_does(name, tmp_path):
    scene = gallery.load(name).build()
    oracle, _ = exported(scene, tmp_path)
    mujoco.mj_resetDataKeyframe(oracle.model, oracle.data, 0)
    mujoco.mj_forward(oracle.model, oracle.data)
    for body in scene.bodies.values():
        found = np.zeros(6)
        number = oracle.model.body(body.name).id
        mujoco.mj_objectVelocity(oracle.model, oracle.data, mujoco.mjtObj.mjOBJ_BODY, number, found, 0)
        assert np.allclose(found, [*body.angular_velocity, *body.velocity], atol=1e-12)


def two_joints(kind="hinge"):
    """A hinge or slider, and a hinge that it carries."""
    scene = dal.Scene("two joints")
    upper = scene.add_body("upper", dal.Box(0.1, 0.2, 1.0), mass=1.0, position=(0.0, 0.0, -0.5))
    lower = scene.add_body("lower", dal.Box(0.1, 0.2, 1.0), mass=2.0, position=(0.0, 0.0, -1.5))
    first = getattr(scene, kind)("first", dal.WORLD, upper, (0, 0, 0), (0, 1, 0))
    second = scene.hinge("second", lower, upper, (0, 0, -1), (1, 1, 0))  # carries its a
    return scene, first, second


def add_side(scene):
    """A third body, as near to the world as the first: joints between it and "lower" close loops."""
    side = scene.add_body("side", dal.Box(0.1, 0.2, 1.0), mass=1.0, position=(1.0, 0.0, -0.5))
    scene.hinge("third", dal.WORLD, side, (1, 0, 0), (0, 1, 0))


def test_forces_of_joints_are_those_of_the_scene(tmp_path):
    scene, first, second = two_joints()
    scene.torsion_spring("coil", first, stiffness=3.0, damping=0.4, rest=0.2)
    scene.torsion_spring("other coil", first, stiffness=1.0, rest=-0.6)
    scene.motor("drive", second, effort=0.5, speed=2.0, damping=0.7, stiffness=5.0, position=0.3)
    scene.motor("weak", second, effort=10.0, limit=0.25)
    scene.limit("stop", first, lower=-0.5, upper=0.75)
    scene.limit("half", second, upper=1.5)
    scene.joint_friction("dry", second, effort=0.3)
    oracle, warnings = exported(scene, tmp_path)
    assert warnings == []
    u, w = np.array([0.3, -0.2]), np.array([1.1, -0.4])
    oracle.set_state(u, w)
    passive = [3.0 * (0.2 - 0.3) + 1.0 * (-0.6 - 0.3) - 0.4 * 1.1, 0.0]
    assert np.allclose(oracle.data.qfrc_passive, passive, atol=1e-14)
    assert np.allclose(oracle.data.qfrc_actuator, [0.0, 0.5 + 5.0 * (0.3 + 0.2) + 0.7 * (2.0 + 0.4) + 0.25], atol=1e-14)
    assert oracle.model.joint("first").range.tolist() == [-0.5, 0.75]
    assert oracle.model.joint("second").range[1] == 1.5 and oracle.model.joint("second").range[0] < -1e9
    assert oracle.model.dof_frictionloss.tolist() == [0.0, 0.3]


def test_a_spring_is_a_tendon_between_its_points(tmp_path):
    scene, _, _ = two_joints("slider")
    at, to = np.array([1.0, 0.0, 0.0]), np.array([0.05, 0.0, -2.0])
    scene.spring("spring", dal.WORLD, "lower", at, to, stiffness=20.0, damping=3.0, rest=0.5)
    oracle, warnings = exported(scene, tmp_path)
    assert warnings == []
    u, w = np.array([0.3, -0.2]), np.array([1.1, -0.4])
    oracle.set_state(u, w)
    local = scene.bodies["lower"].to_body(to)
    position, rotation = oracle.arm.pose(u, "lower")
    jacobian = oracle.arm.jacobian(u, "lower", local)[:3]
    gap = position + rotation @ local - at
    length = np.linalg.norm(gap)
    tension = 20.0 * (length - 0.5) + 3.0 * (gap / length) @ jacobian @ w
    assert np.allclose(oracle.data.qfrc_passive, -jacobian.T @ (gap / length) * tension, atol=1e-12)


def test_loops_take_the_freedoms_that_they_take_in_the_scene(tmp_path):
    for name, freedoms in (("four-bar", 1), ("pendulum", 5), ("trebuchet", 3 + 6 - 1)):
        oracle, _ = exported(gallery.load(name).build(), tmp_path)
        mujoco.mj_forward(oracle.model, oracle.data)
        rows = np.zeros((oracle.data.nefc, oracle.model.nv))
        for k in range(oracle.model.nv):
            unit = np.eye(oracle.model.nv)[k]
            mujoco.mj_mulJacVec(oracle.model, oracle.data, rates := np.zeros(oracle.data.nefc), unit)
            rows[:, k] = rates
        rows = rows[oracle.data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
        assert np.abs(oracle.data.efc_pos[: len(rows)]).max() < 1e-12, "closed at the start"
        assert oracle.model.nv - np.linalg.matrix_rank(rows, 1e-8) == freedoms


def test_open_loops_and_rods_of_another_length_keep_their_errors(tmp_path):
    scene, _, _ = two_joints()
    add_side(scene)
    scene.ball("open", "side", "lower", at=(0.3, 0.0, -2.0), at_b=(0.0, 0.1, -2.0))
    scene.rod("rod", dal.WORLD, "lower", at_a=(3.0, 0.0, -2.0), at_b=(0.0, 0.0, -2.0), length=2.5)
    scene.weld("weld", "side", "lower", at=(0.0, 0.0, -1.5))
    oracle, warnings = exported(scene, tmp_path)
    assert warnings == []
    mujoco.mj_forward(oracle.model, oracle.data)
    sizes = np.abs(oracle.data.efc_pos)
    assert np.allclose(np.sort(sizes)[::-1][:3], [0.5, 0.3, 0.1], atol=1e-12)
    assert np.allclose(np.sort(sizes)[::-1][3:], 0.0, atol=1e-12)


def test_what_mjcf_cannot_say_is_listed(tmp_path):
    scene, first, second = two_joints()
    ball = scene.add_body("ball", dal.Cone(0.1, 0.3), mass=1.0, position=(3, 0, 0), material=dal.Material(0.3, 0.5))
    add_side(scene)
    scene.slider("loop", "side", "lower", (0, 0, -2), (1, 0, 0))
    scene.point_on_plane("plane", dal.WORLD, ball, (3, 0, 0), (0, 0, 1))
    scene.drag("air", linear=1.0)
    scene.external_force("push", ball, force=(1, 0, 0))
    scene.motor("ideal", first, speed=1.0)
    scene.motor("own", second, function=lambda t, s, v: 1.0)
    scene.torsion_spring("on a loop", "loop", stiffness=1.0)
    scene.limit("bouncy", first, lower=-1.0, restitution=0.5)
    scene.event("stop", lambda t, y: t - 1.0, stop=True)
    scene.set_contact("ball", next(name for name in scene.bodies if name != "ball"), friction=0.1)
    scene.add_particles("dust", [[0.0, 0.0, 5.0]], mass=1.0)
    _, warnings = exported(scene, tmp_path)
    starts = ("slider 'loop'", "point_on_plane 'plane'", "drag 'air'", "external force 'push'", "motor 'ideal'", 
              "motor 'own'",
              "torsion spring 'on a loop'", "limit 'bouncy'", "event 'stop'", "contact of", "particles dust", "materials",
              "body 'ball'")  # fmt: skip
    for start in starts:
        assert sum(line.startswith(start) for line in warnings) == 1, start
    assert len(warnings) == len(starts)


def test_links_that_carry_several_joints_or_springs_stay_bodies(tmp_path):
    scene = dal.Scene("fork")
    link = scene.add_link("link", position=(0, 0, -0.5))
    scene.hinge("root", dal.WORLD, link, (0, 0, 0), (0, 1, 0))
    for name, x in (("left", -1.0), ("right", 1.0)):
        body = scene.add_body(name, dal.Box(0.2, 0.3, 0.5), mass=1.0, position=(x, 0, -1))
        scene.hinge(name, link, body, (0, 0, -0.5), (1, 0, 0))
    oracle, warnings = exported(scene, tmp_path)
    assert [line.startswith("link 'link'") for line in warnings] == [True]
    require_equal(oracle)


def test_a_chain_longer_than_mujoco_reads_is_refused(tmp_path):
    scene = dal.Scene("chain")
    last = dal.WORLD
    for i in range(500):
        body = scene.add_body(f"link {i}", dal.Sphere(0.4), mass=1.0, position=(i + 0.5, 0, 0))
        scene.ball(f"joint {i}", last, body, (i, 0, 0))
        last = body
    with pytest.raises(ValueError, match="490 bodies"):
        dal.export_mjcf(scene, tmp_path / "chain.xml")
    with pytest.raises(ValueError, match=r"unsupported format '\.mjcf'"):
        dal.export_mjcf(scene, tmp_path / "chain.mjcf")


def test_an_inertia_beyond_the_triangle_inequality_by_rounding_is_read(tmp_path):
    scene = dal.Scene("disc")
    scene.add_body("disc", mass=1.0, inertia=(1.0, 1.0, 2.0 * (1.0 + 1e-15)))
    scene.add_body("seven digits", mass=1.0, inertia=(1.0, 1.0, 2.0000009))
    _, warnings = exported(scene, tmp_path)
    assert [line.split(":")[0] for line in warnings] == ["body 'seven digits'"]


@pytest.mark.parametrize("letters", [140, 160, 200])
def test_long_names_come_back(tmp_path, letters):
    """Also those of parts that the file gives a name of their own: sites, stops, springs, friction."""
    scene, long = dal.Scene("long names", material=dal.Material(0.5)), "x" * letters
    scene.add_obstacle("ground", dal.HalfSpace(), position=(0, 0, -5.0))
    scene.add_body(long, dal.Box(0.2, 0.2, 0.2), mass=1.0)
    other = scene.add_body("y" * letters, dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 0.5))
    scene.hinge("h" * letters, long, other, at=(0, 0, 0.3), axis=(0, 1, 0))
    scene.limit("stop", "h" * letters, lower=-1.0, upper=1.0)
    scene.joint_friction("dry", "h" * letters, effort=0.1)
    scene.torsion_spring("soft", "h" * letters, stiffness=1.0)
    scene.motor("m" * letters, "h" * letters, effort=0.1)
    scene.spring("s" * letters, dal.WORLD, other, (0, 0, 3), (0, 0, 0.5), stiffness=1.0)
    scene.set_contact(long, "ground", enabled=False)
    dal.export_mjcf(scene, tmp_path / "long.xml")
    again = dal.load_model(tmp_path / "long.xml").scene
    assert set(again.bodies) == set(scene.bodies) and "h" * letters in again.joints and "m" * letters in again.forces
    assert len(again.forces) == len(scene.forces)
