"""The tables of a convex hull: its polygons, with coplanar triangles merged, and its edges with the face on either side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .tables import EDGE, FACE

COPLANAR = 1e-9  # of the hull's size: triangles whose corners lie nearer to one plane make one polygon


class HullTables(NamedTuple):
    """One hull; numbers of vertices, faces and loops count from zero."""

    vertices: np.ndarray  # (n, 3), m
    faces: np.ndarray  # FACE
    edges: np.ndarray  # EDGE
    loops: np.ndarray  # (k,) int64


def hull_tables(vertices: np.ndarray, triangles: np.ndarray) -> HullTables:
    """Tables of a closed convex surface: vertices (n, 3) in m, outward triangles (m, 3).

    Triangles are merged with their neighbours as long as all corners stay within `COPLANAR` of one plane.
    """
    corners = vertices[triangles]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(cross, axis=1)
    tolerance = COPLANAR * float(np.ptp(vertices, axis=0).max())
    owner = _polygons(vertices, triangles, cross, areas, tolerance)
    beside = _directed_edges(triangles)
    polygons, loops = [], []
    number: dict[int, int] = {}
    for group in dict.fromkeys(owner):
        members = np.flatnonzero(owner == group)
        loop = _boundary(triangles[members])
        normal = cross[members].sum(axis=0)
        normal /= np.linalg.norm(normal)
        number[int(group)] = len(polygons)
        polygons.append((normal, float((vertices[loop] @ normal).max()), len(loops), len(loop)))
        loops.extend(loop)
    edges = [
        (i, j, number[int(owner[left])], number[int(owner[beside[j, i]])])
        for (i, j), left in beside.items()
        if i < j and owner[left] != owner[beside[j, i]]
    ]
    return HullTables(vertices, np.array(polygons, FACE), np.array(edges, EDGE), np.array(loops, np.int64))


def _directed_edges(triangles: np.ndarray) -> dict[tuple[int, int], int]:
    """(tail, head) → the triangle on its left."""
    return {(int(t[k]), int(t[(k + 1) % 3])): n for n, t in enumerate(triangles) for k in range(3)}


def _polygons(
    vertices: np.ndarray, triangles: np.ndarray, cross: np.ndarray, areas: np.ndarray, tolerance: float
) -> np.ndarray:
    """(m,) for each triangle the number of the polygon that it is a part of, grown from the largest triangles."""
    beside = _directed_edges(triangles)
    owner = np.full(len(triangles), -1)
    for seed in np.argsort(-areas, kind="stable"):
        if owner[seed] >= 0:
            continue
        normal = cross[seed] / areas[seed] if areas[seed] > 0.0 else np.zeros(3)
        height = float(vertices[triangles[seed, 0]] @ normal)
        owner[seed] = seed
        stack = [int(seed)] if areas[seed] > 0.0 else []
        while stack:
            triangle = triangles[stack.pop()]
            for k in range(3):
                other = beside[int(triangle[(k + 1) % 3]), int(triangle[k])]
                flat = np.abs(vertices[triangles[other]] @ normal - height).max() <= tolerance
                if owner[other] < 0 and flat and cross[other] @ normal >= 0.0:
                    owner[other] = seed
                    stack.append(other)
    return owner


def _boundary(triangles: np.ndarray) -> list[int]:
    """The corners of a patch of triangles in anticlockwise order, from the one of the smallest number."""
    edges = {(int(t[k]), int(t[(k + 1) % 3])) for t in triangles for k in range(3)}
    following = {i: j for i, j in edges if (j, i) not in edges}
    start = min(following)
    loop = [start]
    while following[loop[-1]] != start:
        loop.append(following[loop[-1]])
    return loop
