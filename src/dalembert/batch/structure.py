"""Members given as scenes: they must have the structure of the first, and the numbers that differ are found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..articulated.driver import JointMechanism
from ..drivers import system_of
from ..mechanics.evaluate import Mechanism
from ..model.compile import Model, compile_scene
from ..scene.scene import Scene
from .workspace import ALONE, Varied, Workspace, tables_of_system

MAY_DIFFER = ("address", "joint.options")  # of a user's function; addresses of the run's own


def differences(template: Workspace, scenes: Iterable[Scene | Model]) -> tuple[list[Varied], int, list[Any]]:
    """What differs from member to member, their number, and what must be kept alive.

    Raises ValueError, naming the member and the difference, for another structure.
    """
    first = {name: table.tobytes() for name, table in template.made.items()}
    rows: dict[str, list[bytes]] = {}
    parts = list(_parts(template.model))
    kept: list[Any] = []
    members = 0
    for member, scene in enumerate(scenes):
        model = _compiled(member, scene, template)
        _require_same_parts(member, parts, list(_parts(model)))
        for name, table in _tables(model, template).items():
            values = table.tobytes()
            if values != first[name]:
                _require_same_table(member, name, template.made[name], table)
            if name in rows or values != first[name]:
                rows.setdefault(name, [first[name]] * member).append(values)
        kept.append(model.pointers)
        members += 1
    varied = [
        Varied(name, 0, np.frombuffer(b"".join(values), np.uint8).reshape(members, -1)) for name, values in rows.items()
    ]
    return varied, members, kept


def _compiled(member: int, scene: Scene | Model, template: Workspace) -> Model:
    hubs = len(template.model.graph.hubs) > 0
    joint = template.model.tree is not None
    if isinstance(scene, Model):
        if (scene.tree is not None) == joint and (len(scene.graph.hubs) > 0) == hubs:
            return scene
        scene = scene.scene
    try:
        return compile_scene(scene, hubs=hubs, coordinates="joint" if joint else "maximal")
    except ValueError as error:
        raise ValueError(f"member {member}: {error}") from None


def _tables(model: Model, template: Workspace) -> dict[str, np.ndarray]:
    """The tables of a member that its numbers are in."""
    mechanism = Mechanism(system_of(model, template.method))
    own: Any = mechanism.system.settings[0]
    own.hold, own.stiffness, own.damping = template._hold
    if model.tree is not None:
        mechanism = JointMechanism(model, mechanism)
    weights = mechanism.weights if isinstance(mechanism, JointMechanism) else model.weights
    found = tables_of_system(mechanism) | {"y": model.initial, "stepping.weights": weights}
    return {name: table for name, table in found.items() if name not in MAY_DIFFER}


def _parts(model: Model) -> Iterator[tuple[str, str, str]]:
    """What a scene consists of: what it is, its name, its kind."""
    scene = model.scene
    for body in scene.bodies.values():
        yield "body", body.name, ""
    for group in scene.particles.values():
        yield "group of particles", group.name, f"of {len(group)}"
    for joint in scene.joints.values():
        yield "joint", joint.name, f"({joint.kind}) between {joint.a.name!r} and {joint.b.name!r}"
    for force in scene.forces.values():
        yield "force", force.name, f"({force.kind})"
    for event in scene.events.values():
        yield "event", event.name, ""


def _require_same_parts(member: int, first: list[tuple[str, str, str]], other: list[tuple[str, str, str]]) -> None:
    for k in range(max(len(first), len(other))):
        one, two = (parts[k] if k < len(parts) else None for parts in (first, other))
        if one != two:
            raise ValueError(
                f"member {member} has another structure than the first: {_said(two)} where that has {_said(one)}; members "
                f"of a batch differ in numbers only; {ALONE}"
            )


def _said(part: tuple[str, str, str] | None) -> str:
    return "nothing more" if part is None else f"{part[0]} {part[1]!r} {part[2]}".strip()


def _require_same_table(member: int, name: str, own: np.ndarray, other: np.ndarray) -> None:
    if own.shape != other.shape:
        what = f"its table {name} has shape {other.shape}, not {own.shape}"
    else:
        fields = own.dtype.names or ("",)
        whole = [
            field for field in fields if field not in MAY_DIFFER and (own[field] if field else own).dtype.kind in "iu"
        ]
        differ = [f for f in whole if not np.array_equal(own[f] if f else own, other[f] if f else other)]
        if not differ:
            return
        what = f"{differ[0] or 'entries'} of its table {name} differ"
    raise ValueError(
        f"member {member} has another structure than the first: {what}; members of a batch differ in numbers only (not in "
        "what is there, such as gravity or none)"
    )
