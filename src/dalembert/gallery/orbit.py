"""A particle circles a heavy one: the orbit by each method.

The relative position follows Kepler's laws. With the semi-major axis a, the eccentricity e and n² = G (m₁ + m₂)/a³, the
eccentric anomaly E solves E − e sin E = n t, and the position in the plane is a (cos E − e, √(1 − e²) sin E); here a =
1 m, n = 1 rad/s.

In equal steps h Euler's method spirals out and implicit Euler's in. On a circle each of their steps changes the energy
of 1 kg by ± h²/r⁴ (SI), half of it kinetic and half potential, and so a³ = 1 ± 6 h t. Symplectic methods stay. See
`compare`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..scene.scene import Scene
from ..simulation.settings import MethodName, RunSettings
from ..simulation.simulation import Simulation, simulate
from ._common import require, require_ledger

SETTINGS: RunSettings = {"duration": 20.0, "method": "dop853", "rtol": 1e-12, "frame_rate": 30.0}
TURN = 2.0 * np.pi  # s
METHODS: tuple[MethodName, ...] = (
    "euler", "midpoint", "rk4", "symplectic_euler", "time_stepping", "implicit_midpoint", "implicit_euler",
)  # fmt: skip


def build(eccentricity: float = 0.5, ratio: float = 1e-3) -> Scene:
    """Two particles of 1 kg together, masses in some ratio, about their centre of mass; they start where they are nearest."""
    if not 0.0 <= eccentricity < 1.0:
        raise ValueError(
            f"eccentricity is {eccentricity:g}; give a number from 0 to less than 1, for an orbit that closes"
        )
    scene = Scene("orbit", gravity=(0.0, 0.0, 0.0))
    scene.description = "a particle that circles a heavy one"
    place = np.array([1.0 - eccentricity, 0.0, 0.0])
    velocity = np.array([0.0, np.sqrt((1.0 + eccentricity) / (1.0 - eccentricity)), 0.0])
    heavy, light = 1.0 / (1.0 + ratio), ratio / (1.0 + ratio)
    scene.add_particles("sun", -light * place, velocity=-light * velocity, mass=heavy, radius=0.06, color="#eeca3b")
    scene.add_particles("planet", heavy * place, velocity=heavy * velocity, mass=light, radius=0.03, color="#4c78a8")
    scene.gravitation("gravitation", constant=1.0)
    return scene


def kepler(eccentricity: float, times: np.ndarray) -> np.ndarray:
    """(times, 3) m: where the second particle is relative to the first; Kepler's equation by Newton's method."""
    mean = np.asarray(times, float)
    anomaly = mean + eccentricity * np.sin(mean)
    for _ in range(50):
        anomaly -= (anomaly - eccentricity * np.sin(anomaly) - mean) / (1.0 - eccentricity * np.cos(anomaly))
    across = np.sqrt(1.0 - eccentricity**2)
    return np.stack([np.cos(anomaly) - eccentricity, across * np.sin(anomaly), np.zeros_like(mean)], axis=-1)


def relative(run: Simulation) -> np.ndarray:
    """(frames, 3) m: the same of a run."""
    places = run.trajectory.particle_position.values
    return np.asarray(places[:, 1] - places[:, 0])


def compare(turns: int = 5, steps: int = 400, methods: Sequence[MethodName] = METHODS) -> dict[str, Simulation]:
    """Runs of the circular orbit over so many turns by each method, so many equal steps a turn, each of them recorded."""
    dt = TURN / steps
    return {
        method: simulate(build(0.0), turns * TURN, method=method, dt=dt, frame_rate=1.0 / dt, newton_tolerance=1e-12)
        for method in methods
    }


def check(run: Simulation) -> None:
    """The relative place against Kepler's, the centre of mass at rest, the energy balance."""
    start = relative(run)[0]
    require("relative place", relative(run), kepler(1.0 - float(np.linalg.norm(start)), run.trajectory.times), 1e-10)
    masses = np.concatenate([group.mass for group in run.model.scene.particles.values()])
    centre = np.einsum("i,tik->tk", masses, run.trajectory.particle_position.values)
    require("centre of mass", centre, 0.0, 1e-13)
    require("angular momentum balance", run.report.angular_momentum_residual, 0.0, 1e-13)
    require_ledger(run, energy=1e-11)
