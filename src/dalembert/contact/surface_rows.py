"""Surface laws in a step in coordinates of bodies: Gauss–Seidel over impulses and torques, their ledger entries, and
the problem in matrices for the converging solver.

The friction of a contact that resists rolling and spinning is the set

    {|p_t| ≤ μ p_n,  |τ_r| ≤ μ_r p_n,  |τ_n| ≤ μ_s p_n},

an intersection of three cones that share p_n. The converging solver has Coulomb's cone only, and gets one for each:
with scalar unknowns x and y beside the speeds, of masses m_x and m_y,

    (u_n − x, u_t) with p and μ,    (x − y, ω_r) with (p', τ_r) and μ_r,    (y, ω_n) with (p'', τ_n) and μ_s.

The momenta of x and y say m_x x = p' − p and m_y y = p'' − p'. Where p > 0, the normal velocities of all three are
zero, so that x = y = 0 and p = p' = p'', whatever the masses are; where p = 0, x = y = 0 solves all three as well. So
the masses are free, and those of the contact, 1/K_nn, suit the solver. A compliance c is a scalar unknown z of mass 1/c
in the first normal velocity, u_n − x + z: its momentum is z/c = p.

In order: start of a step, sweeps over an island, the ledger, the problem, and the C function.
"""

import numpy as np

from ..collide.tables import CONTACTS
from ..core.c_function import C_SIGNATURE, viewer
from ..core.jit import CFunction, inlined, njit
from ..core.math3 import add, add_scaled, dot, load3, scale, store3, sub, symvec
from ..core.simd import load, store
from ..core.status import OK
from ..core.tables import table_at
from ..dynamics.commands import book_surface
from .gauss_seidel import apply, axes_of, is_zero, size_of, world_impulse
from .island_problem import LAW_CONTACTS, PROBLEM_CONTACTS, add_law_block, add_law_coupling, rows_at
from .joints import add_impulse, book_reaction
from .rolling import angular_matrix
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
from .tables import (
    AIM_SURFACES,
    ANGULAR,
    BEGIN_SURFACES,
    BOOK_SURFACES,
    DESCRIBE_SURFACES,
    FILL_SURFACES,
    INVERSE_INERTIA,
    MARK_SURFACES,
    MOTION,
    NOTE_TORQUES,
    RESIDUAL_OF_SURFACES,
    RESPONSE,
    RESTORE_SURFACES,
    ROW,
    SAVE_SURFACES,
    SPEEDS,
    SWEEP_SURFACES,
    TAKE_SURFACES,
    WARM_START_SURFACES,
    ContactTables,
    copy_velocities,
    put_three,
    relative_velocity,
    six,
    three,
)

# The start of a step ----------------------------------------------------------------------------------------------------


@njit
def fill_surfaces(h, tables, surfaces):
    """Responses, angular velocities before the step, which are in `motion`, and warm starts of all laws."""
    collision, stepping = tables.collision, tables.stepping
    for i in range(collision.counts[CONTACTS]):
        contact, law = collision.contacts[i], surfaces.laws[i]
        if law.acts == 0:
            continue
        if law.turns != 0:
            inverse_a = six(stepping.motion, MOTION * contact.a + INVERSE_INERTIA)
            inverse_b = six(stepping.motion, MOTION * contact.b + INVERSE_INERTIA)
            k = angular_matrix(axes_of(contact), inverse_a, inverse_b)
            for c in range(6):
                law.response[c] = k[c]
            store3(law.before, turning_rate(contact, stepping.motion))
            if h > 0.0:
                remember(contact, law, collision, surfaces)
        fill_law(h, i, contact, law, stepping.rows)


@inlined
def turning_rate(contact, motion):
    """The angular velocity of b relative to a, as (n, t, s)."""
    omega = sub(three(motion, MOTION * contact.b + ANGULAR), three(motion, MOTION * contact.a + ANGULAR))
    n, t, s = axes_of(contact)
    return (dot(n, omega), dot(t, omega), dot(s, omega))


@inlined
def contact_rate(contact, motion):
    """The velocity of the point of b relative to that of a, as (n, t, s)."""
    n, t, s = axes_of(contact)
    u = relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b))
    return (dot(n, u), dot(t, u), dot(s, u))


