"""Joints that close loops, as constraints on joint coordinates: factorization and solution (`factor_loops`, `solve_loops`),
the projection at the end of a step (`project`), and the tables of a model's loops (`build_loop_graph`).

With multipliers λ,

    M ẇ − Jᵀ λ = e,   J ẇ = c.

M is never written out. The joint of a link transmits (f, τ) = A a + p − Σ K_r λ_r (see `dynamics`), and a row r of a loop
with an end beyond that joint reads K_rᵀ a + Σ G_rs λ_s = c_r. At its end K is the row's coefficients on the velocities
of the link, and G is zero. From the leaves on, a freedom with column S, U = A S, D = Sᵀ U and z = Sᵀ K is eliminated:

    A ← A − U Uᵀ/D,   K_r ← K_r − U z_r/D,   G_rs ← G_rs + z_r z_s/D,   c_r ← c_r − z_r e'/D,

and the result is moved to the parent. Where a loop closes (see `build_loop_graph`) its multipliers are eliminated. With
P the inverse of its block of G, B its blocks with loops that go on, and X = B P,

    A ← A + K P Kᵀ,   p ← p − K P c,   K_s ← K_s − K X_sᵀ,   G_st ← G_st − X_s B_tᵀ,   c_s ← c_s − X_s c.

At the world a = 0, and the rest of G is factored as a sparse matrix. Back from the root, a and ẇ follow as in `dynamics`,
and λ = P (c − Kᵀ a) − Xᵀ λ_s. The work is linear in the number of links and of the rows that pass them. Particles in loops
are links of their own.

**Rank.** Rows may depend on each other, as in planar loops in space or in Bricard's linkage; in floating point they do so
up to rounding. The multipliers of dependent rows are zero. The response G_rr of a row (its inverse effective mass) is a sum
of squares, less the part that the rows before it remove. A row depends on those rows if less than the share `RANK` of the
sum is left. It depends on the tree alone, as a second hinge on the same axis does, if the sum is below the share `NOTHING`
(rounding, squared) of the response of its bodies if they were free. Both are ratios of numbers of one unit, so that sizes
and masses of links do not matter. Within a step loops are open by the error of the step, and rows that depend on each other
where the loops are closed are then independent. So the rank is decided where loops were closed, and used until they are
closed again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np

from ...core.c_function import C_SIGNATURE, call_pointer, viewer
from ...core.jit import CFunction, inlined, njit
from ...core.math3 import add, add_scaled, cross, dot, load3, matvec_t, scale, store3, sub, symvec
from ...core.simd import clear, load, store
from ...core.tables import own_address, table_at
from ...linalg.block_ldl import (
    add_at,
    apply_inverse,
    load_6,
    product,
    subtract_product_t,
    subtract_times,
    subtract_transposed_times,
)
from ...linalg.ordering import Symbolic, analyse
from ...model.compile import Model
from ...model.tables import CUSTOM, LEDGER, PROJECTION_WORK
from ..commands import settle_projected_rows
from ..constraints import jacobian_velocity, load_point, spread
from ..kinematics import load6, load9
from ..mechanism import CLOSED, ITERATIONS, NOT_CLOSED, POSITION_ROUNDING, SLOW, STALE, largest
from .dynamics import add_inertia, add_wrench, eliminate_inertia, start_inertia
from .kinematics import ZERO, displace_coordinates, store6, store9
from .state import energy_and_momenta, record_projection, update_at, update_kinematics
from .tables import CARRY, CLOSURE, END, FRONT, PRODUCT, Reduced

RANK = 1e-12  # share of a row's response that the rows before it leave: with less it depends on them
FLOOR = 1e-14  # the same while the rank is not decided anew: a smaller share is rounding
NOTHING = 1e-20  # share of the response of free bodies: with less the tree does not let the row move


@njit
def factor_loops(decide, reduced):
    """Write and eliminate A, K and G at the state of the tree and of the rows' J. decide : whether to decide the rank anew.
    Returns the freedom without inertia, or −1."""
    closures = reduced.closures
    nodes, motion = reduced.tree.nodes, reduced.tree.motion
    reduced.system.settings[0].condition = 1.0
    start(reduced)
    for i in range(nodes.shape[0], reduced.fronts.shape[0]):
        multiply_particle(i, reduced)
    limp, at = -1, 0
    for i in range(nodes.shape[0] - 1, -1, -1):
        while at < closures.shape[0] and closures[at].node == i:
            eliminate(at, decide, reduced)
            at += 1
        without_inertia = eliminate_node(i, reduced)
        if without_inertia >= 0:
            limp = without_inertia
        if nodes[i].parent >= 0:
            add_node_to_parent(i, load3(motion[i].r), reduced)
    for k in range(at, closures.shape[0]):
        eliminate(k, decide, reduced)
    return limp


@njit
def start(reduced):
    """A of every link alone, K of the rows at their ends, and G = 0."""
    carries = reduced.carries
    nodes, motion = reduced.tree.nodes, reduced.tree.motion
    for i in range(nodes.shape[0]):
        start_inertia(nodes[i], motion[i])
    for i in range(carries.shape[0]):
        store3(carries[i].force, ZERO)
        store3(carries[i].torque, ZERO)
    clear(reduced.values)
    clear(reduced.sizes)
    clear(reduced.free)
    ends = reduced.ends
    incidences, jacobian = reduced.system.incidences, reduced.system.jacobian
    for i in range(ends.shape[0]):
        end = ends[i]
        incidence = incidences[end.incidence]
        if incidence.is_point != 0:
            sign, r = load_point(jacobian, incidence.offset)
            for k in range(3):
                axis = (sign if k == 0 else 0.0, sign if k == 1 else 0.0, sign if k == 2 else 0.0)
                start_row(end, incidence, k, axis, cross(r, axis), reduced)
        else:
            for k in range(incidence.rows):
                c = load_6(jacobian, incidence.offset + 6 * k)
                start_row(end, incidence, k, (c[0], c[1], c[2]), (c[3], c[4], c[5]), reduced)


@njit
def start_row(end, incidence, k, f, g, reduced):
    """Add a row (f, g) on the velocities of a body to K at its node, and to `free` the response of that body alone, or of the
    nearest body with mass."""
    carry = reduced.carries[end.carry + k]
    store3(carry.force, add(load3(carry.force), f))
    store3(carry.torque, add(load3(carry.torque), g))
    if end.with_mass < 0:
        return
    row = incidence.body
    if end.with_mass < reduced.tree.nodes.shape[0]:
        row = reduced.tree.nodes[end.with_mass].row
    body, kin = reduced.system.bodies[row], reduced.system.kinematics[row]
    g = add(g, cross(sub(load3(reduced.system.kinematics[incidence.body].x), load3(kin.x)), f))
    turned = matvec_t(load9(kin.rotation), g)
    response = body.inverse_mass * dot(f, f) + dot(turned, symvec(load6(body.inverse_inertia), turned))
    add_at(reduced.free, incidence.row + k, response)


@njit
def multiply_particle(i, reduced):
    """Add a particle's part of G: it is a link with three freedoms and no parent."""
    carries, front = reduced.carries, reduced.fronts[i]
    w, _ = particle_of(i, reduced)
    for k in range(3):
        for x in range(front.first, front.last):
            carries[x].share[k] = carries[x].force[k]
        multiply(front, k, w, reduced)


