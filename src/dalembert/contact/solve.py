"""The impulses of a step, by the solver that the user chose (see `solvers`). Gauss–Seidel is here.

Islands are independent problems, which threads may share. A sweep over an island goes contact by contact, bound by
bound, and then over all joints at once. Every few sweeps shock propagation carries the load of stacks down, as long as
it helps; if it does not, it is not tried again for some steps. An island that one sweep solved in the last step is
likely to be at rest, and gets a sweep before anything else. Islands that sweeps leave above the target go to the
converging solver, unless the user set a number of sweeps. Such islands at rest go there directly, because their
impulses change little.

In order: the impulses of a step, the converging solver and the aim, Gauss–Seidel, and jobs of threads.
"""

import math

from ..collide.tables import CONTACTS, ISLANDS, NEED_ROOM
from ..core.jit import inlined, njit
from ..core.math3 import dot, load3, norm
from ..core.simd import clear, copy
from ..core.status import OK
from .curved_paths import drop_bends
from .gauss_seidel import restore_search, save_search, search_line, warm_start
from .joints import solve_joints
from .large_islands import (
    FACTORED,
    allows_single,
    cycles_until_look,
    has_stalled,
    leave_single,
    mark_touched,
    round_island,
    round_or_restore,
    sweep_locally,
    unmark_bodies,
)
from .parallel import (
    CARRY,
    CARRY_SINGLE,
    CORRECT_ISLANDS,
    CORRECT_ISLANDS_IN_TURN,
    CYCLE,
    LOAD,
    PREPARE_RESPONSES,
    RESIDUAL,
    ROUND_BODIES,
    SINGLE_SWEEP_ON,
    SOLVE_ISLANDS,
    SOLVE_ISLANDS_IN_TURN,
    STORE,
    SUPPORT_DOWN,
    SUPPORT_UP,
    SWEEP,
    carry_bodies,
    carry_on,
    has_momentum,
    is_alone,
    is_wide,
    momentum_after,
    move_impulses,
    over_colours,
    over_colours_of_groups,
    over_contacts,
    over_islands,
    over_members,
    return_to_start,
    run_contact_job,
    save_start,
    start_island,
)
from .position_correction import correct_island
from .shock_propagation import DID_NOT_HELP, EVERY, HELPED, list_contacts, propagate_shocks, solve_supports
from .tables import (
    AIM_SURFACES,
    APPLY_WARM_START,
    FINISH_ISLAND,
    FINISH_PATCH,
    LIMITS_RESIDUAL,
    LINEAR,
    MANY,
    MOTION,
    SOLVE_IMPULSES,
    SWEEP_LIMITS,
    WARM_START_ROWS,
    WARM_START_SURFACES,
    call_finisher,
    call_limits,
    call_rows,
    call_solver,
    call_surfaces,
    call_surfaces_of,
    in_joint_space,
    limits_value,
    three,
)

WAIT = 16  # steps without shock propagation after it did not help
# An island that may be at rest gets so many sweeps first, as long as they change velocities by so many times the aim at most
RESTING_SWEEPS, NEARLY = 8, 10.0


@njit
def solve_impulses(tables):
    """The impulses p of contacts, bounds and joints of a step, and the velocities v + W Jᵀ p.

    Reads the rows and the warm start; writes `motion`, the impulses, and what the report says of the solver. Returns a
    status."""
    collision, stepping = tables.collision, tables.stepping
    count = collision.counts[CONTACTS]
    report = stepping.report[0]
    report.contacts, report.residual, report.aim = count, 0.0, 0.0
    clear(stepping.joint_impulses)
    clear(stepping.aims)
    if count == 0 and stepping.bounds.shape[0] == 0:
        if tables.system.joints.shape[0] == 0 or in_joint_space(tables):
            return OK
        return solve_joints(tables)
    call_surfaces(AIM_SURFACES, 0.0, stepping.motion, tables)
    copy(stepping.free_motion, stepping.motion)
    if tables.callbacks[0].solver != 0:
        return solve_by_callback(tables)
    report.status = OK
    over_islands(SOLVE_ISLANDS, SOLVE_ISLANDS_IN_TURN, tables)
    if report.status == OK and stepping.options[0].finishes != 0:
        report.status = finish_islands(tables)
    if not in_joint_space(tables):
        note_aims(tables)
    report.iterations, report.aim, worst = 0, stepping.options[0].tolerance, 0.0
    islands = collision.islands
    for i in range(collision.counts[ISLANDS]):
        island = islands[i]
        report.iterations = max(report.iterations, island.iterations)
        if island.residual / island.aim > worst:
            worst, report.residual, report.aim = island.residual / island.aim, island.residual, island.aim
    return report.status


