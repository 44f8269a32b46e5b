"""`run_batch`: many runs of one scene inside one compiled call per thread. In order: threads and their records, the
results, members given as scenes, members given as arrays, and `run_batch`."""

from __future__ import annotations

import functools
import itertools
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import NumbersLike
from ..core.c_function import C_TYPE
from ..core.jit import DISABLED
from ..core.keywords import with_keywords
from ..core.notebook import block, lines, title
from ..core.renamed import SETTINGS as RENAMED
from ..core.renamed import renamed_keywords
from ..core.status import MESSAGES, OK
from ..core.tables import address_table
from ..core.thread_pool import MOST_THREADS, cores
from ..dynamics.joint_space.mechanism import JointMechanism
from ..dynamics.mechanism import NOT_CLOSED, SINGULAR, USER_FUNCTION, Mechanism
from ..model.compile import Model, compile_scene
from ..model.tables import FIELD, PARTICLE_FIELD, STATE_SIZE
from ..scene.checks import rotation_matrix
from ..scene.motion import moves_by_command
from ..scene.scene import Scene
from ..simulation.clock import frame_times, require_few_frames
from ..simulation.initial_conditions import CLOSED, NEARLY_DEPENDENT, redundant
from ..simulation.methods.explicit import smooth_weights
from ..simulation.recording import ledger, work_done
from ..simulation.registry import positive
from ..simulation.settings import BatchSettings
from ..simulation.simulation import Simulation
from ..simulation.trajectory import VARIABLES
from . import batch_kernel as tables
from .batch_kernel import (
    ALONE,
    APART_AT_START,
    BATCH_ENTRY,
    CANNOT_CLOSE,
    DEPENDENT,
    INTERRUPTED,
    NEXT,
    NOT_RUN,
    OPEN_AT_START,
    STOP,
    Member,
    Varied,
    Worker,
    Workspace,
    bytes_of,
    member_tables,
    run_members,
    tables_of_system,
)
from .batch_sensors import BatchSensors, SampledStates, rates_of, rows_of

if TYPE_CHECKING:
    import xarray


# Threads, each with a workspace of its own, and their records ---------------------------------------------------------

CHECK_INTERVAL = 0.1  # s between checks for Ctrl-C


class Members(NamedTuple):
    """The members of a batch. varied : the bytes that differ from one to the next. owners : objects whose memory their
    numbers point to, which must live as long as the batch. models : of members given as scenes. seeds : of sensors whose seed
    varies, (m,)."""

    varied: list[Varied]
    number: int
    owners: list[Any]
    models: list[Model]
    seeds: dict[str, np.ndarray]


class Record:
    """The record of m members at f times: n numbers of state, energies, errors of joints, and outcomes."""

    interrupted = False  # whether Ctrl-C ended the batch early

    def __init__(self, members: int, times: np.ndarray, size: int, sampled: SampledStates) -> None:
        rows, self.sampled = len(times) + 1, sampled
        self.times = np.full(rows, np.nan)
        self.states, self.energies = np.empty((members, rows, size)), np.empty((members, rows, 2))
        self.errors, self.error_rates = np.empty((members, rows)), np.empty((members, rows))
        self.outcomes: Any = np.zeros(members, tables.OUTCOME).view(np.recarray)
        self.outcomes["status"] = tables.NOT_RUN
        self.shared = np.zeros(16, np.int64)


class Thread:
    """The tables with which one thread runs members: those of a run of its own."""

    def __init__(self, run: Workspace, varied: list[Varied], targets: np.ndarray, record: Record) -> None:
        self.run, self._varied = run, varied  # whose arrays the addresses below are of
        mechanism: Any = run._mechanism
        stepper: Any = run._driver.stepper  # type: ignore[attr-defined]
        joint = isinstance(mechanism, JointMechanism)
        own = np.zeros(1, tables.OWN).view(np.recarray)
        own.mechanism, own.handle = mechanism.address, mechanism.data
        own.stepper, own.steps = stepper.address, stepper.data
        own.joint, own.assemble = joint, run._assemble
        own.members, own.rows = len(record.outcomes), len(record.times)
        own.samples = record.sampled.times.shape[1]
        own.closed, own.dependent = CLOSED, NEARLY_DEPENDENT
        found = member_tables(run)
        image = np.concatenate([bytes_of(table) for table in run.made.values()])
        places = np.cumsum([0, *(table.nbytes for table in run.made.values())])
        rows = [
            (found[name].ctypes.data, table.nbytes, first)
            for (name, table), first in zip(run.made.items(), places, strict=False)
        ]
        more = [
            (found[item.table].ctypes.data + item.first, item.values.shape[1], item.values.ctypes.data)
            for item in varied
        ]
        z: Any = (mechanism.z, mechanism.dzdt, mechanism._known, mechanism.tables.y) if joint else (np.zeros(0),) * 4
        self.tables = Worker(  # type: ignore[call-arg]
            own, run._system, stepper.tables.clock, stepper.tables.plan,
            np.array(rows, tables.TABLE).view(np.recarray), image, np.array(more, tables.VARIED).view(np.recarray),
            run._y, run._dydt, np.full_like(run._y, np.nan), *z, targets, record.shared, record.times,
            record.states.reshape(-1), record.energies.reshape(-1), record.errors.reshape(-1), record.error_rates.reshape(-1),
            record.outcomes, record.sampled.rates, np.zeros(len(record.sampled.rates), np.int64), record.sampled.counts,
            record.sampled.times.reshape(-1), record.sampled.states.reshape(-1), record.sampled.z.reshape(-1),
        )  # fmt: skip
        self._table = address_table(self.tables)

    def work(self) -> None:
        """Run members until none is left."""
        if DISABLED:
            run_members(self.tables)
        else:
            C_TYPE(BATCH_ENTRY.address)(self._table.ctypes.data, 0, 0.0, 0, 0, 0, 0)


