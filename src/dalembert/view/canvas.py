"""Meshes, lines and balls of one instant, and the picture that the z-buffer makes of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.view.camera import Camera
from dalembert.view.extent import Extent
from dalembert.view.raster import fill, fill_discs, new_buffers
from dalembert.view.shading import FLAT, SOLID, backdrop, shade

__all__ = ["LIGHT", "Canvas", "backdrop_of"]

LIGHT = np.array([0.35, -0.5, 1.0]) / np.linalg.norm([0.35, -0.5, 1.0])
SHADOW_MAP = 1536  # texels a side
NEAR = 0.01  # of the distance to the middle: what is nearer to the eye is cut away
ABOVE = 1e4  # by which w is greater of what nothing hides

# What one row of each list holds.
MESH = (((3, 3), float), ((3, 3), float), ((3,), float), ((), int), ((), float), ((), bool))
STROKE = (((3, 3), float), ((3,), float))
BALL = (((3,), float), ((), float), ((), float), ((3,), float), ((), int), ((), float))


class Canvas:
    """Collects what is to be seen, then `render`s it."""

    def __init__(self, camera: Camera, extent: Extent, back: np.ndarray) -> None:
        """back: the `backdrop_of` this camera."""
        self.camera, self.extent, self._back = camera, extent, back
        self._meshes: list[tuple[np.ndarray, ...]] = []
        self._strokes: list[tuple[np.ndarray, np.ndarray]] = []
        self._balls: list[tuple[np.ndarray, ...]] = []

    def add_mesh(
        self, corners: np.ndarray, normals: np.ndarray, colors: np.ndarray, kind: int, fade: float = 1.0,
        casts: np.ndarray | bool = True,
    ) -> None:  # fmt: skip
        """Triangles (m, 3, 3) m with normals at their corners, colours (m, 3); casts: whether they throw a shadow."""
        m = len(corners)
        self._meshes.append((corners, normals, colors, np.full(m, kind), np.full(m, fade), np.broadcast_to(casts, m)))

    def add_strokes(self, segments: np.ndarray, colors: np.ndarray, width: float, over: bool = False) -> None:
        """Lines (n, 2, 3) m of a width in pixels, with colours (n, 3) or one; over: nothing hides them."""
        ends = self.camera.project(segments)
        ahead = (ends[..., 2] > 0.0).all(axis=1)
        ends, shades = ends[ahead], np.broadcast_to(colors, (len(segments), 3))[ahead]
        along = ends[:, 1, :2] - ends[:, 0, :2]
        length = np.linalg.norm(along, axis=1, keepdims=True)
        along = np.divide(along, length, out=np.tile([1.0, 0.0], (len(along), 1)), where=length > 0.0) * 0.5 * width
        side = np.stack([-along[:, 1], along[:, 0]], axis=1)
        lift = ABOVE if over else 1.0005
        quads = np.repeat(ends, 2, axis=1)  # both corners at one end, both at the other
        quads[:, :, :2] += np.stack([-along - side, -along + side, along - side, along + side], axis=1)
        quads[:, :, 2] *= lift
        self._strokes.append((quads[:, [[0, 1, 2], [1, 3, 2]]].reshape(-1, 3, 3), np.repeat(shades, 2, axis=0)))

    def add_balls(self, points: np.ndarray, radius: np.ndarray | float, colors: np.ndarray, least: float = 0.9) -> None:
        """Balls (n, 3) m of radii in m, with colours (n, 3) or one; at least so many pixels in radius."""
        self._add_discs(points, radius, least, colors, SOLID, 1.0)

    def add_dots(self, points: np.ndarray, pixels: float, color: np.ndarray, over: float = 1.0) -> None:
        """Flat dots of a radius in pixels that nothing hides, but dots with a greater `over`."""
        self._add_discs(points, 0.0, pixels, color, FLAT, over * 10.0 * ABOVE)

    def _add_discs(
        self, points: np.ndarray, radius: np.ndarray | float, least: float, colors: np.ndarray, kind: int, over: float
    ) -> None:
        n = len(points)
        self._balls.append((points, np.broadcast_to(radius, n), np.broadcast_to(least, n),
                            np.broadcast_to(colors, (n, 3)), np.full(n, kind), np.full(n, over)))  # fmt: skip

    def render(self, fine: int = 2) -> np.ndarray:
        """The picture, (height, width, 3) uint8, of fine × fine samples a pixel."""
        width, height = self.camera.size
        corners, normals, colors, kinds, fades, casts = _joined(self._meshes, MESH)
        strokes, stroke_colors = _joined(self._strokes, STROKE)
        balls, radii, least, ball_colors, ball_kinds, over = _joined(self._balls, BALL)
        depth, owner = new_buffers(fine * height, fine * width)
        seen, owners = self._in_front(corners)
        samples = np.array([fine, fine, 1.0])
        fill(self.camera.project(seen) * samples, owners, depth, owner)
        fill(strokes * samples, np.arange(len(strokes)) + len(corners), depth, owner)
        discs = self.camera.project(balls)
        behind = ~(discs[:, 2] > 0.0)
        discs[behind] = 0.0
        pixels = np.where(behind, 0.0, np.maximum(self.camera.scale * radii * discs[:, 2], least))
        bulges = np.minimum(radii * discs[:, 2], 0.9)
        discs[:, 2] *= over
        first = len(corners) + len(strokes)
        fill_discs(discs * samples, np.maximum(fine * pixels, 1e-9), bulges, first, depth, owner)
        shadow, tops, frame = self._shadow(corners[casts], balls[ball_kinds == SOLID], radii[ball_kinds == SOLID])
        picture = np.empty((height, width, 3), np.uint8)
        ground = _ground(self.camera, self.extent)
        colors = np.concatenate([colors, stroke_colors])
        shade(self.camera.view, fine, owner, corners, normals, colors, kinds, fades, balls, radii, ball_colors, ball_kinds,
              first, LIGHT, shadow, tops, frame, ground, self._back, picture)  # fmt: skip
        return picture

    def _in_front(self, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Triangles cut off where they come too near to the eye, and the index of the one each is a part of."""
        depth = (self.camera.eye - corners) @ self.camera.axes[2]
        near = NEAR * float(np.linalg.norm(self.camera.eye - self.extent.center))
        ahead = depth > near
        whole, cut = np.flatnonzero(ahead.all(axis=1)), np.flatnonzero(ahead.any(axis=1) & ~ahead.all(axis=1))
        parts, owners = [corners[whole]], [whole]
        for k in cut:
            polygon = []
            for a, b, za, zb in zip(
                corners[k], np.roll(corners[k], -1, 0), depth[k], np.roll(depth[k], -1), strict=True
            ):
                polygon += [a] if za > near else []
                polygon += [a + (near - za) / (zb - za) * (b - a)] if (za > near) != (zb > near) else []
            parts.append(np.array([[polygon[0], polygon[i], polygon[i + 1]] for i in range(1, len(polygon) - 1)]))
            owners.append(np.full(len(parts[-1]), k))
        return np.concatenate(parts), np.concatenate(owners)

    def _shadow(self, corners: np.ndarray, balls: np.ndarray, radii: np.ndarray) -> tuple[np.ndarray, ...]:
        """The shadow map of the extent, the tops of its blocks, and its frame; see `shade`."""
        across = np.cross(LIGHT, [0.0, 1.0, 0.0])
        across /= np.linalg.norm(across)
        axes = np.stack([across, np.cross(LIGHT, across), LIGHT])
        low, high = self.extent.low, self.extent.high
        box = np.array([[low[i] if k & 1 << i else high[i] for i in range(3)] for k in range(8)]) @ axes[:2].T
        middle, side = 0.5 * (box.min(axis=0) + box.max(axis=0)), 1.1 * float(np.ptp(box, axis=0).max())
        texels = SHADOW_MAP / side
        corner = middle - 0.5 * side
        depth, owner = new_buffers(SHADOW_MAP, SHADOW_MAP)
        depth[:] = -np.inf

        def cast(points: np.ndarray) -> np.ndarray:
            return (points @ axes.T - [*corner, 0.0]) * [texels, texels, 1.0]

        fill(cast(corners), np.zeros(len(corners), np.int64), depth, owner)
        fill_discs(cast(balls), np.maximum(radii * texels, 0.5), np.zeros(len(balls)), 0, depth, owner)
        blocks = depth.reshape(SHADOW_MAP // 16, 16, SHADOW_MAP // 16, 16)
        return depth, blocks.max(axis=(1, 3)), np.concatenate([axes, [[*corner, texels]]])


def backdrop_of(camera: Camera, extent: Extent) -> np.ndarray:
    """What a camera sees behind everything; see `shading.backdrop`."""
    width, height = camera.size
    found = np.empty((height, width, 2), np.float32)
    backdrop(camera.view, _ground(camera, extent), found)
    return found


def _ground(camera: Camera, extent: Extent) -> np.ndarray:
    """Height of the ground, spacing of its grid, and how far off it fades, m."""
    return np.array([extent.ground, grid_spacing(extent), 3.0 * float(np.linalg.norm(camera.eye - extent.center))])


def grid_spacing(extent: Extent) -> float:
    """Between the lines of the ground's grid, m: a power of ten, or half of one."""
    half = 0.5 * float(np.max(extent.high - extent.low)) or 1.0
    step = 10.0 ** np.floor(np.log10(half))
    return float(step / 2 if half / step < 2.5 else step)


def _joined(
    parts: Sequence[tuple[np.ndarray, ...]], columns: tuple[tuple[tuple[int, ...], type], ...]
) -> list[np.ndarray]:
    """Each column of the parts as one array; the shape of a row and the type of each column are given."""
    return [
        np.concatenate([np.zeros((0, *shape), kind), *(part[k] for part in parts)], dtype=kind)
        for k, (shape, kind) in enumerate(columns)
    ]
