"""From a scene to a model: names become indices, world points become body points, functions become pointers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.user_function import Adapter, Pointer
from ..scene.body import WORLD, Body
from ..scene.checks import eigenvectors, quaternion_of
from ..scene.force import Event
from ..scene.joint import Joint, Link
from ..scene.particles import Particle
from ..scene.scene import Scene
from . import tables
from .graph import Graph, build_graph
from .particles import (
    ForceCompiler,
    ParticleCompiler,
    attaches,
    attachment_row,
    part_rows,
    particles_in_joints,
    to_frame,
)
from .tables import CONTACT_WORK, EQUAL_MOMENTS, LEDGER, STAGES, STATE_SIZE, System
from .tree import Layout, build_tree
from .user_functions import event_adapter


@dataclass(frozen=True, eq=False)
class Model:
    """A scene compiled: immutable tables, names, the initial state, and what keeps the user's functions alive."""

    name: str
    body_names: tuple[str, ...]
    joint_names: tuple[str, ...]  # in joint coordinates those of loops first, which alone are constraints
    force_names: tuple[str, ...]  # of the entries of the ledger
    coordinate_names: tuple[str, ...]  # of the rows of the table of coordinates, as in `joint_state`
    tables: dict[str, Any]
    particles: ParticleCompiler
    graph: Graph
    initial: np.ndarray  # the state vector at the start
    particle_slices: dict[str, slice]  # where each group stands among all particles
    attachments: list[tuple[Any, ...]]  # particle, body, and the place in the body, of particles that go with bodies
    attachment_names: tuple[str, ...]  # of their joints
    weights: np.ndarray  # scales of the absolute tolerance; 0 outside the motion
    momentum: np.ndarray  # +1 where the state is a momentum, -1 where a drift moves it
    length: float  # size of the model (m)
    event_addresses: np.ndarray
    events: tuple[Event, ...]
    pointers: tuple[Pointer, ...]
    pointer_names: tuple[str, ...]
    scene: Scene
    slow: tuple[str, ...] = field(default=())  # names of plain Python functions in the loop
    tree: Layout | None = None  # in joint coordinates: what they are the coordinates of

    def body_slice(self, name: str) -> slice:
        """Where a body's (x, q, P, L) stands in the state vector."""
        at = STATE_SIZE * self.body_names.index(name)
        return slice(at, at + STATE_SIZE)

    @property
    def size(self) -> int:
        return int(self.initial.size)

    @property
    def particle_count(self) -> int:
        return int(self.tables["particle_mass"].size)

    @property
    def particle_block(self) -> slice:
        """Where the particles stand in the state vector: x (3 n), then p (3 n)."""
        at = STATE_SIZE * len(self.body_names)
        return slice(at, at + 6 * self.particle_count)

    def system(self, slots: Mapping[str, np.ndarray] | None = None, diagonal: np.ndarray | None = None) -> System:
        """The tables with a fresh workspace, poisoned with NaN. slots, diagonal : where the matrix of a time step of
        particles has the blocks of elements and of particles."""
        graph, rigid = self.graph, len(self.body_names)
        bodies = len(self.tables["bodies"])

        def blank(n: int) -> np.ndarray:
            return np.full(n, np.nan)

        kinematics = np.zeros(bodies + 1, tables.KINEMATICS).view(np.recarray)
        kinematics.rotation[rigid:] = np.eye(3).ravel()
        settings = np.zeros(1, tables.SETTINGS).view(np.recarray)
        settings.length, settings.ledger, settings.condition = self.length, len(self.force_names), 1.0
        settings.rigid, settings.particles = rigid, self.particle_count
        jacobian = np.zeros(graph.jacobian_size)
        own = {key: np.array(value).view(type(value)) for key, value in self.tables.items()}
        own["elements"] = self.particles.make_elements(slots or {})
        own["interactions"] = self.particles.make_interactions()
        return System(
            joints=np.array(graph.joints).view(np.recarray),
            incidences=graph.incidences,
            pairs=graph.pairs,
            hubs=graph.hubs,
            columns=graph.symbolic.columns,
            entries=graph.symbolic.entries,
            updates=graph.symbolic.updates,
            settings=settings,
            kinematics=kinematics,
            jacobian=jacobian,
            error=np.zeros(graph.rows),
            bias=np.zeros(graph.rows),
            scale=blank(graph.unknowns),
            values=blank(graph.symbolic.values),
            lower=blank(graph.symbolic.values),
            rhs=blank(graph.unknowns),
            multipliers=np.zeros(graph.unknowns),
            residual=blank(graph.unknowns),
            scratch=blank(4 * STATE_SIZE + 26 * 6),
            pushes=np.zeros(6 * rigid),
            diagonal_slots=np.zeros(0, np.int64) if diagonal is None else diagonal,
            power=blank(len(self.force_names) + len(LEDGER)),
            exerted=blank(tables.EXERTED * len(own["forces"])),
            energies=blank(3),
            rates=blank(graph.rows),
            wrenches=blank(6 * len(self.joint_names)),
            timer=np.zeros(len(STAGES) + 3),
            **own,
        )


