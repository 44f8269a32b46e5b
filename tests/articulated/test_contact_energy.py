"""The audit, the order, determinism and refusals of time steps in joint coordinates."""

import numpy as np
import pytest

import dalembert as dal

from .problems import arm, four_bar, ground, quadruped

RUBBER = dal.Material(friction=0.5)
STEPS = (8e-3, 4e-3, 2e-3)


def orders(errors):
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


def floating():
    """Three links that tumble, with nothing to touch within reach."""
    scene, spin, center = (
        dal.Scene("floating", gravity=(0, 0, -1.0)),
        np.array([2.0, 3.0, 4.0]),
        np.array([0.45, 0, 9.0]),
    )

    def motion(x):
        return {
            "position": (x, 0, 9.0),
            "velocity": np.cross(spin, np.array([x, 0, 9.0]) - center),
            "angular_velocity": spin,
        }

    a = scene.add_body("a", dal.Box(0.4, 0.1, 0.06), mass=1.0, material=RUBBER, **motion(0.2))
    b = scene.add_body("b", dal.Box(0.3, 0.06, 0.1), mass=0.7, **motion(0.55))
    c = scene.add_body("c", dal.Box(0.2, 0.05, 0.08), mass=0.4, **motion(0.8))
    scene.hinge("h1", a, b, at=(0.4, 0, 9.0), axis=(0, 1, 0))
    scene.ball("h2", b, c, at=(0.7, 0, 9.0))
    ground(scene, RUBBER)
    return scene


def damped():
    """An arm above the ground, with dampers."""
    scene = arm(height=3.0)
    for joint in ("shoulder", "elbow", "wrist"):
        scene.motor(f"{joint}_damper", joint, damping=0.05, speed=0.0)
    return scene


@pytest.mark.parametrize(
    "scene", [floating, damped, lambda: four_bar(height=2.0)], ids=["floating", "damped", "four-bar"]
)
def test_smooth_motion_is_of_second_order_and_so_is_its_energy(scene):
    exact = dal.simulate(scene_without_contact(scene()), 0.5, rtol=1e-11, method="dormand_prince", coordinates="joint")
    errors, residuals = [], []
    for dt in STEPS:
        run = dal.simulate(scene(), 0.5, dt=dt, coordinates="joint", method="time_stepping")
        errors.append(float(np.abs(run.state.position - exact.state.position).max()))
        residuals.append(run.report.energy_residual_relative)
        assert run.report.momentum_residual < 1e-10 and run.report.angular_momentum_residual < 1e-10
    assert (orders(errors) > 1.8).all() and (orders(residuals) > 1.7).all()
    assert residuals[-1] < 1e-4


def scene_without_contact(scene):
    scene.obstacles.clear()
    for body in scene.bodies.values():
        object.__setattr__(body, "material", None)
    return scene


def test_momenta_of_what_falls_and_lands_are_balanced():
    run = dal.simulate(quadruped(height=0.2, links=True, armature=0.01), 0.6, dt=0.002, coordinates="joint")
    report = run.report
    assert report.contact.unsolved == 0 and len(run.contacts) > 0
    assert report.momentum_residual < 1e-10 and report.angular_momentum_residual < 1e-10
    assert report.energy_residual_relative < 1e-3


def test_the_same_run_gives_the_same_bits():
    def bits():
        run = dal.simulate(quadruped(height=0.05), 0.3, dt=0.002, coordinates="joint")
        return run.trajectory.state.values.tobytes()

    assert bits() == bits()


def test_nothing_is_read_that_was_not_written_in_the_step():
    runs = [dal.Simulation(scene, dt=0.002, coordinates="joint") for scene in (four_bar(), four_bar())]
    runs[0].advance(0.1)
    runs[1].advance(0.1)
    own, memory = runs[1]._driver, ("timer", "y", "last_speeds")
    for table in (own._tables, own.own.tables, own.own.tables.tree):
        for name, array in table._asdict().items():
            if not isinstance(array, tuple) and array.dtype == np.float64 and name not in memory:
                array[:] = np.nan
    for run in runs:
        run.advance(0.3)
    assert runs[0].state.position.tobytes() == runs[1].state.position.tobytes()
    assert len(runs[0].contacts) > 0


def test_events_happen_and_efforts_are_told():
    scene = quadruped(height=0.1)
    scene.event("landed", lambda t, y: y[2] - 0.42, direction=-1, once=True, release=["fl_knee_motor"])
    run = dal.Simulation(scene, dt=0.002, coordinates="joint")
    run.advance(0.3)
    assert len(run.event_times["landed"]) >= 1 and "fl_knee_motor" in run.released


def test_the_converging_solver_solves_robots():
    run = dal.Simulation(quadruped(height=0.1), dt=0.002, coordinates="joint", solver="converging").advance(0.4)
    assert run.report.contact.unsolved == 0 and run.report.contact.residual < 1e-9 and len(run.contacts) > 0


def test_a_solver_that_misses_its_tolerance_is_told_of():
    run = dal.simulate(quadruped(height=0.05), 0.2, dt=0.002, coordinates="joint", iterations=1, tolerance=1e-12)
    assert run.report.contact.unsolved > 0
    with pytest.raises(dal.SimulationError, match="residual"):
        dal.simulate(
            quadruped(height=0.05),
            0.2,
            dt=0.002,
            coordinates="joint",
            iterations=1,
            tolerance=1e-12,
            stop_unsolved=True,
        )


def test_the_energy_of_an_arm_that_swings_for_long_does_not_drift():
    run = dal.simulate(arm(height=3.0), 20.0, dt=0.005, coordinates="joint", frame_rate=20.0)
    balance = np.abs(run.trajectory.balance.values)
    assert balance[200:].max() < 1.5 * balance[:200].max() and balance.max() < 5e-3 * run.report.energy_scale


def test_a_motor_with_a_gain_too_stiff_for_explicit_steps_is_stable():
    scene = arm(height=3.0)
    scene.motor("brake", "wrist", damping=500.0, speed=0.0)
    run = dal.simulate(scene, 1.0, dt=0.005, coordinates="joint")
    assert run.report.energy_residual_relative < 1e-3 and run.report.work["brake"] < 0.0
