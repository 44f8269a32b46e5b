"""Surfaces, which bodies touch from one side: the half-space, triangle meshes and height fields. For obstacles only.

A surface of triangles has one outside, where its normals point: faces run anticlockwise seen from there. It has no inside, so
that it has no mass.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np

from ...core.arrays import NumbersLike
from ...core.jit import inlined
from ..checks import positive, real_array
from ..mesh_file import read_mesh_file
from ..polyhedron import Surface, require_indices
from .base import HALF_SPACE, MESH, Kernels, Shape, register
from .geometry import WHOLE_LINE, below

# The half-space: the ground -------------------------------------------------------------------------------------------

UNBOUNDED = 1e30  # m


@inlined
def extent(size, u):
    """No end."""
    return UNBOUNDED, UNBOUNDED


@inlined
def ray(size, o, d):
    """z ≤ 0."""
    return below(WHOLE_LINE, o, d, (0.0, 0.0, 1.0), 0.0)


@inlined
def distance(size, p):
    """The height z."""
    return p[2], (0.0, 0.0, 1.0)


@register
@dataclass(frozen=True)
class HalfSpace(Shape):
    """All that lies below the plane z = 0 of its frame; for obstacles only, as it has no mass."""

    kind, solid, by_events = HALF_SPACE, False, True
    kernels = Kernels(extent=extent, ray=ray, distance=distance)
    mjcf_type = "plane"

    def triangles(self, segments: int = 24) -> Surface:
        """Nothing: a half-space is drawn as the ground."""
        return np.zeros((0, 3)), np.zeros((0, 3), np.int64)

    def bounding_radius(self) -> float:
        """As good as no end."""
        return UNBOUNDED

    def mjcf_geom(self) -> list[float]:
        """See `Shape.mjcf_geom`."""
        return [0.0, 0.0, 1.0]

    @classmethod
    def from_mjcf(cls, size: object) -> HalfSpace:
        """See `Shape.from_mjcf`."""
        return cls()


# Surfaces of triangles ------------------------------------------------------------------------------------------------

MOST_FACES = 1_000_000
FLAT = 1e-12  # of its longest side: a triangle of less height has no area


def with_area(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """(m,) bool: which triangles have an area, and so a normal."""
    corners = vertices[faces]
    sides = np.roll(corners, -1, axis=1) - corners
    longest = np.linalg.norm(sides, axis=2).max(axis=1)
    return np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1) > FLAT * longest**2


def require_size(owner: str, faces: int) -> None:
    """Raises ValueError for more than `MOST_FACES` faces."""
    if faces > MOST_FACES:
        raise ValueError(f"{owner}: {faces} faces are more than {MOST_FACES}; simplify it, or split it into several")


@register
class TriangleMesh(Shape):
    """A surface of triangles: vertices (n, 3) in m, faces (m, 3) of indices from 0. Compared by identity.

    It may be open, and of no thickness; bodies stay on the side where the normals point. Triangles without area are left
    out. Faces that are neighbours share a whole edge: where the end of one lies within the edge of another, that edge counts
    as a rim. Both arrays are read-only copies.

    Raises:
        ValueError: numbers that are not finite, an index out of range, no triangle with an area, or more than a million.

    >>> TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    TriangleMesh(3 vertices, 1 faces)
    """

    vertices: np.ndarray
    faces: np.ndarray

    kind, keys, listed, solid, convex, surface = MESH, ("vertices", "faces"), True, False, False, True

    def __init__(self, vertices: NumbersLike, faces: NumbersLike) -> None:
        self.vertices = real_array("TriangleMesh", "vertices", vertices, (-1, 3))
        indices = require_indices("TriangleMesh", len(self.vertices), faces)
        require_size("TriangleMesh", len(indices))
        indices = indices[with_area(self.vertices, indices)]
        if len(indices) == 0:
            raise ValueError(
                "TriangleMesh: no face has an area; give at least one triangle whose corners are not in line"
            )
        indices.flags.writeable = False
        self.faces = indices

    @classmethod
    def load(cls, path: str | PathLike[str], *, scale: float = 1.0) -> TriangleMesh:
        """Read an STL, OBJ or PLY file of at most 100 MB; nothing that the file refers to is opened.

        Args:
            path: the file; its suffix (.stl, .obj, .ply) tells the format.
            scale: metres in one unit of the file: 0.001 for a file in millimetres.

        Raises:
            ValueError: a missing, unreadable or too large file, an unknown suffix, or what the class refuses.
        """
        factor = positive(f"TriangleMesh.load('{path}')", "scale", scale)
        vertices, faces = read_mesh_file(path)
        try:
            return cls(factor * vertices, faces)
        except ValueError as error:
            raise ValueError(f"TriangleMesh.load('{path}'): {error}") from None

    def __repr__(self) -> str:
        return f"TriangleMesh({len(self.vertices)} vertices, {len(self.faces)} faces)"

    def triangles(self, segments: int = 24) -> Surface:
        """The mesh itself; ``segments`` plays no part."""
        return self.vertices, self.faces


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

    def __init__(self, heights: NumbersLike, spacing: float | tuple[float, float]) -> None:
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