def work_together(threads: list[Thread], record: Record, progress: Callable[[int, int], Any] | None) -> None:
    """Run all members, until Ctrl-C. `progress` is called with the number of started members and the number of all."""
    members = len(record.outcomes)
    if not DISABLED:
        BATCH_ENTRY.compile()
    helpers = [threading.Thread(target=thread.work, daemon=True) for thread in threads]
    for helper in helpers:
        helper.start()
    running = True
    while running:
        try:
            for helper in helpers:
                helper.join(CHECK_INTERVAL)
            running = any(helper.is_alive() for helper in helpers)
            if progress is not None:
                progress(min(int(record.shared[NEXT]), members), members)
        except KeyboardInterrupt:
            record.interrupted = True
            record.shared[STOP] = 1


# Results: labelled arrays (member × time × body), and how each member ended -------------------------------------------

REASONS = {
    **MESSAGES,
    NOT_RUN: "was not run, because the batch was interrupted",
    INTERRUPTED: "was interrupted",
    OPEN_AT_START: "a joint is open at the start",
    APART_AT_START: "a joint has an opening velocity at the start",
    CANNOT_CLOSE: "the joints cannot be closed at the start",
    DEPENDENT: "its constraints are redundant at the start, and those of the first member are not; run it by itself",
    SINGULAR: "the constraint system cannot be solved",
    USER_FUNCTION: "a function of the scene failed",
    NOT_CLOSED: "the joints cannot be closed",
}
ENDINGS = {"status": "1", "frames": "1", "steps": "1", "rejected": "1", "evaluations": "1", "end_time": "s"}


