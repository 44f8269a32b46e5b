"""Velocities of points of links as the freedoms make them, and the reverse: efforts of what is applied to links."""

from ..arrays import clear
from ..jit import njit
from ..mechanics.kinematics import load6
from ..model.tree_tables import FREE
from ..unchecked import peek, poke
from ..vec import add, add_scaled, cross, dot, load3, scale, store3, symvec
from .motion import ZERO, set_velocity


@njit
def fill_jacobian(node, arm, out, tree):
    """out (6 × m): velocity of the point x + arm of a link, and its angular velocity, of a unit of each speed."""
    nodes, motion, columns = tree.nodes, tree.motion, tree.columns
    m = columns.shape[0]
    clear(out)
    at = node
    while at >= 0:
        for k in range(nodes[at].first, nodes[at].last):
            s, t = load3(columns[k].linear), load3(columns[k].angular)
            v = add(s, cross(t, arm))
            for row in range(3):
                poke(out, row * m + k, v[row])
                poke(out, (3 + row) * m + k, t[row])
        arm = add(arm, load3(motion[at].r))
        at = nodes[at].parent


@njit
def carry_row(node, f, g, jacobian, at, tree):
    """Add a row (f, g) on the velocities of a node, through all that carries it, to jacobian[at:], one number a freedom."""
    nodes, motion, columns = tree.nodes, tree.motion, tree.columns
    while node >= 0:
        for k in range(nodes[node].first, nodes[node].last):
            value = dot(load3(columns[k].linear), f) + dot(load3(columns[k].angular), g)
            poke(jacobian, at + k, peek(jacobian, at + k) + value)
        g = add(g, cross(load3(motion[node].r), f))
        node = nodes[node].parent


@njit
def gather(efforts, tree):
    """efforts = Jᵀ of the wrenches in `bearing`, which are added up toward the root."""
    nodes, motion, columns = tree.nodes, tree.motion, tree.columns
    for i in range(nodes.shape[0] - 1, -1, -1):
        node, own = nodes[i], motion[i]
        f, torque = load3(own.bearing), load3(own.bearing_torque)
        for k in range(node.first, node.last):
            poke(efforts, k, dot(load3(columns[k].linear), f) + dot(load3(columns[k].angular), torque))
        if node.parent >= 0:
            carrier = motion[node.parent]
            store3(carrier.bearing, add(load3(carrier.bearing), f))
            turned = add(torque, cross(load3(own.r), f))
            store3(carrier.bearing_torque, add(load3(carrier.bearing_torque), turned))


@njit
def spread_speeds(w, tree):
    """Velocities and biases of all links from speeds, where places and columns are known already."""
    nodes, motion, columns = tree.nodes, tree.motion, tree.columns
    for i in range(nodes.shape[0]):
        node, own = nodes[i], motion[i]
        relative, spin = ZERO, ZERO
        for k in range(node.first, node.last):
            relative = add_scaled(relative, peek(w, k), load3(columns[k].linear))
            spin = add_scaled(spin, peek(w, k), load3(columns[k].angular))
        if node.kind == FREE:
            store3(own.v, relative)
            store3(own.omega, spin)
        elif node.parent < 0:
            set_velocity(own, ZERO, ZERO, relative, spin)
        else:
            carrier = motion[node.parent]
            set_velocity(own, load3(carrier.v), load3(carrier.omega), relative, spin)


@njit
def momentum(about, tree):
    """(m, Σ m x, P, L): mass, first moment, momentum, and angular momentum about a point, of all links."""
    nodes, motion = tree.nodes, tree.motion
    mass, first, total, turning = 0.0, ZERO, ZERO, ZERO
    for i in range(nodes.shape[0]):
        own, m = motion[i], nodes[i].mass
        p = scale(m, load3(own.v))
        x = load3(own.x)
        mass += m
        first = add_scaled(first, m, x)
        total = add(total, p)
        arm = (x[0] - about[0], x[1] - about[1], x[2] - about[2])
        turning = add(turning, add(cross(arm, p), symvec(load6(own.inertia), load3(own.omega))))
    return mass, first, total, turning