def compile_scene(scene: Scene, *, hubs: bool = True, apart: bool = False, coordinates: str = "maximal") -> Model:
    """Compile a scene. Raises ValueError, naming the object, where it cannot be run.

    hubs : see `graph.build_graph`. apart : whether particles have a time step of their own, so that what attaches them to
    bodies is not a joint of the mechanism, but one of the model's `attachments`. coordinates :
    "maximal", those of bodies, or "joint", for which only joints that close loops are constraints.
    """
    if not scene.bodies and not scene.particles:
        raise ValueError(f"scene {scene.name!r}: it has nothing that moves; add a body with add_body, or add_particles")
    bodies = list(scene.bodies.values())
    index: dict[Any, int] = {body: i for i, body in enumerate(bodies)}
    layout, links = None, []
    if coordinates == "joint":
        layout, links = build_tree(scene), list(scene.links.values())
    else:
        require_mass(scene)
    held = list(scene.joints.values()) if layout is None else layout.loops
    joints = [joint for joint in held if not (apart and attaches(joint))]
    attached = [joint for joint in held if apart and attaches(joint)]
    nodes, pinned = particles_in_joints(joints, scene)
    index.update({node: len(bodies) + i for i, node in enumerate(nodes)})
    index.update({link: len(index) + i for i, link in enumerate(links)})
    world = len(index)
    index.update(dict.fromkeys([WORLD, *pinned], world))
    graph = build_graph(
        [j.rows for j in joints], [j.starts_with_point for j in joints], [[index[b] for b in j.bodies] for j in joints],
        world, hubs,
    )  # fmt: skip
    pointers: list[Pointer] = []
    names: list[str] = []
    slow: list[str] = []

    def pointer(adapter: Adapter, name: str, scalar: bool = False) -> int:
        pointers.append(Pointer(adapter, scalar, f"function of {name!r}"))
        names.append(name)
        if not adapter.compiled:
            slow.append(name)
        return pointers[-1].address

    count = sum(len(group) for group in scene.particles.values())
    compiler = ForceCompiler(index, STATE_SIZE * len(bodies) + 6 * count, pointer)
    parts = [row for j, joint in enumerate(joints) for row in part_rows(joint, j, graph, compiler)]
    forces = compiler.forces(scene)
    particles = ParticleCompiler(scene, compiler.entry, pointer)
    if scene.events:
        compiler.entry("events")
    if scene.touching() or scene.bounded() or (scene.particles and scene.bodies):
        for name in CONTACT_WORK:
            compiler.entry(name)
    addresses = [pointer(event_adapter(event.function), event.name, scalar=True) for event in scene.events.values()]
    own = {
        "bodies": np.array([*map(_body_row, bodies), *map(_node_row, nodes), *map(_link_row, links)], tables.BODY).view(
            np.recarray
        ),
        "spins": np.array([(i, 0.0) for i, body in enumerate(bodies) if _asymmetric(body)], tables.SPIN).view(
            np.recarray
        ),
        "nodes": np.array([(node.number,) for node in nodes], tables.NODE).view(np.recarray),
        **particles.tables(),
        "parts": np.array(parts, tables.PART).view(np.recarray),
        "coordinates": np.array(compiler.coordinates, tables.COORDINATE).view(np.recarray),
        "forces": np.array(forces, tables.FORCE).view(np.recarray),
        "curves": np.concatenate(compiler.curves) if compiler.curves else np.zeros(1),
        "reactions": _reactions(joints, index),
    }
    extra = len(compiler.coordinates) + len(compiler.ledger) + len(LEDGER)
    initial = np.concatenate(
        [*map(_initial_state, bodies), particles.initial(), compiler.starts, np.zeros(extra - len(compiler.starts))]
    )
    scales = [[1.0] * 7 + [b.mass] * 3 + [float(np.linalg.eigvalsh(b.inertia)[-1])] * 3 for b in bodies]
    masses = np.repeat(own["particle_mass"], 3)
    weights = np.concatenate([np.ravel(scales), np.ones(3 * count), masses, np.zeros(extra)])
    momentum = np.concatenate(
        [np.tile([-1.0] * 7 + [1.0] * 6, len(bodies)), -np.ones(3 * count), np.ones(3 * count), np.zeros(extra)]
    )
    return Model(
        name=scene.name,
        body_names=tuple(scene.bodies),
        joint_names=tuple(joint.name for joint in [*joints, *([] if layout is None else layout.joints)]),
        force_names=tuple(compiler.ledger),
        coordinate_names=tuple(compiler.coordinate_names),
        tables=own,
        particles=particles,
        graph=graph,
        initial=initial,
        particle_slices={group.name: slice(group.first, group.last) for group in particles.groups},
        attachments=[attachment_row(joint, index) for joint in attached],
        attachment_names=tuple(joint.name for joint in attached),
        weights=weights,
        momentum=momentum,
        length=_length(scene, bodies),
        event_addresses=np.array(addresses, np.int64),
        events=tuple(scene.events.values()),
        pointers=tuple(pointers),
        pointer_names=tuple(names),
        scene=scene,
        slow=tuple(slow),
        tree=layout,
    )


