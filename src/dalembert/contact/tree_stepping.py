"""A run by time steps of contact in joint coordinates: the tables of a step, room for what it finds, and its kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..collide.tables import FREE as UNLINKED
from ..collide.tables import Collision
from ..core.c_function import C_TYPE
from ..core.checkpoint_fields import REAL, Field
from ..core.jit import DISABLED
from ..core.status import NON_FINITE, OK
from ..core.tables import address_table, allocate, grow
from ..dynamics.joint_space.mechanism import FORWARD_KINEMATICS, INERTIA, LIMP, JointMechanism
from ..integrate.stepper import StepEvents
from ..model.tables import ANGLE, FIELD
from ..model.tree import FREE, Layout
from ..scene.force import Force
from .limits import FAINT, implicit_forces, make_soft
from .solvers import StepSettings, make_bounds
from .tables import OPTIONS
from .time_stepping import ContactStepper
from .tree_rows import ROOT, TreeStepping
from .tree_step import TREE_STEP_ENTRY, run_steps


class JointContactStepper(ContactStepper):
    """Steps a mechanism in joint coordinates with contact from frame to frame."""

    def __init__(
        self, own: JointMechanism, collision: Collision, ledger: int, settings: StepSettings, events: StepEvents
    ) -> None:
        self.own = self._mechanism = own
        collision.linked[:] = linked(own, len(collision.linked))
        self._begin(collision, make_tables(own, ledger, settings), settings, events)

    def _fit(self) -> None:
        """As much room as the contacts need, and the addresses of it all."""
        known = {"m": len(self._tables.before), "bounds": len(self._tables.bounds)}
        self._tables = grow(self._tables, known, contacts=len(self.collision.contacts))
        self._tables.callbacks[:] = self._detector.address, self._detector.data
        tables = (self.own.tables, self.collision, self._tables)
        addresses = [address_table(table) for table in tables]
        self._addresses: Any = addresses, np.array([table.ctypes.data for table in addresses], np.int64)
        plain = DISABLED
        self._kernel = self._plain_run(*tables) if plain else self._compiled_run()

    @staticmethod
    def _plain_run(*tables: Any) -> Callable[[np.ndarray, np.ndarray, float], int]:
        return lambda z, nothing, stop: int(run_steps(z, stop, *tables))

    def _compiled_run(self) -> Callable[[np.ndarray, np.ndarray, float], int]:
        function, data = C_TYPE(TREE_STEP_ENTRY.address), int(self._addresses[1].ctypes.data)
        return lambda z, nothing, stop: int(function(data, 0, stop, z.ctypes.data, z.size, z.ctypes.data, z.size))

    def make_steps(self, y: np.ndarray, dydt: np.ndarray, stop: float) -> int:
        """See `FixedStepper.make_steps`; y is the state of the bodies."""
        if self.own.take(y) != OK:
            return LIMP if np.isfinite(y).all() else NON_FINITE
        try:
            return super().make_steps(self.own.z, dydt, stop)
        finally:  # a run that is interrupted goes on from here
            self.own.put(y)

    def attempt(self, y: np.ndarray) -> np.ndarray:
        """The state of the last step that was made: of one that failed nothing is kept."""
        return y

    def _responses(self) -> np.ndarray:
        """See `ContactStepper._responses`."""
        return self._tables.responses

    def _own_fields(self) -> list[Field]:
        roots = self._tables.roots  # their momenta after a step are those before the next
        kept = {name: REAL for name in ("momentum", "turning", "impulse", "moment")}
        return [*self.own.fields(), Field("roots", roots, columns=kept)]

    def changed(self) -> None:
        """The state was changed from outside: what events were, and what is ahead, is not known."""
        self._events.forget()
        self._tables.options.fresh = 1


def make_tables(own: JointMechanism, ledger: int, settings: StepSettings) -> TreeStepping:
    """The tables of a step, with no room for contacts. ledger : where the entries of contact begin in the state."""
    m, layout = len(own.layout.freedoms), own.layout
    options: Any = np.zeros(1, OPTIONS).view(np.recarray)
    options.dt, options.margin, options.iterations = settings.dt, settings.margin, settings.iterations
    options.tolerance, options.ledger = settings.tolerance, ledger
    options.slop, options.fresh = settings.slop, 1
    roots, root_of = roots_of(layout)
    soft = soft_rows(own)
    options.predict = int(((own.system.forces.kind != FIELD) & (own.system.forces.implicit == 0)).any())
    bound = {int(row.force): i for i, row in enumerate(soft) if row.freedom < 0}
    bounds = make_bounds(own.system, own.size, bound)
    sizes = {"m": m, "z": own.size, "r": own.model.graph.rows, "soft": len(soft), "bounds": len(bounds), "contacts": 0}
    return allocate(TreeStepping, sizes, options=options, bounds=bounds, roots=roots, root_of=root_of, soft=soft)


def roots_of(layout: Layout) -> tuple[Any, np.ndarray]:
    """The ROOT table, and the row of it that each node belongs to."""
    parents = [int(row[0]) for row in layout.rows]
    numbers = [i for i, parent in enumerate(parents) if parent < 0]
    roots: Any = np.zeros(len(numbers), ROOT).view(np.recarray)
    roots.node = numbers
    roots.loose = [int(layout.rows[i][2] == FREE) for i in numbers]
    root_of = np.zeros(len(parents), np.int64)
    for i, parent in enumerate(parents):
        root_of[i] = numbers.index(i) if parent < 0 else root_of[parent]
    return roots, root_of


def soft_rows(own: JointMechanism) -> Any:
    """The SOFT table: motors with gains, springs and dampers of joints, with their freedoms, −1 on joints of loops, and the
    responses of their coordinates at the initial pose, without loops."""
    system, layout = own.system, own.layout
    chosen = implicit_forces(system)
    rows = make_soft(system, own.size, chosen)
    system.forces.implicit[chosen] = 1
    carried = {joint.name for joint in layout.joints}
    names = {name: k for k, name in enumerate(layout.freedom_names)}
    for row in rows:
        force = own.model.scene.forces[own.model.force_names[system.forces.ledger[row.force]]]
        if isinstance(force, Force) and force.joint is not None and force.joint.name in carried:
            name = force.joint.name
            row.freedom = names[name] if name in names else names[f"{name}.{force.coordinate}"]
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


def _rates(own: JointMechanism, z: np.ndarray, rows: Any) -> np.ndarray:
    """(rows, m): the rates of coordinates at unit speeds, where z has the tree."""
    m, first, kinematics = len(own.layout.freedoms), len(own.layout.start), own.system.kinematics
    found = np.zeros((len(rows), m))
    for k in range(m if len(rows) else 0):
        z[first : first + m] = np.eye(m)[k]
        own.call(FORWARD_KINEMATICS, 0.0, z, own.dzdt)
        for i, row in enumerate(rows):
            a, b, c = kinematics[row.a], kinematics[row.b], own.system.coordinates[row.coordinate]
            axis, arm = a.rotation.reshape(3, 3) @ c.axis_a, b.rotation.reshape(3, 3) @ c.anchor_b
            along = b.v + np.cross(b.omega, arm) - a.v - np.cross(a.omega, b.x + arm - a.x)
            found[i, k] = axis @ (b.omega - a.omega if c.kind == ANGLE else along)
    return found


def linked(own: JointMechanism, count: int) -> np.ndarray:
    """(bodies + 1,) for `Collision.linked`: all that joints hold is taken for one thing."""
    found = np.full(count, UNLINKED)
    root_of = roots_of(own.layout)[1]
    alone = np.bincount(root_of) == 1
    nodes, rows = own.tables.tree.nodes, own.tables.tree.nodes.row
    body = (rows >= 0) & (rows < count - 1)
    held = np.union1d(rows[body & ~(alone[root_of] & (nodes.kind == FREE))], own.system.incidences.body)
    held = held[held < count - 1].astype(np.int64)
    found[held] = held.min(initial=count)
    return found
