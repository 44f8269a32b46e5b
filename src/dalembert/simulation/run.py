"""The loop over frames: a run goes on to the next frame, event or call of its controller, and records."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..core import interrupt
from ..core.checkpoint_fields import CheckpointError
from ..core.status import EVENT, NON_FINITE, OK, NoSolution, warn
from ..dynamics.mechanism import Mechanism
from ..integrate.stepper import Stepper
from ..model.compile import Model
from . import checkpoint
from .checkpoint import AskedTime, frame_times, next_frame
from .constraint_system import ConstraintSolver
from .errors import failure, raised
from .events import happen
from .initial_conditions import ledger_size
from .provenance import provenance
from .recording import Recorder, as_json
from .registry import positive
from .report import Report, make_report
from .run_warnings import changed_since, of_the_steps, stability_warning
from .summary import scene_description
from .trajectory import Trajectory, TrajectoryError

if TYPE_CHECKING:
    from ..view.plots import Plots

SNAPSHOT_EVERY = 0.02  # s of computing


class Advancing:
    """The part of `Simulation` that runs."""

    model: Model
    frames: float
    recorder: Recorder
    settings: dict[str, Any]
    advances: list[float]
    stopped: bool
    interrupted: bool
    wall_time: float
    kernel_time: float
    time: Any  # s, a property of `Simulation`
    _driver: Stepper
    _y: np.ndarray
    _dydt: np.ndarray
    _asked: AskedTime
    _lock: threading.Lock
    _holder: int
    _advancing: bool
    _lent: bool
    _seen: np.ndarray | None
    _warnings: dict[str, str]
    _warned: set[str]
    _sizes: tuple[int, ...]
    _stability_known: bool
    _constraint_solver: ConstraintSolver | None
    _at_frame: checkpoint.Snapshot | None
    _snapshot_due: float
    _notice_changes: Callable[[], None]
    _held_until: Callable[[float], float]
    _effort_frame: Callable[[], dict[str, np.ndarray]]
    _joint_frame: Callable[[], dict[str, np.ndarray]]

    def advance(self, duration: float, *, progress: Callable[[Any], Any] | None = None) -> Self:
        """Run on for `duration` seconds, recording frames; `progress` is called after each.

        Durations add up exactly: what a fixed step goes beyond the time asked for is taken from the next call, which may then
        have no step to make. Frames are recorded at multiples of their interval, and at the end of each call.

        Raises SimulationError where the run fails, and KeyboardInterrupt on Ctrl-C; the attribute `simulation` of either is
        this run. All that was recorded is kept, and after Ctrl-C the run can go on. Raises ValueError for a duration that is
        not a finite number above zero, and RuntimeError where the run is being advanced already: by another thread, or
        because one of its own functions asks for it.
        """
        seconds = positive("duration", duration, "s")
        with self._alone():
            self.advances.append(seconds)
            self._go_on(self._asked.add(seconds), progress)
        return self

    def advance_frame(self) -> Self:
        """Run on to the next frame and record it. Raises as `advance` does."""
        with self._alone():
            end = next_frame(self.time, self.frames)
            self._asked.begin(end)
            self._go_on(end, None)
        return self

    def _go_on(self, end: float, progress: Callable[[Any], Any] | None) -> None:
        """Run until `end` (s), frame by frame."""
        start = time.perf_counter()
        self._notice_changes()
        self._warn_before(end - self.time)
        self._advancing = True
        try:
            with interrupt.deferred():
                for target in frame_times(self.time, self.frames, end, lambda: self.time):
                    if self.stopped:
                        break
                    self._to(target)
                    if progress is not None:
                        interrupt.call(progress, self)
                    interrupt.poll()
        except BaseException as error:
            self._asked.begin(self.time)
            if isinstance(error, KeyboardInterrupt):
                self.interrupted = True
                error.simulation = self  # type: ignore[attr-defined]
            raise
        finally:
            self._advancing = False
            self.wall_time += time.perf_counter() - start
        if self._lent:
            self._seen = self._y[: -ledger_size(self.model)].copy()
        self._warn_after()

    def _to(self, target: float) -> None:
        """Integrate to one frame and record it, stopping at events and where the controller is called on the way."""
        while True:
            self._notice_changes()
            stop = self._held_until(target)
            self._notice_changes()
            status = self._run(stop)
            if status == EVENT:
                happen(self, self.model.events[self._driver.event])
                if self.stopped:
                    break
            elif status != OK:
                raise failure(self, status)
            elif stop >= target:
                break
            if self.time >= target:
                break
        if self.time > self.recorder.frames["time"][-1]:
            self._record()

    def _run(self, target: float) -> int:
        start = time.perf_counter()
        try:
            status = self._driver.run(self._y, self._dydt, target)
        except NoSolution as error:
            raise failure(self, str(error)) from error
        finally:
            self.kernel_time += time.perf_counter() - start
        return status

    def _record(self) -> None:
        """Record a frame. Raises SimulationError where there is nothing to record."""
        recorded = self.recorder.record(self.time, self._y, self._driver.frame())
        if raised(self.model) is not None or not recorded:
            raise failure(self, NON_FINITE)
        self.recorder.keep({**self._effort_frame(), **self._joint_frame()})
        if self._constraint_solver is not None:
            self.recorder.keep(self._constraint_solver.frame())
        if time.perf_counter() > self._snapshot_due:  # where frames are quick, a run is interrupted between two
            self._at_frame = checkpoint.snapshot(self)
            self._snapshot_due = time.perf_counter() + SNAPSHOT_EVERY

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Refuse a second call while the tables of the run are in use."""
        if not self._lock.acquire(blocking=False):
            if self._holder == threading.get_ident():
                raise RuntimeError(
                    "a controller, or another function of a run, cannot advance the run that calls it; return, and it goes on"
                )
            raise RuntimeError(
                "this Simulation is being advanced by another thread; give each thread a Simulation of its own, or use "
                "run_batch or sweep"
            )
        self._holder = threading.get_ident()
        try:
            yield
        finally:
            self._lock.release()

    @property
    def warnings(self) -> list[str]:
        """What is doubtful of this run so far; each was issued as a `SimulationWarning`, too."""
        return list(self._warnings.values())

    def warn(self, message: str, about: str | None = None) -> None:
        """Issue a `SimulationWarning` about this run and list it in the report; once, or once for what it is `about`, of
        which the report has the last message."""
        self._warnings[about or message] = message
        if (about or message) not in self._warned:
            self._warned.add(about or message)
            warn(message)

    def _warn_before(self, duration: float) -> None:
        """Look at what can be told before a stretch of `duration` seconds."""
        changed = changed_since(self.model, self._sizes)
        if changed is not None:
            self.warn(changed)
        if not self._stability_known and self.settings["dt"] is not None:
            self._stability_known = True
            found = stability_warning(self, duration)
            if found is not None:
                self.warn(found)

    def _warn_after(self) -> None:
        """Look at what the steps so far tell."""
        for about, message in of_the_steps(self):
            self.warn(message, about)


