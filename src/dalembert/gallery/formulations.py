"""One double pendulum by every formulation: penalty, multipliers with feedback or projection, joint and symbolic coordinates.

The equations are the same; the difference is how the joints stay closed. With a penalty they stretch by their load over
its stiffness, and oscillate, which needs small steps. With feedback they drift as far as the method's errors push them.
Projection closes them after every step. Joint coordinates, and the user's own coordinates in SymPy, cannot open them,
and have fewer numbers to integrate. The reference is that of the scene double-pendulum: Kane's equations in the two angles,
integrated by SciPy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..scene.scene import Scene
from ..simulation.settings import RunSettings
from ..simulation.simulation import Simulation, simulate
from . import double_pendulum, generalized
from ._common import integrate, require, require_ledger

DURATION = 2.0  # s
SETTINGS: RunSettings = {
    "duration": DURATION,
    "method": "dop853",
    "rtol": 1e-11,
    "frame_rate": 30.0,
    "coordinates": "joint",
}
WAYS: dict[str, dict[str, Any]] = {
    "penalty, 1e5 N/m": {"hold": "penalty", "stiffness": 1e5, "damping": 100.0},
    "penalty, 1e7 N/m": {"hold": "penalty", "stiffness": 1e7, "damping": 1000.0},
    "multipliers, feedback": {"hold": "feedback", "stiffness": 400.0, "damping": 40.0},
    "multipliers, projection": {},
    "joint coordinates": {"coordinates": "joint"},
    "symbolic coordinates": {"coordinates": generalized.coordinates},
}


class Row(NamedTuple):
    """What one formulation made of it: worst error of a centre of mass and of a joint (m), steps, seconds in the kernels."""

    error: float
    joint_error: float
    steps: int
    seconds: float


def build() -> Scene:
    """The double pendulum, its axes tilted by 45°."""
    scene = double_pendulum.build()
    scene.name, scene.description = (
        "formulations",
        "a double pendulum in joint coordinates and every other formulation",
    )
    return scene


def reference(scene: Scene, times: np.ndarray) -> np.ndarray:
    """(frames, 2, 3) m: the centres of both bars."""
    model = double_pendulum._Angles(scene)
    motion = integrate(model, np.zeros(4), times, rtol=1e-12, atol=1e-13).y.T
    return np.array([model.centers(y[:2]) for y in motion])


def run_by(way: str, rtol: float) -> Simulation:
    """A run by one of `WAYS`, with Dormand and Prince's method at a tolerance."""
    return simulate(build(), DURATION, method="dormand_prince", rtol=rtol, frame_rate=30.0, **WAYS[way])


def measure(way: str, rtol: float) -> Row:
    """How far a run is from the reference, and what it took."""
    run = run_by(way, rtol)
    expected = reference(run.model.scene, run.trajectory.times)
    error = float(np.abs(run.trajectory.position.values - expected).max())
    joint_error = float(run.trajectory.joint_error.values.max())
    return Row(error, joint_error, run.report.steps, run.kernel_time)


def check(run: Simulation) -> None:
    """The centres of both bars against Kane's equations; the energy."""
    require("centres", run.trajectory.position.values, reference(run.model.scene, run.trajectory.times), 1e-9)
    require_ledger(run, energy=1e-10)
