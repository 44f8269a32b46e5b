"""The loop over frames: integrate to the next frame, event or call of the controller, and record."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..core import interrupt
from ..core.renamed import warn_renamed
from ..core.status import EVENT, NON_FINITE, OK, NoSolution, warn
from ..integrate.stepper import Stepper
from ..model.compile import Model
from ..scene.scene import Event
from ..sensors.sampling import Sensors
from . import checkpoint
from .clock import AskedTime, frame_times, next_frame, require_few_frames
from .constraint_system import ConstraintSolver
from .errors import failure, raised
from .initial_conditions import ledger_size
from .recording import Recorder
from .registry import positive
from .run_warnings import changed_since, of_the_steps
from .stability import stability_warning
from .wrenches import BY_USER

LONGER = 1.5  # times as long as the run: such a step is probably a mistake
SNAPSHOT_EVERY = 0.02  # s of wall time between snapshots for an interrupted run


class Turn:
    """A context in which nothing else may advance a run. Raises RuntimeError if something does."""

    def __init__(self) -> None:
        self._lock, self._holder = threading.Lock(), 0

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            if self._holder == threading.get_ident():
                raise RuntimeError(
                    "a controller, or another function of a run, cannot advance the run that calls it; return from "
                    "the function to continue"
                )
            raise RuntimeError(
                "this Simulation is being advanced by another thread; give each thread its own Simulation, or use "
                "run_batch or sweep"
            )
        self._holder = threading.get_ident()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


class Course:
    """A context in which a run goes on: changes of the state are noticed before; forces that the user applied end with it."""

    def __init__(self, run: Any) -> None:
        self._run, self._deferred, self._start = run, interrupt.Deferred(), 0.0

    def __enter__(self) -> None:
        run, self._start = self._run, time.perf_counter()
        if run._seen is not None:
            run._notice_changes()
        run._advancing = True
        self._deferred.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: Any) -> None:
        run = self._run
        try:
            self._deferred.__exit__()
        except BaseException as late:  # Ctrl-C in the meantime
            error = late
            raise
        finally:
            if error is not None:
                run._asked.begin(run.time)
            if isinstance(error, KeyboardInterrupt):
                run.interrupted = True
                error.simulation = run  # type: ignore[attr-defined]
            run._advancing = False
            if run._wrenches is not None:
                run._end_of_forces(BY_USER)
            run.wall_time += time.perf_counter() - self._start
        if run._lent and error is None:
            run._seen = run._y[: -ledger_size(run.model)].copy()


class Advancing:
    """The part of `Simulation` that advances time."""

    model: Model
    frame_rate: float
    recorder: Recorder
    settings: dict[str, Any]
    advances: list[float]
    stopped: bool
    interrupted: bool
    wall_time: float
    kernel_time: float
    time: Any  # s, a property of `Simulation`
    _driver: Stepper
    _mechanism: Any
    _y: np.ndarray
    _dydt: np.ndarray
    _asked: AskedTime
    _turn: Turn
    _clock: Any  # of a controller; None without one
    _advancing: bool
    _lent: bool
    _seen: np.ndarray | None
    _warnings: dict[str, str]
    _warned: set[str]
    _stability_known: bool
    _constraint_solver: ConstraintSolver | None
    _at_frame: checkpoint.Snapshot | None
    _snapshot_due: float
    sensors: Sensors
    event_times: dict[str, list[float]]
    _spent: set[str]
    state: Any  # a property of `Simulation`
    release: Callable[[str], None]
    changed: Callable[[], None]
    _take_change: Callable[[], None]
    _notice_changes: Callable[[], None]
    _held_until: Callable[[float], float]
    _live_work: Callable[[], float]
    _record_now: Callable[[], None]
    _end_of_forces: Callable[[int], None]
    _stepped_from: float | None  # s, where the calls of `step` since the last call of `advance` began
    _effort_frame: Callable[[], dict[str, np.ndarray]]
    _joint_frame: Callable[[], dict[str, np.ndarray]]

    if not TYPE_CHECKING:

        @property
        def frames(self) -> float:
            """The old name of `frame_rate`."""
            warn_renamed("Simulation.frames", "Simulation.frame_rate")
            return self.frame_rate

        @frames.setter
        def frames(self, value: float) -> None:
            warn_renamed("Simulation.frames", "Simulation.frame_rate")
            self.frame_rate = value

    def advance(self, duration: float, *, progress: Callable[[Self], object] | None = None) -> Self:
        """Continue the run for `duration` seconds, recording frames; `progress` is called after each frame.

        Durations add up exactly: if a fixed step ends after the requested time, the next call is shorter by the
        difference, and may need no step. Frames are recorded at multiples of their interval, and at the end of each
        call.

        Raises SimulationError if the run fails, and KeyboardInterrupt on Ctrl-C; the attribute `simulation` of either
        is this run. Recorded frames are never lost, and after Ctrl-C the run can continue. Raises ValueError for a
        duration that is not finite and positive, and RuntimeError if the run is already being advanced, by another
        thread or by a call that one of its own functions is part of.
        """
        seconds = positive("duration", duration, "s")
        if not self.model.events and self._clock is None and progress is None:  # which may end it earlier
            require_few_frames(seconds, self.frame_rate, self.settings["dt"])
        with self._turn:
            self._warn_of_long_steps(seconds)
            self._record_now()
            self.advances.append(seconds)
            self._stepped_from = None
            self._go_on(self._asked.add(seconds), progress)
        return self

    def advance_frame(self) -> Self:
        """Continue to the next frame and record it. Raises the same errors as `advance`."""
        with self._turn:
            self._record_now()
            self._stepped_from = None
            end = next_frame(self.time, self.frame_rate)
            self._asked.begin(end)
            self._go_on(end, None)
        return self

    def _go_on(self, end: float, progress: Callable[[Any], Any] | None) -> None:
        """Run until `end` (s), frame by frame."""
        self._notice_changes()
        self._warn_before(end - self.time)
        with Course(self):
            for target in frame_times(self.time, self.frame_rate, end, lambda: self.time):
                if self.stopped:
                    break
                self._to(target)
                if progress is not None:
                    interrupt.call(progress, self)
                interrupt.poll()
        self._warn_after()

    def _to(self, target: float, record: bool = True) -> None:
        """Integrate to a time (s), stopping at events and at calls of the controller; `record` a frame there."""
        while True:
            self._notice_changes()
            stop = self._held_until(target)
            self._notice_changes()
            status = self._run(stop)
            if status == EVENT:
                self._handle(self.model.events[self._driver.event])
                if self.stopped:
                    break
            elif status != OK:
                raise failure(self, status)
            elif stop >= target:
                break
            if self.time >= target:
                break
        if record and self.time > self.recorder.frames["time"][-1]:
            self._record()

    def _handle(self, event: Event) -> None:
        """Release and change what an event asks for. The change of energy goes to the ledger's entry "events"."""
        self.event_times[event.name].append(self.time)
        if event.name in self._spent:
            return
        if event.once:
            self._spent.add(event.name)
        self._record()
        before = float(np.sum(self.recorder.frames["energies"][-1])) - self._live_work()
        for name in event.release:
            self.release(name)
        self._act(event)
        self.recorder.drop_from(self.time)
        self._record()
        entry = self.model.size - ledger_size(self.model) + self.model.force_names.index("events")
        self._y[entry] += float(np.sum(self.recorder.frames["energies"][-1])) - self._live_work() - before
        self.recorder.drop_from(self.time)
        self._take_change()
        self._record()
        self.stopped = self.stopped or event.stop

    def _act(self, event: Event) -> None:
        """Call the action of an event, if it has one. Raises SimulationError, with its name, for an error in it."""
        if event.action is None:
            return
        try:
            interrupt.call(event.action, self.state)
        except Exception as error:
            at = f"at t = {self.time:.9g} s"
            raise failure(self, f"{at} the action of event {event.name!r} failed: {error!r}") from error

    def _run(self, target: float) -> int:
        """Let the stepper run to `target` (s), and sample sensors on the way. Returns a status."""
        self._mechanism.choose_rows(float(self.time), self._y)
        if not self.sensors:
            return self._step_until(target)
        self.sensors.refresh()
        while True:
            stop = min(target, self.sensors.next_time)
            status = self._step_until(stop)
            if status != OK:
                return status
            self.sensors.sample()
            if stop >= target:
                return status

    def _step_until(self, target: float) -> int:
        """Let the stepper run to `target` (s). Returns a status."""
        start = time.perf_counter()
        try:
            status = self._driver.run(self._y, self._dydt, target)
        except NoSolution as error:
            raise failure(self, str(error)) from error
        finally:
            self.kernel_time += time.perf_counter() - start
        return status

    def _record(self) -> None:
        """Record a frame. Raises SimulationError if the state or its energies are not finite."""
        recorded = self.recorder.record(self.time, self._y, self.recorder.contact_frame(self._driver))
        if raised(self.model) is not None or not recorded:
            raise failure(self, NON_FINITE)
        self.recorder.keep({**self._effort_frame(), **self._joint_frame()})
        if self._constraint_solver is not None:
            self.recorder.keep(self._constraint_solver.frame())
        if time.perf_counter() > self._snapshot_due:  # frames that take less are not interrupted
            self._at_frame = checkpoint.snapshot(self, self._at_frame)
            self._snapshot_due = time.perf_counter() + SNAPSHOT_EVERY

    @property
    def warnings(self) -> list[str]:
        """Messages about doubtful results of this run so far. Each was also issued as a `SimulationWarning`."""
        return list(self._warnings.values())

    def warn(self, message: str, about: str | None = None) -> None:
        """Issue a `SimulationWarning` about this run and list it in the report. Each message is issued once. Of several
        messages `about` the same subject the first is issued and the last is listed."""
        self._warnings[about or message] = message
        if (about or message) not in self._warned:
            self._warned.add(about or message)
            warn(message)

    def _warn_before(self, duration: float) -> None:
        """Warn of what can be predicted of the next `duration` seconds: unstable steps, changed tables."""
        self._warn_of_changes()
        if not self._stability_known and self.settings["dt"] is not None:
            self._stability_known = True
            found = stability_warning(self, duration)
            if found is not None:
                self.warn(found)

    def _warn_of_changes(self) -> None:
        """Warn of what was added to the scene or changed of it since the run was made."""
        changed = changed_since(self.model)
        if changed is not None:
            self.warn(changed)

    def _warn_of_long_steps(self, seconds: float) -> None:
        """Warn of a run that is shorter than one step."""
        dt = self.settings["dt"]
        if dt is not None and not self.advances and float(dt) > LONGER * seconds:
            self.warn(
                f"dt is {float(dt):g} s, and the run lasts {seconds:g} s: it ends after one step, at {float(dt):g} s; give a "
                f"smaller dt, in s, such as {0.01 * seconds:.1g}"
            )

    def _warn_after(self) -> None:
        """Warn of what the steps so far show: unsolved contacts, drift, a scene that a controller or an event changed."""
        self._warn_of_changes()
        for about, message in of_the_steps(self):
            self.warn(message, about)
