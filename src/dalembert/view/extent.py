"""The box that a motion stays in: where the ground lies, and where a camera has to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.view.drawing import BodyDrawing, SceneDrawing, parse_scene
from dalembert.view.geometry import rotate, thinned

if TYPE_CHECKING:
    from dalembert.trajectory import Trajectory

__all__ = ["Extent", "motion_extent", "trajectory_drawing"]

AWAY, FAR = 3.0, 40.0


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


def motion_extent(drawing: SceneDrawing, positions: np.ndarray, orientations: np.ndarray) -> Extent:
    """The box around a motion, from the recorded bodies' positions (time, body, 3) in m and orientations (time, body, 4).

    What would make the rest too small to see does not count: bodies that stand still and are much larger than the motion
    (a floor, a terrain), and bodies that fly away from all others (a missile), which count where they start.
    """
    if not drawing.bodies or not len(positions):
        return Extent(-np.ones(3), np.ones(3), -1.0)
    instants = thinned(len(positions), max(2, min(200, 50_000 // len(drawing.bodies))))
    tracks, corners = _swept(drawing.bodies, positions[instants], orientations[instants])
    bound = np.array([body.bound for body in drawing.bodies])
    low, high = corners.min(axis=(0, 2)), corners.max(axis=(0, 2))
    first_low, first_high = corners[0].min(axis=1), corners[0].max(axis=1)
    counted = np.ptp(tracks, axis=0).max(axis=1) > 1e-9
    counted = counted if counted.any() else np.ones(len(bound), bool)
    counted |= bound <= _size(low[counted], high[counted])
    away = _flying_away(low, high, counted)
    low[away], high[away] = first_low[away], first_high[away]
    if _size(low[counted], high[counted]) > FAR * _size(first_low[counted], first_high[counted]) > 0.0:
        low, high = first_low, first_high  # all of it flew away: show where it started
    low, high = low[counted].min(axis=0), high[counted].max(axis=0)
    for link in drawing.joints + drawing.springs:
        for body, anchor in ((link.body_a, link.anchor_a), (link.body_b, link.anchor_b)):
            if body < 0:
                low, high = np.minimum(low, anchor), np.maximum(high, anchor)
    for curve in (curve for curve in drawing.curves if len(curve.points)):
        low, high = np.minimum(low, curve.points.min(axis=0)), np.maximum(high, curve.points.max(axis=0))
    if np.linalg.norm(high - low) < 1e-9:
        low, high = low - 0.5, high + 0.5
    size = np.linalg.norm(high - low)
    on_floor = -0.05 * size < low[2] < size
    return Extent(low, high, float(-0.002 * size if on_floor else low[2] - 0.04 * size))


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


def trajectory_drawing(trajectory: Trajectory) -> tuple[SceneDrawing, Extent]:
    """What `trajectory` shows: its scene, and the extent of its motion."""
    drawing = parse_scene(trajectory.scene_description, trajectory.bodies)
    return drawing, motion_extent(drawing, trajectory.position.values, trajectory.orientation.values)
