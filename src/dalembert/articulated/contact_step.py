"""One time step of contact in joint coordinates (J. J. Moreau 1988, 1999): trees of links with contacts, stops, joint
friction, ideal motors and loops.

    half a drift → forces, loops, contacts there → kick and impulses → half a drift

Over the drifts trees move freely (`contact_drift`); all forces and impulses act at the midpoint, where the speeds w change by

    w⁺ = w⁻ + M⁻¹ (h F + Jᵀ p + Gᵀ λ),   G (w⁻ + w⁺) = 0,

J the rows of contacts and bounds and G those of the loops, p as `contact.step` says. As M is that of one place, the kinetic
energy changes by exactly (h F + Jᵀ p + Gᵀ λ)·½ (w⁻ + w⁺), which is what the audit books. Forces that depend on velocities
are found twice: at w⁻, and at ½ (w⁻ + w⁺) of the first solution, so that the step is of second order, and what rests feels no
damping. Motors with gains, and springs and dampers of joints, are implicit: see `contact_soft`.
"""

import numpy as np

from ..arrays import clear, copy, is_finite
from ..collide.detect import NOT_FINITE
from ..collide.kept import forget_impulses, keep_impulses
from ..collide.tables import CONTACTS, Collision
from ..contact.report import note_residual
from ..contact.step import set_travel
from ..contact.tables import DETECTION, SMOOTH, SOLVER, UPDATE
from ..jit import CFunction, njit
from ..linalg.block_matrix import store_3
from ..mechanics.constraints import jacobian_velocity
from ..mechanics.coordinates import coordinate_value
from ..model.tables import CONSTRAINT_WORK, LEDGER, REACTION_IMPULSE, REACTION_TORQUE, STATE_SIZE
from ..pointer import C_SIGNATURE, FORCES, WRITE, call_pointer, viewer
from ..status import NON_FINITE, OK
from ..tables import table_at
from ..ticks import begin, lap
from ..unchecked import peek, poke
from .ask_loops import factor_loops, project
from .books import book_change, books, look
from .contact_books import (
    book_bounds,
    book_contacts,
    book_displacement,
    book_forces,
    close_books,
    find_mean_powers,
    open_books,
)
from .contact_drift import approach, depart, place
from .contact_kick import find_speeds, free_speeds, take_forces
from .contact_restitution import find_impulses
from .contact_rows import fill_responses, fill_rows
from .contact_separate import plan_separation
from .contact_soft import (
    add_soft,
    book_soft,
    change_sides,
    displace_soft,
    has_limits,
    keep_factor,
    note_bounds,
    place_soft,
    push_soft,
)
from .contact_tables import TreeStepping
from .evaluate import LIMP
from .lift import lift, step
from .tables import Reduced

_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def march(z, stop, reduced, collision, stepping):
    """Steps until `stop` (s) is reached. Returns a status; at NEED_ROOM z is the start of the step that was not made."""
    options, report = stepping.options[0], stepping.report[0]
    if options.fresh != 0:
        status = look_ahead(options.start + report.steps * options.dt, z, reduced, collision, stepping)
        if status != OK:
            return status
        options.fresh = 0
    while (report.steps + 1e-9) * options.dt < stop:
        status = make_step(options.start + report.steps * options.dt, z, reduced, collision, stepping)
        if status != OK:
            return status
        report.steps += 1
    return OK


# `data` is the address of the addresses of the three tables.
def evaluate(data, task, stop, z, n, nothing, m):
    at = _addresses(data, 3)
    return march(
        _floats(z, n), stop, table_at(Reduced, at[0]), table_at(Collision, at[1]), table_at(TreeStepping, at[2])
    )


COMPILED = CFunction(evaluate, C_SIGNATURE)


