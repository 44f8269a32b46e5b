"""Dynamics of a tree (R. Featherstone, *Rigid Body Dynamics Algorithms*, 2008): the articulated-body algorithm (forward
dynamics, O(m)), recursive Newton–Euler (inverse dynamics), the composite-rigid-body algorithm (mass matrix) with its sparse
Lᵀ D L, and Jacobians of links.

All of it after `kinematics.update_links`. In the `motion` of a link, `bearing` and `bearing_torque` are scratch for the one
wrench or acceleration that an algorithm passes along the tree.
"""

from ...core.jit import inlined, njit
from ...core.math3 import add, add_scaled, cross, dot, load3, matvec, matvec_t, scale, store3, sub, symvec
from ...core.simd import clear, load, store
from ...linalg.block_ldl import add_at
from ...model.tree import COMMANDED, FREE, WELD
from ..kinematics import load6, load9
from .kinematics import ZERO, bias_acceleration, set_velocity, store6, store9, weld_velocity

LIMP = 1e-14  # of the inertia of the link alone: a freedom whose D is smaller has no inertia but rounding


# Forward dynamics: the articulated-body algorithm (§7.3) --------------------------------------------------------------
#
# The joint of a link transmits force and torque (f, τ) = A (v̇, ω̇) + p: A (6 × 6) is the articulated-body inertia, p the bias
# force. From the leaves to the root, a freedom with column S and effort e is eliminated: with U = A S, D = Sᵀ U + armature
# and e' = e − Sᵀ p, its rate is (e' − Uᵀ a)/D, with a the acceleration without it, and
#
#     A ← A − U Uᵀ/D,   p ← p + U e'/D.
#
# Freedoms of one joint are eliminated one after the other, the last first. Then A and p are moved to the centre of mass of
# the parent and added to its own. Back from the root, accelerations follow.


@njit
def accelerate(tree):
    """`rates` = ẇ and the accelerations of all links, from `efforts` and the forces on the links. Returns the freedom without
    inertia, or −1."""
    nodes, motion, columns = tree.nodes, tree.motion, tree.columns
    freedoms, efforts, rates = tree.freedoms, tree.efforts, tree.rates
    limp = -1
    for i in range(nodes.shape[0]):
        start_link(nodes[i], motion[i])
    for i in range(nodes.shape[0] - 1, -1, -1):
        node, own = nodes[i], motion[i]
        m, h, j = load6(own.mass_block), load9(own.mixed_block), load6(own.inertia_block)
        p, q = load3(own.bearing), load3(own.bearing_torque)
        for k in range(node.last - 1, node.first - 1, -1):
            m, h, j, p, q, resists = eliminate_freedom(
                m, h, j, p, q, columns[k], load(efforts, k), freedoms[k].armature
            )
            if not resists:
                limp = k
        if node.parent >= 0:
            add_to_parent(m, h, j, p, q, own, motion[node.parent])
    for i in range(nodes.shape[0]):
        node, own = nodes[i], motion[i]
        a, alpha = bias_acceleration(node, own, motion)
        for k in range(node.first, node.last):
            column = columns[k]
            rate = (column.effort - dot(load3(column.force), a) - dot(load3(column.torque), alpha)) * column.response
            store(rates, k, rate)
            a = add_scaled(a, rate, load3(column.linear))
            alpha = add_scaled(alpha, rate, load3(column.angular))
        store3(own.acceleration, a)
        store3(own.turning, alpha)
    return limp


@inlined
def start_link(node, own):
    """A and p of the link alone: m v̇ = F, J ω̇ + ω × J ω = T."""
    inertia, omega = load6(own.inertia), load3(own.omega)
    start_inertia(node, own)
    store3(own.bearing, sub(ZERO, load3(own.force)))
    store3(own.bearing_torque, sub(cross(omega, symvec(inertia, omega)), load3(own.torque)))


