"""A mechanism with contact as a C function: what is integrated, and what is watched meanwhile; see `pointer`.

It does the tasks of the mechanism with the forces of contact in them, and RESPOND; EVENT is what is watched. It is handed the
address of the addresses of three tables: of the system, of contact and of collision detection.
"""

import numpy as np

from ..collide.tables import Collision
from ..jit import CFunction, njit
from ..model.tables import System
from ..pointer import (
    C_SIGNATURE,
    COMPLETE,
    COMPLETE_EVALUATED,
    DERIVATIVE,
    EVENT,
    call_pointer,
    viewer,
)
from ..tables import table_at
from .forces import contact_forces
from .geometry import place_touches
from .hold import complete
from .response import free_accelerations, respond
from .tables import RESPOND, Touching
from .watch import watch

_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def perform(task, t, y, dydt, system, touching, collision):
    """Do one of the tasks; returns a status."""
    if task == EVENT:
        return watch(t, y, dydt, system, collision, touching)
    options = touching.options[0]
    if task in (COMPLETE, COMPLETE_EVALUATED):
        return complete(t, y, dydt, system, touching)
    inner = DERIVATIVE if task == RESPOND else task
    status = call_pointer(options.mechanism, options.mechanism_data, inner, t, y, dydt)
    if status != 0:
        return status
    if task == DERIVATIVE:
        return contact_forces(y, dydt, system, touching)
    if task == RESPOND:
        place_touches(options.touches, system, touching)
        respond(options.touches, system, touching)
        free_accelerations(options.touches, y, dydt, system, touching)
    return 0


def evaluate(data, task, t, y, n, dydt, m):
    at = _addresses(data, 3)
    system, touching, collision = table_at(System, at[0]), table_at(Touching, at[1]), table_at(Collision, at[2])
    return perform(task, t, _floats(y, n), _floats(dydt, m), system, touching, collision)


COMPILED = CFunction(evaluate, C_SIGNATURE)
