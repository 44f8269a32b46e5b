"""The double pendulum in two angles: the user's own coordinates, written in SymPy, drive the bodies of a scene.

With R₁ = R(a₁, θ₁) and R₂ = R₁ R(a₂, θ₂) the centres are x₁ = R₁ c₁ and x₂ = R₁ e + R₂ (c₂ − e). From these the equations

    Jᵀ M J θ̈ = Jᵀ (Q − M J̇ θ̇)

are derived and compiled; Q are the forces of the scene. With maximal coordinates and hinges as constraints the same scene
has the same motion and the same forces in its hinges.
"""

from __future__ import annotations

from typing import Any

from ..scene.scene import Scene
from ..simulation.settings import RunSettings
from ..simulation.simulation import Simulation, simulate
from ..symbolic import GeneralizedCoordinates
from . import double_pendulum
from ._common import require, require_ledger

build = double_pendulum.build


def coordinates(scene: Scene) -> GeneralizedCoordinates:
    """The two angles of the hinges, 0 where the scene has its bars."""
    import sympy

    first, second = sympy.symbols("theta_1 theta_2")
    upper, lower = scene.bodies.values()
    shoulder, elbow = scene.joints.values()
    assert shoulder.axis is not None and elbow.axis is not None
    turn = _rotation(shoulder.axis, first)
    turns = turn * _rotation(elbow.axis, second)
    joint = turn * sympy.Matrix(elbow.at)
    return GeneralizedCoordinates(
        scene, [first, second],
        {
            "upper": (turn * sympy.Matrix(upper.position), turn),
            "lower": (joint + turns * sympy.Matrix(lower.position - elbow.at), turns),
        },
    )  # fmt: skip


def _rotation(axis: Any, angle: Any) -> Any:
    """Rodrigues' matrix of a turn about an axis."""
    import sympy

    n = sympy.Matrix(axis)
    return sympy.eye(3) + sympy.sin(angle) * n.hat() + (1 - sympy.cos(angle)) * n.hat() ** 2


SETTINGS: RunSettings = {
    "duration": 3.0,
    "method": "dop853",
    "rtol": 1e-11,
    "frame_rate": 30.0,
    "coordinates": coordinates,
}


def check(run: Simulation) -> None:
    """Kane's equations in the two angles; the same scene with hinges as constraints, and what these bear; the energy."""
    double_pendulum.check(run)
    method, rtol, frame_rate = SETTINGS["method"], SETTINGS["rtol"], SETTINGS["frame_rate"]
    bodies = simulate(run.model.scene, run.time, method=method, rtol=rtol, frame_rate=frame_rate).trajectory
    for name, tolerance in {
        "position": 1e-10,
        "orientation": 1e-10,
        "reaction_force": 1e-8,
        "reaction_torque": 1e-8,
    }.items():
        require(name, run.trajectory[name].values, bodies[name].values, tolerance)
    require_ledger(run, energy=1e-11)
