"""One time step of contact in joint coordinates (J. J. Moreau 1988, 1999): trees of links with contacts, stops, joint
friction, ideal motors and loops.

    half a drift → forces, loops, contacts there → impulses → half a drift

Over the drifts trees move freely (`first_half_drift`). All forces and impulses act at the midpoint, where the speeds w
change by

    w⁺ = w⁻ + M⁻¹ (h F + Jᵀ p + Gᵀ λ),   G (w⁻ + w⁺) = 0,

J the rows of contacts and bounds and G those of the loops, p as `contact.step` says. As M is that of one place, the kinetic
energy changes by exactly (h F + Jᵀ p + Gᵀ λ)·½ (w⁻ + w⁺), which is what the audit books. Forces that depend on velocities
are found twice: at w⁻, and at ½ (w⁻ + w⁺) of the first solution, so that the step is of second order, and what rests feels no
damping. Motors with gains, and springs and dampers of joints, are implicit: see `tree_rows`.
"""

import numpy as np

from ..collide.detect import NOT_FINITE
from ..collide.tables import CONTACTS, Collision, clear_warm_start, save_warm_start
from ..core.c_function import C_SIGNATURE, FORCES, WRITE, call_pointer, viewer
from ..core.jit import CFunction, inlined, njit
from ..core.math3 import load3, scale, store3
from ..core.profiler import begin_timing, end_stage
from ..core.simd import clear, copy, is_finite, load, store
from ..core.status import NON_FINITE, OK
from ..core.tables import table_at
from ..dynamics.constraints import jacobian_velocity, spread
from ..dynamics.jacobian import coordinate_value
from ..dynamics.joint_space.dynamics import (
    factorize,
    fill_matrix,
    generalized_forces,
    inverse_dynamics,
    link_accelerations,
    link_velocities,
    solve,
)
from ..dynamics.joint_space.kinematics import ZERO, displace_coordinates, update_links
from ..dynamics.joint_space.loops import call_factor_loops, call_project, call_solve_loops
from ..dynamics.joint_space.mechanism import LIMP
from ..dynamics.joint_space.state import energy_and_momenta, forward_kinematics, record_projection, update_at
from ..dynamics.joint_space.tables import Reduced
from ..linalg.block_matrix import store_3
from ..model.tables import CONSTRAINT_WORK, LEDGER, REACTION_IMPULSE, REACTION_TORQUE, STATE_SIZE
from .step import set_travel
from .tables import DETECTION, SMOOTH, SOLVER, UPDATE, note_residual
from .tree_rows import (
    TreeStepping,
    add_soft,
    book_bounds,
    book_contacts,
    book_displacement,
    book_forces,
    book_soft,
    change_sides,
    close_books,
    displace_soft,
    fill_responses,
    fill_rows,
    find_mean_powers,
    has_limits,
    keep_factor,
    note_bounds,
    open_books,
    place_soft,
    push_soft,
    row_product,
)
from .tree_solve import find_impulses, plan_correction

# ----------------------------------------------------------------------------------------------------------------------
# Free motion of trees over half a step: no forces, and every tree on its own, as loops are closed by impulses.
#
# With f(u, w) = −M⁻¹ bias, what the speeds do on their own, and places u_m at the middle of the step,
#
#     u_m = u + ½ h w,  w⁻ = w + ½ h f(u_m, w⁻)       before the kick,
#     w' = w⁺ + ½ h f(u_m, w⁺),  u' = u_m + ½ h w'     after it:
#
# leapfrog, whose second half is the first one backwards. M is needed at u_m only, where the kick has it anyway.


PASSES, ROUNDING = 10, 1e-12  # of finding w⁻, each a factor of h better; they end when so small a part of it changes


@njit
def update_kinematics(z, reduced, stepping):
    """Places and velocities of all links at z, and the factor of M. Returns the freedom that nothing resists, or −1."""
    options, tree = reduced.options[0], reduced.tree
    update_links(z[: options.coordinates], z[options.coordinates : options.coordinates + options.speeds], tree)
    fill_matrix(tree)
    if stepping.soft.shape[0] > 0:
        copy(stepping.mass, tree.matrix)
    options.limp = factorize(tree)
    return options.limp


