"""Branches of a run: copies that continue with the same bits, pickling, and rebuilding of tables during a run."""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ..model.compile import Model
from ..scene.body import World
from . import checkpoint
from .clock import AskedTime
from .control import Clock
from .recording import Recorder
from .run import Course, Turn
from .wrenches import APPLIED, Wrenches

if TYPE_CHECKING:
    from .simulation import Simulation

OF_REPORT = ("_before", "_worst", "_mark", "_creeps", "worst_gap", "frame_gap")  # attributes of steppers
OF_TREE = ("z", "dzdt", "known")  # the state in joint coordinates
OF_STATE = {
    "y", "dydt", "stepper.booked", *(f"stepper.{name}" for name in OF_TREE), *(f"stepper.bodies.{name}" for name in OF_TREE)
}  # fmt: skip
"""Fields of a checkpoint that have the entries of the state."""
NOT_COUNTS = (
    "struck", "room", "status", "unnoted", "unstored", "kept", "passed", "contacts", "wants_finisher", "wants_continuous",
    "naps", "steps",
)  # fmt: skip
OWN = ("advances", "by_hand", "released", "event_times", "_spent", "_warnings", "_warned", "settings")
"""What a copy has of its own, beside the tables: lists, sets and dictionaries."""
PLAIN = (
    *OWN, "resumed", "kernel_time", "wall_time", "interrupted", "stopped", "_unrecorded", "_stepped_from",
    "_stability_known", "_audited", "frame_rate",
)  # fmt: skip
"""What a pickle has beside the state, its checkpoint and the record."""


copyreg.pickle(World, lambda world: "THE_WORLD")  # there is one


# Tables anew, in the course of a run ----------------------------------------------------------------------------------


def with_longer_ledger(run: Any, model: Model, lengthened: Callable[[np.ndarray], np.ndarray]) -> None:
    """Let a run go on with a model that has more forces and more entries of the ledger. lengthened : of what has the entries
    of a state."""
    counts, found = counts_of(run._driver), checkpoint.of_snapshot(run, checkpoint.snapshot(run))
    tables, recorder, asked, time = run._system, run.recorder, (run._asked.total, run._asked.rest), float(run.time)
    before_names, run.model = run.model.force_names, model
    run._size_state()
    _rebuild(run, _fit(found, run, lengthened), time)
    run._asked.total, run._asked.rest = asked
    run._system.timer[:] = tables.timer
    run._system.forces[: len(tables.forces)] = tables.forces  # a hand may hold something
    put_counts(run._driver, counts)
    run._motors = {}
    run.recorder = copy_of_recorder(run, recorder)
    frames, unknown = run.recorder.frames, np.full(len(model.force_names) - len(before_names), np.nan)
    frames["state"] = [lengthened(state) for state in frames["state"]]
    if "effort" in frames:
        frames["effort"] = [np.concatenate([efforts, unknown]) for efforts in frames["effort"]]
    if run._begun_from is not None:
        values = {name: _longer(name, each, lengthened) for name, each in run._begun_from.values.items()}
        run._begun_from = run._begun_from._replace(values=values)
    run._at_frame, run._snapshot_due = None, 0.0


def _fit(
    found: checkpoint.Checkpoint, run: Any, lengthened: Callable[[np.ndarray], np.ndarray]
) -> checkpoint.Checkpoint:
    """A checkpoint with the further entries and rows of a run."""
    rows = len(run.model.tables["forces"])
    values = {name: _longer(name, each, lengthened) for name, each in found.values.items()}
    for name, each in values.items():
        if name.startswith("forces."):
            width = 3 if name == "forces.vector" else 1
            values[name] = np.concatenate([each, np.zeros(width * rows - len(each))])
    return found._replace(values=values)


