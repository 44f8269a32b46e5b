"""Figures of the gallery that are no pictures of one instant; make_gallery.py draws them. By itself: those of stiffness.md
and README.md."""

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import dalembert as dal
from dalembert.gallery import formulations, orbit, rattleback, spring_chain, stiffness

COLORS = {
    "euler": "#b4434d", "midpoint": "#e08a3c", "rk4": "#72767d", "symplectic_euler": "#54a24b", "time_stepping": "#7a5ba6",
    "implicit_midpoint": "#2f9e9e", "implicit_euler": "#3566b0",
}  # fmt: skip


def figure(panels: int, width: float = 10.0, height: float = 4.4) -> tuple[Figure, Any]:
    """A figure and its axes, side by side."""
    made = Figure(figsize=(width, height), dpi=150, layout="constrained")
    axes = np.atleast_1d(made.subplots(1, panels))
    for axis in axes:
        axis.grid(color="#e4e7ec")
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    return made, axes


def draw_orbit(_: dal.Simulation, path: Path) -> None:
    """The circular orbit by every method in 400 steps a turn: its path, and how the energy drifts."""
    steps, turns = 400, 5
    runs = orbit.compare(turns, steps)
    made, (plane, drift) = figure(2)
    for name, run in runs.items():
        place = orbit.relative(run)
        energy = (run.trajectory.kinetic + run.trajectory.potential).values
        radius = np.linalg.norm(place, axis=1)
        fallen = int(np.argmax(radius < 0.15)) or len(radius)
        label = f"{name}, falls in" if fallen < len(radius) else name
        if name in ("euler", "symplectic_euler", "implicit_euler"):
            plane.plot(*place[:fallen, :2].T, color=COLORS[name], linewidth=1.6, label=label)
        error = np.abs(energy / energy[0] - 1.0)[1:fallen]
        drift.plot(
            run.trajectory.times[1:fallen] / orbit.TURN, error, color=COLORS[name], label=label,
            linewidth=1.4,
        )  # fmt: skip
    plane.plot(0.0, 0.0, "o", color="#eeca3b", markersize=10, markeredgecolor="#b89a1d")
    plane.set(aspect="equal", xlabel="x, m", ylabel="y, m", title=f"{turns} turns, {steps} steps each")
    plane.set_ylim(-1.7, 2.5)
    plane.legend(frameon=False, loc="upper left", fontsize=8)
    drift.set(
        xlabel="turns",
        ylabel="relative error of the energy",
        yscale="log",
        ylim=(1e-13, 1e4),
        title="Drift of the energy",
    )
    drift.legend(frameon=False, fontsize=8, ncols=3, loc="upper right")
    made.savefig(path)


def draw_spring_chain(run: dal.Simulation, path: Path) -> None:
    """Heights of all masses over time, and of the lowest over its sag, by methods and stiffnesses."""
    made, (lines, sag) = figure(2)
    runs = {f"k = 60 N/m, {run.method}": run}
    for k, mass in ((60.0, 0.05), (1e8, 1e-3)):
        own = dict(spring_chain.STIFF)
        scene = spring_chain.build(stiffness=k, mass=mass)
        stepped = dal.simulate(scene, own.pop("duration"), **own)
        spring_chain.check(stepped)
        runs[f"k = {k:g} N/m, {stepped.method}"] = stepped
    for (label, shown), color in zip(runs.items(), ("#e45756", "#3566b0", "#1b2a4a"), strict=True):
        times, heights = shown.trajectory.times, shown.trajectory.particle_position.values[..., 2]
        _, found, _ = spring_chain.amplitudes(shown)
        n = found.shape[1]
        _, shapes = spring_chain.modes(n, 1.0, 1.0)
        moved = heights[:, -1] - heights[0, -1]
        rest = moved - found @ shapes[-1]  # of the lowest: the same at every frame
        sag.plot(times, moved / rest, color=color, linewidth=1.6, label=label)
    lines.plot(run.trajectory.times, run.trajectory.particle_position.values[..., 2], color="#e45756", linewidth=1.1)
    _, _, expected = spring_chain.amplitudes(run)
    rest = run.trajectory.particle_position.values[0, 1:, 2] - (expected @ shapes.T)[0]
    some = slice(None, None, 6)
    lines.plot(run.trajectory.times[some], (rest + expected @ shapes.T)[some], ".", color="#232a35", markersize=2.2)
    lines.set(xlabel="time, s", ylabel="height, m", title="k = 60 N/m: run (lines), sum of modes (dots)")
    sag.set(xlabel="time, s", ylabel="lowered by, in sags at rest", title="The lowest mass", ylim=(-0.05, 2.6))
    sag.legend(frameon=False, fontsize=8, loc="upper right")
    made.savefig(path)


