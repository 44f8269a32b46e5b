"""The trebuchet's stone hits a wall.

The machine, its release and the wall are one run by time steps: joints, gears and contacts in one solve. The release is at
the end of the step in which the stone turns to fly at the angle.
"""

from __future__ import annotations

import numpy as np

from ..scene.contact import HalfSpace, Material
from ..scene.scene import Scene
from ..scene.shapes import Box
from ..simulate import Simulation
from . import trebuchet
from ._common import require

SETTINGS = {"duration": 7.0, "dt": 1 / 1000, "frames": 30.0, "iterations": 30}
BRICK = (1.0, 1.5, 0.75)  # m


def build(distance: float = 60.0, rows: int = 8, columns: int = 5) -> Scene:
    """A wall of so many courses of bricks of 400 kg, at some distance (m)."""
    stony = Material(0.6, 0.1)
    scene = trebuchet.build(material=stony)
    scene.name, scene.description = "siege", "a trebuchet throws a stone at a wall"
    del scene.events["landing"]
    scene.add_obstacle("field", HalfSpace(), material=stony)
    for row in range(rows):
        for column in range(columns):
            y = (column - 0.5 * (columns - 1) + 0.25 * (-1) ** row) * BRICK[1]
            scene.add_body(
                f"brick {row + 1} {column + 1}", Box(*BRICK), mass=400.0, material=stony, color="#c9b79c",
                position=(distance, y, (row + 0.5) * BRICK[2]),
            )  # fmt: skip
    return scene


def check(run: Simulation) -> None:
    """The stone was released, met the wall and stayed before it or went through; bricks moved; the books close."""
    trajectory, report = run.trajectory, run.report
    start = np.array([body.position for body in run.model.scene.bodies.values()])
    bricks = [i for i, name in enumerate(run.model.body_names) if name.startswith("brick")]
    moved = np.linalg.norm(run.state.position[bricks] - start[bricks], axis=1)
    assert len(run.event_times["release"]) == 1, "the sling did not let go"
    assert moved.max() > 0.05, f"no brick has moved by more than {moved.max():.3g} m"
    stone = trajectory.position.sel(body="stone").values
    assert stone[:, 2].min() > 0.0, "the stone is in the ground"
    require("joint error", report.joint_error, 0.0, 1e-9)
    require("energy balance", report.energy_residual_relative, 0.0, 1e-6)
