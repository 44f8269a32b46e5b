"""The tables of contact: how a step is made, what it did, and the workspace of its solvers."""

from typing import Any, NamedTuple

import numpy as np

from ..core.jit import njit
from ..core.tables import column

SOLVE_IMPULSES, SOLVE_DISPLACEMENTS = 1, 2  # what the C function of a solver is asked for; see `solvers`

# `predict`: whether some force may depend on velocities. `slop`: m, overlap that is left alone. `fresh`:
# whether the state was given, so that nothing is known of what is ahead of it. `separates`: whether the solver finds
# displacements too (`solvers.ContactSolver`). `sleep_after`: s of slowness, below
# `sleep_speed` (m/s), after which things sleep; zero: never. `limits`: the address of the C function of bounds and soft rows,
# 0 where there are none, and what it is handed.
OPTIONS = np.dtype(
    [("dt", "f8"), ("margin", "f8"), ("separates", "i8"), ("iterations", "i8"), ("tolerance", "f8"), ("ledger", "i8"),
     ("predict", "i8"), ("slop", "f8"), ("fresh", "i8"), ("sleep_after", "f8"), ("sleep_speed", "f8"), ("start", "f8"),
     ("limits", "i8"), ("data", "i8")],
    align=True,
)  # fmt: skip
# What the steps found and reached. `deepest`: the worst overlap (m) before it was put right, `largest_residual`: of the
# natural map (m/s), both since the last frame; `worst_` the same of the whole run; `residual` and `aim`: of the last step,
# and what it should be; `unsolved`: steps in which it was not; `overlap`: the deepest of the last step (m); `status`: what
# its solver ended with.
REPORT = np.dtype(
    [("steps", "i8"), ("contacts", "i8"), ("iterations", "i8"), ("unsolved", "i8"), ("deepest", "f8"),
     ("worst_penetration", "f8"), ("largest_residual", "f8"), ("worst_residual", "f8"), ("residual", "f8"), ("aim", "f8"),
     ("overlap", "f8"), ("status", "i8"), ("naps", "i8")],
    align=True,
)  # fmt: skip

# What acts on a coordinate within bounds (see `bounded`): its force, its entry in the state's ledger, bodies, row (of a stop:
# toward the inside), bounds of the impulse, what is added to the rate, the rate before the impulses and at the start of the
# step, the distance to the stop, the response to a unit impulse (OFF: none) and the compliance beside it, the impulse, that
# of a first solution with restitution, that of a displacement, and, for the converging solver, which of the bounds it is at.
# In joint coordinates, `soft` is the row of that table that acts as this bound; −1 if none does.
BOUND = np.dtype(
    [("force", "i8"), ("entry", "i8"), ("a", "i8"), ("b", "i8"), ("linear_a", "f8", 3), ("angular_a", "f8", 3),
     ("linear_b", "f8", 3), ("angular_b", "f8", 3), ("least", "f8"), ("most", "f8"), ("bias", "f8"), ("before", "f8"),
     ("start", "f8"), ("gap", "f8"), ("response", "f8"), ("compliance", "f8"), ("impulse", "f8"),
     ("first_impulse", "f8"), ("correction", "f8"), ("state", "i8"), ("soft", "i8")],
    align=True,
)  # fmt: skip
# A force on a coordinate of a joint that acts as a soft constraint (see `soft`): the force, its entry in the state's ledger,
# its coordinate and bodies, rows of the coordinate, where the forces on the same coordinate begin and end in this table; in
# coordinates of bodies its node among the joints, its row and its part; in joint coordinates its freedom. `response` of the
# coordinate to a unit impulse at the initial pose, and `faint`, the inertia that stands for none. Of the law in this step:
# what it gives at rest, what it takes off for the rates after and before it, and the share of its damping that the force does
# not have. The coordinate, its rate at the start of the step, how much that changes in half a drift, the impulse, and whether
# that is at one of the limits.
SOFT = np.dtype(
    [("force", "i8"), ("entry", "i8"), ("coordinate", "i8"), ("a", "i8"), ("b", "i8"), ("linear_a", "f8", 3),
     ("angular_a", "f8", 3), ("linear_b", "f8", 3), ("angular_b", "f8", 3), ("first", "i8"), ("end", "i8"), ("joint", "i8"),
     ("row", "i8"), ("part", "i8"), ("freedom", "i8"), ("response", "f8"), ("faint", "f8"), ("push", "f8"),
     ("resist", "f8"), ("keep", "f8"), ("lost", "f8"), ("value", "f8"), ("before", "f8"), ("drift", "f8"),
     ("impulse", "f8"), ("state", "i8")],
    align=True,
)  # fmt: skip
OFF = 0.0
HELD, AT_LEAST, AT_MOST = range(3)

