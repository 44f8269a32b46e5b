"""The tables of contact by events: what touches, which way it does, and the workspace of its forces."""

from typing import Any, NamedTuple

import numpy as np

from ..tables import column

# What body i shows to body j where they touch: g is the distance of a point of i (of the ball about it) from
PLANE = 0  # a plane of j
BALL = 1  # a point of j (the ball about it)
LINE = 2  # a line of j (the capsule about it)
EDGES = 3  # a line of j, where i shows a line too

# How a contact takes part in the smooth motion
OPEN = 0  # it touches, but bears no force
FRICTIONLESS = 1
SLIDING = 2
STICKING = 3  # or rolling: the points in contact have no relative velocity

# A contact between two features, each fixed to its body. point_*, axis_*: of the feature in the frame of the body; axis_j is
# the normal of a PLANE, out of j. radius: of both balls, g = distance − radius; radius_i that of i alone. sign: turns
# axis_i × axis_j from j to i (EDGES). sides: rows of `sides` that bound the feature of i and of j; a and b: colliders.
# slack_gap, slack_cone: what is added to g and to the margin of the cone before they count as crossed.
# The rest is found at each state, in world axes: frame, normal (j → i) and two tangents row by row; arms from the centres of
# mass to the position; velocity of i less j in the frame; bias, what acceleration that has without forces; force on i in the
# frame; slide, the way it slides.
TOUCH = np.dtype(
    [("kind", "i8"), ("i", "i8"), ("j", "i8"), ("mode", "i8"), ("a", "i8"), ("b", "i8"),
     ("first_i", "i8"), ("last_i", "i8"), ("first_j", "i8"), ("last_j", "i8"),
     ("point_i", "f8", 3), ("axis_i", "f8", 3), ("point_j", "f8", 3), ("axis_j", "f8", 3),
     ("radius", "f8"), ("radius_i", "f8"), ("sign", "f8"), ("friction", "f8"), ("restitution", "f8"),
     ("slack_gap", "f8"), ("slack_cone", "f8"),
     ("frame", "f8", 9), ("position", "f8", 3), ("arm_i", "f8", 3), ("arm_j", "f8", 3), ("gap", "f8"),
     ("velocity", "f8", 3), ("bias", "f8", 3), ("force", "f8", 3), ("slide", "f8", 3)],
    align=True,
)  # fmt: skip
SIDE = 4  # numbers a row of `sides`: a unit normal out of the feature in the frame of its body, and its offset there

# mechanism, detector: C functions and what each is handed. touches: how many there are; active: those that bear force come
# first. ledger: where the entries of contact stand in the state. margin: m, see `detect`. tiny_gap (m), tiny_speed (m/s) and
# tiny_force (N): what counts as zero. near: m, points of one pair nearer than that are one contact.
OPTIONS = np.dtype(
    [("mechanism", "i8"), ("mechanism_data", "i8"), ("detector", "i8"), ("detector_data", "i8"), ("touches", "i8"),
     ("active", "i8"), ("ledger", "i8"), ("margin", "f8"), ("tiny_gap", "f8"), ("tiny_speed", "f8"),
     ("tiny_force", "f8"), ("near", "f8"), ("worst_gap", "f8"), ("cause", "i8")],
    align=True,
)  # fmt: skip

# Tasks besides those of `pointer`
RESPOND = 10  # geometry and responses of all touches, with the smooth accelerations at (t, y)
WATCH = 0  # of the second function: the number that changes sign when something happens


class Touching(NamedTuple):
    """What contact by events reads and writes; n touches, m bodies and nodes, numbered as in `System`."""

    options: Any = column("1", OPTIONS)
    touches: Any = column("n", TOUCH)
    sides: Any = column("SIDE * sides")
    columns: Any = column(
        "3 * n * 6 * m",
        fill=np.nan,
        doc="what a unit force of a contact, with the joints' answer to it, is to each body",
    )
    matrix: Any = column(
        "(3 * n) ** 2", fill=np.nan, doc="relative accelerations that unit forces make, in the frames of the contacts"
    )
    free: Any = column("3 * n", unit="m/s²", fill=np.nan, doc="relative accelerations without forces of contact")
    system: Any = column("(3 * n) ** 2", fill=np.nan, doc="equations of the forces that act")
    factor: Any = column("(3 * n) ** 2", fill=np.nan, doc="their factorization")
    right: Any = column("3 * n", fill=np.nan, doc="their right-hand side")
    weight: Any = column("3 * n", fill=np.nan, doc="what makes the forces unique where they are not")
    unknown: Any = column("3 * n", unit="N", fill=np.nan, doc="their solution")
    change: Any = column("3 * n", unit="N", fill=np.nan, doc="its correction")
    rows: Any = column("3 * n", np.int64, doc="which component of which contact a row is")
    pivots: Any = column("3 * n", np.int64)
    shift: Any = column("6 * m", fill=np.nan, doc="a sum of columns")
    spare: Any = column("state", fill=np.nan, doc="a derivative")
