"""The step of contact in joint coordinates: the functions for trees of links that `step`, `solve` and `restitution`
call.

Over the drifts trees move freely (`first_half_drift`). All forces and impulses act at the midpoint, where the speeds w
change by

    w⁺ = w⁻ + M⁻¹ (h F + Jᵀ p + Gᵀ λ),   G (w⁻ + w⁺) = 0,

J the rows of contacts and bounds and G those of the loops, p as `step` says. As M is that of one place, the kinetic
energy changes by exactly (h F + Jᵀ p + Gᵀ λ)·½ (w⁻ + w⁺), which is the entry of the ledger. Forces that depend on
velocities are those at w⁻ + ½ (w_free − w⁻), as in coordinates of bodies. Motors with gains, and springs and dampers of
joints, are implicit: see `joint_space_books`.

In order: the tables; free motion; speeds with forces and impulses; the tasks of a step, and its C function. Rows are in
`joint_space_rows`.
"""

from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import CONTACTS, ISLANDS
from ..core.c_function import C_SIGNATURE, FORCES, call_pointer, viewer
from ..core.jit import CFunction, inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, norm, scale, store3, sub
from ..core.simd import clear, copy, load, store
from ..core.status import OK
from ..core.tables import column, part, table_at
from ..dynamics.constraints import jacobian_velocity, spread
from ..dynamics.jacobian import coordinate_value
from ..dynamics.joint_space.dynamics import (
    bias_efforts,
    fill_lower,
    generalized_forces,
    link_velocities,
)
from ..dynamics.joint_space.kinematics import ZERO, displace_coordinates, update_links
from ..dynamics.joint_space.loops import call_factor_loops, call_project, call_solve_loops
from ..dynamics.joint_space.mechanism import LIMP, TOO_FAST
from ..dynamics.joint_space.state import (
    energy_and_momenta,
    forward_kinematics,
    record_projection,
    update_at,
)
from ..dynamics.joint_space.tables import Reduced
from ..dynamics.joint_space.welded import LINK, show_links, velocity_of
from ..model.tables import STATE_SIZE
from ..model.tree import FREE, Tree
from .fast import is_free
from .island_problem import (
    IslandProblem,
)
from .joint_space_books import (
    ROOT,
    add_soft,
    book_displacement,
    book_step,
    change_sides,
    close_books,
    find_powers,
    open_books,
    place_soft,
    push_soft,
    show_velocities,
    sleeps,
)
from .joint_space_commands import (
    AIM_LOOPS,
    BEGIN,
    BEGIN_DRIFT,
    BEGIN_IMPACT,
    DRIFTED,
    END,
    END_IMPACT,
    FILL,
    GIVEN,
    GIVEN_RATES,
    KICKED,
    LOOP_WORK,
    MEAN,
    PUSH,
    RIDE,
    SETTLE,
    SHOW,
    SHOW_ON_WAY,
    STILL,
    call_rides,
    ride_task,
)
from .joint_space_rows import describe_trees, fill_responses, fill_rows, pack
from .joint_space_solves import answer_few, factor_few_loops, factorize_packed, pack_matrix, solve_one
from .limits import set_stops
from .rows import (
    Rows,
    contact_velocity,
    correct_stops_of_rows,
    rate_of,
    residual_of_rows,
    sweep_positions_of_rows,
    sweep_rows,
    warm_start_rows,
)
from .tables import (
    ANGULAR,
    BEGIN_WAY,
    BODY_SPEEDS,
    BOOK,
    CORRECT_STOPS,
    DESCRIBE_ISLAND,
    END_WAY_IMPACT,
    FILL_ROWS,
    FINISH,
    FREE_SPEEDS,
    GIVEN_OF_ISLAND,
    LEAD,
    LINEAR,
    MEAN_FORCES,
    MOTION,
    MOVES_LITTLE,
    PLACE,
    PLACE_ON_WAY,
    POWER,
    PUSH_SURFACES,
    RATES,
    REFACTOR,
    RESIDUAL_OF_ROWS,
    SET_STOPS,
    STOP_ISLAND,
    SWEEP_POSITIONS_OF_ROWS,
    SWEEP_ROWS,
    TURN,
    UNLEAD,
    UPDATE_SATURATION,
    WALK,
    WARM_START_ROWS,
    ContactTables,
    add_powers,
    call_surfaces,
    end_of_part,
    exerts,
    put_three,
    start_of_part,
)

# Tables -----------------------------------------------------------------------------------------------------------------

# Trees that loops connect: their speeds first … end of the packed vector, one of their bodies (−1: they have none), and
# whether there are loops.
ASSEMBLY = np.dtype([("first", "i8"), ("end", "i8"), ("body", "i8"), ("looped", "i8")], align=True)


