"""Compiles a scene to a model: names become indices, world points become body points, functions become pointers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..core.tables import allocate
from ..core.user_function import Adapter, Pointer
from ..scene.body import WORLD, Body
from ..scene.checks import eigenvectors, quaternion_of
from ..scene.contact import is_compliant, resists_turning
from ..scene.joint import Joint, Link
from ..scene.particles import Particle
from ..scene.scene import Event, Scene
from . import tables
from .commands import command_rows
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
from .tables import (
    CONTACT_WORK,
    EQUAL_MOMENTS,
    LEDGER,
    SPRING_ENTRIES,
    STATE_SIZE,
    TURNING_ENTRY,
    System,
)
from .tree import Layout, build_tree
from .user_functions import event_adapter


@dataclass(frozen=True, eq=False)
class Model:
    """A compiled scene: immutable tables, names, the initial state, and the C functions of user functions."""

    name: str
    body_names: tuple[str, ...]
    joint_names: tuple[str, ...]  # in joint coordinates those of loops first, which alone are constraints
    force_names: tuple[str, ...]  # of the entries of the ledger
    coordinate_names: tuple[str, ...]  # of the rows of the table of coordinates, as in `simulation.control.JointStates`
    tables: dict[str, Any]
    particles: ParticleCompiler
    graph: Graph
    initial: np.ndarray  # the state vector at the start
    particle_slices: dict[str, slice]  # of each group among all particles
    attachments: list[tuple[Any, ...]]  # particle, body, and the point of the body, of particles attached to bodies
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
        """The slice of a body's (x, q, P, L) in the state vector."""
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
        """The slice of the particles in the state vector: x (3 n), then p (3 n)."""
        at = STATE_SIZE * len(self.body_names)
        return slice(at, at + 6 * self.particle_count)

    def system(self, slots: Mapping[str, np.ndarray] | None = None, diagonal: np.ndarray | None = None) -> System:
        """The tables with a fresh workspace, filled with NaN where it is written first. slots, diagonal : indices of the
        blocks of elements and of particles in the matrix of a time step of particles."""
        graph, rigid, symbolic = self.graph, len(self.body_names), self.graph.symbolic
        own = {key: np.array(value).view(type(value)) for key, value in self.tables.items()}
        sizes = {
            "bodies": len(own["bodies"]), "rigid_bodies": rigid, "joints": len(self.joint_names),
            "forces": len(own["forces"]), "ledger": len(self.force_names), "rows": graph.rows,
            "unknowns": graph.unknowns, "values": symbolic.values, "jacobian_size": graph.jacobian_size,
        }  # fmt: skip
        system: System = allocate(
            System, sizes, **own,
            joints=np.array(graph.joints).view(np.recarray), incidences=graph.incidences, pairs=graph.pairs,
            hubs=graph.hubs, columns=symbolic.columns, entries=symbolic.entries, updates=symbolic.updates,
            elements=self.particles.make_elements(slots or {}), interactions=self.particles.make_interactions(),
            diagonal_slots=np.zeros(0, np.int64) if diagonal is None else diagonal,
        )  # fmt: skip
        system.kinematics.rotation[rigid:] = np.eye(3).ravel()
        settings = system.settings
        settings.length, settings.ledger, settings.condition = self.length, len(self.force_names), 1.0
        settings.rigid, settings.particles = rigid, self.particle_count
        return system


