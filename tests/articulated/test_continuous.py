"""Nothing passes through robots, and robots through nothing: fast arms at thin plates, shots at links."""

import numpy as np
import pytest

import dalembert as dal


def run_of(scene, duration, dt=1 / 60, **settings):
    return dal.simulate(scene, duration, dt=dt, coordinates="joint", method="time_stepping", **settings)


def arm_at_a_plate(spin, restitution=0.0, kind="box"):
    """A rod 1 m long with round ends of 1 cm, upright on a hinge at its lower end, and a plate 2 cm thick at x = 0.3 m."""
    scene = dal.Scene("arm", material=dal.Material(0.0, restitution), gravity=(0.0, 0.0, 0.0))
    arm = scene.add_body(
        "arm", dal.Capsule(0.01, 1.0), mass=1.0, position=(0.0, 0.0, 0.5), velocity=(0.5 * spin, 0.0, 0.0),
        angular_velocity=(0.0, spin, 0.0),
    )  # fmt: skip
    scene.hinge("shoulder", dal.WORLD, arm, at=(0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0))
    box = dal.Box(0.02, 1.0, 1.0)
    corners = np.array(np.meshgrid(*3 * [(-0.5, 0.5)])).reshape(3, -1).T * (0.02, 1.0, 1.0)
    shape = box if kind == "box" else dal.ConvexHull(corners)
    scene.add_obstacle("plate", shape, position=(0.3, 0.0, 0.9))
    return scene


def angle_of(run):
    x, _, z = run.state.position[0]
    return float(np.arctan2(x, z))


@pytest.mark.parametrize("kind", ["box", "hull"])
@pytest.mark.parametrize("spin", [20.0, 100.0, 400.0])
def test_the_tip_of_a_fast_arm_does_not_pass_a_thin_plate(spin, kind):
    run = run_of(arm_at_a_plate(spin, kind=kind), 0.1)
    assert angle_of(run) == pytest.approx(np.arcsin(0.3 - 0.01 - 0.01), abs=1e-3)
    assert abs(run.state.angular_velocity[0, 1]) < 1e-6 * spin
    assert run.report.contact.impacts > 0


@pytest.mark.parametrize("spin", [20.0, 100.0, 400.0])
def test_a_fast_arm_between_elastic_plates_keeps_its_speed(spin):
    scene = arm_at_a_plate(spin, 1.0)
    scene.add_obstacle("other plate", dal.Box(0.02, 1.0, 1.0), position=(-0.3, 0.0, 0.9))
    simulation = dal.Simulation(scene, dt=1 / 60, coordinates="joint", method="time_stepping")
    for _ in range(12):
        simulation.advance(1 / 60)
        assert abs(angle_of(simulation)) < np.arcsin(0.28) + 1e-3
        assert abs(simulation.state.angular_velocity[0, 1]) == pytest.approx(spin, rel=1e-10)


