"""Forces on particles as the user describes them, and the checks of what they connect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .checks import array_of, real_array
from .particles import Particles


@dataclass(eq=False)
class ParticleForce:
    """A force on particles; made by the methods of `Scene`.

    `kind` is that of a table of elements (springs, angles, ...), of an interaction (gravitation, ...), or field, medium,
    wind.
    """

    name: str
    kind: str
    groups: tuple[Particles, ...]
    values: dict[str, Any] = field(default_factory=dict)  # fields of its rows, arrays by element or numbers for all
    function: Callable[..., Any] | None = None


def elements_of(owner: str, group: Particles, elements: ArrayLike, nodes: int) -> np.ndarray:
    """(m, nodes) indices within a group, checked: in range, and each particle once in an element. Raises ValueError."""
    given = array_of(elements)
    if given.dtype.kind not in "iu" or given.ndim != 2 or given.shape[1] != nodes or not len(given):
        raise ValueError(
            f"{owner}: give a table of whole numbers of shape (m, {nodes}), indices within {group.name!r}; got "
            f"{given.dtype} of shape {given.shape}"
        )
    rows = given.astype(np.int64)
    bad = (rows < 0) | (rows >= len(group))
    if bad.any():
        i = int(np.argmax(bad.any(axis=1)))
        raise ValueError(
            f"{owner}: element {i} names {rows[i].tolist()}, and {group.name!r} has particles 0 to {len(group) - 1}"
        )
    ordered = np.sort(rows, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if twice.any():
        i = int(np.argmax(twice))
        raise ValueError(f"{owner}: element {i} names a particle twice, {rows[i].tolist()}; name different ones")
    return rows


def per_element(owner: str, name: str, value: ArrayLike, count: int, *, above_zero: bool = False) -> np.ndarray:
    """(m,) numbers not below zero (or above it), from one for all or one an element. Raises ValueError."""
    given = np.full(count, value) if array_of(value).ndim == 0 else value
    array = real_array(owner, name, given, (count,))
    bad = array <= 0.0 if above_zero else array < 0.0
    if bad.any():
        i = int(np.argmax(bad))
        least = "above zero" if above_zero else "not below zero"
        raise ValueError(f"{owner}: {name}[{i}] is {array[i]:g}; give numbers {least}")
    return array


def require_apart(owner: str, x: np.ndarray, rows: np.ndarray, why: str) -> None:
    """Refuse elements with neighbours (columns 0 and 1, ...) at the same place. x : (n, 3)."""
    for a, b in zip(range(rows.shape[1] - 1), range(1, rows.shape[1]), strict=True):
        same = (x[rows[:, a]] == x[rows[:, b]]).all(axis=1)
        if same.any():
            i = int(np.argmax(same))
            raise ValueError(f"{owner}: element {i}, particles {rows[i].tolist()}, has two at the same place; {why}")
