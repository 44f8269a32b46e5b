"""Particles that touch two bodies at once: each locked direction has its own body, and each contact its own friction."""

import numpy as np
import pytest

import dalembert as dal

from .test_contact import STEPPING, G, run, tilted

SMOOTH = dal.Material(0.0)
CUBE = dal.Box(0.2, 0.2, 0.2)


def floor(friction=0.0):
    scene = dal.Scene("floor", material=dal.Material(friction))
    scene.add_obstacle("ground", dal.HalfSpace())
    return scene


def pushed(friction=0.0):
    """A ball of 0.5 kg on the floor, and a box of 1 kg on a rail that pushes it with 3 N."""
    scene = floor(friction)
    box = scene.add_body("box", CUBE, mass=1.0, position=(0, 0, 0.1))
    scene.slider("rail", dal.WORLD, box, at=(0, 0, 0.1), axis=(1, 0, 0))
    scene.set_contact(box, "ground", enabled=False)
    scene.add_particles("ball", [(0.13, 0, 0.03)], mass=0.5, radius=0.03)
    scene.external_force("push", box, force=(3, 0, 0))
    return scene


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("method", STEPPING)
def test_a_ball_that_slides_into_a_box_gives_it_its_momentum(method, coordinates):
    scene = floor()
    scene.add_body("box", CUBE, mass=1.0, position=(0, 0, 0.1))
    scene.add_particles("ball", [(-0.2, 0, 0.03)], mass=0.5, radius=0.03, velocity=[(3, 0, 0)])
    found = run(scene, 0.1, method=method, dt=1 / 500, frame_rate=100.0, coordinates=coordinates)
    ball = found.state.particle_velocity[0]
    assert found.state.momentum[0, 0] + 0.5 * ball[0] == pytest.approx(1.5, abs=1e-8)
    assert ball[0] < 1.3 and found.state.velocity[0, 0] > 0.9
    assert found.report.energy_residual < 1e-4


def test_a_run_of_all_defaults_conserves_momentum_too():
    scene = floor()
    scene.add_body("box", CUBE, mass=1.0, position=(0, 0, 0.1))
    scene.add_particles("ball", [(-0.2, 0, 0.03)], mass=0.5, radius=0.03, velocity=[(3, 0, 0)])
    state = dal.simulate(scene, 0.2).state
    assert state.momentum[0, 0] + 0.5 * state.particle_velocity[0, 0] == pytest.approx(1.5, abs=1e-9)


@pytest.mark.parametrize("linear_solver", ["cg", "direct"])
@pytest.mark.parametrize("method", STEPPING)
@pytest.mark.sampled(2)
def test_a_box_pushes_a_ball_along_the_floor(method, linear_solver):
    if method == "time_stepping" and linear_solver == "direct":
        pytest.skip("explicit steps have no matrix")
    found = run(pushed(), 1.0, method=method, dt=1 / 500, frame_rate=100.0, linear_solver=linear_solver)
    assert found.state.velocity[0, 0] == pytest.approx(2.0, abs=2e-3)
    assert found.state.particle_velocity[0, 0] == pytest.approx(2.0, abs=2e-3)
    np.testing.assert_allclose(found.state.particle_position[0], (1.13, 0, 0.03), atol=1e-3)


@pytest.mark.parametrize("method", STEPPING)
def test_the_floor_rubs_a_ball_that_a_box_pushes(method):
    found = run(pushed(0.3), 1.0, method=method, dt=1 / 500, frame_rate=100.0)
    a = (3.0 - 0.3 * 0.5 * G) / 1.5
    assert found.state.velocity[0, 0] == pytest.approx(a, rel=2e-3)
    work = found.report.work["contact: friction"]
    assert work == pytest.approx(-0.3 * 0.5 * G * 0.5 * a, rel=5e-3)


@pytest.mark.parametrize("method", STEPPING)
def test_the_drive_of_a_paddle_does_the_work_of_friction_at_the_floor(method):
    scene = floor(0.3)
    scene.add_body("paddle", dal.Box(0.1, 1, 0.5), motion=lambda t: (-0.1 + 0.5 * t, 0, 0.25))
    scene.add_particles("ball", [(0, 0, 0.05)], mass=0.5, radius=0.05)
    found = run(scene, 1.0, method=method, dt=1 / 500, frame_rate=100.0)
    friction = 0.3 * 0.5 * G * 0.5
    assert found.report.work["contact: friction"] == pytest.approx(-friction, rel=5e-3)
    assert found.report.work["paddle"] == pytest.approx(friction + 0.5 * 0.25, rel=5e-3)
    assert found.report.energy_residual < 1e-3


