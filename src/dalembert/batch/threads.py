"""The threads of a batch, each with a workspace of its own, and what they record."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..articulated.driver import JointMechanism
from ..jit import DISABLED
from ..pointer import C_TYPE
from ..start import CLOSED, NEARLY_DEPENDENT
from ..tables import address_table
from . import tables
from .kernel import COMPILED, run_members
from .tables import NEXT, STOP, Worker
from .workspace import Varied, Workspace, bytes_of, tables_of

LOOK = 0.1  # s between looks at the keyboard


class Record:
    """Room for what m members record at f instants: n numbers of the state, and what is measured of it."""

    def __init__(self, members: int, times: np.ndarray, size: int) -> None:
        rows = len(times) + 1
        self.times = np.full(rows, np.nan)
        self.states, self.energies = np.empty((members, rows, size)), np.empty((members, rows, 2))
        self.errors, self.error_rates = np.empty((members, rows)), np.empty((members, rows))
        self.outcomes: Any = np.zeros(members, tables.OUTCOME).view(np.recarray)
        self.outcomes["status"] = tables.NOT_RUN
        self.shared = np.zeros(16, np.int64)


class Thread:
    """What one thread runs members on: the tables of a run of its own."""

    def __init__(self, run: Workspace, varied: list[Varied], targets: np.ndarray, record: Record) -> None:
        self.run, self._varied = run, varied  # whose arrays the addresses below are of
        mechanism: Any = run._mechanism
        stepper: Any = run._driver.stepper  # type: ignore[attr-defined]
        joint = isinstance(mechanism, JointMechanism)
        own = np.zeros(1, tables.OWN).view(np.recarray)
        own.mechanism, own.handle = mechanism.address, mechanism.data
        own.stepper, own.steps = stepper.address, stepper.data
        own.joint, own.assemble = joint, run._assemble
        own.members, own.rows = len(record.outcomes), len(record.times)
        own.closed, own.dependent = CLOSED, NEARLY_DEPENDENT
        found = tables_of(run)
        image = np.concatenate([bytes_of(table) for table in run.made.values()])
        places = np.cumsum([0, *(table.nbytes for table in run.made.values())])
        rows = [
            (found[name].ctypes.data, table.nbytes, first)
            for (name, table), first in zip(run.made.items(), places, strict=False)
        ]
        more = [
            (found[item.table].ctypes.data + item.first, item.values.shape[1], item.values.ctypes.data)
            for item in varied
        ]
        z: Any = (mechanism.z, mechanism.dzdt, mechanism._known, mechanism.tables.y) if joint else (np.zeros(0),) * 4
        self.tables = Worker(  # type: ignore[call-arg]
            own, run._system, stepper.tables.clock, stepper.tables.plan,
            np.array(rows, tables.TABLE).view(np.recarray), image, np.array(more, tables.VARIED).view(np.recarray),
            run._y, run._dydt, np.full_like(run._y, np.nan), *z, targets, record.shared, record.times,
            record.states.reshape(-1), record.energies.reshape(-1), record.errors.reshape(-1), record.error_rates.reshape(-1),
            record.outcomes,
        )  # fmt: skip
        self._table = address_table(self.tables)

    def work(self) -> None:
        """Take members until none is left."""
        if DISABLED:
            run_members(self.tables)
        else:
            C_TYPE(COMPILED.address)(self._table.ctypes.data, 0, 0.0, 0, 0, 0, 0)


def work_together(threads: list[Thread], record: Record, progress: Callable[[int, int], Any] | None) -> bool:
    """Run all members; returns whether Ctrl-C ended that early. `progress` is told how many were begun, and of how many."""
    members = len(record.outcomes)
    if not DISABLED:
        COMPILED.compile()
    helpers = [threading.Thread(target=thread.work, daemon=True) for thread in threads]
    for helper in helpers:
        helper.start()
    interrupted, running = False, True
    while running:
        try:
            for helper in helpers:
                helper.join(LOOK)
            running = any(helper.is_alive() for helper in helpers)
            if progress is not None:
                progress(min(int(record.shared[NEXT]), members), members)
        except KeyboardInterrupt:
            interrupted = True
            record.shared[STOP] = 1
    return interrupted
