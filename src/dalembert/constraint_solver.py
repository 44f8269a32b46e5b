"""The iterative solver of the constraint system of a run, J W Jᵀ λ = b, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .linalg.iterative import SOLVERS, IterativeSolver, IterativeSystem
from .linalg.iterative_tables import SINGULAR_BLOCK, ZERO_ROW
from .model.compile import Model
from .model.constraint_pattern import constraint_pattern
from .model.tables import System

DIRECT = "ldl"


@dataclass(frozen=True)
class SolverReport:
    """How an iterative solver did. iterations : for one solution, on average. residual : the largest, relative to b, scaled
    as it was solved. unsolved : solutions in which it stayed above the tolerance."""

    solver: str
    solutions: int
    iterations: float
    residual: float
    unsolved: int

    def __str__(self) -> str:
        return (
            f"{self.solver}: {self.iterations:.3g} iterations each, residual {self.residual:.3g} at worst, above its "
            f"tolerance in {self.unsolved} of {self.solutions} solutions"
        )


def iterative_solver(given: str | IterativeSolver, hold: str, coordinates: str) -> IterativeSolver | None:
    """The iterative solver that was asked for; None is "ldl". Raises ValueError."""
    if given == DIRECT:
        return None
    if not isinstance(given, IterativeSolver) and given not in SOLVERS:
        raise ValueError(
            f"unknown constraint_solver {given!r}; there are {DIRECT!r}, {', '.join(map(repr, SOLVERS))}, or an "
            "IterativeSolver"
        )
    if coordinates != "maximal" or hold == "penalty":
        what = f"coordinates={coordinates!r}" if coordinates != "maximal" else f"hold={hold!r}"
        raise ValueError(f"constraint_solver is {given!r}, and {what} has no such system to solve; leave it out")
    return IterativeSolver(given) if isinstance(given, str) else given


class ConstraintSolver:
    """Stands in the tables of a system in place of its factorization, and counts."""

    def __init__(self, solver: IterativeSolver, model: Model, system: System, strict: bool) -> None:
        pattern = constraint_pattern(model.graph)
        self.solver, self._names = solver, model.joint_names
        self._system = IterativeSystem(*pattern, solver, strict)
        self._blocks = pattern.blocks
        settings = system.settings[0]
        settings.solver, settings.solver_data = self._system.address, self._system.data
        settings.condition = np.nan  # the pivots of a factorization
        self._worst, self._solves, self._iterations = 0.0, 0, 0

    @classmethod
    def of(cls, solver: IterativeSolver | None, model: Model, system: System, strict: bool) -> ConstraintSolver | None:
        """The solver of a model's system; None if that is "ldl", or if there is nothing to solve. Raises ValueError for time
        steps in which forces of joints take part in that system."""
        if solver is None or model.graph.rows == 0:
            return None
        soft = np.flatnonzero(system.forces.implicit)
        if len(soft):
            first = model.force_names[system.forces.ledger[soft[0]]]
            raise ValueError(
                f"constraint_solver is {str(solver)!r}, and time steps solve for motors with gains and springs of joints "
                f"(here {first!r}) together with the joints, by 'ldl' only; leave constraint_solver out"
            )
        return cls(solver, model, system, strict)

    @property
    def last_solution(self) -> np.ndarray:
        """(rows,) what the next solution starts from: a view."""
        return self._system.tables.before

    def frame(self) -> dict[str, Any]:
        """Iterations for one solution, and the largest residual, since this was asked for last."""
        done = self._system.iteration
        solves, iterations = int(done.solves) - self._solves, int(done.all_iterations) - self._iterations
        residual = float(done.worst)
        self._solves, self._iterations = int(done.solves), int(done.all_iterations)
        self._worst, done.worst = max(self._worst, residual), 0.0
        return {"solver_iterations": iterations / max(solves, 1), "solver_residual": residual}

    def report(self) -> SolverReport:
        """All of it so far."""
        done = self._system.iteration
        solutions = int(done.solves)
        return SolverReport(
            str(self.solver), solutions, int(done.all_iterations) / max(solutions, 1), max(self._worst, float(done.worst)),
            int(done.unsolved),
        )  # fmt: skip

    def explain(self) -> str:
        """Why the last solution failed, and at which joint."""
        done, tables = self._system.iteration, self._system.tables
        status, row = int(done.status), int(done.row)
        what = f"relative residual {float(done.residual):.3g} after {int(done.iterations)} iterations, worst at joint"
        if status in (ZERO_ROW, SINGULAR_BLOCK) or row >= 0:
            what = "at joint"
        else:
            row = int(np.argmax(np.where(np.isfinite(tables.r), np.abs(tables.r), np.inf)))
        joint = self._names[int(np.searchsorted(self._blocks, row, side="right")) - 1]
        return (
            f"the constraint system cannot be solved by {self.solver.solver!r}: {self._system.reason}, {what} {joint!r}; "
            "take constraint_solver='ldl', another preconditioner, or a larger tolerance"
        )
