"""Work on islands that threads share: the kinds of jobs, loops over the contacts of an island, and its warm start.

Threads share the islands, and the contacts of large islands; see `core.thread_pool` for the job queue. Contacts are
shared by colour: contacts of one colour move different bodies. The result does not depend on the number of threads."""

from ..collide.islands import LARGE, LAST_COLOUR
from ..collide.tables import CONTACTS, ISLANDS, POINTS
from ..core.jit import inlined, njit
from ..core.simd import load, store
from ..core.simd_wide import load_w, minus_w, plus_w, spread_like_w, store_w, times_w
from ..core.tables import own_address
from ..core.thread_pool import CONTACT_JOBS, FUNCTIONS, THREADS, WIDE_JOBS, run_alone, run_parallel
from .gauss_seidel import (
    prepare_contacts,
    prepare_responses,
    restore_search,
    save_search,
    search_line,
    sweep_contacts,
    sweep_positions,
    warm_start,
    worst_residual,
)
from .tables import (
    MOTION,
    RESIDUAL_OF_ROWS,
    RESIDUAL_OF_SURFACES,
    SPEEDS,
    SWEEP_POSITIONS_OF_ROWS,
    SWEEP_ROWS,
    SWEEP_SURFACES,
    call_rows,
    call_surfaces_of,
    copy_velocities,
    in_joint_space,
)

RUN_STEPS = 0  # no job: see `step.step_entry`
# Jobs over contacts, over bodies in the queue of `shock_propagation`, and over islands
PREPARE, SWEEP, RESIDUAL, SWEEP_POSITIONS, SUPPORT_UP, SUPPORT_DOWN = range(1, 7)
SOLVE_ISLANDS, CORRECT_ISLANDS, SOLVE_ISLANDS_IN_TURN, CORRECT_ISLANDS_IN_TURN = range(7, 11)
SHARED = 512  # contacts of an island that threads share
# Jobs over groups of contacts: see `wide_rows`
PACK, LOAD, STORE, WARM_START, SEARCH, SCALE, WIDE_SWEEP, WIDE_RESIDUAL, WIDE_POSITIONS = range(32, 41)
WIDE_SWEEP_ON, WIDE_POSITIONS_ON = 41, 42  # with momentum, and its share
SINGLE_SWEEP_ON, ROUND, APPLY_SINGLE = range(43, 46)  # in single precision
MEASURE = 46  # the residual of each contact
PREPARE_RESPONSES = 17  # over contacts
# Jobs over bodies of islands: with the share of momentum, and for single precision (see `large_islands`)
CARRY, CARRY_SINGLE, CARRY_SHIFT, ROUND_BODIES, RESTORE_BODIES, ROUNDING = range(18, 24)
# Jobs over contacts that need no rows or solve nothing
OVERLAP, SEPARATIONS, BIASES, SAVE_IMPULSES, ADD_IMPULSES, ADD_IMPULSES_OF_ISLANDS = range(11, 17)
SUMS = 2  # numbers that SEARCH writes of a group
ALONE = (
    64  # added to the kind of a job over groups that a thread does by itself, with the address of its tables as `data`
)
OF_PARTS = (
    128  # added to the kind of a job over the groups of a part, for all its numbers of points: the items are parts
)
SHARED_GROUPS = 8  # of one colour, that threads share
CONTACTS_PER_CHUNK, BODIES_PER_CHUNK = 32, 4


@njit
def is_shared(island, collision):
    """Whether threads share the contacts of an island."""
    return collision.job_queue[THREADS] > 1 and island.end - island.first >= SHARED


@inlined
def is_wide(island, collision):
    """Whether the contacts of an island are swept in groups."""
    return island.end_group > island.first_group and collision.job_queue[FUNCTIONS + WIDE_JOBS] != 0


