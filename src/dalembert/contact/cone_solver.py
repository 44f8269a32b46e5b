"""The converging solver of contact with Coulomb friction: interior point, then the method of multipliers with Newton.

Solves a `cone_problem.ConeProblem` with the exact cone and non-penetration in the form of De Saxcé and Feng (1998).

1. From a warm start that is nearly right: the method of multipliers, which needs few steps if little has changed.
2. From one that is not, where there are many contacts: a primal–dual interior point method from a point beside it, to a
   residual at which most contacts are known to stick, slide or open; then the method of multipliers.
3. Without one, or where that fails: the same from a point far inside the cones.
4. If step 3 fails: the same from points further inside, and sweeps.

It ends early where the impulses show that bodies are jammed (`jamming`): then there is no solution.
"""

import numpy as np

from ..core.c_function import C_SIGNATURE
from ..core.jit import CFunction, njit
from ..core.tables import TableFunction, table_at
from ..linalg.supernodal_analysis import grown
from .cone_interior_point import AROUND, FAR, HALF, run_interior, start_inside, start_near
from .cone_iterate import load_best, needs_impulses, prepare, store_best
from .cone_multipliers import SWEEPS, run_multipliers, sweep_contacts
from .cone_problem import NEED_MORE, NOT_CONVERGED, NOT_FINITE, SOLVED, ConeProblem, evaluate, measure, plan_matrix
from .jamming import is_jammed

# Multipliers go on from a warm start if its residual is at most CLOSE times the typical speed and, where there are more than
# FEW contacts, at most ALMOST times the tolerance; the interior point, where there are as many, if it is at most that speed.
# FIRST_LOOK, WARM: factorizations of the former to half of the residual, and all
CLOSE, FEW, ALMOST, FIRST_LOOK, WARM = 0.1, 100, 30.0, 5, 12
# Residual over the typical speed at which the interior point ends, at the first two starts and, of that, at the others; and
# NEAR the tolerance
HANDOVER, LATER, NEAR = 1e-5, 1e-3, 10.0
LATEST = 1e-6  # the same from a warm start
MULTIPLIERS, STARTS = 80, 4  # most factorizations after it, and starts
INSIDE, FURTHER = 3.0, 10.0  # how far inside the cones a start is, and how much further every other one
BESIDE, LEAST = 30.0, 3000.0  # how far a start is from impulses, in their residual, and at least in the tolerance
# Steps of the interior point without progress, where it adapts De Saxcé's term, and from a warm start that is jammed
PATIENCE, PATIENT, JAMMED = 15, 25, 5


@njit
def run_warm(problem):
    """The method of multipliers from a warm start, as long as that converges."""
    step = problem.step[0]
    before = step.residual
    if before <= CLOSE * step.speed and (step.contacts <= FEW or before <= ALMOST * step.tolerance):
        run_multipliers(problem, FIRST_LOOK)
        if step.residual <= HALF * before:
            run_multipliers(problem, WARM - FIRST_LOOK)


@njit
def run_near(jammed, problem):
    """The interior point from a start beside a warm one, then multipliers. `jammed`: as the warm start is."""
    step = problem.step[0]
    if step.contacts > FEW and step.tolerance < step.residual <= step.speed:
        mean = start_near(problem, max(BESIDE * step.residual, LEAST * step.tolerance))
        handover = max(LATEST * step.speed, step.tolerance)
        run_interior(problem, mean, AROUND, handover, True, JAMMED if jammed else PATIENT)
        load_best(problem)
        run_multipliers(problem, MULTIPLIERS)


@njit
def run(problem):
    """From the warm start if there is one; else, and where that fails, from starts of the interior point, until bodies are
    found to be jammed."""
    step = problem.step[0]
    if not needs_impulses(problem):
        return
    jammed = False
    if step.warm != 0:
        store_best(problem, evaluate(problem))
        run_warm(problem)
        jammed = step.iterations > 0 and is_jammed(problem)
        run_near(jammed, problem)
        jammed = jammed or (step.iterations > 0 and is_jammed(problem))
    for start in range(STARTS):
        if step.residual <= step.tolerance or step.iterations >= step.max_iterations:
            break
        if start == 1 and is_jammed(problem):
            break
        if start > 1:
            sweep_contacts(SWEEPS, problem)
            run_multipliers(problem, MULTIPLIERS)
        if step.residual > step.tolerance:
            run_start(start, jammed, problem)


@njit
def run_start(start, jammed, problem):
    """The interior point, then multipliers. Starts differ in how far they are inside the cones and in whether De Saxcé's term
    is adapted, so that one of their paths may go on where another ends. `jammed`: whether the warm start was."""
    step = problem.step[0]
    adapts = start in (0, 3)
    factor = INSIDE if start % 2 == 0 else INSIDE * FURTHER
    handover = HANDOVER * step.speed if start < 2 else LATER * HANDOVER * step.speed
    patience = JAMMED if jammed else PATIENT if adapts else PATIENCE
    run_interior(problem, start_inside(problem, factor), FAR, max(handover, NEAR * step.tolerance), adapts, patience)
    if start == 0:  # later ones go on from where they are: from the best, multipliers have failed before
        load_best(problem)
    run_multipliers(problem, MULTIPLIERS)


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
