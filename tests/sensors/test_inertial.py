"""Inertial units against analytic motions: rest, free fall, rotation, impacts."""

import numpy as np
import pytest

import dalembert as dal
from dalembert import sensors

from .scenes import FORMULATIONS, SMOOTH, STEPS, G, largest, named, pendulum, resting_box


def test_at_rest_it_reads_gravity_upward_from_the_first_sample():
    scene = resting_box()
    scene.add_sensor(sensors.Imu("imu", "box", position=(0.05, 0.02, 0.0), rate=60))
    turned = (np.cos(0.4), np.sin(0.4), 0.0, 0.0)
    scene.add_sensor(sensors.Accelerometer("tilted", "box", orientation=turned, rate=60))
    run = dal.simulate(scene, 0.5, dt=1 / 240)
    values = run.sensors["imu"].values
    assert len(values) == 31
    assert largest(values - [0, 0, G, 0, 0, 0]) < 2e-4  # the tolerance of the contact solver, divided by the step
    assert largest(run.sensors["tilted"].value - [0.0, G * np.sin(0.8), G * np.cos(0.8)]) < 2e-4


@pytest.mark.parametrize("settings", [SMOOTH, STEPS], ids=["smooth", "steps"])
def test_in_free_fall_it_reads_the_rotation_alone(settings):
    """At the centre of mass the specific force is zero; beside it, that of a body which spins about a principal axis."""
    scene = dal.Scene("fall", material=dal.Material())
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, velocity=(1, 2, 3), angular_velocity=(0, 0, 5.0))
    scene.add_sensor(sensors.Imu("centre", "ball"))
    scene.add_sensor(sensors.Imu("beside", "ball", position=(0.04, 0, 0)))
    if "dt" in settings:
        scene.add_obstacle("far", dal.HalfSpace(), position=(0, 0, -100))
    run = dal.simulate(scene, 0.3, **settings)
    assert largest(run.sensors["centre"].values - [0, 0, 0, 0, 0, 5.0]) < 1e-12
    assert largest(run.sensors["beside"].values - [-0.04 * 25.0, 0, 0, 0, 0, 5.0]) < 1e-12


@pytest.mark.parametrize("settings", FORMULATIONS, ids=named)
def test_on_a_pendulum_centripetal_and_tangential_terms(settings):
    """f = α × r + ω × (ω × r) − g in the axes of the bar, from the recorded angle and rate, in all formulations."""
    scene = pendulum(friction=1e-30 if "dt" in settings else 0.0)
    scene.add_sensor(sensors.Imu("imu", "bar", position=(0.2, 0.1, 0.05)))
    scene.add_sensor(sensors.Accelerometer("at pivot", "bar", position=(-1, 0, 0)))
    scene.add_sensor(sensors.JointState("angle", "pivot"))
    scene.add_sensor(sensors.JointState("rate", "pivot", "velocity"))
    read = dal.simulate(scene, 0.6, **settings).sensors
    angle, rate = read["angle"].values[:, 0], read["rate"].values[:, 0]
    assert largest(rate) > 3.0
    inertia = 2.0 / 12.0 * (0.1**2 + 0.3**2) + 2.0
    zero, spin, turning = 0.0 * rate, rate, 2.0 * G * np.cos(angle) / inertia
    omega, alpha = np.stack([zero, spin, zero], 1), np.stack([zero, turning, zero], 1)
    gravity = G * np.stack([np.sin(angle), zero, -np.cos(angle)], 1)
    arm = np.array([1.2, 0.1, 0.05])
    force = np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm)) - gravity
    assert largest(read["imu"].values - np.concatenate([force, omega], axis=1)) < 1e-11
    assert largest(read["at pivot"].values + gravity) < 1e-11


def test_on_a_body_that_moves_by_command():
    """A turntable that speeds up: ω = 3 t, α = 3."""
    scene = dal.Scene("table")

    def spin(t):
        angle = 1.5 * t * t
        return (0.0, 0.0, 0.0, np.cos(0.5 * angle), 0.0, 0.0, np.sin(0.5 * angle))

    scene.add_body("table", dal.Cylinder(1.0, 0.1), motion=spin)
    scene.add_body("other", dal.Sphere(0.1), mass=1.0, position=(5, 0, 0))
    scene.add_sensor(sensors.Imu("imu", "table", position=(0.5, 0, 0)))
    run = dal.simulate(scene, 0.4, rtol=1e-8)
    t, values = run.sensors["imu"].times, run.sensors["imu"].values
    expected = np.stack([-0.5 * 9.0 * t**2, 0.5 * 3.0 + 0 * t, G + 0 * t, 0 * t, 0 * t, 3.0 * t], 1)
    assert largest(values - expected) < 1e-4  # a function's derivatives are differences


def test_in_an_impact_it_reads_the_change_of_velocity_over_the_step():
    """A ball that lands: the sum of (f + g) h over the steps is the change of velocity."""
    dt = 1 / 400
    scene = dal.Scene("landing", material=dal.Material(restitution=0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 0.2))
    scene.add_sensor(sensors.Accelerometer("up", "ball", rate=1 / dt))
    run = dal.simulate(scene, 0.4, method="time_stepping", dt=dt)
    values = run.sensors["up"].values[1:, 2]
    assert values.max() > 300.0  # an impulse within one step
    assert abs(dt * (values - G).sum() - run.state.velocity[0, 2]) < 1e-9