@njit
def solve_by_callback(tables):
    """The same, by the solver that the user chose. Returns a status."""
    status, dropped = call_solver(SOLVE_IMPULSES, tables), False
    for i in range(tables.collision.counts[ISLANDS] if status == OK else 0):
        dropped = drop_bends(tables.collision.islands[i], tables) or dropped
    if dropped:
        copy(tables.stepping.motion, tables.stepping.free_motion)
        status = call_solver(SOLVE_IMPULSES, tables)
    return status


# The converging solver --------------------------------------------------------------------------------------------------

MOST_PATCHES, MOST_FAILURES = 12, 3
SWEEPS_BETWEEN = 100  # where it fails on an island, it begins again after so many sweeps


@njit
def finish_islands(tables):
    """Solve each island that sweeps left unsolved by the converging solver. Returns a status: NEED_ROOM where that is not at
    hand yet."""
    collision, callbacks = tables.collision, tables.callbacks[0]
    for i in range(collision.counts[ISLANDS]):
        island = collision.islands[i]
        relax_aim(island, tables)
        patches = has_patches(island, tables)
        if island.residual <= island.aim or (island.end - island.first > FACTORED and not patches):
            continue
        if callbacks.finisher == 0:
            tables.stepping.report[0].wants_finisher = 1
            return NEED_ROOM
        status = finish_patches(i, tables) if patches else OK
        if status == OK and island.residual > island.aim and island.end - island.first <= FACTORED:
            status = finish(i, tables)
            if status == OK and patches and island.residual > island.aim:
                status = finish_patches(i, tables)
        if status != OK:
            return status
        relax_aim(island, tables)
    return OK


@inlined
def is_plain(island, tables):
    """Whether an island has contacts of bodies by Coulomb's law, and nothing else."""
    return island.surfaces == 0 and island.jointed == 0 and not in_joint_space(tables)


@inlined
def has_patches(island, tables):
    """Whether what sweeps leave unsolved of an island may be solved by itself: in a large one that moves."""
    return is_plain(island, tables) and island.aim > tables.stepping.options[0].tolerance


@njit
def finish_patches(number, tables):
    """Solve what sweeps left unsolved of an island, place by place, by the converging solver; if that ends worse than it
    began, nothing changes. Returns a status."""
    island, failed, status = tables.collision.islands[number], 0, OK
    first = island.residual
    if is_wide(island, tables.collision):
        over_contacts(PREPARE_RESPONSES, island, tables)
    list_contacts(island, tables)
    unmark_bodies(island, tables)
    save_search(1.0, island, tables)
    for _ in range(MOST_PATCHES):
        if status != OK or island.residual <= island.aim or failed > MOST_FAILURES:
            break
        before = island.residual
        status = call_finisher(FINISH_PATCH, number, tables)
        if island.residual == before:  # the patch is not solved: it grows, or there is none
            failed += 1
            if not mark_touched(island, tables):
                break
    return_to_better(first, island, tables)
    return status


@njit
def return_to_better(residual, island, tables):
    """Return to the velocities and impulses at `save_search`, where an island had this residual, if it has a larger one."""
    if island.residual > residual:
        restore_search(0.0, island, tables)
        island.residual = residual


@njit
def finish(number, tables):
    """Solve an island by the converging solver, from where sweeps left it, and from more sweeps if it fails. Returns a
    status."""
    island = tables.collision.islands[number]
    set_passes(FINISHED, island, tables)
    status = call_finisher(FINISH_ISLAND, number, tables)
    if status != OK or island.residual <= island.aim:
        return status
    first, plain = island.residual, is_plain(island, tables)
    if plain:
        save_search(1.0, island, tables)
    move_impulses(LOAD, island, tables)
    status = sweep(island, SWEEPS_BETWEEN, False, False, tables)
    if status == OK:
        status = call_finisher(FINISH_ISLAND, number, tables)
    if plain:
        return_to_better(first, island, tables)
    return status


