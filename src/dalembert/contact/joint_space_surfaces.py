"""Surface laws in a step in joint coordinates; `surface_rows` is the same in maximal coordinates.

The torque of a contact has rows, too: of the angular velocities of its links about the three axes, J_ω, with M⁻¹ J_ωᵀ,
on the same sides as those of the velocities.

In order: rows, sweeps over an island, the ledger, the problem, and the C function.
"""

import numpy as np

from ..collide.tables import CONTACTS
from ..core.c_function import C_SIGNATURE, viewer
from ..core.jit import CFunction, njit
from ..core.math3 import add, dot, load3, scale, store3
from ..core.simd import load, store
from ..core.status import OK
from ..core.tables import table_at
from ..dynamics.commands import book_surface
from ..dynamics.joint_space.kinematics import ZERO
from ..dynamics.joint_space.tables import Reduced
from ..model.tree import COMMANDED
from .gauss_seidel import axes_of, is_zero
from .island_problem import PROBLEM_CONTACTS, add_law_coupling, rows_at
from .joint_space import JointSpace
from .joint_space_books import give
from .joint_space_commands import FILL, call_rides
from .joint_space_rows import block_at, pack, put_compliant
from .joint_space_solves import answer_three
from .joints import book_reaction
from .rows import contact_velocity, push_contact, residual_of_bounds, sweep_bounds_of_rows, warm_start_rows
from .surface_laws import (
    ENOUGH,
    PASSES,
    TURNING_WORK,
    Surfaces,
    aim_surfaces,
    begin_memory,
    book_springs,
    fill_law,
    improve_impulse,
    improve_torque,
    mark_surfaces,
    note_torques,
    project_start,
    remember,
    residual_of_law,
    restore_gaps,
    restore_memory_of,
    save_torques,
    size_of_torque,
    spring_energies,
    turning_work,
    world_torque,
)
from .surface_rows import chain, describe_law, set_part, take_laws
from .tables import (
    AIM_SURFACES,
    BEGIN_SURFACES,
    BOOK_SURFACES,
    DESCRIBE_SURFACES,
    FILL_SURFACES,
    MARK_SURFACES,
    NOTE_TORQUES,
    PUSH_SURFACES,
    RESIDUAL_OF_SURFACES,
    RESPOND_SURFACES,
    RESPONSE,
    RESTORE_SURFACES,
    ROW,
    SAVE_SURFACES,
    SWEEP_SURFACES,
    TAKE_SURFACES,
    WARM_START_SURFACES,
    ContactTables,
)

# Rows -------------------------------------------------------------------------------------------------------------------


@njit
def fill_joint_laws(h, tables, surfaces, reduced, js):
    """Rows, responses, angular velocities before the step and warm starts of all laws."""
    collision, stepping = tables.collision, tables.stepping
    for i in range(collision.counts[CONTACTS]):
        if surfaces.laws[i].turns != 0:
            fill_turning(i, collision.contacts[i], surfaces.jacobian, reduced, js)
    respond_to_laws(tables, surfaces, reduced, js)
    pack(js.before, js.packed, js)
    if js.given.shape[0] > 0:
        call_rides(FILL, 0.0, js.packed, js.packed, tables, reduced, js)
    for i in range(collision.counts[CONTACTS]):
        contact, law = collision.contacts[i], surfaces.laws[i]
        if law.acts == 0:
            continue
        if law.stiffness > 0.0:
            put_compliant(contact, ROW * i, stepping.rows, reduced.system)
        if law.turns != 0:
            store3(law.before, turning_velocity(i, js.packed, surfaces.jacobian, js.rows))
            if h > 0.0:
                remember(contact, law, collision, surfaces)
        fill_law(h, i, contact, law, stepping.rows)


@njit
def fill_turning(i, contact, jacobian, reduced, js):
    """The rows of J_ω of contact i."""
    rows, nodes, rigid = js.rows, js.node_of_row, reduced.system.settings[0].rigid
    at = 6 * rows.longest[0] * i
    axes = axes_of(contact)
    fill_turning_side(nodes[contact.a] if contact.a < rigid else -1, axes, -1.0, at, jacobian, js.tree)
    at += 3 * rows.longest[0]
    fill_turning_side(nodes[contact.b] if contact.b < rigid else -1, axes, 1.0, at, jacobian, js.tree)


@njit
def fill_turning_side(node, axes, sign, at, jacobian, tree):
    """jacobian[at …] = ± the angular velocity of a link about three axes, for each speed on its path."""
    nodes, columns, root = tree.nodes, tree.columns, node
    while node >= 0:
        root = node
        for k in range(nodes[node].first, nodes[node].last):
            omega = load3(columns[k].angular)
            for c in range(3):
                store(jacobian, at + c, sign * dot(axes[c], omega))
            at += 3
        node = nodes[node].parent
    if root >= 0 and nodes[root].kind == COMMANDED:
        for k in range(3):
            for c in range(3):
                store(jacobian, at + 3 * k + c, 0.0)
                store(jacobian, at + 9 + 3 * k + c, sign * axes[c][k])


