"""Contacts that stay: they slide, roll, stick and tip as Coulomb's law says, at the accuracy of the method."""

import numpy as np
import pytest

import dalembert as dal

from .scenes import G, block_on_a_slope, rocking_block, sliding_sphere


def test_a_sphere_slides_and_then_rolls():
    run = dal.simulate(sliding_sphere(), 0.2, method="dormand_prince")
    sticks = [event.time for event in run.contact_events if event.kind == "sticks"]
    assert sticks == [pytest.approx(2.0 / (7.0 * 0.3 * G), abs=1e-9)]
    np.testing.assert_allclose(run.state.velocity, [[5.0 / 7.0, 0, 0]], atol=1e-9)
    inertia = 0.4 * 2.0 * 0.1**2
    np.testing.assert_allclose(run.state.angular_momentum, [[0, inertia * 50.0 / 7.0, 0]], atol=1e-10)
    heat = -run.report.work["contact: friction"]
    assert heat == pytest.approx(0.5 * 2.0 * (1 - 5 / 7), rel=1e-9)
    assert run.report.energy_residual_relative < 1e-12
    assert run.report.momentum_residual < 1e-12 and run.report.angular_momentum_residual < 1e-12


def test_a_block_slides_down_as_coulomb_says():
    run = dal.simulate(block_on_a_slope(0.3), 1.0, method="dormand_prince")
    a = 2.356287236662397
    assert run.state.velocity[0, 0] == pytest.approx(a, rel=1e-9)
    assert run.state.position[0, 0] == pytest.approx(0.5 * a, rel=1e-9)
    assert run.report.energy_residual_relative < 1e-12


def test_a_block_that_sticks_does_not_creep():
    run = dal.simulate(block_on_a_slope(0.7), 60.0, method="dormand_prince", frames=1.0)
    assert np.abs(run.state.position[0] - (0, 0, 0.2)).max() < 1e-9
    assert [event.kind for event in run.contact_events].count("slips") == 0


def test_a_block_pushed_up_a_slope_stops_and_stays():
    run = dal.simulate(block_on_a_slope(0.7, speed=-1.0), 1.0, method="dormand_prince")
    deceleration = G * (np.sin(np.pi / 6) + 0.7 * np.cos(np.pi / 6))
    assert run.state.position[0, 0] == pytest.approx(-0.5 / deceleration, abs=1e-9)
    assert np.abs(run.state.velocity).max() < 1e-10


def test_a_rocking_block_keeps_what_housner_says():
    half_width, half_height, tilt, mass = 0.1, 0.5, 0.05, 3.0
    run = dal.Simulation(rocking_block(half_width, half_height, tilt), method="dormand_prince", frames=500)
    while not any(event.kind == "impact" for event in run.contact_events):
        run.advance(0.02)
    # The block falls about one edge until it stands upright: what it has gained then, and what the impact leaves of it.
    lift = half_width * np.sin(tilt) + half_height * np.cos(tilt) - half_height
    gained = mass * G * lift
    lost = -run.report.work["contact: impacts"] - run.report.work["contact: friction"]
    kept = np.sqrt(1.0 - lost / gained)
    sine = half_width / np.hypot(half_width, half_height)
    assert kept == pytest.approx(1.0 - 1.5 * sine**2, abs=1e-7)
    assert kept == pytest.approx(0.94230769, abs=1e-4)
    assert run.report.energy_residual_relative < 1e-10


def test_a_box_pushed_over_the_edge_of_a_table_falls():
    scene = dal.Scene("edge", gravity=(0, 0, -G), material=dal.Material(0.1))
    scene.add_obstacle("table", dal.Box(2, 2, 1), position=(0, 0, -0.5))
    scene.add_body("box", dal.Box(0.4, 0.4, 0.2), mass=1, position=(0.5, 0, 0.1), velocity=(2.0, 0, 0))
    run = dal.simulate(scene, 0.8, method="dormand_prince")
    assert run.state.position[0, 2] < -0.2
    assert run.report.energy_residual_relative < 1e-9
