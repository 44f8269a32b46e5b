"""What is integrated: functions behind C pointers, so that the driver is compiled once for everything.

    derivative(t, y, dydt, context) -> status              dydt = f(t, y)
    merge(t, y, context) -> status                         y is the raw end of a step: what it carried is put into the state
    complete(t, y, dydt, evaluated, context) -> status     y is the end of a step: moved in place onto what it must
        satisfy (constraints, unit quaternions), with f(t, y) left in dydt, where it already is if `evaluated` is 1. May
        happen to a state that is then given up for an earlier event.
    event(t, y, values, context) -> status                 values[i] changes sign at event i

A system may *carry* numbers behind its state within a step: variables that say again what the state says, and that errors
of the state do not reach. `carried` is how many; every y and dydt of the driver then has so many more. The system writes
them where it completes a state.

A status is 0, or a code of at least `status.PASSED_THROUGH`. Below `status.ENDS_RUN` an adaptive method rejects the trial
step in which it came; from there on, and by methods of fixed steps, it ends the run and is returned.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..jit import inlined, njit
from ..pointer import COMPLETE, COMPLETE_EVALUATED, DERIVATIVE, DRIFT, EVENT, MERGE, NOT_A_NUMBER, call_pointer
from ..status import OK


class Functions(NamedTuple):
    """The addresses of a system and of its event functions; see `pointer` for what stands there."""

    address: int
    data: int  # handed to the system
    completes: int  # 1: the end of a step has to be completed; 0: f is all there is
    events: NDArray[np.int64]
    event_data: NDArray[np.int64]  # handed to each event function
    carried: int = 0  # numbers behind the state


@inlined
def derivative(t, y, dydt, context):
    return call_pointer(context.address, context.data, DERIVATIVE, t, y, dydt)


@inlined
def complete(t, y, dydt, evaluated, context):
    if context.completes == 0 and evaluated != 0:
        return OK
    task = COMPLETE_EVALUATED if evaluated != 0 else COMPLETE
    return call_pointer(context.address, context.data, task, t, y, dydt)


@inlined
def merge(t, y, context):
    if context.carried == 0:
        return OK
    return call_pointer(context.address, context.data, MERGE, t, y, y)


@njit
def drift(h, y, spare, context):
    """Move y freely over h, in place, at constant momenta; for systems that can."""
    spare[0] = h
    return call_pointer(context.address, context.data, DRIFT, 0.0, y, spare)


@njit
def event(t, y, values, context):
    state = y[: y.size - context.carried]
    for i in range(context.events.size):
        status = call_pointer(context.events[i], context.event_data[i], EVENT, t, state, values[i : i + 1])
        if status != OK:
            return status
        if values[i] != values[i]:
            return NOT_A_NUMBER
    return OK
