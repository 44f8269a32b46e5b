"""What a run says of steps of particles that were not solved."""

import numpy as np
import pytest

import dalembert as dal

from .motions import net


def rows(report):
    return dict(report.rows())


@pytest.mark.parametrize("method", ["implicit_euler", "implicit_midpoint", "bdf2"])
def test_a_run_that_converges_says_so(method):
    report = dal.simulate(net(), 0.2, method=method, dt=0.01, newton_tolerance=1e-8).report
    found = report.particles
    assert found.unsolved == found.unconverged == found.indefinite == 0
    assert 0.0 < found.gradient <= 1e-8
    assert found.iterations >= found.solves >= found.newton >= report.steps == 20
    assert rows(report)["particle residual"].endswith("above its tolerance in 0 steps)")
    assert "  of them unsolved" not in rows(report)


def one_newton_step(**settings):
    """A run whose stages have one step of Newton's method."""
    run = dal.Simulation(net(), method="implicit_euler", dt=0.01, **settings)
    run._driver._steps.options.newton = 1
    return run


@pytest.mark.parametrize("tolerance", [1e-8, 1e-20])
def test_steps_that_newtons_method_does_not_solve_are_counted(tolerance):
    with pytest.warns(dal.SimulationWarning, match="implicit steps of the particles missed their tolerance"):
        report = one_newton_step(newton_tolerance=tolerance).advance(0.2).report
    found = report.particles
    assert found.unsolved == 20 and found.gradient > 1e-8
    assert rows(report)["particle residual"].endswith("above its tolerance in 20 steps)")
    assert f"{found.gradient:.3g} of the forces" in rows(report)["particle residual"]


@pytest.mark.parametrize("method", ["implicit_euler", "implicit_midpoint", "bdf2"])
def test_a_tolerance_below_rounding_is_met_to_rounding(method, recwarn):
    """The table says to what; a step that ends at a larger gradient is another matter (above)."""
    report = dal.simulate(net(), 0.2, method=method, dt=0.01, newton_tolerance=1e-20).report
    assert report.particles.unsolved == 0 and 1e-17 < report.particles.gradient < 1e-12
    assert f"{report.particles.gradient:.3g} of the forces" in rows(report)["particle residual"]
    assert not recwarn.list


def test_rounding_is_no_excuse_for_a_large_gradient():
    """Ten thousand kilometres from the origin, positions are rounded to nanometres."""
    scene = dal.Scene("far", gravity=(0, 0, -9.81))
    scene.add_particles("p", [[1e7, 0, 0], [1e7 + 0.6, 0, -0.8]], mass=1.0, pinned=[0])
    scene.springs("s", "p", [[0, 1]], stiffness=1e4)
    with pytest.warns(dal.SimulationWarning, match="missed their tolerance"):
        report = dal.simulate(scene, 0.1, method="implicit_euler", dt=1e-3).report
    assert report.particles.unsolved > 50 and report.particles.gradient > 1e-8


@pytest.mark.parametrize("away", [0.0, 100.0])
@pytest.mark.parametrize("method", ["linear_implicit_euler", "implicit_euler", "implicit_midpoint", "bdf2"])
def test_what_no_force_acts_on_is_solved_and_keeps_its_energy(method, away, recwarn):
    """All forces are the rounding of positions, in some methods with rounded velocities."""
    scene = dal.Scene("still", gravity=(0, 0, 0))
    vertices, cells = dal.tetrahedron_grid((0.2, 0.2, 0.2), (2, 2, 2))
    scene.soft_body("block", np.array(vertices) + away, cells, density=300.0, young=2e4, poisson=0.3, viscosity=10.0)
    run = dal.simulate(scene, 0.25, method=method, dt=1 / 400, stop_unsolved=True)
    assert run.report.particles.unsolved == 0 and run.report.particles.gradient < 1e-8
    assert abs(run.state.particle_position - run.model.scene.particles["block"].position).max() < 1e-12 * (1.0 + away)
    assert not run.report.warnings and not recwarn.list


def short(method, **settings):
    """A run whose linear solver has one iteration a solve."""
    run = dal.Simulation(net(), method=method, dt=0.01, **settings)
    run._driver._steps.options.linear_iterations = 1
    return run


def test_linear_solves_that_miss_their_tolerance_are_counted():
    """One such solve leaves a step of one solve unsolved; Newton's method has others."""
    with pytest.warns(dal.SimulationWarning, match="missed their tolerance in 20 of 20 steps"):
        report = short("linear_implicit_euler").advance(0.2).report
    found = report.particles
    assert found.solves == found.unconverged == found.unsolved == 20 and found.gradient > 1e-4
    assert rows(report)["  of them unsolved"] == "20 above their tolerance, 0 indefinite"
    found = short("implicit_euler").advance(0.05).report.particles
    assert found.unconverged > 0 and found.unsolved == 0


def test_a_step_that_is_not_solved_ends_the_run_if_asked():
    with pytest.raises(
        dal.SimulationError, match=r"at t = 0.01 s .*Newton's method .* of the forces; .*newton_tol"
    ) as caught:
        one_newton_step(stop_unsolved=True).advance(0.2)
    run = caught.value.simulation
    assert caught.value.time == pytest.approx(0.01) and run.report.particles.unsolved == 1
    assert f"{run.report.particles.gradient:.3g} of the forces" in str(caught.value)
    with pytest.raises(dal.SimulationError, match=r"linear system ends with a gradient of .*linear_tolerance"):
        short("linear_implicit_euler", stop_unsolved=True).advance(0.1)
    settings = {"method": "implicit_euler", "dt": 0.01, "stop_unsolved": True}
    assert dal.simulate(net(), 0.2, **settings, newton_tolerance=1e-20).time == pytest.approx(0.2)


def test_the_report_is_of_particles_with_time_steps_of_their_own():
    assert dal.simulate(net(), 0.01, method="rk4", dt=1e-3).report.particles is None
    run = dal.simulate(net(), 0.01, method="time_stepping", dt=1e-3)
    assert run.report.particles.solves == 10
    assert not {"particle residual", "  linear solves", "  of them unsolved"} & set(rows(run.report))
    assert run.trajectory.report["particles"]["unsolved"] == 0
