"""Ten boxes on top of one another: each interface carries the weight of the boxes above it, and nothing moves.

A face that rests on a face touches it in four points, so that the forces at the points are not determined; their sums are:
k m g under the k-th box from the top.
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


def build(boxes: int = 10, mass: float = 1.0, friction: float = 0.5) -> Scene:
    """So many unit boxes of some mass (kg)."""
    scene = Scene("stack", material=Material(friction))
    scene.description = "ten boxes at rest on top of one another"
    scene.add_obstacle("ground", HalfSpace())
    for i in range(boxes):
        scene.add_body(f"box {i + 1}", Box(1.0, 1.0, 1.0), mass=mass, position=(0.0, 0.0, 0.5 + i))
    return scene


def interface_forces(run: Simulation) -> np.ndarray:
    """(boxes,) N: what holds up each box from below, from the lowest up."""
    names = ["ground", *run.model.body_names]  # from the lowest up
    forces = np.zeros(len(names))
    for contact in run.contacts:
        upper = max(contact.a, contact.b, key=names.index)
        forces[names.index(upper)] += contact.force[2] if upper == contact.b else -contact.force[2]
    return forces[1:]


def check(run: Simulation) -> None:
    """The weights, rest, and no overlap."""
    boxes = len(run.model.body_names)
    weights = run.model.tables["bodies"].mass[0] * G * np.arange(boxes, 0, -1)
    require("interface forces", interface_forces(run) / weights, np.ones(boxes), 1e-6)
    require("heights", run.state.position[:, 2], 0.5 + np.arange(boxes), 1e-9)
    require("sideways", run.state.position[:, :2], 0.0, 1e-9)
    require("velocities", run.state.velocity, 0.0, 1e-9)
    require_solved(run, penetration=1e-9)
