"""What can go wrong during a run, said with the time and the body or joint."""

from __future__ import annotations

from typing import Any

import numpy as np

from .impact.forces import UNSOLVED
from .mechanics.dynamics import SINGULAR, USER_FUNCTION
from .mechanics.projection import NOT_CLOSED
from .model.tables import STATE_SIZE
from .status import MESSAGES


class SimulationError(RuntimeError):
    """A run that failed in the middle. `time` is in s; `simulation` holds everything recorded up to then."""

    def __init__(self, message: str, time: float) -> None:
        super().__init__(message)
        self.time = time
        self.simulation: Any = None


def explain(simulation: Any, status: int) -> str:
    """A sentence that says what happened, when, and to whom."""
    at = f"at t = {simulation.time:.9g} s"
    model = simulation.model
    for pointer, name in zip(model.pointers, model.pointer_names, strict=True):
        if pointer.error is not None:
            return f"{at} the function of {name!r} failed: {pointer.error!r}"
    if status == USER_FUNCTION:
        return f"{at} a compiled function of the scene failed ({', '.join(model.pointer_names)})"
    if status in (SINGULAR, NOT_CLOSED):
        worst = _worst_joint(simulation)
        what = "the constraint system cannot be solved" if status == SINGULAR else "the joints cannot be closed"
        return f"{at} {what}, worst at joint {worst}; use a smaller step, or look for joints that contradict each other"
    if status == UNSOLVED:
        return f"{at} the forces of contact cannot be found; look for contacts that contradict each other"
    reason = MESSAGES.get(status, f"status {status}")
    return f"{at} {reason}; the fastest body is {_fastest_body(simulation)}"


def _worst_joint(simulation: Any) -> str:
    system, names = simulation._system, simulation.model.joint_names
    rows = np.where(np.isfinite(system.error), np.abs(system.error), np.inf)
    firsts = np.array(system.joints.row, dtype=np.int64)
    worst = np.maximum.reduceat(rows, firsts)
    index = int(np.argmax(worst))
    return f"{names[index]!r} (error {worst[index]:.3g} m)"


def _fastest_body(simulation: Any) -> str:
    names = simulation.model.body_names
    state = simulation._driver.attempt(simulation._y)[: STATE_SIZE * len(names)].reshape(-1, STATE_SIZE)
    if not np.isfinite(state).all():
        index = int(np.argmax(~np.isfinite(state).all(axis=1)))
        return f"{names[index]!r} (its state is not finite)"
    speed = np.linalg.norm(simulation.state.velocity, axis=1)
    index = int(np.argmax(speed))
    return f"{names[index]!r} ({speed[index]:.3g} m/s)"
