"""Camera, and geometry of drawn points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DISTANCE = 3.4  # of the radius of what is shown, from its middle to the eye
FILL = 0.86  # of the page, by what is shown


@dataclass(frozen=True)
class Camera:
    """A perspective camera: `axes` (3, 3) are right, up and back in world axes, `eye` (3,) m; a point at depth z along the
    view is at pixel `middle` + `scale` · (right, −up)/z of a picture of `size` (width, height)."""

    axes: np.ndarray
    eye: np.ndarray
    scale: float
    middle: np.ndarray
    size: tuple[int, int]

    @classmethod
    def around(cls, points: np.ndarray, elevation: float, azimuth: float, size: tuple[int, int]) -> Camera:
        """A camera from a direction (degrees above the ground, and about z from x) that these points (n, 3) m fill."""
        up, around = np.radians(elevation), np.radians(azimuth)
        back = np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])
        right = np.array([-np.sin(around), np.cos(around), 0.0])
        axes = np.stack([right, np.cross(back, right), back])
        center = 0.5 * (points.min(axis=0) + points.max(axis=0))
        radius = float(np.linalg.norm(points - center, axis=1).max()) or 1.0
        eye = center + DISTANCE * radius * back
        seen = (points - eye) @ axes.T
        flat = seen[:, :2] / -seen[:, 2:] * [1.0, -1.0]
        low, high = flat.min(axis=0), flat.max(axis=0)
        scale = float(np.min(FILL * np.array(size) / np.maximum(high - low, 0.1 / DISTANCE)))
        return cls(axes, eye, scale, 0.5 * np.array(size) - scale * 0.5 * (low + high), size)

    def project(self, points: np.ndarray) -> np.ndarray:
        """Points (..., 3) as (x and y in pixels, 1/depth); what lies behind the eye has a depth not above zero."""
        seen = (points - self.eye) @ self.axes.T
        with np.errstate(divide="ignore", invalid="ignore"):
            w = -1.0 / seen[..., 2]
            flat = self.middle + self.scale * seen[..., :2] * [1.0, -1.0] * w[..., None]
        return np.concatenate([flat, w[..., None]], axis=-1)

    @property
    def view(self) -> np.ndarray:
        """What the kernel `shade` reads, (5, 3)."""
        return np.concatenate([self.axes, [self.eye, [self.scale, *self.middle]]])


# Rotated vectors, coils of a spring, ends of a joint's axis -----------------------------------------------------------


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
