"""Prescribed motions in a step of contact in joint coordinates: their velocities, and the work of their drives.

With w the speeds of the trees and g the velocities of kinematic bodies, a link has the velocity S w + R g: R is nonzero
for links that are connected to such a body. Over the half drifts g is constant, g⁻ and then g⁺ (see
`dynamics.commands`). At the middle it changes, so that with 𝓜 the masses of the links

    M (w⁺ − w⁻) = h F + Jᵀ p + Gᵀ λ − N (g⁺ − g⁻),   N = Sᵀ 𝓜 R,
    G ½ (w⁻ + w⁺) + ½ (G_g g⁻ + G_g g⁺) + ∂C/∂t = 0.

A tree that stands on a kinematic body *rides* on it. Its drive gives it the impulse D and the angular impulse T about
the centre x of that body: the change of its momenta, less the impulses of everything else. In the kick their work is
D·v̄ + T·ω̄, with the means of the velocities before and after it; in a half drift

    v·ΔP + ω·(ΔL_x + v × Δ(Σ m c)),   c the centres of mass of the links.

A state between steps has the velocities of the motion, g(t), which differ from g⁺ by O(h²). This difference of kinetic
energy counts as work of the drive, and is subtracted when the next step begins. So it is at an impact on the way, which
happens at the velocities of the motion there.

In order: the tables; given velocities; work of drives; impacts on the way; loops; the tasks, which only scenes with
motions compile.
"""

import numpy as np

from ..collide.tables import CONTACTS
from ..core.c_function import call_pointer
from ..core.jit import DISABLED, inlined, njit
from ..core.math3 import add, cross, dot, load3, scale, store3, sub, symvec
from ..core.simd import load, store
from ..core.status import OK
from ..core.tables import own_address
from ..dynamics.commands import (
    BEGIN_INSTANT,
    MOTIONS,
    book_surface,
    call_commands,
    set_both,
    settle_row,
    surface_velocity,
)
from ..dynamics.constraints import jacobian_velocity
from ..dynamics.joint_space.dynamics import link_velocities
from ..dynamics.joint_space.kinematics import ZERO, update_links
from ..dynamics.joint_space.state import forward_kinematics, forward_velocities, place_commanded
from ..dynamics.kinematics import load6
from ..linalg.block_ldl import add_at
from ..model.tables import LEDGER
from .gauss_seidel import axes_of, world_impulse
from .island_problem import BOUNDS, PROBLEM_CONTACTS
from .joint_space_books import measure_trees
from .step import begin_commands
from .tables import end_of_part, start_of_part

# Tables -----------------------------------------------------------------------------------------------------------------

GIVEN_SPEEDS = 12  # of a kinematic body, behind the packed speeds: v, ω; then the same of its surface
# A kinematic body: its row of COMMAND, its node, where its given speeds are in the packed vector, and its velocities before
# and after the impulses of the step that an impact on the way interrupts.
GIVEN = np.dtype(
    [("command", "i8"), ("node", "i8"), ("first", "i8"), ("before_v", "f8", 3), ("before_omega", "f8", 3),
     ("after_v", "f8", 3), ("after_omega", "f8", 3)],
    align=True,
)  # fmt: skip
# A tree that rides, or a kinematic body itself (without mass): its root, the row of COMMAND and the node of what it rides on,
# its momentum, its angular momentum about the centre of that body, and Σ m c, at the last stage; and the impulses of its ROOT
# by then.
RIDE = np.dtype(
    [("root", "i8"), ("command", "i8"), ("node", "i8"), ("momentum", "f8", 3), ("turning", "f8", 3), ("center", "f8", 3),
     ("impulse", "f8", 3), ("moment", "f8", 3)],
    align=True,
)  # fmt: skip
STILL = -1.0  # for `share`: no given velocity at all
MEAN = 0.5

