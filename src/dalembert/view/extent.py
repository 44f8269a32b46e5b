"""The box that a motion stays in: where the ground lies, and where a camera has to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.view.drawing import BodyDrawing, SceneDrawing, parse_scene
from dalembert.view.geometry import rotate, thinned
from dalembert.view.particles import ParticleDrawing

if TYPE_CHECKING:
    from dalembert.trajectory import Trajectory

__all__ = ["Extent", "motion_extent", "particle_box", "recorded_particles", "trajectory_drawing"]

AWAY, FAR = 3.0, 40.0
PARTICLE_INSTANTS, PARTICLES_LOOKED_AT = 60, 2000


@dataclass(frozen=True)
class Extent:
    """The box the motion stays in, corners (3,) in m, and the height of the ground drawn under it, m."""

    low: np.ndarray
    high: np.ndarray
    ground: float

    @property
    def center(self) -> np.ndarray:
        """Middle of the box, (3,) m."""
        return 0.5 * (self.low + self.high)

    @property
    def size(self) -> float:
        """Diagonal of the box, m."""
        return float(np.linalg.norm(self.high - self.low))

    @property
    def yaw(self) -> float:
        """Direction to look from, radians about z from x: across the plane in which most of the motion lies."""
        wide_x = self.high[0] - self.low[0] >= self.high[1] - self.low[1]
        return -np.pi / 2 + 0.45 if wide_x else 0.45


def motion_extent(
    drawing: SceneDrawing, positions: np.ndarray, orientations: np.ndarray, particles: np.ndarray | None = None
) -> Extent:
    """The box around a motion, from the recorded bodies' positions (time, body, 3) in m, orientations (time, body, 4) and
    the particles' positions (time, particle, 3) in m.

    What would make the rest too small to see does not count: bodies that stand still and are much larger than the motion
    (a floor, a terrain), bodies that fly away from all others (a missile), which count where they start, and the few of
    many free particles that fly far (`particle_box`).
    """
    cloud = particle_box(drawing.particles, particles)
    boxes = [cloud, _body_box(drawing.bodies, positions, orientations, cloud)]
    boxes += [end.anchor[None] for link in drawing.links for end in (link.a, link.b) if end.fixed]
    boxes += [curve.points for curve in drawing.curves]
    corners = np.concatenate(boxes)
    if not len(boxes[0]) and not len(boxes[1]):
        return Extent(-np.ones(3), np.ones(3), -1.0)
    low, high = corners.min(axis=0), corners.max(axis=0)
    if np.linalg.norm(high - low) < 1e-9:
        low, high = low - 0.5, high + 0.5
    size = np.linalg.norm(high - low)
    on_floor = -0.05 * size < low[2] < size
    return Extent(low, high, float(-0.002 * size if on_floor else low[2] - 0.04 * size))


def particle_box(groups: list[ParticleDrawing], particles: np.ndarray | None) -> np.ndarray:
    """The lowest and the highest corner (2, 3), m, of the particles' way, (time, particle, 3); (0, 3) where there is none.

    Surfaces and threads count whole. Of free particles those count, along each axis at each instant, that lie between the
    group's 1st and 99th percentile or beyond by at most half of what lies between: a few that fly far do not set the view.
    """
    found = [np.zeros((0, 3))]
    instants = thinned(0 if particles is None else len(particles), PARTICLE_INSTANTS)
    for group in groups:
        if particles is None or not len(particles) or not group.number:
            continue
        if group.free:
            x = particles[np.ix_(instants, group.first + thinned(group.number, PARTICLES_LOOKED_AT))]
            low, high = np.quantile(x, (0.01, 0.99), axis=1)[..., None, :]
            near = (x >= 1.5 * low - 0.5 * high) & (x <= 1.5 * high - 0.5 * low)
            low, high = np.where(near, x, np.inf).min(axis=1), np.where(near, x, -np.inf).max(axis=1)
        else:
            x = particles[instants, group.span]
            low, high = x.min(axis=1), x.max(axis=1)
        found += [low.min(axis=0)[None] - group.radius, high.max(axis=0)[None] + group.radius]
    corners = np.concatenate(found)
    return np.stack([corners.min(axis=0), corners.max(axis=0)]) if len(corners) else corners


def _body_box(
    bodies: list[BodyDrawing], positions: np.ndarray, orientations: np.ndarray, cloud: np.ndarray
) -> np.ndarray:
    """The corners (2, 3) of what counts of the bodies' way; (0, 3) where nothing does. cloud: the box of the particles."""
    if not bodies or not len(positions):
        return np.zeros((0, 3))
    instants = thinned(len(positions), max(2, min(200, 50_000 // len(bodies))))
    tracks, corners = _swept(bodies, positions[instants], orientations[instants])
    bound = np.array([body.bound for body in bodies])
    low, high = corners.min(axis=(0, 2)), corners.max(axis=(0, 2))
    first_low, first_high = corners[0].min(axis=1), corners[0].max(axis=1)
    counted = np.ptp(tracks, axis=0).max(axis=1) > 1e-9
    counted = counted if counted.any() or len(cloud) else np.ones(len(bound), bool)
    moving = np.concatenate([low[counted], high[counted], cloud])
    counted |= bound <= _size(moving, moving)
    if not counted.any():
        return np.zeros((0, 3))
    away = _flying_away(low, high, counted)
    low[away], high[away] = first_low[away], first_high[away]
    if _size(low[counted], high[counted]) > FAR * _size(first_low[counted], first_high[counted]) > 0.0:
        low, high = first_low, first_high  # all of it flew away: show where it started
    return np.stack([low[counted].min(axis=0), high[counted].max(axis=0)])


def _swept(bodies: list[BodyDrawing], x: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tracks (time, body, 3) and the corners of the bodies' own boxes along them, (time, body, 8, 3), world axes."""
    still = bodies[x.shape[1] :]
    if still:
        x = np.concatenate([x, np.tile([body.position for body in still], (len(x), 1, 1))], axis=1)
        q = np.concatenate([q, np.tile([body.orientation for body in still], (len(q), 1, 1))], axis=1)
    boxes = np.array([body.box for body in bodies])
    signs = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    corners = np.where(signs == 0, boxes[:, None, 0], boxes[:, None, 1])
    return x, x[:, :, None] + rotate(q[:, :, None], corners)


def _size(low: np.ndarray, high: np.ndarray) -> float:
    return float(np.linalg.norm(high.max(axis=0) - low.min(axis=0)))


def _flying_away(low: np.ndarray, high: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Which bodies sweep a box more than `AWAY` times as large as all others together; never more than a few."""
    away = np.zeros(len(low), bool)
    for body in np.argsort(-np.linalg.norm(high - low, axis=1))[: len(low) // 3]:
        others = counted & ~away
        others[body] = False
        if not others.any() or np.linalg.norm(high[body] - low[body]) < AWAY * _size(low[others], high[others]):
            break
        away[body] = True
    return away


def recorded_particles(trajectory: Trajectory) -> np.ndarray:
    """Positions of all particles of a run, (time, particle, 3) m; (time, 0, 3) where it has none."""
    if "particle_position" in trajectory:
        return trajectory["particle_position"].values
    return np.zeros((len(trajectory), 0, 3))


def trajectory_drawing(trajectory: Trajectory) -> tuple[SceneDrawing, Extent]:
    """What `trajectory` shows: its scene, and the extent of its motion."""
    drawing = parse_scene(trajectory.scene_description, trajectory.bodies, trajectory.particle_number)
    moved = trajectory.position.values, trajectory.orientation.values, recorded_particles(trajectory)
    return drawing, motion_extent(drawing, *moved)