# What a step is to reach. An island that is small, or at rest, is solved to the tolerance. In a large one that moves, the
# residual is to be a small part of its speed; less than a small part of what its weight adds in a step is not needed. A large
# island is at rest only if each of its bodies is, before the step and after it. One that rocks, rolls or begins to slide on a
# pile changes the forces in all of it, and neither sweeps nor the converging solver follow that to the tolerance in each
# step. While an island is slow, or too large for a factorization, sweeps go on below their aim, so that the impulses come
# closer to the solution from step to step.
RELATIVE, OF_WEIGHT = 1e-3, 0.01
# Of what the weight adds to the speed in a step: the speed of an island (rms), and that of its fastest body
SLOW, STILL = 0.1, 0.01
MANY_SWEEPS = 32 * CYCLE  # most sweeps over a large island
SWEEPS_BELOW_AIM = 32  # over a slow one, where no factorization follows


@inlined
def aim_of_many(speed, weight, tolerance):
    """The residual (m/s) that a large island is to reach, from the root mean square of its speeds and what its weight adds to
    them in a step, both in m/s."""
    return max(tolerance, RELATIVE * speed, OF_WEIGHT * weight)


@njit
def set_aim(island, tables):
    """Whether an island is slow, and the residual that it is to reach, m/s."""
    options = tables.stepping.options[0]
    island.aim, island.slow = options.tolerance, 0
    if options.finishes == 0:
        return
    speed, fastest, weight = pace_of(island, False, tables.stepping.motion, tables)
    island.slow = 1 if speed <= SLOW * weight else 0
    many = island.end - island.first
    if many > FACTORED or (many > MANY and fastest > STILL * weight):
        island.aim = aim_of_many(speed, weight, options.tolerance)


@njit
def note_aims(tables):
    """Note the aim of each large island in motion for those of its bodies that bear force: see `fast` and `nearby`."""
    collision, aims = tables.collision, tables.stepping.aims
    for k in range(collision.counts[ISLANDS]):
        island = collision.islands[k]
        if island.aim <= tables.stepping.options[0].tolerance:
            continue
        for i in range(island.first, island.end):
            contact = collision.contacts[i]
            if contact.impulse[0] > 0.0:
                for body in (contact.a, contact.b):
                    if body < aims.shape[0]:
                        aims[body] = island.aim


@njit
def relax_aim(island, tables):
    """The aim of an island that was at rest, and of which a body begins to move in this step, becomes that of one in motion.
    Reads `motion` with the impulses."""
    options = tables.stepping.options[0]
    if island.residual <= island.aim or island.aim > options.tolerance or island.end - island.first <= MANY:
        return
    if in_joint_space(tables):  # where `motion` has speeds of joints
        return
    speed, fastest, weight = pace_of(island, True, tables.stepping.motion, tables)
    if fastest > STILL * weight:
        island.aim = aim_of_many(speed, weight, options.tolerance)


@njit
def pace_of(island, given, velocities, tables):
    """(root mean square of the speeds of an island, speed of its fastest body, what its weight adds in a step), m/s: before
    the step, or where they are `given`, with packed velocities."""
    members, system = tables.collision.members, tables.system
    square, fastest, weight = 0.0, 0.0, 0.0
    for m in range(island.first_member, island.end_member):
        body = members[m]
        kin = system.kinematics[body]
        v = three(velocities, MOTION * body + LINEAR) if given else load3(kin.v)
        square += dot(v, v)
        fastest = max(fastest, dot(v, v))
        weight = max(weight, tables.stepping.options[0].dt * system.bodies[body].inverse_mass * norm(load3(kin.force)))
    return math.sqrt(square / max(island.end_member - island.first_member, 1)), math.sqrt(fastest), weight


# Gauss–Seidel -----------------------------------------------------------------------------------------------------------

FINISHED = 1 << 20  # `passes` of an island that the converging solver took on


