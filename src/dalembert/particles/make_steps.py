"""The tables of the time step of particles, as a model needs them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..linalg.block_pattern import BlockPattern
from ..linalg.coarse_space import coarse_space, coarse_workspace
from ..model.compile import Model
from ..model.tables import LEDGER, PARTICLE_FIELD
from ..tables import allocate
from . import tables
from .schemes import SCHEMES
from .tables import Steps

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
    scheme = SCHEMES[settings.method]
    explicit = scheme.explicit
    options = _row(tables.OPTIONS)
    options.explicit, options.linear, options.fraction = explicit, scheme.linear or explicit, scheme.fraction
    options.stretch = 1.0 if explicit else 1.0 / scheme.fraction
    options.past_q, options.past_r = scheme.past
    options.dt, options.newton = settings.dt, NEWTON
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
    sizes = {
        "n": n, "b": b, "m": unknowns, "contacts": contacts, "attachments": len(attachments), "state": model.size,
        "ledger": len(model.force_names) + len(LEDGER), "blocks": 0 if explicit else len(pattern.columns),
    }  # fmt: skip
    return allocate(
        Steps, sizes, options=options, attachments=attachments, tied=tied, starts=pattern.starts, columns=pattern.columns,
        pinned=np.nonzero(model.tables["particle_inverse_mass"] == 0.0)[0], space=space, coarse=coarse_workspace(space),
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