# Tasks: of a step over h (s), h = 0: impulses alone act
BEGIN, DRIFTED, AIM_LOOPS, PUSH, SHOW, FILL, LOOP_WORK, SETTLE, KICKED, END, GIVEN_RATES = range(11)
# On the way, at the time h: place all links; begin and end an impact. BEGIN_DRIFT: before the first half of a step
SHOW_ON_WAY, BEGIN_IMPACT, END_IMPACT, BEGIN_DRIFT = range(11, 15)


# Given velocities -------------------------------------------------------------------------------------------------------


@inlined
def given_velocity(share, row):
    """(v, ω) of a kinematic body: (1 − share) of those before the impulses and `share` of those after."""
    if share == STILL:
        return ZERO, ZERO
    v = add(scale(1.0 - share, load3(row.before_v)), scale(share, load3(row.after_v)))
    return v, add(scale(1.0 - share, load3(row.before_omega)), scale(share, load3(row.after_omega)))


@njit
def show_given(share, z, reduced, js):
    """The same into the tree, with the velocities of all links at the speeds in z, and the kinematics table."""
    commands, given, motion, options = reduced.system.commands, js.given, reduced.tree.motion, reduced.options[0]
    for i in range(given.shape[0]):
        own, (v, omega) = motion[given[i].node], given_velocity(share, commands[given[i].command])
        store3(own.v, v)
        store3(own.omega, omega)
        store3(own.bias, ZERO)
        store3(own.bias_turn, ZERO)
    forward_velocities(z[options.coordinates : options.coordinates + options.speeds], reduced)


@njit
def fill_given(share, packed, system, js):
    """The same behind the packed speeds, without and with the velocity of the surface."""
    commands, given = system.commands, js.given
    for i in range(given.shape[0]):
        at, row = given[i].first, commands[given[i].command]
        v, omega = given_velocity(share, row)
        slide, spin = surface_velocity(row)
        slide, spin = add(v, slide), add(omega, spin)
        for k in range(3):
            store(packed, at + k, v[k])
            store(packed, at + 3 + k, omega[k])
            store(packed, at + 6 + k, slide[k] if share != STILL else 0.0)
            store(packed, at + 9 + k, spin[k] if share != STILL else 0.0)


@njit
def push_by_motion(reduced, js):
    """Take 𝓜 R (g⁺ − g⁻) from the impulses on the links, in `bearing`."""
    nodes, motion, commands = reduced.tree.nodes, reduced.tree.motion, reduced.system.commands
    for i in range(nodes.shape[0]):
        command = js.roots[js.root_of[i]].command
        if command < 0:
            continue
        row, own = commands[command], motion[i]
        carrier = reduced.node_of_row[row.body]
        change, turn = (
            sub(load3(row.after_v), load3(row.before_v)),
            sub(load3(row.after_omega), load3(row.before_omega)),
        )
        v = add(change, cross(turn, sub(load3(own.x), load3(motion[carrier].x))))
        store3(own.bearing, sub(load3(own.bearing), scale(nodes[i].mass, v)))
        store3(own.bearing_torque, sub(load3(own.bearing_torque), symvec(load6(own.inertia), turn)))


@njit
def given_rates(velocities, js):
    """The part of J w and B w of an island that comes from what moves by command, into its problem."""
    problem, rows = js.problem, js.rows
    path, first = rows.longest[0], js.freedom_at.shape[0]
    for k in range(problem.counts[PROBLEM_CONTACTS]):
        i, u = problem.contacts[k].number, (0.0, 0.0, 0.0)
        for side in range(2 * i, 2 * i + 2):
            own, at = rows.sides[side], 3 * path * side
            for j in range(own.length):
                index, e = rows.indices[own.path + j], at + 3 * j
                if index >= first:
                    speed = load(velocities, index)
                    n, t, s = load(rows.jacobian, e), load(rows.jacobian, e + 1), load(rows.jacobian, e + 2)
                    u = (u[0] + n * speed, u[1] + t * speed, u[2] + s * speed)
        for c in range(3):
            store(problem.given, 3 * k + c, u[c])
    for k in range(problem.counts[BOUNDS]):
        i, rate = problem.bounds[k].number, 0.0
        for side in range(2 * i, 2 * i + 2):
            own, at = rows.bound_sides[side], path * side
            for j in range(own.length):
                index = rows.indices[own.path + j]
                if index >= first:
                    rate += load(rows.bound_jacobian, at + j) * load(velocities, index)
        store(problem.given_bounds, k, rate)


