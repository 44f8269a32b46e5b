"""Kinematics and dynamics of trees: the recursions agree with each other, with energy, and with bodies under constraints."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dalembert as dal
from dalembert.core.c_function import DERIVATIVE
from dalembert.dynamics.mechanism import Mechanism
from dalembert.model.compile import compile_scene
from dalembert.scene.checks import quaternion_of

from .trees import normalized, random_state, random_tree

SEEDS = range(6)


@pytest.fixture(params=SEEDS)
def tree(request):
    scene = random_tree(request.param, free=request.param % 2 == 0)
    arm = dal.Articulation(scene)
    return scene, arm, *random_state(arm, 100 + request.param)


def kinetic_energy(scene, arm, u, w):
    total = 0.0
    for body in scene.bodies.values():
        v, omega = arm.velocity(u, w, body.name)
        rotation = arm.pose(u, body.name)[1]
        total += 0.5 * body.mass * v @ v + 0.5 * omega @ rotation @ body.inertia @ rotation.T @ omega
    return total


def test_the_mass_matrix_gives_the_kinetic_energy_of_the_bodies(tree):
    scene, arm, u, w = tree
    matrix = arm.mass_matrix(u)
    assert_allclose(matrix, matrix.T, rtol=0, atol=0)
    assert_allclose(0.5 * w @ matrix @ w, kinetic_energy(scene, arm, u, w), rtol=1e-13)


def test_velocities_are_derivatives_of_places(tree):
    scene, arm, u, w = tree
    h, rates = 1e-6, arm.coordinate_rates(u, w)
    for name in scene.bodies:
        (x, r), (y, s) = arm.pose(normalized(arm, u + h * rates), name), arm.pose(normalized(arm, u - h * rates), name)
        v, omega = arm.velocity(u, w, name)
        turning = (r - s) / (2 * h) @ arm.pose(u, name)[1].T
        assert_allclose((x - y) / (2 * h), v, atol=1e-8)
        assert_allclose([turning[2, 1], turning[0, 2], turning[1, 0]], omega, atol=1e-8)
        assert_allclose(arm.jacobian(u, name) @ w, [*v, *omega], atol=1e-13)


def test_a_jacobian_is_that_of_the_point_asked_for(tree):
    _, arm, u, w = tree
    point = np.array([0.3, -0.2, 0.5])
    v, omega = arm.velocity(u, w, "b3")
    expected = v + np.cross(omega, arm.pose(u, "b3")[1] @ point)
    assert_allclose(arm.jacobian(u, "b3", point)[:3] @ w, expected, atol=1e-13)


def test_inverse_dynamics_undoes_forward_dynamics_and_both_fit_the_mass_matrix(tree):
    _, arm, u, w = tree
    efforts = np.random.default_rng(3).normal(size=w.size)
    rates = arm.forward_dynamics(u, w, efforts)
    scale = np.abs(rates).max()
    assert_allclose(arm.inverse_dynamics(u, w, rates), efforts, atol=1e-12 * scale)
    assert_allclose(arm.mass_matrix(u) @ rates + arm.bias_force(u, w), efforts, atol=1e-12 * scale)


def test_power_of_efforts_and_of_weight_is_the_rate_of_energy(tree):
    scene, arm, u, w = tree
    efforts = np.random.default_rng(4).normal(size=w.size)
    rates, h = arm.forward_dynamics(u, w, efforts), 1e-6

    def energy(s):
        place = normalized(arm, u + s * arm.coordinate_rates(u, w))
        height = sum(body.mass * arm.pose(place, body.name)[0][2] for body in scene.bodies.values())
        return 0.5 * (w + s * rates) @ arm.mass_matrix(place) @ (w + s * rates) + 9.81 * height

    assert_allclose((energy(h) - energy(-h)) / (2 * h), efforts @ w, atol=1e-6 * abs(energy(0.0)))


def test_accelerations_are_those_of_bodies_under_constraints(tree):
    scene, arm, u, w = tree
    model = compile_scene(scene)
    y, dydt = model.initial.copy(), np.empty(model.size)
    for name in model.body_names:
        body, part = scene.bodies[name], model.body_slice(name)
        (x, rotation), (v, omega) = arm.pose(u, name), arm.velocity(u, w, name)
        spin = rotation @ body.inertia @ rotation.T @ omega
        y[part] = [*x, *quaternion_of(rotation), *(body.mass * v), *spin]
    mechanism = Mechanism(model.system())
    assert mechanism(DERIVATIVE, 0.0, y, dydt) == 0
    rates = arm.forward_dynamics(u, w)
    h = 1e-6
    for name in model.body_names:
        ahead, behind = (
            arm.velocity(normalized(arm, u + s * arm.coordinate_rates(u, w)), w + s * rates, name)[0] for s in (h, -h)
        )
        force = dydt[model.body_slice(name)][7:10]
        assert_allclose((ahead - behind) / (2 * h), force / scene.bodies[name].mass, atol=1e-6 * np.abs(rates).max())


def test_momentum_about_the_centre_of_mass_is_that_of_the_bodies(tree):
    scene, arm, u, w = tree
    center, total, turning = arm.centroidal_momentum(u, w)
    places = np.array([arm.pose(u, name)[0] for name in scene.bodies])
    velocities = np.array([arm.velocity(u, w, name)[0] for name in scene.bodies])
    masses = np.array([body.mass for body in scene.bodies.values()])
    spins = [
        r @ body.inertia @ r.T @ arm.velocity(u, w, name)[1]
        for name, body in scene.bodies.items()
        for r in [arm.pose(u, name)[1]]
    ]
    assert_allclose(center, masses @ places / masses.sum(), atol=1e-13)
    assert_allclose(total, masses @ velocities, atol=1e-12)
    expected = np.cross(places - center, masses[:, None] * velocities).sum(axis=0) + np.sum(spins, axis=0)
    assert_allclose(turning, expected, atol=1e-12)


def test_an_armature_is_inertia_of_its_coordinate_alone():
    scene = random_tree(1, count=3, free=False, kinds=("hinge",))
    plain = dal.Articulation(scene)
    u, w = random_state(plain, 7)
    before, rates = plain.mass_matrix(u), plain.forward_dynamics(u, w)
    scene.armature("j1", 0.7)
    heavy = dal.Articulation(scene)
    after = heavy.mass_matrix(u)
    k = heavy.speeds.index("j1")
    before[k, k] += 0.7
    assert_allclose(after, before, atol=1e-14)
    assert_allclose(heavy.bias_force(u, w), plain.bias_force(u, w), atol=1e-14)
    assert_allclose(heavy.forward_dynamics(u, w), np.linalg.solve(after, -heavy.bias_force(u, w)), rtol=1e-11)
    assert not np.allclose(rates, heavy.forward_dynamics(u, w))


def test_hinges_and_links_between_bodies_make_a_universal_joint():
    def scene(through_links):
        made = dal.Scene("cross")
        a = made.add_body("a", dal.Box(0.2, 0.3, 0.4), mass=1.0)
        b = made.add_body("b", dal.Box(0.2, 0.3, 0.4), mass=2.0, position=(0.1, 0.2, 1.0))
        if through_links:
            link = made.add_link("link", position=(0.3, 0.1, 0.5), orientation=(1, 2, 3, 4))
            made.hinge("first", a, link, at=(0, 0, 0.5), axis=(1, 0, 0))
            made.hinge("second", link, b, at=(0, 0, 0.5), axis=(0, 1, 0))
        else:
            made.universal("both", a, b, at=(0, 0, 0.5), axis_a=(1, 0, 0), axis_b=(0, 1, 0))
        return dal.Articulation(made)

    one, two = scene(True), scene(False)
    u, w = random_state(two, 5)
    assert_allclose(one.mass_matrix(u), two.mass_matrix(u), atol=1e-13)
    assert_allclose(one.forward_dynamics(u, w), two.forward_dynamics(u, w), atol=1e-11)
