"""Figures of a run with matplotlib: energies, joint errors, reactions, phase portraits, and still pictures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.view.drawing import BodyDrawing, coil_points, rotate, trajectory_drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.trajectory import Trajectory

__all__ = ["plot_energy", "plot_joint_errors", "plot_phase", "plot_reaction", "still"]

INK, MUTED, GRID = "#232a35", "#6a7382", "#e4e7ec"
PALETTE = ("#3566b0", "#d1772a", "#3b8a5a", "#8a5aa8", "#b4434d", "#2d8f9b", "#8b7a2f", "#6b7280")
LIGHT = np.array([0.35, -0.5, 1.0]) / np.linalg.norm([0.35, -0.5, 1.0])


def plot_energy(trajectory: Trajectory) -> Figure:
    """The energy ledger over time (J): kinetic, potential, total and each force's work; below it, its residual."""
    has_balance = "balance" in trajectory
    figure, axes = _figure(2 if has_balance else 1, heights=(2.4, 1) if has_balance else (1,))
    times, kinetic, potential = trajectory.times, trajectory.kinetic.values, trajectory.potential.values
    axes[0].plot(times, kinetic, label="kinetic", color=PALETTE[0])
    axes[0].plot(times, potential, label="potential", color=PALETTE[1])
    for i, name in enumerate(trajectory.forces if "work" in trajectory else []):
        axes[0].plot(times, trajectory.work.values[:, i], label=_plain(f"work: {name}"), color=PALETTE[(2 + i) % 8])
    axes[0].plot(times, kinetic + potential, "--", label="kinetic + potential", color=INK, linewidth=1.2)
    axes[0].set_ylabel("energy, J")
    _legend(axes[0])
    if has_balance:
        axes[1].plot(times, trajectory.balance.values, color=PALETTE[4])
        axes[1].set_ylabel("residual, J")
    return _finish(figure, axes, trajectory)


def plot_joint_errors(trajectory: Trajectory) -> Figure:
    """Position (m) and velocity (m/s) errors of every joint over time, on a logarithmic axis.

    Raises:
        ValueError: no joint errors were recorded.
    """
    names = [name for name in ("joint_error", "joint_velocity_error") if name in trajectory]
    if not names or not trajectory.joints:
        raise ValueError("the trajectory has no joint errors to plot")
    figure, axes = _figure(len(names), heights=(1,) * len(names))
    labels = {"joint_error": "position error, m", "joint_velocity_error": "velocity error, m/s"}
    for axis, name in zip(axes, names, strict=True):
        values = trajectory[name].values
        for j, joint in enumerate(trajectory.joints):
            positive = np.where(values[:, j] > 0, values[:, j], np.nan)
            axis.plot(trajectory.times, positive, label=_plain(joint), color=PALETTE[j % 8], linewidth=1.0)
        axis.set_yscale("log")
        axis.set_ylabel(labels[name])
    if len(trajectory.joints) <= 10:
        _legend(axes[0])
    return _finish(figure, axes, trajectory)


def plot_reaction(trajectory: Trajectory, joint: str) -> Figure:
    """Reaction force (N) and torque (N m) on the second body of `joint`, world axes, over time.

    Raises:
        KeyError: there is no such joint.
        ValueError: no reactions were recorded.
    """
    selected = trajectory.joint(joint)
    names = [name for name in ("reaction_force", "reaction_torque") if name in selected]
    if not names:
        raise ValueError("the trajectory has no reactions to plot")
    figure, axes = _figure(len(names), heights=(1,) * len(names))
    labels = {"reaction_force": "force, N", "reaction_torque": "torque, N m"}
    for axis, name in zip(axes, names, strict=True):
        values = selected[name].values
        for k, color in enumerate((PALETTE[4], PALETTE[2], PALETTE[0])):
            axis.plot(trajectory.times, values[:, k], label="xyz"[k], color=color)
        axis.plot(trajectory.times, np.linalg.norm(values, axis=1), "--", label="magnitude", color=INK, linewidth=1.2)
        axis.set_ylabel(labels[name])
    _legend(axes[0])
    return _finish(figure, axes, trajectory, f"reaction of {joint}")


def plot_phase(trajectory: Trajectory, body: str) -> Figure:
    """Phase portrait of `body`: each component of momentum (kg m/s) against that of position (m).

    Raises:
        KeyError: there is no such body.
        ValueError: momentum was not recorded.
    """
    selected = trajectory.body(body)
    if "momentum" not in selected:
        raise ValueError("the trajectory has no momentum: a phase portrait needs it")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.2), dpi=150, layout="constrained")
    for k, axis in enumerate(figure.subplots(1, 3)):
        axis.plot(selected.position.values[:, k], selected.momentum.values[:, k], color=PALETTE[0], linewidth=1.2)
        axis.plot(selected.position.values[0, k], selected.momentum.values[0, k], "o", color=INK, markersize=4)
        axis.set(xlabel=f"{'xyz'[k]}, m", ylabel=f"p{'xyz'[k]}, kg m/s")
        _style(axis)
    figure.suptitle(_plain(f"{trajectory.scene_name}: {body}"), color=INK, fontsize=11)
    return figure


