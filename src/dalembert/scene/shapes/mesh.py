"""The solid inside a triangle mesh. Collision detection treats it as a surface."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np

from ...core.arrays import NumbersLike
from ..checks import positive, real_array
from ..mesh_file import read_mesh_file
from ..polyhedron import Moments, Surface, polyhedron_moments, require_indices, require_solid
from .base import MESH, Shape, register, set_arrays


@register
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Mesh(Shape):
    """The solid inside a triangle mesh: vertices (n, 3) in m, faces (m, 3) of indices from 0. Meshes are compared by
    identity.

    The surface must be closed, with faces counterclockwise seen from outside. Several shells and cavities are allowed.
    Both arrays are read-only copies.

    Raises:
        ValueError: if the surface is open, inconsistently oriented, inverted or flat, or an index is out of range.
    """

    vertices: np.ndarray
    faces: np.ndarray

    kind, keys, listed, convex, surface = MESH, ("vertices", "faces"), True, False, True

    def __init__(self, vertices: NumbersLike, faces: NumbersLike) -> None:
        corners = real_array("Mesh", "vertices", vertices, (-1, 3))
        indices = require_indices("Mesh", len(corners), faces)
        require_solid("Mesh", corners, indices)
        set_arrays(self, vertices=corners, faces=indices)

    @classmethod
    def load(cls, path: str | PathLike[str], *, scale: float = 1.0) -> Mesh:
        """Read an STL, OBJ or PLY file of at most 100 MB. Files that it refers to are not opened.

        Args:
            path: the file. Its suffix (.stl, .obj, .ply) determines the format.
            scale: length of one unit of the file in m: 0.001 for a file in millimetres.

        Raises:
            ValueError: if the file is missing, unreadable or too large, has an unknown suffix, or its surface is not
            closed.
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
        """The triangles of the mesh; ``segments`` has no effect."""
        return self.vertices, self.faces

    def moments(self) -> Moments:
        """See `Shape.moments`."""
        return polyhedron_moments(self.vertices, self.faces)

    def bounding_radius(self) -> float:
        """See `Shape.bounding_radius`."""
        return float(np.linalg.norm(self.vertices[self.faces.ravel()], axis=1).max())
