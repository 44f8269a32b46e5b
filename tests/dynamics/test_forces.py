"""Forces: what derives from a potential is its gradient; what does not has its power in the ledger."""

import numba
import numpy as np
import pytest

import dalembert as dal

from .mechanism import Measured, gradient

AT = np.array([0.25, -0.1, 0.4])
AXIS = np.array([0.4, 0.7, -0.5])


def two_bodies(gravity=(0.0, 0.0, 0.0)):
    scene = dal.Scene("force", gravity=gravity)
    inertia = np.diag([0.3, 0.5, 0.6]) + 0.05 * (np.ones((3, 3)) - np.eye(3))
    scene.add_body("one", mass=1.3, inertia=inertia, position=(0.1, 0.5, -0.3), orientation=(0.8, -0.3, 0.4, 0.3))
    scene.add_body(
        "two", mass=0.7, inertia=(0.2, 0.3, 0.25), position=(-0.6, 0.3, 0.2), orientation=(0.3, 0.4, -0.3, 1)
    )
    return scene


def field(scene):
    scene.gravity = np.array([0.3, -2.0, -9.0])


def spring(scene):
    scene.spring("f", "one", "two", AT, (1.0, -0.5, 0.2), stiffness=30.0, rest=0.4)


def spring_to_world(scene):
    scene.spring("f", dal.WORLD, "two", AT, (1.0, -0.5, 0.2), stiffness=30.0, rest=0.0)


def hinge_spring(scene):
    scene.hinge("j", "one", "two", AT, AXIS)
    scene.torsion_spring("f", "j", stiffness=5.0, rest=0.7)


def slider_spring(scene):
    scene.slider("j", "one", "two", AT, AXIS)
    scene.torsion_spring("f", "j", stiffness=5.0, rest=0.7)


def cylindrical_spring(scene):
    scene.cylindrical("j", dal.WORLD, "two", AT, AXIS)
    scene.torsion_spring("f", "j", stiffness=5.0, rest=0.7, coordinate="displacement")


def measured_in_motion(add):
    scene = two_bodies()
    add(scene)
    measured = Measured(scene)
    rng = np.random.default_rng(4)
    return measured, measured.with_velocity(measured.y, *rng.uniform(-1, 1, (2, 2, 3)))


def potential(measured):
    return lambda y: np.array([measured.measure(y).energies[1]])


@pytest.mark.parametrize("add", [field, spring, spring_to_world, hinge_spring, slider_spring, cylindrical_spring])
def test_force_is_minus_the_gradient_of_the_potential(add):
    measured, y = measured_in_motion(add)
    expected = -gradient(measured, y, potential(measured))[0]
    force = measured.applied(y)
    assert np.abs(force).max() > 0.5
    np.testing.assert_allclose(force, expected, rtol=0, atol=3e-12 * np.abs(expected).max())


def test_a_spring_of_no_length_and_rest_has_its_limit():
    scene = two_bodies()
    scene.spring("f", "one", "two", AT, AT, stiffness=30.0, rest=0.0)
    measured = Measured(scene)
    np.testing.assert_allclose(measured.applied(measured.y), 0.0, atol=1e-13)


LOADS = {
    "damper": lambda s: s.spring("f", "one", "two", AT, (1.0, -0.5, 0.2), stiffness=0.0, damping=2.0),
    "hinge damper": lambda s: s.torsion_spring("f", s.hinge("j", "one", "two", AT, AXIS), stiffness=0.0, damping=2.0),
    "slider damper": lambda s: s.torsion_spring("f", s.slider("j", "one", "two", AT, AXIS), stiffness=0.0, damping=2.0),
    "drag": lambda s: s.drag("f", linear=0.3, quadratic=0.2, angular=0.4, angular_quadratic=0.1),
    "drag on one": lambda s: s.drag("f", ["two"], linear=0.3, angular=0.4),
    "load": lambda s: s.external_force("f", "one", force=(1, 2, 3), torque=(-1, 0, 2), at=AT),
    "load in the body": lambda s: s.external_force("f", "one", force=(1, 2, 3), torque=(-1, 0, 2), at=AT, frame="body"),
    "own load": lambda s: s.external_force(
        "f", "one", at=AT, function=lambda t, x, q, v, w: np.concatenate([x - v, 2 * w + v])
    ),
    "motor": lambda s: s.motor("f", s.hinge("j", "one", "two", AT, AXIS), effort=3.0),
    "motor at a speed": lambda s: s.motor("f", s.hinge("j", "one", "two", AT, AXIS), speed=3.0, damping=2.0),
    "own motor": lambda s: s.motor(
        "f", s.slider("j", "one", "two", AT, AXIS), function=lambda t, x, u: 3.0 - x - 2 * u
    ),
}