@njit
def over_groups(kind, island, tables):
    """A job over all groups of an island, of which none changes what another reads; returns the largest value."""
    if is_shared(island, tables.collision):  # by colour, so that each thread has the groups that it sweeps
        return over_colours_of_groups(kind, 0.0, island, tables)
    return groups_alone(kind, 0.0, island.first_group, island.end_group, tables)


@njit
def groups_alone(kind, value, begin, end, tables):
    """A job over groups begin … end on this thread; returns the largest value."""
    queue, result = tables.collision.job_queue, tables.stepping.wide_result
    return run_alone(queue, WIDE_JOBS, kind + ALONE, value, begin, end, own_address(tables), result)


@njit
def prepare_rows(tables):
    """Fill the rows of all contacts, or the groups of those that have some, from the velocities in `motion`."""
    collision = tables.collision
    islands, job_queue = collision.islands, collision.job_queue
    begin = 0
    for i in range(collision.counts[ISLANDS]):
        island = islands[i]
        if is_wide(island, collision):
            run_parallel(job_queue, CONTACT_JOBS, PREPARE, begin, island.first, CONTACTS_PER_CHUNK)
            over_groups(PACK, island, tables)
            begin = island.end
    run_parallel(job_queue, CONTACT_JOBS, PREPARE, begin, collision.counts[CONTACTS], CONTACTS_PER_CHUNK)


@njit
def move_impulses(kind, island, tables):
    """LOAD the impulses and biases of an island's contacts to its groups, or STORE the impulses of the groups."""
    if is_wide(island, tables.collision):
        over_groups(kind, island, tables)


@njit
def over_islands(kind, alone, tables):
    """Do all islands: those that use all threads or the joints in turn, as a job `alone`, and then the others as `kind`."""
    collision = tables.collision
    job_queue, islands, count = collision.job_queue, collision.islands, collision.counts[ISLANDS]
    for i in range(count):
        if is_alone(islands[i], tables):
            run_parallel(job_queue, CONTACT_JOBS, alone, i, i + 1, 1)
    run_parallel(job_queue, CONTACT_JOBS, kind, 0, count, 1)


@njit
def is_alone(island, tables):
    """Whether an island uses all threads or the joints, so that no other is solved at the same time; none does in joint
    coordinates."""
    return not in_joint_space(tables) and (island.jointed != 0 or is_shared(island, tables.collision))


@njit
def whole_pairs(at, collision):
    """The first contact of a pair of colliders from `at` on: points of one pair move the same bodies, and one thread solves
    them."""
    contacts, count = collision.contacts, collision.counts[CONTACTS]
    while at < count and contacts[at].point > 0:
        at += 1
    return at


@njit
def run_contact_job(kind, begin, end, tables):
    """A job over contacts begin … end; returns the largest of their values."""
    collision, stepping = tables.collision, tables.stepping
    contacts, motion, rows = collision.contacts, stepping.motion, stepping.rows
    begin, end = whole_pairs(begin, collision), whole_pairs(end, collision)
    if kind == SWEEP:
        return sweep_contacts(begin, end, contacts, motion, rows)
    if kind == RESIDUAL:
        return worst_residual(begin, end, contacts, motion, rows)
    if kind == PREPARE_RESPONSES:
        prepare_responses(begin, end, contacts, motion, rows)
        return 0.0
    if kind == SWEEP_POSITIONS:
        reach, slop = stepping.report[0].overlap, stepping.options[0].slop
        return sweep_positions(begin, end, contacts, stepping.shift, rows, stepping.corrections, reach, slop)
    prepare_contacts(begin, end, contacts, motion, rows)
    return 0.0


@njit
def shares_contacts(collision):
    """Whether threads share what is done for each contact, whatever its island."""
    return collision.job_queue[THREADS] > 1 and collision.counts[CONTACTS] >= SHARED


