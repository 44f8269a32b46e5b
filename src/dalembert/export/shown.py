"""What there is to see of a scene, a run or a saved run, in one form for all exports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..description import scene_description
from ..scene.contact import HalfSpace, Obstacle
from ..scene.scene import Scene
from ..simulate import Simulation
from ..trajectory import Trajectory
from ..view.drawing import SceneDrawing, parse_scene
from ..view.extent import motion_extent, recorded_particles


@dataclass(frozen=True)
class Shown:
    """n instants of b bodies, which come first in the drawing, and p particles.

    `grounds` are the obstacles that are half-spaces, and `scene` is the scene; a saved run knows neither.
    """

    name: str
    drawing: SceneDrawing
    times: np.ndarray  # (n,) s, ascending
    positions: np.ndarray  # (n, b, 3) m, of centres of mass
    orientations: np.ndarray  # (n, b, 4), w first, each on the side of the one before
    particles: np.ndarray  # (n, p, 3) m
    grounds: list[Obstacle]
    scene: Scene | None

    @property
    def size(self) -> float:
        """Of the box that all stays in, m."""
        return motion_extent(self.drawing, self.positions, self.orientations, self.particles).size


def shown(source: Simulation | Trajectory | Scene) -> Shown:
    """What a scene, a run or a saved run shows; a scene at the one instant 0.

    Raises ValueError for a run of no instants and for anything else.
    """
    if isinstance(source, Scene):
        return _of_scene(source)
    scene = source.model.scene if isinstance(source, Simulation) else None
    run = source.trajectory if isinstance(source, Simulation) else source
    if not isinstance(run, Trajectory):
        raise ValueError(f"{source!r:.80} is nothing to export; give a Scene, a Simulation or a Trajectory")
    if not len(run):
        raise ValueError("the trajectory is empty: there is nothing to export")
    drawing = parse_scene(run.scene_description, run.bodies, run.particle_number)
    return Shown(
        run.scene_name, drawing, run.times, run.position.values, continuous(run.orientation.values),
        recorded_particles(run), _grounds(scene), scene,
    )  # fmt: skip


def _of_scene(scene: Scene) -> Shown:
    bodies = scene.bodies.values()
    drawing = parse_scene(scene_description(scene, {}), list(scene.bodies))
    groups = sorted(scene.particles.values(), key=lambda group: group.first)
    particles = np.concatenate([np.zeros((0, 3)), *(group.position for group in groups)])
    return Shown(
        scene.name, drawing, np.zeros(1), np.array([body.position for body in bodies]).reshape(1, -1, 3),
        np.array([body.orientation for body in bodies]).reshape(1, -1, 4), particles[None], _grounds(scene), scene,
    )  # fmt: skip


def _grounds(scene: Scene | None) -> list[Obstacle]:
    obstacles = [] if scene is None else scene.obstacles.values()
    return [obstacle for obstacle in obstacles if isinstance(obstacle.shape, HalfSpace)]


def continuous(q: np.ndarray) -> np.ndarray:
    """Quaternions (n, ..., 4) with the sign that is nearest to the one before, so that what is between them can be
    interpolated: q and −q are the same rotation."""
    turned = np.sum(q[1:] * q[:-1], axis=-1, keepdims=True) < 0.0
    signs = np.concatenate([np.ones_like(q[:1, ..., :1]), np.cumprod(np.where(turned, -1.0, 1.0), axis=0)])
    return q * signs
