"""Where the links of a tree are and how they move, from coordinates and speeds: one pass from the root on."""

from typing import Any, NamedTuple

import numpy as np

from ..core.elementary import sin_cos
from ..core.jit import inlined, njit
from ..core.math3 import (
    add,
    add_scaled,
    congruence,
    cross,
    derivative,
    load3,
    matmul,
    matvec,
    matvec_t,
    normalize,
    rotate_by,
    scale,
    store3,
    sub,
    to_matrix,
)
from ..core.simd import load, store
from ..core.tables import column, part
from ..linalg.block_matrix import load_3, store_3
from ..linalg.ordering import COLUMN as LOOP_COLUMN
from ..linalg.ordering import ENTRY, UPDATE
from ..model.tables import System
from ..model.tree import BALL, FREE, HINGE, SLIDER, Tree
from .kinematics import load6, load9

ZERO = (0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@inlined
def load_4(u, at):
    return (load(u, at), load(u, at + 1), load(u, at + 2), load(u, at + 3))


@inlined
def store9(array, m):
    for k in range(9):
        array[k] = m[k]


@inlined
def store6(array, m):
    for k in range(6):
        array[k] = m[k]


@inlined
def carried(node, own, motion):
    """v̇ and ω̇ of a link without those of its own freedoms: the bias, and what its parent's do to it."""
    a, alpha = load3(own.bias), load3(own.bias_turn)
    if node.parent >= 0:
        carrier = motion[node.parent]
        turning = load3(carrier.turning)
        a = add(a, add(load3(carrier.acceleration), cross(turning, load3(own.r))))
        alpha = add(alpha, turning)
    return a, alpha


@njit
def move(u, w, tree):
    """Fill places, velocities, columns and biases of all nodes."""
    nodes = tree.nodes
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if node.kind == FREE:
            move_free(i, u, w, tree)
        elif node.parent < 0:
            attach(i, ZERO, IDENTITY, ZERO, ZERO, u, w, tree)
        else:
            carrier = tree.motion[node.parent]
            attach(
                i, load3(carrier.x), load9(carrier.rotation), load3(carrier.v), load3(carrier.omega), u, w, tree
            )  # fmt: skip


@inlined
def attach(i, x_p, rotation_p, v_p, omega_p, u, w, tree):
    """A node beside its parent, of which these are the place and the velocities."""
    node, own, columns = tree.nodes[i], tree.motion[i], tree.columns
    first = node.first
    turn = load9(node.turned)
    point = matvec(rotation_p, load3(node.anchor_parent))
    linear, angular, relative, spin = ZERO, ZERO, ZERO, ZERO
    if node.kind == HINGE:
        s, c = sin_cos(load(u, node.at))
        a, b, d = load9(node.still), load9(node.turned), load9(node.across)
        turn = (
            a[0] + c * b[0] + s * d[0], a[1] + c * b[1] + s * d[1], a[2] + c * b[2] + s * d[2],
            a[3] + c * b[3] + s * d[3], a[4] + c * b[4] + s * d[4], a[5] + c * b[5] + s * d[5],
            a[6] + c * b[6] + s * d[6], a[7] + c * b[7] + s * d[7], a[8] + c * b[8] + s * d[8],
        )  # fmt: skip
        angular = matvec(rotation_p, load3(node.axis))
        spin = scale(load(w, first), angular)
    elif node.kind == SLIDER:
        linear = matvec(rotation_p, load3(node.axis))
        point = add_scaled(point, load(u, node.at), linear)
        relative = scale(load(w, first), linear)
    elif node.kind == BALL:
        turn = matmul(to_matrix(load_4(u, node.at)), turn)
        spin = matvec(rotation_p, load_3(w, first))
    rotation = matmul(rotation_p, turn)
    arm = matvec(rotation, load3(node.anchor))  # from the centre of mass to the joint
    r = sub(point, arm)
    if node.kind == HINGE:
        linear = cross(arm, angular)
        store3(columns[first].linear, linear)
        store3(columns[first].angular, angular)
    elif node.kind == SLIDER:
        store3(columns[first].linear, linear)
        store3(columns[first].angular, ZERO)
    elif node.kind == BALL:
        for k in range(3):
            axis = (rotation_p[k], rotation_p[3 + k], rotation_p[6 + k])
            store3(columns[first + k].linear, cross(arm, axis))
            store3(columns[first + k].angular, axis)
    store3(own.x, add(x_p, r))
    store9(own.rotation, rotation)
    store3(own.r, r)
    store3(own.arm, arm)
    set_velocity(own, v_p, omega_p, add(relative, cross(arm, spin)), spin)
    store6(own.inertia, congruence(rotation, load6(node.inertia)))


# r̈ = ω × (ω × r) + 2 ω × (what the joint adds) + what that changes by, seen from the parent
@inlined
def set_velocity(own, v_p, omega_p, relative, spin):
    """Velocities and biases of a link, where r and `arm` are known, from those of its parent and what the joint adds: to the
    velocity of the centre of mass, and to the angular velocity."""
    r, along = load3(own.r), cross(load3(own.arm), spin)  # spin × (x − joint)
    carried = cross(omega_p, add_scaled(cross(omega_p, r), 2.0, relative))
    store3(own.v, add(add(v_p, cross(omega_p, r)), relative))
    store3(own.omega, add(omega_p, spin))
    store3(own.bias, add(carried, cross(spin, along)))
    store3(own.bias_turn, cross(omega_p, spin))


@njit
def move_free(i, u, w, tree):
    node, own, columns = tree.nodes[i], tree.motion[i], tree.columns
    rotation = to_matrix(load_4(u, node.at + 3))
    store3(own.x, load_3(u, node.at))
    store9(own.rotation, rotation)
    store3(own.r, ZERO)
    store3(own.v, load_3(w, node.first))
    store3(own.omega, load_3(w, node.first + 3))
    store3(own.bias, ZERO)
    store3(own.bias_turn, ZERO)
    store6(own.inertia, congruence(rotation, load6(node.inertia)))
    for k in range(3):
        axis = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        store3(columns[node.first + k].linear, axis)
        store3(columns[node.first + k].angular, ZERO)
        store3(columns[node.first + 3 + k].linear, ZERO)
        store3(columns[node.first + 3 + k].angular, axis)


@njit
def coordinate_rates(u, w, rates, tree):
    """u̇ from the speeds."""
    nodes = tree.nodes
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if node.kind == HINGE or node.kind == SLIDER:
            store(rates, node.at, load(w, node.first))
        elif node.kind == BALL or node.kind == FREE:
            turn, spin = node.at, node.first
            if node.kind == FREE:
                store_3(rates, node.at, load_3(w, node.first))
                turn, spin = node.at + 3, node.first + 3
            rate = derivative(load_4(u, turn), load_3(w, spin))
            for k in range(4):
                store(rates, turn + k, rate[k])


@njit
def normalize_quaternions(u, tree):
    nodes = tree.nodes
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if node.kind == BALL or node.kind == FREE:
            at = node.at + (3 if node.kind == FREE else 0)
            q = normalize(load_4(u, at))
            for k in range(4):
                store(u, at + k, q[k])


@njit
def step(u, length, change, tree):
    """Move u by so much of a displacement along the speeds."""
    nodes = tree.nodes
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if node.kind == HINGE or node.kind == SLIDER:
            store(u, node.at, load(u, node.at) + length * load(change, node.first))
        elif node.kind == BALL or node.kind == FREE:
            turn, spin = node.at, node.first
            if node.kind == FREE:
                store_3(u, node.at, add_scaled(load_3(u, node.at), length, load_3(change, node.first)))
                turn, spin = node.at + 3, node.first + 3
            q = rotate_by(load_4(u, turn), scale(length, load_3(change, spin)))
            for k in range(4):
                store(u, turn + k, q[k])


# ----------------------------------------------------------------------------------------------------------------------
# Angular velocities of balls and free bodies in the axes of what turns, which a step of an integration method
# carries.
#
# w has them in the axes of the carrier (of the world for what is free), where the error of a quaternion q turns the
# inertia
# that resists them: see `mechanics.spin`. With w = R ω, R the rotation of q, w × w = 0 leaves ẇ = R ω̇. So a step
# carries ω
# behind the state, by ω̇ = Rᵀ ẇ; the speeds of its stages and of its end are R ω.


@njit
def carry(z, dzdt, reduced):
    """Write ω and ω̇ behind the state z at the start of a step and its derivative."""
    first, at = reduced.options[0].coordinates, reduced.options[0].size
    nodes = reduced.tree.nodes
    for i in range(nodes.shape[0]):
        if nodes[i].kind == BALL or nodes[i].kind == FREE:
            rotation, speeds = turn_of(nodes[i], z), first + nodes[i].last - 3
            store_3(z, at, matvec_t(rotation, load_3(z, speeds)))
            store_3(dzdt, at, matvec_t(rotation, load_3(dzdt, speeds)))
            at += 3


@njit
def use_spins(z, reduced):
    """Speeds from ω, where the state z carries it."""
    first, at = reduced.options[0].coordinates, reduced.options[0].size
    if z.shape[0] == at:
        return
    nodes = reduced.tree.nodes
    for i in range(nodes.shape[0]):
        if nodes[i].kind == BALL or nodes[i].kind == FREE:
            store_3(z, first + nodes[i].last - 3, matvec(turn_of(nodes[i], z), load_3(z, at)))
            at += 3


@njit
def spin_rates(z, dzdt, reduced):
    """ω̇ behind the derivative, where the state z carries ω."""
    first, at = reduced.options[0].coordinates, reduced.options[0].size
    if z.shape[0] == at:
        return
    nodes = reduced.tree.nodes
    for i in range(nodes.shape[0]):
        if nodes[i].kind == BALL or nodes[i].kind == FREE:
            store_3(dzdt, at, matvec_t(turn_of(nodes[i], z), load_3(dzdt, first + nodes[i].last - 3)))
            at += 3


@njit
def turn_of(node, z):
    """The rotation of a ball or of what is free."""
    return to_matrix(load_4(z, node.at + (3 if node.kind == FREE else 0)))


# ----------------------------------------------------------------------------------------------------------------------
# The tables of a mechanism in joint coordinates; those of its tree are in `model.tree_tables`.


REDUCED = np.dtype(
    [("mechanism", "i8"), ("handle", "i8"), ("coordinates", "i8"), ("speeds", "i8"), ("size", "i8"), ("limp", "i8"),
     ("held", "i8"), ("loops", "i8")],
    align=True,
)  # fmt: skip
"""Address of the mechanism that knows forces and loops, and what to hand it; numbers of u, of w and of the
state; the freedom that nothing resisted, −1 if none. held : whether the rank of the loops is that of the last state at which
they were closed. loops : address of what closed chains take, 0 where there are none."""

# Where the rows of loops are in the tree; see `loop_graph`.
FRONT = np.dtype(
    [("own", "i8"), ("first", "i8"), ("last", "i8"), ("product", "i8"), ("last_product", "i8")], align=True
)
"""Of each node, then of each particle in a loop. own … first : the carries of loops that close here; first … last : those
of loops that go on to the parent, with their products."""

CARRY = np.dtype([("row", "i8"), ("up", "i8"), ("force", "f8", 3), ("torque", "f8", 3), ("share", "f8", 6)], align=True)
"""A row at a node. up : the carry of this row at the parent, −1 if it goes no further. force, torque : K, its coefficients
on the node's accelerations. share : z of each freedom of the node; see `loops`."""

PRODUCT = np.dtype(
    [("left", "i8"), ("rows", "i8"), ("right", "i8"), ("columns", "i8"), ("target", "i8"), ("row_step", "i8"),
     ("column_step", "i8")],
    align=True,
)  # fmt: skip
"""Two loops that pass a node, or one twice: their first carries, their numbers of rows, and where the products of these go in
the matrix."""

END = np.dtype([("incidence", "i8"), ("carry", "i8"), ("node", "i8"), ("bearer", "i8")], align=True)
"""An incidence of a loop: the carry of its first row, its node, and the nearest node with mass (−1 if none)."""

CLOSURE = np.dtype([("node", "i8"), ("carry", "i8"), ("joint", "i8")], align=True)
"""Of a column of the matrix of the loops, which is one loop: where it closes (−1: at the world) and its first carry
there."""


class Reduced(NamedTuple):
    """A mechanism in joint coordinates. Its state is u, w, then what the state of the mechanism has after its bodies:
    particles, coordinates that are watched, the ledger. r rows of loops; q = m + three a node (particle in a loop)."""

    options: Any = column("1", REDUCED)
    tree: Any = part(Tree)
    system: Any = part(System)
    node_of_row: Any = column(dtype=np.int64, doc="row of the kinematics table → node, −1 for none")
    y: Any = column(doc="the state of the mechanism")
    dydt: Any = column("state")
    fronts: Any = column(dtype=FRONT)
    carries: Any = column(dtype=CARRY)
    products: Any = column(dtype=PRODUCT)
    ends: Any = column(dtype=END)
    closures: Any = column(dtype=CLOSURE, doc="one a column")
    columns: Any = column(
        dtype=LOOP_COLUMN, doc="in the order of elimination: nodes from the leaves on, the world last"
    )
    entries: Any = column(dtype=ENTRY)
    entry_carries: Any = column(
        dtype=np.int64, doc="of each entry: first carry of its loop where the column closes, −1 at the world"
    )
    updates: Any = column(dtype=UPDATE)
    values: Any = column("values", fill=np.nan, doc="the blocks of G, then of its factor")
    lower: Any = column("values", fill=np.nan, doc="likewise")
    sizes: Any = column("r", fill=np.nan, doc="what the tree answers to a row by itself")
    free: Any = column("r", fill=np.nan, doc="what its bodies would answer without the tree")
    kept: Any = column("r", np.int64, fill=1, doc="whether a row is independent of those before it")
    resistance: Any = column("m", doc="that time steps add to the armatures")
    wanted: Any = column("r", fill=np.nan, doc="right-hand side")
    residual: Any = column("r", fill=np.nan)
    change: Any = column("q", fill=np.nan, doc="efforts, then what they and the loops do to the speeds")


# ----------------------------------------------------------------------------------------------------------------------
# Articulated bodies in joint coordinates: kinematics, inverse and forward dynamics, mass matrix, of trees of joints.
