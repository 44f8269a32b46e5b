"""What hides what in a still picture, which matplotlib does not work out: small pieces, painted from far to near."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.view.extent import Extent
from dalembert.view.particles import BACK, ParticleDrawing

__all__ = ["SHADOW", "Painter", "lit", "shadow_of", "towards_eye"]

SHADOW = "#dde1e7"
LIGHT = np.array([0.35, -0.5, 1.0]) / np.linalg.norm([0.35, -0.5, 1.0])
SLICES = 60  # of depth
FINE = 0.06  # of the picture's size: the longest edge of what is sorted
LEAST_DOT = 1.1  # points (1/72 inch)


def towards_eye(axis: Any) -> np.ndarray:
    """The unit vector (3,) from the picture's middle to the eye."""
    up, around = np.radians(axis.elev), np.radians(axis.azim)
    return np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])


def lit(triangles: np.ndarray, colors: np.ndarray, eye: np.ndarray | None = None) -> np.ndarray:
    """Colours (n, 3) of triangles (n, 3, 3) in the light; with `eye`, of a surface whose two sides are seen."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    side = np.ones(len(normals))
    if eye is not None:
        back = normals @ eye < 0.0
        normals[back] *= -1.0
        side[back] = BACK
    bright = 0.62 + 0.14 * normals[:, 2] + 0.36 * np.maximum(normals @ LIGHT, 0.0)
    return np.clip(colors * (side * bright)[:, None] + 0.03, 0.0, 1.0)


def shadow_of(points: np.ndarray, ground: float) -> np.ndarray:
    """Where the shadows of points (..., 3) fall on the ground; points below it stay."""
    return points - LIGHT * (np.maximum(points[..., 2:] - ground, 0.0) / LIGHT[2])


class Painter:
    """Triangles, strokes and dots, collected, then painted in slices of depth."""

    def __init__(self, axis: Any, extent: Extent) -> None:
        self.axis, self.extent, self.eye = axis, extent, towards_eye(axis)
        self._triangles: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # with their colours and depths
        self._strokes: list[tuple[np.ndarray, np.ndarray, float]] = []
        self._dots: list[tuple[np.ndarray, np.ndarray, float]] = []

    def add_mesh(self, vertices: np.ndarray, faces: np.ndarray, color: np.ndarray) -> None:
        """A body: vertices (n, 3) where it stands, faces (m, 3), colour (3,) from 0 to 1; cut into small triangles."""
        from trimesh.remesh import subdivide_to_size

        shade = np.tile(color, (len(faces), 1))
        if np.ptp(vertices, axis=0).max() < 2.0 * self.extent.size:
            shade = lit(vertices[faces], shade)
            vertices, faces, whole = subdivide_to_size(
                vertices, faces, FINE * self.extent.size, max_iter=12, return_index=True
            )
            # By the farthest corner, so that what lies on a body is painted over it.
            self._triangles.append((vertices[faces], shade[whole], (vertices @ self.eye)[faces].min(axis=1)))
        else:  # what is so large stands behind the rest
            self._add_triangles(vertices[faces], lit(vertices[faces], shade), zorder=1.0)

    def add_strokes(self, segments: np.ndarray, color: np.ndarray, width: float) -> None:
        """Segments (n, 2, 3), with colours (n, 3) or one, and their width in points (1/72 inch)."""
        self._strokes.append((segments, np.broadcast_to(color, (len(segments), 3)), width))

    def add_particles(self, group: ParticleDrawing, particles: np.ndarray) -> None:
        """A group of particles, which are at (p, 3), and their shadows."""
        from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

        x, colors, ground = particles[group.span], group.rgb / 255.0, self.extent.ground
        if len(group.faces):
            triangles = x[group.faces]
            shade = lit(triangles, colors[group.faces].mean(axis=1), self.eye)
            self._triangles.append((triangles, shade, triangles.mean(axis=1) @ self.eye))
            flat: Any = Poly3DCollection(
                shadow_of(triangles, ground), facecolors=SHADOW, edgecolors=SHADOW, linewidths=0.3, zorder=0
            )
            self.axis.add_collection3d(flat, autolim=False)
        elif len(group.segments):
            pairs = x[group.segments]
            self.add_strokes(pairs, colors[group.segments[:, 0]], 1.4)
            flat = Line3DCollection(shadow_of(pairs, ground), colors=SHADOW, linewidths=1.2, zorder=0)
            self.axis.add_collection3d(flat, autolim=False)
        if len(group.dots):
            self._dots.append((x[group.dots], colors[group.dots], group.dot_radius(self.extent.size)))

    def paint(self) -> None:
        """Draw what was collected; the page must have been laid out, for the dots' sizes depend on it."""
        parts = [
            *(depth for *_, depth in self._triangles),
            *(pairs.mean(axis=1) @ self.eye for pairs, *_ in self._strokes),
            *(points @ self.eye for points, *_ in self._dots),
        ]
        depths = np.concatenate(parts) if parts else np.zeros(0)
        if not len(depths):
            return
        edges = np.linspace(depths.min(), np.nextafter(depths.max(), np.inf), SLICES + 1)

        def slices(depth: np.ndarray) -> list[np.ndarray]:
            which = np.clip(np.searchsorted(edges, depth, side="right") - 1, 0, SLICES - 1)
            return [which == k for k in range(SLICES)]

        for triangles, colors, depth in self._triangles:
            for k, mine in enumerate(slices(depth)):
                if mine.any():
                    self._add_triangles(triangles[mine], colors[mine], 4.0 + 0.9 * k / SLICES)
        for pairs, colors, width in self._strokes:
            for k, mine in enumerate(slices(pairs.mean(axis=1) @ self.eye)):
                if mine.any():
                    self._add_strokes(pairs[mine], colors[mine], width, 4.003 + 0.9 * k / SLICES)
        for points, colors, radius in self._dots:
            sizes = self._sizes(points, radius)
            flat = shadow_of(points, self.extent.ground)
            self.axis.scatter(*flat.T, s=0.6 * sizes, color=SHADOW, edgecolors="none", depthshade=False, zorder=0)
            for k, mine in enumerate(slices(points @ self.eye)):
                if mine.any():
                    self._add_dots(points[mine], colors[mine], sizes[mine], 4.006 + 0.9 * k / SLICES)

    def _sizes(self, points: np.ndarray, radius: float) -> np.ndarray:
        """Areas (n,) of dots of a radius in m as matplotlib counts them: the square of the width in points."""
        from mpl_toolkits.mplot3d import proj3d

        side = np.cross([0.0, 0.0, 1.0], self.eye)
        side = side / np.linalg.norm(side) if side.any() else np.array([1.0, 0.0, 0.0])
        page = []
        for there in (points, points + radius * side):
            x, y, _ = proj3d.proj_transform(*there.T, self.axis.get_proj())
            page.append(self.axis.transData.transform(np.stack([x, y], axis=1)))
        widths = 2.0 * np.linalg.norm(page[1] - page[0], axis=1) * 72.0 / self.axis.get_figure().dpi
        return np.maximum(widths, LEAST_DOT) ** 2

    def _add_triangles(self, triangles: np.ndarray, colors: np.ndarray, zorder: float) -> None:
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        mesh = Poly3DCollection(triangles, facecolors=colors, edgecolors=colors, linewidths=0.3, zorder=zorder)
        self.axis.add_collection3d(mesh, autolim=False)

    def _add_strokes(self, pairs: np.ndarray, colors: np.ndarray, width: float, zorder: float) -> None:
        from mpl_toolkits.mplot3d.art3d import Line3DCollection

        lines = Line3DCollection(pairs, colors=colors, linewidths=width, capstyle="round", zorder=zorder)
        self.axis.add_collection3d(lines, autolim=False)

    def _add_dots(self, points: np.ndarray, colors: np.ndarray, sizes: np.ndarray, zorder: float) -> None:
        self.axis.scatter(
            *points.T, s=sizes, c=colors, edgecolors=0.7 * colors, linewidths=0.25, depthshade=False, zorder=zorder
        )
