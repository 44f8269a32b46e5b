"""The data of a stepper besides the state, as named fields, so that a run can be resumed with the same bits.

A part is a view of a table, which is copied into a checkpoint and written when the checkpoint is restored. A checkpoint
may come from an untrusted file, so each part has bounds, and integers that kernels use as indices have the bounds of
the tables that they index.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LARGE = 2**53  # whole numbers that only count
MOST = float(np.finfo(float).max)


class Field(NamedTuple):
    """name : unique in a run. values : the view, of numbers or of records. least, most : bounds of all numbers in it; no
    number may be NaN, unless they are. columns : of records, those that are saved, each with its bounds."""

    name: str
    values: np.ndarray
    least: float = -MOST
    most: float = MOST
    columns: dict[str, tuple[float, float]] | None = None

    def parts(self) -> list[Field]:
        """The same as fields of numbers: a column each."""
        if self.columns is None:
            return [self]
        plain = self.values.view(np.ndarray)
        return [Field(f"{self.name}.{name}", plain[name], *bounds) for name, bounds in self.columns.items()]


ANY = (np.nan, np.nan)  # bounds of what may be any number
REAL = (-MOST, MOST)
COUNT = (0.0, float(LARGE))


def columns(dtype: np.dtype, bounds: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """All columns of records, with bounds: real numbers must be finite, whole ones are counts, by default."""
    kinds = {name: dtype[name].base.kind for name in dtype.names or ()}
    return {name: bounds.get(name, COUNT if kind == "i" else REAL) for name, kind in kinds.items()}


def prefixed(prefix: str, fields: list[Field]) -> list[Field]:
    """The same fields as part of something larger."""
    return [Field(f"{prefix}.{field.name}", *field[1:]) for field in fields]


class CheckpointError(ValueError):
    """A checkpoint that does not fit the run that it is put back into."""
