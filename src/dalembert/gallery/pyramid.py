"""A pyramid of boxes at rest: nothing creeps, and the ground carries all of the weight.

Every box stands on two others. The share of the weight at each contact is not determined, but the law holds at all contacts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Box, HalfSpace
from ._common import require, require_solved

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 2.0, "dt": 1 / 240, "solver": "interior_point", "frame_rate": 30.0}
G = 9.81


def places(rows: int) -> np.ndarray:
    """(n, 3) m: the boxes of each row stand over the gaps of the row below, 0.1 m apart."""
    return np.array([(1.1 * (k + 0.5 * row), 0.0, row + 0.5) for row in range(rows) for k in range(rows - row)])


def build(rows: int = 8, friction: float = 0.5) -> Scene:
    """Unit boxes of 1 kg."""
    scene = Scene("pyramid", material=Material(friction))
    scene.description = "a pyramid of boxes at rest"
    scene.add_obstacle("ground", HalfSpace())
    for i, place in enumerate(places(rows)):
        scene.add_body(f"box {i + 1}", Box(1.0, 1.0, 1.0), mass=1.0, position=place)
    return scene


def check(run: Simulation) -> None:
    """Rest, and the weight on the ground."""
    boxes = len(run.model.body_names)
    rows = int(round((2.0 * boxes) ** 0.5 - 0.5))
    require("places", run.state.position, places(rows), 1e-9)
    held = sum(abs(contact.force[2]) for contact in run.contacts if "ground" in (contact.a, contact.b))
    require("weight on the ground", held / (G * boxes), 1.0, 1e-9)
    require_solved(run, penetration=1e-9)
