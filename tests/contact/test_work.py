"""The work of forces in time steps is force times the displacement that happened; what physics does not do is an error."""

import numpy as np
import pytest

import dalembert as dal

G = 9.81
SOLVERS = pytest.mark.parametrize("solver", ["gauss_seidel", "interior_point"])
MOTORS = (
    {"effort": 5.0},
    {"speed": 3.0, "damping": 4.0},
    {"speed": 3.0, "limit": 5.0},
    {"position": 1.0, "stiffness": 20.0},
)
STEPS = pytest.mark.parametrize("dt", [0.01, 0.002])


def box(force, friction=0.5, dt=0.002, **settings):
    """A box on the ground that a load pushes for a second."""
    scene = dal.Scene("box", material=dal.Material(friction))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(1, 1, 1), mass=1.0, position=(0, 0, 0.5))
    scene.external_force("press", "box", force=force)
    return dal.simulate(scene, 1.0, dt=dt, **settings)


@STEPS
def test_a_load_does_no_work_on_a_box_that_nothing_can_move(dt):
    """F · (velocity without contact) would be 5000 dt joules."""
    run = box((0, 0, -100.0), dt=dt, solver="interior_point", tolerance=1e-14)
    assert abs(run.report.work["press"]) < 1e-12 and run.report.energy_residual < 1e-12


@STEPS
@SOLVERS
def test_the_work_of_a_load_is_force_times_way_to_rounding(solver, dt):
    for force in ((0, 0, -100.0), (40.0, 0, -20.0), (30.0, 10.0, 8.0)):
        run = box(force, dt=dt, solver=solver)
        way = run.state.position[0] - (0, 0, 0.5)
        assert run.report.work["press"] == pytest.approx(float(way @ force), abs=1e-13 * (1.0 + np.linalg.norm(force)))
        assert run.report.energy_residual_relative < 1e-11
    assert way[0] > 5.0


def hinged(**motor):
    scene = dal.Scene("arm")
    arm = scene.add_body("arm", dal.Box(1, 0.1, 0.1), mass=1.0, position=(0.5, 0, 0))
    hinge = scene.hinge("hinge", dal.WORLD, arm, at=(0, 0, 0), axis=(0, 1, 0))
    scene.limit("stop", hinge, lower=-1.0, upper=0.0)
    scene.motor("motor", hinge, **motor)
    return scene


@STEPS
@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("motor", MOTORS)
def test_a_motor_against_its_stop_does_no_work(motor, coordinates, dt):
    run = dal.simulate(hinged(**motor), 1.0, dt=dt, coordinates=coordinates)
    assert run.efforts["stop"] < -4.0
    assert abs(run.report.work["motor"]) < 1e-12 and run.report.energy_residual < 1e-12


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_motor_that_presses_an_arm_on_the_ground_does_no_work(coordinates):
    scene = dal.Scene("press", material=dal.Material(0.3))
    scene.add_obstacle("ground", dal.HalfSpace())
    arm = scene.add_body("arm", dal.Box(1, 0.1, 0.1), mass=1.0, position=(0.5, 0, 0.05))
    scene.hinge("hinge", dal.WORLD, arm, at=(0, 0, 0.05), axis=(0, 1, 0))
    scene.motor("press", "hinge", effort=5.0)
    run = dal.simulate(scene, 0.5, dt=0.002, coordinates=coordinates)
    turned = float(np.arctan2(0.05 - run.state.position[0, 2], 0.5))
    assert run.report.work["press"] == pytest.approx(5.0 * turned, abs=1e-10)
    assert abs(turned) < 1e-6 and run.report.energy_residual < 1e-6


def test_drag_and_a_magnetic_force_do_no_work_where_friction_holds_a_box():
    scene = dal.Scene("held", material=dal.Material(0.8))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(1, 1, 1), mass=1.0, position=(0, 0, 0.5))
    scene.drag("air", linear=2.0, angular=1.0)
    scene.external_force("magnet", "box", function=lambda t, x, q, v, w: (5.0 * v[1] + 3.0, -5.0 * v[0], 0.0))
    run = dal.simulate(scene, 1.0, dt=0.01, solver="interior_point")
    assert max(abs(run.report.work[name]) for name in ("air", "magnet")) < 1e-12


def test_springs_damp_by_the_rate_that_happened():
    """A box hangs on a damped spring and lies on the ground: the damper does nothing."""
    scene = dal.Scene("hung", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(1, 1, 1), mass=1.0, position=(0, 0, 0.5))
    scene.spring("band", dal.WORLD, "box", (0, 0, 2.0), (0, 0, 1.0), stiffness=5.0, damping=20.0)
    run = dal.simulate(scene, 1.0, dt=0.01, solver="interior_point")
    assert abs(run.report.work["band"]) < 1e-12 and run.report.energy_residual < 1e-12


@pytest.mark.parametrize("method", ["implicit_midpoint", "time_stepping"])
def test_what_particles_do_to_a_box_that_lies_on_the_ground_is_booked_as_it_moves(method):
    scene = dal.Scene("load", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(1, 1, 1), mass=1.0, position=(0, 0, 0.5))
    x = [[0.1 * i, 0.1 * k, 1.0] for i in range(-1, 2) for k in range(-1, 2)]
    scene.add_particles("grains", x, mass=0.2, material=dal.Material(0.5))
    run = dal.simulate(scene, 1.0, method=method, dt=0.002)
    assert run.report.energy_residual == pytest.approx(
        -run.report.projection_loss, rel=1e-3
    )  # they sink in, a bit, in a step
    assert run.report.integration_error < 1e-5


@pytest.mark.filterwarnings("ignore:limit 'stop'")  # the joint begins beyond it, which is corrected
@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_work_along_position_correction_is_force_times_displacement(coordinates):
    """A slider that starts beyond its stop is put back against a load: nothing but projection can have done that work."""
    scene = dal.Scene("slider", gravity=(0, 0, 0))
    block = scene.add_body("block", dal.Box(1, 1, 1), mass=2.0)
    slider = scene.slider("slider", dal.WORLD, block, at=(0, 0, 0), axis=(1, 0, 0))
    scene.limit("stop", slider, lower=0.02)
    scene.external_force("push", block, force=(-50.0, 0, 0))
    run = dal.simulate(scene, 0.2, dt=0.002, coordinates=coordinates)
    assert run.state.position[0, 0] == pytest.approx(0.02, abs=1e-9)
    assert run.report.work["push"] == pytest.approx(-50.0 * 0.02, abs=1e-9)
    assert run.report.energy_residual == pytest.approx(1.0, abs=1e-9)
    assert -run.report.projection_loss == pytest.approx(1.0, abs=1e-9) and run.report.integration_error < 1e-12


def test_a_body_that_is_put_to_sleep_leaves_an_error_of_its_kinetic_energy():
    scene = dal.Scene("sleeper", material=dal.Material(0.0))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(1, 1, 1), mass=2.0, position=(0, 0, 0.5), velocity=(0.001, 0, 0))
    run = dal.simulate(scene, 1.0, dt=0.01, sleep_after=0.3)
    assert run.asleep == ["box"]
    assert run.report.energy_residual == pytest.approx(0.5 * 2.0 * 0.001**2, rel=1e-3)
