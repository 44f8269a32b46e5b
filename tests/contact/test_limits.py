"""Stops, dry friction and ideal motors of joints, by both solvers: forces, impacts, the energy balance, and errors."""

import numpy as np
import pytest

import dalembert as dal

G = 9.81
SOLVERS = pytest.mark.parametrize("solver", ["gauss_seidel", "interior_point"])


def pendulum(length=1.0, mass=1.0, gravity=True):
    """A ball on a hinge, level at the start; it falls to positive angles."""
    scene = dal.Scene("pendulum", gravity=(0, 0, -G if gravity else 0))
    bob = scene.add_body("bob", dal.Sphere(0.1), mass=mass, position=(length, 0, 0))
    scene.hinge("hinge", dal.WORLD, bob, at=(0, 0, 0), axis=(0, 1, 0))
    return scene


def rotor(spin):
    """A body that turns freely about a fixed axis; its moment of inertia is 2 kg m²."""
    scene = dal.Scene("rotor", gravity=(0, 0, 0))
    body = scene.add_body("rotor", dal.Sphere(0.5), mass=1.0, inertia=(2, 2, 2), angular_velocity=(0, spin, 0))
    scene.hinge("axle", dal.WORLD, body, at=(0, 0, 0), axis=(0, 1, 0))
    return scene


def spin_of(run):
    return float(run.state.angular_momentum[0, 1]) / 2.0


def angle_of(run):
    x, _, z = run.state.position[0]
    return float(np.arctan2(-z, x))


@SOLVERS
def test_a_pendulum_rests_on_its_stop_and_the_energy_balances(solver):
    scene = pendulum()
    scene.limit("stop", "hinge", upper=0.5)
    run = dal.simulate(scene, 1.5, dt=0.005, solver=solver)
    assert angle_of(run) == pytest.approx(0.5, abs=1e-12)
    assert run.efforts["stop"] == pytest.approx(-G * np.cos(0.5), rel=1e-9)
    report = run.report
    assert report.integration_error < 1e-12 * report.energy_scale and report.joint_error < 1e-12
    assert report.energy_residual_relative < 1e-4  # of closing the hinge after each step: of second order
    assert report.work["stop"] == pytest.approx(
        -G * np.sin(0.5), rel=1e-2
    )  # all of the fall, but what projection booked
    assert report.momentum_residual < 1e-10 and report.angular_momentum_residual < 1e-10


@pytest.mark.filterwarnings("ignore:tolerance=1e-14")  # to rounding
@SOLVERS
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_rotor_bounces_off_its_stop(solver, restitution):
    scene = rotor(3.0)
    scene.limit("stop", "axle", lower=-1.0, upper=0.4, restitution=restitution)
    run = dal.simulate(scene, 0.2, dt=0.001, solver=solver, tolerance=1e-14)
    assert spin_of(run) == pytest.approx(-3.0 * restitution, abs=1e-12)
    assert run.report.work["stop"] == pytest.approx(-9.0 * (1 - restitution**2), abs=1e-9)


@SOLVERS
def test_a_slider_stops_at_both_ends(solver):
    scene = dal.Scene("slider")
    block = scene.add_body("block", dal.Box(0.2, 0.2, 0.2), mass=3.0, velocity=(0, 0, 5))
    scene.slider("rail", dal.WORLD, block, at=(0, 0, 0), axis=(0, 0, 1))
    scene.limit("ends", "rail", lower=-0.3, upper=0.2)
    run = dal.simulate(scene, 2.0, dt=0.002, solver=solver, tolerance=1e-13)
    heights = run.trajectory.position[:, 0, 2]
    assert float(heights.max()) == pytest.approx(0.2, abs=5e-4)  # of a frame
    assert float(run.state.position[0, 2]) == pytest.approx(-0.3, abs=1e-12)
    assert run.efforts["ends"] == pytest.approx(3.0 * G, rel=1e-9)


@SOLVERS
def test_dry_friction_stops_a_rotor_at_a_constant_rate_and_holds_it(solver):
    scene = rotor(3.0)
    scene.joint_friction("brake", "axle", effort=4.0)
    run = dal.Simulation(scene, dt=0.001, solver=solver)
    run.advance(1.0)
    assert spin_of(run) == pytest.approx(1.0, abs=3e-3)  # 3 − (4/2) t, to a step
    assert run.efforts["brake"] == pytest.approx(-4.0, rel=1e-9)
    run.advance(1.0)
    assert abs(spin_of(run)) < 1e-12 and abs(run.efforts["brake"]) < 1e-9
    assert run.report.work["brake"] == pytest.approx(-9.0, rel=1e-9)


@SOLVERS
def test_dry_friction_holds_what_is_weaker_and_lets_go_what_is_stronger(solver):
    for effort, moves in ((10.0, False), (5.0, True)):
        scene = pendulum()
        scene.joint_friction("pivot", "hinge", effort=effort)
        run = dal.simulate(scene, 0.1, dt=0.001, solver=solver)
        moment = 1.0 + 0.4 * 0.1**2
        expected = 0.5 * (G - effort) / moment * 0.1**2 if moves else 0.0
        assert angle_of(run) == pytest.approx(expected, abs=2e-4 if moves else 1e-12)


@SOLVERS
def test_an_ideal_motor_reaches_its_speed_within_its_limit(solver):
    scene = rotor(0.0)
    scene.motor("motor", "axle", speed=2.0, limit=8.0)
    run = dal.Simulation(scene, dt=0.001, solver=solver)
    run.advance(0.25)
    assert spin_of(run) == pytest.approx(1.0, abs=5e-3)  # 8/2 t
    assert run.efforts["motor"] == pytest.approx(8.0, rel=1e-9)
    run.advance(0.75)
    assert spin_of(run) == pytest.approx(2.0, abs=1e-9)  # the converging solver's tolerance
    assert run.report.work["motor"] == pytest.approx(4.0, rel=1e-9)


