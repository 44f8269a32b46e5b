"""Live plots: the ledger of energy stacked, what it does not account for, and a quantity of choice; stage times as bars."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.view.frames import Frames
from dalembert.view.geometry import thinned

__all__ = ["Plots"]

PREFIXES = {6: "M", 3: "k", 0: "", -3: "m", -6: "µ", -9: "n", -12: "p", -15: "f", -18: "a"}
PLOT_POINTS = 500
STACK = (
    ("kinetic", "#3566b0", "#c4d3ea"), ("potential, above its least", "#d1772a", "#f3d5bd"),
    ("lost", "#8a8f99", "#d9dbdf"), ("put in, below 0", "#3b8a5a", "#c5e0d0"),
)  # fmt: skip
QUANTITIES = ("joint error, m", "contact residual, m/s", "penetration, m", "contacts", "height, m", "speed, m/s",
              "angular momentum, kg m²/s", "contact force, N")  # fmt: skip
WORK = "work: "


class Plots:
    """viser's plots. `forces` are the names of the ledger's works, `masses` (b,) kg of the bodies, 0 for none."""

    def __init__(self, gui: Any) -> None:
        self.forces: Sequence[str] = ()
        self.masses = np.zeros(0)
        self.body = -1
        with gui.add_folder("Energy audit", order=2):
            kinetic, potential, lost, given = STACK  # each is drawn over those above it
            self._stack = _plot(gui, "energy, J", [lost, potential, kinetic, given])
            self._balance = _plot(gui, "energy error", [("error", "#b4434d", "")])
            self.choice = gui.add_dropdown("quantity", QUANTITIES, initial_value=QUANTITIES[0])
            self._quantity = _plot(gui, QUANTITIES[0], [("quantity", "#5b4bb5", "")])
            self._stages = gui.add_html("", visible=False)

    def set_names(self, forces: Sequence[str], masses: np.ndarray) -> None:
        """The run has works of these forces, and bodies of these masses."""
        self.forces, self.masses, self.body = list(forces), masses, -1
        self.choice.options = (*QUANTITIES, *(WORK + name for name in self.forces))
        self.choice.value = QUANTITIES[0]

    def draw(self, frames: Frames) -> None:
        """Plot all frames."""
        keep = thinned(len(frames), PLOT_POINTS)
        if len(keep) < 2:
            return
        t, (kinetic, potential, balance) = frames.times[keep], frames.energies[keep].T
        further = {name: part[keep] for name, part in frames.further.items()}
        lost, given = _lost_and_given(further.get("work", np.zeros((len(t), 0))))
        above = potential - potential.min()
        _draw(self._stack, "energy", t, kinetic + above + lost, kinetic + above, kinetic, -given)
        _draw(self._balance, "energy error", t, balance)
        self._draw_choice(t, frames, further, keep)

    def _draw_choice(self, t: np.ndarray, frames: Frames, further: Mapping[str, np.ndarray], keep: np.ndarray) -> None:
        name = self.choice.value
        values = quantity(name, frames.positions[keep], further, self.masses, self.body, self.forces)
        if name == "contacts" and len(frames.contacts) == len(frames):
            values = np.array([len(frames.contacts[i]) for i in keep], float)
        of = "" if name in ("contacts", *QUANTITIES[:3]) or name.startswith(WORK) else " of the body chosen"
        title = f"{name}{of}" if values is not None else f"{name}{of}: not known here"
        if self._quantity.title != title:
            self._quantity.title = title
        self._quantity.data = (t.copy(), np.zeros(len(t)) if values is None else values.astype(float))

    def stages(self, seconds: Mapping[str, float]) -> None:
        """Where the computing time went, s by stage."""
        total = sum(seconds.values())
        self._stages.visible = total > 0.0
        if total > 0.0:
            rows = [
                f"<div style='display:flex;gap:6px;font-size:11px'><span style='width:9em'>{html.escape(name)}</span>"
                f"<span style='background:#3566b0;height:10px;margin-top:4px;width:{100 * part / total:.0f}px'></span>"
                f"<span>{100 * part / total:.0f} %, {part:.2f} s</span></div>"
                for name, part in seconds.items()
            ]
            self._stages.content = (
                "<div style='padding:0 12px 8px'><b style='font-size:12px'>stage times</b>" + "".join(rows) + "</div>"
            )


def quantity(
    name: str, positions: np.ndarray, further: Mapping[str, np.ndarray], masses: np.ndarray, body: int,
    forces: Sequence[str],
) -> np.ndarray | None:  # fmt: skip
    """A quantity of `QUANTITIES`, or a work, over frames at positions (n, b, 3); None where it is not known."""
    sources = {
        "joint error, m": "joint_error",
        "contact residual, m/s": "contact_residual",
        "penetration, m": "penetration",
    }
    vectors = {"angular momentum, kg m²/s": "angular_momentum", "contact force, N": "contact_force"}
    if name in sources:
        part = further.get(sources[name])
        if part is None or part.size == 0:
            return None
        return np.nan_to_num(np.abs(part).reshape(len(part), -1).max(axis=1))
    if name.startswith(WORK) and "work" in further:
        return further["work"][:, forces.index(name[len(WORK) :])]
    if body < 0:
        return None
    if name == "height, m":
        return positions[:, body, 2]
    if name == "speed, m/s" and "momentum" in further and masses[body] > 0.0:
        return np.linalg.norm(further["momentum"][:, body], axis=1) / masses[body]
    part = further.get(vectors.get(name, ""))
    return None if part is None else np.linalg.norm(part[:, body], axis=1)


def _lost_and_given(work: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of works (n, f) in J: what all those took that ended below zero, and what all others brought."""
    if not work.size:
        return np.zeros(len(work)), np.zeros(len(work))
    takes = work[-1] < 0.0
    return -work[:, takes].sum(axis=1), work[:, ~takes].sum(axis=1)


def _draw(plot: Any, name: str, times: np.ndarray, *lines: np.ndarray) -> None:
    """Lines in J, in the unit that keeps the numbers of the axis short."""
    power = _power(max(float(np.abs(line).max()) for line in lines))
    title = f"{name}, {PREFIXES[power]}J"
    if plot.title != title:
        plot.title = title
    plot.data = (times.copy(), *(line * 10.0**-power for line in lines))


def _power(size: float) -> int:
    """The power of ten of the unit's prefix that brings `size` between 1 and 1000: 3e-11 J are 30 pJ."""
    if not 0.0 < size < np.inf:
        return 0
    return int(np.clip(3 * np.floor(np.log10(size) / 3), min(PREFIXES), max(PREFIXES)))


def _plot(gui: Any, title: str, lines: Sequence[tuple[str, str, str]]) -> Any:
    from viser import uplot

    empty = np.zeros(2)
    series = [
        uplot.Series(label=label, stroke=color, width=2, **({"fill": fill} if fill else {}))
        for label, color, fill in lines
    ]
    return gui.add_uplot(
        (empty,) * (len(lines) + 1),
        (uplot.Series(label="t, s"), *series),
        title=title,
        scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
        aspect=1.6,
    )
