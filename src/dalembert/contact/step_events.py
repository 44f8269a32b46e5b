"""Events of a run by time steps: looked at after each step, and said to happen at its end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..pointer import C_TYPE, DERIVATIVE
from ..status import OK


class StepEvents:
    """Sign changes of functions of the state between the ends of steps.

    addresses : of C functions (see `pointer`) with one value each. directions : the sign changes that count, −1 falling,
    1 rising, 0 any.
    """

    def __init__(self, addresses: np.ndarray, directions: Sequence[int]) -> None:
        self._functions = [C_TYPE(int(address)) for address in addresses]
        self._directions = list(directions)
        self._before: np.ndarray | None = None
        self.waiting: list[int] = []  # numbers of events that have happened and were not told of yet

    def __len__(self) -> int:
        return len(self._functions)

    @property
    def known(self) -> bool:
        """Whether the functions were looked at since the state was given."""
        return self._before is not None

    def forget(self) -> None:
        """The state was changed from outside: what it was before tells nothing."""
        self._before = None

    def look(self, t: float, y: np.ndarray) -> int:
        """Note in `waiting` what has happened since the last look. Returns a status."""
        values = np.empty(len(self))
        for i, function in enumerate(self._functions):
            status = int(function(0, DERIVATIVE, t, y.ctypes.data, y.size, values[i:].ctypes.data, 1))
            if status != OK:
                return status
        if self._before is not None:
            for i, direction in enumerate(self._directions):
                rises = self._before[i] < 0.0 <= values[i]
                falls = self._before[i] > 0.0 >= values[i]
                if (rises and direction >= 0) or (falls and direction <= 0):
                    self.waiting.append(i)
        self._before = values
        return OK