def still(
    trajectory: Trajectory, path: str | os.PathLike[str], *, time: float | None = None, trail: bool = True
) -> Figure:
    """Write a PNG picture (1200 × 900) of the scene at the recorded instant nearest `time` s (default: the last).

    Bodies are shaded meshes in their colours, with their trails up to that instant, springs, curves and joint anchors.
    """
    from matplotlib.figure import Figure

    drawing, extent = trajectory_drawing(trajectory)
    last = len(trajectory) - 1
    i = last if time is None else int(np.argmin(np.abs(trajectory.times - time)))
    count = len(trajectory.bodies)
    positions = [
        trajectory.position.values[i, b] if b < count else body.position for b, body in enumerate(drawing.bodies)
    ]
    turns = [
        trajectory.orientation.values[i, b] if b < count else body.orientation for b, body in enumerate(drawing.bodies)
    ]
    figure = Figure(figsize=(8, 6), dpi=150, facecolor="white")
    axis: Any = figure.add_axes((-0.25, -0.5, 1.5, 2.0), projection="3d")  # wider than the page: nothing is cut
    _frame(axis, extent.low, extent.high, extent.ground, np.degrees(extent.yaw))
    for body, p, q in zip(drawing.bodies, positions, turns, strict=True):
        _draw_body(axis, body, p, q, extent.size, extent.ground)

    def anchor(body: int, point: np.ndarray) -> np.ndarray:
        return point if body < 0 else positions[body] + rotate(turns[body], point)

    for link in drawing.lines:
        if trajectory.times[i] > link.until:
            continue
        points = coil_points(
            anchor(link.body_a, link.anchor_a), anchor(link.body_b, link.anchor_b), link.coils, 0.016 * extent.size
        )
        axis.plot(*points.T, color="#404a5c", linewidth=1.5)
    for curve in drawing.curves:
        axis.plot(*curve.points.T, color="#596173", linewidth=1.2, alpha=0.8)
    if drawing.joints:
        dots = np.array([anchor(joint.body_b, joint.anchor_b) for joint in drawing.joints])
        axis.scatter(*dots.T, s=14, color=INK, edgecolors="white", linewidths=0.8, depthshade=False)
    for b in range(count if trail and i > 0 else 0):
        track = trajectory.position.values[: i + 1, b]
        axis.plot(*track[:: max(1, i // 800)].T, color=drawing.bodies[b].color, linewidth=1.0, alpha=0.55)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="png")
    return figure


def _draw_body(axis: Any, body: BodyDrawing, p: np.ndarray, q: np.ndarray, size: float, ground: float) -> None:
    """The shaded mesh and its shadow on the ground; a dot for a body without a mesh."""
    from matplotlib.colors import to_rgb
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    if not len(body.faces):
        axis.scatter(*p, s=60, color=body.color, edgecolors="none", depthshade=False)
        return
    triangles = (p + rotate(q[None], body.vertices - body.center))[body.faces]
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    lit = 0.62 + 0.14 * normals[:, 2] + 0.36 * np.maximum(normals @ LIGHT, 0.0)
    colors = np.clip(np.array(to_rgb(body.color)) * lit[:, None] + 0.03, 0.0, 1.0)
    if triangles[..., 2].min() > ground and body.bound < 2 * size:
        shadow = triangles - LIGHT * ((triangles[..., 2:] - ground) / LIGHT[2])
        axis.add_collection3d(
            Poly3DCollection(shadow, facecolors="#dfe2e8", edgecolors="#dfe2e8", zorder=0), autolim=False
        )
    axis.add_collection3d(
        Poly3DCollection(triangles, facecolors=colors, edgecolors=colors, linewidths=0.2), autolim=False
    )


def _frame(axis: Any, low: np.ndarray, high: np.ndarray, ground: float, azimuth: float) -> None:
    """Equal scales, a quiet ground grid instead of matplotlib's box, and the usual view."""
    center, half = 0.5 * (low + high), 0.5 * np.max(high - low)
    low, high = center - half, center + half
    axis.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axis.set_box_aspect((1, 1, 1), zoom=0.64)
    axis.set_proj_type("persp", focal_length=1.6)
    axis.view_init(elev=18, azim=azimuth)
    axis.set_axis_off()
    step = 10.0 ** np.floor(np.log10(half))
    step = step if 2 * half / step < 14 else 2 * step
    reach = np.arange(-6, 7) * step
    cx, cy = np.round(center[:2] / step) * step
    for offset in reach:
        for xs, ys in (
            ((cx + offset,) * 2, (cy + reach[0], cy + reach[-1])),
            ((cx + reach[0], cx + reach[-1]), (cy + offset,) * 2),
        ):
            axis.plot(xs, ys, (ground, ground), color=GRID, linewidth=0.7, zorder=-1)


def _figure(rows: int, heights: tuple[float, ...]) -> tuple[Figure, list[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 1.2 + 1.5 * sum(heights)), dpi=150, layout="constrained")
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    return figure, list(axes)


def _finish(figure: Figure, axes: list[Any], trajectory: Trajectory, title: str | None = None) -> Figure:
    for axis in axes:
        _style(axis)
        axis.margins(x=0.01)
    axes[-1].set_xlabel("time, s")
    name = trajectory.scene_name if title is None else f"{trajectory.scene_name}: {title}"
    figure.suptitle(_plain(name), color=INK, fontsize=11)
    return figure


def _style(axis: Any) -> None:
    axis.grid(color=GRID, linewidth=0.7)
    axis.set_axisbelow(True)
    axis.tick_params(colors=MUTED, labelsize=8, length=3)
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color("#cfd5dd")
    for label in (axis.xaxis.label, axis.yaxis.label):
        label.set(color=INK, fontsize=9)


def _legend(axis: Any) -> None:
    axis.legend(frameon=False, fontsize=8, labelcolor=INK, loc="upper left", bbox_to_anchor=(1.0, 1.02))


def _plain(text: str) -> str:
    """Text with dollar signs that matplotlib does not read as mathematics."""
    return text.replace("$", r"\$")
