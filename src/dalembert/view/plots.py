"""Figures of a run with matplotlib: `run.plot.energy()` and so on, ready to print.

Each method returns a `matplotlib.figure.Figure` without a window, and changes no settings of matplotlib:
``run.plot.energy().savefig("energy.pdf")``. As the last value of a cell it is shown in a notebook, once. In a window:
``run.plot.energy(figure=plt.figure())``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.calls import ExplainsNames

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from ..simulation.trajectory import Trajectory


# Style: colours that differ in grey too, dashes and hatches beside them -----------------------------------------------

INK, MUTED, GRID = "#232a35", "#5a6270", "#e4e7ec"
# Neighbours differ in lightness: dark blue, light orange, mid green, pale blue, dark red, ochre, purple, grey.
PALETTE = ("#2c5aa0", "#f0a44b", "#2f8f6b", "#9cc3ea", "#a8323f", "#c9b458", "#6d4b94", "#9aa1ab")
DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))
HATCHES = (None, None, "////", "....", "\\\\\\\\", "xxxx")
LEAST = 1e-20  # of logarithmic axes
FLAT, ROUNDING = 1e-4, 1e-13  # of the energy of a scene: the least length of the axes of energy, and of its error
AXES = (4, 2, 0)  # of the palette: red, green and blue for x, y and z


def color(i: int) -> str:
    """The i-th colour."""
    return PALETTE[i % len(PALETTE)]


def series(i: int, dash: int | None = None) -> dict[str, Any]:
    """Colour and dashes of the i-th line."""
    return {"color": color(i), "linestyle": DASHES[(i if dash is None else dash) % len(DASHES)], "linewidth": 1.2}


def plain(text: str) -> str:
    """Text whose dollar signs matplotlib does not read as mathematics."""
    return text.replace("$", r"\$")


def new_figure(given: Figure | SubFigure | None, height: float, width: float = 7.0) -> Figure | Any:
    """The given one, or a new one of this size in inches that belongs to no window."""
    from .plot_figure import PlotFigure

    return PlotFigure(figsize=(width, height), dpi=150, layout="constrained") if given is None else given


def arranged(figure: Figure | SubFigure, rows: int, heights: tuple[float, ...] | None = None) -> list[Axes]:
    """So many axes over each other with one axis of time."""
    return list(figure.subplots(rows, 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0])


def logarithmic(axis: Axes) -> None:
    """A logarithmic axis of errors: a decade at least, and nothing below what rounding leaves of small numbers."""
    axis.set_yscale("log")
    low, high = axis.get_ylim()
    if high > LEAST:
        low = max(low, LEAST)
        axis.set_ylim(10.0 ** np.floor(np.log10(low)), 10.0 ** np.ceil(np.log10(high)))


def finish(figure: Any, axes: list[Axes], title: str | None, *, over_time: bool = True) -> Any:
    """Style all axes and set the title; over_time: the lowest axes show time."""
    for axis in axes:
        axis.grid(color=GRID, linewidth=0.7)
        axis.set_axisbelow(True)
        axis.tick_params(colors=MUTED, labelsize=8, length=3)
        axis.yaxis.get_offset_text().set_fontsize(8)
        axis.spines[["top", "right"]].set_visible(False)
        axis.spines[["left", "bottom"]].set_color("#b9c0ca")
        for label in (axis.xaxis.label, axis.yaxis.label):
            label.set(color=INK, fontsize=9)
        if over_time:
            axis.margins(x=0.01)
            place = axis.get_subplotspec()
            if place is None or place.is_last_row():
                axis.set_xlabel("time, s")
    if title is not None:
        figure.suptitle(plain(title), color=INK, fontsize=10)
    return figure


def legend(axis: Axes) -> None:
    """The names of the lines, beside the axes."""
    axis.legend(frameon=False, fontsize=8, labelcolor=INK, loc="upper left", bbox_to_anchor=(1.0, 1.02))


# The energy ledger: the largest works of forces, and the energy -------------------------------------------------------

MOST = 8
NEGLIGIBLE = 1e-3  # of the energy that moves: what is smaller than that is no part of a stacked picture


def drawn_works(trajectory: Any) -> list[tuple[str, np.ndarray]]:
    """(label, (frames,) J) of the forces that did most, in the order of the scene, and of all others together."""
    if "work" not in trajectory:
        return []
    names, works = list(trajectory.forces), np.asarray(trajectory["work"].values)
    if len(names) <= MOST + 1:
        return [(f"work: {name}", works[:, i]) for i, name in enumerate(names)]
    order = np.argsort(-np.abs(works).max(axis=0), kind="stable")
    largest, others = np.sort(order[:MOST]), np.sort(order[MOST:])
    return [
        *((f"work: {names[i]}", works[:, i]) for i in largest),
        (f"work of {len(others)} others", works[:, others].sum(axis=1)),
    ]


def ledger_parts(trajectory: Any) -> list[tuple[str, np.ndarray]]:
    """(label, (frames,) J) of what the energy at the start has become: kinetic energy, potential energy above its least
    value, what each force took (negative where it gave), and the error of the energy, negated.

    As K + V − Σ W − error is constant, the parts add up to the same at every frame. Parts that stay below a thousandth of the
    largest are left out.
    """
    potential = trajectory["potential"].values
    parts = [("kinetic", trajectory["kinetic"].values), ("potential, above its least", potential - potential.min())]
    taken = [(label.replace("work: ", "taken by ").replace("work of", "taken by"), -values)
             for label, values in drawn_works(trajectory)]  # fmt: skip
    if "balance" in trajectory and "work" in trajectory:
        error = trajectory["balance"].values
        earned = trajectory["kinetic"].values + trajectory["potential"].values - trajectory["work"].values.sum(axis=1)
        taken += [("energy error", -error), ("work of moving coordinates", error - (earned - earned[0]))]
    scale = max(float(np.abs(values).max(initial=0.0)) for _, values in parts)
    return [*parts, *((label, v) for label, v in taken if np.abs(v).max(initial=0.0) > NEGLIGIBLE * scale)]


def stacked(parts: list[tuple[str, np.ndarray]]) -> list[tuple[str, list[tuple[np.ndarray, np.ndarray]]]]:
    """(label, bands) of each part on those before it, bands being (lower, upper) edges: of what is positive, upwards from 0,
    and of what is negative, downwards; a part that is never so has no such band."""
    found = []
    up = down = np.zeros(len(parts[0][1]) if parts else 0)
    for label, values in parts:
        above, below = up + np.maximum(values, 0.0), down + np.minimum(values, 0.0)
        bands = [(up, above)] if np.any(values > 0.0) else []
        found.append((label, [*bands, (below, down)] if np.any(values < 0.0) else bands))
        up, down = above, below
    return found


# Plots ----------------------------------------------------------------------------------------------------------------

MOST_LINES = 10  # that a legend names
STILL = 1e-6  # of the largest way: what moves less does not move


class Plots(ExplainsNames):
    """The figures of one run, one method each, available as `run.plot` and `trajectory.plot`.

    Pass `figure`, a Figure or a SubFigure (best with layout="constrained"), to draw in it. Default: a new figure. Each
    method raises ValueError, with the available choices, if the run has not recorded the data.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory

    def __repr__(self) -> str:
        names = [name for name in vars(Plots) if not name.startswith("_")]
        return f"<figures of {self.trajectory.scene_name!r}: {', '.join(names)}>"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]

    def energy(self, figure: Figure | SubFigure | None = None) -> Figure | Any:
        """Energy and losses over time (J), stacked: their sum is the initial energy. Below, the energy error."""
        run = self.trajectory
        residual = "balance" in run
        figure = new_figure(figure, 3.6 if residual else 2.8)
        axes = arranged(figure, 2 if residual else 1, (2.6, 1) if residual else None)
        for i, (label, bands) in enumerate(stacked(ledger_parts(run))):
            look: Any = {
                "facecolor": color(i),
                "hatch": HATCHES[i % len(HATCHES)],
                "edgecolor": "white",
                "linewidth": 0.4,
            }
            for k, (low, high) in enumerate(bands):
                axes[0].fill_between(run.times, low, high, label=None if k else plain(label), **look)
        mechanical = run["kinetic"].values + run["potential"].values - run["potential"].values.min()
        axes[0].plot(run.times, mechanical, "--", color=INK, linewidth=1.2, label="kinetic + potential")
        axes[0].axhline(0.0, color=INK, linewidth=0.8)
        axes[0].set_ylabel("energy, J")
        legend(axes[0])
        if residual:
            axes[1].plot(run.times, run["balance"].values, color=color(0), linewidth=1.0)
            axes[1].set_ylabel("error, J")
        return finish(figure, axes, run.scene_name)

    def phase(self, name: str, figure: Figure | SubFigure | None = None) -> Figure | Any:
        """Phase portrait: the coordinate of a joint against its speed, or each varying coordinate of a body's centre of
        mass against its velocity. A dot marks the start."""
        run = self.trajectory
        coordinates, bodies = run.coordinates, run.bodies
        if name in coordinates:
            i = list(coordinates).index(name)
            figure = new_figure(figure, 3.6, width=4.2)
            axis = figure.subplots()
            _portrait(axis, run["joint_coordinate"].values[:, i], run["joint_speed"].values[:, i], 0)
            unit = coordinates[name]
            axis.set(xlabel=f"{plain(name)}, {unit}", ylabel=f"rate of {plain(name)}, {unit}/s")
            return finish(figure, [axis], run.scene_name, over_time=False)
        if name not in bodies or "momentum" not in run:
            ways = [f"joints: {_listed(coordinates)}"]
            ways += [f"bodies: {_listed(bodies)}"] if "momentum" in run else []
            raise ValueError(f"there is no phase portrait of {name!r}; choose {'; '.join(ways)}")
        x, p = run.body(name)["position"].values, run.body(name)["momentum"].values
        described = {str(body.get("name")): body for body in run.scene_description.get("bodies", [])}
        mass = described.get(name, {}).get("mass")
        rate, unit = (p / mass, "m/s") if isinstance(mass, int | float) and mass > 0.0 else (p, "kg m/s")
        way = np.ptp(x, axis=0)
        moving = [k for k in range(3) if way[k] > STILL * way.max()] or [2]
        figure = new_figure(figure, 3.0, width=2.9 * max(2, len(moving)))
        axes = np.atleast_1d(figure.subplots(1, len(moving)))
        for k, axis in zip(moving, axes, strict=True):
            _portrait(axis, x[:, k], rate[:, k], 0)
            axis.set(xlabel=f"{'xyz'[k]}, m", ylabel=f"{'v' if unit == 'm/s' else 'p'}{'xyz'[k]}, {unit}")
        return finish(figure, list(axes), f"{run.scene_name}: {name}", over_time=False)

    def joint_errors(self, figure: Figure | SubFigure | None = None) -> Figure | Any:
        """Joint errors in position (m) and velocity (m/s), on a logarithmic axis; for more than ten joints the largest
        and the median."""
        run = self.trajectory
        names = [name for name in ("joint_error", "joint_velocity_error") if name in run]
        if not names or not run.joints:
            raise ValueError(f"{run.scene_name!r} has no joint errors to plot: no joints were recorded")
        figure = new_figure(figure, 2.0 * len(names))
        axes = arranged(figure, len(names))
        units = {"joint_error": "position error, m", "joint_velocity_error": "velocity error, m/s"}
        for axis, name in zip(axes, names, strict=True):
            values = run[name].values
            lines = dict(zip(run.joints, values.T, strict=True))
            if len(lines) > MOST_LINES:
                lines = {"largest": values.max(axis=1), "median": np.median(values, axis=1)}
            for i, (label, line) in enumerate(lines.items()):
                axis.plot(run.times, np.where(line > 0.0, line, np.nan), label=plain(label), **series(i))
            logarithmic(axis)
            axis.set_ylabel(units[name])
        legend(axes[0])
        return finish(figure, axes, run.scene_name)

    def forces(self, name: str, figure: Figure | SubFigure | None = None) -> Figure | Any:
        """Over time: the reaction of a joint (N, N m, on its second body); the effort of a motor, a stop or friction in a
        joint, and the work of any force of the ledger (J); or the contact force on a body or an obstacle (N)."""
        run = self.trajectory
        vectors: list[tuple[str, np.ndarray]] = []
        if name in run.joints and "reaction_force" in run:
            found = run.joint(name)
            vectors = [("force, N", found["reaction_force"].values)]
            vectors += [("torque, N m", found["reaction_torque"].values)] if "reaction_torque" in found else []
        elif name in run.forces:
            return self._effort(name, figure)
        elif name in run.bodies and "contact_force" in run:
            vectors = [("contact force, N", run.body(name)["contact_force"].values)]
        elif name in run.obstacles and "obstacle_contact_force" in run:
            vectors = [("contact force, N", run.obstacle(name)["obstacle_contact_force"].values)]
        else:
            ways = {"joints": run.joints if "reaction_force" in run else [], "forces": run.forces,
                    "bodies in contact": run.bodies if "contact_force" in run else [],
                    "obstacles": run.obstacles if "obstacle_contact_force" in run else []}  # fmt: skip
            listed = "; ".join(f"{kind}: {_listed(names)}" for kind, names in ways.items() if names)
            raise ValueError(f"no forces of {name!r} were recorded; choose {listed or 'another run: none were'}")
        figure = new_figure(figure, 2.2 * len(vectors))
        axes = arranged(figure, len(vectors))
        for axis, (label, values) in zip(axes, vectors, strict=True):
            _components(axis, run.times, values)
            axis.plot(run.times, np.linalg.norm(values, axis=1), color=INK, linewidth=0.9, label="magnitude")
            axis.set_ylabel(label)
        legend(axes[0])
        return finish(figure, axes, f"{run.scene_name}: {name}")

    def contact_force(self, a: str, b: str, figure: Figure | SubFigure | None = None) -> Figure | Any:
        """Over time: the contact force of `a` on `b`, names of bodies or obstacles, N. Raises ValueError for a run without
        contact points, and for an unknown name."""
        run = self.trajectory
        try:
            values = run.contact_force_between(a, b).values
        except KeyError as error:
            raise ValueError(error.args[0]) from None
        figure = new_figure(figure, 2.6)
        (axis,) = arranged(figure, 1)
        _components(axis, run.times, values)
        axis.plot(run.times, np.linalg.norm(values, axis=1), color=INK, linewidth=0.9, label="magnitude")
        axis.set_ylabel("contact force, N")
        legend(axis)
        return finish(figure, [axis], f"{run.scene_name}: {plain(a)} on {plain(b)}")

    def momentum(self, figure: Figure | SubFigure | None = None) -> Figure | Any:
        """Total linear momentum, and total angular momentum about the origin, with their residuals: the part that
        impulses of forces and reactions do not explain."""
        run = self.trajectory
        if "momentum" not in run or "angular_momentum" not in run:
            raise ValueError(f"{run.scene_name!r} has no momenta to plot: they were not recorded")
        p, x = run["momentum"].values, run["position"].values
        linear, angular = p.sum(axis=1), (np.cross(x, p) + run["angular_momentum"].values).sum(axis=1)
        if "particle_momentum" in run:
            p, x = run["particle_momentum"].values, run["particle_position"].values
            linear, angular = linear + p.sum(axis=1), angular + np.cross(x, p).sum(axis=1)
        names = ("linear_impulse_balance", "angular_impulse_balance")
        panels = [[("p, kg m/s", linear), ("L, kg m²/s", angular)]]
        if all(name in run for name in names):
            labels = ("residual of p, kg m/s", "residual of L, kg m²/s")
            panels.append([(label, run[name].values) for label, name in zip(labels, names, strict=True)])
        figure = new_figure(figure, 3.6, width=4.2 * len(panels))
        grid = figure.subplots(2, len(panels), sharex=True, squeeze=False)
        for column, panel in enumerate(panels):
            for axis, (label, values) in zip(grid[:, column], panel, strict=True):
                _components(axis, run.times, values)
                axis.set_ylabel(label)
        legend(grid[0, -1])
        return finish(figure, list(grid.flat), run.scene_name)

    def path(
        self, *bodies: str, plane: str | None = None, figure: Figure | SubFigure | None = None, ax: Axes | None = None
    ) -> Figure | Any:
        """Paths of centres of mass in a plane, "xy", "xz" or "yz" (default: the one with the largest motion), for the
        named bodies or for all. A dot marks the end. ax: axes to draw in."""
        run = self.trajectory
        unknown = next((name for name in bodies if name not in run.bodies), None)
        if unknown is not None or not run.bodies:
            raise ValueError(f"there is no body {unknown!r} to trace; bodies: {_listed(run.bodies)}")
        chosen = [run.bodies.index(name) for name in bodies] or range(len(run.bodies))
        tracks = run["position"].values[:, list(chosen)]
        if plane is None:
            first, second = sorted(np.argsort(-np.ptp(tracks.reshape(-1, 3), axis=0), kind="stable")[:2])
        elif plane in ("xy", "xz", "yz"):
            first, second = ("xyz".index(letter) for letter in plane)
        else:
            raise ValueError(f"plane is {plane!r}; give 'xy', 'xz' or 'yz'")
        if ax is None:
            figure = new_figure(figure, 4.4, width=5.6)
            ax = figure.subplots()
        for i, b in enumerate(chosen):
            track = tracks[:, i]
            ax.plot(track[:, first], track[:, second], label=plain(run.bodies[b]), **series(i))
            ax.plot(track[-1, first], track[-1, second], "o", color=color(i), markersize=4)
        ax.set(xlabel=f"{'xyz'[first]}, m", ylabel=f"{'xyz'[second]}, m", aspect="equal", adjustable="datalim")
        if len(chosen) <= MOST_LINES:
            legend(ax)
        return finish(ax.get_figure(), [ax], run.scene_name if figure is not None else None, over_time=False)

    def stage_times(self, figure: Figure | SubFigure | None = None, ax: Axes | None = None) -> Figure | Any:
        """Computing time of each stage of the steps, in ms and as a share. ax: axes to draw in."""
        run = self.trajectory
        stages = run.report.get("stages")
        stages = {str(k): float(v) for k, v in stages.items() if v} if isinstance(stages, dict) else {}
        if not stages:
            raise ValueError(f"{run.scene_name!r} has no stage times: they were not measured")
        if ax is None:
            figure = new_figure(figure, 0.9 + 0.3 * len(stages), width=6.0)
            ax = figure.subplots()
        total = sum(stages.values())
        bars = ax.barh(list(map(plain, stages)), [1e3 * v for v in stages.values()], color=color(0), height=0.7)
        ax.bar_label(bars, [f"{100 * v / total:.0f} %" for v in stages.values()], padding=3, fontsize=8, color=INK)
        ax.invert_yaxis()
        ax.margins(x=0.12)
        ax.set_xlabel("time, ms")
        title = run.scene_name if figure is not None else None
        return finish(ax.get_figure(), [ax], title, over_time=False)

    def contact(self, figure: Figure | SubFigure | None = None) -> Figure | Any:
        """Contacts over time: their number, the deepest overlap (m), and the residual of Coulomb's law (m/s)."""
        run = self.trajectory
        labels = {"contacts": "contacts", "penetration": "overlap, m", "contact_residual": "residual, m/s"}
        names = [name for name in labels if name in run]
        if not names:
            raise ValueError(f"{run.scene_name!r} has no contacts to plot: method 'time_stepping' records them")
        figure = new_figure(figure, 0.6 + 1.3 * len(names))
        axes = arranged(figure, len(names))
        for axis, name in zip(axes, names, strict=True):
            values = run[name].values.astype(float)
            if name == "contacts":
                axis.step(run.times, values, where="post", color=color(0), linewidth=1.1)
            else:
                axis.plot(run.times, np.where(values > 0.0, values, np.nan), color=color(0), linewidth=1.1)
                logarithmic(axis)
            axis.set_ylabel(labels[name])
        return finish(figure, axes, run.scene_name)

    def _effort(self, name: str, figure: Figure | SubFigure | None) -> Figure | Any:
        """The effort of a force, where it has one, and its work."""
        run = self.trajectory
        at = run.forces.index(name)
        lines = [(label, run[variable].values[:, at]) for variable, label in
                 (("effort", "effort, N or N m"), ("work", "work, J")) if variable in run]  # fmt: skip
        lines = [(label, values) for label, values in lines if np.isfinite(values).any()]
        if not lines:
            raise ValueError(f"of force {name!r} neither effort nor work were recorded")
        figure = new_figure(figure, 0.6 + 1.6 * len(lines))
        axes = arranged(figure, len(lines))
        for axis, (label, values) in zip(axes, lines, strict=True):
            axis.plot(run.times, values, color=color(0), linewidth=1.2)
            axis.set_ylabel(label)
        return finish(figure, axes, f"{run.scene_name}: {name}")


def _portrait(axis: Axes, s: np.ndarray, rate: np.ndarray, i: int) -> None:
    axis.plot(s, rate, color=color(i), linewidth=0.9)
    axis.plot(s[:1], rate[:1], "o", color=INK, markersize=4)


def _components(axis: Axes, times: np.ndarray, values: np.ndarray) -> None:
    for k in range(3):
        axis.plot(times, values[:, k], label="xyz"[k], **series(AXES[k], k))


def _listed(names: Any) -> str:
    """The first names of many, for messages."""
    names = list(names)
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "") if names else "none"
