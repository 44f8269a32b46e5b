"""The rows of contacts and bounds in joint coordinates, and how they respond to each other.

J w are the rates: normal and tangential velocities of contacts, rates of bounded coordinates. An impulse p along the rows
changes the speeds by R p, R = M⁻¹ Jᵀ less what the loops answer, so that D = J R changes the rates. With G the rows of the
loops and λ their answer, M R = Jᵀ + Gᵀ λ and G R = 0.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import CONTACTS, ISLANDS
from ..core.c_function import POWERS, call_pointer
from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, scale, store3, sub, symvec
from ..core.simd import clear, copy, load, store
from ..core.tables import column
from ..dynamics.jacobian import coordinate_rows, coordinate_value
from ..dynamics.joint_space.dynamics import add_joint_space_row, factorize, solve
from ..dynamics.joint_space.kinematics import ZERO, store6
from ..dynamics.joint_space.loops import call_solve_loops
from ..dynamics.joint_space.state import forward_velocities
from ..dynamics.kinematics import load6
from ..linalg.block_matrix import inverse_of
from ..model.tables import LEDGER, PROJECTION_WORK, SERVO
from .gauss_seidel import axes_of, put_row, world_impulse
from .joints import book_reaction
from .limits import (
    LOCKED,
    active_law,
    book_row,
    elastic_impulse,
    is_stop,
    saturation_changed,
    set_laws,
    update_bound,
    warm_start_bound,
)
from .tables import BOUND, FRICTION_STEP, INVERSE_NORMAL, OFF, OPTIONS, REPORT, RESPONSE, ROW, SOFT, TIMER_SIZE
from .tree_solve import row_work


@njit
def fill_rows(h, reduced, collision, stepping):
    """J, R, D and the rates before the step, where the tree and the kinematics table are. h : s, over which efforts act."""
    contacts, bounds, count = collision.contacts, stepping.bounds, collision.counts[CONTACTS]
    m = stepping.before.shape[0]
    for i in range(count):
        fill_contact(i, contacts[i], m, reduced, stepping)
    for i in range(bounds.shape[0]):
        fill_bound(3 * count + i, bounds[i], h, m, reduced, stepping)
    fill_responses(h, reduced, collision, stepping)


@njit
def fill_responses(h, reduced, collision, stepping):
    """R, D and the rates before the step, where J is."""
    count, m = collision.counts[CONTACTS], stepping.before.shape[0]
    rows = 3 * count + stepping.bounds.shape[0]
    jacobian, response, before = stepping.jacobian, stepping.response, stepping.before
    for r in range(rows):
        for k in range(m):
            store(response, r * m + k, load(jacobian, r * m + k))
        solve(response, r * m, reduced.tree)
        set_span(r, m, stepping)
        store(stepping.rates_before, r, row_product(r, before, 0, m, stepping))
    fill_delassus(h, rows, count, m, reduced, collision, stepping)


@njit
def fill_contact(i, contact, m, reduced, stepping):
    """The rows of J of one contact: normal and two tangents."""
    jacobian, node_of_row, tree = stepping.jacobian, reduced.node_of_row, reduced.tree
    rigid = reduced.system.settings[0].rigid
    axes, arm_a, arm_b = axes_of(contact), load3(contact.arm_a), load3(contact.arm_b)
    for r in range(3):
        at = (3 * i + r) * m
        clear_row(jacobian, at, m)
        axis = axes[r]
        if contact.b < rigid:
            add_joint_space_row(node_of_row[contact.b], axis, cross(arm_b, axis), jacobian, at, tree)
        if contact.a < rigid:
            back = scale(-1.0, axis)
            add_joint_space_row(node_of_row[contact.a], back, cross(arm_a, back), jacobian, at, tree)


@njit
def fill_bound(row, bound, h, m, reduced, stepping):
    """The row of J of one bound, with its gap and limits; h : s, over which efforts act."""
    jacobian = stepping.jacobian
    update_bound(bound, h, reduced.y, reduced.system)
    clear_row(jacobian, row * m, m)
    add_joint_space_row(
        reduced.node_of_row[bound.a], load3(bound.linear_a), load3(bound.angular_a), jacobian, row * m, reduced.tree
    )
    add_joint_space_row(
        reduced.node_of_row[bound.b], load3(bound.linear_b), load3(bound.angular_b), jacobian, row * m, reduced.tree
    )


@njit
def clear_row(values, at, m):
    for k in range(m):
        store(values, at + k, 0.0)


@njit
def set_span(row, m, stepping):
    """Write the first and the end of the entries of a row of J that are not zero."""
    jacobian = stepping.jacobian
    first, end = 0, m
    while first < end and load(jacobian, row * m + first) == 0.0:
        first += 1
    while end > first and load(jacobian, row * m + end - 1) == 0.0:
        end -= 1
    stepping.spans[2 * row], stepping.spans[2 * row + 1] = first, end


@njit
def row_product(row, x, at, m, stepping):
    """Row of J times the m numbers of x from `at` on."""
    jacobian = stepping.jacobian
    value = 0.0
    for k in range(stepping.spans[2 * row], stepping.spans[2 * row + 1]):
        value += load(jacobian, row * m + k) * load(x, at + k)
    return value


@njit
def fill_delassus(h, rows, count, m, reduced, collision, stepping):
    """D, its blocks on the diagonal as Gauss–Seidel takes them, and bounds where they begin. Contacts of two islands do not
    feel each other, and their part of D is not written."""
    islands, contacts, bounds = collision.islands, collision.contacts, stepping.bounds
    system, delassus, before = reduced.system, stepping.delassus, stepping.rates_before
    for i in range(bounds.shape[0]):
        r = 3 * count + i
        bounds[i].before = load(before, r)
        if h > 0.0:
            aim_bound(bounds[i], h, 0.5 * h * row_product(r, stepping.slopes, 0, m, stepping), system, stepping)
        bounds[i].response = row_product(r, stepping.response, r * m, m, stepping)
    if reduced.wanted.shape[0] > 0:
        for r in range(rows):
            answer_loops(r, m, reduced, stepping)
    for i in range(collision.counts[ISLANDS]):
        island = islands[i]
        for r in range(3 * island.first, 3 * island.end):
            fill_products(r, 3 * island.first, r + 1, rows, m, stepping)
    for r in range(3 * count, rows):
        fill_products(r, 0, r + 1, rows, m, stepping)
    for i in range(count):
        at = 3 * i * (rows + 1)
        k = (
            load(delassus, at), load(delassus, at + 1), load(delassus, at + 2), load(delassus, at + rows + 1),
            load(delassus, at + rows + 2), load(delassus, at + 2 * rows + 2),
        )  # fmt: skip
        put_contact(contacts[i], k, ROW * i, reduced, stepping)
    for i in range(bounds.shape[0]):
        bound, found = bounds[i], load(delassus, (3 * count + i) * (rows + 1))
        bound.response = found if found > LOCKED * bound.response else OFF
        warm_start_bound(bound, system)


@njit
def aim_bound(bound, h, drift, system, stepping):
    """Bias of an ideal motor, and bias and compliance of a soft row, whose rate changes by `drift` in half a drift."""
    force = system.forces[bound.force]
    if force.kind == SERVO:
        bound.bias = drift - force.target
    if bound.soft < 0:
        return
    row = stepping.soft[bound.soft]
    row.before, row.drift = bound.before - drift, drift
    k = force.stiffness if force.active != 0 else 0.0
    bound.compliance = 1.0 / row.resist
    bound.bias = -(row.push - h * k * row.value + row.keep * row.before) / row.resist + drift


@njit
def fill_products(r, first, end, rows, m, stepping):
    """Row r of D from `first` to `end`, and the same of its column."""
    delassus, response = stepping.delassus, stepping.response
    for s in range(first, end):
        value = row_product(r, response, s * m, m, stepping)
        store(delassus, r * rows + s, value)
        store(delassus, s * rows + r, value)


@njit
def put_contact(contact, k, at, reduced, stepping):
    """The responses of a contact. Where the joints leave it no freedom, no impulse is looked for: its steps are zero."""
    responses = stepping.responses
    rigid = reduced.system.settings[0].rigid
    alone = 0.0
    if contact.a < rigid:
        alone += reduced.system.bodies[contact.a].inverse_mass
    if contact.b < rigid:
        alone += reduced.system.bodies[contact.b].inverse_mass
    slides = k[3] + k[5] > LOCKED * alone
    if k[0] > LOCKED * alone and slides:
        put_row(k, responses, at)
        return
    for i in range(6):
        store(responses, at + RESPONSE + i, k[i])
    store(responses, at + FRICTION_STEP, 0.0)
    if k[0] > LOCKED * alone:
        store(responses, at + INVERSE_NORMAL, 1.0 / k[0])
        return
    store(responses, at + RESPONSE, OFF)
    store(responses, at + INVERSE_NORMAL, 0.0)
    store3(contact.impulse, ZERO)


@njit
def answer_loops(row, m, reduced, stepping):
    """A row of R with the answer of the loops."""
    response, jacobian, change = stepping.response, stepping.jacobian, reduced.change
    for k in range(m):
        store(change, k, load(jacobian, row * m + k))
    clear(reduced.wanted)
    call_solve_loops(reduced)
    for k in range(m):
        store(response, row * m + k, load(change, k))


# ----------------------------------------------------------------------------------------------------------------------
# The books of a step: the work of forces, what impulses do to each tree, their work, and what the trees' roots bear.
#
# The momentum of a tree that nothing holds changes by the impulses on its links, and by nothing else; so does its
# angular momentum about the origin. What the drifts leave of that undone, h⁵ or so, is put right by the velocity of the
# whole tree, its joints held. Of a tree that stands on the world the difference is what its root bears: a reaction.


@njit
def measure_trees(reduced, stepping):
    """Mass properties and momenta of each tree, where it is."""
    roots, root_of = stepping.roots, stepping.root_of
    nodes, motion = reduced.tree.nodes, reduced.tree.motion
    for i in range(roots.shape[0]):
        root = roots[i]
        root.mass = 0.0
        store3(root.first, ZERO)
        store6(root.inertia, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        store3(root.momentum_now, ZERO)
        store3(root.turning_now, ZERO)
    for i in range(nodes.shape[0]):
        m, own, root = nodes[i].mass, motion[i], roots[root_of[i]]
        x, p, own_inertia, inertia = load3(own.x), scale(m, load3(own.v)), load6(own.inertia), load6(root.inertia)
        r = sub(x, load3(motion[root.node].x))
        root.mass += m
        store3(root.first, add_scaled(load3(root.first), m, r))
        store6(root.inertia, (
            inertia[0] + own_inertia[0] + m * (r[1] * r[1] + r[2] * r[2]),
            inertia[1] + own_inertia[1] + m * (r[0] * r[0] + r[2] * r[2]),
            inertia[2] + own_inertia[2] + m * (r[0] * r[0] + r[1] * r[1]),
            inertia[3] + own_inertia[3] - m * r[0] * r[1], inertia[4] + own_inertia[4] - m * r[0] * r[2],
            inertia[5] + own_inertia[5] - m * r[1] * r[2],
        ))  # fmt: skip
        spin = add(cross(x, p), symvec(own_inertia, load3(own.omega)))
        store3(root.momentum_now, add(load3(root.momentum_now), p))
        store3(root.turning_now, add(load3(root.turning_now), spin))


@njit
def open_books(reduced, stepping):
    """The momenta before a step, where the trees are."""
    roots = stepping.roots
    measure_trees(reduced, stepping)
    for i in range(roots.shape[0]):
        begin_root(roots[i], load3(roots[i].momentum_now), load3(roots[i].turning_now))


@inlined
def begin_root(root, momentum, turning):
    """Momenta of a root before the impulses of the step, which are zero so far."""
    store3(root.momentum, momentum)
    store3(root.turning, turning)
    store3(root.impulse, ZERO)
    store3(root.moment, ZERO)


# With v, ω the change of velocity of the root's centre of mass and of the tree, h its first moment and J its inertia about
# that point: ΔP = m v + ω × h and ΔL = h × v + J ω, so that (J − (h·h − h hᵀ)/m) ω = ΔL − h × ΔP/m.
@njit
def close_books(z, reduced, stepping):
    """Momenta after the step, where the trees are, are made what the impulses ask for; reactions go to the ledger. They are
    those before the next step."""
    tree, roots, first = reduced.tree, stepping.roots, reduced.options[0].coordinates
    measure_trees(reduced, stepping)
    for i in range(roots.shape[0]):
        root = roots[i]
        momentum = add(load3(root.momentum), load3(root.impulse))
        turning = add(load3(root.turning), load3(root.moment))
        lacks, turn = sub(momentum, load3(root.momentum_now)), sub(turning, load3(root.turning_now))
        if root.loose == 0:
            book_reaction(z, scale(-1.0, lacks), scale(-1.0, turn))
            begin_root(root, load3(root.momentum_now), load3(root.turning_now))
            continue
        begin_root(root, momentum, turning)
        h, j, m = load3(root.first), load6(root.inertia), root.mass
        square = dot(h, h)
        central = (
            j[0] - (square - h[0] * h[0]) / m, j[1] - (square - h[1] * h[1]) / m, j[2] - (square - h[2] * h[2]) / m,
            j[3] + h[0] * h[1] / m, j[4] + h[0] * h[2] / m, j[5] + h[1] * h[2] / m,
        )  # fmt: skip
        inverse, definite = inverse_of(central)
        about = sub(turn, cross(load3(tree.motion[root.node].x), lacks))
        omega = ZERO
        if definite:
            omega = symvec(inverse, sub(about, scale(1.0 / m, cross(h, lacks))))
        v = scale(1.0 / m, sub(lacks, cross(omega, h)))
        at = first + tree.nodes[root.node].first
        for k in range(3):
            store(z, at + k, load(z, at + k) + v[k])
            store(z, at + 3 + k, load(z, at + 3 + k) + omega[k])


@inlined
def give(node, impulse, moment, reduced, stepping):
    """An impulse on a node, and its moment about the origin."""
    root = stepping.roots[stepping.root_of[node]]
    store3(root.impulse, add(load3(root.impulse), impulse))
    store3(root.moment, add(load3(root.moment), moment))


@njit
def book_forces(h, z, reduced, stepping):
    """What forces over h and the impulses of the loops, in the kinematics table, give to the trees."""
    nodes, kinematics = reduced.tree.nodes, reduced.system.kinematics
    rigid = reduced.system.settings[0].rigid
    for i in range(nodes.shape[0]):
        if nodes[i].row < 0:
            continue
        kin = kinematics[nodes[i].row]
        x, loop, turn = load3(kin.x), load3(kin.linear), load3(kin.angular)
        turn = add(cross(x, loop), turn)
        book_reaction(z, loop, turn)  # those of loops within the tree cancel
        force = scale(h, load3(kin.force))
        moment = add(cross(x, force), scale(h, load3(kin.torque)))
        if nodes[i].row >= rigid:
            book_reaction(z, force, moment)  # the mechanism counts the forces on bodies only
        give(i, add(force, loop), add(moment, turn), reduced, stepping)


@njit
def find_powers(reduced):
    """The powers of the applied forces at the velocities in the kinematics table."""
    call_pointer(reduced.options[0].mechanism, reduced.options[0].handle, POWERS, 0.0, reduced.y, reduced.y)


@njit
def find_mean_powers(z, reduced, stepping):
    """The powers of the applied forces at the mean speeds w̄ = ½ (w⁻ + w⁺) of the step."""
    before, after, first = stepping.before, stepping.after, reduced.options[0].coordinates
    for k in range(before.shape[0]):
        store(z, first + k, 0.5 * (load(before, k) + load(after, k)))
    forward_velocities(z[first : first + before.shape[0]], reduced)
    find_powers(reduced)


@njit
def book_displacement(h, z, reduced, collision, stepping):
    """The work of the applied forces, of motors and of dry friction along the displacement in `shift`; that nothing has done
    the opposite work is an error of the energy, booked as the work of projection."""
    bounds, shift = stepping.bounds, stepping.shift
    count = collision.counts[CONTACTS]
    system, m = reduced.system, shift.shape[0]
    forward_velocities(shift, reduced)
    find_powers(reduced)
    power = system.power
    works, total = z.shape[0] - power.shape[0], 0.0
    for i in range(power.shape[0] - len(LEDGER)):
        z[works + i] += power[i]
        total += power[i]
    for i in range(bounds.shape[0]):
        if not is_stop(bounds[i], system):
            work = bounds[i].impulse * row_product(3 * count + i, shift, 0, m, stepping) / h
            z[bounds[i].entry] += work
            total += work
    z[z.shape[0] - len(LEDGER) + PROJECTION_WORK] -= total


@njit
def book_contacts(z, reduced, collision, stepping):
    """Impulses of contacts: on the trees, from the world, and their work."""
    contacts, node_of_row, entry = collision.contacts, reduced.node_of_row, stepping.options[0].ledger
    rigid = reduced.system.settings[0].rigid
    for i in range(collision.counts[CONTACTS]):
        contact = contacts[i]
        p = load3(contact.impulse)
        if p[0] == 0.0:
            continue
        n, t, s = axes_of(contact)
        impulse = world_impulse(n, t, s, p[0], p[1], p[2])
        moment = cross(load3(contact.position), impulse)
        opposite, against = scale(-1.0, impulse), scale(-1.0, moment)
        if contact.b < rigid:
            give(node_of_row[contact.b], impulse, moment, reduced, stepping)
        else:
            book_reaction(z, opposite, against)
        if contact.a < rigid:
            give(node_of_row[contact.a], opposite, against, reduced, stepping)
        else:
            book_reaction(z, impulse, moment)
        z[entry] += row_work(p[0], 3 * i, stepping)
        z[entry + 1] += row_work(p[1], 3 * i + 1, stepping) + row_work(p[2], 3 * i + 2, stepping)


@njit
def book_bounds(z, reduced, collision, stepping):
    """The same of stops, dry friction and ideal motors."""
    bounds, count = stepping.bounds, collision.counts[CONTACTS]
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        z[bound.entry] += row_work(bound.impulse, 3 * count + i, stepping)
        book_side(z, bound.a, bound.impulse, load3(bound.linear_a), load3(bound.angular_a), reduced, stepping)
        book_side(z, bound.b, bound.impulse, load3(bound.linear_b), load3(bound.angular_b), reduced, stepping)


@njit
def book_side(z, row, impulse, linear, angular, reduced, stepping):
    """An impulse along a row of a body; the world's is a reaction."""
    force = scale(impulse, linear)
    moment = add(cross(load3(reduced.system.kinematics[row].x), force), scale(impulse, angular))
    node = reduced.node_of_row[row]
    if node >= 0:
        give(node, force, moment, reduced, stepping)
    else:
        book_reaction(z, scale(-1.0, force), scale(-1.0, moment))


