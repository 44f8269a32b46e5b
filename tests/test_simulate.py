"""Whole runs against known solutions, and the promises of `Simulation`."""

import functools
import itertools

import numba
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dal

G = 9.81
FIXED = {"euler": 1, "symplectic_euler": 1, "splitting": 2, "midpoint": 2, "bogacki_shampine": 3, "rk4": 4,
         "dormand_prince": 5, "dop853": 8}  # fmt: skip
SPIN = (0.4, 2.0, 0.3)  # near the middle axis: the motion turns over


def free_body():
    scene = dal.Scene("free", gravity=(0, 0, 0))
    scene.add_body("book", mass=1.0, inertia=(1.0, 2.0, 2.7), velocity=(0.3, 0, 0), angular_velocity=SPIN)
    return scene


def pendulum(angle=np.pi / 2, speed=0.0, length=1.0):
    """A thin box on a hinge along y; the angle is that from hanging, positive towards −x."""
    scene = dal.Scene("pendulum")
    half = 0.5 * length
    scene.add_body(
        "rod", dal.Box(0.1, 0.1, length), mass=2.0, position=(-half * np.sin(angle), 0, -half * np.cos(angle)),
        orientation=(np.cos(angle / 2), 0, np.sin(angle / 2), 0), angular_velocity=(0, speed, 0),
        velocity=np.cross((0, speed, 0), (-half * np.sin(angle), 0, -half * np.cos(angle))),
    )  # fmt: skip
    scene.hinge("pin", dal.WORLD, "rod", (0, 0, 0), (0, 1, 0))
    return scene


def angle_of(state):
    return 2.0 * np.arctan2(state.orientation[0, 2], state.orientation[0, 0])


def double_pendulum(angle=np.pi / 2):
    """Two boxes in a line, each hanging from the end of the one before, let go at an angle from hanging."""
    scene = dal.Scene("double pendulum")
    q = (np.cos(angle / 2), 0, np.sin(angle / 2), 0)
    arm = np.array([-np.sin(angle), 0, -np.cos(angle)])
    scene.add_body("upper", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=0.5 * arm, orientation=q)
    scene.add_body("lower", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=1.5 * arm, orientation=q)
    scene.hinge("shoulder", dal.WORLD, "upper", (0, 0, 0), (0, 1, 0))
    scene.hinge("elbow", "upper", "lower", arm, (0, 1, 0))
    return scene


@functools.cache
def double_pendulum_angles(t, angle=np.pi / 2, rtol=1e-13):
    """The same in its two angles from hanging, by Lagrange's equations of second kind."""
    inertia = (1.0 + 0.01) / 12.0

    def rates(_, z):
        a, b, u, v = z
        c, s = np.cos(a - b), np.sin(a - b)
        matrix = np.array([[inertia + 0.25 + 1.0, 0.5 * c], [0.5 * c, inertia + 0.25]])
        right = [-0.5 * s * v * v - 1.5 * G * np.sin(a), 0.5 * s * u * u - 0.5 * G * np.sin(b)]
        return [u, v, *np.linalg.solve(matrix, right)]

    z = solve_ivp(rates, (0, t), [angle, angle, 0, 0], method="DOP853", rtol=rtol, atol=1e-14).y[:, -1]
    a, b = z[:2]
    upper = np.array([-0.5 * np.sin(a), 0, -0.5 * np.cos(a)])
    return np.array([upper, 2 * upper + [-0.5 * np.sin(b), 0, -0.5 * np.cos(b)]])


@functools.cache
def free_body_reference(t):
    """Euler's equations and the attitude, in body axes, by an independent integrator."""
    moments = np.array([1.0, 2.0, 2.7])

    def rates(_, z):
        q, w = z[:4], z[4:]
        turn = 0.5 * np.array([
            -q[1:] @ w, q[0] * w[0] + q[2] * w[2] - q[3] * w[1], q[0] * w[1] + q[3] * w[0] - q[1] * w[2],
            q[0] * w[2] + q[1] * w[1] - q[2] * w[0],
        ])  # fmt: skip
        return np.concatenate([turn, np.cross(moments * w, w) / moments])

    z = solve_ivp(rates, (0, t), [1, 0, 0, 0, *SPIN], method="DOP853", rtol=3e-14, atol=1e-15).y[:, -1]
    return z[:4] / np.linalg.norm(z[:4])


