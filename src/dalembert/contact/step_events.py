"""Events of a run by time steps: looked at after each step, and said to happen at its end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..checkpoint_fields import Field
from ..pointer import C_TYPE, DERIVATIVE, NOT_A_NUMBER
from ..status import OK


class StepEvents:
    """Sign changes of functions of the state between the ends of steps.

    addresses : of C functions (see `pointer`) with one value each. directions : the sign changes that count, −1 falling,
    1 rising, 0 any.
    """

    def __init__(self, addresses: np.ndarray, directions: Sequence[int]) -> None:
        self._functions = [C_TYPE(int(address)) for address in addresses]
        self._directions = list(directions)
        self._known = np.zeros(1, np.int64)  # 1: `before` holds the values at the last look
        self._before = np.zeros(len(self._functions))
        self._waiting = np.zeros(len(self._functions), np.int64)  # 1: happened, and was not told of yet

    def __len__(self) -> int:
        return len(self._functions)

    @property
    def known(self) -> bool:
        """Whether the functions were looked at since the state was given."""
        return bool(self._known[0])

    def next_waiting(self) -> int:
        """The number of an event that has happened and was not told of yet, which it now is; −1 if there is none."""
        if not self._waiting.any():
            return -1
        number = int(np.argmax(self._waiting))
        self._waiting[number] = 0
        return number

    def begin(self) -> None:
        """The run begins anew."""
        self._waiting[:] = 0
        self.forget()

    def forget(self) -> None:
        """The state was changed from outside: what it was before tells nothing."""
        self._known[0] = 0

    def fields(self) -> list[Field]:
        """What is remembered from step to step."""
        return [
            Field("known", self._known, 0, 1),
            Field("values before", self._before),
            Field("waiting", self._waiting, 0, 1),
        ]

    def look(self, t: float, y: np.ndarray) -> int:
        """Note what has happened since the last look. Returns a status."""
        values = np.empty(len(self))
        for i, function in enumerate(self._functions):
            status = int(function(0, DERIVATIVE, t, y.ctypes.data, y.size, values[i:].ctypes.data, 1))
            if status != OK:
                return status
            if np.isnan(values[i]):
                return NOT_A_NUMBER
        if self.known:
            for i, direction in enumerate(self._directions):
                rises = self._before[i] < 0.0 <= values[i]
                falls = self._before[i] > 0.0 >= values[i]
                if (rises and direction >= 0) or (falls and direction <= 0):
                    self._waiting[i] = 1
        self._before[:], self._known[0] = values, 1
        return OK