@njit
def turning_velocity(i, w, jacobian, rows):
    """Σ J_ω w of contact i, as (n, t, s)."""
    indices, sides, path = rows.indices, rows.sides, rows.longest[0]
    n, t, s = 0.0, 0.0, 0.0
    for side in range(2 * i, 2 * i + 2):
        start, k = sides[side].path, 3 * path * side
        for j in range(start, start + sides[side].length):
            speed = load(w, indices[j])
            n += load(jacobian, k) * speed
            t += load(jacobian, k + 1) * speed
            s += load(jacobian, k + 2) * speed
            k += 3
    return n, t, s


@njit
def turn_links(i, d, w, push, rows):
    """w += M⁻¹ J_ωᵀ d for a torque d (n, t, s) at contact i."""
    sides, span = rows.sides, rows.longest[1]
    for side in range(2 * i, 2 * i + 2):
        at = 3 * span * side
        for k in range(sides[side].first, sides[side].end):
            change = d[0] * load(push, at) + d[1] * load(push, at + 1) + d[2] * load(push, at + 2)
            store(w, k, load(w, k) + change)
            at += 3


@njit
def respond_to_laws(tables, surfaces, reduced, js):
    """M⁻¹ J_ωᵀ and the responses of all contacts that resist turning, with the factors that there are."""
    for i in range(tables.collision.counts[CONTACTS]):
        if surfaces.laws[i].turns != 0:
            for side in range(2):
                respond_to_turning(i, side, surfaces, reduced, js)
            fill_turning_response(i, surfaces, js)


@njit
def respond_to_turning(i, side, surfaces, reduced, js):
    """M⁻¹ J_ωᵀ of contact i on one side; see `joint_space_rows.respond`."""
    rows, jacobian, push = js.rows, surfaces.jacobian, surfaces.push
    sides, indices = rows.sides, rows.indices
    path, span = rows.longest[0], rows.longest[1]
    first, end, at = sides[2 * i + side].first, sides[2 * i + side].end, 3 * span * (2 * i + side)
    if end == first:
        return
    for k in range(at, at + 3 * (end - first)):
        store(push, k, 0.0)
    merged = sides[2 * i].end == sides[2 * i].first
    for other in range(2 * i if merged else 2 * i + side, 2 * i + 2 if merged else 2 * i + side + 1):
        for j in range(sides[other].length):
            index = indices[sides[other].path + j]
            if index >= end:
                break  # given speeds
            to, k = at + 3 * (index - first), 3 * path * other + 3 * j
            for c in range(3):
                store(push, to + c, load(push, to + c) + load(jacobian, k + c))
    answer_three(push, at, first, end, reduced, js)


@njit
def fill_turning_response(i, surfaces, js):
    """K = Σ J_ω (M⁻¹ J_ωᵀ) of contact i, as (nn, tt, ss, nt, ns, ts)."""
    rows, jacobian, push = js.rows, surfaces.jacobian, surfaces.push
    sides, indices, path, span = rows.sides, rows.indices, rows.longest[0], rows.longest[1]
    merged = sides[2 * i].end == sides[2 * i].first
    k = surfaces.laws[i].response
    for c in range(6):
        k[c] = 0.0
    for side in range(2 * i, 2 * i + 2):
        other = 2 * i + 1 if merged else side
        at = 3 * (span * other - sides[other].first)
        for j in range(sides[side].length):
            index = indices[sides[side].path + j]
            if index >= sides[other].end:
                break  # given speeds
            e, r = 3 * path * side + 3 * j, at + 3 * index
            a, b, c = load(jacobian, e), load(jacobian, e + 1), load(jacobian, e + 2)
            x, y, z = load(push, r), load(push, r + 1), load(push, r + 2)
            k[0] += a * x
            k[1] += b * y
            k[2] += c * z
            k[3] += a * y
            k[4] += a * z
            k[5] += b * z


# Sweeps over an island --------------------------------------------------------------------------------------------------


@njit
def warm_start_joint_laws(island, tables, surfaces, reduced, js):
    """Apply the impulses and torques that there are, projected on their cones."""
    contacts, motion = tables.collision.contacts, tables.stepping.motion
    warm_start_rows(island, reduced, js, tables)
    for i in range(island.first, island.end):
        law = surfaces.laws[i]
        project_start(contacts[i], law)
        if law.turns != 0 and not is_zero(load3(law.torque)):
            turn_links(i, load3(law.torque), motion, surfaces.push, js.rows)


