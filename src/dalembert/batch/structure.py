"""Members given as scenes: they must have the structure of the first, and the numbers that differ are found."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..articulated.driver import JointMechanism
from ..mechanics.mechanism import Mechanism
from ..model.compile import Model, compile_scene
from ..scene.scene import Scene
from ..simulation.methods.explicit import smooth_weights
from ..start import redundant
from .workspace import ALONE, Varied, Workspace, tables_of_system

MAY_DIFFER = ("address", "joint.options")  # of a user's function; addresses of the run's own


def differences(template: Workspace, scenes: Iterable[Scene | Model]) -> tuple[list[Varied], int, list[Any]]:
    """What differs from member to member, their number, and what must be kept alive.

    Raises ValueError, naming the member and the difference, for another structure.
    """
    found = Differences(template)
    for member, scene in enumerate(scenes):
        try:
            model = found.compiled(scene)
        except ValueError as error:
            raise ValueError(f"member {member}: {error}") from None
        found.add(model, found.tables(model))
    return found.result()


class Differences:
    """Collects members of the structure of a template, and what differs among them."""

    def __init__(self, template: Workspace) -> None:
        self.template = template
        self._first = {name: table.tobytes() for name, table in template.made.items()}
        self._parts = parts_of(template.model)
        self._hubs, self._joint = len(template.model.graph.hubs) > 0, template.model.tree is not None
        maximal = not (self._hubs or self._joint or template._iterative)
        self._dependent = maximal and len(compile_scene(template.model.scene).graph.hubs) > 0
        self._rows: dict[str, list[bytes]] = {}
        self._kept: list[Any] = []

    def __len__(self) -> int:
        return len(self._kept)

    def compiled(self, scene: Scene | Model) -> Model:
        """A member's model, as its run by itself has it. Raises ValueError."""
        if isinstance(scene, Model):
            if (scene.tree is not None) == self._joint and (len(scene.graph.hubs) > 0) == self._hubs:
                return scene
            scene = scene.scene
        if self._dependent and not redundant(compile_scene(scene)):
            raise ValueError(f"its joints do not depend on each other at the start, and those of the first do; {ALONE}")
        return compile_scene(scene, hubs=self._hubs, coordinates="joint" if self._joint else "maximal")

    def tables(self, model: Model) -> dict[str, np.ndarray]:
        """The tables of a member that its numbers are in."""
        mechanism = Mechanism(self.template._method.system(model))
        own: Any = mechanism.system.settings[0]
        own.hold, own.stiffness, own.damping = self.template._hold
        if model.tree is not None:
            mechanism = JointMechanism(model, mechanism)
        weights = smooth_weights(model, mechanism, self.template.method)
        found = tables_of_system(mechanism) | {"y": model.initial, "stepping.weights": weights}
        return {name: table for name, table in found.items() if name not in MAY_DIFFER}

    def signature(self, model: Model, tables: Mapping[str, np.ndarray]) -> Hashable:
        """How a member's structure differs from that of the template: equal for members of equal structure."""
        other = [(name, table) for name, table in tables.items() if table.tobytes() != self._first[name]]
        differ = [
            (name, table.shape, _whole_numbers(table))
            for name, table in other
            if (named := self.template.made[name]).shape != table.shape
            or _whole_numbers(named) != _whole_numbers(table)
        ]
        return (*parts_of(model), *differ)

    def add(self, model: Model, tables: Mapping[str, np.ndarray]) -> None:
        """Take a member in. Raises ValueError, naming it and the difference, for another structure."""
        member = len(self)
        _require_same_parts(member, self._parts, parts_of(model))
        for name, table in tables.items():
            values = table.tobytes()
            if values != self._first[name]:
                _require_same_table(member, name, self.template.made[name], table)
            if name in self._rows or values != self._first[name]:
                self._rows.setdefault(name, [self._first[name]] * member).append(values)
        self._kept.append(model.pointers)

    def result(self) -> tuple[list[Varied], int, list[Any]]:
        """What differs, how many members there are, and what must be kept alive; the next members begin anew."""
        rows, kept, self._rows, self._kept = self._rows, self._kept, {}, []
        varied = [
            Varied(name, 0, np.frombuffer(b"".join(values), np.uint8).reshape(len(kept), -1))
            for name, values in rows.items()
        ]
        return varied, len(kept), kept


@functools.cache
def _whole_fields(dtype: np.dtype[Any]) -> list[str]:
    """The fields of whole numbers; "" for a table that is of such numbers."""
    if dtype.names is None:
        return [""] if dtype.kind in "iu" else []
    return [name for name in dtype.names if name not in MAY_DIFFER and dtype[name].base.kind in "iu"]


def _whole_numbers(table: np.ndarray) -> bytes:
    """The whole numbers in a table, which are structure."""
    plain = np.asarray(table)
    return b"".join((plain[field] if field else plain).tobytes() for field in _whole_fields(table.dtype))


def parts_of(model: Model) -> list[tuple[str, str, str]]:
    """What a scene consists of: what it is, its name, its kind."""
    return list(_parts(model.scene))


def _parts(scene: Scene) -> Iterator[tuple[str, str, str]]:
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
        whole = _whole_fields(own.dtype)
        differ = [f for f in whole if not np.array_equal(own[f] if f else own, other[f] if f else other)]
        if not differ:
            return
        what = f"{differ[0] or 'entries'} of its table {name} differ"
    raise ValueError(
        f"member {member} has another structure than the first: {what}; members of a batch differ in numbers only (not in "
        "what is there, such as gravity or none)"
    )
