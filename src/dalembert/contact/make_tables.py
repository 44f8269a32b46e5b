"""The tables of time steps, as long as a mechanism needs them; room for contacts comes when they are known."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import FREE
from ..model.force_kinds import KEEPS_AWAKE
from ..model.tables import BOUNDED, FIELD, STOP, System
from .bearing import SIZE as SIZE_OF_SYSTEM
from .solvers import SOLVERS
from .tables import (
    AT_LEAST,
    BOUND,
    HELD,
    MOTION,
    OPTIONS,
    REPORT,
    ROW,
    STEP_STAGES,
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
    return Stepping(
        options=options,
        report=_row(REPORT),
        saved=np.zeros(size),
        motion=np.zeros(MOTION * (bodies + 1)),
        shift=np.zeros(MOTION * (bodies + 1)),
        rows=np.zeros(0),
        corrections=np.zeros(0),
        first_impulses=np.zeros(0),
        first_motion=np.zeros(MOTION * (bodies + 1)),
        first_joint_impulses=np.zeros(rows),
        bounds=make_bounds(system, size),
        soft=soft,
        targets=np.zeros(rows),
        joint_impulses=np.zeros(rows),
        change=np.zeros(rows),
        rates=np.zeros(rows),
        answer=np.zeros(2),
        ticks=np.zeros(len(STEP_STAGES) + 3),
        passes=np.zeros(bodies, np.int64),
        waits=np.zeros(bodies, np.int64),
        slow=slowness(system),
        levels=np.zeros(bodies + 1, np.int64),
        queue=np.zeros(bodies, np.int64),
        link_starts=np.zeros(bodies, np.int64),
        link_ends=np.zeros(bodies, np.int64),
        links=np.zeros(0, np.int64),
        own_rows=np.zeros(0),
        own_system=np.zeros(SIZE_OF_SYSTEM),
        standing=np.zeros(MOTION * (bodies + 1)),
        kept_motion=np.zeros(MOTION * (bodies + 1)),
        kept_impulses=np.zeros(0),
    )


def with_room(tables: Stepping, contacts: int) -> Stepping:
    """The same with room for so many contacts."""
    return tables._replace(
        rows=np.zeros(ROW * contacts), corrections=np.zeros(contacts), first_impulses=np.zeros(3 * contacts),
        links=np.zeros(2 * contacts, np.int64), own_rows=np.zeros(ROW * contacts), kept_impulses=np.zeros(3 * contacts),
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
