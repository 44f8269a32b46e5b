"""A surface of triangles, open or closed, for obstacles.

A surface has one outside, where its normals point: faces run anticlockwise seen from there. It has no inside, so that it
has no mass, and only what does not move can have such a shape.
"""

from __future__ import annotations

from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from ..checks import positive, real_array
from ..mesh_file import read_mesh_file
from ..polyhedron import require_indices
from ..tessellation import Surface
from .base import Shape, register
from .kinds import MESH

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

    It may be open, and of no thickness; bodies are held on the side where the normals point. Triangles without area are left
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

    def __init__(self, vertices: ArrayLike, faces: ArrayLike) -> None:
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