class JointSpace(NamedTuple):
    """What a step of contact in joint coordinates needs beside `Stepping` and `Reduced`. m speeds; in packed order those of
    an assembly are together, parents first."""

    rows: Any = part(Rows)
    tree: Any = part(Tree, doc="that of `Reduced`, with links that are welded together as one")
    links: Any = column(dtype=LINK, unit="mass kg, offset m, turned 1, inertia kg m²", doc="where bodies are in `tree`")
    node_of_row: Any = column(dtype=np.int64, doc="row of the kinematics table → node of `tree`, −1 for none")
    reaches: Any = column(
        "nodes",
        unit="m",
        doc="how far from the centre of a node its rotation moves points that collide; negative: it has none",
    )
    calm: Any = column("1", unit="m", doc="what moves by no more in a step is neither fast nor outruns detection")
    books_links: Any = column("1", np.int64, doc="whether the ledger needs forces on links only: see `book_ledger`")
    assemblies: Any = column("assemblies", ASSEMBLY)
    assembly_of: Any = column("nodes", np.int64)
    freedom_at: Any = column("m", np.int64, doc="of each packed speed, its freedom")
    factor_starts: Any = column("m + 1", np.int64, doc="of each packed speed, where its row of the factor L begins")
    factor_columns: Any = column("0", np.int64, doc="packed speeds of these entries, from the nearest on to the root")
    factor_values: Any = column("0", doc="L")
    factor_inverse: Any = column("m", fill=np.nan, doc="D⁻¹, in packed order")
    alone: Any = column("1", np.int64, doc="whether one thread makes the steps")
    drift_values: Any = column("0", doc="L of M itself, without soft rows: for the drifts")
    drift_inverse: Any = column("m", fill=np.nan, doc="D⁻¹, likewise")
    shown: Any = column("1", np.int64, doc="whether something reads poses of bodies between the steps")
    packed_at: Any = column("m", np.int64, doc="of each freedom, its place among the packed speeds")
    paths: Any = column("2 * nodes", np.int64, doc="of each node: where its path is in `rows.indices`, and its length")
    roots: Any = column("roots", ROOT)
    root_of: Any = column("nodes", np.int64)
    problem: Any = part(IslandProblem)
    coordinate_at: Any = column(
        "coordinates",
        np.int64,
        doc="of each coordinate that is watched, where the state has it; −1: of no joint of a tree",
    )
    given: Any = column("given", GIVEN, doc="kinematic bodies; their velocities are behind the packed speeds")
    rides: Any = column("rides", RIDE)
    few: Any = column("1", np.int64, doc="whether loops are answered by the next tables: see `joint_space_solves`")
    loop_rows: Any = column("few * m", fill=np.nan, doc="G of few loops, on packed speeds, row by row")
    loop_answers: Any = column("few * m", fill=np.nan, doc="M⁻¹ Gᵀ, likewise")
    loop_matrix: Any = column("few * few", fill=np.nan, doc="G M⁻¹ Gᵀ = L D Lᵀ: L below the diagonal, and D⁻¹")
    loop_scratch: Any = column("few", fill=np.nan)
    corrected: Any = column("1", np.int64, doc="whether the step displaces something")
    slopes: Any = column("m", fill=np.nan, doc="rates of the speeds in free motion")
    before: Any = column("m", unit="m/s, rad/s", fill=np.nan, doc="speeds before the impulses")
    loop_rates: Any = column(
        "r", unit="m/s, rad/s", fill=np.nan, doc="of the rows of loops at these; with the mean of what is given"
    )
    loop_targets: Any = column("r", unit="m/s, rad/s", fill=np.nan, doc="what they must be after the step")
    after: Any = column("m", unit="m/s, rad/s", fill=np.nan, doc="speeds with all impulses")
    pushed: Any = column("m", unit="N s, N m s", fill=np.nan, doc="impulse of the forces along the speeds")
    start: Any = column("m + nodes", fill=np.nan, doc="the coordinates where free motion begins")
    led: Any = column(
        "m", unit="m/s, rad/s", doc="what forces have added to the speeds of bodies in flight, see `lead`"
    )
    pace: Any = column("2 * nodes", unit="m/s, rad/s", fill=np.nan, doc="bounds of the speeds of links, in free motion")
    acceleration_bounds: Any = column("2 * nodes", unit="m/s², rad/s²", fill=np.nan, doc="likewise of accelerations")
    turned: Any = column("1", np.int64, doc="whether TURN has been done, 1, or 2 if `corrected` was so then")
    displaced: Any = column("m", unit="m, rad", fill=np.nan, doc="displacement that puts apart what overlaps")
    packed: Any = column("packed", unit="any", fill=np.nan, doc="scratch")


@inlined
def unpack(source, target, js):
    """Numbers in the order of the packed speeds in that of freedoms: the reverse of `pack`."""
    for p in range(js.freedom_at.shape[0]):
        store(target, js.freedom_at[p], load(source, p))


# Free motion ------------------------------------------------------------------------------------------------------------
#
# Over half a step there are no forces, and every tree is on its own, as loops are closed by impulses. With f(u, w) = −M⁻¹
# bias, what the speeds do on their own, and places u_m at the middle of the step,
#
#     u_m = u + ½ h w,  w⁻ = w + ½ h f(u_m, w⁻)       before the kick,
#     w' = w⁺ + ½ h f(u_m, w⁺),  u' = u_m + ½ h w'     after it:
#
# leapfrog, whose second half is the first one backwards. M is needed at u_m only, where the kick has it anyway.