# ----------------------------------------------------------------------------------------------------------------------
# Motors with gains, springs and dampers of joints in joint coordinates, as `contact.limits` explains.
#
# On a joint of the tree the coordinate is a freedom, so that λ = push − resist ṡ⁺ + keep ṡ⁻ is `resist` on the diagonal
# of M, exactly, and costs nothing. On a joint that closes a loop it is a row with a compliance, beside stops and dry
# friction (`contact.limits`).


@njit
def place_soft(z, first, reduced, stepping):
    """The laws of a step, and the values and rates before it, where the tree is; speeds are in z[first:]."""
    soft, system, y = stepping.soft, reduced.system, reduced.y
    h = stepping.options[0].dt
    set_laws(h, soft, system.forces)
    for i in range(soft.shape[0]):
        row = soft[i]
        coordinate = system.coordinates[row.coordinate]
        row.value = coordinate_value(y, coordinate, system.kinematics, system.curves)
        if row.freedom >= 0:
            row.drift = 0.5 * h * load(stepping.slopes, row.freedom)
            row.before = load(z, first + row.freedom) - row.drift


@njit
def add_soft(reduced, stepping):
    """The factor of M with `resist` on its diagonal, which is also added to the `resistance` of the freedoms, for the loops.
    Returns the freedom that nothing resists, or −1."""
    soft, forces = stepping.soft, reduced.system.forces
    matrix, h, m = reduced.tree.matrix, stepping.options[0].dt, stepping.before.shape[0]
    resistance = reduced.resistance
    copy(matrix, stepping.mass)
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom >= 0:
            _, resist, _, _ = active_law(h, row, forces[row.force])
            store(resistance, row.freedom, load(resistance, row.freedom) + resist)
    for k in range(m):
        store(matrix, k * (m + 1), load(matrix, k * (m + 1)) + load(resistance, k))
    return factorize(reduced.tree)


