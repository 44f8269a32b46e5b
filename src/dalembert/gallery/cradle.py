"""Newton's cradle: equal balls side by side on threads, the first one lifted.

Newton's laws alone do not determine the motion after the impact: the law for several impacts at one instant decides. With one
impact at a time ("sequential"), the last ball takes the velocity of the first, as on a desk. With all at once
("simultaneous", "poisson"), the first recoils and all others move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.body import WORLD
from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Sphere
from ._common import require

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {
    "duration": 2.0,
    "method": "dop853",
    "rtol": 1e-11,
    "atol": 1e-12,
    "frame_rate": 60.0,
    "impacts": "sequential",
}
COLORS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#b279a2")


def build(balls: int = 5, length: float = 1.0, angle: float = 0.5, radius: float = 0.1) -> Scene:
    """Balls on threads of some length (m), the first one lifted by an angle (rad)."""
    scene = Scene("Newton's cradle", material=Material(friction=0.0, restitution=1.0))
    scene.description = "five balls on threads: the first falls, the last rises"
    for i in range(balls):
        top = np.array([2.0 * radius * i, 0.0, 0.0])
        swing = angle if i == 0 else 0.0
        place = top + length * np.array([-np.sin(swing), 0.0, -np.cos(swing)])
        ball = scene.add_body(f"ball {i + 1}", Sphere(radius), mass=1.0, position=place, color=COLORS[i % len(COLORS)])
        scene.rod(f"thread {i + 1}", WORLD, ball, at_a=top, at_b=place)
    return scene


def check(run: Simulation) -> None:
    """The height of the first ball passes to the last and back, and the others stay; energy; threads."""
    trajectory = run.trajectory
    height = trajectory.position.values[:, :, 2]
    lowest = float(height.min())
    energy = (trajectory.kinetic + trajectory.potential).values
    require("energy", energy, energy[0], 1e-9)
    require("energy lost in impacts", run.report.work["contact: impacts"], 0.0, 1e-11)
    require("height of the balls between", height[:, 1:-1], lowest, 1e-9)
    gravity = float(np.linalg.norm(run.model.scene.gravity))
    own = trajectory.kinetic.values + gravity * (height[:, 0] + height[:, -1] - 2.0 * lowest)
    require("energy of the first and the last", own, own[0], 1e-8)
    hits = sorted({event.time for event in run.contact_events if event.kind == "impact"})
    require("impacts", len(hits) >= 2, True, 0)
    require("rise of the last", height[:, -1].max() - lowest, height[0, 0] - lowest, 2e-3)
    require("joint error", run.report.joint_error, 0.0, 1e-12)
