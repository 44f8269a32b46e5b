"""Piles of long round bodies, which lie side by side and are parallel but for small angles."""

import numpy as np
import pytest

import dalembert as dal

DT = 1 / 120


def logs(shape):
    """Six layers of six logs, dropped between two posts."""
    rng = np.random.default_rng(0)
    scene = dal.Scene("logs", material=dal.Material(0.6))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i, x in enumerate((-1.2, 1.2)):
        scene.add_obstacle(f"post {i}", dal.Box(0.2, 2.6, 3.0), position=(x, 0.0, 1.5))
    for i in range(36):
        layer, place = divmod(i, 6)
        scene.add_body(
            f"log {i}", shape, density=600.0, orientation=(np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0),
            position=(0.35 * (place - 2.5) + 0.05 * (layer % 2) + rng.uniform(-0.01, 0.01), 0.0, 0.2 + 0.33 * layer),
        )  # fmt: skip
    return scene


@pytest.mark.parametrize("shape", [dal.Cylinder(0.15, 2.0), dal.Capsule(0.15, 1.7)])
def test_a_pile_of_logs_comes_to_rest_without_overlap(shape):
    """With one contact of a pair, at one end and then at the other, they sank into each other by up to 0.28 m, and correcting
    that added half of their energy: they never came to rest."""
    run = dal.Simulation(logs(shape), dt=DT, frame_rate=1e-3)
    run.step(240)
    assert np.abs(run.state.velocity).max() < 0.02
    assert run.report.contact.penetration < 1e-3
    assert run.report.energy_residual_relative < 5e-4
