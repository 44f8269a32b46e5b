"""The solvers of contact, by name."""

from __future__ import annotations

from typing import NamedTuple

from ..jit import CFunction
from .converging import COMPILED as CONVERGING


class ContactSolver(NamedTuple):
    """A solver of the impulses of a step, and its defaults.

    help : what it does, in a few words. iterations : most passes in a step. tolerance : at which it stops; unit : of that,
    "m/s" or "relative". slop : overlap that is left alone, in sizes of the smallest thing that touches.
    compiled : its C function; None for what is part of the step.
    """

    help: str
    iterations: int
    tolerance: float
    unit: str
    slop: float
    compiled: CFunction | None = None


DEFAULT = "gauss_seidel"
SOLVERS: dict[str, ContactSolver] = {
    DEFAULT: ContactSolver("real time: sweeps over the contacts, as exact as asked", 20, 1e-6, "m/s", 1e-5),
    "interior_point": ContactSolver("converges: all contacts at once", 1000, 1e-10, "relative", 0.0, CONVERGING),
}
