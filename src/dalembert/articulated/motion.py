"""Where the links of a tree are and how they move, from coordinates and speeds: one pass from the root on."""

from ..collide.bounds import product
from ..elementary.circular import sin_cos
from ..jit import inlined, njit
from ..linalg.block_matrix import load_3, store_3
from ..mechanics.kinematics import load6, load9
from ..model.tree_tables import BALL, FREE, HINGE, SLIDER
from ..quat import derivative, normalize, rotate_by, to_matrix
from ..unchecked import peek, poke
from ..vec import add, add_scaled, congruence, cross, load3, matvec, scale, store3, sub

ZERO = (0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@inlined
def load_4(u, at):
    return (peek(u, at), peek(u, at + 1), peek(u, at + 2), peek(u, at + 3))


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
        s, c = sin_cos(peek(u, node.at))
        a, b, d = load9(node.still), load9(node.turned), load9(node.across)
        turn = (
            a[0] + c * b[0] + s * d[0], a[1] + c * b[1] + s * d[1], a[2] + c * b[2] + s * d[2],
            a[3] + c * b[3] + s * d[3], a[4] + c * b[4] + s * d[4], a[5] + c * b[5] + s * d[5],
            a[6] + c * b[6] + s * d[6], a[7] + c * b[7] + s * d[7], a[8] + c * b[8] + s * d[8],
        )  # fmt: skip
        angular = matvec(rotation_p, load3(node.axis))
        spin = scale(peek(w, first), angular)
    elif node.kind == SLIDER:
        linear = matvec(rotation_p, load3(node.axis))
        point = add_scaled(point, peek(u, node.at), linear)
        relative = scale(peek(w, first), linear)
    elif node.kind == BALL:
        turn = product(to_matrix(load_4(u, node.at)), turn)
        spin = matvec(rotation_p, load_3(w, first))
    rotation = product(rotation_p, turn)
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
            poke(rates, node.at, peek(w, node.first))
        elif node.kind == BALL or node.kind == FREE:
            turn, spin = node.at, node.first
            if node.kind == FREE:
                store_3(rates, node.at, load_3(w, node.first))
                turn, spin = node.at + 3, node.first + 3
            rate = derivative(load_4(u, turn), load_3(w, spin))
            for k in range(4):
                poke(rates, turn + k, rate[k])


@njit
def normalize_quaternions(u, tree):
    nodes = tree.nodes
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if node.kind == BALL or node.kind == FREE:
            at = node.at + (3 if node.kind == FREE else 0)
            q = normalize(load_4(u, at))
            for k in range(4):
                poke(u, at + k, q[k])


@njit
def step(u, length, change, tree):
    """Move u by so much of a displacement along the speeds."""
    nodes = tree.nodes
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if node.kind == HINGE or node.kind == SLIDER:
            poke(u, node.at, peek(u, node.at) + length * peek(change, node.first))
        elif node.kind == BALL or node.kind == FREE:
            turn, spin = node.at, node.first
            if node.kind == FREE:
                store_3(u, node.at, add_scaled(load_3(u, node.at), length, load_3(change, node.first)))
                turn, spin = node.at + 3, node.first + 3
            q = rotate_by(load_4(u, turn), scale(length, load_3(change, spin)))
            for k in range(4):
                poke(u, turn + k, q[k])
