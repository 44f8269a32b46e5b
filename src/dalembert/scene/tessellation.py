"""Triangle surfaces of the round shapes, for display: one surface of revolution makes them all."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

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