@inlined
def multiply(front, k, d, reduced):
    """G += d z zᵀ of freedom k of a node, for the rows that pass it; likewise `sizes`, the responses of single rows."""
    carries, products, values, sizes = reduced.carries, reduced.products, reduced.values, reduced.sizes
    for x in range(front.product, front.last_product):
        pair = products[x]
        same = pair.left == pair.right
        for a in range(pair.rows):
            z = d * carries[pair.left + a].share[k]
            if same:  # of which the upper half is enough
                add_at(sizes, carries[pair.left + a].row, z * carries[pair.left + a].share[k])
            for b in range(a if same else 0, pair.columns):
                at = pair.target + pair.row_step * a + pair.column_step * b
                add_at(values, at, z * carries[pair.right + b].share[k])


@njit
def eliminate_node(i, reduced):
    """Eliminate the freedoms of a node from A and from the rows that go on. Returns the freedom without inertia, or −1."""
    tree, carries = reduced.tree, reduced.carries
    node, own, front = tree.nodes[i], tree.motion[i], reduced.fronts[i]
    columns, freedoms, resistance = tree.columns, tree.freedoms, reduced.resistance
    m, h, j = load6(own.mass_block), load9(own.mixed_block), load6(own.inertia_block)
    limp = -1
    for k in range(node.last - 1, node.first - 1, -1):
        column = columns[k]
        m, h, j, f, g, d, resists = eliminate_inertia(m, h, j, column, freedoms[k].armature + load(resistance, k))
        if not resists:
            limp = k
        s, t, local = load3(column.linear), load3(column.angular), k - node.first
        for x in range(front.first, front.last):
            carry = carries[x]
            force, torque = load3(carry.force), load3(carry.torque)
            z = dot(s, force) + dot(t, torque)
            carry.share[local] = z
            store3(carry.force, add_scaled(force, -d * z, f))
            store3(carry.torque, add_scaled(torque, -d * z, g))
        multiply(front, local, d, reduced)
    store6(own.mass_block, m)
    store9(own.mixed_block, h)
    store6(own.inertia_block, j)
    return limp


