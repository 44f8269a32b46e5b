"""The protocol of steppers (integration methods, time steps, events), and the base class of fixed-step methods.

A stepper advances the state y of a run in place, up to a time. Compiled code makes the steps; a stepper owns its
tables. It lists the fields of a checkpoint, and reports contacts and its own work.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..core.c_function import C_TYPE, DERIVATIVE, NOT_A_NUMBER
from ..core.checkpoint_fields import Field
from ..core.interrupt import Pace, poll
from ..core.status import EVENT, OK, NoSolution

SAME_STEP = 1e-9  # of a step: a time this close to the end of a step is that end
MOST_ASKED = 100  # times that compiled code may ask for room, one after another, while no table grows


class Stepper(ABC):
    """Steps a state y in place, from frame to frame.

    Every stepper runs to a time, restarts, lists the fields of a checkpoint, and counts its work. Its reports of contacts and
    particles are empty unless it has any.

    event : index of the user's event that the last call of `run` stopped at.
    """

    event: int
    need_room: int = -1  # status of compiled code that found no room for its contacts

    # Running ----------------------------------------------------------------------------------------------------------

    @abstractmethod
    def run(self, y: np.ndarray, dydt: np.ndarray, target: float) -> int:
        """Step y until `target` (s), in place; dydt is the derivative at y, where the stepper uses one. Returns a status:
        OK, EVENT, or what went wrong. Raises NoSolution where a solver fails and that ends the run, and KeyboardInterrupt.
        """

    @abstractmethod
    def restart(self, time: float) -> None:
        """Start again at a time (s)."""

    @abstractmethod
    def changed(self) -> None:
        """Discard what was derived from the state, which was changed from outside."""

    def inputs_changed(self) -> None:
        """Discard what was derived from the inputs of motors, one of which was changed."""
        self.changed()

    def let_go(self, attachment: int) -> bool:
        """Release an attachment of a particle, by its index in the model. Returns whether it is one of this stepper."""
        return False

    def call_with_room(self, call: Callable[[], int]) -> int:
        """Call compiled code, again after each time that it finds too little room for contacts. Returns its status. Raises
        RuntimeError where it asks again and again, and no table grows."""
        room, asked = self.room(), 0
        while (status := call()) == self.need_room:
            self.grow()
            before, room = room, self.room()
            asked = asked + 1 if room == before else 0
            if asked > MOST_ASKED:
                raise RuntimeError(
                    f"compiled code asked {asked} times for room in tables of {room}, which did not grow"
                )
        return status

    def grow(self) -> None:
        """Give compiled code as much room as it asked for."""
        raise NotImplementedError(f"{type(self).__name__} has no room to grow")

    # Checkpoints ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def fields(self) -> list[Field]:
        """The fields of a checkpoint: all that persists from step to step besides the state and its derivative."""

    def room(self) -> dict[str, int]:
        """The lengths of `fields` that the model does not determine."""
        return {}

    def make_room(self, room: dict[str, int]) -> None:  # noqa: B027 - most have no room
        """Give `fields` these lengths. Raises CheckpointError for impossible lengths."""

    def put_back(self) -> None:  # noqa: B027 - most need nothing more
        """Continue from the values that were written to `fields`. Raises CheckpointError for impossible values."""

    # Statistics -------------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def time(self) -> float:
        """Time of the state, s."""

    @property
    @abstractmethod
    def step(self) -> float:
        """Length of the step that was tried last, or that comes next, s."""

    @property
    @abstractmethod
    def counts(self) -> dict[str, int]:
        """ "steps" accepted, "rejected" ones, and "evaluations" of the forces."""

    @property
    def timer(self) -> dict[str, float]:
        """Stage → processor cycles, where a step has stages of its own."""
        return {}

    @abstractmethod
    def attempt(self, y: np.ndarray) -> np.ndarray:
        """The state that the last step was tried with, if that step failed; else y."""

    # Contacts and particles -------------------------------------------------------------------------------------------

    @property
    def bodies(self) -> Any:
        """The stepper that solves contacts of bodies in fixed steps (`contact.time_stepping`), or None."""
        return None

    @property
    def particles(self) -> Any:
        """The stepper that moves particles by steps of their own (`deformable.stepping`), or None."""
        return None

    @property
    def log(self) -> list[Any]:
        """Events of contact so far (`impact.impact.ContactEvent`)."""
        return []

    def contacts(self, model: Any) -> list[Any]:
        """The contacts of the last step (`contact.contact_point.Contact`)."""
        return []

    def asleep(self, model: Any) -> list[str]:
        """The names of bodies that sleep."""
        return []

    def efforts(self, model: Any) -> dict[str, float]:
        """Force → what stops, dry friction and ideal motors exerted in the last step, N or N m along its coordinate."""
        return {}

    def frame(self) -> dict[str, Any]:
        """What is recorded of a frame beside the state: see `Trajectory`."""
        return {}

    def contact_report(self) -> Any:
        """How contacts of bodies were solved so far (`contact.time_stepping.ContactReport`), or None."""
        return None

    def particle_report(self) -> Any:
        """How steps of particles were solved so far (`deformable.tables.ParticleReport`), or None."""
        return None


class FixedStepper(Stepper):
    """Steps of one length. Events and unsolved steps are checked here, after each step.

    A subclass makes the steps (`call_kernel`), grows its tables (`grow`), and describes an unsolved step (`missed`).

    settings : with `dt` (s) and `stop_unsolved`, whether a step whose solver misses its tolerance ends the run. options : its
    table of options, with `start` (s). report : its table of results, with `steps` and `unsolved`. events : the user's.
    """

    def __init__(self, settings: Any, options: Any, report: Any, events: StepEvents) -> None:
        self.settings, self.report = settings, report
        self._done = report.view(np.ndarray)["steps"]  # which is read many times faster than a field of records
        self._dt = float(settings.dt)
        self._options, self._events = options, events
        self._start, self._before, self._pace = 0.0, 0, Pace()
        self.event = -1

    @abstractmethod
    def call_kernel(self, y: np.ndarray, dydt: np.ndarray, stop: float) -> int:
        """Make steps until so long after the start (s). Returns a status."""

    @abstractmethod
    def missed(self) -> str:
        """The message for a step whose solver missed its tolerance."""

    def run(self, y: np.ndarray, dydt: np.ndarray, target: float) -> int:
        """Step y until `target` (s) is reached, in place. Returns a status. Raises NoSolution at a step that misses its
        tolerance, if that ends the run, and KeyboardInterrupt."""
        dt, stop = self.settings.dt, target - self._start
        if not self._one_by_one():
            return self.make_steps(y, dydt, stop)
        while True:
            self.event = self._events.next_waiting()
            if self.event >= 0:
                return EVENT
            status = OK if self._events.known else self._events.look(self.time, y)
            done = int(self.report.steps[0])
            if status != OK or (done + SAME_STEP) * dt >= stop:
                return status
            unsolved = int(self.report.unsolved[0])
            status = self.make_steps(y, dydt, (done + 1) * dt)
            if self.settings.stop_unsolved and self.report.unsolved[0] > unsolved:
                raise NoSolution(self.missed())
            if status == OK:
                status = self._events.look(self.time, y)
            if status != OK:
                return status
            poll()

    def _one_by_one(self) -> bool:
        """Whether something is checked after each step, so that a call of compiled code makes one step only."""
        return len(self._events) > 0 or self.settings.stop_unsolved

    def make_steps(self, y: np.ndarray, dydt: np.ndarray, stop: float) -> int:
        """Make steps until so long after the start (s), as many a call as Ctrl-C can wait for. Returns a status. Raises
        KeyboardInterrupt."""
        while True:
            last = (self._done.item() + self._pace.begin()) * self._dt
            status = self.call_with_room(partial(self.call_kernel, y, dydt, min(stop, last)))
            if status != OK or stop <= last:
                return status
            self._pace.end()

    def restart(self, time: float) -> None:
        """Start again at a time (s)."""
        self._start, self._before = time, 0
        self._options.start[0] = time
        self.report.steps = 0
        self._events.begin()
        self.changed()

    def changed(self) -> None:
        """Discard the values of events, as the state was changed from outside."""
        self._events.forget()

    def inputs_changed(self) -> None:
        """Nothing to discard: each step reads the inputs of motors."""

    def put_back(self) -> None:
        """Continue from the values that were written to `fields`."""
        self._start, self._before = float(self._options.start[0]), int(self.report.steps[0])

    @property
    def time(self) -> float:
        """Time of the state, s."""
        return self._start + self._done.item() * self._dt

    @property
    def step(self) -> float:
        """The length of a step, s."""
        return float(self.settings.dt)

    @property
    def counts(self) -> dict[str, int]:
        """Steps made since the run began or was resumed; each takes one evaluation of the forces."""
        steps = int(self.report.steps[0]) - self._before
        return {"steps": steps, "rejected": 0, "evaluations": steps}


class StepEvents:
    """Sign changes of functions of the state between the ends of steps.

    addresses : of C functions (see `core.c_function`) with one value each. directions : the sign changes that count, −1
    falling, 1 rising, 0 any.
    """

    def __init__(self, addresses: np.ndarray, directions: Sequence[int]) -> None:
        self._functions = [C_TYPE(int(address)) for address in addresses]
        self._directions = list(directions)
        self._known = np.zeros(1, np.int64)  # 1: `before` holds the values at the last evaluation
        self._before = np.zeros(len(self._functions))
        self._waiting = np.zeros(len(self._functions), np.int64)  # 1: happened, and not reported yet

    def __len__(self) -> int:
        return len(self._functions)

    @property
    def known(self) -> bool:
        """Whether the functions were evaluated since the state was set."""
        return bool(self._known[0])

    def next_waiting(self) -> int:
        """The number of an event that has happened and was not reported yet; −1 if there is none. Marks it as reported."""
        if not self._waiting.any():
            return -1
        number = int(np.argmax(self._waiting))
        self._waiting[number] = 0
        return number

    def begin(self) -> None:
        """Discard all, as the run restarts."""
        self._waiting[:] = 0
        self.forget()

    def forget(self) -> None:
        """Discard the values before, as the state was changed from outside."""
        self._known[0] = 0

    def fields(self) -> list[Field]:
        """The fields of a checkpoint."""
        return [
            Field("known", self._known, 0, 1),
            Field("values before", self._before),
            Field("waiting", self._waiting, 0, 1),
        ]

    def look(self, t: float, y: np.ndarray) -> int:
        """Evaluate the functions and mark the events since the last evaluation. Returns a status."""
        values = np.empty(len(self))
        for i, function in enumerate(self._functions):
            status = int(function(0, DERIVATIVE, t, y.ctypes.data, y.size, values[i:].ctypes.data, 1))
            if status != OK:
                return status
            if np.isnan(values[i]):
                return NOT_A_NUMBER
        if self.known:
            for i, direction in enumerate(self._directions):
                rises = self._before[i] < 0.0 <= values[i]
                falls = self._before[i] > 0.0 >= values[i]
                if (rises and direction >= 0) or (falls and direction <= 0):
                    self._waiting[i] = 1
        self._before[:], self._known[0] = values, 1
        return OK
