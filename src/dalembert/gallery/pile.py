"""Random convex hulls, poured into a bin, come to rest.

No two are alike; faces, edges and corners meet in every way. The energy of the fall is found again in the
ledger of impacts and friction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Box, ConvexHull, HalfSpace
from ._common import require, require_energy

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 3.0, "dt": 1 / 240, "frame_rate": 30.0}


def build(hulls: int = 40, corners: int = 12, side: float = 1.2, seed: int = 1) -> Scene:
    """So many hulls of about 0.3 m, dropped in layers into a bin with walls of some inner side (m)."""
    rng = np.random.default_rng(seed)
    scene = Scene("pile", material=Material(0.5))
    scene.description = "random convex hulls poured into a bin"
    scene.add_obstacle("ground", HalfSpace())
    for i, (x, y) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
        length = side + 0.2
        size = (0.1, length, 1.2) if x else (length, 0.1, 1.2)
        scene.add_obstacle(f"wall {i + 1}", Box(*size), position=(0.5 * (side + 0.1) * x, 0.5 * (side + 0.1) * y, 0.6))
    across = 3
    for i in range(hulls):
        points = rng.normal(size=(corners, 3))
        points *= rng.uniform(0.1, 0.18) / np.linalg.norm(points, axis=1)[:, None]
        layer, place = divmod(i, across * across)
        column, row = divmod(place, across)
        spread = 0.38
        scene.add_body(
            f"hull {i + 1}", ConvexHull(points), density=1000.0, orientation=rng.normal(size=4),
            position=(spread * (column - 1), spread * (row - 1), 0.3 + 0.42 * layer),
        )  # fmt: skip
    return scene


def check(run: Simulation) -> None:
    """All of them lie in the bin at rest, and the energy balance closes."""
    p = run.state.position
    assert np.abs(p[:, :2]).max() < 0.6 and p[:, 2].min() > 0.0, "one of them left the bin"
    require("speed", np.linalg.norm(run.state.velocity, axis=1).max(), 0.0, 0.05)
    report = run.report
    require_energy(run, error=6e-4)
    assert report.contact is not None
    require("penetration", report.contact.penetration, 0.0, 0.03)
    lost = -sum(report.work[part] for part in ("contact: impacts", "contact: friction"))
    fallen = run.trajectory.potential.values[0] - run.trajectory.potential.values[-1]
    require("energy lost over the fall", lost / fallen, 1.0, 0.05)
