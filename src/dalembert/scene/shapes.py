"""The shapes of solids, each in its own frame, lengths in metres.

A shape is a plain value: it has no mass, place or colour. ``mass.mass_properties`` gives its inertia,
``shape_dict.shape_to_dict`` its JSON form, and ``shape.triangles()`` a surface for display.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from . import tessellation
from .checks import positive, real_array, rotation_matrix, unit_quaternion
from .hull_and_mesh import ConvexHull, Mesh
from .tessellation import Surface


class _Dimensions:
    """A shape whose fields are all lengths."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, positive(type(self).__name__, name, value, "m"))


@dataclass(frozen=True)
class Box(_Dimensions):
    """A box centred at the origin; x, y, z are its full side lengths, m.

    >>> Box(1, 2, 3).triangles()[1].shape
    (12, 3)
    """

    x: float
    y: float
    z: float

    def triangles(self, segments: int = 24) -> Surface:
        """The twelve triangles of the box; ``segments`` plays no part."""
        return tessellation.box_surface(self.x, self.y, self.z)


@dataclass(frozen=True)
class Sphere(_Dimensions):
    """A ball about the origin; radius in m."""

    radius: float

    def triangles(self, segments: int = 24) -> Surface:
        """An inscribed surface with ``segments`` facets around z, for display."""
        vertices, faces = tessellation.sphere_surface(segments)
        return self.radius * vertices, faces


@dataclass(frozen=True)
class Cylinder(_Dimensions):
    """A solid cylinder about z, centred at the origin; radius and length in m."""

    radius: float
    length: float

    def triangles(self, segments: int = 24) -> Surface:
        """An inscribed surface with ``segments`` facets around z, for display."""
        return tessellation.cylinder_surface(self.radius, self.length, segments)


@dataclass(frozen=True)
class Cone(_Dimensions):
    """A solid cone about z, its base of the given radius at z = −height/2 and its apex at z = +height/2, m.

    Its centre of mass lies at z = −height/4.
    """

    radius: float
    height: float

    def triangles(self, segments: int = 24) -> Surface:
        """An inscribed surface with ``segments`` facets around z, for display."""
        return tessellation.cone_surface(self.radius, self.height, segments)


@dataclass(frozen=True)
class Capsule(_Dimensions):
    """The points within ``radius`` of a segment on z of length ``length`` centred at the origin, m.

    ``length`` is that of the cylindrical part: from end to end the capsule measures length + 2 radius.
    """

    radius: float
    length: float

    def triangles(self, segments: int = 24) -> Surface:
        """An inscribed surface with ``segments`` facets around z, for display."""
        return tessellation.capsule_surface(self.radius, self.length, segments)


@dataclass(frozen=True)
class Ellipsoid(_Dimensions):
    """The solid ellipsoid (x/a)² + (y/b)² + (z/c)² ≤ 1; a, b, c are its semi-axes, m."""

    a: float
    b: float
    c: float

    def triangles(self, segments: int = 24) -> Surface:
        """An inscribed surface with ``segments`` facets around z, for display."""
        vertices, faces = tessellation.sphere_surface(segments)
        return vertices * [self.a, self.b, self.c], faces


@dataclass(frozen=True)
class Part:
    """One solid of a compound: where it is, how it is turned, and how dense it is beside the others."""

    shape: Box | Sphere | Cylinder | Cone | Capsule | Ellipsoid | ConvexHull | Mesh
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """origin of the part in the frame of the compound, m"""
    orientation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """unit quaternion (w, x, y, z), part → compound"""
    density_ratio: float = 1.0
    """its density over that of the compound"""

    def __post_init__(self) -> None:
        if not isinstance(self.shape, SIMPLE_SHAPES):
            remedy = (
                "list its parts directly" if isinstance(self.shape, Compound) else "give a shape such as Box(1, 1, 1)"
            )
            raise ValueError(f"Part: {self.shape!r:.80} cannot be a part of a compound; {remedy}")
        position = real_array("Part", "position", self.position, (3,))
        object.__setattr__(self, "position", tuple(position.tolist()))
        object.__setattr__(self, "orientation", unit_quaternion("Part", "orientation", self.orientation))
        object.__setattr__(self, "density_ratio", positive("Part", "density_ratio", self.density_ratio))

    def to_compound(self, points: np.ndarray) -> np.ndarray:
        """Points (n, 3) of the part's own frame, in the frame of the compound."""
        return points @ rotation_matrix(self.orientation).T + self.position