class Batch:
    """Runs of m members of one scene, recorded at f instants; SI units. Made by `run_batch`.

    If a member fails, its frames until then are kept; its arrays are NaN after the failure.

    times : (f,) s. state : (m, f, n), the state vectors.
    position : (m, f, bodies, 3) m, a view of `state`, as are orientation (m, f, bodies, 4) (w, x, y, z), momentum and
        angular_momentum (m, f, bodies, 3), particle_position and particle_momentum (m, f, particles, 3).
    kinetic, potential : (m, f) J.
    joint_error, joint_velocity_error : (m, f) m and m/s, the largest of all joints.
    status : (m,), 0 for members that reached the end.
    frames, steps, rejected, evaluations : (m,), counts. end_time : (m,) s, simulated time at the end.
    sensors : name → `BatchReading`, with the samples of all members (m, samples, …).
    duration : s, of each run. wall_time : s, of the batch. threads : number of threads. interrupted : whether Ctrl-C
        ended the batch.
    """

    model: Model
    settings: dict[str, Any]
    arguments: dict[str, Any]
    duration: float
    wall_time: float
    threads: int
    interrupted: bool
    sensors: BatchSensors
    times: NDArray[np.float64]
    state: NDArray[np.float64]
    position: NDArray[np.float64]
    orientation: NDArray[np.float64]
    momentum: NDArray[np.float64]
    angular_momentum: NDArray[np.float64]
    particle_position: NDArray[np.float64]
    particle_momentum: NDArray[np.float64]
    kinetic: NDArray[np.float64]
    potential: NDArray[np.float64]
    joint_error: NDArray[np.float64]
    joint_velocity_error: NDArray[np.float64]
    status: NDArray[np.int64]
    frames: NDArray[np.int64]
    steps: NDArray[np.int64]
    rejected: NDArray[np.int64]
    evaluations: NDArray[np.int64]
    end_time: NDArray[np.float64]

    def __init__(
        self, template: Workspace, settings: dict[str, Any], members: Members, record: Record, duration: float,
        wall_time: float, threads: int,
    ) -> None:  # fmt: skip
        self._settings, self._varied, self._owners = settings, members.varied, members.owners
        self._seeds = members.seeds
        models = members.models
        self.sensors = BatchSensors(
            template, members.varied, members.seeds, lambda i: Workspace(models[i], **settings) if models else template,
            record.sampled,
        )  # fmt: skip
        self.model, self.settings, self.arguments = template.model, template.settings, template.arguments
        self.duration = duration
        self.wall_time, self.interrupted, self.threads = wall_time, record.interrupted, threads
        outcomes = record.outcomes
        number = len(outcomes)
        self.status, self.frames = outcomes.status, outcomes.frames
        self.steps, self.rejected, self.evaluations = outcomes.steps, outcomes.rejected, outcomes.evaluations
        self.end_time = outcomes.end
        rows = int(self.frames.max(initial=0))
        self.times = record.times[:rows]
        self.state = record.states[:, :rows]
        self.kinetic, self.potential = record.energies[:, :rows, 0], record.energies[:, :rows, 1]
        self.joint_error, self.joint_velocity_error = record.errors[:, :rows], record.error_rates[:, :rows]
        for member in np.flatnonzero(self.frames < rows):
            for array in (self.state, self.kinetic, self.potential, self.joint_error, self.joint_velocity_error):
                array[member, self.frames[member] :] = np.nan
        bodies, particles = len(self.model.body_names), self.model.particle_count
        parts = self.state[..., : STATE_SIZE * bodies].reshape(number, rows, bodies, STATE_SIZE)
        self.position, self.orientation = parts[..., 0:3], parts[..., 3:7]
        self.momentum, self.angular_momentum = parts[..., 7:10], parts[..., 10:13]
        points = self.state[..., self.model.particle_block].reshape(number, rows, 2, particles, 3)
        self.particle_position, self.particle_momentum = points[:, :, 0], points[:, :, 1]

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        span = f"{self.times[-1]:g} s" if len(self.times) else "nothing"
        failed = f", {len(self.failed)} failed" if len(self.failed) else ""
        return f"<Batch of {len(self)} × {self.model.name!r}: {span}, {len(self.times)} instants{failed}>"

    def _repr_html_(self) -> str:
        done, failed = int(self.ok.sum()), [str(member) for member in self.failed[:20]]
        more = ["…"] if len(self.failed) > len(failed) else []
        rows = [
            ("members", f"{len(self)}, of which {done} reached the end"),
            *([("failed", ", ".join([*failed, *more]))] if failed else []),
            ("simulated", f"{self.duration:g} s, at most {len(self.times)} frames each"),
            ("wall time", f"{self.wall_time:.4g} s on {self.threads} threads"),
            ("steps", f"{self.steps.sum()} in all, {self.steps.max(initial=0)} at most"),
            ("worst joint error", f"{np.nanmax(self.joint_error, initial=0.0):.3g} m"),
        ]
        return block(title(f"Batch of {self.model.name!r}"), lines(rows, ("failed",)))

    @property
    def ok(self) -> NDArray[np.bool_]:
        """(m,) whether each member reached the end."""
        return self.status == OK

    @property
    def failed(self) -> NDArray[np.int64]:
        """Indices of the members that did not reach the end."""
        return np.flatnonzero(self.status != OK)

    @cached_property
    def balance(self) -> NDArray[np.float64]:
        """(m, f) J: the energy error, the change of energy since the start minus the work of the forces."""
        earned = self.kinetic + self.potential - work_done(self.model, self.state)
        return earned - earned[:, :1]

    @property
    def energy_residual(self) -> NDArray[np.float64]:
        """(m,) J: the largest |balance| of each member; NaN if nothing was recorded."""
        return _worst(self.balance)

    @property
    def worst_joint_error(self) -> NDArray[np.float64]:
        """(m,) m: the largest joint error of each member; NaN if nothing was recorded."""
        return _worst(self.joint_error)

    def ledger(self, member: int) -> dict[str, NDArray[np.float64]]:
        """The recorded energy ledger of a member, frame by frame; see `Trajectory` for names and units."""
        rows = int(self.frames[member])
        energies = np.stack([self.kinetic[member, :rows], self.potential[member, :rows]], axis=1)
        return ledger(self.model, self.state[member, :rows], energies)

    def reason(self, member: int) -> str:
        """A short text on how a member ended; `error` has the details."""
        code = int(self.status[member])
        return f"member {member}: {REASONS.get(code, f'status {code}')} (t = {self.end_time[member]:.6g} s)"

    def alone(self, member: int) -> Simulation:
        """A `Simulation` of one member at its start. It gives the same bits, and all the data that a batch does not
        record.

        Raises IndexError for an unknown member, and the errors of `Simulation` if it cannot start.
        """
        if not -len(self) <= member < len(self):
            raise IndexError(f"there is no member {member}; there are {len(self)}")
        seeds = {name: int(own[member]) for name, own in self._seeds.items()}
        return Member(self.model, self._settings, self._varied, member, seeds)

    def error(self, member: int) -> Exception | None:
        """The exception that ends the run of a member, found by running it again; None if the run succeeds."""
        try:
            self.alone(member).advance(float(self.times[-1]) if len(self.times) > 1 else 1.0)
        except (RuntimeError, ValueError) as error:
            return error
        return None

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """The batch as an `xarray.Dataset` with axes member, time, body and so on, with units."""
        import xarray

        names = [name for name in VARIABLES if name in ARRAYS and hasattr(self, name)]
        data: dict[str, Any] = {}
        for name in names:
            variable, array = VARIABLES[name], getattr(self, name)
            axes = ("member", *(axis for axis in variable.dims if axis != "joint"))
            data[name] = axes, array, {"units": variable.units, "long_name": variable.description}
        for name, unit in ENDINGS.items():
            data[name] = ("member",), np.asarray(getattr(self, name)), {"units": unit}
        labels = {"time": ("time", self.times, {"units": "s"}), "body": list(self.model.body_names), "xyz": list("xyz")}
        found = xarray.Dataset(data, coords={**labels, "wxyz": list("wxyz")}, attrs={"scene": self.model.name})
        self.sensors.attach(found)
        return found

    def __str__(self) -> str:
        residual, errors = self.energy_residual, self.worst_joint_error
        lines = [
            ("scene", f"{self.model.name}, {self.settings['method']}, {len(self)} members on {self.threads} threads"),
            ("wall time", f"{self.wall_time:.4g} s, {1e3 * self.wall_time / len(self):.4g} ms per member"),
            ("steps", f"{int(self.steps.sum())} accepted, {int(self.rejected.sum())} rejected"),
            ("energy error", f"{_largest(residual):.3g} J at most"),
            ("worst joint error", f"{_largest(errors):.3g} m"),
            ("failed", f"{len(self.failed)} of {len(self)}"),
            *(("", self.reason(int(member))) for member in self.failed[:5]),
        ]
        return "\n".join(f"{name:<24}  {value}" for name, value in lines)