def power(measured, y):
    return measured.derivative(y)[13 * measured.count + len(measured.model.tables["coordinates"])]


@pytest.mark.parametrize("name", LOADS)
def test_power_is_force_times_velocity(name):
    measured, y = measured_in_motion(LOADS[name])
    force = measured.applied(y)
    expected = force @ measured.velocity(y)
    assert abs(expected) > 0.05
    assert power(measured, y) == pytest.approx(expected, rel=1e-13, abs=1e-14)
    assert measured.measure(y).energies[1] == 0.0


@pytest.mark.parametrize("name", ["damper", "hinge damper", "slider damper", "motor", "own motor", "motor at a speed"])
def test_inner_forces_have_no_resultant(name):
    measured, y = measured_in_motion(LOADS[name])
    force = measured.applied(y).reshape(-1, 6)
    position = y[:26].reshape(-1, 13)[:, :3]
    np.testing.assert_allclose(force[:, :3].sum(axis=0), 0.0, atol=1e-14)
    np.testing.assert_allclose((force[:, 3:] + np.cross(position, force[:, :3])).sum(axis=0), 0.0, atol=1e-14)


def test_drag_is_against_the_velocity():
    measured, y = measured_in_motion(LOADS["drag"])
    force, velocity = measured.applied(y).reshape(-1, 6), measured.velocity(y).reshape(-1, 6)
    for f, u in zip(force, velocity, strict=True):
        np.testing.assert_allclose(f[:3], -(0.3 + 0.2 * np.linalg.norm(u[:3])) * u[:3], rtol=1e-14)
        np.testing.assert_allclose(f[3:], -(0.4 + 0.1 * np.linalg.norm(u[3:])) * u[3:], rtol=1e-14)


def test_a_load_acts_at_its_point_and_turns_with_its_frame():
    for frame in ("world", "body"):
        scene = two_bodies()
        one = scene.bodies["one"]
        scene.external_force("f", "one", force=(1, 2, 3), torque=(-1, 0, 2), at=AT, frame=frame)
        measured = Measured(scene)
        turn = one.rotation if frame == "body" else np.eye(3)
        f, torque = turn @ [1, 2, 3], turn @ [-1, 0, 2] + np.cross(AT - one.position, turn @ [1, 2, 3])
        np.testing.assert_allclose(measured.applied(measured.y)[:6], np.concatenate([f, torque]), atol=1e-14)


def test_a_motor_keeps_to_its_limit():
    scene = two_bodies()
    scene.motor("f", scene.hinge("j", "one", "two", AT, AXIS), speed=100.0, damping=2.0, limit=1.5)
    measured = Measured(scene)
    force = measured.applied(measured.y)
    unit = AXIS / np.linalg.norm(AXIS)
    np.testing.assert_allclose(force[3:6], -1.5 * unit, atol=1e-14)
    np.testing.assert_allclose(force[9:12], 1.5 * unit, atol=1e-14)


def own_load(t, x, q, v, w):
    return np.array([np.sin(t) - v[0], x[1] * q[0], -2.0 * x[2], 0.1, -w[1], w[0] * w[2]])


@pytest.mark.slow
def test_a_compiled_load_is_the_plain_one():
    results = []
    for function in (own_load, numba.njit(own_load)):
        scene = two_bodies()
        scene.external_force("f", "two", at=AT, function=function)
        measured = Measured(scene)
        rng = np.random.default_rng(4)
        y = measured.with_velocity(measured.y, *rng.uniform(-1, 1, (2, 2, 3)))
        results.append(measured.derivative(y, 0.7))
        assert measured.model.slow == (("f",) if function is own_load else ())
    np.testing.assert_allclose(results[1], results[0], rtol=0, atol=1e-15)


def test_a_load_of_three_numbers_has_no_torque():
    scene = two_bodies()
    scene.external_force("f", "two", function=lambda t, x, q, v, w: (1.0, 2.0, t))
    measured = Measured(scene)
    measured.derivative(measured.y, 0.25)
    np.testing.assert_array_equal(measured.system.kinematics[1].force, [1.0, 2.0, 0.25])
    np.testing.assert_array_equal(measured.system.kinematics[1].torque, 0.0)


def test_a_released_force_is_gone():
    measured, y = measured_in_motion(spring)
    measured.system.forces.active[:] = 0
    np.testing.assert_array_equal(measured.applied(y), 0.0)
    assert measured.measure(y).energies[1] == 0.0
