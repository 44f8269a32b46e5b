"""Trees in joint coordinates as carriers of particles: the tasks of `carriers` on the speeds of trees.

The unknowns ζ are changes of the speeds times the time of the stage, in the order of freedoms. J is the Jacobian of the
links, and M the mass matrix of the trees with their armatures and, as in the bodies' own step, with the resistance of
motors, springs and dampers of joints (`contact.joint_space_books`). X₀ has the forces of the scene, of motors and
springs, and the impulses of loops. Contacts, stops, dry friction and ideal motors act in the bodies' own step.

M = Lᵀ D L and the forces are computed by the functions of that step. The preconditioner adds the mass of particles on
each link to M; if there are loops it is M⁻¹ with the response of the loops.
"""

import ctypes
from typing import Any, NamedTuple

import numpy as np

from ..contact.joint_space import (
    JointSpace,
    choose_rows,
    exert,
    fill_slopes,
    find_free_speeds,
    first_half_drift,
    prepare_speeds,
    update_kinematics,
)
from ..contact.joint_space_books import place_soft
from ..contact.joint_space_commands import (
    AIM_LOOPS,
    DRIFTED,
    SHOW,
    SHOW_ON_WAY,
    call_rides,
    copy_step_velocities,
)
from ..contact.joint_space_commands import BEGIN as BEGIN_RIDES
from ..contact.joint_space_rows import pack
from ..contact.joint_space_solves import factorize_packed, pack_matrix, solve_one
from ..contact.joint_space_stepping import JointContactStepper
from ..contact.tables import ContactTables
from ..core.c_function import C_SIGNATURE, C_TYPE, view, viewer
from ..core.jit import DISABLED, CFunction, njit
from ..core.math3 import add, add_scaled, load3, matvec, matvec_t, scale, store3, symvec
from ..core.simd import clear, copy, load, store
from ..core.status import OK
from ..core.tables import address_table, allocate, column, table_at
from ..dynamics.constraints import jacobian_velocity
from ..dynamics.joint_space.dynamics import (
    add_inertia,
    fill_row,
    generalized_forces,
    link_accelerations,
    link_velocities,
)
from ..dynamics.joint_space.kinematics import ZERO
from ..dynamics.joint_space.loops import call_solve_loops
from ..dynamics.joint_space.mechanism import LIMP
from ..dynamics.joint_space.state import forward_kinematics
from ..dynamics.joint_space.tables import Reduced
from ..dynamics.kinematics import load6, load9
from ..linalg.block_ldl import add_at
from ..linalg.block_matrix import load_3, store_3
from ..model.tables import STATE_SIZE
from .carriers import BEGIN, COLLECT, FACTOR, INERTIA, PROJECT, RESPOND, SPREAD
from .tables import BODY_ROW, CARRIED


class Carrying(NamedTuple):
    """What trees need to carry particles. m speeds."""

    stage: Any = column("3", doc="of BEGIN: h (s), the time of a stage in steps, and 1 for an explicit scheme")
    state: Any = column(doc="z at the start of the step; not written")
    z: Any = column("state_size", doc="where the stage starts")
    values: Any = column("factor", doc="L of the preconditioner")
    inverse: Any = column("m", doc="D⁻¹, likewise")
    rates: Any = column("m", unit="m/s², rad/s²", doc="of the speeds without particles")
    packed: Any = column("m", doc="scratch")


# Where the stage starts -------------------------------------------------------------------------------------------------


