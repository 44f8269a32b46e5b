"""Figures of a run with matplotlib: energies, joint errors, reactions and phase portraits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.view.works import drawn_works

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.trajectory import Trajectory

__all__ = ["plot_energy", "plot_joint_errors", "plot_phase", "plot_reaction"]

INK, MUTED, GRID = "#232a35", "#6a7382", "#e4e7ec"
PALETTE = ("#3566b0", "#d1772a", "#3b8a5a", "#8a5aa8", "#b4434d", "#2d8f9b", "#8b7a2f", "#6b7280")


def plot_energy(trajectory: Trajectory) -> Figure:
    """The energy ledger over time (J): kinetic, potential, total and each force's work; below it, its residual."""
    has_balance = "balance" in trajectory
    figure, axes = _figure(2 if has_balance else 1, heights=(2.4, 1) if has_balance else (1,))
    times, kinetic, potential = trajectory.times, trajectory.kinetic.values, trajectory.potential.values
    axes[0].plot(times, kinetic, label="kinetic", color=PALETTE[0])
    axes[0].plot(times, potential, label="potential", color=PALETTE[1])
    for i, (label, values) in enumerate(drawn_works(trajectory)):
        axes[0].plot(times, values, label=_plain(label), color=PALETTE[(2 + i) % 8])
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
