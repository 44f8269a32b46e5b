"""Materials with rolling, torsional and Stribeck friction: checks, what pairs make of them, model files, warnings."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.scene.contact import pair_friction


def test_two_materials_make_the_mean_of_each_friction_and_the_larger_restitution():
    a = dal.Material(0.4, 0.1, rolling_friction=0.001, torsional_friction=0.02)
    b = dal.Material(0.9, 0.5, rolling_friction=0.004)
    made = pair_friction(a, b)
    assert made[:4] == (pytest.approx(0.6), 0.5, pytest.approx(0.002), 0.0)
    assert (made.static, made.stribeck_velocity) == (pytest.approx(0.6), 0.0)


def test_static_friction_and_its_speed_are_combined_and_scale_with_a_rule():
    a, b = dal.Material(0.4, static_friction=0.9, stribeck_velocity=0.01), dal.Material(0.4)
    made = pair_friction(a, b)
    assert made.static == pytest.approx(0.6) and made.stribeck_velocity == 0.01
    scene = dal.Scene("s", material=a)
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    scene.set_contact("ball", "ground", friction=0.2, rolling_friction=0.003, torsional_friction=0.0)
    ruled = pair_friction(a, b, scene.contact_rules[0])
    assert ruled[:4] == (0.2, 0.0, 0.003, 0.0) and ruled.static == pytest.approx(0.3)


def test_only_what_is_given_is_shown():
    assert repr(dal.Material(0.3)) == "Material(friction=0.3, restitution=0.0)"
    assert (
        repr(dal.Material(torsional_friction=0.1)) == "Material(friction=0.5, restitution=0.0, torsional_friction=0.1)"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rolling_friction": -0.1}, "rolling_friction is -0.1; give a number from 0 to 10 m"),
        ({"torsional_friction": 11}, "torsional_friction is 11; give a number from 0 to 10 m"),
        ({"rolling_friction": None}, "rolling_friction is None; give a number"),
        ({"rolling_friction": float("nan")}, "rolling_friction is nan"),
        ({"static_friction": 0.7}, "static_friction is 0.7 without stribeck_velocity; give both"),
        ({"stribeck_velocity": 0.1}, "stribeck_velocity is 0.1 without static_friction; give both"),
        ({"static_friction": 0.2, "stribeck_velocity": 0.1}, "static_friction is 0.2, below friction, 0.5"),
        ({"static_friction": 0.7, "stribeck_velocity": 0.0}, "stribeck_velocity is 0.0; give a number from 1e-12"),
    ],
)
def test_coefficients_that_cannot_be_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        dal.Material(**given)


def test_a_run_by_events_says_that_it_does_not_use_them():
    scene = dal.Scene(
        "s", material=dal.Material(0.5, rolling_friction=0.001, static_friction=0.6, stribeck_velocity=0.01)
    )
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 0.2))
    with pytest.warns(dal.SimulationWarning) as found:
        dal.Simulation(scene, method="dormand_prince")
    said = " ".join(str(warning.message) for warning in found)
    assert "rolling and torsional friction of 'ball', 'ground' are not used by method 'dormand_prince'" in said
    assert "static_friction of 'ball', 'ground' is not used by method 'dormand_prince'" in said


def test_time_steps_use_them_and_say_nothing(recwarn):
    scene = dal.Scene("s", material=dal.Material(0.5, rolling_friction=0.001))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 0.2))
    dal.Simulation(scene, dt=0.01)
    assert not recwarn.list


def model(tmp_path, ball, floor="", contact=""):
    path = tmp_path / "made.xml"
    path.write_text(
        f"<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1' {floor}/><body name='ball' pos='0 0 1'>"
        f"<freejoint/><geom name='ball' size='0.1' mass='1' {ball}/></body></worldbody>{contact}</mujoco>"
    )
    return dal.load_model(path).scene


def made(scene):
    ball, floor = scene.bodies["ball"], next(iter(scene.obstacles.values()))
    rule = scene.contact_rules[-1] if scene.contact_rules else None
    return pair_friction(ball.material, floor.material, rule)


@pytest.mark.parametrize(
    ("condim", "expected"), [(1, (0.0, 0.0, 0.0)), (3, (0.8, 0.0, 0.0)), (4, (0.8, 0.0, 0.01)), (6, (0.8, 0.002, 0.01))]
)
def test_condim_of_geoms(tmp_path, condim, expected):
    both = f"friction='0.8 0.01 0.002' condim='{condim}'"
    pair = made(model(tmp_path, both, both))
    assert (pair.friction, pair.rolling, pair.torsional) == pytest.approx(expected)


def test_the_larger_friction_of_two_geoms_counts_as_in_mujoco(tmp_path):
    pair = made(model(tmp_path, "friction='0.8 0.01 0.002' condim='6'", "friction='0.4' condim='3'"))
    assert (pair.friction, pair.rolling, pair.torsional) == pytest.approx((0.8, 0.002, 0.01))


@pytest.mark.parametrize(
    ("ball", "floor", "expected"),
    [
        ("condim='1'", "condim='3'", (0.8, 0.0, 0.0)),
        ("condim='3'", "condim='4'", (0.8, 0.0, 0.03)),
        ("condim='1'", "condim='6'", (0.8, 0.004, 0.03)),
        ("condim='1' priority='1'", "condim='6'", (0.0, 0.0, 0.0)),
        ("condim='1'", "condim='6' priority='1'", (0.2, 0.002, 0.01)),
        ("condim='6' priority='-1'", "condim='4'", (0.2, 0.0, 0.01)),
    ],
)
def test_the_condim_of_a_pair_of_geoms_lets_the_frictions_of_both_act(tmp_path, ball, floor, expected):
    scene = model(tmp_path, f"friction='0.8 0.03 0.004' {ball}", f"friction='0.2 0.01 0.002' {floor}")
    pair = made(scene)
    assert (pair.friction, pair.rolling, pair.torsional) == pytest.approx(expected)


def test_mujoco_s_defaults_count_where_none_are_given(tmp_path):
    pair = made(model(tmp_path, "condim='6'", "condim='6'"))
    assert (pair.friction, pair.rolling, pair.torsional) == pytest.approx((1.0, 0.0001, 0.005))


@pytest.mark.parametrize(
    ("own", "expected"),
    [("", (1.0, 0.0, 0.0)), ("condim='6'", (1.0, 0.0001, 0.005)), ("condim='6' friction='0.3'", (0.3, 0.0001, 0.005))],
)
def test_a_pair_owes_nothing_to_its_geoms(tmp_path, own, expected):
    geom = "friction='0.8 0.03 0.004' condim='6' priority='1'"
    pair = made(model(tmp_path, geom, "", f"<contact><pair geom1='ball' geom2='floor' {own}/></contact>"))
    assert (pair.friction, pair.rolling, pair.torsional) == pytest.approx(expected)


@pytest.mark.parametrize(("condim", "expected"), [(1, (0, 0, 0)), (4, (0.7, 0, 0.03)), (6, (0.7, 0.004, 0.03))])
def test_condim_of_a_pair(tmp_path, condim, expected):
    contact = (
        f"<contact><pair geom1='ball' geom2='floor' condim='{condim}' friction='0.7 0.7 0.03 0.004 0.004'/></contact>"
    )
    pair = made(model(tmp_path, "", "", contact))
    np.testing.assert_allclose((pair.friction, pair.rolling, pair.torsional), expected)


def test_a_condim_that_cannot_be_is_refused(tmp_path):
    with pytest.raises(ValueError, match="condim is 2; give 1, 3, 4 or 6"):
        model(tmp_path, "condim='2'")


def test_an_exported_model_has_the_condim_that_its_frictions_need(tmp_path):
    scene = dal.Scene("s", material=dal.Material(0.4, rolling_friction=0.002, torsional_friction=0.03))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 0.1))
    scene.add_body("smooth", dal.Sphere(0.1), mass=1.0, position=(1, 0, 0.1), material=dal.Material(0.4))
    dal.export_mjcf(scene, tmp_path / "made.xml")
    read = dal.load_model(tmp_path / "made.xml").scene
    again = read.bodies["ball"].material
    assert (again.friction, again.rolling_friction, again.torsional_friction) == (0.4, 0.002, 0.03)
    assert not read.bodies["smooth"].material.resists_turning
