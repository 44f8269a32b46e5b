"""Still pictures of a run with matplotlib: bodies as shaded meshes, with trails, joints, shadows, ghosts and arrows, and
particles. With particles, everything is cut into small pieces that hide one another (`still_paint.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.view.drawing import BodyDrawing, End, LinkDrawing, SceneDrawing, parse_scene, thinned_scene
from dalembert.view.extent import Extent, motion_extent, recorded_particles
from dalembert.view.geometry import axis_ends, coil_points, rotate, segments
from dalembert.view.still_paint import SHADOW, Painter, lit, shadow_of, towards_eye

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.trajectory import Trajectory

__all__ = ["Arrow", "still"]

INK, STRAIGHT, GROUND = "#232a35", "#404a5c", "#e1e5ea"
MAX_POINTS = 20_000  # free particles in a picture
FILL = 0.84  # of the page, by what is drawn


@dataclass(frozen=True)
class Arrow:
    """A vector (3,) drawn at a point (3,) of a body, both in the body's frame (`turns`) or the vector in world axes; m."""

    body: str
    point: tuple[float, float, float]
    vector: tuple[float, float, float]
    turns: bool = False
    color: str = "#c2353f"


@dataclass(frozen=True)
class _Instant:
    """Positions and orientations of all bodies at one time, and positions of the particles that are drawn."""

    time: float
    positions: np.ndarray
    turns: np.ndarray
    particles: np.ndarray

    def at(self, end: End) -> np.ndarray:
        return end.at(self.positions, self.turns, self.particles)

    def on_body(self, body: int, point: np.ndarray) -> np.ndarray:
        return self.positions[body] + rotate(self.turns[body], point)


