"""Hair on a ball, standing on end, falls and is blown to one side.

Each hair is a thread of particles that resists stretching and bending; its first two points are pinned, so that it grows out
of the ball upright. Air drag is proportional to the relative speed. The hair lies on the ball with friction; hairs pass
through each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.particles import ParticleForce
from ..scene.scene import Scene
from ..scene.shapes import Sphere
from ._common import require

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 1.5, "method": "linear_implicit_euler", "dt": 1 / 240, "frame_rate": 60.0}
BALL, THICK, LENGTH = 0.1, 0.002, 0.22  # radii and length, m
DENSITY, STRETCH, DRAG = 2e-3, 20.0, 4.0  # kg/m, N, 1/s


def build(hairs: int = 150, points: int = 16, wind: float = 1.5) -> Scene:
    """So many hairs of so many points, on the upper part of a ball, in a wind along x (m/s)."""
    scene = Scene("hair")
    scene.description = "hair on a ball, in wind"
    material = Material(0.3)
    scene.add_obstacle("ball", Sphere(BALL), material=material, color="#e8c4a0")
    share = (np.arange(hairs) + 0.5) / hairs
    height, angle = 1.0 - 0.8 * share, np.arange(hairs) * np.pi * (3.0 - np.sqrt(5.0))
    across = np.sqrt(1.0 - height**2)
    out = np.stack([across * np.cos(angle), across * np.sin(angle), height], axis=1)
    along = BALL + THICK + np.linspace(0.0, LENGTH, points)
    scene.thread(
        "hair", out[:, None, :] * along[None, :, None], density=DENSITY, stretch=STRETCH, bend=1e-6, damping=0.005,
        pinned=(np.arange(hairs)[:, None] * points + [0, 1]).ravel(), material=material, radius=THICK, color="#54433a",
    )  # fmt: skip
    scene.medium("air", "hair", linear=DRAG * DENSITY * LENGTH / (points - 1), velocity=(wind, 0.0, 0.0))
    return scene


def check(run: Simulation) -> None:
    """Roots stay, nothing is in the ball, no energy comes out of nothing; hair hardly stretches, and hangs downwind."""
    trajectory, group = run.trajectory, run.model.scene.particles["hair"]
    places = trajectory.particle_position.values
    require("roots", places[:, group.pinned], group.position[group.pinned], 0.0)
    inside = BALL + THICK - np.linalg.norm(places[:, ~group.pinned], axis=2).min()
    require("depth in the ball", max(inside, 0.0), 0.0, 1e-9)
    earned = np.diff(trajectory.balance.values) / trajectory.kinetic.values.max()
    require("energy out of nothing, of the largest kinetic energy", np.maximum(earned, 0.0), 0.0, 1e-9)
    hairs = int(group.pinned.sum()) // 2
    links = np.diff(places.reshape(len(places), hairs, -1, 3), axis=2)
    longer = np.linalg.norm(links, axis=3) * links.shape[2] / LENGTH - 1.0
    assert longer.max() < 0.01, f"hair is stretched by {longer.max():.3g}"
    air = run.model.scene.forces["air"]
    assert isinstance(air, ParticleForce)
    wind = float(air.values["velocity"][0])
    field = np.array([DRAG * wind, 0.0, -9.81])  # what pulls at a hair at rest, m/s²
    most = DENSITY * LENGTH * np.linalg.norm(field) / STRETCH
    assert longer[-1].max() < most, (
        f"hair at rest is stretched by {longer[-1].max():.3g}; its weight and drag make {most:.3g}"
    )
    # Below the fifth link from the end there are five points, the last of half a mass, and none of them on the ball.
    free = np.linalg.norm(places[-1].reshape(hairs, -1, 3)[:, -5:], axis=2).min(axis=1) > BALL + 5.0 * THICK
    ends = links[-1, free, -5] / np.linalg.norm(links[-1, free, -5], axis=1)[:, None]
    expected = field * [5.0 / 4.5, 1.0, 1.0]
    require("hairs along weight and drag", np.median(ends, axis=0), expected / np.linalg.norm(expected), 0.02)
