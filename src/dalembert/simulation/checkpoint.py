"""Checkpoints: all data that a run needs to continue with the same bits, as plain data in the file of a trajectory.

Beside the state these are the derivative at the end of the last step, the length of the next one, impulses for warm
starts, near pairs of colliders, how long bodies have rested, released joints and forces, and the next call of the
controller.

A checkpoint is two arrays of numbers, real and whole, and a text (JSON) that describes them. Data of a file are checked
against the tables of the run before they are written to them: nothing in it is executed, and no index leads out of a
table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.checkpoint_fields import ANY, LARGE, CheckpointError, Field, prefixed
from .clock import slack
from .initial_conditions import release
from .motions import SAVED
from .provenance import plain_items
from .wrenches import APPLIED

if TYPE_CHECKING:
    import xarray

NOW, START = "checkpoint", "start_checkpoint"  # of the last frame; of the first, of a run that was resumed
MOST_ROOM = 100_000_000  # rows of a table that a file may ask for
LEAST_ROOM = 10_000  # rows that any file may ask for, however few values it has
INPUTS = dict.fromkeys(("rest", "position", "target", "vector"), ANY)  # of forces: fields that may change during a run
FIELDS = {"vector": ANY}
SETTINGS = (
    "method", "dt", "rtol", "atol", "hold", "stiffness", "damping", "coordinates", "constraint_solver", "solver",
    "iterations", "tolerance", "sleep_after", "impacts", "newton_tolerance", "linear_solver", "linear_tolerance",
)  # fmt: skip
"""Settings that must be equal for a run to go on bit-identically."""


class Checkpoint(NamedTuple):
    """facts : plain data. room : lengths that the model does not determine. values : the numbers of each part of a `Field`,
    by its name."""

    facts: dict[str, Any]
    room: dict[str, int]
    values: dict[str, np.ndarray]


class Snapshot(NamedTuple):
    """The data of a checkpoint, copied at a frame."""

    fields: list[Field]
    room: dict[str, int]
    asked: tuple[float, float]
    controller: tuple[float, int] | None
    released: dict[str, float]
    events: dict[str, int]  # how often each has happened
    spent: set[str]


def fields(simulation: Any) -> list[Field]:
    """The data of a run besides its state, as views on its tables."""
    if simulation._reader is None and simulation.model.tree is None:
        simulation.joint_state()  # looks up the coordinates of joints, once
    system, reader, solver = simulation._system, simulation._reader, simulation._constraint_solver
    found = [
        Field("y", simulation._y),
        Field("dydt", simulation._dydt, *ANY),
        Field("forces", system.forces, columns=INPUTS),
        Field("motions", system.commands, columns=dict.fromkeys(SAVED, ANY)),
        Field("particle forces", system.particle_forces, columns=FIELDS),
        *prefixed("stepper", simulation._driver.fields()),
    ]
    if reader is not None:
        found.append(Field("joint coordinates", reader.turns))
    if simulation._wrenches is not None:
        found.append(Field(APPLIED, simulation._wrenches.held))
    if solver is not None:
        found.append(Field("multipliers", solver.last_solution, *ANY))
    return found


def snapshot(simulation: Any, before: Snapshot | None = None) -> Snapshot:
    """The current data of a run for a checkpoint. before : a snapshot that is no longer needed; its arrays are reused where
    they fit, which saves the time to map new memory."""
    clock, asked, driver = simulation._clock, simulation._asked, simulation._driver
    reached = simulation.time + slack(simulation.time)  # it may be on its way to an end that it will not reach
    room = {} if before is None else {field.name: field.values for field in before.fields}
    return Snapshot(
        [field._replace(values=_copy(field.values, room.get(field.name))) for field in fields(simulation)],
        driver.room(),
        (asked.total, asked.rest) if asked.total <= reached else (simulation.time, 0.0),
        None if clock is None else (clock.start, clock.calls),
        dict(simulation.released),
        {name: len(times) for name, times in simulation.event_times.items()},
        set(simulation._spent),
    )


def _copy(values: np.ndarray, room: np.ndarray | None) -> np.ndarray:
    """A copy, in `room` if that fits; of records byte by byte, which is many times faster."""
    if room is None or room.shape != values.shape or room.dtype is not values.dtype:
        room = np.empty(values.shape, values.dtype)
    if values.dtype.names is None:
        np.copyto(room, values)
    else:
        np.copyto(room.view(np.uint8), values.view(np.ndarray).view(np.uint8))
    return room


def of_snapshot(simulation: Any, found: Snapshot) -> Checkpoint:
    """The checkpoint of a run that has gone on since, or not."""
    facts = {
        "settings": _settings(simulation),
        "asked": list(found.asked),
        "controller": None if found.controller is None else list(found.controller),
        "released": found.released,
        "event_times": {name: simulation.event_times[name][:count] for name, count in found.events.items()},
        "spent": sorted(found.spent),
    }
    parts = [part for field in found.fields for part in field.parts()]
    return Checkpoint(facts, found.room, {part.name: np.array(part.values).reshape(-1) for part in parts})


def _settings(simulation: Any) -> dict[str, Any]:
    kept, described = plain_items({name: simulation.arguments[name] for name in SETTINGS})
    return kept | described


def of_state(checkpoint: Checkpoint, y: np.ndarray) -> bool:
    """Whether a checkpoint is of a state, and not of another instant."""
    return checkpoint.values.get("y", np.zeros(0)).tobytes() == y.tobytes()


def same_settings(simulation: Any, checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint is of a run that makes the same steps."""
    return bool(checkpoint.facts["settings"] == json.loads(json.dumps(_settings(simulation))))


