"""The books of a step: the work of forces, what impulses do to each tree, their work, and what the trees' roots bear.

The momentum of a tree that nothing holds changes by the impulses on its links, and by nothing else; so does its angular
momentum about the origin. What the drifts leave of that undone, h⁵ or so, is put right by the velocity of the whole tree, its
joints held. Of a tree that stands on the world the difference is what its root bears: a reaction.
"""

from ..collide.tables import CONTACTS
from ..contact.bounded import is_stop
from ..contact.gauss_seidel import axes_of, world_impulse
from ..contact.impulses import book_reaction
from ..jit import inlined, njit
from ..linalg.ssor import inverse_of
from ..mechanics.kinematics import load6
from ..model.tables import LEDGER, PROJECTION_WORK
from ..pointer import POWERS, call_pointer
from ..unchecked import peek, poke
from ..vec import add, add_scaled, cross, dot, load3, scale, store3, sub, symvec
from .contact_restitution import row_work
from .contact_rows import row_product
from .lift import lift_speeds
from .motion import ZERO, store6


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
            poke(z, at + k, peek(z, at + k) + v[k])
            poke(z, at + 3 + k, peek(z, at + 3 + k) + omega[k])


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
        poke(z, first + k, 0.5 * (peek(before, k) + peek(after, k)))
    lift_speeds(z[first : first + before.shape[0]], reduced)
    find_powers(reduced)


@njit
def book_displacement(h, z, reduced, collision, stepping):
    """The work of the applied forces, of motors and of dry friction along the displacement in `shift`; that nothing has done
    the opposite work is an error of the energy, booked as the work of projection."""
    bounds, shift = stepping.bounds, stepping.shift
    count = collision.counts[CONTACTS]
    system, m = reduced.system, shift.shape[0]
    lift_speeds(shift, reduced)
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
