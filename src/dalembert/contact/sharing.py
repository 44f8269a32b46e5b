"""What threads share of an island that is large enough for it: see `board`. Others are for one thread from end to end."""

from ..board import CONTACT_JOBS, THREADS, share
from ..collide.islands import LAST_COLOUR
from ..collide.tables import CONTACTS, ISLANDS
from ..jit import njit
from .bearing import settle
from .gauss_seidel import prepare_contacts, sweep_contacts, sweep_positions, worst_residual

MARCH = 0  # no job: see `step.march`
# Kinds of jobs: over contacts, over bodies in the queue of `loads`, over islands
PREPARE, SWEEP, RESIDUAL, SWEEP_POSITIONS, SETTLE_UP, SETTLE_DOWN, RELAX, PART, RELAX_ALONE, PART_ALONE = range(1, 11)
SHARED = 512  # contacts of an island that threads share
A_CHUNK, BODIES_A_CHUNK = 32, 4


@njit
def is_shared(island, collision):
    return collision.board[THREADS] > 1 and island.end - island.first >= SHARED


@njit
def over_islands(kind, alone, collision):
    """All islands: those that have threads or joints for themselves one by one, as `alone`, and then the others as `kind`."""
    board, islands, count = collision.board, collision.islands, collision.counts[ISLANDS]
    for i in range(count):
        if is_alone(islands[i], collision):
            share(board, CONTACT_JOBS, alone, i, i + 1, 1)
    share(board, CONTACT_JOBS, kind, 0, count, 1)


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
        return share(collision.board, CONTACT_JOBS, kind, island.first, island.end, A_CHUNK)
    return do_contacts(kind, island.first, island.end, collision, stepping)


@njit
def over_colours(kind, island, collision, stepping):
    """The same in turn; those of one colour at a time."""
    if not is_shared(island, collision):
        return do_contacts(kind, island.first, island.end, collision, stepping)
    board, colours = collision.board, collision.colours
    largest = 0.0
    for c in range(island.colours):
        begin = colours[island.first_colour + c]
        end = colours[island.first_colour + c + 1] if c + 1 < island.colours else island.end
        if c == LAST_COLOUR:
            found = do_contacts(kind, begin, end, collision, stepping)
        else:
            found = share(board, CONTACT_JOBS, kind, begin, end, A_CHUNK)
        largest = max(largest, found)
    return largest


@njit
def settle_bodies(down, begin, end, system, collision, stepping):
    queue = stepping.queue
    for q in range(begin, end):
        settle(queue[q], down, system, collision, stepping)


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
        share(collision.board, CONTACT_JOBS, kind, first, last, BODIES_A_CHUNK)
    else:
        settle_bodies(kind == SETTLE_DOWN, first, last, system, collision, stepping)
    return q
