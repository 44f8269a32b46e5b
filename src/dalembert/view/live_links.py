"""Joints, springs and curves as viser's objects: all dots are one batch, all lines of one kind one object."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.view.drawing import LinkDrawing, SceneDrawing
from dalembert.view.geometry import axis_ends, coil_points, rotate, segments
from dalembert.view.live_bodies import ball

__all__ = ["LiveLinks", "add_lines", "set_lines"]

DARK, CURVE, STRAIGHT = (35, 42, 53), (90, 97, 115), (64, 74, 92)


def add_lines(server: Any, path: str, color: Any, width: float = 2.0) -> Any:
    """Line segments that are not there yet."""
    return server.scene.add_line_segments(
        path, np.zeros((1, 2, 3), np.float32), color, thickness=width, thickness_units="screen", visible=False
    )


def set_lines(handle: Any, pairs: np.ndarray) -> None:
    """Draw segments (n, 2, 3); none are hidden."""
    handle.visible = len(pairs) > 0
    if len(pairs):
        handle.points = pairs.astype(np.float32)


class LiveLinks:
    """What connects bodies. `released` says when joints and springs were let go, s."""

    def __init__(self, server: Any, drawing: SceneDrawing, size: float) -> None:
        self.drawing, self._size = drawing, size
        self.released: dict[str, float] = {}
        self.show_joints = True
        self._dots: Any = None
        count = 2 * len(drawing.joints)
        if count:
            self._dots = server.scene.add_batched_meshes_simple(
                "/joints/dots", *ball(0.009 * size, 2), np.tile((1.0, 0.0, 0.0, 0.0), (count, 1)), np.zeros((count, 3)),
                batched_colors=DARK, lod="off", visible=False,
            )  # fmt: skip
        self._axes = add_lines(server, "/joints/axes", DARK, 3.0)
        self._lines = add_lines(server, "/lines", STRAIGHT)
        curves = add_lines(server, "/curves", CURVE)
        if drawing.curves:
            set_lines(curves, np.concatenate([segments(curve.points) for curve in drawing.curves]))

    def draw(self, time: float, position: np.ndarray, orientation: np.ndarray, particles: np.ndarray) -> None:
        """The links at `time` (s) of bodies at positions (b, 3) and orientations (b, 4) and of particles (p, 3)."""
        there = position, orientation, particles

        def held(link: LinkDrawing) -> bool:
            return time <= self.released.get(link.name, link.until)

        joints = [joint for joint in self.drawing.joints if self.show_joints and held(joint)]
        if self._dots is not None:
            self._dots.visible = bool(joints)
            ends = [end.at(*there) for joint in joints for end in (joint.a, joint.b)]
            if ends:  # those that are not held hide behind the first
                self._dots.batched_positions = np.array((ends + ends[:1] * len(self._dots.batched_positions))[: len(
                    self._dots.batched_positions)])  # fmt: skip
        strokes = []
        for joint in joints:
            if joint.axis is not None and joint.a.particle < 0:
                body = joint.a.body
                axis = joint.axis if body < 0 else rotate(orientation[body], joint.axis)
                strokes.append(axis_ends(joint.a.at(*there), axis, 0.04 * self._size))
        set_lines(self._axes, np.array(strokes).reshape(-1, 2, 3))
        radius = 0.016 * self._size
        lines = [link for link in self.drawing.lines if held(link)]
        coils = [segments(coil_points(k.a.at(*there), k.b.at(*there), k.coils, radius)) for k in lines]
        set_lines(self._lines, np.concatenate(coils) if coils else np.zeros((0, 2, 3)))
