"""Euler's disk: a coin that rolls on its edge goes round faster and faster as it sinks.

In steady motion, let Ω be the rate at which the point of contact goes round, α the slope of the coin, ω₃ its spin about its
axis and A, C its moments of inertia across and along that axis. Angular momentum about the point of contact requires

    (C + m R²) ω₃ Ω sin α − A Ω² sin α cos α + m g R cos α = 0.

At the start ω₃ = 0, the centre is at rest, and Ω² sin α = 4 g/R (H. K. Moffatt, "Euler's disk and its finite-time
singularity", Nature 404, 2000). The air, here a torque against the rotation, slowly reduces α, and Ω grows. The
contact does not slip and takes no energy: 3e-5 of what the air takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.checks import rotation_matrix
from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Cylinder, HalfSpace
from ._common import require, require_energy

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 2.0, "dt": 1 / 2000, "tolerance": 1e-10, "frame_rate": 240.0}
G = 9.81
MASS, RADIUS, THICKNESS = 0.1, 0.1, 1e-3
ACROSS = 0.25 * MASS * RADIUS**2  # A; C is twice that


def build(slope: float = 0.35, air: float = 1e-4) -> Scene:
    """A coin of 0.1 kg at some slope (rad), rolling steadily, in air of some drag on its turning (N m s)."""
    scene = Scene("euler-disk", material=Material(1.0))
    scene.description = "a coin rolls round on its edge and settles"
    scene.add_obstacle("ground", HalfSpace())
    rate = np.sqrt(4.0 * G / (RADIUS * np.sin(slope)))
    uphill = np.array([np.cos(slope), 0.0, np.sin(slope)])  # along the coin, away from the point of contact
    scene.add_body(
        "coin", Cylinder(RADIUS, THICKNESS), mass=MASS, inertia=(ACROSS, ACROSS, 2.0 * ACROSS), color="#eeca3b",
        position=(0.0, 0.0, RADIUS * np.sin(slope) + 0.5 * THICKNESS * np.cos(slope)),
        orientation=(np.cos(0.5 * slope), 0.0, -np.sin(0.5 * slope), 0.0), angular_velocity=rate * np.sin(slope) * uphill,
    )  # fmt: skip
    scene.drag("air", angular=air)
    return scene


def motion(run: Simulation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(α, Ω, ω₃) in rad and rad/s of the recorded frames: Ω is how the coin's axis turns about the vertical."""
    trajectory = run.trajectory
    turns = np.array([rotation_matrix(q) for q in trajectory.orientation[:, 0].values])
    momenta = np.einsum("nji,nj->ni", turns, trajectory.angular_momentum[:, 0].values)
    spins = np.einsum("nij,nj->ni", turns, momenta / [ACROSS, ACROSS, 2.0 * ACROSS])
    axis = turns[:, :, 2]
    change = np.cross(spins, axis)
    flat = axis[:, 0] ** 2 + axis[:, 1] ** 2
    rate = (axis[:, 0] * change[:, 1] - axis[:, 1] * change[:, 0]) / flat
    return np.arccos(axis[:, 2]), rate, (spins * axis).sum(axis=1)


def check(run: Simulation) -> None:
    """The motion is steady at every slope on the way down, up to its nodding; and the energy balance."""
    slope, rate, spin = motion(run)
    weight = MASS * G * RADIUS * np.cos(slope)
    support = ACROSS * rate**2 * np.sin(slope) * np.cos(slope)
    rolling = (2.0 * ACROSS + MASS * RADIUS**2) * spin * rate * np.sin(slope)
    balance = (support - rolling) / weight
    require("steady motion, on average", balance.mean(), 1.0, 0.02)
    require("steady motion", balance, 1.0, 0.06)
    assert slope[-1] < 0.7 * slope[0] and rate[-1] > 1.15 * rate[0], "the coin has not sunk"
    work = run.report.work
    contact = work["contact: impacts"] + work["contact: friction"]
    require("what the contact takes, beside the air", contact / work["air"], 0.0, 1e-4)
    require_energy(run, error=1e-6)
    assert run.report.contact is not None
    require("penetration", run.report.contact.penetration, 0.0, 1e-5)
