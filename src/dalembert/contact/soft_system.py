"""The mechanism as time steps see it: with a row for each motor with gains and each spring of a joint; see `soft`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..mechanics.mechanism import Mechanism
from ..model.compile import Model
from ..model.graph import SPARE, Graph, build_graph
from ..model.tables import MOTOR, PART, SOFT, TORSION, System
from ..pointer import CONSTRAIN, PLACE
from ..status import OK
from .bounded import LOCKED
from .tables import SOFT as SOFT_ROW

FAINT = 1e-14  # of the inertia that a coordinate has without joints: what stands for no row
LOOSE = 1e4  # compliance of rows, over the response of the bodies alone, with which they hardly take part


def is_implicit(forces: Any) -> np.ndarray:
    """Which rows of the table of forces are soft constraints of time steps."""
    on_coordinate = (forces.kind == MOTOR) | (forces.kind == TORSION)
    return np.asarray(on_coordinate & ((forces.stiffness > 0.0) | (forces.damping > 0.0)))


def implicit_forces(system: System) -> np.ndarray:
    """The rows of the forces on coordinates that are soft constraints of a step, coordinate by coordinate."""
    forces = system.forces
    chosen = np.flatnonzero(is_implicit(forces))
    return chosen[np.argsort(forces.coordinate[chosen], kind="stable")]


def make_soft(system: System, size: int, chosen: np.ndarray) -> Any:
    """The SOFT table of these forces; `size` is that of the state."""
    rows = np.zeros(len(chosen), SOFT_ROW).view(np.recarray)
    forces, coordinates = system.forces, system.coordinates
    rows.force, rows.coordinate = chosen, forces.coordinate[chosen]
    rows.entry = size - len(system.power) + forces.ledger[chosen]
    rows.a, rows.b = coordinates.a[rows.coordinate], coordinates.b[rows.coordinate]
    rows.first = np.searchsorted(rows.coordinate, rows.coordinate, side="left")
    rows.end = np.searchsorted(rows.coordinate, rows.coordinate, side="right")
    rows.joint = rows.row = rows.part = rows.freedom = -1
    return rows


class SoftMechanism(Mechanism):
    """A mechanism with a row more for each implicit force. It shares bodies, forces and what they do with that of the model;
    joints, their matrix and its factorization are its own. `rows` is the SOFT table."""

    def __init__(self, model: Model, plain: Mechanism, chosen: np.ndarray) -> None:
        self.plain = plain.system
        system, rows = self.plain, make_soft(self.plain, model.size, chosen)
        graph = _with_rows(model.graph, system, rows)
        system.forces.implicit[chosen] = 1
        rows.joint = np.arange(len(system.joints), len(graph.joints))
        rows.row = graph.joints["row"][rows.joint]
        rows.part = np.arange(len(system.parts), len(system.parts) + len(rows))
        symbolic, count, unknowns = graph.symbolic, graph.rows, graph.unknowns
        super().__init__(
            system._replace(
                parts=_parts(model.graph, graph, system, rows), joints=np.array(graph.joints).view(np.recarray),
                incidences=graph.incidences, pairs=graph.pairs, hubs=graph.hubs, columns=symbolic.columns,
                entries=symbolic.entries, updates=symbolic.updates, settings=np.array(system.settings).view(np.recarray),
                jacobian=np.zeros(graph.jacobian_size), error=np.zeros(count), bias=np.zeros(count),
                scale=np.zeros(unknowns), values=np.zeros(symbolic.values), lower=np.zeros(symbolic.values),
                rhs=np.zeros(unknowns), multipliers=np.zeros(unknowns), residual=np.zeros(unknowns),
                rates=np.zeros(count), ticks=np.zeros(len(system.ticks)),
            )
        )  # fmt: skip
        self.rows = rows
        self.follow()
        self._find_responses(model)

    def follow(self) -> None:
        """Take over what may have been changed in the plain mechanism: its settings, and joints that were let go."""
        own, settings, count = self.system, self.system.settings, len(self.plain.joints)
        settings[0] = self.plain.settings[0]
        settings.implicit, settings.solver = 1, 0
        self._name_functions()  # it has rows that the plain one has not
        for j in np.flatnonzero(own.joints.active[:count] != self.plain.joints.active):
            own.joints.active[j] = self.plain.joints.active[j]
            rows = slice(own.joints.row[j], own.joints.row[j] + own.joints.rows[j])
            for values in (own.error, own.bias, own.multipliers):
                values[rows] = 0.0
            for incidence in own.incidences[own.joints["first"][j] : own.joints["last"][j]]:
                own.jacobian[incidence.offset : incidence.offset + size_of(incidence)] = 0.0

    def _find_responses(self, model: Model) -> None:
        """How each coordinate answers a unit impulse at the initial pose, with the joints taking part."""
        system, rows = self.system, self.rows
        system.joints.compliance[rows.joint] = 1.0
        y, found = model.initial.copy(), np.zeros(len(system.error))
        self.perform(PLACE, 0.0, y, found)
        alone = np.array([self._alone(int(joint)) for joint in rows.joint])
        rows.faint, rows.response = FAINT / alone, alone
        loose = LOOSE * alone
        system.joints.compliance[rows.joint] = loose
        if self.perform(PLACE, 0.0, y, found) != OK:
            return
        for i in range(len(rows)):
            rates = np.zeros(len(found))
            rates[rows.row[i]] = 1.0
            if rows.first[i] == i and self.perform(CONSTRAIN, 0.0, rates, found) == OK:
                response = 1.0 / found[rows.row[i]] - loose[i]
                rows.response[i : rows.end[i]] = response if response > LOCKED * alone[i] else 0.0

    def _alone(self, joint: int) -> float:
        """The same of the two bodies without joints."""
        system, total = self.system, 0.0
        for incidence in system.incidences[system.joints["first"][joint] : system.joints["last"][joint]]:
            linear, angular = system.jacobian[incidence.offset : incidence.offset + 6].reshape(2, 3)
            xx, yy, zz, xy, xz, yz = system.kinematics.inverse_inertia[incidence.body]
            inverse = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            total += system.bodies.inverse_mass[incidence.body] * linear @ linear + angular @ inverse @ angular
        return float(total)


def with_soft_rows(model: Model, mechanism: Mechanism) -> Mechanism:
    """The mechanism with rows for its implicit forces; itself, where there are none."""
    chosen = implicit_forces(mechanism.system)
    return SoftMechanism(model, mechanism, chosen) if len(chosen) else mechanism


def size_of(incidence: Any) -> int:
    """Numbers that the Jacobian of an incidence has."""
    return 4 if incidence.is_point else 6 * int(incidence.rows)


def _with_rows(graph: Graph, system: System, rows: Any) -> Graph:
    """The graph with a node more for each row."""
    joints, incidences = graph.joints, graph.incidences
    bodies = [sorted(set(incidences["body"][j["first"] : j["last"]].tolist())) for j in joints]
    points = [bool(incidences["is_point"][j["first"] : j["last"]].any()) for j in joints]
    world, count = len(system.kinematics) - 1, len(rows)
    ends = [[int(row.a), int(row.b)] for row in rows]
    return build_graph(
        [*joints["rows"].tolist(), *[1] * count], [*points, *[False] * count], [*bodies, *ends], world,
        len(graph.hubs) > 0, count,
    )  # fmt: skip


def _parts(old: Graph, new: Graph, system: System, rows: Any) -> Any:
    """The parts of joints with their Jacobians where the new graph has them, and those of the rows."""
    spare = new.jacobian_size - SPARE
    moved = np.full(old.jacobian_size, spare)
    for place, offset in old.offsets.items():
        moved[offset] = new.offsets[place]
    parts = np.concatenate([np.asarray(system.parts), np.zeros(len(rows), PART)]).view(np.recarray)
    for block in ("block_a", "block_b", "block_c", "block_d"):
        parts[block][: len(system.parts)] = moved[system.parts[block]]
        parts[block][len(system.parts) :] = spare
    for row in rows:
        part = parts[row.part]
        part.kind, part.joint, part.row, part.first = SOFT, row.joint, row.row, row.coordinate
        part.a, part.b = row.a, row.b
        part.block_a, part.block_b = (new.offset(int(row.joint), int(body), 0) for body in (row.a, row.b))
    return parts
