"""`replay` runs a recorded run again and compares the two bit by bit.

A record is data from an unknown source. Names in it are looked up in the gallery or in the file that the user gives;
nothing in the record is executed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ..core.keywords import with_keywords
from ..core.renamed import SETTINGS as RENAMED
from ..core.renamed import current_names, renamed_keywords
from ..gallery._loading import Source, find, from_function
from ..model.tables import LEDGER, STATE_SIZE
from ..scene.scene import Scene
from ..simulation.checkpoint import at_start
from ..simulation.errors import SimulationError
from ..simulation.netcdf import read_record
from ..simulation.provenance import frames_hash, versions
from ..simulation.settings import Settings
from ..simulation.simulation import Simulation, setting_names
from ..simulation.trajectory import Trajectory, TrajectoryError

if TYPE_CHECKING:
    import xarray

OF_A_BODY = (
    *(f"position {axis}" for axis in "xyz"), *(f"orientation {axis}" for axis in "wxyz"),
    *(f"momentum {axis}" for axis in "xyz"), *(f"angular momentum {axis}" for axis in "xyz"),
)  # fmt: skip
WORDS = {
    "origin": dict,
    "settings": dict,
    "settings_not_kept": dict,
    "advances": list,
    "by_hand": list,
    "versions": dict,
}


@dataclass(frozen=True)
class Difference:
    """The first difference between a replayed run and its record: frame (from 0), time (s), quantity, name of the body
    or joint, values.
    """

    frame: int
    time: float
    quantity: str
    recorded: float
    replayed: float

    def __str__(self) -> str:
        return (
            f"frame {self.frame}, t = {self.time:.9g} s: {self.quantity} is {self.replayed!r}, recorded {self.recorded!r} "
            f"({self.replayed - self.recorded:.3g})"
        )


@dataclass(frozen=True)
class Replay:
    """The result of a replay. It is true if all bits are the same."""

    same: bool  # whether all states are equal, bit by bit
    frames: int  # number of compared frames
    difference: Difference | None  # the first one, if the record has states
    largest: float  # largest difference of any number of the state, if the record has states; else NaN
    notes: list[str] = field(default_factory=list)  # possible causes of a difference
    simulation: Simulation | Any = field(default=None, repr=False)  # the repeated run

    def __bool__(self) -> bool:
        return self.same

    def __str__(self) -> str:
        if self.same:
            lines = [f"the same bits in all of {self.frames} frames"]
        elif self.difference is None:
            lines = [f"the bits differ; the record has no states to compare, in {self.frames} frames"]
        else:
            lines = [f"the bits differ, first in {self.difference}", f"largest difference: {self.largest:.3g}"]
        return "\n".join([*lines, f"kernels: {versions()['kernels']}", *self.notes])


@renamed_keywords(**RENAMED)
@with_keywords(Settings, Simulation)
def replay(
    run: Trajectory | str | Path, scene: Scene | Callable[..., Any] | str | Path | None = None,
    **settings: Unpack[Settings],
) -> Replay:  # fmt: skip
    """Run a recorded run again and compare the states of all frames, bit by bit.

    run : the trajectory, or its file; also a file of a member of a sweep.
    scene : a function that builds the scene from the recorded parameters, a Python or model file, or the scene itself.
        Not needed for scenes of the gallery.
    settings : settings of `Simulation` that cannot be recorded because they are not plain data, such as `controller`.

    Raises ValueError if the record does not contain its settings, if the scene cannot be rebuilt, or if a setting is
    missing; TrajectoryError for damaged files.
    """
    record = run.dataset if isinstance(run, Trajectory) else read_record(Path(run))
    known = _provenance(record)
    built, source = _rebuild(known, scene)
    arguments = _arguments(known, source, settings)
    notes = _notes(known, source)
    simulation = Simulation(built, **arguments)
    if known["resumed"]:
        _set_state(simulation, record)
    states = record["state"].values if "state" in record else None
    _run(simulation, known["advances"], record.sizes.get("time", 0) if states is not None else None)
    frames = simulation.recorder.frames
    if states is None:
        same = frames_hash(frames["time"], frames["state"]) == known["frames_hash"]
        return Replay(same, len(frames["time"]), None, np.nan, notes, simulation)
    if frames_hash(record["time"].values, states) != known["frames_hash"]:
        notes.append("the states in the file differ from the recorded hash: the file was changed")
    difference, largest = _compare(simulation, record["time"].values, states)
    return Replay(difference is None, len(states), difference, largest, notes, simulation)


def _provenance(record: xarray.Dataset) -> dict[str, Any]:
    """What a record says of how it was run, its form checked. Raises ValueError."""
    text = record.attrs.get("provenance_json")
    if text is None:
        raise ValueError(
            "the file does not contain the settings of the run (an older version wrote it, or the run failed before "
            "its start)"
        )
    try:
        known = json.loads(text)
        good = isinstance(known, dict) and all(isinstance(known[key] or kind(), kind) for key, kind in WORDS.items())
        good = good and all(isinstance(d, int | float) and np.isfinite(d) and d > 0.0 for d in known["advances"])
        good = good and isinstance(known["frames_hash"], str) and isinstance(known["resumed"], bool)
        good = good and (known["origin"] is None or isinstance(known["origin"]["parameters"], dict))
    except (ValueError, TypeError, KeyError, RecursionError):
        good = False
    if not good:
        raise TrajectoryError("the attribute 'provenance_json' is not valid")
    return known


def _rebuild(known: Mapping[str, Any], scene: Any) -> tuple[Any, Source | None]:
    """(the scene again, its source). Raises ValueError if it cannot be rebuilt."""
    if isinstance(scene, Scene):
        return scene, None
    origin = known["origin"] or {"kind": "session", "name": "", "parameters": {}}
    kind, name = origin.get("kind"), str(origin.get("name"))
    parameters: dict[str, Any] = origin["parameters"]
    if callable(scene):
        source = from_function(scene)
    elif scene is not None:
        source = find(str(scene), origin.get("floating") is True)
    elif kind == "gallery":
        from .. import gallery

        if name not in gallery.names():
            raise ValueError(f"the record is of scene {name!r:.80}, which is not in the gallery")
        source = find(name)
    elif kind in ("file", "model"):
        raise ValueError(
            f"the run is of the file {name!r:.200}; files are not run unasked: give it, with --scene FILE (scene=)"
        )
    elif kind == "function":
        raise ValueError(
            f"the run is of a scene that the function {name!r:.200} made in a session; give a file with build(), with "
            "--scene FILE, or the function (scene=)"
        )
    else:
        raise ValueError(
            "the run is of a scene made in a session, of which nothing tells how; give a file with build(), with --scene "
            "FILE, or the scene itself (scene=)"
        )
    lost = origin.get("parameters_not_kept") or {}
    if lost:
        raise ValueError(
            f"parameters of the scene are not plain data ({', '.join(map(str, lost))}); give the scene (scene=)"
        )
    own = source.parameters()
    taken = {key: value for key, value in parameters.items() if key in own or source.takes_any()}
    return source.scene(**taken), source


def _arguments(known: Mapping[str, Any], source: Source | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of the run. Raises ValueError for settings that are missing."""
    own, names = {} if source is None else source.settings, setting_names()
    recorded = current_names(known["settings"], quiet=True)
    found = {key: value for key, value in recorded.items() if key in names}
    missing = []
    for name, what in known["settings_not_kept"].items():
        if name in given:
            continue
        if name in own and name in names:
            found[name] = own[name]
        else:
            missing.append(f"{name} ({what!s:.300})")
    if missing:
        raise ValueError(
            f"the run had settings that cannot be recorded: {', '.join(missing)}; give them: replay(run, ...)"
        )
    return found | dict(given)


