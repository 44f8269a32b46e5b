"""The solvers of contact, by name. A file adds one with `SOLVERS.add`, and is listed in `contact.SOLVER_FILES`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..jit import CFunction
from ..registry import Registry


def no_workspace(mechanism: Any, settings: Any, bounds: Any) -> tuple[()]:
    """The workspace of a solver that needs none."""
    return ()


def same_workspace(workspace: Any, contacts: Any) -> Any:
    """A workspace whose size does not depend on the contacts."""
    return workspace


class ContactSolver(NamedTuple):
    """A solver of the impulses of a step, and its defaults.

    help : what it does, in a few words. iterations : most passes in a step. tolerance : at which it stops; unit : of that,
    "m/s" or "relative". slop : overlap that is left alone, in sizes of the smallest thing that touches.
    compiled : its C function, see `solve.tables_of_step`; None for what is part of the step. perform : the same in Python,
    (task, walls, system, collision, stepping, workspace) → status. Its tasks are SOLVE_IMPULSES and, if it `separates`,
    SOLVE_DISPLACEMENTS of what `separate` leaves in overlap.
    make_workspace : (mechanism, settings, bounds) → tuple of arrays that only the solver knows; fit_workspace :
    (workspace, contacts) → the same with room for as many contacts as that table has.
    """

    help: str
    iterations: int
    tolerance: float
    unit: str
    slop: float
    compiled: CFunction | None = None
    perform: Callable[..., int] | None = None
    separates: bool = False
    make_workspace: Callable[[Any, Any, Any], Any] = no_workspace
    fit_workspace: Callable[[Any, Any], Any] = same_workspace


SOLVERS: Registry[ContactSolver] = Registry("solver", "dalembert.contact", "SOLVER_FILES")
DEFAULT = "gauss_seidel"
# It is part of the step: see `relax`.
SOLVERS.add(DEFAULT, ContactSolver("real time: Gauss–Seidel with warm start", 20, 1e-6, "m/s", 1e-5))