@njit
def over_all_contacts(kind, tables, value=0.0):
    """A job over the contacts of all islands, of which none changes what another reads, with a number; returns the largest
    value."""
    queue, count = tables.collision.job_queue, tables.collision.counts[CONTACTS]
    return run_parallel(queue, CONTACT_JOBS, kind, 0, count, 8 * CONTACTS_PER_CHUNK, value)


@njit
def over_contacts(kind, island, tables):
    """A job over all contacts of an island, of which none changes what another reads; returns the largest value."""
    if kind == RESIDUAL and island.surfaces != 0:
        return call_surfaces_of(RESIDUAL_OF_SURFACES, island, tables)
    if in_joint_space(tables):
        return call_rows(RESIDUAL_OF_ROWS, island, tables)
    if kind == RESIDUAL and is_wide(island, tables.collision):
        return over_groups(WIDE_RESIDUAL, island, tables)
    if is_shared(island, tables.collision):
        return run_parallel(
            tables.collision.job_queue, CONTACT_JOBS, kind, island.first, island.end, CONTACTS_PER_CHUNK
        )
    return run_contact_job(kind, island.first, island.end, tables)


@njit
def over_colours(kind, carried, share, island, tables):
    """A sweep over all contacts of an island, colour by colour; `carried`: after `carry_on` with this share. Returns the
    largest value."""
    if kind == SWEEP and island.surfaces != 0:
        return call_surfaces_of(SWEEP_SURFACES, island, tables)
    if in_joint_space(tables):
        return call_rows(SWEEP_ROWS if kind == SWEEP else SWEEP_POSITIONS_OF_ROWS, island, tables)
    collision = tables.collision
    if is_wide(island, collision):
        if carried:
            return over_colours_of_groups(WIDE_SWEEP_ON if kind == SWEEP else WIDE_POSITIONS_ON, share, island, tables)
        return over_colours_of_groups(WIDE_SWEEP if kind == SWEEP else WIDE_POSITIONS, 0.0, island, tables)
    if not is_shared(island, collision):
        return run_contact_job(kind, island.first, island.end, tables)
    return over_colours_of_contacts(kind, island, collision)


@njit
def over_colours_of_contacts(kind, island, collision):
    """A job over all contacts of an island in turn, those of a colour on all threads; returns the largest value."""
    job_queue, colours = collision.job_queue, collision.colours
    largest = 0.0
    for c in range(island.colours):
        begin = colours[island.first_colour + c]
        end = colours[island.first_colour + c + 1] if c + 1 < island.colours else island.end
        # The pairs of the last colour are not independent: one chunk.
        size = max(end - begin, 1) if c == LAST_COLOUR else CONTACTS_PER_CHUNK
        value = run_parallel(job_queue, CONTACT_JOBS, kind, begin, end, size)
        largest = max(largest, value)
    return largest


@njit
def over_colours_of_groups(kind, value, island, tables):
    """A job over all groups of an island in turn, colour by colour, with a number; returns the largest value."""
    collision = tables.collision
    colour_groups, shared = collision.colour_groups, is_shared(island, collision)
    largest = 0.0
    for c in range(island.colours):
        begin = colour_groups[island.first_colour + c]
        end = colour_groups[island.first_colour + c + 1] if c + 1 < island.colours else island.end_group
        if c == LAST_COLOUR:  # its pairs are not independent
            for g in range(begin, end):
                largest = max(largest, groups_alone(kind, value, g, g + 1, tables))
        elif shared and end - begin >= SHARED_GROUPS:
            largest = max(largest, over_parts(kind, value, c, island, collision))
        else:
            largest = max(largest, groups_alone(kind, value, begin, end, tables))
    return largest


@njit
def over_parts(kind, value, colour, island, collision):
    """A job over all groups of one colour of an island: each thread has those of some neighbouring parts, the same in each
    colour. Returns the largest value."""
    queue, parts = collision.job_queue, island.parts
    first = island.first_bucket // POINTS + parts * colour
    return run_parallel(queue, WIDE_JOBS, kind + OF_PARTS, first, first + parts, even_share(parts, queue), value)


