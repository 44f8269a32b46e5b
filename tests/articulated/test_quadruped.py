"""A quadruped of 18 freedoms: energy and momentum to rounding, as published for other engines' integrators."""

import numpy as np
import pytest

import dalembert as dal

HIPS = [(x, y) for x in (0.3, -0.3) for y in (0.15, -0.15)]


def quadruped(gravity=(0.0, 0.0, -9.81), height=2.0):
    """A trunk and four legs of three hinges: abduction, hip, knee."""
    scene = dal.Scene("quadruped", gravity=gravity)
    trunk = scene.add_body("trunk", dal.Box(0.6, 0.25, 0.1), mass=12.0, position=(0, 0, height))
    for i, (x, y) in enumerate(HIPS):
        out = 0.05 * np.sign(y)
        hip = scene.add_body(f"hip {i}", dal.Sphere(0.05), mass=0.7, position=(x, y + out, height))
        thigh = scene.add_body(f"thigh {i}", dal.Capsule(0.03, 0.2), mass=1.0, position=(x, y + out, height - 0.12))
        shank = scene.add_body(f"shank {i}", dal.Capsule(0.02, 0.2), mass=0.4, position=(x, y + out, height - 0.36))
        scene.hinge(f"abduction {i}", trunk, hip, at=(x, y, height), axis=(1, 0, 0))
        scene.hinge(f"hip joint {i}", hip, thigh, at=(x, y + out, height), axis=(0, 1, 0))
        scene.hinge(f"knee {i}", thigh, shank, at=(x, y + out, height - 0.24), axis=(0, 1, 0))
    return scene


def weight(scene):
    return sum(body.mass for body in scene.bodies.values())


def test_a_quadruped_pushed_and_falling_freely_keeps_its_energy():
    """Mean squared error of the energy over 2 s after a push of twice the weight for 1 s; RK4, 1 ms; legs swing and turn."""
    scene = quadruped()
    push = 2.0 * 9.81 * weight(scene) * np.array([np.sin(0.15), 0.0, np.cos(0.15)])
    scene.external_force("push", "trunk", force=push, at=(0.0, 0.01, 2.0))
    run = dal.Simulation(scene, coordinates="joint", method="rk4", dt=1e-3, frame_rate=100.0)
    run.advance(1.0)
    run.release("push")
    run.advance(2.0)
    trajectory = run.trajectory
    after = trajectory.times > 1.0 + 1e-9
    energy = (trajectory.kinetic + trajectory.potential).values[after]
    spin = (
        np.abs(trajectory.angular_momentum.sel(body="shank 0").values[after]).max()
        / scene.bodies["shank 0"].inertia.max()
    )
    assert spin > 1.0  # rad/s
    assert np.mean((energy - energy[0]) ** 2) <= 1e-16


@pytest.mark.parametrize(("coordinates", "square"), [("maximal", 1e-24), ("joint", 1e-18)])
def test_a_quadruped_and_a_thrown_ball_keep_their_momentum(coordinates, square):
    """To rounding with the momenta of bodies in the state; to the order of the method with joint coordinates there."""
    scene = quadruped(gravity=(0.0, 0.0, 0.0))
    scene.add_body("ball", dal.Sphere(0.05), mass=0.5, position=(0.5, 0, 2.2), velocity=(-3.0, 0.2, -1.0))
    scene.spring("bumper", "trunk", "ball", at_a=(0.3, 0, 2.05), at_b=(0.5, 0, 2.2), stiffness=200.0, rest=0.3)
    run = dal.simulate(scene, 0.3, coordinates=coordinates, method="rk4", dt=1e-3)
    momentum = run.trajectory.momentum.values.sum(axis=1)
    assert np.ptp(run.trajectory.momentum.sel(body="ball").values[:, 0]) > 1.0
    assert np.max(np.sum((momentum - momentum[0]) ** 2, axis=1)) <= square
