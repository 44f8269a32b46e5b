"""Masses on springs hang in a row and are released unstretched: every normal mode at once, each against its own formula.

n masses m with springs k below a fixed point have the modes sin((2 j − 1) π i/(2 n + 1)), i = 1 … n, of the frequencies ω_j =
2 √(k/m) sin((2 j − 1) π/(2 (2 n + 1))). Gravity excites all of them: each oscillates as cos ω_j t about its sag. For a mode
implicit Euler gives q⁺ = q + h q̇⁺, q̇⁺ = (q̇ − h ω² q)/(1 + h² ω²), for any h ω. So a chain as stiff as steel,
`build(stiffness=1e8, mass=1e-3)`, takes steps of 1/60 s (`STIFF`); explicit methods need a few millionths of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.particles import ParticleForce
from ..scene.scene import Scene
from ._common import require, require_ledger

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 4.0, "method": "dop853", "rtol": 1e-12, "atol": 1e-12, "frame_rate": 60.0}
STIFF: RunSettings = {
    "duration": 4.0,
    "method": "implicit_euler",
    "dt": 1 / 60,
    "frame_rate": 60.0,
}  # for the stiff chain


def build(masses: int = 12, stiffness: float = 60.0, mass: float = 0.05, spacing: float = 0.2) -> Scene:
    """So many masses (kg) on springs (N/m) of the length `spacing` (m), below a pinned one."""
    scene = Scene("spring chain")
    scene.description = "a row of masses on springs, released unstretched"
    heights = -spacing * np.arange(masses + 1.0)
    places = np.stack([np.zeros_like(heights), np.zeros_like(heights), heights], axis=1)
    scene.add_particles("chain", places, mass=mass, pinned=[0], radius=0.12 * spacing, color="#e45756")
    pairs = np.stack([np.arange(masses), np.arange(1, masses + 1)], axis=1)
    scene.springs("springs", "chain", pairs, stiffness=stiffness)
    return scene


def modes(masses: int, stiffness: float, mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies (n,) rad/s, and modes (n, n), one a column, of length 1."""
    odd = 2.0 * np.arange(1, masses + 1) - 1.0
    angle = odd * np.pi / (2.0 * masses + 1.0)
    shapes = np.sin(np.outer(np.arange(1, masses + 1), angle))
    return 2.0 * np.sqrt(stiffness / mass) * np.sin(0.5 * angle), shapes / np.linalg.norm(shapes, axis=0)


def amplitudes(run: Simulation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sags of the modes (n,), m; amplitudes about them in the run, and as they have to be, both (frames, n)."""
    scene = run.model.scene
    group = scene.particles["chain"]
    springs = scene.forces["springs"]
    assert isinstance(springs, ParticleForce)
    mass, stiffness = float(group.mass[0]), float(springs.values["stiffness"][0])
    frequencies, shapes = modes(len(group) - 1, stiffness, mass)
    sag = shapes.T @ np.full(len(group) - 1, scene.gravity[2]) / frequencies**2
    moved = run.trajectory.particle_position.values[:, 1:, 2] - group.position[1:, 2]
    times = run.trajectory.times
    expected = -sag * np.cos(np.outer(times, frequencies))
    if run.method == "implicit_euler":
        dt = float(run.settings["dt"] or 0.0)
        expected = implicit_euler(-sag, frequencies, dt, round(times[-1] / dt))
    return sag, moved @ shapes - sag, expected


def implicit_euler(start: np.ndarray, frequencies: np.ndarray, dt: float, steps: int) -> np.ndarray:
    """(steps + 1, n): what implicit Euler makes of oscillators that start at rest, after each step."""
    places, rate = [start], np.zeros_like(start)
    for _ in range(steps):
        rate = (rate - dt * frequencies**2 * places[-1]) / (1.0 + (dt * frequencies) ** 2)
        places.append(places[-1] + dt * rate)
    return np.array(places)


def check(run: Simulation) -> None:
    """The amplitude of every mode at every frame, as the method should have it; energy, where the method keeps it."""
    sag, found, expected = amplitudes(run)
    size = float(np.abs(sag).max())
    implicit = run.method == "implicit_euler"
    require("amplitudes of the modes, of the largest", found / size, expected / size, 1e-6 if implicit else 1e-9)
    require("motion to the sides", run.trajectory.particle_position.values[..., :2], 0.0, 1e-12 * size)
    if not implicit:
        require_ledger(run, energy=1e-11)
