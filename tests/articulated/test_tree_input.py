"""What cannot be a tree is refused, by name and with a way out."""

import numpy as np
import pytest

import dalembert as dal


def arm():
    scene = dal.Scene("arm")
    body = scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(0, 0, -1))
    scene.hinge("pivot", dal.WORLD, body, at=(0, 0, 0), axis=(0, 1, 0))
    return scene


def test_a_link_that_nothing_holds():
    scene = arm()
    scene.add_link("tool")
    with pytest.raises(ValueError, match="link 'tool': no joint connects it"):
        dal.Articulation(scene)


def test_a_joint_that_moves_no_mass():
    scene = arm()
    tool = scene.add_link("tool")
    scene.hinge("wrist", "bob", tool, at=(0, 0, -1), axis=(1, 0, 0))
    with pytest.raises(ValueError, match="joint 'wrist' moves no mass"):
        dal.Articulation(scene)
    scene.armature("wrist", 0.1)
    assert dal.Articulation(scene).mass_matrix([0.0, 0.0])[1, 1] == pytest.approx(0.1)


def test_an_open_joint():
    scene = arm()
    other = scene.add_body("other", dal.Sphere(0.1), mass=1.0, position=(0, 0, -2))
    scene.ball("neck", "bob", other, at=(0, 0, -1.5), at_b=(0, 0.1, -1.5))
    with pytest.raises(ValueError, match=r"joint 'neck' is open at the start by 0\.1"):
        dal.Articulation(scene)


def test_links_and_armatures_take_joint_coordinates():
    scene = arm()
    scene.armature("pivot", 0.1)
    with pytest.raises(ValueError, match="joint 'pivot' has an armature, which needs joint coordinates"):
        dal.Simulation(scene)
    scene = arm()
    scene.weld("tip", "bob", scene.add_link("tool"), at=(0, 0, -1))
    with pytest.raises(ValueError, match="link 'tool' has no mass, which needs joint coordinates"):
        dal.Simulation(scene)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: a.mass_matrix([0.0, 1.0]), "coordinates"),
        (lambda a: a.bias_force([np.nan], [0.0]), "coordinates"),
        (lambda a: a.bias_force([0.0], [0.0, 0.0]), "speeds"),
        (lambda a: a.forward_dynamics([0.0], [0.0], [np.inf]), "efforts"),
        (lambda a: a.pose([0.0], "head"), "no body or link 'head'"),
        (lambda a: a.jacobian([0.0], "bob", [1.0]), "bob"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call(dal.Articulation(arm()))


def test_names_of_links():
    scene = arm()
    with pytest.raises(ValueError, match="'bob'"):
        scene.add_link("bob")
    scene.add_link("tool")
    with pytest.raises(ValueError, match="a link already has that name"):
        scene.add_body("tool", dal.Sphere(0.1), mass=1.0)
    with pytest.raises(ValueError, match="armature of 'pivot'"):
        scene.armature("pivot", -1.0)


def test_unknown_coordinates():
    with pytest.raises(ValueError, match="coordinates is 'polar'; give one of maximal, joint"):
        dal.Simulation(arm(), coordinates="polar")


def test_what_joint_coordinates_cannot_run():
    with pytest.raises(ValueError, match="use 'rk4'"):
        dal.Simulation(arm(), coordinates="joint", method="symplectic_euler", dt=0.01)
    run = dal.Simulation(arm(), coordinates="joint")
    with pytest.raises(ValueError, match="joint 'pivot' is part of the coordinates"):
        run.release("pivot")


def test_a_joint_that_is_said_to_close_a_loop_is_none_of_the_tree():
    def scene(loop):
        made = dal.Scene("triangle")
        one = made.add_body("one", dal.Sphere(0.1), mass=1.0, position=(0.5, 0, 0))
        two = made.add_body("two", dal.Sphere(0.1), mass=1.0, position=(1.0, 0, 0))
        made.hinge("root", dal.WORLD, one, at=(0, 0, 0), axis=(0, 1, 0))
        made.hinge("middle", one, two, at=(0.75, 0, 0), axis=(0, 1, 0))
        end = made.ball("end", dal.WORLD, two, at=(1.2, 0, 0))
        if loop:
            made.close_loop(end)
        return dal.Articulation(made).speeds

    assert scene(True) == ("root", "middle")
    assert scene(False) == ("root", "end.x", "end.y", "end.z")
