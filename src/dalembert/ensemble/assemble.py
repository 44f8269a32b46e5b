"""One dataset of all members: parameters × time × body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

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
    "energy_residual": (np.nan, "1", "residual of the energy ledger, relative"),
    "final_state_hash": ("", "", "sha256 of the last recorded state and its time"),
}


def assemble(plan: Plan, members: Mapping[int, Any], attrs: Mapping[str, Any]) -> xarray.Dataset:
    """The dataset of a sweep, of those members that there are; NaN stands for what is not there.

    The axis time has the instants at which frames are due (0, 1/frames, ..., duration). Frames that events add between them
    are left to the members' own files.
    """
    import xarray

    axes, shape = tuple(plan.axes), plan.shape
    labels = _labels(members)
    variables = _variables(members, labels)
    data: dict[str, Any] = {}
    odd: dict[int, str] = {}
    for name, (dims, sizes, own) in variables.items():
        whole = np.full((len(plan.members), *sizes), np.nan)
        for index, dataset in members.items():
            if name in dataset and dataset[name].dims == dims:
                _put(whole[index, ...], dataset, name, dims, labels)
            elif name in dataset:
                odd[index] = f"{name!r} is along {dataset[name].dims}, and not {dims} as in others; it is left out"
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
    coordinates |= {name: (name, values, _own(members, name)) for name, values in labels.items()}
    return xarray.Dataset(data, coordinates, dict(attrs))


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


def _labels(members: Mapping[int, Any]) -> dict[str, np.ndarray]:
    """Axis → the labels of all members along it; times that are due, for time."""
    found: dict[str, dict[Any, None]] = {}
    times: list[np.ndarray] = []
    known: dict[tuple[Any, ...], np.ndarray] = {}
    for dataset in members.values():
        for name in dataset.dims:
            if name == "time" and "provenance_json" in dataset.attrs:
                key = (dataset.attrs["frames"], json.loads(dataset.attrs["provenance_json"])["advances"][0])
                if key not in known:
                    times.append(known.setdefault(key, due(dataset.attrs)))
            elif name in dataset.coords:
                found.setdefault(str(name), {}).update(dict.fromkeys(dataset[name].values.tolist()))
    labels = {name: _array(list(values)) for name, values in found.items()}
    return ({"time": np.unique(np.concatenate(times))} if times else {}) | labels


def _array(values: list[Any]) -> np.ndarray:
    return np.array(values, object) if any(isinstance(value, str) for value in values) else np.array(values)


def _variables(members: Mapping[int, Any], labels: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Name → (axes, sizes, attributes) of what members have; the axes of the first that has it."""
    found: dict[str, Any] = {}
    for dataset in members.values():
        for key, array in dataset.data_vars.items():
            name, dims = str(key), tuple(map(str, array.dims))
            sizes = [len(labels[d]) if d in labels else array.sizes[d] for d in dims]
            if name not in found:
                found[name] = (dims, sizes, dict(array.attrs))
            elif found[name][0] == dims:
                found[name] = (dims, np.maximum(sizes, found[name][1]).astype(int).tolist(), found[name][2])
    return found


def _put(whole: np.ndarray, dataset: Any, name: str, dims: tuple[str, ...], labels: Mapping[str, np.ndarray]) -> None:
    """Write a member's values to where their labels are."""
    targets, sources = [], []
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
    whole[np.ix_(*targets)] = dataset[name].values[np.ix_(*sources)]


def _own(members: Mapping[int, Any], name: str) -> dict[str, Any]:
    """Attributes of a coordinate."""
    return next((dict(dataset[name].attrs) for dataset in members.values() if name in dataset.coords), {})
