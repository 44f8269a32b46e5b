"""The driver behind a C pointer: what steps runs is compiled once, and Python and other kernels call it alike.

    advance(data, most steps, t_end, y, n, dydt, n) -> status                             see `advance.advance`

or, with RECORD in place of the number of steps, as `record.record` does.
`data` is the address of a table of the arrays of `Stepping`.
"""

from typing import Any, NamedTuple

import numpy as np

from ..arrays import clear, copy
from ..jit import CFunction, njit
from ..pointer import C_SIGNATURE, CARRY, call_pointer, viewer
from ..status import OK
from ..table_function import TableFunction
from ..tables import column, table_at
from .advance import advance
from .functions import Functions
from .record import NO_RECORD, PROGRESS, Record, record
from .rows import as_rows
from .state import CLOCK, PLAN, Options, Work

SYSTEM = np.dtype(
    [("address", "i8"), ("handle", "i8"), ("completes", "i8"), ("numbers", "i8"), ("events", "i8"), ("carried", "i8")]
)
"""The first three of `Functions`; how many numbers the state has with what is carried; how many events; how many carried."""


class Stepping(NamedTuple):
    """Everything that `advance` is given beside y and dydt; rows of two-dimensional arrays one after another."""

    system: Any = column("1", SYSTEM)
    events: Any = column(dtype=np.int64, doc="the addresses of `Functions`")
    event_data: Any = column(dtype=np.int64)
    plan: Any = column("1", PLAN)
    signs: Any = column()
    clock: Any = column("1", CLOCK)
    k: Any = column(doc="these are those of `Work`")
    stage: Any = column()
    y_new: Any = column()
    spare: Any = column()
    y_before: Any = column()
    values: Any = column()
    weights: Any = column()
    momentum: Any = column()
    direction: Any = column(dtype=np.int64)
    state: Any = column(doc="y and dydt with what is carried behind them; empty where nothing is")
    rates: Any = column()
    progress: Any = column(dtype=PROGRESS, doc="these are those of `Record`")
    stops: Any = column()
    times: Any = column()
    states: Any = column()
    polynomials: Any = column()


RECORD = -1
_floats = viewer(np.float64)


@njit
def proceed(most, t_end, y, dydt, tables):
    """Integrate until t_end (s), as `advance` does, by at most so many steps. Returns a status."""
    own, plans = tables.system[0], tables.plan
    context = Functions(own.address, own.handle, own.completes, tables.events, tables.event_data, own.carried)
    work = Work(
        as_rows(tables.k, plans[0].rows, own.numbers), tables.stage, tables.y_new, tables.spare,
        tables.y_before, as_rows(tables.values, 3, own.events), tables.weights, tables.momentum,
        tables.direction,
    )  # fmt: skip
    clock = tables.clock
    if most == RECORD:
        return record(
            context, plans[0], y, dydt, work, tables.signs, clock, tables.progress[0], tables.stops,
            tables.times, tables.states, tables.polynomials,
        )  # fmt: skip
    if own.carried == 0:
        return advance(context, plans[0], y, dydt, work, tables.signs, clock, t_end, most)
    state, rates = tables.state, tables.rates
    extend(state, y)
    extend(rates, dydt)
    if clock[0].valid != 0:
        status = call_pointer(own.address, own.handle, CARRY, clock[0].t, state, rates)
        if status != OK:
            return status
    status = advance(context, plans[0], state, rates, work, tables.signs, clock, t_end, most)
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
    return proceed(most, t_end, _floats(y, n), _floats(dydt, m), table_at(Stepping, data))


COMPILED = CFunction(advance_behind, C_SIGNATURE)


class Stepper(TableFunction):
    """The driver of one system behind a C pointer: its task is the most steps, its time where to stop, s."""

    def __init__(
        self, functions: Functions, options: Options, work: Work, signs: np.ndarray, clock: np.recarray,
        recorded: Record = NO_RECORD,
    ) -> None:  # fmt: skip
        system = np.array(
            [(*functions[:3], options.weights.size, options.direction.size, functions.carried)],
            SYSTEM,
        ).view(np.recarray)
        tables = Stepping(
            system, functions.events, functions.event_data, options.plan, signs, clock, work.k.reshape(-1), *work[1:5],
            work.values.reshape(-1), *work[6:], *np.zeros((2, options.weights.size if functions.carried else 0)),
            *recorded,
        )  # fmt: skip
        super().__init__(COMPILED, proceed, tables)