# Of finding w⁻, each a factor of h w better, as f is quadratic in w; they end when so small a part of w will change.
PASSES, ROUNDING, GROWTH = 10, 1e-12, 10.0
# w⁻ exists where joints turn by less than a radian or so in half a step. If the last pass changed it by more than this share,
# it was not found, and what the passes leave is no motion but grows without bound.
LOST, NOT_FOUND = 0.1, -2


@njit
def update_kinematics(z, reduced, js, tables):
    """Places and velocities of all links at z, and the factor of M. Returns the freedom that nothing resists, or −1."""
    options, tree = reduced.options[0], js.tree
    update_links(z[: options.coordinates], z[options.coordinates : options.coordinates + options.speeds], tree)
    fill_lower(tree)
    pack_matrix(js.drift_values, js.drift_inverse, tree, js)
    options.limp = factorize_packed(js.drift_values, js.drift_inverse, js)
    return options.limp


@njit
def first_half_drift(h, z, reduced, js, tables):
    """Move z over half of h to the middle of the step. Returns as `update_kinematics`, or NOT_FOUND."""
    options, tree = reduced.options[0], js.tree
    first, start, slopes = options.coordinates, js.before, js.slopes
    m = options.speeds
    displace_coordinates(z, 0.5 * h, z[first : first + m], tree)
    if update_kinematics(z, reduced, js, tables) >= 0:
        return options.limp
    for k in range(m):
        store(start, k, load(z, first + k))
    size, change, known = 0.0, 0.0, 0.0
    for _ in range(PASSES):
        fill_slopes(z[first : first + m], js, tree)
        size, change = 0.0, 0.0
        for k in range(m):
            speed = load(start, k) + 0.5 * h * load(slopes, k)
            size, change = max(size, abs(speed)), max(change, abs(speed - load(z, first + k)))
            known += 0.0 * speed  # not a number where that is none, or infinite
            store(z, first + k, speed)
        if not (change > ROUNDING * size and GROWTH * h * change > ROUNDING):
            break
    link_velocities(z[first : first + m], tree)
    found = change <= LOST * size or GROWTH * h * change <= ROUNDING
    return -1 if known == 0.0 and found else NOT_FOUND


@njit
def turn_speeds(h, z, reduced, js):
    """The speeds of the second half of a step, from those at its middle, where the tree is."""
    tree, options = js.tree, reduced.options[0]
    first, slopes, m = options.coordinates, js.slopes, options.speeds
    fill_slopes(z[first : first + m], js, tree)
    for k in range(m):
        store(z, first + k, load(z, first + k) + 0.5 * h * load(slopes, k))


@njit
def walk(h, z, reduced, js):
    """Move the coordinates in z along the speeds for h (s)."""
    first, m = reduced.options[0].coordinates, reduced.options[0].speeds
    displace_coordinates(z, h, z[first : first + m], js.tree)


@njit
def fill_slopes(w, js, tree):
    """`slopes` = −M⁻¹ bias at the speeds w, where the links are."""
    slopes = js.slopes
    bias_efforts(w, slopes, tree)
    pack(slopes, js.packed, js)
    solve_one(js.packed, 0, 0, slopes.shape[0], js.drift_values, js.drift_inverse, js)
    for p in range(slopes.shape[0]):
        store(slopes, js.freedom_at[p], -load(js.packed, p))


# Speeds with forces and impulses ------------------------------------------------------------------------------------------


@njit
def take_forces(h, reduced, js, tables):
    """`pushed` = the impulse over h of the forces in the kinematics table, along the speeds; none on what sleeps. h < 0: what
    they have done before."""
    tree, kinematics, links = js.tree, reduced.system.kinematics, js.links
    motion = tree.motion
    for i in range(motion.shape[0]):
        store3(motion[i].bearing, ZERO)
        store3(motion[i].bearing_torque, ZERO)
    for i in range(links.shape[0] if h != 0.0 else 0):
        link = links[i]
        if sleeps(link.node, js, tables):
            continue
        own, kin = motion[link.node], kinematics[link.row]
        force, torque = scale(h, load3(kin.force)), scale(h, load3(kin.torque))
        if link.part == 0:
            store3(own.bearing, force)
            store3(own.bearing_torque, torque)
        else:
            arm = sub(load3(kin.x), load3(own.x))
            store3(own.bearing, add(load3(own.bearing), force))
            store3(own.bearing_torque, add(load3(own.bearing_torque), add(torque, cross(arm, force))))
    if h > 0.0 and js.rides.shape[0] > 0:
        call_rides(PUSH, h, js.pushed, js.pushed, tables, reduced, js)
    generalized_forces(js.pushed, tree)


@njit
def find_free_speeds(h, reduced, js, tables):
    """`after` = w⁻ + M⁻¹ (pushed + Gᵀ λ) with G (w⁻ + after) = 0: the speeds with the impulses of forces over h and loops."""
    take_forces(h, reduced, js, tables)
    if h > 0.0:
        push_soft(reduced, js, tables)
    copy(js.after, js.pushed)
    answer(js.after, reduced, js)


