"""Laws between particles, from Python: one evaluation at a time."""

from typing import Any

import numpy as np

from ..kernel import array, kernel, out
from .forces import add_diagonal, interact
from .laws import curvature
from .tables import LAW, Interactions


@kernel
def _interact(t: float, x: array(), v: array(), f: out(), power: out(), energy: out(), tables: Interactions) -> int:
    energy[0], status = interact(t, x, v, f, power, tables)
    return status


@kernel
def evaluate_diagonal(
    t: float, x: array(), weight: float, values: out(), slots: array(1, np.int64), tables: Interactions
) -> int:
    """See `forces.add_diagonal`."""
    return add_diagonal(t, x, weight, values, slots, tables)


@kernel
def _curvature(laws: array(1, LAW), k: int, r: float, weight: float, found: out()) -> None:
    found[0], found[1], found[2] = curvature(laws[k], r, weight)


def evaluate(
    t: float, x: np.ndarray, v: np.ndarray, f: np.ndarray, power: np.ndarray, tables: Any
) -> tuple[float, int]:
    """See `forces.interact`; tables: `Interactions`, or what `addresses.handed` makes of them."""
    energy = np.zeros(1)
    status = _interact(t, x, v, f, power, energy, tables)
    return float(energy[0]), status


def curvature_at(laws: np.ndarray, k: int, r: float, weight: float) -> np.ndarray:
    """(3,) what `laws.curvature` returns of the k-th law."""
    found = np.zeros(3)
    _curvature(laws, k, r, weight, found)
    return found


def forces(
    tables: Interactions, x: np.ndarray, v: np.ndarray | None = None, t: float = 0.0
) -> tuple[float, np.ndarray, int]:
    """(potential energy (J), forces (3 N,) in N, status) of particles at x (3 N,) in m with velocities v (zero)."""
    x = np.ascontiguousarray(x, float).ravel()
    v = np.zeros_like(x) if v is None else np.ascontiguousarray(v, float).ravel()
    f, power = np.zeros_like(x), np.zeros(1 + int(max(tables.laws.ledger, default=0)))
    energy, status = evaluate(t, x, v, f, power, tables)
    return energy, f, status
