"""Sampling of sensors: times, and recorded samples.

Sample k of a sensor of rate f is due at k/f. Methods with fixed steps take it at the end of the first step that does
not end before that time, at most one sample a step; adaptive methods end a step there. Each sample has the time at
which it was taken. Its noise follows from k.

A run stops at these times outside the compiled loop, as it does for frames and controllers.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.calls import ExplainsNames
from ..core.status import OK
from ..dynamics.joint_space.mechanism import JointMechanism
from ..dynamics.mechanism import Mechanism
from ..integrate.stepper import FixedStepper, Stepper
from ..model.compile import Model
from ..model.tables import System
from ..scene.sensor import Camera, ForceTorque, JointState, Range, Sensor
from ..symbolic.mechanism import PlacedMechanism
from .camera import Renderer
from .instant import ON_CONTACTS, Evaluator, clear_released, take_coordinates
from .measure import Instant, Rays, measure
from .noise import Noise

SAME_TIME = 1e-9  # of the time between two samples, or of a step: times closer than this are one


class Samples(NamedTuple):
    """times : (n,) s. values : (n, …)."""

    times: np.ndarray
    values: np.ndarray


class Reading(ExplainsNames):
    """The samples of one sensor in a run.

    sensor : the sensor as added to the scene.
    """

    def __init__(self, sensor: Sensor, refresh: Callable[[], None]) -> None:
        self.sensor = sensor
        self._refresh = refresh
        self._deviation, self._drawn = np.asarray(sensor.noise), bool(np.asarray(sensor.bias_deviation).any())
        self._noisy = bool(self._deviation.any())
        self.begin(sensor.seed)

    def begin(self, seed: int) -> None:
        """Begin without samples, with the noise of a seed."""
        sensor = self.sensor
        self._noise = Noise(seed, sensor.name, sensor.shape)
        self._offset: Any = np.asarray(sensor.bias)
        if self._drawn:
            self._offset = self._offset + np.asarray(sensor.bias_deviation) * self._noise.of_sample(-1)
        self._times: list[float] = []
        self._values: list[np.ndarray] = []
        self._numbers: list[int] = []
        self.due = 0

    @property
    def value(self) -> NDArray[Any]:
        """The last sample, read-only, with the shape `Sensor.shape`; NaN before the first sample."""
        self._refresh()
        return self._values[-1] if self._values else unknown(self.sensor)

    @property
    def time(self) -> float:
        """The time of the last sample, s; NaN before the first."""
        self._refresh()
        return self._times[-1] if self._times else math.nan

    @property
    def times(self) -> NDArray[np.float64]:
        """The times of all samples, (n,) s."""
        self._refresh()
        return np.array(self._times)

    @property
    def values(self) -> NDArray[Any]:
        """All samples, (n, …)."""
        self._refresh()
        empty = np.zeros((0, *self.sensor.shape), unknown(self.sensor).dtype)
        return np.array(self._values) if self._values else empty

    def at(self, time: float) -> NDArray[Any]:
        """The last sample that was not taken later than a time (s), read-only; NaN before the first. Samples of a state that
        was changed from outside are not taken anew for it."""
        index = bisect_right(self._times, time, hi=len(self._values))
        return self._values[index - 1] if index else unknown(self.sensor)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the components."""
        return self.sensor.labels

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of each component."""
        return self.sensor.units

    def __len__(self) -> int:
        return len(self._times)

    def __repr__(self) -> str:
        return f"<Reading {self.sensor.name!r}: {self.sensor.kind}, {len(self)} samples at {self.sensor.rate:g} Hz>"

    # For `Sensors` ----------------------------------------------------------------------------------------------------

    @property
    def next_time(self) -> float:
        """The time at which the next sample is due, s."""
        return self.due / self.sensor.rate

    def number_at(self, time: float, step: float) -> int:
        """The number of the last sample that is due at a time (s), in steps of `step` (s)."""
        rate = self.sensor.rate
        return math.floor(time * rate + SAME_TIME * max(1.0, step * rate))

    def keep(self, number: int, time: float, value: np.ndarray) -> None:
        """Add noise to a value, and store it as sample `number`."""
        if value.dtype.kind == "f":
            if self._noisy:
                value = value + self._deviation * self._noise.of_sample(number)
            value = np.asarray(value + self._offset, value.dtype if isinstance(self.sensor, Camera) else float)
        value.flags.writeable = False
        self._times.append(time)
        self._values.append(value)
        self._numbers.append(number)

    def drop_from(self, time: float) -> int | None:
        """Remove the last sample if it was not taken before a time (s). Returns its number."""
        if not self._times or self._times[-1] < time:
            return None
        self._times.pop()
        self._values.pop()
        return self._numbers.pop()

    def take(self, times: Any, values: Any) -> None:
        """Copy the samples of an earlier part of the run."""
        self._times = [float(time) for time in times]
        self._numbers = [self.number_at(time, 0.0) for time in self._times]
        self._values = [np.array(value) for value in values]
        for value in self._values:
            value.flags.writeable = False
        if self._numbers:
            self.due = self._numbers[-1] + 1


def unknown(sensor: Sensor) -> np.ndarray:
    """A value that is not known."""
    if isinstance(sensor, Camera):
        kinds = {"rgb": (0, np.uint8), "depth": (np.nan, np.float32), "segmentation": (-1, np.int32)}
        return np.full(sensor.shape, *kinds[sensor.image])
    return np.full(sensor.shape, np.nan)


def _require_no_forces(sensors: list[Sensor]) -> None:
    """Raises ValueError for sensors that generalized coordinates have no values for."""
    for sensor in sensors:
        if sensor.needs_forces or isinstance(sensor, JointState):
            raise ValueError(
                f"{sensor.owner}: generalized coordinates provide no joint forces and no accelerations; "
                "use coordinates='maximal' or 'joint', or leave the sensor out"
            )


def _require_joints(sensors: list[Sensor], model: Model) -> None:
    """Raises ValueError for the wrench of what holds a particle that has time steps of its own."""
    for sensor in sensors:
        if isinstance(sensor, ForceTorque) and (name := getattr(sensor.joint, "name", "")) not in model.joint_names:
            raise ValueError(
                f"{sensor.owner}: {name!r} holds a particle with its own time steps, whose wrench is not known; use "
                "an integration method, or leave the sensor out"
            )


class Sensors(Mapping[str, Reading]):
    """The sensors of a run by name: ``run.sensors["imu"].value``.

    Parameters
    ----------
    model, mechanism : of the run. make_system : makes the tables of the model. preview : makes a stepper for a system,
        which computes the first sample of contact forces. now : returns the time of the run (s), its state and its
        stepper. joints : returns the coordinates of joints.
    """

    def __init__(
        self, model: Model, mechanism: Mechanism, make_system: Callable[[], System],
        preview: Callable[[Mechanism], Stepper], now: Callable[[], tuple[float, np.ndarray, Stepper]],
        joints: Callable[[], Any],
    ) -> None:  # fmt: skip
        sensors = list(model.scene.sensors.values())
        if isinstance(mechanism, PlacedMechanism):
            _require_no_forces(sensors)
        _require_joints(sensors, model)
        self._now, self._joints, self._preview, self._make_system = now, joints, preview, make_system
        self._model, self._mechanism = model, mechanism
        self._stale = False
        self._readings = {sensor.name: Reading(sensor, self._refresh) for sensor in sensors}
        if not sensors:
            return
        self.evaluator: Evaluator = Evaluator(model, mechanism, make_system())
        self._on_contacts = any(sensor.needs_forces or isinstance(sensor, ON_CONTACTS) for sensor in sensors)
        self._rays = Rays(model) if any(isinstance(sensor, Range) for sensor in sensors) else None
        self._renderer = Renderer(model) if any(isinstance(sensor, Camera) for sensor in sensors) else None

    def __getitem__(self, name: str) -> Reading:
        """The samples of a sensor. Raises KeyError, listing the names, for an unknown one."""
        if name not in self._readings:
            raise KeyError(
                f"there is no sensor {name!r}; there are {', '.join(self._readings) or 'none: see add_sensor'}"
            )
        return self._readings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._readings)

    def __len__(self) -> int:
        return len(self._readings)

    def __repr__(self) -> str:
        return f"<Sensors: {', '.join(self._readings) or 'none'}>"

    def begin(self, seeds: Mapping[str, int]) -> None:
        """Begin without samples, with these seeds in place of those of the scene."""
        self.evaluator.begin()
        for name, reading in self._readings.items():
            reading.begin(seeds.get(name, reading.sensor.seed))

    # Sampling ---------------------------------------------------------------------------------------------------------

    @property
    def next_time(self) -> float:
        """The time at which the next sample of any sensor is due, s."""
        return min(reading.next_time for reading in self._readings.values())

    def sample(self, anew: bool = False) -> None:
        """Take the samples that are due at the current time. anew : whether the state differs from that at the end of
        the last step.
        """
        time, y, driver = self._now()
        self._stale = False
        step = driver.step if isinstance(driver, FixedStepper) else 0.0
        due = [reading for reading in self._readings.values() if reading.due <= reading.number_at(time, step)]
        if not due:
            return
        known = self._with_forces(time, y, driver, anew) if self._on_contacts else driver
        now = Instant(self.evaluator, known, time, y, self._joints, self._rays, self._renderer)
        for reading in due:
            number = reading.number_at(time, step)
            reading.keep(number, time, measure(reading.sensor, now))
            reading.due = number + 1

    def _with_forces(self, time: float, y: np.ndarray, driver: Stepper, anew: bool) -> Stepper:
        """The stepper whose last step has the contact forces: that of the run, or where this has made none from here, one
        that makes the next step with tables of its own."""
        known = driver
        if isinstance(driver, FixedStepper) and (anew or driver.counts["steps"] == 0):
            known = self._next_step(time, y, driver) or driver
        self.evaluator.read_contacts(known, y)
        return known

    def _next_step(self, time: float, y: np.ndarray, driver: Stepper) -> Stepper | None:
        """A stepper of its own after the step that the run makes next; None where that fails."""
        mechanism = self._mechanism_of(self._make_system())
        take_coordinates(mechanism, self._mechanism, y)
        stepper = self._preview(mechanism)
        stepper.restart(time)
        after = y.copy()
        status = stepper.run(after, np.empty_like(after), time + driver.step)
        return stepper if status == OK else None

    def _mechanism_of(self, system: System) -> Mechanism:
        """A mechanism of its own with the inputs of the run."""
        plain, run = Mechanism(system), self._mechanism.system
        for name in ("forces", "joints", "commands", "particle_forces"):
            if len(getattr(run, name)):
                getattr(plain.system, name)[:] = getattr(run, name)[: len(getattr(plain.system, name))]
        clear_released(plain.system)
        for name in ("hold", "stiffness", "damping"):
            plain.system.settings[name] = run.settings[name]
        return JointMechanism(self._model, plain) if self._model.tree is not None else plain

    # Changes from outside ---------------------------------------------------------------------------------------------

    def changed(self) -> None:
        """Take the samples of this instant again when they are next read, because the state was changed from outside."""
        self._stale = bool(self._readings)

    def _refresh(self) -> None:
        if not self._stale:
            return
        time = self._now()[0]
        for reading in self._readings.values():
            number = reading.drop_from(time)
            reading.due = reading.due if number is None else number
        self.sample(anew=True)

    def refresh(self) -> None:
        """Retake samples of a state that was changed."""
        self._refresh()

    def set_time(self, time: float) -> None:
        """Continue from a time (s), whose samples were taken."""
        for reading in self._readings.values():
            reading.due = reading.number_at(time, 0.0) + 1
        self._stale = False

    def samples(self) -> dict[str, Samples]:
        """All samples as plain arrays, by name of the sensor."""
        return {name: Samples(reading.times, reading.values) for name, reading in self._readings.items()}

    def go_on_from(self, before: Mapping[str, Any], until: float | None = None) -> None:
        """Copy samples of the run that this one continues, from its `Sensors`, its `samples` or the arrays of its
        trajectory: the last one, or all `until` a time (s)."""
        for name, reading in self._readings.items():
            if name not in before:
                continue
            found = before[name]
            times = np.asarray(found.times if isinstance(found, Reading | Samples) else found["time"].values)
            values = np.asarray(found.values)
            if values.shape[1:] != reading.sensor.shape:
                continue
            chosen = np.arange(len(times))[-1:] if until is None else np.flatnonzero(times <= until + SAME_TIME)
            reading.take(times[chosen], values[chosen])
        if isinstance(before, Sensors) and self._readings:
            self.evaluator.contacts = before.evaluator.contacts