def compile_scene(scene: Scene, *, hubs: bool = True, apart: bool = False, coordinates: str = "maximal") -> Model:
    """Compile a scene. Raises ValueError, with the name of the object, for a scene that cannot run.

    hubs : see `graph.build_graph`. apart : whether particles have a time step of their own, so that what attaches them to
    bodies is not a joint of the mechanism, but one of the model's `attachments`. coordinates :
    "maximal", those of bodies, or "joint", for which only joints that close loops are constraints.
    """
    if not scene.bodies and not scene.particles:
        raise ValueError(
            f"scene {scene.name!r}: it has nothing that moves; add a body with add_body, or particles with add_particles"
        )
    layout = build_tree(scene) if coordinates == "joint" else None
    if layout is None:
        require_mass(scene)
    numbering = _number(scene, layout, apart)
    bodies, joints, index = numbering.bodies, numbering.joints, numbering.numbers
    _require_movable(joints)
    graph = build_graph(
        [j.rows for j in joints], [j.starts_with_point for j in joints], [[index[b] for b in j.bodies] for j in joints],
        index[WORLD], hubs, fixed=frozenset(index[body] for body in bodies if body.motion is not None),
    )  # fmt: skip
    pointers = _Pointers()
    count = sum(len(group) for group in scene.particles.values())
    compiler = ForceCompiler(index, STATE_SIZE * len(bodies) + 6 * count, pointers)
    parts = [row for j, joint in enumerate(joints) for row in part_rows(joint, j, graph, compiler)]
    motions = command_rows(scene, joints, graph, compiler)
    forces = compiler.forces(scene)
    particles = ParticleCompiler(scene, compiler.entry, pointers)
    _add_ledger_entries(scene, compiler)
    addresses = [pointers(event_adapter(event.function), event.name, scalar=True) for event in scene.events.values()]
    rows = {
        "bodies": _records(
            [*map(_body_row, bodies), *map(_node_row, numbering.nodes), *map(_link_row, numbering.links)], tables.BODY
        ),
        "spins": _records([(i, 0.0) for i, body in enumerate(bodies) if _asymmetric(body)], tables.SPIN),
        "nodes": _records([(node.number,) for node in numbering.nodes], tables.NODE),
        **particles.tables(),
        "parts": _records(parts, tables.PART),
        "coordinates": _records(compiler.coordinates, tables.COORDINATE),
        "forces": _records(forces, tables.FORCE),
        "commands": motions.rows,
        "keyframes": motions.keyframes,
        "curves": np.concatenate(compiler.curves) if compiler.curves else np.zeros(1),
        "reactions": _records(_reactions(joints, index), tables.REACTION),
    }
    state = _state(bodies, particles, compiler, rows["particle_mass"])
    return Model(
        name=scene.name,
        body_names=tuple(scene.bodies),
        joint_names=tuple(joint.name for joint in [*joints, *([] if layout is None else layout.joints)]),
        force_names=tuple(compiler.ledger),
        coordinate_names=tuple(compiler.coordinate_names),
        tables=rows,
        particles=particles,
        graph=graph,
        initial=state.initial,
        particle_slices={group.name: slice(group.first, group.last) for group in particles.groups},
        attachments=[attachment_row(joint, index) for joint in numbering.attached],
        attachment_names=tuple(joint.name for joint in numbering.attached),
        weights=state.weights,
        momentum=state.momentum,
        length=_length(scene, bodies),
        event_addresses=np.array(addresses, np.int64),
        events=tuple(scene.events.values()),
        pointers=tuple(pointers.pointers),
        pointer_names=tuple(pointers.names),
        scene=scene,
        slow=tuple(pointers.slow),
        tree=layout,
    )


class _Numbering(NamedTuple):
    """What takes part in the mechanism, and the index of each in the table of bodies."""

    bodies: list[Body]
    nodes: list[Particle]
    links: list[Link]
    joints: list[Joint]  # those that are constraints
    attached: list[Joint]  # those that attach particles with a time step of their own
    numbers: dict[Any, int]  # of bodies, nodes, links; the world and what is pinned come last


def _number(scene: Scene, layout: Layout | None, apart: bool) -> _Numbering:
    """Number bodies, nodes and links, in this order."""
    bodies = list(scene.bodies.values())
    links = [] if layout is None else list(scene.links.values())
    constraints = list(scene.joints.values()) if layout is None else layout.loops
    joints = [joint for joint in constraints if not (apart and attaches(joint))]
    attached = [joint for joint in constraints if apart and attaches(joint)]
    nodes, pinned = particles_in_joints(joints, scene)
    index: dict[Any, int] = {body: i for i, body in enumerate(bodies)}
    index.update({node: len(bodies) + i for i, node in enumerate(nodes)})
    index.update({link: len(index) + i for i, link in enumerate(links)})
    index.update(dict.fromkeys([WORLD, *pinned], len(index)))
    return _Numbering(bodies, nodes, links, joints, attached, index)


class _Pointers:
    """Collects the C functions of user functions; call it with an adapter for the address."""

    def __init__(self) -> None:
        self.pointers: list[Pointer] = []
        self.names: list[str] = []
        self.slow: list[str] = []

    def __call__(self, adapter: Adapter, name: str, scalar: bool = False) -> int:
        self.pointers.append(Pointer(adapter, scalar, f"function of {name!r}"))
        self.names.append(name)
        if not adapter.compiled:
            self.slow.append(name)
        return self.pointers[-1].address