@pytest.mark.parametrize("wall_first", [False, True])
@pytest.mark.parametrize("method", STEPPING)
def test_a_belt_presses_a_ball_against_a_wall_that_moves_it_sideways(method, wall_first):
    """The belt rubs with μ m g = N of the wall, mostly along its own motion; the wall with μ N: as a body does."""
    mu, m, end = 0.4, 0.5, 3.0
    scene = dal.Scene("belt", material=dal.Material(mu))

    def wall():
        scene.add_obstacle("wall", dal.Box(0.2, 10, 1), position=(0.15, 0, 0.5), surface_velocity=(0, 0.5, 0))

    if wall_first:
        wall()
    scene.add_obstacle("belt", dal.Box(10, 10, 0.2), position=(0, 0, -0.1), surface_velocity=(1, 0, 0))
    if not wall_first:
        wall()
    scene.add_particles("ball", [(0, 0, 0.05)], mass=m, radius=0.05)
    found = run(scene, end, method=method, dt=1 / 500, frame_rate=100.0)
    # along the wall the belt brakes by f v/√(1 + v²), f = μ m g, and the wall drives by μ f/√(1 + v²)
    assert found.state.particle_velocity[0, 1] == pytest.approx(mu, abs=1e-4)
    f = mu * m * G
    assert found.report.work["belt"] == pytest.approx(f * end, rel=0.08)
    power = mu * f / np.hypot(1.0, mu) * 0.5
    assert found.report.work["wall"] == pytest.approx(power * end, rel=0.08)


@pytest.mark.parametrize("method", STEPPING)
def test_a_cart_carries_a_ball_that_a_block_pushes_along_it(method):
    scene = dal.Scene("cart", material=SMOOTH)
    cart = scene.add_body("cart", dal.Box(2, 0.4, 0.02), mass=1.0)
    scene.slider("lower", dal.WORLD, cart, at=(0, 0, 0), axis=(1, 0, 0))
    block = scene.add_body("block", CUBE, mass=1.0, position=(-0.4, 0, 0.12))
    scene.slider("upper", dal.WORLD, block, at=(-0.4, 0, 0.12), axis=(1, 0, 0))
    scene.set_contact(cart, block, enabled=False)
    scene.add_particles("ball", [(-0.27, 0, 0.04)], mass=0.5, radius=0.03)
    scene.external_force("push", block, force=(3, 0, 0))
    found = run(scene, 0.5, method=method, dt=1 / 500, frame_rate=100.0)
    np.testing.assert_allclose(found.state.velocity[:, 0], (0.0, 1.0), atol=2e-3)
    np.testing.assert_allclose(found.state.particle_velocity[0], (1.0, 0.0, 0.0), atol=2e-3)


@pytest.mark.parametrize("method", STEPPING)
def test_normals_that_are_not_at_right_angles_share_a_force(method):
    """A ball between a wall and a free wedge of 45°: both have the acceleration m g/(m + M), the ball down."""
    m, mass, end = 0.5, 1.5, 0.3
    scene = dal.Scene("wedge", material=SMOOTH)
    scene.add_obstacle("wall", dal.Box(0.2, 2, 4), position=(-0.1, 0, 0))
    normal = np.sqrt(0.5) * np.array([-1.0, 0.0, 1.0])
    place = np.array([0.05, 0.0, 0.0]) - 0.15 * normal
    wedge = scene.add_body("wedge", dal.Box(2, 2, 0.2), mass=mass, position=place, orientation=tilted(-np.pi / 4))
    scene.slider("rail", dal.WORLD, wedge, at=place, axis=(1, 0, 0))
    scene.set_contact(wedge, "wall", enabled=False)
    scene.add_particles("ball", [(0.05, 0, 0)], mass=m, radius=0.05)
    found = run(scene, end, method=method, dt=1 / 1000, frame_rate=100.0)
    v = m * G / (m + mass) * end
    assert found.state.velocity[0, 0] == pytest.approx(v, rel=5e-3)
    np.testing.assert_allclose(found.state.particle_velocity[0], (0.0, 0.0, -v), atol=5e-3 * v)


@pytest.mark.parametrize("method", ["time_stepping", "linear_implicit_euler", "implicit_euler"])
def test_a_box_pushes_a_soft_body_along_the_floor(method):
    vertices, cells = dal.tetrahedron_grid((0.2, 0.2, 0.2), (2, 2, 2))
    scene = floor()
    box = scene.add_body("box", CUBE, mass=1.0, position=(0, 0, 0.1))
    scene.slider("rail", dal.WORLD, box, at=(0, 0, 0.1), axis=(1, 0, 0))
    scene.set_contact(box, "ground", enabled=False)
    vertices = vertices - vertices.min(axis=0) + (0.105, -0.1, 0.005)
    scene.soft_body("cube", vertices, cells, density=125, young=5e4, poisson=0.3, viscosity=100, radius=0.005)
    scene.external_force("push", box, force=(4, 0, 0))
    found = run(scene, 0.5, method=method, dt=1 / 4000 if method == "time_stepping" else 1e-3, frame_rate=100.0)
    assert found.state.velocity[0, 0] == pytest.approx(1.0, rel=0.01)
    assert found.state.particle_velocity[:, 0].mean() == pytest.approx(1.0, rel=0.01)
