"""The simple pendulum, released from the horizontal (IFToMM benchmark A01).

A point mass of 1 kg on a massless rod of 1 m: θ̈ = −(g/l) sin θ, and T + V is constant. The rod is one distance
constraint, and the mass a small ball that does not turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..scene.body import WORLD
from ..scene.scene import Scene
from ..scene.shapes import Sphere
from ._common import require, require_ledger

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 10.0, "method": "dop853", "rtol": 1e-12, "atol": 1e-13, "frame_rate": 30.0}
AT_10_S = (-0.27508746257611686, 0.0, -0.96141920509912506)  # m; the benchmark's plane is x–z here


def build(length: float = 1.0, mass: float = 1.0) -> Scene:
    """A mass (kg) on a rod of some length (m), level and at rest."""
    scene = Scene("pendulum")
    scene.description = "a point mass on a massless rod"
    place = (-length, 0.0, 0.0)
    ball = scene.add_body("ball", Sphere(0.06 * length), mass=mass, position=place, color="#e45756")
    scene.rod("rod", WORLD, ball, at_a=(0.0, 0.0, 0.0), at_b=place)
    return scene


def check(run: Simulation) -> None:
    """The place after 10 s against the published one, and the energy."""
    require("time", run.time, 10.0, 1e-12)
    require("position at 10 s", run.state.position[0], AT_10_S, 1e-9)
    require_ledger(run, energy=1e-11)