@njit
def add_node_to_parent(i, r, reduced):
    """Add A and the rows that go on to those of the parent; the node is at r from the parent's centre of mass."""
    carries, front = reduced.carries, reduced.fronts[i]
    own, parent = reduced.tree.motion[i], reduced.tree.motion[reduced.tree.nodes[i].parent]
    add_inertia(load6(own.mass_block), load9(own.mixed_block), load6(own.inertia_block), r, parent)
    for x in range(front.first, front.last):
        carry = carries[x]
        above, force = carries[carry.up], load3(carry.force)
        store3(above.force, add(load3(above.force), force))
        store3(above.torque, add(load3(above.torque), add(load3(carry.torque), cross(r, force))))


@njit
def eliminate(k, decide, reduced):
    """Eliminate the multipliers of the loop of column k of G, where it closes."""
    column, closure = reduced.columns[k], reduced.closures[k]
    entries, updates, values, lower = reduced.entries, reduced.updates, reduced.values, reduced.lower
    size = column.width
    share = invert_independent(column, decide, reduced)
    if reduced.system.joints[closure.joint].active != 0:  # a released joint has no rows
        reduced.system.settings[0].condition = min(reduced.system.settings[0].condition, share)
    for e in range(column.first, column.last):
        offset = entries[e].offset
        product(lower, offset, values, offset, values, column.pivot, entries[e].rows, size)
    for u in range(column.first_update, column.last_update):
        update = updates[u]
        subtract_product_t(
            values, update.target, lower, update.left, update.rows, values, update.right, update.columns, size
        )
    if closure.node >= 0:
        stiffen(column, closure, reduced)


@njit
def stiffen(column, closure, reduced):
    """A and K of the node where a loop closes, without its multipliers."""
    carries, entries, entry_carries = reduced.carries, reduced.entries, reduced.entry_carries
    own, values, lower = reduced.tree.motion[closure.node], reduced.values, reduced.lower
    m, h, j = load6(own.mass_block), load9(own.mixed_block), load6(own.inertia_block)
    for r in range(column.width):
        f, g = load3(carries[closure.carry + r].force), load3(carries[closure.carry + r].torque)
        p, q = combine(values, column.pivot + column.width * r, column.width, closure.carry, carries)
        m = (
            m[0] + p[0] * f[0], m[1] + p[1] * f[1], m[2] + p[2] * f[2], m[3] + p[0] * f[1], m[4] + p[0] * f[2],
            m[5] + p[1] * f[2],
        )  # fmt: skip
        h = (
            h[0] + p[0] * g[0], h[1] + p[0] * g[1], h[2] + p[0] * g[2], h[3] + p[1] * g[0], h[4] + p[1] * g[1],
            h[5] + p[1] * g[2], h[6] + p[2] * g[0], h[7] + p[2] * g[1], h[8] + p[2] * g[2],
        )  # fmt: skip
        j = (
            j[0] + q[0] * g[0], j[1] + q[1] * g[1], j[2] + q[2] * g[2], j[3] + q[0] * g[1], j[4] + q[0] * g[2],
            j[5] + q[1] * g[2],
        )  # fmt: skip
    store6(own.mass_block, m)
    store9(own.mixed_block, h)
    store6(own.inertia_block, j)
    for e in range(column.first, column.last):
        for row in range(entries[e].rows):
            carry = carries[entry_carries[e] + row]
            p, q = combine(lower, entries[e].offset + column.width * row, column.width, closure.carry, carries)
            store3(carry.force, sub(load3(carry.force), p))
            store3(carry.torque, sub(load3(carry.torque), q))


@inlined
def combine(weights, at, size, first, carries):
    """Σ weight K over the rows of a loop: force and torque."""
    p, q = ZERO, ZERO
    for s in range(size):
        weight = load(weights, at + s)
        p = add_scaled(p, weight, load3(carries[first + s].force))
        q = add_scaled(q, weight, load3(carries[first + s].torque))
    return p, q


@njit
def invert_independent(column, decide, reduced):
    """Replace the block of a loop in G by its inverse on the rows that are independent, and by zero on the others. Returns
    the least share of a row's response that is left, 0 where a row is not independent."""
    values, sizes, free, independent_rows = reduced.values, reduced.sizes, reduced.free, reduced.independent
    o, n, x = column.pivot, column.width, column.x
    for i in range(n):
        for j in range(i):
            store(values, o + n * i + j, load(values, o + n * j + i))
    swept, least = 0, 1.0
    for _ in range(n):
        p, best = -1, RANK if decide else FLOOR
        for i in range(n):
            response = load(sizes, x + i)
            if (
                (swept >> i) & 1 != 0
                or not response > NOTHING * load(free, x + i)
                or (not decide and independent_rows[x + i] == 0)
            ):
                continue
            share = load(values, o + (n + 1) * i) / response
            if share > best:
                p, best = i, share
        if p < 0:
            least = 0.0
            break
        least = min(least, best)
        swept |= 1 << p
        sweep(values, o, n, p)
    for i in range(n):
        independent = (swept >> i) & 1 != 0
        if decide:
            independent_rows[x + i] = 1 if independent else 0
        if not independent:
            for j in range(n):
                store(values, o + n * i + j, 0.0)
                store(values, o + n * j + i, 0.0)
    return least