def put_back(simulation: Any, checkpoint: Checkpoint) -> None:
    """Let a run go on from a checkpoint. Raises CheckpointError for one that does not fit, and leaves a run of no use."""
    facts, driver = checkpoint.facts, simulation._driver
    known = driver.room()
    if set(checkpoint.room) != set(known):
        raise CheckpointError(f"the checkpoint has room for {', '.join(checkpoint.room)}, not for {', '.join(known)}")
    simulation.released = dict(facts["released"])
    for name in simulation.released:
        if name not in simulation.model.attachment_names:
            _release(simulation, name)
    driver.make_room(checkpoint.room)
    for field in fields(simulation):
        for part in field.parts():
            _write(part, checkpoint.values.get(part.name))
    driver.put_back()
    if simulation._wrenches is not None:
        simulation._wrenches.show()
    simulation._asked.total, simulation._asked.rest = facts["asked"]
    if simulation._clock is not None and facts["controller"] is not None:
        simulation._clock.start, simulation._clock.calls = facts["controller"]
    for name in set(facts["event_times"]) & set(simulation.event_times):
        simulation.event_times[name] = list(facts["event_times"][name])
    simulation._spent = set(facts["spent"]) & set(simulation.event_times)


def _release(simulation: Any, name: str) -> None:
    """Let go what had been let go. Raises CheckpointError."""
    try:
        release(simulation.model, simulation._system, name)
    except ValueError as error:
        raise CheckpointError(f"the checkpoint does not match this scene: {error}") from None


def _write(field: Field, values: np.ndarray | None) -> None:
    """Write the data of a checkpoint to the tables of a run. Raises CheckpointError."""
    if values is None or values.size != field.values.size or values.dtype.kind != field.values.dtype.kind:
        raise CheckpointError(
            f"the checkpoint's {field.name!r} does not fit this scene; resume the scene that the run was made of"
        )
    if not np.isnan(field.least) and not ((values >= field.least) & (values <= field.most)).all():
        raise CheckpointError(f"the checkpoint's {field.name!r} has a number out of range")
    field.values[...] = values.reshape(field.values.shape)


# As part of a dataset -------------------------------------------------------------------------------------------------


def attach(dataset: xarray.Dataset, name: str, checkpoint: Checkpoint) -> None:
    """Add a checkpoint to the dataset of a trajectory."""
    whole = {key: values for key, values in checkpoint.values.items() if values.dtype.kind == "i"}
    real = {key: values for key, values in checkpoint.values.items() if values.dtype.kind == "f"}
    for suffix, parts, dtype in (("values", real, float), ("counts", whole, np.int64)):
        joined = np.concatenate([np.zeros(0, dtype), *parts.values()])
        dataset[f"{name}_{suffix}"] = ((f"{name}_{suffix}",), joined)
    text = {
        "facts": checkpoint.facts, "room": checkpoint.room,
        "values": {key: len(values) for key, values in real.items()},
        "counts": {key: len(values) for key, values in whole.items()},
    }  # fmt: skip
    dataset.attrs[f"{name}_json"] = json.dumps(text, separators=(",", ":"))


def detach(dataset: xarray.Dataset, name: str) -> Checkpoint | None:
    """The checkpoint in a dataset; None if there is none. Raises CheckpointError where its form is not right."""
    if f"{name}_json" not in dataset.attrs:
        return None
    try:
        text = json.loads(dataset.attrs[f"{name}_json"])
        facts, room = _facts(text["facts"]), {str(key): _count(value, MOST_ROOM) for key, value in text["room"].items()}
        values: dict[str, np.ndarray] = {}
        for suffix, kind in (("values", "f"), ("counts", "i")):
            joined = np.asarray(dataset[f"{name}_{suffix}"].values)
            lengths = {str(key): _count(value, joined.size) for key, value in text[suffix].items()}
            if joined.ndim != 1 or joined.dtype != np.dtype(f"{kind}8") or joined.size != sum(lengths.values()):
                raise ValueError(f"{name}_{suffix} has the wrong length")
            values |= dict(zip(lengths, np.split(joined, np.cumsum([*lengths.values()]))[:-1], strict=True))
        if max(room.values(), default=0) > LEAST_ROOM + 2 * sum(each.size for each in values.values()):
            raise ValueError("its room exceeds the number of values by far")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"the checkpoint of the saved run cannot be read: {error!s:.200}") from None
    return Checkpoint(facts, room, values)


def at_start(dataset: xarray.Dataset) -> xarray.Dataset:
    """The first frame of a run that was resumed, with the checkpoint that it went on from."""
    first = dataset.isel(time=[0]).drop_vars([f"{NOW}_values", f"{NOW}_counts"], errors="ignore")
    first.attrs = {key: value for key, value in dataset.attrs.items() if key != f"{NOW}_json"}
    begun = detach(dataset, START)
    if begun is not None:
        attach(first, NOW, begun)
    return first


def _facts(given: dict[str, Any]) -> dict[str, Any]:
    """What a text says, its form checked. Raises ValueError, TypeError or KeyError."""
    clock = given["controller"]
    return {
        "settings": dict(given["settings"]),
        "asked": list(_times(given["asked"], 2)),
        "controller": None if clock is None else [*_times(clock[:1], 1), _count(clock[1], LARGE)],
        "released": dict(zip(map(str, given["released"]), _times(given["released"].values()), strict=True)),
        "event_times": {str(name): list(_times(times)) for name, times in given["event_times"].items()},
        "spent": [str(name) for name in given["spent"]],
    }  # fmt: skip


def _times(values: Iterable[Any], count: int | None = None) -> list[float]:
    found = [float(value) for value in values]
    if not np.isfinite(found).all() or count not in (None, len(found)):
        raise ValueError("a time is not a finite number")
    return found


def _count(value: Any, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError(f"{value!r:.40} is no count")
    return value
