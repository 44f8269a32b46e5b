"""A bicycle that nobody steers stays upright: at 5 m/s it steers into each fall, and the fall ends.

It is the benchmark of J. P. Meijaard, J. M. Papadopoulos, A. Ruina and A. L. Schwab, "Linearized dynamics equations for
the balance and steer of a bicycle", Proc. R. Soc. A 463, 2007: a frame with its rider, a fork, and two wheels with sharp
rims that roll without slip. For small angles of lean φ and steer δ, q = (φ, δ),

    M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = 0.

At 5 m/s its roots are −14.08, −0.7753 ± 4.465 i and −0.3229 per second: it is stable, as it is from 4.3 to 6.0 m/s. Here
wheels are ellipsoids whose rims have a radius of b²/r = 0.05 mm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.checks import rotation_matrix
from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Capsule, Compound, Ellipsoid, HalfSpace, Sphere
from ._common import pointing, require, require_energy

if TYPE_CHECKING:
    from ..scene.shapes.base import Shape
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 3.0, "dt": 1 / 480, "coordinates": "joint", "frame_rate": 60.0}
G = 9.81
SPEED, LEAN_RATE = 5.0, 0.3  # m/s, rad/s
BASE, TRAIL, TILT = 1.02, 0.08, np.pi / 10  # between the hubs, of the steering axis (m), from the vertical (rad)
REAR, FRONT, THIN = 0.3, 0.35, 0.004  # radii of the wheels, half their width, m
# Of the benchmark, for lean and steer to the right
M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])

# Centres of mass at the start, x ahead and z up
HUB, FORE_HUB = np.array([0.0, 0.0, REAR]), np.array([BASE, 0.0, FRONT])
FRAME, FORK = np.array([0.3, 0.0, 0.9]), np.array([0.9, 0.0, 0.7])
STEERING = np.array([-np.sin(TILT), 0.0, np.cos(TILT)])
HEAD, SADDLE, PEDALS = np.array([0.85, 0.0, 0.8]), np.array([0.2, 0.0, 0.85]), np.array([0.4, 0.0, 0.3])
SHOULDERS, FACE, GRIP = np.array([0.45, 0.0, 1.35]), np.array([0.5, 0.0, 1.53]), np.array([0.8, 0.0, 1.0])


def rods(center: np.ndarray, *ends: tuple[np.ndarray, np.ndarray, float]) -> list[tuple[Shape, np.ndarray, object]]:
    """Capsules between two points (m) each, of a radius (m), as parts of a shape about a centre."""
    return [(Capsule(r, float(np.linalg.norm(b - a))), 0.5 * (a + b) - center, pointing(b - a)) for a, b, r in ends]


def build(speed: float = SPEED, lean_rate: float = LEAN_RATE) -> Scene:
    """A bicycle at some speed (m/s) that begins to fall to its right at some rate (rad/s)."""
    scene = Scene("bicycle", material=Material(friction=2.0))
    scene.description = "a bicycle that nobody steers stays upright"
    scene.add_obstacle("road", HalfSpace())
    falls = np.array([lean_rate, 0.0, 0.0])

    def add(name: str, shape: Shape, center: np.ndarray, radius: float = 0.0, **fields: object) -> None:
        spin = falls + (0.0, speed / radius if radius else 0.0, 0.0)
        velocity = np.array([speed, 0.0, 0.0]) + np.cross(falls, center)
        scene.add_body(name, shape, position=center, velocity=velocity, angular_velocity=spin, **fields)  # type: ignore[arg-type]

    wheels = {"color": "#4c78a8"}
    add("rear wheel", Ellipsoid(REAR, THIN, REAR), HUB, REAR, mass=2.0, inertia=(0.0603, 0.12, 0.0603), **wheels)
    add(
        "front wheel", Ellipsoid(FRONT, THIN, FRONT), FORE_HUB, FRONT, mass=3.0, inertia=(0.1405, 0.28, 0.1405), **wheels
    )  # fmt: skip
    rider = rods(FRAME, (SADDLE, SHOULDERS, 0.09), (SHOULDERS, GRIP, 0.03), (SADDLE, PEDALS, 0.05))
    tubes = rods(FRAME, (HUB, SADDLE, 0.015), (HUB, PEDALS, 0.015), (PEDALS, HEAD, 0.02), (SADDLE, HEAD, 0.02))
    face: list[tuple[Shape, np.ndarray, object]] = [(Sphere(0.11), FACE - FRAME, (1.0, 0.0, 0.0, 0.0))]
    add(
        "frame", Compound(tubes + rider + face), FRAME, mass=85.0, material=None, color="#e45756",
        inertia=[[9.2, 0.0, -2.4], [0.0, 11.0, 0.0], [-2.4, 0.0, 2.8]],
    )  # fmt: skip
    bar = np.array([0.0, 0.25, 0.0])
    add(
        "fork", Compound(rods(FORK, (HEAD, FORE_HUB, 0.015), (HEAD, GRIP, 0.015), (GRIP - bar, GRIP + bar, 0.012))), FORK,
        mass=4.0, material=None, color="#eeca3b",
        inertia=[[0.05892, 0.0, 0.00756], [0.0, 0.06, 0.0], [0.00756, 0.0, 0.00708]],
    )  # fmt: skip
    scene.hinge("rear axle", "frame", "rear wheel", at=HUB, axis=(0.0, 1.0, 0.0))
    scene.hinge("front axle", "fork", "front wheel", at=FORE_HUB, axis=(0.0, 1.0, 0.0))
    scene.hinge("steering", "frame", "fork", at=(BASE + TRAIL, 0.0, 0.0), axis=STEERING)
    return scene


def lean_and_steer(run: Simulation) -> np.ndarray:
    """(frames, 2) rad, to the right, of the recorded frames."""
    turns = [rotation_matrix(q) for q in run.trajectory.orientation.sel(body="frame").values]
    lean = np.arcsin([turn[2, 1] for turn in turns])
    return np.stack([lean, -run.trajectory.joint_coordinate.sel(coordinate="steering").values], axis=1)


def expected(times: np.ndarray, speed: float = SPEED, lean_rate: float = LEAN_RATE) -> np.ndarray:
    """The same by the linear equations at some times (s)."""
    from scipy.linalg import expm  # only checks need it, and it is slow to load

    rates = np.zeros((4, 4))
    rates[:2, 2:] = np.eye(2)
    rates[2:, :2] = -np.linalg.solve(M, G * K0 + speed**2 * K2)
    rates[2:, 2:] = -np.linalg.solve(M, speed * C1)
    return np.array([(expm(rates * t) @ (0.0, 0.0, lean_rate, 0.0))[:2] for t in times])


def check(run: Simulation) -> None:
    """Lean and steer are those of the linear equations, but for 3 % at a lean of 0.06 rad, which go with its square; and it
    has recovered."""
    found, linear = lean_and_steer(run), expected(run.trajectory.time.values)
    require("lean and steer, over their peaks", found / np.abs(linear).max(0), linear / np.abs(linear).max(0), 0.04)
    assert np.abs(found[-1]).max() < 0.3 * np.abs(found).max(), "it has not recovered"
    require_energy(run, error=1e-6, integration=2e-7)
    assert run.report.contact is not None
    require("penetration", run.report.contact.penetration, 0.0, 1e-5)
