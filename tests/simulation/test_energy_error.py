"""The energy error is E − E₀ − Σ W of the forces: constraints and projection are no excuse."""

import numpy as np
import pytest

import dalembert as dal


def pendulum(**settings):
    scene = dal.Scene("pendulum")
    bob = scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(1.0, 0, 0))
    scene.ball("pivot", dal.WORLD, bob, at=(0, 0, 0))
    scene.drag("air", linear=0.1)
    return dal.Simulation(scene, **settings)


def stop_dead(run, at):
    """Take its velocities from everything, as projection, in the ledger and all, at a time."""
    run.advance(at)
    from dalembert.model.tables import LEDGER, PROJECTION_WORK

    y = run._y
    y[y.size - len(LEDGER) + PROJECTION_WORK] -= float(run.trajectory.kinetic[-1])
    y[7:13] = 0.0
    run.changed()


@pytest.mark.parametrize("settings", [{"rtol": 1e-9}, {"method": "rk4", "dt": 1e-3}])
def test_a_mechanism_that_is_stopped_dead_has_an_energy_error_as_large_as_its_energy(settings):
    run = pendulum(**settings)
    stop_dead(run, 0.3)
    lost = float(run.trajectory.kinetic.values.max())
    run.advance(0.1)
    report = run.report
    assert lost > 1.0
    assert report.energy_residual == pytest.approx(lost, rel=0.01)
    assert report.projection_loss == pytest.approx(lost, rel=0.01)
    assert report.integration_error < 1e-6


def test_energy_error_heads_the_audit_in_the_table_and_its_parts_add_up():
    run = pendulum(method="midpoint", dt=0.01).advance(2.0)
    names = [name for name, _ in run.report.rows()]
    assert names.index("energy error") < names.index("energy") < names.index("  work of air")
    assert names[names.index("energy error") + 1 :][:3] == [
        "  of projection",
        "  of constraints",
        "  of the integration",
    ]
    t = run.trajectory
    total = (t.kinetic + t.potential - t.work.sum("force")).values
    np.testing.assert_allclose(t.balance, total - total[0], atol=1e-13)
    rest = t.balance - t.constraint_work + t.projection_loss
    assert float(np.abs(rest.values).max()) == pytest.approx(run.report.integration_error, rel=1e-9, abs=1e-14)
    assert run.report.energy_residual == pytest.approx(float(np.abs(t.balance.values).max()), rel=1e-12)


@pytest.mark.parametrize(
    ("settings", "least"),
    [({"hold": "penalty", "stiffness": 1e5, "damping": 50.0}, 1e-4), ({"hold": "feedback"}, 1e-12)],
)
def test_what_penalty_and_feedback_do_to_the_energy_is_an_error(settings, least):
    run = pendulum(rtol=1e-9, **settings).advance(1.0)
    report = run.report
    assert report.energy_residual > least
    assert report.energy_residual == pytest.approx(
        float(np.abs(run.trajectory.constraint_work.values).max()), rel=0.05, abs=1e-6
    )


def test_a_falling_step_makes_the_error_of_projection_fall():
    errors = [pendulum(method="rk4", dt=dt).advance(1.0).report.energy_residual for dt in (0.02, 0.01)]
    assert errors[1] < 0.1 * errors[0]
