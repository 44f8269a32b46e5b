"""Points of what is drawn: turned vectors, the coils of a spring, the ends of a joint's axis."""

from __future__ import annotations

import numpy as np

__all__ = ["axis_ends", "coil_points", "rotate", "segments", "thinned"]


def rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors v (..., 3) turned by unit quaternions q (..., 4), (w, x, y, z)."""
    t = 2.0 * np.cross(q[..., 1:], v)
    return v + q[..., :1] * t + np.cross(q[..., 1:], t)


def coil_points(a: np.ndarray, b: np.ndarray, coils: int, radius: float) -> np.ndarray:
    """Points (n, 3) of a helix with straight ends from a to b, in m; only a and b when `coils` is 0."""
    axis = b - a
    if not coils or not np.any(axis):
        return np.stack([a, b])
    other = np.array([1.0, 0, 0]) if abs(axis[2]) > 0.9 * np.linalg.norm(axis) else np.array([0.0, 0, 1])
    side = np.cross(axis, other)
    side /= np.linalg.norm(side)
    up = np.cross(axis, side) / np.linalg.norm(axis)
    s = np.linspace(0.0, 1.0, 14 * coils + 1)[:, None]
    turn = 2 * np.pi * coils * s
    helix = a + axis * (0.1 + 0.8 * s) + radius * (side * np.cos(turn) + up * np.sin(turn))
    return np.concatenate([a[None], helix, b[None]])


def axis_ends(anchor: np.ndarray, axis: np.ndarray, half: float) -> np.ndarray:
    """Both ends (2, 3) of the stroke drawn for a joint's axis: `half` m to either side of its anchor."""
    return np.stack([anchor - half * axis, anchor + half * axis])


def segments(points: np.ndarray) -> np.ndarray:
    """Polyline (n, 3) as segments (n − 1, 2, 3)."""
    return np.stack([points[:-1], points[1:]], axis=1)


def thinned(count: int, most: int) -> np.ndarray:
    """At most `most` indices below `count`, evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, most)).round().astype(int))
