"""A run in joint coordinates: an integration method on u and w, and the state of the bodies from them, frame by frame."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.c_function import C_TYPE, EVENT, MEASURE, view
from ..core.checkpoint_fields import Field
from ..core.jit import DISABLED, CFunction
from ..core.status import OK
from ..core.tables import TableFunction, allocate
from ..integrate.driver import Driver
from ..integrate.state import Functions
from ..model.compile import Model
from ..model.tables import ANGLE, STATE_SIZE
from ..model.tree import BALL, FREE, Layout
from . import tree_loops as closed
from . import tree_motion as tables
from .mechanism import Mechanism
from .tree_loops import build_loop_graph
from .tree_system import FORWARD_KINEMATICS, LOWER, TREE_ENTRY, tree_task


class JointMechanism(Mechanism):
    """A model in joint coordinates behind a C pointer, and what takes states there and back.

    mechanism : that of the model, which knows its forces and loops. `system` is its tables.
    """

    def __init__(self, model: Model, mechanism: Mechanism) -> None:
        layout = model.tree
        assert layout is not None
        self.model, self.mechanism, self.system, self.layout = model, mechanism, mechanism.system, layout
        rows = rows_of(model, layout)
        tree = layout.tree(rows, len(model.graph.joints))
        nodes, rows_of_loops = len(model.tables["nodes"]), model.graph.rows
        m, q = len(layout.freedoms), len(layout.freedoms) + 3 * nodes
        options: Any = np.zeros(1, tables.REDUCED).view(np.recarray)
        options.mechanism, options.handle = mechanism.address, mechanism.data
        options.coordinates, options.speeds, options.limp = len(layout.start), m, -1
        node_of_row = np.full(len(mechanism.system.kinematics), -1)
        for number, place in enumerate(layout.places):
            if place.item is not None:
                node_of_row[rows[place.item]] = number
        kinds = tree.nodes.kind
        self.turns = [
            int(node.last) - 3 for node in tree.nodes[(kinds == BALL) | (kinds == FREE)]
        ]  # first freedom of each
        self.carried = 3 * len(self.turns)  # numbers behind the state in a step: see `spin`
        self.efforts = tree.efforts  # (m,) applied along the speeds, beside the forces of the scene
        self.size = len(layout.start) + m + model.size - STATE_SIZE * len(model.body_names)
        options.size = self.size
        loops = build_loop_graph(model, node_of_row, tree.nodes.mass)

        sizes = {"values": loops.symbolic.values, "r": rows_of_loops, "m": m, "q": q, "state": model.size}
        reduced = allocate(
            tables.Reduced, sizes, options=options, tree=tree, system=mechanism.system, node_of_row=node_of_row,
            y=model.initial.copy(), fronts=loops.fronts, carries=loops.carries, products=loops.products, ends=loops.ends,
            closures=loops.closures, columns=loops.symbolic.columns, entries=loops.symbolic.entries,
            entry_carries=loops.entry_carries, updates=loops.symbolic.updates,
        )  # fmt: skip
        tail = model.weights[STATE_SIZE * len(model.body_names) :]
        speeds = np.ones(m)
        for first in self.turns:
            speeds[first : first + 3] = 0.0  # given by what is carried
        self.weights = np.concatenate([np.ones(len(layout.start)), speeds, tail, np.ones(self.carried)])
        self._closed = TableFunction(closed.LOOPS_ENTRY, closed.loops_task, reduced) if rows_of_loops else None
        options.loops = self._closed.address if self._closed else 0
        self._stand_behind(TREE_ENTRY, tree_task, reduced)
        self.z, self.dzdt = np.zeros(self.size), np.full(self.size, np.nan)
        self.z[: len(layout.start)] = layout.start
        self._counts = counts_of_turns(model, layout)
        self._known = np.full(model.size, np.nan)

    def _stand_behind(self, function: CFunction, plain: Callable[..., int], tables: Any) -> None:
        """The pointer to `function` on the tables."""
        TableFunction.__init__(self, function, plain, tables)
        self._plain, self._events = plain, list[Any]()  # the latter keeps what they are handed alive

    def __call__(self, task: int, t: float, y: np.ndarray, dydt: np.ndarray) -> int:
        """Measure or complete the bodies' state y, in place; returns a status."""
        status = self.take(y)
        if status == OK:
            status = self.call(task, t, self.z, self.dzdt)
        if task != MEASURE:
            self.put(y)
        return status

    def put(self, y: np.ndarray) -> None:
        """The state of the bodies, y, from z."""
        self.call(FORWARD_KINEMATICS, 0.0, self.z, self.dzdt)
        self._known[:] = y[:] = self.tables.y

    def take(self, y: np.ndarray) -> int:
        """z from the state of the bodies, near to what it was, if that is not what `put` said last. Returns a status."""
        if np.array_equal(y, self._known):
            return OK
        self.tables.y[:] = self._known[:] = y
        status = self.call(LOWER, 0.0, self.z, self.dzdt)
        for count, u in self._counts:
            self.z[u] += 2.0 * np.pi * np.round((self.z[count] - self.z[u]) / (2.0 * np.pi))
        return status

    def count_turns(self) -> None:
        """Set the turn counts that forces and gears read to those of u. Call it after u was set from outside."""
        for count, u in self._counts:
            self.z[count] = self.z[u]

    def fields(self) -> list[Field]:
        """What is known of the state beside that of the bodies: z, its derivative, and the state that z is of."""
        return [Field("z", self.z), Field("dzdt", self.dzdt), Field("known", self._known)]

    def event(self, address: int) -> tuple[int, int]:
        """The address of an event function of z, and its data, from that of one of y."""
        if DISABLED:
            inner = C_TYPE(address)

            def call(data: int, task: int, t: float, z: int, n: int, values: int, m: int) -> int:
                state = view(z, n)
                self._plain(FORWARD_KINEMATICS, t, state, state, self.tables)
                y = self.tables.y
                return int(inner(0, EVENT, t, y.ctypes.data, y.size, values, m))

            callback = C_TYPE(call)
            self._events.append(callback)
            return int(ctypes.cast(callback, ctypes.c_void_p).value or 0), 0
        data = np.array([address, self.data], np.int64)
        self._events.append(data)
        return self.address, int(data.ctypes.data)


