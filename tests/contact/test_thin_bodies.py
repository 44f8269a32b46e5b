"""Thin plates that slide fast: friction and the floor are what theory says, whichever side is below."""

import numpy as np
import pytest

import dalembert as dal

FRICTION, SPEED, G, DURATION = 0.3, 3.0, 9.81, 0.4
FLOORS = {
    "half-space": (dal.HalfSpace(), 0.0), "box": (dal.Box(40, 40, 1), -0.5),
    "mesh": (dal.HeightField(np.zeros((21, 21)), 1.0), 0.0), "large facets": (dal.HeightField(np.zeros((41, 41)), 20.0), 0.0),
}  # fmt: skip
SIDES = {"up": (1, 0, 0, 0), "over": (0, 1, 0, 0), "turned": (0, 0.6, 0.8, 0)}


def prism(corners, thickness):
    return dal.ConvexHull([(x, y, z) for x, y in corners for z in (-thickness / 2, thickness / 2)])


def shape_of(kind, thickness):
    angles = np.arange(6) * np.pi / 3
    hexagon = 0.2 * np.column_stack([np.cos(angles), np.sin(angles)])
    return {
        "box": dal.Box(0.4, 0.3, thickness), "hull": prism([(i, j) for i in (-0.2, 0.2) for j in (-0.15, 0.15)], thickness),
        "hexagon": prism(hexagon, thickness), "coin": dal.Cylinder(0.2, thickness),
    }[kind]  # fmt: skip


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", ["box", "hull", "hexagon", "coin"])
@pytest.mark.sampled(4)
def test_a_plate_slides_as_friction_slows_it_down(kind, side, floor, coordinates):
    """It moves by many times its thickness in a step, so that both of its sides are within reach of the floor."""
    for thickness in (0.004, 0.001):
        scene = dal.Scene("plate", material=dal.Material(FRICTION))
        shape, z = FLOORS[floor]
        scene.add_obstacle("floor", shape, position=(0, 0, z))
        scene.add_body(
            "plate", shape_of(kind, thickness), mass=1.0, position=(0, 0, thickness / 2), orientation=SIDES[side],
            velocity=(SPEED, 0.1, 0),
        )  # fmt: skip
        run = dal.simulate(scene, DURATION, dt=1 / 60, coordinates=coordinates, frame_rate=60.0)
        height = run.trajectory.position.values[:, 0, 2] - thickness / 2
        assert np.abs(height).max() < 1e-6
        slowed = np.hypot(SPEED, 0.1) - FRICTION * G * DURATION
        assert np.linalg.norm(run.state.momentum[0, :2]) == pytest.approx(slowed, rel=1e-5)
        assert run.report.contact.unsolved == 0
