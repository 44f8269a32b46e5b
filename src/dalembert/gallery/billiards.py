"""The break: a ball hits fifteen others, which touch each other, and the impact passes through all of them at once.

Without friction nothing slows the balls down between impacts: momentum is constant, and energy is lost only in
impacts. The rack is symmetric about the line of the impact, and so are the speeds after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Sphere
from ._common import require

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 0.6, "dt": 1 / 2000, "solver": "interior_point", "frame_rate": 120.0}
RADIUS, MASS = 0.0286, 0.17  # m, kg


def build(speed: float = 5.0, restitution: float = 0.95) -> Scene:
    """A rack of fifteen, seen from above, and the cue ball that comes at some speed (m/s)."""
    scene = Scene("billiards", gravity=(0.0, 0.0, 0.0), material=Material(0.0, restitution))
    scene.description = "the break of a rack of fifteen balls"
    scene.add_body("cue ball", Sphere(RADIUS), mass=MASS, position=(-0.3, 0.0, RADIUS), velocity=(speed, 0.0, 0.0))
    for row in range(5):
        for k in range(row + 1):
            place = (np.sqrt(3.0) * RADIUS * row, 2.0 * RADIUS * (k - 0.5 * row), RADIUS)
            scene.add_body(f"ball {row} {k}", Sphere(RADIUS), mass=MASS, position=place)
    return scene


def check(run: Simulation) -> None:
    """Momentum, energy, and symmetry about the line of the blow."""
    bodies = list(run.model.scene.bodies.values())
    before = np.sum([MASS * body.velocity for body in bodies], axis=0)
    require("momentum", run.state.momentum.sum(axis=0) / np.linalg.norm(before), before / np.linalg.norm(before), 1e-12)
    energy = run.trajectory.kinetic.values
    assert np.diff(energy).max() <= 1e-12 * energy[0], "an impact brought energy"
    assert energy[-1] < energy[0], "nothing was struck"
    require("energy balance", run.report.energy_residual_relative, 0.0, 1e-12)
    frame = int(np.searchsorted(run.trajectory.times, 0.08))
    velocity = dict(zip(run.model.body_names, run.trajectory.momentum.values[frame] / MASS, strict=True))
    for row in range(5):
        for k in range(row + 1):
            mirrored = velocity[f"ball {row} {row - k}"] * (1.0, -1.0, 1.0)
            # To a small part of a speed: overlap, up to half a step deep at a blow, is put apart one contact after the other.
            require("symmetry", velocity[f"ball {row} {k}"], mirrored, 0.01)