@njit
def begin_trees(t, y, wanted, carrying, reduced, js, tables):
    """See BEGIN: at the start of the step, or for an explicit scheme in its middle. Returns a status."""
    z, given = carrying.z, reduced.system.commands
    h, explicit = carrying.stage[0], carrying.stage[2] != 0.0
    first, m = reduced.options[0].coordinates, reduced.options[0].speeds
    copy(z, carrying.state)
    for i in range(js.given.shape[0]):
        copy_step_velocities(given[js.given[i].command], js.given[i])
    status = place_trees(t, h if explicit else 0.0, z, reduced, js, tables)
    if status != OK:
        return status
    for k in range(STATE_SIZE * reduced.system.settings[0].rigid):
        store(y, k, load(reduced.y, k))
    if not explicit:
        if given.shape[0] > 0:
            call_rides(SHOW_ON_WAY, t, z, z, tables, reduced, js)  # with the accelerations of the motions
        fill_slopes(z[first : first + m], js, reduced.tree)
    for k in range(m):
        store(js.before, k, load(z, first + k))
    place_soft(z, first, reduced, js, tables)
    status = prepare_speeds(h, reduced, js, tables)
    if status == OK:
        find_free_speeds(h, reduced, js, tables)
        fill_wanted(wanted, carrying, reduced, js, tables)
    for i in range(js.given.shape[0]):
        copy_step_velocities(js.given[i], given[js.given[i].command])
        store3(reduced.tree.motion[js.given[i].node].v, ZERO)  # what they do is no part of J
        store3(reduced.tree.motion[js.given[i].node].omega, ZERO)
    return status


@njit
def place_trees(t, h, z, reduced, js, tables):
    """Move z from t (s) to the middle of a step over h; h = 0: where it is; with the forces and the rows of loops there.
    Returns a status."""
    driven = reduced.system.commands.shape[0] > 0
    status = choose_rows(t, z, reduced, js, tables)
    if driven and status == OK:
        status = call_rides(BEGIN_RIDES, h, z, z, tables, reduced, js)
    if status != OK:
        return status
    limp = first_half_drift(h, z, reduced, js, tables) if h > 0.0 else update_kinematics(z, reduced, js, tables)
    if limp >= 0:
        return LIMP
    if driven and h > 0.0:
        call_rides(DRIFTED, h, z, z, tables, reduced, js)
    forward_kinematics(z, reduced)  # what is welded too, which has no node of its own in the tree of the bodies' step
    reduced.system.settings[0].implicit = 1  # soft rows follow
    status = exert(t + 0.5 * h, reduced)
    reduced.system.settings[0].implicit = 0
    if status != OK:
        return status
    if driven:
        call_rides(AIM_LOOPS, h, z, z, tables, reduced, js)
    elif reduced.system.error.shape[0] > 0:
        jacobian_velocity(reduced.system, js.loop_rates)
    return OK


# By an explicit scheme the impulse of the forces acts at the middle, and half a drift with the new speeds follows. By the
# others the stage begins with the step, and what the speeds do on their own counts too.
@njit
def fill_wanted(wanted, carrying, reduced, js, tables):
    """X₀ = τ (v + T a) of all links, with T the time of the impulse and a their accelerations in the step."""
    tree, rates, before, after = reduced.tree, carrying.rates, js.before, js.after
    h, explicit = carrying.stage[0], carrying.stage[2] != 0.0
    tau = carrying.stage[1] * h
    nodes, motion, kinematics = tree.nodes, tree.motion, reduced.system.kinematics
    for k in range(rates.shape[0]):
        store(rates, k, (load(after, k) - load(before, k)) / h)
        if not explicit:
            store(rates, k, load(rates, k) + load(js.slopes, k))
    link_velocities(before, tree)
    if explicit and reduced.system.commands.shape[0] > 0:
        call_rides(SHOW, 1.0, carrying.z, carrying.z, tables, reduced, js)
    if explicit:
        link_velocities(after, tree)
    else:
        link_accelerations(rates, tree)
    for i in range(nodes.shape[0]):
        row = nodes[i].row
        if 0 <= row < reduced.system.settings[0].rigid:
            own = motion[i]
            v, omega = load3(own.v), load3(own.omega)
            if not explicit:
                v = add_scaled(load3(kinematics[row].v), tau, load3(own.acceleration))
                omega = add_scaled(load3(kinematics[row].omega), tau, load3(own.turning))
            store_3(wanted, BODY_ROW * row, scale(tau, v))
            store_3(wanted, BODY_ROW * row + 3, scale(tau, omega))


# J and Jᵀ ---------------------------------------------------------------------------------------------------------------


@njit
def spread_speeds(source, target, reduced):
    """Displacements and turns of the bodies, of changes ζ of the coordinates."""
    nodes, motion = reduced.tree.nodes, reduced.tree.motion
    link_velocities(source, reduced.tree)
    for i in range(nodes.shape[0]):
        row = nodes[i].row
        if 0 <= row < reduced.system.settings[0].rigid:
            store_3(target, BODY_ROW * row, load3(motion[i].v))
            store_3(target, BODY_ROW * row + 3, load3(motion[i].omega))


