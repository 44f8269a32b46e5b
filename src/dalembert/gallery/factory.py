"""A conveyor belt, a lift and a driven crank: three prescribed motions, and their theory.

A box on a belt of speed u slides for the time u/(μ g), and then moves with the belt; the belt's work is m u², half of which
becomes heat. A box on a lift rises with it, and the lift's work is m g h. The piston of a crank of radius r with a rod of
length l is at

    x = r cos ω t + √(l² − r² sin² ω t).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.body import WORLD
from ..scene.contact import Material
from ..scene.motion import Keyframes
from ..scene.scene import Scene
from ..scene.shapes import Box, Cylinder, HalfSpace
from ._common import require

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 4.0, "method": "time_stepping", "dt": 1.0 / 960.0, "frame_rate": 60.0}
BELT, SPEED, FRICTION, BOX, MASS = 0.4, 0.9, 0.4, 0.24, 1.5  # height m, m/s, 1, m, kg
LIFTED, STARTS, ARRIVES = 1.2, 0.5, 2.5  # m, s, s
RADIUS, ROD, OMEGA = 0.15, 0.5, 4.0  # m, m, rad/s
AXLE = np.array([0.0, 1.0, 0.45])


def build() -> Scene:
    """Three boxes on the belt, one on the lift, and a crank that drives a piston."""
    scene = Scene("factory", material=Material(friction=FRICTION))
    scene.description = "a conveyor belt, a lift and a driven crank with prescribed motions"
    scene.add_obstacle("ground", HalfSpace())
    scene.add_obstacle(
        "belt", Box(5.0, 0.5, 0.1), position=(0.0, 0.0, BELT - 0.05), surface_velocity=(SPEED, 0, 0), color="#4a4a4a"
    )
    for k in range(3):
        x = -2.2 + 0.6 * k
        scene.add_body(
            f"box {k + 1}", Box(BOX, BOX, BOX), mass=MASS, position=(x, 0.0, BELT + BOX / 2), color="#c98f4e"
        )
    scene.add_body(
        "lift", Box(0.5, 0.5, 0.08), color="#4c78a8",
        motion=Keyframes([STARTS, ARRIVES], [(2.1, -0.9, 0.1), (2.1, -0.9, 0.1 + LIFTED)]),
    )  # fmt: skip
    scene.add_body("load", Box(BOX, BOX, BOX), mass=MASS, position=(2.1, -0.9, 0.14 + BOX / 2), color="#c98f4e")
    add_crank(scene)
    return scene


def add_crank(scene: Scene) -> None:
    """A wheel that turns at constant speed, a rod and a piston, which touch nothing."""
    pin, wrist = AXLE + (RADIUS, 0.0, 0.0), AXLE + (RADIUS + ROD, 0.0, 0.0)
    across, down = (0.0, 1.0, 0.0), (0.0, 0.0, -OMEGA * RADIUS)
    wheel = scene.add_body(
        "wheel", Cylinder(0.2, 0.06), mass=3.0, position=AXLE, orientation=(np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0),
        angular_velocity=(0.0, OMEGA, 0.0), material=None, color="#54a24b",
    )  # fmt: skip
    rod = scene.add_body(
        "rod", Box(ROD, 0.03, 0.03), mass=0.4, position=0.5 * (pin + wrist), velocity=0.5 * np.array(down),
        angular_velocity=(0.0, -OMEGA * RADIUS / ROD, 0.0), material=None, color="#e45756",
    )  # fmt: skip
    piston = scene.add_body("piston", Box(0.2, 0.16, 0.16), mass=1.0, position=wrist, material=None, color="#72b7b2")
    scene.hinge("axle", WORLD, wheel, at=AXLE, axis=across)
    scene.hinge("pin", wheel, rod, at=pin, axis=across)
    scene.hinge("wrist", rod, piston, at=wrist, axis=across)
    scene.slider("cylinder", WORLD, piston, at=wrist, axis=(1.0, 0.0, 0.0))
    scene.add_motion("drive", "axle", speed=OMEGA)


def check(run: Simulation) -> None:
    """Boxes reach the belt's speed where friction lets them; the load rises with the lift; the piston is where the crank puts
    it; and the work of all three."""
    g, places = float(np.linalg.norm(run.model.scene.gravity)), run.trajectory.position
    end, slides = run.time, SPEED / (FRICTION * g)
    moved = SPEED * end - 0.5 * SPEED * slides
    for k in range(3):
        x = places.sel(body=f"box {k + 1}").values[:, 0]
        require(f"way of box {k + 1} on the belt", x[-1] - x[0], moved, 3e-3)
    require("work of the belt", run.report.work["belt"] / (3 * MASS * SPEED**2), 1.0, 1e-2)
    z = places.sel(body="load").values[:, 2]
    require("height of the load", z[-1] - z[0], LIFTED, 1e-4)
    require("work of the lift", run.report.work["lift"] / (MASS * g * LIFTED), 1.0, 1e-4)
    angle = OMEGA * run.trajectory.time.values
    piston = AXLE[0] + RADIUS * np.cos(angle) + np.sqrt(ROD**2 - (RADIUS * np.sin(angle)) ** 2)
    require("place of the piston", np.abs(places.sel(body="piston").values[:, 0] - piston).max(), 0.0, 1e-9)
    require("energy balance", run.report.energy_residual_relative, 0.0, 1e-4)
