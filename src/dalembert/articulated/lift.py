"""Between joint coordinates and bodies: the state of the mechanism from u and w, and u and w from that."""

import math

from ..jit import njit
from ..linalg.block_matrix import load_3, store_3
from ..mechanics.kinematics import load6, load9
from ..model.tables import STATE_SIZE
from ..model.tree_tables import FREE
from ..quat import conjugate, from_matrix, multiply, rotation_vector
from ..unchecked import peek, poke
from ..vec import dot, load3, scale, store3, sub, symvec
from .jacobian import gather, spread_speeds
from .mass_matrix import factorize, fill_matrix, solve
from .motion import ZERO, load_4, move, step, store9


@njit
def lift(z, reduced):
    """Move the tree to the state z, and set the mechanism's state and the rows of its bodies."""
    options, tree, y = reduced.options[0], reduced.tree, reduced.y
    nodes, motion = tree.nodes, tree.motion
    rigid, kinematics = reduced.system.settings[0].rigid, reduced.system.kinematics
    move(z[: options.coordinates], z[options.coordinates : options.coordinates + options.speeds], tree)
    for i in range(nodes.shape[0]):
        row = nodes[i].row
        if row < 0:
            continue
        own, kin = motion[i], kinematics[row]
        x, rotation, v, omega = load3(own.x), load9(own.rotation), load3(own.v), load3(own.omega)
        store3(kin.x, x)
        store9(kin.rotation, rotation)
        store3(kin.v, v)
        store3(kin.omega, omega)
        if row < rigid:
            at = STATE_SIZE * row
            q = load_4(z, nodes[i].at + 3) if nodes[i].kind == FREE else from_matrix(rotation)
            store_3(y, at, x)
            for k in range(4):
                poke(y, at + 3 + k, q[k])
            store_3(y, at + 7, scale(nodes[i].mass, v))
            store_3(y, at + 10, symvec(load6(own.inertia), omega))
    copy_tail(z, options.coordinates + options.speeds, y, STATE_SIZE * rigid)


@njit
def lift_speeds(w, reduced):
    """Set the velocities of the links and of the rows of their bodies to those of the speeds w, where the tree is."""
    tree, kinematics = reduced.tree, reduced.system.kinematics
    nodes, motion = tree.nodes, tree.motion
    spread_speeds(w, tree)
    for i in range(nodes.shape[0]):
        if nodes[i].row >= 0:
            kin = kinematics[nodes[i].row]
            store3(kin.v, load3(motion[i].v))
            store3(kin.omega, load3(motion[i].omega))


@njit
def copy_tail(source, first, target, to):
    for k in range(source.shape[0] - first):
        poke(target, to + k, peek(source, first + k))


ITERATIONS = 50
LIGHT = 1e-9  # share of the armatures, which bodies do not show, in the metric below: what keeps it definite


@njit
def lower(z, reduced):
    """u and w from the mechanism's state: the places nearest to those of the bodies in the metric of the masses, found from u
    as it was, and the speeds whose momentum is nearest. Returns the freedom that nothing resists, or −1."""
    options, tree, y = reduced.options[0], reduced.tree, reduced.y
    rigid, change = reduced.system.settings[0].rigid, reduced.change
    nodes, freedoms = tree.nodes, tree.freedoms
    first = options.coordinates
    u, w = z[:first], z[first : first + options.speeds]
    previous = math.inf
    for _ in range(ITERATIONS):
        move(u, w, tree)
        square = take_misplacement(reduced)
        if not square < previous:
            break
        previous = square
        gather(change, tree)
        limp = factorize_light(tree)
        if limp >= 0:
            return limp
        solve(change, 0, tree)
        step(u, 1.0, change, tree)
    move(u, w, tree)
    motion = tree.motion
    for i in range(nodes.shape[0]):
        own, row = motion[i], nodes[i].row
        inside = 0 <= row < rigid
        store3(own.bearing, load_3(y, STATE_SIZE * row + 7) if inside else ZERO)
        store3(own.bearing_torque, load_3(y, STATE_SIZE * row + 10) if inside else ZERO)
    gather(change, tree)
    for k in range(freedoms.shape[0]):
        poke(change, k, peek(change, k) + LIGHT * freedoms[k].armature * peek(w, k))
    limp = factorize_light(tree)
    if limp >= 0:
        return limp
    solve(change, 0, tree)
    for k in range(freedoms.shape[0]):
        poke(w, k, peek(change, k))
    copy_tail(y, STATE_SIZE * rigid, z, first + options.speeds)
    return -1


@njit
def take_misplacement(reduced):
    """Mass times displacement, and inertia times turn, from where the tree has each body to where the mechanism's state has
    it, into `bearing`. Returns the sum of their products with these: kg m²."""
    y = reduced.y
    nodes, motion, rigid = reduced.tree.nodes, reduced.tree.motion, reduced.system.settings[0].rigid
    total = 0.0
    for i in range(nodes.shape[0]):
        own, row = motion[i], nodes[i].row
        f, g = ZERO, ZERO
        if 0 <= row < rigid:
            at = STATE_SIZE * row
            d = sub(load_3(y, at), load3(own.x))
            turn = rotation_vector(multiply(load_4(y, at + 3), conjugate(from_matrix(load9(own.rotation)))))
            f, g = scale(nodes[i].mass, d), symvec(load6(own.inertia), turn)
            total += dot(f, d) + dot(g, turn)
        store3(own.bearing, f)
        store3(own.bearing_torque, g)
    return total


@njit
def factorize_light(tree):
    """The factor of the mass matrix of the bodies alone."""
    fill_matrix(tree)
    freedoms, matrix = tree.freedoms, tree.matrix
    m = freedoms.shape[0]
    for k in range(m):
        poke(matrix, k * m + k, peek(matrix, k * m + k) - (1.0 - LIGHT) * freedoms[k].armature)
    return factorize(tree)
