"""Work on islands that threads share: the kinds of jobs, and loops over the contacts of an island.

Threads share the islands, and the contacts of an island that is large enough for it; see `core.thread_pool` for the job
queue. Contacts are shared by colour: those of one colour move different bodies. The result does not depend on the number
of threads."""

from ..collide.islands import LAST_COLOUR
from ..collide.tables import CONTACTS, ISLANDS
from ..core.jit import njit
from ..core.thread_pool import CONTACT_JOBS, THREADS, run_parallel
from .gauss_seidel import prepare_contacts, sweep_contacts, sweep_positions, worst_residual
from .tables import RESIDUAL_OF_ROWS, SWEEP_POSITIONS_OF_ROWS, SWEEP_ROWS, call_rows, in_joint_space

RUN_STEPS = 0  # no job: see `step.step_entry`
# Jobs over contacts, over bodies in the queue of `shock_propagation`, and over islands
PREPARE, SWEEP, RESIDUAL, SWEEP_POSITIONS, SUPPORT_UP, SUPPORT_DOWN = range(1, 7)
SOLVE_ISLANDS, CORRECT_ISLANDS, SOLVE_ISLANDS_IN_TURN, CORRECT_ISLANDS_IN_TURN = range(7, 11)
SHARED = 512  # contacts of an island that threads share
CONTACTS_PER_CHUNK, BODIES_PER_CHUNK = 32, 4


@njit
def is_shared(island, collision):
    """Whether threads share the contacts of an island."""
    return collision.job_queue[THREADS] > 1 and island.end - island.first >= SHARED


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
    if kind == SWEEP_POSITIONS:
        reach, slop = stepping.report[0].overlap, stepping.options[0].slop
        return sweep_positions(begin, end, contacts, stepping.shift, rows, stepping.corrections, reach, slop)
    prepare_contacts(begin, end, contacts, motion, rows)
    return 0.0


@njit
def over_contacts(kind, island, tables):
    """A job over all contacts of an island, of which none changes what another reads; returns the largest value."""
    if in_joint_space(tables):
        return call_rows(RESIDUAL_OF_ROWS, island, tables)
    if is_shared(island, tables.collision):
        return run_parallel(
            tables.collision.job_queue, CONTACT_JOBS, kind, island.first, island.end, CONTACTS_PER_CHUNK
        )
    return run_contact_job(kind, island.first, island.end, tables)


@njit
def over_colours(kind, island, tables):
    """A job over all contacts of an island in turn, colour by colour; returns the largest value."""
    if in_joint_space(tables):
        return call_rows(SWEEP_ROWS if kind == SWEEP else SWEEP_POSITIONS_OF_ROWS, island, tables)
    collision = tables.collision
    if not is_shared(island, collision):
        return run_contact_job(kind, island.first, island.end, tables)
    job_queue, colours = collision.job_queue, collision.colours
    largest = 0.0
    for c in range(island.colours):
        begin = colours[island.first_colour + c]
        end = colours[island.first_colour + c + 1] if c + 1 < island.colours else island.end
        if c == LAST_COLOUR:
            value = run_contact_job(kind, begin, end, tables)
        else:
            value = run_parallel(job_queue, CONTACT_JOBS, kind, begin, end, CONTACTS_PER_CHUNK)
        largest = max(largest, value)
    return largest
