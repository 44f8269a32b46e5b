"""Particles as viser's objects: clouds of dots, threads, and surfaces with a front and a darker back."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.view.particles import BACK, ParticleDrawing, rgb_of

__all__ = ["LiveParticles"]


class LiveParticles:
    """One group, as viser's handles: a `cloud` of dots, `threads`, and the two sides of a `surface`.

    A surface has the group's colour, whatever its particles' colours: viser's plain meshes have one.
    """

    def __init__(self, server: Any, path: str, group: ParticleDrawing) -> None:
        self.group = group
        self._dots = group.dots
        self.cloud: Any = None
        self.threads: Any = None
        self.surface: list[Any] = []
        scene, colors = server.scene, group.rgb
        nowhere = np.zeros((group.number, 3), np.float32)
        if len(group.faces):
            front = group.faces.astype(np.uint32)
            plain = np.array(rgb_of(group.color))
            # Each side is a mesh of its own: one that is seen from both has one colour.
            for side, color in (("front", plain), ("back", BACK * plain)):
                self.surface.append(
                    scene.add_mesh_simple(
                        f"{path}/{side}",
                        nowhere,
                        front,
                        color=tuple(int(c) for c in color),
                        side=side,
                        cast_shadow=side == "front",
                        visible=False,
                    )
                )
        elif len(group.segments):
            self.threads = scene.add_line_segments(
                f"{path}/threads", nowhere[group.segments],
                np.array(rgb_of(group.color)) if group.colors is None else _linear(colors)[group.segments],
                thickness=2.5, thickness_units="screen", visible=False,
            )  # fmt: skip
        if len(self._dots):
            self.cloud = scene.add_point_cloud(
                f"{path}/dots", nowhere[self._dots], colors[self._dots], point_size=group.radius, point_shape="circle",
                precision="float32", visible=False,
            )  # fmt: skip

    def resize(self, size: float) -> None:
        """Fit the dots to a picture of this size, m."""
        if self.cloud is not None:
            self.cloud.point_size = self.group.dot_radius(size)  # viser's "size" is the radius of what it draws

    def draw(self, particles: np.ndarray) -> None:
        """Put the particles where they are, (p, 3) over all groups; they are seen from the first time on."""
        x = particles[self.group.span]
        for side in self.surface:
            side.vertices, side.visible = x, True
        if self.threads is not None:
            self.threads.points, self.threads.visible = x[self.group.segments], True
        if self.cloud is not None:
            self.cloud.points, self.cloud.visible = x[self._dots], True


def _linear(colors: np.ndarray) -> np.ndarray:
    """sRGB as intensities, 0 to 255, which viser takes a line's colours for where there are several."""
    part = colors / 255.0
    return np.round(255.0 * np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)).astype(np.uint8)
