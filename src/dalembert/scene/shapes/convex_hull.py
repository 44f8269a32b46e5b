"""The convex hull of points, and hulls with fewer corners, as contact needs them.

Its compiled functions read the tables of corners and faces, and are those of `collide`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ...core.arrays import NumbersLike
from ..checks import real_array
from ..polyhedron import Moments, Surface, hull_surface, polyhedron_moments
from .base import HULL, Shape, register, set_arrays


@register
@dataclass(frozen=True, eq=False, init=False, repr=False)
class ConvexHull(Shape):
    """The convex hull of points (n, 3), m; at least four, not all in one plane. Hulls are compared by identity.

    ``vertices`` (h, 3) are the corners of the hull, ``faces`` (m, 3) its triangles, with outward normals. Arrays are
    read-only. For hulls with more than 200 vertices contact uses a simplified hull, and a warning states its error; see
    `contact_hull`.

    >>> ConvexHull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.1, 0.1, 0.1]]).vertices.shape
    (4, 3)
    """

    points: np.ndarray
    vertices: np.ndarray
    faces: np.ndarray

    kind, keys, listed, by_events = HULL, ("points",), True, True

    def __init__(self, points: NumbersLike) -> None:
        cloud = real_array("ConvexHull", "points", points, (-1, 3))
        vertices, faces = hull_surface("ConvexHull", cloud)
        set_arrays(self, points=cloud, vertices=vertices, faces=faces)

    def __repr__(self) -> str:
        return f"ConvexHull({len(self.points)} points, {len(self.vertices)} vertices, {len(self.faces)} faces)"

    def triangles(self, segments: int = 24) -> Surface:
        """The faces of the hull; ``segments`` has no effect."""
        return self.vertices, self.faces

    def moments(self) -> Moments:
        """See `Shape.moments`."""
        return polyhedron_moments(self.vertices, self.faces)

    def bounding_radius(self) -> float:
        """See `Shape.bounding_radius`."""
        return float(np.linalg.norm(self.vertices[self.faces.ravel()], axis=1).max())


# Hulls with fewer corners ---------------------------------------------------------------------------------------------
#
# The simplified hull is that of a part of the corners, chosen greedily: a tetrahedron of far corners first, then in each
# round the corners farthest from the hull so far (farthest-point sampling, with Qhull). It lies inside the original and so
# touches nothing earlier, and it has the corners that stand out, such as those of large flat faces. For nested convex
# bodies the Hausdorff distance is the largest distance of a dropped corner from the simplified hull; it is computed exactly.

MOST_CORNERS = 200  # of a hull in contact, whose faces and edges the narrow phase goes through (Jolt: 256, PhysX: 255)
ROUNDING = 1e-9  # of a hull's size: what is dropped nearer than this changes nothing
ROUND = 8  # a round adds an eighth of the corners that are there, each from another face


class Simplified(NamedTuple):
    """A hull with few corners, and its Hausdorff distance from the original (m)."""

    hull: ConvexHull
    error: float


_known: WeakKeyDictionary[ConvexHull, Simplified] = WeakKeyDictionary()


def contact_hull(hull: ConvexHull) -> Simplified:
    """The hull that contact uses: the same with up to `MOST_CORNERS` corners, else simplified to that number. Cached."""
    if len(hull.vertices) <= MOST_CORNERS:
        return Simplified(hull, 0.0)
    if hull not in _known:
        _known[hull] = simplify_hull(hull, MOST_CORNERS)
    return _known[hull]


def simplify_hull(hull: ConvexHull, corners: int) -> Simplified:
    """The hull of at most so many (four or more) of its corners, and its Hausdorff distance from the original (m)."""
    from scipy.spatial import ConvexHull as Qhull

    points = hull.vertices
    if corners >= len(points):
        return Simplified(hull, 0.0)
    least = ROUNDING * float(np.ptp(points, axis=0).max())
    chosen, left = _tetrahedron(points), np.arange(len(points))
    while len(chosen) < corners:
        planes = Qhull(points[chosen]).equations
        heights = points[left] @ planes[:, :3].T + planes[:, 3]
        outside = heights.max(axis=1) > least
        left, heights = left[outside], heights[outside]
        if not len(left):
            break
        farthest = np.unique(heights.argmax(axis=0))  # of each face
        room = min(corners - len(chosen), max(1, len(chosen) // ROUND))
        order = np.argsort(-heights[farthest].max(axis=1), kind="stable")
        chosen += left[farthest[order[:room]]].tolist()
    inner = ConvexHull(ConvexHull(points[chosen]).vertices)
    return Simplified(inner, _distance(inner, points, least))


def _tetrahedron(points: np.ndarray) -> list[int]:
    """Numbers of four corners that span a volume."""
    first = int(np.argmax(np.linalg.norm(points - points.mean(axis=0), axis=1)))
    rest = points - points[first]
    chosen = [first]
    for _ in range(3):
        far = int(np.argmax(np.linalg.norm(rest, axis=1)))
        chosen.append(far)
        direction = rest[far] / np.linalg.norm(rest[far])
        rest = rest - np.outer(rest @ direction, direction)
    return chosen


def _distance(hull: ConvexHull, points: np.ndarray, least: float) -> float:
    """The largest distance from the hull (m) of the points more than `least` outside. A point is above its nearest face."""
    from trimesh.triangles import closest_point

    corners = hull.vertices[hull.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), np.finfo(float).tiny)
    heights = points @ normals.T - np.einsum("ij,ij->i", normals, corners[:, 0])
    seen, faces = np.nonzero(heights > least)
    distances = np.linalg.norm(closest_point(corners[faces], points[seen]) - points[seen], axis=1)
    nearest = np.full(len(points), np.inf)
    np.minimum.at(nearest, seen, distances)
    return float(np.max(nearest, where=np.isfinite(nearest), initial=0.0))
