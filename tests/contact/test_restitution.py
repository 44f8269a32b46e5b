"""Impacts in rounds: chains and clouds of elastic collisions keep their energy, and no impact brings any."""

import numpy as np
import pytest

import dalembert as dal

SOLVERS = ["gauss_seidel", "interior_point"]


def row_of_balls(gaps, masses=None, friction=0.0, restitution=1.0, speed=1.0):
    """Balls of radius 0.1 m along x with these gaps (m) between them; the first moves."""
    scene = dal.Scene("row", material=dal.Material(friction, restitution), gravity=(0.0, 0.0, 0.0))
    x = 0.0
    for i in range(len(gaps) + 1):
        x += 0.2 + gaps[i - 1] if i else 0.0
        mass = 1.0 if masses is None else masses[i]
        scene.add_body(
            f"ball {i}", dal.Sphere(0.1), mass=mass, position=(x, 0.0, 0.0), velocity=(speed * (i == 0), 0, 0)
        )
    return scene


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dt", [0.02, 0.01, 1 / 240])
@pytest.mark.parametrize("gaps", [(0.0, 0.0), (0.001, 0.001), (0.004, 0.001), (0.0, 0.003), (0.0,) * 7, (1e-4,) * 7])
def test_the_last_of_equal_elastic_balls_leaves_with_the_velocity_of_the_first(gaps, dt, solver):
    run = dal.simulate(row_of_balls(gaps), 0.1, dt=dt, solver=solver)
    expected = np.zeros((len(gaps) + 1, 3))
    expected[-1, 0] = 1.0
    np.testing.assert_allclose(run.state.velocity, expected, atol=1e-12)
    assert run.report.energy_residual_relative < 1e-12


def test_elastic_balls_of_unequal_masses_collide_one_pair_after_the_other():
    masses = np.array([3.0, 1.0, 0.5, 2.0])
    run = dal.simulate(row_of_balls((0.001, 0.001, 0.0005), masses), 0.06, dt=0.02)
    v = np.array([1.0, 0.0, 0.0, 0.0])
    while (
        v[:-1] > v[1:] + 1e-14
    ).any():  # all gaps are small: the order of these collisions does not matter at the end
        i = int(np.argmax(v[:-1] - v[1:]))
        mean = masses[i : i + 2] @ v[i : i + 2] / masses[i : i + 2].sum()
        v[i : i + 2] = 2.0 * mean - v[i : i + 2]
    assert masses @ run.state.velocity[:, 0] == pytest.approx(3.0, abs=1e-12)
    assert 0.5 * masses @ run.state.velocity[:, 0] ** 2 == pytest.approx(1.5, abs=1e-12)
    assert (np.diff(run.state.velocity[:, 0]) >= -1e-12).all(), "two balls still approach each other"


def cloud(shape, friction=0.0, restitution=1.0, gravity=0.0, count=4, speed=1.0):
    """count³ bodies with random velocities in a cubic box with six walls."""
    scene = dal.Scene("cloud", material=dal.Material(friction, restitution), gravity=(0.0, 0.0, -gravity))
    side = 0.25 * count
    quarter = np.sqrt(0.5)
    scene.add_obstacle("floor", dal.HalfSpace())
    turned = {"x": (0.0, quarter), "y": (-quarter, 0.0)}
    for axis, (about_x, about_y) in turned.items():
        scene.add_obstacle(f"{axis} low", dal.HalfSpace(), orientation=(quarter, about_x, about_y, 0.0))
        scene.add_obstacle(
            f"{axis} high", dal.HalfSpace(), position=(side, side, 0.0), orientation=(quarter, -about_x, -about_y, 0.0)
        )
    rng = np.random.default_rng(3)
    for i in range(count**3):
        place = 0.125 + 0.25 * np.array(np.unravel_index(i, (count,) * 3))
        scene.add_body(f"body {i}", shape, mass=1.0, position=place, velocity=speed * rng.normal(size=3))
    return scene