@njit
def first_half_drift(z, reduced, stepping):
    """Move z to the middle of the step. Returns as `place`."""
    options, tree = reduced.options[0], reduced.tree
    h, first, start, slopes = stepping.options[0].dt, options.coordinates, stepping.before, stepping.slopes
    m = options.speeds
    displace_coordinates(z, 0.5 * h, z[first : first + m], tree)
    if update_kinematics(z, reduced, stepping) >= 0:
        return options.limp
    for k in range(m):
        store(start, k, load(z, first + k))
    for _ in range(PASSES):
        fill_slopes(slopes, tree)
        size, change = 0.0, 0.0
        for k in range(m):
            speed = load(start, k) + 0.5 * h * load(slopes, k)
            size, change = max(size, abs(speed)), max(change, abs(speed - load(z, first + k)))
            store(z, first + k, speed)
        if not change > ROUNDING * size:
            break
        link_velocities(z[first : first + m], tree)
    return -1


@njit
def second_half_drift(z, reduced, stepping):
    """Move z on from the middle of the step, where the tree is, to its end."""
    tree = reduced.tree
    h, first, slopes, m = (
        stepping.options[0].dt,
        reduced.options[0].coordinates,
        stepping.slopes,
        reduced.options[0].speeds,
    )
    if stepping.soft.shape[0] > 0:
        copy(tree.matrix, stepping.factor)
    link_velocities(z[first : first + m], tree)
    fill_slopes(slopes, tree)
    for k in range(m):
        store(z, first + k, load(z, first + k) + 0.5 * h * load(slopes, k))
    displace_coordinates(z, 0.5 * h, z[first : first + m], tree)


@njit
def fill_slopes(slopes, tree):
    """−M⁻¹ bias, at the velocities of the links."""
    motion, rates = tree.motion, tree.rates
    for i in range(motion.shape[0]):
        store3(motion[i].force, ZERO)
        store3(motion[i].torque, ZERO)
    for k in range(rates.shape[0]):
        store(rates, k, 0.0)
    link_accelerations(rates, tree)
    inverse_dynamics(rates, slopes, tree)
    for k in range(rates.shape[0]):
        store(slopes, k, -load(slopes, k))
    solve(slopes, 0, tree)


# ----------------------------------------------------------------------------------------------------------------------
# The speeds that forces, loops and impulses lead to, at the middle of a step.


@njit
def take_forces(h, reduced, stepping):
    """`pushed` = the impulse over h of the forces in the kinematics table, along the speeds."""
    tree, kinematics = reduced.tree, reduced.system.kinematics
    nodes, motion = tree.nodes, tree.motion
    for i in range(nodes.shape[0]):
        own, row = motion[i], nodes[i].row
        store3(own.bearing, scale(h, load3(kinematics[row].force)) if row >= 0 else ZERO)
        store3(own.bearing_torque, scale(h, load3(kinematics[row].torque)) if row >= 0 else ZERO)
    generalized_forces(stepping.pushed, tree)


@njit
def free_speeds(reduced, collision, stepping):
    """`free` = w⁻ + M⁻¹ (pushed + Gᵀ λ) with G (w⁻ + free) = 0, and the rates that it makes."""
    pushed, free = stepping.pushed, stepping.free
    rates, m = stepping.rates_free, stepping.before.shape[0]
    for k in range(m):
        store(free, k, load(pushed, k))
    answer(free, reduced, stepping)
    for r in range(3 * collision.counts[CONTACTS] + stepping.bounds.shape[0]):
        store(rates, r, row_product(r, free, 0, m, stepping))


