"""Closed triangle surfaces: checks that one bounds a solid, exact moments, oriented hulls of points; surfaces for
display.

A face (i, j, k) is a triangle whose vertices run anticlockwise seen from outside.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from ..core.arrays import NumbersLike
from .checks import real_array


class Moments(NamedTuple):
    """What a uniform solid is made of, before its density is known."""

    volume: float
    """m³"""
    center: np.ndarray
    """(3,) centre of mass, m"""
    gyration: np.ndarray
    """(3, 3) inertia about the centre of mass for a mass of 1 kg, m²"""


def inertia_from_second_moment(second: np.ndarray) -> np.ndarray:
    """The inertia tensor tr(C) 1 − C of the second moment C = ∫ x xᵀ dm, (3, 3)."""
    return np.trace(second) * np.eye(3) - second


def polyhedron_moments(vertices: np.ndarray, faces: np.ndarray) -> Moments:
    """Exact moments of the solid inside a closed surface, as a sum of signed tetrahedra.

    With o the mean vertex and a, b, c the corners of a face seen from o, the tetrahedron (o, a, b, c) has
    V = a·(b × c)/6, ∫x dV = V (a + b + c)/4 and ∫x xᵀ dV = V/20 (s sᵀ + a aᵀ + b bᵀ + c cᵀ), s = a + b + c
    (F. Tonon, "Explicit exact formulas for the 3-D tetrahedron inertia tensor", J. Math. Stat. 1, 2005;
    B. Mirtich, "Fast and accurate computation of polyhedral mass properties", J. Graphics Tools 1, 1996).
    Taking o among the vertices, not at the origin, keeps all digits of a solid far from its origin.

    Args:
        vertices: (n, 3), m.
        faces: (m, 3) indices of a closed, outward surface.
    """
    origin = vertices.mean(axis=0)
    a, b, c = np.moveaxis((vertices - origin)[faces], 1, 0)
    s = a + b + c
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    volume = float(volumes.sum())
    if volume == 0.0:
        return Moments(0.0, origin, np.zeros((3, 3)))
    offset = np.einsum("i,ij->j", volumes, s) / (4.0 * volume)
    second = sum(np.einsum("i,ij,ik->jk", volumes, x, x) for x in (s, a, b, c)) / (20.0 * volume)
    return Moments(volume, origin + offset, inertia_from_second_moment(second - np.outer(offset, offset)))


def require_indices(owner: str, count: int, faces: NumbersLike) -> np.ndarray:
    """Faces as (m, 3) int64 indices of so many vertices. Raises ValueError for other numbers, and those out of range."""
    numbers = real_array(owner, "faces", faces, (-1, 3))
    indices = np.asarray(faces)
    if indices.dtype.kind not in "iu":
        raise ValueError(f"{owner}: faces must be integers, got {indices.dtype}; the first is {numbers[:1].tolist()}")
    indices = np.array(indices, dtype=np.int64, order="C")
    outside = np.flatnonzero((indices < 0).any(axis=1) | (indices >= count).any(axis=1))
    if len(outside):
        bad = int(outside[0])
        raise ValueError(
            f"{owner}: face {bad} {indices[bad].tolist()} names a vertex outside 0..{count - 1}; indices count from 0"
        )
    return indices


def require_solid(owner: str, vertices: np.ndarray, faces: np.ndarray) -> None:
    """Refuse a surface that bounds no solid: open, inconsistently oriented, repeated, inverted or flat.

    The surface is closed when each directed edge i → j is met by as many edges j → i. Several shells, cavities
    (inward shells) and shells that touch along an edge all pass.

    Raises:
        ValueError: names the owner, what is wrong and what to do.
    """
    count = len(vertices)
    if len(faces) < 4:
        raise ValueError(f"{owner}: {len(faces)} faces cannot close a solid; give at least 4 triangles")
    repeated = np.flatnonzero((faces == np.roll(faces, 1, axis=1)).any(axis=1))
    if len(repeated):
        bad = int(repeated[0])
        raise ValueError(f"{owner}: face {bad} {faces[bad].tolist()} names a vertex twice; remove such faces")
    _require_closed(owner, count, faces)
    _require_distinct(owner, faces)
    used = vertices[np.unique(faces)]
    tolerance = 1e-14 * float(np.square(np.ptp(used, axis=0)).sum() * np.abs(used).max())
    volume = polyhedron_moments(vertices, faces).volume
    if abs(volume) <= tolerance:
        raise ValueError(f"{owner}: the volume is {volume:.3g} m³, so the solid is flat; give it a thickness")
    if volume < 0.0:
        raise ValueError(f"{owner}: the volume is {volume:.6g} m³, so its faces point inward; use faces[:, ::-1]")


def _require_closed(owner: str, count: int, faces: np.ndarray) -> None:
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    edges, reverses = np.sort(start * count + end), np.sort(end * count + start)
    if np.array_equal(edges, reverses):
        return
    keys, where = np.unique(np.concatenate([edges, reverses]), return_inverse=True)
    surplus = np.bincount(where, np.repeat([1.0, -1.0], len(edges)))
    bad = np.flatnonzero(surplus > 0)
    i, j = divmod(int(keys[bad[0]]), count)
    raise ValueError(
        f"{owner}: the surface is not closed and consistently oriented: {len(bad)} edges have no opposite, the first "
        f"between vertices {i} and {j}; merge equal vertices, fill the holes and give all faces the same "
        "orientation, or use ConvexHull(vertices)"
    )


def _require_distinct(owner: str, faces: np.ndarray) -> None:
    turn = (np.argmin(faces, axis=1)[:, None] + np.arange(3)) % 3
    canonical = np.take_along_axis(faces, turn, axis=1)
    distinct, first = np.unique(canonical, axis=0, return_index=True)
    if len(distinct) < len(faces):
        bad = int(np.setdiff1d(np.arange(len(faces)), first)[0])
        raise ValueError(f"{owner}: face {bad} {faces[bad].tolist()} occurs twice; remove repeated faces")


def hull_surface(owner: str, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The convex hull (Qhull) of points (n, 3): its vertices (h, 3), in their given order, and outward faces (m, 3).

    Raises:
        ValueError: fewer than four points, or all of them in one plane.
    """
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < 4:
        raise ValueError(
            f"{owner}: a solid hull needs at least 4 points, got {len(points)}; add points out of one plane"
        )
    try:
        hull = ConvexHull(points)
    except QhullError as error:
        size = np.ptp(points, axis=0).tolist()
        raise ValueError(
            f"{owner}: the {len(points)} points lie in one plane, line or point (extent {size} m); "
            "give the hull a thickness"
        ) from error
    used, faces = np.unique(_orient_alike(hull.simplices, hull.neighbors), return_inverse=True)
    vertices, faces = points[used], faces.reshape(-1, 3).astype(np.int64)
    if polyhedron_moments(vertices, faces).volume < 0.0:
        faces = np.ascontiguousarray(faces[:, ::-1])
    require_solid(owner, vertices, faces)
    return vertices, faces


