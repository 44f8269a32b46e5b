"""The converging solver as a C function: of one `Problem`, from Python; or of the impulses, or a displacement, of a step,
which is handed over by the addresses that `step` has of everything."""

import numpy as np

from ..addresses import address_table
from ..collide.tables import Collision
from ..jit import DISABLED, CFunction, njit
from ..model.tables import System
from ..pointer import C_SIGNATURE, C_TYPE, viewer
from ..tables import table_at
from .converge import converge, converge_displacement
from .interior_point import solve_system
from .interior_point_tables import NEED_MORE, NOT_FINITE, Problem
from .solve import WALLS
from .tables import CONVERGE, Stepping

ALONE = 0
_addresses = viewer(np.int64)


@njit
def perform(task, system, collision, stepping, problem):
    """CONVERGE or CONVERGE_DISPLACEMENT; returns a status."""
    if task == CONVERGE:
        return converge(system, collision, stepping, problem)
    return converge_displacement(system, collision, stepping, problem)


def evaluate(data, task, t, nothing, n, more, m):
    if task == ALONE:
        return solve_system(table_at(Problem, data))
    at = _addresses(data, WALLS + 4)
    return perform(
        task, table_at(System, at[WALLS]), table_at(Collision, at[WALLS + 1]), table_at(Stepping, at[WALLS + 2]),
        table_at(Problem, at[WALLS + 3]),
    )  # fmt: skip


COMPILED = CFunction(evaluate, C_SIGNATURE)


def solve(problem: Problem) -> tuple[int, Problem]:
    """Solve one time step from Python; the envelope is lengthened as needed. Returns (status, problem): `velocity`, the
    contacts' `impulse` and `multiplier` hold the solution, `step[0]` the residuals.

    Raises ValueError where a mass, velocity, contact or joint row is not finite.
    """
    status = _solve(problem)
    if status == NEED_MORE:
        needed = int(problem.step[0]["envelope_needed"])
        problem = problem._replace(envelope=np.zeros(needed + needed // 4))
        status = _solve(problem)
    if status == NOT_FINITE:
        raise ValueError(
            "the contact problem holds a number that is not finite; look for NaN or infinity in velocities, masses, arms, "
            "bias and joint rows"
        )
    return status, problem


def _solve(problem: Problem) -> int:
    if DISABLED:
        return int(solve_system(problem))
    table = address_table(problem)
    return int(C_TYPE(COMPILED.address)(table.ctypes.data, 0, 0.0, 0, 0, 0, 0))