ARRAYS = (
    "state", "position", "orientation", "momentum", "angular_momentum", "particle_position", "particle_momentum", "kinetic",
    "potential", "balance", "joint_error", "joint_velocity_error",
)  # fmt: skip


def _worst(values: np.ndarray) -> np.ndarray:
    if not values.shape[1]:
        return np.full(len(values), np.nan)
    known = np.isfinite(values)
    return np.where(known.any(axis=1), np.abs(np.where(known, values, 0.0)).max(axis=1), np.nan)


def _largest(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.max()) if known.size else float("nan")


# Members as scenes of the same structure: the numbers in which they differ --------------------------------------------

MAY_DIFFER = ("address", "joint.options")  # of a user's function; addresses of the run's own


def differences(template: Workspace, scenes: Iterable[Scene | Model]) -> Members:
    """The members that these scenes are.

    Raises ValueError, naming the member and the difference, for another structure.
    """
    found = Differences(template)
    for member, scene in enumerate(scenes):
        try:
            model = found.compiled(scene)
        except ValueError as error:
            raise ValueError(f"member {member}: {error}") from None
        found.add(model, found.tables(model))
    return found.result()


class Differences:
    """Members of the structure of a template, and the bytes in which they differ."""

    def __init__(self, template: Workspace) -> None:
        self.template = template
        self._first = {name: table.tobytes() for name, table in template.made.items()}
        self._parts = parts_of(template.model)
        self._hubs, self._joint = len(template.model.graph.hubs) > 0, template.model.tree is not None
        maximal = not (self._hubs or self._joint or template._iterative)
        self._dependent = maximal and len(compile_scene(template.model.scene).graph.hubs) > 0
        self._rows: dict[str, list[bytes]] = {}
        self._owners: list[Any] = []
        self._models: list[Model] = []  # where there are sensors, which differ beside the tables

    def __len__(self) -> int:
        return len(self._owners)

    def compiled(self, scene: Scene | Model) -> Model:
        """The model of a member, as its own run would compile it. Raises ValueError."""
        if isinstance(scene, Model):
            if (scene.tree is not None) == self._joint and (len(scene.graph.hubs) > 0) == self._hubs:
                return scene
            scene = scene.scene
        if self._dependent and not redundant(compile_scene(scene)):
            raise ValueError(
                f"its constraints are independent at the start, and those of the first member are redundant; {ALONE}"
            )
        return compile_scene(scene, hubs=self._hubs, coordinates="joint" if self._joint else "maximal")

    def tables(self, model: Model) -> dict[str, np.ndarray]:
        """The tables of a member with its numbers."""
        mechanism = Mechanism(self.template._method.system(model))
        own: Any = mechanism.system.settings[0]
        own.hold, own.stiffness, own.damping = self.template._hold
        if model.tree is not None:
            mechanism = JointMechanism(model, mechanism)
        weights = smooth_weights(model, mechanism, self.template.method)
        found = tables_of_system(mechanism) | {"y": model.initial, "stepping.weights": weights}
        return {name: table for name, table in found.items() if name not in MAY_DIFFER}

    def signature(self, model: Model, tables: Mapping[str, np.ndarray]) -> Hashable:
        """How a member's structure differs from that of the template: equal for members of equal structure."""
        other = [(name, table) for name, table in tables.items() if table.tobytes() != self._first[name]]
        differ = [
            (name, table.shape, _whole_numbers(table))
            for name, table in other
            if (named := self.template.made[name]).shape != table.shape
            or _whole_numbers(named) != _whole_numbers(table)
        ]
        return (*parts_of(model), *differ)

    def add(self, model: Model, tables: Mapping[str, np.ndarray]) -> None:
        """Add a member. Raises ValueError, naming it and the difference, for another structure."""
        member = len(self)
        _require_same_parts(member, self._parts, parts_of(model))
        for name, table in tables.items():
            values = table.tobytes()
            if values != self._first[name]:
                _require_same_table(member, name, self.template.made[name], table)
            if name in self._rows or values != self._first[name]:
                self._rows.setdefault(name, [self._first[name]] * member).append(values)
        self._owners.append(model.pointers)
        if model.scene.sensors:
            self._models.append(model)

    def result(self) -> Members:
        """The members added since the last call."""
        rows, owners, models = self._rows, self._owners, self._models
        self._rows, self._owners, self._models = {}, [], []
        varied = [
            Varied(name, 0, np.frombuffer(b"".join(values), np.uint8).reshape(len(owners), -1))
            for name, values in rows.items()
        ]
        return Members(varied, len(owners), owners, models, {})


