"""A cloth is held at two corners that are closer than its width; it swings and comes to rest.

It starts level along one side and as a hanging arch along the other. Steps of implicit Euler with one Newton step each
(Baraff & Witkin 1998) are 1/60 s long, several periods of the stiffest waves in the cloth.

At rest the check tests the balance of forces by virtual work. Stretch everything below the corners along z by
1 + ε: the weights do the work −ε Σ m g z, z from the corners up, and the energy of the threads gains as much. Along y, where
nothing pulls, it gains nothing. The check computes this energy independently, triangle by triangle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.mesh_file import triangle_grid
from ..scene.particles import ParticleForce
from ..scene.scene import Scene
from ._common import reaction_impulse, require

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 6.0, "method": "linear_implicit_euler", "dt": 1 / 60, "frame_rate": 60.0}
DENSITY, STRETCH, SHEAR = 0.2, 500.0, 200.0  # kg/m², N/m, N/m


def build(points: int = 36, angle: float = 2.0, side: float = 1.0, bend: float = 1e-5, drag: float = 2.0) -> Scene:
    """A square of points × points, bent to an arc of some angle (rad) between its corners; side in m, rigidity against
    bending in N m, drag in 1/s, times the mass."""
    scene = Scene("cloth")
    scene.description = "a cloth held at two corners"
    vertices, faces = triangle_grid(side, side, points, points)
    turn = angle * vertices[:, 0] / side
    arch = side / angle * np.stack([np.sin(turn), 0.0 * turn, -np.cos(turn)], axis=1)
    scene.cloth(
        "cloth", arch + [0.0, 1.0, 0.0] * vertices, faces, density=DENSITY, stretch=STRETCH, shear=SHEAR, bend=bend,
        damping=0.005, coordinates=vertices[:, :2], pinned=[points * points - points, points * points - 1],
        color="#c8553d",
    )  # fmt: skip
    scene.medium("air", "cloth", linear=drag * DENSITY * side**2 / points**2)
    return scene


def stretches(run: Simulation, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(m, 3) w_u and w_v, what a metre along u and along v has become in each triangle, and areas (m,), m²."""
    force = run.model.scene.forces["cloth stretch"]
    assert isinstance(force, ParticleForce)
    rows, values = run.model.scene.particles["cloth"].faces[0], force.values
    edges = np.stack([x[rows[:, 1]] - x[rows[:, 0]], x[rows[:, 2]] - x[rows[:, 0]]], axis=2)
    gradient = edges @ values["inverse"].reshape(-1, 2, 2)
    return gradient[..., 0], gradient[..., 1], values["area"]


def gained(run: Simulation, x: np.ndarray, axis: int) -> float:
    """dW/dε, J: how the energy of the threads grows as everything is stretched along an axis, at places x (n, 3)."""
    u, v, area = stretches(run, x)
    long, wide = np.linalg.norm(u, axis=1), np.linalg.norm(v, axis=1)
    sheared = 2.0 * SHEAR * np.einsum("ij,ij->i", u, v) * u[:, axis] * v[:, axis]
    pulled = STRETCH * ((1.0 - 1.0 / long) * u[:, axis] ** 2 + (1.0 - 1.0 / wide) * v[:, axis] ** 2)
    return float(area @ (pulled + sheared))


def check(run: Simulation) -> None:
    """The corners stay, energy only falls; at rest virtual work, the weight on the corners, and how far threads stretch."""
    trajectory, group = run.trajectory, run.model.scene.particles["cloth"]
    places = trajectory.particle_position.values
    require("corners", places[:, group.pinned], group.position[group.pinned], 0.0)
    energy, weight = (trajectory.kinetic + trajectory.potential).values, 9.81 * group.mass.sum()
    fallen = float(energy[0] - energy[-1])
    require("energy only falls, of the fall", np.maximum(np.diff(energy), 0.0) / fallen, 0.0, 1e-9)
    require("speed at the end", np.linalg.norm(run.state.particle_velocity, axis=1).max(), 0.0, 0.02)
    last, impulse = trajectory.times[-1] - trajectory.times[-31], reaction_impulse(run)
    require("force on the corners, of the weight", (impulse[-1] - impulse[-31])[2] / (last * weight), 1.0, 1e-3)
    x = run.state.particle_position - group.position[group.pinned][0]
    work = -9.81 * float(group.mass @ x[:, 2])
    require("virtual work along z, of that of the weights", gained(run, x, 2) / work, 1.0, 2e-3)
    require("virtual work along y, of that of the weights", gained(run, x, 1) / work, 0.0, 2e-3)
    u, v, area = stretches(run, x)
    long = max(float(np.linalg.norm(part, axis=1).max()) for part in (u, v))
    most = weight / (STRETCH * np.sqrt(2.0 * area[0]))  # half of the weight, on the half width of a thread at a corner
    assert 0.2 * most < long - 1.0 < most, (
        f"threads are stretched by {long - 1.0:.3f}, which should be up to {most:.3f}"
    )
