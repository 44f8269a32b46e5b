"""A flag on a pole in gusty wind, released from a straight horizontal position.

The wind pushes each triangle along its normal as ½ ρ |u_n| u_n, with u the wind relative to it. It adds energy where the flag
moves with it and takes energy where the flag moves against it. Gusts grow and fade, travel along and turn from side to side.
A breeze, `build(speed=1.5)`, cannot hold the flag up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..scene.mesh_file import triangle_grid
from ..scene.scene import Scene
from ._common import require

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 3.0, "method": "linear_implicit_euler", "dt": 1 / 120, "frame_rate": 60.0}
WIDE, HIGH, DENSITY, AIR = 0.9, 0.6, 0.15, 1.2  # m, m, kg/m², kg/m³


def gusty(speed: float) -> Callable[..., Any]:
    """A wind along x of some speed (m/s), with gusts of a third of it."""
    import numba

    gust = speed / 3.0

    @numba.njit
    def wind(t, x):  # type: ignore[no-untyped-def]
        phase = 5.0 * t - 4.0 * x[0]
        return speed + gust * np.sin(0.7 * phase), gust * (0.6 * np.sin(phase) + 0.3 * np.sin(2.3 * phase + x[2])), 0.0

    return wind


def build(speed: float = 9.0, points: int = 31) -> Scene:
    """A flag with so many points along it, in a wind of some speed (m/s)."""
    scene = Scene("flag")
    scene.description = "a flag in gusty wind"
    rows = 2 * points // 3
    vertices, faces = triangle_grid(WIDE, HIGH, points, rows)
    upright = np.stack([vertices[:, 0] + 0.5 * WIDE, np.zeros(len(vertices)), vertices[:, 1]], axis=1)
    scene.cloth(
        "flag", upright, faces, density=DENSITY, stretch=800.0, shear=300.0, bend=2e-5, damping=0.003,
        pinned=points * np.arange(rows), color="#c8553d",
    )  # fmt: skip
    scene.wind("wind", "flag", density=AIR, function=gusty(speed))
    return scene


def check(run: Simulation) -> None:
    """The flag flies in a wind whose pressure is well above its weight, fed by it, and sags in a breeze; it stays whole."""
    trajectory, group = run.trajectory, run.model.scene.particles["flag"]
    places, half = trajectory.particle_position.values, len(trajectory.times) // 2
    require("pole", places[:, group.pinned], group.position[group.pinned], 0.0)
    rows = places.reshape(len(places), int(group.pinned.sum()), -1, 3)
    edge = rows[half:, :, -1].mean(axis=1)
    wind = run.model.scene.forces["wind"].function
    assert wind is not None
    speed = wind(0.0, np.zeros(3))[0]
    weights = 0.5 * AIR * speed**2 / (9.81 * DENSITY)  # pressure of the wind, as so many times the weight of the flag
    if weights > 10.0:
        assert edge[:, 2].mean() > -0.2 * WIDE and edge[:, 0].mean() > 0.8 * WIDE, "the flag does not fly"
        assert edge[:, 1].min() < -0.05 * WIDE and edge[:, 1].max() > 0.05 * WIDE, "the flag does not flutter"
    elif weights < 1.0:
        assert edge[:, 2].mean() < -0.3 * WIDE, "the flag does not sag"
    work = trajectory.work.sel(force="wind").values
    power = (work[-1] - work[half]) / (trajectory.times[-1] - trajectory.times[half])
    assert 0.0 < power < 0.5 * AIR * WIDE * HIGH * speed**3, f"the wind gives {power:.3g} W"
    stretch = np.linalg.norm(np.diff(rows, axis=2), axis=3) * (rows.shape[2] - 1) / WIDE
    assert stretch.min() > 0.9 and stretch.max() < 1.1, (
        f"threads are stretched to {stretch.min():.3f}–{stretch.max():.3f}"
    )
    fastest = np.linalg.norm(trajectory.particle_momentum.values / group.mass[:, None], axis=2).max()
    assert fastest < 2.0 * speed + np.sqrt(2.0 * 9.81 * WIDE), f"a point of the flag reaches {fastest:.3g} m/s"
