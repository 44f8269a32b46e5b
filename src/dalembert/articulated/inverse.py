"""Inverse dynamics of a tree: the recursive Newton–Euler algorithm (R. Featherstone 2008, §5.3)."""

from ..jit import njit
from ..mechanics.kinematics import load6
from ..unchecked import peek, poke
from ..vec import add, add_scaled, cross, dot, load3, scale, store3, sub, symvec
from .motion import carried


@njit
def spread_rates(rates, tree):
    """Accelerations of all links from the rates of the speeds."""
    nodes, motion, columns = tree.nodes, tree.motion, tree.columns
    for i in range(nodes.shape[0]):
        node, own = nodes[i], motion[i]
        a, alpha = carried(node, own, motion)
        for k in range(node.first, node.last):
            a = add_scaled(a, peek(rates, k), load3(columns[k].linear))
            alpha = add_scaled(alpha, peek(rates, k), load3(columns[k].angular))
        store3(own.acceleration, a)
        store3(own.turning, alpha)


@njit
def bear(rates, efforts, tree):
    """What each joint bears, with the accelerations at hand, and the efforts along the freedoms that this takes."""
    nodes, motion, columns, freedoms = tree.nodes, tree.motion, tree.columns, tree.freedoms
    for i in range(nodes.shape[0]):
        node, own = nodes[i], motion[i]
        inertia, omega = load6(own.inertia), load3(own.omega)
        torque = add(symvec(inertia, load3(own.turning)), cross(omega, symvec(inertia, omega)))
        store3(own.bearing, sub(scale(node.mass, load3(own.acceleration)), load3(own.force)))
        store3(own.bearing_torque, sub(torque, load3(own.torque)))
    for i in range(nodes.shape[0] - 1, -1, -1):
        node, own = nodes[i], motion[i]
        f, torque = load3(own.bearing), load3(own.bearing_torque)
        for k in range(node.first, node.last):
            effort = dot(load3(columns[k].linear), f) + dot(load3(columns[k].angular), torque)
            poke(efforts, k, effort + freedoms[k].armature * peek(rates, k))
        if node.parent >= 0:
            carrier = motion[node.parent]
            store3(carrier.bearing, add(load3(carrier.bearing), f))
            turned = add(torque, cross(load3(own.r), f))
            store3(carrier.bearing_torque, add(load3(carrier.bearing_torque), turned))