@dataclass(frozen=True, init=False)
class Compound:
    """Several solids fixed to one another. Where two overlap, the matter counts twice.

    Args:
        parts: at least one ``Part``, or tuple (shape, position (3,) m, orientation (w, x, y, z)[, density ratio]).

    >>> handle = (Cylinder(0.02, 0.3), (0, 0, 0.15), (1, 0, 0, 0))
    >>> head = (Box(0.1, 0.04, 0.04), (0, 0, 0.3), (1, 0, 0, 0), 3)
    >>> Compound([handle, head]).parts[1].density_ratio
    3.0
    """

    parts: tuple[Part, ...]

    def __init__(self, parts: Iterable[Part | tuple]) -> None:
        checked: list[Part] = []
        for index, part in enumerate(parts):
            if not isinstance(part, Part) and not (isinstance(part, tuple | list) and 1 <= len(part) <= 4):
                raise ValueError(
                    f"Compound: part {index} is {part!r:.80}; give (shape, position, orientation[, density_ratio])"
                )
            try:
                checked.append(part if isinstance(part, Part) else Part(*part))
            except ValueError as error:
                raise ValueError(f"Compound: part {index}: {error}") from None
        if not checked:
            raise ValueError("Compound: [] has no part; give at least one (shape, position, orientation)")
        object.__setattr__(self, "parts", tuple(checked))

    def triangles(self, segments: int = 24) -> Surface:
        """The surfaces of the parts, one after the other."""
        surfaces = [part.shape.triangles(segments) for part in self.parts]
        first = np.cumsum([0] + [len(vertices) for vertices, _ in surfaces])
        vertices = [part.to_compound(surface[0]) for part, surface in zip(self.parts, surfaces, strict=True)]
        return np.concatenate(vertices), np.concatenate([f + n for (_, f), n in zip(surfaces, first, strict=False)])


SIMPLE_SHAPES = (Box, Sphere, Cylinder, Cone, Capsule, Ellipsoid, ConvexHull, Mesh)
Shape: TypeAlias = Box | Sphere | Cylinder | Cone | Capsule | Ellipsoid | ConvexHull | Mesh | Compound


def bounding_radius(shape: Shape) -> float:
    """The radius, m, of a sphere about the origin of the shape's frame that contains the shape.

    It is the least one, but for a compound of parts that are not spheres.

    >>> bounding_radius(Capsule(0.5, 2.0))
    1.5
    """
    match shape:
        case Box():
            return 0.5 * float(np.linalg.norm([shape.x, shape.y, shape.z]))
        case Sphere():
            return shape.radius
        case Cylinder():
            return float(np.hypot(shape.radius, 0.5 * shape.length))
        case Cone():
            return float(np.hypot(shape.radius, 0.5 * shape.height))
        case Capsule():
            return shape.radius + 0.5 * shape.length
        case Ellipsoid():
            return max(shape.a, shape.b, shape.c)
        case ConvexHull() | Mesh():
            return float(np.linalg.norm(shape.vertices[shape.faces.ravel()], axis=1).max())
        case Compound():
            return max(float(np.linalg.norm(part.position)) + bounding_radius(part.shape) for part in shape.parts)
    raise ValueError(f"bounding_radius: {shape!r:.80} is not a shape; give one such as Box(1, 1, 1)")
