"""Joints that close loops, as constraints on joint coordinates, with multipliers λ:

    M ẇ − Jᵀ λ = e,   J ẇ = c.

M is never written out. What a link feels of its joint is (f, τ) = A a + p − Σ K_r λ_r (see `forward`), and a row r of a
loop with an end beyond that joint reads K_rᵀ a + Σ G_rs λ_s = c_r. At its end K is the row's coefficients on the velocities
of the link, and G is zero. From the leaves on, a freedom with column S, U = A S, D = Sᵀ U and z = Sᵀ K is taken out:

    A ← A − U Uᵀ/D,   K_r ← K_r − U z_r/D,   G_rs ← G_rs + z_r z_s/D,   c_r ← c_r − z_r e'/D,

and the result is moved to the parent. Where a loop closes (`loop_graph`) its multipliers are eliminated. With P the inverse
of its block of G, B its blocks with loops that go on, and X = B P,

    A ← A + K P Kᵀ,   p ← p − K P c,   K_s ← K_s − K X_sᵀ,   G_st ← G_st − X_s B_tᵀ,   c_s ← c_s − X_s c.

At the world a = 0, and the rest of G is factored as a sparse matrix. Back from the root, a and ẇ follow as in `forward`,
and λ = P (c − Kᵀ a) − Xᵀ λ_s. The work is linear in the number of links and of the rows that pass them. Particles in loops
are links of their own.

**Rank.** Rows may depend on each other, as in planar loops in space or in Bricard's linkage; in floating point they do so
up to rounding. The multipliers of dependent rows are zero. The answer G_rr of a row is a sum of squares, less what the rows
before it take out of it. A row depends on those rows if only a share below `RANK` of the sum is left. It depends on the
tree alone, as a second bearing does, if the sum is below the share `NOTHING` (rounding, squared) of the answer that its
bodies would give if they were free. Both are ratios of numbers of one unit, so that sizes and masses of links do not
matter. At a state within a step loops are open by the error of the step, and rows that depend on each other where the loops
are closed are then independent. So the rank is decided where loops were closed, and holds until they are closed again."""

from ..arrays import clear
from ..jit import inlined, njit
from ..linalg.block import load_6, product, subtract_product_t
from ..linalg.ldl import apply_inverse, subtract_times, subtract_transposed_times
from ..mechanics.assembly import load_point
from ..mechanics.kinematics import load6, load9
from ..unchecked import peek, poke
from ..vec import add, add_scaled, cross, dot, load3, matvec_t, store3, sub, symvec
from .forward import begin_inertia, load_inertia, take_out
from .motion import ZERO, store6, store9

RANK = 1e-12  # share of a row's answer that the rows before it leave: with less it depends on them
FLOOR = 1e-14  # the same while the rank is held: what is less is rounding
NOTHING = 1e-20  # share of what the bodies would answer if they were free: with less the tree does not let the row move


@njit
def factor_loops(decide, reduced):
    """Fill and eliminate A, K and G, where the tree and the bodies' J are. decide : whether to decide the rank anew.
    Returns the freedom that nothing resists, or −1."""
    closures = reduced.closures
    nodes, motion = reduced.tree.nodes, reduced.tree.motion
    reduced.system.settings[0].condition = 1.0
    begin(reduced)
    for i in range(nodes.shape[0], reduced.fronts.shape[0]):
        multiply_particle(i, reduced)
    limp, at = -1, 0
    for i in range(nodes.shape[0] - 1, -1, -1):
        while at < closures.shape[0] and closures[at].node == i:
            eliminate(at, decide, reduced)
            at += 1
        slack = pass_node(i, reduced)
        if slack >= 0:
            limp = slack
        if nodes[i].parent >= 0:
            hand_on(i, load3(motion[i].r), reduced)
    for k in range(at, closures.shape[0]):
        eliminate(k, decide, reduced)
    return limp


@njit
def begin(reduced):
    """Every link by itself, and the rows at their ends."""
    carries = reduced.carries
    nodes, motion = reduced.tree.nodes, reduced.tree.motion
    for i in range(nodes.shape[0]):
        begin_inertia(nodes[i], motion[i])
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
                begin_row(end, incidence, k, axis, cross(r, axis), reduced)
        else:
            for k in range(incidence.rows):
                c = load_6(jacobian, incidence.offset + 6 * k)
                begin_row(end, incidence, k, (c[0], c[1], c[2]), (c[3], c[4], c[5]), reduced)


@njit
def begin_row(end, incidence, k, f, g, reduced):
    """A row (f, g) on the velocities of a body, and the answer of that body, or of the nearest that has mass, by itself."""
    carry = reduced.carries[end.carry + k]
    store3(carry.force, add(load3(carry.force), f))
    store3(carry.torque, add(load3(carry.torque), g))
    if end.bearer < 0:
        return
    row = incidence.body
    if end.bearer < reduced.tree.nodes.shape[0]:
        row = reduced.tree.nodes[end.bearer].row
    body, kin = reduced.system.bodies[row], reduced.system.kinematics[row]
    g = add(g, cross(sub(load3(reduced.system.kinematics[incidence.body].x), load3(kin.x)), f))
    turned = matvec_t(load9(kin.rotation), g)
    answer = body.inverse_mass * dot(f, f) + dot(turned, symvec(load6(body.inverse_inertia), turned))
    increase(reduced.free, incidence.row + k, answer)