@njit
def find_speeds(reduced, js, tables):
    """`after`, the speeds with all impulses, and `motion`; the impulses of the loops lie in the kinematics table then.
    Returns their work."""
    contacts, bounds, rows = tables.collision.contacts, tables.stepping.bounds, js.rows
    after, path = js.after, rows.longest[0]
    copy(after, js.pushed)
    for i in range(tables.collision.counts[CONTACTS]):
        p = load3(contacts[i].impulse)
        if p[0] == 0.0:
            continue
        for side in range(2 * i, 2 * i + 2):
            own, at = rows.sides[side], 3 * path * side
            for j in range(own.length):
                if rows.indices[own.path + j] >= after.shape[0]:
                    break  # given speeds
                k, e = js.freedom_at[rows.indices[own.path + j]], at + 3 * j
                push = p[0] * load(rows.jacobian, e) + p[1] * load(rows.jacobian, e + 1)
                store(after, k, load(after, k) + (push + p[2] * load(rows.jacobian, e + 2)))
    call_surfaces(PUSH_SURFACES, 0.0, after, tables)
    for i in range(bounds.shape[0]):
        impulse = bounds[i].impulse
        for side in range(2 * i, 2 * i + 2):
            own, at = rows.bound_sides[side], path * side
            for j in range(own.length if impulse != 0.0 else 0):
                if rows.indices[own.path + j] >= after.shape[0]:
                    break
                k = js.freedom_at[rows.indices[own.path + j]]
                store(after, k, load(after, k) + impulse * load(rows.bound_jacobian, at + j))
    answer(after, reduced, js)
    pack(after, tables.stepping.motion, js)
    return loop_work(reduced, js, tables)


@njit
def loop_work(reduced, js, tables):
    """Spread the impulses of the loops over the bodies. Returns their work, λ·G ½ (w⁻ + w⁺)."""
    system, tree = reduced.system, reduced.tree
    nodes, motion, kinematics, efforts = tree.nodes, tree.motion, system.kinematics, tree.scratch
    before, after = js.before, js.after
    if reduced.wanted.shape[0] == 0:
        return 0.0
    spread(system, system.multipliers)
    for i in range(nodes.shape[0]):
        own, row = motion[i], nodes[i].row
        store3(own.bearing, load3(kinematics[row].linear) if row >= 0 else ZERO)
        store3(own.bearing_torque, load3(kinematics[row].angular) if row >= 0 else ZERO)
    generalized_forces(efforts, tree)
    work = 0.0
    for k in range(before.shape[0]):
        work += 0.5 * load(efforts, k) * (load(before, k) + load(after, k))
    if system.commands.shape[0] > 0:
        call_rides(LOOP_WORK, 0.0, after, tables.stepping.answer, tables, reduced, js)
        work += tables.stepping.answer[0]
    return work


@njit
def answer(x, reduced, js):
    """An impulse x along the speeds becomes the speeds after it, and after what the loops answer."""
    before, wanted, change = js.before, reduced.wanted, reduced.change
    if wanted.shape[0] == 0:
        pack(x, js.packed, js)
        solve_one(js.packed, 0, 0, before.shape[0], js.factor_values, js.factor_inverse, js)
        for p in range(before.shape[0]):
            k = js.freedom_at[p]
            store(x, k, load(js.packed, p) + load(before, k))
        return
    for s in range(wanted.shape[0]):
        store(wanted, s, -2.0 * load(js.loop_rates, s))
    if js.few[0] != 0:
        pack(x, js.packed, js)
        answer_few(js.packed, wanted, reduced.system.multipliers, js)
        for p in range(before.shape[0]):
            k = js.freedom_at[p]
            store(x, k, load(js.packed, p) + load(before, k))
        return
    for k in range(before.shape[0]):
        store(change, k, load(x, k))
    call_solve_loops(reduced)
    for k in range(before.shape[0]):
        store(x, k, load(before, k) + load(change, k))


@njit
def prepare_speeds(h, reduced, js, tables):
    """The factors of M and of the loops, with soft rows in them for a step over h > 0. Returns a status."""
    options = reduced.options[0]
    clear(reduced.resistance)
    if h > 0.0 and tables.stepping.soft.shape[0] > 0:
        if add_soft(reduced, js, tables) >= 0:
            return LIMP
    else:
        copy(js.factor_values, js.drift_values)
        copy(js.factor_inverse, js.drift_inverse)
    if reduced.system.error.shape[0] == 0:
        return OK
    if options.held != 0 and factor_few_loops(reduced, js):
        clear(reduced.resistance)
        return OK
    options.limp = call_factor_loops(options.held == 0, reduced)
    clear(reduced.resistance)  # that of the step alone
    return LIMP if options.limp >= 0 else OK


# The tasks of a step ------------------------------------------------------------------------------------------------------


