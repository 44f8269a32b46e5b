"""Kinematic bodies in a stage: they move as prescribed, whatever particles do.

Their displacement in a stage at θ h is the share θ of that in a step, so that a particle that keeps to one ends with it:

    implicit    from the pose at t to that at t + h, where the step begins and ends
    explicit    from the pose at t + h/2 to that at t + 3 h/2, as in the bodies' own step (see `dynamics.commands`)

They are no unknowns: `linear` gives them no response. A moving surface, such as a belt, moves along itself; so its
displacement, `surface`, counts in slip alone. The forces of particles act on them in the bodies' own step, where their drives
do the work.
"""

from ..core.jit import inlined, njit
from ..core.math3 import load3, matvec, scale, to_matrix
from ..core.status import OK
from ..dynamics.commands import PLACES, call_commands, rates_between
from ..dynamics.joint_space.kinematics import load_4
from ..linalg.block_matrix import load_3, store_3
from ..model.tables import STATE_SIZE
from .tables import BODY_ROW


@inlined
def is_driven(body, steps):
    """Whether the motion of a body is prescribed, or it is the world."""
    return steps.driven[body] != 0


@njit
def place_driven(t, y, system):
    """The poses of kinematic bodies at a time, into the state y. Returns a status."""
    return call_commands(PLACES, t, y, y, system) if system.commands.shape[0] > 0 else OK


@njit
def drive_bodies(t, y, after, system, steps):
    """Fill `moved`, `wanted` and `surface` of kinematic bodies, whose poses at t (s) are in the state y; `after` is scratch
    of its size. Returns a status."""
    commands, options = system.commands, steps.options[0]
    if commands.shape[0] == 0:
        return OK
    h, share = options.dt, options.fraction * options.dt
    status = call_commands(PLACES, t + h, after, after, system)
    for i in range(commands.shape[0]):
        row = commands[i]
        if status != OK or row.body < 0:
            continue
        at, own = STATE_SIZE * row.body, BODY_ROW * row.body
        x, q = load_3(y, at), load_4(y, at + 3)
        v, omega = rates_between(x, q, load_3(after, at), load_4(after, at + 3), h)
        store_3(steps.wanted, own, scale(share, v))
        store_3(steps.wanted, own + 3, scale(share, omega))
        store_3(steps.moved, own, scale(share, v))
        store_3(steps.moved, own + 3, scale(share, omega))
        rotation = to_matrix(q)
        store_3(steps.surface, own, scale(share, matvec(rotation, load3(row.surface_v))))
        store_3(steps.surface, own + 3, scale(share, matvec(rotation, load3(row.surface_omega))))
    return status
