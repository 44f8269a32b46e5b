"""Runs at high accuracy end where theory, or another way of computing, has them."""

import numpy as np
import pytest

import dalembert as dal

from .motions import G, double_pendulum, double_pendulum_angles, free_body, free_body_reference


def test_a_free_body_at_a_millisecond_for_ten_seconds():
    run = dal.simulate(free_body(), 10.0, method="dop853", dt=1e-3)
    spin = run.trajectory.angular_momentum.values[:, 0]
    assert np.abs(spin - spin[0]).max() <= 1e-14 * np.linalg.norm(spin[0])
    expected = free_body_reference(10.0)
    q = run.state.orientation[0]
    assert min(np.abs(q - expected).max(), np.abs(q + expected).max()) <= 3e-13
    np.testing.assert_allclose(run.state.position[0], [3.0, 0, 0], atol=1e-12)
    assert abs(run.report.energy_residual_relative) <= 2e-14


def test_a_double_pendulum_is_that_of_lagrange():
    run = dal.simulate(double_pendulum(), 3.0, rtol=1e-11)
    np.testing.assert_allclose(run.state.position, double_pendulum_angles(3.0), rtol=0, atol=2e-10)


def test_a_falling_ball_is_exact():
    scene = dal.Scene("fall")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, velocity=(1.0, 0, 2.0))
    run = dal.simulate(scene, 1.0, method="rk4", dt=0.01)
    np.testing.assert_allclose(run.state.position[0], [1.0, 0, 2.0 - 0.5 * G], rtol=0, atol=1e-13)


def test_drag_has_its_terminal_velocity():
    scene = dal.Scene("drag")
    scene.add_body("ball", dal.Sphere(0.1), mass=2.0, velocity=(3.0, 0, 0), angular_velocity=(0, 0, 5.0))
    scene.drag("air", linear=0.8, angular=0.01)
    run = dal.simulate(scene, 3.0, rtol=1e-12)
    decay = np.exp(-0.4 * 3.0)
    np.testing.assert_allclose(run.state.velocity[0], [3 * decay, 0, -2 * G / 0.8 * (1 - decay)], rtol=0, atol=1e-10)
    assert run.state.angular_momentum[0, 2] == pytest.approx(0.008 * 5 * np.exp(-0.01 / 0.008 * 3.0), rel=1e-10)
    report = run.report
    assert report.work["air"] == pytest.approx(report.energy_end - report.energy_start, rel=1e-10)


def test_a_motor_drives_a_hinge_to_its_speed():
    scene = dal.Scene("motor", gravity=(0, 0, 0))
    scene.add_body("rotor", mass=1.0, inertia=(0.1, 0.1, 0.2))
    scene.hinge("axle", dal.WORLD, "rotor", (0, 0, 0), (0, 0, 1))
    scene.motor("drive", "axle", speed=10.0, damping=0.5)
    run = dal.simulate(scene, 1.0, rtol=1e-11)
    expected = 10.0 * (1 - np.exp(-0.5 / 0.2))
    assert run.state.angular_momentum[0, 2] / 0.2 == pytest.approx(expected, rel=1e-9)
    assert run.report.work["drive"] == pytest.approx(0.5 * 0.2 * expected**2, rel=1e-9)


def test_accelerations_of_a_chain_are_those_of_mujoco():
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(7)
    scene, xml = dal.Scene("chain"), ""
    top, step = np.zeros(3), np.zeros(3)

    def text(values):
        return " ".join(repr(float(value)) for value in values)

    for k in range(6):
        mass, moments, arm = rng.uniform(0.5, 2), rng.uniform(0.1, 0.15, 3), rng.uniform(-0.5, 0.5, 3)
        scene.add_body(f"b{k}", mass=mass, inertia=moments, position=top + arm)
        scene.ball(f"j{k}", dal.WORLD if k == 0 else f"b{k - 1}", f"b{k}", top)
        xml += f'<body pos="{text(step)}"><joint type="ball"/>'
        xml += f'<inertial pos="{text(arm)}" mass="{float(mass)!r}" diaginertia="{text(moments)}"/>'
        step = rng.uniform(-0.6, 0.6, 3)
        top = top + step
    xml += "</body>" * 6
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="0 0 -9.81"/><worldbody>{xml}</worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    # From rest every body turns with the sum of its joints' accelerations, and ω̇ is what qacc adds along the chain.
    expected = np.cumsum(data.qacc.reshape(-1, 3), axis=0)
    run = dal.Simulation(scene, method="rk4", dt=1e-3)
    rates = run._dydt[: 6 * 13].reshape(-1, 13)
    moments = np.array([np.diag(b.inertia) for b in scene.bodies.values()])
    np.testing.assert_allclose(rates[:, 10:13] / moments, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
