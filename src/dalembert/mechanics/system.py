"""The tables of a `System` inside compiled code, where it is one array of addresses and lengths, a pair a field.

A function asks for what it needs at its head: `kinematics = kinematics_of(system)`. Handing the tuple of arrays itself
from function to function would copy hundreds of numbers at every call. Without compilation `system` is that tuple.
"""

from typing import Any

import numba
import numpy as np

from ..jit import njit
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
from ..pointer import as_pointer


def _table(name: str, dtype: Any = np.float64) -> Any:
    """The function that finds one field of the system."""
    if numba.config.DISABLE_JIT:
        return lambda system: getattr(system, name)
    at = 2 * System._fields.index(name)

    @njit
    def of(system):
        return numba.carray(as_pointer(system[at]), (system[at + 1],), dtype)

    return of


bodies_of = _table("bodies", BODY)
parts_of = _table("parts", PART)
joints_of = _table("joints", JOINT)
incidences_of = _table("incidences", INCIDENCE)
pairs_of = _table("pairs", PAIR)
hubs_of = _table("hubs", HUB)
coordinates_of = _table("coordinates", COORDINATE)
forces_of = _table("forces", FORCE)
reactions_of = _table("reactions", REACTION)
columns_of = _table("columns", COLUMN)
entries_of = _table("entries", ENTRY)
updates_of = _table("updates", UPDATE)
settings_of = _table("settings", SETTINGS)
kinematics_of = _table("kinematics", KINEMATICS)
curves_of = _table("curves")
jacobian_of = _table("jacobian")
weighted_of = _table("weighted")
error_of = _table("error")
bias_of = _table("bias")
scale_of = _table("scale")
values_of = _table("values")
lower_of = _table("lower")
rhs_of = _table("rhs")
multipliers_of = _table("multipliers")
residual_of = _table("residual")
scratch_of = _table("scratch")
power_of = _table("power")
energies_of = _table("energies")
rates_of = _table("rates")
wrenches_of = _table("wrenches")
ticks_of = _table("ticks")
