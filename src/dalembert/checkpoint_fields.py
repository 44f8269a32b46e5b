"""What a stepper remembers from one step to the next, named part by part, so that a run can go on with the same bits.

A part is a view on a table: it is copied when a checkpoint is taken, and written when one is put back. A checkpoint may come
from a file, and the file from anywhere; so each part has bounds, and whole numbers that kernels use as indices have those of
the tables that they point into.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

LARGE = 2**53  # whole numbers that only count


class Field(NamedTuple):
    """name : unique in a run. values : the view. least, most : bounds of all numbers in it; no number may be NaN."""

    name: str
    values: np.ndarray
    least: float = -np.finfo(float).max
    most: float = np.finfo(float).max


def columns(prefix: str, table: Any, bounds: dict[str, tuple[float, float]]) -> list[Field]:
    """Fields of a table of records, with the bounds of those that have any."""
    found = []
    for name in table.dtype.names:
        least, most = bounds.get(name, (0, LARGE) if table.dtype[name].base.kind == "i" else (None, None))
        own = Field(f"{prefix}.{name}", table[name])
        found.append(own if least is None or most is None else own._replace(least=least, most=most))
    return found


def prefixed(prefix: str, fields: list[Field]) -> list[Field]:
    """The same fields as part of something larger."""
    return [field._replace(name=f"{prefix}.{field.name}") for field in fields]


class CheckpointError(ValueError):
    """A checkpoint that does not fit the run that it is put back into."""
