"""Compiles a scene to a tree of links: the joint that carries each link, and the joints that close loops.

The tree grows from the world, and then from each body that is not in it yet, in the order in which bodies were added,
breadth first, joints in their own order. Joints between two links of the tree, and joints that are not composed of
hinges and sliders, are loops: constraints on the coordinates. The tables come first, `build_tree`, the entry, after
them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..core.tables import allocate, column
from ..scene.body import WORLD, Body
from ..scene.joint import Joint, Link
from ..scene.scene import Scene

# The tables of a tree of links ----------------------------------------------------------------------------------------
# A *node* is a link together with the joint that carries it; parents come first. Its frame is the frame of its body: at the
# centre of mass. The *coordinates* u of a node are those of its joint (a free body has the position of its centre of mass and
# its quaternion; a ball has the quaternion of the child's rotation since the start, in the axes of the parent), the *speeds*
# w are u̇ of a hinge (rad/s) or a slider (m/s), the angular velocity relative to the parent, in the axes of the parent, of a
# ball, and velocity and angular velocity in world axes of a free body. A *freedom* is one of these speeds.
#
# Moving quantities are in world axes; a wrench is a force and a torque about the centre of mass of its link. With v, ω the
# velocities of that point and of the link,
#
#     (v, ω) = (v_p + ω_p × r, ω_p) + Σ S_k w_k,      r = x − x_p,
#
# S_k the column of freedom k. Their rates are those of the parent, transformed in the same way, plus S ẇ, plus a bias.

WELD, HINGE, SLIDER, BALL, FREE, COMMANDED = range(6)  # the last: a kinematic body, which has no coordinates
COORDINATES = (0, 1, 1, 4, 7, 0)  # numbers u has of a joint of each kind
FREEDOMS = (0, 1, 1, 3, 6, 0)

NODE = np.dtype(
    [("parent", "i8"), ("row", "i8"), ("kind", "i8"), ("first", "i8"), ("last", "i8"), ("at", "i8"), ("mass", "f8"),
     ("sign", "f8"), ("joint", "i8"), ("inertia", "f8", 6),
     ("anchor_parent", "f8", 3), ("anchor", "f8", 3), ("axis", "f8", 3), ("turned", "f8", 9),
     ("still", "f8", 9), ("across", "f8", 9)],
    align=True,
)  # fmt: skip
"""parent : −1 is the world. row : of the kinematics table, −1 for what is in between the two axes of one joint. first, last :
its freedoms; at : its first coordinate. anchor_parent, anchor : the joint's point in the frames of parent and link. axis : in
the frame of the parent. The rotation from link to parent is that at the start, `turned`, but of a hinge, which is
still + cos u turned + sin u across (Rodrigues, times that at the start). joint : the joint that its reaction is recorded for,
−1 for none; sign : −1 where it is the reaction on the parent."""

FREEDOM = np.dtype([("node", "i8"), ("before", "i8"), ("armature", "f8")], align=True)
"""before : the freedom before it on the path from the root, −1 if none."""

MOTION = np.dtype(
    [("x", "f8", 3), ("rotation", "f8", 9), ("r", "f8", 3), ("arm", "f8", 3), ("v", "f8", 3), ("omega", "f8", 3),
     ("bias", "f8", 3), ("bias_turn", "f8", 3), ("inertia", "f8", 6), ("force", "f8", 3), ("torque", "f8", 3),
     ("acceleration", "f8", 3), ("turning", "f8", 3), ("mass_block", "f8", 6), ("mixed_block", "f8", 9),
     ("inertia_block", "f8", 6), ("bearing", "f8", 3), ("bearing_torque", "f8", 3)],
    align=True,
)  # fmt: skip
"""r : from the parent; arm : to the joint. force, torque : applied to the link. acceleration, turning : v̇, ω̇. The three
blocks: how force and torque depend on these, (M, H; Hᵀ, J), of the link or of its subtree; bearing : the
wrench without accelerations, or the reaction of a joint."""

COLUMN = np.dtype([("linear", "f8", 3), ("angular", "f8", 3), ("force", "f8", 3), ("torque", "f8", 3), ("response", "f8"),
                   ("effort", "f8")], align=True)  # fmt: skip
"""S_k, and the results of the algorithms: force and torque of a unit of its rate, its response, its effort."""


class Tree(NamedTuple):
    """n nodes, m speeds."""

    nodes: Any = column(
        "nodes", NODE, writer="model.tree",
        unit="mass kg, sign 1, inertia kg m², anchor_parent m, anchor m, axis 1, turned 1, still 1, across 1",
    )  # fmt: skip
    freedoms: Any = column("m", FREEDOM, unit="armature kg or kg m²", writer="model.tree")
    motion: Any = column(
        "nodes", MOTION, writer="dynamics.tree_motion",
        unit="x m, rotation 1, r m, arm m, v m/s, omega rad/s, bias m/s², bias_turn rad/s², inertia kg m², "
        "force N, torque N m, acceleration m/s², turning rad/s², mass_block kg, mixed_block kg m, inertia_block kg m², "
        "bearing N, bearing_torque N m",
    )  # fmt: skip
    columns: Any = column(
        "m", COLUMN, writer="dynamics.tree_dynamics", doc="one a freedom",
        unit="linear 1 or m, angular 1, force N per unit rate, torque N m per unit rate, response kg or kg m², "
        "effort N or N m",
    )  # fmt: skip
    matrix: Any = column(
        "m * m", unit="kg, kg m, kg m²", fill=np.nan, writer="dynamics.tree_queries", doc="mass matrix, or its factor"
    )
    efforts: Any = column("m", unit="N, N m", writer="dynamics.tree_motion", doc="applied along the freedoms")
    rates: Any = column("m", unit="m/s², rad/s²", fill=np.nan, writer="dynamics.tree_dynamics", doc="ẇ")
    scratch: Any = column("m", unit="any", fill=np.nan, writer="dynamics.tree_dynamics")


# Building -------------------------------------------------------------------------------------------------------------

CLOSED = 1e-6  # m per m of the joint's coordinates, or of a cosine: joints that are open by more are refused
KINDS = {"hinge": HINGE, "slider": SLIDER, "ball": BALL}  # of the steps of joints
START = {HINGE: [0.0], SLIDER: [0.0], BALL: [1.0, 0.0, 0.0, 0.0]}  # coordinates at the initial pose
SUFFIXES = {
    BALL: (".x", ".y", ".z"),
    FREE: (".vx", ".vy", ".vz", ".wx", ".wy", ".wz"),
    "quaternion": (".qw", ".qx", ".qy", ".qz"),
}


@dataclass
class Place:
    """A node before its tables are made: a body, a link, the world, or the massless one between two axes of one joint."""

    item: Any
    number: int  # of the node, −1 for the world
    position: np.ndarray
    rotation: np.ndarray
    mass: float = 0.0
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))


@dataclass
class Layout:
    """A tree before its tables are made."""

    rows: list[tuple[Any, ...]] = field(default_factory=list)
    freedoms: list[tuple[Any, ...]] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    coordinate_names: list[str] = field(default_factory=list)
    freedom_names: list[str] = field(default_factory=list)
    start: list[float] = field(default_factory=list)  # coordinates
    joints: list[Joint] = field(default_factory=list)  # those that carry a node
    loops: list[Joint] = field(default_factory=list)
    nodes: dict[Any, int] = field(default_factory=dict)  # body or link → node

    def scalars(self) -> dict[str, tuple[int, int]]:
        """Name → (its number in u, its number in w) of hinges and sliders, and of those that other joints are made of."""
        rows = [(row[2], row[3], row[5]) for row in self.rows]  # kind, first freedom, first coordinate
        return {self.freedom_names[w]: (u, w) for kind, w, u in rows if kind in (HINGE, SLIDER)}

    def tree(self, rows: dict[Any, int], loops: int) -> Tree:
        """The tables, with a fresh workspace. rows : body or link → row of the kinematics table. loops : how many joints come
        before those of the tree."""
        m = len(self.freedoms)
        nodes = np.array(self.rows, NODE).view(np.recarray)
        nodes.row = [rows.get(place.item, -1) for place in self.places]
        nodes.joint[nodes.joint >= 0] += loops
        freedoms = np.array(self.freedoms, FREEDOM).view(np.recarray)
        return allocate(Tree, {"nodes": len(nodes), "m": m}, nodes=nodes, freedoms=freedoms)


def build_tree(scene: Scene) -> Layout:
    """The tree of a scene. Raises ValueError for a joint that is open, a link without joints, and a joint that moves nothing
    with mass."""
    layout = Layout()
    edges: dict[Any, list[Joint]] = {}
    for joint in scene.joints.values():
        ends = (joint.a, joint.b)
        between_links = all(end is WORLD or isinstance(end, Body | Link) for end in ends)
        if joint.steps is not None and between_links and not joint.closes_loop:
            for end in ends:
                edges.setdefault(end, []).append(joint)
    known: dict[Any, Place] = {WORLD: Place(WORLD, -1, np.zeros(3), np.eye(3))}
    taken: set[str] = set()
    moved = [body for body in scene.bodies.values() if body.motion is not None]
    for body in moved:
        known[body] = _commanded(body, layout)
    roots: list[Any] = [WORLD, *moved, *scene.bodies.values()]
    for root in dict.fromkeys(roots):
        if root not in known:
            known[root] = _free(root, layout)
        elif root is not WORLD and root not in moved:
            continue
        waiting = deque([root])
        while waiting:
            item = waiting.popleft()
            for joint in edges.get(item, []):
                other = joint.b if joint.a is item else joint.a
                if other in known:
                    continue
                taken.add(joint.name)
                known[other] = _carry(joint, known[item], other, joint.b is item, layout)
                waiting.append(other)
    for link in scene.links.values():
        if link not in known:
            raise ValueError(f"link {link.name!r}: no joint connects it; connect it to a body or to the world")
    layout.nodes = {place.item: place.number for place in layout.places if place.item is not None}
    layout.loops = [joint for joint in scene.joints.values() if joint.name not in taken]
    _require_resistance(layout)
    return layout


def _place(item: Body | Link, layout: Layout) -> Place:
    mass, inertia = (item.mass, item.inertia) if isinstance(item, Body) else (0.0, np.zeros((3, 3)))
    return Place(item, len(layout.rows), item.position, item.rotation, mass, inertia)


def _free(body: Body, layout: Layout) -> Place:
    place = _place(body, layout)
    world = Place(WORLD, -1, np.zeros(3), np.eye(3))
    _add(world, place, _Step(FREE, np.zeros(3), np.zeros(3), body.name), layout)
    layout.start += [*body.position.tolist(), *body.orientation]
    return place


def _commanded(body: Body, layout: Layout) -> Place:
    place = _place(body, layout)
    _add(Place(WORLD, -1, np.zeros(3), np.eye(3)), place, _Step(COMMANDED, np.zeros(3), np.zeros(3), body.name), layout)
    return place


def _carry(joint: Joint, parent: Place, item: Any, turned: bool, layout: Layout) -> Place:
    """Add the link that a joint carries; `turned` if that is the joint's a. Returns its place."""
    _require_closed(joint)
    place = _place(item, layout)
    at, sign = joint.at, -1.0 if turned else 1.0
    layout.joints.append(joint)
    steps = _steps(joint, turned)
    if not steps:
        _add(parent, place, _Step(WELD, at, np.zeros(3), joint.name, 0.0, sign), layout)
        return place
    for kind, axis, name in steps[:-1]:
        between = Place(None, len(layout.rows), at, np.eye(3))
        _add(parent, between, _Step(kind, at, sign * axis, name, joint.armature), layout)
        layout.start += START[kind]
        parent = between
    place.number = len(layout.rows)
    kind, axis, name = steps[-1]
    _add(parent, place, _Step(kind, at, sign * axis, name, joint.armature, sign), layout)
    layout.start += START[kind]
    return place


