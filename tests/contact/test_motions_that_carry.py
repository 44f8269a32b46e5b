"""Kinematic bodies that carry others by joints, in both coordinates: speeds at the start, work of drives, and jumps."""

import numpy as np
import pytest

import dalembert as dal

BOTH = pytest.mark.parametrize("coordinates", ["maximal", "joint"])
HINGED = ("hinge", "slider", "ball", "universal", "cylindrical")


def join(scene, kind, a, b, at=(0.0, 0.0, 0.0)):
    """A joint of a kind with axes along x or z."""
    axes = {
        "hinge": [(0, 0, 1)],
        "slider": [(1, 0, 0)],
        "cylindrical": [(0, 0, 1)],
        "universal": [(0, 0, 1), (0, 1, 0)],
    }
    return getattr(scene, kind)("j", a, b, at, *axes.get(kind, []))


def carried(kind, motion, loop):
    """A body on a joint to a base that moves at a constant velocity from the start, and begins with that velocity."""
    v = np.array([0.5, 0.2, 0.1])
    scene = dal.Scene("carried", gravity=(0, 0, 0))
    given = {"motion": "set", "velocity": v} if motion == "set" else {"motion": lambda t: (0.5 * t, 0.2 * t, 0.1 * t)}
    scene.add_body("base", dal.Box(0.2, 0.2, 0.2), **given)
    scene.add_body("arm", dal.Box(0.3, 0.05, 0.05), mass=2.0, position=(0.3, 0, 0), velocity=v)
    join(scene, kind, "base", "arm")
    if loop:
        scene.rod("rod", "base", "arm", (0, 0, 0.4) if kind == "slider" else (0, 0.4, 0), (0.3, 0, 0))
    return scene, v


@pytest.mark.parametrize("method", [{"rtol": 1e-9}, {"method": "time_stepping", "dt": 1e-3}], ids=["adaptive", "steps"])
@pytest.mark.parametrize("loop", [False, True], ids=["tree", "loop"])
@pytest.mark.parametrize("motion", ["set", "function"])
@pytest.mark.parametrize("kind", HINGED)
def test_what_begins_at_rest_on_a_moving_base_stays_at_rest_on_it(kind, motion, loop, method):
    """The joint speeds at the start are those relative to the base."""
    scene, v = carried(kind, motion, loop)
    run = dal.simulate(scene, 0.1, coordinates="joint", **method)
    assert np.allclose(run.state.position[0], np.array([0.3, 0, 0]) + 0.1 * v, atol=1e-9)
    assert abs(run.report.energy_residual) < 1e-8 and abs(run.report.work["base"]) < 1e-8


@pytest.mark.parametrize("motion", ["set", "function"])
def test_speeds_at_the_start_are_relative_to_a_base_that_turns(motion):
    """A slider along a spoke: r'' = ω² r, from r' = 0."""
    scene = dal.Scene("spoke", gravity=(0, 0, 0))
    turn = {"motion": lambda t: (0, 0, 0, np.cos(t), 0, 0, np.sin(t))}
    scene.add_body(
        "base",
        dal.Box(0.2, 0.2, 0.2),
        **({"motion": "set", "angular_velocity": (0, 0, 2.0)} if motion == "set" else turn),
    )
    scene.add_body(
        "bead",
        dal.Box(0.1, 0.1, 0.1),
        mass=1.0,
        position=(0.3, 0, 0),
        velocity=(0, 0.6, 0),
        angular_velocity=(0, 0, 2.0),
    )
    scene.slider("j", "base", "bead", (0, 0, 0), (1, 0, 0))
    run = dal.simulate(scene, 0.5, coordinates="joint", rtol=1e-10)
    assert np.linalg.norm(run.state.position[0]) == pytest.approx(0.3 * np.cosh(1.0), abs=1e-8)


@BOTH
@pytest.mark.parametrize("held", ["motion", "speed", "motor"])
def test_a_joint_that_is_held_on_a_turning_base_turns_with_it(held, coordinates):
    """Also where the speeds of all joints are zero but for rounding."""
    scene = dal.Scene("turntable")
    scene.add_body("base", dal.Box(0.2, 0.2, 0.2), motion="set", angular_velocity=(0, 0, 3.0))
    half, arm = 0.15, np.array([0.3 * np.cos(0.3), 0.3 * np.sin(0.3), 0.0])
    scene.add_body(
        "arm", dal.Box(0.3, 0.05, 0.05), mass=2.0, position=arm, orientation=(np.cos(half), 0, 0, np.sin(half)),
        velocity=np.cross((0, 0, 3.0), arm), angular_velocity=(0, 0, 3.0),
    )  # fmt: skip
    scene.hinge("j", "base", "arm", (0, 0, 0), (0, 0, 1))
    if held == "motor":
        scene.motor("drive", "j", speed=0.0)
    elif held == "speed":
        scene.add_motion("drive", "j", speed=0.0)
    else:
        scene.add_motion("drive", "j", lambda t: 0.0 * t)
    run = dal.simulate(scene, 0.2, method="time_stepping", dt=5e-4, coordinates=coordinates)
    assert np.allclose(run.state.position[0], 0.3 * np.array([np.cos(0.9), np.sin(0.9), 0.0]), atol=1e-9)


