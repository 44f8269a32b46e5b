"""A run that is made and not started: all its tables by name, so that they can be put back as they were made, and given the
numbers of a member."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..articulated.driver import JointMechanism
from ..integrate.driver import Driver
from ..model.compile import Model
from ..simulate import Simulation
from ..symbolic.mechanism import PlacedMechanism

ALONE = 'run them one by one with simulate, or in a sweep with how="processes"'


@dataclass
class Varied:
    """Bytes of a table that differ from member to member."""

    table: str
    first: int  # byte
    values: np.ndarray  # (members, width) uint8


class NotForBatches(ValueError):
    """What batches cannot run, though it can be run alone."""


class _Made(Exception):
    """The tables are there, and nothing has been done to them."""


class Workspace(Simulation):
    """A `Simulation` up to where it would look at its start. `made` : copies of its tables.

    Raises NotForBatches for what batches cannot run, beside all that a `Simulation` raises.
    """

    made: dict[str, np.ndarray]

    def restart(self, prepare: Callable[[Simulation], Any] | None = None) -> Simulation:
        """Make the tables."""
        with contextlib.suppress(_Made):
            super().restart(prepare=self._capture)
        return self

    def _capture(self, run: Simulation) -> None:
        self._require_smooth()
        self.made = {name: table.copy() for name, table in tables_of(self).items()}
        raise _Made

    def _require_smooth(self) -> None:
        name = self.model.name
        if not isinstance(self._driver, Driver):
            raise NotForBatches(
                f"scene {name!r} with method {self.method!r} cannot run in a batch: contact and time steps are not smooth "
                f"motion; {ALONE}"
            )
        if isinstance(self._mechanism, PlacedMechanism):
            raise NotForBatches(f"scene {name!r}: batches take coordinates='maximal' or 'joint'; {ALONE}")
        if self.model.events:
            raise NotForBatches(
                f"scene {name!r} has the event {self.model.events[0].name!r}, which batches cannot do; {ALONE}"
            )
        if self._constraint_solver is not None:
            raise NotForBatches(f"batches solve constraints by constraint_solver='ldl' only; leave it out, or {ALONE}")
        if self._clock is not None:
            raise NotForBatches(f"a controller takes part from Python, which batches do without; {ALONE}")


class Member(Simulation):
    """The run of one member by itself."""

    def __init__(self, model: Model, settings: dict[str, Any], varied: list[Varied], member: int) -> None:
        self._numbers = varied, member
        tables = {"system." + name: np.array(table).view(type(table)) for name, table in model.tables.items()}
        state = {"y": model.initial.copy()}
        give(tables | state, [item for item in varied if item.table in tables or item.table in state], member)
        own = {name.removeprefix("system."): table for name, table in tables.items()}
        super().__init__(replace(model, tables=own, initial=state["y"]), **settings)

    def restart(self, prepare: Callable[[Simulation], Any] | None = None) -> Simulation:
        """Go back to the start; see `Simulation.restart`."""

        def begin(run: Simulation) -> None:
            give(tables_of(run), *self._numbers)
            if prepare is not None:
                prepare(run)

        return super().restart(prepare=begin)


def bytes_of(array: np.ndarray) -> np.ndarray:
    """The bytes of a contiguous array: a view."""
    return np.asarray(array).reshape(-1).view(np.uint8)


def tables_of_system(mechanism: Any) -> dict[str, np.ndarray]:
    """Those of the mechanics, and in joint coordinates of the tree."""
    found: dict[str, np.ndarray] = {}
    _collect("system", mechanism.system, found)
    if isinstance(mechanism, JointMechanism):
        for name, table in zip(mechanism.tables._fields, mechanism.tables, strict=True):
            if name != "system":
                _collect_one(f"joint.{name}", table, found)
        found |= {"z": mechanism.z, "dzdt": mechanism.dzdt, "known": mechanism._known}
    return found


def tables_of(run: Simulation) -> dict[str, np.ndarray]:
    """All that a run writes on or reads, by name."""
    found = tables_of_system(run._mechanism)
    _collect("stepping", run._driver.stepper.tables, found)  # type: ignore[attr-defined]
    return found | {"y": run._y, "dydt": run._dydt}


def give(tables: dict[str, np.ndarray], varied: list[Varied], member: int) -> None:
    """Put the numbers of a member in the tables."""
    for item in varied:
        row = item.values[member]
        bytes_of(tables[item.table])[item.first : item.first + row.size] = row


def _collect(prefix: str, tables: Any, found: dict[str, np.ndarray]) -> None:
    for name, table in zip(tables._fields, tables, strict=True):
        _collect_one(f"{prefix}.{name}", table, found)


def _collect_one(name: str, table: Any, found: dict[str, np.ndarray]) -> None:
    if isinstance(table, tuple):
        _collect(name, table, found)
    else:
        found[name] = table