@njit
def make_step(t, z, reduced, collision, stepping):
    """One step of `options.dt` from t, in place. Returns a status; where it is not OK, z is as it was."""
    h, ticks = stepping.options[0].dt, stepping.ticks
    begin(ticks, 1.0)
    copy(stepping.saved, z)
    status = OK if approach(z, reduced, stepping) < 0 else LIMP
    lap(ticks, UPDATE)
    apart = False
    if status == OK:
        reduced.system.settings[0].implicit = 1
        apart, status = strike(t + 0.5 * h, h, True, z, reduced, collision, stepping)
        reduced.system.settings[0].implicit = 0
    if status == OK:
        depart(z, reduced, stepping)
        lift(z, reduced)
        close_books(z, reduced, stepping)
        if apart:
            status = displace(t + h, z, reduced, stepping)
    if status == OK and reduced.system.error.shape[0] > 0:
        status = project(t + h, z, reduced)
        apart = True
    if status == OK:
        count_turns(z, reduced)
        if apart:
            open_books(reduced, stepping)
        status = OK if is_finite(z) else NON_FINITE
    lap(ticks, UPDATE)
    if status != OK:
        copy(z, stepping.saved)
    return status


@njit
def look_ahead(t, z, reduced, collision, stepping):
    """At the start, what would be met in the half drift before the first look. Returns a status."""
    copy(stepping.saved, z)
    if place(z, reduced, stepping) >= 0:
        return LIMP
    open_books(reduced, stepping)
    reduced.system.settings[0].implicit = 1
    _, status = strike(t, 0.5 * stepping.options[0].dt, False, z, reduced, collision, stepping)
    reduced.system.settings[0].implicit = 0
    if status == OK:
        lift(z, reduced)
        close_books(z, reduced, stepping)
    else:
        copy(z, stepping.saved)
    return status


@njit
def strike(t, h, kicked, z, reduced, collision, stepping):
    """All changes of the speeds of a step, where the trees are: by forces over h, if `kicked`, and by impulses. Returns
    (whether something is to be put apart at the end of the step, a status)."""
    ticks, before, first = stepping.ticks, stepping.before, reduced.options[0].coordinates
    lift(z, reduced)
    status = detect(h, reduced, collision, stepping)
    lap(ticks, DETECTION)
    if status == OK:
        status = exert(t, reduced)
    if status != OK:
        return False, status
    if reduced.system.error.shape[0] > 0:
        jacobian_velocity(reduced.system, stepping.loop_rates)
    for k in range(before.shape[0]):
        poke(before, k, peek(z, first + k))
    if kicked:
        place_soft(z, first, reduced, stepping)
        keep_factor(reduced, stepping)
    if not prepare_speeds(kicked, reduced, stepping):
        return False, LIMP
    fill_rows(h if kicked else 0.0, reduced, collision, stepping)
    apart = False
    if kicked:
        apart = plan_separation(reduced, collision, stepping)
    else:
        forget_impulses(collision)  # they are those of another step, or of none
    predict = kicked and stepping.options[0].predict != 0
    lap(ticks, SMOOTH)
    if not solve(h, kicked, not predict, reduced, collision, stepping):
        return False, LIMP
    if predict:
        lap(ticks, SOLVER)
        find_speeds(reduced, collision, stepping)
        set_speeds(0.5, z, reduced, stepping)
        lift(z, reduced)
        status = exert(t, reduced)
        if status != OK:
            return False, status
        lap(ticks, SMOOTH)
        if not solve(h, kicked, True, reduced, collision, stepping):
            return False, LIMP
    note_residual(stepping.report[0])
    book_step(t, h, kicked, apart, z, reduced, collision, stepping)
    keep_impulses(collision)
    lap(ticks, SOLVER)
    return apart, OK


@njit
def prepare_speeds(kicked, reduced, stepping):
    """The factors of M and of the loops, with soft rows in them if `kicked`. Returns whether that went well."""
    options = reduced.options[0]
    clear(reduced.resistance)
    if kicked and stepping.soft.shape[0] > 0 and add_soft(reduced, stepping) >= 0:
        return False
    if reduced.system.error.shape[0] == 0:
        return True
    options.limp = factor_loops(options.held == 0, reduced)
    clear(reduced.resistance)  # that of the step alone
    return options.limp < 0