def counts_of_turns(model: Model, layout: Layout) -> list[tuple[int, int]]:
    """(place in z of the turn count of an angle, place in u of that angle), for the angles of the tree that have a count."""
    back = len(layout.start) + len(layout.freedoms) - STATE_SIZE * len(model.body_names)
    scalars = layout.scalars()
    return [
        (int(row["at"]) + back, scalars[name][0])
        for name, row in zip(model.coordinate_names, model.tables["coordinates"], strict=True)
        if row["kind"] == ANGLE and name in scalars
    ]


def rows_of(model: Model, layout: Layout) -> dict[Any, int]:
    """Body or link → row of the kinematics table: bodies, then particles in joints, then links."""
    scene = model.scene
    first = len(scene.bodies) + len(model.tables["nodes"])
    rows: dict[Any, int] = {body: i for i, body in enumerate(scene.bodies.values())}
    rows.update({link: first + i for i, link in enumerate(scene.links.values())})
    return rows


class JointDriver(Driver):
    """Steps a model in joint coordinates from frame to frame."""

    def __init__(self, own: JointMechanism, options: Any, step: float) -> None:
        events = [own.event(int(address)) for address in own.model.event_addresses]
        addresses = np.array([address for address, _ in events], np.int64)
        data = np.array([data for _, data in events], np.int64)
        self.own = own
        super().__init__(Functions(own.address, own.data, 1, addresses, data, own.carried), options, step)

    def run(self, y: np.ndarray, dydt: np.ndarray, target: float, land: bool = False) -> int:
        """Step until `target` (s), as `Driver` does; y is the state of the bodies. Returns a status."""
        status = self.own.take(y)
        if status == OK:
            try:
                status = super().run(self.own.z, self.own.dzdt, target, land)
            finally:  # a run that is interrupted goes on from here
                self.own.put(y)
        return status

    def fields(self) -> list[Field]:
        """What is remembered from step to step, beside the state of the bodies."""
        return [*super().fields(), *self.own.fields()]

    def attempt(self, y: np.ndarray) -> np.ndarray:
        """The state of the bodies after the last step that was tried."""
        tried, kept = np.empty_like(y), self.own.z.copy()
        self.own.z[:] = super().attempt(self.own.z)
        self.own.put(tried)
        self.own.z[:] = kept
        return tried
