"""Boxes, balls and stones tumble down a hillside: a height field, whose inner edges have no effect.

The hill falls to a hollow with a rim, where the bodies come to rest. The energy of the fall is found
again in the ledger of impacts and friction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Box, Capsule, ConvexHull, HeightField, Sphere
from ._common import require, require_energy

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 6.0, "dt": 1 / 240, "frame_rate": 30.0}
SPACING = 0.2
MU = 0.5


def ground(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The height (m) of a hollow in a hillside, with bumps."""
    bumps = 0.06 * np.sin(3.1 * x) * np.cos(2.7 * y) + 0.03 * np.sin(7.3 * x + 1.0) * np.sin(6.1 * y)
    return 0.22 * (x**2 + y**2) + bumps


def build(bodies: int = 12, seed: int = 4) -> Scene:
    """So many things of about 0.3 m, let go above the slope."""
    rng = np.random.default_rng(seed)
    grid = SPACING * (np.arange(33) - 16)
    scene = Scene("terrain", material=Material(MU))
    scene.description = "boxes, balls and stones tumble down a hillside"
    scene.add_obstacle("hill", HeightField(ground(*np.meshgrid(grid, grid, indexing="ij")), SPACING), color="#8d9b74")
    for i in range(bodies):
        stone = rng.normal(size=(10, 3))
        stone *= 0.18 / np.linalg.norm(stone, axis=1)[:, None]
        shape = (Box(0.3, 0.25, 0.2), Sphere(0.15), ConvexHull(stone), Capsule(0.1, 0.25))[i % 4]
        angle = 2.0 * np.pi * i / bodies
        x, y = 2.2 * np.cos(angle), 2.2 * np.sin(angle)
        scene.add_body(
            f"{type(shape).__name__.lower()} {i + 1}", shape, density=1000.0, orientation=rng.normal(size=4),
            position=(x, y, float(ground(np.array(x), np.array(y))) + 0.5),
        )  # fmt: skip
    return scene


def check(run: Simulation) -> None:
    """All are on the hill, none in it, and the energy balance closes."""
    p = run.trajectory.position.values
    assert np.abs(p[..., :2]).max() < SPACING * 16, "one of them left the hill"
    above = p[..., 2] - ground(p[..., 0], p[..., 1])
    assert above.min() > 0.05, f"one of them is in the ground, at {above.min():.3g} m"
    report = run.report
    require_energy(run, error=1e-3)
    assert report.contact is not None
    require("penetration", report.contact.penetration, 0.0, 0.03)
    total = (run.trajectory.kinetic + run.trajectory.potential).values
    assert np.diff(total).max() < 1e-3 * np.ptp(total), "energy was made"
    assert run.trajectory.potential.values[-1] < run.trajectory.potential.values[0]