@njit
def keep_factor(reduced, stepping):
    """Keep the factor of M, which the drift after the impulses takes."""
    if stepping.soft.shape[0] > 0:
        copy(stepping.factor, reduced.tree.matrix)


@njit
def push_soft(reduced, stepping):
    """Add to `pushed` what the rows give at the speeds before the step."""
    soft, forces, pushed = stepping.soft, reduced.system.forces, stepping.pushed
    h = stepping.options[0].dt
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom >= 0:
            push, resist, keep, k = active_law(h, row, forces[row.force])
            before = row.before + row.drift
            change = push - h * k * row.value + keep * row.before - resist * (before + row.drift)
            store(pushed, row.freedom, load(pushed, row.freedom) + change)


@njit
def change_sides(trial, reduced, stepping):
    """As `contact.limits.update_saturation`, at the speeds `after`."""
    soft, forces, after = stepping.soft, reduced.system.forces, stepping.after
    h, changed = stepping.options[0].dt, False
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom >= 0:
            changed = (
                saturation_changed(trial, h, row, forces[row.force], load(after, row.freedom) + row.drift) or changed
            )
    return changed


@njit
def has_limits(reduced, stepping):
    """Whether a soft row is a motor with a limit."""
    soft, forces = stepping.soft, reduced.system.forces
    for i in range(soft.shape[0]):
        if soft[i].freedom >= 0 and forces[soft[i].force].limit < math.inf:
            return True
    return False


