"""Checks of what a scene description says; it comes from a file that may be anybody's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["COLORS", "checked_array", "checked_color", "checked_indices", "checked_items"]

COLORS = ("#4e79a7", "#e1812c", "#59a14f", "#b07aa1", "#d35d60", "#76b7b2", "#c9a227", "#9c755f")


def checked_items(description: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The list of objects under `key`, empty where there is none."""
    items = description.get(key) or []
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise ValueError(f"the scene description's {key!r} must be a list of objects")
    return items


def checked_array(values: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Finite numbers of a shape."""
    try:
        array = np.asarray(values, float).reshape(shape)
    except (ValueError, TypeError):
        raise ValueError(f"{what} must be numbers of shape {shape}") from None
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{what} must be finite")
    return array


def checked_indices(values: Any, width: int, below: int, what: str) -> np.ndarray:
    """Rows of `width` different whole numbers, 0 to `below` − 1: (n, width)."""
    given = checked_array(values or [], (-1, width), what)
    with np.errstate(invalid="ignore"):
        array = given.astype(np.int64)
    if np.any(array != given):
        raise ValueError(f"{what} must be whole numbers")
    if array.size and (array.min() < 0 or array.max() >= below):
        raise ValueError(f"{what} name one that is not there (there are {below})")
    if np.any(np.diff(np.sort(array, axis=1), axis=1) == 0):
        raise ValueError(f"{what} name the same one twice")
    return array


def checked_color(value: Any, what: str) -> str:
    """A colour #rrggbb."""
    color = str(value)
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", color):
        raise ValueError(f"{what}: colour {color[:40]!r} is not of the form #rrggbb")
    return color
