"""The energy audit of a step of contact in joint coordinates, and its soft constraints: motors with gains, springs and
dampers.

It computes the effect of forces and impulses on each tree, their work, and the reactions at the roots of the trees, for
the ledger. In order: momenta of trees, forces and impulses, soft constraints, and the entries of a whole step.
"""

import math

import numpy as np

from ..collide.tables import AWAKE, CONTACTS
from ..core.c_function import POWERS, WRITE, call_pointer
from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, scale, store3, sub, symvec
from ..core.simd import load, store
from ..dynamics.jacobian import coordinate_value, plain_rows
from ..dynamics.joint_space.dynamics import link_velocities
from ..dynamics.joint_space.kinematics import ZERO, store6
from ..dynamics.joint_space.welded import show_link_velocities
from ..dynamics.kinematics import load6
from ..linalg.block_matrix import inverse_of, store_3
from ..model.tables import (
    CONSTRAINT_WORK,
    FORCE_IMPULSE,
    LEDGER,
    PROJECTION_WORK,
    REACTION_IMPULSE,
    REACTION_TORQUE,
    STATE_SIZE,
    TORQUE_IMPULSE,
)
from .gauss_seidel import axes_of, world_impulse
from .joint_space_solves import factorize_packed, pack_matrix
from .joints import book_reaction
from .limits import active_law, book_row, elastic_impulse, fill_row, is_stop, saturation_changed, set_laws
from .rows import bound_rate, contact_work_of_rows, rate_of
from .tables import exerts

# Momenta of trees -------------------------------------------------------------------------------------------------------
#
# The momentum of a tree that nothing holds changes by the impulses on its links, and by nothing else; so does its
# angular momentum about the origin. What the drifts leave of that undone, h⁵ or so, is put right by the velocity of the
# whole tree, its joints held. Of a tree that stands on the world the difference is what its root bears: a reaction.


# A tree of links and what stands at its root: whether that is free, its momentum and angular momentum about the origin before
# the step, the impulse and its moment that the step gave it; what it has after the step: mass, first moment and inertia
# about the root's centre of mass, momentum and angular momentum about the origin. command : the row of COMMAND of the
# kinematic body that it stands on, or is; −1: none.
ROOT = np.dtype(
    [("node", "i8"), ("loose", "i8"), ("momentum", "f8", 3), ("turning", "f8", 3), ("impulse", "f8", 3), ("moment", "f8", 3),
     ("mass", "f8"), ("first", "f8", 3), ("inertia", "f8", 6), ("momentum_now", "f8", 3), ("turning_now", "f8", 3),
     ("command", "i8")],
    align=True,
)  # fmt: skip


@njit
def measure_trees(reduced, js):
    """Mass properties and momenta of each tree, where it is."""
    roots, root_of = js.roots, js.root_of
    nodes, motion = js.tree.nodes, js.tree.motion
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
def open_books(reduced, js):
    """The momenta before a step, where the trees are."""
    roots, rides = js.roots, js.rides
    measure_trees(reduced, js)
    for i in range(roots.shape[0]):
        begin_root(roots[i], load3(roots[i].momentum_now), load3(roots[i].turning_now))
    for i in range(rides.shape[0]):
        store3(rides[i].impulse, ZERO)
        store3(rides[i].moment, ZERO)


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
def close_books(z, reduced, js):
    """Momenta after the step, where the trees are, are made what the impulses ask for; reactions go to the ledger. They are
    those before the next step."""
    tree, roots, first = js.tree, js.roots, reduced.options[0].coordinates
    measure_trees(reduced, js)
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
def give(node, impulse, moment, js):
    """An impulse on a node, and its moment about the origin."""
    root = js.roots[js.root_of[node]]
    store3(root.impulse, add(load3(root.impulse), impulse))
    store3(root.moment, add(load3(root.moment), moment))


# Forces and impulses ------------------------------------------------------------------------------------------------------


@inlined
def sleeps(node, js, tables):
    """Whether the assembly of a node sleeps."""
    body = js.assemblies[js.assembly_of[node]].body
    return body >= 0 and tables.collision.asleep[body] != AWAKE


