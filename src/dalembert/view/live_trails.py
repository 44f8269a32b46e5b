"""Trails that glow with speed: the way of each body so far, dark where it was slow and bright where it was fast."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.view.drawing import BodyDrawing

__all__ = ["LiveTrails", "glow"]

POINTS = 200  # of a trail
MOST = 40  # bodies that have a trail at once
SPEEDS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # of the fastest; dark violet over red to yellow
COLORS = np.array([[60, 30, 120], [150, 40, 130], [220, 70, 80], [250, 140, 30], [255, 225, 60]], float)


def glow(share: np.ndarray) -> np.ndarray:
    """(…, 3) uint8 colours of speeds, 0 to 1 of the fastest, as intensities, which viser takes a line's colours for."""
    rgb = np.stack([np.interp(share, SPEEDS, COLORS[:, k]) for k in range(3)], axis=-1) / 255.0
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.round(255.0 * linear).astype(np.uint8)


class LiveTrails:
    """One object for the trails of all bodies; a trail has always as many segments, so that its colours fit."""

    def __init__(self, server: Any, bodies: list[BodyDrawing]) -> None:
        self.server, self.bodies = server, bodies
        self._handle: Any = None
        self._rows: list[int] = []
        self._fastest = 0.0

    def draw(self, rows: list[int], times: np.ndarray, past: np.ndarray) -> None:
        """The trails of the bodies `rows` with places (n, b, 3) m at times (n,) s."""
        rows = rows[:MOST]
        if not rows or len(times) < 2:
            if self._handle is not None:
                self._handle.visible = False
            return
        if rows != self._rows:
            self._rows = rows
            nothing = np.zeros((len(rows) * (POINTS - 1), 2, 3))
            self._handle = self.server.scene.add_line_segments(
                "/trails", nothing.astype(np.float32), nothing.astype(np.uint8), thickness=3.0, thickness_units="screen"
            )
        keep = np.linspace(0, len(times) - 1, POINTS).round().astype(int)
        points = past[:, rows][keep].transpose(1, 0, 2)
        gaps = np.diff(times)
        speeds = np.linalg.norm(np.diff(past[:, rows], axis=0), axis=2) / np.where(gaps > 0.0, gaps, np.inf)[:, None]
        self._fastest = max(self._fastest, float(speeds.max()))
        at = np.concatenate([speeds[:1], speeds])[keep].T / (self._fastest or 1.0)
        self._handle.points = np.stack([points[:, :-1], points[:, 1:]], axis=2).reshape(-1, 2, 3).astype(np.float32)
        self._handle.colors = glow(np.stack([at[:, :-1], at[:, 1:]], axis=2).reshape(-1, 2))
        self._handle.visible = True