@pytest.mark.parametrize("shape", [dal.Sphere(0.1), dal.Box(0.15, 0.12, 0.1), dal.Capsule(0.05, 0.1)], ids=repr)
@pytest.mark.parametrize(("dt", "iterations"), [(1e-3, None), (1e-2, None), (1e-2, 1)])
@pytest.mark.sampled(3)
def test_a_cloud_of_elastic_bodies_keeps_its_energy_solved_or_not(shape, dt, iterations):
    run = dal.simulate(cloud(shape), 0.5, dt=dt, iterations=iterations, frame_rate=20)
    energy = run.trajectory.kinetic + run.trajectory.potential
    assert abs(run.report.work["contact: impacts"]) < 1e-10 * float(energy[0])
    if isinstance(shape, dal.Sphere):  # others turn freely, whose steps keep energy to order 4 only
        np.testing.assert_allclose(energy, energy[0], rtol=1e-10)


def test_a_cloud_of_elastic_balls_keeps_its_energy_under_gravity():
    run = dal.simulate(cloud(dal.Sphere(0.1), gravity=9.81), 0.3, dt=1e-3, frame_rate=20)
    energy = run.trajectory.kinetic + run.trajectory.potential
    assert run.report.contact.penetration < 1e-3
    assert abs(run.report.work["contact: impacts"]) < 1e-10 * float(energy[0])


@pytest.mark.parametrize("restitution", [0.3, 0.8, 1.0])
def test_no_impact_of_a_rough_cloud_brings_energy(restitution):
    run = dal.simulate(cloud(dal.Box(0.15, 0.12, 0.1), 0.6, restitution), 0.3, dt=2e-3, frame_rate=1000)
    work = run.trajectory.work.diff("time").sum("force")
    assert float(work.max()) < 1e-10 * float(run.trajectory.kinetic[0])
    assert -run.report.work["contact: friction"] > 1.0


@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_a_box_that_lands_flat_returns_flat(restitution):
    scene = dal.Scene("box", material=dal.Material(0.0, restitution), gravity=(0.0, 0.0, 0.0))
    scene.add_obstacle("floor", dal.HalfSpace())
    scene.add_body("box", dal.Box(0.4, 0.2, 0.1), mass=2.0, position=(0.0, 0.0, 0.06), velocity=(0.3, 0.0, -2.0))
    run = dal.simulate(scene, 0.1, dt=0.01)
    np.testing.assert_allclose(run.state.velocity[0], (0.3, 0.0, 2.0 * restitution), atol=1e-12)
    np.testing.assert_allclose(run.state.angular_velocity[0], 0.0, atol=1e-12)


def test_a_ball_that_is_pressed_against_a_wall_by_another_returns_both():
    """Two balls at 1 m/s on their way to a wall, the first of them already there: each returns with its own speed."""
    scene = dal.Scene("wall", material=dal.Material(0.0, 1.0), gravity=(0.0, 0.0, 0.0))
    scene.add_obstacle("wall", dal.HalfSpace())
    for i in range(2):
        scene.add_body(f"ball {i}", dal.Sphere(0.1), mass=1.0, position=(0, 0, 0.1 + 0.2 * i), velocity=(0, 0, -1.0))
    run = dal.simulate(scene, 0.05, dt=0.01)
    np.testing.assert_allclose(run.state.velocity[:, 2], 1.0, atol=1e-12)


def test_what_rests_on_elastic_ground_stays_at_rest():
    scene = dal.Scene("stack", material=dal.Material(0.5, 0.9))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i in range(4):
        scene.add_body(f"box {i}", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0.0, 0.0, 0.1 + 0.2 * i))
    run = dal.simulate(scene, 1.0, dt=1 / 240)
    assert np.abs(run.state.velocity).max() < 1e-5
    np.testing.assert_allclose(run.state.position[:, 2], 0.1 + 0.2 * np.arange(4), atol=1e-5)


@pytest.mark.parametrize("friction", [0.1, 0.3, 1.0])
@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_box_that_lands_flat_and_slides_keeps_to_its_plane(coordinates, friction):
    """Four corners share the impulse of a bounce, in closed form: it takes μ (1 + e) of the speed of the fall from the speed
    along the ground, and no corner turns the box."""
    scene = dal.Scene("box", material=dal.Material(friction, restitution=0.5), gravity=(0, 0, 0))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 0.15), velocity=(0.5, 0, -3.0))
    run = dal.simulate(scene, 0.05, dt=1e-3, coordinates=coordinates)
    np.testing.assert_allclose(run.state.velocity[0], (max(0.0, 0.5 - friction * 4.5), 0, 1.5), atol=1e-7)
    np.testing.assert_allclose(run.state.angular_velocity[0], 0.0, atol=1e-7)