@njit
def time_on_way(left, js, tables):
    """The time (s) that is `left` before the half step ends in which the trees are."""
    half = 1.0 if js.turned[0] != 0 else 0.5
    return start_of_part(tables.stepping) + half * tables.stepping.options[0].dt - left


@njit
def place(t, h, on_way, z, reduced, js, tables):
    """Move z to the middle of a step over h from t (s), with its forces; h = 0: where z is, within a step if `on_way`.
    Returns a status."""
    options, system, before = reduced.options[0], reduced.system, js.before
    first, stepping = options.coordinates, tables.stepping
    driven = system.commands.shape[0] > 0
    status = OK if on_way else choose_rows(t, z, reduced, js, tables)
    if status != OK:
        return status
    if driven:
        if on_way:
            status = call_rides(BEGIN_IMPACT, t, z, z, tables, reduced, js)
        else:
            status = call_rides(BEGIN, h, z, z, tables, reduced, js)
        if status != OK:
            return status
    found = first_half_drift(h, z, reduced, js, tables) if h > 0.0 else -1
    if found != -1:
        return TOO_FAST if found == NOT_FOUND else LIMP
    if h == 0.0:
        if update_kinematics(z, reduced, js, tables) >= 0:
            return LIMP
        if not on_way:
            open_books(reduced, js)
    if driven and h > 0.0:
        call_rides(DRIFTED, h, z, z, tables, reduced, js)
    if driven:
        forward_kinematics(z, reduced)
    else:
        show_links(z, reduced, js.tree, js.links)
    status = exert(t + 0.5 * h, reduced)
    if status != OK:
        return status
    if driven:
        call_rides(AIM_LOOPS, h, z, z, tables, reduced, js)
    elif system.error.shape[0] > 0:
        jacobian_velocity(system, js.loop_rates)
        for r in range(js.loop_rates.shape[0]):
            store(js.loop_targets, r, -load(js.loop_rates, r))
    for k in range(before.shape[0]):
        store(before, k, load(z, first + k))
    if h > 0.0:
        place_soft(z, first, reduced, js, tables)
    status = prepare_speeds(h, reduced, js, tables)
    if status == OK and h > 0.0 and stepping.options[0].predict != 0:
        find_free_speeds(h, reduced, js, tables)
        status = exert_halfway(t + 0.5 * h, z, reduced, js)
    elif status == OK and h > 0.0:
        show_falling(h, reduced.system)
    return status


@njit
def choose_rows(t, z, reduced, js, tables):
    """Find out which rows of the loops are independent, at a state z from outside, where loops are closed: in the middle of a
    step they are open, and all would be. Returns a status."""
    options, system = reduced.options[0], reduced.system
    if options.held != 0 or system.error.shape[0] == 0:
        return OK
    status = OK
    if system.commands.shape[0] > 0:
        status = call_rides(SHOW_ON_WAY, t, z, z, tables, reduced, js)
    else:
        forward_kinematics(z, reduced)
    if status == OK:
        status = exert(t, reduced)
    if status == OK:
        options.limp = call_factor_loops(True, reduced)
        if options.limp >= 0:
            return LIMP
        options.held = 1
    return status


@njit
def exert_at_mean(h, z, reduced, js, tables):
    """The forces in the middle of a step over h, at the mean of the speeds before and the packed ones in `motion`. Returns a
    status."""
    unpack(tables.stepping.motion, js.after, js)
    return exert_halfway(start_of_part(tables.stepping) + 0.5 * h, z, reduced, js)


@njit
def exert_halfway(t, z, reduced, js):
    """The forces at a time t (s), at the mean of the speeds in `before` and `after`. Returns a status."""
    first = reduced.options[0].coordinates
    set_speeds(0.5, z, reduced, js)
    link_velocities(z[first : first + js.before.shape[0]], js.tree)
    show_links(z, reduced, js.tree, js.links)
    status = exert(t, reduced)
    set_speeds(0.0, z, reduced, js)
    return status


@njit
def show_falling(h, system):
    """Add half of what forces alone would add in a step over h to the velocities in the kinematics table, by which collision
    detection looks ahead. A contact that the step closes is found so where the velocities before it do not tell."""
    bodies, kinematics = system.bodies, system.kinematics
    for i in range(bodies.shape[0]):
        kin = kinematics[i]
        store3(kin.v, add_scaled(load3(kin.v), 0.5 * h * bodies[i].inverse_mass, load3(kin.force)))


@njit
def exert(t, reduced):
    """Forces, and the rows of the loops, where the bodies are. Returns a status."""
    return call_pointer(reduced.options[0].mechanism, reduced.options[0].handle, FORCES, t, reduced.y, reduced.dydt)


@njit
def set_speeds(share, z, reduced, js):
    """w = w⁻ + share (w⁺ − w⁻)."""
    before, after, first = js.before, js.after, reduced.options[0].coordinates
    for k in range(before.shape[0]):
        store(z, first + k, load(before, k) + share * (load(after, k) - load(before, k)))


