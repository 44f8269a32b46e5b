"""A surface over a grid of heights, for obstacles; see `triangle_mesh`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..checks import positive, real_array
from ..tessellation import Surface
from .base import Shape, register
from .kinds import MESH
from .triangle_mesh import require_size


@register
class HeightField(Shape):
    """The surface z = heights[i, j] over a grid about the origin; its outside is above. Compared by identity.

    Args:
        heights: (nx, ny), m, at least 2 × 2; i counts along x, j along y.
        spacing: m, between neighbours of the grid: one number, or one along x and one along y.

    The corner [i, j] is at x = (i − (nx − 1)/2)·dx, y = (j − (ny − 1)/2)·dy. Each cell is two triangles, parted along the
    diagonal from [i, j] to [i+1, j+1].

    Raises:
        ValueError: numbers that are not finite, a grid too small or of more than half a million cells, a spacing not above 0.

    >>> HeightField([[0, 0, 0], [0, 1, 0]], 0.5).triangles()[1].shape
    (4, 3)
    """

    heights: np.ndarray
    spacing: tuple[float, float]

    kind, keys, listed, solid, convex, surface = MESH, ("heights", "spacing"), True, False, False, True

    def __init__(self, heights: ArrayLike, spacing: float | tuple[float, float]) -> None:
        self.heights = real_array("HeightField", "heights", heights, (-1, -1))
        nx, ny = self.heights.shape
        if min(nx, ny) < 2:
            raise ValueError(f"HeightField: heights of shape ({nx}, {ny}) make no cell; give at least 2 × 2")
        require_size("HeightField", 2 * (nx - 1) * (ny - 1))
        pair = spacing if isinstance(spacing, tuple | list | np.ndarray) else (spacing, spacing)
        if len(pair) != 2:
            raise ValueError(f"HeightField: spacing must be one number or two, in m; got {spacing!r:.80}")
        dx, dy = (positive("HeightField", "spacing", value, "m") for value in pair)
        self.spacing = (dx, dy)

    def __repr__(self) -> str:
        return "HeightField({} × {} heights, spacing {:g} × {:g} m)".format(*self.heights.shape, *self.spacing)

    def triangles(self, segments: int = 24) -> Surface:
        """Its triangles, two a cell; ``segments`` plays no part."""
        nx, ny = self.heights.shape
        x = (np.arange(nx) - 0.5 * (nx - 1)) * self.spacing[0]
        y = (np.arange(ny) - 0.5 * (ny - 1)) * self.spacing[1]
        vertices = np.stack([*np.meshgrid(x, y, indexing="ij"), self.heights], axis=2).reshape(-1, 3)
        number = np.arange(nx * ny).reshape(nx, ny)
        a, b, c, d = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
        return vertices, np.stack([a, b, c, a, c, d], axis=2).reshape(-1, 3)
