"""The solvers of contact by name: what each takes where the user gives nothing, and what it compiles beside the step."""

from __future__ import annotations

from typing import NamedTuple

from ..jit import CFunction
from .converging import COMPILED as CONVERGING


class Solver(NamedTuple):
    """iterations : most of them in a step. tolerance : in `unit`. slop : overlap that is left alone, in sizes of the smallest
    thing that touches. compiled : kernels beside that of the step."""

    iterations: int
    tolerance: float
    unit: str
    slop: float
    compiled: tuple[CFunction, ...] = ()


SOLVERS: dict[str, Solver] = {
    "gauss_seidel": Solver(20, 1e-6, "m/s", 1e-5),
    "interior_point": Solver(1000, 1e-10, "relative", 0.0, (CONVERGING,)),
}
ALIASES = {"converging": "interior_point"}
