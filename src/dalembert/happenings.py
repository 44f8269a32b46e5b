"""What events of the user's do to a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .model.compile import Model
from .recording import Recorder
from .start import ledger_size


class Happenings:
    """The part of `Simulation` about events."""

    model: Model
    time: Any
    state: Any
    recorder: Recorder
    stopped: bool
    event_times: dict[str, list[float]]
    changed: Callable[[], None]
    release: Callable[[str], None]
    _record: Callable[[], None]
    _spent: set[str]
    _y: np.ndarray

    def _happen(self, event: Any) -> None:
        """Do what an event asks; what it changes of the energy is booked under "events"."""
        self.event_times[event.name].append(self.time)
        if event.name in self._spent:
            return
        if event.once:
            self._spent.add(event.name)
        self._record()
        before = float(np.sum(self.recorder.frames["energies"][-1]))
        for name in event.release:
            self.release(name)
        if event.action is not None:
            event.action(self.state)
        self.recorder.drop_from(self.time)
        self._record()
        entry = self.model.size - ledger_size(self.model) + self.model.force_names.index("events")
        self._y[entry] += float(np.sum(self.recorder.frames["energies"][-1])) - before
        self.recorder.drop_from(self.time)
        self._record()
        self.changed()
        self.stopped = self.stopped or event.stop