def chain(count=6, static=False, sideways=False):
    """Boxes end to end from the world, joined by balls: hanging, or let go from the side."""
    scene = dal.Scene("chain")
    direction = np.array([1.0, 0, 0]) if sideways else np.array([0.0, 0, -1.0])
    q = (np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0) if sideways else (1, 0, 0, 0)
    for k in range(count):
        scene.add_body(f"link{k}", dal.Box(0.05, 0.04, 0.2), mass=0.5 + 0.1 * k, position=(0.2 * k + 0.1) * direction,
                       orientation=q)  # fmt: skip
        scene.ball(f"ball{k}", dal.WORLD if k == 0 else f"link{k - 1}", f"link{k}", 0.2 * k * direction)
    return scene


def slope(steps, errors):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


# Order ----------------------------------------------------------------------------------------------------------------

COUNTS = {1: (800, 1600, 3200), 2: (200, 400, 800), 3: (100, 200, 400), 4: (60, 120, 240), 5: (400, 600, 900),
          8: (10, 12, 16)}  # fmt: skip
PENDULUM_COUNTS = {1: (800, 1600, 3200), 2: (200, 400, 800), 3: (100, 200, 400), 4: (240, 360, 480),
                   5: (180, 270, 400), 8: (24, 28, 32)}  # fmt: skip


def end(scene, method, count, duration):
    return dal.simulate(scene, duration, method=method, dt=duration / count, frames=1.0 / duration).state


@pytest.mark.parametrize("method", FIXED)
def test_order_on_a_free_body(method):
    counts, duration = COUNTS[FIXED[method]], 8.0 if FIXED[method] == 5 else 2.0
    expected = free_body_reference(duration)
    ends = [end(free_body(), method, n, duration).orientation[0] for n in counts]
    errors = [min(np.linalg.norm(q - expected), np.linalg.norm(q + expected)) for q in ends]
    assert slope(1.0 / np.array(counts), errors) == pytest.approx(FIXED[method], abs=0.1)


@pytest.mark.parametrize("method", FIXED)
def test_order_on_a_double_pendulum(method):
    counts = PENDULUM_COUNTS[FIXED[method]]
    angle, duration = (0.5, 1.6) if FIXED[method] == 8 else (np.pi / 2, 0.8)
    expected = double_pendulum_angles(duration, angle)
    errors = [np.linalg.norm(end(double_pendulum(angle), method, n, duration).position - expected) for n in counts]
    assert slope(1.0 / np.array(counts), errors) == pytest.approx(FIXED[method], abs=0.1)


# Accuracy -------------------------------------------------------------------------------------------------------------


def test_a_free_body_at_a_millisecond_for_ten_seconds():
    run = dal.simulate(free_body(), 10.0, method="dop853", dt=1e-3)
    spin = run.trajectory.angular_momentum.values[:, 0]
    assert np.abs(spin - spin[0]).max() <= 1e-14 * np.linalg.norm(spin[0])
    expected = free_body_reference(10.0)
    q = run.state.orientation[0]
    assert min(np.abs(q - expected).max(), np.abs(q + expected).max()) <= 3e-13
    np.testing.assert_allclose(run.state.position[0], [3.0, 0, 0], atol=1e-12)
    assert abs(run.report.energy_residual_relative) <= 2e-14


def test_splitting_keeps_the_spin_of_a_free_body():
    run = dal.simulate(free_body(), 10.0, method="splitting", dt=1e-2)
    spin = run.trajectory.angular_momentum.values[:, 0]
    np.testing.assert_array_equal(spin, np.broadcast_to(spin[0], spin.shape))


def test_a_double_pendulum_is_that_of_lagrange():
    run = dal.simulate(double_pendulum(), 3.0, rtol=1e-11)
    np.testing.assert_allclose(run.state.position, double_pendulum_angles(3.0), rtol=0, atol=2e-10)


def test_joints_of_a_rope_stay_closed():
    run = dal.simulate(chain(20, sideways=True), 1.0, method="rk4", dt=2e-3)
    assert run.report.joint_error <= 5e-15
    assert run.report.joint_velocity_error <= 2e-13


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
    scene.motor("drive", "axle", speed=10.0, gain=0.5)
    run = dal.simulate(scene, 1.0, rtol=1e-11)
    expected = 10.0 * (1 - np.exp(-0.5 / 0.2))
    assert run.state.angular_momentum[0, 2] / 0.2 == pytest.approx(expected, rel=1e-9)
    assert run.report.work["drive"] == pytest.approx(0.5 * 0.2 * expected**2, rel=1e-9)


