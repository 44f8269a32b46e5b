"""Convex hulls with fewer corners, as contact needs them.

The simplified hull is that of a part of the corners, chosen greedily: a tetrahedron of far corners first, then in each round
the corners farthest from what is there (farthest-point sampling, with Qhull). So it lies inside the original and touches
nothing earlier, and corners that stand out, such as those of large flat faces, are kept. For nested convex bodies the
Hausdorff distance is the largest distance of a dropped corner from the simplified hull, which is computed exactly.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .contact import Touching
from .scene import Scene
from .shapes import Compound, ConvexHull

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


def simplified_hulls(scene: Scene) -> list[tuple[Touching, Simplified]]:
    """The hulls of a scene that contact simplifies by more than rounding, with the body or obstacle that each belongs to."""
    found = []
    for item in scene.touching():
        shape = item.shape
        for each in [part.shape for part in shape.parts] if isinstance(shape, Compound) else [shape]:
            if isinstance(each, ConvexHull):
                simplified = contact_hull(each)
                if simplified.error > ROUNDING * float(np.ptp(each.vertices, axis=0).max()):
                    found.append((item, simplified))
    return found


def simplification_message(scene: Scene) -> str:
    """What to tell of the hulls that contact simplifies; "" where there are none."""
    found = simplified_hulls(scene)
    if not found:
        return ""
    worst, (_, error) = max(found, key=lambda each: each[1].error)
    what = "1 convex hull has" if len(found) == 1 else f"{len(found)} convex hulls have"
    return (
        f"{what} more than {MOST_CORNERS} corners; contact uses simplified hulls, with an error of at most "
        f"{1e3 * error:.3g} mm ({worst.name!r}). Use simpler collision meshes where that matters"
    )
