"""A sweep on disk: a folder with one file per member, or per batch of members, written atomically, and `sweep.json`, which
describes the sweep; and the dataset of all members."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..simulation.netcdf import read_record, write, write_bytes
from ..simulation.provenance import describe, digest, versions
from ..simulation.trajectory import TrajectoryError
from .plan import AXIS, DONE, ENDINGS, FAILED, Answer, Plan, Row, Task, members_of

if TYPE_CHECKING:
    import xarray

FORMAT = 1
MANIFEST, MEMBERS, BLOCK = "sweep.json", "members", "batch-"


class Store:
    """The folder of a sweep.

    Raises ValueError where the folder has a different sweep, or other files; OSError where it cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str], manifest: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self.safe: set[int] = set()  # members that are there
        path = self.folder / MANIFEST
        if path.exists():
            self._require_same(path, manifest)
            return
        if self.folder.is_dir() and any(self.folder.iterdir()):
            raise ValueError(f"{str(self.folder)!r} has other files and no sweep; give a new folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        try:
            part.write_text(json.dumps(manifest, indent=1), "utf-8")
            os.replace(part, path)
        except OSError:
            part.unlink(missing_ok=True)
            raise

    def _require_same(self, path: Path, manifest: dict[str, Any]) -> None:
        try:
            before = json.loads(path.read_text("utf-8"))
            if not isinstance(before, dict):
                raise ValueError("it is no JSON object")
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{str(path)!r} is damaged: {error}") from error
        odd = [key for key in {**manifest, **before} if manifest.get(key) != before.get(key)]
        if odd:
            told = "; ".join(f"{key} was {_short(before.get(key))} and is {_short(manifest.get(key))}" for key in odd)
            raise ValueError(
                f"{str(self.folder)!r} has a different sweep ({told}); give a new folder, or remove that one"
            )

    def path(self, index: int, block: bool = False) -> Path:
        """The file of a member, or of the block that begins with it."""
        return self.folder / MEMBERS / f"{BLOCK if block else ''}{index:06d}.nc"

    def kept(self, plan: Plan, retry_failed: bool) -> dict[int, Any]:
        """The members that need not be run: those that are done, and, unless they are to be retried, those that failed."""
        found = {member.index: self.read(member.index) for member in plan.members}
        for path in sorted((self.folder / MEMBERS).glob(f"{BLOCK}*.nc")):
            found |= {i: row for i, row in self._read_block(path).items() if i in found}
        self.safe = {i for i, member in found.items() if member is not None}
        over = (DONE,) if retry_failed else (DONE, FAILED)
        return {i: found[i] for i in self.safe if found[i].attrs["status"] in over}

    def write(self, answer: Answer) -> None:
        """Keep what came of a member, or of a block of them. Raises OSError."""
        members = members_of(answer.dataset)
        path = self.path(min(members), AXIS in answer.dataset.dims)
        if answer.file is None:
            write(answer.dataset, path)
        else:
            write_bytes(answer.file, path)
        self.safe |= set(members)

    def read(self, index: int) -> Any:
        """The dataset of a member; None where there is none that can be read."""
        try:
            found = read_record(self.path(index), unchanged=True)
        except (FileNotFoundError, TrajectoryError):
            return None
        _forget_fill_values(found)
        return found if found.attrs.get("index") == index and "status" in found.attrs else None

    def _read_block(self, path: Path) -> dict[int, Any]:
        """The members of a block; none where it cannot be read."""
        try:
            found = read_record(path, AXIS, unchanged=True)
        except (FileNotFoundError, TrajectoryError):
            return {}
        _forget_fill_values(found)
        there = AXIS in found.coords and all(name in found and found[name].dims == (AXIS,) for name in ENDINGS)
        return members_of(found) if there else {}


def _forget_fill_values(dataset: Any) -> None:
    for array in dataset.variables.values():
        array.attrs.pop("_FillValue", None)  # of the file


def make_manifest(task: Task, plan: Plan, seed: int) -> dict[str, Any]:
    """What a sweep is, as plain data: two sweeps of the same give the same."""
    source = task.source
    members = [[describe(member.parameters), describe(member.settings)] for member in plan.members]
    return {
        "format": FORMAT,
        "scene": f"{source.kind} {source.name}",
        "scene_sha256": source.sha256,
        "settings": describe(dict(source.settings)),
        "axes": {name: labels.tolist() for name, labels in plan.axes.items()},
        "members": len(members),
        "members_sha256": digest(json.dumps(members).encode()),
        "keep": describe(list(task.keep)),
        "seed": seed,
        "dalembert": versions()["dalembert"],
    }


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 60 else text[:57] + "..."


# One dataset of all members: parameters × time × body -----------------------------------------------------------------

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
    """The dataset of a sweep, of all members so far; values of the others are NaN.

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