@inlined
def turn(contact, d, motion):
    """Apply a torque d (n, t, s) to b, and its opposite to a."""
    torque = world_torque(contact, d)
    for side in range(2):
        body, sign = (contact.a, -1.0) if side == 0 else (contact.b, 1.0)
        at = MOTION * body
        change = symvec(six(motion, at + INVERSE_INERTIA), torque)
        put_three(motion, at + ANGULAR, add_scaled(three(motion, at + ANGULAR), sign, change))


@inlined
def push_law(contact, p, torque, turns, motion):
    """Apply an impulse and, where the contact `turns`, a torque."""
    n, t, s = axes_of(contact)
    if not is_zero(p):
        apply(contact, world_impulse(n, t, s, p[0], p[1], p[2]), motion)
    if turns != 0 and not is_zero(torque):
        turn(contact, torque, motion)


# Sweeps over an island --------------------------------------------------------------------------------------------------


@njit
def warm_start_laws(island, tables, surfaces):
    """Give an island the impulses and torques of the last step, projected on their cones, as far as they lower
    D (p, τ) = ½ vᵀ M v + bᵀ p + ½ pᵀ C p, as the line search of `gauss_seidel` does: along them D is a parabola."""
    collision, stepping = tables.collision, tables.stepping
    contacts, motion, before = collision.contacts, stepping.motion, stepping.search_motion
    copy_velocities(island, collision.members, motion, before)
    for i in range(island.first, island.end):
        project_start(contacts[i], surfaces.laws[i])
        law = surfaces.laws[i]
        push_law(contacts[i], load3(contacts[i].impulse), load3(law.torque), law.turns, motion)
    slope, curvature = 0.0, 0.0
    for i in range(island.first, island.end):
        contact, law = contacts[i], surfaces.laws[i]
        p = load3(contact.impulse)
        if is_zero(p):
            continue
        first = dot(p, contact_rate(contact, before))
        later = dot(p, contact_rate(contact, motion))
        if law.turns != 0:
            first += dot(load3(law.torque), turning_rate(contact, before))
            later += dot(load3(law.torque), turning_rate(contact, motion))
        slope += first + contact.bias * p[0]
        curvature += later - first + law.compliance * p[0] * p[0]
    share = min(1.0, max(0.0, -slope / curvature)) if curvature > 0.0 else 0.0
    if share < 1.0:
        scale_start(share, island, tables, surfaces)


@njit
def scale_start(share, island, tables, surfaces):
    """Take a share of the impulses and torques of an island, and velocities accordingly."""
    collision, stepping = tables.collision, tables.stepping
    motion, before = stepping.motion, stepping.search_motion
    for m in range(island.first_member, island.end_member):
        at = MOTION * collision.members[m]
        for k in range(at, at + SPEEDS):
            store(motion, k, load(before, k) + share * (load(motion, k) - load(before, k)))
    for i in range(island.first, island.end):
        store3(collision.contacts[i].impulse, scale(share, load3(collision.contacts[i].impulse)))
        store3(surfaces.laws[i].torque, scale(share, load3(surfaces.laws[i].torque)))


@njit
def sweep_laws(island, tables, surfaces):
    """One sweep over impulses and torques, those of one contact in a few passes; returns the largest change of a velocity
    that it made (m/s)."""
    contacts, laws = tables.collision.contacts, surfaces.laws
    motion, rows, largest = tables.stepping.motion, tables.stepping.rows, 0.0
    for i in range(island.first, island.end):
        contact, law = contacts[i], laws[i]
        first = 0.0
        for number in range(PASSES if law.turns != 0 else 1):
            d = improve_impulse(contact, law, contact_rate(contact, motion), rows, ROW * i)
            push_law(contact, d, d, 0, motion)
            change = size_of(d, rows, ROW * i)
            if law.turns != 0:
                d = improve_torque(contact, law, turning_rate(contact, motion))
                turn(contact, d, motion)
                change = max(change, size_of_torque(d, law))
            first = max(first, change)
            if number > 0 and change <= ENOUGH * first:
                break
        largest = max(largest, first)
    return largest


