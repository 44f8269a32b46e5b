"""Members of a sweep: a product grid of parameters, or samples, each with its own seed; and the run of one of them."""

from __future__ import annotations

import difflib
import inspect
import json
import math
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..gallery._loading import Source, reason
from ..simulation.errors import SimulationError
from ..simulation.netcdf import encode
from ..simulation.provenance import frames_hash, plain_items, provenance, versions
from ..simulation.registry import override
from ..simulation.report import energy_scale
from ..simulation.simulation import Simulation
from ..simulation.trajectory import VARIABLES
from .batch import Batch

if TYPE_CHECKING:
    import xarray

MEMBER, REPEAT = "member", "repeat"
SUMMARY = ("status", "error", "wall_time", "end_time", "steps", "energy_residual", "final_state_hash", "seed")
TAKEN = {*VARIABLES, *SUMMARY, MEMBER, REPEAT, "time", "body", "joint", "force", "particle", "phase", "xyz", "wxyz"}
MOST_MEMBERS = 10_000_000


@dataclass(frozen=True)
class Member:
    """One run of a sweep: parameters of build() and settings of `Simulation`, with the duration (s)."""

    index: int
    parameters: dict[str, Any]
    settings: dict[str, Any]
    seed: int | None


@dataclass(frozen=True)
class Plan:
    """The members of a sweep, and how the dataset of all of them is labelled.

    axes: axis → its labels, the members in the order of their product; columns: name → a value for each label of an axis.
    """

    members: list[Member]
    axes: dict[str, np.ndarray]
    columns: dict[str, tuple[tuple[str, ...], np.ndarray]]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(labels) for labels in self.axes.values())


def make_plan(
    source: Source, over: Any, settings: Mapping[str, Any], known: Sequence[str], seed: int, repeat: int
) -> Plan:
    """The members of a sweep over a grid (mapping of name → values) or samples (a table, or a sequence of mappings).

    settings: those of all members; known: names of all settings there are. Raises ValueError for names that neither build()
    nor `Simulation` knows, and for values that are no grid.
    """
    samples = _records(over)
    if samples is None:
        fixed, varied = _grid(over)
        axes = {_axis(name): _labels(values) for name, values in varied.items()}
        columns: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
            _axis(name): ((), _labels([value])[0:1].reshape(())) for name, value in fixed.items()
        }
        choices: Iterable[dict[str, Any]] = (
            fixed | dict(zip(varied, values, strict=True)) for values in product(*varied.values())
        )
        names = [*fixed, *varied]
    else:
        names, choices = list(samples[0]), samples
        axes = {MEMBER: np.arange(len(samples))}
        columns = {_axis(name): ((MEMBER,), _labels([sample[name] for sample in samples])) for name in names}
    if not isinstance(repeat, int) or repeat < 1:
        raise ValueError(f"repeat is {repeat!r}; give a whole number from 1 on")
    if repeat > 1:
        if not source.takes("seed") or "seed" in names:
            raise ValueError(
                f"repeat is {repeat}, but build() of {source.name} takes no seed: all runs would be the same"
            )
        axes[REPEAT] = np.arange(repeat)
    count = math.prod(len(labels) for labels in axes.values())
    if count > MOST_MEMBERS:
        raise ValueError(f"the sweep has {count} members, at most {MOST_MEMBERS}")
    _require_known(source, names, known)
    seeded = source.takes("seed") and "seed" not in names
    seeds: list[int | None] = [*member_seeds(seed, count)] if seeded else [None] * count
    members = []
    repeated = ({**choice} for choice in choices for _ in range(repeat))
    for index, (choice, own) in enumerate(zip(repeated, seeds, strict=True)):
        parameters, changed = _split(source, choice, known)
        if own is not None:
            parameters["seed"] = own
        given = parameters.get("seed")
        members.append(Member(index, parameters, {**settings, **changed}, given if isinstance(given, int) else None))
    if seeded:
        columns["seed"] = (tuple(axes), np.array(seeds, np.int64).reshape([len(labels) for labels in axes.values()]))
    return Plan(members, axes, columns)


