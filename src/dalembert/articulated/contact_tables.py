"""The tables of time steps of contact in joint coordinates; how a step is made and what it did is told by the records that
steps of bodies have (`contact.tables`)."""

from typing import Any, NamedTuple

import numpy as np

from ..contact.tables import BOUND, OPTIONS, REPORT, ROW, SOFT, TICKS
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

    m speeds, z numbers in the state, r rows of loops. There are rows of three a contact (normal and two tangents), and after
    them one a bound.
    """

    options: Any = column("1", OPTIONS)
    report: Any = column("1", REPORT)
    bounds: Any = column("bounds", BOUND)
    roots: Any = column("roots", ROOT)
    root_of: Any = column("nodes", np.int64)
    soft: Any = column("soft", SOFT)
    walls: Any = column("2", np.int64, doc="address and data of the detector")
    saved: Any = column("z", fill=np.nan, doc="the state at the start of the step")
    slopes: Any = column("m", fill=np.nan, doc="rates of the speeds in free motion")
    mass: Any = column("m * m if soft else 0", fill=np.nan, doc="M, where there are soft rows")
    factor: Any = column("m * m if soft else 0", fill=np.nan, doc="its factor, likewise")
    before: Any = column("m", unit="m/s, rad/s", fill=np.nan, doc="speeds before the impulses")
    loop_rates: Any = column("r", unit="m/s, rad/s", fill=np.nan, doc="of the rows of loops at these")
    free: Any = column("m", unit="m/s, rad/s", fill=np.nan, doc="speeds with the impulses of forces and loops")
    after: Any = column("m", unit="m/s, rad/s", fill=np.nan, doc="speeds with all impulses")
    pushed: Any = column("m", unit="N s, N m s", fill=np.nan, doc="impulse of the forces along the speeds")
    shift: Any = column("m", unit="m, rad", fill=np.nan, doc="displacement that puts apart what overlaps")
    jacobian: Any = column("(3 * contacts + bounds) * m", fill=np.nan, doc="J, row by row")
    response: Any = column(
        "(3 * contacts + bounds) * m", fill=np.nan,
        doc="M⁻¹ Jᵀ row by row, with the resistance of soft rows in M, which loops have answered",
    )  # fmt: skip
    spans: Any = column(
        "2 * (3 * contacts + bounds)", np.int64, doc="where the numbers of a row that are not zero begin and end"
    )
    delassus: Any = column("(3 * contacts + bounds) ** 2", fill=np.nan, doc="J times the response")
    responses: Any = column(f"{ROW} * contacts", fill=np.nan, doc="see `contact.gauss_seidel.put_row`")
    rates_before: Any = column("3 * contacts + bounds", unit="m/s, rad/s", fill=np.nan, doc="J w")
    rates_free: Any = column("3 * contacts + bounds", unit="m/s, rad/s", fill=np.nan)
    rates: Any = column("3 * contacts + bounds", unit="m/s, rad/s", fill=np.nan, doc="of the moment")
    first_rates: Any = column(
        "3 * contacts + bounds", unit="m/s, rad/s", fill=np.nan, doc="of a first solution with restitution"
    )
    first_impulses: Any = column("3 * contacts", unit="N s", fill=np.nan)
    corrections: Any = column("3 * contacts + bounds", fill=np.nan, doc="multipliers of displacements")
    newton_matrix: Any = column("(3 * contacts + bounds) ** 2", fill=np.nan, doc="see `contact_newton`")
    newton_pivots: Any = column("3 * contacts + bounds", np.int64)
    newton_step: Any = column("3 * contacts + bounds", fill=np.nan)
    newton_kept: Any = column("3 * contacts + bounds", fill=np.nan)
    ticks: Any = column(f"{TICKS}", doc="see `ticks`")
