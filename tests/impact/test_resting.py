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
    run = dal.simulate(block_on_a_slope(0.7), 60.0, method="dormand_prince", frame_rate=1.0)
    assert np.abs(run.state.position[0] - (0, 0, 0.2)).max() < 1e-9
    assert [event.kind for event in run.contact_events].count("slips") == 0


def test_a_block_pushed_up_a_slope_stops_and_stays():
    run = dal.simulate(block_on_a_slope(0.7, speed=-1.0), 1.0, method="dormand_prince")
    deceleration = G * (np.sin(np.pi / 6) + 0.7 * np.cos(np.pi / 6))
    assert run.state.position[0, 0] == pytest.approx(-0.5 / deceleration, abs=1e-9)
    assert np.abs(run.state.velocity).max() < 1e-10


def test_a_rocking_block_keeps_what_housner_says():
    half_width, half_height, tilt, mass = 0.1, 0.5, 0.05, 3.0
    run = dal.Simulation(rocking_block(half_width, half_height, tilt), method="dormand_prince", frame_rate=500)
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


def rubbing_oscillator():
    """A block on a spring along x, at μ = 0.2: half swings about ± μ m g/k, one after the other, until the spring cannot move
    it. The spring holds the block low, so that it does not tip."""
    scene = dal.Scene("rubbing oscillator", gravity=(0, 0, -G), material=dal.Material(friction=0.2))
    scene.add_obstacle("ground", dal.HalfSpace())
    block = scene.add_body("block", dal.Box(1.0, 0.6, 0.2), mass=1.0, position=(1.0, 0, 0.1))
    scene.spring("spring", dal.WORLD, block, (-3.0, 0, 0.1), (1.0, 0, 0.1), stiffness=20.0, rest=3.0)
    return scene


def test_a_block_on_a_spring_rubs_to_a_stop_half_swing_by_half_swing():
    run = dal.simulate(rubbing_oscillator(), 4.0, method="dop853", rtol=1e-11)
    turns = sorted({round(event.time, 12) for event in run.contact_events if event.kind in ("sticks", "slips")})
    half = np.pi * np.sqrt(1.0 / 20.0)
    shift = 0.2 * G / 20.0
    swings = int(np.ceil((1.0 - shift) / (2 * shift)))
    assert run.state.position[0, 0] == pytest.approx((-1) ** swings * (1.0 - 2 * swings * shift), abs=1e-9)
    assert np.abs(run.state.velocity).max() < 1e-10
    assert turns[-1] == pytest.approx(swings * half, abs=1e-8)
    assert run.report.energy_residual_relative < 1e-10


def test_the_order_of_the_method_is_kept_through_changes_of_friction():
    """The error of fixed steps of RK4 after a turn of the rubbing block falls by 2⁴ a halving. Longer steps than these are
    cut short, lest anything pass through the ground."""
    end, turns, rate, shift = 1.2, 1, np.sqrt(20.0), 0.2 * G / 20.0
    assert turns * np.pi / rate < end < (turns + 1) * np.pi / rate
    exact = -(shift + (1.0 - 3 * shift) * np.cos(rate * end - turns * np.pi))
    runs = [dal.simulate(rubbing_oscillator(), end, method="rk4", dt=dt, frame_rate=1) for dt in (0.006, 0.003)]
    errors = np.array([abs(run.state.position[0, 0] - exact) for run in runs])
    orders = np.log2(errors[:-1] / errors[1:])
    assert (orders > 3.7).all(), (errors, orders)
