"""The panel of the live page: playback, what to show, and the plots of the energy audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.view.geometry import thinned

__all__ = ["ALL", "NONE", "Panel"]

SPEEDS = {"0.05×": 0.05, "0.1×": 0.1, "0.25×": 0.25, "0.5×": 0.5, "1×": 1.0, "2×": 2.0, "5×": 5.0}
NONE, ALL = "none", "all"
PREFIXES = {6: "M", 3: "k", 0: "", -3: "m", -6: "µ", -9: "n", -12: "p", -15: "f", -18: "a"}
PLOT_POINTS = 600
MANY = 9  # bodies, from which on trails are drawn only when asked for


class Panel:
    """viser's controls and plots, by what they mean."""

    def __init__(self, gui: Any, bodies: Sequence[str], note: str = "") -> None:
        with gui.add_folder("Playback"):
            self.status = gui.add_text("run", "", disabled=True)
            self.play = gui.add_button("Play")
            self.timeline = gui.add_slider("time, s", min=0.0, max=1.0, step=0.001, initial_value=0.0, disabled=True)
            self.step = gui.add_button_group("step", ("−10", "−1", "+1", "+10"))
            self._speed = gui.add_dropdown("speed", tuple(SPEEDS), initial_value="1×")
            self.loop = gui.add_checkbox("loop", False)
        with gui.add_folder("Energy audit"):
            self._energy = _plot(
                gui, "energy, J", (("kinetic", "#3566b0"), ("potential", "#d1772a"), ("sum", "#232a35"))
            )
            self._balance = _plot(gui, "residual of the ledger", (("residual", "#b4434d"),))
        with gui.add_folder("View"):
            self.follow = gui.add_dropdown("follow", (NONE, *bodies), initial_value=NONE)
            trail = ALL if len(bodies) < MANY else NONE
            self.trail = gui.add_dropdown("trail", (NONE, ALL, *bodies), initial_value=trail)
            self.joints = gui.add_checkbox("joints", True)
            self.frames = gui.add_checkbox("body axes", False)
            if note:
                gui.add_markdown(note)

    @property
    def speed(self) -> float:
        """Simulated seconds a second."""
        return SPEEDS[self._speed.value]

    def on_seek(self, act: Callable[[float], None]) -> None:
        """Call `act` with the time (s) that a person moved the timeline to."""
        self.timeline.on_update(lambda event: act(event.target.value) if event.client is not None else None)

    def on_step(self, act: Callable[[int], None]) -> None:
        """Call `act` with the number of frames to go on or back."""
        self.step.on_click(lambda event: act(int(event.target.value.replace("−", "-"))))

    def on_restyle(self, act: Callable[[], None]) -> None:
        """Call `act` when what to show was changed."""
        for handle in (self.follow, self.trail, self.joints, self.frames):
            handle.on_update(lambda _: act())

    def set_playing(self, playing: bool) -> None:
        """Say on the button what it will do."""
        self.play.label = "Pause" if playing else "Play"

    def set_span(self, first: float, last: float) -> None:
        """The timeline goes from `first` to `last`, s."""
        self.timeline.max = max(last, first + 1e-9)
        self.timeline.min = first
        self.timeline.step = max((last - first) / 2000, 1e-9)
        self.timeline.disabled = False

    def plot(self, times: np.ndarray, energies: np.ndarray) -> None:
        """Draw kinetic and potential energy, their sum, and the residual of the ledger: times (n,), energies (n, 3)."""
        keep = thinned(len(times), PLOT_POINTS)
        if len(keep) < 2:
            return
        t, (kinetic, potential, balance) = times[keep], energies[keep].T
        _draw(self._energy, "energy", t, kinetic, potential, kinetic + potential)
        _draw(self._balance, "residual of the ledger", t, balance)


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


def _plot(gui: Any, title: str, lines: Sequence[tuple[str, str]]) -> Any:
    from viser import uplot

    empty = np.zeros(2)
    series = [uplot.Series(label=label, stroke=color, width=2) for label, color in lines]
    return gui.add_uplot(
        (empty,) * (len(lines) + 1),
        (uplot.Series(label="t, s"), *series),
        title=title,
        scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
        aspect=1.6,
    )
