"""Every kind of joint: its Jacobian and its bias against finite differences of the constraint itself."""

import numba
import numpy as np
import pytest

import dalembert as dal

from .mechanism import Measured, derivative_of, gradient

TOLERANCE = 1e-11
TILT = np.array([0.8, -0.3, 0.4, 0.33]) / np.linalg.norm([0.8, -0.3, 0.4, 0.33])
AT = np.array([0.25, -0.1, 0.4])
AXIS = np.array([0.4, 0.7, -0.5]) / np.linalg.norm([0.4, 0.7, -0.5])
ACROSS = np.cross(AXIS, [1.0, 0.0, 0.0]) / np.linalg.norm(np.cross(AXIS, [1.0, 0.0, 0.0]))


def two_bodies(world):
    """A scene, and the ends of a joint: two bodies that stand askew, or the world and a body."""
    scene = dal.Scene("joint", gravity=(0.3, -0.2, -9.0))
    inertia = np.diag([0.3, 0.5, 0.6]) + 0.05 * (np.ones((3, 3)) - np.eye(3))
    one = scene.add_body("one", mass=1.3, inertia=inertia, position=(0.1, 0.5, -0.3), orientation=TILT)
    two = scene.add_body("two", mass=0.7, inertia=(0.2, 0.3, 0.25), position=(-0.6, 0.3, 0.2), orientation=TILT[::-1])
    return scene, dal.WORLD if world else one, two


def helix(s):
    return (
        np.array([0.5 * np.cos(s), 0.5 * np.sin(s), 0.2 * s]) + AT - np.array([0.5 * np.cos(1), 0.5 * np.sin(1), 0.2])
    )


def on_sphere(x, q):
    """Distance of the centres, squared, and a component of the second quaternion against one of the first."""
    d = x[1] - x[0]
    p, r = q[0], q[1]
    return np.array([
        (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) / 2.0,
        p[0] * r[1] - p[1] * r[0] + p[2] * r[3] * r[3],
    ])  # fmt: skip


def pulley(x, q):
    return np.array([np.sqrt(x[0, 0] ** 2 + x[0, 1] ** 2 + x[0, 2] ** 2)])


def pulley_jacobian(x, q):
    out = np.zeros((1, 6))
    out[0, :3] = x[0] / np.sqrt((x[0] ** 2).sum())
    return out


def pulley_bias(x, q, v, w):
    length = np.sqrt((x[0] ** 2).sum())
    along = (x[0] * v[0]).sum() / length
    return np.array([((v[0] ** 2).sum() - along**2) / length])


SIMPLE = {
    "ball": lambda scene, a, b: scene.ball("j", a, b, AT),
    "hinge": lambda scene, a, b: scene.hinge("j", a, b, AT, AXIS),
    "slider": lambda scene, a, b: scene.slider("j", a, b, AT, AXIS),
    "cylindrical": lambda scene, a, b: scene.cylindrical("j", a, b, AT, AXIS),
    "universal": lambda scene, a, b: scene.universal("j", a, b, AT, AXIS, ACROSS),
    "weld": lambda scene, a, b: scene.weld("j", a, b, AT),
    "rod": lambda scene, a, b: scene.rod("j", a, b, AT, AT + np.array([0.2, 0.3, -0.4])),
    "point_on_line": lambda scene, a, b: scene.point_on_line("j", a, b, AT, AXIS),
    "point_on_plane": lambda scene, a, b: scene.point_on_plane("j", a, b, AT, AXIS),
    "point_on_curve": lambda scene, a, b: scene.point_on_curve("j", a, b, helix(1.1), dal.Curve(helix, 0.0, 3.0)),
}
ROWS = {"ball": 3, "hinge": 5, "slider": 5, "cylindrical": 4, "universal": 4, "weld": 6, "rod": 1, "point_on_line": 2,
        "point_on_plane": 1, "point_on_curve": 2}  # fmt: skip


def geared(world, second):
    scene, a, b = two_bodies(world)
    third = scene.add_body(
        "three", mass=0.4, inertia=(0.1, 0.2, 0.15), position=(0.4, 0.4, 0.4), orientation=(1, 2, 0, 1)
    )
    scene.hinge("first", a, b, AT, AXIS)
    if second == "hinge":
        scene.hinge("second", a, third, (0.6, 0.2, 0.1), (0.1, 0.5, 0.8))
    else:
        scene.slider("second", a, third, (0.6, 0.2, 0.1), (0.1, 0.5, 0.8))
    scene.gear("j", "first", "second", -0.7)
    return scene


def custom(kind, compiled):
    scene, one, two = two_bodies(False)
    wrap = numba.njit if compiled else lambda f: f
    if kind == "supplied":
        scene.constraint("j", [two], wrap(pulley), 1, jacobian=wrap(pulley_jacobian), bias=wrap(pulley_bias))
    else:
        scene.constraint("j", [one, two], wrap(on_sphere), 2)
    return scene


