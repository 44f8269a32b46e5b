"""The data of an integration: options, clock and workspace; and how the system and its events are called."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.c_function import (
    COMPLETE,
    COMPLETE_EVALUATED,
    DERIVATIVE,
    DRIFT,
    EVENT,
    LOOK,
    LOOK_FROM,
    LOOK_TO,
    MERGE,
    NOT_A_NUMBER,
    call_pointer,
)
from ..core.jit import inlined, njit
from ..core.status import OK
from .tableaus import Array, Tableau

SMALLEST_ERROR = 1e-4  # the error that the step controller stores of a step that was (nearly) exact

CLOCK = np.dtype(
    [
        ("t", np.float64),  # time of the state y (s)
        ("h", np.float64),  # fixed: the step dt; adaptive: the step proposed next, 0 = choose one (s)
        ("error_last", np.float64),  # of the last accepted step, for the PI controller
        ("origin", np.float64),  # fixed: step ends lie at origin + i h, with no drift (s)
        ("count", np.int64),  # fixed: i of the last step end at or before t
        ("steps", np.int64),  # accepted
        ("rejected", np.int64),
        ("evaluations", np.int64),  # of the derivative, completions included
        ("event", np.int64),  # the event the last call stopped at, or -1
        ("started", np.int64),  # 0: the events have not been evaluated yet
        ("valid", np.int64),  # 1: dydt holds f(t, y); set to 0 after changing y (an impulse)
    ],
    align=True,
)


PLAN = np.dtype(
    [
        ("a", np.float64, (12, 12)),  # the tableau, padded with zeros: see `tableau.Tableau`
        ("b", np.float64, (12,)),
        ("c", np.float64, (12,)),
        ("error", np.float64, (2, 13)),
        ("dense", np.float64, (16, 7)),
        ("extra_a", np.float64, (3, 16)),
        ("extra_c", np.float64, (3,)),
        ("beta", np.float64),
        ("stages", np.int64),
        ("error_order", np.int64),
        ("error_rows", np.int64),
        ("rows", np.int64),
        ("degree", np.int64),
        ("extra", np.int64),
        ("fsal", np.int64),
        ("partitioned", np.int64),
        ("adaptive", np.int64),  # 1: error control with the tableau's error rows
        ("land", np.int64),  # fixed steps only: 1 shortens the last step so as to end on t_end
        ("rtol", np.float64),
        ("atol", np.float64),
        ("h_max", np.float64),  # adaptive only: longest step (s)
    ],
    align=True,
)


class Options(NamedTuple):
    """How to integrate; fixed during a run."""

    plan: np.recarray  # (1,) of PLAN: one record, because Numba compiles it much faster than a tuple of arrays
    weights: Array  # (n,): scales atol; 0 leaves the component out of the error
    momentum: Array  # (n,): +1 where y is a momentum, -1 where a drift moves it (partitioned methods only; else (0,))
    direction: NDArray[np.int64]  # (events,): -1 falling, +1 rising, 0 either


class Work(NamedTuple):
    """The workspace. Only `signs` matters between calls; `k` and `y_new` describe the last step taken."""

    signs: Array  # (events,): the side of each event the state is on: −1, 0 on the root, +1
    k: Array  # (rows, n)
    stage: Array  # (n,)
    y_new: Array  # (n,)
    spare: Array  # (n,)
    y_before: Array  # (n,): the state before the last step that was recorded
    values: Array  # (3, events): at the start of the step, at its end, at a trial point
    weights: Array  # these three are the options' own
    momentum: Array
    direction: NDArray[np.int64]


def make_options(
    tableau: Tableau,
    n: int,
    *,
    adaptive: bool = False,
    rtol: float = 1e-6,
    atol: float = 1e-6,
    weights: ArrayLike | None = None,
    momentum: ArrayLike | None = None,
    direction: ArrayLike = (),
    land: bool = False,
    h_max: float = np.inf,
) -> Options:
    """`Options` for a state of n numbers, with the types the kernels expect. Raises ValueError."""
    if adaptive and not tableau.error.shape[0]:
        raise ValueError("this method has no error estimate, so its steps cannot be adaptive")
    if tableau.partitioned and momentum is None:
        raise ValueError("a partitioned method needs to know which components are momenta")
    plan = np.zeros(1, dtype=PLAN).view(np.recarray)
    for name in ("a", "b", "c", "error", "dense", "extra_a", "extra_c"):
        array = getattr(tableau, name)
        plan[name][0][tuple(slice(size) for size in array.shape)] = array
    for name in ("beta", "stages", "error_order", "rows", "fsal", "partitioned"):
        plan[name] = getattr(tableau, name)
    plan["error_rows"], plan["degree"], plan["extra"] = (
        tableau.error.shape[0],
        tableau.dense.shape[1],
        len(tableau.extra_c),
    )
    plan["adaptive"], plan["land"] = adaptive, land
    plan["rtol"], plan["atol"], plan["h_max"] = rtol, atol, h_max
    return Options(
        plan,
        np.ones(n) if weights is None else np.array(weights, dtype=np.float64),
        np.empty(0) if momentum is None else np.array(momentum, dtype=np.float64),
        np.array(direction, dtype=np.int64).reshape(-1),
    )


def make_work(options: Options) -> Work:
    """The workspace for `options`: `signs` is zero, the rest NaN."""
    n, events = options.weights.size, options.direction.size
    shapes = ((int(options.plan.rows[0]), n), (n,), (n,), (n,), (n,), (3, events))
    k, stage, y_new, spare, y_before, values = (np.full(shape, np.nan) for shape in shapes)
    own = options.weights, options.momentum, options.direction
    return Work(np.zeros(events), k, stage, y_new, spare, y_before, values, *own)


def make_clock(t: float, h: float = 0.0) -> np.recarray:
    """A clock at time t (s), not started; h: dt for fixed steps, 0 to let an adaptive method choose its first step."""
    clock = np.zeros(1, dtype=CLOCK).view(np.recarray)
    clock["t"], clock["h"], clock["origin"] = t, h, t
    clock["error_last"], clock["event"] = SMALLEST_ERROR, -1
    return clock


# The system -----------------------------------------------------------------------------------------------------------
# What is integrated: C functions called by address, so that the driver is compiled once for everything.
#
#     derivative(t, y, dydt, context) -> status              dydt = f(t, y)
#     merge(t, y, context) -> status                         y is the raw end of a step: write what is carried to its state
#     complete(t, y, dydt, evaluated, context) -> status     y is the end of a step: moved in place onto what it must
#         satisfy (constraints, unit quaternions), with f(t, y) left in dydt, where it already is if `evaluated` is 1. The
#         state may then be discarded for an earlier event.
#     event(t, y, values, context) -> status                 values[i] changes sign at event i
#     begin_look(...), look(t, y, values, context) -> status  values[0] is the time (s) from t within which no event can begin
#         and end, 0 where one has begun; for systems whose events may do both within a step
#
# A system may *carry* numbers behind its state within a step: redundant variables that errors of the state do not affect.
# `carried` is how many; every y and dydt of the driver then has so many more. The system writes them where it completes a
# state.
#
# A status is 0, or a code of at least `status.PASSED_THROUGH`. A code below `status.ENDS_RUN` makes an adaptive method reject
# the trial step; any other code, and any code in a fixed step, ends the run and is returned.


class Functions(NamedTuple):
    """The addresses of a system and of its event functions, with the signature of `core.c_function`."""

    address: int
    data: int  # the first argument of the system
    completes: int  # 1: the end of a step has to be completed; 0: f is all there is
    events: NDArray[np.int64]
    event_data: NDArray[np.int64]  # the first argument of each event function
    carried: int = 0  # numbers behind the state
    look: int = 0  # the address of a function that looks into steps, see `explicit.look_inside`; 0: none


@inlined
def derivative(t, y, dydt, context):
    """dydt = f(t, y). Returns a status."""
    return call_pointer(context.address, context.data, DERIVATIVE, t, y, dydt)


@inlined
def complete(t, y, dydt, evaluated, context):
    """Complete the end of a step: writes y and dydt. Returns a status."""
    if context.completes == 0 and evaluated != 0:
        return OK
    task = COMPLETE_EVALUATED if evaluated != 0 else COMPLETE
    return call_pointer(context.address, context.data, task, t, y, dydt)


@inlined
def merge(t, y, context):
    """Write the carried numbers of y to its state. Returns a status."""
    if context.carried == 0:
        return OK
    return call_pointer(context.address, context.data, MERGE, t, y, y)


@njit
def drift(h, y, spare, context):
    """Advance y by the free motion over h (s), in place, at constant momenta; for systems that can. Returns a status."""
    spare[0] = h
    return call_pointer(context.address, context.data, DRIFT, 0.0, y, spare)


@njit
def event(t, y, values, context):
    """Write the value of every event function at (t, y). Returns a status, NOT_A_NUMBER for a NaN."""
    state = y[: y.size - context.carried]
    for i in range(context.events.size):
        status = call_pointer(context.events[i], context.event_data[i], EVENT, t, state, values[i : i + 1])
        if status != OK:
            return status
        if values[i] != values[i]:
            return NOT_A_NUMBER
    return OK


@inlined
def begin_look(t, y, dydt, t_new, y_new, dydt_new, context):
    """Show a step to the function that looks into it: its end and its start, with f there. Returns a status."""
    status = call_pointer(context.look, context.data, LOOK_TO, t_new, y_new, dydt_new)
    return status if status != OK else call_pointer(context.look, context.data, LOOK_FROM, t, y, dydt)


@inlined
def look(t, y, values, context):
    """Write to values[0] how long (s) no event can begin from a state in that step on; 0 where one has. Returns a status."""
    return call_pointer(context.look, context.data, LOOK, t, y, values)
