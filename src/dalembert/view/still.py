"""Still pictures of a run, with light, trails, joints, ghosts, arrows and particles; and films. No display is needed."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.file_format import MOVIES, PICTURES, require_suffix
from ..core.thread_pool import cores
from .camera import Camera, axis_ends, coil_points, rotate, segments, thinned
from .canvas import SOLID, SURFACE, Background, Canvas, backdrop_of
from .contact_drawing import ContactDrawing, chosen_kinds, with_words
from .drawing import (
    End,
    Extent,
    LinkDrawing,
    ParticleDrawing,
    Solids,
    motion_extent,
    parse_scene,
    recorded_particles,
    smooth_normals,
    thinned_scene,
)
from .frames import Frames
from .sensor_drawing import NO_RAY, RecordedSensors
from .viewpoint import elevation_of

if TYPE_CHECKING:
    from ..simulation.trajectory import Trajectory

INK, STRAIGHT, CURVE = (np.array(rgb) / 255.0 for rgb in ((35, 42, 53), (64, 74, 92), (89, 97, 115)))
WHITE = np.ones(3)
UNIT_BOX = np.array([[(i >> k & 1) * 2.0 - 1.0 for k in range(3)] for i in range(8)])
MAX_POINTS = 20_000  # free particles in a picture
GHOST = 0.25  # how much of a ghost's colour is left
LINE = 1 / 300  # of the picture's height: the width of a rod or a spring
DOT = 0.012  # of the picture's size, m: the radius of a body without a shape


@dataclass(frozen=True)
class Arrow:
    """A vector (3,) drawn at a point (3,) of a body, both in the body's frame (`turns`) or the vector in world axes; m."""

    body: str
    point: tuple[float, float, float]
    vector: tuple[float, float, float]
    turns: bool = False
    color: str = "#c2353f"


@dataclass(frozen=True)
class Instant:
    """Positions (b, 3) and orientations (b, 4) of all bodies at one time, and positions (p, 3) of the particles drawn."""

    time: float
    positions: np.ndarray
    turns: np.ndarray
    particles: np.ndarray

    def at(self, end: End) -> np.ndarray:
        return end.at(self.positions, self.turns, self.particles)

    def on_body(self, body: int, point: np.ndarray) -> np.ndarray:
        return self.positions[body] + rotate(self.turns[body], point)


def still(trajectory: Trajectory, path: str | os.PathLike[str], **options: object) -> Path:
    """Write a `picture` (1200 × 900 if no `size` is given) as PNG, or what else the suffix says, to `path`. Raises
    ValueError for another suffix."""
    from PIL import Image

    path = require_suffix(path, *PICTURES)
    drawn = Image.fromarray(picture(trajectory, **options))  # type: ignore[arg-type]
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn.save(path)
    return path


def within(trajectory: Trajectory, name: str, time: float) -> None:
    """Raises ValueError for a time (s) at which nothing was recorded: before the run, or beyond it."""
    if not len(trajectory):
        return
    first, last = float(trajectory.times[0]), float(trajectory.times[-1])
    slack = 1e-9 * max(1.0, abs(last))
    if not first - slack <= time <= last + slack:
        raise ValueError(f"{name} is {time!r} s, and the run goes from {first:g} to {last:g} s; give a time within it")


def picture(
    trajectory: Trajectory, *, time: float | None = None, trail: bool = True, ghosts: Iterable[float] = (),
    arrows: Iterable[Arrow] = (), elevation: float | None = None, azimuth: float | None = None,
    ground: float | None = None, size: tuple[int, int] = (1200, 900), fine: int = 3, contacts: Iterable[str] = (),
    focus: Iterable[str] = (), sensors: bool = False,
) -> np.ndarray:  # fmt: skip
    """The scene at `time` s (default: the end), (height, width, 3) uint8.

    At most 20 000 free particles are drawn, chosen at random (`drawing.chosen_particles`).

    Args:
        trail: whether to draw the paths of bodies until `time`.
        ghosts: other times, s, at which the bodies are also drawn, faintly.
        arrows: vectors at points of bodies, drawn at `time` and at the ghosts.
        elevation, azimuth: direction of the camera, degrees above the ground and about z from x. Default: across the
        motion, at 16°, or higher if large bodies at rest (terrain) hide the others.
        ground: height of the ground, m. Default: just below the motion.
        size: width and height in pixels, with fine × fine samples each.
        contacts: "forces" draws contact forces as arrows, "pressure" the pressure on contact faces, with a legend.
        focus: names of the bodies that fill the picture. Default: all.
        sensors: whether to draw sensors with their last samples: rays, arrows of what they measure, views of cameras,
            with a legend.

    Raises ValueError for times outside the run, for contacts if none were recorded, and for an unknown body.
    """
    ghosts, kinds = list(ghosts), chosen_kinds(trajectory, contacts)
    for name, instant in (*(() if time is None else (("time", time),)), *(("ghosts", ghost) for ghost in ghosts)):
        within(trajectory, name, instant)
    pictures = Pictures(trajectory, until=time, ground=ground, contacts=kinds, sensors=sensors)
    now = pictures.instant(float(trajectory.times[-1]) if time is None else float(time))
    others, arrows = [pictures.instant(t) for t in ghosts], list(arrows)
    tracks = pictures.tracks(now.time) if trail else np.zeros((0, 2, 3))
    framed = pictures.points_of(focus, [*others, now]) or [pictures.points([*others, now], tracks, arrows)]
    camera = pictures.camera(np.concatenate(framed), elevation, azimuth, size)
    return pictures.draw(camera, now, others, arrows, tracks, fine)


