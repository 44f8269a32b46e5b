"""The default camera: a direction from which terrain does not hide the bodies, and the part of a scene that moves."""

from __future__ import annotations

from collections import deque

import numpy as np

from .camera import rotate, thinned
from .drawing import BodyDrawing, Extent, SceneDrawing

# Direction: as low as nothing large hides the bodies ------------------------------------------------------------------

ELEVATIONS = (16.0, 28.0, 42.0, 58.0, 75.0)  # degrees above the ground, the preferred one first
SEEN = 0.9  # share of the bodies that must be in sight
LOOKED_AT = 24  # bodies, at each of
INSTANTS = 3  # instants
HIDING = 0.2  # of the extent's size: the radius of a body from which on it may hide others
MOST_TRIANGLES = 6000


def elevation_of(drawing: SceneDrawing, extent: Extent, positions: np.ndarray, orientations: np.ndarray) -> float:
    """Degrees above the ground to look from, at the azimuth `extent.yaw`: the lowest of `ELEVATIONS` from which large bodies
    at rest hide few of the moving ones, positions (time, body, 3) m and orientations (time, body, 4) of all bodies."""
    positions, orientations = _with_still(drawing.bodies, positions, orientations)
    if not len(positions):
        return ELEVATIONS[0]
    moving = np.ptp(positions, axis=0).max(axis=1) > 1e-9
    hiding = [b for b, body in enumerate(drawing.bodies)
              if not moving[b] and len(body.faces) and body.bound > HIDING * extent.size]  # fmt: skip
    shown = np.flatnonzero(moving) if moving.any() else np.setdiff1d(np.arange(len(moving)), hiding)
    if not hiding or not len(shown):
        return ELEVATIONS[0]
    triangles = np.concatenate([_triangles(drawing.bodies[b], positions[0, b], orientations[0, b]) for b in hiding])
    triangles = triangles[thinned(len(triangles), MOST_TRIANGLES)]
    shown = shown[thinned(len(shown), LOOKED_AT)]
    up = np.array([0.6 * drawing.bodies[b].bound for b in shown])[:, None] * (0.0, 0.0, 1.0)
    points = np.concatenate([positions[i, shown] + up for i in thinned(len(positions), INSTANTS)])
    shares = [1.0 - hidden(points, direction(e, extent.yaw), triangles).mean() for e in ELEVATIONS]
    return next((e for e, share in zip(ELEVATIONS, shares, strict=True) if share >= SEEN),
                ELEVATIONS[int(np.argmax(shares))])  # fmt: skip


def direction(elevation: float, yaw: float) -> np.ndarray:
    """Unit vector (3,) from the scene to the eye: elevation in degrees, yaw in radians about z from x."""
    up = np.radians(elevation)
    return np.array([np.cos(up) * np.cos(yaw), np.cos(up) * np.sin(yaw), np.sin(up)])


