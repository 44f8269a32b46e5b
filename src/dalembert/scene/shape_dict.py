"""Shapes as plain dictionaries of numbers, strings and lists: what JSON holds, and nothing that runs."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from .shapes import Box, Capsule, Compound, Cone, ConvexHull, Cylinder, Ellipsoid, Mesh, Shape, Sphere
from .surfaces import HeightField, TriangleMesh

_BY_DIMENSIONS = {cls.__name__: cls for cls in (Box, Sphere, Cylinder, Cone, Capsule, Ellipsoid)}
_BY_ARRAYS = {cls.__name__: cls for cls in (Mesh, TriangleMesh, HeightField)}
_KEYS = {
    **{name: tuple(field.name for field in fields(cls)) for name, cls in _BY_DIMENSIONS.items()},
    "ConvexHull": ("points",),
    "Mesh": ("vertices", "faces"),
    "TriangleMesh": ("vertices", "faces"),
    "HeightField": ("heights", "spacing"),
    "Compound": ("parts",),
}
_PART_KEYS = ("shape", "position", "orientation", "density_ratio")
MAX_ROWS = 10_000_000
"""most points, vertices, faces or parts in one shape"""


def shape_to_dict(shape: Shape | TriangleMesh | HeightField) -> dict[str, Any]:
    """The shape as a dictionary that ``json.dumps`` takes; every bit comes back with ``shape_from_dict``.

    >>> shape_to_dict(Sphere(0.5))
    {'type': 'Sphere', 'radius': 0.5}
    """
    kind = type(shape).__name__
    if isinstance(shape, ConvexHull):
        return {"type": kind, "points": shape.points.tolist()}
    if isinstance(shape, HeightField):
        return {"type": kind, "heights": shape.heights.tolist(), "spacing": list(shape.spacing)}
    if isinstance(shape, Mesh | TriangleMesh):
        return {"type": kind, "vertices": shape.vertices.tolist(), "faces": shape.faces.tolist()}
    if isinstance(shape, Compound):
        return {
            "type": kind,
            "parts": [
                {
                    "shape": shape_to_dict(part.shape),
                    "position": list(part.position),
                    "orientation": list(part.orientation),
                    "density_ratio": part.density_ratio,
                }
                for part in shape.parts
            ],
        }
    if kind not in _BY_DIMENSIONS:
        raise ValueError(f"shape_to_dict: {shape!r:.80} is not a shape; give one such as Box(1, 1, 1)")
    return {"type": kind, **{name: getattr(shape, name) for name in _KEYS[kind]}}


def shape_from_dict(data: dict[str, Any]) -> Shape | TriangleMesh | HeightField:
    """The shape that ``shape_to_dict`` wrote, checked as if it were built by hand.

    Raises:
        ValueError: an unknown type, a key too many or too few, too many rows, or a value that the shape refuses.
    """
    kind = data.get("type") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in _KEYS:
        raise ValueError(f"shape_from_dict: {data!r:.80} has no known type; 'type' is one of {', '.join(_KEYS)}")
    values = _values(kind, {key: value for key, value in data.items() if key != "type"}, _KEYS[kind])
    if kind in _BY_DIMENSIONS:
        return _BY_DIMENSIONS[kind](*values)
    for key, rows in zip(_KEYS[kind], values, strict=True):
        if not isinstance(rows, list) or len(rows) > MAX_ROWS:
            raise ValueError(f"{kind}: '{key}' must be a list of at most {MAX_ROWS} rows; got {type(rows).__name__}")
    if kind == "ConvexHull":
        return ConvexHull(values[0])
    if kind in _BY_ARRAYS:
        return _BY_ARRAYS[kind](*values)
    return Compound([_part_from_dict(index, part) for index, part in enumerate(values[0])])


def _part_from_dict(index: int, data: Any) -> tuple:
    owner = f"Compound: part {index}"
    if not isinstance(data, dict):
        raise ValueError(f"{owner} is {data!r:.80}; give a dictionary with the keys {', '.join(_PART_KEYS)}")
    shape, position, orientation, density_ratio = _values(owner, data, _PART_KEYS)
    if isinstance(shape, dict) and shape.get("type") == "Compound":
        raise ValueError(f"{owner}: a compound cannot be a part of a compound; list its parts directly")
    try:
        return (shape_from_dict(shape), position, orientation, density_ratio)
    except ValueError as error:
        raise ValueError(f"{owner}: {error}") from None


def _values(owner: str, data: dict[str, Any], keys: tuple[str, ...]) -> list[Any]:
    if set(data) != set(keys):
        raise ValueError(f"{owner}: its keys must be {', '.join(keys)}; got {', '.join(map(str, data))!s:.80}")
    return [data[key] for key in keys]
