"""Compiles parts of a scene to rows of tables: particles (`ParticleCompiler`), forces (`ForceCompiler`) and joints
(`part_rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from ..core.tables import allocate
from ..energies.elements import ELEMENT_SET, Elements
from ..energies.kinds import KINDS, SCRATCH
from ..linalg.block_matrix import BlockPattern, block_pattern
from ..pairwise.forces import RadialLaw, make_interactions
from ..pairwise.laws import ALL_PAIRS, CELLS, COULOMB, CUSTOM, GRAVITATION, LENNARD_JONES, REPULSION, TREE, Interactions
from ..scene.body import WORLD, Body
from ..scene.cable import DRUM, POINT, CablePath, Element
from ..scene.force import Force
from ..scene.joint import Frame, Joint, Link
from ..scene.particles import Particle, ParticleForce
from ..scene.scene import Scene
from . import tables
from .force_kinds import NUMBERS
from .graph import Graph
from .user_functions import (
    automatic_constraint,
    field_adapter,
    load_adapter,
    motor_adapter,
    radial_adapter,
    supplied_constraint,
    wind_adapter,
)

LAWS = {
    "gravitation": GRAVITATION, "electrostatics": COULOMB, "lennard_jones": LENNARD_JONES, "repulsion": REPULSION,
    "radial": CUSTOM,
}  # fmt: skip
FEW = 64  # particles for which all pairs cost no more than sorting them into cells


class ParticleCompiler:
    """Collects masses, fields, elements and interactions of particles while a scene is compiled.

    entry : a new entry of the ledger. pointer : the address of a user function.
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
        """The number of particles of the scene."""
        return sum(len(group) for group in self.groups)

    def _add(self, force: ParticleForce) -> None:
        entry = self.entry(force.name)
        if force.kind in KINDS:
            self._element_rows(force, entry)
        elif force.kind in LAWS:
            self._law(force, entry)
        else:
            getattr(self, f"_{force.kind}")(force, entry)

    # Forces on each particle ------------------------------------------------------------------------------------------

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

    # Forces between particles -----------------------------------------------------------------------------------------

    def _element_rows(self, force: ParticleForce, entry: int) -> None:
        kind = KINDS[force.kind]
        rows = np.zeros(len(force.values["nodes"]), kind.dtype)
        for key, value in force.values.items():
            rows[key] = value
        first = sum(len(others) for others in self.elements[force.kind])
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
        """The elements of the scene; slots, by kind: the indices of their matrices' blocks."""
        rows = {name: table.view(np.recarray) for name, table in self.element_rows().items()}
        where = {f"{name}_slots": slots.get(name, np.zeros(0, np.int64)) for name in KINDS}
        sets = np.array(self.sets, ELEMENT_SET).view(np.recarray)
        return allocate(Elements, {}, **rows, **where, sets=sets, scratch=np.zeros(SCRATCH))

    def pattern(self) -> BlockPattern:
        """The blocks of the matrix of an implicit step."""
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
    """The particles that joints or forces of bodies take part in, each once, in order of appearance: the
    free ones, which are nodes, and the pinned ones, which are points of the world."""
    frames = [frame for joint in joints for frame in joint.bodies]
    for force in scene.forces.values():
        if not isinstance(force, ParticleForce):
            frames += force.acts_on(scene)
    found = list(dict.fromkeys(frame for frame in frames if isinstance(frame, Particle)))
    return [f for f in found if not f.group.pinned[f.index]], [f for f in found if f.group.pinned[f.index]]


def attaches(joint: Joint) -> bool:
    """Whether a joint is a ball between a free particle and a body, or a rod between it and a body or the world."""
    ends = (joint.a, joint.b)
    free = [end for end in ends if isinstance(end, Particle) and not end.group.pinned[end.index]]
    if len(free) != 1 or joint.kind not in ("ball", "rod"):
        return False
    return any(isinstance(end, Body) or (end is WORLD and joint.kind == "rod") for end in ends)


def attachment_row(joint: Joint, index: dict[Any, int]) -> tuple[Any, ...]:
    """The particle, the body, the point of the body that it is attached to, and the length of the rod; 0 without one."""
    part = joint.parts[0]
    particle, body, point = (joint.b, joint.a, part.point_a)
    if isinstance(joint.a, Particle):
        particle, body, point = (joint.a, joint.b, part.point_b)
    assert isinstance(particle, Particle)
    place = body.to_body(point) if isinstance(body, Body) else point
    return (particle.number, index[body], place, part.value if joint.kind == "rod" else 0.0)


