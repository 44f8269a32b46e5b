"""Sensors of a batch. The kernel stops each member where a run by itself takes samples, and keeps the state there; this
evaluates the sensors at these states, when they are first asked for, with the tables of each member in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.c_function import MEASURE
from ..dynamics.joint_space.mechanism import JointMechanism
from ..scene.sensor import Sensor
from ..sensors.recorded import attach
from ..sensors.sampling import Sensors, unknown
from .batch_kernel import Varied, Workspace, give, member_tables, tables_of_system

if TYPE_CHECKING:
    import xarray


class SampledStates(NamedTuple):
    """What the kernel keeps of m members at s samples each, at most. counts : (m,) of each. times : (m, s) s. states : (m, s,
    n). z : (m, s, k) in joint coordinates, else k is 0. rates : (r,) Hz, of the sensors."""

    counts: np.ndarray
    times: np.ndarray
    states: np.ndarray
    z: np.ndarray
    rates: np.ndarray

    @classmethod
    def room(cls, members: int, rates: np.ndarray, duration: float, size: int, size_z: int) -> SampledStates:
        """Room for all samples of a run of so many seconds."""
        rows = rows_of(rates, duration)
        return cls(
            np.zeros(members, np.int64), np.full((members, rows), np.nan), np.full((members, rows, size), np.nan),
            np.full((members, rows, size_z), np.nan), rates,
        )  # fmt: skip


def rows_of(rates: np.ndarray, duration: float) -> int:
    """The largest number of instants at which samples are taken."""
    return int(sum(np.floor(duration * rate) + 2.0 for rate in np.unique(rates)))


def rates_of(sensors: Mapping[str, Sensor]) -> np.ndarray:
    """(r,) Hz."""
    return np.array([sensor.rate for sensor in sensors.values()])


class BatchReading(NamedTuple):
    """The samples of one sensor in a batch.

    sensor : as in the scene of the first member. times : (s,) s. values : (m, s, …), in the shape of `Sensor.shape`; NaN
    after a member failed.
    """

    sensor: Sensor
    times: NDArray[np.float64]
    values: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of `values`."""
        return self.values.shape

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the components."""
        return self.sensor.labels

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of each component."""
        return self.sensor.units


class BatchSensors(Mapping[str, BatchReading]):
    """The sensors of a batch by name: ``batch.sensors["imu"].values``, (members, samples, components).

    All of them are evaluated when the first one is asked for.
    """

    def __init__(
        self, template: Workspace, varied: list[Varied], seeds: Mapping[str, np.ndarray],
        workspace: Callable[[int], Workspace], sampled: SampledStates,
    ) -> None:  # fmt: skip
        self._template, self._varied, self._seeds, self._workspace = template, varied, seeds, workspace
        self._sampled, self._known = sampled, dict[str, BatchReading]()
        self._sensors = template.model.scene.sensors

    def __getitem__(self, name: str) -> BatchReading:
        """The samples of a sensor; KeyError says which there are."""
        if name not in self._sensors:
            raise KeyError(
                f"there is no sensor {name!r}; there are {', '.join(self._sensors) or 'none: see add_sensor'}"
            )
        if not self._known:
            self._known = self._evaluate()
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sensors)

    def __len__(self) -> int:
        return len(self._sensors)

    def __repr__(self) -> str:
        return f"<Sensors: {', '.join(self._sensors) or 'none'}, of {len(self._sampled.counts)} members>"

    def attach(self, dataset: xarray.Dataset) -> None:
        """Add the samples of all sensors to a dataset with the axis member."""
        attach(dataset, dict(self), ("member",))

    # Evaluation -------------------------------------------------------------------------------------------------------

    def _evaluate(self) -> dict[str, BatchReading]:
        """The samples of all members."""
        found: list[dict[str, Any]] = []
        shared = _Instants(self._template)
        for member in range(len(self._sampled.counts)):
            run = self._workspace(member)
            instants = shared if run is self._template else _Instants(run)
            instants.begin(self._varied if run is self._template else [], member, self._seeds)
            found.append(instants.samples(self._sampled, member))
        return {
            name: self._put_together(sensor, [each[name] for each in found]) for name, sensor in self._sensors.items()
        }

    def _put_together(self, sensor: Sensor, samples: list[Any]) -> BatchReading:
        """One array of the samples of all members."""
        longest = max(samples, key=lambda each: len(each.times))
        nothing = unknown(sensor)
        values = np.empty((len(samples), len(longest.times), *sensor.shape), nothing.dtype)
        values[:] = nothing
        for member, each in enumerate(samples):
            values[member, : len(each.times)] = each.values
        return BatchReading(sensor, longest.times, values)


class _Instants:
    """The sensors of a workspace, evaluated at one state after the other."""

    def __init__(self, run: Workspace) -> None:
        self._run = run
        self._now: tuple[float, np.ndarray] = 0.0, run._y
        self._sensors = Sensors(
            run.model, run._mechanism, lambda: run._method.system(run.model),
            lambda mechanism: run._method.make_stepper(run.model, mechanism, False), lambda: (*self._now, run._driver),
            run.joint_state,
        )  # fmt: skip
        self._tables, self._own = member_tables(run), tables_of_system(self._sensors.evaluator.mechanism)
        self._made = {name: table.copy() for name, table in self._own.items()}
        self._scratch = np.empty_like(run._dydt)

    def begin(self, varied: list[Varied], member: int, seeds: Mapping[str, np.ndarray]) -> None:
        """Take the numbers of a member, without samples."""
        for tables, made in ((self._tables, self._run.made), (self._own, self._made)):
            for name, table in tables.items():
                table[...] = made[name]
            give(tables, [item for item in varied if item.table in tables], member)
        if self._run._reader is not None:
            self._run._reader.turns[:] = 0.0
        self._sensors.begin({name: int(own[member]) for name, own in seeds.items()})

    def samples(self, sampled: SampledStates, member: int) -> dict[str, Any]:
        """The samples of a member, by name."""
        run, mechanism = self._run, self._run._mechanism
        for k in range(int(sampled.counts[member])):
            time, y = float(sampled.times[member, k]), sampled.states[member, k]
            run._y[:] = y
            if isinstance(mechanism, JointMechanism):
                mechanism.z[:] = sampled.z[member, k]
                mechanism._known[:] = mechanism.tables.y[:] = y
            if len(run._system.commands):  # which have the velocities of what moves by command
                mechanism(MEASURE, time, run._y, self._scratch)
            self._now = time, run._y
            self._sensors.sample()
        return dict(self._sensors.samples())
