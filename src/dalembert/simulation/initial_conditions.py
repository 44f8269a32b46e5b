"""Initial conditions: joints are checked or assembled, and redundant constraints reported. Also the release of joints
and forces."""

from __future__ import annotations

import numpy as np

from ..core.c_function import COMPLETE, MEASURE, NOT_A_NUMBER
from ..core.status import NON_FINITE, OK
from ..dynamics.mechanism import NOT_CLOSED, Mechanism
from ..model.compile import Model
from ..model.graph import POINT_SIZE
from ..model.tables import FEEDBACK, LEDGER, PENALTY, PROJECTION, System
from .errors import event_values
from .recording import Recorder
from .registry import Method, not_negative
from .state import State

HOLD = {"projection": PROJECTION, "feedback": FEEDBACK, "penalty": PENALTY}
CLOSED = 1e-6  # of the size of the model: joints that are open by more are rejected
NEARLY_DEPENDENT = 1e-9  # pivot ratio of J W Jᵀ: below, rows are dependent to rounding


def redundant(model: Model) -> bool:
    """Whether the constraints depend on each other at the start."""
    mechanism = Mechanism(model.system())
    mechanism(MEASURE, 0.0, model.initial.copy(), np.empty(model.size))
    return bool(mechanism.system.settings[0].condition < NEARLY_DEPENDENT)


def check_hold(hold: str, stiffness: float, damping: float, method: Method) -> None:
    """Raises ValueError for an unknown `hold`, one that the method does not support, and bad stiffness or damping."""
    if hold not in HOLD:
        raise ValueError(f"hold is {hold!r}; give one of {', '.join(HOLD)}")
    if hold not in method.holds:
        raise ValueError(
            f"hold is {hold!r}, and method {method.name!r} supports {', '.join(map(repr, method.holds))} only"
        )
    not_negative("stiffness", stiffness)
    not_negative("damping", damping)
    if hold == "penalty" and not stiffness > 0.0:
        raise ValueError("hold='penalty' needs a stiffness; give stiffness in N/m, and damping in N s/m")


def set_out(model: Model, mechanism: Mechanism, y: np.ndarray, dydt: np.ndarray, assemble: bool) -> int:
    """Check joints, their rates and their independence at the start, and project y onto the constraints.

    assemble : whether open joints are closed. Returns a status. Raises ValueError for joints that are open, or move apart, or
    cannot be closed.
    """
    found = _residuals(model, mechanism, y)
    if found is None:
        return int(mechanism(MEASURE, 0.0, y, dydt)) or NON_FINITE
    worst, rates = found
    length = model.length
    settings = mechanism.system.settings[0]
    if not assemble:
        if worst.size and worst.max() > CLOSED * length:
            raise ValueError(_open(model, "is open", worst, "m", "the poses or the joint's points"))
        speed = float(np.abs(State(model, y, 0.0).velocity).max(initial=0.0))
        if rates.size and rates.max() > CLOSED * max(speed, length):
            raise ValueError(_open(model, "moves apart", rates, "m/s", "the velocities"))
    if settings.hold == PROJECTION:
        status = mechanism(COMPLETE, 0.0, y, dydt)
        if status not in (OK, NOT_CLOSED):
            return int(status)
        found = _residuals(model, mechanism, y)
        if found is None:
            return NON_FINITE
        worst, rates = found
        if status != OK or (worst.size and worst.max() > CLOSED * length):
            raise ValueError(_open(model, "cannot be closed", worst, "m", "the poses, which are too far from closing"))
        y[-ledger_size(model) :] = 0.0
    settings.deficient = int(_dependent(mechanism, y, dydt))
    return OK


def _dependent(mechanism: Mechanism, y: np.ndarray, dydt: np.ndarray) -> bool:
    """Whether the constraints depend on each other at y, where they are closed."""
    settings = mechanism.system.settings[0]
    hold = settings.hold
    if hold == PENALTY:  # which has no factorization
        settings.hold = FEEDBACK
        mechanism(MEASURE, 0.0, y.copy(), dydt)
        settings.hold = hold
    return bool(settings.condition < NEARLY_DEPENDENT)


def ledger_size(model: Model) -> int:
    """The number of entries of the energy ledger, at the end of the state."""
    return len(LEDGER) + len(model.force_names)


def look_at_events(model: Model, y: np.ndarray) -> int:
    """Evaluate the functions of all events at the start. Returns a status."""
    return NOT_A_NUMBER if np.isnan(event_values(model, 0.0, y)).any() else OK


def _residuals(model: Model, mechanism: Mechanism, y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Errors of the joints and of their rates; None where the state cannot be measured."""
    recorder = Recorder(model, mechanism)
    if not recorder.record(0.0, y):
        return None
    return recorder.frames["joint_error"][0], recorder.frames["joint_velocity_error"][0]


def _open(model: Model, what: str, errors: np.ndarray, unit: str, cause: str) -> str:
    worst = int(np.nanargmax(np.where(np.isfinite(errors), errors, np.inf)))
    name = model.joint_names[worst]
    return (
        f"joint {name!r} {what} at the start by {errors[worst]:.3g} {unit}; correct {cause}, "
        "or pass assemble=True to close it by the smallest change"
    )


# Release of a joint or a force ----------------------------------------------------------------------------------------


def release(model: Model, system: System, name: str) -> None:
    """Take a joint or a force out of the equations of motion. Raises ValueError for an unknown name."""
    if name in model.joint_names:
        index = model.joint_names.index(name)
        if index >= len(system.joints):
            raise ValueError(
                f"joint {name!r} is part of the coordinates and cannot be released; use coordinates='maximal'"
            )
        joint = system.joints[index]
        joint.active = 0
        for incidence in system.incidences[joint.first : joint.last]:
            size = POINT_SIZE if incidence.is_point else 6 * incidence.rows
            system.jacobian[incidence.offset : incidence.offset + size] = 0.0
        rows = slice(joint.row, joint.row + joint.rows)
        for values in (system.error, system.bias, system.partial, system.multipliers):
            values[rows] = 0.0
    elif name in model.force_names:
        entry = model.force_names.index(name)
        forces = system.forces
        forces.active[(forces.ledger == entry) & (forces.kind != 0)] = 0
        for table in (system.particle_forces, system.elements.sets, system.interactions.laws):
            table.active[table.ledger == entry] = 0
    else:
        raise ValueError(f"there is no joint or force {name!r} to release")
