"""Euler's disk: a coin that rolls round on its edge goes faster and faster as it sinks.

Where its centre is at rest and its rim does not slip, the point of contact goes round at Ω with Ω² sin α = 4 g/R, α being the
slope of the coin (H. K. Moffatt, "Euler's disk and its finite-time singularity", Nature 404, 2000). Without losses α
stays; the air, here a torque against the spin, takes it down slowly, and Ω grows without bound.
"""

from __future__ import annotations

import numpy as np

from ..scene.checks import rotation_matrix
from ..scene.contact import HalfSpace, Material
from ..scene.scene import Scene
from ..scene.shapes import Cylinder
from ..simulate import Simulation
from ._common import require

SETTINGS = {"duration": 3.0, "dt": 1 / 2000, "solver": "interior_point", "frames": 60.0}
G = 9.81
MASS, RADIUS, THICKNESS = 0.1, 0.1, 1e-3


def build(slope: float = 0.35, air: float = 2e-6) -> Scene:
    """A coin of 0.1 kg at some slope (rad), rolling steadily, in air of some drag on its spin (N m s)."""
    scene = Scene("euler-disk", material=Material(1.0))
    scene.description = "a coin rolls round on its edge and settles"
    scene.add_obstacle("ground", HalfSpace())
    across = 0.25 * MASS * RADIUS**2
    rate = np.sqrt(4.0 * G / (RADIUS * np.sin(slope)))
    uphill = np.array([np.cos(slope), 0.0, np.sin(slope)])  # along the coin, away from the point of contact
    scene.add_body(
        "coin", Cylinder(RADIUS, THICKNESS), mass=MASS, inertia=(across, across, 2.0 * across), color="#eeca3b",
        position=(0.0, 0.0, RADIUS * np.sin(slope) + 0.5 * THICKNESS * np.cos(slope)),
        orientation=(np.cos(0.5 * slope), 0.0, -np.sin(0.5 * slope), 0.0), angular_velocity=rate * np.sin(slope) * uphill,
    )  # fmt: skip
    scene.drag("air", angular=air)
    return scene


def slopes_and_rates(run: Simulation) -> tuple[np.ndarray, np.ndarray]:
    """(α, Ω) rad and rad/s of the recorded frames: Ω from how the coin's normal turns about the vertical."""
    trajectory = run.trajectory
    normals = np.array([rotation_matrix(q)[:, 2] for q in trajectory.orientation[:, 0].values])
    spins = np.array([
        rotation_matrix(q) @ np.linalg.solve(run.model.scene.bodies["coin"].inertia, rotation_matrix(q).T @ momentum)
        for q, momentum in zip(trajectory.orientation[:, 0].values, trajectory.angular_momentum[:, 0].values, strict=True)
    ])  # fmt: skip
    turning = np.cross(spins, normals)
    flat = normals[:, 0] ** 2 + normals[:, 1] ** 2
    return np.arccos(normals[:, 2]), (normals[:, 0] * turning[:, 1] - normals[:, 1] * turning[:, 0]) / flat


def check(run: Simulation) -> None:
    """Ω² sin α = 4 g/R all the way down, and the books."""
    slope, rate = slopes_and_rates(run)
    require("Ω² sin α R/4g", rate**2 * np.sin(slope) * RADIUS / (4.0 * G), 1.0, 0.03)
    assert slope[-1] < 0.9 * slope[0], "the coin has not sunk"
    require("energy balance", run.report.energy_residual_relative, 0.0, 1e-9)
    assert run.report.contact is not None
    require("penetration", run.report.contact.penetration, 0.0, 1e-4)