def _orient_alike(faces: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    """Turn faces (Qhull orders their vertices at will) until neighbours run their common edge in opposite senses.

    Walking from face to face is safe for slivers too, whose own normal is lost in rounding.
    """
    oriented, beside = faces.tolist(), neighbors.tolist()
    seen, stack = {0}, [0]
    while stack:
        face = stack.pop()
        a, b, c = oriented[face]
        edges = {(a, b), (b, c), (c, a)}
        for other in beside[face]:
            if other in seen:
                continue
            i, j, k = oriented[other]
            if edges & {(i, j), (j, k), (k, i)}:
                oriented[other] = [i, k, j]
            seen.add(other)
            stack.append(other)
    return np.array(oriented)


# Surfaces of the round shapes, for display ----------------------------------------------------------------------------
#
# One surface of revolution makes them all.

Surface: TypeAlias = tuple[np.ndarray, np.ndarray]
"""vertices (n, 3) float64, m, and faces (m, 3) int64, anticlockwise seen from outside."""


def lathe(radii: np.ndarray, heights: np.ndarray, segments: int) -> Surface:
    """Turn a profile about z into a closed, outward surface.

    Args:
        radii: (k,), m, distance of the profile from the axis; the first and the last are zero (the poles).
        heights: (k,), m, from the bottom to the top.
        segments: facets around the axis, at least 3.

    Returns:
        vertices (2 + (k − 2)·segments, 3) and faces (2·(k − 2)·segments, 3).
    """
    if segments < 3:
        raise ValueError(f"a round surface needs at least 3 segments, got {segments}")
    angle = 2.0 * np.pi * np.arange(segments) / segments
    circle = np.stack([np.cos(angle), np.sin(angle), np.zeros(segments)], axis=1)
    rings = radii[1:-1, None, None] * circle + heights[1:-1, None, None] * np.array([0.0, 0.0, 1.0])
    poles = np.array([[0.0, 0.0, heights[0]], [0.0, 0.0, heights[-1]]])
    vertices = np.concatenate([rings.reshape(-1, 3), poles])

    index = np.arange(len(rings) * segments).reshape(len(rings), segments)
    bottom, top = len(vertices) - 2, len(vertices) - 1
    a, b = index, np.roll(index, -1, axis=1)
    faces = [
        np.stack([np.full(segments, bottom), b[0], a[0]], axis=1),
        np.stack([a[:-1], b[:-1], b[1:]], axis=2).reshape(-1, 3),
        np.stack([a[:-1], b[1:], a[1:]], axis=2).reshape(-1, 3),
        np.stack([np.full(segments, top), a[-1], b[-1]], axis=1),
    ]
    return vertices, np.concatenate(faces)


def sphere_surface(segments: int) -> Surface:
    """The unit sphere: ``segments`` around, half as many from pole to pole."""
    angle = np.linspace(-0.5 * np.pi, 0.5 * np.pi, max(segments // 2, 2) + 1)
    radii = np.cos(angle)
    return lathe(radii, np.sin(angle), segments)


def cylinder_surface(radius: float, length: float, segments: int) -> Surface:
    """A cylinder about z, closed by flat ends."""
    half = 0.5 * length
    return lathe(np.array([0.0, radius, radius, 0.0]), np.array([-half, -half, half, half]), segments)


def cone_surface(radius: float, height: float, segments: int) -> Surface:
    """A cone about z, its base below and its apex above."""
    half = 0.5 * height
    return lathe(np.array([0.0, radius, 0.0]), np.array([-half, -half, half]), segments)


def capsule_surface(radius: float, length: float, segments: int) -> Surface:
    """A cylinder about z, closed by two half spheres."""
    angle = np.linspace(0.0, 0.5 * np.pi, max(segments // 4, 1) + 1)
    arc, rise = radius * np.cos(angle), 0.5 * length + radius * np.sin(angle)
    return lathe(np.concatenate([arc[::-1], arc]), np.concatenate([-rise[::-1], rise]), segments)


def box_surface(x: float, y: float, z: float) -> Surface:
    """The box of full side lengths x, y, z: vertex 4i + 2j + k is at (±x, ±y, ±z)/2, minus where the bit is 0."""
    bits = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], dtype=np.float64)
    quads = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    return (bits - 0.5) * [x, y, z], np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
