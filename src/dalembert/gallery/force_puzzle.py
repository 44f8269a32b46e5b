"""The same force at the centre of a bar and at the end of another: equal accelerations, more energy.

Both centres move by F t²/(2 m), because F = d P/d t for any point of action. The second bar turns as well,

    I θ̈ = F a cos θ,  ½ I θ̇² = F a sin θ,

and the force does that much more work, because its point moves that much farther. The bars lie along x and float freely; the
force points along y and acts a = l/2 from the centre.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.checks import rotation_matrix
from ..scene.scene import Scene
from ._common import integrate, require, require_ledger, thin_rod

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 3.0, "method": "dop853", "rtol": 1e-11, "frame_rate": 30.0}
BARS = ("pushed at its centre", "pushed at its end")


def build(force: float = 1.0, length: float = 1.0, mass: float = 1.0) -> Scene:
    """Two bars of some length (m) and mass (kg), each under a force (N)."""
    scene = Scene("force puzzle", gravity=(0.0, 0.0, 0.0))
    scene.description = "the same force at the centre and at the end"
    for name, x, arm, color in zip(BARS, (0.0, 1.5 * length), (0.0, 0.5 * length), ("#4c78a8", "#f58518"), strict=True):
        ends = (x - 0.5 * length, 0.0, 0.0), (x + 0.5 * length, 0.0, 0.0)
        bar = thin_rod(scene, name, *ends, mass, radius=0.04 * length, color=color)
        scene.external_force(f"force on the bar {name}", bar, force=(0.0, force, 0.0), at=(x + arm, 0.0, 0.0))
    return scene


def check(run: Simulation) -> None:
    """Both paths, both works and the turning of the second bar, in closed form or by its own equation."""
    scene, trajectory = run.model.scene, run.trajectory
    time = trajectory.times
    bars = [scene.bodies[name] for name in BARS]
    second = list(scene.forces.values())[1]
    force = float(second.vector[1])
    path = 0.5 * force / bars[0].mass * time**2
    for bar in bars:
        moved = trajectory.position.sel(body=bar.name).values - bar.position
        require(f"path of the bar {bar.name}", moved, np.outer(path, (0.0, 1.0, 0.0)), 1e-13)
    arm = float((second.at_a - bars[1].position)[0])
    moment = float(bars[1].inertia[0, 0])
    angle = integrate(lambda t, y: (y[1], force * arm / moment * np.cos(y[0])), (0.0, 0.0), time).y[0]
    along = np.array([rotation_matrix(q)[:, 2] for q in trajectory.orientation.sel(body=bars[1].name).values])
    require("direction of the second bar", along, np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1), 1e-10)
    work = np.stack([force * path, force * (path + arm * np.sin(angle))], axis=1)
    require("work of the forces", trajectory.work.values, work, 1e-10)
    require_ledger(run, energy=1e-13)
