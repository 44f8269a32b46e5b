"""A compiled function of a tuple of tables, as a C pointer with something to hand it."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from .jit import DISABLED, CFunction
from .pointer import C_TYPE, view
from .tables import address_table


class TableFunction:
    """`address` of a C function and `data` to hand it, where the addresses of `tables` stand; keeps the arrays alive.

    plain : the same in Python, (task, t, given, found, tables) → status, for runs without compilation.
    """

    def __init__(self, compiled: CFunction, plain: Callable[..., int], tables: Any) -> None:
        self.tables = tables
        self._table = address_table(tables)
        self.data = int(self._table.ctypes.data)
        if DISABLED:

            def call(data: int, task: int, t: float, given: int, n: int, found: int, m: int) -> int:
                return int(plain(task, t, view(given, n), view(found, m), tables))

            self._callback = C_TYPE(call)
            self.address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
        else:
            self.address = compiled.address
        self._function = C_TYPE(self.address)

    def perform(self, task: int, t: float, given: np.ndarray, found: np.ndarray) -> int:
        """Do a task on two contiguous float64 arrays; returns a status."""
        return int(self._function(self.data, task, t, given.ctypes.data, given.size, found.ctypes.data, found.size))
