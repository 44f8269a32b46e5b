"""A block on an incline of 30°: with friction 0.3 it slides with a = g (sin 30° − 0.3 cos 30°), with 0.7 it sticks.

Gravity is tilted instead of the ground. A sticking block must not creep, in any length of time.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Box, HalfSpace
from ._common import require

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 2.0, "dt": 1 / 240, "solver": "interior_point", "frame_rate": 30.0}
G = 9.81


def build(friction: float = 0.3, slope: float = 30.0) -> Scene:
    """A block of 1 × 0.6 × 0.4 m on a plane of some slope (degrees); x points downhill, z out of the plane."""
    angle = math.radians(slope)
    scene = Scene("incline", gravity=(G * math.sin(angle), 0.0, -G * math.cos(angle)), material=Material(friction))
    scene.description = "a block on an incline, sliding or sticking"
    scene.add_obstacle("plane", HalfSpace())
    scene.add_body("block", Box(1.0, 0.6, 0.4), mass=2.0, position=(0.0, 0.0, 0.2))
    return scene


def acceleration(friction: float, slope: float = 30.0) -> float:
    """Downhill, m/s²: that of Coulomb's law, for a block that starts from rest."""
    angle = math.radians(slope)
    return max(0.0, G * (math.sin(angle) - friction * math.cos(angle)))


def check(run: Simulation) -> None:
    """Place and speed against the law; the block stays flat on the plane."""
    friction = run.model.scene.bodies["block"].material.friction
    a = acceleration(friction)
    t = run.time
    require("place", run.state.position[0], (0.5 * a * t * t, 0.0, 0.2), 1e-9)
    require("velocity", run.state.velocity[0], (a * t, 0.0, 0.0), 1e-9)
    require("orientation", np.abs(run.state.orientation[0]), (1.0, 0.0, 0.0, 0.0), 1e-9)
    if a > 0.0:
        normal = -2.0 * run.model.scene.gravity[2]
        lost = -float(run.trajectory.work.sel(force="contact: friction")[-1])
        require("heat of friction", lost, friction * normal * 0.5 * a * t * t, 1e-7)
    require("energy balance", run.report.energy_residual_relative, 0.0, 1e-10)
