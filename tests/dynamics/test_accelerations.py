"""The constraint system: accelerations against a dense solution of the same mechanism by NumPy."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.model.compile import compile_scene

from .mechanism import Measured

GRAVITY = np.array([0.4, -0.3, -9.5])


def body(scene, name, rng, position):
    return scene.add_body(
        name, dal.Box(*rng.uniform(0.2, 0.6, 3)), mass=rng.uniform(0.5, 2.0), position=position,
        orientation=rng.normal(size=4),
    )  # fmt: skip


def join(scene, name, kind, a, b, at, rng):
    axis = rng.normal(size=3)
    if kind == "rod":
        scene.rod(name, a, b, at, at + 0.3 * rng.normal(size=3))
    elif kind in ("ball", "weld"):
        getattr(scene, kind)(name, a, b, at)
    elif kind == "universal":
        scene.universal(name, a, b, at, axis, np.cross(axis, rng.normal(size=3)))
    else:
        getattr(scene, kind)(name, a, b, at, axis)


KINDS = ("ball", "hinge", "slider", "cylindrical", "universal", "weld", "rod", "point_on_line", "point_on_plane")


def tree(seed, count=12):
    """Random bodies, each joined to an earlier one or to the world."""
    rng = np.random.default_rng(seed)
    scene = dal.Scene("tree", gravity=GRAVITY)
    bodies = []
    for k in range(count):
        bodies.append(body(scene, f"b{k}", rng, rng.uniform(-1, 1, 3)))
        parent = dal.WORLD if k == 0 else bodies[rng.integers(max(0, k - 3), k)]
        join(scene, f"j{k}", KINDS[rng.integers(len(KINDS))], parent, bodies[k], rng.uniform(-1, 1, 3), rng)
    return scene


def loops(seed):
    """A tree of balls and hinges with further rods and balls across it."""
    rng = np.random.default_rng(seed)
    scene = dal.Scene("loops", gravity=GRAVITY)
    bodies = [body(scene, f"b{k}", rng, rng.uniform(-1, 1, 3)) for k in range(9)]
    for k in range(9):
        join(scene, f"j{k}", ("ball", "universal")[k % 2], bodies[k - 1] if k else dal.WORLD, bodies[k],
             rng.uniform(-1, 1, 3), rng)  # fmt: skip
    for k, (a, b) in enumerate([(0, 4), (1, 6), (3, 8), (5, 7)]):
        join(scene, f"l{k}", "rod", bodies[a], bodies[b], rng.uniform(-1, 1, 3), rng)
    scene.ball("end", bodies[8], dal.WORLD, rng.uniform(-1, 1, 3))
    return scene


def star(seed):
    """One body with seven arms, which makes it a hub, and the arms' ends joined to a second hub by rods."""
    rng = np.random.default_rng(seed)
    scene = dal.Scene("star", gravity=GRAVITY)
    hub = body(scene, "hub", rng, np.zeros(3))
    far = body(scene, "far", rng, np.array([0.0, 0.0, 3.0]))
    for k in range(7):
        arm = body(scene, f"arm{k}", rng, rng.uniform(-1, 1, 3))
        join(scene, f"j{k}", ("ball", "hinge", "universal")[k % 3], hub, arm, rng.uniform(-1, 1, 3), rng)
        if k < 5:
            join(scene, f"r{k}", "rod", arm, far, rng.uniform(-1, 1, 3), rng)
    scene.rod("between hubs", hub, far, (0.1, 0.2, 0.3), (0.0, 0.4, 2.7))
    return scene


def wagon():
    scene = dal.Scene("wagon", gravity=GRAVITY)
    chassis = scene.add_body("chassis", dal.Box(2, 1, 0.3), mass=5.0, orientation=(0.9, 0.1, 0.3, 0.2))
    for k, (x, y) in enumerate([(1, 0.6), (1, -0.6), (-1, 0.6), (-1, -0.6)]):
        wheel = scene.add_body(f"wheel{k}", dal.Cylinder(0.3, 0.1), mass=0.6, position=(x, y, -0.2))
        scene.hinge(f"axle{k}", chassis, wheel, (x, y, -0.2), (0, 1, 0))
    scene.gear("differential", "axle0", "axle1", -1.0)
    return scene


def platform():
    """A body on four legs: a universal joint and a ball are seven rows on the six freedoms of a leg."""
    rng = np.random.default_rng(6)
    scene = dal.Scene("platform", gravity=GRAVITY)
    top = body(scene, "top", rng, np.array([0.0, 0.0, 1.0]))
    for k in range(4):
        foot, head = rng.uniform(-1, 1, 3) - [0, 0, 1], rng.uniform(-1, 1, 3) + [0, 0, 1]
        leg = body(scene, f"leg{k}", rng, 0.5 * (foot + head) + 0.1 * rng.normal(size=3))
        join(scene, f"foot{k}", "universal", dal.WORLD, leg, foot, rng)
        join(scene, f"head{k}", "ball", leg, top, head, rng)
    return scene


def double_weld():
    rng = np.random.default_rng(1)
    scene = dal.Scene("double weld", gravity=GRAVITY)
    a, b, c = (body(scene, name, rng, rng.uniform(-1, 1, 3)) for name in "abc")
    scene.hinge("root", dal.WORLD, a, (0, 0, 0), (1, 2, 3))
    scene.weld("one", a, b, (0.5, 0, 0))
    scene.weld("two", a, b, (0, 0.4, 0.1))
    scene.ball("last", b, c, (1, 1, 0))
    return scene