@njit
def solve(h, kicked, limited, reduced, collision, stepping):
    """The impulses of the step, with the forces in the kinematics table; see `find_impulses`. Returns whether that went
    well."""
    trial, limits = 0, kicked and has_limits(reduced, stepping)
    while True:
        take_forces(h if kicked else 0.0, reduced, stepping)
        if kicked:
            push_soft(reduced, stepping)
        free_speeds(reduced, collision, stepping)
        find_impulses(h, limited, reduced, collision, stepping)
        if not limits:
            return True
        find_speeds(reduced, collision, stepping)
        if not change_sides(trial, reduced, stepping):
            return True
        trial += 1
        if not prepare_speeds(kicked, reduced, stepping):
            return False
        fill_responses(h, reduced, collision, stepping)


@njit
def detect(h, reduced, collision, stepping):
    """Find what touches, or may within the step. Returns a status."""
    rigid = reduced.system.settings[0].rigid
    set_travel(h, rigid, reduced.system.kinematics, collision)
    status = call_pointer(stepping.walls[0], stepping.walls[1], rigid, stepping.options[0].margin, reduced.y, reduced.y)
    return NON_FINITE if status == NOT_FINITE else status


@njit
def exert(t, reduced):
    """Forces, and the rows of the loops, where the bodies are. Returns a status."""
    return call_pointer(reduced.options[0].mechanism, reduced.options[0].handle, FORCES, t, reduced.y, reduced.dydt)


@njit
def set_speeds(share, z, reduced, stepping):
    """w = w⁻ + share (w⁺ − w⁻)."""
    before, after, first = stepping.before, stepping.after, reduced.options[0].coordinates
    for k in range(before.shape[0]):
        poke(z, first + k, peek(before, k) + share * (peek(after, k) - peek(before, k)))


@njit
def book_step(t, h, kicked, apart, z, reduced, collision, stepping):
    """The speeds after the step, and all that it does to the ledger."""
    options, dydt = reduced.options[0], reduced.dydt
    work = find_speeds(reduced, collision, stepping)
    if kicked and stepping.options[0].predict != 0:
        if apart:
            book_displacement(h, z, reduced, collision, stepping)
        find_mean_powers(z, reduced, stepping)
    set_speeds(1.0, z, reduced, stepping)
    if kicked:
        call_pointer(options.mechanism, options.handle, WRITE, t, reduced.y, dydt)
        common = dydt.shape[0] - len(LEDGER)
        poke(dydt, common + CONSTRAINT_WORK, 0.0)  # those of constraints follow as impulses
        store_3(dydt, common + REACTION_IMPULSE, (0.0, 0.0, 0.0))
        store_3(dydt, common + REACTION_TORQUE, (0.0, 0.0, 0.0))
        at, source = options.coordinates + options.speeds, STATE_SIZE * reduced.system.settings[0].rigid
        for k in range(z.shape[0] - at):
            z[at + k] += h * peek(dydt, source + k)
    z[z.shape[0] - len(LEDGER) + CONSTRAINT_WORK] += work
    book_forces(h if kicked else 0.0, z, reduced, stepping)
    book_contacts(z, reduced, collision, stepping)
    book_bounds(z, reduced, collision, stepping)
    if kicked:
        book_soft(z, reduced, stepping)
        note_bounds(z, collision.counts[CONTACTS], reduced, stepping)
        if apart:
            displace_soft(z, reduced, stepping)


@njit
def displace(t, z, reduced, stepping):
    """Put apart what overlapped, and book what that does. Returns a status."""
    status = look(t, z, reduced)
    before = books(z, reduced)
    step(z, 1.0, stepping.shift, reduced.tree)
    if status == OK:
        status = look(t, z, reduced)
    book_change(z, before, books(z, reduced), reduced.system)
    return status


@njit
def count_turns(z, reduced):
    """Coordinates that are watched, as they are where the bodies are."""
    system, y = reduced.system, reduced.y
    coordinates, kinematics = system.coordinates, system.kinematics
    back = reduced.options[0].coordinates + reduced.options[0].speeds - STATE_SIZE * system.settings[0].rigid
    for i in range(coordinates.shape[0]):
        z[coordinates[i].at + back] = coordinate_value(y, coordinates[i], kinematics, system.curves)