def fall_of_a_rod(seed):
    """A rod that falls on one of its ends, without turning until then; of random friction and restitution."""
    rng = np.random.default_rng(seed)
    scene = dal.Scene("rod", material=dal.Material(rng.uniform(0.1, 1.2), rng.uniform(0.1, 0.9)), gravity=(0, 0, 0))
    scene.add_obstacle("ground", dal.HalfSpace())
    turn = np.array([np.cos(rng.uniform(0.2, 0.7)), *(0.6 * rng.normal(size=3))])
    w, x, y, z = turn / np.linalg.norm(turn)
    height = 0.02 + 1e-9 + 0.25 * abs(1.0 - 2.0 * (x * x + y * y))
    scene.add_body(
        "rod", dal.Capsule(0.02, 0.5), mass=1.0, orientation=(w, x, y, z), position=(0, 0, height),
        velocity=(*rng.normal(size=2), -1.0 - rng.random()),
    )  # fmt: skip
    return scene


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_rod_that_falls_on_its_end_bounces_by_the_laws_of_newton_and_coulomb(coordinates):
    """Against events, which find the impulse by Newton's method: where one component of the impulse changes the velocity
    along the others, sweeps over the components converge slowly."""
    worst = 0.0
    for seed in range(30):
        scene = fall_of_a_rod(seed)
        expected = dal.simulate(scene, 4e-4, method="dormand_prince").state
        found = dal.simulate(scene, 4e-4, dt=4e-4, coordinates=coordinates).state
        worst = max(worst, np.abs(found.velocity - expected.velocity).max())
        worst = max(worst, 0.25 * np.abs(found.angular_velocity - expected.angular_velocity).max())
    assert worst < 1e-6


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("feet", [3, 5, 9, 17, 40])
def test_what_lands_flat_on_many_feet_returns_flat(feet, friction, coordinates):
    scene = dal.Scene("feet", material=dal.Material(friction, restitution=0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    angles = 0.3 + 2.0 * np.pi * np.arange(feet) / feet
    parts = [(dal.Sphere(0.05), (0.4 * np.cos(a), 0.4 * np.sin(a), -0.05)) for a in angles]
    scene.add_body("table", dal.Compound(parts), mass=1.0, position=(0, 0, 0.4))
    time = np.sqrt(0.6 / 9.81)
    run = dal.simulate(scene, time + 0.05, dt=2e-3, coordinates=coordinates)
    np.testing.assert_allclose(run.state.angular_velocity[0], 0.0, atol=1e-6)
    speed = 0.5 * 9.81 * time - 9.81 * (run.time - time)
    np.testing.assert_allclose(run.state.velocity[0], (0, 0, speed), atol=2e-3)


def plate_on_posts(first, second, friction):
    """A plate that falls flat on four posts, two of them with another restitution."""
    scene = dal.Scene("plate", material=dal.Material(friction), gravity=(0, 0, 0))
    for i, (x, y) in enumerate(((0.4, 0.4), (0.4, -0.4), (-0.4, 0.4), (-0.4, -0.4))):
        material = dal.Material(friction, restitution=first if x > 0 else second)
        scene.add_obstacle(f"post {i}", dal.Sphere(0.05), position=(x, y, -0.05), material=material)
    scene.add_body("plate", dal.Box(1, 1, 0.1), mass=1.0, position=(0, 0, 0.0537), velocity=(0, 0, -1.93))
    return scene


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("friction", [0.0, 0.01])
@pytest.mark.parametrize("first, second", [(0.5, 0.5), (0.8, 0.3), (0.5, 0.0), (0.9, 0.01), (1.0, 0.0)])
def test_a_plate_on_posts_of_different_restitution_leaves_each_by_its_own(first, second, friction, coordinates):
    """Newton's law at each post: the ends of the plate leave with e of their own."""
    run = dal.simulate(plate_on_posts(first, second, friction), 0.004, dt=1e-3, coordinates=coordinates)
    assert run.state.velocity[0, 2] == pytest.approx(1.93 * (first + second) / 2, abs=1e-3)
    assert run.state.angular_velocity[0, 1] == pytest.approx(-1.93 * (first - second) / 0.8, abs=3e-3)
