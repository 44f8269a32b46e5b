"""A rope of twenty rods with a heavy ball at its end, released from a quarter of a circle.

The rods hang on ball joints. The check integrates the same rope in its absolute angles, M(θ) θ̈ = f(θ, θ̇), without
joint forces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.body import WORLD
from ..scene.scene import Scene
from ..scene.shapes import Sphere
from ._common import PlanarTree, integrate, require, require_ledger, thin_rod

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 1.5, "method": "dop853", "rtol": 1e-11, "frame_rate": 30.0}


def build(segments: int = 20, length: float = 5.0, mass: float = 2.0, ball: float = 10.0, radius: float = 0.1) -> Scene:
    """A rope of some length (m) and mass (kg) that starts straight down and bends up to the level; `ball` in kg."""
    scene = Scene("rope")
    scene.description = "a rope of rods with a heavy ball at its end"
    slopes = (np.arange(segments) + 0.5) * 0.5 * np.pi / segments
    steps = length / segments * np.stack([np.sin(slopes), 0.0 * slopes, -np.cos(slopes)], axis=1)
    points = np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    above = WORLD
    for i in range(segments):
        rod = thin_rod(
            scene,
            f"rod {i}",
            points[i],
            points[i + 1],
            mass / segments,
            radius=0.015,
            color=("#9d755d", "#d8b08c")[i % 2],
        )
        scene.ball(f"joint {i}", above, rod, at=points[i])
        above = rod
    weight = scene.add_body(
        "ball", Sphere(radius), mass=ball, position=points[-1] + [radius, 0.0, 0.0], color="#4c78a8"
    )
    scene.ball("knot", above, weight, at=points[-1])
    return scene


def tree(scene: Scene) -> PlanarTree:
    """The same rope in absolute angles, all zero at the start."""
    bodies = list(scene.bodies.values())
    at = np.array([joint.at for joint in scene.joints.values()]) @ (1.0, 0.0, 1j)
    centers = np.array([body.position for body in bodies]) @ (1.0, 0.0, 1j)
    vectors = np.tril(np.broadcast_to(np.append(np.diff(at), 0.0), (len(bodies), len(bodies))), -1)
    vectors = vectors + np.diag(centers - at)
    across = np.array([0.0, 1.0, 0.0])
    inertias = [across @ body.rotation @ body.inertia @ body.rotation.T @ across for body in bodies]
    return PlanarTree([body.mass for body in bodies], vectors, inertias, gravity=-float(scene.gravity[2]))


def check(run: Simulation) -> None:
    """All centres against the motion in angles, at all frames; the energy; the joints."""
    model = tree(run.model.scene)
    count = len(model.masses)
    motion = integrate(model, np.zeros(2 * count), run.trajectory.times, rtol=1e-10, atol=1e-11).y.T
    points = np.array([model.points(y[:count]) for y in motion])
    expected = np.stack([points.real, 0.0 * points.real, points.imag], axis=2)
    require("centres of the rods and the ball", run.trajectory.position.values, expected, 1e-7)
    require_ledger(run, energy=1e-10)