@njit
def book(h, z, reduced, js, tables):
    """The speeds after the step, and all that it does to the ledger. h = 0: impulses alone acted."""
    unpack(tables.stepping.shift, js.displaced, js)
    js.corrected[0] = 0
    if h > 0.0:
        for k in range(js.displaced.shape[0]):
            if load(js.displaced, k) != 0.0:
                js.corrected[0] = 1
    work, driven = find_speeds(reduced, js, tables), reduced.system.commands.shape[0] > 0
    if js.corrected[0] != 0 and exerts(tables):
        if driven:
            call_rides(SHOW, STILL, z, z, tables, reduced, js)
        book_displacement(h, z, reduced, js, tables)
    if driven:
        call_rides(SHOW, MEAN, z, z, tables, reduced, js)
    book_step(h, work, z, reduced, js, tables)
    if driven:
        call_rides(SETTLE, h, z, z, tables, reduced, js)


@njit
def finish(h, z, reduced, js, tables):
    """Move z on to the end of a step over h, with its loops closed and what overlapped put apart. Returns a status."""
    stepping, status = tables.stepping, OK
    if js.turned[0] != 0:
        js.corrected[0] = js.turned[0] - 1
    end = end_of_part(stepping)
    apart, driven = h > 0.0 and js.corrected[0] != 0, reduced.system.commands.shape[0] > 0
    if driven and js.turned[0] == 0:
        call_rides(KICKED, h, z, z, tables, reduced, js)
    if h > 0.0:
        if js.turned[0] == 0:
            turn_speeds(h, z, reduced, js)
        walk(0.5 * h, z, reduced, js)
    if driven:
        status = call_rides(END, h, z, z, tables, reduced, js)
    place_links(z, reduced, js)
    if js.shown[0] != 0:
        show_links(z, reduced, js.tree, js.links)
    close_books(z, reduced, js)
    if h == 0.0:
        return status
    if apart and status == OK:
        status = displace(end, z, reduced, js)
    if status == OK and reduced.system.error.shape[0] > 0:
        status = call_project(end, z, reduced)
        apart = True
    if status == OK:
        count_turns(z, reduced, js)
        if apart:
            place_links(z, reduced, js)
            open_books(reduced, js)
    return status


@njit
def place_links(z, reduced, js):
    """The links of the merged tree at the state z."""
    options = reduced.options[0]
    update_links(z[: options.coordinates], z[options.coordinates : options.coordinates + options.speeds], js.tree)


@njit
def displace(t, z, reduced, js):
    """Put apart what overlapped, and book what that does. Returns a status."""
    status = update_at(t, z, reduced)
    before = energy_and_momenta(z, reduced)
    displace_coordinates(z, 1.0, js.displaced, reduced.tree)
    if status == OK:
        status = update_at(t, z, reduced)
    record_projection(z, before, energy_and_momenta(z, reduced), reduced.system)
    return status


@njit
def count_turns(z, reduced, js):
    """Coordinates that are watched, as they are where the bodies are; those of the tree are in z."""
    system, y = reduced.system, reduced.y
    coordinates, kinematics = system.coordinates, system.kinematics
    back = reduced.options[0].coordinates + reduced.options[0].speeds - STATE_SIZE * system.settings[0].rigid
    for i in range(coordinates.shape[0]):
        if js.coordinate_at[i] >= 0:
            z[coordinates[i].at + back] = z[js.coordinate_at[i]]
        else:
            z[coordinates[i].at + back] = coordinate_value(y, coordinates[i], kinematics, system.curves)


@njit
def stop_island(number, z, reduced, js, tables):
    """Set the speeds of an island to zero, and book the change. Returns a status."""
    island, members = tables.collision.islands[number], tables.collision.members
    stepping, first = tables.stepping, reduced.options[0].coordinates
    t = end_of_part(stepping)
    status = update_at(t, z, reduced)
    before = energy_and_momenta(z, reduced)
    for m in range(island.first_member, island.end_member):
        own = stepping.members[members[m]]
        for p in range(own.first_speed, own.end_speed):
            store(z, first + js.freedom_at[p], 0.0)
    if status == OK:
        status = update_at(t, z, reduced)
    record_projection(z, before, energy_and_momenta(z, reduced), reduced.system)
    place_links(z, reduced, js)
    open_books(reduced, js)
    return status


@njit
def correct_stops(reduced, js, tables):
    """Remove the overlap of stops, in `shift`; their gaps are then those of the new place. Returns whether there is some."""
    collision, stepping, some = tables.collision, tables.stepping, False
    for i in range(collision.counts[ISLANDS]):
        some = correct_stops_of_rows(collision.islands[i], reduced, js, tables) or some
    moved = some
    for p in range(js.freedom_at.shape[0]):
        moved = moved or load(stepping.shift, p) != 0.0
    for i in range(stepping.bounds.shape[0] if moved else 0):
        stepping.bounds[i].gap += rate_of(i, stepping.bounds[i], stepping.shift, js)
    return some


# Whether something is fast ----------------------------------------------------------------------------------------------


