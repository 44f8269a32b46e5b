"""The integration of a run in progress: options, clock and scratch of one method, and the call of the stepping kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checkpoint_fields import COUNT, REAL, Field
from ..pace import Pace
from ..simulation.stepper import Stepper
from ..status import MAX_STEPS
from . import state as integration
from .behind import Stepper as CompiledStepper
from .functions import Functions


class Driver(Stepper):
    """Integrates y' = f(t, y) from frame to frame.

    functions : the addresses of the system. options : see `state.make_options`. step : fixed step (s), or 0.
    """

    def __init__(self, functions: Functions, options: integration.Options, step: float) -> None:
        self._options, self._step, self._carried = options, step, functions.carried
        self._work = integration.make_work(options)
        self._clock = integration.make_clock(0.0, step)
        self._signs, self._pace = integration.make_signs(options), Pace()
        self._kept = {
            "t": (0.0, REAL[1]), "h": (0.0, REAL[1]), "error_last": (0.0, REAL[1]), "origin": REAL, "count": COUNT,
            "event": (-1, max(0, len(self._signs) - 1)), "started": (0, 1), "valid": (0, 1),
        }  # fmt: skip
        self.stepper = CompiledStepper(functions, options, self._work, self._signs, self._clock)

    def restart(self, time: float) -> None:
        """Begin anew at a time (s)."""
        self._clock[:] = integration.make_clock(time, self._step)

    def changed(self) -> None:
        """The state was changed from outside: forget what was derived from it."""
        self._clock[0].valid = 0

    def run(self, y: np.ndarray, dydt: np.ndarray, target: float, land: bool = False) -> int:
        """Step y until `target` (s), in place. Returns a status. Adaptive methods end there exactly; fixed steps end with the
        first step that does not end before it, or, with `land`, there exactly, by a shorter step. Raises
        KeyboardInterrupt."""
        self._options.plan.land = int(land)
        while True:
            status = self.stepper.perform(self._pace.begin(), target, y, dydt)
            if status != MAX_STEPS:
                return status
            self._pace.end()

    def fields(self) -> list[Field]:
        """What is remembered from step to step, beside the state and its derivative."""
        return [Field("clock", self._clock, columns=self._kept), Field("signs", self._signs, -1.0, 1.0)]

    def attempt(self, y: np.ndarray) -> np.ndarray:
        """The state that a step was tried with and that is not finite, at a stage or at its end; else y."""
        for tried in (self._work.stage, self._work.y_new):
            state = tried[: tried.size - self._carried]
            if not (np.isfinite(state).all() or np.isnan(state).all()):  # the latter: not computed yet
                return state
        return y

    @property
    def step(self) -> float:
        """The length of the step that was tried last, or that comes next, s."""
        return float(self._clock[0].h)

    @property
    def time(self) -> float:
        """Time of the state, s."""
        return float(self._clock[0].t)

    @property
    def event(self) -> int:  # type: ignore[override]
        """The event that the last call stopped at."""
        return int(self._clock[0].event)

    @property
    def counts(self) -> dict[str, int]:
        """Steps accepted and rejected, and evaluations of f."""
        clock: Any = self._clock[0]
        return {"steps": int(clock.steps), "rejected": int(clock.rejected), "evaluations": int(clock.evaluations)}
