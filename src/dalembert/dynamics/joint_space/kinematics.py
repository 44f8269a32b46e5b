"""Kinematics of a tree: poses, velocities, Jacobian columns and bias accelerations of the links from u and w, in one pass
from the root to the leaves (R. Featherstone, *Rigid Body Dynamics Algorithms*, 2008, §5.1); then u̇ from w, and displacements
along w.

The velocity of a link is that of its parent and what its joint adds, with one column (linear, angular) for each freedom:

    v = v_p + ω_p × r + Σ s_k w_k,   ω = ω_p + Σ t_k w_k.
"""

from ...core.elementary import sin_cos
from ...core.jit import inlined, njit
from ...core.math3 import (
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
from ...core.simd import load, store
from ...linalg.block_matrix import load_3, store_3
from ...model.tree import BALL, COMMANDED, FREE, HINGE, SLIDER, WELD
from ..kinematics import load6, load9

ZERO = (0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@inlined
def load_4(u, at):
    """Four numbers from `at` on."""
    return (load(u, at), load(u, at + 1), load(u, at + 2), load(u, at + 3))


@inlined
def store9(array, m):
    """array[:9] = m."""
    for k in range(9):
        array[k] = m[k]


@inlined
def store6(array, m):
    """array[:6] = m."""
    for k in range(6):
        array[k] = m[k]


@inlined
def bias_acceleration(node, own, motion):
    """(v̇, ω̇) of a link at zero rates of its own freedoms: its bias plus the acceleration of its parent, moved by r."""
    a, alpha = load3(own.bias), load3(own.bias_turn)
    if node.parent >= 0:
        carrier = motion[node.parent]
        turning = load3(carrier.turning)
        a = add(a, add(load3(carrier.acceleration), cross(turning, load3(own.r))))
        alpha = add(alpha, turning)
    return a, alpha


@njit
def update_links(u, w, tree):
    """Write the poses, velocities, columns, biases and inertias of all links, the `motion` and `columns` of the tree."""
    nodes = tree.nodes
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if node.kind == COMMANDED:
            continue  # as `state.place_commanded` left it
        if node.kind == FREE:
            update_free(i, u, w, tree)
        elif node.parent < 0:
            update_link(i, ZERO, IDENTITY, ZERO, ZERO, u, w, tree)
        else:
            carrier = tree.motion[node.parent]
            update_link(
                i, load3(carrier.x), load9(carrier.rotation), load3(carrier.v), load3(carrier.omega), u, w, tree
            )  # fmt: skip


@inlined
def update_link(i, x_p, rotation_p, v_p, omega_p, u, w, tree):
    """Write link i, on a hinge, slider, ball or weld, from the pose and the velocities of its parent."""
    node, own, columns = tree.nodes[i], tree.motion[i], tree.columns
    first = node.first
    if node.kind == WELD:
        update_welded(node, own, x_p, rotation_p, v_p, omega_p)
        return
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


@inlined
def update_welded(node, own, x_p, rotation_p, v_p, omega_p):
    """Write a link that is welded to its parent."""
    rotation = matmul(rotation_p, load9(node.turned))
    arm = matvec(rotation, load3(node.anchor))
    r = sub(matvec(rotation_p, load3(node.anchor_parent)), arm)
    store3(own.x, add(x_p, r))
    store9(own.rotation, rotation)
    store3(own.r, r)
    store3(own.arm, arm)
    weld_velocity(own, v_p, omega_p)
    store6(own.inertia, congruence(rotation, load6(node.inertia)))


@inlined
def weld_velocity(own, v_p, omega_p):
    """Write velocities and biases of a link that is welded to its parent, with r known."""
    along = cross(omega_p, load3(own.r))
    store3(own.v, add(v_p, along))
    store3(own.omega, omega_p)
    store3(own.bias, cross(omega_p, along))
    store3(own.bias_turn, ZERO)


# r̈ = ω_p × (ω_p × r) + 2 ω_p × ṙ_rel + r̈_rel, with the velocity ṙ_rel that the joint adds, seen from the parent.
@inlined
def set_velocity(own, v_p, omega_p, relative, spin):
    """Write velocities and biases of a link, with r and `arm` known, from the velocities of its parent and those that the
    joint adds: `relative` of the centre of mass, and `spin`."""
    r, along = load3(own.r), cross(load3(own.arm), spin)  # spin × (x − joint)
    bias = cross(omega_p, add_scaled(cross(omega_p, r), 2.0, relative))
    store3(own.v, add(add(v_p, cross(omega_p, r)), relative))
    store3(own.omega, add(omega_p, spin))
    store3(own.bias, add(bias, cross(spin, along)))
    store3(own.bias_turn, cross(omega_p, spin))


@njit
def update_free(i, u, w, tree):
    """The same for a link that moves freely: its coordinates are (x, q), its speeds (v, ω)."""
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
    """rates = u̇ from the speeds w."""
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
    """q ← q/|q| of every ball joint and free link, in place."""
    nodes = tree.nodes
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if node.kind == BALL or node.kind == FREE:
            at = node.at + (3 if node.kind == FREE else 0)
            q = normalize(load_4(u, at))
            for k in range(4):
                store(u, at + k, q[k])


@njit
def displace_coordinates(u, length, change, tree):
    """u ← u moved by `length` times the displacement `change` along the speeds."""
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


# Angular velocities carried by a step ----------------------------------------------------------------------------------
#
# Angular velocities of ball joints and free links in their own axes, which a step of an integration method carries
# behind the state, as `dynamics.kinematics` does with l = Rᵀ L.
#
# w has them in the axes of the parent (of the world for a free link), where the error of a quaternion q turns the inertia.
# With w = R ω, R the rotation of q, w × w = 0 leaves ẇ = R ω̇. So a step carries ω by ω̇ = Rᵀ ẇ; the speeds of its stages
# and of its end are R ω.


@njit
def carry(z, dzdt, reduced):
    """Write ω and ω̇ behind the state z at the start of a step and its derivative."""
    first, at = reduced.options[0].coordinates, reduced.options[0].state_size
    nodes = reduced.tree.nodes
    for i in range(nodes.shape[0]):
        if nodes[i].kind == BALL or nodes[i].kind == FREE:
            rotation, speeds = rotation_of(nodes[i], z), first + nodes[i].last - 3
            store_3(z, at, matvec_t(rotation, load_3(z, speeds)))
            store_3(dzdt, at, matvec_t(rotation, load_3(dzdt, speeds)))
            at += 3


@njit
def use_spins(z, reduced):
    """Speeds from ω, where the state z carries it."""
    first, at = reduced.options[0].coordinates, reduced.options[0].state_size
    if z.shape[0] == at:
        return
    nodes = reduced.tree.nodes
    for i in range(nodes.shape[0]):
        if nodes[i].kind == BALL or nodes[i].kind == FREE:
            store_3(z, first + nodes[i].last - 3, matvec(rotation_of(nodes[i], z), load_3(z, at)))
            at += 3


@njit
def spin_rates(z, dzdt, reduced):
    """ω̇ behind the derivative, where the state z carries ω."""
    first, at = reduced.options[0].coordinates, reduced.options[0].state_size
    if z.shape[0] == at:
        return
    nodes = reduced.tree.nodes
    for i in range(nodes.shape[0]):
        if nodes[i].kind == BALL or nodes[i].kind == FREE:
            store_3(dzdt, at, matvec_t(rotation_of(nodes[i], z), load_3(dzdt, first + nodes[i].last - 3)))
            at += 3


@njit
def rotation_of(node, z):
    """The rotation matrix of a ball joint or of a free link."""
    return to_matrix(load_4(z, node.at + (3 if node.kind == FREE else 0)))
