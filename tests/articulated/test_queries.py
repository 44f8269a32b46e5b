"""Inverse kinematics, equilibria, linearization and normal modes, against closed forms and runs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

import dalembert as dal
from dalembert.scene.checks import quaternion_of

from .test_runs import arm_of
from .trees import random_state, random_tree

G = 9.81


def six_joints():
    """An arm of six hinges, the last three through one point."""
    scene = dal.Scene("six joints")
    carrier, heights = dal.WORLD, (0.0, 0.3, 0.7, 1.1, 1.1, 1.1)
    axes = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1))
    for i in range(6):
        body = scene.add_body(f"link {i}", dal.Box(0.1, 0.1, 0.2), mass=1.0, position=(0, 0, heights[i] + 0.1))
        scene.hinge(f"joint {i}", carrier, body, at=(0, 0, heights[i]), axis=axes[i])
        carrier = body
    tool = scene.add_link("tool", position=(0, 0, 1.4))
    scene.weld("flange", carrier, tool, at=(0, 0, 1.3))
    return dal.Articulation(scene)


@pytest.mark.parametrize("seed", range(5))
def test_an_arm_reaches_a_pose(seed):
    arm = six_joints()
    rng = np.random.default_rng(seed)
    u = rng.uniform(-1.0, 1.0, 6)
    place, rotation = arm.pose(u, "tool")
    quaternion = quaternion_of(rotation)
    found = arm.inverse_kinematics(u + 0.3 * rng.normal(size=6), {"tool": (place, quaternion)})
    again, turned = arm.pose(found, "tool")
    assert_allclose(again, place, atol=1e-9)
    assert_allclose(turned, rotation, atol=1e-8)


def test_a_free_body_and_balls_reach_points():
    arm = dal.Articulation(random_tree(3))
    u, _ = random_state(arm, 3)
    wanted = {name: arm.pose(u, name)[0] for name in ("base", "b1", "b6")}
    start = arm.displaced(u, 0.2 * np.random.default_rng(1).normal(size=len(arm.speeds)))
    found = arm.inverse_kinematics(start, wanted)
    for name, place in wanted.items():
        assert_allclose(arm.pose(found, name)[0], place, atol=1e-9)


def test_what_is_out_of_reach_is_told():
    with pytest.raises(ValueError, match=r"no coordinates near the start reach tool; the smallest error is"):
        six_joints().inverse_kinematics(np.zeros(6) + 0.1, {"tool": (3.0, 0.0, 0.0)})


def test_a_pendulum_on_a_spring_rests_where_its_moments_balance():
    scene = arm_of(1, moving=False)
    scene.torsion_spring("spring", "joint 0", stiffness=1.5, rest=1.0)
    arm = dal.Articulation(scene)
    u = arm.equilibrium([0.2])
    assert_allclose(1.5 * (1.0 - u[0]), G * 0.25 * np.sin(u[0]), rtol=1e-9)
    assert_allclose(arm.accelerations(u, [0.0]), 0.0, atol=1e-9)


def test_modes_of_a_double_pendulum_are_those_of_the_closed_form():
    """Two point masses on threads of one length: ω² = (2 ± √2) g/l."""
    scene = dal.Scene("double")
    small = dal.Sphere(1e-4)
    one = scene.add_body("one", small, mass=1.0, position=(0, 0, -0.5))
    two = scene.add_body("two", small, mass=1.0, position=(0, 0, -1.0))
    scene.hinge("upper", dal.WORLD, one, at=(0, 0, 0), axis=(0, 1, 0))
    scene.hinge("lower", one, two, at=(0, 0, -0.5), axis=(0, 1, 0))
    modes = dal.Articulation(scene).normal_modes([0.0, 0.0])
    assert_allclose(modes.squares, (2.0 + np.array([-1.0, 1.0]) * np.sqrt(2.0)) * G / 0.5, rtol=1e-6)
    mass = dal.Articulation(scene).mass_matrix([0.0, 0.0])
    assert_allclose(modes.shapes.T @ mass @ modes.shapes, np.eye(2), atol=1e-9)
    assert np.isnan(dal.Articulation(scene).normal_modes([np.pi, 0.0]).frequencies).all()


def test_modes_along_a_loop_are_those_of_what_it_leaves_free():
    """A plate on two parallel threads of length l swings as a point on one, ω² = g/l."""
    scene = dal.Scene("swing")
    plate = scene.add_body("plate", dal.Box(1.0, 0.2, 0.1), mass=3.0, position=(0, 0, -0.8))
    for side, x in (("left", -0.4), ("right", 0.4)):
        rod = scene.add_body(side, dal.Sphere(1e-3), mass=1e-9, position=(x, 0, -0.4))
        scene.hinge(side + " top", dal.WORLD, rod, at=(x, 0, 0), axis=(0, 1, 0))
        scene.hinge(side + " end", rod, plate, at=(x, 0, -0.8), axis=(0, 1, 0))
    arm = dal.Articulation(scene)
    modes = arm.normal_modes(arm.start)
    assert modes.squares.shape == (1,)
    assert_allclose(modes.squares, G / 0.8, rtol=1e-6)


def test_a_linearization_tells_how_small_changes_grow():
    scene = arm_of(3)
    scene.torsion_spring("spring", "joint 1", stiffness=3.0, damping=0.4)
    arm, h = dal.Articulation(scene), 0.05
    efforts = np.array([0.3, -0.2, 0.1])
    u, w = np.array([0.3, -0.4, 0.5]), np.zeros(3)
    u = arm.equilibrium(u)
    a, b = arm.linearize(u, w)
    change = 1e-5 * np.array([1.0, -2.0, 0.5, 3.0, 1.0, -1.0])
    ends = [propagate(arm, u, w, 0.0 * efforts, h), propagate(arm, u + change[:3], w + change[3:], 1e-5 * efforts, h)]
    system = np.zeros((9, 9))
    system[:6, :6], system[:6, 6:] = a, b
    expected = (expm(system * h) @ [*change, *(1e-5 * efforts)])[:6]
    assert_allclose(ends[1] - ends[0], expected, atol=1e-4 * np.abs(expected).max())


def propagate(arm, u, w, efforts, duration):
    def rate(t, x):
        return np.concatenate([arm.coordinate_rates(x[:3], x[3:]), arm.accelerations(x[:3], x[3:], efforts)])

    x, steps = np.concatenate([u, w]), 50
    h = duration / steps
    for _ in range(steps):
        k1 = rate(0, x)
        k2 = rate(0, x + 0.5 * h * k1)
        k3 = rate(0, x + 0.5 * h * k2)
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + rate(0, x + h * k3))
    return x


def test_turns_of_a_spinning_body_are_linearized_with_their_axes():
    scene = dal.Scene("gyroscope", gravity=(0, 0, 0))
    scene.add_body("top", dal.Box(0.1, 0.2, 0.3), mass=1.0)
    arm = dal.Articulation(scene)
    u, w = random_state(arm, 4)
    a, _ = arm.linearize(u, w)
    d = 1e-6 * np.random.default_rng(2).normal(size=6)
    h = 1e-4
    places = [arm.displaced(u, d), u]
    ahead = [arm.displaced(p, h * w) for p in places]
    turned = [arm.pose(p, "top")[1] for p in ahead]
    small = 0.5 * (turned[0] @ turned[1].T - turned[1] @ turned[0].T)
    left = np.array([small[2, 1], small[0, 2], small[1, 0]])
    assert_allclose((left - d[3:]) / h, (a[:6, :6] @ d)[3:], atol=1e-8)
    assert_allclose(a[3:6, 3:6] @ w[3:], 0.0, atol=1e-12)


def test_forces_of_the_scene_and_loops_act_in_accelerations():
    scene = arm_of(3)
    scene.spring("line", dal.WORLD, "link 2", at_a=(1, 0, 0), at_b=(0, 0, -1.4), stiffness=20.0)
    arm = dal.Articulation(scene)
    u, w = random_state(arm, 3)
    assert not np.allclose(arm.accelerations(u, w), arm.forward_dynamics(u, w))
    plain = dal.Articulation(arm_of(3))
    assert_allclose(
        plain.accelerations(u, w, [1.0, 2.0, 3.0]), plain.forward_dynamics(u, w, [1.0, 2.0, 3.0]), rtol=1e-10
    )
