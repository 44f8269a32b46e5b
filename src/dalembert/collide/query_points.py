"""How far points are from colliders where they are; see `query`."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..kernel import array, kernel, out
from .point import point_distance
from .tables import Collision


class PointDistances(NamedTuple):
    """Of n points from each collider, world axes."""

    distance: np.ndarray  # (n, colliders) m, negative within
    normal: np.ndarray  # (n, colliders, 3) unit, outward, at the nearest point of the surface


def point_distances(collision: Collision, points: ArrayLike, bound: float = math.inf) -> PointDistances:
    """The signed distances of points (n, 3), m, from the surface of every collider, and the normals there.

    Within a solid the distance is minus the least translation that brings the point out, along the normal. They are right to
    about 1e-15 of the size of the collider. A mesh has a front only: inf and a zero normal where the nearest of it is
    seen from behind.

    bound : m, beyond which a distance need only be more than the bound; the search ends sooner.

    Raises ValueError for points that are not finite or not of three coordinates, and for a pose that is not finite.
    """
    at = np.array(points, float)
    if at.ndim != 2 or at.shape[1] != 3 or not np.isfinite(at).all():
        raise ValueError(f"point_distances: points must be (n, 3) finite numbers, not {points!r:.80}")
    for i, place in enumerate(collision.places):
        if not (np.isfinite(place["x"]).all() and np.isfinite(place["rotation"]).all()):
            raise ValueError(f"collider {i} is at {place['x']}: place the colliders at a finite pose first")
    found = np.empty((len(at), len(collision.colliders), 4))
    _measure(collision, at.reshape(-1), bound, found.reshape(-1))
    return PointDistances(found[..., 0], found[..., 1:])


@kernel
def _measure(collision: Collision, points: array(), bound: float, found: out()) -> None:
    colliders = collision.colliders.shape[0]
    at = 0
    for i in range(points.shape[0] // 3):
        p = (points[3 * i], points[3 * i + 1], points[3 * i + 2])
        for number in range(colliders):
            found[at], normal = point_distance(p, number, bound, collision)
            for k in range(3):
                found[at + 1 + k] = normal[k]
            at += 4
