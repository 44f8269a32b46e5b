"""The shapes given by points: the convex hull, and the solid inside a triangle mesh."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from .checks import positive, real_array
from .mesh_file import read_mesh_file
from .polyhedron import hull_surface, require_indices, require_solid
from .tessellation import Surface


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ConvexHull:
    """The convex hull of points (n, 3), m; at least four, not all in one plane. Compared by identity.

    ``vertices`` (h, 3) are the points that the hull needs, ``faces`` (m, 3) its outward triangles. All are read-only.
    Contact uses a simplified hull where there are more than 200, with a warning that states the error; see `scene.simplify`.

    >>> ConvexHull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.1, 0.1, 0.1]]).vertices.shape
    (4, 3)
    """

    points: np.ndarray
    vertices: np.ndarray
    faces: np.ndarray

    def __init__(self, points: ArrayLike) -> None:
        cloud = real_array("ConvexHull", "points", points, (-1, 3))
        _set_arrays(self, points=cloud, surface=hull_surface("ConvexHull", cloud))

    def __repr__(self) -> str:
        return f"ConvexHull({len(self.points)} points, {len(self.vertices)} vertices, {len(self.faces)} faces)"

    def triangles(self, segments: int = 24) -> Surface:
        """The faces of the hull; ``segments`` plays no part."""
        return self.vertices, self.faces


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Mesh:
    """The solid inside a triangle mesh: vertices (n, 3) in m, faces (m, 3) of indices from 0. Compared by identity.

    The surface is closed and its faces run anticlockwise seen from outside; several shells and cavities are welcome.
    Both arrays are read-only copies.

    Raises:
        ValueError: an open, inconsistently oriented, inverted or flat surface, or an index out of range.
    """

    vertices: np.ndarray
    faces: np.ndarray

    def __init__(self, vertices: ArrayLike, faces: ArrayLike) -> None:
        corners = real_array("Mesh", "vertices", vertices, (-1, 3))
        indices = require_indices("Mesh", len(corners), faces)
        require_solid("Mesh", corners, indices)
        _set_arrays(self, surface=(corners, indices))

    @classmethod
    def load(cls, path: str | PathLike[str], *, scale: float = 1.0) -> Mesh:
        """Read an STL, OBJ or PLY file of at most 100 MB; nothing that the file refers to is opened.

        Args:
            path: the file; its suffix (.stl, .obj, .ply) tells the format.
            scale: metres in one unit of the file: 0.001 for a file in millimetres.

        Raises:
            ValueError: a missing, unreadable or too large file, an unknown suffix, or a surface that bounds no solid.
        """
        factor = positive(f"Mesh.load('{path}')", "scale", scale)
        vertices, faces = read_mesh_file(path)
        try:
            return cls(factor * vertices, faces)
        except ValueError as error:
            raise ValueError(f"Mesh.load('{path}'): {error}") from None

    def __repr__(self) -> str:
        return f"Mesh({len(self.vertices)} vertices, {len(self.faces)} faces)"

    def triangles(self, segments: int = 24) -> Surface:
        """The mesh itself; ``segments`` plays no part."""
        return self.vertices, self.faces


def _set_arrays(shape: ConvexHull | Mesh, *, surface: Surface, **arrays: np.ndarray) -> None:
    for name, array in {**arrays, "vertices": surface[0], "faces": surface[1]}.items():
        array.flags.writeable = False
        object.__setattr__(shape, name, array)
