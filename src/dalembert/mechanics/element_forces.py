"""Forces of elements between particles (springs, cloth, tetrahedra …) as a C function; see `on_particles`."""

import numpy as np

from ..addresses import part_of
from ..energies.elements import add_forces, add_matrix, total_energy
from ..jit import CFunction, njit
from ..model.tables import System
from ..pointer import C_SIGNATURE, PARTICLE_ENERGY, PARTICLE_FORCES, PARTICLE_MATRIX, viewer
from ..tables import table_at
from .system import elements_of, energies_of, power_of, settings_of

_floats = viewer(np.float64)


@njit
def perform(task, t, given, found, system):
    """One of the tasks of `on_particles`; returns a status."""
    elements, energies, settings = elements_of(system), energies_of(system), settings_of(system)[0]
    n = 3 * settings.particles
    if task == PARTICLE_MATRIX:
        add_matrix(part_of(given, 0, n), part_of(given, 3 * n, n), 1.0, settings.rate, found, elements)
    elif task == PARTICLE_ENERGY:
        energies[2] += total_energy(given, elements)
    else:
        x, near, v, f, g = given, given, part_of(found, 0, n), part_of(found, n, n), part_of(found, n, n)
        if task == PARTICLE_FORCES:
            x, near, v, f = part_of(given, 0, n), part_of(given, 3 * n, n), part_of(given, n, n), part_of(found, 0, n)
        energies[2] += add_forces(x, near, v, f, g, power_of(system), elements)
    return 0


def evaluate(data, task, t, given, n, found, m):
    return perform(task, t, _floats(given, n), _floats(found, m), table_at(System, data))


COMPILED = CFunction(evaluate, C_SIGNATURE)
