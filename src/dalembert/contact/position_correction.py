"""Position correction: overlap is removed by the smallest displacement in the metric of the masses, min ½ δᵀ M δ, gap +
J δ ≥ 0.

As in the projection of joints, positions and orientations change, and momenta do not. The work of forces along the
displacement is computed as along any other (`step.book_work`); nothing balances it, so it is an energy error, which the
ledger lists as work of projection.
"""

from ..collide.tables import CONTACTS, ISLANDS
from ..core.jit import inlined, njit
from ..core.math3 import (
    cross,
    dot,
    from_rotation_vector,
    load3,
    matvec,
    matvec_t,
    rotate_by,
    store3,
    sub,
    symvec,
    to_matrix,
)
from ..core.simd import clear, load
from ..core.status import OK
from ..model.tables import LEDGER, PROJECTION_WORK, REACTION_TORQUE, STATE_SIZE
from .divided_steps import is_instant
from .gauss_seidel import axes_of, is_zero
from .parallel import (
    CORRECT_ISLANDS,
    CORRECT_ISLANDS_IN_TURN,
    MOMENTUM_OF_CORRECTIONS,
    OVERLAP,
    SEPARATIONS,
    SWEEP_POSITIONS,
    carry_on,
    has_momentum,
    over_all_contacts,
    over_colours,
    over_islands,
    shares_contacts,
)
from .tables import (
    ANGULAR,
    BOOK_CORRECTION,
    CORRECT_STOPS,
    INVERSE_INERTIA,
    LINEAR,
    MANY,
    MOTION,
    RATES,
    SOLVE_DISPLACEMENTS,
    call_coordinates,
    call_limits,
    call_solver,
    clear_velocities,
    in_joint_space,
    put_three,
    relative_velocity,
    six,
    three,
)

ROUNDING = 1e-13  # m: overlap that solvers that converge tolerate, some roundings of a position
PASSES, PASSES_WITH_MOMENTUM = 10, 40  # most sweeps over an island
ENOUGH = 0.01  # of the overlap: what is left of it when the sweeps end


@njit
def plan_correction(tables):
    """Find the displacements, into `shift`; the `separation` of contacts becomes that of the new positions.

    `apply_correction` makes them at the end of the step, so that equal and opposite impulses act at one place until then.
    Returns (whether there are any, a status).
    """
    collision, stepping = tables.collision, tables.stepping
    contacts = collision.contacts
    report = stepping.report[0]
    shift = stepping.shift
    count = collision.counts[CONTACTS]
    shared = shares_contacts(collision)
    report.overlap = over_all_contacts(OVERLAP, tables) if shared else overlap_of(0, count, contacts)
    report.deepest = max(report.deepest, report.overlap)
    report.worst_penetration = max(report.worst_penetration, report.overlap)
    joint_space = in_joint_space(tables)
    if joint_space:
        clear(shift)
    else:
        clear_velocities(stepping.motion, shift)
    overlaps = report.overlap > stepping.options[0].slop and not is_instant(stepping)
    if overlaps:
        over_islands(CORRECT_ISLANDS, CORRECT_ISLANDS_IN_TURN, tables)
        if stepping.options[0].separates != 0 and overlap_remains(collision):
            status = correct_by_solver(tables)
            if status != OK:
                return False, status
    status = call_limits(CORRECT_STOPS, 0.0, shift, tables)
    if status != OK or not (overlaps or stepping.answer[0] != 0.0):
        return False, status
    if joint_space:
        call_coordinates(RATES, 0.0, shift, stepping.contact_rates, tables)
        for i in range(count):
            contacts[i].separation += load(stepping.contact_rates, 3 * i)
        return True, OK
    if shared:
        over_all_contacts(SEPARATIONS, tables)
    else:
        move_separations(0, count, contacts, shift)
    return True, OK


@njit
def move_separations(begin, end, contacts, shift):
    """The separations of contacts begin … end after the displacements in `shift`."""
    for i in range(begin, end):
        contact = contacts[i]
        n, _, _ = axes_of(contact)
        contact.separation += dot(n, relative_velocity(shift, contact, load3(contact.arm_a), load3(contact.arm_b)))


@njit
def overlap_of(begin, end, contacts):
    """The deepest of contacts begin … end (m)."""
    deepest = 0.0
    for i in range(begin, end):
        deepest = max(deepest, -contacts[i].separation)
    return deepest