@njit
def moves_little(h, w, js):
    """Whether no point that collides moves by more than `calm` within h (s) at the packed speeds w: of a node none is faster
    than |v| + |ω| r, with r the reach of the node. Leaves the velocities of the links at w."""
    tree, reaches, calm = js.tree, js.reaches, js.calm[0]
    unpack(w, js.after, js)
    link_velocities(js.after, tree)
    for i in range(reaches.shape[0]):
        own, reach = tree.motion[i], load(reaches, i)
        if reach >= 0.0 and not h * (norm(load3(own.v)) + reach * norm(load3(own.omega))) <= calm:
            return False
    return True


# On the way -------------------------------------------------------------------------------------------------------------


@njit
def lead(h, z, reduced, js, tables):
    """Let forces act for h (s) on the speeds in z of bodies in flight, where the trees are. Writes `led` and `lead`. The
    drift has the speeds w that are right where two steps meet; at an impact h later they are w + h M⁻¹ (F − bias), see
    `nearby`."""
    first, m, led, tree = reduced.options[0].coordinates, reduced.options[0].speeds, js.led, js.tree
    clear(led)
    fill_slopes(js.before, js, tree)
    take_forces(h, reduced, js, tables)
    pack(js.pushed, js.packed, js)
    solve_one(js.packed, 0, 0, m, js.drift_values, js.drift_inverse, js)
    find_flying(js, tables)
    for i in range(tree.nodes.shape[0]):
        node = tree.nodes[i]
        for k in range(node.first, node.last if load(js.pace, i) != 0.0 else node.first):
            store(led, k, load(js.packed, js.packed_at[k]) + h * load(js.slopes, k))
    for i in range(js.links.shape[0]):
        if load(js.pace, js.links[i].node) != 0.0 and js.links[i].row < reduced.system.settings[0].rigid:
            tables.stepping.lead[js.links[i].row] = h
    for k in range(m):
        store(z, first + k, load(z, first + k) + load(led, k))
        store(js.before, k, load(z, first + k))
    link_velocities(js.before, tree)
    show_links(z, reduced, tree, js.links)


@njit
def unlead(h, z, reduced, js, tables):
    """Take back what `lead` has done over h (s), and book the work of the applied forces along the detour."""
    first, m, nodes = reduced.options[0].coordinates, reduced.options[0].speeds, js.tree.nodes
    if exerts(tables):
        find_flying(js, tables)
        clear(js.after)
        for i in range(nodes.shape[0]):
            for k in range(nodes[i].first, nodes[i].last if load(js.pace, i) != 0.0 else nodes[i].first):
                store(js.after, k, load(js.before, k) - load(z, first + k))
        show_velocities(js.after, reduced, js)
        find_powers(reduced)
        add_powers(h, z, reduced.system.power)
    for k in range(m):
        store(z, first + k, load(z, first + k) - load(js.led, k))


@njit
def find_flying(js, tables):
    """Write 1 for each node that is a body in flight, with all that is welded to it, and 0 for others to `pace`."""
    flying, bodies = js.pace, tables.stepping.bears.shape[0]
    for i in range(js.tree.nodes.shape[0]):
        store(flying, i, 1.0 if js.tree.nodes[i].kind == FREE else 0.0)
    for i in range(js.links.shape[0]):
        link = js.links[i]
        if link.row >= bodies or not is_free(link.row, tables):
            store(flying, link.node, 0.0)


@njit
def do_on_way(task, h, y, out, reduced, js, tables):
    """What continuous collision detection asks for: see `tables`."""
    if task == WALK:
        walk(h, y, reduced, js)
    elif task == LEAD:
        lead(h, y, reduced, js, tables)
    elif task == UNLEAD:
        unlead(h, y, reduced, js, tables)
    elif task == TURN:
        if js.given.shape[0] > 0:
            call_rides(KICKED, h, y, y, tables, reduced, js)
        turn_speeds(h, y, reduced, js)
        js.turned[0] = 1 + js.corrected[0]
    elif task == BODY_SPEEDS:
        unpack(y, js.after, js)
        link_velocities(js.after, js.tree)
        for i in range(js.links.shape[0]):
            link = js.links[i]
            if link.row < reduced.system.settings[0].rigid:
                own = js.tree.motion[link.node]
                v, omega = velocity_of(link, own)
                put_three(out, MOTION * link.row + LINEAR, v)
                put_three(out, MOTION * link.row + ANGULAR, omega)
        link_velocities(js.before, js.tree)
    elif task == POWER:
        first = reduced.options[0].coordinates
        show_velocities(y[first : first + reduced.options[0].speeds], reduced, js)
        out[0] = 0.0
        for i in range(reduced.system.settings[0].rigid):
            if load(tables.stepping.lead, i) != 0.0:
                continue
            kin = reduced.system.kinematics[i]
            out[0] += dot(load3(kin.force), load3(kin.v)) + dot(load3(kin.torque), load3(kin.omega))
    elif task == END_WAY_IMPACT:
        if js.given.shape[0] > 0:
            call_rides(END_IMPACT, h, y, y, tables, reduced, js)
    else:
        js.turned[0] = 0
        if js.given.shape[0] > 0 and tables.stepping.options[0].fast != 0:
            call_rides(BEGIN_DRIFT, h, y, y, tables, reduced, js)
        for i in range(js.roots.shape[0]):
            store3(js.roots[i].impulse, ZERO)
            store3(js.roots[i].moment, ZERO)