@functools.cache
def _whole_fields(dtype: np.dtype[Any]) -> list[str]:
    """The fields of whole numbers; "" for a table that is of such numbers."""
    if dtype.names is None:
        return [""] if dtype.kind in "iu" else []
    return [name for name in dtype.names if name not in MAY_DIFFER and dtype[name].base.kind in "iu"]


def _whole_numbers(table: np.ndarray) -> bytes:
    """The whole numbers in a table, which are structure."""
    plain = np.asarray(table)
    return b"".join((plain[field] if field else plain).tobytes() for field in _whole_fields(table.dtype))


def parts_of(model: Model) -> list[tuple[str, str, str]]:
    """The parts of a scene: category, name and kind of each."""
    return list(_parts(model.scene))


def _parts(scene: Scene) -> Iterator[tuple[str, str, str]]:
    for body in scene.bodies.values():
        yield "body", body.name, "with a prescribed motion" if moves_by_command(body) else ""
    for group in scene.particles.values():
        yield "group of particles", group.name, f"of {len(group)}"
    for joint in scene.joints.values():
        yield "joint", joint.name, f"({joint.kind}) between {joint.a.name!r} and {joint.b.name!r}"
    for force in scene.forces.values():
        yield "force", force.name, f"({force.kind})"
    for event in scene.events.values():
        yield "event", event.name, ""
    for sensor in scene.sensors.values():
        yield "sensor", sensor.name, f"({sensor.kind}) at {sensor.rate:g} Hz"


def _require_same_parts(member: int, first: list[tuple[str, str, str]], other: list[tuple[str, str, str]]) -> None:
    for k in range(max(len(first), len(other))):
        one, two = (parts[k] if k < len(parts) else None for parts in (first, other))
        if one != two:
            raise ValueError(
                f"member {member} has a different structure from the first: {_said(two)} where that has {_said(one)}; "
                f"members of a batch differ in numbers only; {ALONE}"
            )


def _said(part: tuple[str, str, str] | None) -> str:
    return "nothing more" if part is None else f"{part[0]} {part[1]!r} {part[2]}".strip()


def _require_same_table(member: int, name: str, own: np.ndarray, other: np.ndarray) -> None:
    if own.shape != other.shape:
        what = f"its table {name} has shape {other.shape}, not {own.shape}"
    else:
        whole = _whole_fields(own.dtype)
        differ = [f for f in whole if not np.array_equal(own[f] if f else own, other[f] if f else other)]
        if not differ:
            return
        what = f"{differ[0] or 'entries'} of its table {name} differ"
    raise ValueError(
        f"member {member} has a different structure from the first: {what}; members of a batch differ in numbers only "
        "(not in what is there, such as gravity or none)"
    )


# Members as arrays of values by name: the tables of a scene with these numbers ----------------------------------------

STATES = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3}
COORDINATES = ("position", "speed")
MOST_SEED = 2**53  # as arrays of numbers hold it exactly
SYMMETRIC = ((0, 3, 4), (3, 1, 5), (4, 5, 2))  # where (xx, yy, zz, xy, xz, yz) has its entries


def varied_by_name(run: Workspace, vary: Mapping[str, NumbersLike]) -> Members:
    """The members that these arrays describe. Raises ValueError."""
    return Variation(run, vary).result()


