"""Taking a run back to an instant that it recorded, to go on from there in another way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..pointer import MEASURE
from ..simulate import Simulation


def rewind(run: Simulation, time: float, prepare: Callable[[Simulation], Any]) -> float:
    """Take a run back to the last frame that is not later than `time` (s); later frames are forgotten. Returns its instant.

    Joints and forces that were let go later are held again, and events that happened later may happen again. What contacts
    were and what a controller of the user's keeps are not part of the state: the run goes on near to what it did, not to
    the last bit. prepare : sets what was changed of the run (gravity, motors) in its tables, which are made anew.
    """
    frames, released, happened = run.recorder.frames, run.released, run.event_times
    index = int(np.searchsorted(frames["time"], time, side="right")) - 1
    if index < 0:
        raise ValueError(f"nothing was recorded at {time:g} s; the run starts at {frames['time'][0]:g} s")
    kept = {key: values[: index + 1] for key, values in frames.items()}
    spent, clocks = [kept["time"][-1], kept["state"][-1]], (run.wall_time, run.kernel_time)
    now = float(spent[0])
    run.restart(prepare)
    for name, then in released.items():
        if then <= now:
            run.release(name)
            run.released[name] = then
    run.event_times = {name: [then for then in times if then <= now] for name, times in happened.items()}
    run._spent = {event.name for event in run.model.events if event.once and run.event_times[event.name]}
    run.wall_time, run.kernel_time = clocks
    turns = None
    if "joint_coordinate" in kept:
        turns = dict(zip(run._joint_names(), kept["joint_coordinate"][-1].tolist(), strict=True))
    run._set_state(now, spent[1], turns)
    run.recorder.frames = kept
    return now


def energy(run: Simulation) -> float:
    """Kinetic and potential energy of a run where it is, J."""
    run._mechanism(MEASURE, run.time, run._y, np.empty_like(run._y))
    return float(np.sum(run._system.energies[:2]))
