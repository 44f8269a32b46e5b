"""Stops, dry friction and ideal motors in joint coordinates: forces, impacts, the energy balance."""

import numpy as np
import pytest

import dalembert as dal

G = 9.81


def pendulum():
    """A ball on a hinge, level at the start; it falls to positive angles."""
    scene = dal.Scene("pendulum")
    bob = scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(1.0, 0, 0))
    scene.hinge("hinge", dal.WORLD, bob, at=(0, 0, 0), axis=(0, 1, 0))
    return scene


def rotor(spin, armature=0.0):
    """A body that turns freely about a fixed axis; its moment of inertia, with that of its motor, is 2 kg m²."""
    scene = dal.Scene("rotor", gravity=(0, 0, 0))
    own = 2.0 - armature
    body = scene.add_body("rotor", dal.Sphere(0.5), mass=1.0, inertia=(own, own, own), angular_velocity=(0, spin, 0))
    scene.hinge("axle", dal.WORLD, body, at=(0, 0, 0), axis=(0, 1, 0))
    if armature:
        scene.armature("axle", armature)
    return scene


def spin_of(run):
    return float(run.state.angular_momentum[0, 1]) / float(run.model.scene.bodies["rotor"].inertia[1, 1])


def run_of(scene, duration, dt=0.001):
    return dal.simulate(scene, duration, dt=dt, coordinates="joint")


@pytest.mark.parametrize("armature", [0.0, 0.5])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_rotor_bounces_off_its_stop(restitution, armature):
    scene = rotor(3.0, armature)
    scene.limit("stop", "axle", lower=-1.0, upper=0.4, restitution=restitution)
    run = run_of(scene, 0.2)
    lost = (
        2e-9 if armature else 1e-12
    )  # the momenta of bodies do not tell the speed of a rotor exactly: see `lift.lower`
    assert spin_of(run) == pytest.approx(-3.0 * restitution, abs=lost)
    assert run.report.work["stop"] == pytest.approx(-9.0 * (1 - restitution**2), abs=1e-8)


def test_a_pendulum_leaves_its_stop_with_the_speed_it_came_with_times_e():
    scene = pendulum()
    scene.limit("stop", "hinge", upper=0.5, restitution=0.6)
    run = dal.Simulation(scene, dt=2e-4, coordinates="joint", frame_rate=5000.0)
    run.advance(0.5)
    speeds = (
        -run.trajectory.velocity[:, 0, 2] if hasattr(run.trajectory, "velocity") else -run.trajectory.momentum[:, 0, 2]
    )
    jump = int(np.argmin(np.diff(speeds)))
    assert float(speeds[jump + 1]) == pytest.approx(-0.6 * float(speeds[jump]), rel=2e-3)


def test_a_pendulum_rests_on_its_stop():
    scene = pendulum()
    scene.limit("stop", "hinge", upper=0.5)
    run = run_of(scene, 1.5, dt=0.005)
    x, _, z = run.state.position[0]
    assert float(np.arctan2(-z, x)) == pytest.approx(0.5, abs=1e-12)
    assert run.efforts["stop"] == pytest.approx(-G * np.cos(0.5), rel=1e-9)
    report = run.report
    assert report.momentum_residual < 1e-10 and report.angular_momentum_residual < 1e-10
    assert report.energy_residual_relative < 1e-4


def test_dry_friction_stops_a_rotor_at_a_constant_rate_and_holds_it():
    scene = rotor(3.0)
    scene.joint_friction("brake", "axle", effort=4.0)
    run = dal.Simulation(scene, dt=0.001, coordinates="joint")
    run.advance(1.0)
    assert spin_of(run) == pytest.approx(3.0 - 2.0, abs=1e-12)
    run.advance(1.0)
    assert spin_of(run) == pytest.approx(0.0, abs=1e-14) and run.efforts["brake"] == pytest.approx(0.0, abs=1e-9)
    assert run.report.work["brake"] == pytest.approx(-9.0, abs=1e-9) and run.report.energy_residual < 1e-10


