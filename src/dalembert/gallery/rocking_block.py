"""A block rocks from one edge to the other (G. W. Housner, 1963).

It falls about an edge. When it stands upright the other edge hits the ground, and the block continues about that edge.
Angular momentum about the new edge is conserved, which leaves the fraction 1 − 3/2 sin² α of its angular velocity, where tan
α = half width / half height.
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

SETTINGS: RunSettings = {"duration": 1.5, "method": "dormand_prince", "rtol": 1e-11, "frame_rate": 60.0}


def build(half_width: float = 0.1, half_height: float = 0.5, tilt: float = 0.1, mass: float = 10.0) -> Scene:
    """A block (m, kg) at rest on one of its edges, leaning back by `tilt` (rad)."""
    scene = Scene("rocking block", material=Material(friction=1.0, restitution=0.0))
    scene.description = "a slender block that rocks on its edges, and loses speed each time it passes the upright"
    scene.add_obstacle("ground", HalfSpace())
    c, s = np.cos(tilt), np.sin(tilt)
    scene.add_body(
        "block", Box(2.0 * half_width, 0.3, 2.0 * half_height), mass=mass,
        position=(s * half_height - c * half_width, 0.0, c * half_height + s * half_width),
        orientation=(np.cos(0.5 * tilt), 0.0, np.sin(0.5 * tilt), 0.0), color="#b279a2",
    )  # fmt: skip
    return scene


def check(run: Simulation) -> None:
    """What each impact leaves of the energy, to 1e-6; the energy balance."""
    scene = run.model.scene
    block = scene.bodies["block"]
    half_width, half_height = 0.5 * block.shape.x, 0.5 * block.shape.z
    left = 1.0 - 1.5 * half_width**2 / (half_width**2 + half_height**2)
    gained = block.mass * float(np.linalg.norm(scene.gravity)) * (float(block.position[2]) - half_height)
    impacts = len({round(event.time, 9) for event in run.contact_events if event.kind == "impact"})
    require("impacts", impacts >= 2, True, 0)
    lost = -(run.report.work["contact: impacts"] + run.report.work["contact: friction"])
    require("part of the energy left", 1.0 - lost / gained, left ** (2 * impacts), 1e-6)
    require("energy balance", run.report.energy_residual_relative, 0.0, 1e-9)
