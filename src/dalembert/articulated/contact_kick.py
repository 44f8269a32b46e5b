"""The speeds that forces, loops and impulses lead to, at the middle of a step."""

from ..collide.tables import CONTACTS
from ..jit import inlined, njit
from ..mechanics.constraints import spread
from ..unchecked import peek, poke
from ..vec import load3, scale, store3
from .ask_loops import solve_loops
from .contact_rows import row_product
from .jacobian import gather
from .mass_matrix import solve
from .motion import ZERO


@njit
def take_forces(h, reduced, stepping):
    """`pushed` = the impulse over h of the forces in the kinematics table, along the speeds."""
    tree, kinematics = reduced.tree, reduced.system.kinematics
    nodes, motion = tree.nodes, tree.motion
    for i in range(nodes.shape[0]):
        own, row = motion[i], nodes[i].row
        store3(own.bearing, scale(h, load3(kinematics[row].force)) if row >= 0 else ZERO)
        store3(own.bearing_torque, scale(h, load3(kinematics[row].torque)) if row >= 0 else ZERO)
    gather(stepping.pushed, tree)


@njit
def free_speeds(reduced, collision, stepping):
    """`free` = w⁻ + M⁻¹ (pushed + Gᵀ λ) with G (w⁻ + free) = 0, and the rates that it makes."""
    pushed, free = stepping.pushed, stepping.free
    rates, m = stepping.rates_free, stepping.before.shape[0]
    for k in range(m):
        poke(free, k, peek(pushed, k))
    answer(free, reduced, stepping)
    for r in range(3 * collision.counts[CONTACTS] + stepping.bounds.shape[0]):
        poke(rates, r, row_product(r, free, 0, m, stepping))


@njit
def find_speeds(reduced, collision, stepping):
    """`after`, the speeds with all impulses; those of the loops lie in the kinematics table then. Returns their work."""
    contacts, bounds, count = collision.contacts, stepping.bounds, collision.counts[CONTACTS]
    pushed, after, m = stepping.pushed, stepping.after, stepping.before.shape[0]
    for k in range(m):
        poke(after, k, peek(pushed, k))
    for i in range(count):
        for r in range(3):
            add_row(3 * i + r, contacts[i].impulse[r], m, stepping)
    for i in range(bounds.shape[0]):
        add_row(3 * count + i, bounds[i].impulse, m, stepping)
    answer(after, reduced, stepping)
    return loop_work(reduced, stepping)


@njit
def loop_work(reduced, stepping):
    """Spread the impulses of the loops over the bodies. Returns their work, λ·G ½ (w⁻ + w⁺)."""
    system, tree = reduced.system, reduced.tree
    nodes, motion, kinematics, efforts = tree.nodes, tree.motion, system.kinematics, tree.scratch
    before, after = stepping.before, stepping.after
    spread(system, system.multipliers)
    if reduced.wanted.shape[0] == 0:
        return 0.0
    for i in range(nodes.shape[0]):
        own, row = motion[i], nodes[i].row
        store3(own.bearing, load3(kinematics[row].linear) if row >= 0 else ZERO)
        store3(own.bearing_torque, load3(kinematics[row].angular) if row >= 0 else ZERO)
    gather(efforts, tree)
    work = 0.0
    for k in range(before.shape[0]):
        work += 0.5 * peek(efforts, k) * (peek(before, k) + peek(after, k))
    return work


@inlined
def add_row(row, impulse, m, stepping):
    jacobian, after = stepping.jacobian, stepping.after
    if impulse != 0.0:
        for k in range(stepping.spans[2 * row], stepping.spans[2 * row + 1]):
            poke(after, k, peek(after, k) + impulse * peek(jacobian, row * m + k))


@njit
def answer(x, reduced, stepping):
    """An impulse x along the speeds becomes the speeds after it, and after what the loops answer."""
    before, wanted, change = stepping.before, reduced.wanted, reduced.change
    if wanted.shape[0] == 0:
        solve(x, 0, reduced.tree)
        for k in range(before.shape[0]):
            poke(x, k, peek(x, k) + peek(before, k))
        return
    for s in range(wanted.shape[0]):
        poke(wanted, s, -2.0 * peek(stepping.loop_rates, s))
    for k in range(before.shape[0]):
        poke(change, k, peek(x, k))
    solve_loops(reduced)
    for k in range(before.shape[0]):
        poke(x, k, peek(before, k) + peek(change, k))
