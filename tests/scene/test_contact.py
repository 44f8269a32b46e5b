"""Contact as a scene describes it: materials, obstacles, rules, and what is refused."""

import math

import numpy as np
import pytest

import dalembert as dal
from dalembert.collide.detect import collision_of
from dalembert.scene.contact import rule_for, rule_table


def scene_of_three(**settings):
    scene = dal.Scene("three", **settings)
    scene.add_body("a", dal.Box(1, 1, 1), mass=1)
    scene.add_body("b", dal.Sphere(0.5), mass=1, material=dal.Material(0.9, 0.4), group="balls")
    scene.add_body("c", dal.Sphere(0.5), mass=1, group="balls")
    return scene


def test_what_has_a_material_touches():
    scene = scene_of_three()
    assert [item.name for item in scene.touching()] == ["b"]
    scene = scene_of_three(material=dal.Material(0.4))
    scene.add_body("massless picture", mass=1, inertia=(1, 1, 1))
    scene.add_obstacle("ground", dal.HalfSpace())
    assert [item.name for item in scene.touching()] == ["a", "b", "c", "ground"]
    assert scene.obstacles["ground"].material == dal.Material(0.4)


def test_the_last_rule_that_fits_counts():
    scene = scene_of_three(material=dal.Material(0.4))
    scene.set_contact("balls", "balls", enabled=False)
    scene.set_contact("a", "balls", friction=0.1)
    scene.set_contact("c", "a", restitution=0.8)
    a, b, c = scene.bodies.values()
    assert rule_for(rule_table(scene.contact_rules), b, c).enabled is False
    assert rule_for(rule_table(scene.contact_rules), b, a).friction == 0.1
    assert rule_for(rule_table(scene.contact_rules), a, c).restitution == 0.8
    collision = collision_of(scene)
    assert collision.excluded.tolist() == [1 * 3 + 2]
    assert collision.rule_keys.tolist() == [1, 2]
    np.testing.assert_allclose(collision.rule_values, [0.1, 0.4, 0.4, 0.8])


def test_what_a_joint_connects_passes_through_each_other_unless_told_otherwise():
    scene = scene_of_three(material=dal.Material())
    scene.ball("joint", "a", "b", at=(0, 0, 0))
    assert collision_of(scene).excluded.tolist() == [1]
    scene.set_contact("a", "b")
    assert collision_of(scene).excluded.tolist() == []


def test_colliders_lie_in_the_frame_of_the_centre_of_mass():
    scene = dal.Scene(material=dal.Material())
    handle = (dal.Box(0.1, 0.1, 1.0), (0.0, 0.0, 0.5), (1, 0, 0, 0))
    head = (dal.Sphere(0.2), (0.0, 0.0, 1.2), (1, 0, 0, 0))
    scene.add_body("hammer", dal.Compound([handle, head]), mass=2.0)
    scene.add_body("cone", dal.Cone(0.3, 1.2), mass=1.0)
    colliders = collision_of(scene).colliders
    centre = scene.bodies["hammer"].center[2]
    np.testing.assert_allclose(colliders.position[:, 2], [0.5 - centre, 1.2 - centre, 0.3], atol=1e-15)


