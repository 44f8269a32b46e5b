"""What overlaps is put apart by displacements: the smallest in the metric of the masses, min ½ δᵀ M δ with gap + J δ ≥ 0.

As for joints (`mechanics.projection`), the velocities have no part in it. Momenta stay, positions and orientations change.
Forces do their work along the displacement (`smooth.book_work`) as along any other; that nothing has done the opposite
work is an error of the energy, which is booked as the work of projection.
"""

from ..collide.tables import CONTACTS, ISLANDS
from ..core.c_function import call_pointer
from ..core.jit import njit
from ..core.math3 import cross, dot, from_rotation_vector, load3, matvec, matvec_t, rotate_by, sub, symvec, to_matrix
from ..core.status import OK
from ..model.tables import LEDGER, PROJECTION_WORK, REACTION_TORQUE, STATE_SIZE
from .cone import clear_velocities, relative_velocity, six, three
from .gauss_seidel import axes_of
from .parallel import (
    CORRECT_ISLANDS,
    CORRECT_LONE_ISLANDS,
    CORRECT_STOPS,
    DISPLACE,
    SWEEP_POSITIONS,
    ask,
    over_colours,
    over_islands,
)
from .tables import ANGULAR, INVERSE_INERTIA, LINEAR, MOTION, SOLVE_DISPLACEMENTS

ROUNDING = 1e-13  # m: overlap that is left alone by the converging solver
PASSES = 10
ENOUGH = 0.01  # passes end when so small a part of the overlap is left


@njit
def plan_correction(callbacks, system, collision, stepping):
    """Find the displacements, into `shift`; `separation` of the contacts is then that of the new places.

    They are made at the end of the step (`displace`), so that equal and opposite impulses act at one place until then.
    Returns (whether there are any, a status).
    """
    contacts = collision.contacts
    report = stepping.report[0]
    shift = stepping.shift
    count = collision.counts[CONTACTS]
    report.overlap = overlap_of(0, count, contacts)
    report.deepest = max(report.deepest, report.overlap)
    report.worst_penetration = max(report.worst_penetration, report.overlap)
    clear_velocities(stepping.motion, shift)
    apart = report.overlap > stepping.options[0].slop
    if apart:
        over_islands(CORRECT_ISLANDS, CORRECT_LONE_ISLANDS, collision)
        if stepping.options[0].separates != 0 and is_some_left(collision):
            status = correct_exactly(callbacks, system, collision, stepping)
            if status != OK:
                return False, status
    status = ask(CORRECT_STOPS, 0.0, shift, stepping)
    if status != OK or not (apart or stepping.answer[0] != 0.0):
        return False, status
    for i in range(count):
        contact = contacts[i]
        n, _, _ = axes_of(contact)
        contact.separation += dot(n, relative_velocity(shift, contact, load3(contact.arm_a), load3(contact.arm_b)))
    return True, OK


@njit
def overlap_of(begin, end, contacts):
    """The deepest of contacts begin … end (m)."""
    deepest = 0.0
    for i in range(begin, end):
        deepest = max(deepest, -contacts[i].separation)
    return deepest


@njit
def correct_island(number, collision, stepping):
    """Put apart an island by Gauss–Seidel, until nothing overlaps by more than the slop; its row tells what is left, where
    that is too much."""
    island, corrections = collision.islands[number], stepping.corrections
    deepest = overlap_of(island.first, island.end, collision.contacts)
    island.overlap = 0.0
    if deepest <= stepping.options[0].slop:
        return
    for i in range(island.first, island.end):
        corrections[i] = 0.0
    for _ in range(PASSES):
        left = over_colours(SWEEP_POSITIONS, island, collision, stepping)
        if left <= max(ROUNDING, ENOUGH * deepest):
            return
        island.overlap = left


@njit
def is_some_left(collision):
    islands = collision.islands
    for i in range(collision.counts[ISLANDS]):
        if islands[i].overlap > 0.0:
            return True
    return False


@njit
def correct_exactly(callbacks, system, collision, stepping):
    """By the solver of the step: the displacement is the velocity of a step from rest, without friction, whose biases are
    the separations and in which joints stay as they are. Returns a status."""
    contacts = collision.contacts
    count = collision.counts[CONTACTS]
    kept, friction = stepping.first_impulses, stepping.corrections
    for i in range(count):
        contact = contacts[i]
        for k in range(3):
            kept[3 * i + k] = contact.impulse[k]
            contact.impulse[k] = 0.0
        friction[i] = contact.friction
        contact.friction, contact.bias = 0.0, contact.separation
    clear_velocities(stepping.motion, stepping.shift)
    status = call_pointer(callbacks.solver, callbacks.data, SOLVE_DISPLACEMENTS, 0.0, stepping.motion, stepping.motion)
    for i in range(count):
        contact = contacts[i]
        for k in range(3):
            contact.impulse[k] = kept[3 * i + k]
        contact.friction = friction[i]
    return status


@njit
def apply_correction(y, system, stepping):
    """x ← x + δx, q ← exp(½ δθ) q of every body, with the energy and the moment of momentum that come of it."""
    shift = stepping.shift
    motion = stepping.motion
    kinematics = system.kinematics
    ledger = y.shape[0] - len(LEDGER)
    ask(DISPLACE, 0.0, y, stepping)
    gained = -stepping.answer[0]
    for i in range(system.bodies.shape[0]):
        move = three(shift, MOTION * i + LINEAR)
        turn = three(shift, MOTION * i + ANGULAR)
        if (
            move[0] == 0.0
            and move[1] == 0.0
            and move[2] == 0.0
            and turn[0] == 0.0
            and turn[1] == 0.0
            and turn[2] == 0.0
        ):
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
