"""A bead on a wire: a smooth closed curve in space, under gravity.

In the parameter s of the curve r(s) the motion is |r′|² s̈ + (r′·r″) ṡ² = g·r′, for any mass of the bead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..scene.body import WORLD
from ..scene.joint import Curve
from ..scene.scene import Scene
from ..scene.shapes import Sphere
from ._common import integrate, require, require_ledger

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 4.0, "method": "dop853", "rtol": 1e-11, "frame_rate": 30.0}


def wire(s: Any) -> np.ndarray:
    """A point of the wire, m: once around the z axis, with two high places and two low ones."""
    return np.array([np.cos(s), 0.8 * np.sin(s), 0.4 * np.cos(2.0 * s) + 0.1 * np.sin(s)])


def tangent(s: float) -> np.ndarray:
    return np.array([-np.sin(s), 0.8 * np.cos(s), -0.8 * np.sin(2.0 * s) + 0.1 * np.cos(s)])


def bend(s: float) -> np.ndarray:
    return np.array([-np.cos(s), -0.8 * np.sin(s), -1.6 * np.cos(2.0 * s) - 0.1 * np.sin(s)])


def build(start: float = 0.3, speed: float = 0.0, mass: float = 0.1) -> Scene:
    """A bead (kg) at parameter `start` of the wire, at some speed along it (m/s)."""
    scene = Scene("bead on a wire")
    scene.description = "a bead that slides on a bent wire without friction"
    place, along = wire(start), tangent(start)
    bead = scene.add_body(
        "bead", Sphere(0.05), mass=mass, position=place, velocity=speed * along / np.linalg.norm(along), color="#eeca3b"
    )
    scene.point_on_curve("wire", WORLD, bead, at=place, curve=Curve(wire, 0.0, 2.0 * np.pi, closed=True))
    return scene


def check(run: Simulation) -> None:
    """The bead against the equation in s at all frames; the energy."""
    scene, trajectory = run.model.scene, run.trajectory
    bead = scene.bodies["bead"]
    around = np.linspace(0.0, 2.0 * np.pi, 100_001)
    near = around[np.argmin(np.linalg.norm(wire(around).T - bead.position, axis=1))]
    for _ in range(4):  # Newton to the parameter of the start
        near -= tangent(near) @ (wire(near) - bead.position) / (tangent(near) @ tangent(near))
    pace = bead.velocity @ tangent(near) / (tangent(near) @ tangent(near))

    def rates(t: float, y: np.ndarray) -> tuple[float, float]:
        slope = tangent(y[0])
        return y[1], (scene.gravity @ slope - slope @ bend(y[0]) * y[1] ** 2) / (slope @ slope)

    parameter = integrate(rates, (near, pace), trajectory.times).y[0]
    require("place of the bead", trajectory.position.values[:, 0], wire(parameter).T, 2e-8)
    require_ledger(run, energy=2e-9)