class Variation:
    """Rows of tables, one per member, from arrays by name."""

    def __init__(self, run: Workspace, vary: Mapping[str, NumbersLike]) -> None:
        self.model, self.made = run.model, run.made
        self.given = {name: _numbers(name, value) for name, value in vary.items()}
        lengths = {name: len(value) for name, value in self.given.items()}
        if not lengths:
            raise ValueError("vary is empty; give {name: array of one value per member}")
        self.members = next(iter(lengths.values()))
        for name, length in lengths.items():
            if length != self.members:
                raise ValueError(f"vary: {name!r} has {length} members, and {next(iter(lengths))!r} has {self.members}")
        self.joint = run._mechanism if isinstance(run._mechanism, JointMechanism) else None
        self.rows: dict[tuple[str, int], np.ndarray] = {}
        self.seeds: dict[str, np.ndarray] = {}

    def result(self) -> Members:
        """The members. Raises ValueError for unknown names, and for arrays of another shape."""
        states: dict[tuple[str, str], np.ndarray] = {}
        places: dict[tuple[str, str], np.ndarray] = {}
        masses: dict[str, np.ndarray] = {}
        scene = self.model.scene
        freedoms = {name for joint in scene.joints.values() for name in _freedoms_of(joint)}
        for name, values in self.given.items():
            owner, _, what = name.rpartition(".")
            if name == "gravity":
                self._gravity(self._shaped(name, (3,)))
            elif owner in self.model.body_names and what == "mass":
                masses[owner] = self._shaped(name, ())
            elif owner in self.model.body_names and what in STATES:
                states[owner, what] = self._shaped(name, (STATES[what],))
            elif owner in freedoms and what in COORDINATES:
                places[owner, what] = self._shaped(name, ())
            elif owner in self.model.force_names and self._force(owner, what, values):
                continue
            elif owner in scene.sensors and what == "seed":
                self.seeds[owner] = self._whole(name)
            else:
                raise ValueError(f"vary: there is no value called {name!r} to vary; {self._choices(freedoms)}")
        if states or places or masses:
            self._states(states, places, masses)
        found = [
            Varied(table, row * self.made[table].itemsize, _rows_of_bytes(values))
            for (table, row), values in self.rows.items()
        ]
        return Members(found, self.members, [], [], self.seeds)

    def _shaped(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        values = self.given[name]
        if values.shape != (self.members, *shape):
            wanted = ", ".join(map(str, (self.members, *shape)))
            raise ValueError(f"vary: {name!r} has shape {values.shape}; give ({wanted}{',' if not shape else ''})")
        return values

    def _whole(self, name: str) -> np.ndarray:
        """Seeds of a sensor."""
        values = self._shaped(name, ())
        if (values != np.floor(values)).any() or (values < 0.0).any() or (values > MOST_SEED).any():
            raise ValueError(f"vary: {name!r} has {values.tolist()!s:.60}; give whole numbers from 0 to {MOST_SEED}")
        return values.astype(np.int64)

    def _choices(self, freedoms: set[str]) -> str:
        body = next(iter(self.model.body_names), None)
        known = ["'gravity'"]
        known += [] if body is None else [f"{body + '.' + what!r}" for what in ("mass", *STATES)]
        known += [f"{name + '.' + what!r}" for name in sorted(freedoms)[:2] for what in COORDINATES]
        forces = [self.model.scene.forces[name] for name in self.model.force_names if name in self.model.scene.forces]
        varied = [(force.name, getattr(force, "parameters_to_vary", ())) for force in forces]
        known += [f"{name + '.' + fields[0]!r}" for name, fields in varied if fields][:2]
        known += [f"{name + '.seed'!r}" for name in self.model.scene.sensors][:1]
        return f"give names such as {', '.join(known)}; for other values give one scene per member"

    def row(self, table: str, index: int) -> Any:
        """A row of a table for each member, (members,), to be changed."""
        key = table, index
        if key not in self.rows:
            own = np.asarray(self.made[table]).reshape(-1)
            self.rows[key] = np.repeat(own[index : index + 1], self.members)
        return self.rows[key]

    def whole(self, table: str) -> np.ndarray:
        """All numbers of a table for each member, (members, size), to be changed."""
        key = table, 0
        if key not in self.rows:
            self.rows[key] = np.repeat(self.made[table].reshape(1, -1), self.members, axis=0)
        return self.rows[key]

    # Quantities --------------------------------------------------------------------------------------------------------

    def _gravity(self, values: np.ndarray) -> None:
        for table, kind in (("system.forces", FIELD), ("system.particle_forces", PARTICLE_FIELD)):
            own: Any = self.made[table]
            for index in np.flatnonzero((own["kind"] == kind) & (own["ledger"] <= 0)):
                if np.array_equal(own["vector"][index], self.model.scene.gravity):
                    self.row(table, int(index))["vector"] = values
        if not self.rows:
            raise ValueError("vary: 'gravity' varies, but the scene has no gravity; set a nonzero vector")

    def _force(self, name: str, what: str, values: np.ndarray) -> bool:
        """Whether it is a force on bodies or joints that has such a parameter."""
        forces: Any = self.made["system.forces"]
        force = self.model.scene.forces.get(name)
        if what not in getattr(force, "parameters_to_vary", ()):
            return False
        entry = self.model.force_names.index(name)
        for index in np.flatnonzero((forces["ledger"] == entry) & (forces["kind"] != FIELD)):
            self.row("system.forces", int(index))[what] = self._shaped(f"{name}.{what}", ())
        return True

    def _mass(self, name: str, mass: np.ndarray) -> np.ndarray:
        """Scale the density of a body. Returns the factor of its mass, (m,)."""
        index = self.model.body_names.index(name)
        if not (np.isfinite(mass) & (mass > 0.0)).all():
            member = int(np.argmin(np.isfinite(mass) & (mass > 0.0)))
            raise ValueError(
                f"vary: the mass of body {name!r} is {mass[member]!r} in member {member}; give kg above zero"
            )
        row = self.row("system.bodies", index)
        ratio = mass / row["mass"]
        row["mass"], row["inverse_mass"] = mass, 1.0 / mass
        row["inertia"] *= ratio[:, None]
        row["moments"] *= ratio[:, None]
        row["inverse_inertia"] /= ratio[:, None]
        if self.joint is None:
            at = STATE_SIZE * index
            weights = self.whole("stepping.weights")
            weights[:, at + 7 : at + 13] *= ratio[:, None]
            for i in np.flatnonzero(self.made["system.spins"]["body"] == index):
                carried = self.model.size + 3 * int(i)
                weights[:, carried : carried + 3] *= ratio[:, None]
        else:
            node = next(
                n for n, place in enumerate(self.joint.layout.places) if getattr(place.item, "name", "") == name
            )
            own = self.row("joint.tree.nodes", node)
            own["mass"] = mass
            own["inertia"] *= ratio[:, None]
        return ratio

    def _states(
        self,
        states: dict[tuple[str, str], np.ndarray],
        places: dict[tuple[str, str], np.ndarray],
        masses: dict[str, np.ndarray],
    ) -> None:
        """The initial states: first bodies, then joints, then momenta by the masses."""
        y = self.whole("y")
        for (name, what), values in states.items():
            if what in ("position", "orientation"):
                self._put(y, name, what, values)
        for (name, what), values in states.items():
            if what not in ("position", "orientation"):
                self._put(y, name, what, values)
        if places:
            self._move_joints(y, places)
        for name, mass in masses.items():
            at = STATE_SIZE * self.model.body_names.index(name)
            y[:, at + 7 : at + 13] *= self._mass(name, mass)[:, None]
        if places and self.joint is not None:
            self.rows["known", 0] = y

    def _put(self, y: np.ndarray, name: str, what: str, values: np.ndarray) -> None:
        index = self.model.body_names.index(name)
        body, at = self.made["system.bodies"][index], STATE_SIZE * index
        if what == "position":
            y[:, at : at + 3] = values
        elif what == "velocity":
            y[:, at + 7 : at + 10] = body["mass"] * values
        elif what == "orientation":
            size = np.linalg.norm(values, axis=1, keepdims=True)
            if (np.abs(size - 1.0) > 1e-6).any():
                raise ValueError(f"vary: the orientation of body {name!r} is not a unit quaternion in every member")
            turned = _rotations(values / size)
            spin = np.array(self.model.scene.bodies[name].angular_velocity)
            y[:, at + 3 : at + 7] = values / size
            y[:, at + 10 : at + 13] = _spun(turned, body, np.broadcast_to(spin, (self.members, 3)))
        else:
            y[:, at + 10 : at + 13] = _spun(_rotations(y[:, at + 3 : at + 7]), body, values)

    def _move_joints(self, y: np.ndarray, places: dict[tuple[str, str], np.ndarray]) -> None:
        """Move bodies by coordinates of joints; see `Simulation.set_joint_state`."""
        own = self.joint
        if own is None:
            tree = compile_scene(self.model.scene, hubs=False, coordinates="joint")
            own = JointMechanism(tree, Mechanism(tree.system()))
        found, first = own.layout.scalars(), len(own.layout.start)
        for name, _ in places:
            if name not in found:
                raise ValueError(
                    f"vary: joint {name!r} closes a loop, so other joints determine it; you can vary {', '.join(found)}"
                )
        columns = [
            (found[name][0] if what == "position" else first + found[name][1], values)
            for (name, what), values in places.items()
        ]
        start, bodies = own.z.copy(), STATE_SIZE * len(self.model.body_names)
        z = np.repeat(start[None], self.members, axis=0)
        tail = own.model.initial[bodies:]
        counts = [
            (int(row["at"]), found[name][0])
            for name, row in zip(self.model.coordinate_names, self.model.tables["coordinates"], strict=True)
            if name in found
        ]
        for member in range(self.members):
            own.z[:] = start
            state = np.concatenate([y[member, :bodies], tail])
            own.take(state)
            for column, values in columns:
                own.z[column] = values[member]
            own.count_turns()
            own.put(state)
            y[member, :bodies], z[member] = state[:bodies], own.z
            for count, u in counts:
                y[member, count] = own.z[u]
        if self.joint is not None:
            self.rows["z", 0] = z


def _freedoms_of(joint: Any) -> tuple[str, ...]:
    return tuple(joint.name + step.suffix for step in joint.steps or () if step.kind != "ball")


def _numbers(name: str, value: NumbersLike) -> np.ndarray:
    try:
        found = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"vary: {name!r} is {value!r:.80}; give an array of one row per member") from None
    if found.ndim == 0 or not len(found):
        raise ValueError(f"vary: {name!r} is {value!r:.80}; give an array of one row per member")
    if not np.isfinite(found.reshape(len(found), -1)).all():
        member = int(np.argmin(np.isfinite(found.reshape(len(found), -1)).all(axis=1)))
        raise ValueError(f"vary: {name!r} is {found[member]!r} in member {member}; give finite numbers")
    return found