def hidden(points: np.ndarray, towards: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Whether a ray from each point (n, 3) in the direction `towards` (3,) meets one of the triangles (m, 3, 3): (n,).

    Möller & Trumbore (1997), Fast, minimum storage ray/triangle intersection.
    """
    a, p, q = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    h = np.cross(towards, q)
    det = np.einsum("mi,mi->m", p, h)
    inverse = np.divide(1.0, det, out=np.full(len(det), np.nan), where=det != 0.0)
    found = np.zeros(len(points), bool)
    for i, point in enumerate(points):
        s = point - a
        u = inverse * np.einsum("mi,mi->m", s, h)
        c = np.cross(s, p)
        v, t = inverse * (c @ towards), inverse * np.einsum("mi,mi->m", q, c)
        found[i] = np.any((u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t > 0.0))
    return found


def _triangles(body: BodyDrawing, position: np.ndarray, orientation: np.ndarray) -> np.ndarray:
    return position + rotate(orientation, (body.vertices - body.center)[body.faces])


def _with_still(
    bodies: list[BodyDrawing], positions: np.ndarray, orientations: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """With the bodies that were not recorded, where they stand."""
    still = bodies[positions.shape[1] :]
    if still:
        count = len(positions)
        positions = np.concatenate([positions, np.tile([b.position for b in still], (count, 1, 1))], axis=1)
        orientations = np.concatenate([orientations, np.tile([b.orientation for b in still], (count, 1, 1))], axis=1)
    return positions, orientations


# What moves: the camera of a scene whose parts are far from each other follows the fastest ----------------------------

LARGE = 0.35  # of the extent's size: the radius of a body that belongs to no part
GAP = 4.0  # of the larger part's length: a scene with a wider gap between two parts is scattered
SETTLE = 0.4  # s: how fast the camera follows
CLOSE = 0.06  # of the extent's size: the least that is framed


def is_scattered(drawing: SceneDrawing, extent: Extent, positions: np.ndarray) -> bool:
    """Whether the bodies of a scene, at positions (b, 3) m, form two parts with so much room between them that a picture of
    both shows neither."""
    ends = np.array([(at - body.bound, at + body.bound) for body, at in zip(drawing.bodies, positions, strict=True)
                     if body.bound < LARGE * extent.size])  # fmt: skip
    if len(ends) < 2 or drawing.particles:
        return False
    axis = int(np.argmax(extent.high - extent.low))
    low, high = ends[:, :, axis][np.argsort(ends[:, 0, axis])].T
    reached = np.maximum.accumulate(high)
    gaps = low[1:] - reached[:-1]
    widest = int(np.argmax(gaps))
    parts = reached[widest] - low[0], reached[-1] - low[widest + 1]
    return bool(gaps[widest] > GAP * max(parts))


class Focus:
    """The part of a scene that moves: its middle (3,) m and its size (m), which follow with some delay."""

    def __init__(self, drawing: SceneDrawing, extent: Extent) -> None:
        self._bounds = np.array([body.bound for body in drawing.bodies])
        self._least = CLOSE * extent.size
        self.center: np.ndarray | None = None
        self.size = 0.0

    def follow(self, positions: np.ndarray, velocities: np.ndarray, passed: float) -> bool:
        """Go on by `passed` s (of the clock) towards what moves now: bodies at positions (b, 3) m, weighted by the fourth
        power of their speeds, of velocities (b, 3) m/s. Returns whether there is something to look at."""
        weights = np.einsum("bi,bi->b", velocities, velocities) ** 2
        total = float(weights.sum())
        if total > 1e-12 * self._least**4:
            weights = weights / total
            center = weights @ positions
            spread = float(np.sqrt(weights @ np.sum((positions - center) ** 2, axis=1)))
            size = max(6.0 * float(weights @ self._bounds), 5.0 * spread, self._least)
            if self.center is None:
                self.center, self.size = center, size
            share = 1.0 - np.exp(-passed / SETTLE)
            self.center = self.center + share * (center - self.center)
            self.size += share * (size - self.size)
        return self.center is not None


# The camera of a page that follows something --------------------------------------------------------------------------

RECENT = 240  # places of a camera that a page may still tell of


class Aim:
    """Where a page that follows something looks from: `offset` (3,) m, from what it looks at to its camera.

    A page tells where its camera is some time after it was put there. A place that it was put at lately is therefore no
    news; another one says that a person turned or moved the camera.
    """

    def __init__(self, offset: np.ndarray) -> None:
        self.offset = np.array(offset, float)
        self._places: deque[np.ndarray] = deque(maxlen=RECENT)

    def hear(self, position: np.ndarray, look_at: np.ndarray) -> None:
        """The page tells that its camera is at a position and looks at a point, (3,) m."""
        if self._places:
            distances = np.linalg.norm(np.array(self._places) - position, axis=1)
            if distances.min() > 1e-3 * np.linalg.norm(self.offset):
                self.offset = np.array(position - look_at, float)

    def put(self, position: np.ndarray) -> None:
        """The page was told to put its camera at a position, (3,) m."""
        self._places.append(np.array(position, float))
