"""A crane lifts a load with a block and tackle of two strands: the winch takes in twice the way of the load.

The drum turns by a motion −φ(t) from rest to rest, φ = φ₁ (s − sin(2 π s)/2 π). With the drum's radius r and n strands the
load rises by r φ/n, and the tension of the rope is m (g + z̈)/n.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.body import WORLD
from ..scene.cable import Drum, Pulley
from ..scene.scene import Scene
from ..scene.shapes import Box, Cylinder
from ._common import require, require_ledger

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 4.0, "method": "dormand_prince", "rtol": 1e-9, "frame_rate": 30.0}
RADIUS, SHEAVE, LENGTH, JIB = (
    0.25,
    0.2,
    4.0,
    4.3,
)  # m: of the drum and the sheaves; from the mast to the load; its height
LYING = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)


def build(mass: float = 200.0, turns: float = 1.5) -> Scene:
    """A load (kg) on a swivelling block, which `turns` of the drum lift in 4 s."""
    scene = Scene("crane")
    scene.description = "a winch lifts a load with a block and tackle of two strands"
    drum = scene.add_body(
        "drum", Cylinder(RADIUS, 0.5), mass=40.0, position=(-0.6, 0, 0.4), orientation=LYING, color="#4c78a8",
        material=None,
    )  # fmt: skip
    x = LENGTH
    load = scene.add_body("load", Box(0.7, 0.7, 0.5), mass=mass, position=(x, 0, 0.3), color="#f58518", material=None)
    block = (x, 0.0, 0.8)
    for side, y in (("left", 0.35), ("right", -0.35)):
        scene.add_obstacle(f"{side} mast", Box(0.2, 0.2, JIB), position=(0, y, 0.5 * JIB), color="#9aa4b2")
    scene.add_obstacle("jib", Box(LENGTH + 0.8, 0.9, 0.2), position=(0.5 * LENGTH, 0, JIB + 0.1), color="#9aa4b2")
    scene.hinge("axle", WORLD, drum, at=(-0.6, 0, 0.4), axis=(0, 1, 0))
    whole, w = -2.0 * np.pi * turns, 0.5 * np.pi

    def turn(t):  # type: ignore[no-untyped-def]
        return whole * (0.25 * t - np.sin(w * t) / (2.0 * np.pi))

    scene.add_motion("winch", "axle", turn)
    scene.cable("rope", [
        Drum(drum, (-0.6, 0, 0.4), (0, 1, 0), RADIUS, side=(-1, 0, 0), turns=4.0),
        Pulley(WORLD, (x - 2.0 * SHEAVE, 0, 4.0), (0, 1, 0), SHEAVE, side=(0, 0, 1)),
        Pulley(load, block, (0, 1, 0), SHEAVE, side=(0, 0, -1), swivels=True),
        (WORLD, (x + SHEAVE, 0, JIB)),
    ])  # fmt: skip
    return scene


def check(run: Simulation) -> None:
    """The way of the load and the tension of the rope follow from the turn of the drum."""
    trajectory, load = run.trajectory, run.model.scene.bodies["load"]
    motion = run.model.scene.joints["winch"].prescribed
    assert motion is not None
    angle = np.array([motion.motion(t) for t in trajectory.times])
    z = trajectory.position.sel(body="load").values[:, 2] - load.position[2]
    require("way of the load", z, -RADIUS * angle / 2.0, 1e-8)
    whole, w = float(motion.motion(4.0)), 0.5 * np.pi
    lift = -RADIUS / 2.0 * whole * w * w * np.sin(w * trajectory.times) / (2.0 * np.pi)
    tension = np.linalg.norm(trajectory.reaction_force.sel(joint="rope").values, axis=1)
    require("tension of the rope", tension, load.mass * (9.81 + lift) / 2.0, 1e-4)
    require_ledger(run, energy=1e-7)