@pytest.mark.parametrize("dt", [1 / 60, 1 / 240])
@pytest.mark.parametrize("speed", [8.0, 60.0, 500.0])
@pytest.mark.parametrize("restitution", [0.0, 1.0])
def test_a_ball_that_is_shot_at_a_link_does_not_pass_it(speed, restitution, dt):
    """A door of 2 cm on a hinge; the velocity of the ball after the impact is that of theory."""
    scene = dal.Scene("door", material=dal.Material(0.0, restitution), gravity=(0.0, 0.0, 0.0))
    door = scene.add_body("door", dal.Box(1.0, 0.02, 1.0), mass=3.0, position=(0.5, 0.0, 0.0))
    scene.hinge("hinge", dal.WORLD, door, at=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
    scene.add_body("ball", dal.Sphere(0.03), mass=0.5, position=(0.7, -0.5, 0.1), velocity=(0.0, speed, 0.0))
    run = run_of(scene, 0.55 / speed + dt, dt)
    inertia = 3.0 / 3.0 + 3.0 * 0.02**2 / 12
    impulse = (1.0 + restitution) * speed / (1 / 0.5 + 0.7**2 / inertia)
    spin = run.state.angular_velocity[0, 2]
    assert spin == pytest.approx(0.7 * impulse / inertia, rel=2e-2)
    if speed < 100.0:  # else the door turns so far in a step that there is no other side
        (x, y), (u, v) = run.state.position[:, :2]
        assert x * v - y * u < 0.0, "the ball is on the other side of the door"
    if restitution == 1.0:
        assert run.report.energy_residual_relative < 1e-10


@pytest.mark.parametrize("speed", [20.0, 200.0])
def test_a_free_body_in_joint_coordinates_does_not_pass_a_wall(speed):
    """A ball at rest that another drives at the wall: the chain of impacts is in one step."""
    scene = dal.Scene("shot", material=dal.Material(0.0, 0.0), gravity=(0.0, 0.0, 0.0))
    scene.add_obstacle("wall", dal.Box(0.02, 4.0, 4.0), position=(1.01, 0.0, 0.0))
    scene.add_body("hit", dal.Sphere(0.05), mass=1.0, position=(0.0, 0.1, 0.2))
    scene.add_body("shot", dal.Sphere(0.05), mass=3.0, position=(-0.3, 0.1, 0.2), velocity=(speed, 0.0, 0.0))
    run = run_of(scene, 2.0 / speed + 3 / 60)
    np.testing.assert_allclose(run.state.position[:, 0], (0.95, 0.85), atol=1e-4)
    np.testing.assert_allclose(run.state.velocity, 0.0, atol=1e-5 * speed)


def test_contact_forces_explain_the_momentum_of_a_ball_among_fast_arms():
    scene, dt = dal.Scene("beaters", material=dal.Material(0.3, 0.8)), 1 / 120
    for i in range(3):
        place, spin = np.array((0.8 * i, 0.0, 0.0)), 60.0 + 40.0 * i
        rod = scene.add_body(
            f"rod {i}", dal.Capsule(0.02, 0.7), mass=1.0, position=place, angular_velocity=(0.0, spin, 0.0)
        )
        scene.hinge(f"axle {i}", dal.WORLD, rod, at=place, axis=(0.0, 1.0, 0.0))
    for i in range(4):
        scene.add_body(f"ball {i}", dal.Sphere(0.05), mass=0.2, position=(0.3 + 0.5 * i, 0.0, 0.6 + 0.1 * i))
    simulation = dal.Simulation(scene, dt=dt, coordinates="joint", method="time_stepping")
    names, before = simulation.model.body_names, np.array(simulation.state.momentum[:, :3])
    for _ in range(60):
        simulation.advance(dt)
        forces = np.zeros((7, 3))
        for contact in simulation.contacts:
            for name, sign in ((contact.a, -1.0), (contact.b, 1.0)):
                forces[names.index(name)] += sign * contact.force
        after = np.array(simulation.state.momentum[:, :3])
        change = after - before - dt * 0.2 * np.array((0.0, 0.0, -9.81))
        np.testing.assert_allclose(dt * forces[3:], change[3:], atol=1e-9)
        before = after
    assert simulation.report.contact.impacts > 2


def test_a_slow_robot_is_not_watched():
    run = run_of(arm_at_a_plate(0.3), 0.5)
    assert run.report.contact.impacts == 0


def test_a_robot_that_an_impact_spins_too_fast_for_the_step_is_told_which_joint_and_a_step_that_is_short_enough():
    scene = dal.Scene("shot", gravity=(0, 0, 0), material=dal.Material(0.5, 1.0))
    scene.add_obstacle("wall", dal.Box(0.02, 20, 20), orientation=(np.cos(0.05), 0, np.sin(0.05), 0))
    x = -0.8638676
    for name, place in (("a", x), ("b", x - 0.25)):
        scene.add_body(name, dal.Box(0.2, 0.05, 0.05), mass=1.2, position=(place, 0, 0), velocity=(340.7, 0, 0))
    scene.hinge("h", "a", "b", at=(x - 0.125, 0, 0), axis=(0, 1, 0))
    with pytest.raises(
        dal.SimulationError, match=r"turns at [1-9].* rad/s, by .* rad in a step; give dt = (\S+) or less"
    ):
        dal.simulate(scene, 0.1, dt=1 / 60, coordinates="joint")
