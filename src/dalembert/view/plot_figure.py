"""The default figure of plots; a notebook shows it exactly once."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

SHOWN_DPI = 96.0  # in a notebook; the picture itself has the figure's dots, and is sharp on any screen


class PlotFigure(Figure):
    """A `matplotlib.figure.Figure` without a window. A notebook shows it as the value of a cell, also where pyplot, which
    tells it how to show figures, was never imported."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """A PNG, and the size at which it is shown, in pixels."""
        file = io.BytesIO()
        self.savefig(file, format="png")
        width, height = (round(SHOWN_DPI * side) for side in self.get_size_inches())
        return file.getvalue(), {"width": width, "height": height}
