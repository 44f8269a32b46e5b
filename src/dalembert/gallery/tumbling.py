"""A free body spins about its middle axis and flips over again and again.

Euler's equations have Jacobi's elliptic functions as their solution. With I₁ < I₂ < I₃ and L² > 2 E I₂,

    ω = (A cn τ, B sn τ, C dn τ),  τ = τ₀ + t √((I₃ − I₂)(L² − 2 E I₁)/(I₁ I₂ I₃)),
    k² = (I₂ − I₁)(2 E I₃ − L²) / ((I₃ − I₂)(L² − 2 E I₁)),

in body axes, of period 4 K(k) in τ (Landau & Lifshitz, Mechanics, § 37).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.checks import rotation_matrix
from ..scene.scene import Scene
from ..scene.shapes import Box
from ._common import require, require_ledger

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 6.0, "method": "dop853", "dt": 0.005, "frame_rate": 30.0}


def build(spin: float = 10.0, off: float = 0.05) -> Scene:
    """A box turning at `spin` rad/s about its middle axis, y, and at `off` rad/s about z, its largest moment's axis."""
    scene = Scene("tumbling", gravity=(0.0, 0.0, 0.0))
    scene.description = "a free body that spins about its middle axis"
    scene.add_body("box", Box(0.3, 0.2, 0.05), mass=1.0, angular_velocity=(0.0, spin, off), color="#54a24b")
    return scene


def euler(run: Simulation) -> tuple[np.ndarray, float]:
    """(frames, 3) angular velocities in axes of the body (rad/s) by elliptic functions, and their period (s)."""
    from scipy.special import ellipj, ellipk, ellipkinc  # only checks need it, and it is slow to load

    body = run.model.scene.bodies["box"]
    i1, i2, i3 = np.diag(body.inertia)
    w1, w2, w3 = body.rotation.T @ body.angular_velocity
    energy = i1 * w1**2 + i2 * w2**2 + i3 * w3**2  # twice the energy
    square = (i1 * w1) ** 2 + (i2 * w2) ** 2 + (i3 * w3) ** 2
    rate = np.sqrt((i3 - i2) * (square - energy * i1) / (i1 * i2 * i3))
    modulus = (i2 - i1) * (energy * i3 - square) / ((i3 - i2) * (square - energy * i1))
    a = np.sqrt((energy * i3 - square) / (i1 * (i3 - i1)))
    b = np.sqrt((energy * i3 - square) / (i2 * (i3 - i2)))
    c = np.sqrt((square - energy * i1) / (i3 * (i3 - i1)))
    start = ellipkinc(np.arctan2(w2 / b, w1 / a), modulus)
    sn, cn, dn, _ = ellipj(start + rate * run.trajectory.times, modulus)
    return np.stack([a * cn, b * sn, c * dn], axis=1), float(4.0 * ellipk(modulus) / rate)


def check(run: Simulation) -> None:
    """ω in the body at all frames against elliptic functions; L kept in space; the run longer than one period."""
    trajectory = run.trajectory
    expected, period = euler(run)
    spins = trajectory.angular_momentum.sel(body="box").values
    turns = trajectory.orientation.sel(body="box").values
    inertia = run.model.scene.bodies["box"].inertia
    found = np.array(
        [np.linalg.solve(inertia, rotation_matrix(q).T @ spin) for q, spin in zip(turns, spins, strict=True)]
    )
    require("angular velocity in the body", found, expected, 2e-9)
    require("angular momentum", spins, spins[0], 1e-15)
    require("turning over once each half period", found[:, 1].min(), -found[:, 1].max(), 1e-2)
    if run.time < period:
        raise AssertionError(f"the run of {run.time} s is shorter than the period, {period} s")
    require_ledger(run, energy=1e-11)
