"""The rows of contacts and bounds in joint coordinates, and how they respond to each other.

J w are the rates: normal and tangential velocities of contacts, rates of bounded coordinates. An impulse p along the rows
changes the speeds by R p, R = M⁻¹ Jᵀ less what the loops answer, so that D = J R changes the rates. With G the rows of the
loops and λ their answer, M R = Jᵀ + Gᵀ λ and G R = 0.
"""

from ..arrays import clear
from ..collide.tables import CONTACTS, ISLANDS
from ..contact.bounded import LOCKED, begin_bound, place_bound
from ..contact.gauss_seidel import axes_of, put_row
from ..contact.tables import FRICTION_STEP, INVERSE_NORMAL, OFF, RESPONSE, ROW
from ..jit import njit
from ..model.tables import SERVO
from ..unchecked import peek, poke
from ..vec import cross, load3, scale, store3
from .ask_loops import solve_loops
from .jacobian import carry_row
from .mass_matrix import solve
from .motion import ZERO


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
            poke(response, r * m + k, peek(jacobian, r * m + k))
        solve(response, r * m, reduced.tree)
        set_span(r, m, stepping)
        poke(stepping.rates_before, r, row_product(r, before, 0, m, stepping))
    fill_delassus(h, rows, count, m, reduced, collision, stepping)


@njit
def fill_contact(i, contact, m, reduced, stepping):
    jacobian, node_of_row, tree = stepping.jacobian, reduced.node_of_row, reduced.tree
    rigid = reduced.system.settings[0].rigid
    axes, arm_a, arm_b = axes_of(contact), load3(contact.arm_a), load3(contact.arm_b)
    for r in range(3):
        at = (3 * i + r) * m
        clear_row(jacobian, at, m)
        axis = axes[r]
        if contact.b < rigid:
            carry_row(node_of_row[contact.b], axis, cross(arm_b, axis), jacobian, at, tree)
        if contact.a < rigid:
            back = scale(-1.0, axis)
            carry_row(node_of_row[contact.a], back, cross(arm_a, back), jacobian, at, tree)


@njit
def fill_bound(row, bound, h, m, reduced, stepping):
    jacobian = stepping.jacobian
    place_bound(bound, h, reduced.y, reduced.system)
    clear_row(jacobian, row * m, m)
    carry_row(
        reduced.node_of_row[bound.a], load3(bound.linear_a), load3(bound.angular_a), jacobian, row * m, reduced.tree
    )
    carry_row(
        reduced.node_of_row[bound.b], load3(bound.linear_b), load3(bound.angular_b), jacobian, row * m, reduced.tree
    )


@njit
def clear_row(values, at, m):
    for k in range(m):
        poke(values, at + k, 0.0)


@njit
def set_span(row, m, stepping):
    jacobian = stepping.jacobian
    first, end = 0, m
    while first < end and peek(jacobian, row * m + first) == 0.0:
        first += 1
    while end > first and peek(jacobian, row * m + end - 1) == 0.0:
        end -= 1
    stepping.spans[2 * row], stepping.spans[2 * row + 1] = first, end


@njit
def row_product(row, x, at, m, stepping):
    """Row of J times the m numbers of x from `at` on."""
    jacobian = stepping.jacobian
    value = 0.0
    for k in range(stepping.spans[2 * row], stepping.spans[2 * row + 1]):
        value += peek(jacobian, row * m + k) * peek(x, at + k)
    return value


@njit
def fill_delassus(h, rows, count, m, reduced, collision, stepping):
    """D, its blocks on the diagonal as Gauss–Seidel takes them, and bounds where they begin. Contacts of two islands do not
    feel each other, and their part of D is not written."""
    islands, contacts, bounds = collision.islands, collision.contacts, stepping.bounds
    system, delassus, before = reduced.system, stepping.delassus, stepping.rates_before
    for i in range(bounds.shape[0]):
        r = 3 * count + i
        bounds[i].before = peek(before, r)
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
            peek(delassus, at), peek(delassus, at + 1), peek(delassus, at + 2), peek(delassus, at + rows + 1),
            peek(delassus, at + rows + 2), peek(delassus, at + 2 * rows + 2),
        )  # fmt: skip
        put_contact(contacts[i], k, ROW * i, reduced, stepping)
    for i in range(bounds.shape[0]):
        bound, found = bounds[i], peek(delassus, (3 * count + i) * (rows + 1))
        bound.response = found if found > LOCKED * bound.response else OFF
        begin_bound(bound, system)


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
        poke(delassus, r * rows + s, value)
        poke(delassus, s * rows + r, value)


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
        poke(responses, at + RESPONSE + i, k[i])
    poke(responses, at + FRICTION_STEP, 0.0)
    if k[0] > LOCKED * alone:
        poke(responses, at + INVERSE_NORMAL, 1.0 / k[0])
        return
    poke(responses, at + RESPONSE, OFF)
    poke(responses, at + INVERSE_NORMAL, 0.0)
    store3(contact.impulse, ZERO)


@njit
def answer_loops(row, m, reduced, stepping):
    """A row of R with the answer of the loops."""
    response, jacobian, change = stepping.response, stepping.jacobian, reduced.change
    for k in range(m):
        poke(change, k, peek(jacobian, row * m + k))
    clear(reduced.wanted)
    solve_loops(reduced)
    for k in range(m):
        poke(response, row * m + k, peek(change, k))
