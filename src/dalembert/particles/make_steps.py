"""The tables of the time step of particles, as a model needs them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..linalg.block_pattern import BlockPattern
from ..linalg.coarse_space import coarse_space, coarse_workspace
from ..linalg.conjugate_gradient import REPORT as SOLUTION
from ..linalg.ssor import HELD
from ..model.compile import Model
from ..model.tables import LEDGER, PARTICLE_FIELD
from . import tables
from .schemes import SCHEMES
from .tables import STEP_STAGES, Steps

NEWTON = 60  # most steps of Newton's method in a stage
DAMPING = ("damping", "stretch_damping", "shear_damping", "viscosity")  # fields of elements
ROUNDS = 12  # most linear solves about contacts in a step of it


class ParticleSettings(NamedTuple):
    """How a step is made.

    method : a name of `SCHEMES`. dt : s. tolerance : of Newton's method, relative to the forces of the step.
    linear_solver : "cg" or "direct"; linear_tolerance : of the first, relative. margin : m, within which contacts are
    looked for. ledger : where the entries of contact begin in the state. stop_unsolved : whether a step that misses its
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


def make_steps(model: Model, pattern: BlockPattern, settings: ParticleSettings, contacts: int) -> Steps:
    """The tables of a step of so many contacts."""
    n, b = model.particle_count, len(model.body_names)
    unknowns = 3 * n + tables.BODY_ROW * b
    explicit = SCHEMES[settings.method] == tables.EXPLICIT
    options = _row(tables.OPTIONS)
    options.scheme, options.dt, options.newton = SCHEMES[settings.method], settings.dt, NEWTON
    options.tolerance, options.linear_tolerance = settings.tolerance, settings.linear_tolerance
    options.linear_iterations, options.rounds = max(200, 10 * int(np.sqrt(unknowns))), ROUNDS
    options.margin, options.ledger, options.contacts = settings.margin, settings.ledger, int(contacts > 0)
    options.powers = int(depends_on_velocity(model))
    options.predict = int(explicit and depends_on_velocity(model))
    patched = not explicit and settings.linear_solver == "cg"
    space = coarse_space(pattern) if patched else coarse_space(pattern, fewest=n + 1)
    attachments = np.array(model.attachments, tables.ATTACHMENT).view(np.recarray)
    tied = np.zeros(n if len(attachments) else 0, np.int64)
    tied[attachments.particle] = 1
    m = np.zeros(unknowns)
    return Steps(
        options=options, stage=_row(tables.STAGE), report=_row(tables.REPORT),
        touches=np.zeros(n if contacts or len(attachments) else 0, tables.TOUCH).view(np.recarray),
        attachments=attachments, tied=tied, active=np.zeros(contacts, np.int64),
        memory=np.zeros(n if contacts else 0, tables.MEMORY).view(np.recarray),
        touch_counts=np.zeros(1, np.int64), pinned=np.nonzero(model.tables["particle_inverse_mass"] == 0.0)[0],
        start=np.zeros(6 * n), before=np.zeros(6 * n), aim=np.zeros(3 * n), base=np.zeros(3 * n), place=np.zeros(12 * n),
        trial=np.zeros(12 * n), forces=np.zeros(6 * n), trial_forces=np.zeros(6 * n),
        power=np.zeros(len(model.force_names) + len(LEDGER)), booked=np.zeros(len(model.force_names) + len(LEDGER)),
        gradient=m.copy(), change=m.copy(),
        moved=np.zeros(6 * b), wanted=np.zeros(6 * b), inertia=np.zeros(7 * b), starts=pattern.starts,
        columns=pattern.columns, values=np.zeros(0 if explicit else 9 * len(pattern.columns)), rhs=m.copy(),
        residual=m.copy(), direction=m.copy(), image=m.copy(), scaled=m.copy(), d=m.copy(), t=m.copy(), g=m.copy(),
        space=space,
        coarse=coarse_workspace(space),
        held=np.zeros(n, HELD).view(np.recarray), solution=_row(SOLUTION), spare=np.zeros(model.size),
        diagonal=np.zeros(9 * n + 18 * b), ticks=np.zeros(len(STEP_STAGES) + 3),
    )  # fmt: skip


def depends_on_velocity(model: Model) -> bool:
    """Whether forces on particles do: all that have no potential count."""
    damped = (table[name].any() for table in model.particles.element_rows().values() for name in table.dtype.names or ()
              if name in DAMPING)  # fmt: skip
    fields = (model.tables["particle_forces"].kind != PARTICLE_FIELD).any()
    return bool(any(damped) or fields or any(law.damping > 0.0 for law in model.particles.laws))


def ledger_at(model: Model) -> int:
    """Where the ledger starts in the state."""
    return model.size - len(LEDGER) - len(model.force_names)