def member_seeds(seed: int, count: int) -> list[int]:
    """Independent seeds of 63 bits, all derived from one by NumPy's SeedSequence. Raises ValueError."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed is {seed!r}; give a whole number from 0 on")
    root = np.random.SeedSequence(int(seed))
    return [int(child.generate_state(1, np.uint64)[0] >> np.uint64(1)) for child in root.spawn(count)]


def _records(over: Any) -> list[dict[str, Any]] | None:
    """The samples, one mapping each; None for a grid. Raises ValueError."""
    if isinstance(over, Mapping):
        return None
    if hasattr(over, "to_dicts"):  # polars
        found = over.to_dicts()
    elif hasattr(over, "to_dict") and hasattr(over, "columns"):  # pandas
        found = over.to_dict("records")
    elif isinstance(over, Iterable) and not isinstance(over, str | bytes):
        found = list(over)
    else:
        raise ValueError(f"over is {over!r:.80}; give a mapping of name → values, or a table or list of samples")
    if not found:
        raise ValueError("there are no samples")
    for i, sample in enumerate(found):
        if not isinstance(sample, Mapping):
            raise ValueError(
                f"sample {i} is {sample!r:.80}; give a mapping of name → value, or for a grid {{name: values}}, such as "
                '{"length": [1.0, 2.0]}'
            )
        odd = set(sample) ^ set(found[0])
        if odd:
            raise ValueError(
                f"sample {i} and sample 0 do not name the same parameters: {', '.join(map(str, sorted(odd)))}"
            )
    return [{str(key): _python(value) for key, value in sample.items()} for sample in found]


def _grid(over: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """(names that have one value, names that have several). Raises ValueError."""
    fixed, varied = {}, {}
    for name, values in over.items():
        if (
            isinstance(values, str | bytes | Mapping)
            or not isinstance(values, Iterable)
            or getattr(values, "ndim", 1) == 0
        ):
            fixed[str(name)] = _python(values)
            continue
        found = [_python(value) for value in values]
        if not found:
            raise ValueError(f"{name!r} has no values to vary over")
        twice = next(
            (value for i, value in enumerate(found) if any(value is v or _same(value, v) for v in found[:i])), None
        )
        if twice is not None:
            raise ValueError(f"{name!r} has the value {twice!r} twice")
        varied[str(name)] = found
    return fixed, varied


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and isinstance(one, int | float | str) and one == other


def _python(value: Any) -> Any:
    """Numbers of NumPy as those of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _labels(values: Sequence[Any]) -> np.ndarray:
    """Numbers as numbers, all else as text."""
    if all(isinstance(value, bool | int | float) for value in values):
        return np.array(values)
    return np.array([value if isinstance(value, str) else f"{value!r:.200}" for value in values], object)


def _axis(name: str) -> str:
    """What a parameter is called in the dataset."""
    return f"parameter_{name}" if name in TAKEN - {"seed"} else name


def _require_known(source: Source, names: Sequence[str], known: Sequence[str]) -> None:
    """Raise ValueError unless every name is one of build() or of a setting, and all that build() needs is given."""
    for name in names:
        if not (source.takes(name) or name in known):
            own = ", ".join(source.parameters()) or "none"
            near = difflib.get_close_matches(name, [*source.parameters(), *known], n=2, cutoff=0.6)
            meant = f"did you mean {' or '.join(map(repr, near))}? Its" if near else "its"
            raise ValueError(
                f"{source.name} has no parameter {name!r}; {meant} build() takes {own}, and the settings of a run are "
                f"{', '.join(known)}"
            )
    needed = [name for name, default in source.parameters().items() if default is inspect.Parameter.empty]
    missing = [name for name in needed if name not in names and name != "seed"]
    if missing:
        raise ValueError(f"build() of {source.name} needs {', '.join(missing)}; give each one value or several")


def _split(source: Source, choice: Mapping[str, Any], known: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters of build(), settings of the run); what both have is the scene's."""
    own = source.parameters()
    settings = {name: value for name, value in choice.items() if name in known and name not in own}
    return {name: value for name, value in choice.items() if name not in settings}, settings


# Run of one member, as one dataset: its record, measurements and error ------------------------------------------------

DONE, FAILED, DIED = "done", "failed", "died"


class Answer(NamedTuple):
    """The result of a member: its dataset and, for a sweep on disk, the bytes of its file."""

    dataset: xarray.Dataset
    file: bytes | None = None


