"""The stepper of contact in joint coordinates, and the tables that it needs in addition to those of bodies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ..collide.tables import FREE as UNLINKED
from ..collide.tables import LAZY, Collision
from ..core.c_function import C_TYPE, view
from ..core.checkpoint_fields import REAL, Field
from ..core.jit import DISABLED, CFunction
from ..core.status import NON_FINITE, OK
from ..core.tables import address_table, allocate, grow
from ..dynamics.joint_space.mechanism import FORWARD_KINEMATICS, INERTIA, LIMP, JointMechanism
from ..dynamics.joint_space.welded import merge_welds
from ..integrate.stepper import StepEvents
from ..model.force_kinds import KEEPS_AWAKE, ON_COORDINATE
from ..model.tables import ANGLE, DRY_FRICTION, STOP, TORSION
from ..model.tree import COMMANDED, FREE
from ..scene.force import Force
from .converge import Converging, make_workspace
from .fast import FAST
from .island_problem import IslandProblem, room_of_problem
from .joint_space import ASSEMBLY, JOINT_SPACE_ENTRY, RIDES_ENTRY, JointSpace, joint_space_task
from .joint_space_books import ROOT
from .joint_space_commands import GIVEN, GIVEN_SPEEDS, RIDE
from .joint_space_continuous import JOINT_SPACE_CONTINUOUS_ENTRY, joint_space_continuous_task
from .joint_space_solves import FEW
from .joint_space_surfaces import JOINT_SURFACES_ENTRY, joint_surfaces_task
from .limits import FAINT, implicit_forces, make_soft
from .rows import Rows
from .solvers import SOLVERS, ContactSolver, StepSettings, bodies_on_cables, ends_of_cables, make_bounds, make_stepping
from .surface_laws import Surfaces
from .surface_tables import make_surfaces, with_sizes
from .tables import MEMBER, ContactTables
from .time_stepping import ContactStepper

RESTS = (STOP, DRY_FRICTION, TORSION)  # forces on coordinates of what may sleep


class JointContactStepper(ContactStepper):
    """Steps a mechanism in joint coordinates with contact from frame to frame."""

    def __init__(
        self, own: JointMechanism, collision: Collision, ledger: int, settings: StepSettings, events: StepEvents
    ) -> None:
        self.own = self._mechanism = self._plain = own
        parts = Assemblies(own, len(collision.linked) - 1)
        collision.linked[:] = parts.linked()
        soft = soft_rows(own)
        bound = {int(row.force): i for i, row in enumerate(soft) if row.freedom < 0}
        bounds, members = parts.with_bounds(make_bounds(own.system, own.size, bound))
        parts.find_freedoms(bounds)
        self._slow = parts.slowness()
        tables = make_stepping(
            own.system, own.size, ledger, settings, soft, packed=parts.packed, bounds=bounds, members=members,
            slow=self._slow.copy(), state_of_bodies=own.tables.y,
        )  # fmt: skip
        self._surfaces = make_surfaces(own.model, collision, ledger)
        tables = with_sizes(tables, collision, self._surfaces)
        self._joint_space = parts.tables(len(soft), bounds)
        poses = bool((self._joint_space.coordinate_at < 0).any()) or len(own.system.error) or len(own.system.commands)
        self._joint_space.alone[0] = settings.threads == 1
        self._describe_links(tables, settings.margin)
        plain = not poses and not len(own.model.tables["nodes"]) and own.system.settings[0].particles == 0
        self._joint_space.books_links[0] = plain and own.system.settings[0].special_rows == 0
        collision.counts[LAZY] = own.system.settings[0].particles == 0  # these read all poses
        self._joint_space.shown[0] = settings.sleep_after > 0.0 or bool(poses)
        self._solver = SOLVERS[settings.solver]
        self._begin(collision, tables, settings, events)

    def _describe_links(self, tables: Any, margin: float) -> None:
        """What tells that nothing is fast: see `joint_space.moves_little`."""
        own = self._joint_space
        own.reaches[:] = -1.0
        for link in own.links:
            if link.row < len(tables.thickness) and np.isfinite(tables.thickness[link.row]):
                reach = float(np.linalg.norm(link.offset)) + float(tables.swing[link.row])
                own.reaches[link.node] = max(own.reaches[link.node], reach)
        own.calm[0] = min(0.5 * margin, FAST * float(tables.thickness.min(initial=np.inf)))

    def _fit_coordinates(self, tables: ContactTables) -> None:
        rows = self._joint_space.rows
        path, span = rows.longest.tolist()
        known = {"path": path, "span": span, "bounds": len(self._tables.bounds)}
        rows = grow(rows, known, contacts=len(self.collision.contacts))
        self._joint_space = self._joint_space._replace(rows=rows)
        if isinstance(self._workspace, Converging):
            self._joint_space = self._joint_space._replace(problem=self._workspace.island)
        reduced, own, callbacks = self.own.tables, self._joint_space, tables.callbacks
        self._own_addresses = address_table(reduced), address_table(own)
        callbacks.reduced, callbacks.joint_space = (table.ctypes.data for table in self._own_addresses)
        if DISABLED:

            def call(data: int, task: int, h: float, y: int, n: int, out: int, m: int) -> int:
                return int(joint_space_task(task, h, view(y, n), view(out, m), tables, reduced, own))

            self._coordinates = C_TYPE(call)
            callbacks.coordinates = int(ctypes.cast(self._coordinates, ctypes.c_void_p).value or 0)
        else:
            callbacks.coordinates = JOINT_SPACE_ENTRY.address
            callbacks.rides = RIDES_ENTRY.address if len(self.own.system.commands) else 0
        callbacks.limits = callbacks.coordinates

    def _rows(self) -> Rows:
        """See `ContactStepper`; their arrays are those of the table of joint coordinates."""
        return self._joint_space.rows  # type: ignore[no-any-return]

    def _make_workspace(self, solver: ContactSolver) -> Any:
        """The workspace of a solver."""
        if solver.make_workspace is not make_workspace:
            return super()._make_workspace(solver)
        assemblies = self._joint_space.assemblies
        spans = (assemblies.end - assemblies.first).tolist()
        return make_workspace(self.own, self.settings, self._tables.bounds, spans, self._surfaces is not None)

    def _lengths_of_rows(self) -> tuple[int, int]:
        path, span = self._joint_space.rows.longest.tolist()
        return path, span

    def _surfaces_entry(self) -> CFunction:
        return JOINT_SURFACES_ENTRY

    def _surfaces_function(self, surfaces: Surfaces) -> Callable[..., int]:
        reduced, own = self.own.tables, self._joint_space
        return lambda task, h, y, out, tables: int(joint_surfaces_task(task, h, y, out, tables, surfaces, reduced, own))

    def _limits_address(self, tables: ContactTables) -> int:
        return 0

    def _continuous_address(self, tables: ContactTables) -> int:
        if not self._is_watched:
            return 0
        super()._continuous_address(tables)  # what measures distances
        if not DISABLED:
            return JOINT_SPACE_CONTINUOUS_ENTRY.address
        reduced, own = self.own.tables, self._joint_space

        def call(data: int, task: int, h: float, y: int, n: int, out: int, m: int) -> int:
            return int(joint_space_continuous_task(task, h, view(y, n), view(out, m), reduced, own, tables))

        self._continuous = C_TYPE(call)
        return int(ctypes.cast(self._continuous, ctypes.c_void_p).value or 0)

    def _slowness(self) -> np.ndarray:
        return self._slow

    def make_steps(self, y: np.ndarray, dydt: np.ndarray, stop: float) -> int:
        """See `FixedStepper.make_steps`; y is the state of the bodies."""
        self._set_time()
        if self.own.take(y) != OK:
            return LIMP if np.isfinite(y).all() else NON_FINITE
        try:
            return super().make_steps(self.own.z, dydt, stop)
        finally:  # a run that is interrupted goes on from here
            self._set_time()
            self.own.put(y)

    def _set_time(self) -> None:
        """The time of the state, which says where kinematic bodies are."""
        self.own.time = self.time

    def attempt(self, y: np.ndarray) -> np.ndarray:
        """The state of the last step that was made: of one that failed nothing is kept."""
        return y

    @property
    def speeds_of_drift(self) -> np.ndarray:
        """(speeds,) with which the last free motion to the middle of a step began: those after an impact on the way."""
        return np.array(self._joint_space.before)

    def _own_fields(self) -> list[Field]:
        roots = self._joint_space.roots  # their momenta after a step are those before the next
        kept = {name: REAL for name in ("momentum", "turning", "impulse", "moment")}
        return [*super()._own_fields(), *self.own.fields(), Field("roots", roots, columns=kept)]


class Assemblies:
    """The trees of a mechanism, and which of them loops and cables connect. bodies : how many there are."""

    def __init__(self, own: JointMechanism, bodies: int) -> None:
        self.own, self.bodies = own, bodies
        plain = not len(own.system.joints) and not len(
            own.system.commands
        )  # loops and motions are those of the whole tree
        self.merged = merge_welds(own.tables.tree, own.tables.node_of_row, merges=plain)
        self.tree, self.node_of_row = self.merged.tree, self.merged.node_of_row
        nodes = self.tree.nodes
        self.roots, root_of = roots_of(nodes)
        self.root_of = root_of
        group = np.arange(len(self.roots))  # of trees that loops connect
        looped = np.zeros(len(self.roots), bool)
        system, node_of_row = own.system, self.node_of_row
        self.commanded = np.flatnonzero(nodes.kind == COMMANDED)
        for first, last in zip(system.joints["first"], system.joints["last"], strict=True):
            ends = node_of_row[system.incidences.body[first:last]]
            trees = {int(root_of[n]) for n in ends if n >= 0 and nodes.kind[n] != COMMANDED}
            looped[list(trees)] = True
            for tree in trees:
                group[group == group[tree]] = group[min(trees)]
        roped = np.zeros(len(self.roots), bool)  # by cables whose length is a limit
        for pair in ends_of_cables(system):
            ends = node_of_row[pair]
            trees = {int(root_of[n]) for n in ends if n >= 0 and nodes.kind[n] != COMMANDED}
            roped[list(trees)] = True
            for tree in trees:
                group[group == group[tree]] = group[min(trees)]
        found, number = np.unique(group, return_inverse=True)
        self.of_node = number[root_of] if len(root_of) else root_of
        table: Any = np.zeros(len(found), ASSEMBLY).view(np.recarray)
        self.table = table
        freedoms = self.tree.freedoms
        self.freedom_at = np.argsort(self.of_node[freedoms.node], kind="stable")
        counts = np.bincount(self.of_node[freedoms.node], minlength=len(found))
        self.table.end = np.cumsum(counts)
        self.table.first = self.table.end - counts
        node_of_body = node_of_row[:bodies]
        self.of_body = np.where(node_of_body >= 0, self.of_node[node_of_body], -1)
        alone = np.bincount(self.of_node[self.merged.node_of], minlength=len(found)) == 1
        alone &= ~np.isin(found, group[roped])
        kinds = np.zeros(len(found), np.int64)
        kinds[self.of_node] = nodes.kind
        for i, row in enumerate(self.table):
            own_bodies = np.flatnonzero(self.of_body == i)
            row.body, row.looped = (own_bodies.min() if len(own_bodies) else -1), looped[group == found[i]].any()
        self.loose = alone & (((kinds == FREE) & (self.table.looped == 0)) | (kinds == COMMANDED))
        self.packed = len(freedoms) + GIVEN_SPEEDS * len(self.commanded)
        self.host = np.arange(len(found))  # the assembly whose body has its bounds
        if (self.table.body >= 0).any():
            self.host[self.table.body < 0] = np.flatnonzero(self.table.body >= 0)[0]
            self.loose[self.host[self.table.body < 0]] = False

    def linked(self) -> np.ndarray:
        """(bodies + 1,) for `Collision.linked`: what joints hold together, and nothing else."""
        found = np.full(self.bodies + 1, UNLINKED)
        for i, assembly in enumerate(self.of_body):
            if assembly >= 0 and not self.loose[assembly]:
                found[i] = self.table.body[assembly]
        return found

    def with_bounds(self, bounds: Any) -> tuple[Any, Any]:
        """The BOUND table, assembly by assembly, and the MEMBER table."""
        node_of_row = self.node_of_row
        a, b, kinds = node_of_row[bounds.a], node_of_row[bounds.b], self.tree.nodes.kind
        nodes = np.where((a >= 0) & (kinds[a] != COMMANDED), a, b)
        hosts = self.host[self.of_node[nodes]] if len(nodes) else nodes
        order = np.argsort(hosts, kind="stable")
        members: Any = np.zeros(self.bodies, MEMBER).view(np.recarray)
        for i, row in enumerate(self.table):
            if row.body >= 0:
                member = members[row.body]
                member.first_speed, member.end_speed = row.first, row.end
                member.first_bound, member.end_bound = np.searchsorted(hosts[order], (i, i + 1))
        return bounds[order], members

    def slowness(self) -> np.ndarray:
        """(bodies,) for `Stepping.slow`, at the start. What motors, springs or the user's forces act on never sleeps."""
        forces, never = self.own.system.forces, np.zeros(len(self.table), bool)
        drives = np.isin(forces.kind, KEEPS_AWAKE) | (
            np.isin(forces.kind, ON_COORDINATE) & ~np.isin(forces.kind, RESTS)
        )
        coordinates, node_of_row = self.own.system.coordinates, self.node_of_row
        for force in forces[drives]:
            on = coordinates[force.coordinate] if force.kind in ON_COORDINATE else force
            for row in (int(on.a), int(on.b)):
                if node_of_row[row] >= 0:
                    never[self.of_node[node_of_row[row]]] = True
        pulled = node_of_row[bodies_on_cables(self.own.system)]
        never[self.of_node[pulled[pulled >= 0]]] = True
        never[self.host[self.table.body < 0]] = True
        never[self._moved()] = True
        slow = np.zeros(self.bodies)
        slow[never[self.of_body] | (self.of_body < 0)] = -np.inf
        return slow

    def _moved(self) -> np.ndarray:
        """The assemblies that stand on kinematic bodies or have coordinates that move by command."""
        system = self.own.system
        kinds, joints = self.tree.nodes.kind, set(system.commands.joint[system.commands.row >= 0].tolist())
        found = set(self.of_node[self.root_of_commands() >= 0].tolist())
        for number, joint in enumerate(system.joints):
            nodes = self.node_of_row[system.incidences.body[joint.first : joint.last]]
            nodes = nodes[nodes >= 0]
            if number in joints or (kinds[nodes] == COMMANDED).any():
                found |= set(self.of_node[nodes].tolist())
        return np.array(sorted(found), int)

    def root_of_commands(self) -> np.ndarray:
        """(nodes,) the row of COMMAND of the kinematic body that a node stands on, or is; −1: none."""
        found = np.full(len(self.root_of), -1)
        for row, command in enumerate(self.own.system.commands):
            if command.body >= 0:
                found[self.node_of_row[command.body]] = row
        for i, node in enumerate(self.tree.nodes):
            if node.parent >= 0:
                found[i] = found[node.parent]
        return found

    def find_freedoms(self, bounds: Any) -> None:
        """Note which bounds are on freedoms of trees."""
        system = self.own.system
        for bound in bounds:
            freedom, at = freedom_of(self.own, int(bound.force))
            if freedom >= 0 and bound.soft < 0:
                force = system.forces[bound.force]
                bound.freedom, bound.at = freedom, at
                bound.sign = -1.0 if force.kind == STOP and force.side < 0.0 else 1.0

    def coordinate_places(self) -> np.ndarray:
        """(coordinates that are watched,) where the state has them; −1 of those that are of no joint of a tree."""
        system = self.own.system
        found = np.full(len(system.coordinates), -1)
        for number in np.flatnonzero(np.isin(system.forces.kind, ON_COORDINATE)):
            found[system.forces.coordinate[number]] = freedom_of(self.own, int(number))[1]
        return found

    def factor_places(self, packed_at: np.ndarray) -> dict[str, np.ndarray]:
        """Where the entries of the factor of M are, and room for them."""
        before, columns, starts = self.tree.freedoms.before, [], [0]
        for k in self.freedom_at:
            i = int(before[k])
            while i >= 0:
                columns.append(int(packed_at[i]))
                i = int(before[i])
            starts.append(len(columns))
        return {
            "factor_starts": np.array(starts, np.int64), "factor_columns": np.array(columns, np.int64),
            "factor_values": np.zeros(len(columns)), "drift_values": np.zeros(len(columns)),
        }  # fmt: skip

    def tables(self, soft: int, bounds: Any) -> JointSpace:
        """The tables of a step, with no room for contacts."""
        own, layout = self.own, self.own.layout
        tree, m = self.tree, len(layout.freedoms)
        packed_at = np.argsort(self.freedom_at)
        indices: list[int] = []
        paths = np.zeros(2 * len(tree.nodes), np.int64)
        for i in range(len(tree.nodes)):
            paths[2 * i], at = len(indices), i
            given = self.given_of(i, m)
            while at >= 0:
                indices += packed_at[tree.nodes.first[at] : tree.nodes.last[at]].tolist()
                at = int(tree.nodes.parent[at])
            indices += given
            paths[2 * i + 1] = len(indices) - paths[2 * i]
            if tree.nodes.kind[i] == COMMANDED:  # that of its surface; that of the body itself is behind it
                indices += [index - 6 for index in given]
        path = int(paths[1::2].max(initial=0))
        span = int((self.table.end - self.table.first).max(initial=0))
        sizes = {"path": path, "span": span, "contacts": 0, "bounds": len(bounds)}
        alone = len(indices)  # paths of one speed each, of bounds on freedoms
        indices += range(m)
        rows = allocate(Rows, sizes, indices=np.array(indices, np.int64), longest=np.array([path, span], np.int64))
        for number in np.flatnonzero(bounds.freedom >= 0):
            i = int(number)
            own_side, packed = rows.bound_sides[2 * i + 1], int(packed_at[bounds.freedom[i]])
            assembly = self.table[self.of_node[tree.freedoms.node[bounds.freedom[i]]]]
            own_side.path, own_side.length = alone + packed, 1
            own_side.first, own_side.end = assembly.first, assembly.end
            rows.bound_jacobian[path * (2 * i + 1)] = bounds.sign[i]
        return allocate(
            JointSpace,
            {"m": m, "nodes": len(tree.nodes), "r": own.model.graph.rows, "soft": soft, "packed": self.packed,
             "few": self.few()},
            coordinate_at=self.coordinate_places(), **self.factor_places(packed_at),
            tree=tree, links=self.merged.links, node_of_row=self.node_of_row,
            rows=rows, given=self.given_bodies(m), rides=self.rides(),
            problem=allocate(IslandProblem, room_of_problem(0, 0, 0, 0, [])), assemblies=self.table,
            assembly_of=self.of_node.astype(np.int64), freedom_at=self.freedom_at.astype(np.int64),
            packed_at=packed_at.astype(np.int64), paths=paths, roots=self.roots, root_of=self.root_of,
        )  # fmt: skip

    def few(self) -> int:
        """The number of rows of loops, if their dense matrix is to answer them; else 0."""
        model, rows = self.own.model, int(self.own.model.graph.rows)
        plain = not len(model.tables["nodes"]) and not len(self.own.system.commands)
        return rows if plain and rows <= FEW else 0

    def given_of(self, node: int, speeds: int) -> list[int]:
        """The given speeds of what a node stands on; of a kinematic body those of its surface."""
        command = self.root_of_commands()[node]
        if command < 0:
            return []
        own = int(self.node_of_row[self.own.system.commands.body[command]])
        first = speeds + GIVEN_SPEEDS * int(np.searchsorted(self.commanded, own)) + (6 if own == node else 0)
        return list(range(first, first + 6))

    def given_bodies(self, speeds: int) -> Any:
        """The GIVEN table."""
        table: Any = np.zeros(len(self.commanded), GIVEN).view(np.recarray)
        table.node, table.command = self.commanded, self.root_of_commands()[self.commanded]
        table.first = speeds + GIVEN_SPEEDS * np.arange(len(table))
        return table

    def rides(self) -> Any:
        """The RIDE table; writes which roots ride."""
        commands = self.root_of_commands()
        self.roots.command = commands[self.roots.node]
        riding = np.flatnonzero(self.roots.command >= 0)
        table: Any = np.zeros(len(riding), RIDE).view(np.recarray)
        table.root, table.command = riding, self.roots.command[riding]
        table.node = self.node_of_row[self.own.system.commands.body[table.command]]
        return table


