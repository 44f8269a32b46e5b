"""Images of cameras: the triangles of all shapes through a z-buffer, and half-spaces as planes.

The z-buffer is that of the pictures (`view.canvas.fill`). It keeps 1/depth and the triangle of each pixel; from these follow
depth, identity and, with one light and no shadows, colour.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..model.compile import Model
from ..scene.sensor import Camera
from ..scene.shapes import HalfSpace
from .instant import Motion

SKY = np.array([0.78, 0.86, 0.94])
LIGHT = np.array([0.35, -0.5, 1.0]) / np.linalg.norm([0.35, -0.5, 1.0])
AMBIENT, DIFFUSE = 0.5, 0.5
FACETS = 48  # around round shapes
ASIDE = (
    1.7e-7,
    2.9e-7,
)  # pixels by which images are moved, so that edges in symmetric views do not fall on their middles


class Renderer:
    """Draws the bodies and obstacles of a scene."""

    def __init__(self, model: Model) -> None:
        scene = model.scene
        self._bodies = len(scene.bodies)
        items: list[Any] = [*scene.bodies.values(), *scene.obstacles.values()]
        self._items = items
        self._colors = np.array([_rgb(item.color) for item in items]).reshape(-1, 3)
        corners, numbers = [np.zeros((0, 3, 3))], [np.zeros(0, np.int64)]
        self._planes = [i for i, item in enumerate(items) if isinstance(item.shape, HalfSpace)]
        for i, item in enumerate(items):
            if item.shape is None or i in self._planes:
                continue
            vertices, faces = item.shape.triangles(FACETS)
            center = getattr(item, "center", np.zeros(3))  # of bodies, whose frame is there
            corners.append((np.asarray(vertices) - center)[np.asarray(faces)])
            numbers.append(np.full(len(faces), i))
        self._corners, self._numbers = np.concatenate(corners), np.concatenate(numbers)
        self._last: tuple[Any, ...] = ()
        self._drawn: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def image(
        self, sensor: Camera, body: int, eye: np.ndarray, axes: np.ndarray, motion: Motion, time: float
    ) -> np.ndarray:
        """The image of a camera at `eye` with these axes (columns: right, up, back). body : its own, which is not drawn."""
        view = (
            sensor.size,
            sensor.field_of_view,
            sensor.near,
            body,
            eye.tobytes(),
            axes.tobytes(),
            motion.x.tobytes(),
            time,
        )
        if view != self._last or self._drawn is None:
            self._last, self._drawn = view, self._draw(sensor, body, eye, axes, motion)
        depth, number, normal = self._drawn
        if sensor.image == "depth":
            return depth.copy()
        if sensor.image == "segmentation":
            return number.copy()
        facing = np.maximum(normal @ LIGHT, 0.0)
        colors = np.concatenate([self._colors, SKY[None]])[number]
        bright = np.where(number < 0, 1.0, AMBIENT + DIFFUSE * facing)
        return np.asarray(np.rint(255.0 * np.minimum(colors * bright[..., None], 1.0)), np.uint8)

    def _draw(
        self, sensor: Camera, body: int, eye: np.ndarray, axes: np.ndarray, motion: Motion
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Depth (h, w) m, number of what is seen (h, w), and its outward normal (h, w, 3)."""
        from ..view.canvas import fill, new_buffers

        width, height = sensor.size
        scale = 0.5 * height / math.tan(0.5 * sensor.field_of_view)
        seen, normals, numbers = self._placed(body, eye, axes, motion)
        seen, owners = cut(seen, sensor.near)
        w = 1.0 / -seen[..., 2]
        middle = np.array([0.5 * width, 0.5 * height]) + ASIDE
        flat = np.concatenate([middle + scale * seen[..., :2] * [1.0, -1.0] * w[..., None], w[..., None]], axis=-1)
        nearness, owner = new_buffers(height, width)
        fill(np.ascontiguousarray(flat), owners, nearness, owner)
        hit = owner >= 0
        number = np.where(hit, np.append(numbers, -1)[owner], -1).astype(np.int32)
        normal = np.concatenate([normals, np.zeros((1, 3))])[owner]
        with np.errstate(divide="ignore"):
            depth = np.where(hit, 1.0 / nearness, np.inf).astype(np.float32)
        for plane in self._planes:
            self._add_plane(plane, sensor, scale, eye, axes, motion, (depth, number, normal))
        return depth, number, normal

    def _placed(
        self, body: int, eye: np.ndarray, axes: np.ndarray, motion: Motion
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Corners of all triangles in the axes of the camera (m, 3, 3), their normals in the world, and their numbers."""
        keep = self._numbers != body if body >= 0 else slice(None)
        numbers, corners = self._numbers[keep], self._corners[keep]
        x, turn = self._poses(motion)
        placed = np.einsum("mij,mkj->mki", turn[numbers], corners) + x[numbers][:, None]
        across = np.cross(placed[:, 1] - placed[:, 0], placed[:, 2] - placed[:, 0])
        length = np.linalg.norm(across, axis=1, keepdims=True)
        return (placed - eye) @ axes, across / np.where(length > 0.0, length, 1.0), numbers

    def _poses(self, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
        """Positions and rotations of bodies, then obstacles."""
        fixed = self._items[self._bodies :]
        places = np.array([item.position for item in fixed]).reshape(-1, 3)
        turns = np.array([item.rotation for item in fixed]).reshape(-1, 3, 3)
        return np.concatenate([motion.x[:-1], places]), np.concatenate([motion.rotation[:-1], turns])

    def _add_plane(
        self, plane: int, sensor: Camera, scale: float, eye: np.ndarray, axes: np.ndarray, motion: Motion, drawn: Any
    ) -> None:
        """Draw the surface of a half-space where it is nearer."""
        width, height = sensor.size
        x, turn = self._poses(motion)
        up, point = turn[plane][:, 2], x[plane]
        above = float(up @ (eye - point))
        across, down = np.meshgrid(np.arange(width) + 0.5 - 0.5 * width, np.arange(height) + 0.5 - 0.5 * height)
        rays = np.stack([across / scale, -down / scale, -np.ones_like(across)], axis=-1) @ axes.T
        falls = rays @ up
        with np.errstate(divide="ignore", invalid="ignore"):
            depth = np.where((falls < 0.0) & (above > 0.0), above / -falls, np.inf)
        nearer = (depth < drawn[0]) & (depth >= sensor.near)
        drawn[0][nearer], drawn[1][nearer], drawn[2][nearer] = depth[nearer], plane, up


def cut(corners: np.ndarray, near: float) -> tuple[np.ndarray, np.ndarray]:
    """Triangles (m, 3, 3) in the axes of a camera, cut off where they are nearer than `near` (m), and the number of the one
    that each is a part of."""
    depth = -corners[..., 2]
    ahead = depth > near
    whole, crossed = np.flatnonzero(ahead.all(axis=1)), np.flatnonzero(ahead.any(axis=1) & ~ahead.all(axis=1))
    parts, owners = [corners[whole]], [whole]
    for k in crossed:
        polygon: list[np.ndarray] = []
        ends = zip(corners[k], np.roll(corners[k], -1, 0), depth[k], np.roll(depth[k], -1), strict=True)
        for a, b, za, zb in ends:
            polygon += [a] if za > near else []
            polygon += [a + (near - za) / (zb - za) * (b - a)] if (za > near) != (zb > near) else []
        parts.append(np.array([[polygon[0], polygon[i], polygon[i + 1]] for i in range(1, len(polygon) - 1)]))
        owners.append(np.full(len(parts[-1]), k))
    return np.concatenate(parts), np.concatenate(owners).astype(np.int64)


def _rgb(color: str) -> list[float]:
    return [int(color[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
