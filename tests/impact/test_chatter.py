"""Contacts that strike and lift each other: no run stands still at an instant, and what cannot rise comes to rest."""

import warnings

import numpy as np
import pytest

import dalembert as dal
from dalembert.core.status import NoSolution, SimulationWarning
from dalembert.impact.repeats import AT_ONCE, MANY, Repeats

from .scenes import G, bouncing_ball


def two_pairs(shape, restitution):
    """A touching pair that moves at 1 m/s meets another at rest, face to face, after 0.3 s; nothing pulls."""
    scene = dal.Scene("pairs", gravity=(0, 0, 0), material=dal.Material(0.0, restitution))
    for k, (x, speed) in enumerate(((0.0, 1.0), (0.5, 0.0))):
        for y in (0.0, 0.2):
            scene.add_body(f"{k} {y}", shape, mass=1.0, position=(x, y, 0), velocity=(speed, 0, 0))
    return scene


SPHERES, BOXES = dal.Sphere(0.1), dal.Box(0.2, 0.2, 0.2)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    ("shape", "law"), [(SPHERES, "simultaneous"), (SPHERES, "sequential"), (BOXES, "simultaneous"), (BOXES, "poisson")]
)
def test_a_touching_pair_that_strikes_another_shares_its_speed_as_two_bodies_do(shape, restitution, law):
    run = dal.simulate(two_pairs(shape, restitution), 0.4, method="dormand_prince", impacts=law)
    slow, fast = 0.5 * (1 - restitution), 0.5 * (1 + restitution)
    np.testing.assert_allclose(run.state.velocity[:, 0], [slow, slow, fast, fast], atol=1e-9)
    impacts = [event.time for event in run.contact_events if event.kind == "impact"]
    np.testing.assert_allclose(impacts, 0.3, atol=1e-9)
    assert run.report.energy_residual_relative < 1e-12 and run.report.momentum_residual < 1e-12


def row(balls, first, friction):
    """Balls on the ground, all touching but the first ones, which come at 1 m/s."""
    scene = dal.Scene("row", gravity=(0, 0, -G), material=dal.Material(friction))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i in range(balls):
        x, speed = (0.2 * i - 0.1, 1.0) if i < first else (0.2 * i, 0.0)
        scene.add_body(f"ball {i}", dal.Sphere(0.1), mass=1.0, position=(x, 0, 0.1), velocity=(speed, 0, 0))
    return scene


@pytest.mark.parametrize("first", [1, 2])
def test_balls_that_roll_into_others_end_in_contact_after_few_impacts(first):
    """Where they meet they rub, which lifts one off the ground; it falls back, which parts it from the other; and so on,
    each time 30 times faster. The sum of all these times is finite, and the contacts go on from there."""
    run = dal.simulate(row(3, first, 0.3), 0.5, method="dormand_prince")
    assert len(run.contact_events) < 100
    assert run.report.steps < 1000
    np.testing.assert_allclose(run.state.position[:, 2], 0.1, atol=1e-9)
    assert np.abs(run.state.velocity[:, 2]).max() < 1e-9
    assert run.report.energy_residual_relative < 1e-6
    assert (np.diff(run.state.velocity[:, 0]) > -1e-9).all()  # none runs into the next


def test_a_ball_that_loses_nothing_but_hardly_rises_comes_to_rest():
    run = dal.simulate(bouncing_ball(1.0, height=5e-11), 1.0, method="dormand_prince")
    assert len(run.contact_events) < 5
    np.testing.assert_allclose(run.state.position, [[0, 0, 0.1]], atol=1e-10)


def test_events_at_one_instant_are_muted_then_end_the_run_with_the_pair():
    repeats = Repeats(0.1)
    for k in range(AT_ONCE):
        repeats.count(1.0, 1.0, (3, "a"), ("box", "ground"))
        assert repeats.repetitions((3, "a")) == k
    assert repeats.repetitions((4, "a")) == 0
    with pytest.raises(NoSolution, match=f"{AT_ONCE} times between 'box' and 'ground'"):
        repeats.count(1.0, 1.0, (3, "a"), ("box", "ground"))
    repeats.count(1.001, 1.0, (3, "a"), ("box", "ground"))
    assert repeats.repetitions((3, "a")) == 0


def test_many_events_in_a_short_time_are_warned_of_with_the_pair_and_not_without_end():
    repeats, warned = Repeats(0.1), 0
    for k in range(20 * MANY):
        pair = ("cup", "plate") if k % 4 else ("cup", "world")
        if k == MANY - 1:
            with pytest.warns(SimulationWarning, match="375 of them between 'cup' and 'plate'"):
                repeats.count(1e-6 * k, 1.0, k, pair)
            warned += 1
        else:
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                repeats.count(1e-6 * k, 1.0, k, pair)
            warned += len(found)
    assert 1 <= warned <= 3
