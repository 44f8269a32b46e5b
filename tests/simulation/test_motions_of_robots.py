"""Prescribed motions beside robots in contact, in joint coordinates: against theory, and against coordinates of bodies."""

import numpy as np
import pytest
from numba import njit

import dalembert as dal
from dalembert.scene.motion import Keyframes

G = 9.81
BOTH = pytest.mark.parametrize("coordinates", ["maximal", "joint"])


def closes(run, energy=1e-6):
    report = run.report
    assert (
        report.energy_residual < energy and report.momentum_residual < 1e-9 and report.angular_momentum_residual < 1e-9
    )


def arm_of(scene, root, at, name="arm", mass=1.0, **motion):
    """A link of 0.6 m along x, hinged about y to `root`."""
    body = scene.add_body(name, dal.Box(0.6, 0.06, 0.06), mass=mass, position=(at[0] + 0.3, at[1], at[2]), **motion)
    scene.hinge(f"{name} joint", root, body, at=at, axis=(0, 1, 0))
    return body


@njit
def swaying(t):
    return (0.1 * (1.0 - np.cos(4.0 * t)), 0.0, 0.05 * np.sin(3.0 * t) ** 2)


def on_platform(coordinates, dt, **settings):
    """A double pendulum on a moving platform, whose tip drives a ball over the floor."""
    scene = dal.Scene("platform", material=dal.Material(0.4))
    scene.add_obstacle("floor", dal.HalfSpace(), position=(0, 0, -1.0))
    scene.add_body("platform", motion=swaying)
    arm_of(scene, "platform", (0, 0, 0), "upper")
    arm_of(scene, "upper", (0.6, 0, 0), "lower", 0.5)
    scene.add_body("ball", dal.Sphere(0.15), mass=2.0, position=(0.0, 0, -0.85))
    return dal.Simulation(scene, method="time_stepping", dt=dt, coordinates=coordinates, **settings)


def test_a_robot_on_a_moving_platform_is_the_same_in_both_coordinates():
    for dt in (1e-3, 5e-4):
        bodies, tree = (on_platform(c, dt).advance(0.6) for c in ("maximal", "joint"))
        assert np.abs(bodies.state.position - tree.state.position).max() < 1e-4
        closes(tree, 100.0 * dt**2)  # of second order
        assert tree.report.work["platform"] == pytest.approx(bodies.report.work["platform"], abs=1e-4)


def test_solvers_agree_on_a_robot_that_rides():
    sweeps, converging = (on_platform("joint", 1e-3, solver=s).advance(0.6) for s in ("gauss_seidel", "converging"))
    assert np.abs(sweeps.state.position - converging.state.position).max() < 1e-4
    closes(converging, 1e-4)


def test_a_ride_that_is_saved_goes_on_the_same(tmp_path):
    settings = {"iterations": 2000}  # sweeps alone, whose bits do not depend on earlier factorizations
    whole, half = (on_platform("joint", 1e-3, **settings).advance(0.3) for _ in range(2))
    half.trajectory.save(tmp_path / "half.nc")
    resumed = on_platform("joint", 1e-3, **settings).resume(dal.Trajectory.load(tmp_path / "half.nc"))
    for run in (whole, resumed):
        run.advance(0.2)
    assert np.array_equal(whole.state.y, resumed.state.y)
    assert np.array_equal(whole.restart().advance(0.5).state.y, resumed.state.y)


@pytest.mark.parametrize("solver", ["gauss_seidel", "converging"])
def test_a_robot_stands_on_a_conveyor_and_is_carried(solver):
    speed, mu = 0.5, 0.6
    scene = dal.Scene("conveyor", material=dal.Material(mu))
    scene.add_obstacle("belt", dal.Box(10, 2, 0.2), position=(0, 0, -0.1), surface_velocity=(speed, 0, 0))
    scene.add_body("trunk", dal.Box(0.5, 0.3, 0.1), mass=4.0, position=(0, 0, 0.25))
    for i, (x, y) in enumerate([(-0.2, -0.1), (-0.2, 0.1), (0.2, -0.1), (0.2, 0.1)]):
        scene.add_body(f"leg {i}", dal.Box(0.05, 0.05, 0.2), mass=0.5, position=(x, y, 0.1))
        scene.hinge(f"hip {i}", "trunk", f"leg {i}", at=(x, y, 0.2), axis=(0, 1, 0))
        scene.motor(f"motor {i}", f"hip {i}", stiffness=400.0, damping=20.0, position=0.0)
    run = dal.Simulation(scene, dt=1e-3, coordinates="joint", solver=solver).advance(0.5)
    mass = 6.0
    v = run.state.velocity[run.state.index("trunk")]
    assert v == pytest.approx((speed, 0, 0), abs=1e-3)
    assert run.report.work["belt"] == pytest.approx(mass * speed**2, rel=1e-2)  # half is heat, half motion
    closes(run, 1e-5)


