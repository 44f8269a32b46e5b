"""The mechanism as one C function, so that all of mechanics is compiled once, whatever integrates it.

The function is handed the address of a table of addresses and lengths, one pair an array of `System`; see `system`.
Without compilation (NUMBA_DISABLE_JIT=1) the same tasks are called back in plain Python.
"""

import numpy as np

from ..jit import CFunction, njit
from ..model.tables import System
from ..pointer import (
    C_SIGNATURE,
    CARRY,
    COMPLETE_EVALUATED,
    CONSTRAIN,
    DERIVATIVE,
    DRIFT,
    FACTORIZE,
    FORCES,
    MEASURE,
    MERGE,
    PARTICLE_FORCES,
    PARTICLE_MATRIX,
    PLACE,
    POTENTIAL,
    POWERS,
    RECORD,
    WRITE,
    viewer,
)
from ..tables import table_at
from .assembly import factorize
from .constraints import constrain
from .drift import drift
from .dynamics import SINGULAR, derivative, exert_at, prepare, write_derivative
from .forces import find_powers, potential_energy
from .measure import measure, record
from .on_particles import ask_all
from .particles import drift_particles, split_forces
from .projection import complete
from .spin import carry, merge_spins

_floats = viewer(np.float64)


@njit
def perform(task, t, y, dydt, system):
    """Do one of the tasks of `pointer`; returns a status."""
    if task == DERIVATIVE:
        return derivative(t, y, dydt, system)
    if task == DRIFT:
        h = dydt[0]
        drift(h, y, system.settings[0].rigid, system.bodies)
        drift_particles(h, y, system)
        return 0
    if task == CONSTRAIN:
        return constrain(y, dydt, system)
    if task == PARTICLE_FORCES:
        return split_forces(t, y, dydt, system)
    if task == PARTICLE_MATRIX:
        return ask_all(task, t, y, dydt, system)
    if task == FORCES:
        return exert_at(t, y, dydt, system)
    if task == CARRY:
        carry(y, dydt, system)
        return 0
    if task == MERGE:
        merge_spins(y, system)
        return 0
    if task == WRITE:
        write_derivative(y, dydt, system)
        return 0
    if task == RECORD:
        record(t, y, dydt, system)
        return 0
    if task == MEASURE:
        return measure(t, y, dydt, system)
    if task == POWERS:
        find_powers(y, system)
        return 0
    if task == POTENTIAL:
        potential_energy(y, system)
        return 0
    if task == PLACE:
        return prepare(t, y, system)
    if task == FACTORIZE:
        return 0 if factorize(system) == 0 else SINGULAR
    return complete(t, y, dydt, task == COMPLETE_EVALUATED, system)


def evaluate(data, task, t, y, n, dydt, m):
    return perform(task, t, _floats(y, n), _floats(dydt, m), table_at(System, data))


COMPILED = CFunction(evaluate, C_SIGNATURE)
