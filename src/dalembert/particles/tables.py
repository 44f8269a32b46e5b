"""The tables of the time step of particles.

Positions x, velocities v and displacements are flat arrays, three numbers a particle. A stage of a step looks for the x that
makes ½ |x − s|²_M / τ² + W(x) least, with the velocity (x − base)/τ; see `stage`.
"""

from typing import Any, NamedTuple

import numpy as np

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
FORCES, MATRIX, LINEAR, CONTACTS, UPDATE = range(5)


class Walls(NamedTuple):
    """Addresses of C functions and of what they are handed: the mechanics, the search for contacts."""

    mechanism: int
    mechanism_data: int
    detector: int
    detector_data: int


class Steps(NamedTuple):
    """n particles, b bodies that can be pushed, m = 3 n + 6 b unknowns."""

    options: Any  # OPTIONS
    stage: Any  # STAGE
    report: Any  # REPORT
    touches: Any  # TOUCH, as many as particles
    memory: Any  # MEMORY, particle by particle, if any may touch
    attachments: Any  # ATTACHMENT
    tied: np.ndarray  # int64 (n,), 1 where a particle is attached; empty if none is
    active: np.ndarray  # int64, contact by contact: whether it holds
    touch_counts: np.ndarray  # int64 (1,): touches there are
    pinned: np.ndarray  # int64, the particles that stay where they are
    start: np.ndarray  # (6 n,) x and p at the start of the step
    before: np.ndarray  # (6 n,) the same a step earlier
    aim: np.ndarray  # (3 n,) s
    base: np.ndarray  # (3 n,)
    place: (
        np.ndarray
    )  # (12 n,) x, v, velocities about which forces are linear, and places at which damping is looked at
    trial: np.ndarray  # (12 n,)
    forces: np.ndarray  # (6 n,) conservative forces, then all others
    trial_forces: np.ndarray  # (6 n,)
    power: np.ndarray  # (ledger,) powers at `place`
    booked: np.ndarray  # (ledger,) what the last step added to the ledger for forces
    gradient: np.ndarray  # (m,)
    change: np.ndarray  # (m,) displacements of a Newton step
    moved: np.ndarray  # (6 b,) displacement and turn of each body since the start of the stage
    wanted: np.ndarray  # (6 b,) the same, if no particle touched it
    inertia: np.ndarray  # (7 b,) mass (kg) and moments (kg m²; xx, yy, zz, xy, xz, yz), world axes
    starts: np.ndarray  # int64 (n + 1,), see linalg.block_pattern
    columns: np.ndarray  # int32
    values: np.ndarray  # 9 a block
    rhs: np.ndarray  # (m,) and the vectors of conjugate gradients
    residual: np.ndarray
    direction: np.ndarray
    image: np.ndarray
    scaled: np.ndarray
    d: np.ndarray  # (m,), see `linear`
    t: np.ndarray
    g: np.ndarray
    space: Any  # linalg.coarse_space.CoarseSpace, see `addresses.nested`
    coarse: Any  # CoarseWork, likewise
    held: Any  # linalg.ssor.HELD, one a particle
    solution: Any  # linalg.conjugate_gradient.REPORT
    spare: np.ndarray  # of the size of the state
    diagonal: np.ndarray  # (9 n + 18 b,) inverse of the blocks on the diagonal
    ticks: np.ndarray
