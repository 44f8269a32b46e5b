"""The mechanism as one C function, so that all of mechanics is compiled once, whatever integrates it.

The function is handed the address of a table of addresses and lengths, one pair an array of `System`, and makes views of
them. Without compilation (NUMBA_DISABLE_JIT=1) the same tasks are called back in plain Python.
"""

import ctypes

import numba
import numpy as np

from ..jit import CFunction, njit
from ..linalg.ordering import COLUMN, ENTRY, UPDATE
from ..model.tables import (
    BODY,
    COORDINATE,
    FORCE,
    HUB,
    INCIDENCE,
    JOINT,
    KINEMATICS,
    PAIR,
    PART,
    REACTION,
    SETTINGS,
    System,
)
from ..pointer import C_SIGNATURE, C_TYPE, COMPLETE_EVALUATED, DERIVATIVE, DRIFT, MEASURE, as_pointer, view
from .drift import drift
from .dynamics import derivative
from .measure import measure
from .projection import complete


@njit
def perform(task, t, y, dydt, system):
    """Do one of the tasks of `pointer`; returns a status."""
    if task == DERIVATIVE:
        return derivative(t, y, dydt, system)
    if task == DRIFT:
        return drift(dydt[0], y, system.bodies)
    if task == MEASURE:
        return measure(t, y, dydt, system)
    return complete(t, y, dydt, task == COMPLETE_EVALUATED, system)


@njit
def numbers(table, i):
    return numba.carray(as_pointer(table[2 * i]), (table[2 * i + 1],), np.float64)


@njit
def unpack(address):
    """The `System` whose arrays stand at the addresses in the table at `address`; the order is that of its fields."""
    a = numba.carray(as_pointer(address), (2 * 31,), np.int64)
    return System(
        numba.carray(as_pointer(a[0]), (a[1],), BODY),
        numba.carray(as_pointer(a[2]), (a[3],), PART),
        numba.carray(as_pointer(a[4]), (a[5],), JOINT),
        numba.carray(as_pointer(a[6]), (a[7],), INCIDENCE),
        numba.carray(as_pointer(a[8]), (a[9],), PAIR),
        numba.carray(as_pointer(a[10]), (a[11],), HUB),
        numba.carray(as_pointer(a[12]), (a[13],), COORDINATE),
        numba.carray(as_pointer(a[14]), (a[15],), FORCE),
        numba.carray(as_pointer(a[16]), (a[17],), REACTION),
        numba.carray(as_pointer(a[18]), (a[19],), COLUMN),
        numba.carray(as_pointer(a[20]), (a[21],), ENTRY),
        numba.carray(as_pointer(a[22]), (a[23],), UPDATE),
        numba.carray(as_pointer(a[24]), (a[25],), SETTINGS),
        numba.carray(as_pointer(a[26]), (a[27],), KINEMATICS),
        numbers(a, 14),
        numbers(a, 15),
        numbers(a, 16),
        numbers(a, 17),
        numbers(a, 18),
        numbers(a, 19),
        numbers(a, 20),
        numbers(a, 21),
        numbers(a, 22),
        numbers(a, 23),
        numbers(a, 24),
        numbers(a, 25),
        numbers(a, 26),
        numbers(a, 27),
        numbers(a, 28),
        numbers(a, 29),
        numbers(a, 30),
    )


def evaluate(data, task, t, y, n, dydt, m):
    return perform(task, t, numba.carray(y, (n,)), numba.carray(dydt, (m,)), unpack(data))


COMPILED = CFunction(evaluate, C_SIGNATURE)


class Mechanism:
    """A system behind a C pointer: `address` of the function and `data` to hand it; keeps the arrays alive."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._table = np.array([[array.ctypes.data, array.size] for array in system], np.int64)
        self.data = int(self._table.ctypes.data)
        if numba.config.DISABLE_JIT:
            self._callback = C_TYPE(self._call)
            self.address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
        else:
            self.address = COMPILED.address
        self._function = C_TYPE(self.address)

    def _call(self, data: int, task: int, t: float, y: int, n: int, dydt: int, m: int) -> int:
        return int(perform(task, t, view(y, n), view(dydt, m), self.system))

    def __call__(self, task: int, t: float, y: np.ndarray, dydt: np.ndarray) -> int:
        """Do a task on two contiguous float64 arrays; returns a status."""
        return int(self._function(self.data, task, t, y.ctypes.data, y.size, dydt.ctypes.data, dydt.size))
