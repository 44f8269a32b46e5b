"""The start of a run: what touches is solved there, and what is about to meet keeps the velocity that it was given."""

import numpy as np
import pytest

import dalembert as dal

DT = 1 / 60
SHAPES = {"ball": dal.Sphere(0.1), "box": dal.Box(0.2, 0.2, 0.2)}


def before_wall(shape, gap, restitution, moving=False):
    """A body at some gap (m) from a wall, which it approaches at 1 m/s; or the wall comes to it."""
    scene = dal.Scene("wall", material=dal.Material(0.0, restitution), gravity=(0.0, 0.0, 0.0))
    if moving:
        scene.add_body(
            "wall", dal.Box(0.2, 2.0, 2.0), motion="set", position=(-0.1, 0.0, 0.0), velocity=(1.0, 0.0, 0.0)
        )
    else:
        scene.add_obstacle("wall", dal.Box(0.2, 2.0, 2.0), position=(-0.1, 0.0, 0.0))
    speed = 0.0 if moving else -1.0
    scene.add_body("body", SHAPES[shape], mass=1.0, position=(0.1 + gap, 0.0, 0.0), velocity=(speed, 0.0, 0.0))
    return scene


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("gap", [1e-4, 0.005, 0.0083])
def test_a_body_that_is_about_to_meet_a_wall_starts_as_given_and_bounces_there(gap, restitution, shape, coordinates):
    run = dal.Simulation(before_wall(shape, gap, restitution), dt=DT, coordinates=coordinates)
    assert run.body("body").velocity[0] == -1.0
    run.step(2)
    assert run.body("body").velocity[0] == pytest.approx(restitution, abs=1e-9)
    rest = 2.0 * DT - gap
    assert run.body("body").position[0] == pytest.approx(0.1 + restitution * rest, abs=1e-4)


@pytest.mark.parametrize("restitution", [0.0, 1.0])
def test_a_body_that_touches_a_wall_is_solved_at_the_start(restitution):
    run = dal.Simulation(before_wall("ball", 0.0, restitution), dt=DT)
    assert run.body("body").velocity[0] == pytest.approx(restitution, abs=1e-12)


@pytest.mark.parametrize("restitution", [0.0, 1.0])
def test_a_body_that_a_driven_wall_is_about_to_meet_starts_as_given(restitution):
    run = dal.Simulation(before_wall("ball", 0.005, restitution, moving=True), dt=DT)
    assert run.body("body").velocity[0] == 0.0
    run.step(2)
    assert run.body("body").velocity[0] == pytest.approx(1.0 + restitution, abs=1e-9)


@pytest.mark.parametrize("number", [3, 60])
def test_elastic_balls_about_to_meet_have_the_energy_they_were_given(number):
    scene = dal.Scene("row", material=dal.Material(0.0, 1.0), gravity=(0.0, 0.0, 0.0))
    rng = np.random.default_rng(1)
    for i in range(number):
        velocity = (rng.uniform(-1.0, 1.0), 0.0, 0.0)
        scene.add_body(
            f"ball {i}", dal.Sphere(0.1), mass=rng.uniform(0.5, 2.0), position=(0.203 * i, 0.0, 0.0), velocity=velocity
        )
    given = sum(0.5 * body.mass * np.dot(body.velocity, body.velocity) for body in scene.bodies.values())
    run = dal.Simulation(scene, dt=DT)
    if number == 3:
        assert run.state.velocity[:, 0].tolist() == [body.velocity[0] for body in scene.bodies.values()]
    run.step(3)
    assert run.report.energy_residual_relative < 1e-9
    after = sum(0.5 * body.mass * v[0] ** 2 for body, v in zip(scene.bodies.values(), run.state.velocity, strict=True))
    assert after == pytest.approx(given, rel=1e-9)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_run_resumed_from_its_start_has_the_same_bits(restitution):
    first = dal.Simulation(before_wall("box", 0.005, restitution), dt=DT)
    second = dal.Simulation(before_wall("box", 0.005, restitution), dt=DT).resume(first.trajectory).advance(4 * DT)
    whole = dal.Simulation(before_wall("box", 0.005, restitution), dt=DT).advance(4 * DT)
    assert np.array_equal(whole.trajectory.last_state, second.trajectory.last_state)
