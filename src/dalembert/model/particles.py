"""Rows of the tables of particles, from a scene: masses, fields, elements, interactions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ..energies.kinds import KINDS, SCRATCH
from ..energies.tables import ELEMENT_SET, Elements
from ..interact.build import RadialLaw, make_interactions
from ..interact.tables import (
    ALL_PAIRS,
    CELLS,
    COULOMB,
    CUSTOM,
    GRAVITATION,
    LENNARD_JONES,
    REPULSION,
    TREE,
    Interactions,
)
from ..linalg.block_pattern import BlockPattern, block_pattern
from ..scene.body import Body
from ..scene.joint import Joint
from ..scene.particle_force import ParticleForce
from ..scene.particles import Particle
from ..scene.scene import Scene
from . import tables
from .user_functions import field_adapter, radial_adapter, wind_adapter

LAWS = {
    "gravitation": GRAVITATION, "coulomb": COULOMB, "lennard_jones": LENNARD_JONES, "repulsion": REPULSION, "radial": CUSTOM,
}  # fmt: skip
FEW = 64  # particles for which all pairs cost no more than sorting them into cells


class ParticleCompiler:
    """Collects the rows of particles' forces while a scene is compiled.

    entry : a new entry of the ledger. pointer : the address of a function of the user's.
    """

    def __init__(self, scene: Scene, entry: Callable[[str], int], pointer: Callable[..., int]) -> None:
        self.groups = list(scene.particles.values())
        self.entry, self.pointer = entry, pointer
        self.fields: list[tuple[Any, ...]] = []
        self.panels: list[np.ndarray] = []
        self.elements: dict[str, list[np.ndarray]] = {name: [] for name in KINDS}
        self.sets: list[tuple[int, ...]] = []
        self.laws: list[RadialLaw] = []
        if self.groups and np.any(scene.gravity):
            self._field_row(tables.PARTICLE_FIELD, 0, self.count, ledger=-1, vector=scene.gravity)
        for force in scene.forces.values():
            if isinstance(force, ParticleForce):
                self._add(force)

    @property
    def count(self) -> int:
        """Particles of the scene."""
        return sum(len(group) for group in self.groups)

    def _add(self, force: ParticleForce) -> None:
        entry = self.entry(force.name)
        if force.kind in KINDS:
            self._element_rows(force, entry)
        elif force.kind in LAWS:
            self._law(force, entry)
        else:
            getattr(self, f"_{force.kind}")(force, entry)

    # On each ----------------------------------------------------------------------------------------------------------

    def _field_row(self, kind: int, first: int, last: int, **fields: Any) -> None:
        row = np.zeros(1, tables.PARTICLE_FORCE)
        row["kind"], row["first"], row["last"], row["active"] = kind, first, last, 1
        for key, value in fields.items():
            row[key] = value
        self.fields.append(tuple(row[0]))

    def _field(self, force: ParticleForce, entry: int) -> None:
        address = 0 if force.function is None else self.pointer(field_adapter(force.function), force.name)
        kind = tables.PARTICLE_FIELD if force.function is None else tables.CUSTOM_FIELD
        for group in force.groups:
            self._field_row(
                kind, group.first, group.last, ledger=entry, address=address, vector=force.values["acceleration"],
                force=force.values["force"],
            )  # fmt: skip

    def _medium(self, force: ParticleForce, entry: int) -> None:
        for group in force.groups:
            self._field_row(tables.MEDIUM, group.first, group.last, ledger=entry, **force.values)

    def _wind(self, force: ParticleForce, entry: int) -> None:
        address = 0 if force.function is None else self.pointer(wind_adapter(force.function), force.name)
        nodes = force.values["nodes"]
        first = sum(len(rows) for rows in self.panels)
        self.panels.append(nodes)
        self._field_row(
            tables.WIND, first, first + len(nodes), ledger=entry, address=address, pressure=force.values["pressure"],
            velocity=force.values["velocity"],
        )  # fmt: skip

    # Between a few, and between all -----------------------------------------------------------------------------------

    def _element_rows(self, force: ParticleForce, entry: int) -> None:
        kind = KINDS[force.kind]
        rows = np.zeros(len(force.values["nodes"]), kind.dtype)
        for key, value in force.values.items():
            rows[key] = value
        first = sum(len(found) for found in self.elements[force.kind])
        self.elements[force.kind].append(rows)
        row = {"kind": kind.number, "first": first, "last": first + len(rows), "ledger": entry, "active": 1}
        self.sets.append(tuple(row[name] for name in ELEMENT_SET.names or ()))

    def _law(self, force: ParticleForce, entry: int) -> None:
        members = np.concatenate([np.arange(group.first, group.last) for group in force.groups])
        values = dict(force.values)
        if force.kind == "gravitation":
            values["strength"] = -values["strength"]
            values["weights"] = np.concatenate([group.mass for group in force.groups])
        method = ALL_PAIRS
        if "theta" in values:
            method = TREE
        elif np.isfinite(values.get("cutoff", np.inf)) and len(members) > FEW:
            method = CELLS
        address = 0 if force.function is None else self.pointer(radial_adapter(force.function), force.name)
        self.laws.append(RadialLaw(LAWS[force.kind], members, method=method, ledger=entry, address=address, **values))

    # Tables -----------------------------------------------------------------------------------------------------------

    def tables(self) -> dict[str, np.ndarray]:
        """The tables of `System` about particles that are not nested."""
        pinned = np.concatenate([group.pinned for group in self.groups]) if self.groups else np.zeros(0, bool)
        mass = np.concatenate([group.mass for group in self.groups]) if self.groups else np.zeros(0)
        panels = np.zeros(sum(len(rows) for rows in self.panels), tables.PANEL)
        if len(panels):
            panels["nodes"] = np.concatenate(self.panels)
        return {
            "particle_forces": np.array(self.fields, tables.PARTICLE_FORCE).view(np.recarray),
            "panels": panels.view(np.recarray),
            "particle_mass": mass,
            "particle_inverse_mass": np.where(pinned, 0.0, 1.0 / mass),
        }

    def make_elements(self, slots: Mapping[str, np.ndarray] = MappingProxyType({})) -> Elements:
        """The elements of the scene; slots, by kind: where their matrices go."""
        rows = {name: table.view(np.recarray) for name, table in self.element_rows().items()}
        where = {f"{name}_slots": slots.get(name, np.zeros(0, np.int64)) for name in KINDS}
        sets = np.array(self.sets, ELEMENT_SET).view(np.recarray)
        return Elements(**{**rows, **where, "sets": sets, "scratch": np.zeros(SCRATCH)})

    def pattern(self) -> BlockPattern:
        """Where the matrix of an implicit step has its blocks."""
        rows = self.element_rows()
        return block_pattern(self.count, [rows[name]["nodes"] for name in KINDS])

    def element_rows(self) -> dict[str, np.ndarray]:
        """All elements, by kind."""
        return {name: np.concatenate([np.zeros(0, KINDS[name].dtype), *rows]) for name, rows in self.elements.items()}

    def make_interactions(self) -> Interactions:
        """The laws between particles, with their workspaces."""
        return make_interactions(self.laws)

    def initial(self) -> np.ndarray:
        """(6 n,): x and p of all particles at the start."""
        if not self.groups:
            return np.zeros(0)
        x = np.concatenate([group.position for group in self.groups])
        p = np.concatenate([group.mass[:, None] * group.velocity for group in self.groups])
        return np.concatenate([x.ravel(), p.ravel()])


def particles_in_joints(joints: Sequence[Joint], scene: Scene) -> tuple[list[Particle], list[Particle]]:
    """The particles that joints or forces of bodies take part in, each once, in the order in which they are met: those
    that are free, the nodes, and those that are pinned, which are points of the world."""
    frames = [frame for joint in joints for frame in joint.bodies]
    for force in scene.forces.values():
        if not isinstance(force, ParticleForce):
            frames += [frame for frame in (force.a, force.b) if frame is not None]
    found = list(dict.fromkeys(frame for frame in frames if isinstance(frame, Particle)))
    return [f for f in found if not f.group.pinned[f.index]], [f for f in found if f.group.pinned[f.index]]


def attaches(joint: Joint) -> bool:
    """Whether a joint is a ball between a free particle and a body."""
    ends = (joint.a, joint.b)
    free = [end for end in ends if isinstance(end, Particle) and not end.group.pinned[end.index]]
    return joint.kind == "ball" and len(free) == 1 and any(isinstance(end, Body) for end in ends)


def attachment_row(joint: Joint, index: dict[Any, int]) -> tuple[Any, ...]:
    """The particle, the body, and where the particle is in it."""
    particle, body = (joint.a, joint.b) if isinstance(joint.a, Particle) else (joint.b, joint.a)
    assert isinstance(particle, Particle) and isinstance(body, Body)
    return (particle.number, index[body], body.to_body(particle.position))
