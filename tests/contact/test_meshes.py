"""Runs on meshes: a flat one made of many triangles is a half-space, and what lies on a terrain stays on it."""

import numpy as np
import pytest
from numba import config

import dalembert as dal
from dalembert.collide import manifold as merge

TILT = np.radians(20.0)
SLOPE = (np.cos(TILT / 2), 0.0, np.sin(TILT / 2), 0.0)
DURATION = 0.05 if config.DISABLE_JIT else 0.8


def on_a_slope(shape, height, ground):
    scene = dal.Scene("slope", material=dal.Material(0.2))
    scene.add_obstacle("ground", ground, orientation=SLOPE)
    up = np.array([np.sin(TILT), 0.0, np.cos(TILT)])
    scene.add_body("thing", shape, mass=1.0, position=height * up + (-0.8 * np.cos(TILT), 0.07, 0.8 * np.sin(TILT)),
                   orientation=SLOPE, velocity=(1.5 * np.cos(TILT), 0.0, -1.5 * np.sin(TILT)))  # fmt: skip
    run = dal.simulate(scene, DURATION, dt=1 / 100, solver="interior_point", frame_rate=20.0)
    return run.state.position[0], run.state.velocity[0], run.report


@pytest.mark.parametrize(("shape", "height"), [(dal.Sphere(0.1), 0.1), (dal.Box(0.3, 0.2, 0.1), 0.05)])
@pytest.mark.parametrize("joined", [True, False])
def test_a_flat_mesh_is_a_half_space(shape, height, joined, monkeypatch):
    if not joined:
        monkeypatch.setattr(merge, "MOST_EDGES", 0)
    mesh = dal.HeightField(np.zeros((21, 9)), 0.17)
    position, velocity, report = on_a_slope(shape, height, mesh)
    expected_position, expected_velocity, _ = on_a_slope(shape, height, dal.HalfSpace())
    np.testing.assert_allclose(position, expected_position, atol=1e-8)
    np.testing.assert_allclose(velocity, expected_velocity, atol=1e-8)
    assert np.linalg.norm(velocity) > 1.5
    assert report.contact.penetration < 1e-8


def test_a_mesh_cannot_be_run_by_events():
    scene = dal.Scene("events", material=dal.Material())
    scene.add_obstacle("ground", dal.HeightField(np.zeros((2, 2)), 1.0))
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 1))
    with pytest.raises(ValueError, match=r"'ground': a HeightField is not supported by contact events.*time_stepping"):
        dal.Simulation(scene, method="dormand_prince")
