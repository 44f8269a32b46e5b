"""Control of a run: inputs of its motors, and a function that sets them at a fixed rate, held in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import interrupt
from .errors import SimulationError
from .joint_state import JointStates
from .model.tables import ANGLE, System
from .motors import INPUTS, exerted, inputs_of, motor_row, what_it_takes
from .pointer import MEASURE
from .scene.checks import finite
from .scene.scene_warnings import TURN, beyond_a_turn, in_degrees
from .simulation.checks import positive
from .simulation.stepper import Stepper
from .time_series import TimeSeries

SAME_TIME = 1e-9  # of the time between two calls of a controller


class Clock:
    """When a controller is to be called: at `start` and every 1/rate s from then on."""

    def __init__(self, function: Callable[[Any], Any], rate: float) -> None:
        self.function, self.rate = function, rate
        self.name = getattr(function, "__name__", type(function).__name__)
        self.begin(0.0)

    def begin(self, time: float) -> None:
        """The controller is called at `time` (s) next, and counted from there."""
        self.start, self.calls = time, 0

    @property
    def next(self) -> float:
        """When it is to be called next, s."""
        return self.start + self.calls / self.rate

    def same(self, one: float, other: float) -> bool:
        """Whether one time is not before another, but for rounding."""
        return one >= other - SAME_TIME / self.rate


def make_clock(function: Callable[[Any], Any] | None, rate: float | None, dt: float | None) -> Clock | None:
    """The clock of a controller, if there is one, on the grid of fixed steps of dt (s). Raises ValueError."""
    if function is None or rate is None:
        if function is None and rate is None:
            return None
        given, missing = ("control_rate", "controller") if function is None else ("controller", "control_rate")
        raise ValueError(f"{given} is given without a {missing}; a controller takes both, the rate in Hz")
    if not callable(function):
        raise ValueError(f"controller is {function!r:.80}; give a function of the run")
    hertz = positive("control_rate", rate, "Hz")
    if dt is not None:
        steps = round(1.0 / (hertz * dt))
        if steps < 1 or abs(steps * dt * hertz - 1.0) > SAME_TIME:
            raise ValueError(
                f"control_rate is {hertz:g} Hz, so that {1.0 / (hertz * dt):.9g} steps of dt = {dt:g} s lie between calls; "
                f"give a dt that divides the time between them, such as {1.0 / (hertz * max(1, steps)):.9g} s"
            )
        hertz = 1.0 / (steps * dt)
    return Clock(function, hertz)


class Controls(JointStates):
    """The part of `Simulation` about motors and controllers."""

    _system: System
    _driver: Stepper
    _clock: Clock | None
    _changed_by_hand: Callable[[str], None]
    warn: Callable[..., None]
    _motors: dict[str, Any]  # their rows of the table of forces, those that were asked for

    def set_motor(
        self, name: str, effort: float | None = None, position: float | None = None, speed: float | None = None
    ) -> None:
        """Change the inputs of a motor from now on, in this run: its effort (N m or N), the position that its stiffness draws
        it to (rad or m), the speed that its gain does (rad/s or m/s). An ideal motor takes a speed.

        Raises ValueError for a name that is no motor's, a value that is not finite, and an input that the motor has not.
        """
        row = self._motors.get(name)
        if row is None:
            row = self._motors[name] = motor_row(self.model, self._system, name)
        given = {"effort": effort, "position": position, "speed": speed}
        taken, owner = inputs_of(row), f"motor {name!r}"
        asked = {key: value for key, value in given.items() if value is not None}
        if not asked or not set(asked) <= set(taken):
            what = ", ".join(f"{key}={value!r:.40}" for key, value in asked.items()) or "nothing"
            raise ValueError(f"{owner} is given {what}; it takes {what_it_takes(row, taken)}")
        new = {key: finite(owner, key, value) for key, value in asked.items()}
        if all(row[INPUTS[key]] == value for key, value in new.items()):
            return
        if abs(new.get("position", row.position) - row.position) > TURN:
            self._warn_of_angle(name, row, new["position"])
        for key, value in new.items():
            row[INPUTS[key]] = value
        self._changed_by_hand(owner)
        self._driver.inputs_changed()

    def _warn_of_angle(self, name: str, row: Any, position: float) -> None:
        """Warn of a position, more than a turn from the one before, that is probably in degrees."""
        if self._system.coordinates.kind[row.coordinate] == ANGLE and beyond_a_turn(position):
            self.warn(in_degrees(f"motor {name!r}", "its position is set to", [position]), f"position of {name}")

    @property
    def efforts(self) -> dict[str, float]:
        """What each motor exerts, and what each stop, dry friction and ideal motor exerted in the last time step, N m or N
        along its coordinate."""
        self._mechanism(MEASURE, float(self._driver.time), self._y, np.empty_like(self._y))
        return exerted(self.model, self._system, self._driver, self._y)

    def _effort_frame(self) -> dict[str, np.ndarray]:
        """What is recorded of `efforts`, of a state that was just measured: one number an entry of the ledger."""
        found = exerted(self.model, self._system, self._driver, self._y)
        return {"effort": np.array([found.get(name, np.nan) for name in self.model.force_names])} if found else {}

    def _forget_controls(self) -> None:
        """The run begins, or goes on from another: look up motors anew, call the controller at once."""
        self._motors, self._reader = {}, None
        if self._clock is not None:
            self._clock.begin(self._driver.time)
            if isinstance(self._clock.function, TimeSeries):
                self._clock.function(self)  # so that what it cannot play is refused before the run

    def _held_until(self, target: float) -> float:
        """Call the controller if it is due; until when its inputs are held (s), or `target`, whichever comes first."""
        clock, now = self._clock, float(self._driver.time)
        if clock is None:
            return target
        if clock.same(now, clock.next):
            while clock.same(now, clock.next):
                clock.calls += 1
            try:
                returned = interrupt.call(clock.function, self)
            except Exception as error:
                failure = SimulationError(f"at t = {now:.9g} s the controller {clock.name!r} failed: {error!r}", now)
                failure.simulation = self
                raise failure from error
            if returned is not None:
                self.warn(
                    f"the controller {clock.name!r} returned {type(returned).__name__} {returned!r:.60}, which is not used; "
                    "call run.set_motor(name, ...) in it",
                    "controller",
                )
        return target if clock.same(clock.next, target) else clock.next
