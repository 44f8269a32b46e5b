"""Motions whose solution is known: what benchmarks/accuracy.py measures against."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ellipj

import dalembert as dal

G = 9.81


@dataclass(frozen=True)
class Case:
    """A scene, how long it is run (s), and the error (m, or a share of 1) of the state that it ends in."""

    title: str
    build: Callable[[], dal.Scene]
    duration: float
    error: Callable[[dal.Simulation], float]
    steppable: Callable[[], dal.Scene]  # the same for the method "time_stepping", which wants something that may touch


AMPLITUDE, ARM = 2.0, 0.5  # rad; m from the pivot to the centre of mass
INERTIA = (0.02, 0.03, 0.04)  # kg m²


def pendulum(stop: float | None = None) -> dal.Scene:
    """A body on a hinge, let go at 2 rad; with a stop (rad) that it does not reach, time steps run it."""
    scene = dal.Scene("pendulum")
    place = ARM * np.array([np.sin(AMPLITUDE), 0.0, -np.cos(AMPLITUDE)])
    half = -0.5 * AMPLITUDE
    bob = scene.add_body(
        "bob", mass=1.0, inertia=INERTIA, position=place, orientation=(np.cos(half), 0.0, np.sin(half), 0.0)
    )
    scene.hinge("pivot", dal.WORLD, bob, at=(0, 0, 0), axis=(0, 1, 0))
    if stop is not None:
        scene.limit("stop", "pivot", upper=stop)
    return scene


def pendulum_angle(time: float) -> float:
    """θ̈ = −Ω² sin θ from rest at A: sin ½θ = k cd(Ω t, k), k = sin ½A (rad)."""
    rate = np.sqrt(G * ARM / (INERTIA[1] + ARM**2))
    k = np.sin(0.5 * AMPLITUDE)
    _, cn, dn, _ = ellipj(rate * time, k * k)
    return 2.0 * float(np.arcsin(k * cn / dn))


def pendulum_error(run: dal.Simulation) -> float:
    """m, of the centre of mass."""
    angle = pendulum_angle(run.time)
    return float(np.linalg.norm(run.state.position[0] - ARM * np.array([np.sin(angle), 0.0, -np.cos(angle)])))


MOMENTS = np.array([1.0, 2.0, 3.0])  # kg m²
SPIN = (1.2, 0.0, 1.0)  # rad/s, body axes = world axes at the start


def tumbling(beside: bool = False) -> dal.Scene:
    """A free body with three different moments of inertia; with something beside that it never meets, time steps run it."""
    scene = dal.Scene("tumbling", gravity=(0, 0, 0))
    shape = dal.Sphere(0.1) if beside else None
    scene.add_body(
        "body", shape, mass=1.0, inertia=MOMENTS, angular_velocity=SPIN, material=dal.Material() if beside else None
    )
    if beside:
        scene.add_obstacle("far away", dal.Sphere(0.1), position=(50, 0, 0))
    return scene


def tumbling_spin(time: float) -> np.ndarray:
    """Euler's equations in body axes by Jacobi's functions (Landau & Lifshitz, Mechanics, § 37), from ω₂ = 0."""
    (a, b, c), (first, _, last) = MOMENTS, SPIN
    energy, square = a * first**2 + c * last**2, (a * first) ** 2 + (c * last) ** 2  # 2 T and L²
    if square > b * energy:
        rate = np.sqrt((c - b) * (square - energy * a) / (a * b * c))
        modulus = (b - a) * (energy * c - square) / ((c - b) * (square - energy * a))
        sn, cn, dn, _ = ellipj(rate * time, modulus)
        size = np.sqrt((energy * c - square) / (b * (c - b)))
        return np.array([first * cn, size * sn, last * dn])
    rate = np.sqrt((b - a) * (energy * c - square) / (a * b * c))
    modulus = (c - b) * (square - energy * a) / ((b - a) * (energy * c - square))
    sn, cn, dn, _ = ellipj(rate * time, modulus)
    size = np.sqrt((square - energy * a) / (b * (b - a)))
    return np.array([first * dn, size * sn, last * cn])


def tumbling_error(run: dal.Simulation) -> float:
    """Of the angular momentum in body axes, relative; it depends on the orientation alone, as L is constant in space."""
    w, *v = run.state.orientation[0]
    v, spin = np.array(v), run.state.angular_momentum[0]
    inside = spin + 2.0 * np.cross(v, np.cross(v, spin) - w * spin)  # turned by the inverse rotation
    exact = MOMENTS * tumbling_spin(run.time)
    return float(np.linalg.norm(inside - exact) / np.linalg.norm(exact))


ECCENTRICITY = 0.3


def orbit() -> dal.Scene:
    """A light particle about a fixed one, from the nearest point of an ellipse of semi-axis 1 m, G M = 1."""
    e = ECCENTRICITY
    scene = dal.Scene("orbit", gravity=(0, 0, 0))
    speed = np.sqrt((1.0 + e) / (1.0 - e))
    scene.add_particles(
        "bodies",
        [(0.0, 0, 0), (1.0 - e, 0, 0)],
        mass=[1.0, 1e-3],
        pinned=[True, False],
        velocity=[(0, 0, 0), (0, speed, 0)],
    )
    scene.gravitation("pull", constant=1.0)
    return scene


def orbit_error(run: dal.Simulation) -> float:
    """m, by Kepler's equation E − e sin E = t."""
    anomaly, e = run.time, ECCENTRICITY
    for _ in range(50):
        anomaly -= (anomaly - e * np.sin(anomaly) - run.time) / (1.0 - e * np.cos(anomaly))
    exact = np.array([np.cos(anomaly) - e, np.sqrt(1.0 - e * e) * np.sin(anomaly), 0.0])
    return float(np.linalg.norm(run.state.particle_position[1] - exact))


PENDULUM = Case("pendulum on a hinge", pendulum, 1.3, pendulum_error, lambda: pendulum(stop=10.0))
TUMBLING = Case("free body, tumbling", tumbling, 4.0, tumbling_error, lambda: tumbling(beside=True))
ORBIT = Case("particle on an ellipse", orbit, 4.0, orbit_error, orbit)


def run_case(case: Case, **settings: Any) -> dal.Simulation:
    """The run to the end of the case, with no frame on the way to shorten a step."""
    settings = {"frame_rate": 1.0 / case.duration} | settings
    scene = case.steppable() if settings.get("method") == "time_stepping" else case.build()
    return dal.simulate(scene, case.duration, **settings)
