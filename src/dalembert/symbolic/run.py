"""Runs of equations of motion in generalized coordinates: the loop over frames, and what is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..integrate.driver import Driver
from ..integrate.functions import Functions
from ..integrate.methods import method as find_method
from ..integrate.solution import IntegrationError, Solution
from ..integrate.state import make_options
from ..pointer import COMPLETE, DERIVATIVE
from ..status import MESSAGES, OK
from .constrained import layout
from .evaluate import Motion, failure

if TYPE_CHECKING:
    import xarray

MET = 1e-9  # of 1 + |u|: a start within this of the constraints is moved onto them


def run(
    motion: Motion, names: Sequence[str], u: np.ndarray, v: np.ndarray, start: float, duration: float, *, method: str,
    dt: float | None, rtol: float, atol: float | None, frames: float, assemble: bool,
) -> xarray.Dataset:  # fmt: skip
    """See `Lagrangian.run`."""
    n = len(u)
    for name, value in (("duration", duration), ("frames", frames), ("dt", 1.0 if dt is None else dt)):
        if not 0.0 < value < np.inf:
            raise ValueError(f"{name} must be positive and finite, not {value!r}")
    y, dydt = np.concatenate([u, v, [0.0]]), np.full(2 * n + 1, np.nan)
    driver = _driver(motion, n, method, dt, rtol, rtol if atol is None else atol)
    driver.restart(float(start))
    _set_out(motion, names, float(start), y, dydt, assemble)
    record = _Record(motion, names)
    record.add(float(start), y)
    end = start + duration
    count = max(1, round(duration * frames))
    for target in start + duration * np.arange(1, count + 1) / count:
        status = driver.run(y, dydt, target, land=bool(target == end))
        if status != OK:
            record.add(driver.time, y)
            raise _stopped(motion, names, status, driver, record)
        if driver.time > record.times[-1]:
            record.add(driver.time, y)
    return record.dataset({"method": method, **driver.counts})


def _driver(motion: Motion, n: int, method: str, dt: float | None, rtol: float, atol: float) -> Driver:
    tableau = find_method(method)
    if dt is None and not tableau.error.shape[0]:
        raise ValueError(f"method {method!r} takes fixed steps: give dt")
    if tableau.partitioned == 2:
        raise ValueError(f"method {method!r} is for bodies whose free motion it knows; take another")
    if not (0.0 < rtol < np.inf and 0.0 <= atol < np.inf):
        raise ValueError(f"rtol must be above zero and atol not below it, both finite, not {rtol!r} and {atol!r}")
    options = make_options(
        tableau, 2 * n + 1, adaptive=dt is None, rtol=rtol, atol=atol,
        weights=np.concatenate([np.ones(2 * n), [0.0]]),
        momentum=np.concatenate([-np.ones(n), np.ones(n), [0.0]]) if tableau.partitioned else None,
    )  # fmt: skip
    none = np.zeros(0, np.int64)
    return Driver(Functions(motion.address, motion.data, 1, none, none), options, 0.0 if dt is None else dt)


def _set_out(motion: Motion, names: Sequence[str], t: float, y: np.ndarray, dydt: np.ndarray, assemble: bool) -> None:
    """Put the start on the constraints. Raises ValueError where it is off them, unless asked to assemble, or where it cannot
    be run."""
    given, n = y.copy(), len(names)
    motion.tables.largest[:] = 0.0
    status = motion.perform(COMPLETE, t, y, dydt)
    if status != OK:
        raise ValueError(f"at the start {failure(motion.tables, names, status)}")
    if not np.all(np.isfinite(dydt)):
        bad = int(np.flatnonzero(~np.isfinite(dydt))[0])
        raise ValueError(f"at the start the derivative of {[*names, *names, 'work'][bad]!r} is {dydt[bad]!r}")
    moved = np.abs(y - given)[: 2 * n] / (1.0 + np.abs(given[: 2 * n]))
    if moved.max() > MET and not assemble:
        worst = int(np.argmax(moved))
        what = "coordinate" if worst < n else "rate of"
        raise ValueError(
            f"the start does not meet the constraints: {what} {names[worst % n]!r} is {given[worst]:.9g}, and the nearest "
            f"start that does has {y[worst]:.9g}; correct it, or pass assemble=True"
        )
    y[2 * n] = 0.0


def _stopped(motion: Motion, names: Sequence[str], status: int, driver: Driver, record: _Record) -> IntegrationError:
    message = f"integration stopped at t = {driver.time!r} s: {failure(motion.tables, names, status)}"
    if status in MESSAGES:
        spread = np.abs(driver.attempt(record.states[-1])[len(names) : 2 * len(names)])
        worst = int(np.argmax(np.where(np.isfinite(spread), spread, np.inf)))
        message += f"; {names[worst]!r} changes fastest, at {spread[worst]:.3g} a second"
    counts = driver.counts
    solution = Solution(
        np.array(record.times), np.array(record.states), status, message, counts["steps"], counts["rejected"],
        counts["evaluations"], (), (),
    )  # fmt: skip
    return IntegrationError(message, solution)


class _Record:
    """What is recorded, frame by frame."""

    def __init__(self, motion: Motion, names: Sequence[str]) -> None:
        self._motion, self._names = motion, list(names)
        self.times: list[float] = []
        self.states: list[np.ndarray] = []
        self._multipliers: list[np.ndarray] = []
        self._energies: list[float] = []

    def add(self, t: float, y: np.ndarray) -> None:
        tables, plan = self._motion.tables, self._motion.tables.plan[0]
        self._motion.perform(DERIVATIVE, t, y, np.empty(y.size))
        self.times.append(t)
        self.states.append(y.copy())
        self._multipliers.append(tables.multipliers.copy())
        at = layout(int(plan.n), int(plan.holonomic), int(plan.rows))[-1]
        self._energies.append(float(tables.values[at]))

    def dataset(self, attrs: dict[str, object]) -> xarray.Dataset:
        import xarray

        states, n = np.array(self.states), len(self._names)
        return xarray.Dataset(
            {
                "u": (("time", "coordinate"), states[:, :n], {"long_name": "generalized coordinates"}),
                "v": (("time", "coordinate"), states[:, n : 2 * n], {"long_name": "their rates"}),
                "multiplier": (("time", "constraint"), np.array(self._multipliers)),
                "energy": ("time", np.array(self._energies), {"units": "J", "long_name": "v·∂L/∂v − L"}),
                "work": ("time", states[:, 2 * n], {"units": "J"}),
            },
            coords={
                "time": ("time", np.array(self.times), {"units": "s"}),
                "coordinate": ("coordinate", np.array(self._names, dtype=object)),
            },
            attrs=attrs,
        )
