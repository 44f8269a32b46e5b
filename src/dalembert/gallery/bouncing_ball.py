"""A ball bounces infinitely often in a finite time, and then rests (Zeno).

Dropped from h it first hits the ground after t₁ = √(2 h/g), and keeps the fraction e of its speed at each impact. The times
between impacts are 2 t₁ e, 2 t₁ e², ..., a geometric series: at t₁ (1 + e)/(1 − e) all bounces are over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import HalfSpace, Sphere
from ._common import require

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 4.2, "method": "dormand_prince", "frame_rate": 60.0}
RADIUS = 0.1


def build(height: float = 1.0, restitution: float = 0.8, mass: float = 1.0) -> Scene:
    """A ball (kg) whose lowest point is `height` (m) above the ground, at rest."""
    scene = Scene("bouncing ball", material=Material(friction=0.0, restitution=restitution))
    scene.description = "a ball that bounces lower and lower, and comes to rest at the limit of its bounces"
    scene.add_obstacle("ground", HalfSpace())
    scene.add_body("ball", Sphere(RADIUS), mass=mass, position=(0.0, 0.0, height + RADIUS), color="#e45756")
    return scene


def check(run: Simulation) -> None:
    """The times of all bounces and their limit; all energy lost in impacts; the ball at rest."""
    scene = run.model.scene
    ball, gravity = scene.bodies["ball"], float(np.linalg.norm(scene.gravity))
    height, e = float(ball.position[2]) - RADIUS, scene.obstacles["ground"].material.restitution
    first = np.sqrt(2.0 * height / gravity)
    bounces = np.array([event.time for event in run.contact_events if event.kind == "impact"])
    require("times of bounces", bounces, first * (2.0 * np.cumsum(e ** np.arange(len(bounces))) - 1.0), 1e-9)
    rest = [event.time for event in run.contact_events if event.kind == "rest"]
    require("number of times it came to rest", len(rest), 1, 0)
    require("time of rest", rest, first * (1.0 + e) / (1.0 - e), 1e-9)
    lost = -run.report.work["contact: impacts"] / (ball.mass * gravity * height)
    require("share of energy lost in impacts", lost, 1.0, 1e-9)
    require("height at the end", run.state.position[0, 2], RADIUS, 1e-11)
    require("energy balance", run.report.energy_residual_relative, 0.0, 1e-13)