@njit
def collect_wrenches(source, target, carrying, reduced):
    """Add Jᵀ of the wrenches on the bodies."""
    nodes, motion, efforts = reduced.tree.nodes, reduced.tree.motion, carrying.packed
    for i in range(nodes.shape[0]):
        row = nodes[i].row
        acts = 0 <= row < reduced.system.settings[0].rigid
        store3(motion[i].bearing, load_3(source, BODY_ROW * row) if acts else ZERO)
        store3(motion[i].bearing_torque, load_3(source, BODY_ROW * row + 3) if acts else ZERO)
    generalized_forces(efforts, reduced.tree)
    for k in range(target.shape[0]):
        store(target, k, load(target, k) + load(efforts, k))


# M and its inverse ------------------------------------------------------------------------------------------------------


@njit
def add_momentum(weight, source, target, carrying, js):
    """`target` += w M ζ, with M = Lᵀ D L."""
    starts, columns, values, inverses = js.factor_starts, js.factor_columns, js.factor_values, js.factor_inverse
    x = carrying.packed
    pack(source, x, js)
    for p in range(x.shape[0] - 1, -1, -1):
        total = load(x, p)
        for e in range(starts[p], starts[p + 1]):
            total += load(values, e) * load(x, columns[e])
        store(x, p, total / load(inverses, p))
    for p in range(x.shape[0]):
        for e in range(starts[p], starts[p + 1]):
            store(x, columns[e], load(x, columns[e]) + load(values, e) * load(x, p))
    for p in range(x.shape[0]):
        k = js.freedom_at[p]
        store(target, k, load(target, k) + weight * load(x, p))


@njit
def factor_loaded(weight, carried, carrying, reduced, js, tables):
    """The factor of w M and of what particles weigh on the links, by composite bodies. Returns a status."""
    tree, resistance = reduced.tree, reduced.resistance
    if reduced.wanted.shape[0] > 0:
        return OK
    nodes, motion, columns, freedoms, matrix = tree.nodes, tree.motion, tree.columns, tree.freedoms, tree.matrix
    m, rigid = freedoms.shape[0], reduced.system.settings[0].rigid
    for i in range(nodes.shape[0]):
        own, row = motion[i], nodes[i].row
        j = load6(own.inertia)
        for k in range(6):
            own.mass_block[k] = weight * nodes[i].mass if k < 3 else 0.0
            own.inertia_block[k] = weight * j[k]
        for k in range(9):
            own.mixed_block[k] = 0.0
        if 0 <= row < rigid:
            at = CARRIED * row
            for k in range(6):
                own.mass_block[k] += load(carried, at + k)
                own.inertia_block[k] += load(carried, at + 15 + k)
            for k in range(9):
                own.mixed_block[k] += load(carried, at + 6 + k)
    for i in range(nodes.shape[0] - 1, -1, -1):
        own = motion[i]
        mass, mixed, inertia = load6(own.mass_block), load9(own.mixed_block), load6(own.inertia_block)
        for k in range(nodes[i].first, nodes[i].last):
            s, turn = load3(columns[k].linear), load3(columns[k].angular)
            f = add(symvec(mass, s), matvec(mixed, turn))
            g = add(matvec_t(mixed, s), symvec(inertia, turn))
            fill_row(i, k, m, f, g, tree)
            add_at(matrix, k * m + k, weight * freedoms[k].armature)
        if nodes[i].parent >= 0:
            add_inertia(mass, mixed, inertia, load3(own.r), motion[nodes[i].parent])
    pack_matrix(carrying.values, carrying.inverse, tree, js)
    for p in range(m):
        resist = load(resistance, js.freedom_at[p])  # which `prepare_speeds` leaves where there are no loops
        store(carrying.inverse, p, load(carrying.inverse, p) + weight * resist)
    return OK if factorize_packed(carrying.values, carrying.inverse, js) < 0 else LIMP