@inlined
def increase(array, at, value):
    poke(array, at, peek(array, at) + value)


@njit
def multiply_particle(i, reduced):
    """What a particle adds to G: it is a link with three freedoms and nothing that carries it."""
    carries, front = reduced.carries, reduced.fronts[i]
    w, _ = particle_of(i, reduced)
    for k in range(3):
        for x in range(front.first, front.last):
            carries[x].share[k] = carries[x].force[k]
        multiply(front, k, w, reduced)


@inlined
def multiply(front, k, d, reduced):
    """G and the answers of the rows that pass a node, with d z zᵀ of its freedom k."""
    carries, products, values, sizes = reduced.carries, reduced.products, reduced.values, reduced.sizes
    for x in range(front.product, front.last_product):
        pair = products[x]
        same = pair.left == pair.right
        for a in range(pair.rows):
            z = d * carries[pair.left + a].share[k]
            if same:  # of which the upper half is enough
                increase(sizes, carries[pair.left + a].row, z * carries[pair.left + a].share[k])
            for b in range(a if same else 0, pair.columns):
                at = pair.target + pair.row_step * a + pair.column_step * b
                increase(values, at, z * carries[pair.right + b].share[k])


@njit
def pass_node(i, reduced):
    """Take the freedoms of a node out of A and of the rows that go on. Returns the freedom that nothing resists, or −1."""
    tree, carries = reduced.tree, reduced.carries
    node, own, front = tree.nodes[i], tree.motion[i], reduced.fronts[i]
    columns, freedoms, resistance = tree.columns, tree.freedoms, reduced.resistance
    m, h, j = load6(own.mass_block), load9(own.mixed_block), load6(own.inertia_block)
    limp = -1
    for k in range(node.last - 1, node.first - 1, -1):
        column = columns[k]
        m, h, j, f, g, d, resists = take_out(m, h, j, column, freedoms[k].armature + peek(resistance, k))
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
def hand_on(i, r, reduced):
    """Add A and the rows that go on to those of the parent, from where the node is at r."""
    carries, front = reduced.carries, reduced.fronts[i]
    own, carrier = reduced.tree.motion[i], reduced.tree.motion[reduced.tree.nodes[i].parent]
    load_inertia(load6(own.mass_block), load9(own.mixed_block), load6(own.inertia_block), r, carrier)
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
    if reduced.system.joints[closure.joint].active != 0:  # what was let go has no rows
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
        weight = peek(weights, at + s)
        p = add_scaled(p, weight, load3(carries[first + s].force))
        q = add_scaled(q, weight, load3(carries[first + s].torque))
    return p, q


@njit
def invert_independent(column, decide, reduced):
    """Replace the block of a loop in G by its inverse on the rows that are independent, and by zero on the others. Returns
    the least share of its answer that is left of a row, 0 where a row is not independent."""
    values, sizes, free, kept = reduced.values, reduced.sizes, reduced.free, reduced.kept
    o, n, x = column.pivot, column.width, column.x
    for i in range(n):
        for j in range(i):
            poke(values, o + n * i + j, peek(values, o + n * j + i))
    swept, least = 0, 1.0
    for _ in range(n):
        p, best = -1, RANK if decide else FLOOR
        for i in range(n):
            answer = peek(sizes, x + i)
            if (swept >> i) & 1 != 0 or not answer > NOTHING * peek(free, x + i) or (not decide and kept[x + i] == 0):
                continue
            share = peek(values, o + (n + 1) * i) / answer
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
            kept[x + i] = 1 if independent else 0
        if not independent:
            for j in range(n):
                poke(values, o + n * i + j, 0.0)
                poke(values, o + n * j + i, 0.0)
    return least


@inlined
def sweep(d, o, n, p):
    """One step of the inversion of a symmetric block in place, at pivot p."""
    inverse = 1.0 / peek(d, o + (n + 1) * p)
    for i in range(n):
        if i != p:
            share = peek(d, o + n * i + p) * inverse
            for j in range(n):
                if j != p:
                    increase(d, o + n * i + j, -share * peek(d, o + n * p + j))
    for i in range(n):
        if i != p:
            poke(d, o + n * i + p, peek(d, o + n * i + p) * inverse)
            poke(d, o + n * p + i, peek(d, o + n * p + i) * -inverse)
    poke(d, o + (n + 1) * p, inverse)