@pytest.mark.parametrize(("torque", "moves"), [(3.9, False), (4.4, True)])
def test_dry_friction_holds_until_it_breaks_away(torque, moves):
    scene = rotor(0.0)
    scene.joint_friction("brake", "axle", effort=4.0)
    scene.motor("push", "axle", effort=torque)
    run = run_of(scene, 1.0)
    assert spin_of(run) == pytest.approx((torque - 4.0) / 2.0 if moves else 0.0, abs=1e-10)
    assert run.efforts["brake"] == pytest.approx(-min(torque, 4.0), rel=1e-9)


def test_an_ideal_motor_reaches_its_speed_within_its_limit():
    scene = rotor(0.0)
    scene.motor("drive", "axle", speed=2.0, limit=8.0)
    run = dal.Simulation(scene, dt=0.001, coordinates="joint")
    run.advance(0.25)
    assert spin_of(run) == pytest.approx(1.0, abs=1e-12) and run.efforts["drive"] == pytest.approx(8.0)
    run.advance(0.75)
    assert spin_of(run) == pytest.approx(2.0, abs=1e-12) and run.efforts["drive"] == pytest.approx(0.0, abs=1e-9)
    assert run.report.work["drive"] == pytest.approx(4.0, abs=1e-9)
    run.release("drive")
    run.advance(0.1)
    assert run.efforts["drive"] == 0.0


def test_a_stop_moves_with_a_chain_that_floats():
    """Two links that fly free: the stop between them is met, and momenta stay."""
    scene = dal.Scene("flail", gravity=(0, 0, 0))
    one = scene.add_body("one", dal.Box(0.4, 0.1, 0.1), mass=1.0, position=(0, 0, 0), velocity=(1.0, 0, 0.3))
    two = scene.add_body("two", dal.Box(0.4, 0.1, 0.1), mass=0.5, position=(0.4, 0, 0), velocity=(1.0, 0, 0.7),
                         angular_velocity=(0, -2.0, 0))  # fmt: skip
    scene.hinge("elbow", one, two, at=(0.2, 0, 0), axis=(0, 1, 0))
    scene.limit("stop", "elbow", lower=-0.3, upper=0.3, restitution=0.8)
    run = run_of(scene, 2.0)
    report = run.report
    assert report.work["stop"] < -0.005 and report.energy_residual_relative < 1e-5
    assert report.momentum_residual < 1e-13 and report.angular_momentum_residual < 1e-13
    assert np.allclose(run.state.momentum.sum(axis=0), (1.5, 0, 0.65), atol=1e-13)


def folding():
    """A leg that lands on its foot and folds its knee until a stop, far off at the start, ends that."""
    scene, material = dal.Scene("knee"), dal.Material(friction=0.6)
    scene.add_obstacle("ground", dal.HalfSpace(), material=material)
    parts = []
    for name, mass, height, turn in (("thigh", 3.0, 0.8, 0.2), ("shank", 1.0, 0.4, -0.2)):
        parts.append(
            scene.add_body(
                name, dal.Capsule(0.05, 0.4), mass=mass, position=(0.1, 0, height), velocity=(0, 0, -4.0),
                orientation=(np.cos(turn), 0, np.sin(turn), 0), material=material,
            )
        )  # fmt: skip
    scene.hinge("knee", *parts, at=(0.02, 0, 0.6), axis=(0, 1, 0))
    scene.limit("stop", "knee", lower=-0.9, upper=0.5)
    return scene


def test_a_stop_that_is_far_off_acts_in_the_step_in_which_it_is_reached():
    """It has no response until then: the same steps as in maximal coordinates, where it always has one."""
    found = {}
    for coordinates in ("joint", "maximal"):
        run = dal.Simulation(folding(), dt=0.0005, coordinates=coordinates)
        angles, efforts = [], []
        for _ in range(400):
            run.advance(0.0005)
            angles.append(run.joint_state()["knee"][0])
            efforts.append(run.efforts["stop"])
        found[coordinates] = np.array(angles), np.flatnonzero(efforts)
        assert run.report.contact.unsolved == 0
        assert run.report.momentum_residual < 1e-12
    (angles, acts), (others, act) = found["joint"], found["maximal"]
    assert len(acts) > 2 and acts[0] > 100
    assert np.array_equal(acts[:3], act[:3])
    assert angles.min() > -0.9 - 1e-5
    assert np.abs(angles - others).max() < 1e-3


