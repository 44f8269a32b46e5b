"""A ball that bounces: instants of impact, the limit of bounces that pile up, and energy that is kept."""

import numpy as np
import pytest

import dalembert as dal

from .scenes import bouncing_ball


def rest_times(run):
    return [event.time for event in run.contact_events if event.kind == "rest"]


def test_a_ball_comes_to_rest_at_the_limit_of_its_bounces():
    run = dal.simulate(bouncing_ball(0.8), 4.2, method="dormand_prince")
    # √(2 h/g) (1 + e)/(1 − e)
    assert rest_times(run) == [pytest.approx(4.063712768871578, abs=1e-9)]
    np.testing.assert_allclose(run.state.position, [[0, 0, 0.1]], atol=1e-12)
    np.testing.assert_array_equal(np.abs(run.state.velocity) < 1e-12, True)
    assert run.contacts[0].force[2] == pytest.approx(9.81, rel=1e-12)
    report = run.report
    assert report.work["contact: impacts"] == pytest.approx(-9.81, rel=1e-9)
    assert report.energy_residual_relative < 1e-13
    assert report.momentum_residual < 1e-11


def test_every_bounce_is_where_theory_puts_it():
    run = dal.simulate(bouncing_ball(0.8), 3.0, method="dop853")
    first = np.sqrt(2.0 / 9.81)
    count = sum(event.kind == "impact" for event in run.contact_events)
    expected = first * (1 + 2 * np.cumsum(0.8 ** np.arange(count)) - 2)
    np.testing.assert_allclose([event.time for event in run.contact_events], expected, atol=1e-11)


@pytest.mark.parametrize("method", ["dormand_prince", "rk4"])
def test_a_ball_that_loses_nothing_keeps_its_energy_for_a_thousand_bounces(method):
    period = 2.0 * np.sqrt(2.0 * 0.01 / 9.81)
    settings = {"dt": 0.01} if method == "rk4" else {}
    run = dal.simulate(bouncing_ball(1.0, height=0.01), 1000.2 * period, method=method, frame_rate=10, **settings)
    assert sum(event.kind == "impact" for event in run.contact_events) == 1000
    energy = (run.trajectory.kinetic + run.trajectory.potential).values
    np.testing.assert_allclose(energy, energy[0], rtol=1e-12)
    assert not rest_times(run)


def test_a_fast_ball_does_not_pass_through_a_thin_wall():
    scene = dal.Scene("bullet", gravity=(0, 0, 0), material=dal.Material(0.0, 1.0))
    scene.add_obstacle("wall", dal.Box(0.01, 2, 2), position=(5, 0, 0))
    scene.add_body("bullet", dal.Sphere(0.005), mass=0.01, velocity=(900.0, 0, 0))
    for settings in ({"method": "dormand_prince"}, {"method": "rk4", "dt": 0.01}):
        run = dal.simulate(scene, 0.01, **settings)
        assert run.contact_events[0].time == pytest.approx((5 - 0.01) / 900.0, rel=1e-10)
        np.testing.assert_allclose(run.state.velocity, [[-900.0, 0, 0]], rtol=1e-12)
