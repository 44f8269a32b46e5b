"""A round arch of stones without mortar stands if it is thick enough, and falls if it is not.

Milankovitch (1907): the line of thrust of a half circle under its own weight fits into a ring of thickness t and mean radius
R for t/R ≥ 0.1075. A thinner arch opens in five hinges, for any friction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import ConvexHull, HalfSpace
from ._common import require, require_energy, require_solved

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 1.5, "dt": 1 / 240, "solver": "interior_point", "frame_rate": 30.0}
G = 9.81
LEAST = 0.1075  # t/R
DENSITY = 2400.0  # kg/m³
DEPTH = 0.5  # m


def stone(first: float, last: float, thickness: float) -> np.ndarray:
    """(8, 3) m: the corners of the stone between two angles (rad), for a mean radius of 1 m."""
    return np.array(
        [(r * np.cos(angle), y, r * np.sin(angle))
         for angle in (first, last) for r in (1.0 - 0.5 * thickness, 1.0 + 0.5 * thickness)
         for y in (-0.5 * DEPTH, 0.5 * DEPTH)]
    )  # fmt: skip


def build(thickness: float = 0.15, stones: int = 20, friction: float = 0.7) -> Scene:
    """A half circle of mean radius 1 m; thickness in m."""
    scene = Scene("arch", material=Material(friction))
    scene.description = "an arch of twenty stones without mortar"
    scene.add_obstacle("ground", HalfSpace())
    angles = np.linspace(0.0, np.pi, stones + 1)
    for i in range(stones):
        shape = ConvexHull(stone(angles[i], angles[i + 1], thickness))
        scene.add_body(f"stone {i + 1}", shape, density=DENSITY)
    return scene


def check(run: Simulation) -> None:
    """A thick arch stands still and its feet bear its weight; a thin one comes down."""
    scene = run.model.scene
    first = np.array([body.position for body in scene.bodies.values()])
    moved = np.abs(run.state.position - first).max()
    corners = scene.bodies["stone 1"].shape.points
    radii = np.hypot(corners[:, 0], corners[:, 2])
    if np.ptp(radii) < LEAST:
        assert moved > 0.05, f"the arch is thinner than {LEAST} and moved {moved:.2g} m only"
        require_energy(run, error=6e-3)
        return
    require("places", run.state.position, first, 1e-8)
    weight = G * run.model.tables["bodies"].mass.sum()
    held = sum(abs(contact.force[2]) for contact in run.contacts if "ground" in (contact.a, contact.b))
    require("weight on the ground", held / weight, 1.0, 1e-6)
    require_solved(run, penetration=1e-9)