@inlined
def even_share(count, job_queue):
    """The items that a thread gets of so many."""
    return (count + job_queue[THREADS] - 1) // job_queue[THREADS]


# Momentum ---------------------------------------------------------------------------------------------------------------
# Load passes through a pile of n layers in some n² sweeps. Sweeps that start from x + β (x − x⁻), where x is what the last
# reached and x⁻ what the one before it reached (Y. Nesterov 1983), take a third to a fifth as many. x are the impulses and
# the velocities that follow from them; these are linear in the impulses, so that the two stay consistent. What leaves its
# cone on the way is projected when the sweep comes to it. Without friction a convex function is minimized, and β = 0.8 is
# best. With friction some sliding contacts oscillate with growing amplitude if β > 0.7. So β is large for most of a cycle,
# which carries load through the pile, and small for the rest, which damps the oscillation. If few contacts are above the aim
# after a cycle, sweeps over these and their neighbours follow (`large_islands`). On recorded steps of piles this takes a half
# to a fifth of the sweeps with the best constant β. Some contacts never come to rest at the large β, and each cycle brings
# back their oscillation. So where a cycle gains little, the next is of the other kind, fast or *calm*, which has the small β
# alone.
FAST, SLOW = 0.9, 0.5
FAST_SWEEPS, CYCLE = 24, 32
MOMENTUM_OF_CORRECTIONS = 0.8


@inlined
def has_momentum(island, tables):
    """Whether sweeps over an island may have momentum: a large one without joints and laws of surfaces, whose impulses are no
    part of x."""
    plain = island.jointed == 0 and island.surfaces == 0
    return plain and not in_joint_space(tables) and island.end - island.first >= LARGE


@inlined
def momentum_after(sweeps, calm):
    """β after so many sweeps with momentum, in a `calm` cycle or a fast one. It begins anew with each cycle."""
    of_cycle = sweeps % CYCLE
    if of_cycle == 0:
        return 0.0
    return min(FAST if of_cycle < FAST_SWEEPS and not calm else SLOW, sweeps / (sweeps + 3.0))


@njit
def carry_on(kind, share, island, tables):
    """x ← x + β (x − x⁻), x⁻ ← x for an island, with β = `share`; `kind` is SWEEP, for impulses and velocities, or
    SWEEP_POSITIONS, for displacements. A share of zero begins anew. Impulses in groups are carried on by the sweep
    that follows, when it comes to them."""
    stepping = tables.stepping
    over_members(CARRY if kind == SWEEP else CARRY_SHIFT, share, island, tables)
    if is_wide(island, tables.collision):
        return
    for i in range(island.first, island.end):
        if kind == SWEEP:
            for k in range(3):
                carry_impulse(tables.collision.contacts[i], k, stepping.before_impulses, 3 * i + k, share)
        else:
            carry_number(stepping.corrections, i, stepping.before_impulses, 3 * i, share)


@njit
def over_members(kind, share, island, tables):
    """CARRY, CARRY_SINGLE or CARRY_SHIFT for all bodies of an island."""
    begin, end, queue = island.first_member, island.end_member, tables.collision.job_queue
    if is_shared(island, tables.collision):
        run_parallel(queue, CONTACT_JOBS, kind, begin, end, even_share(end - begin, queue), share)
    else:
        carry_bodies(kind, share, begin, end, tables)


@njit
def carry_bodies(kind, share, begin, end, tables):
    """The part of `carry_on` for the velocities or displacements of bodies begin … end of `members`."""
    stepping, members = tables.stepping, tables.collision.members
    if kind == CARRY_SINGLE:
        for m in range(begin, end):
            carry_body(members[m], share, stepping.single_motion, stepping.single_before_motion)
        return
    values = stepping.motion if kind == CARRY else stepping.shift
    for m in range(begin, end):
        carry_body(members[m], share, values, stepping.before_motion)


