"""The solvers of contact, by name. A file adds one with `SOLVERS.add`, and is listed in `contact.SOLVER_FILES`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import FREE
from ..core.jit import CFunction
from ..core.registry import Registry
from ..core.tables import allocate
from ..model.force_kinds import KEEPS_AWAKE
from ..model.tables import (
    CABLE_BODY,
    CABLE_COUNT,
    CABLE_ELEMENT,
    CABLE_HEADER,
    CABLE_PULL,
    FIELD,
    LENGTH,
    LIMITED,
    STOP,
    System,
)
from .shock_propagation import SIZE as SIZE_OF_SYSTEM
from .tables import AT_LEAST, BOUND, HELD, MEMBER, MOTION, OPTIONS, SPEEDS, Stepping


def no_workspace(mechanism: Any, settings: Any, bounds: Any) -> tuple[()]:
    """The workspace of a solver that needs none."""
    return ()


def same_workspace(workspace: Any, contacts: Any) -> Any:
    """A workspace whose size does not depend on the contacts."""
    return workspace


class ContactSolver(NamedTuple):
    """A solver of the impulses of a step, and its defaults.

    help : what it does, in a few words. iterations : most iterations in a step. tolerance : at which it stops; unit : of
    that, "m/s" or "relative". slop : overlap that is tolerated, in sizes of the smallest collider.
    tolerance_of_many : m/s, at which it stops in an island of more than `tables.MANY` contacts, where the user gives none.
    compiled : its C function, whose `data` is the address of `tables.ContactTables`; None for a solver that is part of the
    step. function : the same in Python, (task, tables, workspace) → status. Its tasks are SOLVE_IMPULSES and, if it
    `separates`, SOLVE_DISPLACEMENTS of the overlap that Gauss–Seidel leaves (`position_correction`).
    make_workspace : (mechanism, settings, bounds), and laws=True where contacts may have laws of surfaces, → a table that
    only the solver knows, at `callbacks[0].workspace` in compiled code; fit_workspace : (workspace, contacts) → the same with
    room for as many contacts as that table has.
    """

    help: str
    iterations: int
    tolerance: float
    unit: str
    slop: float
    compiled: CFunction | None = None
    function: Callable[..., int] | None = None
    separates: bool = False
    tolerance_of_many: float = 0.0
    make_workspace: Callable[..., Any] = no_workspace
    fit_workspace: Callable[[Any, Any], Any] = same_workspace


SOLVERS: Registry[ContactSolver] = Registry("solver", "dalembert.contact", "SOLVER_FILES")
DEFAULT = "gauss_seidel"
# The gap over which a contact keeps its force: the slop, or in long steps a part of the way that weight moves a body in a
# step, but no more than some times the slop. In a pile at rest, to close the gaps of some micrometres that rocking leaves,
# all of the pile would have to move, and often no velocities do that. Links, which motors hold: a part of the slop.
KEPT, MOST_KEPT, KEPT_BY_LINKS = 0.01, 10.0, 0.1
# It is part of the step: see `solve`.
SOLVERS.add(
    DEFAULT,
    ContactSolver(
        "Gauss–Seidel with warm start, then the converging solver for islands that are not solved",
        20,
        1e-6,
        "m/s",
        1e-5,
    ),
)


# The tables of a step ---------------------------------------------------------------------------------------------------


class StepSettings(NamedTuple):
    """How a step is made.

    dt : s. solver : a name of `solvers.SOLVERS`. iterations : most iterations of the solver. tolerance : m/s, the residual
    at which it stops; tolerance_of_many : m/s, see `ContactSolver`. margin : m, within which collision detection finds
    pairs. fall : m, half of what weight moves a body by in a step. slop : m, overlap that is tolerated.
    stop_unsolved : whether a step whose solver misses the tolerance ends the run. threads : how many share the work.
    sleep_after : s of rest after which bodies in contact sleep; zero: never. sleep_speed : m/s, below which bodies are at
    rest. finishes : whether islands and impacts that sweeps leave unsolved go to the converging solver."""

    dt: float
    solver: str
    iterations: int
    tolerance: float
    tolerance_of_many: float
    margin: float
    fall: float
    slop: float
    stop_unsolved: bool
    threads: int
    sleep_after: float
    sleep_speed: float
    finishes: bool


def _row(dtype: Any) -> Any:
    return np.zeros(1, dtype).view(np.recarray)


def make_stepping(
    system: System, size: int, ledger: int, settings: StepSettings, soft: Any, **joint_space: Any
) -> Stepping:
    """The table of a step, without room for contacts yet. size : of the state; ledger : where its entries of contact begin;
    soft : the SOFT table. joint_space : in joint coordinates `packed`, the number of speeds, and the fields that differ."""
    bodies, rows = len(system.bodies), len(system.error)
    options = _row(OPTIONS)
    options.dt = options.whole = settings.dt
    options.margin, options.iterations = settings.margin, settings.iterations
    options.tolerance, options.ledger = settings.tolerance, ledger
    options.tolerance_of_many = settings.tolerance_of_many
    options.separates = SOLVERS[settings.solver].separates
    options.fall = settings.fall
    options.slop, options.finishes = settings.slop, settings.finishes
    kept = min(max(1.0, KEPT * 2.0 * settings.fall / settings.slop), MOST_KEPT) if settings.slop > 0.0 else 0.0
    options.kept = settings.slop * (KEPT_BY_LINKS if joint_space else kept)
    steady = (system.forces.kind == FIELD) | (system.forces.implicit != 0)
    if joint_space:  # where what falls is seen ahead without it: see `joint_space.show_falling`
        steady |= system.forces.kind == STOP
    options.predict = int((~steady).any())
    options.corrects = int((~steady & (system.forces.kind < LIMITED)).any())
    options.fresh, options.sleep_after, options.sleep_speed = 1, settings.sleep_after, settings.sleep_speed
    packed = joint_space.pop("packed", MOTION * (bodies + 1))
    sizes = {
        "state": size,
        "bodies": bodies,
        "rows": rows,
        "contacts": 0,
        "packed": packed,
        "exerted": len(system.exerted),
    }
    if not joint_space:
        bounds = make_bounds(system, size)
        joint_space = {
            "bounds": bounds, "slow": slowness(system), "members": members_of(system, len(bounds)),
            "state_of_bodies": np.zeros(0),
        }  # fmt: skip
    bounds = joint_space["bounds"]
    return allocate(
        Stepping, sizes, options=options, soft=soft, support_system=np.zeros(SIZE_OF_SYSTEM), walls=np.zeros(0),
        numbers_of_bounds=numbers_of(bounds), numbers_of_soft=numbers_of(soft), saved_bounds=numbers_of(bounds).copy(),
        saved_soft=numbers_of(soft).copy(), **joint_space,
    )  # fmt: skip


def numbers_of(records: Any) -> np.ndarray:
    """The memory of records of 8-byte fields as numbers."""
    return np.frombuffer(records.data, np.float64) if len(records) else np.zeros(0)


def members_of(system: System, bounds: int) -> Any:
    """The MEMBER table; the first body with joints has all bounds."""
    groups = linked(system)
    members = np.zeros(len(system.bodies), MEMBER).view(np.recarray)
    members.first_speed = MOTION * np.arange(len(members))
    members.end_speed = members.first_speed + SPEEDS
    members.end_bound[groups[:-1] == np.arange(len(members))] = bounds
    return members


def slowness(system: System) -> np.ndarray:
    """(bodies,) for `Stepping.slow`, at the start. Bodies with joints, springs, cables or the user's forces never sleep."""
    slow = np.zeros(len(system.bodies) + 1)
    forces = system.forces[np.isin(system.forces.kind, KEEPS_AWAKE)]
    for body in (
        *forces.a,
        *forces.b,
        *system.incidences.body,
        *bodies_on_cables(system),
        *ends_of_cables(system).ravel(),
    ):
        slow[body] = -np.inf
    return slow[:-1]