def still(
    trajectory: Trajectory, path: str | os.PathLike[str] | None, *, time: float | None = None, trail: bool = True,
    ghosts: Iterable[float] = (), arrows: Iterable[Arrow] = (), elevation: float = 16.0, azimuth: float | None = None,
    ground: float | None = None,
) -> Figure:  # fmt: skip
    """Write a PNG picture (1200 × 900) of the scene at the recorded instant nearest `time` s (default: the last); without
    a path it is only drawn.

    Of more than 20 000 free particles so many are drawn, picked at random (`particles.chosen_particles`).

    Args:
        ghosts: other instants, s, at which the bodies are drawn faintly as well.
        arrows: vectors at points of bodies, drawn at `time` and at the ghosts.
        elevation, azimuth: where to look from, degrees above the ground and about z from x; by itself, across the motion.
        ground: its height, m; by itself, just below the motion.
    """
    from matplotlib.figure import Figure

    whole = parse_scene(trajectory.scene_description, trajectory.bodies, trajectory.particle_number)
    drawing, rows = thinned_scene(whole, MAX_POINTS)
    particles = recorded_particles(trajectory)
    times = trajectory.times
    i = len(times) - 1 if time is None else int(np.argmin(np.abs(times - time)))
    shown = [*(int(np.argmin(np.abs(times - t))) for t in ghosts), i]
    arrows = list(arrows)
    moved = trajectory.position.values, trajectory.orientation.values, particles
    extent = motion_extent(whole, *(part[: i + 1] for part in moved))
    extent = extent if ground is None else replace(extent, ground=ground)
    instants = [_instant(trajectory, drawing.bodies, k, particles[k, rows]) for k in shown]
    tracks = trajectory.position.values[: i + 1 if trail else 0].swapaxes(0, 1)
    figure = Figure(figsize=(8, 6), dpi=150, facecolor="white")
    axis: Any = figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d", computed_zorder=False)
    _frame(axis, extent, elevation, np.degrees(extent.yaw) if azimuth is None else azimuth)
    names = [body.name for body in drawing.bodies]
    painter = Painter(axis, extent) if drawing.particles else None
    for instant in instants:
        now = instant is instants[-1]
        hides = painter if now else None
        for b in np.argsort(instant.positions @ towards_eye(axis)):  # matplotlib does not hide what is behind
            _draw_body(axis, drawing.bodies[b], instant, int(b), extent, 1.0 if now else 0.22, hides)
        for link in drawing.lines:
            _draw_line(axis, link, instant, extent.size, 1.0 if now else 0.25, hides)
        for arrow in arrows:
            _draw_arrow(axis, arrow, instant, names.index(arrow.body), extent.size, 1.0 if now else 0.3)
    for curve in drawing.curves:
        axis.plot(*curve.points.T, color="#596173", linewidth=2.0, zorder=2)
    dotted = [j for j in drawing.joints if j.kind != "point_on_curve" and not j.within_particles]
    _draw_joints(axis, [j for j in dotted if instants[-1].time <= j.until], instants[-1], extent.size)
    for body, track in zip(drawing.bodies, tracks, strict=False):
        axis.plot(*track[:: max(1, i // 800)].T, color=body.color, linewidth=1.3, alpha=0.6, zorder=3)
    if painter is not None:
        for group in drawing.particles:
            painter.add_particles(group, instants[-1].particles)
    _fill_page(axis, _points(drawing, instants, tracks, arrows, extent))
    if painter is not None:
        painter.paint()
    _draw_grid(axis, extent)
    for artist in (*axis.lines, *axis.collections):
        artist.set_clip_on(False)
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="png")
    return figure


def _instant(trajectory: Trajectory, bodies: list[BodyDrawing], i: int, particles: np.ndarray) -> _Instant:
    still = bodies[len(trajectory.bodies) :]
    return _Instant(
        float(trajectory.times[i]),
        np.concatenate([trajectory.position.values[i], np.reshape([body.position for body in still], (-1, 3))]),
        np.concatenate([trajectory.orientation.values[i], np.reshape([body.orientation for body in still], (-1, 4))]),
        particles,
    )


def _draw_body(
    axis: Any, body: BodyDrawing, instant: _Instant, b: int, extent: Extent, alpha: float, painter: Painter | None
) -> None:
    """The shaded mesh and its shadow on the ground; a dot for a body without a mesh. painter: draws the mesh, later."""
    from matplotlib.colors import to_rgb
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    if not len(body.faces):
        place = instant.positions[b]
        axis.scatter(*place, s=60, color=body.color, edgecolors="none", depthshade=False, alpha=alpha, zorder=4)
        return
    vertices, color = instant.on_body(b, body.vertices - body.center), np.array(to_rgb(body.color))
    triangles = vertices[body.faces]
    if alpha == 1.0 and triangles[..., 2].min() > extent.ground and body.bound < 2 * extent.size:
        shadow = shadow_of(triangles, extent.ground)
        axis.add_collection3d(Poly3DCollection(shadow, facecolors=SHADOW, edgecolors=SHADOW, zorder=0), autolim=False)
    if painter is not None:
        painter.add_mesh(vertices, body.faces, color)
        return
    colors = alpha * lit(triangles, color) + (1.0 - alpha)  # a ghost is paler, not transparent: its back stays hidden
    mesh = Poly3DCollection(triangles, facecolors=colors, edgecolors=colors, linewidths=0.2, zorder=2 + 2 * alpha)
    axis.add_collection3d(mesh, autolim=False)


def _draw_line(
    axis: Any, link: LinkDrawing, instant: _Instant, size: float, alpha: float, painter: Painter | None
) -> None:
    from matplotlib.colors import to_rgb

    if instant.time <= link.until:
        points = coil_points(instant.at(link.a), instant.at(link.b), link.coils, 0.016 * size)
        if painter is not None:
            painter.add_strokes(segments(points), np.array(to_rgb(STRAIGHT)), 1.8)
        else:
            axis.plot(*points.T, color=STRAIGHT, linewidth=1.8, alpha=alpha, zorder=4)


def _draw_joints(axis: Any, joints: list[LinkDrawing], instant: _Instant, size: float) -> None:
    """A dot at each joint, and a stroke along its axis."""
    for joint in joints:
        if joint.axis is not None:
            along = joint.axis if joint.a.body < 0 else rotate(instant.turns[joint.a.body], joint.axis)
            ends = axis_ends(instant.at(joint.a), along, 0.03 * size)
            axis.plot(*ends.T, color=INK, linewidth=2.0, zorder=5)
    if joints:
        places = [joint.a if joint.b.fixed else joint.b for joint in joints]
        places += [joint.a for joint in joints if joint.a.fixed]
        dots = np.array([instant.at(end) for end in places])
        axis.scatter(*dots.T, s=26, color=INK, edgecolors="white", linewidths=1.0, depthshade=False, zorder=6)


def _draw_arrow(axis: Any, arrow: Arrow, instant: _Instant, body: int, size: float, alpha: float) -> None:
    start, vector = instant.on_body(body, np.array(arrow.point)), np.array(arrow.vector)
    vector = rotate(instant.turns[body], vector) if arrow.turns else vector
    end = start + vector
    side = np.cross(vector, (0.0, 0.0, 1.0) if abs(vector[2]) < 0.9 * np.linalg.norm(vector) else (1.0, 0.0, 0.0))
    side *= 0.012 * size / np.linalg.norm(side)
    back = end - vector * 0.04 * size / np.linalg.norm(vector)
    axis.plot(*np.array([start, end]).T, color=arrow.color, linewidth=2.6, alpha=alpha, zorder=7)
    axis.plot(*np.array([back + side, end, back - side]).T, color=arrow.color, linewidth=2.6, alpha=alpha, zorder=7)


def _frame(axis: Any, extent: Extent, elevation: float, azimuth: float) -> None:
    """Equal scales around the motion, without matplotlib's box."""
    center, half = extent.center, 0.5 * float(np.max(extent.high - extent.low))
    axis.set(**{f"{c}lim": (m - half, m + half) for c, m in zip("xyz", center, strict=True)})
    axis.set_proj_type("persp", focal_length=1.6)
    axis.set_box_aspect((1, 1, 1), zoom=1.0)
    axis.view_init(elev=elevation, azim=azimuth)
    axis.set_axis_off()
    axis.patch.set_alpha(0.0)


def _draw_grid(axis: Any, extent: Extent) -> None:
    """A quiet grid on the ground, not so wide that it goes on behind the eye."""
    half = 0.5 * float(np.max(extent.high - extent.low))
    step = 10.0 ** np.floor(np.log10(half))
    step = step / 2 if half / step < 2.5 else step
    reach = np.arange(-int(7 * half / step), int(7 * half / step) + 1) * step
    cx, cy = np.round(extent.center[:2] / step) * step
    for offset in reach:
        for xs, ys in (
            ((cx + offset,) * 2, (cy + reach[0], cy + reach[-1])),
            ((cx + reach[0], cx + reach[-1]), (cy + offset,) * 2),
        ):
            axis.plot(xs, ys, (extent.ground,) * 2, color=GROUND, linewidth=0.8, zorder=-1)


def _points(
    drawing: SceneDrawing, instants: list[_Instant], tracks: np.ndarray, arrows: list[Arrow], extent: Extent
) -> np.ndarray:
    """Points (n, 3) of all that has to be on the page: particles that flew out of the extent need not be."""
    particles = instants[-1].particles
    within = np.all((particles >= extent.low) & (particles <= extent.high), axis=1)
    found = [tracks.reshape(-1, 3), particles[within], *(curve.points for curve in drawing.curves)]
    for instant in instants:
        for body, x, q in zip(drawing.bodies, instant.positions, instant.turns, strict=True):
            found.append(x + rotate(q[None], body.vertices - body.center) if len(body.vertices) else x[None])
    for arrow in arrows:
        pushed = [drawn.name for drawn in drawing.bodies].index(arrow.body)
        for instant in instants:
            found.append(
                (instant.on_body(pushed, np.array(arrow.point)) + np.array([[-1.0], [1.0]]) * arrow.vector).reshape(
                    -1, 3
                )
            )
    found += [end.anchor[None] for link in drawing.links for end in (link.a, link.b) if end.fixed]
    points = np.concatenate(found)
    return points if len(points) else np.stack([extent.low, extent.high])


def _fill_page(axis: Any, points: np.ndarray) -> None:
    """Make the axes so much larger than the page, and so far to one side, that these points fill it."""
    from mpl_toolkits.mplot3d import proj3d

    x, y, _ = proj3d.proj_transform(*points.T, axis.get_proj())
    page = axis.get_figure().transFigure.inverted().transform(axis.transData.transform(np.stack([x, y], axis=1)))
    low, high = page.min(axis=0), page.max(axis=0)
    zoom = float(FILL / np.max(high - low))
    left, bottom = 0.5 - zoom * 0.5 * (low + high)
    axis.set_position((left, bottom, zoom, zoom))