def test_asleep_it_reads_gravity():
    scene = resting_box()
    scene.add_sensor(sensors.Imu("imu", "box", rate=20))
    scene.add_sensor(sensors.Touch("touch", "box", rate=20))
    run = dal.simulate(scene, 1.0, dt=1 / 240, sleep_after=0.2)
    assert run.asleep == ["box"]
    assert abs(np.linalg.norm(run.sensors["imu"].value[:3]) - G) < 1e-12  # it may lean by some 1e-8 rad
    assert largest(run.sensors["imu"].value - [0, 0, G, 0, 0, 0]) < 1e-6
    assert abs(run.sensors["touch"].value[0] - 2.0 * G) < 1e-3


def test_a_field_is_not_felt_and_a_thrust_is():
    """An accelerometer reads what acts beside gravity: a thrust of 4 N on 2 kg."""
    scene = dal.Scene("rocket")
    scene.add_body("rocket", dal.Box(0.1, 0.1, 1.0), mass=2.0)
    scene.external_force("thrust", "rocket", force=(0, 0, 4.0))
    scene.add_sensor(sensors.Accelerometer("f", "rocket"))
    scene.add_sensor(sensors.FrameState("a", "rocket", "acceleration"))
    run = dal.simulate(scene, 0.1, rtol=1e-9)
    assert largest(run.sensors["f"].values - [0, 0, 2.0]) < 1e-12
    assert largest(run.sensors["a"].values - [0, 0, 2.0 - G]) < 1e-12


def test_center_of_mass_moves_as_the_momentum_says():
    """Two bodies, one joint, no gravity: the centre moves straight, the angular momentum about it stays."""
    scene = dal.Scene("pair", gravity=(0, 0, 0))
    scene.add_body("a", dal.Box(1, 0.1, 0.1), mass=1.0, velocity=(1, 0, 0), position=(0, 0, 0))
    scene.add_body("b", dal.Box(1, 0.1, 0.1), mass=3.0, velocity=(1, 0, 0), position=(1, 0, 0))
    scene.ball("joint", "a", "b", at=(0.5, 0, 0))
    scene.external_force("twist", "a", torque=(0, 0, 0.5))
    for quantity in ("position", "velocity", "angular_momentum"):
        scene.add_sensor(sensors.CenterOfMass(quantity, quantity=quantity))
    scene.add_sensor(sensors.CenterOfMass("one", ["b"]))
    run = dal.simulate(scene, 0.5, rtol=1e-10)
    t = run.sensors["position"].times
    assert largest(run.sensors["position"].values - np.stack([0.75 + t, 0 * t, 0 * t], 1)) < 1e-9
    assert largest(run.sensors["velocity"].values - [1, 0, 0]) < 1e-9
    assert largest(run.sensors["angular_momentum"].values - np.stack([0 * t, 0 * t, 0.5 * t], 1)) < 1e-8
    assert largest(run.sensors["one"].value - run.state.position[1]) < 1e-15


@pytest.mark.parametrize("settings", FORMULATIONS, ids=named)
def test_below_a_carriage_that_moves_by_command(settings):
    """A pendulum on a carriage that accelerates at 1 m/s²: at its pivot the unit reads gravity and that, turned."""
    scene = dal.Scene("carriage")
    carriage = scene.add_body("carriage", dal.Box(1, 1, 0.1), motion=lambda t: (0.5 * t * t, 0.0, 0.0))
    bob = scene.add_body("bob", dal.Box(0.1, 0.1, 0.5), mass=1.0, position=(0.4, 0, -0.35))
    scene.hinge("hinge", carriage, bob, at=(0.4, 0, -0.1), axis=(0, 1, 0))
    if "dt" in settings:
        scene.joint_friction("friction", "hinge", effort=1e-30)
    scene.add_sensor(sensors.Accelerometer("pivot", bob, position=(0, 0, 0.25)))
    scene.add_sensor(sensors.Accelerometer("carriage", carriage))
    scene.add_sensor(sensors.ForceTorque("hinge", "hinge"))
    scene.add_sensor(sensors.Accelerometer("bob", bob))
    scene.add_sensor(sensors.JointState("angle", "hinge"))
    read = dal.simulate(scene, 0.5, **settings).sensors
    angle = read["angle"].values[:, 0]
    turned = np.stack([np.cos(angle) - G * np.sin(angle), 0 * angle, np.sin(angle) + G * np.cos(angle)], 1)
    assert abs(angle[-1]) > 0.1
    assert largest(read["carriage"].values - [1, 0, G]) < 1e-5
    assert largest(read["pivot"].values - turned) < 1e-5
    assert largest(read["hinge"].values[:, :3] - read["bob"].values) < 1e-9  # of 1 kg


def test_a_released_joint_carries_nothing():
    scene = pendulum()
    scene.add_sensor(sensors.ForceTorque("pivot", "pivot"))
    scene.add_sensor(sensors.Accelerometer("f", "bar"))
    run = dal.Simulation(scene).advance(0.2)
    assert largest(run.sensors["pivot"].value) > 10.0
    run.release("pivot")
    run.advance(0.2)
    assert largest(run.sensors["pivot"].value) == 0.0
    assert largest(run.sensors["f"].value) < 1e-12


def test_particles_that_press_on_a_body_are_felt():
    """A ball of 0.5 kg, a particle, lies on a box: the box presses with both weights, and rests."""
    scene = resting_box()
    scene.add_particles("dust", [(0, 0, 0.21)], mass=0.5)
    scene.add_sensor(sensors.Imu("imu", "box"))
    scene.add_sensor(sensors.ContactForce("ground", "box", "ground"))
    read = dal.simulate(scene, 1.0, dt=1 / 200).sensors
    assert largest(read["imu"].value - [0, 0, G, 0, 0, 0]) < 1e-3
    assert largest(read["ground"].value - [0, 0, 2.5 * G]) < 1e-2