@dataclass(frozen=True)
class Task:
    """What the members of a sweep have in common.

    keep: names of recorded quantities, functions of the run, and names of functions that the source has.
    stored: whether members are kept on disk; they are encoded where they run, as that takes as long as a short run.
    """

    source: Source
    keep: tuple[str | Callable[[Simulation], Any], ...]
    stored: bool = False

    def begin(self, member: Member) -> Simulation:
        """The run of a member, at its start. Raises ValueError."""
        settings = self.settings(member)
        settings.pop("duration")
        return Simulation(self.source.scene(**member.parameters), **settings)

    def settings(self, member: Member) -> dict[str, Any]:
        """All settings of a member: the source's, and over these its own."""
        return override(self.source.settings, member.settings)

    def run(self, member: Member) -> Answer:
        """Run a member from start to end. Errors are stored in the dataset; KeyboardInterrupt alone is raised."""
        dataset = self.dataset(member)
        return Answer(dataset, encode(dataset) if self.stored else None)

    def dataset(self, member: Member) -> xarray.Dataset:
        """Run a member from start to end; what came of it."""
        start, simulation, failed = time.perf_counter(), None, None
        try:
            simulation = self.begin(member)
            simulation.advance(self.settings(member)["duration"])
        except (Exception, SystemExit) as error:
            failed = error
        return self.end(member, simulation, time.perf_counter() - start, failed)

    def end(
        self, member: Member, simulation: Simulation | None, wall_time: float, failed: BaseException | None = None
    ) -> xarray.Dataset:
        """The dataset of a member that was run, or that failed; what was recorded up to then is in it."""
        import xarray

        data: dict[str, Any] = {}
        coordinates: dict[str, Any] = {}
        facts: dict[str, Any] = {}
        if simulation is not None:
            try:
                facts = self._recorded(simulation, coordinates, data)
                measured = {} if failed is not None else self._measured(simulation)
                if measured:
                    xarray.Dataset(data | measured, coordinates)  # raises where they do not fit together
                    data |= measured
            except (Exception, SystemExit) as error:
                failed = failed or error
        attrs = described(member, DONE if failed is None else FAILED, wall_time, self._why(failed), failed)
        return xarray.Dataset(data, coordinates, {**attrs, **facts})

    def _recorded(self, simulation: Simulation, coordinates: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Add the recorded quantities that are to be kept, with coordinates; returns attributes that say what was run."""
        names = [each for each in self.keep if isinstance(each, str) and each in VARIABLES]
        if not names:
            return _facts(simulation, simulation.report.as_dict(), provenance(simulation))
        trajectory = simulation.trajectory
        recorded = trajectory.dataset
        chosen = recorded[[name for name in names if name in recorded]]
        coordinates |= {str(name): array for name, array in chosen.coords.items()}
        data |= {str(name): array for name, array in chosen.data_vars.items()}
        return _facts(simulation, trajectory.report, trajectory.provenance)

    def _measured(self, simulation: Simulation) -> dict[str, Any]:
        """What functions say of a finished run."""
        found: dict[str, Any] = {}
        for each in self.keep:
            if callable(each):
                found |= _measured(each, simulation)
            elif each not in VARIABLES:
                found |= _measured(self.source.names[each], simulation)
        return found

    def _why(self, error: BaseException | None) -> str:
        if error is None:
            return ""
        plainly = isinstance(error, SimulationError | ValueError)
        return str(error) if plainly and str(error) else reason(error, self.source.name)


def pack(task: Task) -> bytes:
    """A task as bytes for another process. Raises RuntimeError where it holds what cannot be sent."""
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(task))
    except Exception as error:
        raise RuntimeError(f"the scene cannot be sent to another process ({error}); use how='serial'") from error


def described(
    member: Member, status: str, wall_time: float, why: str, error: BaseException | None = None
) -> dict[str, Any]:
    """Attributes of a member's dataset: who it is, how it ended."""
    attrs: dict[str, Any] = {"index": member.index, "status": status, "error": why, "wall_time": wall_time}
    for key, values in (("parameters", member.parameters), ("settings", member.settings)):
        kept, others = plain_items(values)
        attrs[key] = json.dumps(kept | others)
    if error is not None:
        attrs["traceback"] = "".join(traceback.format_exception(error))
    return {key: _clean(value) if isinstance(value, str) else value for key, value in attrs.items()}


def _clean(text: str) -> str:
    """Text that a file can hold."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _facts(simulation: Simulation, report: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes that say what was run, and how well."""
    return {
        "scene": simulation.model.name,
        "end_time": float(simulation.recorder.frames["time"][-1]),
        "steps": report["steps"],
        "energy_residual": np.nan if report["energy_residual_relative"] is None else report["energy_residual_relative"],
        "frames": simulation.frame_rate,
        "final_state_hash": found["final_state_hash"],
        "provenance_json": json.dumps(found),
    }


def _measured(function: Callable[[Simulation], Any], simulation: Simulation) -> dict[str, Any]:
    """What a function of the user's says of a run: a number, an array, or several by name."""
    import xarray

    name = getattr(function, "__name__", type(function).__name__)
    try:
        values = function(simulation)
    except Exception as error:
        raise RuntimeError(f"the function {name!r} failed: {type(error).__name__}: {error}") from error
    found: dict[str, Any] = {}
    for key, value in (values if isinstance(values, Mapping) else {name: values}).items():
        if key in VARIABLES:
            raise ValueError(f"the function {name!r} returns {key!r}, which is the name of a recorded quantity")
        if isinstance(value, xarray.DataArray) and value.dtype.kind in "biuf":
            found[str(key)] = value.reset_coords(drop=True)
            continue
        try:
            array = np.asarray(value, float)
        except (TypeError, ValueError):
            raise ValueError(f"the function {name!r} returns {value!r:.80} for {key!r}; return numbers") from None
        found[str(key)] = ([f"{key}_{axis}" for axis in range(array.ndim)], array)
    return found


# Members that ran in one batch, as one dataset with an axis `index` ---------------------------------------------------
#
# A dataset for each member would take longer to make and to write than a short run.

AXIS = "index"
STACKED = (
    "state", "position", "orientation", "momentum", "angular_momentum", "particle_position", "particle_momentum", "kinetic",
    "potential", "balance",
)  # fmt: skip
AUDITED = ("work", "projection_loss", "constraint_work", "linear_impulse_balance", "angular_impulse_balance")
OF_CONTACT = (
    "contact_force",
    "obstacle_contact_force",
    "contacts",
    "penetration",
    "contact_residual",
)  # which no run without contact records
ENDINGS = ("status", "error", "wall_time", "end_time", "steps", "energy_residual", "final_state_hash", "parameters")


class Row(NamedTuple):
    """A member in a block. attrs : how it ended, as those of a member's own dataset say it."""

    block: xarray.Dataset
    at: int
    attrs: Mapping[str, Any]


def make_block(batch: Batch, rows: np.ndarray, members: Sequence[Member], keep: Sequence[Any]) -> xarray.Dataset:
    """The dataset of those rows of a batch, all of which reached the end; members: whose they are."""
    import xarray

    model = batch.model
    absent = () if model.particle_count else ("particle_position", "particle_momentum")
    data: dict[str, Any] = {}
    for name in keep:
        if name in (*STACKED, *AUDITED) and name not in absent:
            variable = VARIABLES[name]
            about = {"units": variable.units, "long_name": variable.description}
            data[name] = (AXIS, *variable.dims), _values(batch, rows, name), about
    used = {axis for axes, *_ in data.values() for axis in axes}
    labels = {
        "time": ("time", batch.times, {"units": "s"}),
        "body": ("body", np.array(model.body_names, object)),
        "force": ("force", np.array(model.force_names, object)),
        "xyz": ("xyz", np.array(list("xyz"), object)),
        "wxyz": ("wxyz", np.array(list("wxyz"), object)),
        "phase": ("phase", np.arange(model.size)),
    }
    coordinates: dict[str, Any] = {axis: label for axis, label in labels.items() if axis in used}
    coordinates[AXIS] = np.array([member.index for member in members], np.int64)
    data |= {name: (AXIS, np.array(values)) for name, values in _endings(batch, rows, members).items()}
    settings, others = plain_items(batch.arguments)
    known = {"advances": [batch.duration], "settings": settings, "settings_not_kept": others, "versions": versions()}
    attrs = {"scene": model.name, "frames": batch.arguments["frame_rate"], "provenance_json": json.dumps(known)}
    return xarray.Dataset(data, coordinates, attrs)


def members_of(dataset: xarray.Dataset) -> dict[int, Any]:
    """Index → the dataset of one member; or of a block, each of its rows."""
    if AXIS not in dataset.dims:
        return {dataset.attrs["index"]: dataset}
    endings = {name: dataset[name].values.tolist() for name in ENDINGS}
    return {
        index: Row(dataset, at, {name: values[at] for name, values in endings.items()})
        for at, index in enumerate(dataset[AXIS].values.tolist())
    }


def _values(batch: Batch, rows: np.ndarray, name: str) -> np.ndarray:
    if name in STACKED:
        return np.asarray(getattr(batch, name)[rows])
    return np.stack([batch.ledger(row)[name] for row in rows.tolist()])


def _endings(batch: Batch, rows: np.ndarray, members: Sequence[Member]) -> dict[str, list[Any]]:
    residual = batch.energy_residual[rows] / energy_scale(batch.kinetic[rows], batch.potential[rows])
    count, last = len(rows), batch.times[-1:]
    return {
        "status": [DONE] * count,
        "error": [""] * count,
        "wall_time": [batch.wall_time / len(batch)] * count,
        "end_time": batch.end_time[rows].tolist(),
        "steps": batch.steps[rows].tolist(),
        "energy_residual": np.where(np.isfinite(residual), residual, np.nan).tolist(),
        "final_state_hash": [frames_hash(last, batch.state[row, -1:]) for row in rows.tolist()],
        "parameters": [described(member, DONE, 0.0, "")["parameters"] for member in members],
    }
