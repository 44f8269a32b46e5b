"""One dataset of all members: parameters × time × body."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .block import AXIS, ENDINGS, Row
from .plan import Plan

if TYPE_CHECKING:
    import xarray

NOT_RUN = "not run"
SAME_TIME = 1e-9
FACTS = {  # what is known of every member: what stands for unknown, unit, meaning
    "status": (NOT_RUN, "", "done, failed, died (its process did), or not run"),
    "error": ("", "", "what went wrong"),
    "wall_time": (np.nan, "s", "time that the member took to run"),
    "end_time": (np.nan, "s", "simulated time of the last frame"),
    "steps": (np.nan, "1", "accepted steps"),
    "energy_residual": (np.nan, "1", "error of the energy, relative"),
    "final_state_hash": ("", "", "sha256 of the last recorded state and its time"),
}


def assemble(plan: Plan, members: Mapping[int, Any], attrs: Mapping[str, Any]) -> xarray.Dataset:
    """The dataset of a sweep, of those members that there are; NaN stands for what is not there.

    The axis time has the instants at which frames are due (0, 1/frames, ..., duration). Frames that events add between them
    are left to the members' own files.
    """
    import xarray

    axes, shape = tuple(plan.axes), plan.shape
    parts = _parts(members)
    datasets = [part.dataset for part in parts]
    labels = _labels(datasets)
    variables = _variables(datasets, labels)
    data: dict[str, Any] = {}
    odd: dict[int, str] = {}
    for name, (dims, sizes, own) in variables.items():
        whole = np.full((len(plan.members), *sizes), np.nan)
        for part in parts:
            if name not in part.dataset:
                continue
            found = _own_dims(part.dataset, name)
            if found == dims:
                _put(whole, part, name, dims, labels)
            else:
                why = f"{name!r} is along {found}, and not {dims} as in others; it is left out"
                odd |= dict.fromkeys(part.indices, why)
        taken = name in plan.axes or name in plan.columns or name in FACTS
        data[f"kept_{name}" if taken else name] = ((*axes, *dims), whole.reshape(*shape, *sizes), own)
    for name, (unknown, unit, meaning) in FACTS.items():
        values = [members[i].attrs.get(name, unknown) if i in members else unknown for i in range(len(plan.members))]
        if name == "error":
            values = [odd.get(i, "") if value == "" else value for i, value in enumerate(values)]
        array = np.array(values, object if isinstance(unknown, str) else float).reshape(shape)
        data[name] = (axes, array, {"long_name": meaning} | ({"units": unit} if unit else {}))
    coordinates: dict[str, Any] = {name: (name, values) for name, values in plan.axes.items()}
    coordinates |= plan.columns
    coordinates |= {name: (name, values, _own(datasets, name)) for name, values in labels.items()}
    return xarray.Dataset(data, coordinates, dict(attrs))


class Part(NamedTuple):
    """A dataset, the members that are taken from it, and in which of its rows they are."""

    dataset: Any
    indices: list[int]
    rows: list[int]


def _parts(members: Mapping[int, Any]) -> list[Part]:
    """The datasets that members are in: of one member, or of a block."""
    found: dict[int, Part] = {}
    for index, member in members.items():
        dataset, at = (member.block, member.at) if isinstance(member, Row) else (member, 0)
        part = found.setdefault(id(dataset), Part(dataset, [], []))
        part.indices.append(index)
        part.rows.append(at)
    return list(found.values())


def due(attrs: Mapping[str, Any]) -> np.ndarray:
    """The instants at which frames of a member are due, s; see `Simulation.advance`."""
    found, begin = [0.0], 0.0
    for duration in json.loads(attrs["provenance_json"])["advances"]:
        end, count = begin + duration, 0
        while found[-1] < end - 1e-12 * max(1.0, end):
            count += 1
            found.append(min(begin + count / attrs["frames"], end))
        begin = end
    return np.array(found)


def _labels(datasets: Sequence[Any]) -> dict[str, np.ndarray]:
    """Axis → the labels of all members along it; times that are due, for time."""
    found: dict[str, dict[Any, None]] = {}
    times: list[np.ndarray] = []
    known: dict[tuple[Any, ...], np.ndarray] = {}
    for dataset in datasets:
        for name in dataset.dims:
            if name == "time" and "provenance_json" in dataset.attrs:
                key = (dataset.attrs["frames"], *json.loads(dataset.attrs["provenance_json"])["advances"])
                if key not in known:
                    times.append(known.setdefault(key, due(dataset.attrs)))
            elif name in dataset.coords and name != AXIS:
                found.setdefault(str(name), {}).update(dict.fromkeys(dataset[name].values.tolist()))
    labels = {name: _array(list(values)) for name, values in found.items()}
    return ({"time": np.unique(np.concatenate(times))} if times else {}) | labels


def _array(values: list[Any]) -> np.ndarray:
    return np.array(values, object) if any(isinstance(value, str) for value in values) else np.array(values)


def _variables(datasets: Sequence[Any], labels: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Name → (axes, sizes, attributes) of what members have; the axes of the first that has it."""
    found: dict[str, Any] = {}
    for dataset in datasets:
        for key, array in dataset.data_vars.items():
            name, dims = str(key), _own_dims(dataset, key)
            if name in ENDINGS and AXIS in array.dims:
                continue
            sizes = [len(labels[d]) if d in labels else array.sizes[d] for d in dims]
            if name not in found:
                found[name] = (dims, sizes, dict(array.attrs))
            elif found[name][0] == dims:
                found[name] = (dims, np.maximum(sizes, found[name][1]).astype(int).tolist(), found[name][2])
    return found


def _own_dims(dataset: Any, name: Any) -> tuple[str, ...]:
    """The axes of a quantity in one member."""
    return tuple(str(axis) for axis in dataset[name].dims if axis != AXIS)


def _put(whole: np.ndarray, part: Part, name: str, dims: tuple[str, ...], labels: Mapping[str, np.ndarray]) -> None:
    """Write members' values to where their labels are."""
    dataset = part.dataset
    values = dataset[name].values if AXIS in dataset.dims else dataset[name].values[np.newaxis]
    targets, sources = [np.array(part.indices)], [np.array(part.rows)]
    for axis in dims:
        size = dataset.sizes[axis]
        own = np.arange(size)
        if axis == "time":
            times = dataset["time"].values
            at = np.searchsorted(times, labels[axis] + SAME_TIME, side="right") - 1  # the last of frames at one time
            there = (at >= 0) & (np.abs(times[at] - labels[axis]) <= SAME_TIME)
            targets.append(np.flatnonzero(there))
            sources.append(at[there])
            continue
        if axis in labels and axis in dataset.coords:
            places = {label: i for i, label in enumerate(labels[axis].tolist())}
            targets.append(np.array([places[label] for label in dataset[axis].values.tolist()], int))
        else:
            targets.append(own)
        sources.append(own)
    whole[np.ix_(*targets)] = values[np.ix_(*sources)]


def _own(datasets: Sequence[Any], name: str) -> dict[str, Any]:
    """Attributes of a coordinate."""
    return next((dict(dataset[name].attrs) for dataset in datasets if name in dataset.coords), {})