@njit
def correct_island(number, tables):
    """Displace an island by Gauss–Seidel, until little overlap is left; where a solver that converges follows, none. Writes
    `overlap` of its row, zero where that was reached. A large one has momentum (`parallel.carry_on`); of its row `aim` is
    read."""
    island, corrections = tables.collision.islands[number], tables.stepping.corrections
    deepest, options = overlap_of(island.first, island.end, tables.collision.contacts), tables.stepping.options[0]
    unavoidable = overlap_of_aim(island, options)
    island.overlap = 0.0
    if deepest <= max(options.slop, unavoidable):
        return
    for i in range(island.first, island.end):
        corrections[i] = 0.0
    carries, enough = has_momentum(island, tables), max(ROUNDING, unavoidable)
    if options.separates == 0:
        enough = max(enough, ENOUGH * deepest)
        if carries:  # no less than what velocities within the aim make in a step
            enough = max(enough, island.aim * options.dt)
    for k in range(PASSES_WITH_MOMENTUM if carries else PASSES):
        carried, share = carries and k > 0, min(MOMENTUM_OF_CORRECTIONS, (k - 1.0) / (k + 2.0))
        if carried:
            carry_on(SWEEP_POSITIONS, share, island, tables)
        left = over_colours(SWEEP_POSITIONS, carried, share, island, tables)
        if left <= enough:
            island.overlap = 0.0
            return
        island.overlap = left


@inlined
def overlap_of_aim(island, options):
    """The overlap (m) that the velocities of a step may leave in an island of many contacts (see `OPTIONS`)."""
    return options.tolerance_of_many * options.dt if island.end - island.first > MANY else 0.0


@njit
def overlap_remains(collision):
    """Whether Gauss–Seidel left overlap in some island."""
    islands = collision.islands
    for i in range(collision.counts[ISLANDS]):
        if islands[i].overlap > 0.0:
            return True
    return False


@njit
def correct_by_solver(tables):
    """The displacement of what still overlaps by the solver of the step: the velocity of a step from rest, without friction,
    whose biases are the separations and in which joints stay closed. It begins with the multipliers of Gauss–Seidel. Returns
    a status."""
    stepping = tables.stepping
    contacts = tables.collision.contacts
    count = tables.collision.counts[CONTACTS]
    impulses, friction = stepping.first_impulses, stepping.search_impulses
    for i in range(count):
        contact = contacts[i]
        put_three(impulses, 3 * i, load3(contact.impulse))
        friction[i] = contact.friction
        store3(contact.impulse, (load(stepping.corrections, i), 0.0, 0.0))
        contact.friction, contact.bias = 0.0, contact.separation
    status = call_solver(SOLVE_DISPLACEMENTS, tables)
    for i in range(count):
        contact = contacts[i]
        for k in range(3):
            contact.impulse[k] = impulses[3 * i + k]
        contact.friction = friction[i]
    return status


@njit
def apply_correction(y, tables):
    """x ← x + δx, q ← exp(½ δθ) q of every body; books the change of energy and of angular momentum."""
    stepping = tables.stepping
    shift = stepping.shift
    motion = stepping.motion
    kinematics = tables.system.kinematics
    ledger = y.shape[0] - len(LEDGER)
    call_limits(BOOK_CORRECTION, 0.0, y, tables)
    gained = -stepping.answer[0]
    for i in range(tables.system.bodies.shape[0]):
        move = three(shift, MOTION * i + LINEAR)
        turn = three(shift, MOTION * i + ANGULAR)
        if is_zero(move) and is_zero(turn):
            continue
        at = STATE_SIZE * i
        q = rotate_by((y[at + 3], y[at + 4], y[at + 5], y[at + 6]), turn)
        moment = cross(move, three(y, at + 7))
        gained -= dot(load3(kinematics[i].force), move) + dot(load3(kinematics[i].torque), turn)
        # L stays, the inertia turns with the body, and with it the kinetic energy ½ ω·L.
        angular = three(y, at + 10)
        turned, inverse = to_matrix(from_rotation_vector(turn)), six(motion, MOTION * i + INVERSE_INERTIA)
        omega = matvec(turned, symvec(inverse, matvec_t(turned, angular)))
        gained += 0.5 * dot(sub(omega, symvec(inverse, angular)), angular)
        for k in range(3):
            y[at + k] += move[k]
            y[ledger + REACTION_TORQUE + k] += moment[k]
        for k in range(4):
            y[at + 3 + k] = q[k]
    y[ledger + PROJECTION_WORK] += gained
