"""A wall of boxes in time steps of the real-time solver: it stands as if it were one block.

Columns of boxes stand side by side without a gap, so that every box touches four others. Passes of Gauss–Seidel alone let
such a wall sway and creep; shock propagation (`contact/shock_propagation.py`) carries the loads down the columns in one
pass, and the wall stays in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Box, HalfSpace
from ._common import require

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 5.0, "dt": 1 / 240, "frame_rate": 30.0}
G = 9.81


def build(rows: int = 10, columns: int = 10, friction: float = 0.5) -> Scene:
    """Unit boxes of 1 kg."""
    scene = Scene("wall", material=Material(friction))
    scene.description = "a wall of boxes at rest, by the real-time solver"
    scene.add_obstacle("ground", HalfSpace())
    for row in range(rows):
        for column in range(columns):
            scene.add_body(f"box {row + 1} {column + 1}", Box(1, 1, 1), mass=1.0, position=(column, 0.0, row + 0.5))
    return scene


def check(run: Simulation) -> None:
    """Nothing creeps, nothing overlaps, and the ground bears all of the weight."""
    bodies = run.model.scene.bodies
    start = np.array([body.position for body in bodies.values()])
    require("places", run.trajectory.position.values, start[None], 2e-5)
    held = sum(abs(contact.force[2]) for contact in run.contacts if "ground" in (contact.a, contact.b))
    require("weight on the ground", held / (G * len(bodies)), 1.0, 1e-3)
    assert run.report.contact is not None
    require("penetration", run.report.contact.penetration, 0.0, 1e-5)
    require("energy balance", run.report.energy_residual_relative, 0.0, 1e-9)
