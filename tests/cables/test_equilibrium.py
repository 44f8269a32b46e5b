"""Static equilibrium against formulas, other solvers, and long damped runs."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq

import dalembert as dal

G = 9.81


def test_pendulum_hangs_and_its_upright_pose_is_unstable():
    scene = dal.Scene("pendulum")
    rod = scene.add_body("rod", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=(0, 0, 0.5))
    scene.hinge("pivot", dal.WORLD, rod, (0, 0, 0), (0, 1, 0))
    upright = dal.equilibrium(scene, stable=False)
    assert upright.converged and not upright.stable
    assert upright.stiffness == pytest.approx([-0.5 * G], rel=1e-6) or upright.stiffness[0] < 0.0
    hanging = dal.equilibrium(scene)
    assert hanging.converged and hanging.stable and hanging.neutral == 0
    np.testing.assert_allclose(hanging.position, [[0, 0, -0.5]], atol=1e-8)
    force, torque = hanging.joint_forces["pivot"]
    np.testing.assert_allclose(force, [0, 0, G], atol=1e-8)
    np.testing.assert_allclose(torque, 0.0, atol=1e-8)


def test_chain_between_two_points_is_a_discrete_catenary():
    """Links of equal weight: the slopes of the tensions at the joints are in arithmetic progression."""
    n, span = 8, 1.4
    link = 2.0 / n
    height = np.sqrt(1.0 - (0.5 * span) ** 2)
    points = np.array([[span * i / n, 0.0, -height * (1.0 - abs(2.0 * i / n - 1.0))] for i in range(n + 1)])
    scene, before = dal.Scene("chain"), dal.WORLD
    for i in range(n):
        a, b = points[i], points[i + 1]
        half = 0.5 * np.arctan2(a[2] - b[2], b[0] - a[0])
        q = (np.cos(half), 0.0, np.sin(half), 0.0)
        body = scene.add_body(f"link {i}", dal.Box(link, 0.02, 0.02), mass=0.5, position=0.5 * (a + b), orientation=q)
        scene.hinge(f"joint {i}", before, body, a, (0, 1, 0))
        before = body
    scene.ball("end", dal.WORLD, before, points[-1])
    found = dal.equilibrium(scene)
    assert found.converged and found.stable
    # By symmetry link i has tan of its slope proportional to i − (n − 1)/2; one unknown, the horizontal tension.
    weights = np.arange(n) - 0.5 * (n - 1)
    tension = brentq(lambda h: (link / np.hypot(1.0, 0.5 * G * weights / h)).sum() - span, 1e-3, 1e3)
    slopes = np.arctan(0.5 * G * weights / tension)
    ends = np.cumsum(np.column_stack([link * np.cos(slopes), link * np.sin(slopes)]), axis=0)
    middles = ends - 0.5 * link * np.column_stack([np.cos(slopes), np.sin(slopes)])
    np.testing.assert_allclose(found.position[:, [0, 2]], middles, atol=1e-7)
    assert abs(found.joint_forces["end"][0][0]) == pytest.approx(tension, rel=1e-7)


def four_bar(damped):
    """A four-bar linkage with a spring at its first joint, in a plane."""
    scene = dal.Scene("four-bar")
    corners = np.array([[0, 0, 0], [0, 0, 0.4], [0.9, 0, 0.7], [0.8, 0, 0]])
    bodies = []
    for i, (a, b) in enumerate(pairwise(corners)):
        d = b - a
        half = 0.5 * np.arctan2(-d[2], d[0])
        bodies.append(
            scene.add_body(
                f"bar {i}", dal.Box(float(np.linalg.norm(d)), 0.02, 0.02), mass=1.0 + i, position=0.5 * (a + b),
                orientation=(np.cos(half), 0, np.sin(half), 0),
            )
        )  # fmt: skip
    for i, (a, b) in enumerate(
        [(dal.WORLD, bodies[0]), (bodies[0], bodies[1]), (bodies[1], bodies[2]), (bodies[2], dal.WORLD)]
    ):
        scene.hinge(f"hinge {i}", a, b, corners[i], (0, 1, 0))
    scene.torsion_spring("spring", "hinge 0", stiffness=30.0, damping=6.0 if damped else 0.0)
    return scene


def test_four_bar_linkage_with_a_spring_rests_where_a_damped_run_ends():
    found = dal.equilibrium(four_bar(False))
    assert found.converged and found.stable
    run = dal.simulate(four_bar(True), 30.0, method="dormand_prince", rtol=1e-8, assemble=True)
    np.testing.assert_allclose(found.position, run.state.position, atol=1e-6)


def test_tensegrity_prism_twists_by_thirty_degrees():
    """Three struts, and cables with prestress that are as good as inextensible (R. Connelly, A. Back 1998): the triangles
    turn against each other by 90° − 180°/3."""
    radius, height, twist = 1.0, 1.5, np.radians(150.0 + 12.0)
    angles = 2.0 * np.pi * np.arange(3) / 3
    bottom = [np.array([radius * np.cos(a), radius * np.sin(a), 0.0]) for a in angles]
    top = [np.array([radius * np.cos(a + twist), radius * np.sin(a + twist), height]) for a in angles]
    scene = dal.Scene("prism", gravity=(0, 0, 0))
    struts = []
    for i in range(3):
        d = top[i] - bottom[i]
        axis = np.cross([0, 0, 1.0], d / np.linalg.norm(d))
        half = 0.5 * np.arccos(d[2] / np.linalg.norm(d))
        q = (np.cos(half), *(np.sin(half) * axis / np.linalg.norm(axis)))
        length = float(np.linalg.norm(d))
        struts.append(
            scene.add_body(
                f"strut {i}", dal.Capsule(0.02, length), mass=1.0, position=0.5 * (top[i] + bottom[i]), orientation=q
            )
        )
    for i in range(3):
        j = (i + 1) % 3
        for name, a, b, rest in (
            ("bottom", (struts[i], bottom[i]), (struts[j], bottom[j]), 1.70),
            ("top", (struts[i], top[i]), (struts[j], top[j]), 1.70),
            ("side", (struts[j], bottom[j]), (struts[i], top[i]), 1.45),
        ):
            scene.cable(f"{name} {i}", [a, b], length=rest, stretch=5e3)
    found = dal.equilibrium(scene)
    assert found.converged and found.stable
    assert found.neutral == 6 + 3  # it floats, and each strut may turn about itself
    assert min(found.tensions.values()) > 10.0
    run = dal.Simulation(scene, method="rk4", dt=1e-3)
    run.state.position[:], run.state.orientation[:] = found.position, found.orientation
    ends = []
    for k in range(3):
        half = 0.5 * float(np.linalg.norm(top[k] - bottom[k]))
        w, x, y, z = found.orientation[k]
        along = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
        ends.append((found.position[k] - half * along, found.position[k] + half * along))
    low, high = np.array([e[0] for e in ends]), np.array([e[1] for e in ends])
    normal = np.cross(low[1] - low[0], low[2] - low[0])
    normal /= np.linalg.norm(normal)
    one, other = low[0] - low.mean(axis=0), high[0] - high.mean(axis=0)
    angle = np.degrees(np.arctan2(np.cross(one, other) @ normal, one @ other)) % 360.0
    assert min(abs(angle - 150.0), abs(angle - 210.0)) < 0.05


@pytest.mark.parametrize("slack", [False, True])
def test_platform_on_three_cables(slack):
    """By symmetry each cable carries a third of the weight."""
    scene = dal.Scene("platform")
    plate = scene.add_body("plate", dal.Cylinder(1.0, 0.1), mass=6.0, position=(0.05, 0, -1.5))
    corners = [np.array([np.cos(a), np.sin(a), 0.0]) for a in 2.0 * np.pi * np.arange(3) / 3]
    for i, c in enumerate(corners):
        more = {"slack": True} if slack else {"stretch": 1e5}
        scene.cable(f"cable {i}", [(dal.WORLD, 0.5 * c), (plate, c + (0.05, 0, -1.5))], length=1.7, **more)
    found = dal.equilibrium(scene)
    assert found.converged and found.stable
    force = 6.0 * G / 3
    drop = np.sqrt(1.7**2 - 0.25)
    for tension in found.tensions.values():
        if slack:
            assert tension == pytest.approx(force * 1.7 / drop, rel=1e-6)
        else:
            assert tension == pytest.approx(force * 1.7 / drop, rel=1e-3)
    assert found.position[0, 2] == pytest.approx(-drop, abs=1e-6 if slack else 2e-3)


# Motors ---------------------------------------------------------------------------------------------------------------


def motorized(**given):
    """A rod of 1 kg and 1 m that hangs on a hinge at its end, with a motor."""
    scene = dal.Scene("arm")
    scene.add_body("arm", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=(0, 0, -0.5))
    scene.hinge("shoulder", dal.WORLD, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    scene.motor("drive", "shoulder", **given)
    return scene


@pytest.mark.parametrize(
    "given, effort",
    [
        ({"effort": 2.0}, lambda s: 2.0),
        ({"speed": 4.0, "damping": 0.5}, lambda s: 2.0),
        ({"stiffness": 10.0, "position": 0.6}, lambda s: 10.0 * (0.6 - s)),
    ],
)
def test_a_motor_holds_a_rod_where_its_torque_balances_the_weight(given, effort):
    """τ(s) = ½ m g l sin s."""
    s = brentq(lambda s: effort(s) - 0.5 * G * np.sin(s), 0.0, 1.5, xtol=1e-14)
    found = dal.equilibrium(motorized(**given))
    assert found.stable
    np.testing.assert_allclose(found.position[0], [-0.5 * np.sin(s), 0.0, -0.5 * np.cos(s)], atol=1e-8)


def test_an_ideal_motor_has_no_equilibrium_unless_its_joint_is_held():
    with pytest.raises(ValueError, match=r"motor 'drive' has a speed but no damping; hold its joint"):
        dal.equilibrium(motorized(speed=1.0))