@njit
def book_soft(z, reduced, stepping):
    """The impulses of the rows: on the trees, from the world, and their work, less what goes into potentials of springs."""
    soft, system, after = stepping.soft, reduced.system, stepping.after
    forces, h = system.forces, stepping.options[0].dt
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom < 0:
            continue
        now, force = load(after, row.freedom) + row.drift, forces[row.force]
        push, resist, keep, k = active_law(h, row, force)
        row.impulse = push - h * k * row.value + keep * row.before - resist * now
        elastic = elastic_impulse(h, row, force, now)
        book_row(z, row, 0.5 * (row.impulse - elastic) * (row.before + now))
        linear_a, angular_a, linear_b, angular_b, _ = coordinate_rows(
            system.coordinates[row.coordinate], system.kinematics
        )
        book_side(z, row.a, row.impulse, linear_a, angular_a, reduced, stepping)
        book_side(z, row.b, row.impulse, linear_b, angular_b, reduced, stepping)


@njit
def displace_soft(z, reduced, stepping):
    """Book what motors and dampers of the rows do along the displacement in `shift`; that nothing has done the opposite work
    is an error of the energy, booked as the work of projection."""
    soft, after, shift = stepping.soft, stepping.after, stepping.shift
    forces, h = reduced.system.forces, stepping.options[0].dt
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom >= 0:
            elastic = elastic_impulse(h, row, forces[row.force], load(after, row.freedom) + row.drift)
            work = (row.impulse - elastic) * load(shift, row.freedom) / h
            book_row(z, row, work)
            z[z.shape[0] - len(LEDGER) + PROJECTION_WORK] -= work


