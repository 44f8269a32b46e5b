"""Rows of the part, coordinate and force tables, from the joints and forces of a scene."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..scene.articulate import Link
from ..scene.body import WORLD, Body
from ..scene.force import Force
from ..scene.joint import Frame, Joint
from ..scene.particles import Particle
from ..scene.scene import Scene
from . import tables
from .force_kinds import NUMBERS
from .graph import Graph
from .user_functions import automatic_constraint, load_adapter, motor_adapter, supplied_constraint

KINDS = {
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
        self._known: dict[tuple[str, str], int] = {}

    def coordinate(self, joint: Joint, which: str) -> int:
        """Index of a joint's coordinate, made when first asked for."""
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

    # What forces make their rows with -------------------------------------------------------------------------------

    def row(self, law: str, force: Force | None = None, **fields: Any) -> tuple[Any, ...]:
        """A row of the FORCE table. force : whose entry of the ledger, and coordinate, it has; else give those it needs.
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


def part_rows(joint: Joint, j: int, graph: Graph, compiler: ForceCompiler) -> list[tuple[Any, ...]]:
    """PART rows of one joint; its rows follow one another."""
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
    if joint.custom is not None:
        return [_custom_row(joint, row, compiler)]
    rows, local = [], 0
    for part in joint.parts:
        first = compiler.coordinate(joint, "parameter") if part.kind == "curve" else 0
        rows.append(
            row(KINDS[part.kind], local, (joint.a, joint.b), anchor_a=to_frame(joint.a, part.point_a), first=first,
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
