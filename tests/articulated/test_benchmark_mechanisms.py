"""Mechanisms of the library of computational benchmark problems of IFToMM: a redundant spatial loop, and a stiff one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import dalembert as dal

from .linkages import bricard


def test_a_redundant_spatial_loop_is_exact_in_both_coordinates():
    runs = [
        dal.simulate(bricard(Rotation.identity()), 2.0, coordinates=c, method="dop853", rtol=1e-11)
        for c in ("maximal", "joint")
    ]
    for run in runs:
        assert run.trajectory.joint_error.values.max() < 1e-12
        assert run.report.redundant
        assert run.report.integration_error < 1e-10
        assert run.report.energy_residual < 1e-7  # of 29 J: joint coordinates 4e-8, maximal ones 2e-9
    heights = runs[1].trajectory.position.values[..., 2]
    assert np.ptp(heights, axis=0).max() > 0.5, "it hardly moves"
    assert_allclose(runs[1].trajectory.position.values, runs[0].trajectory.position.values, atol=1e-8)


def governor(stiffness=8e5, damping=4e4):
    """A shaft that turns, two arms hinged to it with balls at their ends, and a collar that springs hold between them."""
    scene = dal.Scene("governor")
    turning = np.array([0.0, 0.0, 2.0 * np.pi])
    shaft = scene.add_body("shaft", dal.Cylinder(0.05, 1.0), mass=30.0, position=(0, 0, 0), angular_velocity=turning)
    collar = scene.add_body("collar", dal.Cylinder(0.08, 0.1), mass=0.3, position=(0, 0, 0.0), angular_velocity=turning)
    scene.hinge("bearing", dal.WORLD, shaft, at=(0, 0, 0), axis=(0, 0, 1))
    scene.slider("slide", shaft, collar, at=(0, 0, 0), axis=(0, 0, 1))
    angle = np.radians(30.0)
    for name, side in (("left", -1.0), ("right", 1.0)):
        hinge = np.array([0.05 * side, 0.0, 0.5])
        along = np.array([side * np.sin(angle), 0.0, -np.cos(angle)])
        ball_and_link = [
            (dal.Sphere(0.05), tuple(along), (1, 0, 0, 0), 50.0),
            (dal.Box(0.02, 0.02, 0.02), tuple(0.5 * along)),
        ]
        solid = dal.Compound(ball_and_link)
        center = hinge + dal.mass_properties(solid, mass=6.0).center
        arm = scene.add_body(
            name, solid, mass=6.0, position=hinge, velocity=np.cross(turning, center), angular_velocity=turning
        )
        scene.hinge(name + " hinge", shaft, arm, at=hinge, axis=(0, 1, 0))
        scene.spring(
            name + " spring",
            arm,
            collar,
            at_a=hinge + 0.5 * along,
            at_b=(0, 0, 0),
            stiffness=stiffness,
            damping=damping,
        )
    return scene


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_stiff_mechanism_is_as_exact_as_asked_for(coordinates):
    exact = dal.simulate(governor(), 0.2, coordinates="joint", method="dop853", rtol=1e-12, frame_rate=200)
    errors = []
    for rtol in (1e-5, 1e-8):
        run = dal.simulate(governor(), 0.2, coordinates=coordinates, rtol=rtol, frame_rate=200)
        errors.append(np.abs(run.trajectory.position.values - exact.trajectory.position.values).max())
        assert run.report.energy_residual_relative < 1e3 * rtol
    assert np.ptp(exact.trajectory.position.sel(body="collar", xyz="z").values) > 1e-3, "the collar hardly moves"
    assert errors[0] < 1e-4 and errors[1] < 1e-7
