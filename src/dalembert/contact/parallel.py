"""What threads share of an island that is large enough for it: see `board`. Others are for one thread from end to end."""

from ..collide.islands import LAST_COLOUR
from ..collide.tables import CONTACTS, ISLANDS
from ..core.c_function import call_pointer
from ..core.jit import njit
from ..core.thread_pool import CONTACT_JOBS, THREADS, run_parallel
from .gauss_seidel import prepare_contacts, sweep_contacts, sweep_positions, worst_residual
from .shock_propagation import solve_support

RUN_STEPS = 0  # no job: see `step.march`
# Kinds of jobs: over contacts, over bodies in the queue of `loads`, over islands
(
    PREPARE,
    SWEEP,
    RESIDUAL,
    SWEEP_POSITIONS,
    SUPPORT_UP,
    SUPPORT_DOWN,
    SOLVE_ISLANDS,
    CORRECT_ISLANDS,
    SOLVE_LONE_ISLANDS,
    CORRECT_LONE_ISLANDS,
) = range(1, 11)
SHARED = 512  # contacts of an island that threads share
A_CHUNK, BODIES_A_CHUNK = 32, 4


@njit
def is_shared(island, collision):
    return collision.job_queue[THREADS] > 1 and island.end - island.first >= SHARED


@njit
def over_islands(kind, alone, collision):
    """All islands: those that have threads or joints for themselves one by one, as `alone`, and then the others as `kind`."""
    job_queue, islands, count = collision.job_queue, collision.islands, collision.counts[ISLANDS]
    for i in range(count):
        if is_alone(islands[i], collision):
            run_parallel(job_queue, CONTACT_JOBS, alone, i, i + 1, 1)
    run_parallel(job_queue, CONTACT_JOBS, kind, 0, count, 1)


@njit
def is_alone(island, collision):
    return island.jointed != 0 or is_shared(island, collision)


@njit
def whole_pairs(at, collision):
    """Where the next pair of colliders begins: points of one pair move the same bodies, and are for one thread."""
    contacts, count = collision.contacts, collision.counts[CONTACTS]
    while at < count and contacts[at].point > 0:
        at += 1
    return at


@njit
def do_contacts(kind, begin, end, collision, stepping):
    """Contacts begin … end; returns the largest of what is asked of each."""
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
def over_contacts(kind, island, collision, stepping):
    """All contacts of an island, of which none changes what another reads."""
    if is_shared(island, collision):
        return run_parallel(collision.job_queue, CONTACT_JOBS, kind, island.first, island.end, A_CHUNK)
    return do_contacts(kind, island.first, island.end, collision, stepping)


@njit
def over_colours(kind, island, collision, stepping):
    """The same in turn; those of one colour at a time."""
    if not is_shared(island, collision):
        return do_contacts(kind, island.first, island.end, collision, stepping)
    job_queue, colours = collision.job_queue, collision.colours
    largest = 0.0
    for c in range(island.colours):
        begin = colours[island.first_colour + c]
        end = colours[island.first_colour + c + 1] if c + 1 < island.colours else island.end
        if c == LAST_COLOUR:
            found = do_contacts(kind, begin, end, collision, stepping)
        else:
            found = run_parallel(job_queue, CONTACT_JOBS, kind, begin, end, A_CHUNK)
        largest = max(largest, found)
    return largest


@njit
def solve_supports(down, begin, end, system, collision, stepping):
    queue = stepping.queue
    for q in range(begin, end):
        solve_support(queue[q], down, system, collision, stepping)


@njit
def over_level(kind, begin, end, step, island, system, collision, stepping):
    """The bodies of one level, which begins at `begin` of the queue and goes on in steps of ±1, before `end`; returns where
    the next begins."""
    levels, queue = stepping.levels, stepping.queue
    q = begin
    while q != end and levels[queue[q]] == levels[queue[begin]]:
        q += step
    first, last = min(begin, q - step), max(begin, q - step) + 1
    if is_shared(island, collision):
        run_parallel(collision.job_queue, CONTACT_JOBS, kind, first, last, BODIES_A_CHUNK)
    else:
        solve_supports(kind == SUPPORT_DOWN, first, last, system, collision, stepping)
    return q


# ----------------------------------------------------------------------------------------------------------------------
# What acts on coordinates of joints in a step: stops, dry friction, ideal motors (`bounded`) and soft constraints
# (`soft`).
# They are behind a C pointer, as most scenes have none: see `limits`. Without them these functions do nothing.


# Tasks. y is the state where one is given; what is found beside a status is in `answer`.
BEGIN = 0  # rates at the start of a step
SET, SET_KICKED = 1, 2  # the soft rows, before the mechanism's factorization
PLACE_LIMITS, PLACE_KICKED = 3, 4  # all rows, gaps, limits and responses, where the kinematics table is
SET_BOUNCES, SET_PLASTIC = 5, 6  # what the law adds at stops; 1 if one bounces
CHANGE_SIDES = 7  # of motors at their limits; t: the trial; 1 if one has
REFACTOR = 8  # the factorization and the responses after that
PUSH = 9  # apply the impulses that there are to `motion`
SWEEP_LIMITS = 10  # a pass over the bounds; the largest change of a rate
LIMITS_RESIDUAL = 11  # the largest residual
WORK = 12  # the work of stops, and its size
APPLY = 13  # the impulses to the state
CORRECT_STOPS = 14  # stops, in `shift`; whether there is anything
DISPLACE = 15  # what is done along `shift`, into the ledger; the work of bounds
DISPLACE_SOFT = 16  # the same of soft rows


@njit
def ask(task, h, y, stepping):
    """Do a task, for a step over h (s). Returns a status."""
    options = stepping.options[0]
    if options.limits == 0:
        return 0
    return call_pointer(options.limits, options.data, task, h, y, stepping.answer)


@njit
def ask_number(task, stepping):
    """The number that a task finds; zero where there are no limits."""
    ask(task, 0.0, stepping.motion, stepping)
    return stepping.answer[0]
