"""Angles in degrees by one helper, colours by name, obstacles wherever a body or the world is named."""

import numpy as np
import pytest
from matplotlib.colors import BASE_COLORS, CSS4_COLORS, TABLEAU_COLORS, to_hex

import dalembert as dal
from dalembert.scene.colors import NAMES, color_text


def test_degrees_are_radians_after_that():
    assert dal.degrees(180) == pytest.approx(np.pi) and isinstance(dal.degrees(1), float)
    np.testing.assert_allclose(dal.degrees([[0, 90], [-45, 360]]), np.radians([[0, 90], [-45, 360]]))
    for wrong in ("90", None, np.nan, [1, np.inf], True, 1j):
        with pytest.raises(ValueError, match="degrees: the angle is"):
            dal.degrees(wrong)


def test_colors_have_the_names_of_css_and_matplotlib():
    for name, value in {**CSS4_COLORS, **TABLEAU_COLORS, **BASE_COLORS}.items():
        assert color_text("it", name) == to_hex(value), name
    assert len(NAMES) == len(CSS4_COLORS) + len(TABLEAU_COLORS) + len(BASE_COLORS)
    for same in ("SteelBlue", "steel blue", "steel-blue", "#4682b4", "#4682B4"):
        assert color_text("it", same).lower() == "#4682b4"
    assert color_text("it", "#fa0") == "#ffaa00"


def test_everything_that_has_a_color_takes_a_name(tmp_path):
    scene = dal.Scene()
    assert scene.add_body("b", dal.Sphere(1), mass=1, color="tomato").color == "#ff6347"
    assert scene.add_body("k", dal.Sphere(1), motion="set", color="navy").color == "#000080"
    assert scene.add_obstacle("o", dal.HalfSpace(), color="gray").color == "#808080"
    assert scene.add_particles("p", (0, 0, 5), mass=1, color="C").color == "#00bfbf"
    vertices, faces = dal.triangle_grid(1, 1, 3, 3)
    cloth = scene.cloth("c", vertices, faces, density=1, stretch=1, shear=1, color="gold")
    assert cloth.color == "#ffd700"
    for add in (
        lambda: scene.add_obstacle("x", dal.HalfSpace(), color="grey-ish"),
        lambda: scene.add_particles("x", (0, 0, 5), mass=1, color="gren"),
        lambda: scene.add_body("x", dal.Sphere(1), motion="set", color=(1, 0, 0)),
    ):
        with pytest.raises(ValueError, match=r"'x': color is .*(did you mean|give a name)"):
            add()


def fixed_to(end):
    scene = dal.Scene("fixed")
    wall = scene.add_obstacle("wall", dal.Box(1, 1, 1), position=(0, 0, 5))
    scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(0.5, 0, -1))
    scene.add_particles("dust", (0.2, 0, 0), mass=0.1)
    end = wall if end == "object" else end
    scene.hinge("pin", end, "bob", at=(0, 0, 0), axis=(0, 1, 0))
    scene.spring("coil", end, "bob", (1, 0, 0), (0.5, 0, -1), stiffness=10.0)
    scene.spring("thread", scene.particles["dust"][0], end, None, (0, 0, 0), stiffness=10.0)
    return dal.simulate(scene, 0.5, method="rk4", dt=0.01).state.y


@pytest.mark.parametrize("end", ["wall", "object"])
def test_what_is_fixed_to_an_obstacle_is_fixed_to_the_world(end):
    assert fixed_to(end).tobytes() == fixed_to(dal.WORLD).tobytes()


def test_an_obstacle_of_another_scene_and_one_with_itself():
    one, other = dal.Scene(), dal.Scene()
    wall = one.add_obstacle("wall", dal.Box(1, 1, 1))
    other.add_body("bob", dal.Sphere(0.1), mass=1.0)
    with pytest.raises(ValueError, match="obstacle 'wall' belongs to another scene"):
        other.ball("b", wall, "bob", at=(0, 0, 0))
    with pytest.raises(ValueError, match="'b': both ends are 'world'"):
        one.ball("b", wall, dal.WORLD, at=(0, 0, 0))


def test_a_conveyor_is_a_body_that_moves_and_not_the_world():
    scene = dal.Scene(material=dal.Material(0.5))
    belt = scene.add_obstacle("belt", dal.Box(1, 1, 0.1), motion="set")
    scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(0, 0, 1))
    joint = scene.ball("b", "belt", "bob", at=(0, 0, 0.5))
    assert joint.a is belt
