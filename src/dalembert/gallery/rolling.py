"""A ball is set down with a speed and slides; friction turns it until it rolls, at 5/7 of the speed, for any friction.

Its angular momentum about a point of the ground is constant, because friction acts in the ground: m v r + ⅖ m r² ω = m v₀ r,
and v = ω r when it rolls. It slides for 2 v₀/(7 μ g), and loses 2/7 of its energy.
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

DT = 1 / 960
SETTINGS: RunSettings = {"duration": 0.5, "dt": DT, "solver": "interior_point", "frame_rate": 60.0}
G = 9.81


def build(speed: float = 1.0, friction: float = 0.3, radius: float = 0.1) -> Scene:
    """A ball of 1 kg set down at some speed (m/s) without spin."""
    scene = Scene("rolling", material=Material(friction))
    scene.description = "a ball slides until it rolls, at 5/7 of its speed"
    scene.add_obstacle("ground", HalfSpace())
    scene.add_body("ball", Sphere(radius), mass=1.0, position=(0.0, 0.0, radius), velocity=(speed, 0.0, 0.0))
    return scene


def check(run: Simulation) -> None:
    """Speed and spin at the end, and when it began to roll, to a step."""
    scene = run.model.scene
    ball = scene.bodies["ball"]
    radius, speed, friction = ball.shape.radius, ball.velocity[0], ball.material.friction
    require("speed", run.state.velocity[0], (5.0 / 7.0 * speed, 0.0, 0.0), 1e-9)
    spin = run.state.angular_momentum[0] / (0.4 * radius**2)
    require("spin", spin * radius, (0.0, 5.0 / 7.0 * speed, 0.0), 1e-9)
    sliding = 2.0 * speed / (7.0 * friction * G)
    travelled = sliding * (speed + 5.0 / 7.0 * speed) / 2.0 + (run.time - sliding) * 5.0 / 7.0 * speed
    require("place", run.state.position[0], (travelled, 0.0, radius), friction * G * DT**2)
    lost = -float(run.trajectory.work.sel(force="contact: friction")[-1])
    require("heat of friction", lost, speed**2 / 7.0, 1e-9)
    require("energy balance", run.report.energy_residual_relative, 0.0, 1e-10)
    require("height", np.ptp(run.trajectory.position[:, 0, 2].values), 0.0, 1e-12)
