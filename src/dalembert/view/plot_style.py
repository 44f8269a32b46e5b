"""How figures look: colours that differ in grey too, dashes and hatches beside them, quiet axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

INK, MUTED, GRID = "#232a35", "#5a6270", "#e4e7ec"
# Neighbours differ in lightness: dark blue, light orange, mid green, pale blue, dark red, ochre, purple, grey.
PALETTE = ("#2c5aa0", "#f0a44b", "#2f8f6b", "#9cc3ea", "#a8323f", "#c9b458", "#6d4b94", "#9aa1ab")
DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))
HATCHES = (None, None, "////", "....", "\\\\\\\\", "xxxx")
LEAST = 1e-20  # of logarithmic axes
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


def new_figure(given: Figure | SubFigure | None, height: float, width: float = 7.0) -> Figure | SubFigure:
    """The given one, or a new one of this size in inches that belongs to no window."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained") if given is None else given


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