@BOTH
def test_a_paddle_strikes_an_arm_with_the_impulse_of_theory(coordinates):
    speed, e, radius = 2.0, 0.5, 0.5
    scene = dal.Scene("paddle", gravity=(0, 0, 0), material=dal.Material(0.0, restitution=e))
    scene.add_body("paddle", dal.Sphere(0.05), motion=njit(lambda t: (0.5, 0.0, -0.2 + 2.0 * t)))
    arm = arm_of(scene, dal.WORLD, (0, 0, 0))
    run = dal.Simulation(scene, dt=1e-3, coordinates=coordinates).advance(0.08)
    rate = run.joint_state()["arm joint"][1]
    assert run.report.contact is not None
    assert abs(rate) == pytest.approx(
        (1.0 + e) * speed / radius, rel=1e-5
    )  # it strikes within a step, where it has turned
    inertia = float(arm.inertia[1, 1]) + 0.09
    work = run.report.work["paddle"]  # it gives p = I ω / r at its speed
    assert work == pytest.approx(inertia * abs(rate) / radius * speed, rel=1e-5)
    closes(run, 1e-9 if coordinates == "joint" else 1e-4)  # maximal ones project the joint at the end of the step


@BOTH
def test_a_prescribed_arm_lifts_a_box_and_does_its_work(coordinates):
    lift = Keyframes([0.0, 0.2, 1.2], [0.0, 0.0, -0.4])
    scene = dal.Scene("lifting arm", material=dal.Material(0.8))
    scene.add_body("arm", dal.Box(1.0, 0.4, 0.05), mass=3.0, position=(0.5, 0, 0))
    scene.hinge("joint", dal.WORLD, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    scene.add_motion("drive", "joint", lift)
    scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=2.0, position=(0.8, 0, 0.125))
    run = dal.Simulation(scene, dt=1e-3, coordinates=coordinates).advance(1.5)
    z = run.state.position[run.state.index("box"), 2]
    potential = 3.0 * G * 0.5 * np.sin(0.4) + 2.0 * G * (z - 0.125)
    assert run.joint_state()["joint"][0] == pytest.approx(-0.4, abs=1e-9)
    assert z == pytest.approx(0.8 * np.sin(0.4) + 0.125 * np.cos(0.4), abs=2e-4)  # it holds by friction
    assert run.report.work["drive"] == pytest.approx(potential - run.report.work["contact: friction"], rel=2e-3)
    x = run.state.position[run.state.index("box"), 0]
    held = -3.0 * G * 0.5 * np.cos(0.4) - 2.0 * G * x
    assert run.efforts["drive"] == pytest.approx(held, rel=1e-3)


def test_a_loop_that_is_driven_pushes_what_it_meets():
    """A slider-crank, whose slider pushes a box on the floor at the speed of the linkage."""
    ends = []
    for coordinates in ("maximal", "joint"):
        scene = dal.Scene("pusher", material=dal.Material(0.3))
        scene.add_obstacle("floor", dal.HalfSpace(), position=(0, 0, -0.1))
        scene.add_body(
            "crank",
            dal.Box(0.2, 0.02, 0.02),
            mass=0.5,
            position=(0, 0, 0.1),
            orientation=(np.sqrt(0.5), 0, -np.sqrt(0.5), 0),
        )
        top = np.array([0.0, 0.0, 0.2])
        end = np.array([np.sqrt(0.49 - 0.04), 0.0, 0.0])
        along = (end - top) / 0.7
        turn = 0.5 * np.arctan2(-along[2], along[0])
        scene.add_body(
            "rod",
            dal.Box(0.7, 0.02, 0.02),
            mass=0.8,
            position=0.5 * (top + end),
            orientation=(np.cos(turn), 0, np.sin(turn), 0),
        )
        scene.add_body("slider", dal.Box(0.1, 0.1, 0.1), mass=1.5, position=end)
        scene.hinge("main", dal.WORLD, "crank", at=(0, 0, 0), axis=(0, 1, 0))
        scene.hinge("pin", "crank", "rod", at=top, axis=(0, 1, 0))
        scene.hinge("wrist", "rod", "slider", at=end, axis=(0, 1, 0))
        scene.slider("guide", dal.WORLD, "slider", at=end, axis=(1, 0, 0))
        for name in ("crank", "rod"):
            for other in ("slider", "crank"):
                if name != other:
                    scene.set_contact(name, other, enabled=False)
        scene.add_motion("drive", "main", njit(lambda t: 1.5 * (1.0 - np.cos(t))))
        scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(end[0] + 0.16, 0, 0.0))
        scene.set_contact("slider", "box", friction=0.0)  # with friction the load on the floor is not determined
        run = dal.Simulation(scene, dt=1e-3, coordinates=coordinates).advance(1.2)
        closes(run, 1e-6)
        theta = 1.5 * (1.0 - np.cos(1.2))
        slider = 0.2 * np.sin(theta) + np.sqrt(0.49 - (0.2 * np.cos(theta)) ** 2)
        assert run.state.position[run.state.index("slider"), 0] == pytest.approx(slider, abs=1e-9)
        ends.append((run.state.position.copy(), run.report.work["drive"]))
    assert np.abs(ends[0][0] - ends[1][0]).max() < 1e-4
    assert ends[1][1] == pytest.approx(ends[0][1], rel=1e-3)