# Forces on bodies, and joints -----------------------------------------------------------------------------------------
# Rows of the part, coordinate and force tables.

PART_KINDS = {
    "point": tables.POINT,
    "dot": tables.DOT,
    "plane": tables.PLANE,
    "distance": tables.DISTANCE,
    "curve": tables.CURVE,
}
ZERO = np.zeros(3)


def to_frame(frame: Frame, point: np.ndarray) -> np.ndarray:
    """A world point in the frame of a body, or of the world; a free particle is its own only point."""
    if isinstance(frame, Particle) and not frame.group.pinned[frame.index]:
        return ZERO
    return frame.to_body(point) if isinstance(frame, Body | Link) else point


def turn(frame: Frame, axis: np.ndarray) -> np.ndarray:
    """A world direction in the axes of a body, or of the world."""
    return frame.rotation.T @ axis if isinstance(frame, Body | Link) else axis


class ForceCompiler:
    """Collects coordinates, curves, ledger entries and force rows while a scene is compiled."""

    def __init__(self, index: dict[Any, int], first: int, pointer: Callable[..., int]) -> None:
        self.index = index
        self.first = first  # where the coordinates start in the state vector
        self.pointer = pointer
        self.coordinates: list[tuple[Any, ...]] = []
        self.coordinate_names: list[str] = []  # see `Joint.coordinate_name`
        self.starts: list[float] = []  # initial values of the coordinates
        self.curves: list[np.ndarray] = []
        self.ledger: list[str] = []
        self.prescribed: list[Joint] = []
        self._known: dict[tuple[str, str], int] = {}

    def commanded(self, joint: Joint) -> int:
        """The row of the COMMAND table of a joint that prescribes a coordinate; those of bodies come after them."""
        self.prescribed.append(joint)
        return len(self.prescribed) - 1

    def coordinate(self, joint: Joint, which: str) -> int:
        """The index of a joint's coordinate, which is added by the first call."""
        key = (joint.name, which)
        if key not in self._known:
            self._known[key] = len(self.coordinates)
            self._add_coordinate(joint, which)
        return self._known[key]

    def _add_coordinate(self, joint: Joint, which: str) -> None:
        axis = np.array([0.0, 0.0, 1.0]) if joint.axis is None else joint.axis
        side = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
        side /= np.linalg.norm(side)
        kind = {"angle": tables.ANGLE, "displacement": tables.DISPLACEMENT, "parameter": tables.PARAMETER}[which]
        point = joint.parts[0].point_b
        curve, start = 0, 0.0
        if joint.curve is not None:
            curve, start = self._curve(joint)
        self.coordinates.append(
            (kind, self.index[joint.a], self.index[joint.b], self.first + len(self.coordinates), curve,
             turn(joint.a, axis), turn(joint.a, side), turn(joint.b, side), to_frame(joint.a, joint.parts[0].point_a),
             to_frame(joint.b, point))
        )  # fmt: skip
        self.coordinate_names.append(joint.coordinate_name(which))
        self.starts.append(start)

    def _curve(self, joint: Joint) -> tuple[int, float]:
        """The curve in the frame of body a, and the parameter nearest to the joint's point."""
        assert joint.curve is not None
        table = np.array(joint.curve.table())
        coefficients = table[4:].reshape(-1, 6, 3)
        if isinstance(joint.a, Body):
            coefficients[:, 0] -= joint.a.position
            coefficients[:] = coefficients @ joint.a.rotation
        at = sum(piece.size for piece in self.curves)
        self.curves.append(table)
        s = np.linspace(joint.curve.first, joint.curve.last, 4 * joint.curve.pieces + 1)
        distance = [np.linalg.norm(np.asarray(joint.curve.function(v), float) - joint.parts[0].point_b) for v in s]
        return at, float(s[int(np.argmin(distance))])

    # Cables -----------------------------------------------------------------------------------------------------------

    def cable(self, name: str, path: CablePath) -> int:
        """Where the table of a piece of a cable begins in the curves; each drum's wound angle becomes a coordinate."""
        at, count = sum(piece.size for piece in self.curves), len(path.elements)
        table = np.zeros(tables.CABLE_HEADER + tables.CABLE_ELEMENT * count)
        table[: tables.CABLE_GIVEN] = count, rounds_of(path), path.creep, path.length
        for i, element in enumerate(path.elements):
            e = tables.CABLE_HEADER + tables.CABLE_ELEMENT * i
            self._cable_element(table[e : e + tables.CABLE_ELEMENT], element)
            if element.kind == DRUM:
                table[e + tables.CABLE_SLOT] = self.first + len(self.coordinates)
                self.coordinates.append(
                    (tables.WRAP, self.index[WORLD], self.index[element.frame], self.first + len(self.coordinates), at + e,
                     np.array([at, 0.0, 0.0]), ZERO, ZERO, ZERO, ZERO)
                )  # fmt: skip
                self.coordinate_names.append(f"{name}.{'begin' if i == 0 else 'end'}")
                self.starts.append(element.wrap)
        self.curves.append(table)
        return at

    def _cable_element(self, row: np.ndarray, element: Element) -> None:
        """Fill the row of one element."""
        row[tables.CABLE_KIND], row[tables.CABLE_BODY] = element.kind, self.index[element.frame]
        row[tables.CABLE_ANCHOR : tables.CABLE_ANCHOR + 3] = to_frame(element.frame, element.point)
        row[tables.CABLE_AXIS : tables.CABLE_AXIS + 3] = turn(element.frame, element.axis)
        side = element.side - (element.side @ element.axis) * element.axis
        if element.kind != POINT:
            row[tables.CABLE_SIDE : tables.CABLE_SIDE + 3] = turn(element.frame, side / np.linalg.norm(side))
        row[tables.CABLE_RADIUS], row[tables.CABLE_SENSE] = element.radius, element.sense
        row[tables.CABLE_WINDOW] = element.wrap if element.turns > 0 else -1.0
        row[tables.CABLE_FRICTION], row[tables.CABLE_SLOT] = element.friction, -1.0
        row[tables.CABLE_ENDLESS], row[tables.CABLE_WRAP] = float(element.endless), element.wrap

    def length_of_cable(self, name: str, path: CablePath) -> int:
        """The index of the length of a cable, which acts on two bodies at most, as a coordinate."""
        at = self.cable(name, path)
        ends = [self.index[frame] for frame in path.moving]
        a, b = [self.index[WORLD]] * (2 - len(ends)) + ends
        self.coordinates.append(
            (tables.LENGTH, a, b, self.first + len(self.coordinates), at, ZERO, ZERO, ZERO, ZERO, ZERO)
        )
        self.coordinate_names.append(name)
        self.starts.append(path.length)
        return len(self.coordinates) - 1

    def entry(self, name: str) -> int:
        """A new entry of the ledger."""
        self.ledger.append(name)
        return len(self.ledger) - 1

    def forces(self, scene: Scene) -> list[tuple[Any, ...]]:
        """All rows of the FORCE table: gravity, then those of each force."""
        rows = [self.row("field", vector=scene.gravity)] if np.any(scene.gravity) else []
        for force in scene.forces.values():
            if isinstance(force, Force):
                rows += force.rows(self)
        return rows

    # For the rows of forces -------------------------------------------------------------------------------------------

    def row(self, law: str, force: Force | None = None, **fields: Any) -> tuple[Any, ...]:
        """A row of the FORCE table. force : the owner of its entry of the ledger and its coordinate; without it, give those.
        Raises ValueError for a law that is not registered."""
        if law not in NUMBERS:
            raise ValueError(f"law {law!r} is not registered; registered: {', '.join(NUMBERS)}")
        row = np.zeros(1, tables.FORCE)
        row["kind"], row["active"], row["limit"] = NUMBERS[law], 1, np.inf
        if force is not None:
            row["ledger"] = self.entry(force.name)
            if force.joint is not None:
                row["coordinate"] = self.coordinate(force.joint, force.coordinate)
        for key, value in fields.items():
            row[key] = value
        return tuple(row[0])

    @property
    def bodies(self) -> list[Body]:
        """All rigid bodies of the scene."""
        return [item for item in self.index if isinstance(item, Body)]

    def anchor(self, frame: Frame, point: np.ndarray) -> np.ndarray:
        """A world point in the frame of a body, or of the world."""
        return to_frame(frame, point)

    def ends(self, force: Force) -> dict[str, Any]:
        """The fields a, b, anchor_a and anchor_b of a force between two points."""
        return {"a": self.index[force.a], "b": self.index[force.b], "anchor_a": to_frame(force.a, force.at_a),
                "anchor_b": to_frame(force.b, force.at_b)}  # fmt: skip

    def load_function(self, force: Force) -> int:
        """The address of a force's function of (t, x, q, v, ω)."""
        assert force.function is not None
        return self.pointer(load_adapter(force.function), force.name)

    def motor_function(self, force: Force) -> int:
        """The address of a force's function of (t, s, ṡ)."""
        assert force.function is not None
        return self.pointer(motor_adapter(force.function), force.name)


