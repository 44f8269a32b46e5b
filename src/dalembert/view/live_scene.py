"""The bodies, particles, links, trails and quantities of a scene as viser's objects, and the camera that looks at them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.view.drawing import SceneDrawing
from dalembert.view.extent import Extent
from dalembert.view.live_bodies import LiveBodies
from dalembert.view.live_links import LiveLinks, add_lines, set_lines
from dalembert.view.live_overlays import LiveOverlays
from dalembert.view.live_particles import LiveParticles
from dalembert.view.live_trails import LiveTrails

__all__ = ["LiveScene"]

FIELD_OF_VIEW = 0.7  # radians, vertically
SHEET = 0.22  # of the height of a narrow page: how far above its middle the scene is seen
HAND = (214, 64, 56)


class LiveScene:
    """What stands in the picture."""

    def __init__(self, server: Any, drawing: SceneDrawing, extent: Extent) -> None:
        self.server, self.drawing = server, drawing
        self.names = [body.name for body in drawing.bodies]
        self.extent = extent
        self._placed: dict[int, np.ndarray] = {}  # where this put the camera of each client
        self._followed: np.ndarray | None = None
        self._grid = server.scene.add_grid(
            "/ground", infinite_grid=True, cell_color=(222, 226, 232), section_color=(190, 196, 206), shadow_opacity=0.3
        )
        self.bodies = LiveBodies(server, drawing.bodies, 0.012 * extent.size)
        self.particles = [LiveParticles(server, f"/particles/{i}", g) for i, g in enumerate(drawing.particles)]
        self.links = LiveLinks(server, drawing, extent.size)
        self.trails = LiveTrails(server, drawing.bodies)
        self.overlays = LiveOverlays(server, drawing, extent.size)
        self._hand = add_lines(server, "/hand", HAND, 4.0)
        server.initial_camera.fov = FIELD_OF_VIEW
        self.aim(extent)

    def draw(
        self,
        time: float,
        position: np.ndarray,
        orientation: np.ndarray,
        particles: np.ndarray,
        found: Mapping[str, Any],
    ) -> None:
        """The instant `time` (s): positions (b, 3), orientations (b, 4) and particles (p, 3), and what is known of it."""
        with self.server.atomic():
            self.bodies.draw(position, orientation)
            for group in self.particles:
                group.draw(particles)
            self.links.draw(time, position, orientation, particles)
            there = position, orientation, particles
            joints = np.array([joint.b.at(*there) for joint in self.drawing.joints]).reshape(-1, 3)
            self.overlays.draw(position, orientation, found, joints)

    def style(self, joints: bool, axes: bool, shadows: bool, kinds: frozenset[str]) -> None:
        """Show or hide the joints, the bodies' axes, shadows, and kinds of quantities."""
        self.links.show_joints = joints
        self.bodies.show_axes(axes)
        self.bodies.cast_shadows(shadows)
        self.server.scene.configure_default_lights(cast_shadow=shadows)
        self.overlays.show(kinds)

    def release(self, released: Mapping[str, float]) -> None:
        """Joints and springs were let go at these times, s."""
        self.links.released = dict(released)

    def show_hand(self, ends: np.ndarray | None) -> None:
        """Draw the hand from the point it holds to where it pulls, (2, 3) m; None for an empty one."""
        set_lines(self._hand, np.zeros((0, 2, 3)) if ends is None else ends[None])

    # ---- the camera ------------------------------------------------------------------------------------------------

    def aim(self, extent: Extent, *, anew: bool = False) -> None:
        """Look at a box: new pages, and those open whose camera nobody has moved since, or all of them if `anew`."""
        self.extent = extent
        self.overlays.resize(extent.size)
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
            if anew or np.linalg.norm(moved) < 1e-3 * extent.size:
                self._place(client, away)

    def _place(self, client: Any, away: np.ndarray) -> None:
        """Put a client's camera at `away` from the middle; on a page higher than wide it is further off, and sees the middle
        above the panel, which is a sheet at the bottom there."""
        center, narrow = self.extent.center, client.camera.aspect < 1.0
        if narrow:
            away = away / client.camera.aspect
            center = center - (0.0, 0.0, SHEET * 2.0 * np.linalg.norm(away) * np.tan(0.5 * FIELD_OF_VIEW))
        client.camera.position, client.camera.look_at = center + away, center
        self._placed[client.client_id] = center + away

    def welcome(self, client: Any) -> None:
        """A page was opened: the scene may have grown since it asked where to look from."""
        self._place(client, self.server.initial_camera.position - self.extent.center)

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
