"""The driver behind a C pointer: what steps runs is compiled once, and Python and other kernels call it alike.

    advance(data, most steps, t_end, y, n, dydt, n) -> status                             see `advance.advance`

`data` is the address of a table of the arrays of `Stepping`.
"""

from typing import Any, NamedTuple

import numpy as np

from ..addresses import reader
from ..arrays import clear, copy
from ..jit import DISABLED, CFunction, intrinsic, njit, types
from ..pointer import C_SIGNATURE, CARRY, array_type, call_pointer, make_view, viewer
from ..status import OK
from ..table_function import TableFunction
from .advance import advance
from .functions import Functions
from .state import CLOCK, PLAN, Options, Work

SYSTEM = np.dtype(
    [("address", "i8"), ("handle", "i8"), ("completes", "i8"), ("numbers", "i8"), ("events", "i8"), ("carried", "i8")]
)
"""The first three of `Functions`; how many numbers the state has with what is carried; how many events; how many carried."""


class Stepping(NamedTuple):
    """Everything that `advance` is given beside y and dydt; rows of two-dimensional arrays one after another."""

    system: Any  # SYSTEM, one row
    events: np.ndarray  # int64, the addresses of `Functions`
    event_data: np.ndarray  # int64
    plan: Any  # PLAN, one row
    signs: np.ndarray
    clock: Any  # CLOCK, one row
    k: np.ndarray  # these are those of `Work`
    stage: np.ndarray
    y_new: np.ndarray
    spare: np.ndarray
    y_before: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    momentum: np.ndarray
    direction: np.ndarray
    state: np.ndarray  # y and dydt with what is carried behind them; empty where nothing is
    rates: np.ndarray


FIELDS = 2 * len(Stepping._fields)
_floats = viewer(np.float64)
_addresses = viewer(np.int64)

system_of = reader(Stepping, "system", SYSTEM)
events_of = reader(Stepping, "events", np.int64)
event_data_of = reader(Stepping, "event_data", np.int64)
plan_of = reader(Stepping, "plan", PLAN)
signs_of = reader(Stepping, "signs")
clock_of = reader(Stepping, "clock", CLOCK)
k_of = reader(Stepping, "k")
stage_of = reader(Stepping, "stage")
y_new_of = reader(Stepping, "y_new")
spare_of = reader(Stepping, "spare")
y_before_of = reader(Stepping, "y_before")
values_of = reader(Stepping, "values")
weights_of = reader(Stepping, "weights")
momentum_of = reader(Stepping, "momentum")
direction_of = reader(Stepping, "direction", np.int64)
state_of = reader(Stepping, "state")
rates_of = reader(Stepping, "rates")


@intrinsic
def as_rows(typing_context, array, rows, columns):
    """(rows, columns) view of a contiguous float64 array."""

    kind = array_type(np.float64, 2)

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return make_view(context, builder, kind, data, arguments[1:])

    return kind(array, types.int64, types.int64), generate


if DISABLED:

    def as_rows(array, rows, columns):
        """(rows, columns) view of a contiguous float64 array."""
        return array.reshape(rows, columns)


@njit
def proceed(most, t_end, y, dydt, tables):
    """Integrate until t_end (s), as `advance` does, by at most so many steps. Returns a status."""
    own, plans = system_of(tables)[0], plan_of(tables)
    context = Functions(own.address, own.handle, own.completes, events_of(tables), event_data_of(tables), own.carried)
    work = Work(
        as_rows(k_of(tables), plans[0].rows, own.numbers), stage_of(tables), y_new_of(tables), spare_of(tables),
        y_before_of(tables), as_rows(values_of(tables), 3, own.events), weights_of(tables), momentum_of(tables),
        direction_of(tables),
    )  # fmt: skip
    clock = clock_of(tables)
    if own.carried == 0:
        return advance(context, plans[0], y, dydt, work, signs_of(tables), clock, t_end, most)
    state, rates = state_of(tables), rates_of(tables)
    extend(state, y)
    extend(rates, dydt)
    if clock[0].valid != 0:
        status = call_pointer(own.address, own.handle, CARRY, clock[0].t, state, rates)
        if status != OK:
            return status
    status = advance(context, plans[0], state, rates, work, signs_of(tables), clock, t_end, most)
    copy(y, state)
    copy(dydt, rates)
    return status


@njit
def extend(longer, given):
    """Copy what is given to the front of an array that is longer, and clear the rest."""
    clear(longer)
    for i in range(given.shape[0]):
        longer[i] = given[i]


def advance_behind(data, most, t_end, y, n, dydt, m):
    return proceed(most, t_end, _floats(y, n), _floats(dydt, m), _addresses(data, FIELDS))


COMPILED = CFunction(advance_behind, C_SIGNATURE)


class Stepper(TableFunction):
    """The driver of one system behind a C pointer: its task is the most steps, its time where to stop, s."""

    def __init__(
        self, functions: Functions, options: Options, work: Work, signs: np.ndarray, clock: np.recarray
    ) -> None:
        system = np.array(
            [(*functions[:3], options.weights.size, options.direction.size, functions.carried)],
            SYSTEM,
        ).view(np.recarray)
        tables = Stepping(
            system, functions.events, functions.event_data, options.plan, signs, clock, work.k.reshape(-1), *work[1:5],
            work.values.reshape(-1), *work[6:], *np.zeros((2, options.weights.size if functions.carried else 0)),
        )  # fmt: skip
        super().__init__(COMPILED, proceed, tables)
