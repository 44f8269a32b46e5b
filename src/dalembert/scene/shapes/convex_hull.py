"""The convex hull of points. Its compiled functions read the tables of corners and faces, and are those of `collide`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..checks import real_array
from ..polyhedron import Moments, Surface, hull_surface, polyhedron_moments
from .base import HULL, Shape, register, set_arrays


@register
@dataclass(frozen=True, eq=False, init=False, repr=False)
class ConvexHull(Shape):
    """The convex hull of points (n, 3), m; at least four, not all in one plane. Compared by identity.

    ``vertices`` (h, 3) are the points that the hull needs, ``faces`` (m, 3) its outward triangles. All are read-only.
    Contact uses a simplified hull where there are more than 200, with a warning that states the error; see `scene.simplify`.

    >>> ConvexHull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.1, 0.1, 0.1]]).vertices.shape
    (4, 3)
    """

    points: np.ndarray
    vertices: np.ndarray
    faces: np.ndarray

    kind, keys, listed, by_events = HULL, ("points",), True, True

    def __init__(self, points: ArrayLike) -> None:
        cloud = real_array("ConvexHull", "points", points, (-1, 3))
        vertices, faces = hull_surface("ConvexHull", cloud)
        set_arrays(self, points=cloud, vertices=vertices, faces=faces)

    def __repr__(self) -> str:
        return f"ConvexHull({len(self.points)} points, {len(self.vertices)} vertices, {len(self.faces)} faces)"

    def triangles(self, segments: int = 24) -> Surface:
        """The faces of the hull; ``segments`` plays no part."""
        return self.vertices, self.faces

    def moments(self) -> Moments:
        """See `Shape.moments`."""
        return polyhedron_moments(self.vertices, self.faces)

    def bounding_radius(self) -> float:
        """See `Shape.bounding_radius`."""
        return float(np.linalg.norm(self.vertices[self.faces.ravel()], axis=1).max())
