"""The motors of a run: their rows in the table of forces, the inputs that they take, and what they exert."""

from __future__ import annotations

from typing import Any

import numpy as np

from .mechanics.joint_state import read_efforts
from .model.compile import Model
from .model.tables import CUSTOM_MOTOR, MOTOR, SERVO, System
from .simulation.stepper import Stepper

INPUTS = {"effort": "rest", "position": "position", "speed": "target"}  # and their fields in the row of a force


def exerted(model: Model, system: System, driver: Stepper, y: np.ndarray) -> dict[str, float]:
    """Force → N m or N along its coordinate: motors at the state that was measured last, and stops, dry friction and ideal
    motors in the last time step."""
    forces = system.forces
    rows = np.flatnonzero((forces.kind == MOTOR) | (forces.kind == CUSTOM_MOTOR))
    found: dict[str, float] = {}
    if len(rows):
        efforts = np.zeros(len(forces))
        read_efforts(
            float(driver.time), y, forces, system.kinematics, system.coordinates, system.curves, np.zeros(3), efforts
        )
        entries = forces.ledger[rows].tolist()
        found = {model.force_names[i]: effort for i, effort in zip(entries, efforts[rows].tolist(), strict=True)}
    return found | driver.efforts(model)


def motor_row(model: Model, system: System, name: str) -> Any:
    """The row of a motor in the table of forces. Raises ValueError for a name that is no motor's."""
    forces = system.forces
    rows = np.flatnonzero(np.isin(forces.kind, (MOTOR, CUSTOM_MOTOR, SERVO)))
    found = {model.force_names[forces.ledger[row]]: forces[row] for row in rows}
    if name not in found:
        raise ValueError(
            f"there is no motor {name!r}; the motors are {', '.join(found) or 'none: add them with motor()'}"
        )
    return found[name]


def inputs_of(row: Any) -> tuple[str, ...]:
    """The inputs that a motor takes."""
    if row.kind == SERVO:
        return ("speed",)
    if row.kind == CUSTOM_MOTOR:
        return ()
    return ("effort", *(("position",) if row.stiffness > 0.0 else ()), *(("speed",) if row.damping > 0.0 else ()))


def what_it_takes(row: Any, taken: tuple[str, ...]) -> str:
    """What to say of a motor's inputs."""
    if row.kind == CUSTOM_MOTOR:
        return "nothing, as its effort is a function's"
    if row.kind == SERVO:
        return "speed, as it has no gain"
    missing = [f"{key} with a {what} above zero" for key, what in (("position", "stiffness"), ("speed", "gain"))
               if key not in taken]  # fmt: skip
    return f"{' or '.join(taken)}" + (f" (and {', '.join(missing)} in scene.motor)" if missing else "")
