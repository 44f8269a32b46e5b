"""Forces of elements between particles (springs, cloth, tetrahedra …) as a C function; see `on_particles`."""

import numpy as np

from ..energies.elements import add_forces, add_matrix, total_energy
from ..jit import CFunction, njit
from ..model.tables import System
from ..pointer import C_SIGNATURE, PARTICLE_ENERGY, PARTICLE_FORCES, PARTICLE_MATRIX, part_of, viewer
from ..tables import table_at

_floats = viewer(np.float64)


@njit
def perform(task, t, given, found, system):
    """One of the tasks of `on_particles`; returns a status."""
    elements = system.elements
    n = 3 * system.settings[0].particles
    if task == PARTICLE_MATRIX:
        add_matrix(part_of(given, 0, n), part_of(given, 3 * n, n), 1.0, system.settings[0].rate, found, elements)
    elif task == PARTICLE_ENERGY:
        system.energies[2] += total_energy(given, elements)
    else:
        x, near, v, f, g = given, given, part_of(found, 0, n), part_of(found, n, n), part_of(found, n, n)
        if task == PARTICLE_FORCES:
            x, near, v, f = part_of(given, 0, n), part_of(given, 3 * n, n), part_of(given, n, n), part_of(found, 0, n)
        system.energies[2] += add_forces(x, near, v, f, g, system.power, elements)
    return 0


def evaluate(data, task, t, given, n, found, m):
    return perform(task, t, _floats(given, n), _floats(found, m), table_at(System, data))


COMPILED = CFunction(evaluate, C_SIGNATURE)
