"""A heavy symmetric top on a fixed point: nutation, or steady precession.

With I₁ the moment of inertia across the axis at the fixed point, I₃ that about the axis, and p_ψ = I₃ ω₃ and p_φ constant,

    φ̇ = (p_φ − p_ψ cos θ)/(I₁ sin² θ),  I₁ θ̈ = I₁ φ̇² sin θ cos θ − p_ψ φ̇ sin θ + m g l sin θ.

It precesses steadily if I₁ Ω² cos θ − p_ψ Ω + m g l = 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..scene.body import WORLD, Body
from ..scene.checks import rotation_matrix
from ..scene.scene import Scene
from ..scene.shapes import Compound, Cylinder
from ._common import integrate, pointing, require, require_ledger

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 2.0, "method": "dop853", "rtol": 1e-11, "frame_rate": 60.0}


def build(tilt: float = np.pi / 6, spin: float = 100.0, steady: bool = False) -> Scene:
    """A disc on an axle, `tilt` rad off the vertical and spinning at `spin` rad/s about its own axis.

    It is let go with its axis at rest, or, if `steady`, with the rate of slow precession.
    """
    scene = Scene("top")
    scene.description = "a heavy symmetric top on a fixed point"
    shape = Compound(
        [
            (Cylinder(0.06, 0.02), (0.0, 0.0, 0.08), (1, 0, 0, 0)),
            (Cylinder(0.005, 0.12), (0.0, 0.0, 0.06), (1, 0, 0, 0)),
        ]
    )
    axis = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    fields: dict[str, Any] = {"mass": 0.5, "orientation": pointing(axis), "color": "#b279a2"}
    still = Scene("still").add_body("top", shape, **fields)
    across, along, weight = moments(still, scene.gravity)
    rate = 0.0
    if steady:
        rest = (along * spin) ** 2 - 4.0 * across * weight * np.cos(tilt)
        if rest < 0.0:
            raise ValueError(
                f"top: at {spin} rad/s it cannot precess steadily {tilt} rad off the vertical; spin it faster"
            )
        rate = 2.0 * weight / (along * spin + np.sqrt(rest))
    turning = rate * np.array([0.0, 0.0, 1.0])
    omega = turning + (spin - rate * np.cos(tilt)) * axis
    top = scene.add_body("top", shape, angular_velocity=omega, velocity=np.cross(omega, still.position), **fields)
    scene.ball("point", WORLD, top, at=(0.0, 0.0, 0.0))
    return scene


def moments(top: Body, gravity: np.ndarray) -> tuple[float, float, float]:
    """(I₁ at the point, I₃, m g l), in kg m² and N m."""
    height = float(np.linalg.norm(top.position))
    return top.inertia[0, 0] + top.mass * height**2, top.inertia[2, 2], -top.mass * gravity[2] * height


def check(run: Simulation) -> None:
    """The axis against the equations in θ and φ at all frames; both momenta kept; a steady top keeps θ."""
    scene, trajectory = run.model.scene, run.trajectory
    top = scene.bodies["top"]
    across, along, weight = moments(top, scene.gravity)
    start, axis = top.angular_velocity, top.rotation[:, 2]
    p_psi = along * start @ axis
    p_phi = across * (start - (start @ axis) * axis)[2] + p_psi * axis[2]
    theta = float(np.arccos(axis[2]))

    def rates(t: float, y: np.ndarray) -> tuple[float, float, float]:
        s, c = np.sin(y[0]), np.cos(y[0])
        precession = (p_phi - p_psi * c) / (across * s * s)
        return y[1], precession**2 * s * c - (p_psi * precession * s - weight * s) / across, precession

    tilts, _, turns = integrate(rates, (theta, 0.0, 0.0), trajectory.times).y
    expected = np.stack([np.sin(tilts) * np.cos(turns), np.sin(tilts) * np.sin(turns), np.cos(tilts)], axis=1)
    axes = np.array([rotation_matrix(q)[:, 2] for q in trajectory.orientation.sel(body="top").values])
    require("axis", axes, expected, 1e-10)
    spins = trajectory.angular_momentum.sel(body="top").values
    require("momentum about the axis", np.sum(axes * spins, axis=1) / p_psi, 1.0, 1e-11)
    if abs(rates(0.0, np.array([theta, 0.0]))[1]) < 1e-9:
        require("tilt of the steady top", axes[:, 2], np.cos(theta), 1e-9)
    require_ledger(run, energy=1e-11)