# The audit ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["midpoint", "rk4", "dormand_prince", "splitting"])
def test_energy_and_momentum_close_at_the_order_of_the_method(method):
    scene = chain(3, sideways=True)
    scene.drag("air", linear=0.2, angular=0.001)
    scene.spring("band", dal.WORLD, "link2", (0.6, 0.3, 0.5), (0.6, 0, 0), stiffness=20.0, damping=0.5)
    sizes = np.array([4e-3, 2e-3, 1e-3])
    reports = [dal.simulate(scene, 0.5, method=method, dt=h, frames=4).report for h in sizes]
    energies = [report.energy_residual for report in reports]
    assert slope(sizes, energies) >= FIXED[method] - 0.35
    assert reports[-1].momentum_residual <= 1e-13
    limits = {"midpoint": 3e-5, "rk4": 2e-10, "dormand_prince": 5e-12, "splitting": 1.5e-4}
    assert energies[-1] <= limits[method]


def test_splitting_is_of_second_order_with_drag():
    scene = dal.Scene("drag", gravity=(0, 0, 0))
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, velocity=(1.0, 0, 0))
    scene.drag("air", linear=1.0)
    sizes = np.array([0.04, 0.02, 0.01])
    runs = [dal.simulate(scene, 1.0, method="splitting", dt=h) for h in sizes]
    assert slope(sizes, [abs(run.state.velocity[0, 0] - np.exp(-1.0)) for run in runs]) == pytest.approx(2.0, abs=0.1)
    assert slope(sizes, [run.report.energy_residual for run in runs]) >= 1.9


def test_splitting_keeps_the_energy_of_a_free_body_bounded_and_its_angular_momentum_exact():
    """Over 100 s at 20 ms its mean moves by a small part of what it oscillates by; midpoint, of the same order, drifts."""
    drift = {}
    for method in ("splitting", "midpoint"):
        scene = dal.Scene("free", gravity=(0, 0, 0))
        scene.add_body("body", dal.Box(0.1, 0.2, 0.3), mass=1.0, angular_velocity=(0.5, 3.0, 0.4))
        run = dal.simulate(scene, 100.0, method=method, dt=0.02, frames=50)
        energy = run.trajectory.kinetic.values
        third = len(energy) // 3
        drift[method] = abs(energy[-third:].mean() - energy[:third].mean()) / np.ptp(energy[:third])
        spin = run.trajectory.angular_momentum.values[:, 0]
        np.testing.assert_array_equal(spin, np.broadcast_to(spin[0], spin.shape))
    assert drift["splitting"] <= 0.05
    assert drift["midpoint"] >= 0.5


def test_energy_of_a_conservative_chain_at_high_accuracy():
    report = dal.simulate(chain(4, sideways=True), 1.0, method="dop853", rtol=1e-11).report
    assert report.energy_residual_relative <= 2e-13
    assert abs(report.energy_end - report.energy_start) <= 1e-11
    assert abs(report.constraint_work) <= 1e-11


# Holding joints -------------------------------------------------------------------------------------------------------


def test_feedback_and_penalty_come_near_projection():
    expected = dal.simulate(double_pendulum(), 0.5, rtol=1e-10).state.position
    feedback = dal.simulate(double_pendulum(), 0.5, rtol=1e-10, hold="feedback", stiffness=100.0, damping=20.0)
    np.testing.assert_allclose(feedback.state.position, expected, rtol=0, atol=5e-11)
    errors = []
    for stiffness in (1e4, 1e5):
        run = dal.simulate(double_pendulum(), 0.5, rtol=1e-8, hold="penalty", stiffness=stiffness, damping=300.0)
        errors.append(np.abs(run.state.position - expected).max())
    assert errors[1] < 0.25 * errors[0] < 0.25 * 0.05


# Reactions ------------------------------------------------------------------------------------------------------------


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


# Another engine -------------------------------------------------------------------------------------------------------


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


# Events ---------------------------------------------------------------------------------------------------------------


