"""A run as a film: MP4 or GIF, without a display."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.file_format import MOVIES, require_suffix
from dalembert.team import cores
from dalembert.view.geometry import thinned
from dalembert.view.still import Instant, Pictures

if TYPE_CHECKING:
    from dalembert.trajectory import Trajectory

__all__ = ["MOVIES", "save_movie"]

SIZES = {".mp4": (1280, 720), ".gif": (640, 360)}
RATES = {".mp4": 30.0, ".gif": 20.0}
LOOKED_AT = 60  # instants that have to fit on the page
WORKERS = 4


def save_movie(
    trajectory: Trajectory, path: str | os.PathLike[str], *, speed: float = 1.0, rate: float | None = None,
    size: tuple[int, int] | None = None, trail: bool = True, clock: bool = True, elevation: float = 16.0,
    azimuth: float | None = None, ground: float | None = None,
) -> Path:  # fmt: skip
    """Write the whole run as a film to `path`, .mp4 (needs ``pip install 'dalembert[movie]'``) or .gif; all or nothing.

    Args:
        speed: of the film, in seconds of the run a second: below 1 is slow motion.
        rate: frames a second, 30 if not given, and 20 in a GIF.
        size: width and height in pixels, even numbers; 1280 × 720 if not given, and 640 × 360 in a GIF.
        trail, elevation, azimuth, ground: see `still.picture`.
        clock: whether the time is shown.

    Raises:
        ValueError: another suffix, a run of one instant, or sizes and rates that are none.
        ImportError: the library that encodes MP4 is not installed.
    """
    path = require_suffix(path, *MOVIES)
    kind = path.suffix.lower()
    if len(trajectory) < 2 or not trajectory.times[-1] > trajectory.times[0]:
        raise ValueError(f"{trajectory.scene_name!r} has a single instant: there is no film of it; run it first")
    rate, (width, height) = RATES[kind] if rate is None else float(rate), size or SIZES[kind]
    for name, value in (("speed", speed), ("rate", rate)):
        if not (np.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} is {value!r}; give a number above zero")
    if width < 16 or height < 16 or width % 2 or height % 2 or max(width, height) > 8192:
        raise ValueError(f"size is {(width, height)}; give even numbers of pixels, 16 to 8192")
    encode = _gif if kind == ".gif" else _mp4
    pictures = Pictures(trajectory, ground=ground)
    camera = pictures.camera(_seen(pictures), elevation, azimuth, (width, height))
    first, last = pictures.frames.times[0], pictures.frames.times[-1]
    times = np.arange(first, last + 1e-9, speed / rate)

    def draw(time: float) -> np.ndarray:
        now = pictures.instant(time)
        tracks = pictures.tracks(time) if trail else np.zeros((0, 2, 3))
        drawn = pictures.draw(camera, now, [], [], tracks)
        return _with_clock(drawn, now, speed) if clock else drawn

    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.stem}.part{kind}")
    try:
        encode(part, _in_order(draw, times), (width, height), rate)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def _seen(pictures: Pictures) -> np.ndarray:
    """Points (n, 3) that the film shows: of all its instants, those within the extent of the motion."""
    times, extent = pictures.frames.times, pictures.extent
    instants = [pictures.instant(times[i]) for i in thinned(len(times), LOOKED_AT)]
    points = np.concatenate([pictures.points([instant], np.zeros((0, 2, 3)), []) for instant in instants])
    margin = 0.02 * extent.size
    within = np.all((points >= extent.low - margin) & (points <= extent.high + margin), axis=1)
    return points[within] if within.sum() > 1 else np.stack([extent.low, extent.high])


def _in_order(draw: Any, times: np.ndarray) -> Iterator[np.ndarray]:
    """Frames, drawn by a few threads, some ahead of the encoder."""
    workers = min(WORKERS, cores())
    with ThreadPoolExecutor(workers) as pool:
        for i in range(0, len(times), 4 * workers):
            yield from pool.map(draw, times[i : i + 4 * workers])


def _with_clock(picture: np.ndarray, now: Instant, speed: float) -> np.ndarray:
    from PIL import Image, ImageDraw, ImageFont

    image = Image.fromarray(picture)
    size = max(11, image.height // 32)
    text = f"{now.time:.2f} s" + (f"   {speed:g} × real time" if speed != 1.0 else "")
    at = (0.7 * size, image.height - 1.7 * size)
    ImageDraw.Draw(image).text(at, text, fill=(90, 98, 112), font=ImageFont.load_default(size))
    return np.asarray(image)


def _mp4(path: Path, frames: Iterable[np.ndarray], size: tuple[int, int], rate: float) -> None:
    try:
        import imageio_ffmpeg
    except ImportError:
        raise ImportError("MP4 needs imageio-ffmpeg: pip install 'dalembert[movie]'; or write a .gif") from None
    writer = imageio_ffmpeg.write_frames(
        str(path), size, fps=rate, codec="libx264", quality=None, macro_block_size=2, ffmpeg_log_level="error",
        output_params=["-crf", "20", "-preset", "veryfast", "-movflags", "+faststart"],
    )  # fmt: skip
    writer.send(None)
    try:
        for frame in frames:
            writer.send(np.ascontiguousarray(frame))
    finally:
        writer.close()


def _gif(path: Path, frames: Iterable[np.ndarray], size: tuple[int, int], rate: float) -> None:
    from PIL import Image

    first, *rest = (Image.fromarray(frame).quantize(128, dither=Image.Dither.NONE) for frame in frames)
    hundredths = max(2, round(100.0 / rate))  # what viewers take; they show 0 and 1 slowly
    first.save(path, save_all=True, append_images=rest, duration=10 * hundredths, loop=0, optimize=False)
