"""Errors of a run, with the time and the body, joint or particle."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.c_function import C_TYPE, DERIVATIVE, NOT_A_NUMBER, WRONG_LENGTH
from ..core.status import MESSAGES, NON_FINITE, STEP_UNDERFLOW
from ..dynamics.constraints import NOT_SOLVED
from ..dynamics.joint_space.mechanism import LIMP, TOO_FAST
from ..dynamics.mechanism import NOT_CLOSED, SINGULAR, USER_FUNCTION
from ..impact.resting_contact import UNSOLVED
from ..model.tables import STATE_SIZE
from ..model.tree import BALL, FREE, HINGE
from ..pairwise.laws import COINCIDENT, ONE, OTHER, THE_LAW
from ..symbolic.constrained import NOT_MET, SINGULAR_MASS
from .agreement import not_finite
from .state import State

TURNING = (HINGE, BALL, FREE)  # kinds of nodes with angular speeds


class SimulationError(RuntimeError):
    """Raised if a run fails. `time` is in s; `simulation` has everything recorded until then."""

    def __init__(self, message: str, time: float) -> None:
        super().__init__(message)
        self.time = time
        self.simulation: Any = None


def raised(model: Any) -> BaseException | None:
    """What a function of the user's raised, if one did."""
    return next((pointer.error for pointer in model.pointers if pointer.error is not None), None)


def failure(simulation: Any, what: int | str) -> SimulationError:
    """The error of a run that ended with a status, or with a sentence that says why. Raises what is no error of the run:
    KeyboardInterrupt, or SystemExit, in a function of the user's."""
    cause = raised(simulation.model)
    if cause is not None and not isinstance(cause, Exception):
        for pointer in simulation.model.pointers:
            pointer.error = None  # the run can go on
        raise cause
    error = SimulationError(what if isinstance(what, str) else explain(simulation, what), simulation.time)
    error.simulation, error.__cause__ = simulation, cause
    simulation._failure = (None if isinstance(what, str) else what, str(error))
    return error


def explain(simulation: Any, status: int) -> str:
    """A sentence that says what happened, when, and to whom."""
    at = f"at t = {simulation.time:.9g} s"
    model = simulation.model
    for pointer, name in zip(model.pointers, model.pointer_names, strict=True):
        if pointer.error is not None:
            return f"{at} the function of {name!r} failed: {pointer.error!r}"
    if status in (USER_FUNCTION, WRONG_LENGTH):
        what = "failed" if status == USER_FUNCTION else "returned the wrong number of values"
        return f"{at} a compiled function of the scene {what} ({', '.join(model.pointer_names)})"
    if status == NOT_A_NUMBER:
        return f"{at} the event {_events_without_number(simulation)} returns NaN; let it return a number at every state"
    step = f"in a step of {simulation._driver.step:.3g} s"
    lost = _first_not_finite(simulation)
    culprit = culprit_of(simulation) if model.pointers else None
    also = "" if culprit is None else f", and {culprit}"
    if status == NON_FINITE or lost is not None:
        return f"{at} {MESSAGES[NON_FINITE]} {step}; {lost or _fastest(simulation)}{also}"
    if status == STEP_UNDERFLOW:
        return f"{at} {MESSAGES[status]} (the last trial was {step}); {_fastest(simulation)}{also}"
    if status in (SINGULAR, NOT_SOLVED) and simulation._constraint_solver is not None:
        return f"{at} {simulation._constraint_solver.explain()}"
    if status in (SINGULAR, NOT_CLOSED) and culprit is not None:
        return f"{at} {culprit}; return finite numbers"
    if status in (SINGULAR, NOT_CLOSED):
        what = "the constraint system cannot be solved" if status == SINGULAR else "the joints cannot be closed"
        return f"{at} {what} {step}, worst at joint {_worst_joint(simulation)}; a smaller step may help"
    if status == UNSOLVED:
        return f"{at} the forces of contact cannot be found {step}; look for contradictory contacts"
    if status == LIMP:
        names, which = model.tree.freedom_names, int(simulation._mechanism.tables.options.limp[0])
        return f"{at} nothing resists {names[which]!r}; give the bodies that it moves a mass, or the joint an armature"
    if status == TOO_FAST:
        return f"{at} {_turns_too_far(simulation)}"
    if status == COINCIDENT:
        return f"{at} {_coincident(simulation)}"
    if status in (SINGULAR_MASS, NOT_MET):
        return f"{at} {simulation._mechanism.explain(status)}"
    reason = MESSAGES.get(status, f"status {status}")
    return f"{at} {reason} {step}; {_fastest(simulation)}{also}"