@njit
def note_bounds(z, count, reduced, stepping):
    """The impulses of rows that are bounds, whose work has been booked: what went into potentials of springs is none."""
    bounds, soft, forces = stepping.bounds, stepping.soft, reduced.system.forces
    h, rates = stepping.options[0].dt, stepping.rates
    for i in range(bounds.shape[0]):
        if bounds[i].soft >= 0:
            row = soft[bounds[i].soft]
            row.impulse = bounds[i].impulse
            elastic = elastic_impulse(h, row, forces[row.force], load(rates, 3 * count + i) + row.drift)
            z[row.entry] -= row_work(row.impulse, 3 * count + i, stepping)
            book_row(z, row, row_work(row.impulse - elastic, 3 * count + i, stepping))


# ----------------------------------------------------------------------------------------------------------------------
# The tables of time steps of contact in joint coordinates; how a step is made and what it did is told by the records
# that steps of bodies have (`contact.tables`).


# A tree of links and what stands at its root: whether that is free, its momentum and angular momentum about the origin before
# the step, the impulse and its moment that the step gave it; what it has after the step: mass, first moment and inertia
# about the root's centre of mass, momentum and angular momentum about the origin.
ROOT = np.dtype(
    [("node", "i8"), ("loose", "i8"), ("momentum", "f8", 3), ("turning", "f8", 3), ("impulse", "f8", 3), ("moment", "f8", 3),
     ("mass", "f8"), ("first", "f8", 3), ("inertia", "f8", 6), ("momentum_now", "f8", 3), ("turning_now", "f8", 3)],
    align=True,
)  # fmt: skip


