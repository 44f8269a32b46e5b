"""Laws between particles, from Python: one evaluation at a time."""

from typing import Any

import numba
import numpy as np

from ..addresses import address_table
from ..jit import kernel
from .forces import add_diagonal, interact
from .laws import curvature
from .tables import Interactions


def handed(tables: Interactions) -> Any:
    """What kernels take for tables, which must outlive it."""
    return tables if numba.config.DISABLE_JIT else address_table(tables)  # type: ignore[attr-defined]


@kernel
def evaluate(t, x, v, f, power, tables):
    """See `forces.interact`."""
    return interact(t, x, v, f, power, tables)


@kernel
def evaluate_diagonal(t, x, weight, values, slots, tables):
    """See `forces.add_diagonal`."""
    return add_diagonal(t, x, weight, values, slots, tables)


@kernel
def curvature_at(laws, k, r, weight):
    """See `laws.curvature`."""
    return curvature(laws[k], r, weight)


def forces(
    tables: Interactions, x: np.ndarray, v: np.ndarray | None = None, t: float = 0.0
) -> tuple[float, np.ndarray, int]:
    """(potential energy (J), forces (3 N,) in N, status) of particles at x (3 N,) in m with velocities v (zero)."""
    x = np.ascontiguousarray(x, float).ravel()
    v = np.zeros_like(x) if v is None else np.ascontiguousarray(v, float).ravel()
    f, power = np.zeros_like(x), np.zeros(1 + int(max(tables.laws.ledger, default=0)))
    energy, status = evaluate(t, x, v, f, power, handed(tables))
    return energy, f, status