def _add_ledger_entries(scene: Scene, compiler: ForceCompiler) -> None:
    """The entries of events and contacts, where there may be any."""
    if scene.events:
        compiler.entry("events")
    if scene.touching() or scene.limited_forces() or (scene.particles and scene.bodies):
        for name in CONTACT_WORK:
            compiler.entry(name)
        for name in work_of_surfaces(scene):
            compiler.entry(name)


def work_of_surfaces(scene: Scene) -> list[str]:
    """The entries of what resists rolling and spinning, and of compliant surfaces, where there are any."""
    turning, compliant = resists_turning(scene), is_compliant(scene)
    return [*([TURNING_ENTRY] if turning else []), *(SPRING_ENTRIES if compliant else ())]


class _State(NamedTuple):
    """See `Model`."""

    initial: np.ndarray
    weights: np.ndarray
    momentum: np.ndarray


def _state(bodies: list[Body], particles: ParticleCompiler, compiler: ForceCompiler, mass: np.ndarray) -> _State:
    """The initial state, the scales of its tolerances, and which of it are momenta. mass : of the particles (kg)."""
    extra, count = len(compiler.coordinates) + len(compiler.ledger) + len(LEDGER), len(mass)
    initial = np.concatenate(
        [*map(_initial_state, bodies), particles.initial(), compiler.starts, np.zeros(extra - len(compiler.starts))]
    )
    scales = [[1.0] * 7 + [b.mass] * 3 + [float(np.linalg.eigvalsh(b.inertia)[-1])] * 3 for b in bodies]
    weights = np.concatenate([np.ravel(scales), np.ones(3 * count), np.repeat(mass, 3), np.zeros(extra)])
    momentum = np.concatenate(
        [np.tile([-1.0] * 7 + [1.0] * 6, len(bodies)), -np.ones(3 * count), np.ones(3 * count), np.zeros(extra)]
    )
    return _State(initial, weights, momentum)


def _records(rows: Sequence[tuple[Any, ...]], dtype: np.dtype) -> np.recarray:
    return np.array(rows, dtype).view(np.recarray)


def require_mass(scene: Scene) -> None:
    """Raises ValueError for what only joint coordinates can run."""
    heavy = next((joint.name for joint in scene.joints.values() if joint.armature > 0.0), None)
    if scene.links or heavy is not None:
        what = f"link {next(iter(scene.links))!r} has no mass" if scene.links else f"joint {heavy!r} has an armature"
        raise ValueError(f"scene {scene.name!r}: {what}, which needs joint coordinates; pass coordinates='joint'")


def _require_movable(joints: Sequence[Joint]) -> None:
    """Raises ValueError for a joint between things that all move by command, or not at all."""
    for joint in joints:
        moved = [end for end in joint.bodies if isinstance(end, Body) and end.motion is not None]
        if moved and all(end is WORLD or end in moved for end in joint.bodies):
            names = " and ".join(dict.fromkeys(repr(end.name) for end in joint.bodies))
            raise ValueError(
                f"joint {joint.name!r} connects {names}, which have prescribed motions or are fixed; "
                "leave it out, or give one of them a mass in place of a motion"
            )


def _six(m: np.ndarray) -> tuple[float, ...]:
    return (m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2])


def _body_row(body: Body) -> tuple[Any, ...]:
    if body.motion is not None:  # no momentum, and no response; its moments are never used, but divided by
        return (0.0, 0.0, (0.0,) * 6, (0.0,) * 6, (1.0, 0.0, 0.0, 0.0), (1.0,) * 3)
    moments, axes = eigenvectors(body.inertia)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    principal = quaternion_of(axes)
    inverse = np.linalg.inv(body.inertia)
    return (body.mass, 1.0 / body.mass, _six(body.inertia), _six(0.5 * (inverse + inverse.T)), principal, moments)


def _asymmetric(body: Body) -> bool:
    """Whether its principal moments are three different ones, so that it has an unstable axis."""
    if body.motion is not None:
        return False
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


def _reactions(joints: list[Joint], index: dict[Any, int]) -> list[tuple[Any, ...]]:
    """Rows of REACTION: the body on which the wrench of each joint is recorded."""
    rows = []
    for joint in joints:
        body, sign = (joint.b, 1.0) if index[joint.b] != index[WORLD] else (joint.a, -1.0)
        rows.append((index[body], sign, to_frame(body, joint.at)))
    return rows
