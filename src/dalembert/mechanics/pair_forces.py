"""Laws between all particles as a C function; see `on_particles`."""

import numpy as np

from ..arrays import clear
from ..interact.forces import add_diagonal, interact
from ..jit import CFunction, njit
from ..model.tables import System
from ..pointer import C_SIGNATURE, PARTICLE_ENERGY, PARTICLE_FORCES, PARTICLE_MATRIX, part_of, viewer
from ..tables import table_at

_floats = viewer(np.float64)


@njit
def perform(task, t, given, found, system):
    """One of the tasks of `on_particles`; returns a status."""
    n = 3 * system.settings[0].particles
    if task == PARTICLE_MATRIX:
        return add_diagonal(t, part_of(given, 0, n), 1.0, found, system.diagonal_slots, system.interactions)
    if task == PARTICLE_ENERGY:
        clear(found)
    x, v, f = given, part_of(found, 0, n), part_of(found, n, n)
    if task == PARTICLE_FORCES:
        x, v, f = part_of(given, 0, n), part_of(given, n, n), part_of(found, 0, n)
    energy, status = interact(t, x, v, f, system.power, system.interactions)
    system.energies[2] += energy
    return status


def evaluate(data, task, t, given, n, found, m):
    return perform(task, t, _floats(given, n), _floats(found, m), table_at(System, data))


COMPILED = CFunction(evaluate, C_SIGNATURE)