@inlined
def start_inertia(node, own):
    """A of the link alone."""
    m = node.mass
    store6(own.mass_block, (m, m, m, 0.0, 0.0, 0.0))
    store9(own.mixed_block, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    store6(own.inertia_block, load6(own.inertia))


@inlined
def eliminate_freedom(m, h, j, p, q, column, effort, armature):
    """A and p without a freedom, and whether it has inertia; writes e' to the column."""
    m, h, j, f, g, d, resists = eliminate_inertia(m, h, j, column, armature)
    left = effort - dot(load3(column.linear), p) - dot(load3(column.angular), q)
    column.effort = left
    left *= d
    return m, h, j, add_scaled(p, left, f), add_scaled(q, left, g), resists


@inlined
def eliminate_inertia(m, h, j, column, armature):
    """A − U Uᵀ/D, U and 1/D, and whether the freedom has inertia; writes U and 1/D to the column."""
    s, t = load3(column.linear), load3(column.angular)
    f = add(symvec(m, s), matvec(h, t))
    g = add(matvec_t(h, s), symvec(j, t))
    size = dot(s, f) + dot(t, g) + armature
    resists = size > LIMP * (m[0] * dot(s, s) + j[0] * dot(t, t)) and size > 0.0
    d = 1.0 / size if resists else 0.0
    store3(column.force, f)
    store3(column.torque, g)
    column.response = d
    e = (d * f[0], d * f[1], d * f[2])
    k = (d * g[0], d * g[1], d * g[2])
    m = (
        m[0] - e[0] * f[0], m[1] - e[1] * f[1], m[2] - e[2] * f[2], m[3] - e[0] * f[1], m[4] - e[0] * f[2],
        m[5] - e[1] * f[2],
    )  # fmt: skip
    h = (
        h[0] - e[0] * g[0], h[1] - e[0] * g[1], h[2] - e[0] * g[2], h[3] - e[1] * g[0], h[4] - e[1] * g[1],
        h[5] - e[1] * g[2], h[6] - e[2] * g[0], h[7] - e[2] * g[1], h[8] - e[2] * g[2],
    )  # fmt: skip
    j = (
        j[0] - k[0] * g[0], j[1] - k[1] * g[1], j[2] - k[2] * g[2], j[3] - k[0] * g[1], j[4] - k[0] * g[2],
        j[5] - k[1] * g[2],
    )  # fmt: skip
    return m, h, j, f, g, d, resists


# With v̇ = v̇_p + ω̇_p × r: f = M v̇_p + (H − M [r]) ω̇_p, and the torque about the parent's centre of mass is τ + r × f.
@inlined
def add_to_parent(m, h, j, p, q, own, parent):
    """Add A and p of a link, its bias acceleration included, to those of its parent."""
    a, alpha, r = load3(own.bias), load3(own.bias_turn), load3(own.r)
    p = add(p, add(symvec(m, a), matvec(h, alpha)))
    q = add(q, add(matvec_t(h, a), symvec(j, alpha)))
    add_inertia(m, h, j, r, parent)
    add_wrench(p, q, r, parent)


@inlined
def add_wrench(f, torque, r, parent):
    """Add a force and a torque about a link's centre of mass, at r from that of its parent, to `bearing` of the parent."""
    store3(parent.bearing, add(load3(parent.bearing), f))
    store3(parent.bearing_torque, add(load3(parent.bearing_torque), add(torque, cross(r, f))))


@inlined
def add_inertia(m, h, j, r, parent):
    """Add A of a link at r from its parent's centre of mass to A of the parent."""
    # rows of H' = H − M [r], each row of M [r] being (row of M) × r
    b0 = sub((h[0], h[1], h[2]), cross((m[0], m[3], m[4]), r))
    b1 = sub((h[3], h[4], h[5]), cross((m[3], m[1], m[5]), r))
    b2 = sub((h[6], h[7], h[8]), cross((m[4], m[5], m[2]), r))
    # J' = J − Hᵀ [r] + [r] H': rows of Hᵀ [r], and [r] times columns
    c0, c1, c2 = cross((h[0], h[3], h[6]), r), cross((h[1], h[4], h[7]), r), cross((h[2], h[5], h[8]), r)
    xx = j[0] - c0[0] + r[1] * b2[0] - r[2] * b1[0]
    yy = j[1] - c1[1] + r[2] * b0[1] - r[0] * b2[1]
    zz = j[2] - c2[2] + r[0] * b1[2] - r[1] * b0[2]
    xy = j[3] - c0[1] + r[1] * b2[1] - r[2] * b1[1]
    xz = j[4] - c0[2] + r[1] * b2[2] - r[2] * b1[2]
    yz = j[5] - c1[2] + r[2] * b0[2] - r[0] * b2[2]
    big, mixed, heavy = load6(parent.mass_block), load9(parent.mixed_block), load6(parent.inertia_block)
    store6(parent.mass_block, (
        big[0] + m[0], big[1] + m[1], big[2] + m[2], big[3] + m[3], big[4] + m[4], big[5] + m[5],
    ))  # fmt: skip
    store9(parent.mixed_block, (
        mixed[0] + b0[0], mixed[1] + b0[1], mixed[2] + b0[2], mixed[3] + b1[0], mixed[4] + b1[1], mixed[5] + b1[2],
        mixed[6] + b2[0], mixed[7] + b2[1], mixed[8] + b2[2],
    ))  # fmt: skip
    store6(parent.inertia_block, (
        heavy[0] + xx, heavy[1] + yy, heavy[2] + zz, heavy[3] + xy, heavy[4] + xz, heavy[5] + yz,
    ))  # fmt: skip


# Inverse dynamics: the recursive Newton–Euler algorithm (§5.3) ---------------------------------------------------------


@njit
def link_accelerations(rates, tree):
    """Accelerations of all links from the rates ẇ of the speeds."""
    nodes, motion, columns = tree.nodes, tree.motion, tree.columns
    for i in range(nodes.shape[0]):
        node, own = nodes[i], motion[i]
        a, alpha = bias_acceleration(node, own, motion)
        for k in range(node.first, node.last):
            a = add_scaled(a, load(rates, k), load3(columns[k].linear))
            alpha = add_scaled(alpha, load(rates, k), load3(columns[k].angular))
        store3(own.acceleration, a)
        store3(own.turning, alpha)


@njit
def inverse_dynamics(rates, efforts, tree):
    """`bearing` = the wrench of each joint, about the link's centre of mass, and efforts = its components along the freedoms,
    plus the armatures times `rates`; after `link_accelerations`."""
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
            store(efforts, k, effort + freedoms[k].armature * load(rates, k))
        if node.parent >= 0:
            add_wrench(f, torque, load3(own.r), motion[node.parent])


# The mass matrix: composite rigid bodies (§6.2), and M = Lᵀ D L, with L as sparse as the tree (§6.5) -------------------


@njit
def fill_matrix(tree):
    """`matrix` = M, row by row, both halves."""
    matrix, m = tree.matrix, tree.freedoms.shape[0]
    clear(matrix)
    fill_lower(tree)
    for k in range(m):
        for j in range(k):
            store(matrix, j * m + k, load(matrix, k * m + j))


@njit
def fill_lower(tree):
    """The entries of M that `factorize` reads: those of each freedom with itself and with what is on its path to the root."""
    nodes, motion, columns = tree.nodes, tree.motion, tree.columns
    freedoms, matrix = tree.freedoms, tree.matrix
    m = freedoms.shape[0]
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
            add_at(matrix, k * m + k, freedoms[k].armature)
        if node.parent >= 0:
            add_composite(own, motion[node.parent])


@njit
def fill_row(i, k, m, f, g, tree):
    """Row k of M: products of force f and torque g of freedom k on link i with the columns from i to the root."""
    nodes, motion, columns, matrix = tree.nodes, tree.motion, tree.columns, tree.matrix
    at = i
    while at >= 0:
        node = nodes[at]
        for j in range(node.first, node.last):
            if j <= k:
                value = dot(load3(columns[j].linear), f) + dot(load3(columns[j].angular), g)
                store(matrix, k * m + j, value)
        g = add(g, cross(load3(motion[at].r), f))
        at = node.parent


# About the parent's centre of mass, with h = Σ m d: h' = h + m r, J' = J + (2 h·r + m r·r) 1 − h rᵀ − r hᵀ − m r rᵀ.
@inlined
def add_composite(own, parent):
    """Add mass, first moment and inertia of a composite to its parent's."""
    mass, h, j, r = own.mass_block[0], load3(own.bearing), load6(own.inertia_block), load3(own.r)
    moment = add_scaled(h, mass, r)
    both = dot(h, r) + dot(moment, r)
    to = load6(parent.inertia_block)
    parent.mass_block[0] += mass
    store3(parent.bearing, add(load3(parent.bearing), moment))
    store6(parent.inertia_block, (
        to[0] + j[0] + both - h[0] * r[0] - moment[0] * r[0], to[1] + j[1] + both - h[1] * r[1] - moment[1] * r[1],
        to[2] + j[2] + both - h[2] * r[2] - moment[2] * r[2], to[3] + j[3] - r[0] * h[1] - moment[0] * r[1],
        to[4] + j[4] - r[0] * h[2] - moment[0] * r[2], to[5] + j[5] - r[1] * h[2] - moment[1] * r[2],
    ))  # fmt: skip


@njit
def factorize(tree):
    """M = Lᵀ D L in `matrix`, in place: L below the diagonal, D on it. Returns a freedom with a pivot not positive, or −1."""
    freedoms, matrix = tree.freedoms, tree.matrix
    m = freedoms.shape[0]
    for k in range(m - 1, -1, -1):
        pivot = load(matrix, k * m + k)
        if not pivot > 0.0:
            return k
        i = freedoms[k].before
        while i >= 0:
            share = load(matrix, k * m + i) / pivot
            j = i
            while j >= 0:
                add_at(matrix, i * m + j, -share * load(matrix, k * m + j))
                j = freedoms[j].before
            store(matrix, k * m + i, share)
            i = freedoms[i].before
    return -1


@njit
def solve(b, at, tree):
    """b[at : at + m] ← M⁻¹ b[at : at + m], with the factors of `factorize`."""
    freedoms, matrix = tree.freedoms, tree.matrix
    m = freedoms.shape[0]
    for k in range(m - 1, -1, -1):
        value, i = load(b, at + k), freedoms[k].before
        while i >= 0:
            add_at(b, at + i, -load(matrix, k * m + i) * value)
            i = freedoms[i].before
    for k in range(m):
        value, i = load(b, at + k) / load(matrix, k * m + k), freedoms[k].before
        while i >= 0:
            value -= load(matrix, k * m + i) * load(b, at + i)
            i = freedoms[i].before
        store(b, at + k, value)


# Jacobians of links, their transposes, and sums over links -------------------------------------------------------------


@njit
def fill_jacobian(node, arm, out, tree):
    """out (6 × m): the Jacobian of the velocity of the point x + arm of a link, and of its angular velocity."""
    nodes, motion, columns = tree.nodes, tree.motion, tree.columns
    m = columns.shape[0]
    clear(out)
    at = node
    while at >= 0:
        for k in range(nodes[at].first, nodes[at].last):
            s, t = load3(columns[k].linear), load3(columns[k].angular)
            v = add(s, cross(t, arm))
            for row in range(3):
                store(out, row * m + k, v[row])
                store(out, (3 + row) * m + k, t[row])
        arm = add(arm, load3(motion[at].r))
        at = nodes[at].parent


@njit
def generalized_forces(efforts, tree):
    """efforts = Jᵀ of the wrenches in `bearing`, which become sums over the links beyond each joint."""
    nodes, motion, columns = tree.nodes, tree.motion, tree.columns
    for i in range(nodes.shape[0] - 1, -1, -1):
        node, own = nodes[i], motion[i]
        f, torque = load3(own.bearing), load3(own.bearing_torque)
        for k in range(node.first, node.last):
            store(efforts, k, dot(load3(columns[k].linear), f) + dot(load3(columns[k].angular), torque))
        if node.parent >= 0:
            add_wrench(f, torque, load3(own.r), motion[node.parent])


@njit
def link_velocities(w, tree):
    """Velocities and biases of all links from the speeds w; poses and columns are known."""
    nodes, motion = tree.nodes, tree.motion
    for i in range(nodes.shape[0]):
        link_velocity(nodes[i], motion[i], w, tree)


@inlined
def link_velocity(node, own, w, tree):
    """The same of one link, after its parent."""
    motion, columns = tree.motion, tree.columns
    if node.kind == COMMANDED:
        return
    if node.kind == WELD and node.parent >= 0:
        weld_velocity(own, load3(motion[node.parent].v), load3(motion[node.parent].omega))
        return
    relative, spin = ZERO, ZERO
    for k in range(node.first, node.last):
        relative = add_scaled(relative, load(w, k), load3(columns[k].linear))
        spin = add_scaled(spin, load(w, k), load3(columns[k].angular))
    if node.kind == FREE:
        store3(own.v, relative)
        store3(own.omega, spin)
    elif node.parent < 0:
        set_velocity(own, ZERO, ZERO, relative, spin)
    else:
        parent = motion[node.parent]
        set_velocity(own, load3(parent.v), load3(parent.omega), relative, spin)


@njit
def bias_efforts(w, efforts, tree):
    """Velocities and biases of all links from the speeds w, and the efforts along the freedoms that keep these speeds as
    they are: inverse dynamics without rates and without forces."""
    nodes, motion, columns = tree.nodes, tree.motion, tree.columns
    for i in range(nodes.shape[0]):
        node, own = nodes[i], motion[i]
        link_velocity(node, own, w, tree)
        a, alpha = bias_acceleration(node, own, motion)
        inertia, omega = load6(own.inertia), load3(own.omega)
        store3(own.acceleration, a)
        store3(own.turning, alpha)
        store3(own.bearing, scale(node.mass, a))
        store3(own.bearing_torque, add(symvec(inertia, alpha), cross(omega, symvec(inertia, omega))))
    for i in range(nodes.shape[0] - 1, -1, -1):
        node, own = nodes[i], motion[i]
        f, torque = load3(own.bearing), load3(own.bearing_torque)
        for k in range(node.first, node.last):
            store(efforts, k, dot(load3(columns[k].linear), f) + dot(load3(columns[k].angular), torque))
        if node.parent >= 0:
            add_wrench(f, torque, load3(own.r), motion[node.parent])


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
