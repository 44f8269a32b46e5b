"""The converging solver of contact with Coulomb friction: interior point, then the method of multipliers with Newton.

Solves a `cone_problem.ConeProblem` with the exact cone and non-penetration in the form of De Saxcé and Feng (1998).

1. With a warm start: the method of multipliers, which needs few steps if little has changed.
2. Without one, or if step 1 ends above the tolerance: a primal–dual interior point method, from a point far inside the
cones, to a residual at which most contacts are known to stick, slide or open; then the method of multipliers.
3. If step 2 fails: sweeps, and step 2 again from points further inside the cones.

It ends early where the impulses show that bodies are jammed (`jamming`): then there is no solution.
"""

import numpy as np

from ..core.c_function import C_SIGNATURE
from ..core.jit import CFunction, njit
from ..core.tables import TableFunction, table_at
from ..linalg.supernodal_analysis import grown
from .cone_interior_point import run_interior
from .cone_iterate import load_best, needs_impulses, prepare, store_best
from .cone_multipliers import run_multipliers, sweep_contacts
from .cone_problem import NEED_MORE, NOT_CONVERGED, NOT_FINITE, SOLVED, ConeProblem, evaluate, measure, plan_matrix
from .jamming import is_jammed

WARM = 12  # factorizations from a warm start
# Residual over the typical speed at which the interior point ends, at the first start and, of that, at each further one; and
# NEAR the tolerance
HANDOVER, LATER, NEAR = 1e-5, 1e-3, 10.0
MULTIPLIERS, STARTS = 80, 4  # most factorizations after it, and starts
INSIDE, FURTHER = 3.0, 10.0  # how far inside the cones the first two starts are, and how much further the next two
# Steps of the interior point without progress, where it adapts De Saxcé's term, and from a warm start that is jammed
PATIENCE, PATIENT, JAMMED = 15, 25, 5


@njit
def run(problem):
    """From the warm start if there is one; else, and where that fails, from starts of the interior point, until bodies are
    found to be jammed."""
    step = problem.step[0]
    if not needs_impulses(problem):
        return
    if step.warm != 0:
        store_best(problem, evaluate(problem))
        run_multipliers(problem, WARM)
    factor, handover = INSIDE, HANDOVER * step.speed
    jammed = step.iterations > 0 and is_jammed(problem)
    for start in range(STARTS):
        if step.residual <= step.tolerance or step.iterations >= step.max_iterations:
            break
        if start > 0:
            if is_jammed(problem):
                break
            sweep_contacts(problem)
            run_multipliers(problem, MULTIPLIERS)
            if step.residual <= step.tolerance:
                break
        adapts = start % 2 == 0
        patience = JAMMED if jammed else PATIENT if adapts else PATIENCE
        run_interior(problem, factor, max(handover, NEAR * step.tolerance), adapts, patience)
        load_best(problem)
        if is_jammed(problem):
            break
        run_multipliers(problem, MULTIPLIERS)
        if not adapts:
            factor *= FURTHER
            handover *= LATER


@njit
def solve_problem(problem):
    """Solve a `ConeProblem`, in place. Returns SOLVED, NOT_CONVERGED (the best iterate is in the outputs), NEED_MORE (nothing
    done: tables of `matrix` are too short) or NOT_FINITE (the input is not, or a mass is not positive)."""
    step = problem.step[0]
    step.iterations = 0
    if plan_matrix(problem) != 0:
        return NEED_MORE
    if not prepare(problem):
        return NOT_FINITE
    run(problem)
    measure(problem)
    return SOLVED if step.residual <= step.tolerance else NOT_CONVERGED


# Its use from Python -----------------------------------------------------------------------------------------------------


def cone_solver_entry(data, task, t, nothing, n, more, m):
    """`solve_problem` of the tables at `data`."""
    return solve_problem(table_at(ConeProblem, data))


def plain_entry(task: int, t: float, nothing: np.ndarray, more: np.ndarray, problem: ConeProblem) -> int:
    """The same without compilation."""
    return int(solve_problem(problem))


CONE_SOLVER_ENTRY = CFunction(cone_solver_entry, C_SIGNATURE)


def solve_tables(problem: ConeProblem) -> tuple[int, ConeProblem]:
    """Solve a problem from Python, with longer tables where those of `matrix` are too short. Returns (a status of
    `cone_problem`, the problem, which holds the solution)."""
    nothing = np.zeros(1)
    while True:
        with np.errstate(all="ignore"):
            status = TableFunction(CONE_SOLVER_ENTRY, plain_entry, problem).call(0, 0.0, nothing, nothing)
        if status != NEED_MORE:
            return status, problem
        problem = problem._replace(matrix=grown(problem.matrix))


def solve(problem: ConeProblem) -> tuple[int, ConeProblem]:
    """The same, SOLVED or NOT_CONVERGED. Raises ValueError where a number of the problem is not finite, or a mass matrix not
    positive definite."""
    status, problem = solve_tables(problem)
    if status == NOT_FINITE:
        raise ValueError(
            "the contact problem holds a number that is not finite, or a mass matrix that is not positive definite; look for "
            "NaN or infinity in speeds, masses, Jacobians, bias and targets"
        )
    return status, problem