@inlined
def sweep(d, o, n, p):
    """One step of the inversion of a symmetric block in place, at pivot p."""
    inverse = 1.0 / load(d, o + (n + 1) * p)
    for i in range(n):
        if i != p:
            share = load(d, o + n * i + p) * inverse
            for j in range(n):
                if j != p:
                    add_at(d, o + n * i + j, -share * load(d, o + n * p + j))
    for i in range(n):
        if i != p:
            store(d, o + n * i + p, load(d, o + n * i + p) * inverse)
            store(d, o + n * p + i, load(d, o + n * p + i) * -inverse)
    store(d, o + (n + 1) * p, inverse)


@njit
def solve_loops(multipliers, reduced):
    """ẇ and λ: `change` = e on entry and ẇ on exit, `wanted` = c; λ into `multipliers`. The accelerations of particles in
    loops come after ẇ, from the forces on them."""
    fronts, carries, closures = reduced.fronts, reduced.carries, reduced.closures
    nodes, motion, change, wanted = reduced.tree.nodes, reduced.tree.motion, reduced.change, reduced.wanted
    for r in range(wanted.shape[0]):
        store(multipliers, r, load(wanted, r))
    for i in range(nodes.shape[0], fronts.shape[0]):
        forward_particle(i, multipliers, reduced)
    for i in range(nodes.shape[0]):
        store3(motion[i].bearing, ZERO)
        store3(motion[i].bearing_torque, ZERO)
    at = 0
    for i in range(nodes.shape[0] - 1, -1, -1):
        while at < closures.shape[0] and closures[at].node == i:
            substitute(at, multipliers, reduced)
            at += 1
        forward_node(i, multipliers, reduced)
    for k in range(at, closures.shape[0]):
        substitute(k, multipliers, reduced)
    at = closures.shape[0] - 1
    while at >= 0 and closures[at].node < 0:
        substitute_back(at, multipliers, reduced)
        at -= 1
    for i in range(nodes.shape[0]):
        backward_node(i, multipliers, reduced)
        while at >= 0 and closures[at].node == i:
            substitute_back(at, multipliers, reduced)
            at -= 1
    for i in range(nodes.shape[0], fronts.shape[0]):
        w, place = particle_of(i, reduced)
        for x in range(fronts[i].first, fronts[i].last):
            impulse = w * load(multipliers, carries[x].row)
            for k in range(3):
                add_at(change, place + k, impulse * carries[x].force[k])


@inlined
def particle_of(i, reduced):
    """Inverse mass of a particle in loops, and the index of its acceleration in `change`. i : its front."""
    number = i - reduced.tree.nodes.shape[0]
    w = reduced.system.bodies[reduced.system.settings[0].rigid + number].inverse_mass
    return w, reduced.options[0].speeds + 3 * number


@njit
def forward_particle(i, multipliers, reduced):
    """Acceleration of a particle without loops, from its force, subtracted from the rows' right-hand sides."""
    carries, change = reduced.carries, reduced.change
    w, place = particle_of(i, reduced)
    for k in range(3):
        store(change, place + k, w * load(change, place + k))
    a = (load(change, place), load(change, place + 1), load(change, place + 2))
    for x in range(reduced.fronts[i].first, reduced.fronts[i].last):
        add_at(multipliers, carries[x].row, -dot(load3(carries[x].force), a))


@njit
def forward_node(i, multipliers, reduced):
    """e' of a node's freedoms, their part of the rows' right-hand sides, and p of its parent."""
    tree, carries, change = reduced.tree, reduced.carries, reduced.change
    node, front, motion, columns = tree.nodes[i], reduced.fronts[i], tree.motion, tree.columns
    p, q = load3(motion[i].bearing), load3(motion[i].bearing_torque)
    for k in range(node.last - 1, node.first - 1, -1):
        column = columns[k]
        left = load(change, k) - dot(load3(column.linear), p) - dot(load3(column.angular), q)
        column.effort = left
        left *= column.response
        p, q = add_scaled(p, left, load3(column.force)), add_scaled(q, left, load3(column.torque))
        for x in range(front.first, front.last):
            add_at(multipliers, carries[x].row, -left * carries[x].share[k - node.first])
    if node.parent >= 0:
        add_wrench(p, q, load3(motion[i].r), motion[node.parent])