def linked(system: System) -> np.ndarray:
    """(bodies + 1,) for `Collision.linked`: all bodies with joints, and on cables that are limits, are one group."""
    groups = np.full(len(system.bodies) + 1, FREE)
    ends = ends_of_cables(system).ravel()
    jointed = np.unique(np.concatenate([system.incidences.body, ends[ends < len(system.bodies)]]))
    groups[jointed] = jointed.min(initial=len(system.bodies))
    groups[-1] = FREE
    return groups


def ends_of_cables(system: System) -> np.ndarray:
    """(n, 2) the rows of the bodies on which each cable acts whose length is a limit."""
    coordinates = system.coordinates[system.forces.coordinate[system.forces.kind == STOP]]
    coordinates = coordinates[coordinates.kind == LENGTH]
    return np.column_stack([coordinates.a, coordinates.b]).astype(np.int64)


def bodies_on_cables(system: System) -> list[int]:
    """The rows of the bodies that cables that stretch run through."""
    found: list[int] = []
    for at in system.forces.address[system.forces.kind == CABLE_PULL]:
        count, first = int(system.curves[at + CABLE_COUNT]), at + CABLE_HEADER + CABLE_BODY
        found += system.curves[first : first + CABLE_ELEMENT * count : CABLE_ELEMENT].astype(int).tolist()
    return found


def make_bounds(system: System, size: int, soft: dict[int, int] | None = None) -> Any:
    """The BOUND table, one row a force; `size` is that of the state. soft : force → row of the SOFT table, of those that take
    part as bounds."""
    taken = soft or {}
    chosen = np.flatnonzero((system.forces.kind >= LIMITED) | np.isin(np.arange(len(system.forces)), list(taken)))
    bounds = np.zeros(len(chosen), BOUND).view(np.recarray)
    for bound, number in zip(bounds, chosen, strict=True):
        force = system.forces[number]
        coordinate = system.coordinates[force.coordinate]
        bound.force, bound.a, bound.b = number, coordinate.a, coordinate.b
        bound.entry = size - len(system.power) + force.ledger
        bound.least, bound.most = (0.0, np.inf) if force.kind == STOP else (-np.inf, np.inf)
        bound.freedom = bound.at = -1
        bound.state, bound.soft = AT_LEAST if force.kind == STOP else HELD, taken.get(int(number), -1)
    return bounds
