"""What closed chains take beside their tree, as a C function of its own, so that trees without loops do not compile it."""

import numpy as np

from ..jit import CFunction, njit
from ..pointer import C_SIGNATURE, viewer
from ..tables import table_at
from .ask_loops import CLOSE, FACTOR, FACTOR_ANEW
from .loops import factor_loops, solve_loops
from .project import project
from .tables import Reduced

_floats = viewer(np.float64)


@njit
def perform(task, t, z, unused, reduced):
    """One of the tasks of `ask_loops`; returns a status."""
    if task in (FACTOR, FACTOR_ANEW):
        return factor_loops(task == FACTOR_ANEW, reduced)
    if task == CLOSE:
        return project(t, z, reduced)
    solve_loops(reduced.system.multipliers, reduced)
    return 0


def evaluate(data, task, t, z, n, unused, m):
    return perform(task, t, _floats(z, n), _floats(unused, m), table_at(Reduced, data))


COMPILED = CFunction(evaluate, C_SIGNATURE)
