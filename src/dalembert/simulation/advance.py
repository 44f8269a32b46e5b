"""The loop over frames: a run goes on to the next frame, event or call of its controller, and records."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from .. import checkpoint, interrupt
from ..clock import AskedTime, frame_times, next_frame
from ..constraint_solver import ConstraintSolver
from ..errors import failure, raised
from ..events import happen
from ..model.compile import Model
from ..no_solution import NoSolution
from ..recording import Recorder
from ..run_warnings import changed_since, of_the_steps
from ..stability import stability_warning
from ..start import ledger_size
from ..status import EVENT, NON_FINITE, OK
from ..warning import warn
from .checks import positive
from .stepper import Stepper

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