# ----------------------------------------------------------------------------------------------------------------------
# What came of a run: its report, trajectory and checkpoints; and going on from a saved one.


class Results:
    """The part of `Simulation` that tells what came of it."""

    model: Model
    method: str
    recorder: Recorder
    settings: dict[str, Any]
    released: dict[str, float]
    advances: list[float]
    resumed: bool
    time: Any  # s, a property of `Simulation`
    warn: Any
    _driver: Stepper
    _mechanism: Mechanism
    _y: np.ndarray
    _seen: np.ndarray | None
    _asked: AskedTime
    _at_frame: checkpoint.Snapshot | None
    _begun_from: checkpoint.Checkpoint | None
    _alone: Any
    _record: Any
    _warn_after: Any
    _forget_controls: Any
    _recall_turns: Any
    _joint_units: Any

    @property
    def report(self) -> Report:
        """The table of the run so far."""
        self._warn_after()
        return make_report(self)

    @property
    def trajectory(self) -> Trajectory:
        """Everything recorded so far."""
        from .. import __version__

        attrs = {
            "scene": self.model.name,
            "method": self.method,
            "settings": json.dumps(self.settings),
            "version": __version__,
            "scene_json": as_json(scene_description(self.model.scene, self.released)),
            "report_json": as_json(self.report.as_dict()),
        }
        found = provenance(self)
        attrs |= {"provenance_json": as_json(found), "final_state_hash": found["final_state_hash"]}
        trajectory = self.recorder.trajectory(attrs, self._joint_units())
        at_frame = self._checkpoint()
        if at_frame is not None:
            checkpoint.attach(trajectory.dataset, checkpoint.NOW, at_frame)
        if self._begun_from is not None:
            checkpoint.attach(trajectory.dataset, checkpoint.START, self._begun_from)
        return trajectory

    def _checkpoint(self) -> checkpoint.Checkpoint | None:
        """What a run needs to go on from the last frame."""
        found, last = self._at_frame, self.recorder.frames["state"][-1].tobytes()
        if found is None:
            return None  # it failed at its start
        if self._y.tobytes() == last and self.time == self.recorder.frames["time"][-1]:
            found = checkpoint.snapshot(self)
        elif found.fields[0].values.tobytes() != last:
            return None
        return checkpoint.of_snapshot(self, found)

    @property
    def plot(self) -> Plots:
        """Figures of the run so far with matplotlib: ``run.plot.energy()``, ``.phase("bob")`` and others."""
        return self.trajectory.plot

    def resume(self, trajectory: Trajectory) -> Self:
        """Go on from the last state of a saved run of the same scene.

        With the same settings the run that follows has the bits of one that was never stopped. What functions of the user's
        keep for themselves (a controller's memory) is not in the file. With other settings, or where the file has the state
        alone (an older version wrote it, or it was cut), it goes on near to that; the latter is warned of.

        Raises ValueError for a run of another scene, and TrajectoryError for a file whose contents cannot be.
        """
        y = np.asarray(trajectory.last_state, float)
        if y.shape != self._y.shape:
            raise ValueError(
                f"the saved run has {y.size} numbers in its state and this scene {self._y.size}; resume the same scene"
            )
        with self._alone():
            try:
                found = checkpoint.detach(trajectory.dataset, checkpoint.NOW)
                self._go_on_from(float(trajectory.times[-1]), y, trajectory.last_joint_coordinates, found)
            except CheckpointError as error:
                raise TrajectoryError(str(error)) from None
        return self

    def _go_on_from(
        self, time: float, y: np.ndarray, turns: dict[str, float], found: checkpoint.Checkpoint | None
    ) -> None:
        """Begin a record at a state, with what else is known of it; turns: coordinates of joints there. Raises
        CheckpointError."""
        self._set_state(time, y, turns)
        self.advances, self.resumed, self._begun_from = [], True, None
        if found is None or not checkpoint.of_state(found, y):
            self.warn(
                "the saved run has its last state alone, without what a run remembers from step to step: what goes on from "
                "it is near to a run that was never stopped, but has other bits"
            )
        elif checkpoint.same_settings(self, found):
            checkpoint.put_back(self, found)
            self._begun_from = found
        self.recorder = Recorder(self.model, self._mechanism)
        self._record()

    def _set_state(self, time: float, y: np.ndarray, turns: dict[str, float] | None) -> None:
        """Let the run go on from this state at a time (s); turns: coordinates of joints there, if known, with full turns."""
        self._y[:] = y
        self._seen = None
        self._driver.restart(time)
        self._asked.begin(time)
        self._forget_controls()
        if turns is not None:
            self._recall_turns(turns)
