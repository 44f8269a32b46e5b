"""Bodies as viser's objects: those of one shape are one batch, so that a picture of any number of them is a few messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.view.drawing import BodyDrawing

__all__ = ["LiveBodies", "ball"]

CHOSEN = np.array([255, 214, 10])  # what the colour of the chosen body goes towards
ROUND = 60  # faces, from which on a shape is shaded as smooth


class LiveBodies:
    """All bodies of a scene, drawn where they are told to be; `point_size` m is the size of one without shape and radius."""

    def __init__(self, server: Any, bodies: list[BodyDrawing], point_size: float) -> None:
        self._bodies, self._chosen = bodies, -1
        self.position = np.array([body.position for body in bodies], float).reshape(-1, 3)
        self.orientation = np.array([body.orientation for body in bodies], float).reshape(-1, 4)
        groups: dict[Any, list[int]] = {}
        for i, body in enumerate(bodies):
            shape = (body.vertices - body.center).astype(np.float32)
            key = (shape.tobytes(), body.faces.tobytes()) if len(body.faces) else (body.radius or point_size,)
            groups.setdefault(key, []).append(i)
        self.batches = [
            (np.array(rows), self._add(server, k, rows, point_size)) for k, rows in enumerate(groups.values())
        ]
        axes = max((body.bound for body in bodies), default=0.0)
        self.axes = server.scene.add_batched_axes(
            "/axes", self.orientation, self.position, axes_length=0.6 * min(axes, 6.0 * point_size) + 4.0 * point_size,
            axes_radius=0.35 * point_size, visible=False,
        )  # fmt: skip

    def _add(self, server: Any, k: int, rows: list[int], point_size: float) -> Any:
        body = self._bodies[rows[0]]
        if len(body.faces):
            vertices, faces = (body.vertices - body.center).astype(np.float32), body.faces.astype(np.uint32)
        else:
            vertices, faces = ball(body.radius or point_size, 3)
        return server.scene.add_batched_meshes_simple(
            f"/bodies/{k}", vertices, faces, self.orientation[rows], self.position[rows], lod="off", side="double",
            batched_colors=self._colors(np.array(rows)), flat_shading=len(faces) < ROUND,
        )  # fmt: skip

    def _colors(self, rows: np.ndarray) -> np.ndarray:
        colors = np.array([self._bodies[i].rgb for i in rows], float).reshape(-1, 3)
        chosen = rows == self._chosen
        colors[chosen] = 0.35 * colors[chosen] + 0.65 * CHOSEN
        return colors.astype(np.uint8)

    def draw(self, position: np.ndarray, orientation: np.ndarray) -> None:
        """Put the bodies at positions (b, 3) m, turned by orientations (b, 4)."""
        self.position, self.orientation = position, orientation
        for rows, handle in self.batches:
            handle.batched_positions, handle.batched_wxyzs = position[rows], orientation[rows]
        if self.axes.visible:
            self.axes.batched_positions, self.axes.batched_wxyzs = position, orientation

    def show_axes(self, on: bool) -> None:
        """Show or hide the axes of the bodies."""
        self.axes.visible = on

    def cast_shadows(self, on: bool) -> None:
        """Whether bodies cast shadows, on the ground and on each other."""
        for _, handle in self.batches:
            handle.cast_shadow = handle.receive_shadow = on

    def choose(self, body: int) -> None:
        """Light a body up; −1 for none."""
        before, self._chosen = self._chosen, body
        for rows, handle in self.batches:
            if np.isin((before, body), rows).any():
                handle.batched_colors = self._colors(rows)

    def on_pick(self, act: Callable[[int], None]) -> None:
        """Call `act` with the body that was clicked."""
        for rows, handle in self.batches:

            async def picked(event: Any, rows: np.ndarray = rows) -> None:
                act(int(rows[event.instance_index or 0]))

            handle.on_click(picked)

    def on_drag(self, act: Callable[[int, str, np.ndarray, np.ndarray], None]) -> None:
        """Call `act` with the body that is dragged, "start", "update" or "end", where it was taken, and the pointer, m."""
        for rows, handle in self.batches:

            async def dragged(event: Any, rows: np.ndarray = rows) -> None:
                points = np.array(event.start_position, float), np.array(event.end_position, float)
                act(int(rows[event.instance_index or 0]), event.phase, *points)

            handle.on_drag("left")(dragged)


def ball(radius: float, subdivisions: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and faces (m, 3) of a sphere about the origin: an octahedron whose triangles are split in four."""
    corners = np.concatenate([np.eye(3), -np.eye(3)])
    faces = np.array([(x, y, z) if (x + y + z) % 2 else (x, z, y) for x in (0, 3) for y in (1, 4) for z in (2, 5)])
    for _ in range(subdivisions):
        edges, side = np.unique(
            np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0, return_inverse=True
        )
        middle = len(corners) + side.reshape(-1, 3)
        corners = np.concatenate([corners, corners[edges].mean(axis=1)])
        corners /= np.linalg.norm(corners, axis=1)[:, None]
        (a, b, c), (ab, bc, ca) = faces.T, middle.T
        faces = np.concatenate([np.stack(f, axis=1) for f in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
    return (radius * corners).astype(np.float32), faces.astype(np.uint32)
