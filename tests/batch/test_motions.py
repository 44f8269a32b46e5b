"""Batches of scenes whose bodies and joints move by command: the bits of single runs."""

import numpy as np
import pytest
from numba import njit

import dalembert as dal


@njit
def swing(t):
    return (0.1 * np.sin(3.0 * t), 0.0, 0.0)


MOTIONS = {"function": swing, "keyframes": dal.Keyframes([0.0, 0.5, 1.0], [(0, 0, 0), (0.2, 0, 0), (0, 0, 0.1)])}


def double_pendulum(length, motion):
    start = (0.3 if motion == "function" else 0.0, 0, 0)
    scene = dal.Scene("double pendulum")
    scene.add_body("pivot", dal.Sphere(0.1), motion=MOTIONS[motion], material=None)
    for k, name in enumerate(("upper", "lower")):
        scene.add_body(name, dal.Sphere(0.05), mass=1.0 + length, position=(length + 0.3 * k, 0, 0), velocity=start)
    scene.hinge("shoulder", "pivot", "upper", at=(0, 0, 0), axis=(0, 1, 0))
    scene.hinge("elbow", "upper", "lower", at=(length, 0, 0), axis=(0, 1, 0))
    scene.add_motion("drive", "elbow", dal.Keyframes([0.0, 1.0], [0.0, 1.0], smooth="acceleration"))
    return scene


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("motion", MOTIONS)
def test_members_that_move_by_command_have_the_bits_of_single_runs(motion, coordinates):
    scenes = [double_pendulum(length, motion) for length in (0.5, 0.7, 0.9)]
    batch = dal.run_batch(scenes, 0.5, coordinates=coordinates)
    for k, scene in enumerate(scenes):
        run = dal.simulate(scene, 0.5, coordinates=coordinates)
        np.testing.assert_array_equal(batch.position[k, -1], run.state.position)
        assert abs(run.report.work["pivot"]) > 1e-3 and abs(run.report.work["drive"]) > 1e-3