def test_stops_of_geared_legs_give_the_same_bits_however_many_threads_there_are():
    """With one thread the response of a stop is found when it first acts, with several before that, as loops share memory."""
    scene, material = dal.Scene("geared"), dal.Material(friction=0.6)
    scene.add_obstacle("ground", dal.HalfSpace(), material=material)
    for i in range(3):
        x = 2.0 * i
        trunk = scene.add_body(f"trunk {i}", dal.Box(0.5, 0.3, 0.1), mass=4.0, position=(x, 0, 0.6), material=material)
        legs = []
        for k, side in enumerate((-0.2, 0.2)):
            leg = scene.add_body(
                f"leg {i} {k}", dal.Capsule(0.04, 0.3), mass=0.5, position=(x + side, 0, 0.35), material=material
            )
            scene.hinge(f"hip {i} {k}", trunk, leg, at=(x + side, 0, 0.55), axis=(0, 1, 0))
            scene.limit(f"stop {i} {k}", f"hip {i} {k}", lower=-0.3, upper=0.3 + 0.1 * i)
            legs.append(f"hip {i} {k}")
        scene.gear(f"gear {i}", *legs, ratio=-1.0)
        scene.motor(f"motor {i}", legs[0], effort=40.0)
    states = []
    for threads in (1, 3):
        run = dal.Simulation(scene, dt=0.002, coordinates="joint", threads=threads)
        run.advance(1.0)
        assert run.report.contact.unsolved == 0
        assert any(effort != 0.0 for name, effort in run.efforts.items() if name.startswith("stop"))
        states.append(run.state)
    assert np.array_equal(states[0].position, states[1].position)
    assert np.array_equal(states[0].momentum, states[1].momentum)


def whirling(speed):
    """Two links on hinges far above the ground, whose speeds are `speed` and half of its opposite, rad/s."""
    scene, material = dal.Scene("whirling", gravity=(0, 0, 0)), dal.Material(friction=0.5)
    spin, opposite = np.array([0.0, speed, 0.0]), np.array([0.0, -0.5 * speed, 0.0])
    v = np.cross(spin, [0.25, 0, 0])
    a = scene.add_body("a", dal.Box(0.5, 0.05, 0.05), mass=1.0, position=(0.25, 0, 2), velocity=v, angular_velocity=spin,
                       material=material)  # fmt: skip
    v = np.cross(spin, [0.5, 0, 0]) + np.cross(opposite, [0.25, 0, 0])
    b = scene.add_body("b", dal.Box(0.5, 0.05, 0.05), mass=1.0, position=(0.75, 0, 2), velocity=v,
                       angular_velocity=opposite, material=material)  # fmt: skip
    scene.hinge("shoulder", dal.WORLD, a, at=(0, 0, 2), axis=(0, 1, 0))
    scene.hinge("elbow", a, b, at=(0.5, 0, 2), axis=(0, 1, 0))
    scene.add_obstacle("ground", dal.HalfSpace(), position=(0, 0, -5), material=material)
    return scene


@pytest.mark.parametrize("speed", [400.0, 3000.0])
def test_a_step_in_which_joints_turn_too_far_ends_the_run_with_the_way_out(speed):
    with pytest.raises(dal.SimulationError, match=r"'elbow' turns at .* rad/s, by .* rad in a step; give dt = "):
        dal.simulate(whirling(speed), 0.1, dt=1 / 120, coordinates="joint", method="time_stepping")
    run = dal.simulate(whirling(speed), 0.1, dt=0.3 / (1.5 * speed), coordinates="joint", method="time_stepping")
    assert run.report.energy_residual_relative < 0.02