@inlined
def carry_body(body, share, values, before):
    """Carry on the velocity or the displacement of a body. The numbers behind it in its row do not change."""
    at = MOTION * body
    now = load_w(values, at)
    if share > 0.0:
        store_w(values, at, plus_w(now, times_w(spread_like_w(share, now), minus_w(now, load_w(before, at)))))
    store_w(before, at, now)


@inlined
def carry_impulse(contact, k, before, old, share):
    """Carry on one number of the impulse of a contact."""
    now = contact.impulse[k]
    if share > 0.0:
        contact.impulse[k] = now + share * (now - load(before, old))
    store(before, old, now)


@inlined
def carry_number(values, at, before, old, share):
    """Carry on one number."""
    now = load(values, at)
    if share > 0.0:
        store(values, at, now + share * (now - load(before, old)))
    store(before, old, now)


# Where Gauss–Seidel starts ----------------------------------------------------------------------------------------------
# From the impulses of the last step, as far as they lower D (the line search of `gauss_seidel`), by contact or by group.


@njit
def start_island(island, tables):
    """Give an island the impulses of the last step, projected on the cones, as far as they lower D: writes impulses and
    `motion`. A large one that will be solved gets them whole: where a few of its contacts are new, the best share of all its
    impulses is a small one, and its sweeps begin from next to nothing."""
    collision, stepping = tables.collision, tables.stepping
    whole = has_momentum(island, tables) and stepping.options[0].finishes != 0
    if not is_wide(island, collision):
        if whole:
            warm_start(island.first, island.end, collision.contacts, stepping.motion)
            return
        save_search(0.0, island, tables)
        warm_start(island.first, island.end, collision.contacts, stepping.motion)
        search_line(island, tables)
        return
    copy_velocities(island, collision.members, stepping.motion, stepping.search_motion)
    over_colours_of_groups(WARM_START, 0.0, island, tables)
    share = 1.0 if whole else best_fraction_of_groups(island, tables)
    if share < 1.0:
        take_share(share, island, tables)


@njit
def best_fraction_of_groups(island, tables):
    """`gauss_seidel.best_fraction` from no impulses to the present ones."""
    sums = tables.stepping.wide_sums
    over_groups(SEARCH, island, tables)
    slope, curvature = 0.0, 0.0
    for g in range(island.first_group, island.end_group):
        slope += load(sums, SUMS * g)
        curvature += load(sums, SUMS * g + 1)
    return min(1.0, max(0.0, -slope / curvature)) if curvature > 0.0 else 0.0


@njit
def take_share(share, island, tables):
    """Impulses of an island's groups ← `share` of them; velocities accordingly, from those in `search_motion`."""
    collision, stepping = tables.collision, tables.stepping
    motion, before, sums = stepping.motion, stepping.search_motion, stepping.wide_sums
    for m in range(island.first_member, island.end_member):
        at = MOTION * collision.members[m]
        for i in range(at, at + SPEEDS):
            store(motion, i, load(before, i) + share * (load(motion, i) - load(before, i)))
    for g in range(island.first_group, island.end_group):
        store(sums, SUMS * g, share)
    over_groups(SCALE, island, tables)


# An island that was at rest gets a sweep from here. Where that changes much, it goes back.


@njit
def save_start(island, tables):
    """Store what `return_to_start` needs."""
    if not is_wide(island, tables.collision) or island.jointed != 0:
        move_impulses(STORE, island, tables)
        save_search(1.0, island, tables)


@njit
def return_to_start(island, tables):
    """Set impulses and velocities to those at `save_start`."""
    collision, stepping = tables.collision, tables.stepping
    if is_wide(island, collision) and island.jointed == 0:
        copy_velocities(island, collision.members, stepping.search_motion, stepping.motion)
        start_island(island, tables)
    else:
        restore_search(0.0, island, tables)
        move_impulses(LOAD, island, tables)
