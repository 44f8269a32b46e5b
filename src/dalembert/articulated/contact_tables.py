"""The tables of time steps of contact in joint coordinates; how a step is made and what it did is told by the records that
steps of bodies have (`contact.tables`)."""

from typing import Any, NamedTuple

import numpy as np

from ..contact.tables import BOUND, OPTIONS, REPORT, SOFT
from ..tables import column

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

    options: Any = column("1", OPTIONS)
    report: Any = column("1", REPORT)
    bounds: Any = column(dtype=BOUND)
    roots: Any = column(dtype=ROOT)
    root_of: Any = column("nodes", np.int64)
    soft: Any = column(dtype=SOFT)
    walls: Any = column(dtype=np.int64, doc="address and data of the detector")
    saved: Any = column("z", doc="the state at the start of the step")
    slopes: Any = column("m", doc="rates of the speeds in free motion")
    mass: Any = column("m * m", doc="M, where there are soft rows")
    factor: Any = column("m * m", doc="its factor, likewise")
    before: Any = column("m", doc="speeds before the impulses")
    loop_rates: Any = column("r", doc="of the rows of loops at these")
    free: Any = column("m", doc="with those of forces and loops")
    after: Any = column("m", doc="with all of them")
    pushed: Any = column("m", doc="impulse of the forces along the speeds")
    shift: Any = column("m", doc="displacement that puts apart what overlaps")
    jacobian: Any = column("N * m")
    response: Any = column(
        "N * m", doc="M⁻¹ Jᵀ row by row, with the resistance of soft rows in M, which loops have answered"
    )
    spans: Any = column("2 * N", np.int64, doc="where the numbers of a row that are not zero begin and end")
    delassus: Any = column("N * N", doc="J times that")
    responses: Any = column("ROW * contacts", doc="see `contact.gauss_seidel.put_row`")
    rates_before: Any = column("N", doc="J w")
    rates_free: Any = column("N")
    rates: Any = column("N", doc="of the moment")
    first_rates: Any = column("N", doc="of a first solution with restitution")
    first_impulses: Any = column("3 * contacts")
    corrections: Any = column("N", doc="multipliers of displacements")
    newton_matrix: Any = column("N * N", doc="see `contact_newton`")
    newton_pivots: Any = column("N", np.int64)
    newton_step: Any = column("N")
    newton_kept: Any = column("N")
    ticks: Any = column(doc="see `ticks`")