class TreeStepping(NamedTuple):
    """Everything a time step needs besides the mechanism and the collision tables.

    m speeds, z numbers in the state, r rows of loops. There are rows of three a contact (normal and two tangents), and after
    them one a bound.
    """

    options: Any = column("1", OPTIONS)
    report: Any = column("1", REPORT)
    bounds: Any = column("bounds", BOUND)
    roots: Any = column("roots", ROOT)
    root_of: Any = column("nodes", np.int64)
    soft: Any = column("soft", SOFT)
    callbacks: Any = column("2", np.int64, doc="address and data of the detector")
    saved: Any = column("z", fill=np.nan, doc="the state at the start of the step")
    slopes: Any = column("m", fill=np.nan, doc="rates of the speeds in free motion")
    mass: Any = column("m * m if soft else 0", fill=np.nan, doc="M, where there are soft rows")
    factor: Any = column("m * m if soft else 0", fill=np.nan, doc="its factor, likewise")
    before: Any = column("m", unit="m/s, rad/s", fill=np.nan, doc="speeds before the impulses")
    loop_rates: Any = column("r", unit="m/s, rad/s", fill=np.nan, doc="of the rows of loops at these")
    free: Any = column("m", unit="m/s, rad/s", fill=np.nan, doc="speeds with the impulses of forces and loops")
    after: Any = column("m", unit="m/s, rad/s", fill=np.nan, doc="speeds with all impulses")
    pushed: Any = column("m", unit="N s, N m s", fill=np.nan, doc="impulse of the forces along the speeds")
    shift: Any = column("m", unit="m, rad", fill=np.nan, doc="displacement that puts apart what overlaps")
    jacobian: Any = column("(3 * contacts + bounds) * m", fill=np.nan, doc="J, row by row")
    response: Any = column(
        "(3 * contacts + bounds) * m", fill=np.nan,
        doc="M⁻¹ Jᵀ row by row, with the resistance of soft rows in M, which loops have answered",
    )  # fmt: skip
    spans: Any = column(
        "2 * (3 * contacts + bounds)", np.int64, doc="where the numbers of a row that are not zero begin and end"
    )
    delassus: Any = column("(3 * contacts + bounds) ** 2", fill=np.nan, doc="J times the response")
    responses: Any = column(f"{ROW} * contacts", fill=np.nan, doc="see `contact.gauss_seidel.put_row`")
    rates_before: Any = column("3 * contacts + bounds", unit="m/s, rad/s", fill=np.nan, doc="J w")
    rates_free: Any = column("3 * contacts + bounds", unit="m/s, rad/s", fill=np.nan)
    rates: Any = column("3 * contacts + bounds", unit="m/s, rad/s", fill=np.nan, doc="of the moment")
    first_rates: Any = column(
        "3 * contacts + bounds", unit="m/s, rad/s", fill=np.nan, doc="of a first solution with restitution"
    )
    first_impulses: Any = column("3 * contacts", unit="N s", fill=np.nan)
    corrections: Any = column("3 * contacts + bounds", fill=np.nan, doc="multipliers of displacements")
    newton_matrix: Any = column("(3 * contacts + bounds) ** 2", fill=np.nan, doc="see `tree_solve`")
    newton_pivots: Any = column("3 * contacts + bounds", np.int64)
    newton_step: Any = column("3 * contacts + bounds", fill=np.nan)
    newton_kept: Any = column("3 * contacts + bounds", fill=np.nan)
    timer: Any = column(f"{TIMER_SIZE}", doc="see `core.profiler`")