def roots_of(nodes: Any) -> tuple[Any, np.ndarray]:
    """The ROOT table of the NODE table of a tree, and the row of it that each node belongs to."""
    parents, kinds = nodes.parent.tolist(), nodes.kind.tolist()
    stands = [
        parent < 0 or kinds[parent] == COMMANDED for parent in parents
    ]  # on the world, or on what moves by command
    numbers = [i for i, own in enumerate(stands) if own]
    roots: Any = np.zeros(len(numbers), ROOT).view(np.recarray)
    roots.node = numbers
    roots.loose = [int(kinds[i] == FREE) for i in numbers]
    root_of = np.zeros(len(parents), np.int64)
    for i, parent in enumerate(parents):
        root_of[i] = numbers.index(i) if stands[i] else root_of[parent]
    return roots, root_of


def soft_rows(own: JointMechanism) -> Any:
    """The SOFT table: motors with gains, springs and dampers of joints, with their freedoms, −1 on joints of loops, and the
    responses of their coordinates at the initial pose, without loops."""
    system, layout = own.system, own.layout
    chosen = implicit_forces(system)
    rows = make_soft(system, own.size, chosen)
    system.forces.implicit[chosen] = 1
    for row in rows:
        row.freedom, row.at = freedom_of(own, int(row.force))
    if not len(rows):
        return rows
    z, m = np.zeros(own.size), len(layout.freedoms)
    z[: len(layout.start)] = layout.start
    own.call(INERTIA, 0.0, z, own.dzdt)
    mass = own.tables.tree.matrix.reshape(m, m)
    inverse = np.linalg.inv(mass)
    along = np.eye(m)[rows.freedom]
    along[rows.freedom < 0] = _rates(own, z, rows[rows.freedom < 0])
    rows.response = np.einsum("ij,jk,ik->i", along, inverse, along)
    rows.faint = FAINT / rows.response
    return rows


