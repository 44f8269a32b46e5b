"""A row of dominoes: the first is pushed, each strikes the next, and the wave approaches a steady speed.

In steady state every domino repeats the motion of the one before it, a fixed time later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Box, HalfSpace
from ._common import require, require_energy

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 2.5, "dt": 1 / 960, "frame_rate": 120.0}
THICKNESS, WIDTH, HEIGHT = 0.01, 0.03, 0.05  # m
SPACING = 0.025  # m, from one to the next


def build(dominoes: int = 24, push: float = 0.3, friction: float = 0.3) -> Scene:
    """So many dominoes of 10 g; the first is given a speed (m/s) at its top."""
    scene = Scene("dominoes", material=Material(friction))
    scene.description = "a row of dominoes falls"
    scene.add_obstacle("ground", HalfSpace())
    for i in range(dominoes):
        rate = push / HEIGHT if i == 0 else 0.0
        scene.add_body(
            f"domino {i + 1}", Box(THICKNESS, WIDTH, HEIGHT), mass=0.01, position=(SPACING * i, 0.0, 0.5 * HEIGHT),
            velocity=(0.5 * HEIGHT * rate, 0.0, 0.0), angular_velocity=(0.0, rate, 0.0),
        )  # fmt: skip
    return scene


def falls(run: Simulation) -> np.ndarray:
    """(dominoes,) s: when each is tilted by 30°, between frames by interpolation (NaN: never)."""
    q, times = run.trajectory.orientation.values, run.trajectory.times
    above = 1.0 - 2.0 * (q[:, :, 1] ** 2 + q[:, :, 2] ** 2) - np.cos(np.radians(30.0))
    found = np.full(above.shape[1], np.nan)
    for i in np.flatnonzero((above < 0.0).any(axis=0)):
        k = (above[:, i] < 0.0).argmax()
        found[i] = np.interp(0.0, above[[k, k - 1], i], times[[k, k - 1]])
    return found


def check(run: Simulation) -> None:
    """All fall, one after the other, at last at a steady pace; friction and impacts dissipate; the energy balance closes."""
    times = falls(run)
    assert np.isfinite(times).all(), f"dominoes that still stand: {np.flatnonzero(np.isnan(times)) + 1}"
    pace = np.diff(times)
    assert (pace > 0.0).all(), "they fall out of order"
    middle = pace[len(pace) // 3 : -3]
    require("steady pace", middle / middle.mean(), 1.0, 0.25)
    require_energy(run, error=1.5e-3, integration=1e-9)
    for part in ("contact: impacts", "contact: friction"):
        assert run.report.work[part] < 0.0, f"{part} brought energy"
