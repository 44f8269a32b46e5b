"""Two forces at the ends of a bar: equal ones move it without turning it, opposite ones turn it without moving it.

Equal: x = 2 F t²/(2 m), no torque about the centre. Opposite (a couple, which here turns with the bar): no total force,
θ = ½ (F l/I) t². In both cases the work of each force is F times the displacement of its point: F x, and F (l/2) θ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.checks import rotation_matrix
from ..scene.scene import Scene
from ._common import require, require_ledger, thin_rod

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 2.0, "method": "dop853", "dt": 0.01, "frame_rate": 30.0}


def build(force: float = 1.0, length: float = 1.0, mass: float = 1.0) -> Scene:
    """Two bars of some length (m) and mass (kg) along x, with forces (N) at their ends across them."""
    scene = Scene("force pair", gravity=(0.0, 0.0, 0.0))
    scene.description = "equal forces at both ends of a bar, and opposite ones"
    for name, y, other, color in (("pair", 0.0, 1.0, "#54a24b"), ("couple", -1.5 * length, -1.0, "#e45756")):
        left, right = (-0.5 * length, y, 0.0), (0.5 * length, y, 0.0)
        bar = thin_rod(scene, name, left, right, mass, radius=0.04 * length, color=color)
        scene.external_force(f"{name}, right", bar, force=(0.0, force, 0.0), at=right, frame="body")
        scene.external_force(f"{name}, left", bar, force=(0.0, other * force, 0.0), at=left, frame="body")
    return scene


def check(run: Simulation) -> None:
    """Paths, directions and works in closed form."""
    scene, trajectory = run.model.scene, run.trajectory
    time = trajectory.times
    pair, couple = scene.bodies["pair"], scene.bodies["couple"]
    load = scene.forces["couple, right"]
    force, arm = float(load.vector[1]), float((load.at_a - couple.position)[0])
    path = force / pair.mass * time**2
    angle = force * arm / float(couple.inertia[0, 0]) * time**2
    still = 0.0 * time
    moved = trajectory.position.values - [pair.position, couple.position]
    require("path of the pair", moved[:, 0], np.stack([still, path, still], axis=1), 1e-12)
    require("path of the couple", moved[:, 1], 0.0, 1e-12)
    along = np.array([[rotation_matrix(q)[:, 2] for q in frame] for frame in trajectory.orientation.values])
    require("direction of the pair", along[:, 0], (1.0, 0.0, 0.0), 1e-12)
    require("direction of the couple", along[:, 1], np.stack([np.cos(angle), np.sin(angle), still], axis=1), 1e-11)
    work = np.stack([force * path, force * path, force * arm * angle, force * arm * angle], axis=1)
    require("work of the forces", trajectory.work.values, work, 1e-12)
    require_ledger(run, energy=1e-13)
