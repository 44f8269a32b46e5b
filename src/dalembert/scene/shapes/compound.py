"""Several solids fixed to one another. `scene.mass` computes their mass properties."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import positive, real_array, rotation_matrix, unit_quaternion
from ..polyhedron import Surface
from .base import Shape, register, shape_from_dict, values_of


@dataclass(frozen=True)
class Part:
    """One solid of a compound: where it is, how it is turned, and how dense it is beside the others."""

    shape: Shape
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """origin of the part in the frame of the compound, m"""
    orientation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """unit quaternion (w, x, y, z), part → compound"""
    density_ratio: float = 1.0
    """its density over that of the compound"""

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape) or not self.shape.solid or isinstance(self.shape, Compound):
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

    def to_dict(self) -> dict[str, Any]:
        """The part as numbers, strings and lists."""
        return {
            "shape": self.shape.to_dict(), "position": list(self.position), "orientation": list(self.orientation),
            "density_ratio": self.density_ratio,
        }  # fmt: skip


KEYS = ("shape", "position", "orientation", "density_ratio")  # of the dictionary of a part


@register
@dataclass(frozen=True, init=False)
class Compound(Shape):
    """Several solids fixed to one another. Mass in overlaps counts twice.

    Args:
        parts: at least one ``Part``, or tuple (shape, position (3,) m, orientation (w, x, y, z)[, density ratio]).

    >>> from dalembert import Box, Cylinder
    >>> handle = (Cylinder(0.02, 0.3), (0, 0, 0.15), (1, 0, 0, 0))
    >>> head = (Box(0.1, 0.04, 0.04), (0, 0, 0.3), (1, 0, 0, 0), 3)
    >>> Compound([handle, head]).parts[1].density_ratio
    3.0
    """

    parts: tuple[Part, ...]

    listed, convex = True, False

    def __init__(self, parts: Iterable[Part | tuple[Any, ...]]) -> None:
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

    def bounding_radius(self) -> float:
        """See `Shape.bounding_radius`."""
        return max(float(np.linalg.norm(part.position)) + part.shape.bounding_radius() for part in self.parts)

    @property
    def has_surface(self) -> bool:
        """See `Shape.has_surface`."""
        return any(part.shape.surface for part in self.parts)

    def to_dict(self) -> dict[str, Any]:
        """See `Shape.to_dict`."""
        return {"type": "Compound", "parts": [part.to_dict() for part in self.parts]}

    @classmethod
    def from_values(cls, values: list[Any]) -> Compound:
        """See `Shape.from_values`."""
        return cls([_part_from_dict(index, part) for index, part in enumerate(values[0])])


def _part_from_dict(index: int, data: Any) -> tuple:
    owner = f"Compound: part {index}"
    if not isinstance(data, dict):
        raise ValueError(f"{owner} is {data!r:.80}; give a dictionary with the keys {', '.join(KEYS)}")
    shape, position, orientation, density_ratio = values_of(owner, data, KEYS)
    if isinstance(shape, dict) and shape.get("type") == "Compound":
        raise ValueError(f"{owner}: a compound cannot be a part of a compound; list its parts directly")
    try:
        return (shape_from_dict(shape), position, orientation, density_ratio)
    except ValueError as error:
        raise ValueError(f"{owner}: {error}") from None
