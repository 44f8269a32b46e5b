"""Where friction just holds, nothing creeps, and no event repeats itself: few steps and events, however long the run."""

import warnings

import numpy as np
import pytest
from tests.random_scenes.touching_scenes import touching_groups

import dalembert as dal
from dalembert.impact import impact

from .scenes import G


def tower(friction=0.3, speed=2.0):
    """Boxes of different sizes and masses, one on the other, slide on the ground; friction is the same at each level."""
    scene = dal.Scene("tower", gravity=(0, 0, -G), material=dal.Material(friction))
    scene.add_obstacle("ground", dal.HalfSpace())
    height = 0.0
    for k, (a, b, c, mass) in enumerate([(0.5, 0.4, 0.1, 1.0), (0.4, 0.3, 0.15, 1.0), (0.3, 0.35, 0.1, 5.0)]):
        scene.add_body(
            f"box {k}", dal.Box(a, b, c), mass=mass, position=(0, 0, height + 0.5 * c), velocity=(speed, 0, 0)
        )
        height += c
    return scene


def test_a_tower_that_slides_with_the_same_friction_at_each_level_stays_one():
    """Each level needs all the friction there is, so rounding would decide what slips."""
    run = dal.simulate(tower(), 0.5, method="dormand_prince", frame_rate=10)
    assert run.report.steps < 30
    assert not any(event.kind == "slips" for event in run.contact_events)
    np.testing.assert_allclose(run.state.position[:, 0], 2.0 * 0.5 - 0.5 * 0.3 * G * 0.25, atol=1e-9)
    np.testing.assert_allclose(run.state.velocity[:, 0], 2.0 - 0.3 * G * 0.5, atol=1e-9)
    assert run.report.energy_residual_relative < 1e-12


def test_time_steps_move_the_tower_alike():
    exact = dal.simulate(tower(), 0.3, method="dormand_prince").state.position[:, 0]
    steps = dal.simulate(tower(), 0.3, dt=1e-3).state.position[:, 0]
    np.testing.assert_allclose(steps, exact, atol=1e-3)


@pytest.mark.parametrize(("seed", "duration", "most"), [(127, 0.1, 400), (111, 0.6, 600)])
def test_stacks_and_rods_that_strike_others_take_few_steps(seed, duration, most):
    """These took more than 100 000 steps, and 660 events at which nothing changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = dal.Simulation(touching_groups(seed), method="dormand_prince", frame_rate=100)
        energies = [run.report.energy_end]
        for _ in range(10):
            run.advance(0.1 * duration)
            energies.append(run.report.energy_end)
    assert run.report.steps < most
    assert max(np.diff(energies)) < 1e-8 * energies[0]
    assert run.report.energy_residual < 1e-7 * energies[0]


def test_the_share_of_restitution_that_adds_no_energy_is_found_in_few_trials():
    """Impulses 1 + 1.5 s of one contact that closes at 1 m/s, A = 1: ΔT = ½ p² − p vanishes at p = 2, s = 2/3."""
    shares = []

    def impulses(share):
        shares.append(share)
        return np.array([[1.0 + 1.5 * share, 0.0, 0.0]])

    p = impact._dissipative(impulses, np.eye(3), np.array([[-1.0, 0.0, 0.0]]))
    assert 2.0 - 1e-11 < p[0, 0] <= 2.0 + 1e-11
    assert len(shares) < 20  # 42 by halves
