"""Wind on surfaces in implicit steps."""

import numba
import numpy as np

import dalembert as dal
from dalembert.scene.mesh_file import triangle_grid


@numba.njit
def steady(t, x):
    return 9.0, 1.0, 0.5


def flag(**wind):
    scene = dal.Scene("flag")
    vertices, faces = triangle_grid(0.9, 0.6, 13, 9)
    scene.cloth("flag", vertices[:, [0, 2, 1]], faces, density=0.15, stretch=800.0, shear=300.0, damping=0.003,
                pinned=13 * np.arange(9))  # fmt: skip
    scene.wind("wind", "flag", **wind)
    return dal.simulate(scene, 4 / 60, method="linear_implicit_euler", dt=1 / 60, linear_tolerance=1e-10)


def test_a_wind_by_a_function_is_as_implicit_as_a_constant_one():
    """It was left out of the matrix, so that the drag of a light flag, explicit then, made it explode."""
    given, found = flag(velocity=(9.0, 1.0, 0.5)), flag(function=steady)
    assert np.abs(given.state.particle_velocity).max() > 0.1
    np.testing.assert_allclose(found.state.particle_position, given.state.particle_position, rtol=0.0, atol=1e-12)
