"""Shapes as plain dictionaries of numbers, strings and lists: what JSON holds, and nothing that runs."""

from __future__ import annotations

from typing import Any

from .shapes import SHAPES, Compound, Shape

_PART_KEYS = ("shape", "position", "orientation", "density_ratio")
MAX_ROWS = 10_000_000
"""most points, vertices, faces or parts in one shape"""


def shape_to_dict(shape: Shape) -> dict[str, Any]:
    """The shape as a dictionary that ``json.dumps`` takes; every bit comes back with ``shape_from_dict``.

    >>> from dalembert import Sphere
    >>> shape_to_dict(Sphere(0.5))
    {'type': 'Sphere', 'radius': 0.5}
    """
    if not isinstance(shape, Shape):
        raise ValueError(f"shape_to_dict: {shape!r:.80} is not a shape; give one such as Box(1, 1, 1)")
    return shape.to_dict()


def shape_from_dict(data: dict[str, Any]) -> Shape:
    """The shape that ``shape_to_dict`` wrote, checked as if it were built by hand.

    Raises:
        ValueError: an unknown type, a key too many or too few, too many rows, or a value that the shape refuses.
    """
    name = data.get("type") if isinstance(data, dict) else None
    if not isinstance(name, str) or name not in SHAPES:
        raise ValueError(f"shape_from_dict: {data!r:.80} has no known type; 'type' is one of {', '.join(SHAPES)}")
    cls = SHAPES[name]
    values = _values(name, {key: value for key, value in data.items() if key != "type"}, cls.keys)
    for key, rows in zip(cls.keys, values, strict=True):
        if cls.listed and (not isinstance(rows, list) or len(rows) > MAX_ROWS):
            raise ValueError(f"{name}: '{key}' must be a list of at most {MAX_ROWS} rows; got {type(rows).__name__}")
    if cls is Compound:
        return Compound([_part_from_dict(index, part) for index, part in enumerate(values[0])])
    return cls(*values)


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
