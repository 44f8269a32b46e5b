"""The picture of a constraint system: its matrix, and the factor in the order of elimination."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STORED, FILL, INK = "#3566b0", "#d1772a", "#232a35"
NAMED = 24  # up to so many blocks have their names beside them


def plot_pattern(system: Any) -> Figure:
    """Of a `ConstraintSystem` two squares: J W Jᵀ in the order of the joints, each entry by its size, and the blocks of L."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    _draw_matrix(figure, left, system)
    _draw_factor(right, system)
    return figure


def _draw_matrix(figure: Any, axes: Any, system: Any) -> None:
    """Entries by the logarithm of their size; lines between joints."""
    matrix = system.matrix.tocoo()
    shown = np.full(matrix.shape, np.nan)
    sizes = np.abs(matrix.data)
    least = 1e-12 * sizes.max()  # below it an entry is rounding
    keep = sizes > least
    shown[matrix.row[keep], matrix.col[keep]] = np.log10(sizes[keep])
    image = axes.imshow(shown, cmap="viridis_r", interpolation="nearest")
    figure.colorbar(image, ax=axes, shrink=0.8, label="log₁₀ of the size, in the units of the rows")
    names = np.array(system.joints)
    firsts = np.flatnonzero(np.concatenate([[True], names[1:] != names[:-1]]))
    if len(firsts) <= 3 * NAMED:
        for at in firsts[1:]:
            axes.axhline(at - 0.5, color=INK, linewidth=0.3)
            axes.axvline(at - 0.5, color=INK, linewidth=0.3)
    middles = firsts + 0.5 * np.diff(np.append(firsts, len(names))) - 0.5
    _name(axes, middles, names[firsts])
    axes.set_title(f"J W Jᵀ: {matrix.shape[0]} rows, {matrix.nnz} entries stored", fontsize=10)


def _draw_factor(axes: Any, system: Any) -> None:
    """Blocks of L and of the diagonal as squares."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    order = system.elimination
    starts = np.concatenate([[0], np.cumsum(order.widths)])
    fill = set(order.fill)
    kinds: dict[str, list[Any]] = {STORED: [], FILL: []}
    for row, column in [*((k, k) for k in range(len(order.nodes))), *order.blocks]:
        corner = (starts[column], starts[row])
        square = Rectangle(corner, order.widths[column], order.widths[row])
        kinds[FILL if (row, column) in fill else STORED].append(square)
    for color, squares in kinds.items():
        axes.add_collection(PatchCollection(squares, facecolor=color, edgecolor="white", linewidth=0.4))
    axes.set_xlim(0, starts[-1])
    axes.set_ylim(starts[-1], 0)
    axes.set_aspect("equal")
    _name(axes, starts[:-1] + 0.5 * np.array(order.widths), order.nodes)
    filled = f"{len(order.fill)} of them fill (orange)" if order.fill else "none of them fill"
    axes.set_title(
        f"L in the order of elimination: {len(order.nodes)} nodes,\n{len(order.blocks)} blocks below the diagonal, {filled}",
        fontsize=10,
    )


def _name(axes: Any, places: Any, names: Any) -> None:
    if len(names) <= NAMED:
        axes.set_xticks(places, [str(name).replace("$", r"\$") for name in names], rotation=90, fontsize=7)
        axes.set_yticks(places, [str(name).replace("$", r"\$") for name in names], fontsize=7)
    else:
        axes.set_xticks([])
        axes.set_yticks([])
