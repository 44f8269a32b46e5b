"""A cloth falls on a ball, a little off its centre, and drapes over it: friction keeps it there.

Without friction (`build(friction=0.0)`) it slides off to the heavier side. The ball is fixed, or lies on the ground
(`build(fixed=False)`) and rolls, with the cloth, to that side. In steps of 1/240 s the cloth moves by less than its
thickness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.checks import rotation_matrix
from ..scene.contact import Material
from ..scene.mesh_file import triangle_grid
from ..scene.scene import Scene
from ..scene.shapes import HalfSpace, Sphere
from ._common import reaction_impulse, require

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 1.2, "method": "linear_implicit_euler", "dt": 1 / 240, "frame_rate": 60.0}
BALL, THICK = 0.3, 0.01  # radii of the ball and of the points of the cloth, m


def build(
    points: int = 29, friction: float = 0.5, fixed: bool = True, beside: float = 0.06, drop: float = 0.03
) -> Scene:
    """A square metre of points × points, its middle so far beside that of the ball and so far above it (m)."""
    scene = Scene("cloth on sphere")
    scene.description = "a cloth falls on a ball"
    material = Material(friction)
    scene.add_obstacle("ground", HalfSpace(), material=Material(0.5))
    middle = (0.0, 0.0, BALL)
    if fixed:
        scene.add_obstacle("ball", Sphere(BALL), position=middle, material=material, color="#e8c468")
    else:
        scene.add_body("ball", Sphere(BALL), mass=5.0, position=middle, material=material, color="#e8c468")
    vertices, faces = triangle_grid(1.0, 1.0, points, points)
    scene.cloth(
        "cloth", vertices + [beside, 0.0, 2.0 * BALL + THICK + drop], faces, density=0.2, stretch=500.0, shear=200.0,
        bend=1e-5, damping=0.005, material=material, radius=THICK, color="#4c78a8",
    )  # fmt: skip
    return scene


def check(run: Simulation) -> None:
    """Nothing is in the ball or the ground, energy falls, momentum is balanced; friction holds the cloth; none does not."""
    trajectory, scene, report = run.trajectory, run.model.scene, run.report
    group, free = scene.particles["cloth"], "ball" in scene.bodies
    cloth = trajectory.particle_position.values
    balls = trajectory.position.sel(body=["ball"]).values if free else np.array([[[0.0, 0.0, BALL]]])
    gap = np.linalg.norm(cloth - balls, axis=2).min() - BALL - THICK
    # The steps of particles and of the ball are repeated until the ball moves as the particles assumed, to a small rest.
    require("depth in the ball", min(gap, 0.0), 0.0, 1e-5 if free else 1e-9)
    require("depth in the ground", min(cloth[..., 2].min() - THICK, 0.0), 0.0, 1e-9)
    energy = (trajectory.kinetic + trajectory.potential).values
    require("energy only falls, of the fall", np.maximum(np.diff(energy), 0.0) / (energy[0] - energy[-1]), 0.0,
            5e-3 if free else 1e-9)  # fmt: skip
    weight = 9.81 * (group.mass.sum() + sum(body.mass for body in scene.bodies.values()))
    require("momentum, of the impulse of the weight", report.momentum_residual / (weight * run.time), 0.0, 1e-4)
    if group.material.friction == 0.0:
        assert cloth[-1, :, 2].max() < 2.0 * BALL, "the cloth is still on the ball"
        return
    turn = rotation_matrix(run.state.orientation[0]) if free else np.eye(3)
    top = np.argmin(np.linalg.norm(cloth[0, :, :2], axis=1))
    marked = turn.T @ (cloth[-1, top] - balls[-1, 0])
    require("way on the ball of what fell on its top", np.linalg.norm(marked - [0.0, 0.0, BALL + THICK]), 0.0, 0.04)
    if not free:  # one that is free rolls off with it
        last, impulse = trajectory.times[-1] - trajectory.times[-31], reaction_impulse(run)
        require("force from below, of the weight", (impulse[-1] - impulse[-31])[2] / (last * weight), 1.0, 0.01)
