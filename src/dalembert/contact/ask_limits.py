"""What acts on coordinates of joints in a step: stops, dry friction, ideal motors (`bounded`) and soft constraints (`soft`).
They are behind a C pointer, as most scenes have none: see `limits`. Without them these functions do nothing."""

from ..jit import njit
from ..pointer import call_pointer

# Tasks. y is the state where one is given; what is found beside a status is in `answer`.
BEGIN = 0  # rates at the start of a step
SET, SET_KICKED = 1, 2  # the soft rows, before the mechanism's factorization
PLACE, PLACE_KICKED = 3, 4  # all rows, gaps, limits and responses, where the kinematics table is
SET_BOUNCES, SET_PLASTIC = 5, 6  # what the law adds at stops; 1 if one bounces
CHANGE_SIDES = 7  # of motors at their limits; t: the trial; 1 if one has
REFACTOR = 8  # the factorization and the responses after that
PUSH = 9  # apply the impulses that there are to `motion`
SWEEP = 10  # a pass over the bounds; the largest change of a rate
RESIDUAL = 11  # the largest residual
WORK = 12  # the work of stops, and its size
APPLY = 13  # the impulses to the state
PART_STOPS = 14  # stops, in `shift`; whether there is anything
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