@SOLVERS
def test_an_arm_pressed_on_the_ground_by_its_motor(solver):
    """Joint, motor and contact in one solve: the force on the ground is the moments' sum over the arm's length."""
    scene = pendulum(length=2.0, mass=1.5)
    scene.add_obstacle("ground", dal.HalfSpace(), position=(0, 0, -0.1), material=dal.Material(0.0))
    bob = scene.bodies["bob"]
    object.__setattr__(bob, "material", dal.Material(0.0))
    scene.motor("press", "hinge", speed=3.0, limit=7.0)
    run = dal.simulate(scene, 0.5, dt=0.002, solver=solver, iterations=100)
    assert np.abs(run.state.velocity).max() < 1e-9
    force = sum(abs(contact.force[2]) for contact in run.contacts)
    assert force == pytest.approx(1.5 * G + 7.0 / 2.0, rel=1e-8)
    assert run.report.energy_residual < 1e-11


def arm(links=4):
    scene = dal.Scene("arm")
    above = dal.WORLD
    for i in range(links):
        link = scene.add_body(f"link {i}", dal.Box(0.3, 0.05, 0.05), mass=1.0, position=(0.15 + 0.3 * i, 0, 0))
        scene.hinge(f"hinge {i}", above, link, at=(0.3 * i, 0, 0), axis=(0, 1, 0))
        scene.limit(f"stop {i}", f"hinge {i}", lower=-0.2, upper=0.3 - 0.05 * i)
        scene.joint_friction(f"friction {i}", f"hinge {i}", effort=0.3)
        above = link
    return scene


def test_both_solvers_find_the_same_motion_of_an_arm_that_falls_on_its_stops():
    runs = [dal.simulate(arm(), 0.6, dt=0.002, solver=s, iterations=200, tolerance=1e-11)
            for s in ("gauss_seidel", "interior_point")]  # fmt: skip
    np.testing.assert_allclose(runs[0].state.position, runs[1].state.position, atol=1e-6)
    for run in runs:
        assert run.report.integration_error < 1e-10 * run.report.energy_scale
        assert run.report.energy_residual_relative < 5e-4  # of closing hinges: 8e-5 and 3e-4 by the two solvers
        assert run.report.joint_error < 1e-12
    assert runs[1].report.contact.unsolved == 0


def test_what_only_time_steps_can_run_is_refused_by_other_methods():
    scene = pendulum()
    scene.limit("stop", "hinge", upper=0.5)
    with pytest.raises(ValueError, match=r"rk4.*'stop'.*time_stepping"):
        dal.Simulation(scene, method="rk4", dt=0.01)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "are an empty range"),
        ({"lower": 0.3, "upper": 0.1}, "are an empty range"),
        ({"upper": np.nan}, "finite"),
        ({"upper": 1.0, "restitution": 1.5}, "restitution is 1.5"),
        ({"upper": 1.0, "coordinate": "displacement"}, "no displacement"),
    ],
)
def test_a_stop_that_makes_no_sense_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        pendulum().limit("stop", "hinge", **arguments)


def test_a_friction_that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="effort"):
        pendulum().joint_friction("pivot", "hinge", effort=-1.0)
    with pytest.raises(ValueError, match="has no effort"):
        pendulum().motor("motor", "hinge", speed=1.0, effort=2.0)


HELD = {
    "at its lower stop": lambda scene, joint: scene.limit("hold", joint, lower=0.0, upper=1.0),
    "at its upper stop": lambda scene, joint: scene.limit("hold", joint, lower=-1.0, upper=0.0),
    "by dry friction": lambda scene, joint: scene.joint_friction("hold", joint, effort=1000.0),
}


def turning_arm(hold=None):
    """Two links that turn together about a ball joint in space; the elbow is held by a force, or welded."""
    scene, length, omega = dal.Scene("arm"), 0.5, np.array([1.5, 2.0, 3.0])
    at = {"upper": np.array([0.5 * length, 0, 0]), "lower": np.array([length, 0.1, -0.5 * length])}
    shapes = {"upper": dal.Box(length, 0.05, 0.1), "lower": dal.Box(0.05, 0.1, length)}
    upper, lower = (
        scene.add_body(name, shapes[name], mass=1.0, position=x, velocity=np.cross(omega, x), angular_velocity=omega)
        for name, x in at.items()
    )
    scene.ball("shoulder", dal.WORLD, upper, (0, 0, 0))
    if hold is None:
        scene.weld("elbow", upper, lower, (length, 0, 0))
        return scene
    elbow = scene.hinge("elbow", upper, lower, (length, 0, 0), axis=(0.6, 1.0, 0.3))
    HELD[hold](scene, elbow)
    if "stop" in hold:
        scene.torsion_spring("press", elbow, stiffness=50.0, rest=-1.0 if "lower" in hold else 1.0)
    return scene


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("hold", HELD)
def test_a_joint_that_is_held_moves_as_a_weld_to_the_second_order(hold, coordinates):
    """Rates change between the impulses of a step and its end, as axes turn; what holds a joint holds it over the step."""
    exact = dal.simulate(turning_arm(), 0.5, method="dop853", rtol=1e-10).state.position
    errors, works = [], []
    for dt in (4e-3, 1e-3):
        run = dal.simulate(turning_arm(hold), 0.5, method="time_stepping", dt=dt, coordinates=coordinates)
        errors.append(np.abs(run.state.position - exact).max())
        works.append(abs(run.report.work["hold"]) + run.report.energy_residual)
    assert errors[0] < 4e-4 and errors[1] < errors[0] / 12.0
    assert works[1] < max(works[0] / 8.0, 1e-5)
