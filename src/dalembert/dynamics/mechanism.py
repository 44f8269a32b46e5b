"""The mechanism as one C function, so that all of mechanics is compiled once, whatever integrates it.

The function is handed the address of a table of addresses and lengths, one pair an array of `System`; see `system`.
Without compilation (NUMBA_DISABLE_JIT=1) the same tasks are called back in plain Python.
"""

from collections.abc import Mapping, Sized
from typing import Any

import numpy as np

from ..core.c_function import (
    C_SIGNATURE,
    CARRY,
    COMPLETE_EVALUATED,
    CONSTRAIN,
    DERIVATIVE,
    DRIFT,
    FACTORIZE,
    FORCES,
    KINEMATICS,
    MEASURE,
    MERGE,
    PARTICLE_FORCES,
    PARTICLE_MATRIX,
    POTENTIAL,
    POWERS,
    RECORD,
    WRITE,
    viewer,
)
from ..core.jit import DISABLED, CFunction, njit
from ..core.tables import TableFunction, table_at
from ..model.tables import COUPLING, CURVE, CUSTOM, FIELD, LIMITED, PARAMETER, SOFT, System
from . import particle_forces as element_forces
from . import particle_forces as fields
from . import particle_forces as pair_forces
from .constraints import assemble_hubs, constrain, factorize
from .dynamics import SINGULAR, derivative, exert_at, measure, prepare, record, write_derivative
from .forces import add_powers, all_energy, exert_all, find_powers, potential_energy
from .jacobian import ENERGY, RATES, ROWS, SPECIAL_FORCES, SPECIAL_POWERS, fill_parameter_rates, fill_special_rows
from .kinematics import carry, drift, merge_spins
from .particle_forces import ask_all, drift_particles, split_forces
from .projection import complete

_floats = viewer(np.float64)


@njit
def mechanism_task(task, t, y, dydt, system):
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
    if task == KINEMATICS:
        return prepare(t, y, system)
    if task == FACTORIZE:
        return 0 if factorize(system) == 0 else SINGULAR
    return complete(t, y, dydt, task == COMPLETE_EVALUATED, system)


def mechanism_entry(data, task, t, y, n, dydt, m):
    return mechanism_task(task, t, _floats(y, n), _floats(dydt, m), table_at(System, data))


MECHANISM_ENTRY = CFunction(mechanism_entry, C_SIGNATURE)


# ----------------------------------------------------------------------------------------------------------------------
# What few scenes need of mechanics, as a C function of its own, so that the others do not compile it: parts of joints
# that
# depend on curves, couplings or functions of the user's (`special_rows`), forces but fields (`body_forces`), and
# bodies of many
# joints (`assembly.assemble_hubs`). It is handed the tables of the system.


def has_special_rows(parts: Any, coordinates: Any) -> bool:
    """Whether there are such parts among these tables, or coordinates of curves."""
    return bool(
        np.isin(parts["kind"], (CURVE, COUPLING, SOFT, CUSTOM)).any() or (coordinates["kind"] == PARAMETER).any()
    )


def has_special_forces(forces: Any) -> bool:
    """Whether something but fields is applied to bodies. An idle row may become any force, in the course of a session."""
    other = (forces["kind"] != FIELD) | (forces["active"] == 0)
    return bool((other & (forces["kind"] < LIMITED)).any())


@njit
def special_task(task, t, y, found, system):
    """Do one of the tasks of `ask_special`; returns a status."""
    if task == ROWS:
        return fill_special_rows(t, y, system)
    if task == SPECIAL_FORCES:
        return exert_all(t, y, system)
    if task == SPECIAL_POWERS:
        add_powers(y, system)
    elif task == ENERGY:
        system.energies[1] = all_energy(y, system)
    elif task == RATES:
        fill_parameter_rates(y, found, system)
    else:
        assemble_hubs(system)
    return 0


def special_entry(data, task, t, y, n, found, m):
    return special_task(task, t, _floats(y, n), _floats(found, m), table_at(System, data))


SPECIAL_ENTRY = CFunction(special_entry, C_SIGNATURE)


# ----------------------------------------------------------------------------------------------------------------------
# A system behind the C functions of mechanics, of which it names those that it needs.


ON_PARTICLES: tuple[CFunction, ...] = (fields.FIELDS_ENTRY, element_forces.ELEMENTS_ENTRY, pair_forces.PAIRS_ENTRY)
"""What acts on particles, in the order of `on_particles`."""


def on_particles(fields: Sized, sets: Sized, laws: Sized) -> list[CFunction | None]:
    """Those that are needed for these fields, sets of elements and laws between particles."""
    return [function if len(rows) else None for function, rows in zip(ON_PARTICLES, (fields, sets, laws), strict=True)]


def is_special(tables: Mapping[str, Any], hubs: Sized) -> bool:
    """Whether the tables of a system, or of a model, need `special`."""
    rows = has_special_rows(tables["parts"], tables["coordinates"])
    return len(hubs) > 0 or rows or has_special_forces(tables["forces"])


def _address(function: CFunction) -> int:
    """Of a C function; without compilation any number tells that there is one."""
    return 1 if DISABLED else function.address


class Mechanism(TableFunction):
    """A system behind a C pointer; calling it does a task on two contiguous float64 arrays and returns a status."""

    def __init__(self, system: System) -> None:
        super().__init__(MECHANISM_ENTRY, mechanism_task, system)
        self.system = system
        self._name_functions()

    def _name_functions(self) -> None:
        """Tell the tables where the C functions are that this system needs."""
        system, settings = self.system, self.system.settings
        wanted = on_particles(system.particle_forces, system.elements.sets, system.interactions.laws)
        settings.on_particles = [0 if one is None else _address(one) for one in wanted]
        settings.special_rows = has_special_rows(system.parts, system.coordinates)
        settings.special_forces = has_special_forces(system.forces)
        settings.special = _address(SPECIAL_ENTRY) if is_special(system._asdict(), system.hubs) else 0

    def __call__(self, task: int, t: float, y: np.ndarray, dydt: np.ndarray) -> int:
        return self.call(task, t, y, dydt)
