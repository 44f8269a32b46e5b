"""The converging solver: as a solver of contact, and as a C function of one `Problem` from Python."""

from typing import Any

import numpy as np

from ..jit import DISABLED, CFunction, njit
from ..pointer import C_SIGNATURE, C_TYPE, viewer
from ..tables import address_table, allocate, grow, table_at
from .converge import converge, converge_displacement
from .interior_point import solve_system
from .interior_point_tables import GROUP, NEED_MORE, NOT_FINITE, STEP, Problem
from .solve import tables_of_step
from .solvers import SOLVERS, ContactSolver
from .tables import SOLVE_IMPULSES

ALONE = 0
_addresses = viewer(np.int64)


@njit
def perform(task, walls, system, collision, stepping, problem):
    """SOLVE_IMPULSES or SOLVE_DISPLACEMENTS; returns a status."""
    if task == SOLVE_IMPULSES:
        return converge(system, collision, stepping, problem)
    return converge_displacement(system, collision, stepping, problem)


def evaluate(data, task, t, nothing, n, more, m):
    if task == ALONE:
        return solve_system(table_at(Problem, data))
    walls, system, collision, stepping, workspace = tables_of_step(data)
    return perform(task, walls, system, collision, stepping, table_at(Problem, workspace))


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


def make_problem(mechanism: Any, settings: Any, bounds: Any) -> Problem:
    """The problem of a run's steps, with no room for contacts yet."""
    system = mechanism.system
    bodies, rows, world = len(system.bodies), len(system.error) + len(bounds), len(system.bodies)
    step = np.zeros(1, STEP).view(np.recarray)
    step.max_iterations, step.tolerance = settings.iterations, settings.tolerance
    joints = len(system.joints)
    groups = np.zeros(joints + len(bounds), GROUP).view(np.recarray)
    for group, joint in zip(groups[:joints], system.joints, strict=True):
        held = sorted(set(system.incidences.body[joint.first : joint.last].tolist()))
        group.a, group.b = held[0], held[1] if len(held) > 1 else world
    groups.a[joints:], groups.b[joints:] = bounds.a, bounds.b
    sizes = {"n": bodies, "rows": rows, "contacts": 0, "groups": len(groups), "entries": 0}
    return allocate(
        Problem, sizes, step=step, mass=np.array(system.bodies.mass), inverse_mass=np.array(system.bodies.inverse_mass),
        groups=groups,
    )  # fmt: skip


def fit_problem(problem: Problem, contacts: Any) -> Problem:
    """The same with these contacts, and as long an envelope as was found to be needed."""
    needed = int(problem.step[0].envelope_needed)
    if needed > len(problem.envelope):
        problem = problem._replace(envelope=np.zeros(needed + needed // 2))
    if len(problem.cones) < len(contacts):
        known = {"n": len(problem.mass), "groups": len(problem.groups)}
        problem = grow(problem, known, contacts=len(contacts))
    return problem._replace(contacts=contacts)


SOLVERS.add(
    "interior_point",
    ContactSolver(
        "converges: all contacts and joints together, by Newton's method", 1000, 1e-10, "relative", 0.0, COMPILED, perform,
        separates=True, make_workspace=make_problem, fit_workspace=fit_problem,
    ),
)  # fmt: skip