def _rows_of_bytes(values: np.ndarray) -> np.ndarray:
    return bytes_of(np.ascontiguousarray(values)).reshape(len(values), -1)


def _rotations(q: np.ndarray) -> np.ndarray:
    """(m, 3, 3), body → world, of unit quaternions (m, 4)."""
    return np.array([rotation_matrix(row) for row in q])


def _spun(turned: np.ndarray, body: Any, omega: np.ndarray) -> np.ndarray:
    """L = R I Rᵀ ω, (m, 3)."""
    inertia = np.asarray(body["inertia"])[np.array(SYMMETRIC)]
    return np.einsum("mij,jk,mlk,ml->mi", turned, inertia, turned, omega)


# run_batch ------------------------------------------------------------------------------------------------------------

NUMBER_BYTES, NUMBERS_BESIDE = 8, 4  # numbers of a frame beside the state: energies, errors of joints
MOST_MEMORY = 0.9  # of the memory of the machine: a larger record is refused


@renamed_keywords(**RENAMED)
@with_keywords(BatchSettings, Simulation)
def run_batch(
    scenes: Scene | Model | Iterable[Scene | Model],
    duration: float,
    *,
    vary: Mapping[str, NumbersLike] | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    **settings: Unpack[BatchSettings],
) -> Batch:
    """Run many members of one scene for `duration` seconds, on all cores, and return the `Batch`.

    Members share the structure of one scene (bodies, joints, forces by name and kind) and differ in numbers. Each has
    the same bits as its run by `simulate`, for any number of threads. If a member fails, its frames are kept and the
    others continue.

    Parameters
    ----------
    scenes : one scene or compiled Model, with `vary`; or one scene per member, which may differ in any numbers.
    vary : name → array of one row per member (SI units): "gravity" (m, 3); of a body ".mass" (m,), changing density,
        and the initial ".position" (m, 3), ".velocity" (m, 3), ".orientation" (m, 4) and ".angular_velocity" (m, 3); of
        a joint with one degree of freedom ".position" and ".speed" (m,), which move all bodies that it carries (rad or
        m; the names are those of `Simulation.joint_state`); of a spring or a motor ".stiffness", ".damping", ".rest",
        ".target", ".limit" and ".position" (m,). This is faster than one scene per member, because nothing is compiled.
        Points of joints and forces are fixed to their bodies.
    threads : number of threads. Default: one per core.
    progress : called every 0.1 s with the number of started members and the number of members.
    settings : those of `Simulation`, with an integration method.

    Raises ValueError for scenes that batches cannot run (with contact, events, controllers, generalized coordinates,
    iterative solvers of constraints, time steps of particles), for members with a different structure, and for invalid
    arguments; MemoryError if the record does not fit in memory. Ctrl-C ends the batch cleanly (`interrupted`).

    >>> import dalembert as dal
    >>> scene = dal.Scene("pendulum")
    >>> bob = scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(0.0, 0.0, -1.0))
    >>> pivot = scene.hinge("pivot", dal.WORLD, bob, at=(0, 0, 0), axis=(0, 1, 0))
    >>> batch = dal.run_batch(scene, 1.0, vary={"pivot.position": [0.1, 0.2, 0.3]}, coordinates="joint")
    >>> batch.position.shape
    (3, 61, 1, 3)
    """
    end = positive("duration", duration, "s")
    count = threads_of(threads)
    if vary is not None and not isinstance(scenes, Scene | Model):
        raise ValueError("vary changes numbers of one scene; give that scene, or scenes without vary")
    members = iter([scenes] if isinstance(scenes, Scene | Model) else scenes)
    first = next(members, None)
    if first is None:
        raise ValueError("there are no scenes to run; give one per member, or one scene with vary")
    template = Workspace(first, **settings)
    if vary is not None:
        found = varied_by_name(template, vary)
    else:
        found = differences(template, itertools.chain([first], members))
    return run_together(template, dict(settings), found, end, count, progress)


