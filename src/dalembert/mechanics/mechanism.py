"""A system behind the C functions of mechanics, of which it names those that it needs."""

from collections.abc import Mapping, Sized
from typing import Any

import numpy as np

from ..jit import DISABLED, CFunction
from ..model.tables import System
from ..table_function import TableFunction
from . import element_forces, evaluate, fields, pair_forces, special

ON_PARTICLES: tuple[CFunction, ...] = (fields.COMPILED, element_forces.COMPILED, pair_forces.COMPILED)
"""What acts on particles, in the order of `on_particles`."""


def on_particles(fields: Sized, sets: Sized, laws: Sized) -> list[CFunction | None]:
    """Those that are needed for these fields, sets of elements and laws between particles."""
    return [function if len(rows) else None for function, rows in zip(ON_PARTICLES, (fields, sets, laws), strict=True)]


def is_special(tables: Mapping[str, Any], hubs: Sized) -> bool:
    """Whether the tables of a system, or of a model, need `special`."""
    rows = special.has_special_rows(tables["parts"], tables["coordinates"])
    return len(hubs) > 0 or rows or special.has_special_forces(tables["forces"])


def _address(function: CFunction) -> int:
    """Of a C function; without compilation any number tells that there is one."""
    return 1 if DISABLED else function.address


class Mechanism(TableFunction):
    """A system behind a C pointer; calling it does a task on two contiguous float64 arrays and returns a status."""

    def __init__(self, system: System) -> None:
        super().__init__(evaluate.COMPILED, evaluate.perform, system)
        self.system = system
        self._name_functions()

    def _name_functions(self) -> None:
        """Tell the tables where the C functions are that this system needs."""
        system, settings = self.system, self.system.settings
        wanted = on_particles(system.particle_forces, system.elements.sets, system.interactions.laws)
        settings.on_particles = [0 if one is None else _address(one) for one in wanted]
        settings.special_rows = special.has_special_rows(system.parts, system.coordinates)
        settings.special_forces = special.has_special_forces(system.forces)
        settings.special = _address(special.COMPILED) if is_special(system._asdict(), system.hubs) else 0

    def __call__(self, task: int, t: float, y: np.ndarray, dydt: np.ndarray) -> int:
        return self.perform(task, t, y, dydt)