def swung(kind):
    """A base that turns, and an arm on it that is driven, held or in a loop, on a spring."""

    def turn(t):
        half = 0.25 * (1 - np.cos(10 * t))
        return (0, 0, 0, np.cos(half), 0, 0, np.sin(half))

    scene = dal.Scene(kind, gravity=(0, 0, 0))
    scene.add_body("base", dal.Box(0.2, 0.2, 0.2), motion=turn)
    scene.add_body("arm", dal.Box(0.3, 0.05, 0.05), mass=2.0, position=(0.3, 0, 0))
    if kind == "driven slider":
        scene.slider("j", "base", "arm", (0, 0, 0), (1, 0, 0))
        scene.add_motion("drive", "j", lambda t: 0.1 * (1 - np.cos(8 * t)))
    elif kind == "driven hinge":
        scene.hinge("j", "base", "arm", (0, 0, 0), (0, 0, 1))
        scene.add_motion("drive", "j", lambda t: 0.3 * (1 - np.cos(8 * t)))
    else:
        scene.weld("j", "base", "arm", (0, 0, 0))
        scene.weld("other", "base", "arm", (0.1, 0, 0))
    scene.spring("spring", dal.WORLD, "arm", (0.3, 0.4, 0.5), (0.3, 0, 0), stiffness=10.0)
    return scene


@BOTH
@pytest.mark.parametrize("kind", ["driven slider", "driven hinge", "two welds"])
def test_the_work_of_a_base_under_loops_and_driven_joints_is_of_second_order(kind, coordinates):
    exact = dal.simulate(swung(kind), 0.2, rtol=1e-11).report.work["base"]
    errors = []
    for dt in (2e-3, 5e-4):
        report = dal.simulate(swung(kind), 0.2, method="time_stepping", dt=dt, coordinates=coordinates).report
        errors.append(abs(report.work["base"] - exact))
        assert abs(report.projection_loss) < 1e-4
    assert errors[1] < max(errors[0] / 10.0, 1e-8) and errors[0] < 1e-4


# Motions that are set --------------------------------------------------------------------------------------------------


@BOTH
def test_a_coordinate_that_is_set_to_a_speed_gains_half_of_what_its_impulse_moves(coordinates):
    scene = dal.Scene("cart", gravity=(0, 0, 0))
    scene.add_body("cart", dal.Box(0.1, 0.1, 0.1), mass=1.0)
    scene.slider("rail", dal.WORLD, "cart", (0, 0, 0), (1, 0, 0))
    scene.add_motion("drive", "rail", "set")
    run = dal.Simulation(scene, method="time_stepping", dt=1 / 240, coordinates=coordinates)
    for asked, work in (
        ({"speed": 1.0}, 0.5),
        ({"speed": -2.0}, 2.0),
        ({"value": 0.3, "over": 0.1}, 0.0),
        ({"value": 0.0}, 0.0),
    ):
        run.set_motion("drive", **asked)
        run.advance(0.2)
        assert run.report.work["drive"] == pytest.approx(work, abs=1e-10)
        assert abs(run.report.energy_residual) < 1e-10
    assert run.state.position[0, 0] == pytest.approx(0.0, abs=1e-12)


@BOTH
def test_a_piston_that_is_set_in_motion_pushes_what_it_touches_at_its_speed(coordinates):
    """Half of what it gives the block is heat, as in any impact that does not bounce."""
    scene = dal.Scene("piston", gravity=(0, 0, 0), material=dal.Material(0.0))
    scene.add_body("piston", dal.Box(0.1, 0.1, 0.1), mass=1.0)
    scene.add_body("block", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(0.1, 0, 0))
    scene.slider("rail", dal.WORLD, "piston", (0, 0, 0), (1, 0, 0))
    scene.add_motion("drive", "rail", "set")
    run = dal.Simulation(scene, method="time_stepping", dt=1 / 240, coordinates=coordinates)
    run.advance(0.1)
    run.set_motion("drive", speed=1.0)
    run.advance(0.1)
    assert run.state.velocity[1, 0] == pytest.approx(1.0, abs=1e-6)
    assert run.report.work["drive"] == pytest.approx(1.5, abs=1e-6) and abs(run.report.energy_residual) < 1e-9


@BOTH
@pytest.mark.parametrize("kind", ["weld", "ball", "hinge"])
def test_a_base_that_is_set_in_motion_does_the_work_of_what_it_carries(kind, coordinates):
    scene = dal.Scene("carrier", gravity=(0, 0, 0))
    scene.add_body("base", dal.Box(0.1, 0.1, 0.1), motion="set", position=(0, 0, 1))
    scene.add_body("load", dal.Sphere(0.1), mass=1.0)
    join(scene, kind, "base", "load")
    run = dal.Simulation(scene, method="time_stepping", dt=1 / 240, coordinates=coordinates)
    for speed in (1.0, 3.0, -1.0):
        run.set_motion("base", velocity=(speed, 0, 0))
        run.advance(0.1)
        assert np.allclose(run.state.velocity[0], (speed, 0, 0), atol=1e-9)
        assert run.report.work["base"] == pytest.approx(0.5 * speed**2, abs=1e-9)
        assert abs(run.report.energy_residual) < 1e-9 and run.report.momentum_residual < 1e-10


@BOTH
def test_a_base_that_arrives_stops_what_it_carries(coordinates):
    """What hangs off the axis of a hinge swings on; the energy converges."""
    residuals = []
    for steps in (240, 960):
        scene = dal.Scene("crane")
        scene.add_body("base", dal.Box(0.1, 0.1, 0.1), motion="set", position=(0, 0, 1))
        scene.add_body("load", dal.Box(0.1, 0.1, 0.6), mass=1.0, position=(0, 0, 0.7))
        scene.hinge("j", "base", "load", (0, 0, 1), (0, 1, 0))
        run = dal.Simulation(scene, method="time_stepping", dt=1 / steps, coordinates=coordinates)
        run.set_motion("base", position=(0.1, 0, 1), over=0.1)
        run.advance(0.3)
        assert np.allclose(run.state.position[1], (0.1, 0, 1), atol=1e-12)
        residuals.append(abs(run.report.energy_residual))
    assert residuals[0] < 5e-3 and residuals[1] < residuals[0] / 3.0