def four_bar(hubs=False):
    """A planar loop of four hinges: three constraints too many."""
    scene = dal.Scene("four bar", gravity=(0, 0, -9.81))
    corners = np.array([[0, 0, 0], [0.3, 0, 1.0], [1.6, 0, 1.3], [1.5, 0, 0]], float)
    names = ["crank", "coupler", "rocker"]
    links = []
    for k, name in enumerate(names):
        d = corners[k + 1] - corners[k]
        half = 0.5 * np.arctan2(d[0], d[2])
        links.append(
            scene.add_body(name, dal.Box(0.1, 0.1, np.linalg.norm(d)), mass=1.0 + k,
                           position=0.5 * (corners[k] + corners[k + 1]), orientation=(np.cos(half), 0, np.sin(half), 0))
        )  # fmt: skip
    ends = [dal.WORLD, *links, dal.WORLD]
    for k in range(4):
        scene.hinge(f"pin{k}", ends[k], ends[k + 1], corners[k], (0, 1, 0))
    if hubs:
        for k in range(3):
            extra = scene.add_body(f"extra{k}", dal.Sphere(0.1), mass=0.3, position=(0.2 * k, 0.5, 1))
            scene.weld(f"first{k}", links[1], extra, (0.2 * k, 0.3, 1))
            scene.weld(f"second{k}", links[1], extra, (0.2 * k, 0.2, 1.4))
    return scene


SCENES = {
    **{f"tree {seed}": lambda seed=seed: tree(seed) for seed in range(4)},
    "long tree": lambda: tree(9, 30),
    "loops": lambda: loops(2),
    "star": lambda: star(4),
    "wagon": wagon,
    "platform": platform,
}
REDUNDANT = {"double weld": double_weld, "four bar": four_bar, "four bar with a hub": lambda: four_bar(True)}


def moving(scene):
    measured = Measured(scene)
    rng = np.random.default_rng(8)
    v, w = rng.uniform(-1, 1, (2, measured.count, 3))
    return measured, measured.consistent(measured.y, v, w)


def dense(measured, y, bias):
    """Accelerations by Gauss' principle, from J, W, the applied forces and the bias."""
    inverse, j, velocity = measured.inverse_mass(y), measured.jacobian(y), measured.velocity(y).reshape(-1, 6)
    force = measured.applied(y).reshape(-1, 6)
    spin = y[: 13 * measured.count].reshape(-1, 13)[:, 10:13]
    force[:, 3:] -= np.cross(velocity[:, 3:], spin)
    free = inverse @ force.ravel()
    multipliers = np.linalg.lstsq(j @ inverse @ j.T, -bias - j @ free, rcond=1e-11)[0]
    return free + inverse @ j.T @ multipliers


@pytest.mark.parametrize("name", [*SCENES, *REDUNDANT])
def test_accelerations_are_those_of_a_dense_solution(name):
    measured, y = moving({**SCENES, **REDUNDANT}[name]())
    bias = measured.measure(y).bias.copy()
    expected = dense(measured, y, bias)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(measured.acceleration(y), expected, rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize("name", [*SCENES, *REDUNDANT])
def test_joints_stay_closed_in_their_second_derivative(name):
    measured, y = moving({**SCENES, **REDUNDANT}[name]())
    bias = measured.measure(y).bias.copy()
    acceleration = measured.acceleration(y)
    residual = measured.jacobian(y) @ acceleration + bias
    assert np.abs(residual).max() <= 1e-12 * np.abs(acceleration).max()


@pytest.mark.parametrize("name", [*SCENES, *REDUNDANT])
def test_joints_do_no_work(name):
    measured, y = moving({**SCENES, **REDUNDANT}[name]())
    measured.measure(y)
    kin = measured.system.kinematics[: measured.count]
    power = (kin.linear * kin.v).sum() + (kin.angular * kin.omega).sum()
    scale = np.abs(kin.linear * kin.v).sum() + np.abs(kin.angular * kin.omega).sum()
    assert abs(power) <= 2e-12 * scale


@pytest.mark.parametrize("name", REDUNDANT)
def test_redundant_constraints_are_noticed(name):
    measured, y = moving(REDUNDANT[name]())
    measured.measure(y)
    settings = measured.system.settings[0]
    assert settings.refactored > 0 and settings.regularization > 0.0


@pytest.mark.parametrize("name", [name for name in SCENES if name != "platform"])
def test_independent_constraints_need_no_regularization(name):
    measured, y = moving(SCENES[name]())
    measured.measure(y)
    settings = measured.system.settings[0]
    assert settings.refactored == 0 and settings.regularization == 0.0


def test_bodies_of_many_joints_are_hubs_where_the_others_can_go_first():
    """A leg of the platform, and a crank, have more rows than freedoms: their blocks alone would be singular."""
    count = {name: len(compile_scene(make()).graph.hubs) for name, make in {**SCENES, **REDUNDANT}.items()}
    assert count["star"] == 2 and count["wagon"] == 1
    assert count["platform"] == 0 and count["four bar with a hub"] == 0


def test_workspace_is_written_before_it_is_read():
    """All of it is NaN at first; a second evaluation of another state in between changes no bit."""
    measured, y = moving(star(4))
    first = measured.derivative(y)
    assert np.isfinite(first).all()
    measured.derivative(measured.y)
    np.testing.assert_array_equal(measured.derivative(y), first)
