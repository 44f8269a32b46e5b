"""The tables of a `System` inside compiled code, where it is one array of addresses and lengths, a pair a field.

A function asks for what it needs at its head: `kinematics = kinematics_of(system)`. Handing the tuple of arrays itself
from function to function would copy hundreds of numbers at every call. Without compilation `system` is that tuple.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

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
from ..pointer import array_type, make_view


def _table(name: str, dtype: Any = np.float64) -> Any:
    """The function that finds one field of the system."""
    if numba.config.DISABLE_JIT:
        return lambda system: getattr(system, name)
    at = 2 * System._fields.index(name)
    kind = array_type(dtype)

    @intrinsic
    def of(typing_context, system):
        def generate(context, builder, signature, arguments):
            table = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            address, count = (builder.load(cgutils.gep_inbounds(builder, table, at + k)) for k in range(2))
            return make_view(context, builder, kind, builder.inttoptr(address, ir.IntType(8).as_pointer()), count)

        return kind(system), generate

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