@njit
def solve_loops(multipliers, reduced):
    """ẇ and λ for e in `change`, which ẇ replaces, and c in `wanted`. Accelerations of particles in loops stand after ẇ,
    from the forces on them."""
    fronts, carries, closures = reduced.fronts, reduced.carries, reduced.closures
    nodes, motion, change, wanted = reduced.tree.nodes, reduced.tree.motion, reduced.change, reduced.wanted
    for r in range(wanted.shape[0]):
        poke(multipliers, r, peek(wanted, r))
    for i in range(nodes.shape[0], fronts.shape[0]):
        push_particle(i, multipliers, reduced)
    for i in range(nodes.shape[0]):
        store3(motion[i].bearing, ZERO)
        store3(motion[i].bearing_torque, ZERO)
    at = 0
    for i in range(nodes.shape[0] - 1, -1, -1):
        while at < closures.shape[0] and closures[at].node == i:
            substitute(at, multipliers, reduced)
            at += 1
        push_node(i, multipliers, reduced)
    for k in range(at, closures.shape[0]):
        substitute(k, multipliers, reduced)
    at = closures.shape[0] - 1
    while at >= 0 and closures[at].node < 0:
        substitute_back(at, multipliers, reduced)
        at -= 1
    for i in range(nodes.shape[0]):
        follow_node(i, multipliers, reduced)
        while at >= 0 and closures[at].node == i:
            substitute_back(at, multipliers, reduced)
            at -= 1
    for i in range(nodes.shape[0], fronts.shape[0]):
        w, place = particle_of(i, reduced)
        for x in range(fronts[i].first, fronts[i].last):
            impulse = w * peek(multipliers, carries[x].row)
            for k in range(3):
                increase(change, place + k, impulse * carries[x].force[k])


@inlined
def particle_of(i, reduced):
    """Inverse mass of a particle in loops, and where its acceleration stands in `change`. i : its front."""
    number = i - reduced.tree.nodes.shape[0]
    w = reduced.system.bodies[reduced.system.settings[0].rigid + number].inverse_mass
    return w, reduced.options[0].speeds + 3 * number


@njit
def push_particle(i, multipliers, reduced):
    """Force to acceleration without loops, and what that does to the rows."""
    carries, change = reduced.carries, reduced.change
    w, place = particle_of(i, reduced)
    for k in range(3):
        poke(change, place + k, w * peek(change, place + k))
    a = (peek(change, place), peek(change, place + 1), peek(change, place + 2))
    for x in range(reduced.fronts[i].first, reduced.fronts[i].last):
        increase(multipliers, carries[x].row, -dot(load3(carries[x].force), a))


@njit
def push_node(i, multipliers, reduced):
    """The efforts of a node, what its rows have of them, and p of its parent."""
    tree, carries, change = reduced.tree, reduced.carries, reduced.change
    node, front, motion, columns = tree.nodes[i], reduced.fronts[i], tree.motion, tree.columns
    p, q = load3(motion[i].bearing), load3(motion[i].bearing_torque)
    for k in range(node.last - 1, node.first - 1, -1):
        column = columns[k]
        left = peek(change, k) - dot(load3(column.linear), p) - dot(load3(column.angular), q)
        column.effort = left
        left *= column.response
        p, q = add_scaled(p, left, load3(column.force)), add_scaled(q, left, load3(column.torque))
        for x in range(front.first, front.last):
            increase(multipliers, carries[x].row, -left * carries[x].share[k - node.first])
    if node.parent >= 0:
        carrier = motion[node.parent]
        store3(carrier.bearing, add(load3(carrier.bearing), p))
        store3(carrier.bearing_torque, add(load3(carrier.bearing_torque), add(q, cross(load3(motion[i].r), p))))


@njit
def follow_node(i, multipliers, reduced):
    """ẇ of a node from the accelerations of its parent and the multipliers of the rows that go on; its own accelerations,
    into `bearing`."""
    tree, carries, change = reduced.tree, reduced.carries, reduced.change
    node, front, motion, columns = tree.nodes[i], reduced.fronts[i], tree.motion, tree.columns
    a, alpha = ZERO, ZERO
    if node.parent >= 0:
        carrier = motion[node.parent]
        alpha = load3(carrier.bearing_torque)
        a = add(load3(carrier.bearing), cross(alpha, load3(motion[i].r)))
    for k in range(node.first, node.last):
        column = columns[k]
        left = column.effort - dot(load3(column.force), a) - dot(load3(column.torque), alpha)
        for x in range(front.first, front.last):
            left += carries[x].share[k - node.first] * peek(multipliers, carries[x].row)
        rate = left * column.response
        poke(change, k, rate)
        a = add_scaled(a, rate, load3(column.linear))
        alpha = add_scaled(alpha, rate, load3(column.angular))
    store3(motion[i].bearing, a)
    store3(motion[i].bearing_torque, alpha)


@njit
def substitute(k, multipliers, reduced):
    """c of a loop becomes P c where it closes, and is taken out of the rows that go on and of p."""
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
            poke(rates, column.x + r, dot(load3(carry.force), a) + dot(load3(carry.torque), alpha))
        apply_inverse(reduced.values, column.pivot, column.width, rates, column.x)
        for r in range(column.width):
            increase(multipliers, column.x + r, -peek(rates, column.x + r))