@njit
def sweep_joint_laws(island, tables, surfaces, reduced, js):
    """One sweep over impulses, torques and bounds; returns the largest change of a velocity that it made (m/s, rad/s)."""
    contacts, laws, rows = tables.collision.contacts, surfaces.laws, js.rows
    motion, responses, largest = tables.stepping.motion, tables.stepping.rows, 0.0
    for i in range(island.first, island.end):
        contact, law, k = contacts[i], laws[i], ROW * i + RESPONSE
        first = 0.0
        for number in range(PASSES if law.turns != 0 else 1):
            d = improve_impulse(contact, law, contact_velocity(i, motion, rows), responses, ROW * i)
            if not is_zero(d):
                push_contact(i, d, motion, rows)
            change = max(abs(d[0]) * load(responses, k), abs(d[1]) * load(responses, k + 3))
            change = max(change, abs(d[2]) * load(responses, k + 5))
            if law.turns != 0:
                d = improve_torque(contact, law, turning_velocity(i, motion, surfaces.jacobian, rows))
                turn_links(i, d, motion, surfaces.push, rows)
                change = max(change, size_of_torque(d, law))
            first = max(first, change)
            if number > 0 and change <= ENOUGH * first:
                break
        largest = max(largest, first)
    return max(largest, sweep_bounds_of_rows(island, reduced, js, tables))


@njit
def residual_of_joint_laws(island, tables, surfaces, reduced, js):
    """The largest residual of an island, m/s or rad/s."""
    contacts, laws, rows, worst = tables.collision.contacts, surfaces.laws, js.rows, 0.0
    motion = tables.stepping.motion
    for i in range(island.first, island.end):
        response = load(tables.stepping.rows, ROW * i + RESPONSE)
        if response > 0.0:
            omega = turning_velocity(i, motion, surfaces.jacobian, rows) if laws[i].turns != 0 else ZERO
            u = contact_velocity(i, motion, rows)
            worst = max(worst, residual_of_law(contacts[i], laws[i], u, omega, response))
    return max(worst, residual_of_bounds(island, reduced, js, tables))


# Books ------------------------------------------------------------------------------------------------------------------


@njit
def push_torques(x, tables, surfaces, js):
    """x += J_ωᵀ τ of all contacts, along the freedoms."""
    rows, jacobian = js.rows, surfaces.jacobian
    for i in range(tables.collision.counts[CONTACTS]):
        law = surfaces.laws[i]
        torque = load3(law.torque)
        if law.turns == 0 or is_zero(torque):
            continue
        for side in range(2 * i, 2 * i + 2):
            own, at = rows.sides[side], 3 * rows.longest[0] * side
            for j in range(own.length):
                index, e = rows.indices[own.path + j], at + 3 * j
                if index >= x.shape[0]:
                    break  # given speeds
                push = torque[0] * load(jacobian, e) + torque[1] * load(jacobian, e + 1)
                k = js.freedom_at[index]
                store(x, k, load(x, k) + push + torque[2] * load(jacobian, e + 2))


@njit
def book_joint_laws(h, z, tables, surfaces, reduced, js):
    """Torques: on the trees, from the world, and their work; what springs and dampers took. h = 0: impulses alone acted."""
    collision, stepping, motion = tables.collision, tables.stepping, tables.stepping.motion
    rigid, nodes, energies = reduced.system.settings[0].rigid, js.node_of_row, (0.0, 0.0, 0.0)
    for i in range(collision.counts[CONTACTS]):
        contact, law = collision.contacts[i], surfaces.laws[i]
        if law.turns != 0 and not is_zero(load3(law.torque)):
            z[surfaces.entries[TURNING_WORK]] += turning_work(
                law, turning_velocity(i, motion, surfaces.jacobian, js.rows)
            )
            torque = world_torque(contact, load3(law.torque))
            for side in range(2):
                body, own = (contact.b, torque) if side == 0 else (contact.a, scale(-1.0, torque))
                if body < rigid:
                    give(nodes[body], ZERO, own, js)
                    book_surface(body, ZERO, own, z, reduced.system)
                else:
                    book_reaction(z, ZERO, scale(-1.0, own))
        if law.stiffness > 0.0 and h > 0.0:
            u = contact_velocity(i, motion, js.rows)
            energies = add(energies, spring_energies(h, contact, law, u[0]))
    book_springs(h, stepping.options[0].ledger, energies, z, surfaces)
    restore_gaps(collision, surfaces)


# The problem ------------------------------------------------------------------------------------------------------------


