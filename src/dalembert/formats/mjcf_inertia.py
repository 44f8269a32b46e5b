"""Masses of MJCF bodies: as written, or inferred from geoms, with the floors and corrections that <compiler> asks for."""

from __future__ import annotations

import math

import numpy as np

from ..scene.polyhedron import inertia_from_second_moment
from .attributes import Attributes
from .description import Pose, Segment
from .imported import Warnings
from .meshes import Surface, hull_of
from .mjcf_settings import Settings, note_unasked
from .orientation import about, read_orientation
from .xml import Element

Mass = tuple[float, np.ndarray, np.ndarray]  # kg, centre (3,), inertia (3, 3) about it
FLAT = 1e-12  # of the area of a mesh to the power 3/2: a smaller volume is rounding
SMALL = 1e-12  # MuJoCo's: of moments kg m², and of cosines from 1


def principal_axes(inertia: np.ndarray) -> np.ndarray:
    """The principal axes of an inertia as columns of a rotation, with the signs and the order of MuJoCo's.

    Jacobi's method: the largest product of inertia is removed by a turn of at most 45° until none is left; then the axes
    are turned by right angles until the moments fall.
    """
    axes = np.eye(3)
    for _ in range(500):
        moments = axes.T @ inertia @ axes
        i, j = max(((0, 1), (0, 2), (1, 2)), key=lambda pair: abs(moments[pair]))
        if abs(moments[i, j]) < SMALL:
            break
        slope = (moments[j, j] - moments[i, i]) / (2.0 * moments[i, j])
        tangent = (1.0 if slope >= 0.0 else -1.0) / (abs(slope) + math.hypot(1.0, slope))
        cosine = 1.0 / math.hypot(1.0, tangent)
        if cosine > 1.0 - SMALL:
            break
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = cosine
        turn[i, j], turn[j, i] = tangent * cosine, -tangent * cosine
        axes = axes @ turn
    for first in (0, 1, 0):
        moments = np.diag(axes.T @ inertia @ axes)
        if moments[first] + SMALL < moments[first + 1]:
            axes = axes @ about(np.eye(3)[(first + 2) % 3], 0.5 * math.pi)
    return axes


def read_inertial(element: Element, settings: Settings, frame: Pose, warnings: Warnings) -> tuple[Mass, np.ndarray]:
    """An <inertial> in the axes of its body, and its own axes there."""
    given = Attributes(element)
    pose = frame @ Pose(given.vector("pos", 3), read_orientation(given, settings.degree, settings.sequence))
    mass = given.number("mass", None, 0.0)
    axes = pose.rotation
    if "fullinertia" in given:
        xx, yy, zz, xy, xz, yz = given.vector("fullinertia", 6)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        axes = axes @ principal_axes(inertia)
    else:
        inertia = np.diag(given.vector("diaginertia", 3, default=(0.0, 0.0, 0.0)))
    note_unasked(given, warnings)
    return (mass, pose.position, pose.rotation @ inertia @ pose.rotation.T), axes


def combined(parts: list[tuple[Mass, np.ndarray]]) -> tuple[Mass, np.ndarray]:
    """Several solids as one (parallel axes), and its axes: those of the only one, or else principal ones."""
    masses = [mass for mass, _ in parts]
    total = sum(mass for mass, _, _ in masses)
    if total == 0.0:
        return (0.0, np.zeros(3), np.zeros((3, 3))), np.eye(3)
    center = np.sum([mass / total * place for mass, place, _ in masses], axis=0)
    arms = [place - center for _, place, _ in masses]
    inertia = np.sum(
        [
            own + mass * inertia_from_second_moment(np.outer(arm, arm))
            for (mass, _, own), arm in zip(masses, arms, strict=True)
        ],
        axis=0,
    )
    return (total, center, inertia), parts[0][1] if len(parts) == 1 else principal_axes(inertia)


def apply_compiler(segments: list[Segment], settings: Settings) -> None:
    """The floors `boundmass` and `boundinertia`, `balanceinertia`, and `settotalmass`, in this order."""
    for segment in segments:
        segment.mass = max(segment.mass, settings.bound_mass)
        if segment.mass == 0.0 or not (settings.bound_inertia > 0.0 or settings.balance):
            continue
        moments, axes = np.linalg.eigh(segment.inertia)
        bounded = np.maximum(moments, settings.bound_inertia)
        low, middle, high = np.sort(bounded)
        if settings.balance and low + middle < high:
            bounded = np.full(3, bounded.mean())
        if not np.array_equal(bounded, moments):
            segment.inertia = axes @ np.diag(bounded) @ axes.T
    total = sum(segment.mass for segment in segments)
    if settings.total_mass > 0.0 and total > 0.0:
        for segment in segments:
            segment.mass *= settings.total_mass / total
            segment.inertia = segment.inertia * (settings.total_mass / total)


def mesh_mass(surface: Surface, kind: str) -> Mass:
    """Volume (area, of a shell), centre and inertia of a mesh of density 1, in the four ways that MuJoCo knows.

    "exact" adds signed tetrahedra below the faces, "convex" does so for the hull, "shell" adds the faces themselves. "legacy"
    adds tetrahedra without their signs: for the centre from the mean of the faces' centres, for volume and inertia from that
    centre, so that what is not convex counts more than once.
    """
    vertices, faces = surface
    if kind == "convex":
        hull = hull_of(vertices)
        vertices, faces = hull.vertices, hull.faces
    corners = vertices[faces]
    normals = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas, middles = np.linalg.norm(normals, axis=1), corners.mean(axis=1)
    if not areas.sum() > 0.0:
        raise ValueError("its faces have no area; correct them")
    start = areas @ middles / areas.sum()
    if kind == "shell":
        inner = corners - start
        second = np.einsum("f,fki,fkj->ij", areas / 12.0, inner, inner)
        second += np.einsum("f,fi,fj->ij", areas / 12.0, inner.sum(axis=1), inner.sum(axis=1))
        return float(areas.sum()), start, inertia_from_second_moment(second)

    def volumes(origin: np.ndarray) -> np.ndarray:
        signed = np.einsum("fi,fi->f", middles - origin, normals) / 3.0
        return np.abs(signed) if kind == "legacy" else signed

    cells = volumes(start)
    if not cells.sum() > FLAT * areas.sum() ** 1.5:
        raise ValueError("its faces enclose no volume, or are inside out; turn them, or give inertia='convex'")
    center = cells @ (0.75 * middles + 0.25 * start) / cells.sum()
    cells = volumes(center)
    inner = corners - center
    sums = inner.sum(axis=1)
    second = np.einsum("f,fki,fkj->ij", cells / 20.0, inner, inner) + np.einsum("f,fi,fj->ij", cells / 20.0, sums, sums)
    return float(cells.sum()), center, inertia_from_second_moment(second)


def moved(mass: Mass, pose: Pose, density: float = 1.0) -> Mass:
    """The solid elsewhere, and denser."""
    kilograms, center, inertia = mass
    return density * kilograms, pose.point(center), density * pose.rotation @ inertia @ pose.rotation.T
