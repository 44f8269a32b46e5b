"""Queries of a running simulation: contacts, sleeping bodies, rays, distances, constraint matrices, and tables as text."""

from __future__ import annotations

import functools
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..collide import query
from ..collide.detect import Detector, collision_of
from ..collide.tables import CONTACTS
from ..collide.tables import Collision as Tables
from ..contact.contact_point import Contact
from ..core.arrays import VectorLike
from ..core.tables import Column, column_of, is_table
from ..impact.impact import ContactEvent
from ..integrate.stepper import Stepper
from ..model.compile import Model
from ..model.tables import STATE_SIZE
from .constraint_system import ConstraintSystem, conditions, read_system
from .recording import Recorder
from .state import Named, name_of

if TYPE_CHECKING:
    import xarray
    from scipy.sparse import csr_array


# Rays, distances and overlaps, by name --------------------------------------------------------------------------------


@dataclass(frozen=True)
class RayHit:
    """The first intersection of a ray. name : name of the body or obstacle. distance : m. point : (3,) m. normal : (3,)
    unit, outward."""

    name: str
    distance: float
    point: np.ndarray
    normal: np.ndarray


@dataclass(frozen=True)
class Gap:
    """The nearest points of two bodies or obstacles, world axes. distance : m; for overlaps it is minus the length of
    the smallest translation that separates them. normal : (3,) unit, from a to b. point_a, point_b : (3,) m, on their
    surfaces."""

    distance: float
    normal: np.ndarray
    point_a: np.ndarray
    point_b: np.ndarray


class Queries:
    """Bodies and obstacles with a material, at the state of the last `update`. The distance to a compound is that to its
    nearest part."""

    def __init__(self, model: Model) -> None:
        self._names = [item.name for item in model.scene.touching()]
        self._bodies = len(model.body_names)
        tables = collision_of(model.scene)
        parts = [len(getattr(item.shape, "parts", (None,))) for item in model.scene.touching()]
        self._name_of = [name for name, count in zip(self._names, parts, strict=True) for _ in range(count)]
        self._colliders = {name: [i for i, owner in enumerate(self._name_of) if owner == name] for name in self._names}
        self._detector = Detector(tables)

    def update(self, y: np.ndarray) -> Queries:
        """Set all poses from a state vector, and detect collisions. Raises ValueError for a pose that is not finite."""
        if self._detector(np.ascontiguousarray(y[: STATE_SIZE * self._bodies]), 0.0) != 0:
            raise ValueError("a pose is not finite: distances and rays cannot be computed")
        return self

    @property
    def _tables(self) -> Tables:
        return self._detector.collision

    @property
    def size(self) -> float:
        """The radius of the smallest body or obstacle, m."""
        tables = self._tables
        return float(tables.colliders.radius[tables.order].min(initial=1.0))

    def ray_cast(self, origin: VectorLike, direction: VectorLike, reach: float = math.inf) -> RayHit | None:
        """See `Simulation.ray_cast`."""
        if isinstance(reach, bool) or not isinstance(reach, Real) or not reach > 0.0:
            raise ValueError(f"ray_cast: reach is {reach!r:.80}; give a length above zero in m, or leave it out")
        hit = query.ray_cast(self._tables, np.asarray(origin), np.asarray(direction), reach)
        if hit is None:
            return None
        return RayHit(self._name_of[hit.collider], hit.distance, hit.point, hit.normal)

    def gap(self, a: str, b: str) -> Gap:
        """See `Simulation.gap`."""
        for name in (a, b):
            if name not in self._colliders:
                raise ValueError(
                    f"gap: unknown body or obstacle {name!r}; those with a material are {', '.join(self._names)}"
                )
        if a == b:
            raise ValueError(f"gap: {a!r} is given twice; give two bodies or obstacles")
        found = [query.closest_points(self._tables, i, j) for i in self._colliders[a] for j in self._colliders[b]]
        return Gap(*min(found, key=lambda points: points.distance))

    def overlapping(self) -> list[tuple[str, str]]:
        """See `Simulation.overlapping`."""
        return sorted(self.overlaps())

    def overlaps(self) -> dict[tuple[str, str], float]:
        """The depth of each pair that overlaps, m: that of its deepest contact point."""
        tables, place = self._tables, {name: i for i, name in enumerate(self._names)}
        rows = tables.contacts[: int(tables.counts[CONTACTS])]
        rows = rows[rows.separation <= 0.0]
        pairs = tables.pairs[rows.pair]
        found: dict[tuple[str, str], float] = {}
        for a, b, separation in zip(pairs.a.tolist(), pairs.b.tolist(), rows.separation.tolist(), strict=True):
            one, two = sorted((self._name_of[a], self._name_of[b]), key=place.__getitem__)
            found[one, two] = max(found.get((one, two), 0.0), -separation)
        return found


