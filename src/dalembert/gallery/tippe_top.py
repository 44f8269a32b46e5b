"""A tippe top: spun on its round bottom it turns over and stands on its stem; friction lifts its weight.

For any friction, the force of the ground acts at the point of contact, and the vector a from the centre of mass to it
is −R z + e n with n the axis. So L·a is constant (J. H. Jellett, "A treatise on the theory of friction", 1872), although
energy is lost and the spin about the axis of the top changes its sign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.checks import rotation_matrix
from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Compound, Cylinder, HalfSpace, Sphere
from ._common import require, require_energy

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 2.0, "dt": 1 / 4000, "frame_rate": 60.0}
RADIUS, LOW = 0.02, 0.004  # of the ball; of the centre of mass below the ball's, m
MASS = 0.015
UPRIGHT = (1.0, 0.0, 0.0, 0.0)


def build(spin: float = 160.0, tilt: float = 0.1, friction: float = 0.3) -> Scene:
    """A top of 15 g spun about the vertical at some rate (rad/s), its axis at some angle to it (rad)."""
    scene = Scene("tippe-top", material=Material(friction))
    scene.description = "a tippe top turns over"
    scene.add_obstacle("ground", HalfSpace())
    ball = 0.4 * MASS * RADIUS**2
    stem = (Cylinder(0.15 * RADIUS, 0.5 * RADIUS), (0.0, 0.0, LOW + 1.1 * RADIUS), UPRIGHT)
    scene.add_body(
        "top", Compound([(Sphere(RADIUS), (0.0, 0.0, LOW), UPRIGHT), stem]), mass=MASS,
        inertia=(ball, ball, 0.97 * ball), position=(0.0, 0.0, RADIUS - LOW * np.cos(tilt)),
        orientation=(np.cos(0.5 * tilt), np.sin(0.5 * tilt), 0.0, 0.0), angular_velocity=(0.0, 0.0, spin),
    )  # fmt: skip
    return scene


def axes(run: Simulation) -> np.ndarray:
    """(frames, 3) the axis of the top, world."""
    return np.array([rotation_matrix(q)[:, 2] for q in run.trajectory.orientation[:, 0].values])


def check(run: Simulation) -> None:
    """It has turned over, its weight has risen, and L·a is what it was."""
    n = axes(run)
    ball = run.trajectory.position[:, 0].values + LOW * n
    rests = np.flatnonzero(n[:, 2] < -0.5)  # the stem is near the ground
    assert rests.size, f"the top has not turned over: its axis came to {n[:, 2].min():.3g} of the vertical"
    rolling = slice(0, int(rests[0]))
    arm = -RADIUS * np.array([0.0, 0.0, 1.0]) + LOW * n
    jellett = -np.einsum("ij,ij->i", run.trajectory.angular_momentum[:, 0].values, arm)[rolling]
    require("L·a over what it was", jellett / jellett[0], 1.0, 1e-3)
    require("height of the ball", ball[rolling, 2], RADIUS, 1e-5)
    require_energy(run, error=3e-3)
