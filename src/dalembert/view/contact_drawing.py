"""Forces and pressure of recorded contact points in still pictures, with a legend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .camera import Camera, segments
from .canvas import Background, Canvas
from .drawing import Extent
from .pressure import BANDS, NO_PATCHES, patches_of, scale_words, with_prefix

if TYPE_CHECKING:
    from ..simulation.trajectory import Trajectory
    from .frames import Frames

FORCES, PRESSURE = "forces", "pressure"
KINDS = (FORCES, PRESSURE)
RED = np.array([0.76, 0.16, 0.15])
LONGEST, LEAST = (
    0.22,
    0.01,
)  # of the picture's size: the arrow of the largest force; of that force: the least that is drawn
SEEN = 0.85  # how much of pressure is seen through what is before it
INK = (70, 78, 92)


def chosen_kinds(trajectory: Trajectory, kinds: Iterable[str]) -> tuple[str, ...]:
    """The kinds to draw. Raises ValueError for an unknown one, or a run without contact points."""
    found = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for kind in found:
        if kind not in KINDS:
            raise ValueError(f"contacts: there is no kind {kind!r}; the kinds are {', '.join(KINDS)}")
    if found and "contact_point_count" not in trajectory:
        raise ValueError(
            f"{trajectory.scene_name!r} has no contact points to draw: they are recorded if bodies have a material, "
            "unless contact_points=False"
        )
    return found


class ContactDrawing:
    """What is drawn of the contacts at a time (s): arrows of forces, whose largest of the run is the longest; patches of
    pressure. size : of the picture, m."""

    def __init__(self, frames: Frames, kinds: tuple[str, ...], size: float) -> None:
        self.frames, self.kinds, self.size = frames, kinds, size

    def points(self, time: float) -> np.ndarray:
        """(k, 10), those of the frame at a time or before it; see `Frames`."""
        return np.asarray(self.frames.found(self.frames.index(time)).get("contacts", np.zeros((0, 10))), float)

    def arrows(self, time: float) -> tuple[np.ndarray, float]:
        """Lines (n, 2, 3) of arrows, and the force (N) of the longest."""
        points = self.points(time)
        length = np.linalg.norm(points[:, 3:6], axis=1)
        most = float(length.max(initial=0.0))
        if most == 0.0:
            return np.zeros((0, 2, 3)), 0.0
        seen = length > LEAST * most
        start, vector = points[seen, :3], LONGEST * self.size / most * points[seen, 3:6]
        along = vector / np.linalg.norm(vector, axis=1, keepdims=True)
        side = np.cross(along, np.eye(3)[np.argmin(np.abs(along), axis=1)])
        side *= 0.011 * self.size / np.linalg.norm(side, axis=1, keepdims=True)
        end, back = start + vector, start + vector - 0.03 * self.size * along
        return np.concatenate(
            [np.stack([start, end], 1), np.stack([back + side, end], 1), np.stack([back - side, end], 1)]
        ), most

    def over(
        self, picture: np.ndarray, camera: Camera, extent: Extent, back: Background, time: float, fine: int
    ) -> np.ndarray:
        """The picture with pressure seen through its bodies, and a legend."""
        patches = patches_of(self.points(time)) if PRESSURE in self.kinds else NO_PATCHES
        if len(patches.pressure):
            canvas, blank = Canvas(camera, extent, back), Canvas(camera, extent, back).render(fine)
            canvas.add_flat(patches.corners, np.array(BANDS, float)[patches.bands] / 255.0)
            shown = canvas.render(fine)
            through = SEEN * (shown != blank).any(axis=2, keepdims=True)
            picture = (picture + through * (shown.astype(float) - picture)).astype(np.uint8)
        most = self.arrows(time)[1] if FORCES in self.kinds else None
        words = scale_words(patches) if len(patches.pressure) else ()
        return with_legend(picture, most, words if PRESSURE in self.kinds else None)

    def add_arrows(self, canvas: Canvas, time: float, width: float) -> None:
        """Draw the arrows, which nothing hides."""
        for line in self.arrows(time)[0] if FORCES in self.kinds else ():
            canvas.add_strokes(segments(line), RED, 1.3 * width, over=True)


def with_legend(picture: np.ndarray, force: float | None, pressure: Sequence[str] | None) -> np.ndarray:
    """The picture with what its longest arrow (N) and its colours mean, at its upper left. pressure : what the first, the
    middle and the last colour mean, nothing where no face bears. None: not drawn."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.fromarray(picture)
    draw, size = ImageDraw.Draw(image), max(11, image.height // 38)
    font, x, y = ImageFont.load_default(size), 0.8 * size, 0.8 * size
    if force is not None:
        words = f"longest arrow: contact force of {with_prefix(force, 'N')}" if force > 0.0 else "no contact force"
        draw.text((x, y), words, fill=tuple(int(255 * c) for c in RED), font=font)
        y += 1.6 * size
    if pressure is not None:
        draw.text((x, y), "pressure on faces" if pressure else "no pressure on faces", fill=INK, font=font)
    if pressure:
        width, y = 1.6 * size, y + 1.4 * size
        for i, color in enumerate(BANDS):
            draw.rectangle((x + i * width, y, x + (i + 1) * width, y + 0.8 * size), fill=color)
        for share, words, anchor in zip((0.0, 0.5, 1.0), pressure, ("la", "ma", "ra"), strict=True):
            draw.text((x + share * len(BANDS) * width, y + size), words, fill=INK, font=font, anchor=anchor)
    return np.asarray(image)


def with_words(picture: np.ndarray, lines: Sequence[tuple[str, tuple[int, int, int]]]) -> np.ndarray:
    """The picture with lines of text and their colours at its lower left."""
    if not lines:
        return picture
    from PIL import Image, ImageDraw, ImageFont

    image = Image.fromarray(picture)
    draw, size = ImageDraw.Draw(image), max(11, image.height // 38)
    font = ImageFont.load_default(size)
    for row, (words, color) in enumerate(reversed(lines)):
        draw.text((0.8 * size, image.height - (1.9 + 1.5 * row) * size), words, fill=color, font=font)
    return np.asarray(image)