@njit
def residual_of_laws(island, tables, surfaces):
    """The largest residual of an island, m/s."""
    contacts, laws, worst = tables.collision.contacts, surfaces.laws, 0.0
    motion, rows = tables.stepping.motion, tables.stepping.rows
    for i in range(island.first, island.end):
        u, omega = contact_rate(contacts[i], motion), turning_rate(contacts[i], motion)
        worst = max(worst, residual_of_law(contacts[i], laws[i], u, omega, load(rows, ROW * i + RESPONSE)))
    return worst


# Books ------------------------------------------------------------------------------------------------------------------


@njit
def book_laws(h, y, tables, surfaces):
    """L ← L + τ of all torques; their work, and what springs and dampers took, to the ledger. h = 0: impulses alone acted."""
    collision, stepping = tables.collision, tables.stepping
    motion, bodies, energies = stepping.motion, tables.system.bodies.shape[0], (0.0, 0.0, 0.0)
    for i in range(collision.counts[CONTACTS]):
        contact, law = collision.contacts[i], surfaces.laws[i]
        if law.turns != 0 and not is_zero(load3(law.torque)):
            y[surfaces.entries[TURNING_WORK]] += turning_work(law, turning_rate(contact, motion))
            torque = world_torque(contact, load3(law.torque))
            for side in range(2):
                body, own = (contact.a, scale(-1.0, torque)) if side == 0 else (contact.b, torque)
                if body < bodies:
                    add_impulse(y, body, (0.0, 0.0, 0.0), own)
                    book_surface(body, (0.0, 0.0, 0.0), own, y, tables.system)
                else:
                    book_reaction(y, (0.0, 0.0, 0.0), scale(-1.0, own))
        if law.stiffness > 0.0 and h > 0.0:
            energies = add(energies, spring_energies(h, contact, law, contact_rate(contact, motion)[0]))
    book_springs(h, stepping.options[0].ledger, energies, y, surfaces)
    restore_gaps(collision, surfaces)


# The problem ------------------------------------------------------------------------------------------------------------


@njit
def describe_laws(tables, surfaces):
    """Add the laws of an island to its problem."""
    problem, rows = surfaces.problem, tables.stepping.rows
    for k in range(problem.counts[PROBLEM_CONTACTS]):
        coupling = problem.contacts[k]
        law, contact = surfaces.laws[coupling.number], tables.collision.contacts[coupling.number]
        x = describe_law(coupling, law, load(rows, ROW * coupling.number + RESPONSE), problem)
        for part in range(2):
            length = law.roll if part == 0 else law.spin
            if x < 0 or length == 0.0:
                continue
            own = add_law_coupling(coupling.number, part, problem)
            if part == 0 and law.spin > 0.0:
                x = chain(own, x, problem)
            else:
                at = rows_at(own, x, 3, problem)
                store(problem.jacobian, at, 1.0)
            fill_part(own, part, contact, law, problem, tables)


@njit
def describe_law(coupling, law, response, problem):
    """Join the unknowns z and x of a contact to its normal row. Returns the block of x, −1 without one."""
    if law.compliance > 0.0:
        at = rows_at(coupling, add_law_block(1.0 / law.compliance, problem), 3, problem)
        store(problem.jacobian, at, 1.0)
    if law.turns == 0:
        return -1
    block = add_law_block(1.0 / response, problem)
    at = rows_at(coupling, block, 3, problem)
    store(problem.jacobian, at, -1.0)
    return block


@njit
def chain(own, x, problem):
    """The normal row x − y of the cone of rolling, with a new unknown y. Returns its block."""
    at = rows_at(own, x, 3, problem)
    store(problem.jacobian, at, 1.0)
    mass = load(problem.masses, problem.blocks[x].mass)
    y = add_law_block(mass, problem)
    at = rows_at(own, y, 3, problem)
    store(problem.jacobian, at, -1.0)
    return y


