"""Shock propagation down stacks, and the line search that keeps guesses from adding energy."""

import numpy as np
import pytest

import dalembert as dal

G = 9.81
DT = 1 / 240


def wall(rows, columns, *, gap=0.0, lift=0.0):
    """Unit boxes of 1 kg in columns, those above the ground lifted by so much each."""
    scene = dal.Scene("wall", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    for row in range(rows):
        for column in range(columns):
            place = (column * (1.0 + gap), 0.0, row + 0.5 + row * lift)
            scene.add_body(f"box {row} {column}", dal.Box(1, 1, 1), mass=1.0, position=place)
    return scene


def steps(run, count):
    """The passes of the solver in each of so many steps."""
    found = []
    for _ in range(count):
        run.advance(DT)
        found.append(int(run._driver.report.iterations[0]))
    return found


def on_the_ground(run):
    return sum(abs(contact.force[2]) for contact in run.contacts if "ground" in (contact.a, contact.b))


def energy(run):
    state = run.state
    kinetic = 0.5 * (state.momentum**2).sum() + 0.5 * 6.0 * (state.angular_momentum**2).sum()  # of unit cubes of 1 kg
    return kinetic + G * state.position[:, 2].sum()


@pytest.mark.parametrize("rows", [3, 10, 30])
def test_a_tower_stands_from_the_first_step(rows):
    run = dal.Simulation(wall(rows, 1), dt=DT)
    assert steps(run, 1)[0] <= 2
    assert on_the_ground(run) == pytest.approx(rows * G, rel=1e-4)
    assert np.abs(run.state.velocity).max() < 1e-5


@pytest.mark.parametrize(("rows", "columns"), [(5, 5), (10, 10)])
def test_a_wall_stands_where_it_was_built(rows, columns):
    scene = wall(rows, columns)
    run = dal.simulate(scene, 2.0, dt=DT)
    start = np.array([body.position for body in scene.bodies.values()])
    assert np.abs(run.trajectory.position.values - start).max() < 2e-5
    assert run.report.contact.penetration < 1e-5
    assert run.report.energy_residual_relative < 1e-9
    assert on_the_ground(run) == pytest.approx(rows * columns * G, rel=1e-3)


def test_a_wall_that_falls_into_place_comes_to_rest():
    run = dal.simulate(wall(5, 3, gap=0.02, lift=0.01), 2.0, dt=DT)
    assert np.abs(run.state.velocity).max() < 1e-4
    np.testing.assert_allclose(run.state.position[:, 2], np.repeat(np.arange(5) + 0.5, 3), atol=1e-4)
    total = (run.trajectory.kinetic + run.trajectory.potential).values
    assert np.diff(total).max() < 1e-6 * np.ptp(total)


def test_a_stack_that_slides_is_slowed_as_one_block():
    friction, speed = 0.05, 1.0
    scene = dal.Scene("sliding", material=dal.Material(friction))
    scene.add_obstacle("ground", dal.HalfSpace())
    for row in range(4):
        scene.add_body(
            f"box {row}", dal.Box(1, 1, 1), mass=1.0, position=(0, 0, row + 0.5), velocity=(speed, 0, 0),
            material=dal.Material(friction if row == 0 else 20.0),
        )  # fmt: skip
    run = dal.simulate(scene, 0.5, dt=DT, iterations=50)
    assert run.state.velocity[:, 0] == pytest.approx(speed - friction * G * 0.5, rel=1e-3)


@pytest.mark.parametrize("factor", [-3.0, 10.0, 1000.0])
def test_wrong_impulses_to_start_from_bring_no_energy(factor):
    run = dal.Simulation(wall(4, 2), dt=DT)
    run.advance(10 * DT)
    before = energy(run)
    run._driver.collision.pairs.impulse *= factor
    run.advance(DT)
    assert energy(run) < before + 1e-9
    run.advance(60 * DT)
    assert np.abs(run.state.velocity).max() < 1e-3


def test_bodies_of_joints_are_left_to_the_joints():
    scene = wall(3, 1)
    swing = scene.add_body("swing", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0.0, 0.0, 3.1))
    scene.hinge("arm", dal.WORLD, swing, at=(0.0, 0.0, 4.0), axis=(0, 1, 0))
    run = dal.simulate(scene, 1.0, dt=DT)
    assert run.report.joint_error < 1e-9
    assert np.abs(run.state.velocity).max() < 1e-3
    np.testing.assert_allclose(run.state.position[:3, 2], (0.5, 1.5, 2.5), atol=2e-5)