def test_an_event_releases_at_its_time():
    scene = pendulum(np.pi / 3)
    scene.event("bottom", lambda t, y: y[5], release="pin")
    run = dal.Simulation(scene, rtol=1e-11, frames=200)
    run.advance(1.0)
    trajectory = run.trajectory
    force = np.abs(trajectory.reaction_force.values[:, 0]).max(axis=1)
    free = int(np.argmax(force == 0.0))
    assert free > 0 and not force[free:].any()
    q = trajectory.orientation.values[free, 0]
    assert abs(2 * np.arctan2(q[2], q[0])) <= 1e-12
    # Free from then on: it keeps its spin and falls.
    spin = trajectory.angular_momentum.values[free:, 0]
    np.testing.assert_allclose(spin, np.broadcast_to(spin[0], spin.shape), rtol=0, atol=1e-13)
    later = 1.0 - float(trajectory.times[free])
    drop = trajectory.position.values[-1, 0, 2] - trajectory.position.values[free, 0, 2]
    speed = trajectory.momentum.values[free, 0, 2] / 2.0
    assert drop == pytest.approx(speed * later - 0.5 * G * later**2, abs=1e-10)
    assert run.report.energy_residual <= 1e-9


def test_time_of_an_event_is_that_of_the_motion():
    scene = pendulum(1.0)
    scene.event("bottom", lambda t, y: y[5], stop=True)
    run = dal.simulate(scene, 5.0, rtol=1e-12)
    inertia = 2.0 * (1.01 / 12 + 0.25)
    swing = solve_ivp(lambda t, z: [z[1], -2 * G * 0.5 / inertia * np.sin(z[0])], (0, 2), [1.0, 0], method="DOP853",
                      rtol=1e-13, atol=1e-14, events=lambda t, z: z[0])  # fmt: skip
    assert run.stopped and run.time == pytest.approx(swing.t_events[0][0], abs=1e-10)
    assert abs(angle_of(run.state)) <= 1e-10
    assert run.trajectory.times[-1] == run.time


@pytest.mark.parametrize("direction, sign", [(-1, -1), (1, 1)])
def test_direction_of_an_event(direction, sign):
    scene = pendulum(0.5)
    scene.event("bottom", lambda t, y: y[5], stop=True, direction=direction)
    run = dal.simulate(scene, 5.0, rtol=1e-10)
    assert run.stopped and abs(angle_of(run.state)) <= 1e-9
    assert np.sign(run.state.angular_momentum[0, 1]) == sign


def test_an_action_is_booked_as_work_of_events():
    scene = pendulum(0.5)

    def kick(state):
        state.angular_momentum[0, 1] *= 2.0
        state.momentum[0] *= 2.0

    scene.event("bottom", lambda t, y: y[5], action=kick)
    run = dal.simulate(scene, 1.0, rtol=1e-11)
    report = run.report
    assert report.work["events"] == pytest.approx(report.energy_end - report.energy_start, rel=1e-8)
    assert report.energy_residual <= 1e-8


def test_an_event_that_repeats():
    scene = pendulum(0.3)
    times = []
    scene.event("bottom", lambda t, y: y[5], once=False, action=lambda state: times.append(state.time))
    dal.simulate(scene, 4.0, rtol=1e-10)
    gaps = np.diff(times)
    assert len(times) >= 4
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-8)


# Runs that are repeated, resumed or broken off ------------------------------------------------------------------------


def test_two_runs_agree_to_the_bit():
    runs = [dal.simulate(chain(5, sideways=True), 0.5) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].trajectory.state.values, runs[1].trajectory.state.values)


def test_a_run_in_two_parts_is_the_run_in_one():
    whole = dal.simulate(double_pendulum(), 0.6, method="rk4", dt=1e-3, frames=100)
    parts = dal.Simulation(double_pendulum(), method="rk4", dt=1e-3, frames=100).advance(0.3).advance(0.3)
    assert parts.time == whole.time
    np.testing.assert_allclose(parts.state.y, whole.state.y, rtol=0, atol=1e-13)


def test_a_saved_run_is_resumed(tmp_path):
    whole = dal.simulate(double_pendulum(), 0.6, method="rk4", dt=1e-3, frames=100)
    path = tmp_path / "half.nc"
    dal.simulate(double_pendulum(), 0.3, method="rk4", dt=1e-3, frames=100).trajectory.save(path)
    run = dal.Simulation(double_pendulum(), method="rk4", dt=1e-3, frames=100).resume(dal.Trajectory.load(path))
    run.advance(0.3)
    assert run.time == pytest.approx(0.6, abs=1e-15)
    np.testing.assert_allclose(run.state.y, whole.state.y, rtol=0, atol=1e-12)


def test_frames_are_recorded_at_their_rate():
    run = dal.simulate(pendulum(), 1.0, frames=50)
    np.testing.assert_allclose(run.trajectory.times, np.arange(51) / 50, rtol=0, atol=1e-15)


