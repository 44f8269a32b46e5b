"""A soft beam bends under its weight at one end, and a soft block falls, bounces and comes to rest.

Both consist of tetrahedra with constant deformation. Such elements are too stiff in bending ("locking"): with 1, 2
and 4 cells across, the beam's tip sinks by 36, 68 and 89 % of ρ g A L⁴/(8 E I). In compression they are nearly right: on a
ground without friction the block loses ρ g h²/(2 E) of its height h, to 5 %, if that is 3 % of the height.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.mesh_file import tetrahedron_grid
from ..scene.scene import Scene
from ..scene.shapes import HalfSpace
from ._common import require

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {
    "duration": 1.5, "method": "linear_implicit_euler", "dt": 1 / 240, "linear_tolerance": 1e-6, "frame_rate": 60.0,
}  # fmt: skip
LONG, HIGH, STIFF = 1.0, 0.1, 1.5e7  # of the beam, m, m, Pa
SIDE, SOFT = 0.2, 3e4  # of the block, m, Pa
SKIN, DENSITY = 0.002, 1000.0  # m, kg/m³
SHARE = {1: 0.356, 2: 0.677, 4: 0.890}  # of the beam's deflection, for so many cells across it


def build(across: int = 2, cells: int = 5, drop: float = 0.15) -> Scene:
    """A beam with so many cells across it, and a block of cells in each direction, so far above the ground (m)."""
    scene = Scene("soft body")
    scene.description = "a soft beam held at one end, and a soft block that falls"
    slippery = Material(0.0)
    scene.add_obstacle("ground", HalfSpace(), material=slippery)
    vertices, tetrahedra = tetrahedron_grid((LONG, HIGH, HIGH), (10 * across, across, across))
    scene.soft_body(
        "beam", vertices + [0.0, 0.35, 0.4], tetrahedra, density=DENSITY, young=STIFF, poisson=0.3, viscosity=0.03 * STIFF,
        pinned=vertices[:, 0] < -0.499 * LONG, color="#4c78a8", material=None,
    )  # fmt: skip
    vertices, tetrahedra = tetrahedron_grid((SIDE, SIDE, SIDE), (cells, cells, cells))
    scene.soft_body(
        "block", vertices + [0.0, -0.2, 0.5 * SIDE + SKIN + drop], tetrahedra, density=DENSITY, young=SOFT, poisson=0.3,
        viscosity=150.0, material=slippery, radius=SKIN, color="#e45756",
    )  # fmt: skip
    return scene


def fallen(run: Simulation, name: str, axis: int, side: float) -> float:
    """How far (m) a face of a body has gone down: the one where coordinates along an axis are least (−1) or greatest (1)."""
    group = run.model.scene.particles[name]
    reach = side * group.position[:, axis]
    face = reach > reach.max() - 1e-9
    return float(np.mean(group.position[face, 2] - run.state.particle_position[run.state.particles(name)][face, 2]))


def check(run: Simulation) -> None:
    """The beam's deflection and the block's shortening at rest; contact and energy on the way there."""
    trajectory, groups = run.trajectory, run.model.scene.particles
    low = trajectory.particles("block").particle_position.values[..., 2].min() - SKIN
    require("depth in the ground", min(low, 0.0), 0.0, 1e-12)
    energy = (trajectory.kinetic + trajectory.potential).values
    lost = energy[0] - energy[-1]
    require("energy only falls, of the fall", np.maximum(np.diff(energy), 0.0) / lost, 0.0, 1e-9)
    require("speed at the end", np.linalg.norm(run.state.particle_velocity, axis=1).max(), 0.0, 2e-3)
    beam = groups["beam"]
    across = round((len(np.unique(beam.position[:, 2].round(9)))) - 1)
    bending = DENSITY * 9.81 * HIGH**2 * LONG**4 / (8.0 * STIFF * HIGH**4 / 12.0)
    require("deflection, of that of a beam", fallen(run, "beam", 0, 1.0) / bending, SHARE[across], 0.02)
    shorter = fallen(run, "block", 2, 1.0) - fallen(run, "block", 2, -1.0)
    pressing = DENSITY * 9.81 * SIDE**2 / (2.0 * SOFT)
    require("shortening of the block, of that of a column", shorter / pressing, 1.0, 0.06)