def draw_galaxy(run: dal.Simulation, path: Path) -> None:
    """The two discs from above at four instants, on black."""
    made = Figure(figsize=(10.0, 7.5), dpi=150, facecolor="#07090f", layout="constrained")
    for axis, time in zip(made.subplots(2, 2).flat, (0.0, 5.0, 6.5, 8.0), strict=True):
        i = int(np.argmin(np.abs(run.trajectory.times - time)))
        places = run.trajectory.particle_position.values[i]
        dots = [(group.first, len(group), color) for group, color in zip(
            run.model.scene.particles.values(), ("#ffffff", "#7fb2ff", "#ffffff", "#ffb45e"), strict=True)]  # fmt: skip
        for first, number, color in dots:
            x, y = places[first : first + number, :2].T
            axis.scatter(x, y, s=14 if number == 1 else 0.35, color=color, linewidths=0, alpha=1.0 if number == 1 else 0.6,
                         zorder=3 if number == 1 else 2)  # fmt: skip
        axis.set(aspect="equal", xlim=(-5.0, 5.0), ylim=(-3.5, 3.5))
        axis.set_axis_off()
        axis.text(0.02, 0.95, f"t = {time:g}", color="#aeb6c6", transform=axis.transAxes)
    made.savefig(path)


def draw_stiffness(_: dal.Simulation, path: Path) -> None:
    """Errors of the length and of the angle, and steps, over the stiffness."""
    made, (length, angle, steps) = figure(3, width=13.0)
    exact = stiffness.measure("multiplier")
    for way, color in (("penalty", "#b4434d"), ("spring, implicit Euler", "#3566b0")):
        rows = [stiffness.measure(way, k) for k in 10.0 ** np.arange(2, 10)]
        for axis, name in ((length, "length"), (angle, "angle"), (steps, "steps")):
            axis.plot([row.stiffness for row in rows], [getattr(row, name) for row in rows], "o-", color=color, label=way,
                      markersize=4)  # fmt: skip
    for axis, name, title in (
        (length, "length", "error of the length, m"), (angle, "angle", "error of the angle, rad"), (steps, "steps", "steps"),
    ):  # fmt: skip
        axis.axhline(max(getattr(exact, name), 1e-16), color="#54a24b", label="multiplier")
        axis.set(xscale="log", yscale="log", xlabel="stiffness, N/m", title=title)
    steps.legend(frameon=False, loc="upper left")
    made.savefig(path)