def test_an_interrupt_keeps_what_was_recorded():
    def progress(run):
        if run.time > 0.3:
            raise KeyboardInterrupt

    run = dal.Simulation(pendulum(), frames=100).advance(1.0, progress=progress)
    assert run.interrupted and run.report.interrupted
    assert run.trajectory.times[-1] == pytest.approx(0.31, abs=1e-12)
    run.advance(0.1)
    assert run.time == pytest.approx(0.41, abs=1e-12)


def failing(t, x, q, v, w):
    if t > 0.25:
        raise ZeroDivisionError("the tank is empty")
    return (0.0, 0.0, 1.0)


@pytest.mark.parametrize("settings", [{}, {"method": "rk4", "dt": 1e-2}])
def test_a_user_function_that_fails_is_named_with_the_time(settings):
    scene = pendulum()
    scene.load("thruster", "rod", function=failing)
    run = dal.Simulation(scene, frames=100, **settings)
    assert run.report.slow_functions == ["thruster"]
    with pytest.raises(dal.SimulationError, match=r"t = 0\.2.*'thruster'.*tank is empty") as caught:
        run.advance(1.0)
    assert 0.2 < caught.value.time <= 0.26
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.simulation is run
    assert run.trajectory.times[-1] >= 0.2


def test_a_user_function_that_fails_at_once_is_named():
    def broken(t, x, q, v, w):
        raise ZeroDivisionError("no fuel")

    for joined in (True, False):
        scene = pendulum()
        if not joined:
            scene.joints.clear()
        scene.load("thruster", "rod", function=broken)
        with pytest.raises(dal.SimulationError, match=r"'thruster'.*no fuel"):
            dal.Simulation(scene)


@pytest.mark.parametrize("settings", [{}, {"method": "rk4", "dt": 1e-2}, {"method": "splitting", "dt": 1e-2}])
def test_a_force_that_is_no_number_names_the_body(settings):
    scene = chain(2)
    scene.add_body("bystander", dal.Sphere(0.1), mass=1.0)
    scene.add_body("victim", dal.Sphere(0.1), mass=1.0)
    scene.load("wind", "victim", function=lambda t, x, q, v, w: (0.0, 0.0, np.nan if t > 0.25 else 0.0))
    run = dal.Simulation(scene, frames=100, **settings)
    with pytest.raises(dal.SimulationError, match=r"t = 0\.2.*not a number.*'victim'"):
        run.advance(1.0)
    assert np.isfinite(run.trajectory.state.values).all()


def test_an_impulse_between_two_parts():
    run = dal.Simulation(free_body(), method="rk4", dt=1e-2).advance(0.5)
    run.state.momentum[0] += [0.0, 2.0, 0.0]
    run.changed()
    run.advance(0.5)
    np.testing.assert_allclose(run.state.position[0], [0.3, 1.0, 0.0], rtol=0, atol=1e-14)


def test_a_released_joint_lets_go():
    run = dal.Simulation(pendulum(), rtol=1e-11)
    run.release("pin")
    run.advance(0.5)
    np.testing.assert_allclose(run.state.position[0], [-0.5, 0, -0.5 * G * 0.25], rtol=0, atol=1e-12)
    assert run.trajectory.joint_error.values[-1, 0] == 0.0


def test_names_of_a_state():
    run = dal.Simulation(chain(3), dt=1e-2)
    assert run.state.index("link2") == 2
    assert run.model.body_slice("link2") == slice(26, 39)


@pytest.mark.slow
def test_a_compiled_force_gives_the_run_of_the_plain_one():
    def lift(t, x, q, v, w):
        return (0.1 * v[1], -0.2 * x[0], 3.0 + np.sin(t))

    ends = []
    for function, slow in ((lift, ["lift"]), (numba.njit(lift), [])):
        scene = pendulum()
        scene.load("lift", "rod", function=function)
        run = dal.simulate(scene, 0.2, method="rk4", dt=5e-3)
        assert run.report.slow_functions == slow
        ends.append(run.state.y.copy())
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-14)


def test_every_method_runs():
    for method, hold in itertools.product(dal.METHODS, ("projection", "feedback", "penalty")):
        run = dal.simulate(pendulum(0.3), 0.02, method=method, dt=1e-3, hold=hold, stiffness=1000.0, damping=20.0)
        assert np.isfinite(run.state.y).all(), (method, hold)