@njit
def backward_node(i, multipliers, reduced):
    """ẇ of a node from the acceleration of its parent and the multipliers of the rows that go on; its own acceleration into
    `bearing`."""
    tree, carries, change = reduced.tree, reduced.carries, reduced.change
    node, front, motion, columns = tree.nodes[i], reduced.fronts[i], tree.motion, tree.columns
    a, alpha = ZERO, ZERO
    if node.parent >= 0:
        parent = motion[node.parent]
        alpha = load3(parent.bearing_torque)
        a = add(load3(parent.bearing), cross(alpha, load3(motion[i].r)))
    for k in range(node.first, node.last):
        column = columns[k]
        left = column.effort - dot(load3(column.force), a) - dot(load3(column.torque), alpha)
        for x in range(front.first, front.last):
            left += carries[x].share[k - node.first] * load(multipliers, carries[x].row)
        rate = left * column.response
        store(change, k, rate)
        a = add_scaled(a, rate, load3(column.linear))
        alpha = add_scaled(alpha, rate, load3(column.angular))
    store3(motion[i].bearing, a)
    store3(motion[i].bearing_torque, alpha)


@njit
def substitute(k, multipliers, reduced):
    """c ← P c of a loop where it closes, subtracted from the rows that go on and from p."""
    column, closure, entries, lower = (
        reduced.columns[k], reduced.closures[k], reduced.entries, reduced.lower
    )  # fmt: skip
    for e in range(column.first, column.last):
        entry = entries[e]
        subtract_times(lower, entry.offset, entry.rows, column.width, multipliers, column.x, entry.x)
    apply_inverse(reduced.values, column.pivot, column.width, multipliers, column.x)
    if closure.node >= 0:
        own = reduced.tree.motion[closure.node]
        p, q = combine(multipliers, column.x, column.width, closure.carry, reduced.carries)
        store3(own.bearing, sub(load3(own.bearing), p))
        store3(own.bearing_torque, sub(load3(own.bearing_torque), q))


@njit
def substitute_back(k, multipliers, reduced):
    """λ of a loop from P c, the accelerations of the node where it closes, and the multipliers of the rows that go on."""
    column, closure, entries, lower = (
        reduced.columns[k], reduced.closures[k], reduced.entries, reduced.lower
    )  # fmt: skip
    carries, rates = reduced.carries, reduced.residual
    for e in range(column.first, column.last):
        entry = entries[e]
        subtract_transposed_times(lower, entry.offset, entry.rows, column.width, multipliers, entry.x, column.x)
    if closure.node >= 0:
        own = reduced.tree.motion[closure.node]
        a, alpha = load3(own.bearing), load3(own.bearing_torque)
        for r in range(column.width):
            carry = carries[closure.carry + r]
            store(rates, column.x + r, dot(load3(carry.force), a) + dot(load3(carry.torque), alpha))
        apply_inverse(reduced.values, column.pivot, column.width, rates, column.x)
        for r in range(column.width):
            add_at(multipliers, column.x + r, -load(rates, column.x + r))


# The tables of the loops of a model ------------------------------------------------------------------------------------
#
# A row is followed from its ends towards the root. A row between links of one tree *closes* at their nearest common
# ancestor, where its multiplier is eliminated. Rows on the world, on several trees, on particles, and those of user
# functions, which may depend on absolute positions, close at the world, after all nodes.
#
# Each row at a node is a `CARRY`: rows that close there first, then those that go on to the parent. A closed chain costs as
# many carries a link as its last joint has rows, and each of several loops in a row costs no more than it does alone. Loops
# that close at the same node are eliminated by minimum degree.


WORLD_NODE = -1


class LoopGraph(NamedTuple):
    """The tables of `Reduced` of the rows of loops."""

    fronts: Any
    carries: Any
    products: Any
    ends: Any
    closures: Any
    symbolic: Symbolic
    entry_carries: np.ndarray


class Loops(NamedTuple):
    """The loops of a mechanism, of which each has rows `starts` to `starts` + `sizes`.

    closing : node where each closes. passing : loops that go on to the parent of each node, then those of each particle.
    """

    sizes: list[int]
    starts: list[int]
    closing: list[int]
    passing: list[set[int]]


class Carries(NamedTuple):
    """The carries, node by node: (row, node, loop, number in the loop) of each, and the first of a loop at a node."""

    rows: list[tuple[int, int, int, int]]
    first: dict[tuple[int, int], int]