@njit
def respond(weight, source, target, carrying, reduced, js):
    """ζ = (w M)⁻¹ ρ with the answer of loops, or without loops with what particles weigh on the links."""
    if reduced.wanted.shape[0] > 0:
        answer_of_loops(1.0 / weight, source, target, reduced)
        clear(source)
        add_momentum(weight, target, source, carrying, js)
        return
    x = carrying.packed
    pack(source, x, js)
    solve_one(x, 0, 0, x.shape[0], carrying.values, carrying.inverse, js)
    for p in range(x.shape[0]):
        store(target, js.freedom_at[p], load(x, p))


@njit
def answer_of_loops(share, source, target, reduced):
    """`target` = `share` times the speeds that a unit impulse ρ gives to trees whose loops stay closed."""
    change = reduced.change
    clear(change)
    clear(reduced.wanted)
    for k in range(source.shape[0]):
        store(change, k, load(source, k))
    call_solve_loops(reduced)
    for k in range(target.shape[0]):
        store(target, k, share * load(change, k))


@njit
def project(source, target, carrying, reduced, js):
    """The part of ρ that loops leave to move the trees: M times what they answer."""
    if reduced.wanted.shape[0] == 0:
        copy(target, source)
        return
    answer_of_loops(1.0, source, carrying.rates, reduced)
    clear(target)
    add_momentum(1.0, carrying.rates, target, carrying, js)


# The C function ---------------------------------------------------------------------------------------------------------


@njit
def trees_task(task, t, source, target, carrying, tables, reduced, js):
    """Do one of the tasks of `carriers`; t is a time in BEGIN, else the weight w. Returns a status."""
    if task == BEGIN:
        return begin_trees(t, source, target, carrying, reduced, js, tables)
    if task == SPREAD:
        spread_speeds(source, target, reduced)
    elif task == COLLECT:
        collect_wrenches(source, target, carrying, reduced)
    elif task == INERTIA:
        add_momentum(t, source, target, carrying, js)
    elif task == FACTOR:
        return factor_loaded(t, source, carrying, reduced, js, tables)
    elif task == RESPOND:
        respond(t, source, target, carrying, reduced, js)
    elif task == PROJECT:
        project(source, target, carrying, reduced, js)
    return OK


_floats = viewer(np.float64)
_addresses = viewer(np.int64)


# `data`: the addresses of our table and of those of the bodies' step.
def trees_entry(data, task, t, source, n, target, m):
    at = _addresses(data, 2)
    tables = table_at(ContactTables, at[1])
    reduced, js = table_at(Reduced, tables.callbacks[0].reduced), table_at(JointSpace, tables.callbacks[0].joint_space)
    return trees_task(task, t, _floats(source, n), _floats(target, m), table_at(Carrying, at[0]), tables, reduced, js)


TREES_ENTRY = CFunction(trees_entry, C_SIGNATURE)


class TreeCarriers:
    """The trees of a run as carriers: `address` and `data` of the C function, to be fitted to the tables of `bodies` before
    steps. h : s. fraction, explicit : of the scheme. unknowns : how many speeds there are."""

    def __init__(self, bodies: JointContactStepper, h: float, fraction: float, explicit: bool) -> None:
        self._bodies, own = bodies, bodies.own
        js = bodies._joint_space
        self.unknowns = len(js.freedom_at)
        self._tables = allocate(
            Carrying, {"m": self.unknowns, "factor": len(js.factor_columns), "state_size": own.size},
            stage=np.array([h, fraction, float(explicit)]), state=own.z,
        )  # fmt: skip
        self._own = address_table(self._tables)
        self._data = np.zeros(2, np.int64)
        self._data[0] = self._own.ctypes.data
        self.data = int(self._data.ctypes.data)
        if DISABLED:
            self._callback = C_TYPE(self._call)
            self.address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
        else:
            self.address = TREES_ENTRY.address

    def _call(self, data: int, task: int, t: float, source: int, n: int, target: int, m: int) -> int:
        bodies = self._bodies
        tables, own = bodies.contact_tables, (bodies.own.tables, bodies._joint_space)
        return int(trees_task(task, t, view(source, n), view(target, m), self._tables, tables, *own))

    def begin(self, y: np.ndarray) -> int:
        """Take the coordinates of the state y, and the addresses of the tables as they are. Returns a status."""
        self._data[1] = self._bodies.address_of_tables
        return self._bodies.own.take(y)
