"""What few scenes need of mechanics, as a C function of its own, so that the others do not compile it: parts of joints that
depend on curves, couplings or functions of the user's (`special_rows`), forces but fields (`body_forces`), and bodies of many
joints (`assembly.assemble_hubs`). It is handed the tables of the system.
"""

from typing import Any

import numpy as np

from ..jit import CFunction, njit
from ..model.tables import BOUNDED, COUPLING, CURVE, CUSTOM, FIELD, PARAMETER, SOFT, System
from ..pointer import C_SIGNATURE, viewer
from ..tables import table_at
from .ask_special import ENERGY, FORCES, POWERS, RATES, ROWS
from .assembly import assemble_hubs
from .body_forces import add_powers, all_energy, exert_all
from .special_rows import fill_parameter_rates, fill_special_rows

_floats = viewer(np.float64)


def has_special_rows(parts: Any, coordinates: Any) -> bool:
    """Whether there are such parts among these tables, or coordinates of curves."""
    return bool(
        np.isin(parts["kind"], (CURVE, COUPLING, SOFT, CUSTOM)).any() or (coordinates["kind"] == PARAMETER).any()
    )


def has_special_forces(forces: Any) -> bool:
    """Whether something but fields is applied to bodies. An idle row may become any force, in the course of a session."""
    other = (forces["kind"] != FIELD) | (forces["active"] == 0)
    return bool((other & (forces["kind"] < BOUNDED)).any())


@njit
def perform(task, t, y, found, system):
    """Do one of the tasks of `ask_special`; returns a status."""
    if task == ROWS:
        return fill_special_rows(t, y, system)
    if task == FORCES:
        return exert_all(t, y, system)
    if task == POWERS:
        add_powers(y, system)
    elif task == ENERGY:
        system.energies[1] = all_energy(y, system)
    elif task == RATES:
        fill_parameter_rates(y, found, system)
    else:
        assemble_hubs(system)
    return 0


def evaluate(data, task, t, y, n, found, m):
    return perform(task, t, _floats(y, n), _floats(found, m), table_at(System, data))


COMPILED = CFunction(evaluate, C_SIGNATURE)