# Work of drives ---------------------------------------------------------------------------------------------------------


@inlined
def add_work(work, row, z, system):
    """Add to the work of a drive in the ledger."""
    add_at(z, z.shape[0] - len(LEDGER) - system.settings[0].ledger + row.entry, work)


@njit
def book_energy(sign, z, reduced, js):
    """Add the kinetic energy of what rides, times a sign, to the work of its drive."""
    nodes, motion, commands = reduced.tree.nodes, reduced.tree.motion, reduced.system.commands
    for i in range(nodes.shape[0]):
        command = js.roots[js.root_of[i]].command
        if command >= 0:
            v, omega = load3(motion[i].v), load3(motion[i].omega)
            energy = 0.5 * nodes[i].mass * dot(v, v) + 0.5 * dot(omega, symvec(load6(motion[i].inertia), omega))
            add_work(sign * energy, commands[command], z, reduced.system)


@njit
def note_rides(share, book, z, reduced, js):
    """The momenta of what rides, where it is. If `book`, the work of its drive since the last stage, at the given velocities
    of a share."""
    commands, motion, rides = reduced.system.commands, reduced.tree.motion, js.rides
    measure_trees(reduced, js)
    for r in range(rides.shape[0]):
        ride, row, root = rides[r], commands[rides[r].command], js.roots[rides[r].root]
        x, momentum = load3(motion[ride.node].x), load3(root.momentum_now)
        turning = sub(load3(root.turning_now), cross(x, momentum))
        center = add(scale(root.mass, load3(motion[root.node].x)), load3(root.first))
        if book:
            v, omega = given_velocity(share, row)
            given, moment = sub(load3(root.impulse), load3(ride.impulse)), sub(load3(root.moment), load3(ride.moment))
            impulse = sub(sub(momentum, load3(ride.momentum)), given)
            turn = sub(sub(turning, load3(ride.turning)), sub(moment, cross(x, given)))
            turn = add(turn, cross(v, sub(center, load3(ride.center))))
            add_work(dot(v, impulse) + dot(omega, turn), row, z, reduced.system)
        store3(ride.impulse, load3(root.impulse))
        store3(ride.moment, load3(root.moment))
        store3(ride.momentum, momentum)
        store3(ride.turning, turning)
        store3(ride.center, center)


@njit
def begin(t, h, z, reduced, js, tables):
    """Find the given velocities of a step over h from t, and place kinematic bodies in its middle; h = 0: at t. Books begin
    with the velocities before the impulses. Returns a status."""
    system, options = reduced.system, reduced.options[0]
    u, w = z[: options.coordinates], z[options.coordinates : options.coordinates + options.speeds]
    if h == 0.0:
        status = call_commands(BEGIN_INSTANT, t, reduced.y, reduced.y, system)
    else:
        status = begin_commands(t, h, reduced.y, reduced.dydt, tables)
    if status == OK:
        status = place_commanded(t, reduced)
    if status != OK or js.given.shape[0] == 0:
        return status
    update_links(u, w, reduced.tree)
    book_energy(-1.0, z, reduced, js)
    show_given(0.0, z, reduced, js)
    book_energy(1.0, z, reduced, js)
    note_rides(0.0, False, z, reduced, js)
    if h > 0.0:
        status = place_commanded(t + 0.5 * h, reduced)
        show_given(0.0, z, reduced, js)
    return status


