"""Arrays of what follows from a state, such as velocities from momenta, that write back what is assigned to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

Write = Callable[[np.ndarray, np.ndarray], None]


class DerivedArray(np.ndarray):
    """An (n, k) array of derived values. Assignments to it, and to views of it, are handed on to `write` (rows, values), so
    that ``state.velocity[0] = ...`` and ``state.velocity[2] += ...`` change the state.

    NumPy takes it for read-only, so that what cannot be handed on, such as ``out=``, raises ValueError.
    """

    _values: np.ndarray
    _write: Write

    @classmethod
    def of(cls, values: np.ndarray, write: Write) -> Self:
        """values : (n, k), which the array takes over. write : called with the numbers of the rows that changed, and these
        rows; where it raises, nothing is changed."""
        made = values.view(cls)
        made._values, made._write = values, write
        made.flags.writeable = False
        return made

    def __array_finalize__(self, source: Any) -> None:
        if isinstance(source, DerivedArray) and hasattr(source, "_values"):
            self._values, self._write = source._values, source._write

    def __setitem__(self, key: Any, value: Any) -> None:
        values = getattr(self, "_values", None)
        if values is None or self.flags.writeable or not np.may_share_memory(self, values):
            super().__setitem__(key, value)  # the result of a calculation
            return
        before = values.copy()
        first = self.__array_interface__["data"][0] - values.__array_interface__["data"][0]
        alias: Any = np.ndarray(self.shape, self.dtype, values, first, self.strides)
        alias[key] = value
        rows = np.flatnonzero((values != before).any(axis=1))
        try:
            self._write(rows, values[rows])
        except ValueError:
            values[:] = before
            raise

    def __iadd__(self, other: Any) -> Self:  # type: ignore[override, misc]
        self[...] = np.asarray(self) + other
        return self

    def __isub__(self, other: Any) -> Self:  # type: ignore[override, misc]
        self[...] = np.asarray(self) - other
        return self

    def __imul__(self, other: Any) -> Self:  # type: ignore[override, misc]
        self[...] = np.asarray(self) * other
        return self

    def __itruediv__(self, other: Any) -> Self:  # type: ignore[override, misc]
        self[...] = np.asarray(self) / other
        return self
