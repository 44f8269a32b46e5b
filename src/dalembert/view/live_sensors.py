"""Sensors on the live page: axes, rays and what they meet, arrows of what is measured, cameras, regions of touch."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import numpy as np

from .drawing import SceneDrawing
from .live_stage import of_arrows
from .sensor_drawing import (
    CAMERA,
    COLORS,
    HIT,
    NO_RAY,
    RAY,
    SAME_TIME,
    Samples,
    SensorDrawing,
    arrow_lines,
    drawn_of,
    scale_of,
    scale_text,
    value_text,
)

TOUCHED, UNTOUCHED = (224, 60, 49), (120, 160, 190)
IMAGES = 2  # cameras whose image the panel shows
MOST_ROWS = 60  # sensors that the panel lists
TABLE = "padding:2px 12px 8px;font-size:12px;line-height:1.45;font-variant-numeric:tabular-nums;overflow-wrap:anywhere"


class LiveSensors:
    """The sensors of a scene. `size` (m) is that of the picture, `mark` (m) that of marks; `shown` says whether any are
    drawn."""

    def __init__(self, server: Any, drawing: SceneDrawing, size: float, mark: float) -> None:
        self.sensors, self.shown = drawing.sensors, False
        self._samples: Mapping[str, Samples] = {}
        self._images: dict[str, Any] = {}  # the samples of cameras that the panel shows
        self._size, self._largest = size, dict[str, float]()
        self._placed = [sensor for sensor in self.sensors if sensor.position is not None]
        if not self._placed:
            return
        scene, nothing = server.scene, np.zeros((1, 2, 3), np.float32)
        count = len(self._placed)
        self._axes = scene.add_batched_axes(
            "/sensors/axes", np.tile((1.0, 0.0, 0.0, 0.0), (count, 1)), np.zeros((count, 3)), axes_length=0.05 * mark,
            axes_radius=0.0022 * mark, visible=False,
        )  # fmt: skip
        self._lines = {
            name: scene.add_line_segments(
                f"/sensors/{name}", nothing, color, thickness=width, thickness_units="screen", visible=False
            )
            for name, color, width in (("rays", RAY, 2.0), ("free rays", NO_RAY, 1.0), ("cameras", CAMERA, 2.0))
        }
        self._hits = scene.add_point_cloud(
            "/sensors/hits", nothing[0], HIT, point_shape="circle", precision="float32", visible=False
        )
        kinds = dict.fromkeys(what for sensor in self._placed for what, _ in sensor.vectors)
        self._arrows = {
            what: scene.add_arrows(f"/sensors/arrows/{what}", nothing, of_arrows(COLORS[what]), visible=False)
            for what in kinds
        }
        self._regions = {
            sensor.name: scene.add_mesh_simple(
                f"/sensors/regions/{number}", sensor.region[0].astype(np.float32), sensor.region[1].astype(np.uint32),
                color=UNTOUCHED, opacity=0.35, side="double", visible=False, cast_shadow=False, receive_shadow=False,
            )
            for number, sensor in enumerate(self._placed)
            if sensor.region is not None
        }  # fmt: skip

        self.resize(size)

    def resize(self, size: float) -> None:
        """Fit what is drawn to a picture of this size, m."""
        self._size = size
        if self._placed:
            self._hits.point_size = 0.006 * size
            for handle in self._arrows.values():
                handle.shaft_radius, handle.head_radius, handle.head_length = 0.003 * size, 0.0085 * size, 0.02 * size

    def use(self, samples: Mapping[str, Samples]) -> None:
        """Show these samples, by name of the sensor."""
        self._samples = samples

    def show(self, on: bool) -> None:
        """Draw the sensors from the next picture on, or do not."""
        self.shown = on and bool(self._placed)

    def values(self, time: float) -> list[tuple[SensorDrawing, Any]]:
        """Each sensor that has samples, and its value at a time, s."""
        return [(sensor, self._samples[sensor.name].at(time + SAME_TIME)) for sensor in self.sensors
                if sensor.name in self._samples]  # fmt: skip

    def draw(self, time: float, position: np.ndarray, orientation: np.ndarray) -> None:
        """At a time (s), with the bodies at positions (b, 3) and orientations (b, 4)."""
        if not self._placed:
            return
        shown = self._placed if self.shown else []
        values = {sensor.name: value for sensor, value in self.values(time)} if shown else {}
        places = [sensor.placed(position, orientation) for sensor in shown]
        drawn = drawn_of(shown, values, places, self._size)
        self._axes.visible = self.shown
        if shown:
            self._axes.batched_positions = np.array([at for at, _ in places])
            self._axes.batched_wxyzs = np.array([turn for _, turn in places])
        for name, pairs in (("rays", drawn.met), ("free rays", drawn.free), ("cameras", drawn.cameras)):
            self._set(self._lines[name], pairs)
        self._hits.visible = len(drawn.met) > 0
        if len(drawn.met):
            self._hits.points = drawn.met[:, 1].astype(np.float32)
        for what, handle in self._arrows.items():
            at, vectors = drawn.arrows.get(what, (np.zeros((0, 3)), np.zeros((0, 3))))
            most = float(np.max(np.linalg.norm(vectors, axis=1), initial=0.0))
            self._largest[what] = max(self._largest.get(what, 0.0), most)
            self._set(handle, arrow_lines(at, vectors, scale_of(what, self._largest[what]), self._size))
        self._draw_regions(places, values)

    def _draw_regions(self, places: list[tuple[np.ndarray, np.ndarray]], values: Mapping[str, Any]) -> None:
        for sensor, (at, turn) in zip(self._placed, places, strict=False):
            handle = self._regions.get(sensor.name)
            if handle is not None:
                handle.position, handle.wxyz, handle.visible = at, turn, True
                color = TOUCHED if float(np.sum(values.get(sensor.name, 0.0))) > 0.0 else UNTOUCHED
                if handle.color != color:
                    handle.color = color
        if not places:
            for handle in self._regions.values():
                handle.visible = False

    def _set(self, handle: Any, pairs: np.ndarray) -> None:
        handle.visible = len(pairs) > 0
        if len(pairs):
            handle.points = pairs.astype(np.float32)

    # What the page says of them ---------------------------------------------------------------------------------------

    def scales(self) -> list[tuple[str, tuple[int, int, int], str]]:
        """(what, colour, size) of each kind of arrow: the value whose arrow is longest."""
        return [(f"measured {what}", COLORS[what], scale_text(what, size))
                for what, size in self._largest.items() if self.shown and size > 0.0]  # fmt: skip

    def keys(self) -> list[tuple[str, tuple[int, int, int]]]:
        """(what, colour) of what is drawn beside arrows."""
        if not self.shown:
            return []
        found = []
        if any(len(sensor.directions) for sensor in self._placed):
            found += [("rays to what they meet", RAY), ("rays that meet nothing", NO_RAY)]
        if any(sensor.view for sensor in self._placed):
            found.append(("views of cameras", CAMERA))
        if self._regions:
            found.append(("regions that are touched", TOUCHED))
        return found

    def table(self, time: float) -> str:
        """The values at a time (s), as HTML."""
        values = self.values(time)
        rows = [
            f"<div><b>{html.escape(sensor.name[:60])}</b> <span style='opacity:.6'>{html.escape(sensor.kind)}</span>"
            f"<div style='padding-left:10px'>{html.escape(value_text(sensor, value))}</div></div>"
            for sensor, value in values[:MOST_ROWS]
        ]
        if len(values) > MOST_ROWS:
            rows.append(f"<div>and {len(values) - MOST_ROWS} sensors more</div>")
        return f"<div style='{TABLE}'>{''.join(rows) or 'No samples yet.'}</div>"

    def images(self, time: float) -> list[tuple[str, np.ndarray]]:
        """The names and images (h, w, 3) uint8 of those of the first cameras that have another image at a time (s) than when
        they were asked for last."""
        seen = [(sensor, value) for sensor, value in self.values(time) if sensor.view is not None][:IMAGES]
        new = [(sensor, value) for sensor, value in seen if value is not self._images.get(sensor.name)]
        self._images |= {sensor.name: value for sensor, value in new}
        return [(sensor.name, as_picture(sensor.quantity, np.asarray(value))) for sensor, value in new]


def as_picture(kind: str, value: np.ndarray) -> np.ndarray:
    """An image of a camera as colours (h, w, 3) uint8: depth is as bright as it is near, 1/depth; each number
    has a colour."""
    if kind == "rgb":
        return value.astype(np.uint8)
    if kind == "depth":
        known = np.isfinite(value)
        low = float(value[known].min()) if known.any() else 0.0
        near = np.where(known, max(low, 1e-9) / np.maximum(np.where(known, value, np.inf), 1e-9), 0.0)
        return np.repeat(np.round(255.0 * near).astype(np.uint8)[..., None], 3, axis=2)
    number = value.astype(np.int64)
    mixed = np.stack([(number + 1) * step % 200 + 40 for step in (67, 113, 151)], axis=-1)
    return np.where((number < 0)[..., None], 235, mixed).astype(np.uint8)