@njit
def book_forces(h, z, reduced, js, tables):
    """What forces over h and the impulses of the loops, in the kinematics table, give to the trees, and to the ledger where
    that needs no more. Supports balance the forces on what sleeps."""
    links, kinematics, ledger = js.links, reduced.system.kinematics, z.shape[0] - len(LEDGER)
    rigid, looped = reduced.system.settings[0].rigid, reduced.wanted.shape[0] > 0
    total, total_moment = ZERO, ZERO
    for i in range(links.shape[0]):
        row, node = links[i].row, links[i].node
        kin = kinematics[row]
        x, loop, turn = load3(kin.x), ZERO, ZERO
        if looped:
            loop = load3(kin.linear)
            turn = add(cross(x, loop), load3(kin.angular))
            book_reaction(z, loop, turn)  # those of loops within the tree cancel
        force = scale(h, load3(kin.force))
        moment = add(cross(x, force), scale(h, load3(kin.torque)))
        if row < rigid:
            total, total_moment = add(total, force), add(total_moment, moment)
        asleep = sleeps(node, js, tables)
        if row >= rigid and not asleep:
            book_reaction(z, force, moment)  # the mechanism counts the forces on bodies only
        if row < rigid and asleep:
            book_reaction(z, scale(-1.0, force), scale(-1.0, moment))
        if asleep:
            force, moment = ZERO, ZERO
        give(node, add(force, loop), add(moment, turn), js)
    if js.books_links[0] != 0:
        for k in range(3):
            z[ledger + FORCE_IMPULSE + k] += total[k]
            z[ledger + TORQUE_IMPULSE + k] += total_moment[k]


@njit
def find_powers(reduced):
    """The powers of the applied forces at the velocities in the kinematics table."""
    call_pointer(reduced.options[0].mechanism, reduced.options[0].handle, POWERS, 0.0, reduced.y, reduced.y)


@njit
def show_velocities(w, reduced, js):
    """Velocities of the links, and of bodies in the kinematics table, at the speeds w; poses stay."""
    link_velocities(w, js.tree)
    show_link_velocities(reduced.system.kinematics, js.tree, js.links)


@njit
def find_mean_powers(z, reduced, js):
    """The powers of the applied forces at the mean speeds w̄ = ½ (w⁻ + w⁺) of the step."""
    before, after, first = js.before, js.after, reduced.options[0].coordinates
    for k in range(before.shape[0]):
        store(z, first + k, 0.5 * (load(before, k) + load(after, k)))
    show_velocities(z[first : first + before.shape[0]], reduced, js)
    find_powers(reduced)


@njit
def book_displacement(h, z, reduced, js, tables):
    """The work of the applied forces, of motors and of dry friction along the displacement; that nothing has done the
    opposite work is an error of the energy, booked as the work of projection."""
    bounds, system = tables.stepping.bounds, reduced.system
    show_velocities(js.displaced, reduced, js)
    find_powers(reduced)
    power = system.power
    works, total = z.shape[0] - power.shape[0], 0.0
    for i in range(power.shape[0] - len(LEDGER)):
        z[works + i] += power[i]
        total += power[i]
    for i in range(bounds.shape[0]):
        if not is_stop(bounds[i], system):
            work = bounds[i].impulse * bound_rate(i, tables.stepping.shift, js.rows) / h
            z[bounds[i].entry] += work
            total += work
    z[z.shape[0] - len(LEDGER) + PROJECTION_WORK] -= total


@njit
def book_contacts(z, reduced, js, tables):
    """Impulses of contacts: on the trees, from the world, and their work."""
    contacts, stepping = tables.collision.contacts, tables.stepping
    node_of_row, entry = js.node_of_row, stepping.options[0].ledger
    rigid = reduced.system.settings[0].rigid
    for i in range(tables.collision.counts[CONTACTS]):
        contact = contacts[i]
        p = load3(contact.impulse)
        if p[0] == 0.0:
            continue
        n, t, s = axes_of(contact)
        impulse = world_impulse(n, t, s, p[0], p[1], p[2])
        moment = cross(load3(contact.position), impulse)
        opposite, against = scale(-1.0, impulse), scale(-1.0, moment)
        if contact.b < rigid:
            give(node_of_row[contact.b], impulse, moment, js)
        else:
            book_reaction(z, opposite, against)
        if contact.a < rigid:
            give(node_of_row[contact.a], opposite, against, js)
        else:
            book_reaction(z, impulse, moment)
        normal, friction = contact_work_of_rows(i, p, stepping.motion, stepping.rows, js.rows)
        z[entry] += normal
        z[entry + 1] += friction


@inlined
def bound_work(impulse, bound, now):
    """λ · ½ (ṡ⁻ + ṡ⁺), J."""
    return 0.5 * impulse * (bound.before + now)


