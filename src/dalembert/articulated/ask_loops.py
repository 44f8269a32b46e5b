"""The loops of a mechanism, which are behind a C pointer: see `closed`."""

from ..jit import njit
from ..pointer import call_pointer
from ..tables import own_address

FACTOR, FACTOR_ANEW, SOLVE, CLOSE = range(4)


@njit
def factor_loops(decide, reduced):
    """See `loops.factor_loops`."""
    task = FACTOR_ANEW if decide else FACTOR
    return call_pointer(reduced.options[0].loops, own_address(reduced), task, 0.0, reduced.change, reduced.change)


@njit
def solve_loops(reduced):
    """See `loops.solve_loops`; λ are the multipliers of the system."""
    call_pointer(reduced.options[0].loops, own_address(reduced), SOLVE, 0.0, reduced.change, reduced.change)


@njit
def project(t, z, reduced):
    """See `project.project`."""
    return call_pointer(reduced.options[0].loops, own_address(reduced), CLOSE, t, z, z)
