"""A tonne on a gram: iterations from contact to contact fail at this mass ratio of a million.

The light box carries the weight of the heavy one and stays in place. The converging solver solves all contacts together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Box, HalfSpace
from ._common import require, require_solved
from .stack import interface_forces

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 1.0, "dt": 1 / 240, "solver": "interior_point", "frame_rate": 30.0}
G = 9.81


def build(heavy: float = 1000.0, light: float = 0.001) -> Scene:
    """A unit box of mass `heavy` on a flat one of mass `light` (kg)."""
    scene = Scene("heavy-on-light", material=Material(0.5))
    scene.description = "1000 kg on 1 g"
    scene.add_obstacle("ground", HalfSpace())
    scene.add_body("light", Box(0.8, 0.8, 0.2), mass=light, position=(0.0, 0.0, 0.1))
    scene.add_body("heavy", Box(1.0, 1.0, 1.0), mass=heavy, position=(0.0, 0.0, 0.7))
    return scene


def check(run: Simulation) -> None:
    """Weights on both faces, and rest."""
    light, heavy = run.model.tables["bodies"].mass
    weights = G * np.array([light + heavy, heavy])
    require("interface forces", interface_forces(run) / weights, np.ones(2), 1e-9)
    require("places", run.state.position, [(0.0, 0.0, 0.1), (0.0, 0.0, 0.7)], 1e-9)
    require_solved(run, penetration=1e-9)