@njit
def describe_joint_laws(tables, surfaces, reduced, js):
    """Add the laws of an island to its problem; see `surface_rows`. Returns whether there was room."""
    problem, rows = js.problem, tables.stepping.rows
    for k in range(problem.counts[PROBLEM_CONTACTS]):
        coupling = problem.contacts[k]
        i = coupling.number
        law, response = surfaces.laws[i], load(rows, ROW * i + RESPONSE)
        if not response > 0.0:
            continue
        x = describe_law(coupling, law, response, problem)
        for part in range(2):
            length = law.roll if part == 0 else law.spin
            if x < 0 or length == 0.0:
                continue
            own = add_law_coupling(i, part, problem)
            if part == 0 and law.spin > 0.0:
                x = chain(own, x, problem)
            else:
                store(problem.jacobian, rows_at(own, x, 3, problem), 1.0)
            set_part(own, part, tables.collision.contacts[i], law, problem)
            if not add_turning_rows(own, part, i, tables, surfaces, reduced, js):
                return False
    return True


@njit
def add_turning_rows(own, part, i, tables, surfaces, reduced, js):
    """The rows ω of one part on the trees, times `reach`, and what is given. Returns whether there was a block for them."""
    problem, rows, jacobian = js.problem, js.rows, surfaces.jacobian
    known, reach = js.freedom_at.shape[0], surfaces.laws[i].reach
    for side in range(2 * i, 2 * i + 2):
        ends, at, to, size = rows.sides[side], 3 * rows.longest[0] * side, -1, 0
        for j in range(ends.length):
            index, e = rows.indices[ends.path + j], at + 3 * j
            first = 0 if part != 0 else 1
            if index >= known:
                speed = load(tables.stepping.motion, index)
                for row in range(1, 2 if part != 0 else 3):
                    given = reach * speed * load(jacobian, e + first + row - 1)
                    problem.extra[own.number].offset[row] += given
                continue
            if to < 0:
                block = block_at(index, problem, reduced, js)
                if block < 0:
                    return False
                to, size = rows_at(own, block, 3, problem), problem.blocks[block].speeds
                to -= problem.blocks[block].packed
            for row in range(1, 2 if part != 0 else 3):
                k = to + size * row + index
                store(problem.jacobian, k, load(problem.jacobian, k) + reach * load(jacobian, e + first + row - 1))
    return True


# The C function ---------------------------------------------------------------------------------------------------------

_floats = viewer(np.float64)


@njit
def joint_surfaces_task(task, h, y, out, tables, surfaces, reduced, js):
    """Do one of the tasks that `tables` lists. Returns a status, or 1 where a problem has no room."""
    collision = tables.collision
    if task == MARK_SURFACES:
        mark_surfaces(collision, surfaces)
    elif task == FILL_SURFACES:
        fill_joint_laws(h, tables, surfaces, reduced, js)
    elif task == RESPOND_SURFACES:
        respond_to_laws(tables, surfaces, reduced, js)
    elif task == AIM_SURFACES:
        aim_surfaces(collision, surfaces, tables.stepping.surface_speeds)
    elif task == SAVE_SURFACES:
        if h > 0.0:
            save_torques(collision, surfaces)
    elif task == PUSH_SURFACES:
        push_torques(y, tables, surfaces, js)
    elif task == BOOK_SURFACES:
        book_joint_laws(h, y, tables, surfaces, reduced, js)
    elif task == TAKE_SURFACES:
        take_laws(surfaces)
    elif task == NOTE_TORQUES:
        note_torques(tables, surfaces)
    elif task == BEGIN_SURFACES:
        begin_memory(surfaces)
    elif task == RESTORE_SURFACES:
        restore_memory_of(surfaces)
    elif task == DESCRIBE_SURFACES:
        return OK if describe_joint_laws(tables, surfaces, reduced, js) else 1
    else:
        island_task(task, int(h), out, tables, surfaces, reduced, js)
    return OK


@njit
def island_task(task, number, out, tables, surfaces, reduced, js):
    """Do a task of one island, which threads may share; its value is out[number]."""
    island = tables.collision.islands[number]
    if task == WARM_START_SURFACES:
        warm_start_joint_laws(island, tables, surfaces, reduced, js)
    elif task == SWEEP_SURFACES:
        out[number] = sweep_joint_laws(island, tables, surfaces, reduced, js)
    elif task == RESIDUAL_OF_SURFACES:
        out[number] = residual_of_joint_laws(island, tables, surfaces, reduced, js)


def joint_surfaces_entry(data, task, h, y, n, out, m):
    tables = table_at(ContactTables, data)
    surfaces = table_at(Surfaces, tables.callbacks[0].surface_tables)
    reduced, js = table_at(Reduced, tables.callbacks[0].reduced), table_at(JointSpace, tables.callbacks[0].joint_space)
    return joint_surfaces_task(task, h, _floats(y, n), _floats(out, m), tables, surfaces, reduced, js)


JOINT_SURFACES_ENTRY = CFunction(joint_surfaces_entry, C_SIGNATURE)