@njit
def solve_island(number, tables):
    """Gauss–Seidel on one island, to its aim or the most sweeps: writes its impulses, `motion`, and its iterations and
    residual. Returns a status."""
    stepping, island = tables.stepping, tables.collision.islands[number]
    options, by_rows, last = stepping.options[0], in_joint_space(tables), passes_of(island, tables)
    plain = not by_rows and island.surfaces == 0
    status, most, propagates = OK, options.iterations, plain and not is_waiting(island, tables)
    island.iterations, island.residual = 0, 0.0
    set_aim(island, tables)
    island.single = 1 if allows_single(island, tables) else 0
    if island.surfaces != 0:
        status = start_with_surfaces(island, tables)
    elif by_rows:
        call_rows(WARM_START_ROWS, island, tables)
    elif island.jointed == 0:
        start_island(island, tables)
    else:
        status = start_with_joints(island, tables)
    alone = options.finishes != 0 and island.end - island.first > FACTORED  # nothing follows the sweeps
    rested = last == FINISHED and island.slow != 0 and island.aim <= options.tolerance and not alone
    carries = has_momentum(island, tables)
    if rested:  # the impulses of the last step are nearly right, or the converging solver is needed again
        most, propagates = most if carries else 1, False
    elif island.aim > options.tolerance or alone:
        most = max(most, MANY_SWEEPS)
    if status == OK:
        resting = plain and (last == 1 or (rested and not carries))
        status = sweep(island, most, propagates, resting, tables)
    set_passes(FINISHED if rested and island.residual <= island.aim else island.iterations, island, tables)
    return status


@njit
def start_with_joints(island, tables):
    """`start_island` for an island with joints: the impulses of the last step, as far as they lower D among the velocities
    that joints allow. A search without joints would take back what balances their forces. Returns a status."""
    stepping = tables.stepping
    call_limits(APPLY_WARM_START, 0.0, stepping.motion, tables)
    status = solve_joints(tables)
    if status != OK or is_wide(island, tables.collision):
        start_island(island, tables)
        return solve_joints(tables) if status == OK else status
    save_search(0.0, island, tables)
    warm_start(island.first, island.end, tables.collision.contacts, stepping.motion)
    status = solve_joints(tables)
    share = search_line(island, tables)
    total, change = stepping.joint_impulses, stepping.change
    for r in range(total.shape[0]):
        total[r] -= (1.0 - share) * change[r]
    return status


@njit
def start_with_surfaces(island, tables):
    """The same for an island with laws of surfaces. Returns a status."""
    jointed, status = island.jointed != 0 and not in_joint_space(tables), OK
    if jointed:
        call_limits(APPLY_WARM_START, 0.0, tables.stepping.motion, tables)
        status = solve_joints(tables)
    call_surfaces_of(WARM_START_SURFACES, island, tables)
    return solve_joints(tables) if jointed and status == OK else status


@njit
def sweep(island, most, propagates, resting, tables):
    """So many sweeps over an island, or fewer to its aim; with shock propagation if it `propagates`, which an island that may
    be `resting` gets after its first sweeps have failed. Returns a status."""
    end, tolerance = island.iterations + most, tables.stepping.options[0].tolerance
    enough = change_that_ends(island, tolerance)
    jointed, status = island.jointed != 0 and not in_joint_space(tables), OK
    may_carry, sweeps, resting_sweeps = has_momentum(island, tables), 0, 0  # with momentum; while `resting`
    at_start, rounded = island.iterations == 0, False  # whether sweeps are in single precision
    look, cycles, above = CYCLE, 1, -1  # when the unsolved contacts are looked at next; how many there were
    calm, carried = False, False  # whether cycles have the small momentum alone; whether sweeps had momentum
    if resting:
        save_start(island, tables)
    while island.iterations < end and status == OK:
        if propagates and not resting and (at_start or island.iterations % EVERY == 0):
            outcome = propagate_shocks(island, tables)
            propagates = outcome == HELPED
            if outcome == DID_NOT_HELP and at_start:
                set_waits(WAIT, island, tables)
        carried = may_carry and not propagates and not resting
        if carried:
            if sweeps == look:
                if rounded:
                    leave_single(island, tables)
                    rounded = False
                before = above
                above = sweep_locally(before, cycles, island, tables)
                calm = calm != has_stalled(before, above)
                if above == 0:
                    island.residual = over_contacts(RESIDUAL, island, tables)
                    if island.residual <= change_that_ends(island, tolerance):
                        break
                cycles = cycles_until_look(above, island)
                look = sweeps + cycles * CYCLE
            if island.single != 0 and not rounded:
                round_island(island, tables)
                rounded = True
        change = one_sweep(momentum_after(sweeps, calm) if carried else 0.0, carried, rounded, island, tables)
        sweeps += carried
        resting_sweeps += 1
        if resting and change > enough and (change > NEARLY * enough or resting_sweeps == RESTING_SWEEPS):
            return_to_start(island, tables)  # shock propagation works best before a sweep has set the stack swaying
            resting, at_start = False, True
            continue
        at_start = False
        resting = resting and change > enough
        if jointed:
            status = call_limits(SWEEP_LIMITS, 0.0, tables.stepping.motion, tables)
            change = max(change, tables.stepping.answer[0])
            if status == OK and island.end > island.first:
                status = solve_joints(tables)
        island.iterations += 1
        enough = change_that_ends(island, tolerance)
        if change <= enough or island.iterations == end:
            if rounded:
                leave_single(island, tables)
                rounded = False
                if island.single == 0:  # momentum begins anew
                    sweeps += CYCLE - sweeps % CYCLE
                    look = max(look, sweeps)
            island.residual = over_contacts(RESIDUAL, island, tables)
            if jointed:
                island.residual = max(island.residual, limits_value(LIMITS_RESIDUAL, tables))
            if island.residual <= enough:
                break
    if carried and island.residual > enough and tables.stepping.options[0].finishes != 0:
        sweep_locally(above, cycles, island, tables)
        island.residual = over_contacts(RESIDUAL, island, tables)
    move_impulses(STORE, island, tables)
    return status


