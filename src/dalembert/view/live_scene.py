"""The bodies, particles, joints, springs and trails of a scene as viser's objects, and the camera that looks at them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.view.drawing import LinkDrawing, SceneDrawing
from dalembert.view.extent import Extent
from dalembert.view.geometry import axis_ends, coil_points, segments
from dalembert.view.live_page import ALL
from dalembert.view.live_particles import LiveParticles

__all__ = ["LiveScene"]

FIELD_OF_VIEW = 0.7  # radians, vertically
DARK, CURVE, STRAIGHT = (35, 42, 53), (90, 97, 115), (64, 74, 92)


class LiveScene:
    """What stands in the picture. `released` says when joints and springs were let go, s."""

    def __init__(self, server: Any, drawing: SceneDrawing, extent: Extent) -> None:
        self.server, self.drawing = server, drawing
        self.names = [body.name for body in drawing.bodies]
        self.released: dict[str, float] = {}
        self.extent, self._size = extent, extent.size
        self._placed: dict[int, np.ndarray] = {}  # where this put the camera of each client
        self._followed: np.ndarray | None = None
        self._show_joints = True
        self._grid = server.scene.add_grid(
            "/ground", infinite_grid=True, cell_color=(222, 226, 232), section_color=(190, 196, 206)
        )
        self.frames = [self._add_body(i) for i in range(len(drawing.bodies))]
        self.particles = [LiveParticles(server, f"/particles/{i}", g) for i, g in enumerate(drawing.particles)]
        self._held: list[tuple[Any, int]] = []  # dots of joints that are at particles
        self._joints = [self._add_joint(i, joint) for i, joint in enumerate(drawing.joints)]
        for i, curve in enumerate(drawing.curves):
            self._add_lines(f"/curves/{i}", segments(curve.points), CURVE)
        self._lines = [self._add_lines(f"/lines/{i}", np.zeros((1, 2, 3)), STRAIGHT) for i in range(len(drawing.lines))]
        self._trails = [
            self._add_lines(f"/trails/{i}", np.zeros((1, 2, 3)), body.rgb) for i, body in enumerate(drawing.bodies)
        ]
        server.initial_camera.fov = FIELD_OF_VIEW
        self.aim(extent)

    def _add_body(self, i: int) -> Any:
        scene, body, path = self.server.scene, self.drawing.bodies[i], f"/bodies/{i}"
        frame = scene.add_frame(path, axes_length=0.15 * self._size, axes_radius=0.004 * self._size, show_axes=False)
        if len(body.faces):
            vertices, faces = (body.vertices - body.center).astype(np.float32), body.faces.astype(np.uint32)
            flat = len(faces) < 60
            scene.add_mesh_simple(f"{path}/mesh", vertices, faces, color=body.rgb, flat_shading=flat, side="double")
        else:
            scene.add_icosphere(f"{path}/mesh", radius=body.radius or 0.012 * self._size, color=body.rgb)
        return frame

    def _add_joint(self, i: int, joint: LinkDrawing) -> list[Any]:
        """A dot at either anchor, and a stroke along the axis."""

        def path(body: int, what: str) -> str:
            return f"/bodies/{body}/{what}_{i}" if body >= 0 else f"/world/{what}_{i}"

        dots = []
        for name, end in (("a", joint.a), ("b", joint.b)):
            dots.append(
                self.server.scene.add_icosphere(
                    path(end.body, name), 0.009 * self._size, DARK, subdivisions=2, position=end.anchor
                )
            )
            if end.particle >= 0:
                self._held.append((dots[-1], end.particle))
        if joint.axis is None or joint.a.particle >= 0:
            return dots
        ends = axis_ends(joint.a.anchor, joint.axis, 0.04 * self._size)
        return [*dots, self._add_lines(path(joint.a.body, "axis"), ends[None], DARK, 3.0)]

    def _add_lines(self, path: str, pairs: np.ndarray, color: tuple[int, int, int], width: float = 2.0) -> Any:
        return self.server.scene.add_line_segments(
            path, pairs.astype(np.float32), color, thickness=width, thickness_units="screen"
        )

    # ---- each picture ----------------------------------------------------------------------------------------------

    def draw(
        self,
        time: float,
        position: np.ndarray,
        orientation: np.ndarray,
        particles: np.ndarray,
        past: np.ndarray,
        trail: str,
    ) -> None:
        """The instant `time` (s): positions (b, 3), orientations (b, 4) and particles (p, 3), and the bodies' way there,
        (n, b, 3)."""
        with self.server.atomic():
            for frame, x, q in zip(self.frames, position, orientation, strict=True):
                frame.position, frame.wxyz = x, q
            for group in self.particles:
                group.draw(particles)
            for dot, particle in self._held:
                dot.position = particles[particle]
            for handle, link in zip(self._lines, self.drawing.lines, strict=True):
                a, b = (end.at(position, orientation, particles) for end in (link.a, link.b))
                handle.points = segments(coil_points(a, b, link.coils, 0.016 * self._size)).astype(np.float32)
                handle.visible = time <= self.released.get(link.name, link.until)
            for joint, handles in zip(self.drawing.joints, self._joints, strict=True):
                if self.released.get(joint.name, joint.until) < np.inf:
                    shown = self._show_joints and time <= self.released.get(joint.name, joint.until)
                    for handle in handles:
                        handle.visible = shown
            for i, handle in enumerate(self._trails):
                handle.visible = trail in (ALL, self.names[i]) and len(past) > 1
                if handle.visible:
                    handle.points = segments(past[:, i]).astype(np.float32)

    def style(self, joints: bool, frames: bool) -> None:
        """Show or hide the joints and the bodies' axes."""
        self._show_joints = joints
        for handle in (handle for handles in self._joints for handle in handles):
            handle.visible = joints
        for frame in self.frames:
            frame.show_axes = frames

    def release(self, released: Mapping[str, float]) -> None:
        """Joints and springs were let go at these times, s."""
        self.released = dict(released)

    # ---- the camera ------------------------------------------------------------------------------------------------

    def aim(self, extent: Extent) -> None:
        """Look at a box: new pages, and those open whose camera nobody has moved since."""
        self.extent = extent
        for group in self.particles:
            group.resize(extent.size)
        cell = 10.0 ** np.floor(np.log10(extent.size / 3.0))
        self._grid.position = (0.0, 0.0, extent.ground)
        self._grid.cell_size, self._grid.section_size, self._grid.fade_distance = cell, 5.0 * cell, 10.0 * extent.size
        towards = np.array([np.cos(extent.yaw), np.sin(extent.yaw), 0.3])
        away = 0.62 * extent.size / np.tan(0.5 * FIELD_OF_VIEW) * towards / np.linalg.norm(towards)
        camera = self.server.initial_camera
        previous = camera.position.copy()
        camera.look_at, camera.position = extent.center, extent.center + away
        for number, client in self.server.get_clients().items():
            moved = client.camera.position - self._placed.get(number, previous)
            if np.linalg.norm(moved) < 1e-3 * extent.size:
                client.camera.position, client.camera.look_at = extent.center + away, extent.center
                self._placed[number] = extent.center + away

    def follow(self, name: str, position: np.ndarray) -> None:
        """Move every camera along with a body; with none, leave them where they are."""
        if name not in self.names:
            self._followed = None
            return
        here = position[self.names.index(name)].copy()
        for client in self.server.get_clients().values():
            camera = client.camera
            shift = here - (camera.look_at if self._followed is None else self._followed)
            camera.position = camera.position + shift  # the point looked at moves along
        self._followed = here
