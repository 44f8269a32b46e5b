"""Quantities as pictures: arrows of velocities, momenta and forces, points and planes of contact, boxes, the centre of mass.

Each kind is one of viser's objects. Arrows of a kind are as long as their value is of the largest that was met.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.view.drawing import SceneDrawing
from dalembert.view.geometry import rotate
from dalembert.view.live_bodies import ball
from dalembert.view.live_links import add_lines, set_lines

__all__ = ["KINDS", "LiveOverlays"]

ARROWS = {
    "velocities": (42, 140, 90), "angular momenta": (140, 80, 190), "contact forces": (214, 64, 56),
    "reaction forces": (225, 130, 20),
}  # fmt: skip
BOXES, PLANES, POINTS, CENTRE = "bounding boxes", "separating planes", "contact points", "centre of mass"
KINDS = (*ARROWS, POINTS, PLANES, BOXES, CENTRE)
LONGEST = 0.17  # of the picture: the arrow of the largest value
EDGES = np.array([(a, b) for a in range(8) for b in range(8) if a < b and (a ^ b) in (1, 2, 4)])
CORNERS = np.array([[(i >> k & 1) * 2 - 1 for k in range(3)] for i in range(8)], float)


class LiveOverlays:
    """What may be drawn beside the bodies; `shown` are the kinds of `KINDS` that are."""

    def __init__(self, server: Any, drawing: SceneDrawing, size: float) -> None:
        self.drawing, self.shown = drawing, frozenset[str]()
        self._largest = dict.fromkeys(ARROWS, 0.0)
        self._masses = np.array([body.mass or 0.0 for body in drawing.bodies])
        boxes = np.array([body.box for body in drawing.bodies]).reshape(-1, 2, 3)
        self._middle, self._half = boxes.mean(axis=1), 0.5 * (boxes[:, 1] - boxes[:, 0])
        nothing = np.zeros((1, 2, 3), np.float32)
        self._arrows = {
            name: server.scene.add_arrows(f"/arrows/{name}", nothing, color, visible=False)
            for name, color in ARROWS.items()
        }
        self._boxes = add_lines(server, "/boxes", (70, 120, 200), 1.5)
        self._planes = add_lines(server, "/planes", (0, 140, 150), 1.5)
        self._points = server.scene.add_point_cloud(
            "/contact_points", nothing[0], (214, 64, 56), point_shape="circle",
            precision="float32", visible=False,
        )  # fmt: skip
        self._centre = server.scene.add_mesh_simple(
            "/centre_of_mass", *ball(1.0, 2), color=(240, 190, 20), visible=False, cast_shadow=False
        )
        self.resize(size)

    def resize(self, size: float) -> None:
        """Fit what is drawn to a picture of this size, m."""
        self._size, self._centre.scale, self._points.point_size = size, 0.011 * size, 0.005 * size
        for handle in self._arrows.values():
            handle.shaft_radius, handle.head_radius, handle.head_length = 0.0035 * size, 0.01 * size, 0.024 * size

    def show(self, kinds: frozenset[str]) -> None:
        """Draw these from the next picture on, and nothing else."""
        self.shown = kinds

    def draw(self, position: np.ndarray, orientation: np.ndarray, found: Mapping[str, Any], joints: np.ndarray) -> None:
        """At positions (b, 3) and orientations (b, 4): what is `found` of momentum and angular_momentum (b, 3), contacts
        (k, 9) and reaction_force (j, 3), the latter at the places `joints` (j, 3) m."""
        contacts = np.asarray(found.get("contacts", np.zeros((0, 9))))
        reactions = found.get("reaction_force")
        some = {
            "velocities": (position, self._velocities(found.get("momentum"))),
            "angular momenta": (position, found.get("angular_momentum")),
            "contact forces": (contacts[:, :3], contacts[:, 3:6]),
            "reaction forces": (joints, reactions if reactions is None or len(reactions) == len(joints) else None),
        }
        for name, (places, values) in some.items():
            self._draw_arrows(name, places, values)
        set_lines(self._boxes, self._box_lines(position, orientation) if BOXES in self.shown else np.zeros((0, 2, 3)))
        set_lines(self._planes, self._plane_lines(contacts if PLANES in self.shown else contacts[:0]))
        self._points.visible = POINTS in self.shown and len(contacts) > 0
        if self._points.visible:
            self._points.points = contacts[:, :3].astype(np.float32)
        self._centre.visible = CENTRE in self.shown and self._masses.sum() > 0.0
        if self._centre.visible:
            self._centre.position = self._masses @ position / self._masses.sum()

    def _velocities(self, momentum: np.ndarray | None) -> np.ndarray | None:
        return None if momentum is None else momentum / np.where(self._masses > 0.0, self._masses, np.inf)[:, None]

    def _draw_arrows(self, name: str, places: np.ndarray, values: np.ndarray | None) -> None:
        handle = self._arrows[name]
        if name not in self.shown or values is None:
            handle.visible = False
            return
        length = np.linalg.norm(values, axis=1)
        self._largest[name] = max(self._largest[name], float(np.nanmax(length, initial=0.0)))
        seen = length > 0.01 * self._largest[name]  # not those that are not known either
        handle.visible = bool(seen.any())
        if handle.visible:
            ends = places[seen] + LONGEST * self._size / self._largest[name] * values[seen]
            handle.points = np.stack([places[seen], ends], axis=1).astype(np.float32)

    def _box_lines(self, position: np.ndarray, orientation: np.ndarray) -> np.ndarray:
        """Edges (n, 2, 3) of the boxes, along the axes of the world, around all bodies that have a mass."""
        moving = self._masses > 0.0
        q = orientation[moving]
        middle = position[moving] + rotate(q, self._middle[moving])
        turned = np.stack([rotate(q, np.broadcast_to(axis, (len(q), 3))) for axis in np.eye(3)], axis=2)
        half = np.einsum("nij,nj->ni", np.abs(turned), self._half[moving])
        corners = middle[:, None] + half[:, None] * CORNERS
        return corners[:, EDGES].reshape(-1, 2, 3)

    def _plane_lines(self, contacts: np.ndarray) -> np.ndarray:
        """Outlines (n, 2, 3) of squares across the normals of contacts, and their normals."""
        if not len(contacts):
            return np.zeros((0, 2, 3))
        at, normal = contacts[:, :3].astype(float), contacts[:, 6:9].astype(float)
        other = np.eye(3)[np.argmin(np.abs(normal), axis=1)]
        u = np.cross(normal, other)
        u *= 0.03 * self._size / np.linalg.norm(u, axis=1, keepdims=True)
        v = np.cross(normal, u)
        square = np.stack([at + u + v, at - u + v, at - u - v, at + u - v], axis=1)
        sides = np.stack([square, np.roll(square, -1, axis=1)], axis=2).reshape(-1, 2, 3)
        return np.concatenate([sides, np.stack([at, at + 0.03 * self._size * normal], axis=1)])
