"""Surfaces, which bodies can touch from one side: the half-space, triangle meshes and height fields. For obstacles
only.

A surface of triangles has one outside, where its normals point: faces run anticlockwise seen from there. It has no
inside, and hence no mass.
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
    """All points below the plane z = 0 of its frame. It has no mass, so it can only be an obstacle."""

    kind, solid, by_events = HALF_SPACE, False, True
    kernels = Kernels(extent=extent, ray=ray, distance=distance)
    mjcf_type = "plane"

    def triangles(self, segments: int = 24) -> Surface:
        """No triangles: a half-space is drawn as the ground."""
        return np.zeros((0, 3)), np.zeros((0, 3), np.int64)

    def bounding_radius(self) -> float:
        """A practically infinite radius."""
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
    """A surface of triangles: vertices (n, 3) in m, faces (m, 3) of indices from 0. Meshes are compared by identity.

    The surface can be open and has no thickness; bodies stay on the side to which the normals point. Triangles without
    area are removed. Neighbouring faces must share a whole edge: an edge that contains a corner of another face counts
    as a boundary edge. Both arrays are read-only copies.

    Raises:
        ValueError: for non-finite numbers, an index out of range, no triangle with an area, or more than a million
        triangles.

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
                "TriangleMesh: no face has an area; give at least one triangle whose corners are not on a line"
            )
        indices.flags.writeable = False
        self.faces = indices

    @classmethod
    def load(cls, path: str | PathLike[str], *, scale: float = 1.0) -> TriangleMesh:
        """Read an STL, OBJ or PLY file of at most 100 MB. Files that it refers to are not opened.

        Args:
            path: the file. Its suffix (.stl, .obj, .ply) determines the format.
            scale: length of one unit of the file in m: 0.001 for a file in millimetres.

        Raises:
            ValueError: if the file is missing, unreadable or too large, has an unknown suffix, or is not a valid
            surface.
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
        """The triangles of the mesh; ``segments`` has no effect."""
        return self.vertices, self.faces


@register
class HeightField(Shape):
    """The surface z = heights[i, j] over a grid centred at the origin; outside is above. Fields are compared by
    identity.

    Args:
        heights: (nx, ny), m, at least 2 × 2; i counts along x, j along y.
        spacing: m, between neighbouring grid points: one number, or one along x and one along y.

    The corner [i, j] is at x = (i − (nx − 1)/2)·dx, y = (j − (ny − 1)/2)·dy. Each cell is two triangles, divided by the
    diagonal from [i, j] to [i+1, j+1].

    Raises:
        ValueError: for non-finite numbers, a grid that is too small or has more than half a million cells, or a spacing
        ≤ 0.

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
            raise ValueError(f"HeightField: heights of shape ({nx}, {ny}) have no cell; give at least 2 × 2")
        require_size("HeightField", 2 * (nx - 1) * (ny - 1))
        pair = spacing if isinstance(spacing, tuple | list | np.ndarray) else (spacing, spacing)
        if len(pair) != 2:
            raise ValueError(f"HeightField: spacing must be one number or two, in m; got {spacing!r:.80}")
        dx, dy = (positive("HeightField", "spacing", value, "m") for value in pair)
        self.spacing = (dx, dy)

    def __repr__(self) -> str:
        return "HeightField({} × {} heights, spacing {:g} × {:g} m)".format(*self.heights.shape, *self.spacing)

    def triangles(self, segments: int = 24) -> Surface:
        """The triangles, two per cell; ``segments`` has no effect."""
        nx, ny = self.heights.shape
        x = (np.arange(nx) - 0.5 * (nx - 1)) * self.spacing[0]
        y = (np.arange(ny) - 0.5 * (ny - 1)) * self.spacing[1]
        vertices = np.stack([*np.meshgrid(x, y, indexing="ij"), self.heights], axis=2).reshape(-1, 3)
        number = np.arange(nx * ny).reshape(nx, ny)
        a, b, c, d = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
        return vertices, np.stack([a, b, c, a, c, d], axis=2).reshape(-1, 3)