def run_together(
    template: Workspace, settings: dict[str, Any], members: Members, end: float, threads: int,
    progress: Callable[[int, int], Any] | None = None,
) -> Batch:  # fmt: skip
    """Run members until `end` (s) on so many threads."""
    varied, number = members.varied, members.number
    targets = instants(end, template.frame_rate)
    rates, z = rates_of(template.model.scene.sensors), getattr(template._mechanism, "z", np.zeros(0))
    _require_room(number, len(targets) + 1, template.model.size, rows_of(rates, end) * (template.model.size + len(z)))
    record = Record(
        number, targets, template.model.size, SampledStates.room(number, rates, end, template.model.size, len(z))
    )
    count = 1 if template.model.slow else min(threads, number)
    start = time.perf_counter()
    runs = [template, *(Workspace(template.model, **settings) for _ in range(count - 1))]
    workers = [Thread(run, varied, targets, record) for run in runs]
    work_together(workers, record, progress)
    return Batch(template, settings, members, record, end, time.perf_counter() - start, count)


def threads_of(threads: int | None) -> int:
    """The number of threads: default one per core. Raises ValueError."""
    if threads is None:
        return min(cores(), MOST_THREADS)
    if not (isinstance(threads, int) and 1 <= threads <= MOST_THREADS):
        raise ValueError(f"threads is {threads!r}; give a whole number from 1 to {MOST_THREADS}")
    return threads


def instants(end: float, frame_rate: float) -> np.ndarray:
    """The times of the frames of `Simulation.advance`, s. Raises ValueError for too many."""
    require_few_frames(end, frame_rate)
    return np.array(list(frame_times(0.0, frame_rate, end)))


def room_of(rows: int, size: int) -> int:
    """Bytes of the frames of a member."""
    return rows * (size + NUMBERS_BESIDE) * NUMBER_BYTES


def _require_room(members: int, rows: int, size: int, samples: int = 0) -> None:
    """Raises MemoryError if the record does not fit in the memory of the machine. samples : numbers kept for sensors."""
    needed = members * (room_of(rows, size) + samples * NUMBER_BYTES)
    try:
        room = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if needed > MOST_MEMORY * room:
        raise MemoryError(
            f"{members} members of {rows} frames take {needed / 1e9:.3g} GB, but the machine has {room / 1e9:.3g} GB; record "
            "fewer frames per second (frame_rate=...), or run fewer members at a time"
        )
