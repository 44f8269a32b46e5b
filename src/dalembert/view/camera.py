"""Where a picture is taken from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Camera"]

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
