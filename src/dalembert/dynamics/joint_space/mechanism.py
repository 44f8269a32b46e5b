"""A mechanism in joint coordinates: the C function of its tasks, and the classes that run it from Python.

Like `dynamics.mechanism`, for the state z: u, w, then the entries of the state that follow the bodies. The derivative
is forward kinematics (`state`), the forces of the mechanism in maximal coordinates, and the articulated-body algorithm
(`dynamics`); joints that close loops keep multipliers (`loops`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.c_function import (
    C_SIGNATURE,
    C_TYPE,
    CARRY,
    COMPLETE_EVALUATED,
    DERIVATIVE,
    EVENT,
    FORCES,
    MEASURE,
    MERGE,
    RECORD,
    WRITE,
    call_pointer,
    view,
    viewer,
)
from ...core.checkpoint_fields import Field
from ...core.jit import DISABLED, CFunction, njit
from ...core.math3 import add, cross, load3, scale, store3, sub, symvec
from ...core.simd import clear, load, store
from ...core.status import OK
from ...core.tables import TableFunction, allocate, table_at
from ...integrate.driver import Driver
from ...integrate.state import Functions
from ...linalg.block_matrix import store_3
from ...model.compile import Model
from ...model.tables import ANGLE, CONSTRAINT_WORK, FEEDBACK, PENALTY, PROJECTION, STATE_SIZE
from ...model.tree import BALL, FREE, Layout
from ..constraints import jacobian_acceleration, jacobian_velocity, spread
from ..kinematics import load6
from ..mechanism import Mechanism
from .dynamics import accelerate, fill_matrix, inverse_dynamics, link_accelerations
from .kinematics import carry, coordinate_rates, normalize_quaternions, spin_rates, use_spins
from .loops import LOOPS_ENTRY, build_loop_graph, call_factor_loops, call_project, call_solve_loops, loops_task
from .state import coordinates_from_bodies, forward_kinematics, place_commanded
from .tables import REDUCED, Reduced

FORWARD_KINEMATICS, INVERSE_KINEMATICS = 40, 41  # tasks of our own: the mechanism's state from z, and the reverse
INERTIA = 42  # task: `matrix` of the tree = M
LIMP = 110  # status: a freedom without inertia, which the options name
TOO_FAST = 111  # status: joints turn too far in a step of contact for their free motion to be found
_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def tree_task(task, t, z, dzdt, reduced):
    """Do one of the tasks of `core.c_function`, or of this file, at time t (s) and state z; returns a status.

    Reads z and writes dzdt; INVERSE_KINEMATICS and the end of a step write z; all tasks overwrite tables of `reduced`.
    """
    size = reduced.options[0].state_size
    if reduced.system.commands.shape[0] > 0:
        status = place_commanded(t, reduced)
        if status != 0:
            return status
    if task == FORWARD_KINEMATICS:
        forward_kinematics(z[:size], reduced)
        return 0
    if task == INERTIA:
        forward_kinematics(z, reduced)
        fill_matrix(reduced.tree)
        return 0
    if task == INVERSE_KINEMATICS:
        reduced.options[0].held = 0
        limp = coordinates_from_bodies(z, reduced)
        if limp >= 0:
            reduced.options[0].limp = limp
        return 0 if limp < 0 else LIMP
    if task == DERIVATIVE:
        use_spins(z, reduced)
        forward_kinematics(z[:size], reduced)
        status = derivative(t, z[:size], dzdt[:size], True, reduced)
        spin_rates(z, dzdt, reduced)
        return status
    if task == CARRY:
        carry(z, dzdt, reduced)
        return 0
    if task == MERGE:
        use_spins(z, reduced)
        return 0
    if task == MEASURE:
        forward_kinematics(z, reduced)
        status = derivative(t, z, dzdt, True, reduced)
        record(t, z, reduced)
        return status
    status = complete(t, z[:size], dzdt[:size], task == COMPLETE_EVALUATED, reduced)
    if z.shape[0] > size:
        carry(z, dzdt, reduced)
    return status


# With EVENT `data` is the address of an event function of y, and after it that of the tables.
def tree_entry(data, task, t, z, n, dzdt, m):
    if task == EVENT:
        at = _addresses(data, 2)
        reduced = table_at(Reduced, at[1])
        if reduced.system.commands.shape[0] > 0:
            place_commanded(t, reduced)
        forward_kinematics(_floats(z, n), reduced)
        return call_pointer(at[0], 0, EVENT, t, reduced.y, _floats(dzdt, m))
    return tree_task(task, t, _floats(z, n), _floats(dzdt, m), table_at(Reduced, data))


TREE_ENTRY = CFunction(tree_entry, C_SIGNATURE)


# The derivative --------------------------------------------------------------------------------------------------------


@njit
def derivative(t, z, dzdt, moved, reduced):
    """dzdt = (u̇, ẇ, and the rates of the rest), after `forward_kinematics`. moved : whether forces and the factors of the
    loops are those of another state. Returns a status."""
    options, tree, system = reduced.options[0], reduced.tree, reduced.system
    dydt = reduced.dydt
    if moved or system.settings[0].particles > 0:  # whose forces are in dydt, which `update_at` overwrites
        status = call_pointer(options.mechanism, options.handle, FORCES, t, reduced.y, dydt)
        if status != 0:
            return status
    load_forces(False, reduced)
    if system.error.shape[0] == 0 or system.settings[0].hold == PENALTY:
        if system.error.shape[0] > 0:
            penalize_loops(reduced)
            load_forces(True, reduced)
        options.limp = accelerate(tree)
    else:
        options.limp = call_factor_loops(options.held == 0, reduced) if moved else -1
        accelerate_in_loops(reduced)
        load_forces(True, reduced)
    if options.limp >= 0:
        return LIMP
    reactions(reduced)
    if system.commands.shape[0] > 0:
        reactions_of_commanded(reduced)
    call_pointer(options.mechanism, options.handle, WRITE, t, reduced.y, dydt)
    first = options.coordinates
    w, rates = z[first : first + options.speeds], tree.rates
    coordinate_rates(z, w, dzdt, tree)
    for k in range(options.speeds):
        store(dzdt, first + k, load(rates, k))
    copy_tail_back(dydt, STATE_SIZE * system.settings[0].rigid, dzdt, first + options.speeds)
    spinning = 0.0  # what rotors take up is kinetic energy, and not work of the constraints
    for k in range(options.speeds):
        spinning += tree.freedoms[k].armature * load(rates, k) * load(w, k)
    at = system.settings[0].ledger + CONSTRAINT_WORK - system.power.shape[0] + dzdt.shape[0]
    store(dzdt, at, load(dzdt, at) + spinning)
    return 0


@njit
def load_forces(constrained, reduced):
    """Write the applied forces on links, from the kinematics table; with those of the loops if `constrained`."""
    kinematics = reduced.system.kinematics
    nodes, motion = reduced.tree.nodes, reduced.tree.motion
    for i in range(nodes.shape[0]):
        own, row = motion[i], nodes[i].row
        force, torque = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if row >= 0:
            kin = kinematics[row]
            force, torque = load3(kin.force), load3(kin.torque)
            if constrained:
                force, torque = add(force, load3(kin.linear)), add(torque, load3(kin.angular))
        store3(own.force, force)
        store3(own.torque, torque)


@njit
def penalize_loops(reduced):
    """λ = −(k C + d J v) of loops that are stiff springs; Jᵀ λ into the kinematics table."""
    system = reduced.system
    settings, wanted, multipliers, error = (
        system.settings[0], reduced.wanted, system.multipliers, system.error
    )  # fmt: skip
    jacobian_velocity(system, wanted)
    for r in range(wanted.shape[0]):
        store(multipliers, r, -settings.stiffness * load(error, r) - settings.damping * load(wanted, r))
    spread(system, multipliers)


@njit
def accelerate_in_loops(reduced):
    """`rates` = ẇ, the accelerations of all links, and λ with Jᵀ λ in the kinematics table; the loops are factored."""
    tree, change = reduced.tree, reduced.change
    efforts, rates, scratch = tree.efforts, tree.rates, tree.scratch
    clear(rates)
    link_accelerations(rates, tree)
    inverse_dynamics(rates, scratch, tree)
    for k in range(rates.shape[0]):
        store(change, k, load(efforts, k) - load(scratch, k))
    loop_rhs(reduced)
    call_solve_loops(reduced)
    for k in range(rates.shape[0]):
        store(rates, k, load(change, k))
    link_accelerations(rates, tree)
    spread(reduced.system, reduced.system.multipliers)


@njit
def loop_rhs(reduced):
    """`wanted` = c of J ẇ = c, where the links have their accelerations at ẇ = 0; forces on particles into `change`."""
    system, change = reduced.system, reduced.change
    nodes, motion, kinematics = reduced.tree.nodes, reduced.tree.motion, system.kinematics
    settings = system.settings[0]
    wanted, error, bias = reduced.wanted, system.error, system.bias
    for i in range(nodes.shape[0]):
        row = nodes[i].row
        if row >= 0:
            store3(kinematics[row].acceleration, load3(motion[i].acceleration))
            store3(kinematics[row].turning, load3(motion[i].turning))
    for i in range(system.nodes.shape[0]):
        kin = kinematics[settings.rigid + i]
        store3(kin.acceleration, (0.0, 0.0, 0.0))
        store_3(change, reduced.options[0].speeds + 3 * i, load3(kin.force))
    jacobian_acceleration(system, wanted)
    for r in range(wanted.shape[0]):
        store(wanted, r, -load(wanted, r) - load(bias, r))
    if settings.hold == FEEDBACK:
        rates = reduced.residual
        jacobian_velocity(system, rates)
        for r in range(wanted.shape[0]):
            change_of_rate = settings.stiffness * load(error, r) + settings.damping * load(rates, r)
            store(wanted, r, load(wanted, r) - change_of_rate)


@njit
def reactions(reduced):
    """Forces of the joints on each body, into the kinematics table: m v̇ − F and I ω̇ + ω × I ω − T."""
    system = reduced.system
    nodes, motion, kinematics = reduced.tree.nodes, reduced.tree.motion, system.kinematics
    for i in range(nodes.shape[0]):
        own, row = motion[i], nodes[i].row
        if 0 <= row < system.settings[0].rigid:
            kin, inertia, omega = kinematics[row], load6(own.inertia), load3(own.omega)
            moment = add(symvec(inertia, load3(own.turning)), cross(omega, symvec(inertia, omega)))
            store3(kin.linear, sub(scale(nodes[i].mass, load3(own.acceleration)), load3(kin.force)))
            store3(kin.angular, sub(moment, load3(kin.torque)))


@njit
def reactions_of_commanded(reduced):
    """Forces of the joints on links that move by command: together with the applied forces, the opposite of what the drive
    exerts, which is their `bearing` in inverse dynamics."""
    tree, system = reduced.tree, reduced.system
    commands, kinematics = system.commands, system.kinematics
    inverse_dynamics(tree.rates, tree.scratch, tree)
    for i in range(commands.shape[0]):
        if commands[i].body >= 0:
            kin, own = kinematics[commands[i].body], tree.motion[reduced.node_of_row[commands[i].body]]
            store3(kin.linear, scale(-1.0, add(load3(own.bearing), load3(kin.force))))
            store3(kin.angular, scale(-1.0, add(load3(own.bearing_torque), load3(kin.torque))))


@njit
def copy_tail_back(source, first, target, to):
    """target[to:] = source[first:], as many as target has."""
    for k in range(target.shape[0] - to):
        store(target, to + k, load(source, first + k))


# The end of a step, and what is recorded -------------------------------------------------------------------------------


@njit
def complete(t, z, dzdt, evaluated, reduced):
    """Finish a step in place: unit quaternions, loops closed; f(t, z) in dzdt. Returns a status."""
    normalize_quaternions(z, reduced.tree)
    if reduced.system.error.shape[0] > 0 and reduced.system.settings[0].hold == PROJECTION:
        status = call_project(t, z, reduced)
        return status if status != 0 else derivative(t, z, dzdt, False, reduced)
    if evaluated:
        return 0
    forward_kinematics(z, reduced)
    return derivative(t, z, dzdt, True, reduced)


@njit
def record(t, z, reduced):
    """What is recorded of a state that was just evaluated: that of the mechanism, the energy of rotors, and the wrench of
    each joint of the tree."""
    options, tree = reduced.options[0], reduced.tree
    call_pointer(options.mechanism, options.handle, RECORD, t, reduced.y, reduced.dydt)
    freedoms, energies = tree.freedoms, reduced.system.energies
    for k in range(options.speeds):
        w = load(z, options.coordinates + k)
        energies[0] += 0.5 * freedoms[k].armature * w * w
    inverse_dynamics(tree.rates, tree.scratch, tree)
    nodes, motion, wrenches = tree.nodes, tree.motion, reduced.system.wrenches
    for i in range(nodes.shape[0]):
        node, own = nodes[i], motion[i]
        if node.joint < 0:
            continue
        f, arm = load3(own.bearing), load3(own.arm)
        torque = sub(load3(own.bearing_torque), cross(arm, f))
        for k in range(3):
            wrenches[6 * node.joint + k] = node.sign * f[k]
            wrenches[6 * node.joint + 3 + k] = node.sign * torque[k]


# From Python -----------------------------------------------------------------------------------------------------------


class JointMechanism(Mechanism):
    """A model in joint coordinates behind a C pointer, and the conversion of states.

    mechanism : that of the model, which computes forces and rows of loops. `system` is its tables.
    """

    def __init__(self, model: Model, mechanism: Mechanism) -> None:
        layout = model.tree
        assert layout is not None
        self.model, self.mechanism, self.system, self.layout = model, mechanism, mechanism.system, layout
        rows = rows_of(model, layout)
        tree = layout.tree(rows, len(model.graph.joints))
        nodes, rows_of_loops = len(model.tables["nodes"]), model.graph.rows
        m, q = len(layout.freedoms), len(layout.freedoms) + 3 * nodes
        options: Any = np.zeros(1, REDUCED).view(np.recarray)
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
        self.carried = 3 * len(self.turns)  # numbers behind the state in a step: see `kinematics`
        self.efforts = tree.efforts  # (m,) applied along the speeds, beside the forces of the scene
        self.size = len(layout.start) + m + model.size - STATE_SIZE * len(model.body_names)
        options.state_size = self.size
        loops = build_loop_graph(model, node_of_row, tree.nodes.mass)

        sizes = {"values": loops.symbolic.values, "r": rows_of_loops, "m": m, "q": q, "state": model.size}
        reduced = allocate(
            Reduced, sizes, options=options, tree=tree, system=mechanism.system, node_of_row=node_of_row,
            y=model.initial.copy(), fronts=loops.fronts, carries=loops.carries, products=loops.products, ends=loops.ends,
            closures=loops.closures, columns=loops.symbolic.columns, entries=loops.symbolic.entries,
            entry_carries=loops.entry_carries, updates=loops.symbolic.updates,
        )  # fmt: skip
        tail = model.weights[STATE_SIZE * len(model.body_names) :]
        speeds = np.ones(m)
        for first in self.turns:
            speeds[first : first + 3] = 0.0  # given by what is carried
        self.weights = np.concatenate([np.ones(len(layout.start)), speeds, tail, np.ones(self.carried)])
        self._closed = TableFunction(LOOPS_ENTRY, loops_task, reduced) if rows_of_loops else None
        options.loops = self._closed.address if self._closed else 0
        self._bind(TREE_ENTRY, tree_task, reduced)
        self.z, self.dzdt = np.zeros(self.size), np.full(self.size, np.nan)
        self.z[: len(layout.start)] = layout.start
        self._counts = counts_of_turns(model, layout)
        self._known = np.full(model.size, np.nan)
        self._where = (self.z.ctypes.data, self.z.size, self.dzdt.ctypes.data, self.dzdt.size)
        self.time = 0.0  # s, of z

    def _bind(self, function: CFunction, plain: Callable[..., int], tables: Any) -> None:
        """Make this object the C function `function` on these tables."""
        TableFunction.__init__(self, function, plain, tables)
        self._plain, self._events = plain, list[Any]()  # the latter keeps their data alive

    def __call__(self, task: int, t: float, y: np.ndarray, dydt: np.ndarray) -> int:
        """Measure or complete the bodies' state y, in place; returns a status."""
        self.time = t
        status = self.take(y)
        if status == OK:
            status = self.call(task, t, self.z, self.dzdt)
        if task != MEASURE:
            self.put(y)
        return status

    def put(self, y: np.ndarray) -> None:
        """The state of the bodies, y, from z."""
        self._function(self.data, FORWARD_KINEMATICS, self.time, *self._where)
        self._known[:] = y[:] = self.tables.y

    def take(self, y: np.ndarray) -> int:
        """z from the state of the bodies, nearest to its last value, unless y is what `put` wrote last. Returns a status."""
        if (y == self._known).all():
            return OK
        bodies = STATE_SIZE * len(self.model.body_names)
        beside = bool(self.system.settings[0].particles) and np.array_equal(y[:bodies], self._known[:bodies])
        self.tables.y[:] = self._known[:] = y
        status = OK if beside else self.call(INVERSE_KINEMATICS, self.time, self.z, self.dzdt)
        if beside:  # steps of particles have changed these and the ledger alone
            self.z[len(self.z) - len(y) + bodies :] = y[bodies:]
        for count, u in self._counts:
            self.z[u] += 2.0 * np.pi * np.round((self.z[count] - self.z[u]) / (2.0 * np.pi))
        return status

    def choose_rows(self, t: float, y: np.ndarray) -> None:
        """Nothing: the rows of loops are chosen where loops are closed, in `project`."""

    def forget(self) -> None:
        """Let the next `take` find z anew, though y is the same: speeds are relative to bodies whose motion was set."""
        self._known[:] = np.nan

    def count_turns(self) -> None:
        """Set the turn counts that forces and gears read to those of u. Call it after u was set from outside."""
        for count, u in self._counts:
            self.z[count] = self.z[u]

    def fields(self) -> list[Field]:
        """The part of the state beside that of the bodies: z, its derivative, and the state that z belongs to."""
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
            finally:  # an interrupted run goes on from here
                self.own.time = float(self.time)
                self.own.put(y)
        return status

    def fields(self) -> list[Field]:
        """What is remembered from step to step, beside the state of the bodies."""
        return [*super().fields(), *self.own.fields()]

    def attempt(self, y: np.ndarray) -> np.ndarray:
        """The state of the bodies after the last step that was tried."""
        tried, current = np.empty_like(y), self.own.z.copy()
        self.own.z[:] = super().attempt(self.own.z)
        self.own.put(tried)
        self.own.z[:] = current
        return tried