def rounds_of(path: CablePath) -> int:
    """`ROUNDS` of a cable: whether it has cylinders, and whether some follow each other."""
    cylinders = [element.kind != POINT for element in path.elements]
    if not any(cylinders):
        return 0
    return 2 if any(one and other for one, other in pairwise(cylinders)) else 1


def part_rows(joint: Joint, j: int, graph: Graph, compiler: ForceCompiler) -> list[tuple[Any, ...]]:
    """The PART rows of one joint, in the order of its constraint rows."""
    index, start = compiler.index, int(graph.joints[j].row)
    spare = graph.offset(j, index[WORLD], 0)

    def row(kind: int, local: int, bodies: tuple[Frame, ...], **fields: Any) -> tuple[Any, ...]:
        out = np.zeros(1, tables.PART)
        out["kind"], out["joint"], out["row"] = kind, j, start + local
        numbers = [index[body] for body in bodies]
        out["a"], out["b"] = numbers[0], numbers[1]
        blocks = [graph.offset(j, n, local) for n in numbers]
        blocks += [spare] * (4 - len(blocks))
        out["block_a"], out["block_b"], out["block_c"], out["block_d"] = blocks
        for key, value in fields.items():
            out[key] = value
        return tuple(out[0])

    if joint.coupling is not None:
        one, two = joint.coupling.joints
        which = ["angle" if k.angle else "displacement" for k in (one, two)]
        return [
            row(tables.COUPLING, 0, joint.bodies, first=compiler.coordinate(one, which[0]),
                second=compiler.coordinate(two, which[1]), ratio=joint.coupling.ratio, ratio_2=-1.0)
        ]  # fmt: skip
    if joint.prescribed is not None:
        first = compiler.coordinate(joint.prescribed.joint, joint.prescribed.coordinate)
        return [row(tables.PRESCRIBED, 0, joint.bodies, first=first, second=compiler.commanded(joint))]
    if joint.cable is not None:
        return [
            row(
                tables.CABLE,
                0,
                (joint.a, joint.b),
                first=compiler.cable(joint.name, joint.cable),
                value=joint.cable.length,
            )
        ]
    if joint.custom is not None:
        return [_custom_row(joint, row, compiler)]
    rows, local = [], 0
    for part in joint.parts:
        first = compiler.coordinate(joint, "parameter") if part.kind == "curve" else 0
        rows.append(
            row(PART_KINDS[part.kind], local, (joint.a, joint.b), anchor_a=to_frame(joint.a, part.point_a), first=first,
                anchor_b=to_frame(joint.b, part.point_b), axis_a=turn(joint.a, part.axis_a),
                axis_b=turn(joint.b, part.axis_b), value=part.value)
        )  # fmt: skip
        local += part.rows
    return rows


def _custom_row(joint: Joint, row: Callable[..., tuple[Any, ...]], compiler: ForceCompiler) -> tuple[Any, ...]:
    custom = joint.custom
    assert custom is not None
    count = len(custom.bodies)
    if custom.jacobian is None:
        adapter = automatic_constraint(custom.function, custom.rows, count)
    else:
        adapter = supplied_constraint(custom.function, custom.jacobian, custom.bias, custom.rows, count)
    bodies = (*custom.bodies, *([WORLD] * (4 - count)))
    address = compiler.pointer(adapter, joint.name)
    return row(
        tables.CUSTOM, 0, bodies, address=address, first=compiler.index[bodies[2]], second=compiler.index[bodies[3]]
    )