@njit
def end(t, h, z, reduced, js):
    """Place kinematic bodies at the end t of a step, and book the work of the second half drift. Returns a status."""
    if js.given.shape[0] == 0 or h == 0.0:
        return OK
    options = reduced.options[0]
    u, w = z[: options.coordinates], z[options.coordinates : options.coordinates + options.speeds]
    status = place_commanded(t, reduced)
    if status != OK:
        return status
    update_links(u, w, reduced.tree)
    show_given(1.0, z, reduced, js)
    note_rides(1.0, True, z, reduced, js)
    book_energy(-1.0, z, reduced, js)
    status = place_commanded(t, reduced)
    link_velocities(w, reduced.tree)
    book_energy(1.0, z, reduced, js)
    return status


# Impacts on the way -----------------------------------------------------------------------------------------------------


@njit
def begin_drift(t, reduced):
    """The velocities of the motion at the time t at which a step begins become those before its impulses. Returns a
    status."""
    commands, status = reduced.system.commands, call_commands(MOTIONS, t, reduced.y, reduced.y, reduced.system)
    for i in range(commands.shape[0]):
        if commands[i].body >= 0:
            store3(commands[i].before_v, load3(commands[i].v))
            store3(commands[i].before_omega, load3(commands[i].omega))
    return status


@njit
def show_on_way(t, z, reduced):
    """Place all links at a time t within a half step, where the trees are. Returns a status."""
    status = place_commanded(t, reduced)
    forward_kinematics(z, reduced)
    return status


@inlined
def copy_step_velocities(source, target):
    """Copy the velocities before and after the impulses of a step between a row of COMMAND and one of GIVEN."""
    store3(target.before_v, load3(source.before_v))
    store3(target.before_omega, load3(source.before_omega))
    store3(target.after_v, load3(source.after_v))
    store3(target.after_omega, load3(source.after_omega))


@njit
def begin_impact(t, second, z, reduced, js):
    """Before an impact at the time t, in the `second` or first half of a step: kinematic bodies take the velocities of the
    motion, and the drives have done their work until then. Returns a status."""
    commands, given, share = reduced.system.commands, js.given, 1.0 if second else 0.0
    status = show_on_way(t, z, reduced)
    show_given(share, z, reduced, js)
    note_rides(share, second, z, reduced, js)
    book_energy(-1.0, z, reduced, js)
    for i in range(given.shape[0]):
        row = commands[given[i].command]
        copy_step_velocities(row, given[i])
        set_both(row, load3(row.v), load3(row.omega))
    show_given(MEAN, z, reduced, js)
    book_energy(1.0, z, reduced, js)
    note_rides(MEAN, False, z, reduced, js)
    return status


@njit
def end_impact(second, z, reduced, js):
    """After it: the work of the drives in it, and the velocities of the step again."""
    commands, given, share = reduced.system.commands, js.given, 1.0 if second else 0.0
    show_given(MEAN, z, reduced, js)
    note_rides(MEAN, True, z, reduced, js)
    book_energy(-1.0, z, reduced, js)
    for i in range(given.shape[0]):
        copy_step_velocities(given[i], commands[given[i].command])
    show_given(share, z, reduced, js)
    book_energy(1.0, z, reduced, js)
    note_rides(share, False, z, reduced, js)


@njit
def settle(h, z, reduced, js, tables):
    """The work of prescribed coordinates and of moving surfaces in a step."""
    system, stepping = reduced.system, tables.stepping
    commands, multipliers, contacts = system.commands, system.multipliers, tables.collision.contacts
    shift = z.shape[0] - reduced.dydt.shape[0]
    for i in range(commands.shape[0]):
        row = commands[i]
        entry = z.shape[0] - len(LEDGER) - system.settings[0].ledger + row.entry
        if h > 0.0:  # what the step took from the derivative is none
            store(z, entry, load(z, entry) - h * load(reduced.dydt, entry - shift))
        if row.body < 0:
            settle_row(row, z, multipliers, system)
    for r in range(multipliers.shape[0]):
        store(stepping.joint_impulses, r, load(multipliers, r))
    for i in range(tables.collision.counts[CONTACTS]):
        p = load3(contacts[i].impulse)
        if p[0] == 0.0:
            continue
        n, t, s = axes_of(contacts[i])
        impulse = world_impulse(n, t, s, p[0], p[1], p[2])
        opposite = scale(-1.0, impulse)
        book_surface(contacts[i].b, impulse, cross(load3(contacts[i].arm_b), impulse), z, system)
        book_surface(contacts[i].a, opposite, cross(load3(contacts[i].arm_a), opposite), z, system)