class Pictures:
    """Pictures of one run, whose meshes, and extent until a time (s; by itself the end), are found once."""

    def __init__(
        self,
        trajectory: Trajectory,
        *,
        until: float | None = None,
        ground: float | None = None,
        contacts: tuple[str, ...] = (),
        sensors: bool = False,
    ) -> None:
        whole = parse_scene(trajectory.scene_description, trajectory.bodies, trajectory.particle_number)
        self.drawing, rows = thinned_scene(whole, MAX_POINTS)
        bodies = self.drawing.bodies
        places = np.reshape([body.position for body in bodies], (-1, 3))
        self.frames = Frames(places, np.reshape([body.orientation for body in bodies], (-1, 4)), rows)
        self.frames.add_trajectory(trajectory, np.arange(len(trajectory.bodies)))
        if not len(self.frames):
            raise ValueError(f"{trajectory.scene_name!r} has no frames: there is nothing to draw")
        self._recorded = len(trajectory.bodies)
        moved = trajectory["position"].values, trajectory["orientation"].values, recorded_particles(trajectory)
        past = slice(None) if until is None else slice(max(1, int(np.sum(trajectory.times <= until + 1e-12))))
        extent = motion_extent(whole, *(part[past] for part in moved))
        self.extent: Extent = extent if ground is None else replace(extent, ground=ground)
        self.contacts = ContactDrawing(self.frames, contacts, self.extent.size)
        samples = trajectory.sensors if sensors else {}
        self.sensors = RecordedSensors(
            self.drawing.sensors, {name: (array["time"].values, array.values) for name, array in samples.items()}
        )
        self.solids = Solids(bodies)
        self._back: tuple[Camera, Background] | None = None
        self._casting = self.solids.casting(extent.size)

    def instant(self, time: float) -> Instant:
        """All at a time (s), between frames; the nearest end outside of them."""
        kept = float(np.clip(time, self.frames.times[0], self.frames.times[-1]))
        return Instant(kept, *self.frames.at(kept), self.frames.particles_at(kept).astype(float))

    def tracks(self, time: float) -> np.ndarray:
        """The way of each recorded body up to a time, (b, n, 3) m, thinned."""
        past = self.frames.positions[self.frames.times <= time + 1e-12, : self._recorded]
        return past[thinned(len(past), 800)].swapaxes(0, 1)

    def camera(
        self, points: np.ndarray, elevation: float | None, azimuth: float | None, size: tuple[int, int]
    ) -> Camera:
        """From a direction in degrees (by itself, across the motion, from where terrain hides little), filled by these
        points."""
        if elevation is None:
            some = thinned(len(self.frames), LOOKED_AT)
            moved = self.frames.positions[some], self.frames.orientations[some]
            elevation = elevation_of(self.drawing, self.extent, *moved)
        return Camera.around(points, elevation, np.degrees(self.extent.yaw) if azimuth is None else azimuth, size)

    def draw(
        self,
        camera: Camera,
        now: Instant,
        ghosts: list[Instant],
        arrows: list[Arrow],
        tracks: np.ndarray,
        fine: int = 2,
    ) -> np.ndarray:
        """The picture at an instant, (height, width, 3) uint8."""
        if self._back is None or self._back[0] is not camera:
            self._back = camera, backdrop_of(camera, self.extent)
        canvas, drawing, size = Canvas(camera, self.extent, self._back[1]), self.drawing, self.extent.size
        width, marks = max(1.0, camera.size[1] * LINE), drawing.mark_size(size)
        for instant, strength in [*((ghost, GHOST) for ghost in ghosts), (now, 1.0)]:
            corners, normals = self.solids.at(instant.positions, instant.turns)
            casts = self._casting & (strength == 1.0)
            canvas.add_mesh(corners, normals, self.solids.colors, SOLID, strength, casts)
            for b in self.solids.bare:
                body, ball = drawing.bodies[b], instant.positions[b : b + 1]
                canvas.add_balls(ball, body.radius or DOT * size, _pale(np.array(body.rgb) / 255.0, strength))
            for link in drawing.lines:
                if instant.time <= link.until:
                    points = coil_points(instant.at(link.a), instant.at(link.b), link.coils, 0.016 * marks)
                    canvas.add_strokes(segments(points), _pale(STRAIGHT, strength), width)
            for cable in drawing.cables:
                if instant.time <= cable.until:
                    points = cable.points(instant.positions, instant.turns, instant.particles)
                    canvas.add_strokes(segments(points), _pale(STRAIGHT, strength), 1.6 * width)
            for arrow in arrows:
                shaft, head = self._arrow(arrow, instant)
                color = _pale(np.array([int(arrow.color[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0, strength)
                canvas.add_strokes(segments(shaft), color, 1.6 * width, over=True)
                canvas.add_strokes(segments(head), color, 1.6 * width, over=True)
        for curve in drawing.curves:
            canvas.add_strokes(segments(curve.points), CURVE, 1.2 * width)
        for body, track in zip(drawing.bodies, tracks, strict=False):
            canvas.add_strokes(segments(track), _pale(np.array(body.rgb) / 255.0, 0.65), 0.8 * width)
        dotted = [joint for joint in drawing.joints if joint.is_marked]
        _add_joints(canvas, [joint for joint in dotted if now.time <= joint.until], now, marks, width)
        for group in drawing.particles:
            _add_particles(canvas, group, now.particles, size, width)
        self.contacts.add_arrows(canvas, now.time, width)
        for strokes, rgb in self.sensors.lines(now.time, now.positions, now.turns, size):
            canvas.add_strokes(strokes, np.array(rgb) / 255.0, (0.5 if rgb == NO_RAY else 1.0) * width, over=True)
        drawn = canvas.render(fine)
        if self.contacts.kinds:
            drawn = self.contacts.over(drawn, camera, self.extent, self._back[1], now.time, fine)
        return with_words(drawn, self.sensors.words())

    def points(self, instants: list[Instant], tracks: np.ndarray, arrows: list[Arrow]) -> np.ndarray:
        """Points (n, 3) of all that has to be on the page: not floors much larger than the motion, nor particles that
        flew out of its extent."""
        particles, low, high = instants[-1].particles, self.extent.low, self.extent.high
        within = np.all((particles >= low) & (particles <= high), axis=1)
        found = [tracks.reshape(-1, 3), particles[within], *(curve.points for curve in self.drawing.curves)]
        shown = [b for b, body in enumerate(self.drawing.bodies) if body.bound < 2.0 * self.extent.size]
        for instant in instants:
            for b in shown:
                body, x, q = self.drawing.bodies[b], instant.positions[b], instant.turns[b]
                found.append(x + rotate(q[None], body.vertices - body.center) if len(body.vertices) else x[None])
            found += [self._arrow(arrow, instant)[0] for arrow in arrows]
        found += [end.anchor[None] for link in self.drawing.links for end in (link.a, link.b) if end.fixed]
        points = np.concatenate(found)
        return points if len(points) else np.stack([low, high])

    def points_of(self, names: Iterable[str], instants: list[Instant]) -> list[np.ndarray]:
        """Points (n, 3) of the bodies of these names at some instants."""
        known = [body.name for body in self.drawing.bodies]
        found = []
        for name in names:
            if name not in known:
                raise ValueError(f"focus: there is no body {name!r}; there are {', '.join(known[:20])}")
            b = known.index(name)
            body = self.drawing.bodies[b]
            mesh = body.vertices - body.center if len(body.vertices) else (body.radius or 0.0) * UNIT_BOX
            found += [instant.positions[b] + rotate(instant.turns[b][None], mesh) for instant in instants]
        return found

    def _arrow(self, arrow: Arrow, instant: Instant) -> tuple[np.ndarray, np.ndarray]:
        """The shaft (2, 3) and the head (3, 3) of an arrow."""
        body = [drawn.name for drawn in self.drawing.bodies].index(arrow.body)
        start, vector = instant.on_body(body, np.array(arrow.point)), np.array(arrow.vector)
        vector = rotate(instant.turns[body], vector) if arrow.turns else vector
        end, length = start + vector, np.linalg.norm(vector)
        side = np.cross(vector, (0.0, 0.0, 1.0) if abs(vector[2]) < 0.9 * length else (1.0, 0.0, 0.0))
        side *= 0.012 * self.extent.size / np.linalg.norm(side)
        back = end - vector * 0.04 * self.extent.size / length
        return np.array([start, end]), np.array([back + side, end, back - side])


def _add_joints(canvas: Canvas, joints: list[LinkDrawing], instant: Instant, size: float, width: float) -> None:
    """A dot at each joint, and a stroke along its axis, which nothing hides; small where what they hold is, of `size` m."""
    camera = canvas.camera
    pixels = camera.scale * size / float(np.linalg.norm(camera.eye - canvas.extent.center))
    width = min(width, max(0.004 * pixels, 0.3))
    for joint in joints:
        if joint.axis is not None:
            along = joint.axis if joint.a.body < 0 else rotate(instant.turns[joint.a.body], joint.axis)
            canvas.add_strokes(axis_ends(instant.at(joint.a), along, 0.03 * size)[None], INK, 1.1 * width, over=True)
    places = [joint.a if joint.b.fixed else joint.b for joint in joints]
    places += [joint.a for joint in joints if joint.a.fixed]
    if places:
        dots = np.array([instant.at(end) for end in places])
        canvas.add_dots(dots, 2.1 * width, WHITE)
        canvas.add_dots(dots, 1.6 * width, INK, over=2.0)


def _add_particles(canvas: Canvas, group: ParticleDrawing, particles: np.ndarray, size: float, width: float) -> None:
    """A surface, threads, or balls."""
    x, colors = particles[group.span], group.rgb / 255.0
    if len(group.faces):
        shades = colors[group.faces].mean(axis=1)
        canvas.add_mesh(x[group.faces], smooth_normals(x, group.faces), shades, SURFACE)
    elif len(group.segments):
        canvas.add_strokes(x[group.segments], colors[group.segments[:, 0]], 0.8 * width)
    if len(group.dots):
        canvas.add_balls(x[group.dots], group.dot_radius(size), colors[group.dots], least=0.3 * width)


def _pale(color: np.ndarray, strength: float) -> np.ndarray:
    return strength * color + (1.0 - strength)


# Films: MP4 or GIF ----------------------------------------------------------------------------------------------------

SIZES = {".mp4": (1280, 720), ".gif": (640, 360)}
RATES = {".mp4": 30.0, ".gif": 20.0}
LOOKED_AT = 60  # instants that have to fit on the page
WORKERS = 4


def save_movie(
    trajectory: Trajectory, path: str | os.PathLike[str], *, speed: float = 1.0, rate: float | None = None,
    size: tuple[int, int] | None = None, trail: bool = True, clock: bool = True, elevation: float | None = None,
    azimuth: float | None = None, ground: float | None = None, contacts: Iterable[str] = (), sensors: bool = False,
) -> Path:  # fmt: skip
    """Write the whole run as a film to `path`, .mp4 (needs ``pip install 'dalembert[movie]'``) or .gif. The file is
    complete or not written at all.

    Args:
        speed: simulated seconds per second of the film; below 1 is slow motion.
        rate: frames per second. Default: 30, and 20 in a GIF.
        size: width and height in pixels, even numbers. Default: 1280 × 720, and 640 × 360 in a GIF.
        trail, elevation, azimuth, ground, contacts, sensors: see `still.picture`.
        clock: whether to show the time.

    Raises:
        ValueError: for an unsupported suffix, a run with a single frame, or invalid sizes and rates.
        ImportError: if the library that encodes MP4 is not installed.
    """
    path = require_suffix(path, *MOVIES)
    kind = path.suffix.lower()
    if len(trajectory) < 2 or not trajectory.times[-1] > trajectory.times[0]:
        raise ValueError(f"{trajectory.scene_name!r} has a single frame: a film needs several; run it first")
    rate, (width, height) = RATES[kind] if rate is None else float(rate), size or SIZES[kind]
    for name, value in (("speed", speed), ("rate", rate)):
        if not (np.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} is {value!r}; give a number above zero")
    if width < 16 or height < 16 or width % 2 or height % 2 or max(width, height) > 8192:
        raise ValueError(f"size is {(width, height)}; give even numbers of pixels, 16 to 8192")
    encode = _gif if kind == ".gif" else _mp4
    pictures = Pictures(trajectory, ground=ground, contacts=chosen_kinds(trajectory, contacts), sensors=sensors)
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
        ahead = deque[Future[np.ndarray]]()
        for time in times:
            ahead.append(pool.submit(draw, time))
            if len(ahead) > 3 * workers:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _with_clock(picture: np.ndarray, now: Instant, speed: float) -> np.ndarray:
    from PIL import Image, ImageDraw, ImageFont

    size = max(11, picture.shape[0] // 32)
    strip = Image.fromarray(picture[-2 * size :])
    text = f"{now.time:.2f} s" + (f"   {speed:g} × real time" if speed != 1.0 else "")
    ImageDraw.Draw(strip).text((0.7 * size, 0.3 * size), text, fill=(70, 78, 92), font=ImageFont.load_default(size))
    picture[-2 * size :] = np.asarray(strip)
    return picture


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
