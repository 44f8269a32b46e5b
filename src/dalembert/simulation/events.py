"""What an event does to a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import interrupt
from ..scene.force import Event
from .initial_conditions import ledger_size


def happen(simulation: Any, event: Event) -> None:
    """Do what an event asks; what it changes of the energy is booked under "events"."""
    model, recorder = simulation.model, simulation.recorder
    simulation.event_times[event.name].append(simulation.time)
    if event.name in simulation._spent:
        return
    if event.once:
        simulation._spent.add(event.name)
    simulation._record()
    before = float(np.sum(recorder.frames["energies"][-1]))
    for name in event.release:
        simulation.release(name)
    if event.action is not None:
        interrupt.call(event.action, simulation.state)
    recorder.drop_from(simulation.time)
    simulation._record()
    entry = model.size - ledger_size(model) + model.force_names.index("events")
    simulation._y[entry] += float(np.sum(recorder.frames["energies"][-1])) - before
    recorder.drop_from(simulation.time)
    simulation.changed()
    simulation._record()
    simulation.stopped = simulation.stopped or event.stop
