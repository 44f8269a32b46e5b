"""A scene of particles, and the look at what it refuses."""

import pytest

import dalembert as dal

SQUARE = [[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.3, 0.4, 1.0]]  # and a top
NAN = float("nan")


def some():
    scene = dal.Scene("some")
    scene.add_particles("dust", SQUARE, mass=1.0)
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 3))
    return scene


def refused(pattern):
    return pytest.raises(ValueError, match=pattern)