def build_loop_graph(model: Model, node_of_row: np.ndarray, masses: Sequence[float]) -> LoopGraph:
    """The tables of a model's loops, once per model.

    node_of_row : row of the kinematics table → node of the tree. masses : (nodes,), kg.
    """
    layout = model.tree
    assert layout is not None
    parents = [int(row[0]) for row in layout.rows]
    rigid, particles = len(model.body_names), len(model.tables["nodes"])
    nodes = [len(parents) + body - rigid if rigid <= body < rigid + particles else int(node_of_row[body])
             for body in model.graph.incidences["body"].tolist()]  # fmt: skip
    loops = _find_loops(model, nodes, parents, particles)
    symbolic = _order(loops, len(parents))
    at_nodes, fronts, products = _fill_fronts(loops, len(parents), symbolic)
    carries = np.zeros(len(at_nodes.rows), CARRY).view(np.recarray)
    carries.row = [row for row, _, _, _ in at_nodes.rows]
    for x, (_, i, j, r) in enumerate(at_nodes.rows):
        goes_on = i < len(parents) and i != loops.closing[j] and parents[i] >= 0
        carries.up[x] = at_nodes.first[parents[i], j] + r if goes_on else -1
    bodies_with_mass = [*_nearest_with_mass(parents, masses), *(len(parents) + k for k in range(particles))]
    ends = []
    for k, (i, incidence) in enumerate(zip(nodes, model.graph.incidences, strict=True)):
        j = int(incidence["joint"])
        ends.append((k, at_nodes.first[i, j] + int(incidence["row"]) - loops.starts[j], i, bodies_with_mass[i]))
    closures = [(loops.closing[j], at_nodes.first.get((loops.closing[j], j), -1), j) for j in symbolic.order.tolist()]
    return LoopGraph(
        np.array(fronts, FRONT).view(np.recarray), carries, np.array(products, PRODUCT).view(np.recarray),
        np.array(ends, END).view(np.recarray), np.array(closures, CLOSURE).view(np.recarray),
        symbolic, _entry_carries(loops, symbolic, at_nodes),
    )  # fmt: skip


def _find_loops(model: Model, nodes: Sequence[int], parents: Sequence[int], particles: int) -> Loops:
    """The loops of a model. nodes : the node of each incidence. parents : of each node. particles : number of particles."""
    layout = model.tree
    assert layout is not None
    sizes, starts = model.graph.joints["rows"].tolist(), model.graph.joints["row"].tolist()
    ends: list[set[int]] = [set() for _ in sizes]
    for joint, at in zip(model.graph.incidences["joint"].tolist(), nodes, strict=True):
        ends[joint].add(at)
    parts = model.tables["parts"]
    absolute = set(parts["joint"][parts["kind"] == CUSTOM].tolist())
    closing_joints = [joint for joint in layout.loops if joint.name in model.joint_names]
    absolute |= {j for j, joint in enumerate(closing_joints) if len(ends[j]) < len({id(body) for body in joint.bodies})}
    closing = []
    passing: list[set[int]] = [set() for _ in range(len(parents) + particles)]
    for j, own in enumerate(ends):
        paths = [_path(end, parents) for end in sorted(own)]
        closing.append(WORLD_NODE if j in absolute else _common(paths))
        for path in paths:
            for i in path:
                if i == closing[j]:
                    break
                passing[i].add(j)
    return Loops(sizes, starts, closing, passing)


def _order(loops: Loops, nodes: int) -> Symbolic:
    """The order of elimination: where loops close, from the leaves on, the world last."""
    neighbours: list[set[int]] = [set() for _ in loops.sizes]
    for together in loops.passing:
        for j in together:
            neighbours[j] |= together - {j}
    stages = [nodes - at for at in loops.closing]
    return analyse(loops.sizes, loops.starts, neighbours, lambda node, done: True, stages)