@njit
def find_speeds(reduced, collision, stepping):
    """`after`, the speeds with all impulses; those of the loops lie in the kinematics table then. Returns their work."""
    contacts, bounds, count = collision.contacts, stepping.bounds, collision.counts[CONTACTS]
    pushed, after, m = stepping.pushed, stepping.after, stepping.before.shape[0]
    for k in range(m):
        store(after, k, load(pushed, k))
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
    generalized_forces(efforts, tree)
    work = 0.0
    for k in range(before.shape[0]):
        work += 0.5 * load(efforts, k) * (load(before, k) + load(after, k))
    return work


@inlined
def add_row(row, impulse, m, stepping):
    """`after` += impulse times a row of J."""
    jacobian, after = stepping.jacobian, stepping.after
    if impulse != 0.0:
        for k in range(stepping.spans[2 * row], stepping.spans[2 * row + 1]):
            store(after, k, load(after, k) + impulse * load(jacobian, row * m + k))


@njit
def answer(x, reduced, stepping):
    """An impulse x along the speeds becomes the speeds after it, and after what the loops answer."""
    before, wanted, change = stepping.before, reduced.wanted, reduced.change
    if wanted.shape[0] == 0:
        solve(x, 0, reduced.tree)
        for k in range(before.shape[0]):
            store(x, k, load(x, k) + load(before, k))
        return
    for s in range(wanted.shape[0]):
        store(wanted, s, -2.0 * load(stepping.loop_rates, s))
    for k in range(before.shape[0]):
        store(change, k, load(x, k))
    call_solve_loops(reduced)
    for k in range(before.shape[0]):
        store(x, k, load(before, k) + load(change, k))


# ----------------------------------------------------------------------------------------------------------------------

_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def run_steps(z, stop, reduced, collision, stepping):
    """Steps until `stop` (s) is reached. Returns a status; at NEED_ROOM z is the start of the step that was not made."""
    options, report = stepping.options[0], stepping.report[0]
    if options.fresh != 0:
        status = find_initial_contacts(options.start + report.steps * options.dt, z, reduced, collision, stepping)
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
def tree_step_entry(data, task, stop, z, n, nothing, m):
    at = _addresses(data, 3)
    return run_steps(
        _floats(z, n), stop, table_at(Reduced, at[0]), table_at(Collision, at[1]), table_at(TreeStepping, at[2])
    )


TREE_STEP_ENTRY = CFunction(tree_step_entry, C_SIGNATURE)


@njit
def make_step(t, z, reduced, collision, stepping):
    """One step of `options.dt` from t, in place. Returns a status; where it is not OK, z is as it was."""
    h, timer = stepping.options[0].dt, stepping.timer
    begin_timing(timer, 1.0)
    copy(stepping.saved, z)
    status = OK if first_half_drift(z, reduced, stepping) < 0 else LIMP
    end_stage(timer, UPDATE)
    apart = False
    if status == OK:
        reduced.system.settings[0].implicit = 1
        apart, status = solve_velocities(t + 0.5 * h, h, True, z, reduced, collision, stepping)
        reduced.system.settings[0].implicit = 0
    if status == OK:
        second_half_drift(z, reduced, stepping)
        forward_kinematics(z, reduced)
        close_books(z, reduced, stepping)
        if apart:
            status = displace(t + h, z, reduced, stepping)
    if status == OK and reduced.system.error.shape[0] > 0:
        status = call_project(t + h, z, reduced)
        apart = True
    if status == OK:
        count_turns(z, reduced)
        if apart:
            open_books(reduced, stepping)
        status = OK if is_finite(z) else NON_FINITE
    end_stage(timer, UPDATE)
    if status != OK:
        copy(z, stepping.saved)
    return status


@njit
def find_initial_contacts(t, z, reduced, collision, stepping):
    """At the start, what would be met in the half drift before the first look. Returns a status."""
    copy(stepping.saved, z)
    if update_kinematics(z, reduced, stepping) >= 0:
        return LIMP
    open_books(reduced, stepping)
    reduced.system.settings[0].implicit = 1
    _, status = solve_velocities(t, 0.5 * stepping.options[0].dt, False, z, reduced, collision, stepping)
    reduced.system.settings[0].implicit = 0
    if status == OK:
        forward_kinematics(z, reduced)
        close_books(z, reduced, stepping)
        status = OK if is_finite(z) else NON_FINITE
    if status != OK:
        copy(z, stepping.saved)
    return status


