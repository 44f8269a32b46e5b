"""N four-bar linkages in a row, which pass through singular positions (IFToMM benchmark A02).

Uniform rods of 1 kg and 1 m: N + 1 uprights on the ground at x = 0 … N, N couplers between their tips B₀ … B_N, which
start at 1 m/s. Whenever all rods lie in one line the linkage could also fold another way, and the rank of the constraints
falls; besides, hinges in a plane are redundant. As long as it stays a parallelogram it moves as a pendulum,

    ((N + 1)/3 + N) θ̈ = ((N + 1)/2 + N) g sin θ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.body import WORLD, Body
from ..scene.scene import Scene
from ._common import integrate, require, require_ledger, thin_rod

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 10.0, "method": "rk4", "dt": 1e-3, "frame_rate": 20.0}
AT_10_S = {2: (0.3284581115408154, 0.944518538178601), 40: (0.1805122266867284, 0.9835727405823116)}  # B₀: x, z in m
ACROSS = (0.0, 1.0, 0.0)


def build(loops: int = 2) -> Scene:
    """A row of `loops` linkages, upright, with tips at 1 m/s along x."""
    scene = Scene(f"{loops} four-bars")
    scene.description = "a row of parallelogram linkages that pass through singular positions"
    feet = np.array([[float(i), 0.0, 0.0] for i in range(loops + 1)])
    tips = feet + [0.0, 0.0, 1.0]
    uprights: list[Body] = []
    for i in range(loops + 1):
        uprights.append(
            thin_rod(scene, f"upright {i}", feet[i], tips[i], 1.0, color="#4c78a8", velocity=(0.5, 0.0, 0.0),
                     angular_velocity=ACROSS)
        )  # fmt: skip
        scene.hinge(f"foot {i}", WORLD, uprights[i], at=feet[i], axis=ACROSS)
    for i in range(loops):
        coupler = thin_rod(scene, f"coupler {i}", tips[i], tips[i + 1], 1.0, color="#f58518", velocity=(1.0, 0.0, 0.0))
        scene.hinge(f"left {i}", uprights[i], coupler, at=tips[i], axis=ACROSS)
        scene.hinge(f"right {i}", coupler, uprights[i + 1], at=tips[i + 1], axis=ACROSS)
    return scene


def tip(run: Simulation) -> np.ndarray:
    """(frames, 2): x and z of B₀ (m); it is twice as far from its foot as the middle of the first upright."""
    return 2.0 * run.trajectory.position.sel(body="upright 0").values[:, [0, 2]]


def check(run: Simulation) -> None:
    """B₀ against the published place after 10 s and the pendulum at all frames; the loops closed; the energy."""
    loops = sum(name.startswith("coupler") for name in run.model.body_names)
    tolerance = 1e-8 if loops <= 4 else 1e-7  # near the singular positions a longer row is more sensitive
    moment, weight = (loops + 1) / 3.0 + loops, (loops + 1) / 2.0 + loops
    reference = integrate(
        lambda t, y: (y[1], weight / moment * 9.81 * np.sin(y[0])), (0.0, 1.0), run.trajectory.times
    ).y[0]
    require("tip", tip(run), np.stack([np.sin(reference), np.cos(reference)], axis=1), tolerance)
    if abs(run.time - 10.0) < 1e-9 and loops in AT_10_S:
        require("tip at 10 s", tip(run)[-1], AT_10_S[loops], tolerance)
    require_ledger(run, energy=0.1 * tolerance)
