"""The trebuchet's stone hits a wall.

The machine, the flight and the wall are one run by time steps: joints, gears and contacts in one solve. The sling releases
the stone at the end of the step in which its velocity reaches the release angle. The wall stands where the stone comes down,
168 m away, and does not move before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Box, HalfSpace
from . import trebuchet
from ._common import require, require_energy

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 8.5, "dt": 1 / 1000, "frame_rate": 30.0}
BRICK = (1.0, 1.5, 0.75)  # m
STONES = ("#d3bf9f", "#b59d7c")
G = 9.81


def build(distance: float = 168.0, rows: int = 8, columns: int = 5) -> Scene:
    """A wall of so many courses of bricks of 60 kg, at some distance (m)."""
    stony = Material(0.6, 0.1)
    scene = trebuchet.build(material=stony)
    scene.name, scene.description = "siege", "a trebuchet throws a stone at a wall"
    del scene.events["landing"]
    scene.add_obstacle("field", HalfSpace(), material=stony)
    for row in range(rows):
        for column in range(columns):
            y = (column - 0.5 * (columns - 1) + 0.15 * (-1) ** row) * BRICK[1]
            scene.add_body(
                f"brick {row + 1} {column + 1}", Box(*BRICK), mass=60.0, material=stony, color=STONES[(row + column) % 2],
                position=(distance, y, (row + 0.5) * BRICK[2]),
            )  # fmt: skip
    return scene


def check(run: Simulation) -> None:
    """The wall stands until the stone comes on its parabola; then bricks move, the stone stays; the energy balance closes."""
    trajectory, report, model = run.trajectory, run.report, run.model
    bricks = [name for name in model.body_names if name.startswith("brick")]
    start = np.array([model.scene.bodies[name].position for name in bricks])
    face = start[0, 0] - 0.5 * BRICK[0] - trebuchet.STONE
    release = run.event_times["release"][0]
    stone, times = trajectory.position.sel(body="stone").values, trajectory.times
    assert stone[:, 0].max() > face - 1.0, "the stone does not reach the wall"
    first, last = np.searchsorted(times, release + 0.01), np.argmax(stone[:, 0] > face - 1.0) - 1
    t = (times - times[first])[first : last + 1]
    speed = (stone[last] - stone[first]) / t[-1] + np.array([0.0, 0.0, 0.5 * G * t[-1]])
    parabola = stone[first] + speed * t[:, None] - 0.5 * G * t[:, None] ** 2 * np.array([0.0, 0.0, 1.0])
    require("flight of the stone", stone[first : last + 1], parabola, 1e-6)
    moved = np.linalg.norm(trajectory.position.sel(body=bricks).values - start, axis=2).max(axis=1)
    require("bricks before the stone comes", moved[: last + 1], 0.0, 1e-4)
    assert moved[-1] > 0.1, f"no brick has moved by more than {moved[-1]:.3g} m"
    assert stone[:, 2].min() > 0.9 * trebuchet.STONE, "the stone is in the ground"
    assert stone[-1, 0] < face + 3.0 * BRICK[0], "the stone went through the wall as if there were none"
    require("joint error", report.joint_error, 0.0, 1e-9)
    require_energy(run, error=1e-4)
