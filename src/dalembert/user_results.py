"""What functions of the user's return: of compiled ones the shape, before a run; where a run failed, whether it is finite."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .jit import is_dispatcher
from .model.compile import Model
from .model.user_functions import EFFORT, EVENT, FIELD, FORCE_AND_TORQUE, RADIAL, WIND, Answer
from .scene.force import Force
from .state import State

Call = tuple[str, Callable[..., Any], Answer, Iterator[tuple[Any, ...]]]


def require_answers(model: Model) -> None:
    """Raises ValueError, naming the force or the event, where a compiled function of the scene does not return what it
    should at the start.

    It is called through its pointer, which compiles nothing, and anew from Python only where it fails, for the reason.
    """
    start = State(model, model.initial, 0.0)
    for owner, function, answer, arguments in _calls(model, start, {}):
        if not is_dispatcher(function):
            continue
        pointer = next(
            (
                p
                for p in model.pointers
                if p.typed and p.adapter.functions[0] is function and answer in p.adapter.answers
            ),
            None,
        )
        for given in arguments:
            if pointer is not None and np.isfinite(pointer(*_packed(given))).all():
                break
            try:
                answer.require(function(*given))
            except Exception as error:
                raise ValueError(f"{owner}: its function cannot be used: {error}") from error
            break


def not_finite(model: Model, state: State, joints: Mapping[str, tuple[float, float]]) -> str | None:
    """The function whose result is not finite at a state, and what it returned there; None where there is none.

    joints : joint → (s, ṡ), where that is known.
    """
    for owner, function, _, arguments in _calls(model, state, joints):
        for given in arguments:
            try:
                result = np.asarray(function(*given), float)
            except Exception:  # told of elsewhere
                break
            if not np.isfinite(result).all():
                return f"the function of {owner} returned {result.tolist()}"
    return None


def _calls(model: Model, state: State, joints: Mapping[str, tuple[float, float]]) -> Iterator[Call]:
    """Owner, function, what it has to return, and the arguments with which it is called at a state."""
    t, scene = float(state.time), model.scene
    for force in scene.forces.values():
        function = force.function
        if function is None:
            continue
        owner = f"{force.kind} {force.name!r}"
        if isinstance(force, Force) and force.joint is None:
            i = state.index(force.a.name)  # type: ignore[union-attr]
            parts = (state.position, state.orientation, np.asarray(state.velocity), np.asarray(state.angular_velocity))
            yield owner, function, FORCE_AND_TORQUE, iter([(t, *(part[i].copy() for part in parts))])
        elif isinstance(force, Force):
            known = joints.get(force.joint.name, (0.0, 0.0))  # type: ignore[union-attr]
            yield owner, function, EFFORT, iter([(t, *known)])
        elif force.kind == "field":
            yield owner, function, FIELD, _at_particles(t, state, force)
        elif force.kind == "wind":
            middles = state.particle_position[force.values["nodes"]].mean(axis=1)
            yield owner, function, WIND, ((t, x.copy()) for x in middles)
        elif force.kind == "radial":
            yield owner, function, RADIAL, iter([(1.0,)])
    for event in scene.events.values():
        yield f"event {event.name!r}", event.function, EVENT, iter([(t, state.y.copy())])


def _packed(arguments: tuple[Any, ...]) -> tuple[float, np.ndarray]:
    """The time and the numbers that an adapter is given, from the arguments of its function; a radial law has no time."""
    t, values = (arguments[0], arguments[1:]) if len(arguments) > 1 else (0.0, arguments)
    return t, np.concatenate([np.ravel(value) for value in values])


def _at_particles(t: float, state: State, force: Any) -> Iterator[tuple[Any, ...]]:
    velocity = np.asarray(state.particle_velocity)
    for group in force.groups:
        for k in range(group.first, group.last):
            yield t, state.particle_position[k].copy(), velocity[k].copy()
