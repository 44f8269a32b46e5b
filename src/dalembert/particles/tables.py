"""The tables of the time step of particles.

Positions x, velocities v and displacements are flat arrays, three numbers a particle. A stage of a step looks for the x that
makes ½ |x − s|²_M / τ² + W(x) least, with the velocity (x − base)/τ; see `stage`.
"""

from typing import Any, NamedTuple

import numpy as np

from ..linalg.coarse_space import CoarseSpace, CoarseWork
from ..linalg.conjugate_gradient import REPORT as SOLUTION
from ..linalg.ssor import HELD
from ..tables import column, part

# The scheme (see `schemes`): `explicit`, `linear`, 0 or 1; `fraction`, the time of the stage in steps; `stretch`, the way of
# the step over that of its stage; `past_q`, `past_r`, whole numbers.
OPTIONS = np.dtype(
    [("explicit", "i8"), ("linear", "i8"), ("fraction", "f8"), ("stretch", "f8"), ("past_q", "f8"), ("past_r", "f8"),
     ("dt", "f8"), ("newton", "i8"), ("tolerance", "f8"), ("linear_tolerance", "f8"),
     ("linear_iterations", "i8"), ("rounds", "i8"), ("margin", "f8"), ("ledger", "i8"), ("contacts", "i8"),
     ("direct", "i8"), ("history", "i8"), ("predict", "i8"), ("powers", "i8"), ("start", "f8")],
    align=True,
)  # fmt: skip
# `history` above: whether `before` holds the state before the last step; `powers`: whether any force does work that is
# booked. What a stage is: its τ, and where it is in Newton.
STAGE = np.dtype(
    [("tau", "f8"), ("time", "f8"), ("energy", "f8"), ("slope", "f8"), ("typical", "f8"), ("residual", "f8"),
     ("weight", "f8"), ("body_weight", "f8")],
    align=True,
)  # fmt: skip
# See `report`; `linear`: iterations of conjugate gradients, `worst`: the largest relative gradient.
REPORT = np.dtype(
    [("steps", "i8"), ("newton", "i8"), ("linear", "i8"), ("solves", "i8"), ("halvings", "i8"), ("unconverged", "i8"),
     ("indefinite", "i8"), ("unsolved", "i8"), ("worst", "f8")],
    align=True,
)  # fmt: skip
# A particle that touches: its contacts, the body that carries it and its arm there, and the directions in which it is
# locked to that body, `locked` orthonormal ones of which the first `normals` span those of its contacts. `target` is its
# displacement in them since the start of the stage, beside that of the body. Where it slides `grip` is κ, N/m. `friction` and
# `force`: N, on the particle.
TOUCH = np.dtype(
    [("particle", "i8"), ("first", "i8"), ("last", "i8"), ("body", "i8"), ("locked", "i8"), ("normals", "i8"),
     ("stick", "i8"), ("returns", "i8"), ("grip", "f8"), ("arm", "f8", 3), ("axes", "f8", 9), ("target", "f8", 3),
     ("friction", "f8", 3), ("force", "f8", 3)],
    align=True,
)  # fmt: skip

# Of a particle that touched: the number of the step after that, and what was found.
MEMORY = np.dtype([("step", "i8"), ("stick", "i8"), ("grip", "f8")], align=True)

# A particle that goes with a point of a body.
ATTACHMENT = np.dtype([("particle", "i8"), ("body", "i8"), ("anchor", "f8", 3)], align=True)

BODY_ROW = 6  # numbers a body: of a displacement, then of a turn
STEP_STAGES = ("forces", "matrix", "linear solver", "contacts", "update")
TICKS = len(STEP_STAGES) + 3
FORCES, MATRIX, LINEAR, CONTACTS, UPDATE = range(5)


class Walls(NamedTuple):
    """Addresses of C functions and of what they are handed: the mechanics, the search for contacts."""

    mechanism: int
    mechanism_data: int
    detector: int
    detector_data: int


class Steps(NamedTuple):
    """n particles, b bodies that can be pushed, m = 3 n + 6 b unknowns."""

    options: Any = column("1", OPTIONS)
    stage: Any = column("1", STAGE)
    report: Any = column("1", REPORT)
    touches: Any = column("n if contacts or attachments else 0", TOUCH)
    memory: Any = column("n if contacts else 0", MEMORY, doc="particle by particle, if any may touch")
    attachments: Any = column("attachments", ATTACHMENT)
    tied: Any = column("n if attachments else 0", np.int64, doc="1 where a particle is attached; empty if none is")
    active: Any = column("contacts", np.int64, doc="contact by contact: whether it holds")
    touch_counts: Any = column("1", np.int64, doc="touches there are")
    pinned: Any = column(dtype=np.int64, doc="the particles that stay where they are")
    start: Any = column("6 * n", doc="x and p at the start of the step")
    before: Any = column("6 * n", doc="the same a step earlier")
    aim: Any = column("3 * n", unit="m", doc="s")
    base: Any = column("3 * n")
    place: Any = column(
        "12 * n", doc="x, v, velocities about which forces are linear, and places at which damping is looked at"
    )
    trial: Any = column("12 * n")
    forces: Any = column("6 * n", unit="N", doc="conservative forces, then all others")
    trial_forces: Any = column("6 * n")
    power: Any = column("ledger", doc="powers at `place`")
    booked: Any = column("ledger", doc="what the last step added to the ledger for forces")
    gradient: Any = column("m")
    change: Any = column("m", doc="displacements of a Newton step")
    moved: Any = column("6 * b", unit="m, rad", doc="displacement and turn of each body since the start of the stage")
    wanted: Any = column("6 * b", doc="the same, if no particle touched it")
    inertia: Any = column("7 * b", doc="mass (kg) and moments (kg m²; xx, yy, zz, xy, xz, yz), world axes")
    starts: Any = column("n + 1", np.int64, doc="see linalg.block_pattern")
    columns: Any = column(dtype=np.int32)
    values: Any = column("9 * blocks", doc="of the matrix")
    rhs: Any = column("m", doc="and the vectors of conjugate gradients:")
    residual: Any = column("m")
    direction: Any = column("m")
    image: Any = column("m")
    scaled: Any = column("m")
    d: Any = column("m", doc="see `linear`")
    t: Any = column("m")
    g: Any = column("m")
    space: Any = part(CoarseSpace)
    coarse: Any = part(CoarseWork)
    held: Any = column("n", HELD)
    solution: Any = column("1", SOLUTION)
    spare: Any = column("state")
    diagonal: Any = column("9 * n + 18 * b", doc="inverse of the blocks on the diagonal")
    ticks: Any = column("TICKS")