# Tables as text, with names and units ---------------------------------------------------------------------------------

DEEPEST = 3  # levels of nested objects that are searched for tables
NARROW = 10  # characters: numbers are printed with as many digits as fit


def find_tables(*owners: Any) -> dict[str, Any]:
    """The tables in objects of this package, by the names of their classes: "system", "joint_space"."""
    found: dict[str, Any] = {}

    def add(value: Any, depth: int) -> None:
        if is_table(type(value)):
            if found.setdefault(_name(type(value)), value) is value:
                for inside in value:
                    if isinstance(inside, tuple):
                        add(inside, depth)
        elif type(value).__module__.startswith("dalembert.") and depth < DEEPEST and hasattr(value, "__dict__"):
            for own in vars(value).values():
                add(own, depth + 1)

    for owner in owners:
        add(owner, 0)
    return found


def list_tables(tables: dict[str, Any]) -> str:
    """One line for each array of all tables: its name, length, kind, unit, writer and meaning."""
    lines = [("table", "rows", "of", "unit", "writer", "")]
    for name, table in tables.items():
        for field in table._fields:
            column = column_of(type(table), field)
            if column.fields is None:
                kind = f"records of {len(column.dtype.names)}" if column.dtype.names else str(column.dtype)
                unit = "" if column.dtype.names else column.unit
                length = str(len(getattr(table, field)))
                lines.append((f"{name}.{field}", length, kind, unit, column.writer, column.doc))
    return _aligned(lines)


def show_table(tables: dict[str, Any], name: str, most: int) -> str:
    """The first rows of an array, "contacts" or "collision.contacts": records as columns with their units.

    Raises ValueError for an unknown name, or one that several tables have.
    """
    full = [f"{owner}.{field}" for owner, table in tables.items() for field in table._fields]
    wanted = [one for one in full if one == name or one.endswith(f".{name}")]
    arrays = {id(_at(tables, one)): one for one in reversed(wanted)}
    if len(arrays) != 1:
        which = f"{name!r} is in {', '.join(wanted)}; give one of these" if arrays else f"there is no table {name!r}; "
        raise ValueError(which if arrays else which + f"there are {', '.join(full)}")
    (path,) = arrays.values()
    owner, field = path.split(".")
    table, column = tables[owner], column_of(type(tables[owner]), field)
    values = getattr(table, field)
    if column.fields is not None:
        return list_tables({_name(column.fields): values})
    used = _used(table, column, len(values))
    head = f"{path}: {used} of {len(values)} rows" + (f", {column.doc}" if column.doc else "")
    head += f" (written by {column.writer})" if column.writer else ""
    rows = values[: min(used, most)]
    more = [f"… {used - most} more"] if used > most else []
    if column.dtype.names is None:
        numbers = [(str(i), _number(value)) for i, value in enumerate(rows)]
        return "\n".join([head, _aligned([("row", column.unit or "value"), *numbers]), *more])
    units = dict(re.findall(r"(\w+) ([^,]+)", column.unit))
    titles = ["row", *(f"{one} ({units[one]})" if one in units else one for one in column.dtype.names)]
    records = [(str(i), *(_entry(np.asarray(row[one])) for one in column.dtype.names)) for i, row in enumerate(rows)]
    return "\n".join([head, _aligned([tuple(titles), *records]), *more])


