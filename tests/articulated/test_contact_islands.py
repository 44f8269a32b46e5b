"""Islands, threads and sleep of robots: the step that bodies have, in joint coordinates."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.collide.tables import ISLANDS

MATERIAL = dal.Material(friction=0.6)
DT = 0.002


def robot(scene, name, x, height=0.1, stop=False):
    """A box with an arm on a hinge, which lie on the ground."""
    base = scene.add_body(
        f"{name} base", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(x, 0.0, height), material=MATERIAL
    )
    arm = scene.add_body(
        f"{name} arm", dal.Box(0.4, 0.1, 0.1), mass=1.0, position=(x + 0.3, 0.0, height), material=MATERIAL
    )
    scene.hinge(f"{name} hinge", base, arm, at=(x + 0.1, 0.0, height), axis=(0.0, 1.0, 0.0))
    if stop:
        scene.limit(f"{name} stop", f"{name} hinge", upper=0.05)


def ground(name="robots"):
    scene = dal.Scene(name)
    scene.add_obstacle("ground", dal.HalfSpace(), material=MATERIAL)
    return scene


def islands(run):
    collision = run._driver.collision
    return collision.islands[: collision.counts[ISLANDS]]


def simulation(scene, **settings):
    return dal.Simulation(scene, dt=DT, coordinates="joint", **settings)


def test_robots_that_do_not_touch_are_islands():
    scene = ground()
    for i in range(3):
        robot(scene, f"r{i}", 2.0 * i, stop=True)
    run = simulation(scene)
    run.advance(0.1)
    assert len(islands(run)) == 3
    assert sum(int(island.end - island.first) for island in islands(run)) == len(run.contacts)


def test_a_box_on_two_robots_makes_one_island():
    scene = ground()
    robot(scene, "left", 0.0)
    robot(scene, "right", 0.9)
    scene.add_body("box", dal.Box(1.2, 0.1, 0.1), mass=0.5, position=(0.45, 0.0, 0.2501), material=MATERIAL)
    run = simulation(scene)
    run.advance(0.2)
    assert len(islands(run)) == 1
    weight = 9.81 * 0.5
    on_box = sum(
        contact.force[2] * (1 if contact.b == "box" else -1)
        for contact in run.contacts
        if "box" in (contact.a, contact.b)
    )
    assert on_box == pytest.approx(weight, rel=1e-3)


@pytest.mark.parametrize("roots", ["free", "on the world"])
def test_a_robot_moves_as_if_the_others_were_not_there(roots):
    """Each by itself and all in one run give the same to rounding: rows of one tree do not touch the speeds of another. All
    land at once, as what hits something divides the steps of all."""

    def scene(numbers):
        found = ground()
        for i in numbers:
            robot(found, f"r{i}", 2.0 * i, height=0.12, stop=True)
            if roots == "on the world":
                found.hinge(
                    f"r{i} post", dal.WORLD, found.bodies[f"r{i} base"], at=(2.0 * i - 0.1, 0.0, 0.12),
                    axis=(0.0, 1.0, 0.0),
                )  # fmt: skip
        return found

    def arms(numbers):
        run = simulation(scene(numbers))
        run.advance(0.3)
        return {i: run.state.position[run.model.body_names.index(f"r{i} arm")] for i in numbers}

    together = arms((0, 1, 2))
    for i in range(3):
        assert together[i] == pytest.approx(arms((i,))[i], abs=1e-9)


def test_threads_give_the_same_bits():
    scene = ground()
    for i in range(6):
        robot(scene, f"r{i}", 2.0 * i, height=0.12 + 0.01 * i, stop=True)
    ends = []
    for threads in (1, 3):
        run = simulation(scene, threads=threads)
        run.advance(0.3)
        ends.append(run.state.y.copy())
    assert np.array_equal(*ends)


def test_a_robot_falls_asleep_as_a_whole_and_wakes_when_it_is_hit():
    scene = ground()
    robot(scene, "r", 0.0, stop=True)
    ball = scene.add_body("ball", dal.Sphere(0.05), mass=0.2, position=(0.0, 0.0, 3.0), material=MATERIAL)
    run = simulation(scene, sleep_after=0.2)
    run.advance(0.6)
    assert run.asleep == ["r base", "r arm"]
    still = run.state.position[:2].copy()
    run.advance(0.05)
    assert np.array_equal(run.state.position[:2], still)
    assert np.all(run.state.velocity[:2] == 0.0)
    run.advance(0.2)
    assert ball.name not in run.asleep and run.asleep == []
    assert np.abs(run.state.position[:2] - still).max() > 1e-6
    report = run.report
    assert report.energy_residual_relative < 1e-6
    assert report.momentum_residual < 1e-9 and report.angular_momentum_residual < 1e-9


def test_a_motor_keeps_a_robot_awake():
    scene = ground()
    robot(scene, "driven", 0.0)
    robot(scene, "free", 2.0)
    scene.motor("motor", "driven hinge", stiffness=50.0, damping=5.0, speed=0.0)
    run = simulation(scene, sleep_after=0.1)
    run.advance(0.6)
    assert run.asleep == ["free base", "free arm"]


def test_a_run_ends_at_a_step_that_is_not_solved_if_asked_to():
    scene = ground()
    robot(scene, "r", 0.0, height=0.101)
    with pytest.raises(dal.SimulationError, match="contact solver"):
        dal.simulate(scene, 0.2, dt=DT, coordinates="joint", iterations=1, tolerance=1e-13, stop_unsolved=True)