def draw_stability(path: Path) -> None:
    """The energy of a mass on a spring, step by step, for steps h of several h ω."""
    made, (axis,) = figure(1, width=8.0, height=4.6)
    k, mass, count = 60.0, 0.05, 60
    omega = np.sqrt(k / mass)
    for method, ratio, dash in (
        ("euler", 0.5, "-"), ("euler", 0.1, "--"), ("symplectic_euler", 2.05, "-"), ("symplectic_euler", 1.9, "--"),
        ("rk4", 2.9, "-"), ("rk4", 2.7, "--"), ("implicit_euler", 2.05, "-"), ("implicit_midpoint", 20.0, "-"),
    ):  # fmt: skip
        dt = ratio / omega
        scene = spring_chain.build(masses=1, stiffness=k, mass=mass, spacing=100.0)
        run = dal.simulate(scene, count * dt, method=method, dt=dt, frame_rate=1.0 / dt, newton_tolerance=1e-11)
        off = run.trajectory.particle_position.values[:, 1, 2] + 100.0 + 9.81 * mass / k
        speed = run.trajectory.particle_momentum.values[:, 1, 2] / mass
        energy = off**2 + (speed / omega) ** 2
        axis.plot(energy / energy[0], dash, color=COLORS[method], label=f"{method}, h ω = {ratio:g}", linewidth=1.5)
    axis.set(xlabel="step", ylabel="energy of the oscillation, over that at the start", yscale="log", ylim=(1e-6, 1e6))
    axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    made.savefig(path)


def draw_first_run(path: Path) -> None:
    """What the first example of README.md draws."""
    text = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    found = re.search(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert found is not None
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        exec(found[1], {})
        path.write_bytes(Path("first-run.png").read_bytes())
        os.chdir(path.parent)


def draw_formulations(_: dal.Simulation, path: Path) -> None:
    """What each formulation of the double pendulum costs for its accuracy: time and steps over the error."""
    made, (time, steps) = figure(2)
    colors = ("#e08a3c", "#b4434d", "#54a24b", "#3566b0", "#1b2a4a", "#7a5ba6")
    for way, color in zip(formulations.WAYS, colors, strict=False):
        rows = [formulations.measure(way, rtol) for rtol in (1e-4, 1e-6, 1e-8, 1e-10)]
        errors = [row.error for row in rows]
        time.plot(errors, [1e3 * row.seconds for row in rows], "o-", color=color, markersize=4, label=way)
        steps.plot(errors, [row.steps for row in rows], "o-", color=color, markersize=4, label=way)
    for axis, what in ((time, "milliseconds of computing for 2 s"), (steps, "steps")):
        axis.set(xscale="log", yscale="log", xlabel="worst error of a place, m", ylabel=what)
    time.legend(frameon=False, fontsize=8)
    made.savefig(path)


def draw_rattleback(run: dal.Simulation, path: Path) -> None:
    """The spin over time, spun either way, and that of the equations of rolling."""
    settings = {key: value for key, value in rattleback.SETTINGS.items() if key != "duration"}
    made, (panel,) = figure(1, width=8.0)
    other = dal.simulate(rattleback.build(-rattleback.SPIN), run.time, **settings)
    for shown, spin, color in ((run, rattleback.SPIN, "#e45756"), (other, -rattleback.SPIN, "#3566b0")):
        times = shown.trajectory.times
        label = f"spun at {spin:+.0f} rad/s"
        panel.plot(times, shown.trajectory.angular_velocity[:, 0, 2].values, color=color, linewidth=1.6, label=label)
        panel.plot(
            times[::8], rattleback.expected(times[::8], spin), "o", color=color, markersize=3.5, markerfacecolor="white",
            label="equations of rolling",
        )  # fmt: skip
    panel.axhline(0.0, color="#72767d", linewidth=0.8)
    panel.set(
        xlabel="t, s",
        ylabel="spin about the vertical, rad/s",
        title="A rattleback on a rough floor, 960 steps a second",
    )
    panel.legend(frameon=False, fontsize=9, loc="lower right")
    made.savefig(path)


DRAWN = {
    "formulations": draw_formulations,
    "galaxy": draw_galaxy,
    "orbit": draw_orbit,
    "rattleback": draw_rattleback,
    "spring-chain": draw_spring_chain,
    "stiffness": draw_stiffness,
}  # of the gallery, by scene; fmt: skip

if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    draw_stability(here / "stability.png")
    draw_first_run(here / "first-run.png")
