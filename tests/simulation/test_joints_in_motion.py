"""Joints stay closed, carry what they should, and let go."""

import itertools

import numpy as np

import dalembert as dal

from .motions import G, chain, double_pendulum, pendulum


def test_joints_of_a_rope_stay_closed():
    run = dal.simulate(chain(20, sideways=True), 1.0, method="rk4", dt=2e-3)
    assert run.report.joint_error <= 5e-15
    assert run.report.joint_velocity_error <= 2e-13


def test_feedback_and_penalty_come_near_projection():
    expected = dal.simulate(double_pendulum(), 0.5, rtol=1e-10).state.position
    feedback = dal.simulate(double_pendulum(), 0.5, rtol=1e-10, hold="feedback", stiffness=100.0, damping=20.0)
    np.testing.assert_allclose(feedback.state.position, expected, rtol=0, atol=5e-11)
    errors = []
    for stiffness in (1e4, 1e5):
        run = dal.simulate(double_pendulum(), 0.5, rtol=1e-8, hold="penalty", stiffness=stiffness, damping=300.0)
        errors.append(np.abs(run.state.position - expected).max())
    assert errors[1] < 0.25 * errors[0] < 0.25 * 0.05


def test_joints_of_a_hanging_chain_carry_what_hangs_below():
    run = dal.simulate(chain(6), 0.1, method="rk4", dt=1e-2)
    masses = 0.5 + 0.1 * np.arange(6)
    below = np.cumsum(masses[::-1])[::-1]
    forces = run.trajectory.reaction_force.values
    np.testing.assert_allclose(forces[:, :, 2], np.broadcast_to(below * G, forces.shape[:2]), rtol=0, atol=3e-13)
    np.testing.assert_allclose(forces[:, :, :2], 0.0, atol=1e-12)
    np.testing.assert_allclose(run.trajectory.reaction_torque.values, 0.0, atol=1e-12)


def test_a_weld_carries_the_moment_of_a_cantilever():
    scene = dal.Scene("cantilever")
    scene.add_body("beam", dal.Box(2, 0.1, 0.1), mass=3.0, position=(1, 0, 0))
    scene.weld("wall", dal.WORLD, "beam", (0, 0, 0))
    frame = dal.simulate(scene, 0.1, method="rk4", dt=1e-2).trajectory
    np.testing.assert_allclose(frame.reaction_force.values[-1, 0], [0, 0, 3 * G], atol=1e-12)
    np.testing.assert_allclose(frame.reaction_torque.values[-1, 0], [0, -3 * G, 0], atol=1e-12)


def test_a_released_joint_lets_go():
    run = dal.Simulation(pendulum(), rtol=1e-11)
    run.release("pin")
    run.advance(0.5)
    np.testing.assert_allclose(run.state.position[0], [-0.5, 0, -0.5 * G * 0.25], rtol=0, atol=1e-12)
    assert run.trajectory.joint_error.values[-1, 0] == 0.0


def test_every_method_runs():
    for method, hold in itertools.product(dal.METHODS, ("projection", "feedback", "penalty")):
        run = dal.simulate(pendulum(0.3), 0.02, method=method, dt=1e-3, hold=hold, stiffness=1000.0, damping=20.0)
        assert np.isfinite(run.state.y).all(), (method, hold)