# Numbers a body has in `motion`: v, ω (world axes), 1/m, and I⁻¹ in world axes as six; the world's last row is zero.
MOTION = 13
LINEAR, ANGULAR, INVERSE_MASS, INVERSE_INERTIA = 0, 3, 6, 7
SPEEDS = 6  # of them that are velocities
# Numbers a contact has in `rows`: its 3 × 3 matrix of responses K as six (nn, n1, n2, 11, 12, 22), 1/K_nn, a step for
# friction (1 over the larger eigenvalue of its 2 × 2 part) and its relative velocity (n, 1, 2) before the step.
ROW = 11
RESPONSE, INVERSE_NORMAL, FRICTION_STEP, BEFORE = 0, 6, 7, 8


# Stages of a step, timed; see `ticks`
STEP_STAGES = ("forces and joints", "collision detection", "contact solver", "update")
TICKS = len(STEP_STAGES) + 3
SMOOTH, DETECTION, SOLVER, UPDATE = range(4)


class Stepping(NamedTuple):
    """Everything a time step of contact needs besides the mechanism and the collision tables; `rows` are those of joints."""

    options: Any = column("1", OPTIONS)
    report: Any = column("1", REPORT)
    saved: Any = column("state", doc="the state at the start of the step")
    motion: Any = column("MOTION * (bodies + 1)", unit="m/s, rad/s", doc="velocities, see MOTION")
    shift: Any = column(
        "MOTION * (bodies + 1)", unit="m, rad", doc="the same of displacements, where overlap is put right"
    )
    rows: Any = column("ROW * contacts")
    corrections: Any = column("contacts")
    first_impulses: Any = column(
        "3 * contacts", unit="N s", doc="of a first solution with restitution, see `restitution`"
    )
    first_motion: Any = column("MOTION * (bodies + 1)", unit="m/s, rad/s", doc="the velocities that they lead to")
    first_joint_impulses: Any = column("rows")
    bounds: Any = column(dtype=BOUND)
    soft: Any = column(dtype=SOFT)
    targets: Any = column("rows", unit="m/s, rad/s", doc="what J v must be after the step")
    joint_impulses: Any = column("rows", unit="N s, N m s")
    change: Any = column("rows", doc="scratch")
    rates: Any = column("rows", doc="scratch")
    answer: Any = column("2", doc="of `limits`")
    timer: Any = column("TICKS", doc="see `ticks`")
    passes: Any = column("bodies", np.int64, doc="of the solver in the last step, over the island of each body")
    waits: Any = column("bodies", np.int64, doc="steps in which loads are not carried, as it did no good")
    slow: Any = column("bodies", unit="s", doc="for how long each body has been slow; −∞ of what never sleeps")
    # Workspace of `loads`
    levels: Any = column("bodies + 1", np.int64, doc="of the world: zero")
    queue: Any = column("bodies", np.int64, doc="those of an island where its members stand")
    link_starts: Any = column("bodies", np.int64)
    link_ends: Any = column("bodies", np.int64)
    links: Any = column("2 * contacts", np.int64)
    own_rows: Any = column("ROW * contacts")
    own_system: Any = column(doc="see `bearing`")
    standing: Any = column("MOTION * (bodies + 1)", doc="velocities of bodies that do not feel what they bear")
    kept_motion: Any = column("MOTION * (bodies + 1)")
    kept_impulses: Any = column("3 * contacts")


# ----------------------------------------------------------------------------------------------------------------------
# What a step reports of its solver.


@njit
def note_residual(report):
    """Keep the worst residual of the run, and count the steps in which the solver missed its aim."""
    report.largest_residual = max(report.largest_residual, report.residual)
    report.worst_residual = max(report.worst_residual, report.residual)
    if report.residual > report.aim:
        report.unsolved += 1