def freedom_of(own: JointMechanism, number: int) -> tuple[int, int]:
    """The freedom that a force acts on, and where the state has its coordinate; (−1, −1): no joint of a tree."""
    layout, scalars = own.layout, own.layout.scalars()
    force = own.model.scene.forces[own.model.force_names[own.system.forces.ledger[number]]]
    if not isinstance(force, Force) or force.joint is None:
        return -1, -1
    name = force.joint.name
    if name not in {joint.name for joint in layout.joints}:
        return -1, -1
    at, freedom = scalars[name if name in scalars else f"{name}.{force.coordinate}"]
    return freedom, at


def _rates(own: JointMechanism, z: np.ndarray, rows: Any) -> np.ndarray:
    """(rows, m): the rates of coordinates at unit speeds, where z has the tree."""
    m, first, kinematics = len(own.layout.freedoms), len(own.layout.start), own.system.kinematics
    found = np.zeros((len(rows), m))
    for k in range(-1, m if len(rows) else -1):  # first the rates at rest, of what moves by command
        z[first : first + m] = np.eye(m)[k] if k >= 0 else 0.0
        own.call(FORWARD_KINEMATICS, 0.0, z, own.dzdt)
        for i, row in enumerate(rows):
            a, b, c = kinematics[row.a], kinematics[row.b], own.system.coordinates[row.coordinate]
            axis, arm = a.rotation.reshape(3, 3) @ c.axis_a, b.rotation.reshape(3, 3) @ c.anchor_b
            along = b.v + np.cross(b.omega, arm) - a.v - np.cross(a.omega, b.x + arm - a.x)
            rate = axis @ (b.omega - a.omega if c.kind == ANGLE else along)
            if k < 0:
                found[i] = -rate
            else:
                found[i, k] += rate
    return found
