"""The tables of time steps of contact in joint coordinates; how a step is made and what it did is told by the records that
steps of bodies have (`contact.tables`)."""

from typing import Any, NamedTuple

import numpy as np

# A tree of links and what stands at its root: whether that is free, its momentum and angular momentum about the origin before
# the step, the impulse and its moment that the step gave it; what it has after the step: mass, first moment and inertia
# about the root's centre of mass, momentum and angular momentum about the origin.
ROOT = np.dtype(
    [("node", "i8"), ("loose", "i8"), ("momentum", "f8", 3), ("turning", "f8", 3), ("impulse", "f8", 3), ("moment", "f8", 3),
     ("mass", "f8"), ("first", "f8", 3), ("inertia", "f8", 6), ("momentum_now", "f8", 3), ("turning_now", "f8", 3)],
    align=True,
)  # fmt: skip


class TreeStepping(NamedTuple):
    """Everything a time step needs besides the mechanism and the collision tables.

    m speeds, z numbers in the state. There are N rows: three a contact (normal and two tangents), and after them one a bound.
    """

    options: Any  # contact.tables.OPTIONS, one
    report: Any  # contact.tables.REPORT, one
    bounds: Any  # contact.tables.BOUND
    roots: Any  # ROOT
    root_of: np.ndarray  # int64, (nodes,)
    soft: Any  # contact.tables.SOFT
    walls: np.ndarray  # int64, address and data of the detector
    saved: np.ndarray  # (z,) the state at the start of the step
    slopes: np.ndarray  # (m,) rates of the speeds in free motion
    mass: np.ndarray  # (m × m,) M, where there are soft rows
    factor: np.ndarray  # (m × m,) its factor, likewise
    before: np.ndarray  # (m,) speeds before the impulses
    loop_rates: np.ndarray  # (r,) of the rows of loops at these
    free: np.ndarray  # (m,) with those of forces and loops
    after: np.ndarray  # (m,) with all of them
    pushed: np.ndarray  # (m,) impulse of the forces along the speeds
    shift: np.ndarray  # (m,) displacement that puts apart what overlaps
    jacobian: np.ndarray  # (N × m,)
    response: np.ndarray  # (N × m,) M⁻¹ Jᵀ row by row, with the resistance of soft rows in M, which loops have answered
    spans: np.ndarray  # int64, (2 N,) where the numbers of a row that are not zero begin and end
    delassus: np.ndarray  # (N × N,) J times that
    responses: np.ndarray  # (ROW contacts,), see `contact.gauss_seidel.put_row`
    rates_before: np.ndarray  # (N,) J w
    rates_free: np.ndarray  # (N,)
    rates: np.ndarray  # (N,) of the moment
    first_rates: np.ndarray  # (N,) of a first solution with restitution
    first_impulses: np.ndarray  # (3 contacts,)
    corrections: np.ndarray  # (N,) multipliers of displacements
    newton_matrix: np.ndarray  # (N × N,) see `contact_newton`
    newton_pivots: np.ndarray  # int64, (N,)
    newton_step: np.ndarray  # (N,)
    newton_kept: np.ndarray  # (N,)
    ticks: np.ndarray  # see `ticks`
