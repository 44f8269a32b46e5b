"""Boxes fall into a net that is tied at its rim, and lie in it.

The net consists of springs between particles, which touch the boxes; boxes touch each other. Particles take steps of implicit
Euler by Newton's method, and boxes move by the push of the particles. Action and reaction are one impulse: momentum
is balanced to rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.mesh_file import triangle_grid
from ..scene.scene import Scene
from ..scene.shapes import Box
from ._common import require

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {
    "duration": 1.6, "method": "implicit_euler", "dt": 1 / 480, "newton_tolerance": 1e-3, "linear_tolerance": 1e-6,
    "frame_rate": 60.0,
}  # fmt: skip
SIZE = (0.3, 0.25, 0.2)  # of a box, m


def build(boxes: int = 3, knots: int = 13, side: float = 1.6, sag: float = 0.5, stiffness: float = 2000.0) -> Scene:
    """So many boxes of 1.5 kg, and a net of knots × knots with a side and a sag (m), its threads of some stiffness (N/m)."""
    scene = Scene("net")
    scene.description = "boxes fall into a net"
    material = Material(0.6)
    flat, _faces = triangle_grid(side, side, knots, knots)
    x, y = 2.0 * flat[:, 0] / side, 2.0 * flat[:, 1] / side
    number = np.arange(knots * knots).reshape(knots, knots)
    along = [np.stack([part[:, :-1].ravel(), part[:, 1:].ravel()], axis=1) for part in (number, number.T)]
    rim = np.maximum(np.abs(x), np.abs(y)) > 1.0 - 0.5 / knots
    knotted = flat + np.outer((x**2 - 1.0) * (1.0 - y**2), [0.0, 0.0, sag])
    scene.add_particles(
        "net", knotted, mass=0.4 / knots**2, pinned=rim, radius=0.012, material=material, color="#54433a"
    )
    scene.springs("threads", "net", np.concatenate(along), stiffness=stiffness, damping=2.0)
    for i in range(boxes):
        aside = 0.12 * np.array([np.cos(2.4 * i), np.sin(2.4 * i)])
        scene.add_body(
            f"box {i + 1}", Box(*SIZE), mass=1.5, position=(*aside, 0.25 + 0.4 * i), material=material,
            angular_velocity=(1.0, 2.0 - 2.0 * i, 0.0), color=("#e45756", "#4c78a8", "#72b7b2", "#eeca3b")[i % 4],
        )  # fmt: skip
    return scene


def check(run: Simulation) -> None:
    """The boxes lie in the net, which bears their weight; momentum is balanced and energy falls."""
    trajectory, scene, report = run.trajectory, run.model.scene, run.report
    net, places = trajectory.particle_position.values, trajectory.position.values
    pinned = scene.particles["net"].pinned
    require("rim", net[:, pinned], scene.particles["net"].position[pinned], 0.0)
    low, rim = net[..., 2].min(axis=1), np.abs(net[0, :, 0]).max()
    assert np.all(places[-1, :, 2] > low[-1]), "a box ends below the net"
    assert np.abs(places[-1, :, :2]).max() < rim, "a box ends outside of the net"
    energy = (trajectory.kinetic + trajectory.potential).values
    require("energy only falls, of the fall", np.maximum(np.diff(energy), 0.0) / (energy[0] - energy[-1]), 0.0, 1e-9)
    weight = 9.81 * (sum(body.mass for body in scene.bodies.values()) + scene.particles["net"].mass.sum())
    require("momentum, of the impulse of the weight", report.momentum_residual / (weight * run.time), 0.0, 1e-12)
    require("steps of the net that are not solved", report.particles.unsolved, 0, 0)
    fallen = energy[0] - energy[-1]
    require("kinetic energy at the end, of the fall", trajectory.kinetic.values[-1] / fallen, 0.0, 0.05)