def _steps(joint: Joint, turned: bool) -> list[tuple[int, np.ndarray, str]]:
    """The hinges, sliders and balls that a joint is made of, from its carrier on. Those of one axis commute, and keep their
    order."""
    steps = [(KINDS[step.kind], step.axis, joint.name + step.suffix) for step in joint.steps or ()]
    commute = all(np.array_equal(axis, steps[0][1]) for _, axis, _ in steps)
    return steps[::-1] if turned and not commute else steps


def _require_closed(joint: Joint) -> None:
    """Raises ValueError for a joint that does not fit the pose of its bodies."""
    rows: list[float] = []
    is_open = False
    for part in joint.parts:
        gap = part.point_b - part.point_a
        errors = {
            "point": gap.tolist(),
            "plane": [float(part.axis_a @ gap) - part.value],
            "dot": [float(part.axis_a @ part.axis_b) - part.value],
        }[part.kind]
        is_open |= bool(np.linalg.norm(errors) > CLOSED * max(1.0, float(np.abs(part.point_a).max())))
        rows += errors
    if is_open:
        size = joint.error_text(np.array(rows))
        raise ValueError(
            f"joint {joint.name!r} is open at the start by {size}; correct the poses or its "
            f"{'axes' if size.endswith('degrees') else 'points'}: joint coordinates start at the initial poses"
        )


