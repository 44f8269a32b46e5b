"""Draw the figures of the chapters: python docs/chapters/figures.py"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import dalembert as dal

HERE = Path(__file__).parent / "figures"
COLORS = ("#b4434d", "#e08a3c", "#72767d", "#54a24b", "#3566b0", "#7a5ba6", "#2f9e9e")


def figure(width: float = 6.4, height: float = 3.8) -> tuple[Figure, Any]:
    """A figure and its axes."""
    made = Figure(figsize=(width, height), dpi=110, layout="constrained")
    axes = made.subplots()
    axes.grid(color="#e4e7ec")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return made, axes


def draw_orders(path: Path) -> None:
    """Chapter 1: error after 2 s of a pendulum over the step, by methods of every order."""

    def swing(t: float, y: np.ndarray) -> np.ndarray:
        return np.array([y[1], -np.sin(y[0])])

    start = [2.0, 0.0]
    exact = dal.solve(swing, start, 0.0, 2.0, "dop853", rtol=1e-13, atol=1e-14).y[-1]
    counts = np.unique(np.geomspace(6, 1500, 15).astype(int))
    made, axes = figure(7.4)
    methods = ("euler", "midpoint", "bogacki_shampine", "rk4", "dormand_prince", "dop853")
    for name, color in zip(methods, COLORS, strict=False):
        errors = [np.abs(dal.solve(swing, start, 0.0, 2.0, name, dt=2.0 / n).y[-1] - exact).max() for n in counts]
        label = f"{name} (order {dal.METHODS[name].order})"
        axes.loglog(2.0 / counts, np.maximum(errors, 1e-17), "o-", ms=3, lw=1.2, color=color, label=label)
    axes.set_xlabel("step, s")
    axes.set_ylabel("error after 2 s")
    axes.set_ylim(1e-16, 1.0)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    made.savefig(path)


def draw_momentum_paths(path: Path) -> None:
    """Chapter 7: the paths of L in the axes of a body with three different moments, on the sphere of constant |L|."""
    moments = np.array([1.0, 2.0, 3.0])

    def euler(t: float, momentum: np.ndarray) -> np.ndarray:
        return np.cross(momentum, momentum / moments)

    made = Figure(figsize=(4.6, 4.2), dpi=110, layout="constrained")
    axes = made.add_subplot(projection="3d", computed_zorder=False)
    view = np.array([np.cos(0.42) * np.cos(0.75), np.cos(0.42) * np.sin(0.75), np.sin(0.42)])
    turn, rise = np.mgrid[0 : 2 * np.pi : 60j, -np.pi / 2 : np.pi / 2 : 30j]
    ball = (np.cos(turn) * np.cos(rise), np.sin(turn) * np.cos(rise), np.sin(rise))
    axes.plot_surface(*ball, color="#eef1f5", edgecolor="none", shade=False, zorder=0)
    for axis, color in ((0, COLORS[4]), (2, COLORS[3])):
        for tilt in (0.15, 0.35, 0.55, 0.75):
            for side in (-1.0, 1.0):
                start = np.zeros(3)
                start[axis], start[1] = side * np.cos(tilt), np.sin(tilt)
                draw_path(axes, euler, start, view, color)
    middle = [np.array([x, side * np.sqrt(1 - 1e-6), z]) for x, z in ((1e-3, 0), (-1e-3, 0)) for side in (-1.0, 1.0)]
    for start in middle:
        draw_path(axes, euler, start / np.linalg.norm(start), view, COLORS[0])
    for axis, name in enumerate(("smallest moment", "middle", "largest moment")):
        axes.text(*(1.15 * np.eye(3)[axis]), name, fontsize=8, ha="center", zorder=9)
    axes.view_init(np.degrees(0.42), np.degrees(0.75))
    axes.set_box_aspect((1, 1, 1), zoom=1.35)
    axes.set_axis_off()
    made.savefig(path)


def draw_path(axes: Any, rate: Any, start: np.ndarray, view: np.ndarray, color: str) -> None:
    """One path on the sphere, where it is on the side that is seen."""
    path = dal.solve(rate, start, 0.0, 60.0, rtol=1e-9, times=np.linspace(0.0, 60.0, 1500)).y
    path = np.where((path @ view > 0.02)[:, None], 1.002 * path, np.nan)
    axes.plot(*path.T, color=color, lw=1.0, zorder=5)


def draw_separating_line(path: Path) -> None:
    """Chapter 8: the gap of two polygons over the direction, and the directions that have to be tried."""
    rng = np.random.default_rng(12)
    turns = [np.sort(rng.uniform(0, 2 * np.pi, count)) for count in (5, 6)]
    polygons = [np.column_stack([np.cos(a), np.sin(a)]) for a in turns]
    polygons[1] = 0.8 * polygons[1] + [1.9, 0.9]
    angles = np.linspace(-np.pi, np.pi, 1441)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    gap = (polygons[1] @ directions.T).min(axis=0) - (polygons[0] @ directions.T).max(axis=0)
    made, axes = figure(8.0, 3.6)
    axes.axhline(0.0, color="#72767d", lw=0.8)
    axes.plot(np.degrees(angles), gap, color=COLORS[4], lw=1.4)
    for polygon, sign, color in ((polygons[0], 1.0, COLORS[0]), (polygons[1], -1.0, COLORS[3])):
        sides = np.roll(polygon, -1, axis=0) - polygon
        normals = sign * np.column_stack([sides[:, 1], -sides[:, 0]]) / np.linalg.norm(sides, axis=1)[:, None]
        there = (polygons[1] @ normals.T).min(axis=0) - (polygons[0] @ normals.T).max(axis=0)
        whose = "first" if sign > 0 else "second"
        axes.plot(np.degrees(np.arctan2(normals[:, 1], normals[:, 0])), there, "o", color=color, ms=5,
                  label=f"normals of the {whose} polygon")  # fmt: skip
    axes.set_xlabel("direction n, degrees")
    axes.set_ylabel("gap g(n), m")
    axes.legend(fontsize=8, frameon=False, loc="lower center")
    inset = axes.inset_axes((0.01, 0.42, 0.3, 0.5))
    for polygon, color in zip(polygons, (COLORS[0], COLORS[3]), strict=True):
        inset.fill(*polygon.T, color=color, alpha=0.7, lw=0)
    inset.set_aspect("equal")
    inset.set_axis_off()
    made.savefig(path)


def draw_painleve(path: Path) -> None:
    """Chapter 11: how a sliding rod answers a normal force, over its angle."""
    made, axes = figure(6.4, 3.4)
    theta = np.linspace(0.0, 0.5 * np.pi, 400)
    for mu, color in zip((0.0, 0.7, 4 / 3, 2.0), (COLORS[2], COLORS[3], COLORS[1], COLORS[0]), strict=True):
        answer = 1 + 3 * np.cos(theta) * (np.cos(theta) - mu * np.sin(theta))
        axes.plot(np.degrees(theta), answer, color=color, lw=1.5, label=f"μ = {mu:.3g}")
    axes.axhspan(-1.0, 0.0, color="#f6dfe1", lw=0)
    axes.text(3, -0.5, "no force satisfies both laws", fontsize=8, color=COLORS[0], va="center")
    axes.set_xlim(0, 90)
    axes.set_ylim(-1, 4.2)
    axes.set_xlabel("angle of the rod from the floor, degrees")
    axes.set_ylabel("m × acceleration per force")
    axes.legend(fontsize=8, frameon=False)
    made.savefig(path)


def draw_energies(path: Path) -> None:
    """Chapter 14: where the energy of a bouncing, sliding and rolling ball goes."""
    scene = dal.Scene("ball", material=dal.Material(friction=0.2, restitution=0.7))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 0.8), velocity=(2.0, 0, 0))
    scene.drag("air", linear=0.03)
    run = dal.simulate(scene, 3.0, dt=1 / 960, frame_rate=240)
    t = run.trajectory
    potential = t.potential - float(t.potential[-1])
    parts = {"kinetic": t.kinetic, "potential": potential}
    parts |= {f"taken by {str(name).removeprefix('contact: ')}": -t.work.sel(force=name) for name in t.forces}
    made, axes = figure(6.4, 3.6)
    axes.stackplot(t.times, [part.values for part in parts.values()], labels=list(parts), lw=0,
                   colors=(COLORS[4], "#9db8dd", COLORS[6], COLORS[0], COLORS[1], COLORS[5]))  # fmt: skip
    axes.set_xlim(0, 3)
    axes.set_ylim(0, float((t.kinetic + potential)[0]) * 1.02)
    axes.set_xlabel("time, s")
    axes.set_ylabel("energy, J")
    axes.legend(fontsize=8, loc="lower left")
    made.savefig(path)


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    draw_orders(HERE / "orders.png")
    draw_momentum_paths(HERE / "momentum-paths.png")
    draw_separating_line(HERE / "separating-line.png")
    draw_painleve(HERE / "painleve.png")
    draw_energies(HERE / "energies.png")
