"""Two galaxies pass each other and draw out tails and a bridge (A. & J. Toomre, "Galactic bridges and tails", 1972).

Each is a heavy nucleus with a cold disc that rotates in balance with its own gravity. All particles attract each other, by
the tree of Barnes & Hut (1986), in leapfrog steps. Units: the mass of a galaxy, the radius of its disc, and G = 1, so that
the rim turns once in about 6. The nuclei start on parabolas with the given closest approach. The tides pull an arm out of
each disc towards the other galaxy, and one away from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.particles import ParticleForce
from ..scene.scene import Scene
from ._common import require

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 10.0, "method": "time_stepping", "dt": 0.02, "frame_rate": 2.0}
NUCLEUS = 0.7  # part of a galaxy's mass in its nucleus
SOFTENING, INNER = 0.08, 0.15  # of the gravitation; where the disc begins


def build(bodies: int = 20000, theta: float = 0.6, nearest: float = 1.6, apart: float = 5.0, seed: int = 1) -> Scene:
    """So many bodies in two discs that begin `apart` and pass at a distance `nearest`; theta: opening angle of the tree."""
    scene = Scene("galaxy", gravity=(0.0, 0.0, 0.0))
    scene.description = "two galaxies pass each other and draw out tails"
    rng = np.random.default_rng(seed)
    # A parabola of two masses 1: r = 2 q/(1 + cos φ), rates √(4/r) in all and √(4 q)/r across.
    across = 2.0 * np.sqrt(nearest) / apart
    place = 0.5 * np.array([apart, 0.0, 0.0])
    velocity = 0.5 * np.array([-np.sqrt(4.0 / apart - across**2), across, 0.0])
    for name, side, tilt, color in (("milk", 1.0, 0.3, "#3566b0"), ("honey", -1.0, -0.6, "#d9822b")):
        number = bodies // 2
        turn = np.array([[1.0, 0.0, 0.0], [0.0, np.cos(tilt), -np.sin(tilt)], [0.0, np.sin(tilt), np.cos(tilt)]])
        x, v = disc(number, rng)
        nucleus = side * place
        scene.add_particles(
            f"{name} nucleus", nucleus, velocity=side * velocity, mass=NUCLEUS, radius=0.08, color="#232a35",
        )  # fmt: skip
        scene.add_particles(
            f"{name} disc", nucleus + x @ turn.T, velocity=side * velocity + v @ turn.T, mass=(1.0 - NUCLEUS) / number,
            color=color,
        )  # fmt: skip
    scene.gravitation("gravitation", constant=1.0, softening=SOFTENING, theta=theta)
    return scene


def disc(number: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Places and velocities, (n, 3) each, of a disc that turns right-handed about z: evenly many over the radius, in spirals
    of the golden angle so that it is smooth, on circles about the mass within."""
    share = (np.arange(number) + 0.5) / number
    radius = INNER + (1.0 - INNER) * share
    angle = np.arange(number) * np.pi * (3.0 - np.sqrt(5.0)) + 1e-2 * rng.normal(size=number)
    within = NUCLEUS * radius**3 / (radius**2 + SOFTENING**2) ** 1.5 + (1.0 - NUCLEUS) * share
    speed = np.sqrt(within / radius)
    c, s = np.cos(angle), np.sin(angle)
    height = 0.02 * rng.normal(size=number)
    return np.stack([radius * c, radius * s, height], axis=1), np.stack([-speed * s, speed * c, 0.0 * c], axis=1)


def check(run: Simulation) -> None:
    """Energy, momentum and angular momentum, as well as the tree keeps them; the passage, and the tails it drew out."""
    trajectory = run.trajectory
    gravitation = run.model.scene.forces["gravitation"]
    assert isinstance(gravitation, ParticleForce)
    approximate = "theta" in gravitation.values
    energy = (trajectory.kinetic + trajectory.potential).values
    require("energy, relative", energy / energy[0], 1.0, 2e-3)
    x, p = trajectory.particle_position.values, trajectory.particle_momentum.values
    size, momentum = np.linalg.norm(p[0], axis=1).sum(), p.sum(axis=1)
    require("momentum, of the sum of sizes", momentum / size, momentum[0] / size, 3e-3 if approximate else 1e-12)
    spin = np.cross(x, p).sum(axis=1)
    size = np.linalg.norm(np.cross(x[0], p[0]), axis=1).sum()
    require("angular momentum, of the sum of sizes", spin / size, spin[0] / size, 3e-3 if approximate else 1e-11)
    require("angular momentum balance", run.report.angular_momentum_residual / size, 0.0, 1e-11)
    nuclei = [trajectory.particles(f"{name} nucleus").particle_position.values for name in ("milk", "honey")]
    away = np.linalg.norm(x[-1] - nuclei[0][-1], axis=1), np.linalg.norm(x[-1] - nuclei[1][-1], axis=1)
    torn = float(np.mean(np.minimum(*away) > 2.0))
    assert 0.02 < torn < 0.4, f"{torn:.1%} of the bodies are in tails"