def require_mass(scene: Scene) -> None:
    """Raises ValueError for what only joint coordinates can run."""
    heavy = next((joint.name for joint in scene.joints.values() if joint.armature > 0.0), None)
    if scene.links or heavy is not None:
        what = f"link {next(iter(scene.links))!r} has no mass" if scene.links else f"joint {heavy!r} has an armature"
        raise ValueError(f"scene {scene.name!r}: {what}, which takes joint coordinates; pass coordinates='joint'")


def _six(m: np.ndarray) -> tuple[float, ...]:
    return (m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2])


def _body_row(body: Body) -> tuple[Any, ...]:
    moments, axes = eigenvectors(body.inertia)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    principal = quaternion_of(axes)
    inverse = np.linalg.inv(body.inertia)
    return (body.mass, 1.0 / body.mass, _six(body.inertia), _six(0.5 * (inverse + inverse.T)), principal, moments)


def _asymmetric(body: Body) -> bool:
    """Whether its principal moments are three different ones, so that it has an unstable axis."""
    moments = np.linalg.eigvalsh(body.inertia)
    return bool(np.diff(moments).min() > EQUAL_MOMENTS * moments[-1])


def _node_row(node: Particle) -> tuple[Any, ...]:
    """A particle as a body that cannot turn: its inertia has no part in anything, but must not be zero in a hub."""
    mass = float(node.group.mass[node.index])
    return (mass, 1.0 / mass, (mass, mass, mass, 0.0, 0.0, 0.0), (0.0,) * 6, (1.0, 0.0, 0.0, 0.0), (mass,) * 3)


def _link_row(link: Link) -> tuple[Any, ...]:
    return (0.0, 0.0, (0.0,) * 6, (0.0,) * 6, (1.0, 0.0, 0.0, 0.0), (0.0,) * 3)


def _initial_state(body: Body) -> np.ndarray:
    rotation = body.rotation
    spin = rotation @ body.inertia @ rotation.T @ body.angular_velocity
    return np.concatenate([body.position, body.orientation, body.mass * body.velocity, spin])


def _length(scene: Scene, bodies: list[Body]) -> float:
    """The model's size: the largest distance from a body's centre of mass to one of its joints, else 1 m."""
    arms = [
        float(np.linalg.norm(point - body.position))
        for joint in scene.joints.values()
        for part in joint.parts
        for body, point in ((joint.a, part.point_a), (joint.b, part.point_b))
        if isinstance(body, Body) and part.kind not in ("dot",)
    ]
    arms += [
        part.value
        for joint in scene.joints.values()
        for part in joint.parts
        if part.kind == "distance" and isinstance(joint.b, Particle)
    ]
    return max([*arms, 1e-3]) if arms else 1.0


def _reactions(joints: list[Joint], index: dict[Any, int]) -> np.ndarray:
    rows = []
    for joint in joints:
        body, sign = (joint.b, 1.0) if index[joint.b] != index[WORLD] else (joint.a, -1.0)
        rows.append((index[body], sign, to_frame(body, joint.at)))
    return np.array(rows, tables.REACTION).view(np.recarray)
