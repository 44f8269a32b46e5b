"""The mechanism as one C function, so that all of mechanics is compiled once, whatever integrates it.

The function is handed the address of a table of addresses and lengths, one pair an array of `System`; see `system`.
Without compilation (NUMBA_DISABLE_JIT=1) the same tasks are called back in plain Python.
"""

import ctypes

import numba
import numpy as np

from ..addresses import address_table
from ..jit import CFunction, njit
from ..model.tables import System
from ..pointer import (
    C_SIGNATURE,
    C_TYPE,
    COMPLETE_EVALUATED,
    CONSTRAIN,
    DERIVATIVE,
    DRIFT,
    FORCES,
    MEASURE,
    PARTICLE_FORCES,
    PARTICLE_MATRIX,
    RECORD,
    WRITE,
    view,
    viewer,
)
from .constraints import constrain
from .drift import drift
from .dynamics import derivative, exert_at, write_derivative
from .measure import measure, record
from .particles import add_matrix_of, drift_particles, split_forces
from .projection import complete
from .system import bodies_of, settings_of

FIELDS = 2 * len(System._fields)
_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def perform(task, t, y, dydt, system):
    """Do one of the tasks of `pointer`; returns a status."""
    if task == DERIVATIVE:
        return derivative(t, y, dydt, system)
    if task == DRIFT:
        h = dydt[0]
        drift(h, y, settings_of(system)[0].rigid, bodies_of(system))
        drift_particles(h, y, system)
        return 0
    if task == CONSTRAIN:
        return constrain(y, dydt, system)
    if task == PARTICLE_FORCES:
        return split_forces(t, y, dydt, system)
    if task == PARTICLE_MATRIX:
        return add_matrix_of(t, y, dydt, system)
    if task == FORCES:
        return exert_at(t, y, dydt, system)
    if task == WRITE:
        write_derivative(y, dydt, system)
        return 0
    if task == RECORD:
        record(t, y, dydt, system)
        return 0
    if task == MEASURE:
        return measure(t, y, dydt, system)
    return complete(t, y, dydt, task == COMPLETE_EVALUATED, system)


def evaluate(data, task, t, y, n, dydt, m):
    return perform(task, t, _floats(y, n), _floats(dydt, m), _addresses(data, FIELDS))


COMPILED = CFunction(evaluate, C_SIGNATURE)


class Mechanism:
    """A system behind a C pointer: `address` of the function and `data` to hand it; keeps the arrays alive."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._table = address_table(system)
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