# The C function -----------------------------------------------------------------------------------------------------------

_floats = viewer(np.float64)


@njit
def task_of_step(task, h, y, out, tables, reduced, js):
    """Do a task of the coordinates, or of `limits`, for a step over h (s); returns a status, or 1 or 0 where `tables` says
    so."""
    implicit, status = reduced.system.settings[0], OK
    implicit.implicit = 1
    if task == PLACE:
        js.turned[0] = 0
        status = place(start_of_part(tables.stepping), h, False, y, reduced, js, tables)
    elif task == PLACE_ON_WAY:
        status = place(time_on_way(h, js, tables), 0.0, True, y, reduced, js, tables)
    elif task == MOVES_LITTLE:
        status = 1 if moves_little(h, y, js) else 0
    elif task in (WALK, TURN, BODY_SPEEDS, POWER, LEAD, UNLEAD, BEGIN_WAY, END_WAY_IMPACT):
        do_on_way(task, h, y, out, reduced, js, tables)
    elif task == FILL_ROWS:
        fill_rows(h, y, reduced, js, tables)
    elif task == FREE_SPEEDS:
        find_free_speeds(h, reduced, js, tables)
        pack(js.after, tables.stepping.motion, js)
        if js.given.shape[0] > 0:
            call_rides(FILL, 1.0, y, tables.stepping.motion, tables, reduced, js)
    elif task == MEAN_FORCES:
        status = exert_at_mean(h, y, reduced, js, tables)
    elif task == GIVEN_OF_ISLAND:
        call_rides(GIVEN_RATES, h, y, out, tables, reduced, js)
    elif task == RATES:
        for i in range(tables.collision.counts[CONTACTS]):
            u = contact_velocity(i, y, js.rows)
            for k in range(3):
                store(out, 3 * i + k, u[k])
    elif task == BOOK:
        book(h, y, reduced, js, tables)
    elif task == SET_STOPS:
        set_stops(h, tables.stepping.bounds, tables.system.forces)
    elif task == UPDATE_SATURATION:
        status = 1 if change_sides(int(h), reduced, js, tables) else 0
    elif task == REFACTOR:
        status = prepare_speeds(h, reduced, js, tables)
        if status == OK:
            fill_responses(h, reduced, js, tables)
    elif task == DESCRIBE_ISLAND:
        status = OK if describe_trees(int(h), js.problem, reduced, js, tables) else 1
    elif task == CORRECT_STOPS:
        out[0] = 1.0 if correct_stops(reduced, js, tables) else 0.0
    implicit.implicit = 0
    if task == FINISH:
        status = finish(h, y, reduced, js, tables)
    elif task == STOP_ISLAND:
        status = stop_island(int(h), y, reduced, js, tables)
    return status


@njit
def task_of_island(task, number, out, tables, reduced, js):
    """Do a task of one island, which threads may share; its value is out[number]."""
    island = tables.collision.islands[number]
    if task == SWEEP_ROWS:
        out[number] = sweep_rows(island, reduced, js, tables)
    elif task == RESIDUAL_OF_ROWS:
        out[number] = residual_of_rows(island, reduced, js, tables)
    elif task == SWEEP_POSITIONS_OF_ROWS:
        out[number] = sweep_positions_of_rows(island, js.rows, tables)
    elif task == WARM_START_ROWS:
        warm_start_rows(island, reduced, js, tables)
    return OK


@njit
def joint_space_task(task, h, y, out, tables, reduced, js):
    """Do one of the tasks that `tables` lists; returns a status."""
    if task in (SWEEP_ROWS, RESIDUAL_OF_ROWS, SWEEP_POSITIONS_OF_ROWS, WARM_START_ROWS):
        return task_of_island(task, int(h), out, tables, reduced, js)
    return task_of_step(task, h, y, out, tables, reduced, js)


def joint_space_entry(data, task, h, y, n, out, m):
    tables = table_at(ContactTables, data)
    reduced, js = table_at(Reduced, tables.callbacks[0].reduced), table_at(JointSpace, tables.callbacks[0].joint_space)
    return joint_space_task(task, h, _floats(y, n), _floats(out, m), tables, reduced, js)


JOINT_SPACE_ENTRY = CFunction(joint_space_entry, C_SIGNATURE)


# Of what moves by command: see `joint_space_commands`.
def rides_entry(data, task, h, z, n, out, m):
    tables = table_at(ContactTables, data)
    reduced, js = table_at(Reduced, tables.callbacks[0].reduced), table_at(JointSpace, tables.callbacks[0].joint_space)
    return ride_task(task, h, _floats(z, n), _floats(out, m), tables, reduced, js)


RIDES_ENTRY = CFunction(rides_entry, C_SIGNATURE)