@njit
def fill_part(own, part, contact, law, problem, tables):
    """The rows ω of one part on both bodies, times `reach`; coefficient, start and what is given."""
    set_part(own, part, contact, law, problem)
    for side in range(2):
        body, sign = (contact.a, -1.0) if side == 0 else (contact.b, 1.0)
        if body >= tables.system.bodies.shape[0]:
            continue
        block = problem.block_of[body]
        for row in range(1, 2 if part != 0 else 3):
            axis = axes_of(contact)[0] if part != 0 else (axes_of(contact)[1] if row == 1 else axes_of(contact)[2])
            d = scale(sign * law.reach, axis)
            if block < 0:
                given = dot(d, three(tables.stepping.motion, MOTION * body + ANGULAR))
                add_given(own, row, given, problem)
                continue
            at = rows_at(own, block, 3, problem) + SPEEDS * row + 3
            for k in range(3):
                store(problem.jacobian, at + k, d[k])


@njit
def set_part(own, part, contact, law, problem):
    """The coefficient of friction of one part, without unit, and the impulse that it starts from."""
    extra = problem.extra[own.number]
    length = law.roll if part == 0 else law.spin
    extra.friction, p = length / law.reach, contact.impulse[0]
    store3(extra.offset, (0.0, 0.0, 0.0))
    if part == 0:
        store3(extra.impulse, (p, law.torque[1] / law.reach, law.torque[2] / law.reach))
    else:
        store3(extra.impulse, (p, law.torque[0] / law.reach, 0.0))


@njit
def add_given(own, row, rate, problem):
    """Add to the part of a rate that is given, m/s."""
    problem.extra[own.number].offset[row] += rate


@njit
def take_laws(surfaces):
    """The torques of the solution of a problem."""
    problem, counts = surfaces.problem, surfaces.problem.counts
    for k in range(counts[LAW_CONTACTS]):
        extra = problem.extra[k]
        law = surfaces.laws[extra.contact]
        if extra.part == 0:
            law.torque[1], law.torque[2] = law.reach * extra.impulse[1], law.reach * extra.impulse[2]
        else:
            law.torque[0] = law.reach * extra.impulse[1]


# The C function ---------------------------------------------------------------------------------------------------------

_floats = viewer(np.float64)


@njit
def surfaces_task(task, h, y, out, tables, surfaces):
    """Do one of the tasks that `tables` lists. Returns a status."""
    collision = tables.collision
    if task == MARK_SURFACES:
        mark_surfaces(collision, surfaces)
    elif task == FILL_SURFACES:
        fill_surfaces(h, tables, surfaces)
    elif task == AIM_SURFACES:
        aim_surfaces(collision, surfaces, tables.stepping.surface_speeds)
    elif task == SAVE_SURFACES:
        if h > 0.0:
            save_torques(collision, surfaces)
    elif task == BOOK_SURFACES:
        book_laws(h, y, tables, surfaces)
    elif task == TAKE_SURFACES:
        take_laws(surfaces)
    elif task == NOTE_TORQUES:
        note_torques(tables, surfaces)
    elif task == BEGIN_SURFACES:
        begin_memory(surfaces)
    elif task == RESTORE_SURFACES:
        restore_memory_of(surfaces)
    else:
        return island_task(task, int(h), out, tables, surfaces)
    return OK


@njit
def island_task(task, number, out, tables, surfaces):
    """Do a task of one island, which threads may share; its value is out[number]."""
    island = tables.collision.islands[number]
    if task == WARM_START_SURFACES:
        warm_start_laws(island, tables, surfaces)
    elif task == SWEEP_SURFACES:
        out[number] = sweep_laws(island, tables, surfaces)
    elif task == RESIDUAL_OF_SURFACES:
        out[number] = residual_of_laws(island, tables, surfaces)
    elif task == DESCRIBE_SURFACES:
        describe_laws(tables, surfaces)
    return OK


def surfaces_entry(data, task, h, y, n, out, m):
    tables = table_at(ContactTables, data)
    surfaces = table_at(Surfaces, tables.callbacks[0].surface_tables)
    return surfaces_task(task, h, _floats(y, n), _floats(out, m), tables, surfaces)


SURFACES_ENTRY = CFunction(surfaces_entry, C_SIGNATURE)
