"""Triangles in one plane joined to convex polygons, so that a flat floor makes few contacts, however finely it is divided.

Hertel and Mehlhorn (1983): an edge between two polygons goes where what is left is convex at both of its ends. Two polygons
may also share a chain of edges, which goes as a whole.
"""

from __future__ import annotations

import numpy as np

MOST_CORNERS = 48  # of a polygon
MOST_EDGES = 50_000  # between triangles in one plane; where there are more, all triangles stay as they are
CONVEX = 1e-9  # sine of the angle by which a polygon may turn back at a corner, for rounding


def convex_polygons(
    points: np.ndarray, triangles: np.ndarray, normal: np.ndarray, twin: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Join triangles to convex polygons.

    points : (n, 3). triangles : (m, 3). normal : (m, 3). Side 3 t + k of triangle t begins at its corner k.
    twin : (3 m,) the side beyond, where the triangle beyond lies in the same plane; else −1.

    Returns the sides of one polygon after the other, in order, and how many each has.
    """
    every = np.arange(3 * len(triangles))
    sides = np.flatnonzero(twin > every)
    if not 0 < len(sides) <= MOST_EDGES:
        return every, np.full(len(triangles), 3)
    along = points[np.roll(triangles, -1, axis=1).ravel()] - points[triangles.ravel()]
    longest = np.argsort(-np.round(np.linalg.norm(along[sides], axis=1), 9), kind="stable")
    merger = _Merger(along, np.repeat(normal, 3, axis=0), twin)
    remaining, before = sides[longest].tolist(), -1
    while len(remaining) != before:
        before = len(remaining)
        remaining = [side for side in remaining if not merger.removed(side)]
    polygons = list(merger.polygons.values())
    return np.concatenate([np.array(polygon) for polygon in polygons]), np.array([len(polygon) for polygon in polygons])


class _Merger:
    """Polygons by number, and to which of them each side belongs."""

    def __init__(self, along: np.ndarray, normal: np.ndarray, twin: np.ndarray) -> None:
        self.polygons: dict[int, list[int]] = dict(enumerate(np.arange(len(twin)).reshape(-1, 3).tolist()))
        self._along, self._normal, self._twin = along.tolist(), normal.tolist(), twin.tolist()
        self._owner = [side // 3 for side in range(len(self._twin))]

    def removed(self, side: int) -> bool:
        """Whether a side is inside of a polygon, once the polygons on both sides of it are joined if they can be."""
        one, other = self._owner[side], self._owner[self._twin[side]]
        if one == other:
            return True
        first, second = self.polygons[one], self.polygons[other]
        shared = [self._twin[s] >= 0 and self._owner[self._twin[s]] == other for s in first]
        chain = sum(shared)
        if len(first) + len(second) - 2 * chain > MOST_CORNERS:
            return False
        begin = next(k for k in range(len(first)) if shared[k] and not shared[k - 1])
        turned = first[begin:] + first[:begin]
        last = self._twin[turned[chain - 1]]
        at = second.index(last)
        back = second[at:] + second[:at]
        if not all(self._twin[s] == b for s, b in zip(turned[:chain], reversed(back[:chain]), strict=True)):
            return False
        left, right = turned[chain:], back[chain:]
        if not left or not right or not (self._convex(left[-1], right[0]) and self._convex(right[-1], left[0])):
            return False
        for s in second:
            self._owner[s] = one
        self.polygons[one] = left + right
        del self.polygons[other]
        return True

    def _convex(self, enter: int, leave: int) -> bool:
        """Whether a polygon turns left, or goes straight on, at the corner it enters by one side and leaves by another."""
        (a, b, c), (d, e, f), (x, y, z) = self._along[enter], self._along[leave], self._normal[enter]
        turn = x * (b * f - c * e) + y * (c * d - a * f) + z * (a * e - b * d)
        lengths = ((a * a + b * b + c * c) * (d * d + e * e + f * f)) ** 0.5
        return turn >= -CONVEX * lengths and (turn > CONVEX * lengths or a * d + b * e + c * f > 0.0)