@njit
def book_bounds(z, reduced, js, tables):
    """The same of stops, dry friction and ideal motors."""
    bounds, motion = tables.stepping.bounds, tables.stepping.motion
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        if bound.impulse == 0.0:
            continue
        if bound.freedom >= 0:
            fill_row(bound, reduced.system)
        z[bound.entry] += bound_work(bound.impulse, bound, rate_of(i, bound, motion, js))
        book_side(z, bound.a, bound.impulse, load3(bound.linear_a), load3(bound.angular_a), reduced, js)
        book_side(z, bound.b, bound.impulse, load3(bound.linear_b), load3(bound.angular_b), reduced, js)


@njit
def book_side(z, row, impulse, linear, angular, reduced, js):
    """An impulse along a row of a body; the world's is a reaction."""
    force = scale(impulse, linear)
    moment = add(cross(load3(reduced.system.kinematics[row].x), force), scale(impulse, angular))
    node = js.node_of_row[row]
    if node >= 0:
        give(node, force, moment, js)
    else:
        book_reaction(z, scale(-1.0, force), scale(-1.0, moment))


# Soft constraints ---------------------------------------------------------------------------------------------------------
#
# Motors with gains, springs and dampers of joints, as `limits` explains. On a joint of the tree the coordinate is a freedom,
# so that λ = push − resist ṡ⁺ + keep ṡ⁻ is `resist` on the diagonal of M, exactly, and costs nothing. On a joint that closes
# a loop it is a row with a compliance, beside stops and dry friction. What sleeps has none.


@njit
def place_soft(z, first, reduced, js, tables):
    """The laws of a step, and the values and rates before it, where the tree is; speeds are in z[first:]."""
    soft, system, y = tables.stepping.soft, reduced.system, reduced.y
    h = tables.stepping.options[0].dt
    set_laws(h, soft, system.forces)
    for i in range(soft.shape[0]):
        row = soft[i]
        coordinate = system.coordinates[row.coordinate]
        if row.freedom < 0:
            row.value = coordinate_value(y, coordinate, system.kinematics, system.curves)
        else:
            row.value = load(z, row.at)
            row.drift = 0.5 * h * load(js.slopes, row.freedom)
            row.before = load(z, first + row.freedom) - row.drift


@njit
def add_soft(reduced, js, tables):
    """The factor of M with `resist` on its diagonal, which is also added to the `resistance` of the freedoms, for the loops.
    Returns the freedom that nothing resists, or −1."""
    soft, forces = tables.stepping.soft, reduced.system.forces
    resistance, h, diagonal = reduced.resistance, tables.stepping.options[0].dt, js.factor_inverse
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom >= 0:
            _, resist, _, _ = active_law(h, row, forces[row.force])
            store(resistance, row.freedom, load(resistance, row.freedom) + resist)
    pack_matrix(js.factor_values, diagonal, js.tree, js)
    for p in range(diagonal.shape[0]):
        store(diagonal, p, load(diagonal, p) + load(resistance, js.freedom_at[p]))
    return factorize_packed(js.factor_values, diagonal, js)


@njit
def push_soft(reduced, js, tables):
    """Add to `pushed` what the rows give at the speeds before the step."""
    soft, forces, pushed = tables.stepping.soft, reduced.system.forces, js.pushed
    h, freedoms = tables.stepping.options[0].dt, js.tree.freedoms
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom >= 0 and not sleeps(freedoms[row.freedom].node, js, tables):
            push, resist, keep, k = active_law(h, row, forces[row.force])
            before = row.before + row.drift
            change = push - h * k * row.value + keep * row.before - resist * (before + row.drift)
            store(pushed, row.freedom, load(pushed, row.freedom) + change)


@njit
def change_sides(trial, reduced, js, tables):
    """As `limits.update_saturation`, at the speeds in `motion`."""
    soft, forces, motion = tables.stepping.soft, reduced.system.forces, tables.stepping.motion
    h, changed = tables.stepping.options[0].dt, False
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom >= 0 and forces[row.force].limit < math.inf:
            now = load(motion, js.packed_at[row.freedom]) + row.drift
            changed = saturation_changed(trial, h, row, forces[row.force], now) or changed
    return changed


