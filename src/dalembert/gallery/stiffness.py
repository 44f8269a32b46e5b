"""One pendulum whose rod is a constraint, a penalty or a spring: the accuracy of each, and its cost.

A bob of mass m on a stiff spring k swings with the tension T = m (g cos θ + l θ̇²), which stretches the spring by T/k. It
oscillates about that, because it starts unstretched. So lengths are wrong by about T/k, and explicit methods have to follow
the oscillation, at √(k/m): accuracy costs steps. A Lagrange multiplier carries T without any stretch. Implicit Euler takes
steps of any size on the spring and damps the oscillation, but also the swing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..scene.scene import Scene
from ..simulation.settings import RunSettings
from ..simulation.simulation import Simulation, simulate
from ._common import integrate, require, require_ledger

DURATION = 3.0  # s
SETTINGS: RunSettings = {"duration": DURATION, "method": "dop853", "rtol": 1e-11, "frame_rate": 60.0}
START = 1.0  # rad from the vertical, at rest
LENGTH, MASS = 1.0, 1.0  # m, kg


def build(spring: float | None = None) -> Scene:
    """A bob on a rod, or on a spring of some stiffness (N/m) instead."""
    scene = Scene("stiffness")
    scene.description = "a pendulum whose rod is a constraint, a penalty or a spring"
    bob = LENGTH * np.array([np.sin(START), 0.0, -np.cos(START)])
    group = scene.add_particles(
        "pendulum", np.array([np.zeros(3), bob]), mass=MASS, pinned=[0], radius=0.05, color="#e45756"
    )
    if spring is None:
        scene.rod("rod", group[0], group[1])
    else:
        scene.springs("spring", group, [[0, 1]], stiffness=spring)
    return scene


def angles(times: np.ndarray, gravity: float = 9.81) -> np.ndarray:
    """(2, n): the angle of the pendulum (rad) and its rate, at some instants from 0 on."""
    motion = integrate(lambda t, y: (y[1], -gravity / LENGTH * np.sin(y[0])), (START, 0.0), times)
    return np.asarray(motion.y)


def errors(run: Simulation) -> tuple[np.ndarray, np.ndarray]:
    """(frames,) each: the length less what it should be, m; the angle likewise, rad."""
    bob = run.trajectory.particle_position.values[:, 1]
    angle = np.arctan2(bob[:, 0], -bob[:, 2])
    return np.linalg.norm(bob, axis=1) - LENGTH, angle - angles(run.trajectory.times)[0]


class Row(NamedTuple):
    """One way to hold the bob: the stiffness (N/m; infinite for a constraint), worst errors (m, rad), steps, seconds."""

    stiffness: float
    length: float
    angle: float
    steps: int
    seconds: float


WAYS: dict[str, dict[str, Any]] = {
    "penalty": {"method": "dormand_prince", "rtol": 1e-8, "hold": "penalty"},
    "multiplier": {"method": "dormand_prince", "rtol": 1e-8, "hold": "projection"},
    "spring, implicit Euler": {"method": "implicit_euler", "dt": 1 / 240},
}


def run_by(way: str, stiffness: float = np.inf) -> Simulation:
    """A run with the bob held in one of `WAYS`."""
    settings = dict(WAYS[way])
    if settings.get("hold") == "penalty":
        settings["stiffness"] = stiffness
    spring = stiffness if way.startswith("spring") else None
    return simulate(build(spring), DURATION, **settings)


def measure(way: str, stiffness: float = np.inf) -> Row:
    """What one of `WAYS` makes of the pendulum."""
    run = run_by(way, stiffness)
    length, angle = errors(run)
    report = run.report
    return Row(stiffness, float(np.abs(length).max()), float(np.abs(angle).max()), report.steps, report.wall_time)


def check(run: Simulation, stiffness: float = np.inf) -> None:
    """A rod keeps its length, and the bob its angle. What is elastic, with a stiffness in N/m, is stretched as its tension
    says, and rings about that by no more than the tension that it set out with."""
    length, angle = errors(run)
    if np.isinf(stiffness):
        require("length", length, 0.0, 1e-13)
        require("angle", angle, 0.0, 1e-9)
        require_ledger(run, energy=1e-11)
        return
    swing, rate = angles(run.trajectory.times)
    tension = MASS * (9.81 * np.cos(swing) + LENGTH * rate**2)
    most = float(tension.max())
    require("stretch, of the most", length * stiffness / most, tension / most, 1.02 * float(tension[0]) / most)