class _Step(NamedTuple):
    """One hinge, slider, ball, weld or free motion, as a part of a joint."""

    kind: int
    at: np.ndarray  # its point in the world, m
    axis: np.ndarray  # in the world; zero for kinds without one
    name: str
    armature: float = 0.0
    sign: float = 1.0


def _add(parent: Place, place: Place, step: _Step, layout: Layout) -> None:
    """Append the node of a place, its freedoms, and their names."""
    kind, at, axis, name, armature, sign = step
    first, where = len(layout.freedoms), len(layout.coordinate_names)
    turned = parent.rotation.T @ place.rotation
    own_axis = parent.rotation.T @ axis
    still = across = np.zeros((3, 3))
    if kind == HINGE:
        still = np.outer(own_axis, own_axis) @ turned
        across = np.cross(np.eye(3), own_axis) @ turned
        turned = turned - still
    m, inertia = place.mass, place.inertia
    joint = -1 if place.item is None or kind in (FREE, COMMANDED) else len(layout.joints) - 1
    layout.rows.append(
        (parent.number, -1, kind, first, first + FREEDOMS[kind], where, m, sign, joint,
         (inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]),
         parent.rotation.T @ (at - parent.position), place.rotation.T @ (at - place.position), own_axis,
         turned.ravel(), still.ravel(), across.ravel())
    )  # fmt: skip
    before = -1
    if parent.number >= 0:
        before = _last_freedom(parent.number, layout)
    for k in range(FREEDOMS[kind]):
        layout.freedoms.append((place.number, before if k == 0 else first + k - 1, armature))
    speeds, quaternion = SUFFIXES.get(kind, ("",)), SUFFIXES["quaternion"]
    layout.freedom_names += [name + suffix for suffix in speeds[: FREEDOMS[kind]]]
    names = {BALL: quaternion, FREE: (".x", ".y", ".z", *quaternion)}.get(kind, ("",))
    layout.coordinate_names += [name + suffix for suffix in names[: COORDINATES[kind]]]
    layout.places.append(place)


def _last_freedom(node: int, layout: Layout) -> int:
    """The last freedom of a node, or of the nearest before it that has one; −1 if none has."""
    while node >= 0:
        if layout.rows[node][4] > layout.rows[node][3]:
            return int(layout.rows[node][4]) - 1
        node = layout.rows[node][0]
    return -1


def _require_resistance(layout: Layout) -> None:
    """Raises ValueError where a joint moves nothing that has mass."""
    heavy = [place.mass > 0.0 for place in layout.places]
    for i in range(len(layout.rows) - 1, -1, -1):
        parent, first, last = layout.rows[i][0], layout.rows[i][3], layout.rows[i][4]
        for k in range(first, last):
            if not heavy[i] and layout.freedoms[k][2] == 0.0:
                raise ValueError(
                    f"joint {layout.freedom_names[k]!r} moves no mass; give the bodies that it moves a mass, or the "
                    "joint an armature"
                )
        if parent >= 0:
            heavy[parent] = heavy[parent] or heavy[i]