def test_a_cone_has_the_moments_of_its_points():
    rng = np.random.default_rng(0)
    radius, height = 0.7, 1.9
    u = (np.arange(400) + 0.5) / 400  # midpoints of equal volumes along the axis, and of equal areas across
    z = height * (0.5 - u ** (1 / 3))
    r = radius * u[:, None] ** (1 / 3) * np.sqrt(u)[None, :]
    angle = rng.uniform(0.0, 2.0 * np.pi, r.shape)
    points = np.stack([r * np.cos(angle), r * np.sin(angle), np.broadcast_to(z[:, None], r.shape)], -1).reshape(-1, 3)
    solid = dal.mass_properties(dal.Cone(radius, height), density=3.0)
    assert solid.mass == pytest.approx(np.pi * radius**2 * height, rel=1e-14)
    np.testing.assert_allclose(points.mean(axis=0)[2], solid.center[2], rtol=1e-4)
    offset = points - points.mean(axis=0)
    second = offset.T @ offset / len(points)
    inertia = solid.mass * (np.trace(second) * np.eye(3) - second)
    np.testing.assert_allclose(np.diag(inertia), np.diag(solid.inertia), rtol=3e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: dal.Material(-0.1), "friction is -0.1"),
        (lambda s: dal.Material(float("nan")), "friction is nan"),
        (lambda s: dal.Material("0.5"), "friction is '0.5'"),
        (lambda s: dal.Material(True), "friction is True"),
        (lambda s: dal.Material(1e9), "from 0 to 1000"),
        (lambda s: dal.Material(0.5, 1.2), "restitution is 1.2"),
        (lambda s: dal.Material("rough"), "friction is 'rough'"),
        (lambda s: s.set_contact("a", "nobody"), "'nobody' is not a body"),
        (lambda s: s.set_contact("a", "b", friction=-1), "friction is -1"),
        (lambda s: s.add_obstacle("a", dal.HalfSpace()), "obstacle 'a'.*body already has that name"),
        (lambda s: s.add_obstacle("o", dal.HalfSpace(), position=(0, 0, np.inf)), r"'o'.*position\[2\] is inf"),
        (lambda s: s.add_body("m", mesh(), mass=1), "body 'm'.*Mesh can be an obstacle only.*ConvexHull"),
    ],
)
def test_bad_input_is_refused_by_name(change, words):
    with pytest.raises(ValueError, match=words):
        change(scene_of_three(material=dal.Material()))


def mesh():
    return dal.Mesh(*dal.Box(1, 1, 1).triangles())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"method": "splitting", "dt": 1e-3},
            "'splitting' supports only forces that depend on positions.*time_stepping",
        ),
        ({"method": "rk4", "dt": 1e-3, "impacts": "magic"}, "unknown law of impacts 'magic'.*poisson"),
        ({"dt": -1.0}, "dt is -1.0"),
        ({"dt": 1e-3, "solver": "magic"}, "unknown solver 'magic'"),
        ({"dt": 1e-3, "iterations": 0}, "iterations is 0"),
        ({"dt": 1e-3, "tolerance": 0.0}, "tolerance is 0.0"),
    ],
)
def test_bad_settings_of_a_run_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        dal.Simulation(scene_of_three(material=dal.Material()), **settings)


def test_time_steps_without_anything_that_touches_are_refused():
    with pytest.raises(ValueError, match="it has no materials"):
        scene = dal.Scene("empty-handed")
        scene.add_body("a", dal.Box(1, 1, 1), mass=1)
        dal.Simulation(scene, method="time_stepping", dt=1e-3)


def test_a_rule_about_restitution_leaves_the_friction_that_the_materials_make():
    """To the last bit: √(0.38 · 0.55) is one of the roots that a power of one half does not round to."""
    scene = dal.Scene("rule")
    for k, friction in enumerate((0.38, 0.55)):
        material = dal.Material(friction)
        scene.add_body(f"ball {k}", dal.Sphere(0.1), mass=1.0, position=(0, 0, k), material=material)
    scene.set_contact("ball 0", "ball 1", restitution=0.5)
    assert collision_of(scene).rule_values.tolist() == [math.sqrt(0.38 * 0.55), 0.5]


def test_a_rule_for_a_body_of_another_scene_is_refused():
    other = dal.Scene("other")
    stranger = other.add_body("ball", dal.Sphere(0.1), mass=1.0, material=dal.Material(0.5))
    scene = dal.Scene("own")
    own = scene.add_body("ball", dal.Sphere(0.1), mass=1.0, material=dal.Material(0.5))
    floor = scene.add_obstacle("floor", dal.HalfSpace(), material=dal.Material(0.5))
    for pair in ((stranger, floor), (floor, stranger)):
        with pytest.raises(
            ValueError, match="set_contact: 'ball' is not a body or obstacle of this scene; give a name, or"
        ):
            scene.set_contact(*pair, enabled=False)
    with pytest.raises(ValueError, match="set_contact: 3 is not a body or obstacle of this scene"):
        scene.set_contact(3, floor, enabled=False)
    scene.set_contact(own, floor, enabled=False)
    assert len(scene.contact_rules) == 1
