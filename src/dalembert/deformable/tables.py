"""The tables of the time step of particles.

Positions x, velocities v and displacements are flat arrays, three numbers a particle. A stage of a step looks for the x that
makes ½ |x − s|²_M / τ² + W(x) least, with the velocity (x − base)/τ; see `stage`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.registry import Registry
from ..core.tables import allocate, column, part
from ..linalg.block_matrix import HELD, BlockPattern
from ..linalg.conjugate_gradient import REPORT as SOLUTION
from ..linalg.deflation import CoarseSpace, CoarseWork, coarse_space, coarse_workspace
from ..model.compile import Model
from ..model.tables import LEDGER, PARTICLE_FIELD

# The scheme (see `schemes`): `explicit`, `linear`, 0 or 1; `fraction`, the time of the stage in steps; `stretch`, the
# displacement of the step over that of its stage; `past_q`, `past_r`, whole numbers.
OPTIONS = np.dtype(
    [("explicit", "i8"), ("linear", "i8"), ("fraction", "f8"), ("stretch", "f8"), ("past_q", "f8"), ("past_r", "f8"),
     ("dt", "f8"), ("newton", "i8"), ("tolerance", "f8"), ("linear_tolerance", "f8"),
     ("linear_iterations", "i8"), ("rounds", "i8"), ("margin", "f8"), ("ledger", "i8"), ("contacts", "i8"),
     ("direct", "i8"), ("history", "i8"), ("predict", "i8"), ("powers", "i8"), ("start", "f8"),
     ("carriers", "i8"), ("carriers_data", "i8"), ("assumes", "i8")],
    align=True,
)  # fmt: skip
# `history` above: whether `before` holds the state before the last step, and the motion since is smooth; `powers`: whether
# any force does work for the ledger. `carriers`: address and data of the C function of the bodies' coordinates, see
# `carriers`; 0 where these need none. `assumes`: whether `assumed` counts.
# The stage: its τ, and the state of Newton's method.
STAGE = np.dtype(
    [("tau", "f8"), ("time", "f8"), ("energy", "f8"), ("slope", "f8"), ("typical", "f8"), ("residual", "f8"),
     ("weight", "f8"), ("body_weight", "f8")],
    align=True,
)  # fmt: skip
# See `report`; `linear`: iterations of conjugate gradients, `worst`: the largest relative gradient, `largest`: the largest
# typical force of a step so far, N.
REPORT = np.dtype(
    [("steps", "i8"), ("newton", "i8"), ("linear", "i8"), ("solves", "i8"), ("halvings", "i8"), ("unconverged", "i8"),
     ("indefinite", "i8"), ("unsolved", "i8"), ("worst", "f8"), ("largest", "f8")],
    align=True,
)  # fmt: skip
# The touch of a particle: its contacts, the body that carries it and its arm there, and the directions in which it is
# locked to that body, `locked` orthonormal ones of which the first `normals` span those of its contacts. `target` is its
# displacement in them since the start of the stage, beside that of the body. Where it slides `grip` is κ, N/m. `friction` and
# `force`: N, on the particle. `feet`: 1, or the number of normals if the contacts that they are from are at different
# bodies; then each foot has its contact, body, arm, normal n and κ, and the axes are e_k = Σ_c lean_kc n_c. `tried`
# and `slid`: the κ and the slip (m) of each foot in the solve before, for the secant; 0 before the first.
TOUCH = np.dtype(
    [("particle", "i8"), ("first", "i8"), ("last", "i8"), ("body", "i8"), ("locked", "i8"), ("normals", "i8"),
     ("stick", "i8"), ("returns", "i8"), ("grip", "f8"), ("arm", "f8", 3), ("axes", "f8", 9), ("target", "f8", 3),
     ("friction", "f8", 3), ("force", "f8", 3), ("feet", "i8"), ("contacts", "i8", 3), ("bodies", "i8", 3),
     ("arms", "f8", 9), ("bases", "f8", 9), ("lean", "f8", 9), ("grips", "f8", 3),
     ("tried", "f8", 3), ("slid", "f8", 3)],
    align=True,
)  # fmt: skip

# The warm-start cache of a particle that touched: the number of the step after that, sticking, and κ.
MEMORY = np.dtype([("step", "i8"), ("stick", "i8"), ("grip", "f8")], align=True)

# A particle that is attached to a point of a body; by a rod where its length (m) is not zero.
ATTACHMENT = np.dtype([("particle", "i8"), ("body", "i8"), ("anchor", "f8", 3), ("length", "f8")], align=True)

CARRIED = (
    21  # numbers a body: how force and moment depend on displacement and turn (6, 9, 6), as `mass_block` of a link
)
BODY_ROW = 6  # numbers a body: of a displacement, then of a turn
STEP_STAGES = ("forces", "matrix", "linear solver", "contacts", "update")
TIMER_SIZE = len(STEP_STAGES) + 3
ROUNDING_OF_STEPS = 1e-9  # steps: a run that is nearer than this to its stop has reached it
FORCES, MATRIX, LINEAR, CONTACTS, UPDATE = range(5)


class Callbacks(NamedTuple):
    """Addresses of C functions and of their `data`: the mechanics, and the detection of contacts."""

    mechanism: int
    mechanism_data: int
    detector: int
    detector_data: int


class Steps(NamedTuple):
    """n particles, b bodies that can be pushed, c unknowns of their coordinates (6 b if these are maximal), m = 3 n + c
    unknowns, r rows of joints."""

    options: Any = column("1", OPTIONS)
    stage: Any = column("1", STAGE)
    report: Any = column("1", REPORT)
    touches: Any = column("n if contacts or attachments else 0", TOUCH)
    memory: Any = column("n if contacts else 0", MEMORY, doc="particle by particle, if any may touch")
    attachments: Any = column("attachments", ATTACHMENT)
    tied: Any = column("n if attachments else 0", np.int64, doc="1 where a particle is attached; empty if none is")
    active: Any = column("contacts", np.int64, doc="contact by contact: whether it is in the active set")
    touch_counts: Any = column("1", np.int64, doc="number of touches")
    pinned: Any = column(dtype=np.int64, doc="the pinned particles")
    start: Any = column("6 * n", doc="x and p at the start of the step")
    before: Any = column("6 * n", doc="the same a step earlier")
    aim: Any = column("3 * n", unit="m", doc="s")
    base: Any = column("3 * n")
    iterate: Any = column(
        "12 * n", doc="x, v, velocities about which forces are linear, and positions at which damping is evaluated"
    )
    trial: Any = column("12 * n")
    forces: Any = column("6 * n", unit="N", doc="conservative forces, then all others")
    trial_forces: Any = column("6 * n")
    power: Any = column("ledger", doc="powers at `iterate`")
    booked: Any = column("ledger", doc="what the last step added to the ledger for forces")
    gradient: Any = column("m")
    change: Any = column("m", doc="of the unknowns in a Newton step: displacements of particles, and ζ of `carriers`")
    shift: Any = column("6 * b", unit="m, rad", doc="displacement and turn of each body in that step")
    moved: Any = column("6 * b", unit="m, rad", doc="displacement and turn of each body since the start of the stage")
    wanted: Any = column("6 * b", doc="the same without particles")
    assumed: Any = column(
        "6 * b",
        unit="m/s, rad/s",
        doc="what contacts of bodies, stops and the like give to their velocities; see `rounds`",
    )
    driven: Any = column("b + 1", np.int64, doc="1 where the motion of a body is prescribed, and for the world")
    surface: Any = column(
        "6 * b", unit="m, rad", doc="displacement and turn of moving surfaces in a stage; see `driven`"
    )
    offset: Any = column("c if jointed else 0", doc="ζ since the start of the stage")
    own: Any = column("c if jointed else 0", doc="scratch")
    rates: Any = column("r if jointed else 0", doc="scratch")
    spare_rates: Any = column("state if jointed else 0", doc="scratch")
    carried: Any = column("21 * b if jointed else 0", doc="what particles add to the inertia of each body; see CARRIED")
    twists: Any = column("6 * b", unit="m, rad", doc="displacement and turn of each body in conjugate gradients")
    wrenches: Any = column("6 * b", unit="N, N m", doc="force and moment on each body")
    inertia: Any = column("7 * b", doc="mass (kg) and moments (kg m²; xx, yy, zz, xy, xz, yz), world axes")
    starts: Any = column("n + 1", np.int64, doc="see linalg.block_pattern")
    columns: Any = column(dtype=np.int32)
    values: Any = column("9 * blocks", doc="of the matrix")
    rhs: Any = column("m", doc="and the vectors of conjugate gradients")
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
    timer: Any = column("TIMER_SIZE")


# Schemes --------------------------------------------------------------------------------------------------------------
# The schemes of a time step of particles, as data; `stage` has the equations.
#
# A file adds a scheme with `SCHEMES.add`, and is listed in `deformable.SCHEME_FILES`. Kernels read the numbers of a
# scheme in the options of a step, so that a new one compiles nothing.


class Scheme(NamedTuple):
    """How a step of length h goes from (x₀, v₀) to (x₁, v₁).

    help : what it is, in a few words.
    fraction : θ, the time of the stage in steps. The step ends at x₁ = x₀ + (x − x₀)/θ, v₁ = v₀ + (v − v₀)/θ.
    past : q and r, whole numbers, of a scheme that uses the step before: its stage starts from
        base = ((r + q) x₀ − q x₋₁)/r, with v alike, and takes τ = (r − q) h/r. q = 0: only x₀ counts, and τ = θ h.
    linear : whether a stage is one step of Newton's method, a linear solve.
    explicit : leapfrog: half a drift, the impulse of the forces, half a drift.
    """

    help: str
    fraction: float = 1.0
    past: tuple[int, int] = (0, 1)
    linear: bool = False
    explicit: bool = False

    @property
    def order(self) -> int:
        """The order of accuracy of a converged step: 2 for the midpoint, and with a step before; else 1."""
        return 2 if self.fraction == 0.5 or self.past[0] > 0 else 1


class Schemes(Registry[Scheme]):
    """Schemes by name."""

    def add(self, name: str, thing: Scheme) -> None:
        """Add a scheme. Raises ValueError for a name that is taken, and for invalid numbers."""
        q, r = thing.past
        if not 0.0 < thing.fraction <= 1.0:
            raise ValueError(f"scheme {name!r}: fraction is {thing.fraction!r}; give one above 0, and at most 1")
        if not 0 <= q < r or (q > 0 and (thing.fraction != 1.0 or thing.explicit)):
            raise ValueError(f"scheme {name!r}: past is {thing.past!r}; give 0 ≤ q < r, and q = 0 unless fraction is 1")
        super().add(name, thing)


SCHEMES = Schemes("scheme", "dalembert.deformable", "SCHEME_FILES")
SCHEMES.add("time_stepping", Scheme("explicit: leapfrog, and contact of bodies", fraction=0.5, explicit=True))
SCHEMES.add(
    "linear_implicit_euler", Scheme("Stiff particles: one linear solve a step (Baraff & Witkin 1998)", linear=True)
)
NEWTON = "Stiff particles: Newton's method to `newton_tolerance`"
SCHEMES.add("implicit_euler", Scheme(f"{NEWTON}; damps most"))
SCHEMES.add("implicit_midpoint", Scheme(f"{NEWTON}; hardly damps, and keeps orbits over long times", fraction=0.5))
SCHEMES.add("bdf2", Scheme(f"{NEWTON}; damps less than implicit Euler", past=(1, 3)))


# Tables of a model ----------------------------------------------------------------------------------------------------

MOST_NEWTON_STEPS = 60  # in a stage
DAMPING = ("damping", "damping_u", "damping_v", "shear_damping", "viscosity")  # fields of elements
ROUNDS = 12  # most linear solves for the active set of contacts, in a step of Newton's method


class ParticleSettings(NamedTuple):
    """How a step is made.

    method : a name of `SCHEMES`. dt : s. tolerance : of Newton's method, relative to the forces of the step.
    linear_solver : "cg" or "direct"; linear_tolerance : of the first, relative. margin : m, within which contacts are
    detected. ledger : where the entries of contact begin in the state. stop_unsolved : whether a step that misses its
    tolerance ends the run.
    """

    method: str
    dt: float
    tolerance: float
    linear_solver: str
    linear_tolerance: float
    margin: float
    ledger: int
    stop_unsolved: bool


def _row(dtype: Any) -> Any:
    return np.zeros(1, dtype).view(np.recarray)


def make_steps(
    model: Model, pattern: BlockPattern, settings: ParticleSettings, contacts: int, coordinates: int | None
) -> Steps:
    """The tables of a step of so many contacts. coordinates : unknowns of the coordinates of bodies with joints; None if none
    has any."""
    n, b = model.particle_count, len(model.body_names)
    unknowns = 3 * n + (BODY_ROW * b if coordinates is None else coordinates)
    scheme = SCHEMES[settings.method]
    explicit = scheme.explicit
    options = _row(OPTIONS)
    options.explicit, options.linear, options.fraction = explicit, scheme.linear or explicit, scheme.fraction
    options.stretch = 1.0 if explicit else 1.0 / scheme.fraction
    options.past_q, options.past_r = scheme.past
    options.dt, options.newton = settings.dt, MOST_NEWTON_STEPS
    options.tolerance, options.linear_tolerance = settings.tolerance, settings.linear_tolerance
    options.linear_iterations, options.rounds = max(200, 10 * int(np.sqrt(unknowns))), ROUNDS
    options.margin, options.ledger, options.contacts = settings.margin, settings.ledger, int(contacts > 0)
    options.powers = int(depends_on_velocity(model))
    options.predict = int(explicit and depends_on_velocity(model))
    patched = not explicit and settings.linear_solver == "cg"
    space = coarse_space(pattern) if patched else coarse_space(pattern, fewest=n + 1)
    attachments = np.array(model.attachments, ATTACHMENT).view(np.recarray)
    driven = np.zeros(b + 1, np.int64)
    driven[b] = 1
    driven[[row.body for row in model.tables["commands"] if row.body >= 0]] = 1
    tied = np.zeros(n if len(attachments) else 0, np.int64)
    tied[attachments.particle] = 1
    sizes = {
        "c": unknowns - 3 * n, "jointed": int(coordinates is not None), "r": model.graph.rows,
        "n": n, "b": b, "m": unknowns, "contacts": contacts, "attachments": len(attachments), "state": model.size,
        "ledger": len(model.force_names) + len(LEDGER), "blocks": 0 if explicit else len(pattern.columns),
    }  # fmt: skip
    return allocate(
        Steps, sizes, options=options, attachments=attachments, tied=tied, driven=driven,
        starts=pattern.starts, columns=pattern.columns, pinned=np.nonzero(model.tables["particle_inverse_mass"] == 0.0)[0],
        space=space, coarse=coarse_workspace(space),
    )  # fmt: skip


def depends_on_velocity(model: Model) -> bool:
    """Whether forces on particles depend on velocities: all that have no potential count."""
    damped = (table[name].any() for table in model.particles.element_rows().values() for name in table.dtype.names or ()
              if name in DAMPING)  # fmt: skip
    fields = (model.tables["particle_forces"].kind != PARTICLE_FIELD).any()
    return bool(any(damped) or fields or any(law.damping > 0.0 for law in model.particles.laws))


def ledger_at(model: Model) -> int:
    """Where the ledger starts in the state."""
    return model.size - len(LEDGER) - len(model.force_names)


# Report ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ParticleReport:
    """How the particle steps of a run were solved.

    newton : number of Newton steps.
    solves : number of linear systems solved. iterations : conjugate gradient iterations in them.
    unconverged : linear solves that missed their tolerance.
    indefinite : linear solves whose matrix was not positive definite.
    unsolved : time steps that ended above the tolerance, and above 1e-8 of the largest forces so far or what rounding of
        positions explains; with one linear solve per step, those whose solve missed its own.
    gradient : the largest gradient of a step, relative to its forces; with one linear solve per step, over unsolved
        steps only.
    unsettled : time steps in which bodies moved differently from what the particles on them assumed, after all rounds
        of both.
    mismatch : m/s, the largest remaining difference; see `rounds`.
    """

    newton: int
    solves: int
    iterations: int
    unconverged: int
    indefinite: int
    unsolved: int
    gradient: float
    unsettled: int = 0
    mismatch: float = 0.0

    def rows(self, steps: int) -> list[tuple[str, str]]:
        """The lines of the report for a run of `steps` steps."""
        lines = []
        if self.gradient > 0.0 or self.unsolved:
            lines.append(
                ("particle residual",
                 f"{self.gradient:.3g} of the forces at worst (above its tolerance in {self.unsolved} steps)")
            )  # fmt: skip
        if self.iterations or self.newton > steps:
            iterated = f", {self.iterations} iterations" if self.iterations else ""
            lines.append(("  linear solves", f"{self.solves} in {self.newton} steps of Newton's method{iterated}"))
        if self.unsettled:
            lines.append(("  beside bodies", f"off by {self.mismatch:.3g} m/s at worst, in {self.unsettled} steps"))
        if self.unconverged or self.indefinite:
            lines.append(
                ("  of them unsolved", f"{self.unconverged} above their tolerance, {self.indefinite} indefinite")
            )
        return lines
