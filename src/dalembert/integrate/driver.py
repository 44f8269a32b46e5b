"""The integration of a run in progress: options, clock and scratch of one method, and the call of the stepping kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import state as integration
from .behind import Stepper
from .functions import Functions

MOST_STEPS = 200_000  # steps between looks at the keyboard


class Driver:
    """Integrates y' = f(t, y) from frame to frame.

    functions : the addresses of the system. options : see `state.make_options`. step : fixed step (s), or 0.
    """

    def __init__(self, functions: Functions, options: integration.Options, step: float) -> None:
        self._options, self._step, self._carried = options, step, functions.carried
        self._work = integration.make_work(options)
        self._clock = integration.make_clock(0.0, step)
        self.stepper = Stepper(functions, options, self._work, integration.make_signs(options), self._clock)

    def restart(self, time: float) -> None:
        """Begin anew at a time (s)."""
        self._clock[:] = integration.make_clock(time, self._step)

    def changed(self) -> None:
        """The state was changed from outside: forget what was derived from it."""
        self._clock[0].valid = 0

    def run(self, y: np.ndarray, dydt: np.ndarray, target: float, end: float) -> int:
        """Step y until `target` (s), in place; exactly to it where it is the `end`. Returns a status."""
        plan = self._options.plan
        plan.land = int(target >= end - 1e-9 * self._step)
        return self.stepper.perform(MOST_STEPS, target, y, dydt)

    def frame(self) -> dict[str, Any]:
        """Nothing more than the state is recorded."""
        return {}

    def contact_report(self) -> None:
        """Nothing touches in smooth motion."""

    def attempt(self, y: np.ndarray) -> np.ndarray:
        """The state of the last step that was tried."""
        return self._work.y_new[: self._work.y_new.size - self._carried]

    @property
    def ticks(self) -> dict[str, float]:
        """The stages of the system are all there is to time."""
        return {}

    @property
    def time(self) -> float:
        """Time of the state, s."""
        return float(self._clock[0].t)

    @property
    def event(self) -> int:
        """The event that the last call stopped at."""
        return int(self._clock[0].event)

    @property
    def counts(self) -> dict[str, int]:
        """Steps accepted and rejected, and evaluations of f."""
        clock: Any = self._clock[0]
        return {"steps": int(clock.steps), "rejected": int(clock.rejected), "evaluations": int(clock.evaluations)}
