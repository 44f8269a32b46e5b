"""The tables of time steps, as long as a mechanism needs them; room for contacts comes when they are known."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import FREE
from ..model.force_kinds import KEEPS_AWAKE
from ..model.tables import BOUNDED, FIELD, STOP, System
from ..tables import allocate
from .bearing import SIZE as SIZE_OF_SYSTEM
from .solvers import SOLVERS
from .tables import (
    AT_LEAST,
    BOUND,
    HELD,
    OPTIONS,
    Stepping,
)


class StepSettings(NamedTuple):
    """How a step is made.

    dt : s. solver : a name of `solvers.SOLVERS`. iterations : most passes of the solver. tolerance : m/s, the residual at
    which it stops. margin : m, pairs nearer than this are looked at. slop : m, overlap that is left alone.
    stop_unsolved : whether a step whose solver misses the tolerance ends the run. threads : how many share the work.
    sleep_after : s of rest after which things that touch sleep; zero: never. sleep_speed : m/s, what is slower is at rest.
    """

    dt: float
    solver: str
    iterations: int
    tolerance: float
    margin: float
    slop: float
    stop_unsolved: bool
    threads: int
    sleep_after: float
    sleep_speed: float


def _row(dtype: Any) -> Any:
    return np.zeros(1, dtype).view(np.recarray)


def make_tables(system: System, size: int, ledger: int, settings: StepSettings, soft: Any) -> Stepping:
    """The tables of a step, with no room for contacts. size : of the state; ledger : where its entries of contact begin;
    soft : the SOFT table."""
    bodies, rows = len(system.bodies), len(system.error)
    options = _row(OPTIONS)
    options.dt, options.margin, options.iterations = settings.dt, settings.margin, settings.iterations
    options.tolerance, options.ledger = settings.tolerance, ledger
    options.separates = SOLVERS[settings.solver].separates
    options.slop = settings.slop
    options.predict = int(((system.forces.kind != FIELD) & (system.forces.implicit == 0)).any())
    options.fresh, options.sleep_after, options.sleep_speed = 1, settings.sleep_after, settings.sleep_speed
    sizes = {"state": size, "bodies": bodies, "rows": rows, "contacts": 0}
    return allocate(
        Stepping, sizes, options=options, bounds=make_bounds(system, size), soft=soft, slow=slowness(system),
        own_system=np.zeros(SIZE_OF_SYSTEM),
    )  # fmt: skip


def slowness(system: System) -> np.ndarray:
    """(bodies,) for `Stepping.slow`, at the start. What has joints, springs or forces of the user's never sleeps."""
    found = np.zeros(len(system.bodies) + 1)
    forces = system.forces[np.isin(system.forces.kind, KEEPS_AWAKE)]
    for body in (*forces.a, *forces.b, *system.incidences.body):
        found[body] = -np.inf
    return found[:-1]


def linked(system: System) -> np.ndarray:
    """(bodies + 1,) for `Collision.linked`: all that joints hold is taken for one thing."""
    found = np.full(len(system.bodies) + 1, FREE)
    jointed = np.unique(system.incidences.body)
    found[jointed] = jointed.min(initial=len(system.bodies))
    found[-1] = FREE
    return found


def make_bounds(system: System, size: int, soft: dict[int, int] | None = None) -> Any:
    """What acts on coordinates within bounds, one row a force; `size` is that of the state. soft : force → row of the SOFT
    table, of those that take part as bounds."""
    taken = soft or {}
    chosen = np.flatnonzero((system.forces.kind >= BOUNDED) | np.isin(np.arange(len(system.forces)), list(taken)))
    bounds = np.zeros(len(chosen), BOUND).view(np.recarray)
    for bound, number in zip(bounds, chosen, strict=True):
        force = system.forces[number]
        coordinate = system.coordinates[force.coordinate]
        bound.force, bound.a, bound.b = number, coordinate.a, coordinate.b
        bound.entry = size - len(system.power) + force.ledger
        bound.least, bound.most = (0.0, np.inf) if force.kind == STOP else (-np.inf, np.inf)
        bound.state, bound.soft = AT_LEAST if force.kind == STOP else HELD, taken.get(int(number), -1)
    return bounds
