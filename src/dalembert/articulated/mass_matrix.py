"""The mass matrix of a tree: composite rigid bodies (R. Featherstone 2008, §6.2), and M = Lᵀ D L, whose L is as sparse as the
tree (§6.5)."""

from ..arrays import clear
from ..jit import inlined, njit
from ..mechanics.kinematics import load6
from ..unchecked import peek, poke
from ..vec import add, add_scaled, cross, dot, load3, scale, store3, sub, symvec
from .motion import ZERO, store6


@njit
def fill_matrix(tree):
    """`matrix` = M, row by row, both halves."""
    nodes, motion, columns = tree.nodes, tree.motion, tree.columns
    freedoms, matrix = tree.freedoms, tree.matrix
    m = freedoms.shape[0]
    clear(matrix)
    for i in range(nodes.shape[0]):
        own = motion[i]
        own.mass_block[0] = nodes[i].mass
        store3(own.bearing, ZERO)
        store6(own.inertia_block, load6(own.inertia))
    for i in range(nodes.shape[0] - 1, -1, -1):
        node, own = nodes[i], motion[i]
        mass, moment, inertia = own.mass_block[0], load3(own.bearing), load6(own.inertia_block)
        for k in range(node.first, node.last):
            s, t = load3(columns[k].linear), load3(columns[k].angular)
            f = sub(scale(mass, s), cross(moment, t))
            g = add(cross(moment, s), symvec(inertia, t))
            fill_row(i, k, m, f, g, tree)
            increase(matrix, k * m + k, freedoms[k].armature)
        if node.parent >= 0:
            compose(own, motion[node.parent])


@njit
def fill_row(i, k, m, f, g, tree):
    """Products of the columns of a link, and of those that carry it, with force and torque of freedom k."""
    nodes, motion, columns, matrix = tree.nodes, tree.motion, tree.columns, tree.matrix
    at = i
    while at >= 0:
        node = nodes[at]
        for j in range(node.first, node.last):
            if j <= k:
                value = dot(load3(columns[j].linear), f) + dot(load3(columns[j].angular), g)
                poke(matrix, k * m + j, value)
                poke(matrix, j * m + k, value)
        g = add(g, cross(load3(motion[at].r), f))
        at = node.parent


# About the parent's centre of mass, with h = Σ m d: h' = h + m r, J' = J + (2 h·r + m r·r) 1 − h rᵀ − r hᵀ − m r rᵀ.
@inlined
def compose(own, carrier):
    """Add mass, first moment and inertia of a composite to its parent's."""
    mass, h, j, r = own.mass_block[0], load3(own.bearing), load6(own.inertia_block), load3(own.r)
    moment = add_scaled(h, mass, r)
    both = dot(h, r) + dot(moment, r)
    to = load6(carrier.inertia_block)
    carrier.mass_block[0] += mass
    store3(carrier.bearing, add(load3(carrier.bearing), moment))
    store6(carrier.inertia_block, (
        to[0] + j[0] + both - h[0] * r[0] - moment[0] * r[0], to[1] + j[1] + both - h[1] * r[1] - moment[1] * r[1],
        to[2] + j[2] + both - h[2] * r[2] - moment[2] * r[2], to[3] + j[3] - r[0] * h[1] - moment[0] * r[1],
        to[4] + j[4] - r[0] * h[2] - moment[0] * r[2], to[5] + j[5] - r[1] * h[2] - moment[1] * r[2],
    ))  # fmt: skip


@inlined
def increase(array, at, value):
    poke(array, at, peek(array, at) + value)


@njit
def factorize(tree):
    """`matrix` becomes L below its diagonal and D on it. Returns the freedom whose pivot is not positive, or −1."""
    freedoms, matrix = tree.freedoms, tree.matrix
    m = freedoms.shape[0]
    for k in range(m - 1, -1, -1):
        pivot = peek(matrix, k * m + k)
        if not pivot > 0.0:
            return k
        i = freedoms[k].before
        while i >= 0:
            share = peek(matrix, k * m + i) / pivot
            j = i
            while j >= 0:
                increase(matrix, i * m + j, -share * peek(matrix, k * m + j))
                j = freedoms[j].before
            poke(matrix, k * m + i, share)
            i = freedoms[i].before
    return -1


@njit
def solve(b, at, tree):
    """M⁻¹ of the m numbers of b from `at` on, in place."""
    freedoms, matrix = tree.freedoms, tree.matrix
    m = freedoms.shape[0]
    for k in range(m - 1, -1, -1):
        value, i = peek(b, at + k), freedoms[k].before
        while i >= 0:
            increase(b, at + i, -peek(matrix, k * m + i) * value)
            i = freedoms[i].before
    for k in range(m):
        value, i = peek(b, at + k) / peek(matrix, k * m + k), freedoms[k].before
        while i >= 0:
            value -= peek(matrix, k * m + i) * peek(b, at + i)
            i = freedoms[i].before
        poke(b, at + k, value)