# Loops ------------------------------------------------------------------------------------------------------------------


@njit
def aim_loops(z, reduced, js):
    """`loop_rates`, half of what G w changes by, with the opposite sign, and `loop_targets`, G w⁺."""
    system, rates, targets = reduced.system, js.loop_rates, js.loop_targets
    if rates.shape[0] == 0:
        return
    show_given(STILL, z, reduced, js)
    jacobian_velocity(system, targets)
    show_given(MEAN, z, reduced, js)
    jacobian_velocity(system, rates)
    for r in range(rates.shape[0]):
        store(targets, r, load(targets, r) - load(system.partial, r) - 2.0 * load(rates, r))


@njit
def loop_work(reduced, js):
    """λ·(½ G_g (g⁻ + g⁺) + ∂C/∂t), where `bearing` has the sums of the wrenches of the loops."""
    system, motion, given, work = reduced.system, reduced.tree.motion, js.given, 0.0
    for i in range(given.shape[0]):
        own, (v, omega) = motion[given[i].node], given_velocity(MEAN, system.commands[given[i].command])
        work += dot(load3(own.bearing), v) + dot(load3(own.bearing_torque), omega)
    for i in range(system.commands.shape[0]):
        row = system.commands[i]
        if row.body < 0 and row.row >= 0:
            work += load(system.multipliers, row.row) * load(system.partial, row.row)
    return work


# The tasks --------------------------------------------------------------------------------------------------------------


@njit
def ride_task(task, h, z, out, tables, reduced, js):
    """Do one of the tasks; returns a status. SHOW and FILL: h is a share; GIVEN_RATES: the number of an island; SHOW_ON_WAY
    and BEGIN_IMPACT: a time. Else z is the state."""
    stepping = tables.stepping
    now = start_of_part(stepping)
    if task == BEGIN:
        return begin(now, h, z, reduced, js, tables)
    if task == END:
        return end(end_of_part(stepping), h, z, reduced, js)
    if task == DRIFTED:
        note_rides(0.0, True, z, reduced, js)
        show_given(MEAN, z, reduced, js)
    elif task == AIM_LOOPS:
        aim_loops(z, reduced, js)
    elif task == PUSH:
        push_by_motion(reduced, js)
    elif task == SHOW:
        show_given(h, z, reduced, js)
    elif task == FILL:
        fill_given(h, out, reduced.system, js)
    elif task == LOOP_WORK:
        out[0] = loop_work(reduced, js)
    elif task == SETTLE:
        settle(h, z, reduced, js, tables)
    elif task == KICKED:
        show_given(1.0, z, reduced, js)
        note_rides(MEAN, True, z, reduced, js)
    elif task == GIVEN_RATES:
        given_rates(z, js)
    elif task == SHOW_ON_WAY:
        return show_on_way(h, z, reduced)
    elif task == BEGIN_IMPACT:
        return begin_impact(h, js.turned[0] != 0, z, reduced, js)
    elif task == END_IMPACT:
        end_impact(js.turned[0] != 0, z, reduced, js)
    elif task == BEGIN_DRIFT:
        return begin_drift(now, reduced)
    return OK


if DISABLED:

    def call_rides(task, h, z, out, tables, reduced, js):
        """Do one of the tasks. Returns a status."""
        return ride_task(task, h, z, out, tables, reduced, js)

else:

    @njit
    def call_rides(task, h, z, out, tables, reduced, js):
        """Do one of the tasks. Returns a status."""
        return call_pointer(tables.callbacks[0].rides, own_address(tables), task, h, z, out)