@njit
def solve_velocities(t, h, kicked, z, reduced, collision, stepping):
    """All changes of the speeds of a step, where the trees are: by forces over h, if `kicked`, and by impulses. Returns
    (whether something is to be put apart at the end of the step, a status)."""
    timer, before, first = stepping.timer, stepping.before, reduced.options[0].coordinates
    forward_kinematics(z, reduced)
    status = detect(h, reduced, collision, stepping)
    end_stage(timer, DETECTION)
    if status == OK:
        status = exert(t, reduced)
    if status != OK:
        return False, status
    if reduced.system.error.shape[0] > 0:
        jacobian_velocity(reduced.system, stepping.loop_rates)
    for k in range(before.shape[0]):
        store(before, k, load(z, first + k))
    if kicked:
        place_soft(z, first, reduced, stepping)
        keep_factor(reduced, stepping)
    if not prepare_speeds(kicked, reduced, stepping):
        return False, LIMP
    fill_rows(h if kicked else 0.0, reduced, collision, stepping)
    apart = False
    if kicked:
        apart = plan_correction(reduced, collision, stepping)
    else:
        clear_warm_start(collision)  # they are those of another step, or of none
    predict = kicked and stepping.options[0].predict != 0
    end_stage(timer, SMOOTH)
    if not solve_contact(h, kicked, not predict, reduced, collision, stepping):
        return False, LIMP
    if predict:
        end_stage(timer, SOLVER)
        find_speeds(reduced, collision, stepping)
        set_speeds(0.5, z, reduced, stepping)
        forward_kinematics(z, reduced)
        status = exert(t, reduced)
        if status != OK:
            return False, status
        end_stage(timer, SMOOTH)
        if not solve_contact(h, kicked, True, reduced, collision, stepping):
            return False, LIMP
    note_residual(stepping.report[0])
    book_step(t, h, kicked, apart, z, reduced, collision, stepping)
    save_warm_start(collision)
    end_stage(timer, SOLVER)
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
    options.limp = call_factor_loops(options.held == 0, reduced)
    clear(reduced.resistance)  # that of the step alone
    return options.limp < 0


@njit
def solve_contact(h, kicked, limited, reduced, collision, stepping):
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
    status = call_pointer(
        stepping.callbacks[0], stepping.callbacks[1], rigid, stepping.options[0].margin, reduced.y, reduced.y
    )
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
        store(z, first + k, load(before, k) + share * (load(after, k) - load(before, k)))


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
        store(dydt, common + CONSTRAINT_WORK, 0.0)  # those of constraints follow as impulses
        store_3(dydt, common + REACTION_IMPULSE, (0.0, 0.0, 0.0))
        store_3(dydt, common + REACTION_TORQUE, (0.0, 0.0, 0.0))
        at, source = options.coordinates + options.speeds, STATE_SIZE * reduced.system.settings[0].rigid
        for k in range(z.shape[0] - at):
            z[at + k] += h * load(dydt, source + k)
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
    status = update_at(t, z, reduced)
    before = energy_and_momenta(z, reduced)
    displace_coordinates(z, 1.0, stepping.shift, reduced.tree)
    if status == OK:
        status = update_at(t, z, reduced)
    record_projection(z, before, energy_and_momenta(z, reduced), reduced.system)
    return status


@njit
def count_turns(z, reduced):
    """Coordinates that are watched, as they are where the bodies are."""
    system, y = reduced.system, reduced.y
    coordinates, kinematics = system.coordinates, system.kinematics
    back = reduced.options[0].coordinates + reduced.options[0].speeds - STATE_SIZE * system.settings[0].rigid
    for i in range(coordinates.shape[0]):
        z[coordinates[i].at + back] = coordinate_value(y, coordinates[i], kinematics, system.curves)