def _turns_too_far(simulation: Any) -> str:
    """Which joint turns too far in a step, by how much, and the way out."""
    own, dt, nodes = simulation._mechanism, float(simulation._driver.step), simulation._mechanism.tables.tree.nodes
    turning = np.concatenate(
        [np.arange(node.last - min(3, node.last - node.first), node.last) for node in nodes if node.kind in TURNING]
    ).astype(int)
    speeds = np.abs(simulation._driver.speeds_of_drift[turning])
    which = int(np.argmax(speeds))
    speed, name = float(speeds[which]), own.layout.freedom_names[turning[which]]
    return (
        f"the free motion of joints cannot be computed in a step of {dt:.3g} s: {name!r} turns at {speed:.3g} rad/s, by "
        f"{speed * dt:.3g} rad in a step; give dt = {0.3 / speed:.1g} or less"
    )


def _events_without_number(simulation: Any) -> str:
    """The names of the events that return NaN at the state, now or a step later; of all if none does."""
    model, driver = simulation.model, simulation._driver
    names = [event.name for event in model.events]
    found: list[str] = []
    for time in (simulation.time, simulation.time + driver.step):
        values = event_values(model, time, simulation._y)
        found = found or [name for name, value in zip(names, values, strict=True) if np.isnan(value)]
    return " or ".join(map(repr, found or names))


def event_values(model: Any, t: float, y: np.ndarray) -> np.ndarray:
    """What the functions of the events say of a state."""
    values = np.full(len(model.event_addresses), np.nan)
    for i, address in enumerate(model.event_addresses):
        C_TYPE(int(address))(0, DERIVATIVE, t, y.ctypes.data, y.size, values[i:].ctypes.data, 1)
    return values


def culprit_of(simulation: Any) -> str | None:
    """A function of the user's that is not finite where the run ended, or at the step that was tried there."""
    model, joints = simulation.model, {}
    if any(force.kind == "motor" and force.function is not None for force in model.scene.forces.values()):
        joints = simulation.joint_state()
    now, dt = simulation.time, simulation.settings["dt"] or 0.0
    times = (now, now + 1e-9 * max(1.0, abs(now)), now + dt, now + 1.5 * dt)  # the last: motions in time steps
    with np.errstate(all="ignore"):
        for y in (simulation._y, simulation._driver.attempt(simulation._y)):
            for t in times:
                found = not_finite(model, State(model, y, t), joints) if np.isfinite(y).all() else None
                if found is not None:
                    return found
    return None


def _worst_joint(simulation: Any) -> str:
    system, model = simulation._system, simulation.model
    rows = np.where(np.isfinite(system.error), np.abs(system.error), np.inf)
    firsts = np.array(system.joints.row, dtype=np.int64)
    index = int(np.argmax(np.maximum.reduceat(rows, firsts)))
    first, count = int(firsts[index]), int(system.joints.rows[index])
    name = model.joint_names[index]
    return f"{name!r} (error {model.scene.joints[name].error_text(system.error[first : first + count])})"


def _coincident(simulation: Any) -> str:
    interactions, model = simulation._system.interactions, simulation.model
    one, other, law = (int(interactions.trouble[k]) for k in (ONE, OTHER, THE_LAW))
    return (
        f"particles {_particle(model, one)} and {_particle(model, other)} are at the same place, where the force "
        f"{model.force_names[interactions.laws[law].ledger]!r} between them is infinite; move one, or give the force a "
        "softening length if it has one"
    )


def _particle(model: Any, number: int) -> str:
    """The name of a particle, from its number among all."""
    name, rows = next(item for item in model.particle_slices.items() if item[1].start <= number < item[1].stop)
    return f"{name}[{number - rows.start}]"


def _parts(simulation: Any, y: np.ndarray) -> list[np.ndarray]:
    """The states of bodies and of particles, one a row."""
    model = simulation.model
    return [
        y[: STATE_SIZE * len(model.body_names)].reshape(-1, STATE_SIZE),
        np.hstack([*y[model.particle_block].reshape(2, -1, 3)]),
    ]


def _name(model: Any, index: int) -> str:
    """The name of a body, or of a particle, numbered after them."""
    count = len(model.body_names)
    return f"body {model.body_names[index]!r}" if index < count else f"particle {_particle(model, index - count)}"


def _first_not_finite(simulation: Any) -> str | None:
    """What to say of the first body or particle whose state in the last trial step is not finite, if there is one."""
    tried = _parts(simulation, simulation._driver.attempt(simulation._y))
    finite = np.concatenate([np.isfinite(part).all(axis=1) for part in tried])
    if finite.all():
        return None
    return f"{_name(simulation.model, int(np.argmin(finite)))} is the first with a non-finite state"


def _fastest(simulation: Any) -> str:
    """The fastest body or particle."""
    state = State(simulation.model, simulation._y, simulation.time)
    with np.errstate(over="ignore"):
        speed = np.linalg.norm([*state.velocity, *state.particle_velocity], axis=1)
    index = int(np.argmax(speed))
    return f"the fastest {_name(simulation.model, index)} moves at {speed[index]:.3g} m/s"