@njit
def book_soft(z, reduced, js, tables):
    """The impulses of the rows: on the trees, from the world, and their work, less what goes into potentials of springs."""
    soft, system, after = tables.stepping.soft, reduced.system, js.after
    forces, h, freedoms = system.forces, tables.stepping.options[0].dt, js.tree.freedoms
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom < 0:
            continue
        if sleeps(freedoms[row.freedom].node, js, tables):
            row.impulse = 0.0
            continue
        now, force = load(after, row.freedom) + row.drift, forces[row.force]
        push, resist, keep, k = active_law(h, row, force)
        row.impulse = push - h * k * row.value + keep * row.before - resist * now
        elastic = elastic_impulse(h, row, force, now)
        book_row(z, row, 0.5 * (row.impulse - elastic) * (row.before + now))
        a, b = js.node_of_row[row.a], js.node_of_row[row.b]
        if a >= 0 and b >= 0 and js.root_of[a] == js.root_of[b]:
            continue  # what it gives to the tree is zero
        linear_a, angular_a, linear_b, angular_b, _ = plain_rows(system.coordinates[row.coordinate], system.kinematics)
        book_side(z, row.a, row.impulse, linear_a, angular_a, reduced, js)
        book_side(z, row.b, row.impulse, linear_b, angular_b, reduced, js)


@njit
def displace_soft(z, reduced, js, tables):
    """Book what motors and dampers of the rows do along the displacement; that nothing has done the opposite work is an error
    of the energy, booked as the work of projection."""
    soft, after, moved = tables.stepping.soft, js.after, js.displaced
    forces, h = reduced.system.forces, tables.stepping.options[0].dt
    for i in range(soft.shape[0]):
        row = soft[i]
        if row.freedom >= 0:
            elastic = elastic_impulse(h, row, forces[row.force], load(after, row.freedom) + row.drift)
            work = (row.impulse - elastic) * load(moved, row.freedom) / h
            book_row(z, row, work)
            z[z.shape[0] - len(LEDGER) + PROJECTION_WORK] -= work


@njit
def note_bounds(z, reduced, js, tables):
    """The impulses of rows that are bounds, whose work has been booked: what went into potentials of springs is none."""
    bounds, soft, forces = tables.stepping.bounds, tables.stepping.soft, reduced.system.forces
    h, motion = tables.stepping.options[0].dt, tables.stepping.motion
    for i in range(bounds.shape[0]):
        if bounds[i].soft >= 0:
            row, now = soft[bounds[i].soft], bound_rate(i, motion, js.rows)
            row.impulse = bounds[i].impulse
            elastic = elastic_impulse(h, row, forces[row.force], now + row.drift)
            z[row.entry] -= bound_work(row.impulse, bounds[i], now)
            book_row(z, row, bound_work(row.impulse - elastic, bounds[i], now))


# A whole step -------------------------------------------------------------------------------------------------------------


@njit
def book_step(h, work, z, reduced, js, tables):
    """The speeds after a step over h, and all that it does to the ledger; h = 0: impulses alone acted. work : of loops."""
    options, dydt, first = reduced.options[0], reduced.dydt, reduced.options[0].coordinates
    if h > 0.0 and exerts(tables):
        find_mean_powers(z, reduced, js)
    for k in range(options.speeds):
        store(z, first + k, load(js.after, k))
    if h > 0.0 and js.books_links[0] != 0:
        power, at = reduced.system.power, z.shape[0] - reduced.system.power.shape[0]
        for k in range(power.shape[0] - len(LEDGER)):
            z[at + k] += h * load(power, k)
    elif h > 0.0:
        call_pointer(options.mechanism, options.handle, WRITE, 0.0, reduced.y, dydt)
        common = dydt.shape[0] - len(LEDGER)
        store(dydt, common + CONSTRAINT_WORK, 0.0)  # those of constraints follow as impulses
        store_3(dydt, common + REACTION_IMPULSE, ZERO)
        store_3(dydt, common + REACTION_TORQUE, ZERO)
        at, source = first + options.speeds, STATE_SIZE * reduced.system.settings[0].rigid
        for k in range(z.shape[0] - at):
            z[at + k] += h * load(dydt, source + k)
    z[z.shape[0] - len(LEDGER) + CONSTRAINT_WORK] += work
    book_forces(h, z, reduced, js, tables)
    book_contacts(z, reduced, js, tables)
    book_bounds(z, reduced, js, tables)
    if h > 0.0:
        book_soft(z, reduced, js, tables)
        note_bounds(z, reduced, js, tables)
        if js.corrected[0] != 0:
            displace_soft(z, reduced, js, tables)