def scenes():
    for kind, add in SIMPLE.items():
        for world in (False, True):
            scene, a, b = two_bodies(world)
            add(scene, a, b)
            yield pytest.param(scene, ROWS[kind], id=f"{kind}-{'world' if world else 'body'}")
    scene, a, b = two_bodies(True)
    scene.hinge("j", b, a, AT, AXIS)
    yield pytest.param(scene, 5, id="hinge-world second")
    for world in (False, True):
        for second in ("hinge", "slider"):
            yield pytest.param(geared(world, second), 11, id=f"gear-{second}-{'world' if world else 'body'}")
    for kind, rows in (("supplied", 1), ("automatic", 2)):
        yield pytest.param(custom(kind, False), rows, id=f"constraint-{kind}")


CASES = list(scenes())


def velocities(count):
    rng = np.random.default_rng(3)
    return rng.uniform(-1, 1, (count, 3)), rng.uniform(-1, 1, (count, 3))


@pytest.mark.parametrize("scene, rows", CASES)
def test_joint_is_closed_where_it_was_built(scene, rows):
    measured = Measured(scene)
    error = measured.error(measured.y)
    assert error.size == rows
    if "constraint" not in {joint.kind for joint in scene.joints.values()}:
        np.testing.assert_allclose(error, 0.0, atol=3e-15)


@pytest.mark.parametrize("scene, rows", CASES)
def test_jacobian_is_the_derivative_of_the_error(scene, rows):
    measured = Measured(scene)
    expected = gradient(measured, measured.y, measured.error)
    np.testing.assert_allclose(measured.jacobian(measured.y), expected, atol=TOLERANCE)


@pytest.mark.parametrize("scene, rows", CASES)
def test_jacobian_is_the_derivative_of_the_error_in_an_open_pose(scene, rows):
    """Projection starts from poses that do not fit. (The rows of a curve hold on it; an angle's with its axes in line.)"""
    if {"point_on_curve", "gear"} & {joint.kind for joint in scene.joints.values()}:
        return
    measured = Measured(scene)
    rng = np.random.default_rng(5)
    shift, turn = 0.2 * rng.uniform(-1, 1, (2, measured.count, 3))
    y = measured.moved(measured.y, shift, turn)
    np.testing.assert_allclose(measured.jacobian(y), gradient(measured, y, measured.error), atol=TOLERANCE)


@pytest.mark.parametrize("scene, rows", CASES)
def test_bias_is_the_derivative_of_the_rates_at_constant_velocity(scene, rows):
    measured = Measured(scene)
    v, w = velocities(measured.count)
    y = measured.with_velocity(measured.y, v, w)
    if any(joint.curve is not None for joint in scene.joints.values()):
        y = measured.consistent(measured.y, v, w)
        pairs = measured.velocity(y).reshape(-1, 6)
        v, w = pairs[:, :3], pairs[:, 3:]
    bias = measured.measure(y).bias.copy()

    def rates(s):
        return measured.rates(measured.with_velocity(measured.moved(y, s * v, s * w), v, w))

    np.testing.assert_allclose(bias, derivative_of(rates), atol=TOLERANCE)
    np.testing.assert_allclose(rates(0.0), measured.jacobian(y) @ measured.velocity(y), atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["supplied", "automatic"])
def test_a_compiled_constraint_is_the_plain_one(kind):
    plain, compiled = Measured(custom(kind, False)), Measured(custom(kind, True))
    v, w = velocities(2)
    y = plain.with_velocity(plain.y, v, w)
    np.testing.assert_allclose(compiled.jacobian(y), plain.jacobian(y), rtol=0, atol=1e-15)
    np.testing.assert_allclose(compiled.measure(y).bias, plain.measure(y).bias, rtol=0, atol=1e-11)
    assert plain.model.slow == ("j",) and compiled.model.slow == ()


def test_automatic_derivatives_are_those_supplied():
    scene, _, two = two_bodies(False)
    scene.constraint("j", [two], pulley, 1)
    automatic, supplied = Measured(scene), Measured(custom("supplied", False))
    v, w = velocities(2)
    y = supplied.with_velocity(supplied.y, v, w)
    np.testing.assert_allclose(automatic.jacobian(y), supplied.jacobian(y), rtol=0, atol=1e-15)
    np.testing.assert_allclose(automatic.measure(y).bias, supplied.measure(y).bias, rtol=0, atol=1e-11)


def test_a_point_on_a_closed_curve_goes_round():
    scene = dal.Scene("ring")
    bead = scene.add_body("bead", mass=1.0, inertia=(1, 1, 1), position=(1, 0, 0))
    ring = dal.Curve(lambda s: (np.cos(s), np.sin(s), 0.0), 0.0, 2 * np.pi, closed=True)
    scene.point_on_curve("wire", dal.WORLD, bead, (1, 0, 0), ring)
    measured = Measured(scene)
    for angle in (-0.1, -3.0, 2.0, 6.2, 6.4, 20.0):
        y = measured.y.copy()
        y[:2] = np.cos(angle), np.sin(angle)
        y[13] = angle + 0.05
        np.testing.assert_allclose(measured.error(y), 0.0, atol=2e-12)
