"""A double pendulum in space: both hinge axes lie 45° off the horizontal, to either side, so that the arms leave the plane.

With ω₂ = θ̇₁ a₁ + θ̇₂ R₁ a₂ and so on, the motion in the two angles follows from Kane's equations
Σ (∂v/∂θ̇)·m (v̇ − g) + (∂ω/∂θ̇)·(I ω̇ + ω × I ω) = 0, which the check integrates independently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.body import WORLD
from ..scene.checks import rotation_matrix
from ..scene.scene import Scene
from ..scene.shapes import Box
from ._common import integrate, require, require_ledger

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 3.0, "method": "dop853", "rtol": 1e-11, "frame_rate": 30.0}


def build(tilt: float = np.pi / 4, length: float = 1.0, mass: float = 1.0) -> Scene:
    """Two bars of some length (m) and mass (kg) that hang level along x; their axes are `tilt` (rad) off the horizontal."""
    scene = Scene("double pendulum")
    scene.description = "two bars on hinges whose axes are tilted"
    shape = Box(length, 0.05 * length, 0.1 * length)
    upper = scene.add_body("upper", shape, mass=mass, position=(0.5 * length, 0.0, 0.0), color="#4c78a8")
    lower = scene.add_body("lower", shape, mass=mass, position=(1.5 * length, 0.0, 0.0), color="#f58518")
    c, s = np.cos(tilt), np.sin(tilt)
    scene.hinge("shoulder", WORLD, upper, at=(0.0, 0.0, 0.0), axis=(0.0, c, s))
    scene.hinge("elbow", upper, lower, at=(length, 0.0, 0.0), axis=(0.0, c, -s))
    return scene


class _Angles:
    """The two bars in their joint angles; points and axes as at the start, where both angles are zero."""

    def __init__(self, scene: Scene) -> None:
        self.bodies = list(scene.bodies.values())
        shoulder, elbow = scene.joints.values()
        assert shoulder.axis is not None and elbow.axis is not None
        self.axes = shoulder.axis, elbow.axis
        self.elbow = elbow.at
        self.gravity = scene.gravity

    def rotations(self, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first, second = (
            rotation_matrix((np.cos(0.5 * angle), *(np.sin(0.5 * angle) * axis)))
            for angle, axis in zip(angles, self.axes, strict=True)
        )
        return first, first @ second

    def centers(self, angles: np.ndarray) -> np.ndarray:
        """(2, 3) m."""
        first, second = self.rotations(angles)
        upper, lower = self.bodies
        return np.array([first @ upper.position, first @ self.elbow + second @ (lower.position - self.elbow)])

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        first, second = self.rotations(y[:2])
        rate_1, rate_2 = y[2:]
        axis_1, axis_2 = self.axes[0], first @ self.axes[1]
        spin_1 = rate_1 * axis_1
        spin_2 = spin_1 + rate_2 * axis_2
        turning = rate_2 * np.cross(spin_1, axis_2)  # ω̇₂ at constant rates
        upper, lower = self.bodies
        elbow = first @ self.elbow
        arm = second @ (lower.position - self.elbow)
        center = first @ upper.position
        zero = np.zeros(3)
        parts = (
            (upper, first, spin_1, zero, (axis_1, zero), (np.cross(axis_1, center), zero),
             np.cross(spin_1, np.cross(spin_1, center))),
            (lower, second, spin_2, turning, (axis_1, axis_2), (np.cross(axis_1, elbow + arm), np.cross(axis_2, arm)),
             np.cross(spin_1, np.cross(spin_1, elbow)) + np.cross(turning, arm)
             + np.cross(spin_2, np.cross(spin_2, arm))),
        )  # fmt: skip
        matrix, push = np.zeros((2, 2)), np.zeros(2)
        for body, rotation, spin, alpha, turns, moves, acceleration in parts:
            inertia = rotation @ body.inertia @ rotation.T
            w, v = np.array(turns), np.array(moves)
            matrix += body.mass * v @ v.T + w @ inertia @ w.T
            push += body.mass * v @ (self.gravity - acceleration)
            push -= w @ (inertia @ alpha + np.cross(spin, inertia @ spin))
        return np.concatenate([y[2:], np.linalg.solve(matrix, push)])


def check(run: Simulation) -> None:
    """The centres of both bars against Kane's equations in the two angles, at all frames; the energy."""
    model = _Angles(run.model.scene)
    motion = integrate(model, np.zeros(4), run.trajectory.times, rtol=1e-11, atol=1e-12).y.T
    centers = np.array([model.centers(y[:2]) for y in motion])
    require("centres of the bars", run.trajectory.position.values, centers, 1e-9)
    require_ledger(run, energy=1e-11)