@njit
def one_sweep(share, carried, rounded, island, tables):
    """One sweep over an island, `carried` on with this `share` of momentum, and in single precision where its tables are
    `rounded`. Returns the largest change of a velocity (m/s)."""
    if rounded:
        over_members(CARRY_SINGLE, share, island, tables)
        return over_colours_of_groups(SINGLE_SWEEP_ON, share, island, tables)
    if carried:
        carry_on(SWEEP, share, island, tables)
    return over_colours(SWEEP, carried, share, island, tables)


@inlined
def change_that_ends(island, tolerance):
    """The change of velocities by a sweep (m/s) after which the residual is measured, and the residual that is enough."""
    return tolerance if island.slow != 0 and island.iterations < SWEEPS_BELOW_AIM else island.aim


@njit
def is_waiting(island, tables):
    """Whether shock propagation did not help in one of the last steps; counts the steps down."""
    members, waits = tables.collision.members, tables.stepping.waits
    longest = 0
    for m in range(island.first_member, island.end_member):
        longest = max(longest, waits[members[m]])
    if longest > 0:
        set_waits(longest - 1, island, tables)
    return longest > 0


@njit
def set_waits(steps, island, tables):
    """Do without shock propagation on the bodies of an island for so many steps."""
    members, waits = tables.collision.members, tables.stepping.waits
    for m in range(island.first_member, island.end_member):
        waits[members[m]] = steps


@njit
def passes_of(island, tables):
    """The sweeps of the last step, where they were the same for all its bodies; else 0."""
    members, passes = tables.collision.members, tables.stepping.passes
    first = passes[members[island.first_member]]
    for m in range(island.first_member, island.end_member):
        if passes[members[m]] != first:
            return 0
    return first


@njit
def set_passes(sweeps, island, tables):
    """Write the sweeps of this step for each body of an island."""
    members, passes = tables.collision.members, tables.stepping.passes
    for m in range(island.first_member, island.end_member):
        passes[members[m]] = sweeps


@njit
def run_job(kind, value, begin, end, tables):
    """Items begin … end of a job that threads share (see `parallel`); returns the largest of the values of its items."""
    collision = tables.collision
    if kind < SUPPORT_UP or kind == PREPARE_RESPONSES:
        return run_contact_job(kind, begin, end, tables)
    if kind >= ROUND_BODIES:
        return round_or_restore(kind, begin, end, tables)
    if kind >= CARRY:
        carry_bodies(kind, value, begin, end, tables)
        return 0.0
    if kind < SOLVE_ISLANDS:
        solve_supports(kind == SUPPORT_DOWN, begin, end, tables)
        return 0.0
    for i in range(begin, end):
        alone = kind >= SOLVE_ISLANDS_IN_TURN
        if alone != is_alone(collision.islands[i], tables):
            continue
        if kind == CORRECT_ISLANDS or kind == CORRECT_ISLANDS_IN_TURN:  # noqa: SIM109 - compiled
            if has_momentum(collision.islands[i], tables):
                set_aim(collision.islands[i], tables)
            correct_island(i, tables)
            continue
        status, trial = OK, 0
        while status == OK and (trial == 0 or (trial == 1 and drop_bends(collision.islands[i], tables))):
            status = solve_island(i, tables)
            trial += 1
        if status != OK:
            tables.stepping.report[0].status = status
    return 0.0