def _notes(known: Mapping[str, Any], source: Source | None) -> list[str]:
    """What may explain a difference: other versions, another scene, changes by hand."""
    now, then = versions(), known["versions"]
    notes = [f"{key} was {then.get(key, 'not recorded')}, is {now[key]}" for key in now if then.get(key) != now[key]]
    origin = known["origin"]
    if source is not None and origin is not None and origin.get("sha256") != source.sha256:
        notes.append(f"the source of the scene, {source.name}, is not the one that was run")
    return notes + [f"changed by hand then: {what!s:.200}" for what in known["by_hand"]]


def _set_state(simulation: Simulation, record: xarray.Dataset) -> None:
    """Begin where a run that was resumed began. Raises ValueError where that is not recorded."""
    if "state" not in record:
        raise ValueError("the run was resumed from another, and its record has no states to begin from")
    simulation.resume(Trajectory(at_start(record)))


def _run(simulation: Simulation, durations: list[float], frames: int | None) -> None:
    """Advance as the recorded run did, no further than it was recorded; where that failed, this fails as well."""

    def watch(run: Simulation) -> None:
        if frames is not None and len(run.recorder) >= frames:
            run.stopped = True

    try:
        for duration in durations:
            if not simulation.stopped:
                simulation.advance(float(duration), progress=watch)
    except SimulationError:
        pass


def _compare(simulation: Simulation, times: np.ndarray, states: np.ndarray) -> tuple[Difference | None, float]:
    """(the first difference, the largest of any number)."""
    found_times, found = np.array(simulation.recorder.frames["time"]), np.array(simulation.recorder.frames["state"])
    if found.shape[1] != states.shape[1]:
        raise ValueError(
            f"the record has {states.shape[1]} numbers in its state and this scene {found.shape[1]}; give the scene that was "
            "run"
        )
    count = min(len(found), len(states))
    one = np.column_stack([times, states]).astype(float)
    other = np.column_stack([found_times, found])
    odd = one[:count].view(np.uint64) != other[:count].view(np.uint64)
    with np.errstate(invalid="ignore"):
        largest = float(np.abs(one[:count] - other[:count]).max(initial=0.0))
    if odd.any():
        frame, column = (int(k) for k in np.argwhere(odd)[0])
        name = "the time" if column == 0 else quantity(simulation.model, column - 1)
        return Difference(
            frame, float(times[frame]), name, float(one[frame, column]), float(other[frame, column])
        ), largest
    if len(found) != len(states):
        last = float((times if len(states) > count else found_times)[count])
        return Difference(count, last, "the number of frames", float(len(states)), float(len(found))), largest
    return None, 0.0


def quantity(model: Any, index: int) -> str:
    """What a number of the state is."""
    bodies, block = STATE_SIZE * len(model.body_names), model.particle_block
    if index < bodies:
        return f"{OF_A_BODY[index % STATE_SIZE]} of {model.body_names[index // STATE_SIZE]!r}"
    if index < block.stop:
        number, axis = divmod((index - block.start) % (3 * model.particle_count), 3)
        what = "position" if index - block.start < 3 * model.particle_count else "momentum"
        name, rows = next(item for item in model.particle_slices.items() if item[1].start <= number < item[1].stop)
        return f"{what} {'xyz'[axis]} of {name}[{number - rows.start}]"
    rest = index - block.stop
    names = [*(f"coordinate {i}" for i in range(len(model.tables["coordinates"])))]
    names += [*(f"the work of {name!r}" for name in model.force_names), *LEDGER]
    return names[rest] if rest < len(names) else f"number {index} of the state"