def _fill_fronts(
    loops: Loops, nodes: int, symbolic: Symbolic
) -> tuple[Carries, list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The carries, the rows of the FRONT table, and those of the PRODUCT table."""
    closed: list[list[int]] = [[] for _ in loops.passing]
    for j, at in enumerate(loops.closing):
        if at >= 0:
            closed[at].append(j)
    at_nodes = Carries([], {})
    fronts: list[tuple[int, ...]] = []
    products: list[tuple[int, ...]] = []
    for i, passing in enumerate(loops.passing):
        own = len(at_nodes.rows)
        _add_carries(i, closed[i], loops, at_nodes)
        first, before = len(at_nodes.rows), len(products)
        _add_carries(i, sorted(passing), loops, at_nodes)
        products += _products(loops, i, sorted(passing), symbolic, at_nodes)
        fronts.append((own, first, len(at_nodes.rows), before, len(products)))
    return at_nodes, fronts, products


def _add_carries(i: int, own: Sequence[int], loops: Loops, at_nodes: Carries) -> None:
    """Append the carries of loops `own` at node i."""
    for j in own:
        at_nodes.first[i, j] = len(at_nodes.rows)
        at_nodes.rows.extend((loops.starts[j] + r, i, j, r) for r in range(loops.sizes[j]))


def _entry_carries(loops: Loops, symbolic: Symbolic, at_nodes: Carries) -> np.ndarray:
    """Of each entry of the matrix of the loops, the first carry of its loop at the node where its column closes."""
    first = np.full(len(symbolic.entries), -1)
    loop_at = {start: j for j, start in enumerate(loops.starts)}
    for column, k in zip(symbolic.columns, symbolic.order.tolist(), strict=True):
        for e in range(int(column["first"]), int(column["last"])):
            first[e] = at_nodes.first.get((loops.closing[k], loop_at[int(symbolic.entries[e]["x"])]), -1)
    return first


def _path(node: int, parents: Sequence[int]) -> list[int]:
    """The nodes from this one to its root; a particle is its own root."""
    path = [node]
    while node < len(parents) and parents[node] >= 0:
        node = parents[node]
        path.append(node)
    return path


def _common(paths: Sequence[Sequence[int]]) -> int:
    """The nearest node that is on all paths, −1 if there is none."""
    shared = set(paths[0]).intersection(*paths[1:]) if paths else set()
    return next((at for at in paths[0] if at in shared), WORLD_NODE) if paths else WORLD_NODE


def _products(
    loops: Loops, i: int, passing: Sequence[int], symbolic: Symbolic, at_nodes: Carries
) -> list[tuple[int, ...]]:
    """Rows of the PRODUCT table for the loops that pass node i."""
    rows: list[tuple[int, ...]] = []
    for j, k in combinations_with_replacement(passing, 2):
        offset, swapped = symbolic.block(j, k)
        steps = (1, loops.sizes[j]) if swapped else (loops.sizes[k], 1)
        rows.append((at_nodes.first[i, j], loops.sizes[j], at_nodes.first[i, k], loops.sizes[k], offset, *steps))
    return rows


def _nearest_with_mass(parents: Sequence[int], masses: Sequence[float]) -> list[int]:
    """The node with mass that is nearest to each; −1 where its tree has none."""
    near: list[list[int]] = [[] for _ in parents]
    for i, parent in enumerate(parents):
        if parent >= 0:
            near[i].append(parent)
            near[parent].append(i)
    first = [i if mass > 0.0 else -1 for i, mass in enumerate(masses)]
    waiting = deque(i for i, mass in enumerate(masses) if mass > 0.0)
    while waiting:
        i = waiting.popleft()
        for other in near[i]:
            if first[other] < 0:
                first[other] = first[i]
                waiting.append(other)
    return first


# The end of a step -----------------------------------------------------------------------------------------------------
#
# Loops are closed by the smallest change of joint coordinates in the metric of the masses, as `dynamics.mechanism.project`
# does for bodies. The change of energy and momenta goes to the ledger.


@njit
def project(t, z, reduced):
    """Newton on C(u) = 0, then J w = 0, with the factors of the last Newton step if that was small. The rank is that where
    the loops are closed. Returns a status; the tables are those of z (see `update_at`), with the loops factored."""
    system, options = reduced.system, reduced.options[0]
    length, error, change = system.settings[0].length, system.error, reduced.change
    status = update_at(t, z, reduced)
    if status != 0:
        return status
    before = energy_and_momenta(z, reduced)
    worst, decide, factored = largest(error), options.held == 0, False
    for iteration in range(ITERATIONS):
        if not worst > POSITION_ROUNDING * length:
            break
        factored = worst <= STALE * length
        if factor_loops(decide or factored, reduced) >= 0:
            return NOT_CLOSED
        least_change(error, reduced)
        displace_coordinates(z, 1.0, change, reduced.tree)
        change_particles(z, change, 0, reduced)
        if factored:
            break
        previous, decide = worst, True
        status = update_kinematics(t, z, reduced)
        if status != 0:
            return status
        worst = largest(error)
        if iteration > 3 and not worst < SLOW * previous:
            break
    if not worst <= CLOSED * length or (not factored and factor_loops(True, reduced) >= 0):
        return NOT_CLOSED
    options.held = 1
    jacobian_velocity(system, reduced.wanted)
    least_change(reduced.wanted, reduced)
    for k in range(options.speeds):
        at = options.coordinates + k
        store(z, at, load(z, at) + load(change, k))
    change_particles(z, change, 1, reduced)
    if system.commands.shape[0] > 0:
        spread(system, system.multipliers)
        book_rides(-1.0, z, reduced)
    status = update_at(t, z, reduced)
    record_projection(z, before, energy_and_momenta(z, reduced), reduced.system)
    if system.commands.shape[0] > 0:
        book_rides(1.0, z, reduced)
        settle_projected_rows(z, reduced.wanted, system)
    return status


# The part of the impulses of the loops that passes through kinematic bodies is work of their drives, and no error. What such
# a body receives is the change of the momenta of the links that ride on it, less the impulses of the loops on these and on
# itself.
@njit
def book_rides(sign, z, reduced):
    """Add the products of the momenta of links, times a sign, and the velocities that kinematic bodies give them to the work
    of these bodies' drives, and subtract them from that of projection. With a negative sign also those of the impulses of
    the loops, in the kinematics table."""
    system, nodes, motion = reduced.system, reduced.tree.nodes, reduced.tree.motion
    ledger = z.shape[0] - len(LEDGER)
    for k in range(system.commands.shape[0]):
        row, work = system.commands[k], 0.0
        if row.body < 0:
            continue
        root, v, omega = reduced.node_of_row[row.body], load3(row.v), load3(row.omega)
        for i in range(nodes.shape[0]):
            if not descends_from(root, i, nodes):
                continue
            own, kin = motion[i], system.kinematics[nodes[i].row]
            p, turning = (
                scale(sign * nodes[i].mass, load3(own.v)),
                symvec(load6(own.inertia), scale(sign, load3(own.omega))),
            )
            if sign < 0.0 and nodes[i].row >= 0:
                p, turning = sub(p, load3(kin.linear)), sub(turning, load3(kin.angular))
            work += dot(p, add(v, cross(omega, sub(load3(own.x), load3(motion[root].x))))) + dot(turning, omega)
        add_at(z, ledger - system.settings[0].ledger + row.entry, work)
        add_at(z, ledger + PROJECTION_WORK, -work)


@inlined
def descends_from(root, node, nodes):
    """Whether a node is another, or beyond it in the tree."""
    at = node
    while at > root:
        at = nodes[at].parent
    return at == root


@njit
def least_change(rates, reduced):
    """`change` = the smallest change of the speeds, in the metric of the masses, that subtracts `rates` from the rates of the
    rows of the loops."""
    wanted = reduced.wanted
    for r in range(wanted.shape[0]):
        store(wanted, r, -load(rates, r))
    clear(reduced.change)
    solve_loops(reduced.system.multipliers, reduced)


@njit
def change_particles(z, change, momenta, reduced):
    """Displace the particles in loops, or change their momenta, by `change` of their positions or velocities."""
    system, options = reduced.system, reduced.options[0]
    nodes, bodies, settings = system.nodes, system.bodies, system.settings[0]
    at = options.coordinates + options.speeds
    for i in range(nodes.shape[0]):
        factor, to = 1.0, at + 3 * nodes[i].particle
        if momenta != 0:
            factor, to = bodies[settings.rigid + i].mass, to + 3 * settings.particles
        for k in range(3):
            add_at(z, to + k, factor * load(change, options.speeds + 3 * i + k))


# The C function of loops -----------------------------------------------------------------------------------------------
#
# A C function of its own, so that trees without loops do not compile it. The first three functions call it.


FACTOR, FACTOR_ANEW, SOLVE, CLOSE = range(4)
_floats = viewer(np.float64)


@njit
def call_factor_loops(decide, reduced):
    """See `factor_loops`."""
    task = FACTOR_ANEW if decide else FACTOR
    return call_pointer(reduced.options[0].loops, own_address(reduced), task, 0.0, reduced.change, reduced.change)


@njit
def call_solve_loops(reduced):
    """See `solve_loops`; λ are the multipliers of the system."""
    call_pointer(reduced.options[0].loops, own_address(reduced), SOLVE, 0.0, reduced.change, reduced.change)


@njit
def call_project(t, z, reduced):
    """See `project`."""
    return call_pointer(reduced.options[0].loops, own_address(reduced), CLOSE, t, z, z)


@njit
def loops_task(task, t, z, unused, reduced):
    """Do one of the tasks FACTOR … CLOSE; returns a status, or for FACTOR the freedom without inertia, −1 if none."""
    if task in (FACTOR, FACTOR_ANEW):
        return factor_loops(task == FACTOR_ANEW, reduced)
    if task == CLOSE:
        return project(t, z, reduced)
    solve_loops(reduced.system.multipliers, reduced)
    return 0


def loops_entry(data, task, t, z, n, unused, m):
    return loops_task(task, t, _floats(z, n), _floats(unused, m), table_at(Reduced, data))


LOOPS_ENTRY = CFunction(loops_entry, C_SIGNATURE)