def _longer(name: str, values: np.ndarray, lengthened: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return lengthened(values) if name in OF_STATE else values


def _rebuild(run: Any, found: checkpoint.Checkpoint, time: float) -> None:
    """Make tables and stepper of a run anew, and let it go on from a checkpoint at a time (s)."""
    events, spent, sampled = run.event_times, set(run._spent), run.sensors
    redundant = run._system.settings[0].deficient
    run._make_tables()
    run._system.settings[0].deficient = redundant
    run._wrenches = Wrenches(run) if APPLIED in found.values else None
    run._driver.restart(time)
    checkpoint.put_back(run, found)
    run.event_times, run._spent = events, spent  # which the checkpoint has up to its frame
    run.sensors.set_time(time)
    run.sensors.go_on_from(sampled, until=time)


def counts_of(stepper: Any) -> list[dict[str, Any]]:
    """What the report says of the steps so far, which a checkpoint does not have: of a stepper, and of those inside it."""
    found = []
    for one in _inside(stepper):
        own = {name: getattr(one, name) for name in OF_REPORT if name in vars(one)}
        found.append({"own": own} | {name: np.array(table) for name, table in _counters(one).items()})
    return found


def put_counts(stepper: Any, counts: list[dict[str, Any]]) -> None:
    """Write `counts_of` another stepper of the same kind to this one."""
    for one, known in zip(_inside(stepper), counts, strict=True):
        for name, value in known["own"].items():
            setattr(one, name, value)
        for name, table in _counters(one).items():
            table[...] = known[name]


def _inside(stepper: Any) -> list[Any]:
    """A stepper, and those of its bodies, of its integration and of its impacts, each once."""
    parts = [stepper, stepper.bodies, getattr(stepper, "_driver", None), getattr(stepper, "_impact", None)]
    return list({id(part): part for part in parts if part is not None}.values())


def _counters(part: Any) -> dict[str, Any]:
    """Views of the counters in its tables."""
    found: dict[str, Any] = {}
    if hasattr(part, "report"):
        rows = part.report.view(np.ndarray)
        found |= {f"report.{name}": rows[name] for name in rows.dtype.names if name not in NOT_COUNTS}
    if hasattr(part, "_clock"):
        rows = part._clock.view(np.ndarray)
        found |= {f"clock.{name}": rows[name] for name in ("steps", "rejected", "evaluations")}
    tables = getattr(part, "_tables", None) or getattr(part, "_steps", None)
    if tables is not None and hasattr(tables, "timer"):
        found["timer"] = tables.timer
    return found


def copy_of_recorder(run: Any, before: Recorder) -> Recorder:
    """The frames so far as the record of a run; the frames themselves are shared, and never change."""
    found = Recorder(run.model, run._mechanism, run._contact_points)
    found.frames = {key: list(values) for key, values in before.frames.items()}
    found.points_every, found._points, found._last_points = before.points_every, before._points, before._last_points
    return found


# Copies and pickles ---------------------------------------------------------------------------------------------------


class Saved(NamedTuple):
    """A run as data: what makes it, and what it has become."""

    scene: Any
    arguments: dict[str, Any]
    time: float
    entries: bool  # whether the ledger has those of applied forces
    found: checkpoint.Checkpoint
    counts: list[dict[str, Any]]
    timer: np.ndarray
    frames: dict[str, list[Any]]
    points: tuple[Any, ...]
    samples: dict[str, Any]  # of sensors
    plain: dict[str, Any]


class Branching:
    """The part of `Simulation` about copies of a run."""

    def copy(self) -> Self:
        """Return a branch of the run: an independent simulation at the same state, which continues with the same bits.
        Both have the frames recorded so far.

        A controller, and functions of the scene, are the same objects in both, so their own data is shared.
        """
        run: Any = self
        run._notice_changes()
        found = checkpoint.of_snapshot(run, checkpoint.snapshot(run))
        twin = object.__new__(type(self))
        twin.__dict__.update({name: value for name, value in vars(self).items() if name not in ("_queries",)})
        own: Any = twin
        for name in OWN:
            setattr(own, name, copy.copy(getattr(run, name)))
        own.event_times = {name: list(times) for name, times in run.event_times.items()}
        own._turn, own._course, own._reader, own._motors, own._handles = Turn(), Course(own), None, {}, {}
        own._asked, own._lent, own._seen, own._advancing = AskedTime(run.time), False, None, False
        own._clock = None if run._clock is None else Clock(run._clock.function, run._clock.rate)
        own._room = (np.zeros_like(run._room[0]), np.zeros_like(run._room[1]))
        own._size_state()
        own._y[:] = run._y
        _rebuild(own, found, float(run.time))
        own._system.timer[:] = run._system.timer
        put_counts(own._driver, counts_of(run._driver))
        own.recorder = copy_of_recorder(own, run.recorder)
        return twin

    __copy__ = copy

    def __reduce__(self) -> tuple[Any, ...]:
        run: Any = self
        run._notice_changes()
        arguments = {
            name: value for name, value in run.arguments.items() if name not in run._method.options and name != "method"
        }
        known = {"hold", "stiffness", "damping", "frame_rate", "coordinates", "constraint_solver", "assemble",
                 "contact_points", "controller", "control_rate", "stop_unsolved"}  # fmt: skip
        arguments = {name: value for name, value in arguments.items() if name in known} | {"method": run._method}
        recorder = run.recorder
        saved = Saved(
            run.model.scene, arguments, float(run.time), run._wrenches is not None,
            checkpoint.of_snapshot(run, checkpoint.snapshot(run)), counts_of(run._driver), run._system.timer,
            recorder.frames, (recorder.points_every, recorder._points, recorder._last_points),
            run.sensors.samples(), {name: getattr(run, name) for name in PLAIN},
        )  # fmt: skip
        return restored, (type(self), saved)


def restored(kind: type[Simulation], saved: Saved) -> Simulation:
    """The run of a pickle. What a pickle says is executed, as always: load those of people you trust only; files that
    `Trajectory.save` writes are data, and safe."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which were issued when the run was made
        run: Any = kind(saved.scene, **saved.arguments)
    if saved.entries:
        run._take_entries()
    for name, value in saved.plain.items():
        setattr(run, name, value)
    _rebuild(run, saved.found, saved.time)
    put_counts(run._driver, saved.counts)
    run._system.timer[:] = saved.timer
    run.sensors.go_on_from(saved.samples, until=saved.time)
    recorder = Recorder(run.model, run._mechanism, run._contact_points)
    recorder.frames = saved.frames
    recorder.points_every, recorder._points, recorder._last_points = saved.points
    run.recorder = recorder
    run._asked.begin(saved.time)
    return run  # type: ignore[no-any-return]