def _name(kind: type) -> str:
    """The name of a class in lower case: "joint_space" of JointSpace."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def _at(tables: dict[str, Any], path: str) -> Any:
    owner, field = path.split(".")
    return getattr(tables[owner], field)


def _used(table: Any, column: Column, rows: int) -> int:
    """The number of rows in use."""
    if not column.used:
        return rows
    return int(eval(column.used, vars(sys.modules[type(table).__module__]) | table._asdict()))


def _entry(value: np.ndarray) -> str:
    return " ".join(_number(one) for one in value.reshape(-1))


def _number(value: Any) -> str:
    return str(value) if isinstance(value, (np.integer, int)) else f"{float(value):.{NARROW - 6}g}"


def _aligned(lines: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


# Queries as methods of `Simulation` -----------------------------------------------------------------------------------


class Inspection:
    """The part of `Simulation` that answers queries; no query changes the run."""

    model: Model
    time: Any  # s, a property of `Simulation`
    recorder: Recorder
    released: dict[str, float]
    settings: dict[str, Any]
    _driver: Stepper
    _mechanism: Any
    _y: np.ndarray

    @property
    def contacts(self) -> list[Contact]:
        """The contact points of the last time step, with their forces. Points that nearly touch are included, with zero
        force.
        """
        return self._driver.contacts(self.model)

    @property
    def asleep(self) -> list[str]:
        """The names of sleeping bodies: see `sleep_after`."""
        return self._driver.asleep(self.model)

    @property
    def contact_events(self) -> list[ContactEvent]:
        """The log of impacts and resting contacts, for runs with contact by events."""
        return self._driver.log

    def debug(self, table: str = "", rows: int = 20) -> str:
        """The tables of the compiled code as text: a list of all tables, with length, unit, writer and meaning; or the
        first rows of one table, such as "kinematics" or "collision.contacts", with the names and units of its columns.

        Raises ValueError for an unknown or ambiguous name.

        >>> import dalembert as dal
        >>> scene = dal.Scene("fall", gravity=(0.0, 0.0, -10.0))
        >>> ball = scene.add_body("ball", dal.Sphere(0.1), mass=2.0, velocity=(1.5, 0.0, 0.0))
        >>> print(dal.Simulation(scene).debug("bodies").splitlines()[0])
        system.bodies: 1 of 1 rows, rigid bodies and then nodes (written by model.compile)
        """
        found = find_tables(self._mechanism, self._driver)
        return show_table(found, table, rows) if table else list_tables(found)

    def ray_cast(self, origin: VectorLike, direction: VectorLike, reach: float = math.inf) -> RayHit | None:
        """The first intersection of a ray from `origin` (m) along `direction`, at most `reach` (m) long, with a body or
        obstacle that has a material; None if there is none.

        Raises ValueError for non-finite values, a zero direction, and a reach that is not above zero.
        """
        return self._queries.update(self._y).ray_cast(origin, direction, reach)

    def gap(self, a: str | Named, b: str | Named) -> Gap:
        """The nearest points of two bodies or obstacles with a material, and their distance; negative where they overlap.

        Raises ValueError for an unknown name.
        """
        scene = self.model.scene
        return self._queries.update(self._y).gap(name_of(a, scene), name_of(b, scene))

    def overlapping(self) -> list[tuple[str, str]]:
        """The names of all pairs that overlap, without pairs that do not collide with each other."""
        return self._queries.update(self._y).overlapping()

    def constraint_system(self) -> ConstraintSystem:
        """The linear system of the constraints at the current state, J W Jᵀ λ = b, with all forces except contact
        forces: the SciPy matrix, b, λ, the joint of each row, and the elimination order. `plot` draws it.

        Raises ValueError in joint or generalized coordinates, and for scenes without joints.

        >>> import dalembert as dal
        >>> scene = dal.Scene("pendulum")
        >>> bob = scene.add_body("bob", dal.Sphere(0.1), mass=2.0, position=(0.5, 0.0, 0.0))
        >>> pivot = scene.rod("string", dal.WORLD, bob, at_a=(0.0, 0.0, 0.0), at_b=(0.5, 0.0, 0.0))
        >>> dal.Simulation(scene).constraint_system().matrix.toarray().tolist()
        [[0.5]]
        """
        return read_system(self._require_system(), self._driver.time, self._y, self.released)

    def constraint_matrix(self) -> csr_array:
        """J W Jᵀ at the current state, (rows, rows), as scipy.sparse.csr_array: see `constraint_system`."""
        return self.constraint_system().matrix

    def conditions(self, equilibration: str | None = None) -> xarray.DataArray:
        """The condition number (1-norm, see `condition_number`) of the constraint system at each recorded frame.

        equilibration : None, or "mc64", "alg3" or "ruiz" for the condition number of the scaled matrix. The result is
        infinite if the matrix is singular; the matrix of redundant constraints is singular to rounding. Raises the same
        errors as `constraint_system`.
        """
        model, frames = self._require_system(), self.recorder.frames
        return conditions(model, np.array(frames["time"]), np.array(frames["state"]), self.released, equilibration)

    def _require_system(self) -> Model:
        if self.settings["coordinates"] == "generalized":
            raise ValueError("generalized coordinates have no constraint system of joints; use coordinates='maximal'")
        return self.model

    @functools.cached_property
    def _queries(self) -> Queries:
        return Queries(self.model)