def test_a_robot_on_a_turntable_feels_centrifugal_and_coriolis_forces():
    """A bead on a rail through the axis of a table that turns at ω: r = r₀ cosh ωt; its drive gives m ω² (r² − r₀²)."""
    omega, start, mass = 2.0, 0.1, 0.7
    errors = []
    for dt in (2e-3, 1e-3):
        scene = dal.Scene("rail", gravity=(0, 0, 0))
        scene.add_body("table", motion=njit(lambda t: (0.0, 0.0, 0.0, np.cos(t), 0.0, 0.0, np.sin(t))))
        bead = scene.add_body(
            "bead", dal.Sphere(0.05), mass=mass, position=(start, 0, 0), velocity=(0, omega * start, 0),
            angular_velocity=(0, 0, omega),
        )  # fmt: skip
        scene.slider("rail", "table", bead, at=(start, 0, 0), axis=(1, 0, 0))
        run = dal.Simulation(scene, method="time_stepping", dt=dt, coordinates="joint").advance(1.0)
        r = start + run.joint_state()["rail"][0]
        gained = mass * omega**2 * start**2 * np.sinh(omega) ** 2
        errors.append((abs(r - start * np.cosh(omega)), abs(run.report.work["table"] - gained)))
        assert run.report.momentum_residual < 1e-12 and run.report.angular_momentum_residual < 1e-12
        assert run.report.energy_residual < dt**2
    ratio = np.array(errors[0]) / errors[1]
    assert (ratio > 3.5).all() and errors[1][0] < 1e-6 and errors[1][1] < 1e-5  # second order


def test_limits_and_motors_between_a_platform_and_its_arm_work_on_what_turns():
    apart = []
    for dt in (1e-3, 5e-4):
        ends = []
        for coordinates in ("maximal", "joint"):
            scene = dal.Scene("limited", material=dal.Material(0.5))
            scene.add_body("platform", motion=swaying)
            arm_of(scene, "platform", (0, 0, 0))
            scene.limit("stop", "arm joint", lower=-0.3, upper=0.4)
            scene.motor("motor", "arm joint", stiffness=5.0, damping=0.5, position=0.2)
            run = dal.Simulation(scene, method="time_stepping", dt=dt, coordinates=coordinates).advance(1.0)
            closes(run, 1e-3)
            ends.append(run.joint_state()["arm joint"][0])
        apart.append(abs(ends[0] - ends[1]))
    assert apart[1] < 1e-4


@BOTH
def test_what_overlaps_is_put_apart_without_moving_what_flies(coordinates):
    scene = dal.Scene("overlap", gravity=(0, 0, 0), material=dal.Material(0.5))
    scene.add_obstacle("floor", dal.HalfSpace())
    scene.add_body("sunk", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 0.099))
    scene.add_body("flies", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(1, 0, 1), velocity=(1.0, 0, 0.5))
    run = dal.Simulation(scene, dt=1e-3, coordinates=coordinates, solver="converging").advance(0.1)
    assert run.state.position[run.state.index("flies")] == pytest.approx((1.1, 0, 1.05), abs=1e-12)
    assert run.state.position[run.state.index("sunk")] == pytest.approx((0, 0, 0.1), abs=1e-9)
